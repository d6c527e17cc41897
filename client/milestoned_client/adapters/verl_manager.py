"""verl's reward manager for episodes: it sees all outputs of a trajectory, so whichever names the
episode counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from milestoned_client.adapters.carried import label_of, parse_label
from milestoned_client.adapters.verl import compute_score


class Tensor(Protocol):
    """What is used of a torch tensor."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, part: slice, /) -> Tensor: ...

    def sum(self) -> int: ...


class Output(Protocol):
    """What is read of one output of a trajectory (verl's `DataProtoItem`)."""

    batch: Mapping[str, Tensor]
    non_tensor_batch: Mapping[str, object]


class Trajectory(Protocol):
    """The outputs of a trajectory, in order (verl's `DataProto`)."""

    def __len__(self) -> int: ...

    def __getitem__(self, item: int, /) -> Output: ...


class EpisodeRewardManager(RewardManagerBase):  # type: ignore[misc]  # verl is not installed where this is checked
    """`reward.reward_manager.{source=importlib,name=EpisodeRewardManager,module.path=pkg://…adapters.verl}`.

    Only where no output names an episode is the last response read, and scored by its task."""

    def __init__(
        self, config: object, tokenizer: object, compute_score: object, **_router: object
    ) -> None:
        super().__init__(config, tokenizer, compute_score)

    async def run_single(self, data: Trajectory) -> dict[str, object]:
        """The trajectory's score. Raises what `compute_score` raises."""
        function = self.config.reward.get("custom_reward_function") or {}
        given = dict(function.get("reward_kwargs") or {})
        carried = [
            label
            for item in reversed(range(len(data)))
            if (label := label_of(*_carried(data[item])))
        ]
        episodes = [label for label in carried if parse_label(label).episode]
        label = next(iter(episodes or carried), None)
        text = (
            ""
            if episodes
            else await self.loop.run_in_executor(None, self._text, data[len(data) - 1])
        )
        paid = await compute_score(solution_str=text, extra_info=label, **given)
        return {"reward_score": paid["score"], "reward_extra_info": paid}

    def _text(self, item: Output) -> str:
        response = item.batch["responses"]
        length = item.batch["attention_mask"][-response.shape[-1] :].sum()
        return str(self.tokenizer.decode(response[:length], skip_special_tokens=True))


def _carried(item: Output) -> Iterator[object]:
    row = item.non_tensor_batch
    yield row
    for name in ("tool_extra_fields", "extra_info"):
        yield row.get(name)
    model = row.get("reward_model")
    yield model.get("ground_truth") if isinstance(model, Mapping) else None
