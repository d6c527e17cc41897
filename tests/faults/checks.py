"""What must hold of a log and its rewards, whatever was killed, cut or filled meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from milestoned_client import Event, Reward

from api.replay.recordings import replay
from api.tasks.task_files import check_task
from detectors.model.rewards import encode_reward
from detectors.task.ruleset import compile_task
from tests.support.stack import Stack, gist

PAGE = 5000
RESTS_ON_NOTHING = ("clean",)
"""Milestones of the tests' tasks that are reached where something did *not* happen."""


def whole(stack: Stack, rewards: Sequence[Reward], task: Mapping[str, Any]) -> list[Event]:
    """The log of the stack's episode: nothing lost, nothing twice, and its recording gives the same
    rewards."""
    events = stack.episode.events(limit=PAGE)
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), (
        "none lost, none twice"
    )
    times = [event.at for event in events]
    assert times == sorted(times), "time does not go back"
    steps = [reward.step for reward in rewards]
    assert steps == list(range(len(steps)))
    for kind in ("step.began", "step.ended", "step.sealed"):
        told = [event.data["step"] for event in events if event.kind == kind]
        assert told == steps[: len(told)], f"{kind}, once each and in order"
    file = stack.folder / f"{stack.episode.id}.mrec"
    stack.episode.recording(file)
    _, again = replay(file, compile_task(check_task(task)))
    assert [encode_reward(one) for one in again] == [
        one.body or _asked(stack, one.step) for one in rewards
    ]
    return events


def _asked(stack: Stack, step: int) -> bytes:
    return stack.episode.reward(step, wait_s=0).body


class Unseen(NamedTuple):
    """``steps``: those during which a source was wholly blind or lost something; ``ever``: at any
    time since step 0."""

    steps: set[int]
    ever: bool


def unseen(events: Sequence[Event], sources: Collection[str]) -> Unseen:
    """What ``sources`` did not see, by the log's own words alone."""
    blind: set[str] = set()
    steps: set[int] = set()
    step, sealed, ever = -1, True, False
    for event in events:
        if event.kind == "step.began":
            step, sealed = event.data["step"], False
        elif event.kind == "step.sealed":
            sealed = True
        elif "of" not in event.data and event.data.get("source") in sources:
            if event.kind == "gap.began":
                blind.add(event.data["source"])
            elif event.kind == "gap.ended":
                blind.discard(event.data["source"])
        lost = event.kind == "events.dropped" and event.data["source"] in (*sources, "journal")
        if blind or lost:
            ever |= step >= 0
            steps |= set() if sealed else {step}
    return Unseen(steps, ever)


def as_without_the_fault(
    calm: Sequence[Reward],
    shaken: Sequence[Reward],
    events: Sequence[Event],
    sources: Collection[str],
) -> set[int]:
    """Where all sources saw, the reward is that of the run without the fault; where not, null and
    masked, never 0.0.

    So is a step whose milestone rests on what must not happen, and the end where the goal may have
    been reached unseen. Gives the steps that nobody saw.
    """
    hidden = unseen(events, sources)
    assert len(calm) == len(shaken)
    for without, under in zip(calm, shaken, strict=True):
        rests = hidden.ever and any(one.id in RESTS_ON_NOTHING for one in without.milestones)
        doubted = hidden.ever and under.done and under.reward is None
        if under.step in hidden.steps or rests or doubted:
            assert (under.status, under.reward, under.mask) == ("unobserved", None, True), under
            assert under.reason
            assert set(under.components.values()) <= {None}
        else:
            assert gist([under]) == gist([without]), under
            assert (under.status, under.mask) == ("sealed", False)
    return hidden.steps
