"""The whole corpus of hostile pages."""

from __future__ import annotations

from tests.hostile import pages, rarer_pages
from tests.hostile.pages import NOT_TOLD

PAID_FOR_NOTHING = [*pages.PAID_FOR_NOTHING, *rarer_pages.PAID_FOR_NOTHING]
HIDDEN = [*pages.HIDDEN, *rarer_pages.HIDDEN]
PAGES = [*PAID_FOR_NOTHING, *HIDDEN]

__all__ = ["HIDDEN", "NOT_TOLD", "PAGES", "PAID_FOR_NOTHING"]
