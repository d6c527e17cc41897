"""A task's editor: a changed task is checked, then tried on recordings that are there, and then
saved as a version."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

import orjson
import yaml
from fastapi import APIRouter, Depends, Request, Response

from api.auth.store import Principal
from api.core.errors import InvalidError, ProblemError
from api.core.settings import Settings
from api.core.yaml_apart import ApartReader
from api.episodes.search import EpisodeQuery, Search
from api.episodes.store import Episodes, describe
from api.http.dependencies import JudgePart, LimitsPart, ProposerPart
from api.http.draft_gate import DraftGatePart
from api.http.proposals import confirm_requested, propose_requested
from api.http.sent_recordings import FRAMES, StoredRecordingsPart
from api.http.support import ADMIN, answer, parse_body, parts_of
from api.http.task_drafts import DraftTask, draft_requested
from api.http.tasks import require_proof
from api.pages.render import page
from api.pages.viewer import Form, Viewer, sent_body, sent_form, visitor
from api.rescoring.corpus import Corpus, StoredEpisode
from api.rescoring.report import episode_lines
from api.rescoring.stored import material
from api.rescoring.work import RescoreOutcome, outcome
from api.rewards.scored_episode import task_bytes
from api.tasks.store import Tasks
from api.tasks.task_files import BadTaskError, bad_yaml, check_task
from common.yaml_text import BadYamlError
from detectors.model.codec import sha256
from detectors.task.language import Task
from detectors.task.ruleset import compile_task

OFFERED, CHOSEN = 20, 5
"""Closed episodes that are offered to try a task on, and how many of them are chosen at first."""
_PLAIN: Mapping[str, object] = {
    "weight": 1.0,
    "after": [],
    "before": [],
    "repeat": 1,
    "baseline": "never",
    "must_hold_at_end": False,
}

_USUAL: Mapping[str, object] = {
    "penalty_floor": -1.0,
    "settings": {"quiet_ms": 50, "settle_ms": 1000},
}
_FIRST = (
    "id",
    "version",
    "instruction",
    "origin",
    "weights",
    "component",
    "weight",
    "penalty",
    "after",
    "when",
)

router = APIRouter(include_in_schema=False)


class Tried(NamedTuple):
    """What a changed task made of one stored episode; ``lines`` say the differences."""

    episode: str
    status: str
    old: float | None
    new: float | None
    success: tuple[bool | None, bool | None]
    lines: list[str]


class Draft(NamedTuple):
    """What somebody wrote: the task if it is one, else its problems."""

    text: str
    spec: Any
    task: Task | None
    problems: list[Any]


@dataclass(frozen=True, slots=True)
class EditorParts:
    """What the editor uses of the service."""

    settings: Settings
    tasks: Tasks
    yaml: ApartReader
    search: Search
    episodes: Episodes
    corpus: Corpus


async def _editor_parts(request: Request) -> EditorParts:
    parts = parts_of(request)
    return EditorParts(
        settings=parts.settings,
        tasks=parts.tasks,
        yaml=parts.yaml,
        search=parts.search,
        episodes=parts.episodes,
        corpus=Corpus(parts.database),
    )


async def _task_form(request: Request, limits: LimitsPart) -> Form:
    return await sent_form(request, 4 * limits.task_bytes)


UsedParts = Annotated[EditorParts, Depends(_editor_parts)]


@router.get("/editor")
async def edit(who: Viewer, parts: UsedParts, task: str = "", version: str = "") -> Response:
    """Show the editor; ``?task=ID&version=V`` begins from that version, without them it is empty
    and a task can be proposed."""
    if not task:
        return await _page(parts.search, who, "", Draft("", None, None, []), [])
    row = await parts.tasks.find(who.tenant, task, version or None)
    text = write_yaml(orjson.loads(bytes(row.body)))
    chosen = [one["episode"] for one in (await _offered(parts.search, who, task))[:CHOSEN]]
    return await _page(parts.search, who, task, await read_draft(parts.yaml, text), chosen)


@router.post("/editor")
async def act(
    who: Annotated[Principal, visitor(ADMIN)],
    form: Annotated[Form, Depends(_task_form)],
    parts: UsedParts,
) -> Response:
    """`do`: `try` it on the chosen episodes, or `save` what was tried."""
    text = form.get("text", "").replace("\r\n", "\n")
    if len(text.encode()) > parts.settings.limits.task_bytes:
        raise InvalidError(
            f"text: {len(text.encode())} bytes, wanted at most {parts.settings.limits.task_bytes}"
        )
    id, chosen = form.get("task", ""), form.getlist("episode")[:OFFERED]
    found = await read_draft(parts.yaml, text)
    if found.task is None:
        return await _page(parts.search, who, id, found, chosen, status=422)
    if form.get("do") == "save" and form.get("tried") == sha256(text.encode()):
        try:
            if parts.settings.needs_proof:
                await asyncio.to_thread(require_proof, found.task, found.spec, parts.settings)
            await parts.tasks.register(who.tenant, found.task)
        except ProblemError as problem:
            return await _page(
                parts.search, who, id, found, chosen, refused=problem.detail, status=problem.status
            )
        return Response(status_code=303, headers={"location": _path(found.task)})
    tried = await _tried(parts, who, found.task, chosen)
    return await _page(parts.search, who, id, found, chosen, tried=tried)


async def _sent_recordings(
    request: Request, _who: Annotated[Principal, visitor(ADMIN)], limits: LimitsPart
) -> bytes:
    return await sent_body(request, FRAMES * limits.frame_bytes)


@router.post("/editor/propose")
async def propose(
    who: Annotated[Principal, visitor(ADMIN)],
    content: Annotated[bytes, Depends(_sent_recordings)],
    proposer: ProposerPart,
    stored: StoredRecordingsPart,
) -> Response:
    """Propose a task from the recordings that the page's form has, as `POST /v1/tasks:propose`."""
    return answer(dict(await propose_requested(proposer, stored.read_for(who), content)))


@router.post("/editor/confirm")
async def confirm(
    who: Annotated[Principal, visitor(ADMIN)],
    content: Annotated[bytes, Depends(_sent_recordings)],
    proposer: ProposerPart,
    stored: StoredRecordingsPart,
) -> Response:
    """Confirm the draft in the editor by the recordings that the page's form has, as
    `POST /v1/tasks:confirm`."""
    return answer(dict(await confirm_requested(proposer, stored.read_for(who), content)))


async def _sent_instruction(
    request: Request, _who: Annotated[Principal, visitor(ADMIN)], limits: LimitsPart
) -> bytes:
    return await sent_body(request, limits.task_bytes)


@router.post("/editor/draft")
async def draft(
    who: Annotated[Principal, visitor(ADMIN)],
    content: Annotated[bytes, Depends(_sent_instruction)],
    judge: JudgePart,
    gate: DraftGatePart,
) -> Response:
    """Draft a task from the instruction that the page's form has, as `POST /v1/tasks:draft`."""
    return answer(await draft_requested(judge, gate, who.tenant, parse_body(DraftTask, content)))


async def read_draft(yaml_reader: ApartReader, text: str) -> Draft:
    """What the text says, with every problem named; read apart from the process that answers
    everybody."""
    try:
        spec, lines = await yaml_reader.read(text.encode("utf-8", "replace"))
    except BadYamlError as error:
        return Draft(text, None, None, bad_yaml(error).problems)
    try:
        task = await asyncio.to_thread(check_task, spec, lines)
    except BadTaskError as error:
        return Draft(text, None, None, error.problems)
    return Draft(text, spec, task, [])


def write_yaml(spec: Mapping[str, Any]) -> str:
    """A registered task as YAML to begin from, without what it would say by itself."""
    short = {
        key: value
        for key, value in _sorted(spec, _FIRST)
        if value not in ({}, []) and value != _USUAL.get(key)
    }
    short["milestones"] = [
        {
            key: value
            for key, value in _sorted(one, _FIRST)
            if key not in _PLAIN or value != _PLAIN[key]
        }
        for one in spec["milestones"]
    ]
    if check_task(short) != check_task(dict(spec)):
        short = dict(spec)
    said: str = yaml.safe_dump(short, sort_keys=False, allow_unicode=True, width=100)
    return said


def _sorted(spec: Mapping[str, object], first: Sequence[str]) -> list[tuple[str, object]]:
    """Names as an author would write them: those of ``first``, then others, a task's milestones
    last."""
    places = {name: place for place, name in enumerate(first)}
    return sorted(
        spec.items(), key=lambda item: (item[0] == "milestones", places.get(item[0], len(first)))
    )


def _path(task: Task) -> str:
    return f"/tasks/{quote(task.id)}?version={quote(task.version, safe='')}"


async def _offered(search: Search, who: Principal, task: str | None) -> list[dict[str, Any]]:
    """The newest closed episodes of a task; None: of all tasks."""
    rows, _ = await search.page(EpisodeQuery(who.tenant, task=task, status="closed"), OFFERED)
    return [describe(row) for row in rows]


async def _tried(
    parts: EditorParts, who: Principal, task: Task, chosen: Sequence[str]
) -> list[Tried]:
    """Score chosen closed episodes under a draft."""
    for episode in chosen:
        await parts.episodes.owned(who.tenant, episode)
    rows = [await parts.episodes.get(episode) for episode in chosen]
    stored = await parts.corpus.whole([row for row in rows if row.status == "closed"])
    return await asyncio.to_thread(_outcomes, stored, task_bytes(task))


def _outcomes(stored: Sequence[StoredEpisode], task: bytes) -> list[Tried]:
    return [_as_tried(one, outcome(material(one, task, keep=False))) for one in stored]


def _as_tried(stored: StoredEpisode, told: RescoreOutcome) -> Tried:
    """Return what an episode was paid, and what the draft would pay."""
    old, new = told["old"], told["new"]
    return Tried(
        episode=stored.row.id,
        status=told["status"],
        old=old["total"] if old else None,
        new=new["total"] if new else None,
        success=(old["success"] if old else None, new["success"] if new else None),
        lines=list(_lines(told)),
    )


def _lines(told: RescoreOutcome) -> Iterator[str]:
    if told["status"] in ("changed", "failed"):
        lines = list(episode_lines(told))
        yield from lines[told["status"] == "changed" :][:200]


async def _page(
    search: Search,
    who: Principal,
    id: str,
    found: Draft,
    chosen: Sequence[str],
    *,
    status: int = 200,
    **more: Any,
) -> Response:
    """Return the editor's page with the draft, its problems and what was tried."""
    rules = None if found.task is None else compile_task(found.task)
    told: dict[str, Any] = {"tried": None, "refused": None, **more}
    may_save = who.scope in ADMIN
    offered = await _offered(search, who, id) if id else []
    recorded = await _offered(search, who, None) if may_save and not id else offered
    return page(
        "editor.html", status, id=id, text=found.text, problems=found.problems, rules=rules,
        digest=sha256(found.text.encode()) if told["tried"] is not None else "", chosen=chosen,
        offered=offered, recorded=recorded, may_save=may_save, **told,
    )  # fmt: skip
