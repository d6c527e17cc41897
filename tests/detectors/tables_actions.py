"""Tables of yes and of no for the actions that steps begin with; each is the first step's."""

from __future__ import annotations

from typing import Any

from tests.support.logs import Said, clicked

CLICK = {"type": "click", "at": [3, 4]}
SCHEMA = {
    "type": "object",
    "required": ["type", "at"],
    "properties": {"type": {"enum": ["click"]}, "at": {"type": "array", "maxItems": 2}},
}


def acted(action: Any, step: int = 1) -> Said:
    return ("step.began", {"step": step, "action": action})


YES: dict[str, list[tuple[Any, list[Said], float]]] = {
    "action_matches": [
        ({"schema": SCHEMA}, [acted(CLICK)], 1),
        ({"facts": {"type": "click", "at.0": {"max": 3}}}, [acted(CLICK)], 1),
        ({"text": {"starts_with": "click("}}, [acted("click(3, 4)")], 1),
        ({"schema": SCHEMA, "wrong": True}, [acted("click at the button")], 1),
        ({"schema": SCHEMA, "facts": {"type": "click"}}, [acted("?"), acted(CLICK, 2)], 1),
    ]
}
NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "action_matches": [
        ({"schema": SCHEMA}, [acted({"type": "click", "at": [1, 2, 3]})]),
        ({"schema": SCHEMA}, [acted("click")]),
        ({"schema": SCHEMA, "wrong": True}, [acted(CLICK)]),
        ({"schema": SCHEMA, "wrong": True}, [acted(None)]),
        ({"text": "click"}, [acted(None)]),
        ({"text": "click"}, [clicked("click")]),
    ]
}
