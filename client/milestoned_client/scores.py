"""Samples of a trainer and what they were worth, alone (`POST /v1/score`) and in groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from milestoned_client.calls import Call, milliseconds, post
from milestoned_client.errors import ProblemError, UnexpectedAnswerError, problem_from_json
from milestoned_client.results import build

Fold = Literal["sum", "last", "discounted", "known"]
"""How an episode's step rewards become one number: Σ r_t, the last one, Σ γ^t r_t, or Σ of those
that are known."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What is to be scored: a step of an ``episode``, a whole one, or an ``answer`` on its own
    under a ``task``.

    ``label``: instead of these whatever the data set carries, a text or an object with episode_id
    or task_id.
    """

    episode: str | None = None
    step: int | None = None
    task: str | None = None
    version: str | None = None
    label: Any = None
    answer: str | None = None

    def document(self) -> dict[str, Any]:
        """Return the sample as the JSON document that is sent."""
        names = ("episode", "step", "task", "version", "label", "answer")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True)
class Score:
    """What a sample was worth. ``reward`` None: not known, ``mask_sample`` is true and
    ``failure_reason`` says why.

    ``known_share``: share of ``step_rewards`` that are known, 0 to 1; None while the episode is not
    closed.
    """

    reward: float | None
    mask_sample: bool
    reward_components: Mapping[str, float | None]
    step_rewards: tuple[float | None, ...]
    milestones: int
    success: bool | None
    done: bool
    episode: str | None = None
    step: int | None = None
    task: str | None = None
    digest: str | None = None
    failure_kind: str | None = None
    failure_reason: str | None = None
    known_share: float | None = None


def score(
    samples: Iterable[Sample],
    wait_s: float,
    fold: Fold = "sum",
    gamma: float = 1.0,
    min_known: float = 0.5,
) -> Call[list[Score | ProblemError]]:
    """Many samples at once, in order; each gives its score, or the problem that it has."""
    wanted = [sample.document() for sample in samples]

    def parse(document: Any, _body: bytes) -> list[Score | ProblemError]:
        found = document.get("results") if isinstance(document, Mapping) else None
        if not isinstance(found, list) or len(found) != len(wanted):
            raise UnexpectedAnswerError(
                f"wanted {len(wanted)} results, got {str(document)[:120]!r}"
            )
        return [_parse_score(one) for one in found]

    how = {"fold": fold, "gamma": gamma, "min_known": min_known}
    return post("/v1/score", parse, wait_s, samples=wanted, wait_ms=milliseconds(wait_s), **how)


def _parse_score(document: Any) -> Score | ProblemError:
    if isinstance(document, Mapping) and isinstance(document.get("error"), Mapping):
        return problem_from_json(document["error"], 500)
    return build(Score, document, step_rewards=tuple(document.get("step_rewards") or ()))
