"""Why each milestone of a task paid in a recording, or why it did not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from api.rewards.near_miss import Misses, in_words
from api.rewards.rendering import terms, waits_for, window_in_words
from api.verdicts.recorded import Playback
from detectors.engine.conditions import Conditions
from detectors.engine.engine import Engine
from detectors.engine.gaps import NEVER_REPORTED
from detectors.model.kinds import KINDS
from detectors.model.rewards import total
from detectors.model.types import Alarm, Event, Milestone, Reward
from detectors.sdk.registry import Rule
from detectors.task.language import MilestoneSpec
from detectors.task.ruleset import ConditionNode, Ruleset
from detectors.task.source_dependencies import depends_on


@dataclass(frozen=True, slots=True)
class Explained:
    """One milestone: what it waits for, and what became of it (empty without a recording)."""

    id: str
    worth: float
    waits: tuple[str, ...]
    became: tuple[str, ...]


def in_general(rules: Ruleset) -> list[Explained]:
    """Explain what each milestone of the task waits for."""
    return [
        Explained(m.id, rules.share[n], (*waits_for(m.when), *terms(m), *_objective(rules, m)), ())
        for n, m in enumerate(rules.task.milestones)
    ]


def _objective(rules: Ruleset, m: MilestoneSpec) -> Iterator[str]:
    """Say what a milestone of an objective adds to that."""
    if m.id in rules.objective_share:
        yield (
            f"adds {rules.objective_share[m.id]:g} to the objective {m.component}, nothing to the"
            " reward"
        )


def of_events(
    rules: Ruleset,
    events: Iterable[Event],
    episode: str,
    verdicts: Sequence[Mapping[str, object]] | None = None,
) -> tuple[list[Explained], Playback]:
    """Explain each milestone with what became of it in a log, and return the log as it was scored.

    ``verdicts``: its log of verdicts, by which a step that was asked about is null or not; without
    it such a step is worth what the rules say.
    """
    playback, misses = Playback(rules, episode, verdicts or ()), Misses(rules.nodes)
    engine = playback.engine
    by_rules: list[Reward] = []
    reached: list[Milestone] = []
    alarms: list[Alarm] = []
    gaps: list[Event] = []
    for event in events:
        if event.kind in _BLINDING:
            gaps.append(event)
        outcome = playback.take([event])
        by_rules.extend(outcome.rewards)
        reached.extend(outcome.milestones)
        alarms.extend(outcome.alarms)
        misses.take(event, engine.state.world, engine.state.step)
    rewards = by_rules if verdicts is None else playback.rewards
    why = _Why(engine, misses, reached, rewards, alarms, gaps)
    explained = [
        Explained(one.id, one.worth, one.waits, tuple(why.explain(n)))
        for n, one in enumerate(in_general(rules))
    ]
    return explained, playback


_BLINDING = ("gap.began", "events.dropped")


def _gap_in_words(gap: Event) -> str:
    """Name the source, what of it was not observed, from which event on, and why."""
    source, part = gap.data.get("source"), gap.data.get("part")
    if gap.kind == "events.dropped":
        count, reason = gap.data.get("count"), gap.data.get("reason")
        lost = "observations" if count is None else f"{count} observations"
        return f"event {gap.seq}: {lost} of {source} were lost: {reason}"
    about = f"{source}:{part}" if part is not None else source
    return f"nothing of {about} was observed from event {gap.seq} on: {gap.data.get('reason')}"


def _steps_in_words(steps: list[int]) -> str:
    """Name ascending steps: the first and the last where none between them is missing."""
    if len(steps) == 1:
        return f"step {steps[0]} is null"
    if steps[-1] - steps[0] == len(steps) - 1:
        return f"steps {steps[0]} to {steps[-1]} are null"
    return f"steps {', '.join(map(str, steps))} are null"


class _Why:
    """Looks at the end of an episode."""

    def __init__(
        self,
        engine: Engine,
        misses: Misses,
        reached: list[Milestone],
        rewards: list[Reward],
        alarms: list[Alarm],
        gaps: list[Event],
    ) -> None:
        self._alarms = alarms
        self._engine, self._misses, self._reached = engine, misses, reached
        self._rules, self._state = engine.ruleset, engine.state
        self._conditions: Conditions = engine.conditions
        self._masked = {r.step: r.reason for r in rewards if r.mask}
        self._gaps = gaps

    def explain(self, n: int) -> Iterator[str]:
        """Yield lines on milestone number ``n``: what it paid, or why it did not."""
        spec = self._rules.task.milestones[n]
        rules = {node.rule.name for node in self._rules.nodes if node.owner == n}
        for alarm in self._alarms:
            if alarm.rule in rules:
                failed = f"a matcher of {alarm.rule} ({alarm.matcher}) failed: {alarm.error}"
                yield f"event {alarm.seq}: {failed}; that counts as no match"
        reached = [m for m in self._reached if m.id == spec.id]
        for m in reached:
            yield self._paid(m)
        award = self._state.awards.get(n)
        is_whole = spec.penalty is not None or (award is not None and award.best >= 1.0)
        if reached and is_whole:
            return
        unknown = self._unknown(n)
        if spec.penalty is not None:
            yield unknown or "did not happen: no penalty"
            return
        yield from self._not_paid(n, spec, unknown)

    def _paid(self, m: Milestone) -> str:
        events = ", ".join(map(str, m.evidence))
        if m.baseline:
            return f"was so at the start, and earned nothing (events {events})"
        verb, worth = "paid" if m.worth >= 0 else "took", m.worth
        if m.id in self._rules.objective_share:
            verb = f"gave the objective {m.component}"
            worth = total((m.value * self._rules.objective_share[m.id],))
        if m.step in self._masked:
            return (
                f"came true in step {m.step} (events {events}), worth {m.worth:+g}; not paid, since"
                f" the step is null: {self._masked[m.step]}"
            )
        return f"{verb} {worth:+g} in step {m.step} (events {events})"

    def _unknown(self, n: int) -> str:
        """Say which steps are null by what could not be known of milestone ``n``: a source that it
        depends on was blind, a rule of it failed, or a value was kept back. Empty if all of it
        could be observed in all steps."""
        steps: dict[str, list[int]] = {}
        for step, reason in sorted(self._masked.items()):
            for cause in self._causes(n, reason or ""):
                steps.setdefault(cause, []).append(step)
        if not steps:
            return ""
        causes = "; ".join(f"{cause} ({_steps_in_words(those)})" for cause, those in steps.items())
        return f"not known whether it came true: {causes}"

    def _causes(self, n: int, reason: str) -> Iterator[str]:
        """Yield what of a null step's ``reason`` left milestone ``n`` unknown."""
        yield from self._gap_causes(n, reason)
        for rule in sorted(self._rules_of(n)):
            failed = re.search(rf"event \d+: {re.escape(rule)} failed: \w+", reason)
            if failed is not None:
                yield failed[0]
        id = self._rules.task.milestones[n].id
        doubt = f"; milestone {id} may have come true"
        if reason.endswith(doubt) or f"{doubt};" in reason:
            yield reason.removesuffix(doubt)

    def _gap_causes(self, n: int, reason: str) -> Iterator[str]:
        """Yield the gaps that ``reason`` names and milestone ``n`` depends on."""
        for gap in self._gaps:
            source, part = str(gap.data.get("source")), gap.data.get("part")
            part = None if part is None else str(part)
            if f" event {gap.seq}: " in reason and self._depends_on_source(n, source, part):
                yield _gap_in_words(gap)
        for name, (seq, why, _) in self._state.gaps.items():
            source, _, kind = name.partition(":")
            is_cause = why in NEVER_REPORTED and f"{name} saw nothing from event {seq}: " in reason
            if is_cause and self._depends_on_source(n, source, kind):
                yield f"no {kind} was recorded: {why}"

    def _rules_of(self, n: int) -> set[str]:
        """The names of the rules that milestone ``n`` consists of, and those that it requires."""
        nodes = [node for node in self._rules.nodes if node.owner == n]
        names = {node.rule.name for node in nodes}
        return names.union(*(self._rules_of(one) for node in nodes for one in node.requires))

    def _depends_on_source(self, n: int, source: str, part: str | None) -> bool:
        """Whether a condition of milestone ``n``, or of one that it requires, reads what ``source``
        reports, or ``part`` of it."""
        for node in self._rules.nodes:
            if node.owner != n:
                continue
            if any(self._depends_on_source(one, source, part) for one in node.requires):
                return True
            if isinstance(node.rule, Rule) and (
                source == "journal"
                or depends_on(node.rule.heard_kinds(node.args), node.args, source, part)
            ):
                return True
        return False

    def _not_paid(self, n: int, spec: MilestoneSpec, unknown: str) -> Iterator[str]:
        """Say why it did not pay, or only in part; ``unknown``: why that is not known."""
        top = self._rules.nodes[self._rules.tops[n]]
        standing = self._conditions.standing(top)
        if standing.best >= 1.0 or standing.now >= 1.0:
            reasons = list(self._held_back(n, spec, standing.now >= 1.0))
            is_paid = any(m.id == spec.id and not m.baseline for m in self._reached)
            if not reasons and not is_paid:
                yield unknown or (
                    "came true before the first step, or during a gap of its source: credited to no"
                    " step"
                )
            yield from reasons
        elif standing.best > 0:
            yield f"{unknown or 'did not pay'}: {standing.best:.0%} of it came true"
        else:
            yield unknown or "did not pay"
        yield from self._parts(top)

    def _held_back(self, n: int, spec: MilestoneSpec, now: bool) -> Iterator[str]:
        """Say why it did not pay though its condition came true; ``now``: it is true at the end."""
        yield from self._out_of_order(n, spec, now)
        gate = self._rules.gates[n]
        if gate is not None and self._conditions.level(self._rules.nodes[gate]) < 1.0:
            yield "came true, but its gate (only_if) was shut:"
            yield from self._parts(self._rules.nodes[gate])
        if spec.must_hold_at_end and not self._engine.closed:
            yield "was true, but the episode is not closed"
        elif spec.must_hold_at_end and not now:
            yield "was true, but not any more at the end"
        if spec.within is not None:
            yield f"pays within {window_in_words(spec.within)} of {spec.since or 'the start'} only"
        if self._rules.task.limits is not None:
            yield f"the task's limit is {window_in_words(self._rules.task.limits)}"

    def _out_of_order(self, n: int, spec: MilestoneSpec, now: bool) -> Iterator[str]:
        """Say which milestones it had to come after, or before, and did not."""
        awards = self._state.awards
        met = {name: awards[i].met for name, i in self._rules.index.items() if i in awards}
        last = max(self._conditions.standing(self._top(n)).at, default=0)
        for name in spec.after:
            if not met.get(name):
                yield f"came true, but {name}, which must come first, was not reached"
            elif not now or met[name] >= last:
                yield f"came true before {name} (event {met[name]}), and not again after it"
        for name in spec.before:
            if met.get(name):
                yield f"came true only after {name} (event {met[name]})"

    def _top(self, n: int) -> ConditionNode:
        return self._rules.nodes[self._rules.tops[n]]

    def _parts(self, node: ConditionNode, depth: int = 0) -> Iterator[str]:
        """What of a condition is missing, leaf by leaf."""
        indent, standing = "  " * depth, self._conditions.standing(node)
        if isinstance(node.rule, Rule):
            nearest = self._misses.nearest.get(node.id)
            miss = in_words(nearest, node.rule.name, self._arguments(node))
            perhaps = self._perhaps_unrecorded(node.rule, node.args) if nearest is None else ""
            yield f"{indent}{node.rule.name}: {miss}{perhaps}"
            return
        for index in node.requires:
            award = self._state.awards.get(index)
            if award is None or not award.met:
                required = self._rules.task.milestones[index].id
                yield f"{indent}requires {required}, which was not reached"
        is_wanted = node.rule.name == "none_of" or standing.now < 1.0
        for child in node.children:
            below = self._rules.nodes[child]
            if is_wanted or self._conditions.standing(below).now < 1.0:
                yield from self._parts(below, depth + 1)

    def _perhaps_unrecorded(self, rule: Rule, args: object) -> str:
        """Say which kinds a recording of another task may lack, since they are recorded only if
        asked for; empty if there are none."""
        if self._engine.recorded_under in (None, self._rules.digest):
            return ""
        asked = [kind for kind in rule.heard_kinds(args) if kind in KINDS and KINDS[kind].asked]
        if not asked:
            return ""
        return (
            f"; {', '.join(asked)}: recorded only if the task of the recording asks for it, and"
            " that was another one"
        )

    def _arguments(self, node: ConditionNode) -> dict[str, object]:
        """The arguments as the task has them."""
        task = self._rules.task.milestones[node.owner]
        condition = {"when": task.when, "revoke_on": task.revoke_on, "only_if": task.only_if}[
            node.role
        ]
        path: list[int] = []
        while node.parent >= 0:
            path.append(node.place)
            node = self._rules.nodes[node.parent]
        for place in reversed(path):
            assert condition is not None
            condition = condition.of[place]
        return dict(condition.args) if condition is not None else {}
