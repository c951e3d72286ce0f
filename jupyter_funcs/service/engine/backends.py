"""
Connections to other engines by URL: Spark through Spark Connect, and everything else that ibis supports.

A connection serves one call at a time. Messages never show the password or token of a URL.
"""

from __future__ import annotations

import contextlib
import re
import urllib.parse
import warnings
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from jupyter_funcs.core.errors import SetupError
from jupyter_funcs.core.text import clip, quoted, quoted_list, suggestion

if TYPE_CHECKING:
    import ibis.expr.types as ir
    import pyarrow as pa

    from jupyter_funcs.service.engine.tables import Cards

SPARK_CONNECT = "sc"

_PLAIN = re.compile(
    r"""(?P<scheme>[\w.+-]+)://
    ([^/?\#;@]*@)?                                          # an account
    (?P<place>([\w.-]*|\[[0-9a-fA-F:.]+\])(:\d+)?(/[\w./%-]*)?)
    ([;?\#][^@]*)?                                          # options""",
    re.VERBOSE,
)
_OPTION = re.compile(r"[?;&]([^=?;&#]+)=([^?;&#]*)")
_SECRET = re.compile(r"(?i)pass|pwd|token|secret|key|cred|auth")
# In a gRPC error, which starts with the name of its class.
_DETAILS = re.compile(r'\bdetails = "([^"\n]+)"')

# The client's default retries wait ten silent minutes for a server.
_SPARK_RETRIES = 3
_SPARK_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # Overflows and bad casts fail as on DuckDB, instead of returning null.
    "spark.sql.ansi.enabled": "true",
    # Don't expand arguments such as '${env:HOME}'.
    "spark.sql.variable.substitute": "false",
}
# The first comes with every import; the second repeats an error.
_IGNORED_WARNINGS = (
    "PySpark does not yet fully support pandas",
    r"\[RETRIES_EXCEEDED\]",
)
_SPARK_VIEW = "jupyter_funcs_card_spend"


@dataclass(frozen=True, slots=True)
class EngineURL:
    """The URL of an engine: ``sc://host:port`` for Spark Connect, else a URL for `ibis.connect`."""

    url: str = field(repr=False)

    @property
    def scheme(self) -> str:
        """The part before ``://``, as ibis spells it."""
        scheme = self.url.partition("://")[0].casefold() if "://" in self.url else ""
        return "postgres" if scheme == "postgresql" else scheme

    def __str__(self) -> str:
        """Return the URL without account and options; only the scheme if it can't be parsed."""
        plain = _PLAIN.fullmatch(self.url)
        return quoted(
            f"{plain['scheme']}://{plain['place']}" if plain else f"{self.scheme}://…"
        )

    def reason(self, error: Exception) -> str:
        """Return the first line of an error, without the secrets of the URL."""
        text = str(error).strip()
        details = _DETAILS.search(text)
        line = details[1] if details else text.partition("\n")[0]
        account = self.url.partition("://")[2].rpartition("@")[0]
        options = [
            value for name, value in _OPTION.findall(self.url) if _SECRET.search(name)
        ]
        for secret in (self.url, account, account.partition(":")[2], *options):
            for form in (secret, urllib.parse.unquote_plus(secret)):
                if form:
                    line = line.replace(form, "…")

        return clip(line or type(error).__name__)

    def connect(self) -> EngineConnection:
        """Open a connection; raises `SetupError`."""
        is_spark = self.scheme == SPARK_CONNECT
        backends = {entry.name for entry in entry_points(group="ibis.backends")}
        if not is_spark and self.scheme not in backends:
            raise SetupError(
                f"The engine {self} is not supported.{suggestion(self.scheme, [SPARK_CONNECT, *sorted(backends)])}\n"
                f"Use 'duckdb://', 'sc://host:port' for Spark Connect, or a URL of ibis: "
                f"{quoted_list(sorted(backends))}."
            )

        try:
            if is_spark:
                return SparkConnection(self.url)
            import ibis

            backend = ibis.connect(self.url)
            # Some drivers don't connect before the first query.
            backend.to_pyarrow(ibis.literal(1))
            return EngineConnection(backend)
        except ImportError as error:
            package = "pyspark-client>=4,<5"
            if not is_spark:
                package = f"ibis-framework[{self.scheme}]"
            raise SetupError(
                f"The engine {self} needs a library that is not installed: {self.reason(error)}\n"
                f"Install it: pip install '{package}'"
            ) from None
        except Exception as error:  # noqa: BLE001 - each driver has its own errors
            # From None: a driver's error may contain the URL, and so a password.
            raise SetupError(
                f"The engine {self} cannot be reached: {self.reason(error)}\n"
                "Check that it is running, and the address and account in its URL."
            ) from None


@dataclass
class EngineConnection:
    """A connection to an engine through ibis, for one call at a time."""

    backend: Any

    def source(self, cards: Cards) -> ir.Table:
        """Return card spend as stored, as an unbound table."""
        if cards.files:
            raise SetupError(
                f"The engine {self.backend.name} can't read the files of card spend, {quoted_list(cards.files)}.\n"
                "Load them into one of its tables and name that table."
            )

        *database, name = cards.table
        table = self.backend.table(name, database=tuple(database) or None).unbind()
        # A cast to the same type with nulls would keep ClickHouse from looking up rows by its index.
        nullable = {
            name: kind.copy(nullable=True) for name, kind in table.schema().items()
        }
        return table.op().copy(schema=nullable).to_expr()

    def arrow(self, expression: ir.Table) -> pa.Table:
        return self.backend.to_pyarrow(expression)

    def run(self, sql: str, schema: Any) -> pa.Table:
        """Run compiled SQL whose rows have this schema of ibis."""
        import ibis

        # To ibis it is a table that it has compiled already: to read the SQL again takes longer than to run it.
        self.backend.compile = lambda *_, **__: sql
        try:
            return self.arrow(ibis.table(schema, name="compiled"))
        finally:
            del self.backend.compile

    def interrupt(self) -> None:
        """Ask the engine, from another thread, to stop the running query; fails if its driver can't."""
        self.backend.con.cancel()

    def close(self) -> None:
        with contextlib.suppress(Exception):  # it may be broken already
            self.backend.disconnect()


class SparkConnection(EngineConnection):
    def __init__(self, url: str) -> None:
        for message in _IGNORED_WARNINGS:
            warnings.filterwarnings("ignore", message)

        import ibis
        from pyspark.logger import PySparkLogger
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client.retries import DefaultPolicy

        # It writes failing queries to stderr, including the arguments of a run.
        PySparkLogger.getLogger("SQLQueryContextLogger").disabled = True

        self._session = SparkSession.builder.remote(url).create()
        self._session.client.set_retry_policies(
            [DefaultPolicy(max_retries=_SPARK_RETRIES)]
        )
        try:
            for name, value in _SPARK_SETTINGS.items():
                self._session.conf.set(name, value)
            super().__init__(ibis.pyspark.connect(self._session))
        except BaseException:
            self.close()
            raise

    def source(self, cards: Cards) -> ir.Table:
        """Return card spend as stored; Parquet files become a view that ends with the session."""
        if not cards.files:
            return super().source(cards)
        self._session.read.parquet(*cards.files).createOrReplaceTempView(_SPARK_VIEW)
        return self.backend.table(_SPARK_VIEW).unbind()

    def arrow(self, expression: ir.Table) -> pa.Table:
        import ibis.expr.operations as ops
        from ibis.formats.pyarrow import PyArrowData

        for table in expression.op().find(ops.InMemoryTable):
            self._session.createDataFrame(
                table.data.to_pyarrow(table.schema)
            ).createOrReplaceTempView(table.name)

        rows = self._session.sql(self.backend.compile(expression)).toArrow()
        return PyArrowData.convert_table(rows, expression.schema())

    def interrupt(self) -> None:
        """Ask Spark to stop the running query."""
        self._session.interruptAll()

    def close(self) -> None:
        self._session.stop()
