"""A token that must not appear anywhere, and a search for it: raw, encoded, and in pieces."""

from __future__ import annotations

import base64
from urllib.parse import quote_plus

# Opaque and with what URL encoding changes; no word of it occurs anywhere else.
CANARY = "c4n4ry+Zq8/WmXv2%Lp0-Rt7_Ks5=Yb3.Hd6~Gf1"
_PIECE = 12


def leaks(text: str) -> list[str]:
    """Return the forms of the canary in a text: raw, base64, URL-encoded, or 12 letters in a row."""
    encoded = base64.b64encode(CANARY.encode()).decode().rstrip("=")
    # In base64 the letters depend on where among three the text begins; cut off what its neighbours change.
    shifted = [
        base64.b64encode(b" " * shift + CANARY.encode()).decode()[4:-4]
        for shift in (1, 2)
    ]
    whole = [encoded, *shifted, quote_plus(CANARY)]
    pieces = [CANARY[at : at + _PIECE] for at in range(len(CANARY) - _PIECE + 1)]
    return [form for form in (*whole, *pieces) if form in text]
