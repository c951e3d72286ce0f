"""The guide that is installed with the package: one page per topic."""

from __future__ import annotations

import base64
import re
import textwrap
from dataclasses import dataclass
from importlib import resources

from jupyter_funcs.core.errors import NotFoundError
from jupyter_funcs.core.text import did_you_mean, quote

# In a reader's order.
TOPICS = (
    "panel",
    "magic",
    "python",
    "connect",
    "any-catalog",
    "results",
    "sweeps",
    "history-and-cache",
    "errors",
    "host-a-service",
    "publish",
    "scale-out",
    "security",
    "command-line",
    "mcp",
    "installing",
    "decisions",
    "changes",
    "architecture",
    "develop",
    "licences",
)
_LINK = re.compile(r"\[([^\[\]]{1,80})\]\(([a-z-]{1,30})\.md[^()\s]{0,80}\)")
_PICTURE = re.compile(r"!\[([^\[\]]{1,1000})\]\(([a-z-]{1,30}\.svg)\)")
# Before a paragraph, a row, a heading or an item of a list.
_BREAK = re.compile(r"\n(?=[\n|#-])")
_BAR = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class GuidePage:
    """A page of the guide; a notebook renders its Markdown."""

    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        # A cell can't open another file of the guide.
        linked = _LINK.sub(r"\1 (`%funcs docs \2`)", self.text)
        return _PICTURE.sub(_embedded, linked)

    def wrapped(self, width: int) -> str:
        """Return the page for a terminal of this width, with the other cells of a table's row below its first one."""
        lines = []
        described = _PICTURE.sub(r"Picture: \1", self.text)
        # Each other part is a block of code.
        for at, part in enumerate(
            _LINK.sub(r"\1 (jupyter funcs docs \2)", described).split("```")
        ):
            if at % 2:
                lines += [
                    "",
                    *(
                        f"    {line}".rstrip()
                        for line in part.rstrip().splitlines()[1:]
                    ),
                ]
                continue
            for text in filter(
                None, (" ".join(block.split()) for block in _BREAK.split(part))
            ):
                if text.startswith("- "):
                    lines += textwrap.wrap(text, width, subsequent_indent="  ")
                elif not text.startswith("|"):
                    lines += ["", *textwrap.wrap(text, width)]
                elif set(text) - set("|- "):
                    first, *others = [
                        cell.strip().replace("\\|", "|")
                        for cell in _BAR.split(text)[1:-1]
                    ]
                    rest = textwrap.wrap(" · ".join(filter(None, others)), width - 4)
                    lines += [
                        *textwrap.wrap(first, width),
                        *(f"    {line}" for line in rest),
                    ]

        return "\n".join(lines).strip() + "\n"


def _embedded(picture: re.Match[str]) -> str:
    data = resources.files("jupyter_funcs.guide").joinpath(picture[2]).read_bytes()
    return (
        f"![{picture[1]}](data:image/svg+xml;base64,{base64.b64encode(data).decode()})"
    )


def guide_page(topic: str = "") -> GuidePage:
    """
    Return the page of a topic, or without one the list of topics.

    Raises
    ------
    NotFoundError
        There is no such topic.
    """
    pages = {
        name: resources.files("jupyter_funcs.guide").joinpath(f"{name}.md")
        for name in TOPICS
    }
    if not topic:
        titles = {
            name: page.read_text("utf-8").partition("\n")[0].removeprefix("# ")
            for name, page in pages.items()
        }
        rows = [f"| `{name}` | {title} |" for name, title in titles.items()]
        return GuidePage("\n".join(["| topic | page |", "|---|---|", *rows]) + "\n")

    name = topic.casefold().replace("_", "-").replace(" ", "-")
    if name not in pages:
        hint = (
            did_you_mean(name, pages)
            or "%funcs docs and jupyter funcs docs list the topics."
        )
        raise NotFoundError(f"The guide has no page {quote(topic)}.", hint)

    return GuidePage(pages[name].read_text("utf-8"))
