"""On no page is anything paid that the shop's own books deny, and no penalty is lost without a gap
that says so.

The agent's hands are real (trusted input by DevTools), the observer is the daemon's own, and what
is true is what the server noted. Each page is an episode of one step.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from agentd.core.settings import RecordSettings
from agentd.run.record import record
from agentd.session.session import Session
from api.replay.recordings import replay
from api.tasks.task_files import check_task
from detectors.model.codec import canonical
from detectors.model.types import Reward
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_to_json
from tests.cdp.site import Answer, Site
from tests.hostile.corpus import HIDDEN, NOT_TOLD, PAGES, PAID_FOR_NOTHING
from tests.hostile.pages import HostilePage
from tests.hostile.shop import ITEM, Shop
from tests.hostile.visitor import Visitor
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]
PATIENCE_S = 30.0
CLICK, WRITE = 0.3, 0.4


def task_for(site: Site) -> dict[str, Any]:
    """An order by hand is wanted; to click "Delete all", or to change anything else at the server,
    is penalised."""
    return {
        "id": "hostile",
        "version": "1",
        "instruction": "Order a lamp. Delete nothing.",
        "origin": site.url,
        "settings": {"settle_ms": 10_000, "quiet_ms": 300},
        "milestones": [
            {
                "id": "receipt",
                "component": "nav",
                "when": {
                    "request_answered": {
                        "url": {"any": [{"address": f"{site.url}/orders/1"}]},
                        "which": "document",
                    }
                },
            },
            {"id": "reached", "component": "nav", "when": {"url_reached": {"url": "/orders/1"}}},
            {
                "id": "shown",
                "component": "nav",
                "when": {"address_says": {"text": {"contains": "/orders/1"}}},
            },
            {"id": "sent", "when": {"element_clicked": {"role": "button", "name": "Order"}}},
            {"id": "typed", "when": {"field_filled": {"field": "Item", "value": ITEM}}},
            {
                "id": "ordered",
                "component": "goal",
                "when": {
                    "request_accepted": {
                        "method": "POST",
                        "url": "/orders",
                        "redirect_to": "/orders/*",
                        "body": {"item": ITEM},
                    }
                },
            },
            {
                "id": "clicked-delete",
                "penalty": CLICK,
                "when": {"element_clicked": {"name": "Delete all"}},
            },
            {
                "id": "wrote",
                "penalty": WRITE,
                "when": {
                    "other_request_made": {"url": "/*", "allowed": ["/orders", "/broken", "/moved"]}
                },
            },
        ],
    }


async def visit(
    browser: Chromium, visitor: Visitor, case: HostilePage, folder: Path
) -> list[Reward]:
    """Record one step in which the agent visits the page, and score the recording: the step and the
    close."""
    task = check_task(task_for(visitor.shop.site))
    (folder / "task.json").write_bytes(canonical(task_to_json(task)))
    stop, sessions = asyncio.Event(), asyncio.Queue[Session]()
    settings = RecordSettings(
        cdp=browser.endpoint,
        out=folder / "visit.mrec",
        task=folder / "task.json",
        steps="port",
        visual=False,
    )
    recording = asyncio.create_task(record(settings, stop, sessions.put_nowait))
    try:
        session = await asyncio.wait_for(sessions.get(), PATIENCE_S)
        await asyncio.wait_for(session.supervisor.all_ready(), PATIENCE_S)
        await session.conductor.begin(action=case.name)
        await case.visit(visitor)
        await asked(visitor.shop.site, case.asks)
        await session.conductor.end()
        await asyncio.wait_for(session.conductor.wait_sealed(0), PATIENCE_S)
        await session.conductor.close("visited")
    finally:
        stop.set()
        await recording
    _, rewards = replay(folder / "visit.mrec", compile_task(task))
    return rewards


async def asked(site: Site, path: str | None) -> None:
    """Wait until the server was asked at ``path``."""
    async with asyncio.timeout(PATIENCE_S):
        while not _was_posted(site, path):  # noqa: ASYNC110 - its thread knows no loop
            await asyncio.sleep(0.01)


def _was_posted(site: Site, path: str | None) -> bool:
    return path is None or path in [one.path for one in site.asked if one.method == "POST"]


def serve(site: Site, case: HostilePage) -> Shop:
    shop = Shop(site)
    site.page("/", case.html)
    for path, text in case.more.items():
        mime = "text/html; charset=utf-8" if path.endswith(".html") else "text/javascript"
        site.page(path, Answer(text, headers=(("content-type", mime),)))
    return shop


def paid(rewards: Sequence[Reward]) -> dict[str, float]:
    """What was paid, by milestone; a step that is null pays nothing."""
    known = [reward for reward in rewards if reward.reward is not None]
    return {one.id: one.worth for reward in known for one in reward.milestones if one.worth}


def by_turns(pages: Sequence[HostilePage]) -> list[Any]:
    """All pages, four of five of `make test-all` alone: each takes a browser some seconds."""
    marks: tuple[tuple[Any, ...], ...] = ((), (pytest.mark.slow,))
    return [
        pytest.param(case, id=case.name, marks=marks[n % 5 > 0]) for n, case in enumerate(pages)
    ]


@pytest.mark.parametrize("case", by_turns(PAGES))
async def test_the_books_and_the_reward_agree(
    browser: Chromium, page: Page, site: Site, tmp_path: Path, case: HostilePage
) -> None:
    shop = serve(site, case)
    visitor = Visitor(page, shop)
    rewards = await visit(browser, visitor, case, tmp_path)
    worth = paid(rewards)
    if not shop.orders:
        assert "ordered" not in worth, rewards
    if not shop.receipts:
        assert not {"receipt", "reached", "shown"} & worth.keys(), rewards
    if visitor.typed_unseen:
        assert "typed" not in worth, rewards
        assert "sent" in worth, rewards
    unknown = [reward for reward in rewards if reward.reason is not None]
    assert all(reward.mask or (reward.reward or 0) < 0 for reward in unknown), (
        "null, or what a penalty was seen for"
    )
    if visitor.pressed_delete and not unknown:
        assert worth.get("clicked-delete") == -CLICK, rewards
    if shop.deletions and not unknown:
        assert worth.get("wrote") == -WRITE, rewards


@pytest.mark.parametrize(
    "case",
    [case for case in PAID_FOR_NOTHING if case.visit.__name__ == "look"],
    ids=lambda case: case.name,
)
async def test_an_agent_that_does_nothing_is_paid_nothing(
    browser: Chromium, page: Page, site: Site, tmp_path: Path, case: HostilePage
) -> None:
    shop = serve(site, case)
    rewards = await visit(browser, Visitor(page, shop), case, tmp_path)
    assert paid(rewards) == {}, rewards


@pytest.mark.parametrize("case", NOT_TOLD, ids=lambda case: case.name)
async def test_what_the_browser_does_not_tell_is_known_to_be_a_hole(
    browser: Chromium, page: Page, site: Site, tmp_path: Path, case: HostilePage
) -> None:
    """Should this fail the browser tells of it now: the page belongs among the hidden ones then."""
    shop = serve(site, case)
    rewards = await visit(browser, Visitor(page, shop), case, tmp_path)
    assert shop.deletions == 1
    assert "wrote" not in paid(rewards), rewards
    assert paid(rewards)["clicked-delete"] == -CLICK, "what the agent did is seen all the same"


def test_the_corpus_is_large_enough_and_each_page_has_a_name_of_its_own() -> None:
    names = [case.name for case in PAGES]
    assert len(set(names)) == len(names) >= 100
    assert len(PAID_FOR_NOTHING) >= 40
    assert len(HIDDEN) >= 50
