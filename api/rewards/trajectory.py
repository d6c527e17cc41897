"""An episode as (o, a, r, o') tuples: a pure function of its events and its sealed rewards.

The observation is what the log knows, kept small: tabs with address and title, how many fields are
filled, an open dialog, how many files there are. Whoever wants more has the events between
``first`` and ``last``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NotRequired, TypedDict

from api.rewards.siblings import SiblingCreditJson
from detectors.model.rewards import RewardJson
from detectors.model.types import Event


class TabJson(TypedDict):
    """A tab with what is known of it."""

    url: str | None
    title: str | None


class DialogJson(TypedDict):
    """An open dialog of a page."""

    type: str | None
    message: str | None


class ObservationJson(TypedDict):
    """What is known of the screen and the disk, as the wire has it."""

    tabs: dict[str, TabJson]
    filled_fields: int
    files: int
    dialog: DialogJson | None


class TransitionJson(TypedDict):
    """One step as the wire has it."""

    step: int
    action: object
    observation: ObservationJson
    next_observation: ObservationJson | None
    reward: RewardJson | None
    first: int
    last: int
    done: bool
    credit: NotRequired[float | None]
    siblings: NotRequired[SiblingCreditJson]


class _Observation:
    """What is known of the screen and the disk after the events so far."""

    def __init__(self) -> None:
        self._tabs: dict[str, TabJson] = {}
        self._filled: dict[tuple[str, str], str] = {}
        self._files: set[tuple[str, str]] = set()
        self._dialog: DialogJson | None = None

    def apply(self, event: Event) -> None:
        data = event.data
        tab = str(data.get("tab"))
        match event.kind:
            case "tab.opened":
                self._tabs.setdefault(tab, {"url": data.get("url"), "title": None})
            case "tab.closed":
                self._tabs.pop(tab, None)
                self._forget(lambda frame, of: of == tab)
            case "page.navigated":
                self._navigated(tab, str(data.get("frame")), data)
            case "page.title_changed":
                known = self._tabs.setdefault(tab, {"url": data.get("url"), "title": None})
                known["title"] = data.get("title")
            case "field.filled":
                self._field(tab, data)
            case "dialog.opened":
                self._dialog = {"type": data.get("type"), "message": data.get("message")}
            case "dialog.closed":
                self._dialog = None
            case "file.present" | "file.created" | "file.modified":
                self._files.add((str(data.get("root")), str(data.get("path"))))
            case "file.moved":
                self._files.discard((str(data.get("root")), str(data.get("from"))))
                self._files.add((str(data.get("root")), str(data.get("path"))))
            case "file.deleted":
                self._files.discard((str(data.get("root")), str(data.get("path"))))

    def _navigated(self, tab: str, frame: str, data: Mapping[str, Any]) -> None:
        if data.get("main"):
            known = self._tabs.setdefault(tab, {"url": None, "title": None})
            known["url"] = data.get("url")
        if not data.get("same_document"):
            is_main = bool(data.get("main"))
            self._forget(lambda of_frame, of_tab: of_frame == frame or (is_main and of_tab == tab))

    def _field(self, tab: str, data: Mapping[str, Any]) -> None:
        key = (str(data.get("frame")), str(data.get("field")))
        checked = data.get("checked")
        full = bool(checked) if checked is not None else data.get("value") not in ("", [])
        if full:
            self._filled[key] = tab
        else:
            self._filled.pop(key, None)

    def _forget(self, gone: Callable[[str, str], bool]) -> None:
        self._filled = {key: tab for key, tab in self._filled.items() if not gone(key[0], tab)}

    def summary(self) -> ObservationJson:
        """The observation as the wire has it."""
        return {
            "tabs": {tab: known.copy() for tab, known in self._tabs.items()},
            "filled_fields": len(self._filled),
            "files": len(self._files),
            "dialog": self._dialog,
        }


def transitions(
    events: Iterable[Event],
    rewards: Mapping[int, RewardJson],
    credit: Mapping[int, float | None] | None = None,
    siblings: Mapping[int, SiblingCreditJson] | None = None,
) -> list[TransitionJson]:
    """One transition a step, in order; ``reward`` and ``next_observation`` are null while a step is
    open.

    ``credit``: what a view credits to each step; the step's own reward where it is not given.
    ``siblings``: what the view `siblings` estimated each credit from.
    """
    observed = _Observation()
    steps: list[TransitionJson] = []
    open_step: TransitionJson | None = None
    for event in events:
        last_step = steps[-1]["step"] if steps else -1
        if open_step is not None:
            open_step["last"] = event.seq
            if _completes(event, open_step["step"]):
                open_step["next_observation"] = observed.summary()
                open_step = None
        if event.kind == "step.began" and (not steps or event.data["step"] > last_step):
            step, action = event.data["step"], event.data.get("action")
            open_step = _transition(step, action, observed.summary(), event.seq, rewards)
            steps.append(open_step)
        elif event.kind == "episode.closed" and last_step + 1 in rewards:
            closing = _transition(last_step + 1, None, observed.summary(), event.seq, rewards)
            closing["next_observation"] = observed.summary()
            steps.append(closing)
        observed.apply(event)
    _add_credits(steps, credit, siblings or {})
    return steps


def _add_credits(
    steps: Iterable[TransitionJson],
    credit: Mapping[int, float | None] | None,
    siblings: Mapping[int, SiblingCreditJson],
) -> None:
    for transition in steps:
        transition["credit"] = _credit_of(transition, credit)
        estimate = siblings.get(transition["step"])
        if estimate is not None:
            transition["siblings"] = estimate


def _credit_of(
    transition: TransitionJson, credit: Mapping[int, float | None] | None
) -> float | None:
    if credit is not None:
        return credit.get(transition["step"])
    reward = transition["reward"]
    return reward["reward"] if reward else None


def _completes(event: Event, step: int) -> bool:
    if event.kind == "step.began":
        return bool(event.data["step"] > step)
    return event.kind == "episode.closed" or (
        event.kind == "step.sealed" and event.data["step"] == step
    )


def _transition(
    step: int,
    action: object,
    observation: ObservationJson,
    first: int,
    rewards: Mapping[int, RewardJson],
) -> TransitionJson:
    reward = rewards.get(step)
    return {
        "step": step,
        "action": action,
        "observation": observation,
        "next_observation": None,
        "reward": reward,
        "first": first,
        "last": first,
        "done": bool(reward and reward["done"]),
    }
