"""Build a service from its settings, with everything checked before the first request; and again when files change."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import logging
import os
import shlex
import threading
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import plural, quoted, quoted_list, suggestion
from jupyter_funcs.service.accounts import state_folder
from jupyter_funcs.service.accounts.account_records import Asset, folded
from jupyter_funcs.service.accounts.auth import Auth
from jupyter_funcs.service.accounts.kept_records import KeptLimits, KeptRecords
from jupyter_funcs.service.builtin import card_functions, companies, demo
from jupyter_funcs.service.config.settings import Settings, load
from jupyter_funcs.service.engine.remote_engine import (
    IN_MEMORY,
    RemoteEngine,
    connect_engine,
)
from jupyter_funcs.service.publishing import confinement
from jupyter_funcs.service.publishing.registry import (
    PublishedFunction,
    Registry,
    same_name,
)
from jupyter_funcs.service.publishing.worker_pool import Workers
from jupyter_funcs.service.server.admin import config_option
from jupyter_funcs.service.web.app import create_app
from jupyter_funcs.service.web.hosts import Hosts
from jupyter_funcs.service.web.runs import Limits, Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.applications import Starlette
    from starlette.types import Receive, Scope, Send

    from jupyter_funcs.core.json_decoding import JsonObject
    from jupyter_funcs.service.accounts.grants import Grants
    from jupyter_funcs.service.engine.duckdb_engine import DuckDBEngine
    from jupyter_funcs.service.web.kept_runs import KeptRuns

log = logging.getLogger(__name__)

# In bytes, of a file with functions.
_MOST_HASHED = 2**24

# Queries on another engine, which take a thread each but no processor here.
_MOST_WAITING = 64
# A worker's own memory, apart from what its functions use.
_WORKER_BYTES = 15 * 10**6
_POLL_SECONDS = 0.5
# Listing the files takes at most this part of the time.
_MOST_WATCHING = 0.05
# What is read only when the process starts.
_FIXED = {
    "host",
    "port",
    "tls_certificate",
    "tls_key",
    "processes",
    "stop_seconds",
    "log",
}
# Limits of which each process has its share.
_SHARED = (
    "engine_threads",
    "workers",
    "concurrent_runs",
    "runs_a_user",
    "wrong_logins_per_name",
    "wrong_logins_per_address",
)


@dataclass(eq=False)
class Hosted:
    """A version of a service that is ready to serve; `about` describes it in a few words, and `ends` closes it."""

    app: Starlette
    about: str
    folder: Path
    grants: Grants
    settings: Settings
    runs: Runs
    kept: KeptRuns | None
    ends: ExitStack
    requests: int = 0


def build(settings: Settings, config: Path | None) -> Hosted:
    """Build a service, without a configuration file the demo."""
    with ExitStack() as opened:
        is_demo = config is None
        author = settings.organisation
        seed = None
        if is_demo:
            author = demo.AUTHOR
            seed = demo.add_accounts
        folder = state_folder.folder(settings.state, demo=is_demo)
        built_in, engine = _built_in(settings, is_demo=is_demo)
        functions = built_in
        opened.callback(engine.close)
        if settings.functions.folders or settings.functions.entry_points:
            _warn_of_system()
            workers = opened.enter_context(
                closing(_workers(settings, engine, [folder, config]))
            )
            functions = [*functions, *workers.load()]
        registry = Registry(functions, author=author)
        grants = state_folder.open_grants(folder, seed)
        opened.callback(grants.close)
        grants.audit.days = settings.audit.days
        grants.audit.rows = settings.audit.rows
        others = grants.audit.served(str(config.resolve()) if config else None)
        if config and not settings.state and not os.environ.get("FUNCS_STATE_DIR"):
            _warn_of_shared_folder(folder, config, others)
        grants.audit.published(
            {function.name: _source(function) for function in functions}
        )
        _warn_of_missing_assets(functions, grants, config)
        _warn_of_missing_lists(functions)
        auth = Auth(state_folder.open_keys(folder), grants)
        server = settings.server
        limits = _limits(settings, engine)
        hosts = Hosts(
            (server.host, *server.allowed_hosts),
            server.allowed_origins,
            server.behind_proxy,
            server.trusted_proxies,
        )
        kept = None
        if server.keep_days:
            kept = KeptRecords(
                grants.database,
                folder / "runs",
                KeptLimits(server.keep_days, server.keep_size, server.keep_size_a_user),
            )
            opened.callback(kept.close)
        app = create_app(
            registry, auth, grants, engine, limits=limits, hosts=hosts, kept=kept
        )
        about = _about(settings, len(built_in), len(functions))
        return Hosted(
            app,
            about,
            folder,
            grants,
            settings,
            app.state.runs,
            app.state.kept,
            opened.pop_all(),
        )


@dataclass(eq=False)
class LiveService:
    """The ASGI application of the newest version of a service; what an older one has accepted ends on that one."""

    load: Callable[[], Settings]
    config: Path | None

    def __post_init__(self) -> None:
        self._ended = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._versions = [build(self.load(), self.config)]

    @property
    def service(self) -> Hosted:
        return self._versions[-1]

    @property
    def admitted(self) -> int:
        return sum(version.runs.admitted for version in self._versions)

    @property
    def busy_threads(self) -> int:
        return sum(version.runs.busy_threads for version in self._versions)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        version = self.service
        version.requests += 1
        try:
            await version.app(scope, receive, send)
        finally:
            version.requests -= 1

    def start(self) -> None:
        """Take over the kept runs of processes that have ended; called on the event loop."""
        self._loop = asyncio.get_running_loop()
        if kept := self.service.kept:
            kept.start()

    def release(self) -> list[asyncio.Task[Any]]:
        """Let those go who wait for kept runs, and return the ones that are running; called on the event loop."""
        kept = [version.kept for version in self._versions]
        return [task for runs in kept if runs for task in runs.release()]

    def stop(self) -> None:
        """Cancel every run and admit no more; called on the event loop."""
        for version in self._versions:
            version.runs.stop()

    def close(self) -> None:
        """Close the data, accounts and workers of every version."""
        self._ended.set()
        for version in self._versions:
            version.ends.close()

    def watch(self) -> None:
        """Build the service again whenever its files change, until it is closed."""
        threading.Thread(target=self._watch, name="watch files", daemon=True).start()

    def _watch(self) -> None:
        built = last = self._files()
        pause = _POLL_SECONDS
        while not self._ended.wait(pause):
            began = time.monotonic()
            now = self._files()
            pause = max(_POLL_SECONDS, (time.monotonic() - began) / _MOST_WATCHING)
            for version in self._versions[:-1]:
                is_busy = version.runs.admitted or (
                    version.kept and version.kept.unfinished
                )
                is_over = not version.requests and not is_busy
                if is_over and (version.kept is None or version.kept.retire()):
                    self._versions.remove(version)
                    version.ends.close()
            if now == last and now != built:  # no longer being written
                built = now
                self._rebuild()
            last = now

    def _rebuild(self) -> None:
        log.info("Files have changed; reloading.")
        fixed = self.service.settings.server.model_dump(include=_FIXED)
        try:
            settings = self.load()
            wanted = settings.server.model_dump(include=_FIXED)
            server = settings.server.model_copy(update=fixed)
            settings = settings.model_copy(update={"server": server})
            self._versions.append(build(settings, self.config))
        except Exception as error:  # noqa: BLE001 - the next change may fix it, whatever it is
            log.error("%s\nThe functions from before are still served.", error)  # noqa: TRY400 - one line
            return

        if self._loop:
            self._loop.call_soon_threadsafe(self.start)
        log.info("Reloaded: serving %s.", self.service.about)
        if changed := [name for name in fixed if wanted[name] != fixed[name]]:
            names = quoted_list(f"server.{name}" for name in changed)
            log.warning("%s will change when you restart the service.", names)

    def _files(self) -> set[tuple[Path, int, int, int]]:
        """Return the configuration and the published files with what changes when they are written."""
        state = self.service.folder.resolve()
        paths = list(filter(None, [self.config]))
        for published in self.service.settings.functions.folders:
            for folder, inner, names in os.walk(published):
                inner[:] = [
                    name
                    for name in inner
                    if not name.startswith(".")
                    and name != "__pycache__"
                    and Path(folder, name).resolve() != state
                ]
                paths += [
                    Path(folder, name) for name in names if not name.startswith(".")
                ]

        files = set()
        for path in paths:
            with suppress(OSError):  # it was removed
                file = path.stat()
                files.add((path, file.st_mtime_ns, file.st_size, file.st_ino))

        return files


def _limits(settings: Settings, engine: DuckDBEngine) -> Limits:
    """Return the limits of a process, which has its share of those of the server."""
    server = settings.server
    limits = Limits(
        run_seconds=server.run_seconds,
        concurrent_runs=server.concurrent_runs,
        runs_a_user=server.runs_a_user,
        workers=_most_workers(),
    )
    if isinstance(engine, RemoteEngine):
        limits = limits._replace(engine_threads=_MOST_WAITING)
    if server.engine_threads:
        limits = limits._replace(engine_threads=server.engine_threads)
    whole = limits._asdict()
    return limits._replace(
        **{name: server.share(whole[name]) for name in _SHARED if whole[name]}
    )


def _most_workers() -> int:
    """Return for how many worker processes, of which most are small, the machine has memory."""
    return min(
        max(psutil.virtual_memory().total // 4 // _WORKER_BYTES, 8), Limits().workers
    )


def _about(settings: Settings, built_in: int, count: int) -> str:
    functions = plural(count, "function")
    if settings.data or not built_in:
        return f"{functions} of {settings.organisation}"
    if built_in < count:
        functions += f", {built_in} of them"
    return f"{functions} over the data of the demo (synthetic)"


def _built_in(
    settings: Settings, *, is_demo: bool
) -> tuple[Sequence[PublishedFunction], DuckDBEngine]:
    """Return the built-in functions and the engine of a service, checked against its data."""
    asset = settings.functions.asset
    if not settings.data:
        reference = companies.reference()
        cards = demo.cards
        built_in = demo.published(asset, None)
        if is_demo:
            built_in = demo.published()
    else:
        from jupyter_funcs.service.config import team_data

        reference, cards = team_data.load(settings, settings.data)
        built_in = card_functions.published(reference, asset=asset)

    engine = connect_engine(
        settings.engine,
        reference,
        cards,
        memory_limit=settings.memory_limit,
        processes=settings.server.processes,
    )
    if settings.data or settings.engine != IN_MEMORY:
        engine.open()
    return built_in if settings.functions.builtin else (), engine


def check(
    settings: Settings,
) -> tuple[list[PublishedFunction], list[JsonObject], list[str]]:
    """Load the published functions as the service would; return them, their listing, and what is wrong with them."""
    built_in, engine = _built_in(settings, is_demo=False)
    with (
        closing(engine),
        closing(_workers(settings, engine, (), keeps_going=True)) as workers,
    ):
        published = workers.load()
        problems = workers.problems
        by_name = {function.name: function for function in built_in}
        for function in published:
            if (other := by_name.setdefault(function.name, function)) is not function:
                problems.append(str(same_name(other, function)))
        _warn_of_missing_lists([*by_name.values()])
        kept = [
            function for function in published if by_name[function.name] is function
        ]
        registry = Registry(kept, author=settings.organisation)
        assets = dict.fromkeys(function.asset for function in kept)
        all_ = [
            Asset(at, name, "", is_shared=True) for at, name in enumerate(assets, 1)
        ]
        return kept, registry.listing(all_, engine.reference), problems


@functools.cache
def _warn_of_system() -> None:
    """Warn, once, of what published functions could do on this system."""
    warnings = {
        confinement.can_confine: "This system can't confine published functions: they can read what the service's "
        "account can, such as the signing keys. Publish only what you trust, or use Linux with Landlock.",
        confinement.can_separate: "This system doesn't let published functions have namespaces of their own: they can "
        "fill /dev/shm and read what others leave there, and can't set modes and times of files, even of their own. "
        "Publish only what you trust, or allow namespaces (unshare).",
        confinement.can_limit_system_calls: "This processor's system calls are unknown: published functions can change "
        "limits and priorities of the service, and leave memory behind. Publish only what you trust, or use Linux on "
        "x86-64 or ARM64.",
        confinement.can_limit_processes: "This system can't limit how many processes published functions start. Don't "
        "run the service as root.",
    }
    for is_possible, warning in warnings.items():
        if not is_possible():
            log.warning(warning)


def _workers(
    settings: Settings,
    engine: DuckDBEngine,
    hidden: Sequence[Path | None],
    *,
    keeps_going: bool = False,
) -> Workers:
    """Return the workers for the published files, which can't read the hidden ones."""
    own = settings.functions
    secret = (*hidden, settings.server.tls_key)
    setup = confinement.WorkerSetup(
        folders=own.folders,
        entry_points=own.entry_points,
        default_asset=own.asset,
        reference=engine.reference,
        readable=own.readable,
        hidden=tuple(path.absolute() for path in secret if path),
        keeps_going=keeps_going,
        import_seconds=settings.server.run_seconds,
        memory=own.memory_limit,
    )
    for path in own.readable:
        if not path.exists():
            log.warning("functions.readable names %s, which doesn't exist.", path)
    for name in own.variables:
        if name not in os.environ:
            log.warning("functions.variables names %s, which isn't set.", name)
    idle = settings.server.idle_workers
    if idle is None:
        idle = _most_workers()
    return Workers(
        setup, own.variables, idle=idle, idle_seconds=settings.server.idle_seconds
    )


def _warn_of_shared_folder(folder: Path, config: Path, others: Sequence[str]) -> None:
    """Warn of another configuration that uses the same state folder because neither of the two names one."""
    for other in others:
        try:
            is_shared = not config.samefile(other) and not load(Path(other)).state
        except OSError:  # it was moved or removed
            continue
        except SetupError:  # it can't be read now, and its accounts are here
            is_shared = True
        if is_shared:
            log.warning(
                "%s uses the state folder %s too, with the same users, grants and keys. To separate the two, "
                "set state = 'FOLDER' in one of them; to share it on purpose, set state = '%s' in both.",
                other,
                folder,
                folder,
            )


def _source(function: PublishedFunction) -> str:
    """Describe what a function runs, in a way that changes with it."""
    path = Path(function.place.partition(", line ")[0])
    digest = "unknown"
    # A worker named the file: only a regular one is opened, and no more of it read than a source has.
    with suppress(OSError, ValueError):
        if path.is_file():
            with path.open("rb") as file:
                digest = hashlib.sha256(file.read(_MOST_HASHED)).hexdigest()[:16]

    return f"{function.asset}: {path}, SHA-256 {digest}"


def _warn_of_missing_assets(
    functions: Sequence[PublishedFunction], grants: Grants, config: Path | None
) -> None:
    """Warn of functions that nobody can see."""
    existing = {folded(asset.name) for asset in grants.all_assets()}
    for asset in dict.fromkeys(
        function.asset
        for function in functions
        if folded(function.asset) not in existing
    ):
        names = quoted_list(
            function.name for function in functions if function.asset == asset
        )
        command = f"jupyter funcs admin assets add {shlex.quote(asset)}{config_option(config)}"
        log.warning(
            "Nobody may run %s: the asset %s doesn't exist yet. To add it: %s",
            names,
            quoted(asset),
            command,
        )


def _warn_of_missing_lists(functions: Sequence[PublishedFunction]) -> None:
    """Warn of parameters whose values are listed by an unpublished function."""
    names = {function.name.casefold(): function.name for function in functions}
    for function in functions:
        for parameter in function.parameters:
            if parameter.source and parameter.source.function.casefold() not in names:
                log.warning(
                    "The parameter %s of %s has no list of values: the function %s is not published.%s",
                    parameter.name,
                    quoted(function.name),
                    quoted(parameter.source.function),
                    suggestion(parameter.source.function, names.values()),
                )
