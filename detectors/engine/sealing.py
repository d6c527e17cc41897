"""What a step is worth as it is sealed: the sum of its milestones, or null where a gap, an event
that no rule could know, or a counterfactual may have changed it."""

from __future__ import annotations

from typing import NamedTuple

from detectors.engine.counterfactual import Counterfactuals
from detectors.engine.credit import Credit
from detectors.engine.episode_rewards import EpisodeRewards
from detectors.engine.gaps import (
    MAX_DOUBT,
    RULES,
    describe_blindness,
    describe_doubt,
    find_affected,
)
from detectors.engine.resolution import asks, offered_by
from detectors.engine.state import State
from detectors.engine.unknown_milestones import UnobservedStep, describe_unobserved
from detectors.model.rewards import PARTLY, total
from detectors.model.types import Ask, Event, Milestone, Reward, Verdict
from detectors.task.ruleset import Ruleset


class SealedStep(NamedTuple):
    """A step's reward, what to ask about it beyond the rules, and why it is not known; None: it is
    known whole."""

    reward: Reward
    asks: tuple[Ask, ...]
    unobserved: UnobservedStep | None


class Sealer:
    """Seals the steps of one episode, one after the other."""

    def __init__(
        self,
        ruleset: Ruleset,
        state: State,
        credit: Credit,
        episode_rewards: EpisodeRewards,
        counterfactuals: Counterfactuals,
        *,
        asks_tiers: bool,
    ) -> None:
        """``asks_tiers``: whether to ask beyond the rules about the steps that are sealed."""
        self._ruleset, self._state = ruleset, state
        self._credit, self._episode_rewards = credit, episode_rewards
        self._counterfactuals = counterfactuals
        self._asks_tiers = asks_tiers

    def seal_step(self, event: Event, *, after_last: bool) -> SealedStep:
        """Return the step that ``event`` ends, with its reward, which no later event changes.

        ``after_last``: it is the closing step after the last seal, in which the agent did nothing.
        """
        state = self._state
        if not after_last:  # what stood at the last step's end was paid there
            self._credit.pay_levels(event)
            self._episode_rewards.pay_step(event)
        self._episode_rewards.pay_shaping(event, after_last=after_last)
        milestones = tuple(state.pending)
        disputed = self._compare_branches(milestones)
        verdict = self._judge(milestones, disputed=disputed)
        reason, unobserved = None, None
        if verdict.score is None:
            is_goal_open = not state.blind
            unobserved = describe_unobserved(state, is_goal_open=is_goal_open)
            milestones, verdict = self._keep_penalties(milestones, verdict)
            reason = verdict.why
        reward = self._reward(event.seq, reason, milestones, verdict)
        asked: tuple[Ask, ...] = ()
        if self._asks_tiers:
            asked = asks(self._ruleset, state, reward, acted=not after_last)
            state.offered = total((state.offered, offered_by(asked)))
        if reward.reward:
            state.total = total((state.total, reward.reward))
        state.masked += reward.mask
        state.sealed, state.sealed_at = True, event.seq
        state.pending, state.blind, state.refused = [], {}, []
        return SealedStep(reward, asked, unobserved)

    def _compare_branches(self, milestones: tuple[Milestone, ...]) -> bool:
        """Whether a counterfactual branch pays the step otherwise; then it is marked."""
        if not self._counterfactuals.branches:
            return False
        disputed = self._counterfactuals.mark_disputed_step(milestones)
        self._counterfactuals.settle_step(self._certain_penalties(milestones))
        return disputed

    def _judge(self, milestones: tuple[Milestone, ...], *, disputed: bool) -> Verdict:
        """The rules' verdict on the step: what it earned, or no score and why it is not known."""
        state, digest = self._state, self._ruleset.digest
        if state.blind:
            if not disputed:
                self._keep_doubt()
            return Verdict("rule", None, 0.0, describe_blindness(state), digest)
        if self._is_goal_open():
            return Verdict("rule", None, 0.0, self._why_goal_is_open(), digest)
        if not milestones:  # as in most steps
            return Verdict("rule", 0.0, 1.0, "0 milestones", digest)
        earned = total(m.worth for m in milestones)
        count = f"{len(milestones)} milestone{'' if len(milestones) == 1 else 's'}"
        return Verdict("rule", earned, 1.0, count, digest)

    def _keep_doubt(self) -> None:
        """Remember why this step is not known: what it hid may have reached the goal."""
        state = self._state
        state.doubt = state.doubt or describe_blindness(state)[:MAX_DOUBT]
        for name in state.blind:
            if name != RULES:  # who marked the step for these noted of which milestones
                state.doubt_owners(find_affected(self._ruleset, name))
        ends = self._episode_rewards
        is_open = ends.may_be_taken_back() if state.success else ends.is_failure_doubtful()
        if state.closed and is_open:
            state.success = None

    def _is_goal_open(self) -> bool:
        """Whether the episode is closed without anybody knowing whether it is a success."""
        state = self._state
        return state.closed and state.success is None and state.began and self._ruleset.has_goal

    def _why_goal_is_open(self) -> str:
        what = "taken back" if self._episode_rewards.may_be_taken_back() else "reached"
        return f"{describe_doubt(self._state)}; the goal may have been {what}"

    def _keep_penalties(
        self, milestones: tuple[Milestone, ...], unknown: Verdict
    ) -> tuple[tuple[Milestone, ...], Verdict]:
        """Pay of a step that is not known no more than the penalties that are certain."""
        kept = self._certain_penalties(milestones)
        self._credit.forget_payments(m for m in milestones if m not in kept)
        if not kept:
            return milestones, unknown
        fine = total(m.worth for m in kept)
        verdict = Verdict("rule", fine, 1.0, f"{PARTLY}{unknown.why}", self._ruleset.digest)
        return tuple(m if m in kept else m._replace(worth=0.0) for m in milestones), verdict

    def _certain_penalties(self, milestones: tuple[Milestone, ...]) -> tuple[Milestone, ...]:
        """The penalties of the step that hold whatever was not observed, in every branch."""
        penalties = (m for m in milestones if m.worth < 0 and self._credit.is_certain_penalty(m))
        return self._counterfactuals.paid_in_all(penalties)

    def _reward(
        self, seq: int, reason: str | None, milestones: tuple[Milestone, ...], verdict: Verdict
    ) -> Reward:
        state, value = self._state, verdict.score
        known = value is not None
        return Reward(
            episode=state.episode,
            step=state.step,
            status="sealed" if known else "unobserved",
            reward=value,
            mask=not known,
            reason=reason,
            components=self._components(value, milestones),
            milestones=milestones,
            verdicts=(verdict,),
            decided_by="rule" if known else None,
            done=state.closed,
            success=state.success if state.closed else None,
            through=seq,
            digest=self._ruleset.digest,
            objectives=self._objectives(reason, milestones),
        )

    def _objectives(
        self, reason: str | None, milestones: tuple[Milestone, ...]
    ) -> dict[str, float | None]:
        """What the step adds to each objective; not known where the whole step is not."""
        names, shares = self._ruleset.task.objectives, self._ruleset.objective_share
        if reason is not None:
            return dict.fromkeys(names)
        return {
            name: total(
                m.value * shares[m.id] for m in milestones if m.component == name and not m.baseline
            )
            for name in names
        }

    def _components(
        self, value: float | None, milestones: tuple[Milestone, ...]
    ) -> dict[str, float | None]:
        names = self._ruleset.components
        if value is None:
            return dict.fromkeys(names)
        if not milestones:
            return dict.fromkeys(names, 0.0)  # as in most steps
        return {name: total(m.worth for m in milestones if m.component == name) for name in names}
