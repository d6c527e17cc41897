"""The one door to libraries of others: parsers and matchers that are pure, each made so here
(decision 0014).

No clock, no locale of the machine, no I/O but their own package data, no backtracking; what is
matched *with* comes from the task's author. Imported when first used: the daemon, which scores
nothing, does not need them. Their versions are part of the ruleset's digest, since another version
may read another way.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache, partial
from glob import glob
from typing import Any, NamedTuple

import orjson

from detectors.matchers.json_path_cost import MAX_DESCENTS, CountedQuery
from detectors.matchers.schema_circles import remember_references
from detectors.matchers.schema_cost import charge
from detectors.matchers.schema_places import Place, read_schema
from detectors.model.budget import meter
from detectors.model.caches import cache_by_size, cache_short
from detectors.model.errors import BudgetError
from detectors.model.memory import size_of

MAX_REGEX_MEMORY = 1 << 20
"""Bytes that RE2 may use for one pattern."""
SMALL_PATTERN = 1 << 16
"""Bytes of a compiled pattern of a JSON Schema that reads 32 characters in a microsecond, whatever
they are."""
LARGE_UNITS = 2_700
"""Evaluations that a larger one, of at most `MAX_REGEX_MEMORY`, takes for 32 characters."""
MAX_PATTERNS_MEMORY = 1 << 24
"""Bytes of all compiled patterns of one JSON Schema."""
SCHEMAS_BYTES = 1 << 26
CHAIN_BYTES = 1 << 14
"""Bytes of the chain that leads to a schema which is remembered, at most."""
SMALL_PROGRAM = 1_000
"""Instructions of a pattern that RE2 mostly reads by a table of its states, whatever the text: then
an instruction costs an eighth of the nanosecond a character that it costs in a larger one."""
REGEXES = 128
"""Patterns that are kept compiled; each takes up to `MAX_REGEX_MEMORY` while it is used."""
CEL_BYTES = 128
"""Bytes of a compiled CEL expression for each of its characters, at most."""
PATH_BYTES = 192
"""Bytes of a compiled JSON Path for each of its characters, at most."""
MAX_PATH = 4096
"""Characters of a JSON Path."""
MAX_NESTING = 16
"""Brackets within brackets of a JSON Path."""

LIBRARIES = {
    "regex": "google-re2",
    "schema": "jsonschema-rs",
    "cel": "common-expression-language",
    "fuzzy": "rapidfuzz",
    "date": "python-dateutil",
    "money": "babel",
    "json": "jsonpath-rfc9535",
    "facts": "jsonpath-rfc9535",
    "pattern": "google-re2",
    "location-name": "rapidfuzz",
}
"""The word in a task that needs a library, and the distribution that it comes from."""


METERED = frozenset(("common-expression-language", "jsonpath-rfc9535", "jsonschema-rs"))
"""Libraries whose work is bounded by `detectors.model.budget`, which is more than a moment."""


def is_metered(task: object) -> bool:
    """Whether a task's JSON asks for what `detectors.model.budget` bounds."""
    return not METERED.isdisjoint(_needed(task))


def versions(task: object) -> dict[str, str]:
    """The libraries that a task's JSON needs, with the versions that are installed."""
    needed = sorted(_needed(task))
    if not needed:
        return {}
    return {name: _installed_version(name) for name in needed}


def _installed_version(name: str) -> str:
    """Return the version of a distribution as `importlib.metadata` has it, whose import takes
    longer than a task to score: it is left to distributions that are not installed as usual."""
    described = f"{name.replace('-', '_')}-*.dist-info/METADATA"
    for folder in sys.path:
        found = glob(described, root_dir=folder or None)
        if len(found) == 1:
            with open(f"{folder or '.'}/{found[0]}", encoding="utf-8") as lines:
                fields = (line.partition(": ") for line in lines)
                return next(value.strip() for field, _, value in fields if field == "Version")
        if found:
            break
    from importlib.metadata import version

    return version(name)


def _needed(spec: object) -> set[str]:
    if isinstance(spec, dict):
        own = {LIBRARIES[key] for key in spec if key in LIBRARIES}
        return own.union(*(_needed(value) for value in spec.values()))
    return (
        set().union(*(_needed(item) for item in spec)) if isinstance(spec, list | tuple) else set()
    )


@lru_cache(maxsize=REGEXES)
def regex(pattern: str, ignore_case: bool) -> Any:
    """A pattern of the task's author, compiled by RE2: linear time, bounded memory. Raises
    `ValueError`."""
    import re2  # untyped

    options = re2.Options()
    options.max_mem, options.log_errors, options.case_sensitive = (
        MAX_REGEX_MEMORY,
        False,
        not ignore_case,
    )
    try:
        return re2.compile(pattern, options=options)
    except re2.error as error:
        raise ValueError(f"a regular expression as RE2 has them: {error}") from None


def is_full_match(pattern: Any, text: str) -> bool:
    """Whether the whole text is of a pattern that `regex` compiled, at the budget's cost. Raises
    `BudgetError`, and `UnicodeEncodeError` for half a character."""
    size = pattern.programsize
    nanoseconds = size if size > SMALL_PROGRAM else (size >> 3) + 1
    meter().spend(len(text) * nanoseconds // 1_000, "a regular expression")
    return pattern.fullmatch(text) is not None


class _Schema(NamedTuple):
    """A schema's validator, what it costs to ask it, and the bytes of its patterns."""

    validator: Any
    root: Place
    pattern_bytes: int


@cache_by_size(
    SCHEMAS_BYTES,
    lambda schema, text: 32 * len(text) + 2 * schema.pattern_bytes + size_of([schema.root]),
)
def _schema(text: bytes) -> _Schema:
    spec = orjson.loads(text)
    pattern_bytes = 0

    def pattern_units(pattern: str) -> int:
        nonlocal pattern_bytes
        units, needed = _pattern_cost(pattern)
        pattern_bytes += needed
        if pattern_bytes > MAX_PATTERNS_MEMORY:
            raise ValueError(
                f"a JSON Schema whose patterns together are at most {MAX_PATTERNS_MEMORY >> 20} MiB"
                " when compiled"
            )
        return units

    root = read_schema(spec, pattern_units).root
    return _Schema(_validator(spec, MAX_REGEX_MEMORY), root, pattern_bytes)


class _RememberingSchema(NamedTuple):
    """A validator that remembers its schema's references in circles, and how many these name."""

    validator: Any
    targets: int


@cache_by_size(
    SCHEMAS_BYTES,
    lambda schema, text, pattern_bytes=0: (
        32 * len(text) + 2 * pattern_bytes + CHAIN_BYTES * schema.targets
    ),
)
def _remembering_schema(text: bytes, pattern_bytes: int = 0) -> _RememberingSchema:
    """The schema ``text``, whose patterns take so many bytes."""
    spec = orjson.loads(text)
    references = read_schema(spec, lambda pattern: 1).references
    targets = {id(target) for _, target in references if target is not None}
    validator = _validator(remember_references(spec, references), MAX_REGEX_MEMORY)
    return _RememberingSchema(validator, len(targets))


def _validator(spec: Any, max_pattern: int) -> Any:
    import jsonschema_rs

    options = jsonschema_rs.RegexOptions(size_limit=max_pattern)
    return jsonschema_rs.Draft202012Validator(
        spec, offline=True, validate_formats=False, pattern_options=options
    )


def _pattern_cost(pattern: str) -> tuple[int, int]:
    """Evaluations that the pattern takes for 32 characters, and the most bytes that it is when
    compiled."""
    import jsonschema_rs

    for max_bytes, units in ((SMALL_PATTERN, 24), (MAX_REGEX_MEMORY, LARGE_UNITS)):
        try:
            _validator({"pattern": pattern}, max_bytes)
        except (ValueError, jsonschema_rs.ValidationError):
            continue
        return units, max_bytes
    raise ValueError(
        f"a JSON Schema whose patterns are of at most {MAX_REGEX_MEMORY >> 20} MiB when compiled:"
        f" {pattern!r}"
    )


def check_schema(text: bytes) -> None:
    """Raises `ValueError` unless ``text`` is a JSON Schema that refers to nothing elsewhere and has
    a bound."""
    import jsonschema_rs

    try:
        jsonschema_rs.meta.validate(orjson.loads(text))
        _schema(text)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError):
        raise ValueError("a JSON Schema of draft 2020-12") from None


def conforms(text: bytes, value: object) -> bool:
    """Whether ``value`` conforms to the schema ``text``. Raises `BudgetError`."""
    schema = _schema(text)
    remembers = charge(schema.root, value, meter())
    validator = schema.validator
    if remembers:
        validator = _remembering_schema(text, schema.pattern_bytes).validator
    try:
        return bool(validator.is_valid(value))
    except ValueError:  # a whole number beyond what JSON readers agree on
        return False


@cache_by_size(16 << 20, lambda _, expression: CEL_BYTES * len(expression))
def cel(expression: str) -> Any:
    """A CEL expression of the task's author, compiled. Raises `ValueError`."""
    import cel as binding

    return binding.compile(expression)


def likeness(one: str, other: str) -> float:
    """How alike two texts are, in [0, 1]: 2·common / both lengths, by longest common subsequence
    (Indel)."""
    from rapidfuzz import fuzz

    return float(fuzz.ratio(one, other)) / 100


def likeness_of_words(one: str, other: str) -> float:
    """How alike two texts are, in [0, 1], whatever the order of their words; in whole
    hundredths."""
    from rapidfuzz import fuzz, utils

    return round(fuzz.token_sort_ratio(one, other, processor=utils.default_process)) / 100


@cache_short(1024, 64)  # a list in any order compares each of its dates with many
def day(text: str, day_first: bool) -> tuple[int, int, int] | None:
    """(year, month, day) that the whole text says; None for what is no date, or not all of one."""
    import datetime

    from dateutil import parser

    info = _info(day_first)
    found = set()
    for default in (datetime.datetime(2001, 2, 3), datetime.datetime(2004, 5, 6)):
        try:
            read = parser.parser(info).parse(text, default=default, ignoretz=True)
        except (ValueError, ArithmeticError, TypeError):  # it computes hours as decimals
            return None
        found.add((read.year, read.month, read.day))
    return found.pop() if len(found) == 1 else None


@lru_cache(maxsize=2)
def _info(day_first: bool) -> Any:
    from dateutil import parser

    info: Any = parser.parserinfo(dayfirst=day_first)
    # The library takes the century of a year such as 24 from the clock; here it is always 2000 ±
    # 50.
    info._year, info._century = 2000, 2000
    return info


def decimal(text: str, locale: str) -> Decimal | None:
    """The number that the whole text is, as CLDR has them written in ``locale``; grouping must be
    right."""
    from babel.numbers import NumberFormatError, parse_decimal

    try:
        return parse_decimal(text, locale=locale, strict=True)
    except (NumberFormatError, ArithmeticError):  # more digits than a decimal has
        return None


def locale_ok(locale: str) -> bool:
    """Whether CLDR knows the locale, such as en, de_DE."""
    from babel import Locale, UnknownLocaleError

    try:
        Locale.parse(locale)
    except (UnknownLocaleError, ValueError):
        return False
    return True


@cache_short(1024, 16)
def currency(code: str, locale: str) -> frozenset[str] | None:
    """The ways in which ``locale`` writes the currency (casefolded), its code first; None for no
    currency."""
    from babel.numbers import get_currency_name, get_currency_symbol, is_currency

    if not is_currency(code):
        return None
    names = (get_currency_name(code, count, locale) for count in (None, 1, 2))
    return frozenset(word.casefold() for word in (code, get_currency_symbol(code, locale), *names))


@cache_by_size(16 << 20, lambda _, path: PATH_BYTES * len(path))
def json_path(path: str) -> Callable[[Any], list[Any]]:
    """What stands in a JSON value at the places that a JSON Path (RFC 9535) names; its two
    functions that match patterns are left out. Raises `ValueError`; what it gives raises
    `BudgetError`."""
    depth = deepest = 0
    for letter in path:
        depth += (letter in "([") - (letter in ")]")
        deepest = max(deepest, depth)
    if len(path) > MAX_PATH or deepest > MAX_NESTING:
        raise ValueError(
            f"a JSON Path of at most {MAX_PATH} characters, {MAX_NESTING} brackets deep"
        )
    if _NAMES.fullmatch(path):
        return partial(_resolve, tuple(path.split(".")[1:]))
    import jsonpath_rfc9535

    env = jsonpath_rfc9535.JSONPathEnvironment()
    for name in ("match", "search"):
        env.function_extensions.pop(name, None)
    try:
        query = CountedQuery(env.compile(path))
    except jsonpath_rfc9535.JSONPathError as error:
        raise ValueError(f"a JSON Path as in RFC 9535: {error}") from None
    except RecursionError:
        raise ValueError("a JSON Path whose filters are fewer and less nested") from None
    if query.descents > MAX_DESCENTS:
        raise ValueError(f"a JSON Path with at most {MAX_DESCENTS} of ..")

    def find(value: object) -> list[Any]:
        try:
            return [node.value for node in query.find(value)]
        except (jsonpath_rfc9535.JSONPathRecursionError, RecursionError):
            raise BudgetError("JSON Path") from None
        except jsonpath_rfc9535.JSONPathError:
            return []

    return find


_NAMES = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_]*)*")
"""Names and nothing else, as most paths are: the library takes a quarter of a replay's start to
import."""


def _resolve(names: tuple[str, ...], value: object) -> list[Any]:
    for name in names:
        if not isinstance(value, dict) or name not in value:
            return []
        value = value[name]
    return [value]


def json_values(path: str, value: object) -> list[Any]:
    """What stands at the places that a JSON Path names. Raises `BudgetError`."""
    return json_path(path)(value)
