"""The type of a kind's data is its declaration: what real programs were recorded to do fits it."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import orjson
import pytest

from detectors.model.kinds import KINDS
from detectors.model.kinds.page import ElementClicked
from detectors.model.kinds.shapes import shape_at

ROOT = Path(__file__).parents[2]


def misfits(value: Any, hint: Any, where: str) -> list[str]:
    """What of ``value`` is not of the type, each with its place."""
    parts, origin = get_args(hint), get_origin(hint)
    if is_typeddict(hint):
        return misfits_of(value, hint, where)
    if origin is types.UnionType:
        found = [misfits(value, part, where) for part in parts]
        return [] if [] in found else found[0]
    if origin is list and isinstance(value, list):
        places = ((item, f"{where}.{n}") for n, item in enumerate(value))
        return [one for item, place in places for one in misfits(item, parts[0], place)]
    if origin is dict and isinstance(value, dict):
        values = ((item, f"{where}.{key}") for key, item in value.items())
        return [one for item, place in values for one in misfits(item, parts[1], place)]
    if origin is Literal and value in parts:
        return []
    if hint is Any or (hint is type(None) and value is None):
        return []
    wanted = (int, float) if hint is float else hint if origin is None else ()
    right = isinstance(value, wanted) and not (hint is int and isinstance(value, bool))
    return [] if right else [f"{where}: expected {hint}, got {value!r}"]


def misfits_of(data: Any, payload: Any, where: str) -> list[str]:
    """The same of an object: fields that are missing or that the type lacks, and values."""
    if not isinstance(data, dict):
        return [f"{where}: expected an object, got {data!r}"]
    hints = get_type_hints(payload, include_extras=True)
    found = [f"{where}.{name}: not of {payload.__name__}" for name in sorted(data.keys() - hints)]
    for name, hint in hints.items():
        optional = get_origin(hint) is NotRequired
        if name in data:
            found += misfits(data[name], get_args(hint)[0] if optional else hint, f"{where}.{name}")
        elif not optional:
            found.append(f"{where}: no {name}")
    return found


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests").rglob("golden/*.seen.jsonl")), ids=lambda path: path.stem
)
def test_recorded_observations_are_of_their_kinds_types(path: Path) -> None:
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        kind, data = orjson.loads(line)
        assert misfits_of(data, KINDS[kind].payload, kind) == [], f"{path.name}:{number}"


CLICK = {
    "tab": "T",
    "frame": "T",
    "element": {"role": "button", "name": "Go", "tag": "button"},
    "trusted": True,
}
NONE: dict[str, tuple[dict[str, Any], str]] = {
    "a field too many": ({**CLICK, "x": 1}, "click.x: not of ElementClicked"),
    "one missing": ({name: CLICK[name] for name in CLICK if name != "trusted"}, "click: no trusted"),
    "a number for a text": ({**CLICK, "tab": 1}, "click.tab: expected <class 'str'>, got 1"),
    "in a part": ({**CLICK, "element": {"role": "b", "name": "n"}}, "click.element: no tag"),
}  # fmt: skip


@pytest.mark.parametrize(("data", "said"), NONE.values(), ids=NONE)
def test_what_is_not_of_the_type_is_found(data: dict[str, Any], said: str) -> None:
    assert misfits_of(CLICK, ElementClicked, "click") == []
    assert misfits_of(data, ElementClicked, "click") == [said]


def test_a_kind_is_what_its_payload_says() -> None:
    """Names that Python keeps for itself too; what may be missing; the sentence for people; shapes."""
    clicked = KINDS["element.clicked"]
    assert (clicked.source, clicked.asked, clicked.payload) == ("cdp", False, ElementClicked)
    assert clicked.fields == (
        "tab",
        "frame",
        "element",
        "trusted",
        "masked?",
        "around?",
        "class?",
        "color?",
        "point?",
        "box?",
        "selectors?",
        "unread?",
    )
    assert clicked.says.startswith("A click. `trusted` is false when page script made it.")
    assert "\n" not in clicked.says
    assert KINDS["page.parsed"].asked
    assert {"from", "sha256"} < set(KINDS["file.moved"].fields)
    assert isinstance(shape_at("request.finished", ("hops", "0", "response", "headers")), dict)
    with pytest.raises(LookupError, match="element has no color"):
        shape_at("element.clicked", ("element", "color"))
