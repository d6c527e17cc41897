"""The conditions of a task file that these pages need, by short names."""

from __future__ import annotations

from collections.abc import Iterable

from detectors.model.json_value import JsonObject, JsonValue

Condition = JsonObject

SUBMIT: Condition = {"element_clicked": {"id": "subbtn"}}


def click_condition(**matchers: JsonValue) -> Condition:
    """An element with this role, name, text, id or tag was clicked."""
    return {"element_clicked": matchers}


def clicked_at(path: JsonValue) -> Condition:
    """A nameless element was clicked, told by where it stands."""
    return {"observed": {"kind": "element.clicked", "where": {"element.path": path}}}


def fill_condition(field: str, value: JsonValue) -> Condition:
    """The field of that key holds the value."""
    return {"field_filled": {"field": field, "value": value}}


def check_condition(field: str) -> Condition:
    """The box or radio is checked."""
    return {"field_filled": {"field": field, "checked": True}}


def any_of(parts: Iterable[Condition]) -> Condition:
    """At least one of the conditions is fulfilled."""
    parts = list(parts)
    return parts[0] if len(parts) == 1 else {"any_of": {"of": parts}}


def together(*parts: Condition) -> Condition:
    """All of the conditions hold at the same time."""
    return parts[0] if len(parts) == 1 else {"all_of": {"of": list(parts), "holding": True}}


def none(*parts: Condition) -> Condition:
    """None of the conditions holds at the moment."""
    return {"none_of": {"of": list(parts)}}


def then(*parts: Condition) -> Condition:
    """One after the other, the earlier ones still true when the later come."""
    return {"sequence": {"of": list(parts), "holding": True}}


def first(press: Condition, condition: Condition) -> Condition:
    """The condition, and the press came once: a page takes the first one, whatever follows. The
    count stands before the condition, so that of one event it is told first."""
    once: Condition = {"count": {"at_least": 1, "at_most": 1, "distinct": False, "of": [press]}}
    return together(once, condition)
