"""The files of an OpenAPI document as one, in which references lead from each to the others."""

from __future__ import annotations

import re
import string
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote as quote_url
from urllib.parse import unquote, urljoin, urlsplit

from jupyter_funcs.connection.profiles import same_origin
from jupyter_funcs.core import json_decoding
from jupyter_funcs.core.errors import FuncsError, ProtocolError
from jupyter_funcs.core.files import read_small
from jupyter_funcs.core.json_decoding import JsonObject, only
from jupyter_funcs.core.text import clip, inert, quote
from jupyter_funcs.sources import yaml_decoding

if TYPE_CHECKING:
    from collections.abc import Mapping

_FILES = "$files"  # where a document holds those that it refers to, by number
_MAX_FILES = 10_000
_MAX_BYTES = 32 * 2**20  # of all files
MAX_FILE = 8 * 2**20  # bytes of one that a document refers to
UNREAD = "can't be read:"
_MAX_DEPTH = 100  # levels of a file; pickling and comparing schemas recurse
_MAX_WHY = 200
_BOM = b"\xef\xbb\xbf"
# What isn't part of a document: values that may look like references, and what other programs read.
_DATA = re.compile("x-.*|examples?|enum|default|const", re.DOTALL)
# Where keys are names, which may be those words.
_NAMED = {
    "properties",
    "patternProperties",
    "responses",
    "schemas",
    "parameters",
    "definitions",
    "requestBodies",
}
# A file with such a key isn't several parts by name.
_OF_A_PART = {
    "type",
    "properties",
    "allOf",
    "in",
}


class DocumentFiles:
    """Reads the files of a document, each once: those in its folder, or of its origin."""

    def __init__(self, address: str, root: JsonObject) -> None:
        self.root = root
        self.left = _MAX_BYTES
        self._address = address
        self._files: dict[str, JsonObject] = {}
        self._numbers: dict[str, str] = {}  # by address
        self._pending: deque[str] = deque()
        root[_FILES] = self._files
        self._lead(root, self._address, "", is_named=False)

    def pending(self, most: int) -> list[str]:
        """Return addresses of files that are to be read next."""
        return [self._pending.popleft() for _ in range(min(most, len(self._pending)))]

    def read_folder(self) -> None:
        """Read all files from the folder of a document that is a file."""
        folder = _path(self._address).parent.resolve()
        while self._pending:
            address = self._pending.popleft()
            most = min(self.left, MAX_FILE)
            self.add(address, _content(_path(address), folder, most))

    def add_all(self, contents: Mapping[str, bytes | FuncsError]) -> None:
        """Take several files by their addresses."""
        for address, content in contents.items():
            self.add(address, content)

    def add(self, address: str, content: bytes | Exception) -> None:
        """Take the content of a file, or why there is none."""
        number = self._numbers[address]
        file = self._files[number]
        if isinstance(content, bytes):
            try:
                value = file["content"] = self._decoded(content)
            except FuncsError as error:
                content = error
            else:
                is_part = isinstance(value, dict) and not _OF_A_PART.isdisjoint(value)
                self._lead(
                    value, address, f"/{_FILES}/{number}/content", is_named=not is_part
                )
                return

        why = str(getattr(content, "strerror", None) or content)
        file["why"] = clip(inert(" ".join(why.split()).rstrip(".")), _MAX_WHY)

    def _decoded(self, data: bytes) -> Any:
        self.left -= len(data)
        if self.left < 0:
            most = _MAX_BYTES // 2**20
            raise ProtocolError(f"the files of the document have more than {most} MiB")

        value = decoded(data, "file", is_yaml=True)
        if is_too_deep(value):
            raise ProtocolError(f"it has more than {_MAX_DEPTH} levels")
        return value

    def _lead(self, content: Any, address: str, place: str, *, is_named: bool) -> None:
        """Let the references of a file lead to where the document holds what they refer to."""
        led = set()  # an alias of YAML is the same object in several places
        stack = [(content, is_named)]
        while stack:
            part, is_named = stack.pop()
            if isinstance(part, list):
                stack += [(item, False) for item in part]
            if not isinstance(part, dict):
                continue
            ref = part.get("$ref")
            if isinstance(ref, str) and id(part) not in led:
                led.add(id(part))
                part["$ref"] = self._led(ref, address, place)
            for key, inner in part.items():
                if isinstance(inner, dict | list) and (
                    is_named or not _DATA.fullmatch(key)
                ):
                    stack.append((inner, key in _NAMED))

    def _led(self, ref: str, address: str, place: str) -> str:
        """Return a reference of a file as one within the document."""
        other, _, pointer = ref.partition("#")
        if not other and not place:
            return ref
        if other:
            place = self._place(other, address)
        if pointer[:1] not in {"", "/"}:
            pointer = f"/#{pointer}"
        return f"#{place}{pointer}"

    def _place(self, name: str, address: str) -> str:
        """Return where the document holds another file."""
        url = name
        with suppress(ValueError):
            # It may have spaces.
            url = urljoin(address, quote_url(name, safe=string.punctuation))

        if url == self._address:
            return ""
        if url not in self._numbers:
            number = self._numbers[url] = str(len(self._numbers))
            why = self._problem(url)
            self._files[number] = {"name": clip(inert(name), _MAX_WHY), "why": why}
            if not why:
                self._pending.append(url)

        return f"/{_FILES}/{self._numbers[url]}/content"

    def _problem(self, url: str) -> str:
        """Return why a file isn't read."""
        if len(self._numbers) > _MAX_FILES:
            return f"the document refers to more than {_MAX_FILES:,} files"
        is_file = self._address.startswith("file:") and url.startswith("file:///")
        if is_file or same_origin(url, self._address):
            return ""
        return "it is at another address"


def decoded(data: bytes, what: str, *, is_yaml: bool) -> Any:
    """Decode JSON, or YAML if it may be that; some YAML begins as JSON does."""
    is_json = data.removeprefix(_BOM).lstrip()[:1] in {b"{", b"["}
    if is_yaml and not is_json:
        return yaml_decoding.decode(data, what=what)
    try:
        return json_decoding.decode(data, what=what)
    except ProtocolError:
        with suppress(FuncsError):
            if is_yaml:
                return yaml_decoding.decode(data, what=what)
        raise


def is_too_deep(content: Any) -> bool:
    """Return whether a file has too many levels."""
    level = [content]
    for _ in range(_MAX_DEPTH):
        below: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                below += part.values()
            below += only(list, part)
        level = below

    return bool(level)


def why_unresolved(ref: Any, root: JsonObject) -> str:
    """Return what to say of a reference that leads nowhere."""
    steps = str(ref).split("/")
    file = None
    if steps[1:2] == [_FILES] and len(steps) > 2:
        file = root[_FILES].get(steps[2])
    if file is None:
        return f"refers to {quote(clip(str(ref), _MAX_WHY))}, which leads nowhere"
    if file["why"]:
        return f"refers to {quote(file['name'])}, which {UNREAD} {file['why']}"
    pointer = "/".join(["#", *steps[4:]])
    return f"refers to {quote(clip(file['name'] + pointer, _MAX_WHY))}, which leads nowhere"


def _path(address: str) -> Path:
    return Path(unquote(urlsplit(address).path))


def _content(path: Path, folder: Path, most: int) -> bytes | Exception:
    """Return the content of a file in a folder, or why it can't be read."""
    try:
        path = path.resolve()
        if not path.is_relative_to(folder):
            return ValueError("it is outside the folder of the document")
        return read_small(path, most)
    except (OSError, ValueError, RuntimeError) as error:
        # The last for links that lead to themselves.
        return error
