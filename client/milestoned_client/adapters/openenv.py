"""OpenEnv: a rubric for environments of one's own; `EnvClient`s need none, they speak to the
service's `/openenv`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Unpack, cast

from openenv.core.rubrics.base import Rubric

from milestoned_client.adapters.carried import label_of, last_text
from milestoned_client.adapters.scoring import number, score
from milestoned_client.adapters.settings import GivenSettings, settings
from milestoned_client.models import Sample, Score


class HttpRubric(Rubric):  # type: ignore[misc]  # OpenEnv is not installed where this is checked
    """The reward of what the observation's metadata or the action names, else of an answer under
    ``task``.

    ``last``: the whole score of the last call. Settings are those of `adapters.settings`. One
    client serves all sessions of a process.
    """

    def __init__(self, task: str | None = None, **given: Unpack[GivenSettings]) -> None:
        super().__init__()
        self._task, self._settings = task, settings(**given)
        self.last: Score | None = None

    async def forward(self, action: object, observation: object) -> float:
        """Raises `UnknownRewardError` where nobody knows and there is no fall-back."""
        label = label_of(
            *map(_members, (getattr(observation, "metadata", None), observation, action)),
            self._task,
        )
        answer = _members(action).get("answer")
        sample = Sample(label=label, answer=None if answer is None else last_text(answer))
        found = (await score([sample], self._settings))[0]
        self.last = found if isinstance(found, Score) else None
        return number(found, self._settings)


def _members(value: object) -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    if hasattr(type(value), "model_fields"):  # one of pydantic's
        return dict(cast(Iterable[tuple[str, object]], value))
    return {}
