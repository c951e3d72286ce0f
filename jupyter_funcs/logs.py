"""The logs of httpcore, without tokens: it writes down a reply's headers, in which a service may repeat one."""

from __future__ import annotations

import logging

from jupyter_funcs.secret import redacted_all

_LOGGERS = [f"httpcore.{part}" for part in ("connection", "http11", "http2", "proxy", "socks")]


class _Mask(logging.Filter):
    """Masks in each record what is hidden in this process."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redacted_all(record.getMessage()), ()
        return True


_MASK = _Mask()


def mask_logs() -> None:
    """Mask tokens in the logs of httpcore; once is enough, and more does no harm."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_MASK)
