"""A scripted policy that errs: a page's right or wrong way, with acts left out, repeated, spoilt or
replaced.

Nothing here knows what the page pays. The same random numbers give the same plan; where a stray
click lands is drawn when it is made, from what is visible then.
"""

from __future__ import annotations

import random
from typing import Literal

from tests.miniwob.script import Act, Script

Way = Literal["right", "wrong", "random"]

MAX_ACTIONS = 12
"""Acts of an episode at most."""
STRAY = (
    "#area :is(button, input, a, span, li, label, td, p, h3, div, rect, circle, polygon,"
    " option):visible"
)
WAYS: tuple[tuple[Way, float], ...] = (("right", 0.62), ("wrong", 0.26), ("random", 0.12))
NOISE = (0.0, 0.1, 0.25, 0.4)
"""The chance that an act is spoilt, one of these for each episode."""


def plan(script: Script, draw: random.Random) -> tuple[Way, float, list[Act]]:
    """The way, its noise, and the acts; at least one."""
    way = draw.choices([way for way, _ in WAYS], [share for _, share in WAYS])[0]
    noise = draw.choice(NOISE)
    if way == "random":
        return way, 1.0, [stray(draw) for _ in range(draw.randint(1, 5))]
    acts: list[Act] = []
    other = script.wrong if way == "right" else script.right
    for at, act in enumerate(script.right if way == "right" else script.wrong):
        acts += _perturb(act, other[at % len(other)], draw) if draw.random() < noise else [act]
    return way, noise, (acts or [stray(draw)])[:MAX_ACTIONS]


def stray(draw: random.Random) -> Act:
    """A click on something that is there; which, is drawn by its number among what is visible."""
    return Act("stray", STRAY, str(draw.randrange(10_000)))


def _perturb(act: Act, other: Act, draw: random.Random) -> list[Act]:
    match draw.choice(("skip", "stray", "stray", "repeat", "spoil", "other", "loop")):
        case "skip":
            return []
        case "stray":
            return [stray(draw), act]
        case "repeat":
            return [act, act]
        case "other":
            return [other]
        case "loop":
            return [stray(draw)] * draw.randint(2, 4) + [act]
        case _:
            return (
                [act._replace(text=_misspelt(act.text, draw))]
                if act.verb in ("fill", "type")
                else [stray(draw)]
            )


def _misspelt(text: str, draw: random.Random) -> str:
    if len(text) < 2 or draw.random() < 0.3:
        return draw.choice(("test", "hello", "42", "n/a"))
    at = draw.randrange(len(text))
    return (
        text[:at] + text[at + 1 :]
        if draw.random() < 0.6
        else text[:at] + draw.choice("aeknrt07") + text[at + 1 :]
    )
