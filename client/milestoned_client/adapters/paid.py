"""What a sample, a step or a whole rollout paid, as all adapters tell it on: one amount, numbers
for logs, a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from milestoned_client.adapters.scoring import Found, certain, unknown_payout, unknown_reason
from milestoned_client.adapters.settings import AdapterSettings
from milestoned_client.models import Reward, Score


@dataclass(frozen=True, slots=True)
class Paid:
    """``reward`` None: not known, and ``reason`` says why. ``known_share``: of the steps, 0 to
    1."""

    reward: float | None
    reason: str | None = None
    components: Mapping[str, float | None] = field(default_factory=dict)
    milestones: int = 0
    steps: int = 0
    success: bool | None = None
    known_share: float = 0.0

    def amount(self, settings: AdapterSettings) -> float:
        """The reward, or the configured fall-back. Raises `UnknownRewardError` where there is
        neither."""
        value = (
            self.reward if self.reward is not None else unknown_payout(str(self.reason), settings)
        )
        return certain(value, self.reason)

    def logs(self) -> dict[str, float]:
        """Numbers for a trainer's logs, the same keys whatever was found."""
        return {
            "milestones": float(self.milestones),
            "steps": float(self.steps),
            "success": float(self.success is True),
            "success_known": float(self.success is not None),
            "unknown": float(self.reward is None),
            "known_share": self.known_share,
        }


def payout_of(found: Found) -> Paid:
    """What a score says. Raises a refusal as it is."""
    if not isinstance(found, Score):
        return Paid(None, unknown_reason(found))
    reason = None if found.reward is not None else unknown_reason(found)
    steps = len(found.step_rewards)
    share = found.known_share or 0.0
    return Paid(
        found.reward, reason, found.reward_components, found.milestones, steps, found.success, share
    )


def together(rewards: Sequence[Reward]) -> Paid:
    """What steps paid together: None as soon as one of them is not known."""
    if not rewards:
        return Paid(None, "there was no step")
    masked = next((reward for reward in rewards if reward.reward is None), None)
    return Paid(
        sum(reward.reward or 0.0 for reward in rewards) if masked is None else None,
        f"milestoned:{masked.status}: {masked.reason}" if masked is not None else None,
        _sum_components(rewards),
        sum(len(reward.milestones) for reward in rewards),
        len(rewards),
        rewards[-1].success,
        sum(reward.reward is not None for reward in rewards) / len(rewards),
    )


def _sum_components(rewards: Sequence[Reward]) -> dict[str, float | None]:
    """Each component's sum over the steps; None where a part of it is not known."""
    sums: dict[str, float | None] = {}
    for reward in rewards:
        for name, part in reward.components.items():
            before = sums.get(name, 0.0)
            sums[name] = None if part is None or before is None else before + part
    return sums
