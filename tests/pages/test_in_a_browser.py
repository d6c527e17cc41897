"""The pages as a person meets them, in a real browser: by mouse, by keyboard, live, under
attack."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import orjson
import pytest
from playwright.async_api import Page, expect

from detectors.model.codec import GENESIS, sha256
from tests.api.processes import Process
from tests.api.service import TASK, events, frames, texts
from tests.pages.looking import is_accessible, logged_in, served
from tests.support.chromium import needs_chromium
from tests.support.logs import Said, began, clicked, sealed, went

pytestmark = [pytest.mark.browser, needs_chromium]
ATTACK = (
    "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>"
)
BROKEN_WORDS = """() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const broken = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (!node.parentElement.checkVisibility()) continue;
    for (const word of node.data.matchAll(/(?<!\\w)[A-Za-z]{3,20}(?!\\w)/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = [...range.getClientRects()].filter((box) => box.width > 0.5);
      if (new Set(lines.map((box) => Math.round(box.top))).size > 1) broken.push(word[0]);
    }
  }
  return broken;
}"""
"""The words, not the letters of hashes, that go on in another line."""
OPENED = ("episode.opened", {"task": "t", "digest": "d"})
CLOSED = ("episode.closed", {"reason": "done"})


def acted(step: int, action: Any) -> Said:
    """A step begins with this action."""
    return ("step.began", {"step": step, "action": action})


class Site(NamedTuple):
    """The service, and somebody who tells it of episodes."""

    process: Process
    http: httpx.Client

    def open(self, **labels: str) -> tuple[str, str]:
        """A new episode's id and append token."""
        opened = (
            self.http.post("/v1/episodes", json={"task": TASK["id"], "labels": labels})
            .raise_for_status()
            .json()
        )
        return opened["episode"], opened["token"]

    def tell(
        self, episode: str, token: str, *said: Said, first: int = 1, prev: str = GENESIS
    ) -> str:
        """Append what was said; gives the log's head."""
        told = events(episode, *said, first=first)
        path, headers = f"/v1/episodes/{episode}/events", {"authorization": f"Bearer {token}"}
        self.http.post(path, content=frames(told, prev=prev)[0], headers=headers).raise_for_status()
        return sha256(texts(told, prev=prev)[0])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with served(tmp_path_factory.mktemp("pages")) as (process, http):
        yield Site(process, http)


@pytest.fixture
async def page(site: Site) -> AsyncIterator[Page]:
    """A tab of somebody who is logged in."""
    async with logged_in(site.process) as tab:
        yield tab


async def test_a_null_step_says_what_to_do_and_a_phone_breaks_no_word(
    site: Site, page: Page
) -> None:
    """At 390 px the column of reasons was one of three letters: milest-ones."""
    episode, token = site.open(policy="gone-browser")
    gone = ("gap.began", {"source": "cdp", "reason": "the browser closed the connection"})
    said = [OPENED, acted(0, "open the cart"), went("/cart"), sealed(0), acted(1, "buy")]
    site.tell(episode, token, *said, gone, sealed(1), CLOSED)
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.goto(f"/episodes/{episode}?step=1")
    why = page.locator("#why")
    await expect(why).to_contain_text("cdp saw nothing from event 6")
    await expect(why.get_by_role("link", name="event 6")).to_be_visible()
    await expect(why.locator(".remedy")).to_contain_text("docs/how-to/null-rewards.md")
    assert await page.evaluate(BROKEN_WORDS) == []
    await page.goto(f"/episodes/{episode}?step=0")
    await expect(why).to_contain_text("milestone")
    assert await page.evaluate(BROKEN_WORDS) == []
    await page.goto("/episodes")
    assert await page.evaluate(BROKEN_WORDS) == []


async def test_an_episode_without_a_daemon_says_so(site: Site, page: Page) -> None:
    episode, _ = site.open(policy="alone")
    await page.goto(f"/episodes/{episode}")
    await expect(page.locator("#why")).to_contain_text("No daemon has begun")
    waiting, token = site.open(policy="half-watched")
    reason = "not watched: the daemon was given no --files"
    site.tell(waiting, token, OPENED, ("gap.began", {"source": "files", "reason": reason}))
    await page.goto(f"/episodes/{waiting}")
    await expect(page.locator("#why")).to_contain_text("a source that observed nothing, and why")


async def test_an_episode_is_found_opened_and_walked_by_keyboard(site: Site, page: Page) -> None:
    episode, token = site.open(policy="walked")
    said = [
        OPENED,
        acted(0, {"says": "open the cart"}),
        went("/cart"),
        acted(1, "look around"),
        went("/else"),
    ]
    site.tell(episode, token, *said, sealed(1), CLOSED)
    await page.get_by_label("Label").fill("policy=walked")
    await page.get_by_role("button", name="Show").click()
    await expect(page.locator("tbody tr")).to_have_count(1)
    assert "label=policy%3Dwalked" in page.url
    await is_accessible(page)
    await page.locator("tbody a").first.click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Put it into the cart.")
    await expect(page.get_by_role("heading", name="Step 0")).to_be_visible()
    await expect(page.locator("#s-0 .line.lit")).to_contain_text("http://shop.test/cart")
    await page.keyboard.press("j")
    await expect(page.get_by_role("heading", name="Step 1")).to_be_visible()
    await expect(page.locator("a.step[aria-current]")).to_contain_text("look around")
    await expect(page.locator("#s-1 .line")).to_have_count(4)
    assert "step=1" in page.url
    await page.keyboard.press("p")
    await expect(page.get_by_role("heading", name="Step 0")).to_be_visible()
    await page.keyboard.press("/")
    await page.keyboard.type("else")
    await expect(page.locator("#found .line")).to_have_count(1)
    await page.locator("#found .line a").click()
    await expect(page.get_by_role("heading", name="Event 5")).to_be_visible()
    await expect(page.locator("#detail pre")).to_contain_text("http://shop.test/else")
    await is_accessible(page)


async def test_a_milestone_says_why_it_paid_and_an_unpaid_one_what_came_nearest(
    site: Site, page: Page
) -> None:
    episode, token = site.open()
    said = [OPENED, began(0), went("/cart"), sealed(0), began(1), clicked("Bye"), sealed(1), CLOSED]
    site.tell(episode, token, *said)
    await page.goto(f"/episodes/{episode}?step=1")
    await page.locator(".milestones").get_by_role("link", name="cart").click()
    await expect(page.get_by_role("heading", name="cart", exact=True)).to_be_visible()
    told = page.locator("#detail")
    await expect(told).to_contain_text("url_reached")
    await expect(told).to_contain_text('"url": "/cart"')
    await expect(told.get_by_role("table")).to_contain_text("rule")
    await expect(page.locator("#s-0.lit .line.lit")).to_contain_text("http://shop.test/cart")
    await expect(page.locator("#lit rect")).to_have_count(1)
    await expect(page.locator("a.step[aria-current] .no")).to_have_text("0")
    await page.locator(".milestones").get_by_role("link", name="buy").click()
    await expect(told).to_contain_text("did not pay")
    await expect(told).to_contain_text("name is “Bye”, wanted “Buy”")
    await expect(page.locator("#lit rect")).to_have_count(0)
    await is_accessible(page)


async def test_the_lanes_move_together_with_the_scrubber_and_the_clock(
    site: Site, page: Page
) -> None:
    episode, token = site.open()
    steps = [one for step in range(12) for one in (began(step), went(f"/{step}"), sealed(step))]
    site.tell(episode, token, OPENED, *steps, CLOSED)
    await page.goto(f"/episodes/{episode}?step=0")
    await expect(page.locator("#scrub")).to_be_enabled()
    await page.locator("#scrub").focus()
    await page.keyboard.press("End")
    current = page.locator("a.step[aria-current] .no")
    await expect(current).to_have_text("11")
    await expect(page.get_by_role("heading", name="Step 11")).to_be_visible()
    await expect(page.locator("#place")).to_contain_text("step 11 of 12")
    across = await page.evaluate("document.getElementById('cursor').getAttribute('x1')")
    assert float(across) > 800
    await page.get_by_role(
        "button", name="Play"
    ).click()  # at the end it begins anew; 37 ms are over at once
    await expect(current).to_have_text("11")
    await expect(page.get_by_role("button", name="Play")).to_have_attribute("aria-pressed", "false")


async def test_a_running_episode_moves_without_a_reload(site: Site, page: Page) -> None:
    episode, token = site.open()
    head = site.tell(episode, token, OPENED, began(0))
    await page.goto(f"/episodes/{episode}")
    await page.evaluate("window.before = 'the same document'")
    await expect(page.locator("dl .running")).to_have_text("open")
    head = site.tell(episode, token, went("/cart"), sealed(0), first=3, prev=head)
    await expect(page.locator(".spans .gain")).to_have_text("+0.1")
    await expect(page.locator("#s-0 .line.evidence")).to_contain_text("http://shop.test/cart")
    head = site.tell(episode, token, began(1), first=5, prev=head)
    await expect(
        page.get_by_role("heading", name="Step 1")
    ).to_be_visible()  # who looks at the newest goes along
    site.tell(episode, token, CLOSED, first=6, prev=head)
    await expect(page.locator("dl .failure")).to_have_text("no success")
    assert await page.evaluate("window.before") == "the same document"


@pytest.mark.slow
async def test_what_is_not_known_is_shown_as_such(site: Site, page: Page) -> None:
    episode, token = site.open()
    gap = ("gap.began", {"source": "cdp", "reason": "the browser is gone"})
    site.tell(episode, token, OPENED, began(0), gap, sealed(0), CLOSED)
    await page.goto(f"/episodes/{episode}?step=0")
    await expect(page.locator("a.step[aria-current]")).to_contain_text("null")
    await expect(page.locator("a.step[aria-current]")).to_contain_text("1 gap")
    await expect(page.locator(".verdict")).to_contain_text("Not known, masked: ")
    await is_accessible(page)
    await page.locator(".verdict").get_by_role("link", name="event 3").click()
    await expect(page.get_by_role("heading", name="Event 3")).to_be_visible()


@pytest.mark.slow
async def test_what_was_true_at_the_start_is_shown_as_that(site: Site, page: Page) -> None:
    episode, token = site.open()
    standing = ("page.navigated", {**went("/cart")[1], "baseline": True})
    site.tell(episode, token, OPENED, standing, began(0), sealed(0), CLOSED)
    await page.goto(f"/episodes/{episode}?step=0")
    await expect(page.locator(".milestones .reached")).to_contain_text("cart")
    await page.get_by_role("link", name="true at the start").click()
    await expect(page.locator("#detail")).to_contain_text("true at the start, unpaid")
    await expect(page.locator("a.step[aria-current] .no")).to_have_text("start")


async def test_an_attackers_words_are_only_words(site: Site, page: Page) -> None:
    episode, token = site.open(**{ATTACK[:40]: ATTACK})
    address = f"javascript:{ATTACK}"
    told = ("page.title_changed", {"tab": "T", "url": address, "title": ATTACK})
    site.tell(
        episode, token, OPENED, acted(0, {ATTACK: ATTACK}), went(address), told, sealed(0), CLOSED
    )
    for path in ("/episodes", f"/episodes/{episode}?step=0"):
        await page.goto(path)
        await expect(page.get_by_text("onerror").first).to_be_visible()
        assert await page.title() != "owned"
        assert (
            await page.locator(
                "main img, main script, main iframe, main [href^='javascript']"
            ).count()
            == 0
        )


HOSTILE: list[Any] = [
    {
        "type": 2,
        "id": 5,
        "tagName": "img",
        "attributes": {"src": "x", "onerror": "top.document.title='owned'"},
    },
    {"type": 2, "id": 6, "tagName": "script", "attributes": {"src": "http://evil.test/s.js"}},
    {
        "type": 2,
        "id": 7,
        "tagName": "iframe",
        "attributes": {"srcdoc": "<script>top.document.title='owned'</script>"},
    },
    {
        "type": 2,
        "id": 8,
        "tagName": "svg",
        "isSVG": True,
        "attributes": {"onload": "top.document.title='owned'"},
    },
    {
        "type": 2,
        "id": 9,
        "tagName": "style",
        "attributes": {"_cssText": "@import 'http://evil.test/a.css';"},
    },
    {
        "type": 2,
        "id": 10,
        "tagName": "p",
        "attributes": {"style": "background: url(http://evil.test/p.png)"},
    },
    {
        "type": 2,
        "id": 11,
        "tagName": "meta",
        "attributes": {"http-equiv": "refresh", "content": "0;http://evil.test/"},
    },
    {"type": 2, "id": 12, "tagName": "iframe", "attributes": {"src": "http://evil.test/frame"}},
    {"type": 2, "id": 13, "tagName": "object", "attributes": {"data": "http://evil.test/object"}},
    {
        "type": 2,
        "id": 14,
        "tagName": "link",
        "attributes": {"rel": "stylesheet", "href": "http://evil.test/l.css"},
    },
    {
        "type": 2,
        "id": 15,
        "tagName": "a",
        "attributes": {"href": "javascript:top.document.title='owned'"},
    },
    {"type": 2, "id": 16, "tagName": "p", "attributes": {}},
]


def recording() -> list[dict[str, Any]]:
    """rrweb's events of a document that tries everything, and says hello."""
    for one in HOSTILE:
        one["childNodes"] = []
    HOSTILE[-1]["childNodes"] = [{"type": 3, "id": 17, "textContent": "Hello from the page"}]
    body = {
        "type": 2,
        "id": 4,
        "tagName": "body",
        "attributes": {"onload": "alert(1)"},
        "childNodes": HOSTILE,
    }
    head = {"type": 2, "id": 3, "tagName": "head", "attributes": {}, "childNodes": []}
    root = {"type": 2, "id": 2, "tagName": "html", "attributes": {}, "childNodes": [head, body]}
    node = {"type": 0, "id": 1, "childNodes": [root]}
    meta = {
        "type": 4,
        "timestamp": 1,
        "data": {"href": "http://evil.test/", "width": 800, "height": 600},
    }
    return [
        meta,
        {"type": 2, "timestamp": 2, "data": {"node": node, "initialOffset": {"top": 0, "left": 0}}},
    ]


@pytest.mark.slow_where("caged alone")
@pytest.mark.parametrize("wall", ["cleaned and caged", "caged alone"])
async def test_an_attackers_recording_only_looks_like_something(
    site: Site, page: Page, wall: str
) -> None:
    episode, token = site.open()
    data = {
        "tab": "T",
        "stream": "s",
        "sequence": 0,
        "sent_ms": 2,
        "text": orjson.dumps(recording()).decode(),
    }
    site.tell(episode, token, OPENED, began(0), ("visual.dom_recorded", data), sealed(0), CLOSED)
    if wall == "caged alone":  # as if nothing had been taken out of it
        raw = {"told": [{"tab": "T", "stream": "s", "n": 0, "events": recording()}], "next": None}
        await page.route("**/visual?*", lambda route: route.fulfill(json=raw))
    asked: list[str] = []
    page.on("requestfinished", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(dialog.message))
    await page.goto(f"/episodes/{episode}")
    inside = page.frame_locator(".looks iframe").frame_locator("iframe").first
    await expect(inside.get_by_text("Hello from the page")).to_be_visible()
    assert await page.title() == "shop/cart · milestoned"
    assert [url for url in asked if not url.startswith((site.process.url, "data:"))] == []
    frame = page.frame_locator(".looks iframe").locator("iframe").first
    assert await frame.get_attribute("sandbox") == "allow-same-origin", "no script runs in it"


async def test_without_javascript_a_step_is_a_link(site: Site, page: Page, tmp_path: Path) -> None:
    episode, token = site.open()
    site.tell(
        episode,
        token,
        OPENED,
        acted(0, "first"),
        went("/cart"),
        acted(1, "second"),
        went("/x"),
        CLOSED,
    )
    assert page.context.browser is not None
    plain = await page.context.browser.new_context(
        base_url=site.process.url,
        java_script_enabled=False,
        storage_state=await page.context.storage_state(),
    )
    tab = await plain.new_page()
    await tab.goto(f"/episodes/{episode}")
    await tab.get_by_role("link", name="second").click()
    await expect(tab.get_by_role("heading", name="Step 1")).to_be_visible()
    await expect(tab.locator(".lines")).to_contain_text("http://shop.test/x")
    await tab.locator(".milestones").get_by_role("link", name="buy").click()
    await expect(tab.locator("#detail")).to_contain_text(
        "no event that this rule reads is in the log"
    )


async def test_logged_out_is_logged_out(page: Page) -> None:
    await page.get_by_role("button", name="Log out").click()
    await page.wait_for_url("**/login")
    await is_accessible(page)
    await page.goto("/episodes")
    assert "/login" in page.url
