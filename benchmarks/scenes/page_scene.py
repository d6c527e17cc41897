"""What an episode on a page of this project is made of: a task, what the page begins with, and ways
through it. What a page sends to its server is the truth: an episode succeeded if the last state that
was sent is the one that the task asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

State = dict[str, Any]
GUESTS = ("Nora Field", "Otto Brandt", "Pia Moreau", "Quentin Ash", "Rosa Lind", "Sam Okoro")
TOPICS = (
    "login page",
    "invoice",
    "newsletter",
    "search box",
    "price list",
    "backup",
    "welcome mail",
)
PLACES = ("Bergen", "Lyon", "Gdansk", "Malaga", "Ghent", "Split")
SONGS = ("Blue Harbour", "Paper Moon", "Northern Rain", "Old Mill", "Silver Lane", "Wild Thyme")
GOODS = ("Honey", "Oat milk", "Rye bread", "Lentils", "Olive oil", "Pears")
SETTINGS = ("Large text", "Quiet hours", "Weekly digest", "Read receipts", "Auto update")
THINGS = ("harbour", "bridge", "evening", "snow", "market", "lighthouse", "ferry")
SAYINGS = (
    "The path by the pond was closed", "Please open earlier on Sundays", "The guide was very kind",
    "We could not find the exit", "More benches would be nice", "The map at the gate is old",
)  # fmt: skip


class PageAct(NamedTuple):
    """One step: what is done, to which element (a Playwright selector), with which text.

    ``verb`` is click, fill, choose (an option of a list), or press (a key).
    """

    verb: str
    target: str
    text: str = ""


Way = tuple[PageAct, ...]
Steps = dict[str, Mapping[str, Any]]
"""Conditions of what is right on the way, by their names."""


@dataclass(frozen=True)
class PageScene:
    """One task on one page. ``data``: what the page begins with; ``wanted``: the state that must
    have been sent last; ``ways``: the right ones begin with ``right``; ``steps``: a condition of
    each deed that the task needs, by its name."""

    page: str
    instruction: str
    data: Any
    wanted: State
    ways: Mapping[str, Way]
    steps: Mapping[str, Mapping[str, Any]]

    def task(self, group: str, origin: str, seed: int) -> dict[str, Any]:
        """The task of a group (`scenes/booking`), whose goal is that the last state that the server took
        is as wanted."""
        facts = [{"path": f"$['{name}']", "value": value} for name, value in self.wanted.items()]
        accepted = {"url": "/state", "method": "POST", "facts": facts, "whole": True}
        goal = {"goal": {"when": {"state_accepted": accepted}}}
        steps = [{"id": id, "component": "ui", "when": when} for id, when in self.steps.items()]
        return {
            "id": group,
            "version": str(seed),
            "instruction": self.instruction,
            "origin": origin,
            "weights": {"ui": 0.4, "goal": 0.6},
            "milestones": [*steps, {"id": "done", "must_hold_at_end": True, "when": goal}],
        }


def click(name: str, role: str = "button") -> PageAct:
    """A click on what has this role and name."""
    return PageAct("click", f'role={role}[name="{name}"]')


def fill(label: str, text: str) -> PageAct:
    """A field, by its label, is filled."""
    return PageAct("fill", f'label:has-text("{label}") >> input,textarea', text)


def choose(label: str, option: str) -> PageAct:
    """An option of a list is chosen, by the list's label."""
    return PageAct("choose", f'label:has-text("{label}") >> select', option)


def clicked(name: str, role: str = "button") -> dict[str, Any]:
    """The condition that what has this role and name was clicked."""
    return {"element_clicked": {"role": role, "name": name}}


def filled(label: str, value: str) -> dict[str, Any]:
    """The condition that the field of this label holds the value; of a list, that it is chosen."""
    return {"field_filled": {"field": label, "value": value, "trusted": False}}


def tap(target: str) -> PageAct:
    """A click on what a selector finds."""
    return PageAct("click", target)


def write(target: str, text: str) -> PageAct:
    """What a selector finds gets a text."""
    return PageAct("fill", target, text)


def press(target: str, key: str) -> PageAct:
    """A key is pressed on what a selector finds."""
    return PageAct("press", target, key)


def state_has(name: str, value: object) -> Mapping[str, Any]:
    """The condition that the last state that the server took has this value under a name."""
    facts = [{"path": f"$['{name}']", "value": value}]
    return {"state_accepted": {"url": "/state", "method": "POST", "facts": facts}}
