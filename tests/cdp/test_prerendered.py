"""A page that nobody sees yet pays nothing until it is shown: the engine on what the source told of
a real browser."""

from __future__ import annotations

import asyncio

import pytest

from detectors.task.ruleset import Ruleset
from tests.cdp.site import Answer, Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]

PREPARES = """<title>a</title><a href=/next>Next</a><script type=speculationrules>
{"prerender": [{"source": "list", "urls": ["/next"], "eagerness": "immediate"}]}</script><script>
const poll = () => fetch('/go').then((answer) => answer.text())
    .then((text) => text === 'go' ? document.querySelector('a').click() : setTimeout(poll, 50));
poll()</script>"""
NEXT = """<title>next</title><h1>Order 1 placed</h1><input aria-label=Item value=lamp>
<script>document.prerendering && fetch('/prepared')</script>"""


def rules_of(site: Site) -> Ruleset:
    """The page at /next is reached, whole, and shows its text."""
    return ruleset(
        {"id": "reached", "when": {"url_reached": {"url": "/next"}}},
        {"id": "whole", "when": {"page_loaded": {"url": "/next"}}},
        {"id": "text", "when": {"text_visible": {"text": {"contains": "Order 1 placed"}}}},
        {"id": "title", "when": {"title_matches": {"title": "next"}}},
        origin=site.url,
    )


async def asked_at(site: Site, path: str) -> None:
    async with asyncio.timeout(30):
        while not any(one.path == path for one in site.asked):  # noqa: ASYNC110 - its thread knows no loop
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("when", ["before", "while it is prepared"])
async def test_a_prerendered_page_pays_when_it_is_shown_and_not_before(
    site: Site, when: str
) -> None:
    """A daemon that comes while the page is prepared meets a tab that bears the prepared page's
    name."""
    may_go: list[bool] = []
    site.page(
        "/start", "<title>start</title><script>setTimeout(() => { location = '/a' }, 1500)</script>"
    )
    site.page("/a", PREPARES)
    site.page("/next", NEXT)
    site.page("/prepared", "ok")
    site.page("/go", lambda asked: Answer("go" if may_go else "wait"))
    rules = rules_of(site)
    async with Chromium(url=f"{site.url}/start") as chromium:
        if when != "before":
            await asked_at(site, "/prepared")
        async with watching(chromium, rules.plan("e")) as watch:
            await asked_at(site, "/prepared")
            await watch.fence()
            early = paid(rules, watch)
            assert [one.id for one in early.milestones if one.worth] == [], "nobody sees it yet"
            may_go.append(True)
            await watch.one("page.navigated", url=f"{site.url}/next")
            await watch.one("page.title_changed", title="next")
            await watch.one("text.appeared", text="Order 1 placed")
            await watch.fence()
            shown = paid(rules, watch)
    assert sum(one.path == "/next" for one in site.asked) == 1, (
        "it was prerendered, and shown as it was"
    )
    assert {one.id for one in shown.milestones if one.worth} == {
        "reached",
        "whole",
        "text",
        "title",
    }
    assert not watch.all("field.filled"), "a value that came with the page was filled in by nobody"
