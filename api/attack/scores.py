"""What a log pays under a task's rules, milestone by milestone, and what a changed one may pay."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from api.attack.logs import renumber_events
from detectors.engine.engine import Engine
from detectors.model.rewards import total as sum_of
from detectors.model.types import Event, Milestone, Reward
from detectors.sdk.registry import Rule
from detectors.task.ruleset import ConditionNode, Ruleset

TOLERANCE = 1e-9
ReachedKey = tuple[str, int, tuple[int, ...]]
"""A milestone's id, the step in which it was reached, and its evidence."""


class Payout(NamedTuple):
    """What a milestone paid once. ``evidence``: the numbers of the events that show it;
    ``reached``: of the event with which it was reached; ``places``: where the evidence stands in
    its log, counted from 1."""

    id: str
    worth: float
    evidence: tuple[int, ...]
    reached: int
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LogScore:
    """What a log pays by the rules alone. ``payouts``: positive ones, of steps that are known, in
    the order in which they were reached, with those of the end, such as `(outcome)`; ``total``: of
    what is known; ``masked``: steps that are null."""

    payouts: tuple[Payout, ...]
    total: float
    success: bool | None
    masked: tuple[int, ...]
    closed: bool

    def paid(self, id: str) -> float:
        """Return what a milestone paid, all its payouts together."""
        return sum_of(payout.worth for payout in self.payouts if payout.id == id)

    def evidence(self, id: str) -> list[int]:
        """The events that show a milestone, ascending."""
        shown = {seq for payout in self.payouts if payout.id == id for seq in payout.evidence}
        return sorted(shown)

    @property
    def ids(self) -> list[str]:
        """What paid, in the order of the first payouts."""
        return list(dict.fromkeys(payout.id for payout in self.payouts))


def score_log(rules: Ruleset, events: Iterable[Event]) -> LogScore:
    """LogScore a log; evidence is by the numbers that its events have, whatever they are."""
    original = list(events)
    engine = Engine(rules, original[0].episode if original else "")
    reached: dict[ReachedKey, int] = {}
    rewards: list[Reward] = []
    for event in renumber_events(original):
        result = engine.feed((event,))
        for milestone in result.milestones:
            reached[_key_of(milestone)] = event.seq
        rewards += result.rewards
    return LogScore(
        payouts=tuple(_payouts(rewards, reached, original)),
        total=sum_of(reward.reward for reward in rewards if reward.reward is not None),
        success=engine.success,
        masked=tuple(reward.step for reward in rewards if reward.mask),
        closed=engine.closed,
    )


def _key_of(milestone: Milestone) -> ReachedKey:
    """Return what tells one payout of a milestone from its others."""
    return (milestone.id, milestone.step, milestone.evidence)


def _payouts(
    rewards: Sequence[Reward], reached: Mapping[ReachedKey, int], original: Sequence[Event]
) -> list[Payout]:
    """Return the positive payouts of known steps in the order in which they were reached, with the
    numbers that the events had in the ``original`` log; ``reached`` is by place."""
    paid: list[tuple[int, Milestone]] = []
    for reward in rewards:
        if reward.mask:
            continue
        for milestone in reward.milestones:
            if milestone.worth > 0:
                paid.append((reached.get(_key_of(milestone), len(original)), milestone))
    paid.sort(key=lambda pair: pair[0])
    return [
        Payout(
            id=milestone.id,
            worth=milestone.worth,
            evidence=tuple(original[place - 1].seq for place in milestone.evidence),
            reached=original[end - 1].seq,
            places=milestone.evidence,
        )
        for end, milestone in paid
    ]


@dataclass(frozen=True, slots=True)
class Limit:
    """What an adversary may be paid at most: each milestone (those without an entry nothing), all
    of it together, and whether it may reach the goal."""

    by_milestone: Mapping[str, float]
    total: float
    success: bool


NOTHING = Limit({}, 0.0, False)


class Oracle:
    """A log that solves a task, with what its milestones rest on."""

    def __init__(self, rules: Ruleset, events: Sequence[Event]) -> None:
        self.rules = rules
        self.events = tuple(events)
        self.score = score_log(rules, events)
        self.by_seq = {event.seq: event for event in events}
        self._paid = {id: self.score.paid(id) for id in self.score.ids if id in rules.index}

    @property
    def ids(self) -> list[str]:
        """The milestones that paid, in the order of their first payouts."""
        return list(self._paid)

    @property
    def goals(self) -> list[str]:
        """The milestones that say what success is."""
        return [m.id for n, m in enumerate(self.rules.task.milestones) if self._is_goal(n)]

    def _is_goal(self, n: int) -> bool:
        return self.rules.nodes[self.rules.tops[n]].rule.name == "goal"

    @property
    def goal_worth(self) -> float:
        """What reaching the goal is worth: the components of its milestones, and what the end
        brings."""
        task = self.rules.task
        goals = self.goals
        components = {m.component for m in task.milestones if m.id in goals}
        weight = sum(task.weights.get(name, 0.0) for name in components)
        worth = weight * task.process
        if task.outcome is not None:
            worth += max(0.0, task.outcome.success) * task.outcome.scale
        return worth

    def predecessors(self, id: str) -> list[str]:
        """The milestones without which this one does not pay."""
        milestones = self.rules.task.milestones
        required = [milestones[n].id for node in self.nodes(id) for n in node.requires]
        return list(dict.fromkeys([*self.order_predecessors(id), *required]))

    def order_predecessors(self, id: str) -> list[str]:
        """The milestones that must come before this one: of its own condition, what happens
        earlier is not to count. `requires` says nothing of an order."""
        spec = self.rules.task.milestones[self.rules.index[id]]
        before = list(spec.after)
        if spec.since:
            before.append(spec.since)
        return before

    def nodes(self, id: str) -> list[ConditionNode]:
        """The conditions of a milestone's `when`."""
        owner = self.rules.index[id]
        return [node for node in self.rules.nodes if node.owner == owner and node.role == "when"]

    def event_kinds(self, id: str, *, occurrences: bool = False) -> set[str]:
        """The kinds of events that a milestone's own condition hears; with ``occurrences`` of
        those rules alone that are about something which happens."""
        kinds: set[str] = set()
        for node in self.nodes(id):
            if not isinstance(node.rule, Rule):
                continue
            is_state = occurrences and not node.rule.occurs(node.args)
            if not is_state:
                kinds.update(node.rule.heard_kinds(node.args))
        return kinds

    def limit_untouched(self, touched: Collection[int], *, goal: bool = True) -> Limit:
        """What is still earned where the events of these numbers no longer show anything: the
        payouts that rest on none of them. Without ``goal`` the goal is never reached."""
        kept = dict.fromkeys(self._paid, 0.0)
        for payout in self.score.payouts:
            if payout.id in kept and not self.rests_on(payout, touched):
                kept[payout.id] += payout.worth
        return self._limit(kept, goal=goal)

    def limit_without(self, id: str, kept: float) -> Limit:
        """What is still earned where ``id`` pays no more than ``kept``: all others but those that
        need it whole."""
        return self._limit({**self._paid, id: kept}, goal=True)

    def limit_below_goal(self) -> Limit:
        """What may be earned without the goal: anything worth less than it."""
        return Limit(self._paid, self.goal_worth - 2 * TOLERANCE, False)

    def rests_on(self, payout: Payout, touched: Collection[int]) -> bool:
        """Whether a payout rests on one of the events. One that pays in parts rests on the event
        that made it more."""
        if not payout.evidence:
            return False
        parts = sum(other.id == payout.id for other in self.score.payouts)
        shown = payout.evidence if parts == 1 else payout.evidence[-1:]
        return any(seq in touched for seq in shown)

    def _limit(self, kept: dict[str, float], *, goal: bool) -> Limit:
        """Return what an attack may be paid that keeps these milestones; without the goal nothing
        that needs it."""
        if not goal:
            kept |= dict.fromkeys(self.goals, 0.0)
        self._drop_successors(kept)
        is_short_of_goal = any(self._is_short(id, kept) for id in self.goals)
        whole = sum_of(kept.values())
        if self._pays_beside_milestones() and whole > 0:
            whole = max(whole, self.score.total)
        return Limit(kept, whole, goal and not is_short_of_goal)

    def _pays_beside_milestones(self) -> bool:
        """Whether an episode's total is more than what its milestones pay."""
        task = self.rules.task
        return bool(task.outcome or task.efficiency or task.shaped or task.credit)

    def _drop_successors(self, kept: dict[str, float]) -> None:
        """Let what needs another whole pay nothing without it, through all of them."""
        for _ in kept:
            for id in kept:
                if any(self._is_short(name, kept) for name in self.predecessors(id)):
                    kept[id] = 0.0

    def _is_short(self, id: str, kept: Mapping[str, float]) -> bool:
        return kept.get(id, 0.0) < self._paid.get(id, 0.0) - TOLERANCE
