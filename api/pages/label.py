"""Label: people say which of two trajectories is better, or whether a step brought the task on;
keyboard first."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple
from urllib.parse import urlencode

import orjson
from fastapi import APIRouter, Depends, Request, Response

from api.auth.store import Principal
from api.cascade.worker import Worker
from api.core.errors import InvalidError
from api.episodes.store import Episodes
from api.exporting.stored import recording
from api.http.dependencies import DatabasePart
from api.http.support import TRAINER, parts_of
from api.labelling.agreement import alpha
from api.labelling.exporting import FOLDER, lines
from api.labelling.queue import QueueItem, by_item, is_disagreed, is_swapped, open_to, queue
from api.labelling.store import STEP, LabelWord, Preferences
from api.pages.render import page
from api.pages.viewer import Form, Viewer, ViewerStream, sent_form, visitor
from api.pages.zipping import stream_archive, whole
from api.rescoring.corpus import Corpus, StoredEpisode
from api.rewards.ledger import Ledger
from api.tasks.store import Tasks
from api.timeline.outlines import Outlines
from api.verdicts.escalations import PendingItem
from detectors.model.optional_values import first_or_none, last_or_none
from detectors.model.types import Verdict

AROUND = 6
"""Steps before the one that is asked about that are shown with it."""
MAX_EPISODES = 2_000
"""Recordings in one file of preferences."""

router = APIRouter(include_in_schema=False)


class LabelSide(NamedTuple):
    """One trajectory, or a part of it, as it is looked at."""

    episode: str
    instruction: str
    steps: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class LabelParts:
    """What these pages use of the service."""

    preferences: Preferences
    episodes: Episodes
    outlines: Outlines
    ledger: Ledger
    tasks: Tasks
    cascade: Worker


async def _label_parts(request: Request) -> LabelParts:
    parts = parts_of(request)
    return LabelParts(
        preferences=parts.preferences,
        episodes=parts.episodes,
        outlines=parts.outlines,
        ledger=parts.ledger,
        tasks=parts.tasks,
        cascade=parts.cascade,
    )


async def _label_form(request: Request) -> Form:
    return await sent_form(request, 16 * 1024)


UsedParts = Annotated[LabelParts, Depends(_label_parts)]


@router.get("/label")
async def label(who: Viewer, parts: UsedParts, task: str = "") -> Response:
    """What this person is asked next; ``?task=``: of that task alone."""
    task = task.strip()
    items, words = await _queue(parts.preferences, who, task)
    mine = open_to(items, words, who.id)
    item = first_or_none(mine)
    sides = [] if item is None else await _sides(parts, item, who.id)
    said = [word for word in words if word.annotator == who.id]
    return page(
        "label.html",
        item=item,
        sides=sides,
        task=task,
        left=len(mine),
        said=len(said),
        people=_people(words, who),
        agreement=_agreement(words),
        may_say=who.scope in TRAINER,
        last=last_or_none(said),
    )


@router.post("/label")
async def say(
    who: Annotated[Principal, visitor(TRAINER)],
    said: Annotated[Form, Depends(_label_form)],
    parts: UsedParts,
) -> Response:
    """Keep what was said; the next one follows."""
    task = said.get("task", "")
    item = await _item(parts, who, said)
    choice = _choice(item, said.get("choice", ""))
    final = bool(said.get("final")) and not item.second and choice in ("yes", "no")
    if final:
        final = await _final(parts, who, item, choice)
    await parts.preferences.say(
        who.tenant,
        who.id,
        LabelWord(item.task, item.first, item.second, item.step, item.item, choice, final),
    )
    back = "/label?" + urlencode({"task": task}) if task else "/label"
    return Response(status_code=303, headers={"location": back})


@router.get("/label/preferences.zip")
async def export(
    who: Viewer, parts: UsedParts, database: DatabasePart, stream: ViewerStream
) -> Response:
    """Everybody's words as `preferences.jsonl` (pref/1) with the recordings that they are about."""
    words = await parts.preferences.all(who.tenant)
    ids = sorted({id for word in words for id in (word.first, word.second) if id})
    if len(ids) > MAX_EPISODES:
        raise InvalidError(
            f"preferences: they are about {len(ids)} episodes, wanted at most {MAX_EPISODES}"
        )
    rows = [await parts.episodes.get(id) for id in ids]
    files = _files(words, whole(Corpus(database), rows))
    return await stream_archive("preferences.zip", files, stream)


async def _queue(
    store: Preferences, who: Principal, task: str
) -> tuple[list[QueueItem], Sequence[Any]]:
    of = task or None
    words = await store.all(who.tenant, of)
    waiting, unsettled = await store.waiting(who.tenant, of), await store.unsettled(who.tenant, of)
    return queue(waiting, unsettled, words, await store.closed(who.tenant, of)), words


async def _item(parts: LabelParts, who: Principal, said: Mapping[str, str]) -> QueueItem:
    """What the form is about: episodes of the caller's own. Raises `InvalidError`,
    `NotFoundError`."""
    first, second, step = said.get("first", ""), said.get("second", ""), said.get("step", "-1")
    if not re.fullmatch(r"-?[0-9]{1,9}", step):
        raise InvalidError(f"step: got {step[:20]!r}, wanted a number")
    for episode in filter(None, (first, second)):
        await parts.episodes.owned(who.tenant, episode)
    if not first or (second and first >= second):
        raise InvalidError(
            f"second: got {second[:40]!r}, wanted an episode other than the first, and after it"
        )
    item = "" if second else said.get("item", "")[:512]
    if "\0" in item:  # no database keeps it
        raise InvalidError(f"item: got {item[:40]!r}, wanted a text without NUL")
    row = await parts.episodes.get(first)
    if second and (await parts.episodes.get(second)).task != row.task:
        raise InvalidError("second: got an episode of another task, wanted one of the same")
    return QueueItem(
        row.task,
        first,
        second,
        -1 if second else int(step),
        item,
        "",
    )


def _choice(item: QueueItem, said: str) -> str:
    """Return a person's choice as it is kept. Raises `InvalidError` for one that the item does not
    offer."""
    if not item.second:
        known: Mapping[str, str] = {one: one for one in STEP}
    else:
        known = {item.first: "first", item.second: "second", "tie": "tie", "unsure": "unsure"}
    if said not in known:
        raise InvalidError(f"choice: got {said[:40]!r}, wanted one of {', '.join(known)}")
    return known[said]


async def _final(parts: LabelParts, who: Principal, item: QueueItem, choice: str) -> bool:
    """Let it be the step's final verdict, where that still waits."""
    waiting = [
        row for row in await parts.preferences.waiting(who.tenant) if row.episode == item.first
    ]
    for row in waiting:
        if (row.step, row.item) == (item.step, item.item):
            asked = PendingItem(
                row.episode,
                row.step,
                row.item,
                row.audit,
                row.attempts,
                0.0,
                who.tenant,
                row.task,
                row.task_number,
            )
            verdict = Verdict(
                "person", float(choice == "yes"), 1.0, "said on the page of labels", who.id
            )
            await parts.cascade.say(asked, verdict)
            return True
    return False


async def _sides(parts: LabelParts, item: QueueItem, annotator: str) -> list[LabelSide]:
    """Return the one or two episodes of an item; some annotators see the two the other way
    round."""
    ids = [item.first, item.second] if item.second else [item.first]
    sides = [await _side(parts, id, item) for id in ids]
    return sides[::-1] if item.second and is_swapped(item, annotator) else sides


async def _side(parts: LabelParts, episode: str, item: QueueItem) -> LabelSide:
    """Return what is shown of an episode: its steps around the item, with their milestones."""
    row = await parts.episodes.get(episode)
    outline = await parts.outlines.load(episode, row.through)
    rewards = {one["step"]: one for one in map(orjson.loads, await parts.ledger.all(episode))}
    steps = [
        {
            "span": span,
            "milestones": rewards[span.step]["milestones"] if span.step in rewards else [],
        }
        for span in outline.spans
        if span.step is not None and (item.second or item.step - AROUND <= span.step <= item.step)
    ]
    return LabelSide(episode, (await parts.tasks.ruleset(row.task_number)).task.instruction, steps)


def _people(words: Sequence[Any], who: Principal) -> list[tuple[str, int]]:
    """Return how much each person has said, who looks as "you", most first."""
    found: dict[str, int] = {}
    for word in words:
        found[word.annotator] = found.get(word.annotator, 0) + 1
    return sorted(
        (("you" if id == who.id else id, many) for id, many in found.items()),
        key=lambda one: -one[1],
    )


def _agreement(words: Sequence[object]) -> dict[str, object]:
    """Krippendorff's alpha, and how many items two people or more said something of."""
    groups = list(by_item(words).values())
    told = [[word.choice for word in said if word.choice != "unsure"] for said in groups]
    both = [said for said in groups if len([word for word in said if word.choice != "unsure"]) > 1]
    return {"alpha": alpha(told), "many": len(both), "disagreed": sum(map(is_disagreed, both))}


async def _files(
    words: Sequence[object], stored: AsyncIterator[StoredEpisode]
) -> AsyncIterator[tuple[str, bytes]]:
    tasks = {}
    async for one in stored:
        tasks[one.row.id] = orjson.loads(one.task)
        yield f"{FOLDER}/{one.row.id}.mrec", recording(one)
    yield "preferences.jsonl", b"".join(lines(words, tasks))
