"""The configuration of a service: what may stand in its TOML file, and what each key is worth where it is absent."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NoReturn, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from . import mistakes
from .engines import IN_MEMORY
from .errors import SetupError
from .limits import Limits
from .mapping import Data  # noqa: TC001 - pydantic reads the annotation
from .sections import FilePath, FilePaths, Name, Names, Section
from .toml_file import TomlFile
from .words import listed, quoted

if TYPE_CHECKING:
    from .toml_file import Key

_VARIABLE = re.compile(r"\$\{(\w*)\}")
_MEMORY = re.compile(r"[0-9]+(\.[0-9]+)? ?[KMGT]i?B", re.IGNORECASE)
_LIMITS = Limits()


def _with_variables(url: Any) -> Any:
    """Fill in variables of the environment, so that passwords stay out of the file."""
    if not isinstance(url, str):
        return url
    if absent := [name for name in _VARIABLE.findall(url) if name not in os.environ]:
        raise ValueError(f"names {listed(absent)}, which the environment does not have. Set it, or write another name.")
    return _VARIABLE.sub(lambda found: os.environ[found[1]], url)


def _engine(url: str, info: ValidationInfo) -> str:
    scheme, separator, rest = url.partition("://")
    # Without the URL: it may hold a password.
    if not scheme or not separator:
        raise ValueError("is not a connection URL, such as 'duckdb://' or 'sc://host:15002'.")
    is_relative_file = scheme == "duckdb" and rest and not rest.startswith(("/", ":"))
    return f"duckdb://{(info.context or Path()) / rest}" if is_relative_file else url


def _memory(text: str) -> str:
    if not _MEMORY.fullmatch(text):
        raise ValueError(f"is {quoted(text)}, not an amount of memory such as '4GB'.")
    return text


class Server(Section):
    """
    How the service answers: ``[server]``.

    Attributes
    ----------
    run_seconds, concurrent_runs, runs_a_user
        See `limits.Limits`.
    """

    host: Name = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65535)
    tls_certificate: FilePath | None = None
    tls_key: FilePath | None = None
    behind_proxy: bool = False
    allowed_hosts: Names = ()
    allowed_origins: Names = ()
    run_seconds: float = Field(default=_LIMITS.run_seconds, gt=0, le=86400)
    concurrent_runs: int = Field(default=_LIMITS.concurrent_runs, ge=1)
    runs_a_user: int | None = Field(default=None, ge=1)
    log: Literal["text", "json"] = "text"

    @model_validator(mode="after")
    def _both_of_tls(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("has one of tls_certificate and tls_key. Give both, or none.")
        return self


class Functions(Section):
    """
    Which functions are published: ``[functions]``.

    Attributes
    ----------
    asset
        The asset of the functions that name none, and of the built-in ones.
    """

    builtin: bool = True
    folders: FilePaths = ()
    entry_points: bool = False
    asset: Name = "Panel data"


class Settings(Section):
    """
    All settings of a service. Those that nobody gave serve the demo.

    Attributes
    ----------
    engine
        The connection URL, with the variables of the environment filled in.
    data
        The team's own data; without them the service has the demo's.
    """

    organisation: Name = "Team"
    state: FilePath | None = None
    engine: Annotated[str, BeforeValidator(_with_variables), AfterValidator(_engine)] = Field(
        default=IN_MEMORY, repr=False
    )
    memory_limit: Annotated[str, AfterValidator(_memory)] | None = None
    server: Server = Server()
    functions: Functions = Functions()
    data: Data | None = None
    _file: TomlFile = PrivateAttr(TomlFile("the configuration", "", {}))

    def fail(self, key: Key, text: str) -> NoReturn:
        """Raise a `SetupError` about a key, such as ``("data", "columns", "spend")``, that names its line."""
        raise SetupError(f"{self._file.place(key)}: {text}")


def load(path: Path | None) -> Settings:
    """
    Read a configuration.

    Parameters
    ----------
    path
        The file, in whose folder relative paths begin; `None` gives the settings of a service without one.

    Raises
    ------
    SetupError
        It cannot be read, or keys or values are not those of a configuration; names the first three, with their lines.
    """
    if path is None:
        return Settings()
    file = TomlFile.read(path)
    try:
        settings = Settings.model_validate(file.values, context=path.absolute().parent)
    except ValidationError as error:
        # From None: pydantic's own text shows the values, of which the engine's URL may hold a password.
        raise SetupError(mistakes.in_words(error, Settings, file)) from None
    settings._file = file  # noqa: SLF001 - set here and nowhere else
    return settings
