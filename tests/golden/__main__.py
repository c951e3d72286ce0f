"""Write tests/golden/bodies.txt again: ``python -m tests.golden``; then read its diff."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    os.environ["FUNCS_GOLDEN"] = "write"
    sys.exit(pytest.main(["-q", "-n", "0", str(Path(__file__).parent)]))
