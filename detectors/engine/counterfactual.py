"""What else an episode may be worth, if what could not be observed was as expected.

A rule that can't know what it is asked (`UnseenError`) leaves two states of the episode: the
engine's own, in which it is not so, and a counterfactual one, in which it is, and all later such
things too. A step that both pay alike does not depend on what was not observed; of any other the
worth is not known.

What was so before the first step is not paid afterwards, so that more of it can be worth less. Of
such things there is a state for every combination: each counterfactual state is divided too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from detectors.engine.missing_combinations import record_missing_combination
from detectors.engine.state import ALL, State
from detectors.model.errors import UnseenError
from detectors.model.rewards import total
from detectors.model.types import Event, Milestone, Reward
from detectors.task.ruleset import ConditionNode, Ruleset

MIN_DIFFERENCE = 1e-9
MAX_STATES = 8
"""Counterfactual states of one episode: every combination of three things before the first step,
and one for what is unobserved later. Of more, the latest replaces the last, and before the first
step that some combination has no state is remembered (detectors/engine/missing_combinations.py)."""
MAX_WHY = 300
"""Characters of why something could not be known."""


class Branch(Protocol):
    """An engine that goes on from a counterfactual state."""

    state: State

    @property
    def last_reward(self) -> Reward:
        """The reward that was sealed last, in the events that were fed last."""

    def memory(self) -> list[object]:
        """The roots of what it alone holds."""

    def feed(self, events: Iterable[Event]) -> object:
        """Take in the next events of the episode."""

    def catch_up(self, event: Event, stale: tuple[str, ...], *, is_so: bool) -> None:
        """Read the event at which the branch was made, of which its world has it already, and
        suppose ``is_so`` of what can't be known of it."""

    def take_sibling(self) -> Branch | None:
        """Return the branch that this one was divided into at this event, once."""

    def forget_payments(self, milestones: Iterable[Milestone]) -> None:
        """Take out of the books what a masked step would have paid."""


class Counterfactuals:
    """The counterfactual states of one episode, each with the engine that goes on from it."""

    def __init__(
        self,
        ruleset: Ruleset,
        state: State,
        make_branch: Callable[[State], Branch],
        *,
        is_branch: bool,
    ) -> None:
        """``make_branch``: makes the engine of a counterfactual state; ``is_branch``: the engine of
        ``state`` is such a branch itself."""
        self._ruleset, self._state, self._make_branch = ruleset, state, make_branch
        self._is_branch = is_branch
        self._catching_up: bool | None = None
        self.new_branch: Branch | None = None
        """The branch that was made at this event, which it has yet to read."""
        self.branches: list[Branch] = []
        if not is_branch:
            self.branches += map(make_branch, state.supposed)

    def suppose(self, leaf: ConditionNode, error: UnseenError, event: Event) -> bool:
        """Record what a rule can't know of the event, before anything is read of it. Returns
        whether to suppose that it was as expected: only a branch does."""
        if self._is_branch:
            return self._suppose_in_branch()
        state, ruleset = self._state, self._ruleset
        latest = max((seq for seq, _ in state.hidden.values()), default=0)
        id = ruleset.task.milestones[leaf.owner].id
        hidden = [error.since or event.seq, f"{leaf.rule.name}: {error}"[:MAX_WHY]]
        state.hidden[id] = hidden
        if state.began and self._may_turn_a_step(id):
            # No counterfactual state covers all that may be.
            state.blind.setdefault("rules", hidden)
            state.doubt_owners((ALL,))
        _add(state.unclear, leaf.id)
        if not state.is_live(event):
            _add(state.unclear_starts, leaf.owner)
        is_new = (error.since or event.seq) > latest
        if is_new and not self._newest_agrees():
            self._fork()
        return False

    def _suppose_in_branch(self) -> bool:
        """Return what a branch supposes: that it was as expected. Before the first step it is
        divided: the other one supposes of this event that it was not."""
        if self._catching_up is not None:
            return self._catching_up
        if not self._state.began and self.new_branch is None:
            self.new_branch = self._make_branch(self._copy())
        return True

    @contextmanager
    def catch_up(self, *, is_so: bool) -> Iterator[None]:
        """While the event is read at which this branch was made, suppose ``is_so``."""
        self._catching_up = is_so
        yield
        self._catching_up = None

    def _may_turn_a_step(self, id: str) -> bool:
        """Whether a milestone that any step may pay could be undone by what milestone ``id`` can't
        know. What must hold at the end is decided there (detectors/engine/credit.py)."""
        milestones = self._ruleset.task.milestones
        return any(
            id in ids and not spec.must_hold_at_end
            for spec, ids in zip(milestones, self._ruleset.turning, strict=True)
        )

    def mark_credited_to_nobody(self) -> None:
        """Leave the milestones open that rest on what could not be known, where something came
        that is credited to nobody: what of them was so by then can't be earned any more."""
        for id in self._state.hidden:
            _add(self._state.unclear_starts, self._ruleset.index[id])

    def _newest_agrees(self) -> bool:
        """Whether the newest branch has paid the same so far, and supposes the same of what was so
        before the first step: then it stands for this event too."""
        if not self.branches:
            return False
        newest = self.branches[-1].state
        is_of_start = self._state.unclear_starts and not newest.forked_live
        return not is_of_start and newest.awards == self._state.awards

    def _fork(self) -> None:
        """Make a branch from the state before anything is read of the event."""
        self.new_branch = self._make_branch(self._copy())
        self._add_branch(self.new_branch)

    def _copy(self) -> State:
        """Return a copy of the state, without the counterfactual ones."""
        state, others = self._state, self._state.supposed
        state.supposed = []
        copy = State.load(state.dump(), self._ruleset.digest)
        state.supposed = others
        copy.forked_live = state.began
        return copy

    def _add_branch(self, branch: Branch) -> None:
        if not self._state.began and len(self.branches) >= MAX_STATES:
            record_missing_combination(self._state)
        self._state.supposed = [*self._state.supposed[: MAX_STATES - 1], branch.state]
        self.branches[MAX_STATES - 1 :] = [branch]

    def adopt_siblings(self) -> None:
        """Take in the branches that others were divided into at this event."""
        found = [branch.take_sibling() for branch in self.branches]
        for sibling in found:
            if sibling is None:
                continue
            if len(self.branches) < MAX_STATES:
                self._add_branch(sibling)
            else:
                record_missing_combination(self._state)

    def take_new_branch(self) -> Branch:
        """Return the branch that was made at this event, once; there is one."""
        branch, self.new_branch = self.new_branch, None
        assert branch is not None
        return branch

    def mark_disputed_step(self, milestones: tuple[Milestone, ...]) -> bool:
        """Mark the step that is sealed as not known, where a branch does not pay it as
        ``milestones`` do; return whether one does not."""
        state = self._state
        if state.blind:
            return False
        for branch in self.branches:
            difference = find_difference(
                state, milestones, branch.state, branch.last_reward, self._ruleset.index
            )
            if difference is not None:
                id, what = difference
                seq, why = state.hidden.get(id or "", max(state.hidden.values()))
                state.blind["rules"] = [seq, f"{why}; {what}"]
                if id is None:  # the other refuses something, or ends otherwise
                    negative = self._ruleset.negative
                    state.refuse(n for n, rests in enumerate(negative) if rests)
                return True
        return False

    def paid_in_all(self, penalties: Iterable[Milestone]) -> tuple[Milestone, ...]:
        """Return those of ``penalties`` that the step has in every branch, too."""
        fined = [
            {m.id for m in branch.last_reward.milestones if m.worth < 0} for branch in self.branches
        ]
        return tuple(m for m in penalties if all(m.id in ids for ids in fined))

    def settle_step(self, kept: Collection[Milestone]) -> None:
        """Let the branches forget what a step that is not known would have paid, but for the
        penalties ``kept``; and leave the success open that is not the same in all of them."""
        state, ids = self._state, {m.id for m in kept}
        for branch in self.branches:
            reward = branch.last_reward
            if state.blind and reward.reason is None:
                branch.forget_payments(m for m in reward.milestones if m.id not in ids)
        if state.closed and any(b.state.success is not state.success for b in self.branches):
            state.success = None


def _add(numbers: list[int], number: int) -> None:
    if number not in numbers:
        numbers.append(number)


def find_difference(
    own: State,
    milestones: Iterable[Milestone],
    other: State,
    reward: Reward,
    index: Mapping[str, int],
) -> tuple[str | None, str] | None:
    """Return where a branch's ``reward`` is not what ``milestones`` of our own pay for the same
    step: the milestone's id (None: what the end is worth) and what may be; None where they agree.

    A milestone that only our own pays was paid in the branch before, in a step that was null: what
    is known by now is made up for.
    """
    ours, theirs = _payments(milestones), _payments(reward.milestones)
    for id in sorted(ours.keys() | theirs.keys()):
        mine, its = ours.get(id, 0.0), theirs.get(id, 0.0)
        if abs(mine - its) <= MIN_DIFFERENCE:
            continue
        if mine > 0 and its == 0 and _has_paid(own, other, index.get(id)):
            continue
        if id in index:
            return id, f"milestone {id} may have come true"
        return None, f"{id} may be {its:g}"
    if own.success is not None and own.closed and other.success is not own.success:
        return None, "the goal may have been decided otherwise"
    return None if reward.reason is None else (None, reward.reason)


def _has_paid(own: State, other: State, n: int | None) -> bool:
    """Whether the other state has paid for the milestone what our own pays only now."""
    if n is None or n not in own.awards or n not in other.awards:
        return False
    mine, its = own.awards[n], other.awards[n]
    return its.best - its.base >= mine.best - mine.base - MIN_DIFFERENCE


def _payments(milestones: Iterable[Milestone]) -> dict[str, float]:
    """What each pays of its level; of what comes with the end and the steps, its worth."""
    parts: dict[str, list[float]] = {}
    for m in milestones:
        if not m.baseline:
            parts.setdefault(m.id, []).append(m.worth if m.id.startswith("(") else m.value)
    return {id: total(values) for id, values in parts.items()}
