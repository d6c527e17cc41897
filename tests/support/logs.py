"""Logs in few words: tests say what happened, this numbers it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from detectors.engine.engine import Engine
from detectors.model.kinds import KINDS, catalogue_fields
from detectors.model.types import Event, Reward
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json

ORIGIN = "http://shop.test"
Said = tuple[str, dict[str, Any]]


def log(*said: Said, episode: str = "ep_1", first: int = 1) -> list[Event]:
    """Number what was said: (kind, data) pairs become events a millisecond apart."""
    return [
        Event(episode, seq, KINDS[kind].source, kind, seq * 1_000_000, data)
        for seq, (kind, data) in enumerate(said, first)
    ]


def ruleset(*milestones: dict[str, Any], **top: Any) -> Ruleset:
    """A compiled task of these milestones."""
    spec = {
        "id": "t",
        "version": "1",
        "instruction": "Do it.",
        "origin": ORIGIN,
        "milestones": list(milestones),
    }
    return compile_task(task_from_json({**spec, **top}))


def run(rules: Ruleset, *said: Said) -> list[Reward]:
    """Every reward of one log fed at once."""
    return Engine(rules, "ep_1").feed(log(*said)).rewards


def resumed(rules: Ruleset, *said: Said) -> list[Reward]:
    """The same by an engine that is stored and loaded again after every event."""
    engine, rewards = Engine(rules, "ep_1"), []
    for event in log(*said):
        rewards += engine.feed([event]).rewards
        engine = Engine.load(rules, engine.dump())
    return rewards


def episode(*steps: Sequence[Said], before: Iterable[Said] = (), close: bool = True) -> list[Said]:
    """Said things as an episode: what was before, then one step after another, then the end."""
    opened = {"task": "t", "digest": "d", **catalogue_fields()}
    out: list[Said] = [("episode.opened", opened), *before]
    for n, step in enumerate(steps):
        out += [began(n), *step]
    return [*out, ("episode.closed", {"reason": "done"})] if close else out


def began(step: int) -> Said:
    """The harness begins a step."""
    return ("step.began", {"step": step, "action": None})


def sealed(step: int) -> Said:
    """The journal says that the step is complete."""
    return ("step.sealed", {"step": step, "reason": "quiet"})


def went(path: str, tab: str = "T", **more: Any) -> Said:
    """A tab's main frame commits an address."""
    url = path if "://" in path else ORIGIN + path
    return (
        "page.navigated",
        {"tab": tab, "frame": tab, "main": True, "url": url, "same_document": False, **more},
    )


def loaded(path: str, tab: str = "T", **more: Any) -> Said:
    """The load event of a tab's main frame."""
    url = path if "://" in path else ORIGIN + path
    return ("page.loaded", {"tab": tab, "frame": tab, "main": True, "url": url, **more})


def titled(title: str, tab: str = "T", **more: Any) -> Said:
    """A tab gets a title."""
    return ("page.title_changed", {"tab": tab, "title": title, "url": ORIGIN + "/", **more})


def clicked(
    name: str,
    role: str = "button",
    trusted: bool = True,
    tab: str = "T",
    around: str | None = None,
    **element: Any,
) -> Said:
    """A click; ``around``: what the element stands in, where that is told."""
    data: dict[str, Any] = {
        "tab": tab,
        "frame": tab,
        "element": {"role": role, "name": name, "tag": "button", **element},
    }
    data |= {} if around is None else {"around": around}
    return ("element.clicked", {**data, "trusted": trusted})


def filled(name: str, value: Any = None, tab: str = "T", **more: Any) -> Said:
    """A field comes to hold a value; ``checked=`` for boxes."""
    element = {"role": "textbox", "name": name, "tag": "input", "attr_name": name.lower()}
    data = {
        "tab": tab,
        "frame": tab,
        "field": f"#{name}",
        "element": element,
        "value": value,
        "trusted": True,
    }
    return ("field.filled", {**data, **more})


def finished(method: str, path: str, status: int, **more: Any) -> Said:
    """A request is answered, whole."""
    data = {
        "tab": "T",
        "frame": "T",
        "request": "r1",
        "type": "Document",
        "method": method,
        "status": status,
    }
    return ("request.finished", {**data, "url": ORIGIN + path, **more})


def created(name: str, kind: str = "file.created", **more: Any) -> Said:
    """A file event, settled."""
    data = {
        "root": "downloads",
        "path": name,
        "name": name.rpartition("/")[2],
        "size": 10,
        "sha256": "ab" * 32,
    }
    return (kind, {**data, **more})


def answered(text: str) -> Said:
    """The agent's final answer."""
    return ("agent.answered", {"text": text})


def worth(rewards: Iterable[Reward]) -> list[float | None]:
    """The rewards' values, step by step."""
    return [reward.reward for reward in rewards]
