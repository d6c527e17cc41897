"""A shop, a Chromium, service and daemon, and an agent's hand on the page: all real, all on
loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Playwright, sync_playwright

from lab.demo.parts import DemoService
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


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoService | None]:
    """The service of all sessions of a module; None, where a module says so: each has its own."""
    with Stack(tmp_path_factory.mktemp("service")) as running:
        yield running.service


@pytest.fixture
def shopping(
    service: DemoService | None, playwright: Playwright, tmp_path: Path
) -> Iterator[Session]:
    """A session whose CSV invoices come in two page views after the click."""
    if not Path(EXECUTABLE).exists():
        pytest.skip(f"{EXECUTABLE} is missing")
    with Stack(tmp_path, service=service) as stack:
        session = Session(stack, playwright, tmp_path, invoice_after=2)
        try:
            yield session
        finally:
            session.browser.stop()
