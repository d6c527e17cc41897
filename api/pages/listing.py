"""The list of episodes: every filter is part of the address, so that a look can be sent to
somebody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Header, Request, Response

from api.core.errors import InvalidError
from api.episodes.label_index import FINDINGS
from api.episodes.search import OUTCOMES, SORTS, STATUSES, Cursor, EpisodeQuery
from api.episodes.store import describe
from api.http.dependencies import SearchPart
from api.pages.render import page, static_file
from api.pages.viewer import Viewer

ROWS = 50
FILTERS = (
    "task",
    "status",
    "outcome",
    "label",
    "finding",
    "opener",
    "least",
    "most",
    "since",
    "until",
    "sort",
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")

router = APIRouter(include_in_schema=False)


async def _filters(request: Request) -> dict[str, str]:
    """Return the filters that are given, without empty ones."""
    given = {name: request.query_params.get(name, "").strip() for name in FILTERS}
    return {name: text for name, text in given.items() if text}


ListFilters = Annotated[dict[str, str], Depends(_filters)]
"""The filters that the address has, without empty ones."""


@router.get("/")
async def front() -> Response:
    """The first page is the list."""
    return Response(status_code=303, headers={"location": "/episodes"})


@router.get("/static/{digest}/{name}")
async def static(
    digest: str, name: str, accept_encoding: Annotated[str, Header()] = ""
) -> Response:
    """A style sheet or a script."""
    return static_file(digest, name, "gzip" in accept_encoding)


@router.get("/episodes")
async def listing(
    who: Viewer,
    asked: ListFilters,
    search: SearchPart,
    after: str | None = None,
    after_id: str | None = None,
) -> Response:
    """Episodes as the filters have them, a page at a time."""
    wanted = wanted_of(who.tenant, asked, after, after_id)
    rows, following = await search.page(wanted, ROWS)
    more = None
    if following is not None:
        more = "/episodes?" + urlencode(
            {**asked, "after": following.value, "after_id": following.id}
        )
    return page(
        "episodes.html",
        rows=[describe(row) for row in rows],
        asked=asked,
        more=more,
        first=wanted.after is None,
        statuses=STATUSES,
        outcomes=OUTCOMES,
        sorts=SORTS,
        findings=FINDINGS,
    )


def wanted_of(
    tenant: str, asked: Mapping[str, str], after: str | None = None, after_id: str | None = None
) -> EpisodeQuery:
    """Return the filters as the search takes them, and where the page begins. Raises `InvalidError`
    with the filter, its value and what was wanted."""
    sort: Any = _one_of("sort", asked.get("sort", "newest"), SORTS)
    return EpisodeQuery(
        tenant=tenant,
        task=asked.get("task"),
        status=_one_of("status", asked.get("status"), STATUSES),
        outcome=_one_of("outcome", asked.get("outcome"), OUTCOMES),
        label=_label(asked.get("label")),
        finding=_one_of("finding", asked.get("finding"), FINDINGS),
        opened_by=asked.get("opener"),
        least=_number("least", asked.get("least")),
        most=_number("most", asked.get("most")),
        since=_day("since", asked.get("since")),
        until=_day("until", asked.get("until")),
        sort=sort,
        after=_cursor(sort, after, after_id),
    )


def _one_of(name: str, said: str | None, known: tuple[Any, ...]) -> Any:
    """Return a word if it is one of the known. Raises `InvalidError`."""
    if said is not None and said not in known:
        raise InvalidError(f"{name}: got {said[:40]!r}, wanted {', '.join(known)}")
    return said


def _number(name: str, said: str | None) -> float | None:
    """Read a filter's number. Raises `InvalidError`."""
    try:
        value = None if said is None else float(said)
    except ValueError:
        value = float("nan")
    if value is not None and not -1e9 < value < 1e9:
        raise InvalidError(f"{name}: got {said!r:.40}, wanted a number")
    return value


def _day(name: str, said: str | None) -> str | None:
    """Check a filter's day. Raises `InvalidError`."""
    if said is None:
        return None
    try:
        if not _DAY.fullmatch(said):
            raise ValueError(said)
        date.fromisoformat(said) + timedelta(days=1)  # the last day of all has none after it
    except (ValueError, OverflowError):
        raise InvalidError(f"{name}: got {said[:40]!r}, wanted a day such as 2026-01-31") from None
    return said


def _label(said: str | None) -> tuple[str, str] | None:
    """Read a filter's KEY=VALUE. Raises `InvalidError`."""
    if said is None:
        return None
    key, equals, value = said.partition("=")
    if not (key and equals):
        raise InvalidError(f"label: got {said[:80]!r}, wanted KEY=VALUE")
    return key, value


def _cursor(sort: str, value: str | None, id: str | None) -> Cursor | None:
    """Return where the next page begins, None for the first one."""
    if value is None or id is None:
        return None
    return Cursor(_number("after", value) or 0.0 if sort in ("best", "worst") else value, id)
