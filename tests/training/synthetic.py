"""Recordings of a made-up agent that fills a form rightly or wrongly, written through our own
codec.

Too easy to say anything of a model's worth: it shows that the parts fit together.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import zstandard

from detectors.model.codec import GENESIS, encode_segment
from detectors.model.types import Event
from tests.support.logs import Said, began, clicked, filled, log, sealed

WORDS = (
    "amber basil cedar delta ember fjord grove hazel iris jade kelp lotus maple nectar onyx pearl"
    " quartz".split()
)
GROUPS = tuple(f"app-{n}" for n in range(6))


def text(*lines: str, baseline: bool = False) -> Said:
    """Text comes to be visible."""
    return (
        "text.appeared",
        {"tab": "T", "frame": "T", "text": "\n".join(lines), "baseline": baseline},
    )


def episode(wanted: str, *steps: Sequence[Said], name: str = "ep_1") -> list[Event]:
    """A log of these steps on a page with a field and a button."""
    button = {"role": "button", "name": "Submit", "tag": "button"}
    page = [
        (
            "page.navigated",
            _at(main=True, url="http://shop.test/", same_document=False, baseline=True),
        ),
        text(instruction(wanted), "Name", "Submit", baseline=True),
        ("element.appeared", _at(element=button, baseline=True)),
    ]
    said: list[Said] = [("episode.opened", {"task": "t", "digest": "d"}), *page]
    for number, step in enumerate(steps):
        said += [began(number), *step, ("step.ended", {"step": number}), sealed(number)]
    return log(*said, ("episode.closed", {"reason": "done"}), episode=name)


def _at(**data: object) -> dict[str, object]:
    return {"tab": "T", "frame": "T", **data}


def instruction(wanted: str) -> str:
    """What the agent is asked."""
    return f'Enter the name "{wanted}" and click Submit.'


def fill(value: str) -> list[Said]:
    """A step that fills the field."""
    return [filled("Name", value)]


def submit(*shown: str) -> list[Said]:
    """A step that presses the button, and what the page shows then."""
    return [clicked("Submit"), *([text(*shown)] if shown else [])]


def stray() -> list[Said]:
    """A step that clicks what does nothing."""
    return [clicked("", role="generic", tag="div")]


def task(wanted: str, group: str) -> dict[str, object]:
    """Its rules."""
    held = {"field_filled": {"field": "Name", "value": wanted}}
    pressed = {"element_clicked": {"role": "button", "name": "Submit"}}
    goal = {"sequence": {"of": [held, pressed], "holding": True}}
    milestones = [{"id": "held", "when": held}, {"id": "done", "when": {"goal": {"when": goal}}}]
    return {
        "id": group,
        "version": "1",
        "instruction": instruction(wanted),
        "milestones": milestones,
    }


def write(path: Path, events: Sequence[Event]) -> None:
    """One recording."""
    path.write_bytes(zstandard.ZstdCompressor().compress(encode_segment(events, GENESIS)))


def corpus(folder: Path, each: int = 12) -> Path:
    """An index of ``each`` episodes of each group; gives its path."""
    draw, lines = random.Random(3), []
    for group in GROUPS:
        for number in range(each):
            wanted, other = draw.sample(WORDS, 2)
            good = number % 2 == 0
            steps = [fill(wanted if good or draw.random() < 0.3 else other)]
            if draw.random() < 0.4:
                steps.insert(draw.randrange(2), stray())
            steps += [submit()] if good or steps[0] == fill(other) else [stray()]
            name = f"{group}-{number}"
            events = episode(wanted, *steps, name=name)
            write(folder / f"{name}.mrec", events)
            line = {
                "id": name,
                "file": f"{name}.mrec",
                "group": group,
                "success": good,
                "task": task(wanted, group),
            }
            lines.append(json.dumps(line))
    index = folder / "episodes.jsonl"
    index.write_text("\n".join(lines) + "\n")
    return index
