"""The episodes that a page of many is about: the same filters on each, all part of the address."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends

from api.audit.selection import AuditSelection
from api.auth.store import Principal
from api.core.errors import InvalidError

WINDOWS = (2_000, 20_000)
"""How many episodes a page counts, the newest of those selected; the first by default, so that it
opens at once."""
ALL = "all"
_NAMES = ("task", "label", "since", "until")


async def _filters(
    task: str = "", label: str = "", since: str = "", until: str = "", by: str = "", over: str = ""
) -> dict[str, str]:
    names = ("task", "label", "since", "until", "by", "over")
    values = (task, label, since, until, by, over)
    return {
        name: text for name, value in zip(names, values, strict=True) if (text := value.strip())
    }


Filters = Annotated[dict[str, str], Depends(_filters)]
"""The filters that the address has, without empty ones."""


def selection_of(who: Principal, asked: dict[str, str]) -> AuditSelection:
    """The selection that the filters ask for. Raises `InvalidError`."""
    over = asked.get("over", str(WINDOWS[0]))
    if over not in (ALL, *map(str, WINDOWS)):
        raise InvalidError(
            f"over: got {over[:40]!r}, wanted {', '.join(map(str, WINDOWS))} or {ALL}"
        )
    wanted: dict[str, Any] = {name: asked.get(name) for name in _NAMES}
    return AuditSelection(**wanted, tenant=who.tenant, newest=None if over == ALL else int(over))
