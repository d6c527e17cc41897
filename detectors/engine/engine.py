"""From events to milestones and sealed rewards: the one place where credit is given.

Pure and total: any log whose numbers are contiguous is accepted, event by event, and the same log
under the same ruleset gives the same bytes however it is cut into batches and however often the
state is stored and loaded in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from detectors.engine.conditions import Conditions
from detectors.engine.counterfactual import Branch, Counterfactuals
from detectors.engine.credit import Credit
from detectors.engine.episode_rewards import EpisodeRewards
from detectors.engine.expected_start import StartCheck
from detectors.engine.gaps import REFUSED, GapTracker
from detectors.engine.sealing import Sealer
from detectors.engine.state import State
from detectors.engine.unknown_milestones import UnobservedStep
from detectors.model.caches import release_large
from detectors.model.codec import kind_tokens
from detectors.model.errors import GapError
from detectors.model.kinds import KINDS
from detectors.model.types import Alarm, Ask, Event, Milestone, Reward, Segment
from detectors.sdk.registry import Rule
from detectors.sdk.world import FOLDED, STATEFUL, fold
from detectors.task.ruleset import Ruleset

MAX_STEP = 2**31
CONTROL = frozenset(
    {
        "episode.opened",
        "step.began",
        "step.sealed",
        "episode.closed",
        "gap.began",
        "gap.ended",
        "events.dropped",
    }
)
"""The kinds that the engine itself handles."""


def relevant_kinds(ruleset: Ruleset) -> frozenset[str]:
    """Return the kinds that can change what an episode is worth under the rules; of all others the
    data don't matter."""
    leaves = [(node.rule, node) for node in ruleset.nodes if isinstance(node.rule, Rule)]
    if all(rule.alone and node.site is None and node.loaded is None for rule, node in leaves):
        return CONTROL | ruleset.slots.keys()
    return CONTROL | ruleset.slots.keys() | FOLDED | STATEFUL


def unheard_kinds(*rulesets: Ruleset) -> frozenset[bytes]:
    """Return the `kind_tokens` of the kinds whose events change nothing under any of the rules: a
    log may be read without them."""
    heard = frozenset[str]().union(*map(_heard_kinds, rulesets))
    return _TOKENS - kind_tokens(heard)


def _heard_kinds(ruleset: Ruleset) -> frozenset[str]:
    return relevant_kinds(ruleset) | StartCheck(ruleset, State("", "")).kinds


_TOKENS = kind_tokens(KINDS)


@dataclass(slots=True)
class EngineResult:
    """What a batch brought: milestones as they were reached, rewards as steps were sealed, what to
    ask about them; ``alarms``: matchers that failed, and so did not match; ``unobserved``: why a
    step is not known, or only in part, by its number."""

    milestones: list[Milestone] = field(default_factory=list)
    rewards: list[Reward] = field(default_factory=list)
    asks: list[Ask] = field(default_factory=list)
    alarms: list[Alarm] = field(default_factory=list)
    unobserved: dict[int, UnobservedStep] = field(default_factory=dict)


class Engine:
    """One episode under one ruleset."""

    def __init__(
        self,
        ruleset: Ruleset,
        episode: str,
        state: State | None = None,
        *,
        is_counterfactual: bool = False,
    ) -> None:
        """``state``: where to go on from; ``is_counterfactual``: suppose that what no rule can know
        was as expected (detectors/engine/counterfactual.py)."""
        self.ruleset = ruleset
        self.state = state or State(episode, ruleset.digest)
        self.recorded_under: str | None = None
        """The ruleset digest that `episode.opened` names, once this engine has taken it in."""
        self._result = EngineResult()
        self._counterfactuals = Counterfactuals(
            ruleset, self.state, partial(_make_branch, ruleset), is_branch=is_counterfactual
        )
        self._is_counterfactual = is_counterfactual
        self._sibling: Branch | None = None
        self.conditions = Conditions(ruleset, self.state, self._counterfactuals)
        self._credit = Credit(ruleset, self.state, self.conditions)
        self._episode_rewards = EpisodeRewards(ruleset, self.state, self._credit)
        self._gaps = GapTracker(ruleset, self.state)
        self._start = StartCheck(ruleset, self.state)
        self._sealer = Sealer(
            ruleset,
            self.state,
            self._credit,
            self._episode_rewards,
            self._counterfactuals,
            asks_tiers=ruleset.task.escalation is not None and not is_counterfactual,
        )
        # Most events of a log are relevant to nothing; one look-up is all that they cost. Not bound
        # to this engine: one that is dropped is to be freed without the collector of cycles.
        if not ruleset.handlers:
            ruleset.handlers.update(_find_handlers(ruleset, self._start.kinds))
        self._handlers: Mapping[str, Callable[[Engine, Event], None]] = ruleset.handlers

    @classmethod
    def load(cls, ruleset: Ruleset, data: bytes) -> Engine:
        """Resume from what `dump` gave. Raises `StateError` for another ruleset's."""
        state = State.load(data, ruleset.digest)
        return cls(ruleset, state.episode, state)

    def dump(self) -> bytes:
        """Encode the state after the last event."""
        return self.state.dump()

    def memory(self) -> list[object]:
        """The roots of what this engine alone holds; see detectors/engine/footprint.py."""
        own: list[object] = [self.state, self.recorded_under, self._result]
        own += self.conditions.memory()
        branches = self._counterfactuals.branches
        return own + [part for branch in branches for part in branch.memory()]

    @property
    def reached(self) -> list[str]:
        """The ids of the milestones that were reached, also at the baseline, sorted."""
        specs = self.ruleset.task.milestones
        return sorted(
            specs[number].id
            for number, award in self.state.awards.items()
            if award.met or award.best > 0.0 or award.keys or award.revoked
        )

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
        """Whether `episode.closed` was taken in: no later event changes anything."""
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

    @property
    def last_reward(self) -> Reward:
        """The reward that was sealed last, in the events that were fed last."""
        return self._result.rewards[-1]

    def feed(self, events: Iterable[Event]) -> EngineResult:
        """Take in the next events. Raises `GapError` at the first that is not the next one."""
        return self._take_in(events, None)

    def feed_segment(self, segment: Segment) -> EngineResult:
        """Take in the next segment; the events of `unheard_kinds` need not be in it. Raises
        `GapError` if it is not the next one."""
        if segment.first != self.state.through + 1:
            raise GapError(self.state.through + 1, segment.first)
        return self._take_in(segment.events, segment.last)

    def _take_in(self, events: Iterable[Event], last: int | None) -> EngineResult:
        """Take in events up to number ``last``, between which some may be left out; None: all of
        them are there."""
        result = self._result = EngineResult()
        self._credit.take_reached()  # of a batch that was not the next one
        state, handlers, branches = self.state, self._handlers, self._counterfactuals.branches
        with self.conditions.batch():
            for event in events:
                if event.seq != state.through + 1:
                    if last is None:
                        raise GapError(state.through + 1, event.seq)
                    self._pass_over(event.seq - 1)
                for branch in branches:
                    branch.feed((event,))
                state.through = event.seq
                handle = handlers.get(event.kind)
                if handle is not None and not state.closed:
                    handle(self, event)
                if branches and not state.began:
                    self._counterfactuals.adopt_siblings()
        if last is not None:
            self._pass_over(last)
        release_large()
        result.milestones = self._credit.take_reached()
        result.alarms = self.conditions.take_alarms()
        return result

    def _pass_over(self, last: int) -> None:
        """Count the events up to number ``last`` as taken in: nothing listens to them."""
        self.state.through = last
        for branch in self._counterfactuals.branches:
            branch.state.through = last

    def _read_event(self, event: Event) -> None:
        """Let the world and the rules take in an event."""
        kind, conditions = event.kind, self.conditions
        stale = conditions.stale(event) if kind in STATEFUL else ()
        if kind in FOLDED:
            fold(self.state.world, event, self.state.step)
        risen = conditions.read(event, stale)
        if risen:
            self._credit.credit_risen(risen, event)
        if kind == "probe.answered":
            self._gaps.check_probe_start(event)
        if self.state.hidden and not self.state.is_live(event):
            self._counterfactuals.mark_credited_to_nobody()
        if self._counterfactuals.new_branch is not None:
            branch = self._counterfactuals.take_new_branch()
            branch.catch_up(event, stale, is_so=not self._is_counterfactual)
            if self._is_counterfactual:
                self._sibling = branch

    def _read_unheard(self, event: Event) -> None:
        """Let the world take in an event of a kind that no rule hears, which most are."""
        kind = event.kind
        if kind in STATEFUL and self.conditions.may_drop(kind):
            self._read_event(event)
            return
        if kind in FOLDED:
            fold(self.state.world, event, self.state.step)
        if self.state.hidden and not self.state.is_live(event):
            self._counterfactuals.mark_credited_to_nobody()

    def take_sibling(self) -> Branch | None:
        """Return the branch that this one was divided into at this event, once."""
        sibling, self._sibling = self._sibling, None
        return sibling

    def catch_up(self, event: Event, stale: tuple[str, ...], *, is_so: bool) -> None:
        """Read an event that the world has taken in, and suppose ``is_so`` of what can't be known
        of it; ``stale``: the keys of what it replaces."""
        # Its faults and its cost are its own, not the parent's.
        with self.conditions.batch(), self._counterfactuals.catch_up(is_so=is_so):
            risen = self.conditions.read(event, stale)
        self._credit.credit_risen(risen, event)
        if event.kind == "probe.answered":
            self._gaps.check_probe_start(event)

    def forget_payments(self, milestones: Iterable[Milestone]) -> None:
        """Take out of the books what a masked step would have paid."""
        self._credit.forget_payments(milestones)

    def _read_start(self, event: Event) -> None:
        self._start.read(event)

    def _read_both(self, event: Event) -> None:
        self._start.read(event)
        self._read_event(event)

    def _drop_observations(self, event: Event) -> None:
        self._gaps.drop_observations(event)

    def _begin_gap(self, event: Event) -> None:
        self._start.read_gap(event)
        self._gaps.begin_gap(event)

    def _end_gap(self, event: Event) -> None:
        self._start.read_gap(event)
        self._gaps.end_gap(event)

    def _tick(self, event: Event) -> None:
        self._credit.credit_risen(self.conditions.tick(event), event)

    def _open_episode(self, event: Event) -> None:
        self.recorded_under = str(event.data.get("digest") or "") or None
        self._gaps.begin_unreported(event)

    def _begin_step(self, event: Event) -> None:
        state, step = self.state, event.data.get("step")
        if type(step) is not int or not state.step < step < MAX_STEP:
            return
        self._tick(event)
        if not state.sealed:
            self._seal(event)
        if not state.began:
            self._start.check(event)
            state.began, state.began_at = True, event.at
        state.step, state.step_at, state.sealed = step, event.at, False
        state.steps += 1
        self._gaps.mark_new_step()
        if event.kind in self.ruleset.slots:
            self._read_event(event)

    def _end_step(self, event: Event) -> None:
        if event.data.get("step") == self.state.step and not self.state.sealed:
            self._tick(event)
            self._seal(event)

    def _close_episode(self, event: Event) -> None:
        state = self.state
        if not state.began:
            self._start.check(event)
        after_last = state.sealed
        if after_last:
            # The last step is final already: what the close decides is paid in a closing step after
            # it.
            state.step, state.sealed = state.step + 1, False
            self._gaps.mark_closing_step()
        self._tick(event)
        self._credit.close(event)
        state.closed = True
        if REFUSED not in state.gaps:
            state.success = self._episode_rewards.judge_success()
        self._episode_rewards.pay_ending(event)
        self._seal(event, after_last=after_last)

    def _seal(self, event: Event, *, after_last: bool = False) -> None:
        step = self._sealer.seal_step(event, after_last=after_last)
        self._result.rewards.append(step.reward)
        self._result.asks += step.asks
        if step.unobserved is not None:
            self._result.unobserved[step.reward.step] = step.unobserved


def _make_branch(ruleset: Ruleset, state: State) -> Engine:
    return Engine(ruleset, state.episode, state, is_counterfactual=True)


def _find_handlers(
    ruleset: Ruleset, start_kinds: Iterable[str]
) -> dict[str, Callable[[Engine, Event], None]]:
    """Return what an engine of these rules does with an event, by its kind."""
    relevant = relevant_kinds(ruleset)
    heard = relevant & {*ruleset.slots, "probe.answered"}
    handlers: dict[str, Callable[[Engine, Event], None]] = {
        **dict.fromkeys(relevant, Engine._read_unheard),
        **dict.fromkeys(heard, Engine._read_event),
        "episode.opened": Engine._open_episode,
        "step.began": Engine._begin_step,
        "step.sealed": Engine._end_step,
        "episode.closed": Engine._close_episode,
        "gap.began": Engine._begin_gap,
        "gap.ended": Engine._end_gap,
        "events.dropped": Engine._drop_observations,
    }
    for kind in start_kinds:
        handlers[kind] = Engine._read_both if kind in handlers else Engine._read_start
    return handlers
