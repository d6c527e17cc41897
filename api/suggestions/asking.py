"""What a task asks of the daemon so that a log holds all that conditions can be suggested for:
texts of pages, what a clicked element stands in, bodies of requests, states of elements (pure)."""

from __future__ import annotations

from collections.abc import Mapping

from detectors.model.json_value import JsonObject, JsonValue
from detectors.model.safe_json import as_list, mapping
from detectors.task.value_types import COMPONENTS, DEFAULT_WEIGHTS

_ANY: JsonObject = {"regex": "(?s).+"}
STATE_ATTRIBUTES = (
    *("aria-checked", "aria-current", "aria-expanded", "aria-hidden", "aria-pressed"),
    *("aria-selected", "disabled", "hidden", "open"),
)
"""Attributes that show an element's state."""
_ASKING: Mapping[str, JsonObject] = {
    "texts": {"text_visible": {"text": _ANY, "anywhere": True}},
    "around": {"observed": {"kind": "element.clicked", "where": {"around": _ANY}}},
    "fields": {"field_filled": {"around": _ANY, "value": _ANY, "anywhere": True}},
    "points": {"pointed_at": {"box": [0, 0, 1, 1], "anywhere": True}},
    "bodies": {"observed": {"kind": "request.finished", "where": {"body.text": _ANY}}},
    "shown": {"text_visible": {"text": _ANY, "anywhere": True, "now": True}},
    "elements": {"element_state": {"name": _ANY, "anywhere": True}},
    "states": {
        "observed": {
            "kind": "attribute.changed",
            "where": {"attribute": {"one_of": list(STATE_ATTRIBUTES)}},
        }
    },
}
PREFIX = "watched/"
"""What the ids of these milestones begin with."""


def task_that_asks(spec: Mapping[str, JsonValue] | None, origin: str | None) -> JsonObject:
    """Return a task that asks for all of it: ``spec``, with milestones of a component that is worth
    nothing; without one, a task of these alone, of the site ``origin``.

    Raises `StopIteration` where a task uses every component."""
    given: Mapping[str, JsonValue] = spec or {
        "id": "watched",
        "version": "1",
        "instruction": "What you do.",
        "milestones": [],
        **({"origin": origin} if origin else {}),
    }
    used = {mapping(one).get("component") for one in as_list(given.get("milestones"))}
    spare = next(name for name in reversed(COMPONENTS) if name not in used)
    added: list[JsonValue] = [
        {"id": f"{PREFIX}{name}", "component": spare, "when": when}
        for name, when in _ASKING.items()
    ]
    weights = {**mapping(given.get("weights") or DEFAULT_WEIGHTS), spare: 0}
    return {**given, "weights": weights, "milestones": [*as_list(given.get("milestones")), *added]}
