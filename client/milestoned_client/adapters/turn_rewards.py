"""Rewards at their turn: what each turn of a rollout paid, on the last token of that turn.

Pure functions: the steps of an episode come in, lists of numbers and masks go out. A turn of which
nothing is known has no number: its reward is None and its tokens are masked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from milestoned_client.errors import ClientError
from milestoned_client.models import Reward

Span = tuple[int, int]
"""A turn's tokens: the index of its first one, and the index after its last one."""

ROUNDING = 1e-9
"""Below this a difference of sums is no penalty."""
STD_FLOOR = 1e-4
"""What TRL adds to a group's standard deviation before it divides by it."""


class TurnMismatchError(ClientError):
    """The turns of a rollout are not the steps of its episode, so no reward can be placed."""


class UndecidedRewardError(ClientError):
    """A step is settling, or waits for a judge: it will be known, so nothing is paid yet."""


@dataclass(frozen=True, slots=True)
class TokenRewards:
    """A rollout's rewards, token by token.

    ``rewards``: a turn's reward on its last token, None there if it is not known, 0.0 elsewhere.
    ``mask``: 1 for each token of a turn that is known, 0 for all others (prompt, tool, unknown).
    """

    rewards: tuple[float | None, ...]
    mask: tuple[int, ...]

    def tensor_values(self) -> list[float]:
        """Return the rewards as a tensor holds them. Where a turn is not known there is 0.0, which
        is no reward: only ``mask`` tells the two apart."""
        return [0.0 if reward is None else reward for reward in self.rewards]


def spans_of_mask(mask: Sequence[int]) -> list[Span]:
    """Return the turns of a rollout whose ``mask`` is 1 on the tokens that the model wrote.

    Two turns with no token between them are one run of ones, and so one turn.
    """
    spans: list[Span] = []
    start = 0
    for is_written, run in groupby(mask, key=bool):
        end = start + len(list(run))
        if is_written:
            spans.append((start, end))
        start = end
    return spans


def rewards_of_turns(
    steps: Sequence[Reward],
    begun: int,
    turns: int,
    folded: float | None = None,
    turn_of_step: Sequence[int] | None = None,
) -> list[float | None]:
    """Return what each of ``turns`` turns paid, None for a turn of which nothing is known.

    ``steps``: all rewards of a closed episode, in order. ``begun``: how many steps were begun; a
    reward after these is what the close decided, and is paid to the last turn. A last turn without
    a step is a final answer, which only the close pays. ``folded``: what the service pays for the
    rollout under `known`; where it is less than the known rewards, the difference is the penalties
    that were observed in steps that are not known, and these are paid at their own turns.
    ``turn_of_step``: the turn (from 0) in which each step was begun, where the rollout says so:
    then a turn may have several steps, or none (an unreadable tool call), which pays 0.

    Raises `TurnMismatchError`, and `UndecidedRewardError` for a step that is not final.
    """
    _check_steps(steps, begun)
    if turn_of_step is None:
        turn_of_step = _one_turn_a_step(begun, turns)
    elif not _are_turns(turn_of_step, begun, turns):
        raise TurnMismatchError(
            f"turn_of_step: expected {begun} turns from 0 to {turns - 1} in ascending order, got"
            f" {list(turn_of_step)}"
        )
    penalties = _seen_penalties(steps, folded)
    parts: list[list[float | None]] = [[] for _ in range(turns)]
    turns_of_rewards = [*turn_of_step, turns - 1]
    for step, turn, penalty in zip(steps, turns_of_rewards, penalties, strict=False):
        parts[turn].append(penalty if penalty < 0 else step.reward)
    if turns - 1 not in turn_of_step and len(steps) == begun:
        # The close came before the last step was complete, so that step's reward has the close's.
        parts[-1].append(None if steps and steps[-1].reward is None else 0.0)
    return [_known_part(part) for part in parts]


def _check_steps(steps: Sequence[Reward], begun: int) -> None:
    """Raise for a reward that is not final, and for another number of rewards than of steps."""
    for step in steps:
        if not step.settled:
            raise UndecidedRewardError(
                f"step {step.step}: expected a final reward, got {step.status}: {step.reason}"
            )
    if len(steps) not in (begun, begun + 1):
        raise TurnMismatchError(
            f"steps: expected the rewards of {begun} steps and perhaps of the close, got"
            f" {len(steps)}"
        )


def _one_turn_a_step(begun: int, turns: int) -> list[int]:
    if not turns or begun not in (turns, turns - 1):
        raise TurnMismatchError(
            f"turns: expected {begun} turns of the model, one for each step of the episode (or"
            f" {begun + 1}, the last a final answer), got {turns}"
        )
    return list(range(begun))


def _are_turns(turn_of_step: Sequence[int], begun: int, turns: int) -> bool:
    return (
        len(turn_of_step) == begun
        and list(turn_of_step) == sorted(turn_of_step)
        and all(0 <= turn < turns for turn in turn_of_step)
        and turns > 0
    )


def _known_part(rewards: Sequence[float | None]) -> float | None:
    """Return the sum of what is known of a turn: 0.0 for a turn without a step, None where it has
    steps and none of them is known."""
    known = [reward for reward in rewards if reward is not None]
    return _total(known) if known or not rewards else None


def _seen_penalties(steps: Sequence[Reward], folded: float | None) -> list[float]:
    """Return each unknown step's penalties (0.0 or less), which add up to what ``folded`` has of
    them: the service stops at the floor of the task, first come first served."""
    if folded is None:
        return [0.0] * len(steps)
    left = _total([folded, *(-step.reward for step in steps if step.reward is not None)])
    penalties: list[float] = []
    for step in steps:
        seen = 0.0
        if step.reward is None:
            worth = _total([m.worth for m in step.milestones if m.worth < 0])
            seen = max(worth, left) if left < -ROUNDING else 0.0
            left = _total([left, -seen])
        penalties.append(seen)
    return penalties


def place_rewards(
    spans: Sequence[Span], rewards: Sequence[float | None], length: int
) -> TokenRewards:
    """Place each turn's reward on the last token of its span, in a rollout of ``length`` tokens.

    Raises `TurnMismatchError` where there is not one reward a span, and `ValueError` for spans that
    are empty, out of order or out of bounds.
    """
    if len(spans) != len(rewards):
        raise TurnMismatchError(
            f"rewards: expected one for each of {len(spans)} turns, got {len(rewards)}"
        )
    ends = [0, *(end for _, end in spans)]
    for at, ((start, end), before) in enumerate(zip(spans, ends, strict=False)):
        if not before <= start < end <= length:
            raise ValueError(
                f"spans[{at}]: expected tokens between {before} and {length}, got {start} to {end}"
            )
    values: list[float | None] = [0.0] * length
    mask = [0] * length
    for (start, end), reward in zip(spans, rewards, strict=True):
        values[end - 1] = reward
        if reward is not None:
            mask[start:end] = [1] * (end - start)
    return TokenRewards(tuple(values), tuple(mask))


def advantages_by_turn(
    group: Sequence[Sequence[float | None] | None],
    *,
    scale: bool = True,
    std_floor: float = STD_FLOOR,
) -> list[list[float | None]]:
    """Return each turn's advantage in a group of rollouts of one prompt.

    GRPO with process supervision (DeepSeekMath, section 4.1.3): each reward r of a turn becomes
    r̃ = (r − mean(R)) / std(R), R all known rewards of turns in the group, and a turn's advantage is
    the sum of r̃ over itself and the known turns after it. std is that of a sample, and
    ``std_floor`` is added to it; ``scale`` false leaves the division out. A rollout that is None,
    and a turn that is None, moves neither mean nor deviation; a turn that is None has no advantage.
    """
    known = [reward for rollout in group for reward in rollout or () if reward is not None]
    mean = _mean(known)
    deviation = _deviation(known, mean) + std_floor if scale else 1.0
    advantages: list[list[float | None]] = []
    for rollout in group:
        to_go = 0.0
        reversed_turns: list[float | None] = []
        for reward in reversed(rollout or ()):
            if reward is None:
                reversed_turns.append(None)
            else:
                to_go += (reward - mean) / deviation
                reversed_turns.append(to_go)
        advantages.append(reversed_turns[::-1])
    return advantages


def advantages_of_returns(
    group: Sequence[Sequence[float | None] | None],
    *,
    scale: bool = True,
    std_floor: float = STD_FLOOR,
) -> list[list[float | None]]:
    """Return each turn's advantage in a group of rollouts of one prompt, by what is still to come.

    A turn's return G is the sum of the rewards of itself and the turns after it. A turn's advantage
    is G less the mean return of all rollouts at that turn, divided by the standard deviation (that
    of a sample, plus ``std_floor``; ``scale`` false leaves it out) of the rollouts' whole returns.
    A rollout that has ended has a return of 0 at the turns that it no longer has, for nothing more
    could be had. Unlike in `advantages_by_turn` no turn is worth anything for being there: where
    most of a group's rewards are penalties, that pays each silent turn, and long rollouts with it.

    A return is not known where a reward in it is not: such a turn has no advantage and moves no
    mean, and such a rollout does not move the deviation.
    """
    returns = [_returns(rollout or ()) for rollout in group]
    whole = [found[0] for found in returns if found and found[0] is not None]
    deviation = _deviation(whole, _mean(whole)) + std_floor if scale else 1.0
    longest = max((len(found) for found in returns), default=0)
    means = [_mean(_at_turn(returns, turn)) for turn in range(longest)]
    return [
        [
            None if to_go is None else (to_go - mean) / deviation
            for to_go, mean in zip(found, means, strict=False)
        ]
        for found in returns
    ]


def _at_turn(returns: Sequence[Sequence[float | None]], turn: int) -> list[float]:
    """Return what the rollouts still had to come at a turn, where it is known: 0.0 of one that had
    ended."""
    at_turn = [
        found[turn] if turn < len(found) else 0.0
        for found in returns
        if any(to_go is not None for to_go in found)
    ]
    return [to_go for to_go in at_turn if to_go is not None]


def _returns(rollout: Sequence[float | None]) -> list[float | None]:
    """Return the rewards still to come at each turn: None up to the last turn that is not known."""
    returns: list[float | None] = []
    to_go: float | None = 0.0
    for reward in reversed(rollout):
        to_go = None if to_go is None or reward is None else to_go + reward
        returns.append(to_go)
    return returns[::-1]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else 0.0


def _deviation(values: Sequence[float], mean: float) -> float:
    if len(values) < 2:
        return 0.0
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _total(parts: Sequence[float]) -> float:
    """Return the sum, rounded as the service rounds it."""
    return round(math.fsum(parts), 12) + 0.0
