"""The values of the task language that are more than a number or a text: ids, addresses, who is
asked in which order. language.py has the objects that they stand in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Literal

from detectors.matchers.url import is_origin
from detectors.model.errors import SpecError
from detectors.model.json_objects import Key, ObjectType
from detectors.model.json_types import (
    JsonType,
    ListOf,
    MapOf,
    Parsed,
    Short,
    checked_type,
    choice,
    names,
    number,
    text,
    whole,
)
from detectors.model.json_value import is_number
from detectors.model.types import Json
from detectors.model.validation import Path, TaskReader
from detectors.sdk.arguments import ID_REF

COMPONENTS = ("nav", "ui", "form", "file", "goal", "tool", "ax", "answer")
DEFAULT_WEIGHTS: Mapping[str, float] = {
    "nav": 0.1,
    "ui": 0.2,
    "form": 0.2,
    "file": 0.3,
    "goal": 0.2,
}
MAX_MILESTONES = 2_000
MAX_ID = 512
MAX_VERSION = 256
"""Characters of a task's or a milestone's id, and of a task's version."""
MAX_PROBES = 32
MAX_BUDGET_MS = 5000
MAX_CHARACTERS = 10_000
MAX_CALLS = 1_000_000_000
MAX_TOOL_CALLS = 64

Decisive = Literal["positive", "negative", "both", "none"]
"""In which direction a rule's word is proof: ``positive``: that it is met, ``negative``: that it is
not."""
DECISIVE: tuple[Decisive, ...] = ("positive", "negative", "both", "none")
REASONS = ("unscored", "goal", "low_confidence", "cause")
TIERS = ("model", "judge")
SCOPES = ("episode", "task", "tenant", "day")
MOMENTS = ("start", "step", "close")
Credit = Literal["progress", "level"]
CREDITS: tuple[Credit, ...] = ("progress", "level")
ON_MISMATCH: tuple[Literal["report", "refuse"], ...] = ("report", "refuse")
BASELINES: tuple[Literal["never", "transition"], ...] = ("never", "transition")
CREDIT_TO: tuple[Literal["occurrence", "cause"], ...] = ("occurrence", "cause")
ROUTES: tuple[Literal["cascade", "blend"], ...] = ("cascade", "blend")

_ID_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}(?:/[A-Za-z0-9_.\-]{1,64})*"
_ID_EXPECTED = f"letters, digits, - _ . and /, at most 64 a part, at most {MAX_ID} in all"
ID = text(_ID_EXPECTED, pattern=_ID_PATTERN, max_length=MAX_ID, ref="id")
MILESTONE = text("another milestone's id", pattern=_ID_PATTERN, max_length=MAX_ID, ref="id")
MILESTONES = names("a list of milestone ids", ID_REF)
PROBE_ID = text(
    "letters, digits, - _ and ., at most 64", pattern=r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,63}"
)
SHORT_TEXT = text(f"a text of at most {MAX_CHARACTERS} characters", max_length=MAX_CHARACTERS)
VERSION = text(
    f'a text such as "1" (quote it), of at most {MAX_VERSION} characters',
    max_length=MAX_VERSION,
    is_valid=lambda version: "\0" not in version,
)
_OBJECTIVE_PATTERN = r"[a-z][a-z0-9_]{0,31}"
COMPONENT: JsonType[str] = checked_type(
    lambda value: value in COMPONENTS or is_objective_name(value),
    f"one of {', '.join(COMPONENTS)}, or the name of an objective",
    {
        "anyOf": [
            {"enum": list(COMPONENTS)},
            {"type": "string", "pattern": f"^{_OBJECTIVE_PATTERN}$"},
        ]
    },
    str,
)
OBJECTIVES = MapOf(
    number(above=0), "an object of names (lower case letters, digits and _, at most 32) and numbers"
)
MAX_OBJECTIVES = 32


def is_objective_name(name: Json) -> bool:
    """Whether an objective may be called so: no component is."""
    is_name = isinstance(name, str) and re.fullmatch(_OBJECTIVE_PATTERN, name) is not None
    return is_name and name not in COMPONENTS


POSITIVE = number(above=0)
NOT_NEGATIVE = number(0)
MILLISECONDS = whole(0, 60_000, noun="milliseconds, a whole number")
_ORIGIN_TEXT = text("an origin such as https://shop.example")


def _parse_origin(reader: TaskReader, value: Json, path: Path) -> str:
    origin = _ORIGIN_TEXT.read(reader, value, path)
    if not is_origin(origin):
        reader.note_new(path, value, ORIGIN.expected)
    return origin


ORIGIN = Parsed(
    "an origin as addresses of its pages begin, scheme://host or scheme://host:port, such as"
    " https://shop.example",
    _parse_origin,
    _ORIGIN_TEXT.schema,
)
ORIGINS = ListOf(ORIGIN, "a list of origins such as https://cdn.example")
Points = tuple[tuple[float, float], ...]
"""A piecewise-linear function: (label, value), the labels rising."""
MAX_POINTS = 32
MAX_LABEL = 1e15


def _is_points(value: Json) -> bool:
    if not isinstance(value, list | tuple) or not 1 < len(value) <= MAX_POINTS:
        return False
    for point in value:
        if not isinstance(point, list | tuple) or len(point) != 2:
            return False
        if not all(is_number(one) and abs(one) < MAX_LABEL for one in point):
            return False
    labels = [point[0] for point in value]
    return all(left < right for left, right in pairwise(labels))


POINTS: JsonType[Points] = checked_type(
    _is_points,
    f"a list of 2 to {MAX_POINTS} points [label, value], the labels rising",
    {
        "type": "array",
        "minItems": 2,
        "maxItems": MAX_POINTS,
        "items": {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 2,
            "maxItems": 2,
        },
    },
    lambda value: tuple((float(x), float(y)) for x, y in value),
    lambda points: [list(point) for point in points],
)
SCHEDULED = MapOf(POINTS, "an object of places such as weights.goal and their points")
START_NAMES = ListOf(SHORT_TEXT, "a list of at most 100 texts", maximum=100)
"""Facts of how an episode begins, by their names (docs/blame.md)."""
FIT = "fit"
"""The word for weights that fit the components in which a task's milestones pay."""
COMPONENT_WEIGHTS: JsonType[Mapping[str, float]] = Short(
    choice((FIT,), FIT),
    lambda _: {},
    MapOf(
        NOT_NEGATIVE,
        "an object of components and numbers",
        names=COMPONENTS,
        base=DEFAULT_WEIGHTS,
    ),
)
_CREDIT = choice(CREDITS, "progress or level")
COMPONENT_CREDIT: JsonType[Mapping[str, Credit]] = Short(
    _CREDIT,
    lambda credit: dict.fromkeys(COMPONENTS, credit),
    MapOf(_CREDIT, "an object of components and one of these", names=COMPONENTS),
)
COMPONENT_NAMES = names(
    "a list of components with milestones", {"enum": list(COMPONENTS)}, minimum=1
)


def _reasons(value: Json) -> tuple[str, ...]:
    listed = [] if value == "never" else [value] if isinstance(value, str) else value
    return tuple(reason for reason in REASONS if reason in listed)


def _are_reasons(value: Json) -> bool:
    return value in ("never", *REASONS) or (
        isinstance(value, list) and all(reason in REASONS for reason in value)
    )


def _are_tiers(value: Json) -> bool:
    if not isinstance(value, list) or not value or not all(tier in TIERS for tier in value):
        return False
    return len(set(value)) == len(value)


def _list_of_choices(values: tuple[str, ...]) -> dict[str, Json]:
    return {"type": "array", "items": {"enum": list(values)}}


ESCALATE = checked_type(
    _are_reasons,
    f"never, or a list of {', '.join(REASONS)}",
    {"anyOf": [{"enum": [*REASONS, "never"]}, _list_of_choices(REASONS)]},
    _reasons,
    lambda reasons: list(reasons) or "never",
)
TIER_ORDER = checked_type(
    _are_tiers,
    "a list of model, judge: at least one, each once, in the order in which they are asked",
    {**_list_of_choices(TIERS), "minItems": 1, "uniqueItems": True},
    tuple,
    list,
)
TIER_WEIGHTS = MapOf(
    NOT_NEGATIVE,
    "an object with rule, model, judge and numbers from 0",
    names=("rule", *TIERS),
    base=dict.fromkeys(("rule", *TIERS), 0.0),
)


def _parse_address(reader: TaskReader, value: Json, path: Path) -> str:
    address = SHORT_TEXT.read(reader, value, path)
    is_below_origin = reader.origin is not None and address.startswith("/")
    if not is_below_origin and not address.startswith(("http://", "https://")):
        raise SpecError(path, value, ADDRESS.expected)
    return address


def _is_relative(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/")


def _is_command(value: Json) -> bool:
    if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
        return False
    return bool(value and value[0]) and sum(map(len, value)) <= MAX_CHARACTERS


def _moments(value: Json) -> tuple[str, ...]:
    """The moments that are named, and the start: without that answer nobody could tell what was so
    already."""
    return tuple(moment for moment in MOMENTS if moment in ("start", *value))


ADDRESS = Parsed(
    "an address that begins with http:// or https://, or a path that begins with / and an origin in"
    " the task",
    _parse_address,
    SHORT_TEXT.schema,
)
FOLDER_PATH = text(
    "a path relative to the watched folder, without ..",
    max_length=MAX_CHARACTERS,
    is_valid=_is_relative,
)
COMMAND = checked_type(
    _is_command,
    "a program and its arguments, a list of texts",
    {"type": "array", "minItems": 1, "items": {"type": "string"}},
    tuple,
    list,
)
PROBE_MOMENTS = checked_type(
    lambda value: (
        isinstance(value, list) and bool(value) and all(moment in MOMENTS for moment in value)
    ),
    f"a list of {', '.join(MOMENTS)}",
    {**_list_of_choices(MOMENTS), "minItems": 1},
    _moments,
    list,
)
ANSWER_FORM = choice(("text", "json"), "text or json")


PAY_RANGES: Mapping[str, Mapping[str, tuple[float, float]]] = {
    "when": {"right": (0.5, 1.5), "no_call": (0.3, 1.0), "wrong": (-0.2, -0.2)},
    "which": {"right": (0.5, 2.0), "wrong": (-0.7, -0.3)},
    "syntax": {"right": (0.3, 1.0), "other": (0.3, 1.0), "wrong": (-1.0, -1.0)},
    "execution": {"right": (0.5, 1.0), "wrong": (-2.0, -1.0)},
    "arguments": {"right": (0.5, 2.0), "wrong": (-1.5, -0.5)},
    "final": {"right": (8.0, 15.0), "wrong": (-1.0, -0.3)},
}
"""What the literature pays for tool calls, lowest and highest; beyond it only with ``free``."""
_FACETS: Mapping[str, str] = {
    "when": "A call where one is needed, an answer without one where none is.",
    "which": "Each expected tool, and each other.",
    "syntax": "A call that conforms to its tool's schema; `other`: of a tool that is not expected.",
    "execution": "An expected tool that returned without an error.",
    "arguments": "The arguments of an expected call.",
    "final": "The goal, once.",
}
DEFAULT_PAY: Mapping[str, Mapping[str, float]] = {
    "when": {"right": 1.0, "no_call": 1.0, "wrong": -0.2},
    "which": {"right": 1.5, "wrong": -0.5},
    "syntax": {"right": 1.0, "other": 0.5, "wrong": -1.0},
    "execution": {"right": 1.0, "wrong": -1.0},
    "arguments": {"right": 1.0, "wrong": -0.5},
    "final": {"right": 10.0, "wrong": -0.5},
}


def _facet_type(facet: str) -> ObjectType[dict[str, float]]:
    """What one facet of a tool call pays: rewards above 0, penalties below."""
    sides = tuple(
        Key(
            side,
            number(above=0) if high > 0 else number(below=0),
            f"{low:g} to {high:g} in the literature.",
            attribute=side,
            default=DEFAULT_PAY[facet][side],
        )
        for side, (low, high) in PAY_RANGES[facet].items()
    )
    listed = ", ".join(PAY_RANGES[facet])
    return ObjectType(dict, sides, "", f"an object with {listed}")


TOOL_PAY: ObjectType[Mapping[str, Mapping[str, float]]] = ObjectType(
    dict,
    tuple(Key(facet, _facet_type(facet), doc, attribute=facet) for facet, doc in _FACETS.items()),
    "",
    f"an object with {', '.join(PAY_RANGES)}",
)
