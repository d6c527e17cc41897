"""Who is paid what: once by default, only what is new, only in order, never for what was so at the
start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from detectors.engine.conditions import Conditions, Risen
from detectors.engine.gaps import RULES, describe_doubt, find_affected
from detectors.engine.level_bounds import LevelBounds
from detectors.engine.state import ALL, Award, State
from detectors.model.rewards import total
from detectors.model.types import Event, Milestone
from detectors.sdk.registry import Standing
from detectors.task.language import MilestoneSpec
from detectors.task.ruleset import ConditionNode, Ruleset

MAX_EVIDENCE = 64
STEP_COST = "step_cost"
MAX_REVOKED = 100
"""Times that a milestone may be taken back and earned again; after that it is not paid any more."""


class Credit:
    """The awards of one episode."""

    def __init__(self, ruleset: Ruleset, state: State, conditions: Conditions) -> None:
        self._rules, self._state, self._conditions = ruleset, state, conditions
        self._bounds = LevelBounds(ruleset, state, conditions)
        self._specs = ruleset.task.milestones
        self._reached: list[Milestone] = []
        self._levelled = [
            n
            for n, spec in enumerate(self._specs)
            if spec.component in ruleset.task.credit and spec.penalty is None
        ]

    def take_reached(self) -> list[Milestone]:
        """Return the milestones that were reached since this was last called."""
        reached, self._reached = self._reached, []
        return reached

    def add(self, milestone: Milestone) -> None:
        """Pay a milestone in the step that runs."""
        self._state.pending.append(milestone)
        self._reached.append(milestone)

    def credit_risen(self, risen: Iterable[Risen], event: Event) -> None:
        """Give credit for the conditions that were read in ``event``, in this order."""
        for node, key in risen:
            self._credit(node, self._conditions.standing(node), key, event)

    def _credit(self, node: ConditionNode, standing: Standing, key: str, event: Event) -> None:
        """A milestone's condition was read, or its gate, or what revokes it."""
        is_live = self._state.is_live(event)
        if node.role != "when":
            if is_live and standing.now >= 1.0 and event.seq in standing.at:
                self._revoke_or_open(node, standing, event)
            return
        spec, award = self._specs[node.owner], self._state.award(node.owner)
        if not is_live:
            self._credit_baseline(node, standing, event)
            return
        if spec.baseline == "transition":
            self._lower_baseline(node, award, standing, event)
        if spec.must_hold_at_end or event.seq not in standing.at:
            return
        if not self._is_in_order(node.owner, event):
            return
        if spec.penalty is not None:
            self._penalise(node, standing, event)
        elif spec.repeat > 1:
            self._repeat(node, standing, key, event)
        else:
            self._progress(node, standing, standing.now, event)

    def _lower_baseline(
        self, node: ConditionNode, award: Award, standing: Standing, event: Event
    ) -> None:
        """What was so at the start and is not any more may be earned from here on."""
        if award.best == award.base and standing.now < award.base:
            award.base = award.best = standing.now
            award.met = 0
            self._update_goals(node.owner, event)

    def _revoke_or_open(self, node: ConditionNode, standing: Standing, event: Event) -> None:
        """What takes a milestone back came true, or its gate did."""
        if node.role == "revoke_on":
            self._revoke(node.owner, standing.at, event)
            return
        spec = self._specs[node.owner]
        if spec.must_hold_at_end or spec.repeat > 1 or spec.penalty is not None:
            # paid at the end, or for each event by itself: then the gate must be open at that
            # moment
            return
        if not self._is_in_order(node.owner, event):
            return
        top = self._top(node.owner)
        own = self._conditions.standing(top)
        came = max(own.at, default=0)
        if any(self._award_of(name).met >= came for name in spec.after):
            return  # it came too early
        proof = tuple(sorted({*own.at, *standing.at}))
        self._progress(top, replace(own, at=proof), own.now, event)

    def close(self, event: Event) -> None:
        """Decide what only the end can decide."""
        decided = [n for n, spec in enumerate(self._specs) if spec.must_hold_at_end]
        if not self._state.began or not decided:
            return
        if self._state.blind or any(map(self._state.is_doubtful, decided)):
            self._mark_doubtful(event.seq, "what must hold at the end may not hold any more")
            self._state.doubt_owners((ALL,))
            return
        unknown = next((n for n in decided if self.rests_on_hidden(n)), None)
        if unknown is not None:
            why = f"whether milestone {self._specs[unknown].id} holds at the end is not known"
            self._mark_doubtful(event.seq, why)
            self._state.doubt_owners((ALL,))
            return
        # One may wait for another that the close decides too, in whatever order they are written.
        for _ in decided:
            before = len(self._state.pending)
            self._decide_at_end(decided, event)
            if len(self._state.pending) == before:
                return

    def _decide_at_end(self, owners: Iterable[int], event: Event) -> None:
        """Pay those of the milestones whose turn it is for how they stand at the end."""
        for n in owners:
            if self._is_in_order(n, event, closing=True):
                node = self._top(n)
                standing = self._conditions.standing(node)
                self._progress(node, standing, self._conditions.level(node), event)

    def pay_levels(self, event: Event) -> None:
        """Pay components credited by level: each milestone's present level, less what it was at
        the baseline."""
        for n in self._levelled:
            node = self._top(n)
            standing = self._conditions.standing(node)
            level = max(0.0, standing.now - self._state.award(n).base)
            if level > 0 and self._is_in_order(n, event) and not self._is_unknowable(n, event.seq):
                self._pay(node, level, level * self._rules.share[n], standing, standing.at)

    def is_certain_penalty(self, milestone: Milestone) -> bool:
        """Whether it is a penalty that rests on nothing which may have gone unobserved."""
        n = self._rules.index.get(milestone.id)
        if n is None or self._specs[n].penalty is None:
            return False
        return not self._rules.negative[n] and not self.rests_on_hidden(n)

    def rests_on_hidden(self, owner: int) -> bool:
        """Whether it rests on something that no rule could know, among what may undo it: that of
        two such things one is so and the other is not, no counterfactual state covers
        (detectors/engine/counterfactual.py)."""
        hidden = self._rules.turning[owner].intersection(self._state.hidden)
        spec = self._specs[owner]
        if spec.must_hold_at_end and hidden == {spec.id}:
            return not self._bounds.is_same_at_end(owner)
        return bool(hidden)

    def forget_payments(self, milestones: Iterable[Milestone]) -> None:
        """After a seal: what a masked step would have paid or taken back was not, so the books
        forget it."""
        for milestone in milestones:
            n = self._rules.index.get(milestone.id)
            if milestone.id == f"({STEP_COST})":
                self._state.penalties = total((self._state.penalties, -milestone.worth))
            if n is None:
                continue  # what the end is worth is decided once
            if self._specs[n].penalty is not None:
                self._state.penalties = total((self._state.penalties, -milestone.worth))
            elif self._specs[n].component not in self._rules.task.credit:
                award = self._state.award(n)
                award.paid = total((award.paid, -milestone.worth))

    def _top(self, owner: int) -> ConditionNode:
        return self._rules.nodes[self._rules.tops[owner]]

    def _award_of(self, id: str) -> Award:
        return self._state.award(self._rules.index[id])

    def _credit_baseline(self, node: ConditionNode, standing: Standing, event: Event) -> None:
        """What was so at the start, or came true in a gap: it is credited to nobody."""
        spec, award = self._specs[node.owner], self._state.award(node.owner)
        began, level = self._state.began, standing.now
        if spec.penalty is not None or (began and level <= award.best):
            return
        if began:
            self._mark_if_in_gap(node.owner, event)
        if spec.repeat > 1:
            level = _claim_for_nobody(award, standing.keys or (), spec.repeat)
        # What was credited before stays credited: only what came true unseen is nobody's.
        award.base = award.base + level - award.best if began else level
        award.best = level
        met = award.met
        if level >= 1.0:
            self._meet(award, event)
        else:
            award.met = 0
        if award.met and not met:
            milestone = self._milestone(node, 0.0, 0.0, standing, standing.at, baseline=True)
            self._reached.append(milestone)
        if award.met != met:
            self._update_goals(node.owner, event)

    def _mark_if_in_gap(self, owner: int, event: Event) -> None:
        """Mark the step where a milestone came true in a gap of its event's source: when, and by
        whose doing, can't be known."""
        source = event.source
        if not any(name.partition(":")[0] == source for name in self._state.gaps):
            return
        if self._is_in_order(owner, event):
            why = f"milestone {self._specs[owner].id} came true during a gap"
            self._state.blind.setdefault(source, [event.seq, why])

    def _meet(self, award: Award, event: Event) -> None:
        """Note when a milestone was first full."""
        if not award.met:
            award.met, award.met_at, award.met_step = event.seq, event.at, self._state.steps

    def _is_in_order(self, n: int, event: Event, *, closing: bool = False) -> bool:
        """Whether it may pay now: after and before others, within its window and the task's, its
        gate open."""
        spec = self._specs[n]
        last = event.seq + 1 if closing else event.seq
        if spec.after and not all(0 < self._award_of(name).met < last for name in spec.after):
            return False
        if spec.before and any(self._award_of(name).met for name in spec.before):
            return False
        if not self._is_in_time(spec, event):
            return False
        gate = self._rules.gates[n]
        return gate is None or self._conditions.level(self._rules.nodes[gate]) >= 1.0

    def _is_in_time(self, spec: MilestoneSpec, event: Event) -> bool:
        state, limits = self._state, self._rules.task.limits
        if limits is None and spec.within is None:
            return True
        # The close comes whenever the harness gets to it: what it decides was done by the last step
        # that began.
        at = state.step_at if event.kind == "episode.closed" else event.at
        elapsed = at - state.began_at
        if limits is not None and spec.penalty is None and not limits.holds(state.steps, elapsed):
            return False
        if spec.within is None:
            return True
        if spec.since is None:
            return spec.within.holds(state.steps, elapsed)
        since = self._award_of(spec.since)
        return since.met > 0 and spec.within.holds(state.steps - since.met_step, at - since.met_at)

    def _progress(
        self, node: ConditionNode, standing: Standing, level: float, event: Event
    ) -> None:
        """Credit what the level is above the best so far."""
        award = self._state.award(node.owner)
        if level <= award.best or award.revoked >= MAX_REVOKED:
            return
        if self._is_unknowable(node.owner, event.seq):
            return
        value, award.best = level - award.best, level
        self._earn(node, award, value, standing, event)

    def _repeat(self, node: ConditionNode, standing: Standing, key: str, event: Event) -> None:
        """Credit one more of the times that a milestone may be reached, once for each key."""
        spec, award = self._specs[node.owner], self._state.award(node.owner)
        if standing.now < 1.0 or key in award.keys or len(award.keys) >= spec.repeat:
            return
        if award.revoked >= MAX_REVOKED or self._is_unknowable(node.owner, event.seq):
            return
        award.keys.append(key)
        award.best = len(award.keys) / spec.repeat
        self._earn(node, award, 1 / spec.repeat, standing, event)

    def _penalise(self, node: ConditionNode, standing: Standing, event: Event) -> None:
        """Take a penalty, down to the floor of the episode."""
        spec, award = self._specs[node.owner], self._state.award(node.owner)
        if standing.now < 1.0 or len(award.keys) >= spec.repeat:
            return
        if self._is_unknowable(node.owner, event.seq):
            return
        award.keys.append(str(event.seq))
        self._meet(award, event)
        left = min(0.0, total((self._rules.task.penalty_floor, -self._state.penalties)))
        worth = max(self._rules.share[node.owner], left)
        self._state.penalties = total((self._state.penalties, worth))
        self._pay(node, -1.0, worth, standing, standing.at)

    def _earn(
        self, node: ConditionNode, award: Award, value: float, standing: Standing, event: Event
    ) -> None:
        """Pay ``value`` of a milestone's level by what its component is credited by."""
        task, component = self._rules.task, self._specs[node.owner].component
        if award.best >= 1.0:
            self._meet(award, event)
            award.earned = True
        if award.earned and self._rules.final[node.owner]:
            self._conditions.settle(node)
        if component in task.shaped:
            self._pay(node, value, 0.0, standing, standing.at)  # its potential pays, at the seal
        elif component not in task.credit:
            # Never more than the share, whatever a masked step hid of an earlier revocation.
            share = self._rules.share[node.owner]
            worth = min(value * share, share - award.paid)
            award.paid += worth
            self._pay(node, value, worth, standing, standing.at)
        self._update_goals(node.owner, event)

    def _revoke(
        self, owner: int, evidence: tuple[int, ...], event: Event, *, forget: bool = True
    ) -> None:
        """Take back what was paid; what must be redone is forgotten, what was so at the start is
        not."""
        award, node = self._state.award(owner), self._top(owner)
        standing = self._conditions.standing(node)
        had = award.best > award.base or award.paid != 0.0
        task, component = self._rules.task, self._specs[owner].component
        is_unpaid = component in task.shaped or component in task.objectives
        if award.paid or (had and is_unpaid):
            self._pay(node, award.base - award.best, 0.0 - award.paid, standing, evidence)
        self._state.unkept = [n for n in self._state.unkept if n != owner]
        self._state.awards[owner] = Award(
            award.base,
            award.base,
            keys=list(award.nobodys),
            revoked=award.revoked + had,
            nobodys=award.nobodys,
        )
        if forget:
            self._conditions.forget(node)
        for goal in self._rules.dependents.get(owner, ()):
            upper = self._rules.nodes[goal]
            self._conditions.combine(upper, self._conditions.standing(upper), 0, event)
            if had:
                self._revoke(upper.owner, evidence, event, forget=False)

    def _is_unknowable(self, owner: int, seq: int) -> bool:
        """Whether paying rests on something not having happened, in an episode that was not wholly
        observed; then the step is marked."""
        state = self._state
        if not self._rules.negative[owner]:
            return False
        is_hidden = state.is_doubtful(owner) or state.may_be_unseen(owner)
        if not (is_hidden or self._is_blind_to(owner) or self.rests_on_hidden(owner)):
            return False
        state.refuse((owner,))
        state.doubt_owners(self._rules.find_resting(frozenset((owner,))))
        id = self._specs[owner].id
        self._mark_doubtful(seq, f"milestone {id} rests on what did not happen, which is not known")
        return True

    def _is_blind_to(self, owner: int) -> bool:
        """Whether what is not observed in the step that runs may be of a milestone."""
        names = [name for name in self._state.blind if name != RULES]
        affected = [find_affected(self._rules, name) for name in names]
        return any(owner in found or ALL in found for found in affected)

    def _mark_doubtful(self, seq: int, why: str) -> None:
        """Mark the step as not known because of what was not observed before it. What was not
        observed in it has marked it by itself."""
        state = self._state
        doubt = "" if state.blind else describe_doubt(state)
        state.blind.setdefault("rules", [seq, f"{why}; {doubt}" if doubt else why])

    def _update_goals(self, owner: int, event: Event) -> None:
        """Let the goals that require the milestone look at it."""
        for goal in self._rules.dependents.get(owner, ()):
            node = self._rules.nodes[goal]
            own = self._conditions.standing(node)
            if self._conditions.combine(node, own, 0, event):
                self._credit(node, own, "", event)

    def _pay(
        self,
        node: ConditionNode,
        value: float,
        worth: float,
        standing: Standing,
        evidence: tuple[int, ...],
    ) -> None:
        self.add(self._milestone(node, value, worth, standing, evidence))

    def _milestone(
        self,
        node: ConditionNode,
        value: float,
        worth: float,
        standing: Standing,
        evidence: tuple[int, ...],
        *,
        baseline: bool = False,
    ) -> Milestone:
        spec, step, cause = self._specs[node.owner], self._state.current_step, standing.cause
        has_cause = cause is not None and 0 <= cause != step
        return Milestone(
            id=spec.id,
            rule=node.rule.name,
            version=node.rule.version,
            component=spec.component,
            step=step if self._state.began else -1,
            value=round(value, 12),
            worth=worth,
            evidence=evidence,
            cause_step=cause if has_cause else None,
            baseline=baseline,
        )


def _claim_for_nobody(award: Award, keys: Iterable[str], repeat: int) -> float:
    """Use up keys of a milestone that may be reached ``repeat`` times; return its level then."""
    left = repeat - len(award.keys)
    new = [key for key in keys if key not in award.keys][:left]
    award.keys, award.nobodys = [*award.keys, *new], [*award.nobodys, *new]
    return len(award.keys) / repeat
