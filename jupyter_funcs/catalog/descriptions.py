"""Descriptions: read the marker, options, default, listing function, at-least-one rule and bounds from prose."""

from __future__ import annotations

import re
from itertools import compress, islice
from typing import TYPE_CHECKING, NamedTuple

from jupyter_funcs.core.text import folded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Words = tuple[str, ...]

# The quantifiers are bounded, so that reading takes time linear in the length of the description.
LONGEST = 250_000  # characters; a longer description is shown, but not read
LONGEST_PROSE = 40_000  # of which rules are read, whose patterns are the slowest

# A quote between two word characters is an apostrophe.
QUOTES = "'\"‘’“”`"
_QUOTED = rf"(?<!\w)[{QUOTES}]((?:[^{QUOTES}]|(?<=\w)[{QUOTES}](?=\w)){{1,100}})[{QUOTES}](?!\w)"
_NOTE = r"\s{0,9}\([^()]{0,100}\)"
_AND = r"\s{0,9}(?:,|/|;|\||\bor\b|\band\b)\s{0,9}(?:(?:or|and)\b\s{0,9})?"
_QUOTED_LIST = re.compile(rf"(?i){_QUOTED}(?:(?:{_NOTE})?{_AND}{_QUOTED})+")
_QUOTED_WORD = re.compile(_QUOTED)
_NOTES = re.compile(_NOTE)
_SEPARATOR = re.compile(r"(?i),|;|/|\||\bor\b|\band\b")

_MARKER = re.compile(
    r"(?i)\s*(?:\[\s*(required|optional)\s*\]|\(\s*(required|optional)\s*\)|(required|optional)(?=[.:]\s))\s*[:.,-]?\s*"
)

# A quoted list counts as options after one of these words ("Options are 'Age Group', 'Region'") or at the start of a
# clause ("('Age Group', 'Region')").
_LEADS_TO_OPTIONS = re.compile(
    r"(?i)(?:^|[.;:,(\[{–-]|\b(?:options|values|choices|either|(?:one|more|any) of|is|are|be|set to"
    r"|(?:choose|select|pick)(?: from)?|accepts|takes|supports|specify|give|enter|use|includes?|only))[\s:(\[{]{0,9}$"
)
_NOT_OPTIONS = re.compile(
    r"(?i)\b(?:functions?|e\.g\.?|i\.e\.?|examples?|for instance|such as|like|including|recommended(?: \w+)? (?:is|are)"
    r"|preferr?ed(?: \w+)? (?:is|are)|not(?: be)?|cannot be|except(?: for)?|excluding|excludes|without|other than"
    r"|ignor(?:es|ing)|characters?|(?:defaults?|default value)(?: to| is| are)?)[\s:,(\[{]{0,9}$"
)
_BEFORE = 60  # characters searched before a list
# A list after mere punctuation may be anything in another language: examples, what is left out, what is forbidden.
_WORD = re.compile(r"[^\W\d_]+")
_ENGLISH = re.compile(
    r"(?i)the|of|to|is|are|be|it|and|or|if|for|with|by|from|at|this|that|these|which|what|where|when|than|how|only|one"
    r"|each|any|all|must|can|may|will|should|not|use[ds]?|using|set|return(?:s|ed)?|required|optional|defaults?|your|you"
    r"|options?|choices?|values?|types?|kinds?|names?|modes?|methods?|groups?|units?|levels?|fields?|columns?|keys?"
    r"|strings?|lists?|results?|requests?|time|dates?|day|week|month|year|period|currency|currencies|sorts?|sorting|order"
    r"|ordering|filters?|status|state|language|format|whether|number|search|query|page|style|side|direction|strategy"
    r"|frequency|interval|region|country|size|scope|role|category|categories|output|input|allowed|valid|supported|possible"
)
# What announces the options, which may follow as a list or one by one, each with its explanation.
_ALLOWED = (
    r"(?:valid|allowed|allowable|possible|accepted|available|supported|permitted|known)"
)
_ANNOUNCED = re.compile(
    r"(?i)\b(?:(?:options|choices)\s?(?:are|include|:)|values:|"
    rf"{_ALLOWED}(?:\s(?:[\w.{QUOTES}-]{{1,40}}\s){{1,4}}?(?:are|is|include)\b|(?:\s(?:values|choices|options|inputs))?\s?:"
    rf"| values(?=\s[{QUOTES}]))|(?<!at least )(?:one|any) of(?: the following)?|(?:the )?following(?: \w{{1,20}})"
    r"{0,2}:)(?:[\s:.(\[{*•-]|(?:as follows|the following|one of|either|values|options)\b){0,9}"
)
_MOST_ANNOUNCED = 20
_LIST_END = re.compile(r"[^.;)\]}(]*(?:(?:\.(?=\w)|\([^()]{0,100}\))[^.;)\]}(]*)*")
_SET = re.compile(
    rf"\{{\s{{0,9}}{_QUOTED}(?:\s{{0,9}},\s{{0,9}}{_QUOTED})+\s{{0,9}}\}}"
)
_QUOTED_RUN = re.compile(
    rf"(?i){_QUOTED}(?:(?:{_NOTE})?(?:{_AND}|\s{{1,9}}){_QUOTED})+"
)
# One option and its explanation: 'D' = Daily, 'W': Weekly; 'D' for days; without quotes, ALL - every row.
_EXPLAINED = tuple(
    re.compile(rf"(?i){_QUOTED}\s?(?:{pattern})")
    for pattern in ("[=:]", "[–—-]", r"\((?=\w)", r"\b(?:if|for|when|to)\b")
)
_EXPLAINED_WORD = re.compile(
    r"(?:^|[.;,]\s|\b(?:or|and)\s)([\w-]{1,40})(?:\s?[=:]\s|\s[–—-]\s)"
)
_BARE_OPTION = re.compile(r"\w[\w%+&-]*(?: [\w%+&-]+){0,3}")
# These words show that the sentence continues after its options, or has none.
_NO_OPTION = re.compile(
    r"\b(?:a|an|the|is|are|be|must|can|may|if|when|unless|to|for|in|on|by|of|from|with|which|that|not|as|defaults?"
    r"|depending|required|optional|it|you|your|this)\b"
)
# Yes/No, yes or no
_BARE_YES_NO = re.compile(
    r"(?i)\b(yes\s?(?:/|or|,|\|)\s?no|no\s?(?:/|or|,|\|)\s?yes|true\s?(?:/|or|,|\|)\s?false|false\s?(?:/|or|,|\|)\s?true"
    r"|y\s?/\s?n)\b"
)
_YES_NO = (("yes", "no"), ("true", "false"), ("y", "n"))
_FLAG = re.compile(
    r"(?i)^bool(?:ean)?()\b|\b(?:(?:if|when)\s(?:set to\s)?|set(?: this| it)?(?: \w{1,20})? to\s|specify\s)"
    rf"[{QUOTES}]?(true|false)\b(?![\w-])"
)
_EITHER = re.compile(
    r"(?i)\b(?:either|(?:must|can|should) be(?: either)?)\s([\w-]{1,40}) or ([\w-]{1,40})(?=[.,;)]|$)"
)
# One option after the other: Use 'a' for … . Use 'b' for …; If 'a', …; 'a' - …
_USED = re.compile(
    rf"(?i)(?:\b(?:use|specify|specifying|set (?:it )?to|choose)\s{_QUOTED}(?!\s(?:and|with))"
    rf"|\b(?:if|when)\s(?:set to\s)?{_QUOTED},|(?:^|[.;:]\s)(?:[-*•]\s)?{_QUOTED}\s?[=:–—-])"
)

# What is said of another parameter: requires `usemarker` to be set to `true`; only if format is 'csv' or 'json'.
_VALUE = rf"(?:{_QUOTED}|(?:true|false|yes|no|null|\d{{1,18}})\b)"
_OF_ANOTHER = re.compile(
    r"(?i)(?:\b(?P<sure>only (?:if|when|where)|requires?(?: that)?) |\b(?P<maybe>if|when|where|unless) )?(?:the )?"
    rf"(?P<quote>[{QUOTES}])?\b(?!(?:it|this|that|value)\b)(?P<name>\w{{1,60}})[{QUOTES}]?"
    r"(?: (?:parameter|argument|field|option))?(?: (?:is|are|equals|(?P<must>(?:to|must|should|has to|needs to) be))"
    rf"(?: set to| either| one of)? |\s?==?\s?){_VALUE}(?:{_AND}{_VALUE})*"
)
# A text that holds several values.
JOINED = re.compile(
    r"(?i)\b(?:comma|semicolon|colon|pipe|space)[- ](?:separated|delimited)(?! (?:file|format|output))"
    r"|\b(?:separated|delimited|joined) (?:by|with) (?:a )?(?:comma|semicolon|colon|pipe|space)"
)

_UNSAID = r"(?:none|empty|blank|omitted|absent|nothing|left \w+|not \w+)"
_DEFAULT_LEAD = r"\bdefaults?\b(?:\s+value)?(?:\s+(?:to|is|of|as)\b|\s?[:=])?\s{0,9}"
_PLAIN_VALUE = (
    r"\d{4}-\d\d-\d\d(?![\w-])|[-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,18})(?:\.\d{1,18})?(?![\w%-]|[.,]\d)"
    r"|(?:yes|no|true|false|none|null)\b(?!\s(?!if|when|unless)\w)"
)
_DEFAULTS = tuple(
    re.compile(f"(?i){pattern}")
    for pattern in (
        # If none, PoPGrowth defaults to 'No'; default 1; but not "defaults to 'Age Group' and 'Region'"
        rf"{_DEFAULT_LEAD}(?:{_QUOTED}(?!{_AND}[{QUOTES}])|({_PLAIN_VALUE}))",
        # By default, 'No' is used; by default, x = 5
        rf"\bby default,\s(?:[\w{QUOTES}]{{1,40}}\s(?:=|is)\s)?(?:{_QUOTED}|({_PLAIN_VALUE}))",
        # If not given, 'No' is used
        rf"\b(?:if|when) {_UNSAID}(?: is)?(?: \w+)?,\s?{_QUOTED} is (?:used|taken|assumed|applied)",
        # 'day' (default); 'day' by default
        rf"{_QUOTED}\s?(?:\((?:the )?default\)|(?:is )?(?:the default|by default)\b)",
        # the same without quotes
        r"\b([\w+-]{1,40}+)\s?\((?:the )?default\)",
    )
)
_FOR = r"for\s(?:a |the )?(?:full )?(?:valid|available|list|values|options)"
_NAMED = r"([A-Z]\w{0,99}(?:\s[A-Z]\w{0,99}){0,5})"
_SOURCES = tuple(
    re.compile(pattern)
    for pattern in (
        # Use function 'Get Panels' to get list of available panels
        rf"(?i)\bfunctions?:?\s{_QUOTED}",
        # Use 'Get Panels' to get the list; call 'Get Panels' for valid values
        rf"(?i)\b(?:use|call|run|see|from)\s(?:the\s)?{_QUOTED}\s(?:function|to\s(?:get|list|see|find)|{_FOR})",
        # can be obtained from 'Get Panels'; listed by 'Get Panels'; see 'Get Panels'
        rf"(?i)\b(?:obtained|listed|returned|given)\s(?:from|by|in|via|through)\s(?:the\s)?{_QUOTED}",
        rf"\b(?:[Ss]ee|[Uu]se|[Cc]all|[Rr]un|from|by)\s(?:the\s)?[{QUOTES}]((?:Get|List)\s[^{QUOTES}]{{1,100}})[{QUOTES}]",
        # Use function Get Panels; use the Get Panels function
        rf"\b[Ff]unction:?\s{_NAMED}",
        rf"\b(?:[Uu]se|[Cc]all|[Rr]un|[Ss]ee)\s(?:the\s)?{_NAMED}\sfunction\b",
    )
)
SAYS_WHERE = re.compile(rf"\b[Ff]unctions?:?\s[{QUOTES}A-Z][^.;]*")
_SENTENCE_END = re.compile(r"(?<=[.;])\s+")
_SAYS = (
    re.compile(
        r"(?i)(?:valid |available )?(?:options|values|choices)\b|(?:must be )?one of\b"
    ),
    re.compile(r"(?i)(?:if (?:none|not \w+|empty|omitted),? .*)?\bdefaults?\b"),
    re.compile(r"(?i)use (?:the )?function\b"),
    re.compile(r"(?i)(?:the )?format(?: is|:)? YYYY-MM-DD\W*$"),
)

_NEEDED = r"\b(?=[mnr])(?<!not )(?:required|needed|mandatory|must be (?:specified|provided|given|set|supplied))"
_GIVEN = r"(?:specified|given|provided|set|supplied|present|filled|selected|passed|entered|used|chosen|defined)"
_ABSENT = rf"(?:absent|missing|empty|blank|omitted|none|null|unspecified|left (?:blank|empty|out)|not {_GIVEN})"
_IS = r"(?:(?:is|are|was|were|ha(?:s|ve) been) )?+"
_NAME = rf"(?:the )?([\w{QUOTES} ,/-]{{1,50}}?)(?: (?:parameters?|arguments?|fields?|values?))?+"
_RULES = tuple(
    re.compile(f"(?i){pattern}")
    for pattern in (
        # Required if brand is not specified; required when Symbol is absent; needed if Symbol isn't given
        rf"{_NEEDED} (?:only )?(?:if|when|where) {_NAME} (?:{_IS}{_ABSENT}|(?:is|are)n[{QUOTES}]t {_GIVEN})\b",
        rf"{_NEEDED} (?:only )?(?:if|when|where) no {_NAME} (?:is|are)\b",
        rf"{_NEEDED} unless {_NAME} (?:is|are)\b",
        # If Symbol is not specified, Brand is required. The comma is looked for first, since it saves most tries.
        rf"\b(?:if|when) (?=[^,]{{1,90}},){_NAME} {_IS}{_ABSENT}, [\w{QUOTES} ]{{1,60}}? (?:is|are)?\s?{_NEEDED}",
        # Either Symbol or Brand is required; at least one of Symbol, Brand must be given
        rf"\b(?:either|one of) {_NAME} (?:is|are|must be) (?:required|needed|mandatory|{_GIVEN})\b",
        # Specify either Symbol or Brand
        rf"\b(?:specify|provide|give|supply|enter|set) (?:either|(?:at least )?one of) {_NAME}(?=[.;)]|$)",
    )
)

_INTEGER = r"([-+]?(?:\d{1,3}(?:,\d{3})+|\d{1,18})(?![\w%]|[.,]\d))"
_CLAUSE = r"(?:(?:^|[.;:,(])\s?|\b(?:is|be|and|but|or|integer|number|values?|count)\s)(?:the )?"
_LIMIT = r"(?: is| of|:| =)?"
# Such a sentence says what happens beyond a bound, or what may not be: "greater than 10,000 throws".
_NO_BOUND = re.compile(
    r"(?i)\b(?:if|when|unless|throws?|fails?|errors?|never|can ?not|reserved|changed)\b"
)
# Patterns with the offsets of the lower and the upper bound from the numbers; None where the pattern has no such bound.
_BOUNDS = tuple(
    (re.compile(f"(?i){pattern}"), low, high)
    for pattern, low, high in (
        (rf"\b(?:between|range:?) {_INTEGER} (?:and|to) {_INTEGER}", 0, 0),
        (
            rf"\b(?:from|range:?) {_INTEGER}(?: to |\s?(?:-|–|\.\.)\s?){_INTEGER}",
            0,
            0,
        ),
        (
            rf"{_CLAUSE}(?:at least|min(?:imum)?(?: value)?{_LIMIT}|not less than|no less than) {_INTEGER}",
            0,
            None,
        ),
        (
            rf"{_CLAUSE}(?:at most|max(?:imum)?(?: value)?{_LIMIT}|not more than|no more than|up to) {_INTEGER}",
            None,
            0,
        ),
        (rf"(?:>=|≥)\s?{_INTEGER}", 0, None),
        (rf"(?:<=|≤)\s?{_INTEGER}", None, 0),
        (rf"(?:{_CLAUSE}(?:greater|more|larger) than|>)\s?{_INTEGER}", 1, None),
        (rf"(?:{_CLAUSE}(?:less|fewer|smaller) than|<)\s?{_INTEGER}", None, -1),
    )
)
# What the number before it counts.
_UNIT = re.compile(
    r"(?i)[\s-](?:(?!(?:and|or|but|for|if|per|in|by|with|the|is|are|to)\b)[^\W\d]{2,20}[\s-])?"
    r"(?!(?:this|its|was|has|does|plus|less|unless|always|defaults|inclusive)\b)(?:(?P<measure>characters?|chars?|digits?"
    r"|letters?|words?|bits?|bytes?|[kmgt]i?b|pixels?|px|ms|(?:milli|micro)?seconds?|minutes?|hours?|days?|weeks?|months?"
    r"|years?)|[^\W\d]{2,30}s)\b"
)
_OWN_UNITS = re.compile(
    r"(?i)(?:^|\b(?:in|number of|count of|how many) )([^\W\d]{2,30}(?: [^\W\d]{2,30}){0,3})"
)
_COUNTS = re.compile(r"(?i)limit|size|count|top|max|num|per.?page|rows|take")
_SIGN = re.compile(r"(?i)\b(non-?negative|positive) (?:integer|whole number|number)\b")


class DescribedRule(NamedTuple):
    """One of these names is required."""

    names: Words
    sentence: str
    """What says so."""
    in_own_words: bool
    """Whether the service itself words it like that."""


class FieldNames:
    """The names of the parameters of a function, or of the parts of an object, which descriptions may say."""

    def __init__(self, names: Iterable[str]) -> None:
        # By how they are folded.
        self.spelt = {spelling: name for name in names if (spelling := folded(name))}
        self.places = {name: place for place, name in enumerate(self.spelt.values())}


def read_marker(description: str) -> tuple[bool, str]:
    """Return whether a description is marked as required, and its text on one line without the marker."""
    marker = _MARKER.match(description)
    before = marker[0] if marker else ""
    return "required" in before.lower(), " ".join(
        description.removeprefix(before).split()
    )


def without(text: str, *shown: bool) -> str:
    """Return a text without the sentences about options, default, source and date format, each if `shown`."""
    says = list(compress(_SAYS, shown))
    return " ".join(
        sentence
        for sentence in _SENTENCE_END.split(text)
        if not any(pattern.match(sentence) for pattern in says)
    )


def about(name: str, text: str, others: Mapping[str, str]) -> str:
    """Return a text about a parameter without what it says of others."""

    def kept(rule: re.Match[str]) -> str:
        other = folded(rule["name"])
        is_name = rule["quote"] or other in others
        is_other = rule["sure"] or (is_name and (rule["maybe"] or rule["must"]))
        if is_other and other != folded(name):
            return ""
        return rule[0]

    return _OF_ANOTHER.sub(kept, text)


def is_yes_no(options: Iterable[str]) -> bool:
    """Return whether options are the two words of a flag."""
    return {option.casefold() for option in options} in [set(pair) for pair in _YES_NO]


def read_options(text: str, others: Mapping[str, str] = {}) -> Words:
    """Return the values that a description lists, as spelled there, and not a list of parameters (`others`)."""

    def valid(words: Iterable[str], lead: str = "") -> Words:
        listed = tuple(dict.fromkeys(map(str.strip, words)))
        plain = set(map(folded, listed))
        of_parameters = plain <= others.keys() and not re.search(
            "(?i)option|value|choice", lead
        )
        # Examples of their format.
        are_times = all(word[:4].isdecimal() and word[10:11] == "T" for word in listed)
        if len(listed) > 1 and all(plain) and not (of_parameters or are_times):
            return listed
        return ()

    start = _SET.match(text)
    if start and (words := valid(_QUOTED_WORD.findall(start[0]))):
        return words
    for lead in islice(_ANNOUNCED.finditer(text), _MOST_ANNOUNCED):
        words = valid(_announced(text[lead.end() :]), lead[0])
        if words and not _NOT_OPTIONS.search(_before(text, lead)):
            return words

    one_by_one = next(filter(None, map(valid, _one_by_one(text))), ())
    return _in_list(text, valid) or _flag(text) or one_by_one


def _in_list(text: str, valid: Callable[[Iterable[str], str], Words]) -> Words:
    """Return the first quoted list of a text that is one of options."""
    lists = list(_QUOTED_LIST.finditer(text))
    is_foreign = bool(lists) and _is_foreign(text)
    for quoted in lists:
        before = _before(text, quoted)
        words = valid(_QUOTED_WORD.findall(_NOTES.sub("", quoted[0])), before)
        is_led = not is_foreign and _LEADS_TO_OPTIONS.search(before)
        leads = (
            is_led or is_yes_no(words) or re.search(r"\w\W\s?[/|]\s?\W\w", quoted[0])
        )
        if words and leads and not _NOT_OPTIONS.search(before):
            return words

    return ()


def _before(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - _BEFORE) : match.start()]


def _is_foreign(text: str) -> bool:
    """Return whether a description, without what it quotes, has words, and none of them is English."""
    words = _WORD.findall(_QUOTED_WORD.sub(" ", text))
    return words != [] and not any(map(_ENGLISH.fullmatch, words))


def _flag(text: str) -> Words:
    """Return the two words of a flag that are not quoted."""
    if yes_no := _BARE_YES_NO.search(text):
        return tuple(word.strip() for word in _SEPARATOR.split(yes_no[1]))
    if flag := _FLAG.search(text):
        if (flag[2] or "t").islower():
            return "true", "false"
        return "True", "False"

    return ()


def _one_by_one(text: str) -> Iterator[Iterable[str]]:
    """Yield what may be options that are not in a list."""
    yield from (
        pair for pair in _EITHER.findall(text) if not any(map(_NO_OPTION.search, pair))
    )
    yield (next(filter(None, words)) for words in _USED.findall(text))


def _announced(text: str) -> list[str]:
    """Return the options at the start of a text that was announced as holding them."""
    if _QUOTED_WORD.match(text):
        words = next(
            (pattern.findall(text) for pattern in _EXPLAINED if pattern.match(text)),
            [],
        )
        if run := _QUOTED_RUN.match(text):
            words = _QUOTED_WORD.findall(_NOTES.sub("", run[0]))
        return [word.rstrip(".,;") for word in words]

    plain = _NOTES.sub("", next(_LIST_END.finditer(text))[0])
    items = [*filter(None, map(str.strip, _SEPARATOR.split(plain)))]
    while items and re.match(r"(?i)defaults?\b", items[-1]):
        items.pop()
    if len(items) > 1 and all(map(_is_bare_option, items)):
        return items
    if _EXPLAINED_WORD.match(text):
        return _EXPLAINED_WORD.findall(text)
    return []


def _is_bare_option(text: str) -> bool:
    return bool(_BARE_OPTION.fullmatch(text)) and not _NO_OPTION.search(text)


def read_flag(text: str, default: str | None) -> Words:
    """Return both words of a flag if the description quotes only one: Set to 'Yes' for growth."""
    named = _QUOTED_WORD.findall(text)
    if default:
        named.append(default)
    for pair in _YES_NO:
        if named and all(word.casefold() in pair for word in named):
            write = str.capitalize
            if named[0].isupper():
                write = str.upper
            elif named[0].islower():
                write = str.lower
            return tuple(map(write, pair))

    return ()


def read_default(text: str, options: Words) -> str | None:
    """Return the default that a description names, in the spelling of the options, or ``None``."""
    spelt = {option.casefold(): option for option in options}
    for pattern in _DEFAULTS:
        if named := pattern.search(text):
            value: str = next(filter(None, named.groups()))
            if value.casefold() in {"none", "null"}:
                return None
            return spelt.get(value.casefold(), value)

    for lead in re.finditer(_DEFAULT_LEAD, text, re.IGNORECASE):  # default is Age Group
        for option in options:
            if re.match(
                rf"(?i){re.escape(option)}(?!\w)",
                text[lead.end() : lead.end() + len(option) + 1],
            ):
                return option

    return None


def read_source(text: str) -> str | None:
    """Return the name of the function that lists the valid values."""
    for pattern in _SOURCES:
        if match := pattern.search(text):
            return match[1].strip()

    return None


def read_rule(name: str, text: str, field_names: FieldNames) -> DescribedRule | None:
    """Return the first rule that a text has for a parameter."""
    spelt = field_names.spelt
    places = field_names.places
    for sentence in _SENTENCE_END.split(text):
        for pattern in _RULES:
            if match := pattern.search(sentence):
                words = map(folded, _SEPARATOR.split(match[1]))
                together = {name, *(spelt[word] for word in words if word in spelt)}
                if len(together) > 1:
                    named = sorted(
                        together, key=lambda other: places.get(other, len(places))
                    )
                    return DescribedRule(
                        tuple(named), sentence.strip(), pattern is _RULES[0]
                    )

    return None


def read_bounds(name: str, text: str, *, whole: bool) -> tuple[int | None, int | None]:
    """Return the inclusive lower and upper bounds of a number, if they are in its own unit."""
    text = " ".join(
        sentence
        for sentence in _SENTENCE_END.split(text)
        if not _NO_BOUND.search(sentence)
    )

    def bound(side: int) -> int | None:
        """Return the first lower (0) or upper (-1) bound."""
        for pattern, *offsets in _BOUNDS:
            offset = offsets[side]
            # "more than 0" means at least 1 only for whole numbers.
            if offset is None or (offset and not whole):
                continue
            for match in pattern.finditer(text):
                if _is_own_unit(name, text, match.end()):
                    return int(match.groups()[side].replace(",", "")) + offset

        return None

    low = bound(0)
    high = bound(-1)
    if low is None and whole and (sign := _SIGN.search(text)):
        low = int(sign[1][0] in "pP")
    # Bounds that exclude every number were misread.
    if low is not None and high is not None and low > high:
        return None, None
    return low, high


def _is_own_unit(name: str, text: str, end: int) -> bool:
    """Return whether what follows a number isn't a unit, or is that of the parameter: at most 30 days, of DaysBack."""
    unit = _UNIT.match(text, end)
    if not unit or (_COUNTS.search(name) and not unit["measure"]):
        return True
    stem = unit[0].split()[-1].casefold().removesuffix("s")
    return any(stem in own.casefold() for own in [name, *_OWN_UNITS.findall(text)])
