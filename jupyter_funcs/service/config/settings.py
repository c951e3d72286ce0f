"""The configuration of a service: the keys of its TOML file, and their defaults."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ByteSize,
    Field,
    IPvAnyNetwork,
    PrivateAttr,
    Strict,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from jupyter_funcs.service.config.config_file import TomlFile
from jupyter_funcs.service.config.mapping import Data, FilePath, FilePaths, Name, Names, Section
from jupyter_funcs.service.engine.remote import IN_MEMORY
from jupyter_funcs.service.messages import SetupError, listed, quoted
from jupyter_funcs.service.web.runs import Limits

if TYPE_CHECKING:
    from jupyter_funcs.service.config.config_file import Key

_VARIABLE = re.compile(r"\$\{(\w*)\}")
_MEMORY = re.compile(r"[0-9]+(\.[0-9]+)? ?[KMGT]i?B", re.IGNORECASE)
_LIMITS = Limits()


def _with_variables(url: Any) -> Any:
    """Replace ``${NAME}`` by environment variables, so that passwords stay out of the file."""
    if not isinstance(url, str):
        return url
    if absent := [name for name in _VARIABLE.findall(url) if name not in os.environ]:
        raise ValueError(f"{listed(absent)} is not set in the environment. Set it, or change the name.")
    return _VARIABLE.sub(lambda found: os.environ[found[1]], url)


def _engine(url: str, info: ValidationInfo) -> str:
    scheme, separator, rest = url.partition("://")
    # The message doesn't show the URL: it may contain a password.
    if not scheme or not separator:
        raise ValueError("must be a connection URL such as 'duckdb://' or 'sc://host:15002'.")
    is_relative_file = scheme == "duckdb" and rest and not rest.startswith(("/", ":"))
    return f"duckdb://{(info.context or Path()) / rest}" if is_relative_file else url


def _memory(text: Any) -> str:
    if not isinstance(text, str) or not _MEMORY.fullmatch(text):
        raise ValueError(f"must be an amount of memory such as '4GB', not {quoted(text)}.")
    return text


class Server(Section):
    """The section ``[server]``: addresses, limits and logs."""

    host: Name = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65535)
    tls_certificate: FilePath | None = None
    tls_key: FilePath | None = None
    behind_proxy: bool = False
    trusted_proxies: Annotated[tuple[IPvAnyNetwork, ...], Strict(strict=False)] = ()
    allowed_hosts: Names = ()
    allowed_origins: Names = ()
    run_seconds: float = Field(default=_LIMITS.run_seconds, gt=0, le=86400)
    concurrent_runs: int = Field(default=_LIMITS.concurrent_runs, ge=1)
    runs_a_user: int | None = Field(default=None, ge=1)
    log: Literal["text", "json"] = "text"

    @model_validator(mode="after")
    def _both_of_tls(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("needs both tls_certificate and tls_key, or neither.")
        return self


class Functions(Section):
    """The section ``[functions]``: which functions are published."""

    builtin: bool = True
    folders: FilePaths = ()
    entry_points: bool = False
    readable: FilePaths = ()
    variables: Names = ()
    memory_limit: Annotated[ByteSize, BeforeValidator(_memory)] = ByteSize(4 * 10**9)
    asset: Name = "Panel data"


class Retention(Section):
    """The section ``[audit]``: how long records are kept, and how many of each kind."""

    days: float = Field(default=90, gt=0, le=36525)
    rows: int = Field(default=1_000_000, ge=1)


class Settings(Section):
    """All settings of a service; the defaults serve the demo."""

    organisation: Name = "Team"
    state: FilePath | None = None
    engine: Annotated[str, BeforeValidator(_with_variables), AfterValidator(_engine)] = Field(
        default=IN_MEMORY, repr=False
    )
    memory_limit: Annotated[str, AfterValidator(_memory)] | None = None
    server: Server = Server()
    functions: Functions = Functions()
    audit: Retention = Retention()
    data: Data | None = None
    _file: TomlFile = PrivateAttr(TomlFile("the configuration", "", {}))

    def fail(self, key: Key, text: str) -> NoReturn:
        """Raise a `SetupError` about a key, such as ``("data", "columns", "spend")``, with its line."""
        raise SetupError(f"{self._file.place(key)}: {text}")


def load(path: Path | None) -> Settings:
    """Read a configuration file; `None` means the defaults."""
    if path is None:
        return Settings()
    file = TomlFile.read(path)
    try:
        settings = Settings.model_validate(file.values, context=path.absolute().parent)
    except ValidationError as error:
        # From None: pydantic's own message shows the engine's URL, which may contain a password.
        raise SetupError(file.describe(error, Settings)) from None
    settings._file = file  # noqa: SLF001 - set here and nowhere else
    return settings
