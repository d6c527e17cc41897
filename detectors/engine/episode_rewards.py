"""What an episode is worth beside its milestones: its outcome, a bonus for few steps, shaping."""

from __future__ import annotations

from detectors.engine.credit import MAX_EVIDENCE, STEP_COST, Credit
from detectors.engine.state import Award, State
from detectors.model.rewards import total
from detectors.model.types import Event, Milestone
from detectors.task.ruleset import Ruleset


class EpisodeRewards:
    """The terms of one episode's reward that no single milestone pays."""

    def __init__(self, ruleset: Ruleset, state: State, credit: Credit) -> None:
        self._ruleset, self._state, self._credit = ruleset, state, credit
        self._goals = [
            n for n, top in enumerate(ruleset.tops) if ruleset.nodes[top].rule.name == "goal"
        ]
        self._revocable = ruleset.find_revocable(self._goals)

    def judge_success(self) -> bool | None:
        """Whether every goal milestone was earned, and none taken back since; None without one, or
        where a gap may have hidden either."""
        if not self._goals:
            return None
        if all(self._state.award(n).earned for n in self._goals):
            return None if self.may_be_taken_back() else True
        is_hidden = any(map(self._credit.rests_on_hidden, self._goals))
        return None if is_hidden or self.is_failure_doubtful() else False

    def is_failure_doubtful(self) -> bool:
        """Whether an unknown step may have hidden a goal that was not reached."""
        state = self._state
        return any(state.is_doubtful(n) for n in self._goals if not state.award(n).earned)

    def may_be_taken_back(self) -> bool:
        """Whether an unknown step, or a gap between two, may have hidden that a goal which was
        reached before was taken back."""
        return not self._revocable.isdisjoint(self._state.unkept)

    def pay_ending(self, event: Event) -> None:
        """Pay what the end of the episode is worth: the outcome, and a bonus for few steps."""
        task, success = self._ruleset.task, self._state.success
        if not self._state.began or success is None:
            return
        goals = [self._state.award(n) for n in self._goals]
        evidence = _evidence(event, goals)
        if task.outcome is not None:
            value = task.outcome.success if success else task.outcome.failure
            self._pay("outcome", value, value * task.outcome.scale, evidence)
        if task.efficiency is not None and success:
            best, worst = task.efficiency.best, task.efficiency.worst
            spared = (worst - max(award.met_step for award in goals)) / (worst - best)
            value = min(1.0, max(0.0, spared))
            self._pay("efficiency", value, value * task.efficiency.weight, evidence)

    def pay_step(self, event: Event) -> None:
        """Take what a step costs, down to the floor of the episode's penalties."""
        task, state = self._ruleset.task, self._state
        if task.step_cost is None:
            return
        left = min(0.0, total((task.penalty_floor, -state.penalties)))
        worth = max(-task.step_cost * task.process, left)
        state.penalties = total((state.penalties, worth))
        self._pay(STEP_COST, -1.0, worth, (event.seq,))

    def pay_shaping(self, event: Event, *, after_last: bool) -> None:
        """Pay F = γΦ(s') − Φ(s) of the step that is sealed; Φ of the end is 0, so that the optimal
        policy stays (Ng, Harada and Russell 1999). A closing step after the last seal completes
        that last step's F: γ·0 − γΦ(s').

        An episode that was cut off did not end there: Φ stays, for a trainer that goes on with the
        value of its last state (Pardo et al. 2018)."""
        shaping, state = self._ruleset.task.shaping, self._state
        if shaping is None:
            return
        specs, share = self._ruleset.task.milestones, self._ruleset.share
        shaped = {
            n: award
            for n, award in sorted(state.awards.items())
            if specs[n].component in shaping.potential
        }
        before, now = state.potential, 0.0
        cut_off = event.kind == "episode.closed" and event.data.get("truncated") is True
        if cut_off or not state.closed:
            now = total((a.best - a.base) * share[n] for n, a in shaped.items() if share[n] > 0)
        counted = shaping.gamma * before if after_last else before
        state.potential = now
        worth = total((shaping.gamma * now, -counted))
        if worth:
            self._pay("shaping", now, worth, _evidence(event, list(shaped.values())))

    def _pay(self, name: str, value: float, worth: float, evidence: tuple[int, ...]) -> None:
        """Pay a term as a milestone of its own; one that is worth nothing is none."""
        if not worth:
            return
        self._credit.add(
            Milestone(
                id=f"({name})",
                rule=name,
                version=1,
                component=name,
                step=self._state.current_step,
                value=round(value, 12),
                worth=worth,
                evidence=evidence[-MAX_EVIDENCE:],
            )
        )


def _evidence(event: Event, awards: list[Award]) -> tuple[int, ...]:
    """The events that show a term: this one, and those at which milestones were first full."""
    return tuple(sorted({event.seq, *(award.met for award in awards if award.met)}))
