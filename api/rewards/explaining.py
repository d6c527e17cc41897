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
from detectors.engine.gaps import NEVER_REPORTED, is_never_reported
from detectors.matchers.faults import describe_consequence
from detectors.model.kinds import KINDS
from detectors.model.rewards import PARTLY, total
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
    playback = Playback(rules, episode, verdicts or ())
    misses = Misses(rules.nodes)
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
    explained = []
    for n, general in enumerate(in_general(rules)):
        became = tuple(why.explain(n))
        explained.append(Explained(general.id, general.worth, general.waits, became))
    return explained, playback


_BLINDING = ("gap.began", "events.dropped")


def _gap_in_words(gap: Event) -> str:
    """Name the source, what of it was not observed, from which event on, and why."""
    source = gap.data.get("source")
    reason = gap.data.get("reason")
    if gap.kind == "events.dropped":
        count = gap.data.get("count")
        lost = "observations" if count is None else f"{count} observations"
        return f"event {gap.seq}: {lost} of {source} were lost: {reason}"
    part = gap.data.get("part")
    about = source if part is None else f"{source}:{part}"
    return f"nothing of {about} was observed from event {gap.seq} on: {reason}"


def _steps_in_words(steps: list[int]) -> str:
    """Name ascending steps: the first and the last where none between them is missing."""
    first, last = steps[0], steps[-1]
    if len(steps) == 1:
        return f"step {first}"
    has_hole = last - first != len(steps) - 1
    if has_hole:
        return f"steps {', '.join(map(str, steps))}"
    return f"steps {first} to {last}"


def _find_unknown(rewards: list[Reward]) -> dict[int, str]:
    """Return why steps are not known, by step: those that are null, and those of which only a
    penalty is known."""
    unknown: dict[int, str] = {}
    for reward in rewards:
        reason = reward.reason or ""
        if reward.mask or reason.startswith(PARTLY):
            unknown[reward.step] = reason.removeprefix(PARTLY)
    return unknown


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
        self._why_unknown = _find_unknown(rewards)
        self._by_step = {reward.step: reward for reward in rewards}
        self._gaps = gaps

    def explain(self, n: int) -> Iterator[str]:
        """Yield lines on milestone number ``n``: what it paid, or why it did not."""
        spec = self._rules.task.milestones[n]
        yield from self._failed_matchers(n)
        reached = [m for m in self._reached if m.id == spec.id]
        for m in reached:
            yield self._paid(m)
        if reached and self._is_whole(n, spec):
            return
        unknown = self._unknown(n)
        if spec.penalty is not None:
            yield unknown or "did not happen: no penalty"
            return
        yield from self._not_paid(n, spec, unknown)

    def _failed_matchers(self, n: int) -> Iterator[str]:
        """Say which matchers of milestone ``n`` failed, and what that counts as."""
        rules = {node.rule.name for node in self._rules.nodes if node.owner == n}
        for alarm in self._alarms:
            if alarm.rule in rules:
                failed = f"a matcher of {alarm.rule} ({alarm.matcher}) failed: {alarm.error}"
                yield f"event {alarm.seq}: {failed}; {describe_consequence(alarm.error)}"

    def _is_whole(self, n: int, spec: MilestoneSpec) -> bool:
        """Whether a milestone that was reached leaves nothing to explain: it pays no more, or is a
        penalty."""
        if spec.penalty is not None:
            return True
        award = self._state.awards.get(n)
        return award is not None and award.best >= 1.0

    def _paid(self, m: Milestone) -> str:
        """Say what a milestone paid, in which step, by which events, or why it could not."""
        events = ", ".join(map(str, m.evidence))
        if m.baseline:
            return f"was so at the start, and earned nothing (events {events})"
        if self._is_paid(m):
            return f"{self._verb(m)} {self._worth(m):+g} in step {m.step} (events {events})"
        is_null = self._by_step[m.step].mask
        what = "the step is null" if is_null else "only a penalty is known of the step"
        return (
            f"came true in step {m.step} (events {events}), worth {m.worth:+g}; not paid, since"
            f" {what}: {self._why_unknown[m.step]}"
        )

    def _is_paid(self, m: Milestone) -> bool:
        """Whether a milestone's step is known; of one of which only a penalty is, whether the
        milestone is that."""
        if m.step not in self._why_unknown:
            return True
        reward = self._by_step[m.step]
        return not reward.mask and m.worth < 0 and m in reward.milestones

    def _worth(self, m: Milestone) -> float:
        """What a milestone was worth: one of an objective adds to that, and nothing to the
        reward."""
        share = self._rules.objective_share.get(m.id)
        return m.worth if share is None else total((m.value * share,))

    def _verb(self, m: Milestone) -> str:
        """Say whether a milestone paid, took, or gave an objective."""
        if m.id in self._rules.objective_share:
            return f"gave the objective {m.component}"
        return "paid" if m.worth >= 0 else "took"

    def _unknown(self, n: int) -> str:
        """Say which steps are not known by what could not be known of milestone ``n``: a source
        that it depends on was blind, a rule of it failed, or a value was kept back. Empty if all of
        it could be observed in all steps."""
        steps_by_cause: dict[str, list[int]] = {}
        for step, reason in sorted(self._why_unknown.items()):
            for cause in self._causes(n, reason):
                steps_by_cause.setdefault(cause, []).append(step)
        if not steps_by_cause:
            return ""
        causes = []
        for cause, steps in steps_by_cause.items():
            causes.append(f"{cause} ({self._unknown_in_words(steps)})")
        return f"not known whether it came true: {'; '.join(causes)}"

    def _unknown_in_words(self, steps: list[int]) -> str:
        """Say which of these steps are null, and of which only a penalty is known."""
        null = [step for step in steps if self._by_step[step].mask]
        fined = [step for step in steps if not self._by_step[step].mask]
        parts = []
        if null:
            parts.append(f"{_steps_in_words(null)} {'is' if len(null) == 1 else 'are'} null")
        if fined:
            parts.append(f"of {_steps_in_words(fined)} only a penalty is known")
        return "; ".join(parts)

    def _causes(self, n: int, reason: str) -> Iterator[str]:
        """Yield what of an unknown step's ``reason`` left milestone ``n`` unknown."""
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
            if f" event {gap.seq}: " not in reason:
                continue
            part = gap.data.get("part")
            part_name = None if part is None else str(part)
            if self._depends_on_source(n, str(gap.data.get("source")), part_name):
                yield _gap_in_words(gap)
        for name, (seq, why, _) in self._state.gaps.items():
            is_named = f"{name} saw nothing from event {seq}: " in reason
            if why not in NEVER_REPORTED or not is_named:
                continue
            source, _, kind = name.partition(":")
            if self._depends_on_source(n, source, kind):
                yield f"no {kind} was recorded: {why}"

    def _rules_of(self, n: int) -> set[str]:
        """The names of the rules that milestone ``n`` consists of, and those that it requires."""
        names: set[str] = set()
        for node in self._rules.nodes:
            if node.owner != n:
                continue
            names.add(node.rule.name)
            for required in node.requires:
                names |= self._rules_of(required)
        return names

    def _depends_on_source(self, n: int, source: str, part: str | None) -> bool:
        """Whether a condition of milestone ``n``, or of one that it requires, reads what ``source``
        reports, or ``part`` of it."""
        for node in self._rules.nodes:
            if node.owner != n:
                continue
            if _reads_source(node, source, part):
                return True
            if any(self._depends_on_source(one, source, part) for one in node.requires):
                return True
        return False

    def _not_paid(self, n: int, spec: MilestoneSpec, unknown: str) -> Iterator[str]:
        """Say why it did not pay, or only in part; ``unknown``: why that is not known."""
        top = self._top(n)
        standing = self._conditions.standing(top)
        is_true_now = standing.now >= 1.0
        if is_true_now or standing.best >= 1.0:
            yield from self._true_but_not_paid(n, spec, is_true_now, unknown)
        elif standing.best > 0:
            yield f"{unknown or 'did not pay'}: {standing.best:.0%} of it came true"
        else:
            yield unknown or "did not pay"
        yield from self._parts(top)

    def _true_but_not_paid(
        self, n: int, spec: MilestoneSpec, is_true_now: bool, unknown: str
    ) -> Iterator[str]:
        """Say what held back a milestone whose condition came true; nothing where it paid before,
        and nothing holds it back."""
        reasons = list(self._held_back(n, spec, is_true_now))
        is_paid = any(m.id == spec.id and not m.baseline for m in self._reached)
        if not reasons and not is_paid:
            yield unknown or (
                "came true before the first step, or during a gap of its source: credited to no"
                " step"
            )
        yield from reasons

    def _held_back(self, n: int, spec: MilestoneSpec, now: bool) -> Iterator[str]:
        """Say why it did not pay though its condition came true; ``now``: it is true at the end."""
        yield from self._out_of_order(n, spec, now)
        yield from self._shut_gate(n)
        if spec.must_hold_at_end and not self._engine.closed:
            yield "was true, but the episode is not closed"
        elif spec.must_hold_at_end and not now:
            yield "was true, but not any more at the end"
        if spec.within is not None:
            yield f"pays within {window_in_words(spec.within)} of {spec.since or 'the start'} only"
        limits = self._rules.task.limits
        if limits is not None:
            yield f"the task's limit is {window_in_words(limits)}"

    def _shut_gate(self, n: int) -> Iterator[str]:
        """Say that the gate of milestone ``n`` was shut, and what of its condition is missing."""
        gate = self._rules.gates[n]
        if gate is None:
            return
        node = self._rules.nodes[gate]
        if self._conditions.level(node) < 1.0:
            yield "came true, but its gate (only_if) was shut:"
            yield from self._parts(node)

    def _out_of_order(self, n: int, spec: MilestoneSpec, now: bool) -> Iterator[str]:
        """Say which milestones it had to come after, or before, and did not."""
        awards = self._state.awards
        met = {name: awards[i].met for name, i in self._rules.index.items() if i in awards}
        last = max(self._conditions.standing(self._top(n)).at, default=0)
        for name in spec.after:
            event = met.get(name)
            if not event:
                missing = self._missing(self._rules.index[name])
                yield f"came true, but {name}, which must come first, {missing}"
            elif not now or event >= last:
                yield f"came true before {name} (event {event}), and not again after it"
        for name in spec.before:
            event = met.get(name)
            if event:
                yield f"came true only after {name} (event {event})"

    def _missing(self, n: int) -> str:
        """Say of milestone ``n``, which was not seen to be reached, whether that is known."""
        return "may have been reached" if self._unknown(n) else "was not reached"

    def _top(self, n: int) -> ConditionNode:
        return self._rules.nodes[self._rules.tops[n]]

    def _parts(self, node: ConditionNode, depth: int = 0) -> Iterator[str]:
        """What of a condition is missing, leaf by leaf."""
        indent = "  " * depth
        if isinstance(node.rule, Rule):
            nearest = self._misses.nearest.get(node.id)
            miss = in_words(nearest, node.rule.name, self._arguments(node))
            perhaps = self._perhaps_unrecorded(node.rule, node.args) if nearest is None else ""
            yield f"{indent}{node.rule.name}: {miss}{perhaps}"
            return
        for index in node.requires:
            award = self._state.awards.get(index)
            is_reached = award is not None and award.met
            if not is_reached:
                required = self._rules.task.milestones[index].id
                yield f"{indent}requires {required}, which {self._missing(index)}"
        is_short = self._conditions.standing(node).now < 1.0
        shows_all = is_short or node.rule.name == "none_of"
        for child in node.children:
            below = self._rules.nodes[child]
            if shows_all or self._conditions.standing(below).now < 1.0:
                yield from self._parts(below, depth + 1)

    def _perhaps_unrecorded(self, rule: Rule, args: object) -> str:
        """Say which kinds a recording of another task may lack, since they are recorded only if
        asked for; empty if there are none. Of a kind that is known to be missing the reason of each
        step says why."""
        if self._engine.recorded_under in (None, self._rules.digest):
            return ""
        asked: list[str] = []
        for kind in rule.heard_kinds(args):
            is_asked = kind in KINDS and KINDS[kind].asked
            if is_asked and not is_never_reported(self._state, kind):
                asked.append(kind)
        if not asked:
            return ""
        return (
            f"; {', '.join(asked)}: recorded only if the task of the recording asks for it, and"
            " that was another one"
        )

    def _arguments(self, node: ConditionNode) -> dict[str, object]:
        """The arguments as the task has them."""
        task = self._rules.task.milestones[node.owner]
        by_role = {"when": task.when, "revoke_on": task.revoke_on, "only_if": task.only_if}
        condition = by_role[node.role]
        path: list[int] = []
        while node.parent >= 0:
            path.append(node.place)
            node = self._rules.nodes[node.parent]
        for place in reversed(path):
            assert condition is not None
            condition = condition.of[place]
        return dict(condition.args) if condition is not None else {}


def _reads_source(node: ConditionNode, source: str, part: str | None) -> bool:
    """Whether a condition reads what ``source`` reports, or ``part`` of it; what the journal itself
    reports concerns each rule."""
    if not isinstance(node.rule, Rule):
        return False
    if source == "journal":
        return True
    return depends_on(node.rule.heard_kinds(node.args), node.args, source, part)
