"""From recorded episodes and their rules to preferences: what the rules decided, pair by pair, and
spoilt copies.

An index has a line an episode: ``{"id", "file", "group", "task": {...}, "success"?: bool}``;
``success`` is what the environment itself said. It becomes an outcome for measuring and never a
pair.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

import orjson

from api.replay.recordings import read_recording
from common.regular_file import read_regular
from detectors.model.json_value import JsonObject, JsonValue, read_text, require_object
from detectors.model.optional_values import entries_without_none
from detectors.model.types import Event, Reward
from lab.training.perturbing import INJECTED, perturb_log
from lab.training.preferences import PreferenceError, score_log

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

PrefLine = JsonObject
"""A line of pref/1, or a part of one, as JSON."""
_INJECTION = {"how": "injected", "text": INJECTED}


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One line of the index, scored: ``success`` None where the rules can't say."""

    id: str
    file: str
    group: str
    task: JsonObject
    env: bool | None
    steps: int
    success: bool | None
    milestones: tuple[int, ...]
    """The steps in which the rules found a milestone."""
    unknown: frozenset[int]
    """The steps whose reward is null: what they earned nobody can say, so they are neither better
    nor worse."""

    def side(self, step: int | None = None, how: JsonObject | None = None) -> PrefLine:
        """Describe the episode, one of its steps, or a copy perturbed as ``how`` says, as a line of
        preferences has it."""
        return {
            "recording": self.file,
            "instruction": self.task["instruction"],
            "group": self.group,
            "task": str(self.task["id"]),
            **entries_without_none({"step": step, "perturbed": how}),
        }

    def known_steps(self) -> list[int]:
        """The steps whose reward is not null."""
        return [step for step in range(self.steps) if step not in self.unknown]


def preferences_of(index: Path, seed: int = 0) -> Iterator[PrefLine]:
    """The lines of pref/1 for an index of episodes. Raises `PreferenceError`, `RecordingError` or
    OSError."""
    rows: list[IndexRow] = []
    copies: list[PrefLine] = []
    for line in read_regular(index).splitlines():
        entry = orjson.loads(line)
        segments = read_recording(index.parent / entry["file"])
        events = [event for segment in segments for event in segment.events]
        row = _score_entry(entry, events)
        if row is not None:
            rows.append(row)
            copies += _copies(row, events)
    draw = random.Random(seed)
    yield from _outcomes(rows)
    yield from copies
    yield from _pairs(rows, draw)
    yield from _step_pairs(rows, draw)


def _score_entry(entry: JsonObject, events: list[Event]) -> IndexRow | None:
    """An entry of the index with what the rules decided; None for an episode without a step."""
    task, env = require_object(entry["task"], "task"), entry.get("success")
    try:
        rewards = score_log(task, events)
    except PreferenceError:
        # a task that can't be said in rules: what the environment said can still be measured with
        rewards = []
    steps = sum(event.kind == "step.began" for event in events)
    if not steps:
        return None
    # What the close pays in a closing step was done in the last one that has a deed.
    # Of a step that is paid its penalties alone the rest is not known either: it has a reason too.
    unknown = {min(reward.step, steps - 1) for reward in rewards if reward.reason is not None}
    earned = {min(reward.step, steps - 1) for reward in rewards if _earned(reward)}
    return IndexRow(
        id=str(entry["id"]),
        file=str(entry["file"]),
        group=read_text(entry, "group") or str(task["id"]),
        task=task,
        env=env if isinstance(env, bool) else None,
        steps=steps,
        success=rewards[-1].success if rewards else None,
        milestones=tuple(sorted(earned - unknown)),
        unknown=frozenset(unknown),
    )


def _earned(reward: Reward) -> bool:
    """Whether a step was paid for a milestone; what was so from the start does not count."""
    return any(milestone.value > 0 and not milestone.baseline for milestone in reward.milestones)


def _line(id: str, kind: str, source: str, **more: JsonValue) -> PrefLine:
    return {"schema": "pref/1", "id": id, "kind": kind, "source": source, **more}


def _outcomes(rows: Iterable[IndexRow]) -> Iterator[PrefLine]:
    """What rules and environment say of each episode, and the rules of each step of a success."""
    for row in rows:
        if row.success is not None:
            yield _outcome(f"{row.id}/rule", "rule", row.side(), row.success)
        if row.env is not None:
            yield _outcome(f"{row.id}/env", "env", row.side(), row.env)
        for step in row.known_steps() if row.success else ():
            is_paid = step in row.milestones
            yield _outcome(f"{row.id}/{step}", "rule", row.side(step), is_paid, level="step")


def _outcome(
    id: str, source: str, trajectory: PrefLine, success: bool, **more: JsonValue
) -> PrefLine:
    return _line(id, "outcome", source, **more, trajectory=trajectory, success=success)


def _copies(row: IndexRow, events: list[Event]) -> Iterator[PrefLine]:
    """Of a success: copies that the rules no longer call one, losers against it. Of a failure: an
    injected one."""
    if row.success is None:
        return
    if not row.success:
        yield _outcome(f"{row.id}/injected", "perturbed", row.side(how=_INJECTION), success=False)
        return
    for how in _removals(row):
        rewards = score_log(row.task, list(perturb_log(events, how)))
        if not rewards or rewards[-1].success is not False:
            continue  # what went was not needed, or nobody knows whether it was: no loser
        name = f"{row.id}/{how['how']}-{how['step']}"
        copy = row.side(how=how)
        yield _line(name, "pair", "perturbed", chosen=row.side(), rejected=copy, weight=LIKELY)
        yield _outcome(f"{name}/outcome", "perturbed", copy, success=False)


def _removals(row: IndexRow) -> list[JsonObject]:
    """How a success of several steps is perturbed: its end, or a step with a milestone, is left
    out."""
    if row.steps <= 1:
        return []
    removals: list[JsonObject] = [{"how": "truncated", "step": row.steps - 1}]
    removals += [{"how": "removed", "step": step} for step in row.milestones]
    return removals


def _pairs(rows: list[IndexRow], draw: random.Random) -> Iterator[PrefLine]:
    """Each success against the nearest failures of its task, and against some of other groups."""
    failures: dict[str, list[IndexRow]] = defaultdict(list)
    for row in rows:
        if row.success is False:
            failures[str(row.task["id"])].append(row)
    every = [*chain.from_iterable(failures.values())]
    successes = [row for row in rows if row.success]
    for row in successes:
        same_task = failures[str(row.task["id"])]
        near = sorted(same_task, key=partial(_apart, row))[:EACH]
        others = [failure for failure in every if failure.group != row.group]
        far = draw.sample(others, min(ACROSS, len(others)))
        for failure in (*near, *far):
            is_far = failure in far
            injected = failure in near[:2]
            yield from _pair(row, failure, is_far=is_far, injected=injected)


def _pair(row: IndexRow, failure: IndexRow, *, is_far: bool, injected: bool) -> Iterator[PrefLine]:
    """A success against a failure, and, if asked for, against its injected copy."""
    weight = LIKELY
    if is_far:
        weight = FAR
    elif abs(row.steps - failure.steps) <= 1:
        weight = 1.0
    name = f"{row.id}>{failure.id}"
    chosen = row.side()
    yield _line(name, "pair", "rule", chosen=chosen, rejected=failure.side(), weight=weight)
    if injected:
        copy = failure.side(how=_INJECTION)
        sides = {"chosen": chosen, "rejected": copy}
        yield _line(f"{name}/injected", "pair", "perturbed", **sides, weight=weight)


def _apart(one: IndexRow, other: IndexRow) -> tuple[bool, int, str]:
    """The same instance first, then the nearest length."""
    return (
        other.task.get("version") != one.task.get("version"),
        abs(other.steps - one.steps),
        other.id,
    )


def _step_pairs(rows: list[IndexRow], draw: random.Random) -> Iterator[PrefLine]:
    """A step that earned a milestone against one of the same task that did not, as long as both are
    decided."""
    idle: dict[str, list[tuple[IndexRow, int]]] = defaultdict(list)
    for row in rows:
        if row.success is not None:
            steps = set(row.known_steps()).difference(row.milestones)
            idle[str(row.task["id"])] += [(row, step) for step in sorted(steps)]
    earned = [(row, step) for row in rows if row.success for step in row.milestones]
    for row, step in earned:
        others = idle[str(row.task["id"])]
        for other, idle_step in draw.sample(others, min(2, len(others))):
            yield _line(
                f"{row.id}@{step}>{other.id}@{idle_step}",
                "pair",
                "rule",
                level="step",
                chosen=row.side(step),
                rejected=other.side(idle_step),
                weight=STEP,
            )
