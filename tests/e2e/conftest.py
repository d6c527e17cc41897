"""A shop, a Chromium, service and daemon, and an agent's hand on the page: all real, all on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Playwright, sync_playwright

from tests.support.chromium import EXECUTABLE
from tests.support.shopping import Session
from tests.support.stack import Stack


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    with Stack(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture
def shopping(stack: Stack, playwright: Playwright, tmp_path: Path) -> Iterator[Session]:
    """A session whose CSV invoices come in two page views after the click."""
    if not Path(EXECUTABLE).exists():
        pytest.skip(f"{EXECUTABLE} is missing")
    session = Session(stack, playwright, tmp_path, invoice_after=2)
    try:
        yield session
    finally:
        session.browser.stop()
