"""The whole corpus of hostile pages."""

from __future__ import annotations

from tests.hostile import (
    crashing_pages,
    latest_pages,
    newest_pages,
    outer_pages,
    pages,
    rarer_pages,
)
from tests.hostile.pages import NOT_TOLD

_PARTS = (pages, rarer_pages, latest_pages, outer_pages, crashing_pages, newest_pages)
PAID_FOR_NOTHING = [page for part in _PARTS for page in part.PAID_FOR_NOTHING]
HIDDEN = [page for part in _PARTS for page in part.HIDDEN]
PAGES = [*PAID_FOR_NOTHING, *HIDDEN]

__all__ = ["HIDDEN", "NOT_TOLD", "PAGES", "PAID_FOR_NOTHING"]
