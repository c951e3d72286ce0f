"""
Connections to engines other than DuckDB, by their URLs: Spark through Spark Connect, and all else that ibis speaks to.

A connection is for one call at a time. What is said of a URL never has a password of it, nor a token.
"""
# ruff: noqa: PLC0415 - ibis and the libraries of engines load when an engine is connected to

from __future__ import annotations

import abc
import contextlib
import re
import urllib.parse
import warnings
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from .errors import SetupError
from .words import did_you_mean, listed, quoted

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from .dataset import Cards

SPARK_CONNECT = "sc"

_PLAIN = re.compile(
    r"""(?P<scheme>[\w.+-]+)://
    ([^/?\#;@]*@)?                                          # an account
    (?P<place>([\w.-]*|\[[0-9a-fA-F:.]+\])(:\d+)?(/[\w./%-]*)?)
    ([;?\#][^@]*)?                                          # options""",
    re.VERBOSE,
)
_OPTION = re.compile(r"[?;&]([^=?;&#]+)=([^?;&#]*)")
_SECRET = re.compile(r"pass|pwd|token|secret|key|cred|auth", re.IGNORECASE)
# In an error of gRPC, which begins with the name of its class.
_DETAILS = re.compile(r'\bdetails = "([^"\n]+)"')
_LONGEST_REASON = 200

# The client's own are made to wait ten minutes for a server, in which nobody is told anything.
_SPARK_RETRIES = 3
_SPARK_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # An overflow or a bad cast fails, as it does on DuckDB, and is not null.
    "spark.sql.ansi.enabled": "true",
    # A text such as '${env:HOME}' is an argument like any other.
    "spark.sql.variable.substitute": "false",
}
# Of every import, which an operator can do nothing about, and beside an error that says the same.
_SAID_ELSEWHERE = ("PySpark does not yet fully support pandas", r"\[RETRIES_EXCEEDED\]")
_SPARK_VIEW = "jupyter_funcs_card_spend"


@dataclass(frozen=True, slots=True)
class Address:
    """The URL of an engine: ``sc://host:port`` is Spark Connect, all others are those of `ibis.connect`."""

    url: str = field(repr=False)

    @property
    def scheme(self) -> str:
        """What stands before ``://``."""
        scheme = self.url.partition("://")[0].casefold() if "://" in self.url else ""
        return "postgres" if scheme == "postgresql" else scheme  # as ibis has it

    def __str__(self) -> str:
        """Give the URL without its account and its options; only its scheme where it is not plain where they end."""
        plain = _PLAIN.fullmatch(self.url)
        return quoted(f"{plain['scheme']}://{plain['place']}" if plain else f"{self.scheme}://…")

    def reason(self, error: Exception) -> str:
        """Give the first line of what an error says, without anything of the URL that might be secret."""
        text = str(error).strip()
        details = _DETAILS.search(text)
        line = details[1] if details else text.partition("\n")[0]
        account = self.url.partition("://")[2].rpartition("@")[0]
        options = [value for name, value in _OPTION.findall(self.url) if _SECRET.search(name)]
        for secret in (self.url, account, account.partition(":")[2], *options):
            for form in (secret, urllib.parse.unquote_plus(secret)):
                line = line.replace(form, "…") if form else line
        line = line or type(error).__name__
        return line if len(line) <= _LONGEST_REASON else f"{line[:_LONGEST_REASON]}…"

    def connect(self) -> Connection:
        """Open a connection; raises `SetupError`."""
        is_spark = self.scheme == SPARK_CONNECT
        known = {each.name for each in entry_points(group="ibis.backends")}
        if not is_spark and self.scheme not in known:
            near = did_you_mean(self.scheme, [SPARK_CONNECT, *sorted(known)])
            raise SetupError(
                f"The engine {self} is of no kind that is known.{near}\n"
                f"Use 'duckdb://', 'sc://host:port' for Spark Connect, or a URL of ibis: {listed(sorted(known))}."
            )
        try:
            return SparkConnection(self.url) if is_spark else IbisConnection(self.url)
        except ImportError as error:
            package = "pyspark-client>=4,<5" if is_spark else f"ibis-framework[{self.scheme}]"
            raise SetupError(
                f"The engine {self} needs a library that is not installed: {self.reason(error)}\n"
                f"Install it: pip install '{package}'"
            ) from None
        except Exception as error:  # noqa: BLE001 - each driver has errors of its own
            # From None: a driver's error may hold the URL, and so a password.
            raise SetupError(
                f"The engine {self} cannot be reached: {self.reason(error)}\n"
                "Check its address, that it runs, and the account in its URL."
            ) from None

    def card_spend(self, connection: Connection, cards: Cards) -> tuple[ir.Table, ir.Table]:
        """
        Make card spend known to a connection.

        Returns
        -------
        tuple[ir.Table, ir.Table]
            Card spend as it lies, as an unbound table, and an expression on that with the columns that queries read.

        Raises
        ------
        SetupError
            There is none, or it has other columns.
        """
        try:
            source = connection.source(cards)
            return source, cards.mapped(source)
        except SetupError:
            raise
        except Exception as error:  # noqa: BLE001 - each driver has errors of its own
            where = ".".join(cards.table) or ", ".join(cards.files)
            raise SetupError(
                f"The engine {self} gives no card spend at {quoted(where)}: {self.reason(error)}\n"
                "Name a table that it has, or Parquet files that each of its machines reads at this place, "
                "and that its account may read."
            ) from None


class Connection(abc.ABC):
    """A connection to an engine, for one call at a time."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend

    def source(self, cards: Cards) -> ir.Table:
        """Give card spend, as it lies, as an unbound table."""
        *database, name = cards.table
        return self.backend.table(name, database=tuple(database) or None).unbind()

    @abc.abstractmethod
    def arrow(self, expression: ir.Table) -> pa.Table:
        """Execute an expression."""

    @abc.abstractmethod
    def interrupt(self) -> None:
        """Ask the engine to stop what runs; to be called from another thread."""

    @abc.abstractmethod
    def close(self) -> None:
        """Let go of it."""


class IbisConnection(Connection):
    """A connection by a URL of `ibis.connect`."""

    def __init__(self, url: str) -> None:
        import ibis

        super().__init__(ibis.connect(url))
        # Some drivers reach for the server only when it is needed.
        self.backend.to_pyarrow(ibis.literal(1))

    def source(self, cards: Cards) -> ir.Table:
        """Give card spend, as it lies, as an unbound table."""
        if cards.files:
            raise SetupError(
                f"The engine is {self.backend.name}, but card spend lies in the files {listed(cards.files)}.\n"
                "Load them into a table of the engine and name that one."
            )
        return super().source(cards)

    def arrow(self, expression: ir.Table) -> pa.Table:
        """Execute an expression."""
        return self.backend.to_pyarrow(expression)

    def interrupt(self) -> None:
        """Ask the engine to stop what runs, where its driver knows how to, as that of PostgreSQL does."""
        cancel = getattr(getattr(self.backend, "con", None), "cancel", None)
        if cancel is not None:
            cancel()

    def close(self) -> None:
        """Let go of it."""
        with contextlib.suppress(Exception):  # it may be broken
            self.backend.disconnect()


class SparkConnection(Connection):
    """A session of Spark Connect."""

    def __init__(self, url: str) -> None:
        for said in _SAID_ELSEWHERE:
            warnings.filterwarnings("ignore", said)

        import ibis
        from pyspark.logger import PySparkLogger
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client.retries import DefaultPolicy

        # It writes a query that fails to stderr, and so the arguments of a run.
        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True

        self._session: Any = SparkSession.builder.remote(url).create()
        self._session.client.set_retry_policies([DefaultPolicy(max_retries=_SPARK_RETRIES)])
        try:
            for name, value in _SPARK_SETTINGS.items():
                self._session.conf.set(name, value)
            super().__init__(ibis.pyspark.connect(self._session))
        except BaseException:
            self.close()
            raise

    def source(self, cards: Cards) -> ir.Table:
        """Make a view of Parquet files, which ends with the session; give card spend as an unbound table."""
        if not cards.files:
            return super().source(cards)
        self._session.read.parquet(*cards.files).createOrReplaceTempView(_SPARK_VIEW)
        return self.backend.table(_SPARK_VIEW).unbind()

    def arrow(self, expression: ir.Table) -> pa.Table:
        """Execute an expression."""
        import ibis.expr.operations as ops
        from ibis.formats.pyarrow import PyArrowData

        # Not by ibis, which goes through pandas: whole numbers with nulls among them would become fractions.
        for table in expression.op().find(ops.InMemoryTable):
            frame = self._session.createDataFrame(table.data.to_pyarrow(table.schema))
            frame.createOrReplaceTempView(table.name)
        found = self._session.sql(self.backend.compile(expression)).toArrow()
        return PyArrowData.convert_table(found, expression.schema())

    def interrupt(self) -> None:
        """Ask Spark to stop what runs."""
        self._session.interruptAll()

    def close(self) -> None:
        """Let go of the session, and of what it holds on the server."""
        self._session.stop()
