"""What a sample was worth, as code holds it and as the wire has it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, computed_field


class Score(BaseModel):
    """One sample's score; `reward` is null where it is not known, and the failure says why (NeMo
    Gym's words).

    `known_share`: the share of `step_rewards` that are known, from 0 to 1; null while the episode
    is not closed.
    """

    model_config = ConfigDict(frozen=True)

    reward: float | None
    reward_components: dict[str, float | None]
    step_rewards: list[float | None]
    known_share: float | None
    milestones: int
    success: bool | None
    done: bool
    episode: str | None
    step: int | None
    task: str | None
    digest: str | None
    failure_kind: str | None = None
    failure_reason: str | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def mask_sample(self) -> bool:
        """Whether the sample is to be left out."""
        return self.reward is None

    def document(self) -> dict[str, Any]:
        """The same keys for every sample, scored or not."""
        return self.model_dump()
