"""From events to milestones and sealed rewards: the one place where credit is given.

Pure and total: any log whose numbers are contiguous is accepted, event by event, and the same log
under the same ruleset gives the same bytes however it is cut into batches and however often the
state is stored and loaded in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from detectors.engine.conditions import Conditions
from detectors.engine.counterfactual import MAX_STATES, differs
from detectors.engine.credit import Credit
from detectors.engine.resolution import asks, offered_by
from detectors.engine.state import State
from detectors.matchers.facts import leads
from detectors.matchers.faults import collected
from detectors.model.budget import metered
from detectors.model.errors import GapError, UnseenError
from detectors.model.rewards import PARTLY, total
from detectors.model.types import Alarm, Ask, Event, Milestone, Reward, Verdict
from detectors.sdk.registry import Rule
from detectors.sdk.world import FOLDED, STATEFUL, fold
from detectors.task.ruleset import ConditionNode, Ruleset

MAX_STEP = 2**31
MAX_GAPS = 64
MAX_PART = 128
MAX_WHY = 300
CONTROL = {
    "episode.opened": "_opened",
    "step.began": "_began",
    "step.sealed": "_sealed",
    "episode.closed": "_closed",
    "gap.began": "_gap_began",
    "gap.ended": "_gap_ended",
    "journal.dropped": "_dropped",
}
"""The kinds that the engine itself takes in, each by the method that does."""
REST = "…"
"""Stands for the parts of a source beyond `MAX_GAPS`."""


def heard_by(ruleset: Ruleset) -> frozenset[str]:
    """The kinds that can change what an episode is worth under the rules; of all others the data
    don't matter."""
    leaves = [(node.rule, node.site) for node in ruleset.nodes if isinstance(node.rule, Rule)]
    world = (
        frozenset()
        if all(rule.alone and site is None for rule, site in leaves)
        else FOLDED | STATEFUL
    )
    return frozenset(CONTROL) | world | ruleset.slots.keys()


@dataclass(slots=True)
class EngineResult:
    """What a batch brought: milestones as they were reached, rewards as steps were sealed, what to
    ask about them; ``alarms``: matchers that failed, and so did not match."""

    milestones: list[Milestone] = field(default_factory=list)
    rewards: list[Reward] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)


class Engine:
    """One episode under one ruleset."""

    def __init__(
        self, ruleset: Ruleset, episode: str, state: State | None = None, *, supposing: bool = False
    ) -> None:
        self.ruleset = ruleset
        self.state = state or State(episode, ruleset.digest)
        self._supposing = supposing
        self._stories = [
            Engine(ruleset, episode, story, supposing=True) for story in self.state.supposed
        ]
        self.credit = Credit(ruleset, self.state)
        self.conditions = Conditions(ruleset, self.state, self.credit.read)
        self.credit.conditions = self.conditions
        self.conditions.required = self.credit.required
        self.conditions.unseen = self._unseen
        self._kept = ruleset.kept_probes
        self._out = EngineResult()
        self.recorded_under: str | None = None
        """The ruleset digest that `episode.opened` names, once this engine has taken it in."""
        # Most events of a log are heard by nobody; one look-up is all that they cost.
        self._heard: dict[str, Callable[[Event], None]] = dict.fromkeys(
            heard_by(ruleset), self._take
        )
        self._heard |= {kind: getattr(self, by) for kind, by in CONTROL.items()}

    @classmethod
    def load(cls, ruleset: Ruleset, data: bytes) -> Engine:
        """Resume from what `dump` gave. Raises `StateError` for another ruleset's."""
        state = State.load(data, ruleset.digest)
        return cls(ruleset, state.episode, state)

    def dump(self) -> bytes:
        """The state after the last event."""
        return self.state.dump()

    @property
    def through(self) -> int:
        """The seq of the last event taken in."""
        return self.state.through

    @property
    def step(self) -> int | None:
        """The step that began last, or None before the first."""
        return self.state.step if self.state.step >= 0 else None

    @property
    def closed(self) -> bool:
        """Whether the episode is over."""
        return self.state.closed

    @property
    def success(self) -> bool | None:
        """Whether the goal was reached, once closed; None where nobody can know or no goal was
        set."""
        return self.state.success

    @property
    def total(self) -> float | None:
        """Σ of the rewards sealed so far; None before the first, and as soon as one of them is not
        known."""
        return None if self.state.masked or not self.state.sealed_at else self.state.total

    def feed(self, events: Iterable[Event]) -> EngineResult:
        """Take in the next events. Raises `GapError` at the first that is not the next one."""
        self._out = EngineResult()
        self.credit.reached = self._out.milestones
        state, heard = self.state, self._heard
        with collected() as self.conditions.faults, metered() as self.conditions.meter:
            for event in events:
                if event.seq != state.through + 1:
                    raise GapError(state.through + 1, event.seq)
                for story in self._stories:
                    story.feed((event,))
                state.through = event.seq
                taken = heard.get(event.kind)
                if taken is not None and not state.closed:
                    taken(event)
        self._out.alarms, self.conditions.alarms = list(self.conditions.alarms), {}
        return self._out

    def _take(self, event: Event) -> None:
        kind, conditions = event.kind, self.conditions
        stale = conditions.stale(event) if kind in STATEFUL else ()
        if kind in FOLDED:
            fold(self.state.world, event, self.state.step)
        before = self._stories
        conditions.read(event, stale)
        if self._kept:
            self._compared(event)
        if self._stories is not before:  # another story begins with this event
            self._stories[-1].conditions.read(event, stale)
            self._stories[-1]._compared(event)

    def _unseen(self, leaf: ConditionNode, unseen: UnseenError, event: Event) -> bool:
        """A rule can't know what it is asked: from here on there are two stories
        (detectors/engine/counterfactual.py)."""
        if self._supposing:
            return True
        state = self.state
        told = max((seq for seq, _ in state.hidden.values()), default=0)
        id, why = (
            self.ruleset.task.milestones[leaf.owner].id,
            f"{leaf.rule.name}: {unseen}"[:MAX_WHY],
        )
        state.hidden[id] = [event.seq, why]
        if state.began and any(id in rests for rests in self.ruleset.turning):
            state.blind.setdefault("rules", [event.seq, why])  # no story tells of all that may be
        if (unseen.since or event.seq) <= told:
            return False  # the same thing, asked again
        # One in which nothing came of the unseen yet tells of what is unseen now, too.
        if not self._stories or self._stories[-1].state.awards != state.awards:
            # As the state is before anything is read of the event; the engine of the other story
            # reads it too.
            kept, others = self._stories[: MAX_STATES - 1], state.supposed[: MAX_STATES - 1]
            state.supposed = []
            story = State.load(state.dump(), self.ruleset.digest)
            state.supposed = [*others, story]
            self._stories = [*kept, Engine(self.ruleset, state.episode, story, supposing=True)]
        return False

    def _told_otherwise(self, milestones: tuple[Milestone, ...]) -> bool:
        """Blind the step that is sealed, where another story pays it otherwise; whether one
        does."""
        state, found = self.state, None
        seen = not state.blind
        for story in self._stories:
            if seen and found is None:
                found = differs(
                    state, milestones, story.state, story._out.rewards[-1], self.ruleset.index
                )
        if found is not None:
            seq, hidden = state.hidden.get(found[0] or "", max(state.hidden.values()))
            state.blind["rules"] = [seq, f"{hidden}; {found[1]}"]
        kept = {m.id for m in self._kept_penalties(milestones)}
        for story in self._stories:
            reward = story._out.rewards[-1]
            if state.blind and reward.reason is None:
                story.credit.forget(m for m in reward.milestones if m.id not in kept)
        if state.closed and any(
            story.state.success is not state.success for story in self._stories
        ):
            state.success = None
        return found is not None

    def _kept_penalties(self, milestones: tuple[Milestone, ...]) -> tuple[Milestone, ...]:
        """The penalties of a step that hold whatever was not seen: they rest on what was seen
        alone, in every story."""
        paid = [
            {m.id for m in story._out.rewards[-1].milestones if m.worth < 0}
            for story in self._stories
        ]
        certain = (m for m in milestones if m.worth < 0 and self.credit.is_certain_penalty(m))
        return tuple(m for m in certain if all(m.id in ids for ids in paid))

    def _compared(self, event: Event) -> None:
        """What `probe_kept` has no start to compare with is not known: a gap that does not end."""
        if event.kind != "probe.answered":
            return
        name = str(event.data.get("probe"))
        first = self.state.world.probes.get(name)
        if first is None:
            return
        lost = next(
            (path for path in self._kept.get(name, ()) if not first or not leads(first[0], path)),
            None,
        )
        if lost is not None:
            where = f" at {'.'.join(lost)}" if first else ""
            why = f"what probe {name} answered at the start is not there to compare with{where}"
            gap = self.state.gaps.setdefault(f"probe:{name}", [event.seq, why, 1])
            if not self.state.sealed:
                self.state.blind[f"probe:{name}"] = gap[:2]

    def _opened(self, event: Event) -> None:
        self.recorded_under = str(event.data.get("digest") or "") or None

    def _began(self, event: Event) -> None:
        state, step = self.state, event.data.get("step")
        if type(step) is not int or not state.step < step < MAX_STEP:
            return
        self.conditions.tick(event)
        if not state.sealed:
            self._seal(event)
        state.began_at = state.began_at if state.began else event.at
        state.step, state.began, state.sealed = step, True, False
        state.steps, state.step_at = state.steps + 1, event.at
        if state.gaps:
            state.blind |= {name: gap[:2] for name, gap in state.gaps.items()}

    def _sealed(self, event: Event) -> None:
        if event.data.get("step") == self.state.step and not self.state.sealed:
            self.conditions.tick(event)
            self._seal(event)

    def _closed(self, event: Event) -> None:
        state = self.state
        if state.closed:
            return
        after_last = state.sealed
        if after_last:
            # The last step is final already: what the close decides is paid in a closing step after
            # it. A browser that was shut down in between hid nothing of any step, but what must
            # hold at the end.
            state.step, state.sealed = state.step + 1, False
            held = any(m.must_hold_at_end for m in self.ruleset.task.milestones)
            state.blind |= {
                name: gap[:2]
                for name, gap in state.gaps.items()
                if held or gap[0] < state.sealed_at
            }
        self.conditions.tick(event)
        self.credit.close(event)
        state.closed = True
        state.success = self.credit.success()
        self.credit.ending(event)
        self._seal(event, after_last=after_last)

    def _gap_began(self, event: Event) -> None:
        source, of = str(event.data.get("source")), _part_of(event)
        if of is None:
            # A source that begins anew tells its partial gaps anew.
            for name in [name for name in self.state.gaps if name.startswith(f"{source}:")]:
                del self.state.gaps[name]
        if not self.ruleset.leans(source, of):
            return
        name, many = source if of is None else f"{source}:{of}", 1
        if of is not None and name not in self.state.gaps and len(self.state.gaps) >= MAX_GAPS:
            # More parts than anybody keeps apart: they are counted together, until all of them have
            # ended.
            name = f"{source}:{REST}"
            many += self.state.gaps.get(name, [0, "", 0])[2]
        self.state.gaps[name] = [event.seq, str(event.data.get("reason")), many]
        # What came between two steps pays in the next. A source that begins anew says what is so
        # then; what a part missed nobody says again.
        if not self.state.sealed or (of is not None and self.state.began):
            self.state.blind[name] = self.state.gaps[name][:2]

    def _gap_ended(self, event: Event) -> None:
        source, of = str(event.data.get("source")), _part_of(event)
        name, rest = source if of is None else f"{source}:{of}", f"{source}:{REST}"
        # Over before the next step begins, it blinds none; but what must not happen may have
        # happened.
        self.state.unseen |= name in self.state.gaps and self.state.began
        if self.state.gaps.pop(name, None) is None and of is not None and rest in self.state.gaps:
            self.state.gaps[rest][2] -= self.ruleset.leans(source, of)
            if self.state.gaps[rest][2] <= 0:
                del self.state.gaps[rest]

    def _dropped(self, event: Event) -> None:
        source = str(event.data.get("source"))
        # Of the journal's own events a gap or its end may be among the lost: then nobody knows what
        # was seen.
        if source in self.ruleset.sources or source == "journal":
            count = event.data.get("count")
            why = (
                str(event.data.get("reason")) if count is None else f"{count} observations dropped"
            )
            self.state.blind[source] = [event.seq, why]

    def _seal(self, event: Event, *, after_last: bool = False) -> None:
        state, rules, seq = self.state, self.ruleset, event.seq
        if not after_last:  # what stood at the last step's end was paid there
            self.credit.levels(event)
        self.credit.shape(event, after_last=after_last)
        milestones = tuple(state.pending)
        told_otherwise = bool(self._stories) and self._told_otherwise(milestones)
        # Most steps earn nothing: they are not to pay for sums over nothing.
        earned = total(m.worth for m in milestones) if milestones else 0.0
        verdict = Verdict("rule", earned, 1.0, _count(milestones), rules.digest)
        reason = None
        if state.blind:
            reason = _blindness(state)
            verdict = Verdict("rule", None, 0.0, reason, rules.digest)
            if not told_otherwise:
                state.doubt = True
                if state.closed and state.success is False:
                    state.success = None
        elif state.closed and state.success is None and rules.has_goal and state.began:
            reason = (
                "the goal may have been reached while a source saw nothing; see the episode's gaps"
            )
            if not state.doubt and state.hidden:
                at, hidden = max(state.hidden.values())
                reason = f"event {at}: {hidden}; the goal may have been reached"
            verdict = Verdict("rule", None, 0.0, reason, rules.digest)
        if verdict.score is None:
            kept = self._kept_penalties(milestones)
            self.credit.forget(m for m in milestones if m not in kept)
            if kept:
                milestones = tuple(m if m in kept else m._replace(worth=0.0) for m in milestones)
                reason = f"{PARTLY}{reason}"
                verdict = Verdict("rule", total(m.worth for m in kept), 1.0, reason, rules.digest)
        value = verdict.score
        reward = self._reward(seq, value, reason, milestones, verdict)
        self._out.rewards.append(reward)
        if rules.task.escalation is not None and not self._supposing:
            asked = asks(rules, state, reward, acted=not after_last)
            self._out.asks += asked
            state.offered = total((state.offered, offered_by(asked)))
        state.total = total((state.total, value)) if value else state.total
        state.masked += value is None
        state.sealed, state.sealed_at, state.pending, state.blind = True, seq, [], {}

    def _reward(
        self,
        seq: int,
        value: float | None,
        reason: str | None,
        milestones: tuple[Milestone, ...],
        verdict: Verdict,
    ) -> Reward:
        state = self.state
        return Reward(
            episode=state.episode,
            step=state.step,
            status="sealed" if value is not None else "unobserved",
            reward=value,
            mask=value is None,
            reason=reason,
            components=self._components(value, milestones),
            milestones=milestones,
            verdicts=(verdict,),
            decided_by="rule" if value is not None else None,
            done=state.closed,
            success=state.success if state.closed else None,
            through=seq,
            digest=self.ruleset.digest,
        )

    def _components(
        self, value: float | None, milestones: tuple[Milestone, ...]
    ) -> dict[str, float | None]:
        names = self.ruleset.components
        if value is None or not milestones:
            return dict.fromkeys(names, None if value is None else 0.0)  # as most steps go
        return {name: _part(milestones, name) for name in names}


def _part(milestones: tuple[Milestone, ...], component: str) -> float:
    return total(m.worth for m in milestones if m.component == component)


def _blindness(state: State) -> str:
    return "; ".join(
        (
            f"event {seq}: {why}"
            if source == "rules"
            else f"{source} saw nothing from event {seq}: {why}"
        )
        for source, (seq, why) in sorted(state.blind.items())
    )


def _count(milestones: tuple[Milestone, ...]) -> str:
    return f"{len(milestones)} milestone{'' if len(milestones) == 1 else 's'}"


def _part_of(event: Event) -> str | None:
    of = event.data.get("of")
    return None if of is None else str(of)[:MAX_PART]
