"""Tasks: what is asked, what counts, in which order, and how often each milestone was really
reached."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Response

from api.core.errors import InvalidError
from api.http.dependencies import OverviewPart, TasksPart
from api.http.support import ADMIN
from api.pages.graph import BOX, TALL, graph
from api.pages.render import page
from api.pages.selected import ALL, WINDOWS
from api.pages.viewer import Viewer
from api.rewards.explaining import in_general
from detectors.model.optional_values import ratio_or_none
from detectors.task.ruleset import Ruleset

EVERY = 10**9
_BARS = 12

router = APIRouter(include_in_schema=False)


class Hits(NamedTuple):
    """How often a milestone came, and when first: ``steps`` has the episodes of each first step, by
    step."""

    reached: int
    baseline: int
    rate: float | None
    steps: list[tuple[int, int]]

    @property
    def middle(self) -> int | None:
        """The median of the first steps."""
        half, passed = (self.reached + 1) // 2, 0
        for step, episodes in self.steps:
            passed += episodes
            if passed >= half:
                return step
        return None

    @property
    def shape(self) -> list[float]:
        """The first steps as at most a dozen bars, each a part of the highest."""
        if not self.steps:
            return []
        wide = max(1, -(-(self.steps[-1][0] + 1) // _BARS))
        bars = [0] * (self.steps[-1][0] // wide + 1)
        for step, episodes in self.steps:
            bars[step // wide] += episodes
        return [bar / max(bars) for bar in bars]


@router.get("/tasks")
async def tasks(who: Viewer, tasks: TasksPart, overview: OverviewPart) -> Response:
    """Every task of the tenant's, its latest version first."""
    found: dict[str, list[Any]] = {}
    for row in await tasks.listed(who.tenant):
        found.setdefault(row.id, []).insert(0, row)
    many = await overview.of_tasks(who.tenant)
    return page(
        "tasks.html", tasks=dict(sorted(found.items())), many=many, may_edit=who.scope in ADMIN
    )


@router.get("/tasks/{id:path}")
async def task(
    who: Viewer,
    id: str,
    tasks: TasksPart,
    overview: OverviewPart,
    version: str = "",
    over: str = str(WINDOWS[0]),
) -> Response:
    """One task; ``?version=`` another than its latest, ``&over=`` how many episodes are counted."""
    if over not in (ALL, *map(str, WINDOWS)):
        raise InvalidError(
            f"over: got {over[:40]!r}, wanted {', '.join(map(str, WINDOWS))} or {ALL}"
        )
    row = await tasks.find(who.tenant, id, version or None)
    rules = await tasks.ruleset(row.number)
    newest = EVERY if over == ALL else int(over)
    many, known, hits = await overview.first_hits(who.tenant, id, row.version, newest)
    versions = [one.version for one in await tasks.listed(who.tenant) if one.id == id]
    return page(
        "task.html",
        task=rules.task,
        rules=rules,
        row=row,
        graph=graph(rules),
        box=(BOX, TALL),
        many=many,
        known=known,
        over=over,
        milestones=list(_milestones(rules, known, hits)),
        versions=versions,
        windows=(*WINDOWS, ALL),
        may_edit=who.scope in ADMIN,
    )


def _milestones(rules: Ruleset, many: int, rows: Sequence[Any]) -> Iterable[dict[str, Any]]:
    """Yield each milestone with its worth, what it waits for, and how often it was hit."""
    by_id: dict[str, list[tuple[int, int]]] = {}
    for row in rows:
        by_id.setdefault(row.id, []).append((row.step, row.episodes))
    for place, told in enumerate(in_general(rules)):
        spec = rules.task.milestones[place]
        hits = hits_of(by_id.get(spec.id, []), many)
        yield {
            "spec": spec,
            "worth": told.worth,
            "waits": told.waits,
            "hits": hits,
            "mark": _mark(spec, hits, many),
        }


def hits_of(steps: Sequence[tuple[int, int]], many: int) -> Hits:
    """What rows of (first step, episodes) come to, of ``many`` episodes; step -1 is before the
    first."""
    after = [(step, episodes) for step, episodes in steps if step >= 0]
    reached = sum(episodes for _, episodes in after)
    baseline = sum(episodes for step, episodes in steps if step < 0)
    return Hits(reached, baseline, ratio_or_none(reached, many), after)


def _mark(spec: Any, hits: Hits, many: int) -> str:
    """Return "never" or "always" for a milestone that tells nothing, "" for one that does."""
    if not many or spec.penalty is not None:
        return ""
    return "never" if not hits.reached else "always" if hits.reached == many else ""
