"""From recorded episodes and their rules to preferences: what the rules decided, pair by pair, and
spoilt copies.

An index has a line an episode: ``{"id", "file", "group", "task": {...}, "success"?: bool}``;
``success`` is what the environment itself said. It becomes an outcome for measuring and never a
pair.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from api.core.regular_file import read_regular
from api.replay.recordings import read_recording
from detectors.model.types import Event, Reward
from lab.training.perturbing import INJECTED, perturbed
from lab.training.preferences import PreferenceError, scored

EACH = 6
"""Failures that a success is paired with, at most."""
ACROSS = 3
"""Failures of other groups that it is paired with."""
LIKELY = 0.5
"""The weight of a spoilt copy's pair, or of one whose lengths differ much."""
FAR = 1.0
"""Of a pair across groups: without them a score means something within its own task alone."""
STEP = 0.1
"""Weight of a pair of steps: they settle which step of a success counts, and must not outvote whole
episodes."""


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One line of the index, scored: ``success`` None where the rules can't say."""

    id: str
    file: str
    group: str
    task: Mapping[str, Any]
    env: bool | None
    steps: int
    success: bool | None
    milestones: tuple[int, ...]
    """The steps in which the rules found a milestone."""
    unknown: frozenset[int]
    """The steps whose reward is null: what they earned nobody can say, so they are neither better
    nor worse."""

    def side(self, step: int | None = None, how: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """As a line of preferences has it."""
        said = {
            "recording": self.file,
            "instruction": self.task["instruction"],
            "group": self.group,
        }
        said |= {"task": str(self.task["id"])}
        return (
            said
            | ({} if step is None else {"step": step})
            | ({} if how is None else {"perturbed": how})
        )


def preferences_of(index: Path, seed: int = 0) -> Iterator[dict[str, Any]]:
    """The lines of pref/1 for an index of episodes. Raises `PreferenceError`, `RecordingError` or
    OSError."""
    told: list[IndexRow] = []
    spoilt: list[dict[str, Any]] = []
    for line in read_regular(index).splitlines():
        said = orjson.loads(line)
        events = [
            event
            for segment in read_recording(index.parent / said["file"])
            for event in segment.events
        ]
        one = _decision(said, events)
        if one is None:
            continue
        told.append(one)
        spoilt += _copies(one, events)
    draw = random.Random(seed)
    yield from _outcomes(told)
    yield from spoilt
    yield from _pairs(told, draw)
    yield from _steps(told, draw)


def _decision(said: Mapping[str, Any], events: list[Event]) -> IndexRow | None:
    try:
        rewards = scored(said["task"], events)
    except PreferenceError:
        # a task that can't be said in rules: what the environment said can still be measured with
        rewards = []
    steps = sum(event.kind == "step.began" for event in events)
    if not steps:
        return None
    success = rewards[-1].success if rewards else None
    group = said.get("group") or str(said["task"]["id"])
    # What the close pays in a closing step was done in the last one that has a deed.
    unknown = frozenset(min(reward.step, steps - 1) for reward in rewards if reward.mask)
    found = tuple(
        sorted({min(reward.step, steps - 1) for reward in rewards if _earned(reward)} - unknown)
    )
    return IndexRow(
        said["id"],
        said["file"],
        group,
        said["task"],
        said.get("success"),
        steps,
        success,
        found,
        unknown,
    )


def _earned(reward: Reward) -> bool:
    return any(milestone.value > 0 and not milestone.baseline for milestone in reward.milestones)


def _line(id: str, kind: str, source: str, **more: Any) -> dict[str, Any]:
    return {"schema": "pref/1", "id": id, "kind": kind, "source": source, **more}


def _outcomes(told: Iterable[IndexRow]) -> Iterator[dict[str, Any]]:
    for one in told:
        if one.success is not None:
            yield _line(
                f"{one.id}/rule", "outcome", "rule", trajectory=one.side(), success=one.success
            )
        if one.env is not None:
            yield _line(f"{one.id}/env", "outcome", "env", trajectory=one.side(), success=one.env)
        for step in _decided_steps(one) if one.success else ():
            earned = step in one.milestones
            side = one.side(step)
            yield _line(
                f"{one.id}/{step}", "outcome", "rule", level="step", trajectory=side, success=earned
            )


def _decided_steps(one: IndexRow) -> list[int]:
    return [step for step in range(one.steps) if step not in one.unknown]


def _copies(one: IndexRow, events: list[Event]) -> Iterator[dict[str, Any]]:
    """Of a success: copies that the rules no longer call one, losers against it. Of a failure: an
    injected one."""
    if one.success is None:
        return
    if not one.success:
        injected = {"how": "injected", "text": INJECTED}
        yield _line(
            f"{one.id}/injected",
            "outcome",
            "perturbed",
            trajectory=one.side(how=injected),
            success=False,
        )
        return
    hows: list[dict[str, Any]] = (
        [{"how": "truncated", "step": one.steps - 1}] if one.steps > 1 else []
    )
    hows += [{"how": "removed", "step": step} for step in one.milestones if one.steps > 1]
    for how in hows:
        rewards = scored(one.task, list(perturbed(events, how)))
        if not rewards or rewards[-1].success is not False:
            continue  # what went was not needed, or nobody knows whether it was: no loser
        name = f"{one.id}/{how['how']}-{how['step']}"
        yield _line(
            name, "pair", "perturbed", chosen=one.side(), rejected=one.side(how=how), weight=LIKELY
        )
        yield _line(
            f"{name}/outcome", "outcome", "perturbed", trajectory=one.side(how=how), success=False
        )


def _pairs(told: list[IndexRow], draw: random.Random) -> Iterator[dict[str, Any]]:
    lost: dict[str, list[IndexRow]] = defaultdict(list)
    for one in told:
        if one.success is False:
            lost[str(one.task["id"])].append(one)
    every = [one for some in lost.values() for one in some]
    for one in told:
        if not one.success:
            continue
        same = lost[str(one.task["id"])]
        near = sorted(same, key=lambda other: _apart(one, other))[:EACH]
        others = [other for other in every if other.group != one.group]
        far = draw.sample(others, min(ACROSS, len(others)))
        for other in (*near, *far):
            weight = FAR if other in far else 1.0 if abs(one.steps - other.steps) <= 1 else LIKELY
            sides = {"chosen": one.side(), "rejected": other.side()}
            yield _line(f"{one.id}>{other.id}", "pair", "rule", **sides, weight=weight)
            if other in near[:2]:
                how = {"how": "injected", "text": INJECTED}
                sides["rejected"] = other.side(how=how)
                yield _line(
                    f"{one.id}>{other.id}/injected", "pair", "perturbed", **sides, weight=weight
                )


def _apart(one: IndexRow, other: IndexRow) -> tuple[bool, int, str]:
    """The same instance first, then the nearest length."""
    return (
        other.task.get("version") != one.task.get("version"),
        abs(other.steps - one.steps),
        other.id,
    )


def _steps(told: list[IndexRow], draw: random.Random) -> Iterator[dict[str, Any]]:
    """A step that earned a milestone against one of the same task that did not, as long as both are
    decided."""
    idle: dict[str, list[tuple[IndexRow, int]]] = defaultdict(list)
    for one in told:
        if one.success is not None:
            idle[str(one.task["id"])] += [
                (one, step) for step in _decided_steps(one) if step not in one.milestones
            ]
    for one in told:
        for step in one.milestones if one.success else ():
            others = idle[str(one.task["id"])]
            for other, at in draw.sample(others, min(2, len(others))):
                sides = {"chosen": one.side(step), "rejected": other.side(at)}
                yield _line(
                    f"{one.id}@{step}>{other.id}@{at}",
                    "pair",
                    "rule",
                    level="step",
                    **sides,
                    weight=STEP,
                )
