"""Who is paid what: once by default, only what is new, only in order, never for what was so at the
start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from detectors.engine.state import Award, State
from detectors.model.rewards import total
from detectors.model.types import Event, Milestone, MilestoneSpec
from detectors.sdk.registry import Standing
from detectors.task.ruleset import ConditionNode, Ruleset

if TYPE_CHECKING:
    from detectors.engine.conditions import Conditions


MAX_EVIDENCE = 64
MAX_REVOKED = 100
"""Times that a milestone may be taken back and earned again; after that it is not paid any more."""


class Credit:
    """The awards of one episode. ``reached`` is where milestones are told of as they come."""

    conditions: Conditions

    def __init__(self, ruleset: Ruleset, state: State) -> None:
        self._rules, self._state = ruleset, state
        self._specs = ruleset.task.milestones
        self.reached: list[Milestone] = []
        credit = ruleset.task.credit
        self._levelled = [
            n for n, m in enumerate(self._specs) if m.component in credit and m.penalty is None
        ]

    def read(self, node: ConditionNode, standing: Standing, key: str, event: Event) -> None:
        """A milestone's condition (or what revokes it) was read."""
        if node.role != "when":
            if not self._baseline(event):
                self._revoked_or_opened(node, standing, event)
            return
        spec, award = self._specs[node.owner], self._award(node.owner)
        if self._baseline(event):
            self._at_baseline(node, spec, award, standing, event)
            return
        if spec.baseline == "transition" and award.best == award.base and standing.now < award.base:
            # It was so at the start and is not any more: from here on it may be earned.
            award.base = award.best = standing.now
            award.met = 0
            self._tell_goals(node.owner, event)
        if (
            spec.must_hold_at_end
            or event.seq not in standing.at
            or not self._in_order(node.owner, event)
        ):
            return
        if spec.penalty is not None:
            self._penalise(node, spec, award, standing, event)
        elif spec.repeat > 1:
            self._repeat(node, spec, award, standing, key, event)
        else:
            self._progress(node, spec, award, standing, event)

    def _revoked_or_opened(self, node: ConditionNode, standing: Standing, event: Event) -> None:
        """What takes a milestone back came true, or its gate was read."""
        if standing.now < 1.0 or event.seq not in standing.at:
            return
        if node.role == "revoke_on":
            self._revoke(node.owner, standing.at, event)
            return
        n, spec = node.owner, self._specs[node.owner]
        top = self._rules.nodes[self._rules.tops[n]]
        if (
            spec.must_hold_at_end
            or spec.repeat > 1
            or spec.penalty is not None
            or not self._in_order(n, event)
        ):
            # paid at the end, or for each event by itself: then the gate must be open at that
            # moment
            return
        own = self.conditions.standing(top)
        if any(
            self._award(self._rules.index[name]).met >= max(own.at, default=0)
            for name in spec.after
        ):
            return  # it came too early
        proof = tuple(sorted({*own.at, *standing.at}))
        self._progress(top, spec, self._award(n), replace(own, at=proof), event)

    def close(self, event: Event) -> None:
        """Decide what only the end can decide."""
        if not self._state.began:
            return
        if self._state.doubt or self._state.blind:
            if any(spec.must_hold_at_end for spec in self._specs):
                self._blind(
                    event.seq,
                    "what must hold at the end may have changed while a source saw nothing",
                )
            return
        # One may wait for another that the close decides too, in whatever order they are written.
        for _ in self._specs:
            before = len(self._state.pending)
            for n, spec in enumerate(self._specs):
                if spec.must_hold_at_end and self._in_order(n, event, closing=True):
                    node = self._rules.nodes[self._rules.tops[n]]
                    standing = self.conditions.standing(node)
                    level = self.conditions.level(node)
                    self._progress(node, spec, self._award(n), standing, event, level)
            if len(self._state.pending) == before:
                return

    def success(self) -> bool | None:
        """Whether every goal milestone was earned; None without one, or where a gap may have hidden
        it."""
        goals = self._goals()
        if not goals:
            return None
        if all(self._award(n).earned for n in goals):
            return True
        return None if self._state.doubt or any(map(self._turns, goals)) else False

    def _goals(self) -> list[int]:
        return [
            n
            for n, top in enumerate(self._rules.tops)
            if self._rules.nodes[top].rule.name == "goal"
        ]

    def ending(self, event: Event) -> None:
        """What the end is worth beside the milestones: the outcome, and a bonus for few steps."""
        task, success = self._rules.task, self._state.success
        if not self._state.began or success is None:
            return
        met = [self._award(n) for n in self._goals()]
        evidence = tuple(sorted({event.seq, *(a.met for a in met if a.met)}))
        if task.outcome is not None:
            value = task.outcome.success if success else task.outcome.failure
            self._extra("outcome", value, value * task.outcome.scale, evidence)
        if task.efficiency is not None and success:
            best, worst = task.efficiency.best, task.efficiency.worst
            spared = (worst - max(a.met_step for a in met)) / (worst - best)
            value = min(1.0, max(0.0, spared))
            self._extra("efficiency", value, value * task.efficiency.weight, evidence)

    def shape(self, event: Event, *, after_last: bool) -> None:
        """F = γΦ(s') − Φ(s) of the step that is sealed; Φ of the end is 0, so that the optimal
        policy stays (Ng, Harada and Russell 1999). A closing step after the last seal completes
        that last step's F: γ·0 − γΦ(s').

        An episode that was cut off did not end there: Φ stays, for a trainer that goes on with the
        value of its last state (Pardo et al. 2018)."""
        shaping, before = self._rules.task.shaping, self._state.potential
        if shaping is None:
            return
        found = {
            n: a
            for n, a in sorted(self._state.awards.items())
            if self._specs[n].component in shaping.components
        }
        now = total(
            (a.best - a.base) * self._rules.share[n]
            for n, a in found.items()
            if self._rules.share[n] > 0
        )
        cut_off = event.kind == "episode.closed" and event.data.get("truncated") is True
        now = 0.0 if self._state.closed and not cut_off else now
        worth = total((shaping.gamma * now, -(shaping.gamma * before if after_last else before)))
        self._state.potential = now
        if worth:
            self._extra(
                "shaping",
                now,
                worth,
                tuple(sorted({event.seq, *(a.met for a in found.values() if a.met)})),
            )

    def _extra(self, name: str, value: float, worth: float, evidence: tuple[int, ...]) -> None:
        if not worth:
            return
        earned = Milestone(
            f"({name})",
            name,
            1,
            name,
            self._step(),
            round(value, 12),
            worth,
            evidence[-MAX_EVIDENCE:],
        )
        self._state.pending.append(earned)
        self.reached.append(earned)

    def required(self, node: ConditionNode) -> tuple[Standing, ...]:
        """How the milestones stand that the goal ``node`` requires."""
        return tuple(self._reached(n) for n in node.requires)

    def levels(self, event: Event) -> None:
        """Components credited by level: each milestone's present level, less what it was at the
        baseline."""
        for n in self._levelled:
            node = self._rules.nodes[self._rules.tops[n]]
            standing = self.conditions.standing(node)
            level = max(0.0, standing.now - self._award(n).base)
            if level > 0 and self._in_order(n, event) and not self._unknowable(n, event.seq):
                self._pay(node, level, level * self._rules.share[n], standing, standing.at)

    def _award(self, n: int) -> Award:
        found = self._state.awards.get(n)
        if found is None:
            found = self._state.awards[n] = Award()
        return found

    def _baseline(self, event: Event) -> bool:
        return not self._state.is_live(event)

    def _at_baseline(
        self,
        node: ConditionNode,
        spec: MilestoneSpec,
        award: Award,
        standing: Standing,
        event: Event,
    ) -> None:
        began, level = self._state.began, standing.now
        if spec.penalty is not None or (began and level <= award.best):
            return
        if began and self._in_a_gap(event.source) and self._in_order(node.owner, event):
            # It came true while nobody watched: when, and by whom, can't be known.
            self._blind(event.seq, f"milestone {spec.id} came true during a gap", event.source)
        if spec.repeat > 1:
            left = spec.repeat - len(award.keys)
            found = [key for key in standing.keys or () if key not in award.keys][:left]
            award.keys, award.nobodys = [*award.keys, *found], [*award.nobodys, *found]
            level = len(award.keys) / spec.repeat
        # What was credited before stays credited: only what came true unseen is nobody's.
        award.base, award.best = (award.base + level - award.best if began else level), level
        met = award.met
        if level >= 1.0:
            self._meet(award, event)
        else:
            award.met = 0
        if award.met and not met:
            self.reached.append(
                self._milestone(node, 0.0, 0.0, standing, standing.at, baseline=True)
            )
        if award.met != met:
            self._tell_goals(node.owner, event)

    def _in_a_gap(self, source: str) -> bool:
        return any(name.partition(":")[0] == source for name in self._state.gaps)

    def _reached(self, n: int) -> Standing:
        full = 1.0 if self._award(n).met else 0.0
        at = self.conditions.standing(self._rules.nodes[self._rules.tops[n]]).at
        return Standing(full, full, at if full else ())

    def _meet(self, award: Award, event: Event) -> None:
        """Note when a milestone was first full."""
        if not award.met:
            award.met, award.met_at, award.met_step = event.seq, event.at, self._state.steps

    def _in_order(self, n: int, event: Event, *, closing: bool = False) -> bool:
        """Whether it may pay now: after and before others, within its window and the task's, its
        gate open."""
        spec, index, last = self._specs[n], self._rules.index, event.seq + closing
        if spec.after and not all(0 < self._award(index[name]).met < last for name in spec.after):
            return False
        if spec.before and any(self._award(index[name]).met for name in spec.before):
            return False
        if not self._in_time(spec, event):
            return False
        gate = self._rules.gates[n]
        return gate is None or self.conditions.level(self._rules.nodes[gate]) >= 1.0

    def _in_time(self, spec: MilestoneSpec, event: Event) -> bool:
        state, limits = self._state, self._rules.task.limits
        if limits is None and spec.within is None:
            return True
        # The close comes whenever the harness gets to it: what it decides was done by the last step
        # that began.
        at = state.step_at if event.kind == "episode.closed" else event.at
        if (
            limits is not None
            and spec.penalty is None
            and not limits.holds(state.steps, at - state.began_at)
        ):
            return False
        if spec.within is None:
            return True
        if spec.since is None:
            return spec.within.holds(state.steps, at - state.began_at)
        since = self._award(self._rules.index[spec.since])
        return since.met > 0 and spec.within.holds(state.steps - since.met_step, at - since.met_at)

    def _progress(
        self,
        node: ConditionNode,
        spec: MilestoneSpec,
        award: Award,
        standing: Standing,
        event: Event,
        level: float | None = None,
    ) -> None:
        level = standing.now if level is None else level
        if (
            level > award.best
            and award.revoked < MAX_REVOKED
            and not self._unknowable(node.owner, event.seq)
        ):
            value, award.best = level - award.best, level
            self._earn(node, spec, award, value, standing, event)

    def _repeat(
        self,
        node: ConditionNode,
        spec: MilestoneSpec,
        award: Award,
        standing: Standing,
        key: str,
        event: Event,
    ) -> None:
        if standing.now < 1.0 or key in award.keys or len(award.keys) >= spec.repeat:
            return
        if award.revoked >= MAX_REVOKED or self._unknowable(node.owner, event.seq):
            return
        award.keys.append(key)
        award.best = len(award.keys) / spec.repeat
        self._earn(node, spec, award, 1 / spec.repeat, standing, event)

    def _penalise(
        self,
        node: ConditionNode,
        spec: MilestoneSpec,
        award: Award,
        standing: Standing,
        event: Event,
    ) -> None:
        if (
            standing.now < 1.0
            or len(award.keys) >= spec.repeat
            or self._unknowable(node.owner, event.seq)
        ):
            return
        award.keys.append(str(event.seq))
        self._meet(award, event)
        left = min(0.0, total((self._rules.task.penalty_floor, -self._state.penalties)))
        worth = max(self._rules.share[node.owner], left)
        self._state.penalties = total((self._state.penalties, worth))
        self._pay(node, -1.0, worth, standing, standing.at)

    def _earn(
        self,
        node: ConditionNode,
        spec: MilestoneSpec,
        award: Award,
        value: float,
        standing: Standing,
        event: Event,
    ) -> None:
        if award.best >= 1.0:
            self._meet(award, event)
        award.earned = award.earned or award.best >= 1.0
        if award.earned and self._rules.final[node.owner]:
            self.conditions.settle(node)
        if spec.component in self._rules.task.shaped:
            self._pay(node, value, 0.0, standing, standing.at)  # its potential pays, at the seal
        elif spec.component not in self._rules.task.credit:
            # Never more than the share, whatever a masked step hid of an earlier revocation.
            worth = min(
                value * self._rules.share[node.owner], self._rules.share[node.owner] - award.paid
            )
            award.paid += worth
            self._pay(node, value, worth, standing, standing.at)
        self._tell_goals(node.owner, event)

    def _revoke(
        self, owner: int, evidence: tuple[int, ...], event: Event, *, forget: bool = True
    ) -> None:
        """Take back what was paid; what must be redone is forgotten, what was so at the start is
        not."""
        award = self._award(owner)
        node = self._rules.nodes[self._rules.tops[owner]]
        standing = self.conditions.standing(node)
        had = award.best > award.base or award.paid != 0.0
        kept = list(award.nobodys)
        again = Award(
            award.base, award.base, keys=kept, revoked=award.revoked + had, nobodys=award.nobodys
        )
        if award.paid or (had and self._specs[owner].component in self._rules.task.shaped):
            self._pay(node, award.base - award.best, 0.0 - award.paid, standing, evidence)
        self._state.awards[owner] = again
        if forget:
            self.conditions.forget(node)
        for goal in self._rules.dependents.get(owner, ()):
            upper = self._rules.nodes[goal]
            self.conditions.combine(upper, self.conditions.standing(upper), 0, event)
            if had:
                self._revoke(upper.owner, evidence, event, forget=False)

    def is_certain_penalty(self, milestone: Milestone) -> bool:
        """Whether it is a penalty that rests on nothing which somebody may have failed to see."""
        n = self._rules.index.get(milestone.id)
        if n is None or self._specs[n].penalty is None:
            return False
        return not self._rules.negative[n] and not self._turns(n)

    def forget(self, milestones: Iterable[Milestone]) -> None:
        """After a seal: what a masked step would have paid or taken back was not, so the books
        forget it."""
        for m in milestones:
            n = self._rules.index.get(m.id)
            if n is None:
                continue  # what the end is worth is decided once
            if self._specs[n].penalty is not None:
                self._state.penalties = total((self._state.penalties, -m.worth))
            elif self._specs[n].component not in self._rules.task.credit:
                award = self._award(n)
                award.paid = total((award.paid, -m.worth))

    def _unknowable(self, owner: int, seq: int) -> bool:
        """Whether paying rests on something not having happened, in an episode that was not wholly
        seen."""
        state = self._state
        if not self._rules.negative[owner]:
            return False
        if not (state.doubt or state.blind or state.unseen or self._turns(owner)):
            return False
        spec = self._specs[owner]
        self._blind(
            seq,
            f"milestone {spec.id} rests on what did not happen, and a source saw nothing for a"
            " while",
        )
        return True

    def _turns(self, owner: int) -> bool:
        """Whether it rests on something that no rule could know, among what may undo it: of two
        such things that one is so and the other is not no story tells
        (detectors/engine/counterfactual.py)."""
        return not self._rules.turning[owner].isdisjoint(self._state.hidden)

    def _blind(self, seq: int, why: str, source: str = "rules") -> None:
        self._state.blind.setdefault(source, [seq, why])

    def _tell_goals(self, owner: int, event: Event) -> None:
        for goal in self._rules.dependents.get(owner, ()):
            node = self._rules.nodes[goal]
            own = self.conditions.standing(node)
            if self.conditions.combine(node, own, 0, event):
                self.read(node, own, "", event)

    def _pay(
        self,
        node: ConditionNode,
        value: float,
        worth: float,
        standing: Standing,
        evidence: tuple[int, ...],
    ) -> None:
        earned = self._milestone(node, value, worth, standing, evidence)
        self._state.pending.append(earned)
        self.reached.append(earned)

    def _step(self) -> int:
        return self._state.step + 1 if self._state.sealed else self._state.step

    def _milestone(
        self,
        node: ConditionNode,
        value: float,
        worth: float,
        standing: Standing,
        evidence: tuple[int, ...],
        baseline: bool = False,
    ) -> Milestone:
        spec, step = self._specs[node.owner], self._step()
        cause = (
            standing.cause if standing.cause is not None and 0 <= standing.cause != step else None
        )
        return Milestone(
            id=spec.id,
            rule=node.rule.name,
            version=node.rule.version,
            component=spec.component,
            step=step if self._state.began else -1,
            value=round(value, 12),
            worth=worth,
            evidence=evidence,
            cause_step=cause,
            baseline=baseline,
        )
