"""What a step was worth beside the episodes that came to the same point: credit by Monte Carlo.

Two steps share a prefix if they are of episodes of one ruleset and one policy, and the same
milestones had been reached before them, each to the same level. The order of the milestones, the
number of steps and the texts of actions do not count: the same click is seldom recorded twice in
the same words, and what it led to is what was observed.

V(p) is the mean of what the other episodes earned from where they first had the prefix p. The
credit of step t is r_t + V(p_{t+1}) - V(p_t), an advantage (Kazemnejad et al. 2024, VinePPO, with
recorded episodes in place of rollouts from the state); after the last step V is 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypedDict

import orjson

from api.core.intervals import mean_interval
from api.episodes.label_index import label_text
from detectors.model.json_value import object_or_empty
from detectors.model.optional_values import without_none
from detectors.model.rewards import MilestoneJson, RewardJson, total

MIN_SIBLINGS = 4
"""Other episodes with a prefix, below which its value is not told."""
POLICY_LABEL = "policy"
NOT_CLOSED = "the episode is not closed"
NO_REWARD = "the step's reward is not known"

Prefix = tuple[tuple[str, float], ...]
"""Milestones with the level that they were reached to, above 0 and at most 1, by their ids."""


class SiblingEpisode(NamedTuple):
    """An episode as siblings are compared. ``group``: its ruleset's digest and its policy;
    ``baseline``: the milestones that were met when it began."""

    id: str
    group: tuple[str, str | None]
    closed: bool
    rewards: Sequence[RewardJson]
    baseline: Sequence[str] = ()


class SiblingCreditJson(TypedDict):
    """What a step's credit was estimated from, as the wire has it.

    ``value`` is V of what was reached before the step, the mean over ``n`` siblings; ``next_value``
    and ``next_n`` are those of what was reached after it, 0 and null after the last step. ``low``
    and ``high``: the 95 % interval of the credit. ``reason``: why the credit is not known.
    ``first_wrong``: whether the step is the episode's first whose credit is surely below 0; None
    where that is not known of it, or of one before it.
    """

    n: int
    value: float | None
    next_n: int | None
    next_value: float | None
    low: float | None
    high: float | None
    reason: str | None
    first_wrong: bool | None


class CreditEstimate(NamedTuple):
    """A step's credit, None where it is not known, and what it was estimated from."""

    credit: float | None
    basis: SiblingCreditJson


class _Value(NamedTuple):
    """The mean of ``n`` returns and half of its 95 % interval; None where ``n`` is too small."""

    n: int | None
    mean: float | None
    half: float


_END = _Value(None, 0.0, 0.0)


class SiblingReturns:
    """What episodes earned from each prefix on."""

    def __init__(self) -> None:
        self._returns: defaultdict[tuple[object, Prefix], dict[str, float]] = defaultdict(dict)

    def add(self, episode: SiblingEpisode) -> None:
        """Note the returns of an episode; one that is open or has an unknown reward has none."""
        values = [one["reward"] for one in episode.rewards]
        known = without_none(values)
        if not episode.closed or len(known) < len(values):
            return
        to_go = _returns_to_go(known)
        for prefix, earned in zip(find_prefixes(episode), to_go, strict=True):
            if prefix is not None:
                # The first step that has the prefix counts (first-visit Monte Carlo).
                self._returns[episode.group, prefix].setdefault(episode.id, earned)

    def credit(self, episode: SiblingEpisode) -> dict[int, CreditEstimate]:
        """Return step → its credit beside the other episodes that were noted."""
        rewards = episode.rewards
        if not episode.closed:
            return {one["step"]: _unknown(NOT_CLOSED) for one in rewards}
        prefixes = find_prefixes(episode)
        estimates = {
            one["step"]: self._credit_step(episode, n, prefixes) for n, one in enumerate(rewards)
        }
        _mark_first_wrong([estimate.basis for estimate in estimates.values()])
        return estimates

    def _credit_step(
        self, episode: SiblingEpisode, n: int, prefixes: Sequence[Prefix | None]
    ) -> CreditEstimate:
        """Return a step's credit: reward and change of the expected return, with its interval; or
        why none is known."""
        reward = episode.rewards[n]["reward"]
        before, after = prefixes[n], prefixes[n + 1]
        if before is None:
            return _unknown(_blind_reason(episode))
        value = self._value(episode, before)
        if reward is None or after is None:
            return _unknown(NO_REWARD, value)
        is_last = n + 1 == len(episode.rewards)
        next_value = _END if is_last else self._value(episode, after)
        if value.mean is None or next_value.mean is None:
            return _unknown(_few_reason(value, next_value), value, next_value)
        credit = total((reward, next_value.mean, -value.mean))
        stays = before == after and not is_last
        half = 0.0 if stays else math.hypot(value.half, next_value.half)
        return CreditEstimate(credit, _basis(value, next_value, (credit - half, credit + half)))

    def _value(self, episode: SiblingEpisode, prefix: Prefix) -> _Value:
        """Return the mean return of siblings from a point on, not known of too few."""
        noted = self._returns.get((episode.group, prefix), {})
        returns = [earned for id, earned in noted.items() if id != episode.id]
        if len(returns) < MIN_SIBLINGS:
            return _Value(len(returns), None, 0.0)
        mean, half = mean_interval(returns)
        return _Value(len(returns), total((mean,)), half)


def _mark_first_wrong(steps: Sequence[SiblingCreditJson]) -> None:
    """Mark the first of the steps, in their order, whose credit is surely below 0, as far as all
    before it are known."""
    is_found = False
    for basis in steps:
        if is_found:
            basis["first_wrong"] = False
        elif basis["high"] is None:
            return
        else:
            basis["first_wrong"] = is_found = basis["high"] < 0


def _blind_reason(episode: SiblingEpisode) -> str:
    blind = next(one["step"] for one in episode.rewards if one["reward"] is None)
    return f"step {blind} is not known, nor what was reached by it"


def _few_reason(value: _Value, next_value: _Value) -> str:
    counts = [one.n for one in (value, next_value) if one.n is not None]
    fewest = min(counts, default=0)
    return f"{fewest} other episodes had reached the same, at least {MIN_SIBLINGS} are needed"


def find_prefixes(episode: SiblingEpisode) -> list[Prefix | None]:
    """Return the prefix before each step in order, then the one after the last; None from a step on
    whose reward is not known, since what it reached is not."""
    levels = dict.fromkeys(episode.baseline, 1.0)
    prefixes: list[Prefix | None] = [_prefix(levels)]
    for reward in episode.rewards:
        if reward["reward"] is None or prefixes[-1] is None:
            prefixes.append(None)
            continue
        for milestone in reward["milestones"]:
            _reach(levels, milestone)
        prefixes.append(_prefix(levels))
    return prefixes


def policy_of(labels: object) -> str | None:
    """Return the text of an episode's label `policy`, None where it has none."""
    value = object_or_empty(labels).get(POLICY_LABEL)
    return None if value is None else label_text(value)


def sibling_of_bodies(
    id: str, group: tuple[str, str | None], bodies: Iterable[bytes], baseline: Sequence[str]
) -> SiblingEpisode:
    """Return a closed episode by the stored bytes of its rewards, in the order of its steps."""
    return SiblingEpisode(id, group, True, [orjson.loads(body) for body in bodies], baseline)


def _reach(levels: dict[str, float], milestone: MilestoneJson) -> None:
    """Add what a step reached. What the end decides, `(outcome)` and the like, is no milestone."""
    name = milestone["id"]
    if not name.startswith("("):
        level = total((levels.get(name, 0.0), milestone["value"]))
        levels[name] = min(1.0, max(0.0, level))


def _prefix(levels: Mapping[str, float]) -> Prefix:
    return tuple(sorted((name, level) for name, level in levels.items() if level > 0))


def _returns_to_go(values: Sequence[float]) -> list[float]:
    """Return Σ of the values from each place on, then 0 after the last."""
    return [total(values[n:]) for n in range(len(values) + 1)]


def _unknown(
    reason: str, value: _Value | None = None, next_value: _Value | None = None
) -> CreditEstimate:
    """Return a credit that is not known, with the reason and what is known of both sides."""
    value = value or _Value(0, None, 0.0)
    next_value = next_value or _Value(None, None, 0.0)
    return CreditEstimate(None, _basis(value, next_value, (None, None), reason))


def _basis(
    value: _Value,
    next_value: _Value,
    interval: tuple[float | None, float | None],
    reason: str | None = None,
) -> SiblingCreditJson:
    low, high = interval
    return {
        "n": value.n or 0,
        "value": value.mean,
        "next_n": next_value.n,
        "next_value": next_value.mean,
        "low": low,
        "high": high,
        "reason": reason,
        "first_wrong": None,
    }
