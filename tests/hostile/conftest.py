"""The browser and the site of tests/cdp."""

from __future__ import annotations

from tests.cdp.conftest import browser, page, site

__all__ = ["browser", "page", "site"]
