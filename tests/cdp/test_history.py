"""Where a page came from: through its history, by a reload, or on; and what is told when nobody
knows."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.state.capture_plan import CapturePlan
from detectors.model.kinds.limits import MAX_ADDRESS
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium


def hows(watch: Watch) -> list[tuple[str, str | None]]:
    return [
        (one["url"].rpartition("/")[2], one.get("navigation_type"))
        for one in watch.all("page.navigated", main=True)
    ]


@pytest.mark.browser
@needs_chromium
async def test_back_forward_and_reload_are_told_of_documents(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/a", "<title>a</title><button>A</button>")
    site.page("/b", "<title>b</title>")
    async with watching(browser) as watch:
        await page.goto(f"{site.url}/a")
        await page.goto(f"{site.other}/b")
        await page.goto(f"{site.url}/a")
        for told in (4, 5):
            await (
                watch.fence()
            )  # the browser's list of where it was is then known, as it is between an agent's steps
            await page.go_back(wait_until="commit")
            await watch.until(lambda told=told: len(hows(watch)) == told)
        await page.click("button")
        await page.go_forward(wait_until="commit")
        await page.reload()
        await page.evaluate("location.reload()")
        await watch.until(lambda: len(hows(watch)) == 8)
        await watch.fence()
        kinds = [
            kind
            for kind, data in watch.seen
            if kind in ("element.clicked",) or data.get("navigation_type") == "forward"
        ]
    assert hows(watch) == [
        ("a", None), ("b", None), ("a", None), ("b", "back"), ("a", "back"), ("b", "forward"), ("b", "reload"),
        ("b", "reload"),
    ]  # fmt: skip
    assert kinds == [
        "element.clicked",
        "page.navigated",
    ], "what waits for the answer keeps its place"


@pytest.mark.browser
@needs_chromium
async def test_back_and_forward_are_told_within_a_document(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/a", "<title>a</title><a href='#x'>x</a>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("a")
        await page.evaluate("history.pushState(0, '', '/p')")
        await page.evaluate("history.replaceState(0, '', '/r')")
        await watch.one("page.navigated", url=f"{site.url}/r")
        await watch.fence()
        for way in ("back", "back", "forward"):
            count = len(hows(watch))
            await page.evaluate(f"history.{way}()")
            await watch.until(lambda count=count: len(hows(watch)) > count)
    assert hows(watch) == [
        ("a", None), ("a#x", None), ("p", None), ("r", None), ("a#x", "back"), ("a", "back"), ("a#x", "forward"),
    ]  # fmt: skip


@pytest.mark.browser
@needs_chromium
async def test_a_page_that_never_rests_is_asked_seldom(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/a", "<title>a</title>")
    async with watching(browser) as watch:
        assert watch.source._live is not None
        await page.goto(url)
        await watch.one("page.loaded", url=url)
        before = watch.source._live._connection._last
        await page.evaluate("for (let i = 0; i < 150; i++) history.replaceState(0, '', '/a?' + i)")
        await watch.one("page.navigated", url=f"{url}?149")
        await watch.fence()
        assert watch.source._live._connection._last - before < 75


HERE = {"id": "T", "loaderId": "L1", "url": "https://a.example/"}
THERE = {"id": "T", "loaderId": "L2", "url": "https://a.example/b"}
THROUGH = {
    "frameId": "T",
    "url": THERE["url"],
    "loaderId": "L2",
    "navigationType": "historyDifferentDocument",
}


class Fold:
    """One tab, at entry 10 of its history, after one move."""

    def __init__(self) -> None:
        self.normaliser = Normaliser("bind", "salt", CapturePlan(), live=True)
        info = {"targetId": "T", "type": "page", "url": "", "title": ""}
        self.told("Target.targetCreated", "", targetInfo=info)
        self.told("Target.attachedToTarget", "", sessionId="S", targetInfo=info)
        self.normaliser.browser.settled = True
        self.told("Page.frameNavigated", frame=HERE)
        self.answered([9, 10, 11], 1, as_of=1)

    def told(self, method: str, session: str = "S", **params: Any) -> list[tuple[str, Any]]:
        seen = [
            one
            for one in self.normaliser.feed(session, method, params)
            if not one.kind.startswith("tab.")
        ]
        return [(one.kind, one.data.get("navigation_type")) for one in seen]

    def answered(self, entries: list[int], at: int, as_of: int) -> list[tuple[str, Any]]:
        listed = [{"id": one, "url": "", "userTypedURL": ""} for one in entries]
        return self.told("Page.getNavigationHistory", entries=listed, currentIndex=at, as_of=as_of)

    def reloads(self) -> None:
        again = {**THROUGH, "loaderId": "L3", "navigationType": "reload"}
        assert self.told("Page.frameStartedNavigating", **again) == []
        self.told("Page.frameNavigated", frame={**THERE, "loaderId": "L3"})

    def goes(self) -> None:
        assert self.told("Page.frameStartedNavigating", **THROUGH) == []
        assert self.told("Page.frameNavigated", frame=THERE) == [], "it waits for the answer"


def test_the_list_says_which_way() -> None:
    for at, way in ((0, "back"), (2, "forward")):
        fold = Fold()
        fold.goes()
        assert fold.answered([9, 10, 11], at, as_of=2) == [("page.navigated", way)]


def test_an_error_page_in_the_history_has_its_way_and_its_status() -> None:
    fold = Fold()
    request = {"method": "GET", "url": THERE["url"], "headers": {}}
    about = {"requestId": "L2", "loaderId": "L2", "frameId": "T", "type": "Document"}
    fold.told("Page.frameStartedNavigating", **THROUGH)
    fold.told("Network.requestWillBeSent", request=request, **about)
    response = {"url": THERE["url"], "status": 404, "headers": {}, "mimeType": "text/html"}
    fold.told("Network.responseReceived", response=response, **about)
    fold.told("Page.frameNavigated", frame=THERE)
    entries = [{"id": number, "url": "", "userTypedURL": ""} for number in (9, 10, 11)]
    answer = {"entries": entries, "currentIndex": 0, "as_of": 2}
    seen = list(fold.normaliser.feed("S", "Page.getNavigationHistory", answer))
    [page] = [event.data for event in seen if event.kind == "page.navigated"]
    assert (page["navigation_type"], page["status"]) == ("back", 404)


def test_what_follows_waits_too_and_an_answer_from_before_is_none() -> None:
    fold = Fold()
    fold.goes()
    life = {"frameId": "T", "loaderId": "L2", "name": "load"}
    assert fold.told("Page.lifecycleEvent", **life) == []
    assert fold.answered([9, 10, 11], 1, as_of=1) == []
    assert fold.answered([9, 10, 11], 0, as_of=2) == [
        ("page.navigated", "back"),
        ("page.loaded", None),
    ]


def test_after_unasked_moves_only_a_step_back_is_sure() -> None:
    for at, way in ((0, "back"), (1, "back"), (3, None)):
        fold = Fold()
        fold.told("Page.navigatedWithinDocument", frameId="T", url=HERE["url"] + "#1")
        fold.goes()
        assert fold.answered([9, 10, 12, 13], at, as_of=3) == [("page.navigated", way)]


def test_a_page_that_is_loaded_anew_before_the_answer_stands_where_it_stood() -> None:
    for at, way in ((0, "back"), (2, "forward")):
        fold = Fold()
        fold.goes()
        fold.reloads()
        answered = fold.answered([9, 10, 11], at, as_of=3)
        assert [how for kind, how in answered if kind == "page.navigated"] == [way, "reload"]
        fold = Fold()
        fold.reloads()
        fold.goes()
        assert fold.answered([9, 10, 11], at, as_of=3) == [("page.navigated", way)]


def test_a_question_that_is_refused_and_a_tab_that_goes_hold_nothing_back() -> None:
    fold = Fold()
    fold.goes()
    assert fold.told("Page.getNavigationHistory", as_of=2) == [("page.navigated", None)]
    fold = Fold()
    fold.goes()
    assert fold.told("Target.detachedFromTarget", "", sessionId="S") == [("page.navigated", None)]


def test_in_a_log_nobody_asks_so_nothing_waits() -> None:
    fold = Normaliser("", "", CapturePlan())
    fold.browser.settled = True
    list(fold.feed("", "Page.frameNavigated", {"frame": HERE}))
    list(fold.feed("", "Page.frameStartedNavigating", THROUGH))
    [seen] = fold.feed("", "Page.frameNavigated", {"frame": THERE})
    assert (seen.kind, "how" in seen.data) == ("page.navigated", False)


@pytest.mark.browser
@needs_chromium
async def test_an_address_of_two_megabytes_is_told_up_to_a_length(
    browser: Chromium, page: Page, site: Site
) -> None:
    """And the next one that differs within that length is a page of its own."""
    url = site.page("/a", "<title>a</title>")
    async with watching(browser) as watch:
        await page.goto(url)
        for name in ("p", "q"):
            await page.evaluate(f"history.pushState(0, '', '/{name}' + 'x'.repeat(1_900_000))")
        await watch.until(lambda: len(hows(watch)) == 3)
        await watch.fence()
    told = [one["url"] for one in watch.all("page.navigated", main=True)]
    assert [len(one) for one in told[1:]] == [MAX_ADDRESS + 1] * 2
    for one, name in zip(told[1:], "pq", strict=True):
        assert one.startswith(f"{site.url}/{name}xxx")
