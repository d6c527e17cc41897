"""What a sample was worth, as code holds it and as the wire has it."""

from __future__ import annotations

from pydantic import ConfigDict, computed_field

from api.core.described import Described


class SampleScore(Described):
    """What a sample was worth. `reward` is null where it is not known: then `mask_sample` is true
    and the failure says why, in NeMo Gym's words."""

    model_config = ConfigDict(frozen=True)

    reward: float | None
    reward_components: dict[str, float | None]
    """What each component was credited with; null where that is not known."""
    step_rewards: list[float | None]
    known_share: float | None
    """The share of `step_rewards` that are known, from 0 to 1; null while the episode is not
    closed."""
    milestones: int
    """How many were reached."""
    success: bool | None
    """Whether the goals were reached; null while the episode is open, and where it is not known."""
    done: bool
    """Whether the episode ended with it."""
    episode: str | None
    step: int | None
    task: str | None
    digest: str | None
    """Of the task, the versions of the rules and the engine."""
    failure_kind: str | None = None
    failure_reason: str | None = None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def mask_sample(self) -> bool:
        """Whether the sample is to be left out."""
        return self.reward is None

    def document(self) -> dict[str, object]:
        """The same keys for every sample, scored or not."""
        return self.model_dump()
