"""Log to stderr, one line per event, as text or JSON."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, Literal

import structlog

from jupyter_funcs.service.web.requests import request_id

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor, WrappedLogger


def configure(style: Literal["text", "json"]) -> None:
    """Log the service from INFO and everything else from WARNING."""
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        _add_request_id,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        # Before the renderer, whose own tracebacks show the values of variables.
        structlog.processors.format_exc_info,
    ]
    processors: list[Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    renderer: Processor = structlog.processors.JSONRenderer()
    if style == "text":
        processors.append(_for_people)
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), sort_keys=False, exception_formatter=structlog.dev.plain_traceback
        )
    formatter = structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[*processors, renderer])
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(formatter)
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logging.captureWarnings(capture=True)
    logging.getLogger("jupyter_funcs.service").setLevel(logging.INFO)


def _add_request_id(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    if identifier := request_id.get():
        event.setdefault("request_id", identifier)
    return event


def _for_people(_logger: WrappedLogger, _name: str, event: EventDict) -> EventDict:
    """Drop the fields that a request's message repeats, and the logger's name on the service's own lines."""
    repeated = {"logger"} if str(event.get("logger", "")).startswith("jupyter_funcs.service.") else set()
    if "milliseconds" in event:
        repeated |= {"method", "path", "status", "user_id"}
    last = {"request_id": event["request_id"]} if "request_id" in event else {}
    return {key: value for key, value in event.items() if key not in repeated | {"request_id"}} | last
