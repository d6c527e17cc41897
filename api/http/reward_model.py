"""What a reward model can be trained on, of a service's own episodes."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Response
from pydantic import Field

from api.auth.store import Principal
from api.core.errors import InvalidError
from api.http.answer_shapes import PreferencesShape
from api.http.authorization import requires
from api.http.dependencies import DatabasePart, PreferencesPart
from api.http.describe import problems
from api.http.json_route import JsonRoute
from api.http.shapes import Label, LabelName
from api.http.support import READ, Body, answer
from api.labelling.decisions import Decided, Weights, decisions_of, lines_of
from api.labelling.exporting import lines
from api.rescoring.corpus import PAGE, Corpus, CorpusSelection, StoredEpisode

router = APIRouter(tags=["rewards"], route_class=JsonRoute)
MAX_EPISODES = 2_000
"""Closed episodes that one answer is about."""
Weight = Annotated[float, Field(ge=0.0, le=10.0)]
_DEFAULT = Weights()


class SourceWeights(Body):
    """What a pair weighs beside a person's word, 1: by a rule's decision, and by a judge's verdict,
    times its confidence. 0: no such pairs."""

    rule: Weight = _DEFAULT.rule
    judge: Weight = _DEFAULT.judge


class PreferencesBody(Body):
    """Which closed episodes: of a task, of a version of it, with these labels."""

    task: Annotated[str, Field(min_length=1, max_length=512)] | None = None
    version: Annotated[str, Field(max_length=256)] | None = None
    labels: Annotated[dict[LabelName, Label], Field(default_factory=dict, max_length=64)]
    weights: SourceWeights = SourceWeights()


@router.post(
    "/v1/reward-model/preferences",
    summary="What a reward model can be trained on",
    response_model=PreferencesShape,
    responses=problems(401, 403, 413, 422),
)
async def preferences(
    who: Annotated[Principal, requires(READ)],
    database: DatabasePart,
    labelled: PreferencesPart,
    body: PreferencesBody,
) -> Response:
    """Lines of pref/1 of closed episodes: what people said, what rules decided of the goal, and a
    judge's verdicts of it as targets to distil, each pair with its weight. What is not known is no
    line. `milestoned rm prefer --stored` writes the same; a recording that a line names is that of
    `GET /v1/episodes/{episode}/recording`."""
    weights = Weights(rule=body.weights.rule, judge=body.weights.judge)
    chosen = CorpusSelection(who.tenant, None, body.task, body.version, None, body.labels)
    tasks: dict[str, dict[str, Any]] = {}
    decided: list[Decided] = []
    for one in await _episodes(Corpus(database), chosen):
        name = str(one.row.id)
        tasks[name] = orjson.loads(one.task)
        decided += decisions_of(name, tasks[name], one.rewards, one.verdicts, weights)
    words = await labelled.all(who.tenant, body.task)
    said = [orjson.loads(line) for line in lines(words, tasks)]
    return answer({"episodes": len(tasks), "lines": [*said, *lines_of(decided, weights)]})


async def _episodes(corpus: Corpus, chosen: CorpusSelection) -> list[StoredEpisode]:
    """The chosen episodes without their events. Raises `InvalidError` for too many."""
    rows: list[Any] = []
    async for row in corpus.rows(chosen):
        rows.append(row)
        if len(rows) > MAX_EPISODES:
            raise InvalidError(
                f"more than {MAX_EPISODES} episodes are meant; expected a task, version or labels"
                " that fewer have"
            )
    found: list[StoredEpisode] = []
    for at in range(0, len(rows), PAGE):
        found += await corpus.whole(rows[at : at + PAGE], with_log=False)
    return found
