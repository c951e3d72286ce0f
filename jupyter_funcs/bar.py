"""Bar: what a person sees of a sweep while they wait for it, and the waiting itself."""

from __future__ import annotations

import concurrent.futures
from typing import TYPE_CHECKING, Any

from jupyter_funcs import loop
from jupyter_funcs.progress import SweepProgress
from jupyter_funcs.sweep_words import cached_text
from jupyter_funcs.text import clip

if TYPE_CHECKING:
    from jupyter_funcs.jobs import Job

_LOOK = 0.1  # seconds from one look to the next
_LONGEST = 100


def load() -> None:
    """
    Import what shows a bar, before the first run.

    A process that an executor forks during an import waits for that import for ever.
    """
    import tqdm.auto  # noqa: F401, PLC0415  # it imports ipywidgets in a notebook


def watched(job: Job, *, shown: bool) -> Any:
    """
    Wait for a sweep, with a bar of tqdm's where there is a notebook or a terminal to show it.

    Raises
    ------
    FuncsError
        As `Job.result`.
    KeyboardInterrupt
        An interrupt came; the sweep is being stopped.
    """
    progress = job.progress
    if not shown or not isinstance(progress, SweepProgress) or progress.total < 2:
        return job.result()
    loop.refuse_here()
    from tqdm.auto import tqdm  # noqa: PLC0415  # as above

    class Bar(tqdm):  # type: ignore[type-arg]  # generic in tqdm's stubs alone
        monitor_interval = 0  # its thread would write from elsewhere

    # Where neither a notebook nor a terminal is, None shows none: a log would hold every step of it.
    with Bar(total=progress.total, desc=job.function, unit="run", miniters=1, smoothing=0, disable=None) as bar:
        while True:
            is_done = bool(concurrent.futures.wait([job.future], _LOOK).done)
            done = progress.done + progress.failed
            # What came from the cache says nothing of how fast the rest comes.
            bar.initial = progress.cached
            bar.set_postfix_str(said(progress), refresh=False)
            bar.update(done - bar.n)
            bar.refresh()
            if is_done:
                break
    return job.result()  # the warnings come below the bar, and not within its line


def said(progress: SweepProgress) -> str:
    """Give what a person is told beside the numbers: what failed, what came from the cache, why it waits."""
    parts = []
    if progress.failed:
        parts.append(f"{progress.failed:,} failed")
    if progress.waiting:  # in place of what came long ago: a terminal's line is short
        parts.append(progress.waiting.rstrip("."))
    elif progress.cached:
        parts.append(cached_text(progress.cached, progress.oldest))
    return clip(", ".join(parts), _LONGEST)
