"""Loaded before the other plugins: each process starts seconds sooner without what no test needs."""

import contextlib
import os
import sys

sys.modules["rfc3987_syntax"] = None  # type: ignore[assignment]  # jsonschema then does without this slow grammar
if os.environ.get("FUNCS_EXAMPLES") != "all":
    with contextlib.suppress(ImportError, AttributeError):  # as other releases have it
        from hypothesis.internal.conjecture import providers

        # Else it looks through all of our source for values to try.
        constants = providers._local_constants
        providers._get_local_constants = lambda: constants
