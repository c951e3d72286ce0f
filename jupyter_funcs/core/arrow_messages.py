"""Messages of Arrow streams, read without trusting them, for client and service alike."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def is_compressed(message: bytes | pa.Buffer) -> bool:
    """Return whether the message of a record batch says how it is compressed (a FlatBuffer of Arrow's Message.fbs)."""

    def field(table: int, index: int) -> int:
        fields = table - struct.unpack_from("<i", message, table)[0]
        is_absent = 4 + 2 * index >= struct.unpack_from("<H", message, fields)[0]
        return 0 if is_absent else int(struct.unpack_from("<H", message, fields + 4 + 2 * index)[0])

    root: int = struct.unpack_from("<I", message)[0]
    batch = root + field(root, 2)
    return bool(field(batch + struct.unpack_from("<I", message, batch)[0], 3))
