"""A service that can be built again while it is served, when its files change."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_funcs.service.server import hosted

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from jupyter_funcs.service.config.settings import Settings
    from jupyter_funcs.service.server.hosted import Hosted
    from jupyter_funcs.service.web.runs import Runs

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.5
# Listing the files takes at most this part of the time.
_MOST_WATCHING = 0.05
# What is read only when the process starts.
_FIXED = {"host", "port", "tls_certificate", "tls_key", "log"}


@dataclass(eq=False)
class _Version:
    service: Hosted
    settings: Settings
    runs: Runs
    ends: contextlib.ExitStack
    requests: int = 0


class LiveService:
    """The ASGI application of the newest version of a service; what an older one has accepted ends on that one."""

    def __init__(self, load: Callable[[], Settings], config: Path | None) -> None:
        self._load = load
        self._config = config
        self._ended = threading.Event()
        self._versions: list[_Version] = []
        self._build()

    @property
    def service(self) -> Hosted:
        """The newest version."""
        return self._versions[-1].service

    @property
    def admitted(self) -> int:
        """The runs in progress."""
        return sum(each.runs.admitted for each in self._versions)

    @property
    def busy_threads(self) -> int:
        """The threads in which functions run."""
        return sum(each.runs.busy_threads for each in self._versions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        version = self._versions[-1]
        version.requests += 1
        try:
            await version.service.app(scope, receive, send)
        finally:
            version.requests -= 1

    def stop(self) -> None:
        """Cancel every run and admit no more; called on the event loop."""
        for each in self._versions:
            each.runs.stop()

    def close(self) -> None:
        """Close the data, accounts and workers of every version."""
        self._ended.set()
        for each in self._versions:
            each.ends.close()

    def watch(self) -> None:
        """Build the service again whenever its files change, until it is closed."""
        threading.Thread(target=self._watch, name="watch files", daemon=True).start()

    def _build(self) -> None:
        settings = self._load()
        with contextlib.ExitStack() as ends:
            service = hosted.build(settings, self._config, ends)
            self._versions.append(_Version(service, settings, service.app.state.runs, ends.pop_all()))

    def _watch(self) -> None:
        built = last = self._files()
        pause = _POLL_SECONDS
        while not self._ended.wait(pause):
            began = time.monotonic()
            now = self._files()
            pause = max(_POLL_SECONDS, (time.monotonic() - began) / _MOST_WATCHING)
            for each in self._versions[:-1]:
                if not each.requests and not each.runs.admitted:
                    self._versions.remove(each)
                    each.ends.close()
            if now == last and now != built:  # no longer being written
                built = now
                self._rebuild()
            last = now

    def _rebuild(self) -> None:
        log.info("Files have changed; reloading.")
        before = self._versions[-1].settings
        try:
            self._build()
        except Exception as error:  # noqa: BLE001 - the next change may fix it, whatever it is
            log.error("%s\nThe functions from before are still served.", error)  # noqa: TRY400 - one line
            return
        log.info("Reloaded: serving %s.", self.service.about)
        after = self._versions[-1].settings
        if before.server.model_dump(include=_FIXED) != after.server.model_dump(include=_FIXED):
            log.warning("The address, the certificate and the format of the log change when you restart the service.")

    def _files(self) -> dict[str, tuple[int, ...]]:
        """Return the configuration and the published files with what changes when they are written."""
        paths = [self._config] if self._config else []
        for published in self._versions[-1].settings.functions.folders:
            for folder, inner, names in os.walk(published):
                inner[:] = [each for each in inner if not each.startswith(".") and each != "__pycache__"]
                paths += [Path(folder, each) for each in names if not each.startswith(".")]
        found: dict[str, tuple[int, ...]] = {}
        for path in paths:
            with contextlib.suppress(OSError):  # it was removed
                file = path.stat()
                found[str(path)] = (file.st_mtime_ns, file.st_size, file.st_ino)
        return found
