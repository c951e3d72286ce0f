"""A run in the panel: its progress, its result or error, and its output in a saved notebook."""

from __future__ import annotations

import base64
import datetime as dt
import html
import io
import os
import traceback
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_funcs.client import notebook, snippets
from jupyter_funcs.client.questions import form_of
from jupyter_funcs.core.background import SweepProgress
from jupyter_funcs.core.errors import (
    ArgumentError,
    FuncsError,
    FunctionError,
    RunCancelledError,
)
from jupyter_funcs.core.text import clip, inert, plural, quote, size_text
from jupyter_funcs.frames import export
from jupyter_funcs.frames.display import shape_text, table_html
from jupyter_funcs.frames.media import file_of
from jupyter_funcs.frames.roles import has_labels
from jupyter_funcs.panel.chart_svg import LONGEST_TEXT, escaped, palette, svg
from jupyter_funcs.panel.header_view import uses_of
from jupyter_funcs.panel.json_view import JsonTree
from jupyter_funcs.panel.requests import (
    NO_STEPS,
    ChartPoints,
    ChartWish,
    FileFormat,
    Finite,
    Json,
    Name,
    Number,
    Steps,
    TableQuery,
    answers,
)
from jupyter_funcs.panel.table import Latest, TableView
from jupyter_funcs.sweeps.job import (
    SweepJob,
    result_cached_text,
    status_text,
    stopped_text,
    value_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from jupyter_funcs.catalog.form import Args
    from jupyter_funcs.client.function import RemoteCall
    from jupyter_funcs.client.jobs import Job
    from jupyter_funcs.core.background import Question
    from jupyter_funcs.frames.media import ResultFile

_MOST_FAILED = 100
_LONGEST = 300
_LONGEST_DETAILS = 4_000
# Rows, columns and characters of a result in a saved notebook.
_MOST_KEPT = 10
_MOST_COLUMNS = 12
_LONGEST_TABLE = 60_000
_LONGEST_FILE = 2_000
# JupyterLab says "Loading widget…" and "model not found" in place of a panel whose kernel has ended.
_NO_WIDGET = (
    ".jp-OutputArea:has(.jf-still):not(:has(.jf)) .jp-OutputArea-child:has(> .lm-Panel)"
)
_MOST_CHARTS = 16  # kept
_MOST_SHOWN = 10 * 2**20  # bytes of a file
# These run no script.
_PICTURES = {f"image/{kind}" for kind in ("png", "jpeg", "gif", "webp", "svg+xml")}
_MOST_DOWNLOADED = 25 * 2**20  # bytes
_CHANGED = "was changed in the notebook; the panel shows the reply."
# Windows opens a device by these names, whatever their ending, and a colon names a drive or a stream of a file.
_DEVICES = {
    "CON",
    "PRN",
    "AUX",
    "NUL",
    *(f"{port}{number}" for port in ("COM", "LPT") for number in range(10)),
}


@dataclass(eq=False, kw_only=True)
class ResultView:
    """A finished run, as the panel shows it. Methods may be called from any thread, and return plain JSON."""

    function: RemoteCall
    args: Args
    frame: pd.DataFrame
    reply: bytes | None
    started: dt.datetime
    variable: str  # its latest name
    summary: str
    recipe: str  # the code of the frame if no variable holds it
    partial: Json | None = None
    warnings: Sequence[str] = ()
    sweep: SweepJob | None = None
    note: str = ""  # what happened to its variable
    picture: Json | None = None  # the last chart
    number: int = 0
    is_changed: bool = False  # by the notebook; the table has a copy of the reply

    def __post_init__(self) -> None:
        self.table = TableView(self.frame, self.function.function.description)
        self._charts = Latest(_MOST_CHARTS)
        self._names: dict[str, str] = {}  # of variables, by the views that they hold
        self._file = file_of(self.reply_frame)
        table = TableView(self.frame.head(0)) if self._file else self.table
        # Computed once, because every change of the panel sends it.
        self._first = table.view()

    @property
    def reply_frame(self) -> pd.DataFrame:
        """The frame as the panel shows it, whatever the notebook did to its own."""
        return self.table.frame(TableQuery())

    def look_at_variable(self) -> None:
        """Note whether a cell has changed the frame; only after a cell, because comparing takes a while."""
        if self._is_held:
            self.is_changed = not self.frame.equals(self.reply_frame)

    @property
    def _is_held(self) -> bool:
        return notebook.variables().get(self.variable) is self.frame

    @property
    def held_as(self) -> str:
        """The variable that holds the result; empty if the user deleted, reassigned or changed it."""
        if self._is_held and not self.is_changed:
            return self.variable
        return ""

    def view(self) -> Json:
        """Return the result of the `Run` of the protocol, and what is said of it."""
        variable = self.held_as
        lost = ""
        note = self.note
        if not variable and self.variable:
            lost = self.variable
            note = f"{lost} no longer holds this result."
            if self._is_held:
                note = f"{lost} {_CHANGED}"

        file = self._file
        facts = self.frame.attrs.get("funcs", {})
        result = {
            "number": self.number,
            "function": self.function.name,
            "summary": self.summary,
            "variable": variable,
            "lost": lost,
            "note": note,
            "table": self._first,
            "file": file
            and {
                "name": f"{self.function.slug}{file.ending}",
                "about": file.about,
                "kind": file.kind,
                "shown": _shown_as(file),
            },
            "noJson": self._no_json(facts),
        }
        return {
            "result": result,
            "partial": self.partial,
            "warnings": self.warnings,
            # Pages, for which the function can be asked.
            "more": bool(facts.get("more")),
        }

    def _no_json(self, facts: Json) -> str:
        """Return why the reply can't be shown as JSON; empty if it can."""
        if "media_type" in facts:
            return "The reply is a file, not JSON."
        if self.reply is not None:
            return ""
        for name, part in ("pages", "page"), ("swept", "run"):
            if name in facts:
                return f"The result has several replies, one per {part}."
        return "This result is kept as a table, without a JSON reply."

    @answers()
    def file(self) -> str:
        """Return a text, or the bytes of a file in base64."""
        if not self._file:
            return ""

        content = self._file.content
        if _shown_as(self._file) == "text":
            return content[:_MOST_SHOWN].decode(errors="ignore")
        return base64.b64encode(content).decode()

    @answers()
    def uses(
        self, query: TableQuery, row: Number, at: Number, steps: Steps = NO_STEPS
    ) -> list[Json]:
        """Return the fields of other functions that take the value of a cell."""
        column, text = self.table.made(steps).value(query, row, at)
        if not text:
            return []
        return uses_of(self.function, self.args, column, text)

    @answers()
    def table_code(self, query: TableQuery, steps: Steps = NO_STEPS) -> Json:
        result = self._names.get(repr((query, steps)), "")
        table = self.table.made(steps)
        return {"code": table.code(query, self.held_as or self.recipe, result=result)}

    @answers()
    def chart(
        self,
        query: TableQuery,
        wish: ChartWish,
        low: Finite | None,
        high: Finite | None,
        steps: Steps = NO_STEPS,
    ) -> Json:
        zoom = ChartPoints(wish, low, high).zoom
        table = self.table.made(steps)
        source = table.code(query, self.held_as or self.recipe, melted=True)

        def drawn() -> Json:
            rows = table.drawn(query)
            return table.chart.view(wish, rows=rows, zoom=zoom, source=source)

        self.picture = self._charts.get("", (repr(query), wish, zoom, source), drawn)
        return dict(self.picture)

    @answers(refused="Variables can't be assigned")
    def assign(
        self, query: TableQuery, name: Name, *, replace: bool, steps: Steps = NO_STEPS
    ) -> Json:
        """Assign a view of the table to a variable."""
        frame = self.table.made(steps).frame(query)
        keeper = notebook.ResultVariable(self.function.slug, notebook.this_cell())
        taken = keeper.rename(name, "", frame, self.args, replace=replace)
        if not taken:
            self._names[repr((query, steps))] = name
        return {
            "said": taken or f"{name} holds the table as it is shown.",
            "exists": bool(taken),
        }

    @cached_property
    def tree(self) -> JsonTree:
        """The reply as a tree; without a reply, the page says why and asks for none."""
        return JsonTree(self.reply or b"")

    @answers(refused="Files can't be saved")
    def save(  # noqa: PLR0913  # the fields of a request
        self,
        ending: FileFormat,
        name: Name,
        filtered: TableQuery | None,
        *,
        replace: bool,
        download: bool,
        steps: Steps = NO_STEPS,
    ) -> Json:
        """Save a file beside the notebook, or return it for download; replace a file only if asked to."""
        file = ending == "file" and self._file
        name = _file_name(name, file.ending[1:] if file else ending)
        view = {"said": "", "exists": False, "name": name, "data": ""}
        if not (download or replace) and os.path.lexists(name):
            return view | {"said": f"{name} exists already.", "exists": True}

        table = self.table.made(steps)
        frame = table.frame(filtered or TableQuery())
        if not has_labels(frame):
            frame = frame.reset_index(drop=True)  # row numbers are no labels
        if download:
            return view | {"data": _downloaded(frame, ending)}

        path = Path(name).absolute()
        # A link may point outside the folder.
        if os.path.islink(path):  # noqa: PTH114  # is_symlink raises for a name that is too long
            raise ArgumentError(
                f"{quote(name)} is a link to another file.", "Choose another name."
            )

        export.save(frame, path, ending)
        rows = file.kind if file else plural(table.rows, "row")
        if len(frame) < table.rows:
            rows = f"{len(frame):,} of {rows}"
        return view | {
            "said": f"Saved {name} · {rows} · {size_text(path.stat().st_size)}"
        }


def _downloaded(frame: pd.DataFrame, ending: FileFormat) -> str:
    """Return a file in base64; refuse one that is too long for a page."""
    export.save(frame, buffer := io.BytesIO(), ending)
    if buffer.tell() > _MOST_DOWNLOADED:
        raise ArgumentError(
            f"The file has {size_text(buffer.tell())}; a page takes {size_text(_MOST_DOWNLOADED)} at most.",
            "Save it beside the notebook instead.",
        )
    return base64.b64encode(buffer.getvalue()).decode()


def _shown_as(file: ResultFile) -> str:
    """Return how a page shows a file: as an image, in a player, as text, or not."""
    if len(file.content) > _MOST_SHOWN:
        return ""
    if file.kind in _PICTURES:
        return "image"
    if file.kind.startswith("audio/"):
        return "audio"
    if file.is_text:
        return "text"
    return ""


def _file_name(text: str, ending: str) -> str:
    """Return a checked file name with this ending, for the notebook's own folder."""
    name = text.strip()
    stem = name.partition(".")[0].rstrip()  # empty for a hidden file
    is_plain = name.isprintable() and set(name).isdisjoint('/\\:*?"<>|')
    if not stem or not is_plain or stem.upper() in _DEVICES:
        raise ArgumentError(
            f"{quote(name)} is not a file name without a folder.",
            f"Write one such as spend.{ending}.",
        )

    if name.lower().endswith(f".{ending}"):
        return name
    return f"{name}.{ending}"


def running_view(job: Job) -> Json:
    """Return the progress of a run; the page itself counts the seconds."""
    progress = job.progress
    view = {
        "name": _shown(job.function),
        "elapsed": 0.0,
        "bytes": 0,
        "done": 0,
        "of": 1,
        "note": progress.said,
        "question": progress.question and _question_view(progress.question),
    }
    if job.elapsed >= 1:  # constant before, or a short run would be sent again
        view |= {"elapsed": round(job.elapsed, 1), "bytes": progress.received}
    if isinstance(progress, SweepProgress):
        done = progress.done + progress.failed
        view |= {"done": done, "of": progress.total, "note": status_text(progress)}
    elif progress.attempts > 1 and not progress.said:
        view["note"] = f"attempt {progress.attempts}"

    return view


def _question_view(question: Question) -> Json:
    """Return what a source asks, and the fields for the answer."""
    form = form_of(question)
    fields = [
        {
            "name": field.name,
            "label": _shown(field.label),
            "help": _shown(field.help),
            "options": list(field.options),
            "default": field.default or "",
            "required": field.required,
        }
        for field in form.fields
    ]
    return {
        "source": _shown(question.source),
        "text": _shown(question.text),
        "link": _shown(question.link),
        "fields": fields,
    }


def frame_of(job: Job) -> pd.DataFrame:
    """Return the result of a run that has ended, or raise its error."""
    if error := job.error:
        raise error

    frame = job.future.result()
    if isinstance(job, SweepJob) and frame.attrs["errors"] and not job.progress.done:
        raise FuncsError("Every run has failed.", frame.attrs["errors"][0]["error"])
    return frame


def result_of(
    function: RemoteCall, job: Job, frame: pd.DataFrame, variable: str, recipe: str
) -> ResultView:
    """Return the view of a run that ended with a frame."""
    facts = [shape_text(frame), f"{job.elapsed:.2f} s", result_cached_text(frame)]
    notes = [*map(_shown, job.notes)]
    sweep = None
    partial = None
    if isinstance(job, SweepJob):
        sweep = job
        partial = _partial(frame, job)
    if partial:
        notes = notes[:-1]  # it repeats how many runs failed
    return ResultView(
        function=function,
        args=job.args,
        frame=frame,
        reply=job.progress.reply,
        started=dt.datetime.now(dt.UTC) - dt.timedelta(seconds=job.elapsed),
        variable=variable,
        summary=" · ".join(filter(None, facts)),
        recipe=recipe,
        partial=partial,
        warnings=notes,
        sweep=sweep,
    )


def _shown(text: str) -> str:
    return clip(inert(text), _LONGEST)


def _partial(frame: pd.DataFrame, sweep: SweepJob) -> Json | None:
    """Return which runs of a sweep failed, and why; `None` if none did."""
    errors = frame.attrs["errors"]
    if not errors:
        return None

    rows = []
    for failure in errors[:_MOST_FAILED]:
        args = failure["args"]
        names = [name for name in frame.attrs["funcs"]["swept"] if name in args]
        texts = [value_text(args[name]) for name in names]
        if len(names) > 1:
            texts = [*map("{} = {}".format, names, texts)]
        label = ", ".join(texts)
        rows.append({"label": _shown(label), "error": _shown(failure["error"])})

    return {"failed": len(errors), "of": sweep.progress.total, "rows": rows}


def error_view(
    error: BaseException,
    redact: Callable[[str], str],
    job: Job | None,
    fixes: Sequence[Json],
) -> Json:
    """Return what happened, what to do, and details of an error, never a token; or what a cancelled run has done."""
    what, *hint = lines_of(error)
    details = []
    done = 0
    raised: BaseException | None = error
    if isinstance(error, FunctionError):
        # A function of a Python catalog failed in this process, at a line of its author's.
        raised = error.__cause__
    elif isinstance(error, FuncsError):
        raised = None

    is_cancelled = isinstance(error, RunCancelledError)
    if job and is_cancelled:
        what = stopped_text(job.progress)
        hint = []
        if isinstance(job, SweepJob):
            done = job.progress.done
    elif job and job.progress.request_id:
        details.append(f"Request {job.progress.request_id}")

    if raised:
        details.append("".join(traceback.format_exception(raised)))
    return {
        "what": _shown(redact(what)),
        "hint": _shown(redact("\n".join(hint))),
        "details": clip(redact("\n".join(details)), _LONGEST_DETAILS),
        "retry": not (is_cancelled or isinstance(error, ArgumentError)),
        "done": done,
        "fixes": fixes,
    }


def lines_of(error: BaseException) -> list[str]:
    """Return the lines of an error, uncut: a secret that was cut could no longer be masked."""
    if isinstance(error, FuncsError):
        return error.lines
    return [f"Something failed inside jupyter_funcs: {type(error).__name__}: {error}"]


def still_html(name: str = "", result: ResultView | None = None) -> str:
    """Return the output for pages without the panel: how to open it, its last result, and its last chart."""
    what = "run this cell to open the panel. Without a kernel, or where the page blocks its script, you see this text."
    style = f"<style>{_NO_WIDGET} {{ display: none }}\n{palette()}</style>"
    head = f"{style}<p><b>{escaped(name or 'Functions')}</b>: {what}</p>"
    if not result:
        return f'<div class="jf-still">{head}</div>'

    frame = result.reply_frame
    function = result.function
    session = function.session
    ran = f"<b>{escaped(function.name)}</b>"
    args = [
        f"{escaped(name)} = {escaped(value_text(value))}"
        for name, value in result.args.items()
    ]
    if args:
        ran += f" with {', '.join(args)}"
    facts = f"{shape_text(frame)}, {result.started:%Y-%m-%d %H:%M} UTC, {escaped(session.service)}"
    if function.synthetic:
        facts += ", synthetic data"
    lines = [ran, facts]
    if variable := result.held_as:
        lines.append(f"The DataFrame was kept as <code>{escaped(variable)}</code>.")

    line = snippets.line(function, result.args)
    where = session.where
    # A line that is cut would not work.
    if 0 < len(line) <= LONGEST_TEXT and not where.startswith("["):
        opens = f"<code>%funcs panel {escaped(line)}</code> opens the panel with these values"
        if where:
            opens += f", after <code>%funcs connect {escaped(where)}</code>"
        lines.append(f"{opens}.")

    table = f'<div style="overflow-x: auto">{_table_html(frame)}</div>'
    kept = f'<div class="jf-kept"><p>{"<br>".join(lines)}</p>{table}</div>'
    if result.picture:
        kept += svg(result.picture)
    return f'<div class="jf-still">{head}{kept}</div>'


def _table_html(frame: pd.DataFrame) -> str:
    """Return the beginning of a result."""
    if file := file_of(frame):
        table = _file_html(file)
    else:
        table = table_html(frame, rows=_MOST_KEPT, columns=_MOST_COLUMNS)
        table = table.replace(' style="', ' style="white-space: nowrap; ')

    if len(table) > _LONGEST_TABLE:
        return "<p>It is too long to be kept here.</p>"
    return table


def _file_html(file: ResultFile) -> str:
    """Return a picture or the beginning of a text; what any other file is has been said."""
    shown = _shown_as(file)
    if shown == "image":
        source = f"data:{file.kind};base64,{base64.b64encode(file.content).decode()}"
        return f'<img alt="{escaped(file.about)}" src="{source}" style="max-width: 320px; max-height: 240px">'

    if shown != "text":
        return ""
    lines = file.content[:_LONGEST_FILE].decode(errors="ignore").splitlines()
    return f"<pre>{html.escape(chr(10).join(map(inert, lines)))}</pre>"
