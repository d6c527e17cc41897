"""kill -9 of Chromium at twenty random moments of a session at the shop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from milestoned_client import Reward
from playwright.sync_api import Error, Playwright, sync_playwright

from tests.faults.checks import as_without_the_fault, whole
from tests.faults.moments import MOMENTS, Moments
from tests.faults.script import nothing
from tests.support.chromium import needs_chromium
from tests.support.shopping import Session
from tests.support.stack import Stack

pytestmark = [pytest.mark.browser, needs_chromium]


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


def milestones(steps: int) -> list[dict[str, Any]]:
    """A visit in every step, each at an address of its own, and one page that must not be
    visited."""
    visits = [
        {
            "id": f"visit-{n}",
            "when": {"url_reached": {"url": {"path": "/products/lamp", "query": {"n": str(n)}}}},
        }
        for n in range(steps)
    ]
    last = {"url_reached": {"url": {"path": "/products/lamp", "query": {"n": str(steps - 1)}}}}
    forbidden = {"none_of": {"of": [{"url_reached": {"url": "/account"}}]}}
    clean = {"id": "clean", "component": "goal", "when": {"all_of": {"of": [forbidden, last]}}}
    return [*visits, clean]


def start_again(session: Session) -> None:
    """Start the browser; it may be killed while it starts."""
    while True:
        session.browser.kill()  # what is left of it
        try:
            session.start_browser()
        except (Error, RuntimeError):
            continue
        return


def shop(session: Session, steps: int, between: Any = nothing) -> list[Reward]:
    """One visit a step, with a browser started again wherever it is gone."""
    session.page.goto("about:blank")
    session.open(*milestones(steps), version=str(steps))
    for step in range(steps):
        between(step)

        def visit(step: int = step) -> None:
            try:
                session.goto(f"products/lamp?n={step}")()
            except Error:
                start_again(session)

        reward = session.act(visit)
        assert reward.settled
        if session.browser.gone():
            start_again(session)
    closing = session.episode.close(wait_s=60)
    assert closing.status == "closed"
    return list(closing.rewards)


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_chromium_killed(stack: Stack, playwright: Playwright, tmp_path: Path) -> None:
    """What nobody saw is null and masked, never 0.0; all else is as it was without the kill."""
    session = Session(stack, playwright, tmp_path)
    steps = MOMENTS + 2
    try:
        calm = shop(session, steps)
        assert all(reward.reward for reward in calm[:steps]), "without a kill every visit is paid"
        with Moments(9, lambda: session.browser.kill(), MOMENTS) as faults:
            shaken = shop(session, steps, faults.step)
        assert faults.done == MOMENTS
        events = whole(stack, shaken, session.task(*milestones(steps), version=str(steps)))
        assert [e for e in events if e.kind == "gap.began"]
        as_without_the_fault(calm, shaken, events, {"cdp", "files"})
    finally:
        session.browser.stop()
