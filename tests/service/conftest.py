"""The demo service as its callers meet it: in process, and over HTTP on a free port."""

from __future__ import annotations
