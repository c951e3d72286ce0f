"""The guide that is installed with the package: a page per topic."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from jupyter_funcs.core.errors import NotFoundError
from jupyter_funcs.core.text import did_you_mean, quote


@dataclass(frozen=True)
class GuidePage:
    """A page of the guide; a notebook renders its Markdown."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


def guide_page(topic: str = "") -> GuidePage:
    """
    Return the page of a topic, or without one the list of topics.

    Raises
    ------
    NotFoundError
        There is no such topic.
    """
    pages = {path.name.removesuffix(".md"): path for path in resources.files("jupyter_funcs.guide").iterdir()}
    pages = {name: pages[name] for name in sorted(pages) if pages[name].name.endswith(".md")}
    if not topic:
        titles = {name: path.read_text("utf-8").partition("\n")[0].removeprefix("# ") for name, path in pages.items()}
        rows = [f"| `{name}` | {title} |" for name, title in titles.items()]
        return GuidePage("\n".join(["| topic | page |", "|---|---|", *rows]) + "\n")
    name = topic.casefold().replace("-", "_").replace(" ", "_")
    if name not in pages:
        hint = did_you_mean(name, pages) or "%funcs docs and jupyter funcs docs list the topics."
        raise NotFoundError(f"The guide has no page {quote(topic)}.", hint)
    return GuidePage(pages[name].read_text("utf-8"))
