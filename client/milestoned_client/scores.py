"""Samples of a trainer and what they were worth, alone (`POST /v1/score`) and in groups."""

from __future__ import annotations

from collections.abc import Iterable

from milestoned_client.calls import Call, milliseconds, post
from milestoned_client.errors import ProblemError, UnexpectedAnswerError
from milestoned_client.json_values import Json
from milestoned_client.models import Fold, MaskCause, Sample, Score
from milestoned_client.results import read_entry, read_list


def score(
    samples: Iterable[Sample],
    wait_s: float,
    fold: Fold = "sum",
    gamma: float = 1.0,
    min_known: float = 0.5,
    mask_causes: Iterable[MaskCause] = (),
) -> Call[list[Score | ProblemError]]:
    """Many samples at once, in order; each gives its score, or the problem that it has."""
    wanted = [sample.document() for sample in samples]

    def parse(document: Json, _body: bytes) -> list[Score | ProblemError]:
        results = read_list(document, "results")
        if len(results) != len(wanted):
            raise UnexpectedAnswerError(f"results: expected {len(wanted)}, got {len(results)}")
        return [read_entry(Score, item) for item in results]

    return post(
        "/v1/score",
        parse,
        wait_s,
        samples=wanted,
        wait_ms=milliseconds(wait_s),
        fold=fold,
        gamma=gamma,
        min_known=min_known,
        mask_causes=list(mask_causes) or None,
    )
