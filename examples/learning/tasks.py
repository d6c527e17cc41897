"""The same job as three tasks: paid for the goal alone, for milestones, and for the goal with a
potential over them; and for milestones that were found in recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

PLACES = ("shop", "lamps", "desk-lamp", "cart", "checkout", "paid")
"""Where the page can be, the first one at the start and the last one at the goal."""
GAMMA = 0.9
"""The agent's discount, which a potential must share for the best policy to stay the best."""
KINDS = ("sparse", "milestones", "mined", "potential")
INSTRUCTION = "Buy the desk lamp."
MINED = Path(__file__).parent / "mined.yaml"
"""What `examples.learning.mine` writes."""
SETTINGS = {"quiet_ms": 0, "settle_ms": 500}


def task(kind: str, origin: str) -> dict[str, Any]:
    """The task of one of `KINDS` on a page that is served at ``origin``."""
    if kind == "mined":
        return {**_read_mined(), "id": f"learning/{kind}", "origin": origin, "settings": SETTINGS}
    reached = [
        {"id": place, "component": "nav", "when": {"url_reached": _make_address(place)}}
        for place in PLACES[1:]
    ]
    bought = {"id": "bought", "when": {"goal": {"requires": [PLACES[-1]]}}}
    alone = {"id": "bought", "when": {"goal": {"when": {"url_reached": _make_address(PLACES[-1])}}}}
    rules: dict[str, dict[str, Any]] = {
        "sparse": {"weights": {"goal": 1.0}, "milestones": [alone]},
        "milestones": {"weights": {"nav": 0.8, "goal": 0.2}, "milestones": [*reached, bought]},
        "potential": {
            "weights": {"nav": 1.0, "goal": 1.0},
            "milestones": [*reached, bought],
            "shaping": {"potential": ["nav"], "gamma": GAMMA},
        },
    }
    return {
        "id": f"learning/{kind}",
        "version": "1",
        "instruction": INSTRUCTION,
        "origin": origin,
        "settings": SETTINGS,
        **rules[kind],
    }


def _make_address(place: str) -> dict[str, Any]:
    """Return the address of a place: the shop is one document, whose script puts it there."""
    return {"url": f"/{place}", "loaded": False}


def _read_mined() -> dict[str, Any]:
    """Return the proposal without its tests, which are of the recordings beside it."""
    import yaml  # the learner's environment, which plays and does not propose, has none

    proposal: dict[str, Any] = yaml.safe_load(MINED.read_text())
    del proposal["tests"]
    return proposal
