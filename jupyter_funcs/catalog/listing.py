"""The catalog: listing bytes become frozen functions and parameters, and a name finds its function."""

from __future__ import annotations

import keyword
import re
import unicodedata
from functools import cache, cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from jupyter_funcs import wire
from jupyter_funcs.errors import NotFoundError, ProtocolError
from jupyter_funcs.notices import warn
from jupyter_funcs.text import did_you_mean, folded, quote

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _whole(value: object) -> int:
    try:
        return int(value)  # type: ignore[call-overload,no-any-return]  # anything may stand on the wire
    except (TypeError, ValueError, OverflowError):
        return 0


def _flag(value: object) -> bool:
    return value.strip().casefold() in {"true", "yes", "1"} if isinstance(value, str) else bool(value)


# A field that is absent, null or of another type takes its neutral value: a listing is never refused for one of them.
Text = Annotated[str, BeforeValidator(_text)]
Whole = Annotated[int, BeforeValidator(_whole)]
Flag = Annotated[bool, BeforeValidator(_flag)]
# As the service writes them; all that a form reads (wording) would take too long for a search of 10,000 functions.
_OPTIONS = re.compile(r"\bOptions are ([^.]*)")
# Without it a word finds one and several: company and companies.
_ENDING = re.compile(r"(?<=\w{3})(?:y|ies)$")
# How the local service ends the description of a function that reads the demo's data, wherever it is served.
_SYNTHETIC = "(synthetic demo data)"


class _Listed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="allow", alias_generator=to_camel, populate_by_name=True)


class Param(_Listed):
    """
    One parameter of a function, as listed (SERVICE.md 1); fields it does not know are kept in ``model_extra``.

    `type` is the service's integer code, 0 (text) where the listing gives none.
    """

    id: Whole = 0
    name: str
    type: Whole = 0
    description: Text = ""
    required: Flag = False
    function_id: Whole = 0
    sort_value: Whole = 0
    context: Any = None


class Function(_Listed):
    """One function of the catalog, as listed (SERVICE.md 1); fields it does not know are kept in ``model_extra``."""

    id: Whole = 0
    name: str
    asset_id: Whole = 0
    asset_name: Text = ""
    description: Text = ""
    params: tuple[Param, ...] = ()
    sort_value: Whole = 0
    group_id: Whole = 0
    group_name: Text = ""
    author_id: Whole = 0
    author_user_name: Text = ""
    is_shared: Flag = False
    entry_point: Text = ""
    unique_id: Text = ""
    notebook_id: Text = ""
    notebook_name: Text = ""
    org_name: Text = ""
    type: Any = None
    source: Any = None
    context: Any = None

    @property
    def group(self) -> str:
        """The heading under which the panel lists it: the group's name, else the asset's."""
        return self.group_name.strip() or self.asset_name.strip() or "Functions"

    @property
    def synthetic(self) -> bool:
        """Whether its data are invented, as the end of its description says of those of the demo."""
        return self.description.rstrip(" .").endswith(_SYNTHETIC)


class Catalog:
    """
    The functions of one user, by sort value and then in listing order.

    A name finds its function as the wire name, the id or the slug, exactly; else by any spelling of one of
    them when only one function has it.
    """

    def __init__(self, functions: Iterable[Function]) -> None:
        self.functions: tuple[Function, ...] = tuple(functions)
        self.slugs: tuple[str, ...] = identifiers([function.name for function in self.functions], lower=True)
        self._exact: dict[str, Function] = {}
        by_position = list(zip(self.slugs, self.functions, strict=True))
        # By identity: two functions may be alike in every listed value.
        self._slug_of = {id(function): slug for slug, function in by_position}
        for key, function in (
            [(function.name, function) for function in self.functions]
            + by_position
            + [(str(function.id), function) for function in self.functions if function.id]
        ):
            self._exact.setdefault(key, function)
        self._folded: dict[str, set[str]] = {}
        for slug, function in by_position:
            if folded(function.name):  # "?" is no spelling of "!"
                self._folded.setdefault(folded(function.name), set()).add(slug)

    def __len__(self) -> int:
        """Give the number of functions."""
        return len(self.functions)

    def __iter__(self) -> Iterator[Function]:
        """Go through the functions in their order."""
        return iter(self.functions)

    def slug(self, function: Function) -> str:
        """Give the Python name of a function; two functions of one name have two slugs."""
        return self._slug_of[id(function)]

    def get(self, name: str | int) -> Function:
        """
        Give the function of this wire name, slug or id.

        Raises
        ------
        NotFoundError
            No function has this name; says which names are near.
        """
        if found := self.peek(name):
            return found
        wanted = str(name).strip()
        hint = did_you_mean(wanted, (function.name for function in self.functions))
        raise NotFoundError(
            f"There is no function {quote(wanted)} in your catalog.",
            hint or "List the functions: %funcs find, funcs.names, or jupyter funcs list.",
        )

    def peek(self, name: str | int) -> Function | None:
        """Give the function of this wire name, slug or id; ``None`` when none has it."""
        wanted = str(name).strip()
        if found := self._exact.get(wanted):
            return found
        spelt = self._folded.get(folded(wanted), set())
        return self._exact[next(iter(spelt))] if len(spelt) == 1 else None

    def search(self, words: str = "") -> list[Function]:
        """
        Give the functions that have every word in their name, slug, group, asset, description, parameters or options.

        What is named like the words comes first, then what has every word in its name.
        """
        typed = [folded(word) for word in words.split() if folded(word)]
        if not typed:
            return list(self.functions)
        whole, wanted = "".join(typed), [_ENDING.sub("", word) for word in typed]
        named, in_name, elsewhere = [], [], []
        for function, (name, texts) in zip(self.functions, self.search_texts, strict=True):
            if name == whole:
                named.append(function)
            elif all(word in name for word in wanted):
                in_name.append(function)
            elif all(word in texts for word in wanted):
                elsewhere.append(function)
        return named + in_name + elsewhere

    @cached_property
    def search_texts(self) -> list[tuple[str, str]]:
        """Of each function the folded name, and all that is searched; made once, since a key stroke waits for it."""
        fold = cache(folded)  # groups, assets and parameters are named alike in many functions
        return [
            (
                folded(function.name),
                " ".join(
                    [
                        folded(function.name),
                        fold(function.group),
                        fold(function.asset_name),
                        folded(function.description),
                        *(fold(param.name) for param in function.params),
                        # What a parameter may be is asked for as well: spend by region.
                        *(
                            fold(options)
                            for param in function.params
                            for options in _OPTIONS.findall(param.description)
                        ),
                    ]
                ),
            )
            for function in self.functions
        ]


def identifiers(names: Sequence[str], *, lower: bool = False) -> tuple[str, ...]:
    """
    Give each name a Python identifier of its own: legal, no keyword, no dunder, distinct.

    Parameters
    ----------
    names
        Names from the wire, of any characters.
    lower
        Write them as slugs (``get_panel_daily``) instead of keeping their case.
    """
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    given = []
    for name in names:
        # NFKC as Python itself does it, so that two identifiers that Python takes for one are seen to clash.
        plain = unicodedata.normalize("NFKC", name)
        plain = "".join(char if f"a{char}".isidentifier() else "_" for char in (plain.lower() if lower else plain))
        plain = re.sub("_+", "_", plain).strip("_") or "unnamed"
        if not plain.isidentifier():  # it begins with what may only follow, a digit most often
            plain = f"f_{plain}" if lower else f"p_{plain}"
        if keyword.iskeyword(plain) or (lower and keyword.issoftkeyword(plain)):
            plain += "_"
        unique = plain
        while unique in taken:
            numbers[plain] = numbers.get(plain, 1) + 1
            unique = f"{plain}_{numbers[plain]}"
        taken.add(unique)
        given.append(unique)
    return tuple(given)


def parse_listing(data: bytes) -> Catalog:
    """
    Read the reply of a listing.

    Accepts an array of functions, or an object that holds exactly one array of function-like objects under any
    key, as an array or as JSON text (SERVICE.md 1, *decided*). Only a non-empty text ``name`` is needed; an entry
    without one is skipped with one warning for the listing.

    Raises
    ------
    ProtocolError
        The reply is not JSON, or holds no such array.
    """
    entries = _entries(wire.decode(data, what="listing"))
    functions = []
    skipped = 0
    for position, entry in enumerate(entries):
        if not _named(entry):
            skipped += 1
            continue
        params = entry.get("params")
        params = params if isinstance(params, list) else []
        kept = [_positioned(param, at) for at, param in enumerate(params) if _named(param)]
        skipped += len(params) - len(kept)
        ordered = sorted(kept, key=lambda param: _whole(param["sortValue"]))
        try:
            functions.append(Function.model_validate({**_positioned(entry, position), "params": ordered}))
        except ValidationError as error:  # only a name can be refused, and names were looked at
            raise ProtocolError(f"The listing's entry {position} cannot be read: {error.errors()[0]['msg']}.") from None
    if skipped:
        warn(f"{skipped} of the listing's entries have no name and are left out.")
    return Catalog(sorted(functions, key=lambda function: function.sort_value))


def _named(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("name"), str) and bool(entry["name"].strip())


def _positioned(entry: dict[str, Any], position: int) -> dict[str, Any]:
    given = entry.get("sortValue")
    return {**entry, "sortValue": position if given is None else given}


def _entries(listing: object) -> list[Any]:
    if isinstance(listing, list):
        return listing
    if isinstance(listing, dict):
        held = [_array(value) for value in listing.values()]
        arrays = [array for array in held if array is not None]
        # Other arrays may hold named things too, groups or assets; only functions have parameters.
        named = [array for array in arrays if any(_named(entry) for entry in array)]
        with_params = [array for array in named if any(isinstance(entry.get("params"), list) for entry in array)]
        for functions in (arrays, named, with_params):
            if len(functions) == 1:
                return functions[0]
    raise ProtocolError(
        "The reply to the listing holds no list of functions.",
        "Check that the address is that of the function service.",
    )


def _array(value: object) -> list[Any] | None:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = wire.decode(value, what="listing")
        except ProtocolError:  # a text that only begins like an array
            return None
    if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        return value
    return None
