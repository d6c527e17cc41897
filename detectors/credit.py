"""Who is paid what: once by default, only what is new, only in order, never for what was so at the start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from detectors.registry import Standing
from detectors.ruleset import Node, Ruleset
from detectors.state import Award, State
from detectors.types import Event, Milestone, MilestoneSpec

if TYPE_CHECKING:
    from detectors.conditions import Conditions


class Credit:
    """The awards of one episode. ``reached`` is where milestones are told of as they come."""

    conditions: Conditions

    def __init__(self, ruleset: Ruleset, state: State) -> None:
        self._rules, self._state = ruleset, state
        self._specs = ruleset.task.milestones
        self.reached: list[Milestone] = []
        credit = ruleset.task.credit
        self._levelled = [n for n, m in enumerate(self._specs) if m.component in credit and m.penalty is None]

    def read(self, node: Node, standing: Standing, key: str, event: Event) -> None:
        """A milestone's condition (or what revokes it) was read."""
        if node.revokes:
            if standing.now >= 1.0 and not self._baseline(event):
                self._revoke(node.owner, standing.at, event)
            return
        spec, award = self._specs[node.owner], self._award(node.owner)
        if self._baseline(event):
            self._at_baseline(node, spec, award, standing, event)
        elif spec.must_hold_at_end or not self._in_order(spec, event.seq):
            return
        elif spec.penalty is not None:
            self._penalise(node, spec, award, standing, event)
        elif spec.repeat > 1:
            self._repeat(node, spec, award, standing, key, event)
        else:
            self._progress(node, spec, award, standing, event)

    def close(self, event: Event) -> None:
        """Decide what only the end can decide."""
        if not self._state.began:
            return
        for n, spec in enumerate(self._specs):
            node = self._rules.nodes[self._rules.tops[n]]
            standing = self.conditions.standing(node)
            if spec.must_hold_at_end and self._in_order(spec, event.seq):
                self._progress(node, spec, self._award(n), standing, event)

    def success(self) -> bool | None:
        """Whether every goal milestone was earned; None without one, or where a gap may have hidden it."""
        goals = [n for n, top in enumerate(self._rules.tops) if self._rules.nodes[top].rule.name == "goal"]
        if not goals:
            return None
        if all(self._award(n).earned for n in goals):
            return True
        return None if self._state.doubt else False

    def required(self, node: Node) -> tuple[Standing, ...]:
        """How the milestones stand that the goal ``node`` requires."""
        return tuple(self._reached(n) for n in node.requires)

    def levels(self, seq: int) -> None:
        """Components credited by level: each milestone's present level, less what it was at the baseline."""
        for n in self._levelled:
            spec = self._specs[n]
            node = self._rules.nodes[self._rules.tops[n]]
            standing = self.conditions.standing(node)
            level = max(0.0, standing.now - self._award(n).base)
            if level > 0 and self._in_order(spec, seq):
                self._pay(node, level, level * self._rules.share[n], standing, standing.at)

    def _award(self, n: int) -> Award:
        found = self._state.awards.get(n)
        if found is None:
            found = self._state.awards[n] = Award()
        return found

    def _baseline(self, event: Event) -> bool:
        return not self._state.began or event.data.get("baseline") is True

    def _at_baseline(self, node: Node, spec: MilestoneSpec, award: Award, standing: Standing, event: Event) -> None:
        if spec.penalty is not None or standing.now <= award.best:
            return
        award.base = award.best = standing.now
        if standing.now >= 1.0 and not award.met:
            award.met = event.seq
            self.reached.append(self._milestone(node, 0.0, 0.0, standing, standing.at, baseline=True))
            if self._state.began and event.source in self._state.gaps:
                # It came true while nobody watched: when, and by whom, can't be known.
                self._state.blind[event.source] = [event.seq, f"milestone {spec.id} came true during a gap"]
            self._tell_goals(node.owner, event)

    def _reached(self, n: int) -> Standing:
        full = 1.0 if self._award(n).met else 0.0
        at = self.conditions.standing(self._rules.nodes[self._rules.tops[n]]).at
        return Standing(full, full, at if full else ())

    def _in_order(self, spec: MilestoneSpec, seq: int) -> bool:
        index = self._rules.index
        after = all(0 < self._award(index[name]).met < seq for name in spec.after)
        return after and not any(self._award(index[name]).met for name in spec.before)

    def _progress(self, node: Node, spec: MilestoneSpec, award: Award, standing: Standing, event: Event) -> None:
        level = standing.now
        if level > award.best:
            value, award.best = level - award.best, level
            self._earn(node, spec, award, value, value * self._rules.share[node.owner], standing, event)
        elif spec.baseline == "transition" and not award.earned and level < award.best:
            award.base = award.best = level
            award.met = 0

    def _repeat(
        self, node: Node, spec: MilestoneSpec, award: Award, standing: Standing, key: str, event: Event
    ) -> None:
        if standing.now < 1.0 or event.seq not in standing.at or key in award.keys or len(award.keys) >= spec.repeat:
            return
        award.keys.append(key)
        award.best = len(award.keys) / spec.repeat
        value = 1 / spec.repeat
        self._earn(node, spec, award, value, value * self._rules.share[node.owner], standing, event)

    def _penalise(self, node: Node, spec: MilestoneSpec, award: Award, standing: Standing, event: Event) -> None:
        if standing.now < 1.0 or event.seq not in standing.at or len(award.keys) >= spec.repeat:
            return
        award.keys.append(str(event.seq))
        award.met = award.met or event.seq
        worth = max(self._rules.share[node.owner], self._rules.task.penalty_floor - self._state.penalties)
        self._state.penalties += worth
        self._pay(node, -1.0, worth, standing, standing.at)

    def _earn(
        self,
        node: Node,
        spec: MilestoneSpec,
        award: Award,
        value: float,
        worth: float,
        standing: Standing,
        event: Event,
    ) -> None:
        if award.best >= 1.0 and not award.met:
            award.met = event.seq
        award.earned = award.earned or award.best >= 1.0
        if award.earned and self._rules.final(node.owner):
            self.conditions.settled.add(node.id)
        if spec.component not in self._rules.task.credit:
            award.paid += worth
            self._pay(node, value, worth, standing, standing.at)
        self._tell_goals(node.owner, event)

    def _revoke(self, owner: int, evidence: tuple[int, ...], event: Event) -> None:
        award = self._award(owner)
        if not award.earned and award.paid == 0.0:
            return
        node = self._rules.nodes[self._rules.tops[owner]]
        standing = self.conditions.standing(node)
        paid, best = award.paid, award.best
        self._state.awards[owner] = Award()
        if paid:
            self._pay(node, -best, -paid, standing, evidence)
        for goal in self._rules.dependents.get(owner, ()):
            self._revoke(self._rules.nodes[goal].owner, evidence, event)

    def _tell_goals(self, owner: int, event: Event) -> None:
        for goal in self._rules.dependents.get(owner, ()):
            node = self._rules.nodes[goal]
            own = self.conditions.standing(node)
            if self.conditions.combine(node, own, 0, event.seq):
                self.read(node, own, "", event)

    def _pay(self, node: Node, value: float, worth: float, standing: Standing, evidence: tuple[int, ...]) -> None:
        earned = self._milestone(node, value, worth, standing, evidence)
        self._state.pending.append(earned)
        self.reached.append(earned)

    def _milestone(
        self,
        node: Node,
        value: float,
        worth: float,
        standing: Standing,
        evidence: tuple[int, ...],
        baseline: bool = False,
    ) -> Milestone:
        spec, state = self._specs[node.owner], self._state
        step = state.step + 1 if state.sealed else state.step
        cause = standing.cause if standing.cause is not None and 0 <= standing.cause != step else None
        return Milestone(
            id=spec.id,
            rule=node.rule.name,
            version=node.rule.version,
            component=spec.component,
            step=step if state.began else -1,
            value=round(value, 12),
            worth=worth,
            evidence=evidence,
            cause_step=cause,
            baseline=baseline,
        )
