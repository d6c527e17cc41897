"""What was set on the elements of a page that are no fields of a form: a switch that is on, a
button that is pressed.

Pure. A native box is a field, and `field.filled` says how it was set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from api.suggestions.event_values import short_text
from detectors.model.json_value import JsonObject
from detectors.model.safe_json import mapping
from detectors.model.types import Event

_SET = ("checked", "pressed")
"""States that a hand sets: others (expanded, selected, visible) follow from much else."""
_NAMELESS_ROLES = frozenset(("", "generic"))


class SetState(NamedTuple):
    """A state that an element has at the end of a log and did not have at its start. ``element``:
    how a condition names the element; ``label``: how a person would; ``event``: the number of the
    event that set it."""

    element: Mapping[str, str]
    label: str
    state: str
    value: bool
    event: int


def name_element(element: JsonObject) -> dict[str, str]:
    """Return the arguments that name an element: its role and name, or its id, or else its path,
    with its role; empty where it has none of them."""
    facts = {key: short_text(element.get(key)) for key in ("role", "name", "id", "path")}
    if facts["role"] and facts["name"]:
        return {"role": facts["role"], "name": facts["name"]}
    if facts["id"]:
        return {"id": facts["id"]}
    if not facts["path"]:
        return {}
    role = {} if facts["role"] in _NAMELESS_ROLES else {"role": facts["role"]}
    return {**role, "path": facts["path"]}


def list_set_states(log: Sequence[Event]) -> list[SetState]:
    """List the states that were set after the first step began, and stand so at the end."""
    first: dict[tuple[str, ...], bool] = {}
    last: dict[tuple[str, ...], SetState] = {}
    labels = _list_surroundings(log)
    repeated = list_repeated(log)
    began = False
    for event in log:
        began = began or event.kind == "step.began"
        if event.kind != "element.state_changed":
            continue
        for one in _read_states(event, labels):
            named = tuple(one.element.values())
            if named in repeated:
                continue
            first.setdefault((*named, one.state), one.value)
            if began:
                last[*named, one.state] = one
    return [
        one
        for key, one in last.items()
        if one.value is not first[key] and (one.value or one.element.get("role") != "radio")
    ]


def _read_states(event: Event, labels: Mapping[str, str]) -> Iterator[SetState]:
    """Yield the states that an event tells of an element that is no native field."""
    element = mapping(event.data.get("element"))
    facts = name_element(element)
    if not facts or element.get("tag") == "input":
        return
    for state in _SET:
        value = event.data.get(state)
        if isinstance(value, bool):
            yield SetState(facts, _label(facts, labels), state, value, event.seq)


def list_repeated(log: Sequence[Event]) -> frozenset[tuple[str, ...]]:
    """List the roles and names that several elements of a page have at once, as the stars of each
    picture of a gallery do: a condition on one of them is met by any."""
    standing: dict[tuple[object, ...], set[str]] = {}
    repeated: set[tuple[str, ...]] = set()
    for event in log:
        data = event.data
        if event.kind == "page.navigated" and not data.get("same_document"):
            standing.clear()
        facts = name_element(mapping(data.get("element")))
        if event.kind != "element.state_changed" or "name" not in facts:
            continue
        named = tuple(facts.values())
        place = (str(data.get("tab")), str(data.get("frame")), named)
        keys, key = standing.setdefault(place, set()), str(data.get("key"))
        keys.discard(key)
        if data.get("visible"):
            keys.add(key)
        if len(keys) > 1:
            repeated.add(named)
    return frozenset(repeated)


def _list_surroundings(log: Sequence[Event]) -> dict[str, str]:
    """Return what clicked elements without a name stand in, by their path."""
    found: dict[str, str] = {}
    for event in log:
        path = short_text(mapping(event.data.get("element")).get("path"))
        around = short_text(event.data.get("around"))
        if event.kind == "element.clicked" and path and around:
            found.setdefault(path, around)
    return found


def _label(facts: Mapping[str, str], surroundings: Mapping[str, str]) -> str:
    """Return the name of an element, or what it stands in, or else its id or path."""
    path = facts.get("path", "")
    return facts.get("name") or facts.get("id") or surroundings.get(path) or path
