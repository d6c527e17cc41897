"""One run over a corpus: batches to the crew, answers in order, what an earlier run did already
taken over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import orjson

from api.rescoring.crews import Batch
from api.rescoring.kept import Results, ResultsError
from api.rescoring.work import EpisodeOutcome, Material
from detectors.model.codec import sha256

TOGETHER = 64
"""Episodes in a batch at most: enough that handing it over costs little beside the work."""
TOGETHER_BYTES = 1024 * 1024

Crew = Callable[[Iterable[Batch]], Iterator[list[EpisodeOutcome]]]
Ask = Callable[[Iterator[Material]], Iterator[Material]]


def run(
    materials: Iterator[Material],
    crew: Crew,
    results: Results | None,
    ask: Ask | None = None,
    *,
    grows: bool = False,
) -> Iterator[EpisodeOutcome]:
    """Every episode's answer, in the order of ``materials``. With ``results`` they are kept there
    as they come, and those that are there already are not worked out again. ``ask`` goes over what
    is left first, episode by episode. ``grows``: there may be more episodes meanwhile, also between
    those that are done; such are left out, as they are by a run that is past their place.

    Raises `ResultsError` where an episode is not what it was when the run began.
    """
    if results is not None:
        yield from _again(materials, results, grows=grows)
    rest = batches(materials) if ask is None else ([one] for one in ask(materials))
    for answers in crew(rest):
        for answer in answers:
            if results is not None:
                results.add(answer.line)
        if results is not None:
            results.flush()
        yield from answers
    if results is not None:
        results.finish()


def _again(
    materials: Iterator[Material], results: Results, *, grows: bool
) -> Iterator[EpisodeOutcome]:
    """Yield the outcomes that an earlier run wrote. Raises `ResultsError` where their episodes
    changed since."""
    for line in results.finished_lines():
        told = orjson.loads(line)
        material = next((one for one in materials if not grows or one.name == told["name"]), None)
        if material is None or (material.name, sha256(material.content)) != (
            told["name"],
            told["content"],
        ):
            raise ResultsError(
                f"{told['name']}: has changed, or is gone, since this run began; remove the .part"
                " file to begin anew"
            )
        yield EpisodeOutcome(told["status"], line)


def batches(materials: Iterable[Material]) -> Iterator[list[Material]]:
    """``materials`` in runs of at most `TOGETHER` episodes and about `TOGETHER_BYTES`."""
    batch: list[Material] = []
    size = 0
    for material in materials:
        batch.append(material)
        size += len(material.content)
        if len(batch) >= TOGETHER or size >= TOGETHER_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
