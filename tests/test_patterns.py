"""Row 122: every regular expression of the package takes linear time, as its worst texts show."""

from __future__ import annotations

import ast
import functools
import importlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

import jupyter_funcs as jf
from jupyter_funcs.catalog import descriptions
from jupyter_funcs.catalog.fields import Field, read_fields
from jupyter_funcs.catalog.listing import Function, Param, parse_listing
from jupyter_funcs.catalog.values import Each, accept, accept_each
from jupyter_funcs.connection.replies import error_text
from jupyter_funcs.connection.secrets import Hidden, redacted_all
from jupyter_funcs.core.line import with_items_below
from jupyter_funcs.core.text import nearest
from jupyter_funcs.frames import chunks
from jupyter_funcs.magic.masking import masked_traceback
from tests.growth import assert_linear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

PACKAGE = Path(jf.__file__).parent
# The longest text, in characters, that must take 20 ms before it is compared with one of four times its length.
LONGEST = 2**15
LONGEST_OF_SLOW_TESTS = 2**20


class PatternUse(NamedTuple):
    """A pattern and a method that it is used with; "search" means any method that tries it at each character."""

    pattern: re.Pattern[Any]
    method: str

    def read(self, pumped: str | tuple[str, str], length: int) -> None:
        text = worst_text(pumped, length)
        subject: Any = (
            text.encode("utf-8", "surrogatepass")
            if isinstance(self.pattern.pattern, bytes)
            else text
        )
        if self.method != "search":
            getattr(self.pattern, self.method)(subject)
            return
        for _ in self.pattern.finditer(subject):
            pass


@pytest.fixture(scope="module")
def patterns() -> dict[str, list[PatternUse]]:
    """All patterns by module and name; those without a name by module and function or class."""
    uses: dict[str, list[PatternUse]] = {}
    source = {path: path.read_text("utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
    for path, text in source.items():
        module = ".".join(path.with_suffix("").relative_to(PACKAGE).parts)
        calls = list(_calls(ast.parse(text))) if "import re\n" in text else []
        names = (
            vars(importlib.import_module(f"jupyter_funcs.{module}")) if calls else {}
        )
        called = {
            owner
            for owner, _ in calls
            if owner in names and not hasattr(names[owner], "__module__")
        }
        assigned = {
            name for name in names if re.search(rf"(?m)^{name}(?:: .*)? = ", text)
        }
        for name in called | assigned:
            users = [text] if name.startswith("_") else source.values()
            uses |= _named(f"{module}.{name}", names[name], users)
        for owner, call in calls:
            key = f"{module}.{owner}"
            if key not in MADE and not next(_within(names.get(owner)), None):
                uses.setdefault(key, []).append(_unnamed(key, call, names))
    return uses


def _named(
    key: str, value: object, users: Iterable[str]
) -> dict[str, list[PatternUse]]:
    name = key.rpartition(".")[2]
    return {
        key + suffix: [
            PatternUse(pattern, method)
            for method in METHODS.get(key + suffix)
            or METHODS.get(key)
            or _methods(name, users)
        ]
        for suffix, pattern in _within(value)
    }


def _unnamed(key: str, call: ast.Call, names: Mapping[str, Any]) -> PatternUse:
    arguments = [*call.args[1:], *(keyword.value for keyword in call.keywords)]
    flags = [argument for argument in arguments if "re." in ast.unparse(argument)]
    pattern = re.compile(
        *(eval(ast.unparse(part), dict(names)) for part in [call.args[0], *flags])
    )
    methods = METHODS.get(key) or _kinds({ast.unparse(call.func)[3:]})
    return PatternUse(pattern, *methods)


def _calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls of the module `re`, each with the name, function or class of the statement that it is in."""
    for statement in tree.body:
        target = getattr(statement, "target", None) or next(
            iter(getattr(statement, "targets", [])), None
        )
        owner = getattr(statement, "name", None) or (
            ast.unparse(target) if target else ""
        )
        for node in ast.walk(statement):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr=name)
                ) if name != "escape":
                    yield owner, node


def _within(value: Any) -> Iterator[tuple[str, re.Pattern[Any]]]:
    """Yield the patterns in a value, each with its place."""
    if isinstance(value, re.Pattern):
        yield "", value
    elif isinstance(value, tuple | list | dict):
        places = getattr(value, "_fields", None)
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for place, inner in items:
            for suffix, pattern in _within(inner):
                yield (
                    (f".{places[place]}" if places else f"[{place!r}]") + suffix,
                    pattern,
                )


def _methods(name: str, users: Any) -> list[str]:
    """Return the methods that a name's patterns are used with; "search" if that isn't written next to the name."""
    call = re.compile(
        rf"\b{name}(?:\[[^]]*\])?\.(match|fullmatch|search|sub|subn|split|findall|finditer)\b"
    )
    return _kinds(
        {method for text in users for method in call.findall(text)} or {"search"}
    )


def _kinds(methods: set[str]) -> list[str]:
    return sorted(
        {method if method in {"match", "fullmatch"} else "search" for method in methods}
    )


# Patterns that a function makes of its own values, and where they are if not here.
MADE = {
    "connection.http._bound_header_pattern": "service.server.process._readers.header_field_re",
    "catalog.descriptions.read_default": "an option, and at most one more character of text than it has",
    "frames.chunks._marks": "_PLAIN and _ESCAPED",
    "frames.chunks._spaced": "_PLAIN, _ESCAPED, _ENVELOPE, _ENVELOPE_END, _MEMBERS, _KEY and _BY_INDEX",
}
# Methods that are not written next to the pattern's name.
METHODS = {
    "catalog.descriptions._SAYS": ["match"],
    "catalog.fields._KINDS_BY_NAME": ["fullmatch"],
    "frames.chunks._PLAIN.opening": ["match"],
    "frames.chunks._ESCAPED.opening": ["match"],
    "service.server.process._readers.header_field_re": ["fullmatch"],
}
# The length of a text that is cut before the pattern sees it.
CUT = {
    r"frames\.chunks\.(_PLAIN\.closing|_ESCAPED\.closing|_ENVELOPE_END)": chunks._TAIL,
    # All that reads descriptions, except what finds their marker and their sentences.
    r"catalog\.(descriptions\.(?!_MARKER|_SENTENCE_END|_SAYS\b).*|fields\._KINDS_BY_WORDS.*)": descriptions.LONGEST,
}

# What to repeat, alone or after a beginning. For a new pattern, look for a part that matches much of a text before the
# rest fails, or that begins at many places.
PUMPED: dict[str, list[str | tuple[str, str]]] = {
    "catalog.descriptions._ANNOUNCED": [
        ("valid ", "a "),
        "known a ",
        ("options are", " one of"),
        ("values:", " ("),
    ],
    "catalog.descriptions._BARE_OPTION": ["01", ("aa ", "a_")],
    "catalog.descriptions._BARE_YES_NO": [("yes / ", "|\r"), ("yes /", "\na")],
    "catalog.descriptions._BOUNDS[0][0]": [("b", "%%"), ("between -1,111", "-_")],
    "catalog.descriptions._BOUNDS[1][0]": [
        ("from -1,111", "from -1,111 to "),
        ("from -1,", ",111"),
    ],
    "catalog.descriptions._BOUNDS[2][0]": [(" at ", ",1"), (" at least ", ",")],
    "catalog.descriptions._BOUNDS[3][0]": [(" at ", ",1"), (" ", " is")],
    "catalog.descriptions._BOUNDS[4][0]": [(">= -1,1", ">= -1,"), ">= -"],
    "catalog.descriptions._BOUNDS[5][0]": [("<= -", "<= -1"), ("<= -1", "≤")],
    "catalog.descriptions._BOUNDS[6][0]": [(" greate", " ,"), (" gr", "-")],
    "catalog.descriptions._BOUNDS[7][0]": [
        (" less than ", ",1"),
        (" less than -", ",,"),
    ],
    "catalog.descriptions._DEFAULTS[0]": [
        ("defaults value to -1,", '""'),
        ("defaults v", " +"),
    ],
    "catalog.descriptions._DEFAULTS[1]": [("by default, ", "a"), "by default, a = "],
    "catalog.descriptions._DEFAULTS[2]": [
        ('if none is a, "a" i', "\r "),
        ("if", 'if none is a, "'),
    ],
    "catalog.descriptions._DEFAULTS[3]": [
        ('"a" (the default', " '"),
        ('"a" (the defaul', '\t"'),
    ],
    "catalog.descriptions._DEFAULTS[4]": ["d-", ("a (the", "-_")],
    "catalog.descriptions._EXPLAINED[0]": ['"a" ', '"a'],
    "catalog.descriptions._EXPLAINED[1]": ['"a" ', '"a'],
    "catalog.descriptions._EXPLAINED[2]": ['"a" ', '"a" ('],
    "catalog.descriptions._EXPLAINED[3]": ['"a" ', '"a" fo'],
    "catalog.descriptions._EXPLAINED_WORD": [", a", "or a-"],
    "catalog.descriptions._EITHER": ["either a ", ("must be a or ", "a")],
    "catalog.descriptions._FLAG": [("set ", "a "), "set to "],
    "catalog.descriptions._USED": ["use 'a'", ("; ", "' ")],
    "catalog.descriptions._LEADS_TO_OPTIONS": ["(a", "(b"],
    "catalog.descriptions._LIST_END": ["a", "a(", "(a) .a"],
    "catalog.descriptions._MARKER": ["\r\t", (" (", "\n\t")],
    "catalog.descriptions._NOTES": [(" (a", ")("), "()"],
    "catalog.descriptions._NOT_OPTIONS": [
        ("recommended ", "(_"),
        ("recommended ", "(0"),
    ],
    "catalog.descriptions._NO_BOUND": ["i", "can "],
    "catalog.descriptions._NO_OPTION": ["that", "fa"],
    "panel.chart_svg._colours": ["#", "#a1b2c"],
    "panel.form_view._ROW": [".1", ".1."],
    "catalog.descriptions._WORD": ["a", "a1"],
    "catalog.descriptions._ENGLISH": ["t", "us", "option"],
    "catalog.descriptions._QUOTED_LIST": [('"a" (', "'\n"), ('"a" (', "'\t")],
    "catalog.descriptions._QUOTED_RUN": ['"a" ', '"a" (', ('"a"', " ")],
    "catalog.descriptions._QUOTED_WORD": [' "', '"a"'],
    "catalog.descriptions.JOINED": [("separated by ", "a "), "comma-"],
    "catalog.descriptions._COUNTS": ["per", "coun"],
    "catalog.descriptions._OF_ANOTHER": [
        ("only if `a` is 'a'", ", 'a'"),
        ("a must be 1", " or 1"),
        "if the a is ",
        ("a is ", "'a"),
    ],
    "catalog.descriptions._OWN_UNITS": ["in a", "number of a "],
    "catalog.descriptions._UNIT": ["a", " a"],
    "catalog.descriptions._RULES[0]": [
        ("required on", "required only if the "),
        "required only if the a ",
    ],
    "catalog.descriptions._RULES[1]": [
        ("required only if n", "required only if no the "),
        ("required only if ", "cd"),
    ],
    "catalog.descriptions._RULES[2]": [
        ("required unless the a", "ca"),
        ("required unl", "required unless the "),
    ],
    "catalog.descriptions._RULES[3]": [
        ("if the a parameters is absent, ", "if "),
        ("if the ", "if the "),
    ],
    "catalog.descriptions._RULES[4]": [("either the ", "either the "), "either the a "],
    "catalog.descriptions._RULES[5]": [
        ("specify either the ", "specify either the "),
        "specify either the a ",
    ],
    "catalog.descriptions._SAYS[0]": [("valid opti", "he"), "c"],
    "catalog.descriptions._SAYS[1]": [("if none, adefault", "d "), "if none, adefault"],
    "catalog.descriptions._SAYS[2]": [("use the functio", "n "), "use the function"],
    "catalog.descriptions._SAYS[3]": [
        ("the format is YYYY-MM-DD", ":'"),
        ("the format is YYYY-MM-DD", "-<"),
    ],
    "catalog.descriptions.SAYS_WHERE": [("Functi", '\n"'), "\na"],
    "catalog.descriptions._SENTENCE_END": ["\t;", "\t."],
    "catalog.descriptions._SEPARATOR": ["/,", "|"],
    "catalog.descriptions._SET": [("{'a'", ", 'a'"), "{'a', "],
    "catalog.descriptions._SIGN": [
        ("pos", " l"),
        ("positive in", "lg"),
        ("non-neg", "a-"),
        ("non-negative intege", "-"),
    ],
    "catalog.descriptions._SOURCES[0]": ['functions: "', ("funct", 'functions: "a"')],
    "catalog.descriptions._SOURCES[1]": [
        ('use the "a" functi', 'use the "'),
        'use the "a"',
    ],
    "catalog.descriptions._SOURCES[2]": [
        ("obtained from ", 'obtained from the "a"'),
        ("obtained from th", 'obtained from the "'),
    ],
    "catalog.descriptions._SOURCES[3]": ["‘", ("See ", "\n\r")],
    "catalog.descriptions._SOURCES[4]": [("Functi", "\t0"), ("Function: Aa", "\t_")],
    "catalog.descriptions._SOURCES[5]": [("Use the Aa A", "Use "), "\n\r"],
    "catalog.descriptions._announced": ["default", "a"],
    "catalog.descriptions.read_options": [("a  ", "_"), "/1", "option"],
    "catalog.descriptions._in_list": ["/1", ("a", " /")],
    "catalog.fields._KINDS_BY_NAME[0][1]": ["symbol", ("symbo", "bo")],
    "catalog.fields._KINDS_BY_NAME[1][1]": ["panel_name", ("panel_nam", "n_")],
    "catalog.fields._KINDS_BY_NAME[2][1]": [("a", "i_"), ("ayear_", "q")],
    "catalog.fields._KINDS_BY_NAME[3][1]": ["e_", ("a_s", "_f")],
    "catalog.fields._KINDS_BY_NAME[4][1]": [("a_time_a", "t"), ("a_time_a", "e_")],
    "catalog.fields._KINDS_BY_WORDS[0][1]": [("YYYY-M", 'H"'), ("YYYY-", "/H")],
    "catalog.fields._KINDS_BY_WORDS[1][1]": [("YYYY-MM", "I "), ("YYYY-M", " 6")],
    "catalog.fields._KINDS_BY_WORDS[2][1]": [("list of", "aa"), ("lis", " i")],
    "catalog.fields._KINDS_BY_WORDS[3][1]": ["0.", "(_"],
    "catalog.fields._KINDS_BY_WORDS[4][1]": [("an", " a"), ("an num", "-")],
    "catalog.fields._WORDS": ["Aa", "Da"],
    "catalog.listing._CAMEL": ["a", "aA"],
    "catalog.listing._ENDING": ["_", "__"],
    "catalog.listing._OPTIONS": [("Option", "Oe"), ("Opt", " ")],
    "catalog.listing._identifier": ["a_", " _"],
    "catalog.choices._DAY": ["1111", ("1111", "1-")],
    "catalog.choices._LINES": ["a\n", "\t"],
    "catalog.choices._NUMBERS": [", ", "a,"],
    "catalog.choices._YEAR_LAST": ["1/1/111", ("1/1/1111", "1")],
    "catalog.choices._COMMAS": [",", ";a"],
    "catalog.values._QUOTED": [('"', "$'"), ('"', '$"')],
    "catalog.values._READ['date-time']": ["1", ("2026-11-15T14:30", "1\n")],
    "catalog.values._READ['time']": ["14:30", ("14:30", "1\n")],
    "catalog.values._READ['duration']": [("P", "1\n"), "1:11", "1 day"],
    "catalog.values._as_date": ["1111-11-11", ("1111-", "3-")],
    "catalog.values._AS_JSON": ["'", '"json'],
    "catalog.values._QUOTED_JSON": ["'", ("'", "'json:"), ("'json:", "'a")],
    "catalog.values._NUMBER": ["1", ("1.", "e1"), (" ", "1 ")],
    "cli.mcp_server._ACCEPTED": ["a", "-"],
    "cli.mcp_server._LIMIT": [("lim", "ca"), "c"],
    "cli.mcp_server._name": ["' ", "\"'"],
    "client.snippets._BARE": ["aa", "_"],
    "client.snippets._PLAIN_NAME": ["a", "_"],
    "connection.http._broken": [("c", "closed"), ("c", "do")],
    "connection.profiles._INHERITED": ["LC_", ("XDG_", "A_")],
    "connection.profiles._VARIABLE": ["A1_A", "A_"],
    "connection.error_bodies._MARKUP": [
        "<",
        "<a ",
        "<script>",
        ("<script>", "</script "),
        ("<script></script", " "),
    ],
    "connection.replies._read": ["1", "0"],
    "connection.proxies._is_excepted": ["[", "a"],
    "connection.proxies.environment_proxy": [" ", ",", "a"],
    "connection.retries._BETWEEN": [",", ", ", (",", " ")],
    "connection.retries.parse_retry_after": ["1", "0", " ", "1 ", ("1.", "1")],
    "connection.secrets.ClientSecret": ["a", " "],
    "connection.secrets.Secret": ["a", "!"],
    "connection.secrets._NAMED": ["token", "a-", ("token=", "a"), "tokens-"],
    "service.publishing.traces._AFTER": ["a", "."],
    "service.publishing.traces._BEFORE": ["a"],
    "core.guide._BAR": ["\\\\", "|"],
    "core.guide._BREAK": ["\\n", "\\n|"],
    "core.guide._LINK": ["[", "[a](", ("[a](b.md", "#a")],
    "core.guide._PICTURE": ["![a", "![a](a", ("![a](", "a-")],
    "core.json_decoding._LONE": ["\\", "\\ud8", "\\ud800\\u", "\\udc00"],
    "core.line.NAME_AND_VALUE": [('"', '\\"'), "'\\\"", '"\\'],
    "core.line.Parser": ["invalid choice: '", "--a", "-"],
    'core.line._CLOSED["\'"]': ["'a'", ("'", "a")],
    "core.line._CLOSED['\"']": [('"a', "\\1"), ('"a', "a\\")],
    "core.line._CLOSED['[']": [("[", ",‘"), ("[", ',"\\"'), ("[[", ",“")],
    "core.line._CLOSED['‘']": [("‘", " ‘"), "‘a’"],
    "core.line._CLOSED['’']": ["’a’", "’"],
    "core.line._CLOSED['“']": [("“", "a“"), ("“", "a")],
    "core.line._CLOSED['”']": [("”", "aa"), ("”a", "  ")],
    "core.line._IN_DOUBLE": [("\\\\a", "a"), "=\\\\a", ("\\", '\\"'), ("\\", '"\\')],
    "core.line._ITEMS": [",‘", "[“", ',"\\"', ',"'],
    "core.line._LIST": [("[", ",‘"), ("[", ',"\\"'), ("[[", ",“")],
    "core.line.LETTER_ESCAPE": ["\\", "\\\\a"],
    "core.line._LIST_OR_VARIABLE": [("[", "]"), ("$a", "a")],
    "core.line._PARTS": [("\\\\a", "a"), "=\\\\a", "=‘", "=“", '"\\'],
    "core.line._SECRET_OPTION": [("--atoke", "--"), ("--a", "-")],
    "core.line._WHOLE": ["a\\'", ("'", "a\\'"), ("'", "\\\\"), "'0"],
    "core.text._SEPARATORS": ["<a", " a"],
    "core.text._IGNORABLE": ["\u200b", "a"],
    "core.text._UNUSUAL": ["\u200b", "a"],
    "frames.export._ARMED": ["=", " ", "\t="],
    "frames.export._ARMED_INSIDE": ["=", " ", ";", "\t="],
    "core.text._SURROGATES": ["\ud800", "\ud800\ud800"],
    "frames.media._CHARSET": ["charset=", 'charset="', "a"],
    "frames.media._CSV": ["text/", "x-", "comma-"],
    "frames.media._NUMBER": ["1", ("1.", "1"), ("1e", "1"), (".", "1")],
    "frames.media._TEXTS": ["text/", "a+", "/xm", ("text/", "\n")],
    "frames.media._TSV": ["text/", "x-", "tab-"],
    "frames.pages._ABOUT": ["page", "meta"],
    "frames.pages._IDENTITIES": ["id"],
    "frames.pages._LAST": ["last", "is"],
    "frames.pages._OFFSETS": ["start", "from"],
    "frames.pages._PAGE": ["page", "current"],
    "frames.pages._PAGES": ["pages", "total"],
    "frames.pages._PAGINATION": ["paging"],
    "frames.pages._PARTICULARS": ["created", "name"],
    "frames.pages._PLAIN": ["prev", "ok"],
    "frames.pages._SIZES": ["page", "size"],
    "frames.pages._SPEAKING": ["page", "hits"],
    "frames.pages._TIMES": ["date", "time"],
    "frames.pages._USUAL": ["result", "value"],
    "frames.pages._EXTENT": ["a", ("items ", "1"), ("items 1-", "1")],
    "frames.pages._LINK": [
        "<",
        "<>",
        "<>;",
        ("<>", "; "),
        ("<>;", " rel"),
        ("<>; rel=", "a"),
    ],
    "frames.pages._MORE": ["more", "has"],
    "frames.pages._NEXT": ["next", "odata."],
    "frames.pages._PREVIOUS": ["prev", "page"],
    "frames.pages._TOTAL": ["total", "items", "count"],
    "frames.pages._VALUE": ["A", "1", "a", ("1", "\n"), ("a1", "1\n")],
    "frames.pages.plain": ["_", "a_", ":", "a:"],
    "frames.chunks._BY_INDEX": [
        ("{", " "),
        ('{"1', "1"),
        ('{"1":{', "\n"),
        ('{ "1" : ', " "),
    ],
    "frames.chunks._ENVELOPE": [("{", " "), (" ", " ")],
    "frames.chunks._ENVELOPE_END": [(' , "error" : null }', " "), "\n\t"],
    "frames.chunks._ESCAPED.closing": [" ", (" ", "  ")],
    "frames.chunks._ESCAPED.opening": [(" ", "  "), " "],
    "frames.chunks._ESCAPED.records": [(" ,", "},"), (" ", " }")],
    "frames.chunks._ESCAPED.rows": [",[", ",]"],
    "frames.chunks._KEY": [('{"', "\\"), ('{"', "a")],
    "frames.chunks._MEMBERS": ['",', ',"'],
    "frames.chunks._MINUS_0": ["-", ("-0", "-d")],
    "frames.chunks._PLAIN.closing": [(" ]", " \t"), (" ]", "\n ")],
    "frames.chunks._PLAIN.opening": [" [ ", " "],
    "frames.chunks._PLAIN.records": [" ,", "},"],
    "frames.chunks._PLAIN.rows": ["]\t", ",]"],
    "frames.dtypes._ISO": ["1111-11-11T11:11:11.1Z", "1111-11-11T11:11:11."],
    "frames.export._CSV_SPECIAL": ["\n,", "\r\n"],
    "frames.export._TSV_SPECIAL": ["\n\t", "\r\n"],
    "frames.frame._ENCODED": [("\ufeff", " \r"), ("\ufeff", "\t\r")],
    "frames.frame._SCALAR": ["34", (" -0.", "00")],
    "frames.roles._GROWTH": [" ", ("g", "ob")],
    "frames.roles._IN_PERCENT": ["%", "%%"],
    "frames.roles._LIKE_A_DATE": [("1111-11-11 1", ",,"), ("1111-11-11 1", ".,")],
    "frames.roles._PERIOD_FIRST": [("CH1", "-"), "CH1 FY'1111A"],
    "frames.roles._WORDS": ["%A", "2A"],
    "frames.roles._YEAR_FIRST": ["1C", ("FY1111 CW", "3/")],
    "frames.shapes._NUMBERS": ["0\n-1", "0\n"],
    "frames.text_tables.Listing": ["<td>", ("<td", "<t")],
    "magic.candidates._ARGUMENT_NAME": ["a", "a "],
    "magic.candidates._ITEMS_BEFORE": [("[ 'a'", "'\n"), ("[ [ 'a' , 'a' ] , [", ",,")],
    "magic.candidates._PLAIN_NAME": [("a", "__"), ("a", "_")],
    "magic.candidates._PLAIN_WORD": ["11", "1"],
    "magic.complete_python._ARGUMENT": [(" ", "_0"), "\t\t"],
    "magic.candidates._MARKS": [",'", ",("],
    'magic.candidates._STRINGS["\'"]': ['1"', ("\\", "  ")],
    "magic.candidates._STRINGS[\"'''\"]": [("\\", "  "), ("\\", "a'")],
    'magic.candidates._STRINGS[\'"""\']': [("\\", '"a'), 'a"'],
    "magic.candidates._STRINGS['\"']": [" a", ("\\", "1'")],
    "magic.completion._CELL": [(" ", "\t"), " "],
    "magic.completion._KEYS": [('"', '\\"'), '"\\'],
    "magic.completion._LINE": [" ", "a "],
    "magic.completion._PAIR": [(' "', "':"), (' "a', "\r\n")],
    "magic.masking._ARGUMENT": ["secret", ("token", " ")],
    "magic.masking._BEARER": [("bearer ", " "), ("bearer ", " \n")],
    "magic.masking._JWT": ["-eyJaaaaa", "eyJ-", "eyJaaaaaa."],
    "magic.masking._LITERAL": ["atoken", "a-", ("token", " "), "token='"],
    "magic.masking._OPTION": ["--atokena", ("--token", " ")],
    "magic.masking._OTHER_OPTIONS": [' "', "-\r"],
    "magic.masking._PROFILE": [("--", "--profile"), "f\t"],
    "magic.masking.as_secrets": ["secret"],
    "magic.masking.mask": [("_i", "0"), ("_i", "21")],
    "magic.usage._COUNT": ["1", ("1", " 0")],
    "magic.usage._VARIABLE": [("$", "__"), ("$", "_")],
    "panel.chart_view._CURRENCY": ["USDE", "US "],
    "panel.form_view._ITEM": ['"', '""', ('"a', '""'), (" ", '"'), '"",', '"a" '],
    "panel.form_view._SENTENCE_END": [". ", ".  ", "a.a"],
    "panel.form_view._UNTYPABLE": ["a", "\x00"],
    "panel.table_column._DAY": ["1111-11-", ("1111-11-11 11:11:11.", "1")],
    "panel.table_column._DECIMAL_COMMA": [".", ",111", (".", "1")],
    "panel.table_column._TYPED": ["1", (".", "1"), ("1.", "1")],
    "panel.table_column.TableColumn": ["1-", "1e", " ,"],
    "service.config.config_file._POSITION": [
        (" (at line 1, column ", "0"),
        (" (at", "(2"),
    ],
    "service.config.config_file._problem": ["''", ("'a", "'")],
    "service.config.settings._MEMORY": [("1.", "03"), ("1", "0")],
    "service.config.settings._VARIABLE": [("$", "${a}"), "10"],
    "service.config.team_data._QUARTER_NAME": ["4Q", "FQ1 1111"],
    "service.engine.backends._DETAILS": ["td", ("details", '"1')],
    "service.engine.backends._OPTION": [(";", ";a="), ";a=a"],
    "service.engine.backends._PLAIN": [("a://a@", "a"), ("a://a@a", "1")],
    "service.engine.backends._SECRET": [("pas", "de"), ("pas", "d")],
    "service.engine.duckdb_engine._WILDCARDS": ["*", "["],
    "service.engine.duckdb_engine._ANY_LENGTH": ["VARCHA", "STRUC", "UNIO"],
    "service.engine.sandbox.attach": ["PID 1", ("PID ", "03")],
    "service.engine.statements._WORD": [" _", " 1"],
    "service.publishing.discovery._package": ["'\"", "' "],
    "service.publishing.notebooks._FOR_TOOLS": [("type:", "\te"), ("type:", "\t")],
    "service.publishing.notebooks._TYPE_COMMENT": ["type: a | a", ("type: a", "\t")],
    "service.publishing.notebooks._HEADING": [("# ", "# "), ("# ", "#")],
    "core.text._MARKS[0][0]": ["<!--", "-"],
    "core.text._MARKS[1][0]": ["<code", "</"],
    "core.text._MARKS[2][0]": ["<li", ("<li ", "="), ("<li", " "), ("<li a=", " /")],
    "core.text._MARKS[3][0]": ["</p", "</"],
    "core.text._MARKS[4][0]": ["<br", ("<br", " ")],
    "core.text._MARKS[5][0]": ["<a ", ("<a ", "="), ("<a", " "), ("<b a=", " /")],
    "core.text._MARKS[6][0]": ["[", "[]", "[](https://", ("[", "a")],
    "core.text._MARKS[7][0]": ["*", "**a", ("*a", " "), " *a", "*a *"],
    "core.text._MARKS[8][0]": ["#", ("#", " "), "\n #"],
    "core.text._MARKS[9][0]": ["\n", ("\n", " "), "\n "],
    "sources.openapi._NOT_WORD": ["{", "a"],
    "sources.openapi_files._DATA": ["x-", "example"],
    "sources.openapi_requests.PATH_VARIABLE": ["{", "{a", "{+"],
    "sources.openapi_requests.JSON_BODY": [("application/", "a+"), ("text/json;", " ")],
    "sources.openapi_requests.MEDIA_TYPE": ["a", ("a/", "a"), ("a/b", " ")],
    "sources.openapi_requests.TEXT_BODY": ["+", ("a/", "+xml"), ("a/", "xm")],
    "connection.profiles.auth_name": ["-", "a"],
    "sources.openapi_servers.COOKIE": ["a"],
    "sources.openapi_servers.HEADER": ["accept", "proxy-"],
    "sources.openapi_servers._LABEL": ["a", "a-"],
    "sources.openapi_servers._PATH": ["a/", "a.", "."],
    "sources.openapi_servers._PREFIX": ['prefix "', ('prefix "', "a")],
    "client.snippets._PLAIN_HEADER": ["a", ("a: ", "a")],
    "sources.openapi_servers.VARIABLE": ["{", "{a"],
    "sources.openapi_schemas._SAID": ["min", "exclusiveM"],
    "sources.openapi._YAML": ["openapi ", ("\nopenapi", " "), "\n'"],
    "functions.parameters._WHOLE": ["1", "0"],
    "functions.callables.title": ['"a', "a'"],
    "service.publishing.confinement.ran_out_of_memory": ["oom_kill ", "\noom_kill"],
    "service.server.process._readers.header_field_re": [
        "a",
        "'",
        ("a:", "a "),
        ("a:", " "),
        "a'",
        "''",
    ],
    "service.web.hosts._AUTHORITY": ["-2", "--"],
    "sources.yaml_decoding._NUMBER": ["1", ("1.", "1"), ("1e", "1")],
    "service.web.middleware._VALID_ID": ["a", "."],
    "catalog.listing._LONG_WORD": ["abc1", "abcd"],
    "panel.derived._QUOTED": ["`", "`a"],
    "records.history._KEPT_ID": ["a", "-"],
    "service.web.kept_runs._KEY": ["a", "-"],
    "service.web.kept_runs._WAIT": ["1", ("1.", "1")],
}


def worst_text(pumped: str | tuple[str, str], length: int) -> str:
    """Return a text of about this length; nothing matches its last character."""
    begin, pump = pumped if isinstance(pumped, tuple) else ("", pumped)
    return begin + pump * (length // len(pump)) + "\0"


@pytest.mark.fault(122)
def test_every_pattern_has_its_worst_texts(
    patterns: dict[str, list[PatternUse]],
) -> None:
    """A new pattern needs a row in the table above."""
    assert sorted(patterns.keys() ^ PUMPED.keys()) == []


@pytest.mark.fault(122)
@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("key", PUMPED)
def test_every_pattern_takes_linear_time(
    patterns: dict[str, list[PatternUse]], key: str
) -> None:
    """Four times the text takes less than eight times as long, whatever the text is."""
    check(key, patterns[key], LONGEST)


@pytest.mark.slow
@pytest.mark.fault(122)
@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("key", PUMPED)
def test_every_pattern_reads_a_megabyte(
    patterns: dict[str, list[PatternUse]], key: str
) -> None:
    """The same of texts of 1 MB."""
    check(key, patterns[key], LONGEST_OF_SLOW_TESTS)


def check(key: str, patterns: list[PatternUse], most: int) -> None:
    """Check a pattern's worst texts; four times the longest may not exceed the limit of length."""
    cut = min(
        [
            4 * most,
            *(longest for name, longest in CUT.items() if re.fullmatch(name, key)),
        ]
    )
    for pattern in patterns:
        for pumped in PUMPED[key]:
            assert_linear(functools.partial(pattern.read, pumped), cut // 4)


def many(pump: str, length: int) -> str:
    """Return a text of this length, with numbers that make each of its parts another."""
    return " ".join(pump.format(number) for number in range(length // (len(pump) + 4)))


def twice(length: int) -> None:
    with pytest.raises(jf.ProtocolError, match="'z' twice"):
        jf.to_frame("{" + many('"a{}":0,', length) + '"z":0,"z":0}', strict=True)


def described(text: str) -> None:
    listing = [{"name": "F", "params": [{"name": "a", "description": text}]}]
    for function in parse_listing(json.dumps(listing).encode()):
        read_fields(function)


def listed(length: int, use: Callable[[Field, list[str]], object]) -> None:
    """Use as many values as options, which are declared."""
    options = [f"Option {number}" for number in range(length // 256)]
    schema = {"type": "array", "items": {"enum": options}}
    [field] = read_fields(Function(name="F", params=(Param(name="a", schema=schema),)))
    use(field, options)


def each_of(field: Field, options: list[str]) -> None:
    accept_each(
        field, Each(tuple([option] for option in options)), {}, "One", validate=True
    )


def each_wrong(field: Field, options: list[str]) -> None:
    accept_each(
        field,
        Each(tuple([f"{option}?"] for option in options)),
        {},
        "One",
        validate=True,
    )


READINGS: dict[str, Callable[[int], object]] = {
    "a key that occurs twice": twice,
    "lines that could end a list": lambda length: with_items_below(
        "[[", ["a] b]"] * (length // 6)
    ),
    "a list of lists": lambda length: with_items_below(
        "[", [*["[a, b]"] * (length // 6), "]"]
    ),
    "tokens in a traceback": lambda length: masked_traceback(
        many("eyJ{:09}.aaaaaa.b", length)
    ),
    "a long token": lambda length: (
        Hidden(many("{}-", 8000)),
        redacted_all("x1" * (length // 2)),
    ),
    "a description": lambda length: described("if the a is " * (length // 12)),
    "a name that nobody knows": lambda length: nearest(
        "a" * length, ["a" * length, "b"]
    ),
    "a list of options": lambda length: listed(length, accept),
    "a sweep over options": lambda length: listed(length, each_of),
    "a sweep over none of the options": lambda length: listed(length, each_wrong),
    "an error in HTML": lambda length: error_text(b"<script>" * (length // 8)),
}


@pytest.mark.fault(122)
@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("name", READINGS)
def test_everything_else_takes_linear_time(name: str) -> None:
    """A reader with more than one pattern, or with none."""
    assert_linear(READINGS[name], LONGEST)


@pytest.mark.slow
@pytest.mark.fault(122)
@pytest.mark.usefixtures("no_hang")
@pytest.mark.parametrize("name", READINGS)
def test_everything_else_reads_a_megabyte(name: str) -> None:
    """The same of 1 MB."""
    assert_linear(READINGS[name], LONGEST_OF_SLOW_TESTS)
