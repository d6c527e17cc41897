"""What pages look like, recorded in the isolated world: whole, masked, bounded, and nobody's
concern but people's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from playwright.async_api import Page

from agentd.masking import Masker
from agentd.sources.cdp.folds.visual import Visual
from agentd.sources.cdp.state.state import CdpObservation
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

PLAN = {"visual": 64 << 20}
SECRET, CARD = "korrektPferd9", "4111 1111 1111 1111"
FULL, CHANGED, TYPED = 2, 0, 5


def events(watch: Watch) -> list[dict[str, Any]]:
    """rrweb's events of all streams, in the order in which they came."""
    found: list[dict[str, Any]] = []
    text = ""
    for data in watch.all("visual.dom_recorded"):
        text += data["text"]
        if data.get("part", 0) + 1 == data.get("parts", 1):
            found += orjson.loads(text)
            text = ""
    return found


def texts(node: Any) -> Iterator[str]:
    """Every text of a recorded document."""
    if isinstance(node, dict):
        if isinstance(node.get("textContent"), str):
            yield node["textContent"]
        for child in node.values():
            yield from texts(child)
    elif isinstance(node, list):
        for child in node:
            yield from texts(child)


async def test_without_the_option_nothing_is_recorded(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", "<p>shown"))
        await watch.one("page.loaded", url=site.url + "/")
        await watch.fence()
    assert watch.all("visual.dom_recorded") == []


async def test_a_document_and_what_becomes_of_it_is_recorded(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        "<h1>Shop</h1><button onclick=\"this.textContent = 'Bought'\">Buy</button><input id=who>",
    )
    async with watching(browser, PLAN) as watch:
        await page.goto(url)
        await page.click("button")
        await page.locator("#who").press_sequentially("Ada")
        await watch.fence()
        told = await watch.until(lambda: [one for one in events(watch) if one["type"] == 3])
        documents = [set(texts(one)) for one in events(watch) if one["type"] == FULL]
        assert any({"Shop", "Buy"} <= document for document in documents)
        assert (
            "Bought"
            in orjson.dumps([one for one in told if one["data"]["source"] == CHANGED]).decode()
        )
        typed = [one["data"]["text"] for one in told if one["data"]["source"] == TYPED]
        assert typed[-1] == "Ada", (
            "what stands in the field as the step ends, though it was not left"
        )
        await page.goto(site.page("/next", "<p>Next"))
        await watch.until(lambda: [one for one in events(watch) if "Next" in set(texts(one))])
    for stream in {data["stream"] for data in watch.all("visual.dom_recorded")}:
        numbers = [data["sequence"] for data in watch.all("visual.dom_recorded", stream=stream)]
        assert numbers == list(range(len(numbers))), "a document's own"


async def test_what_is_a_secret_is_one_here_too(browser: Chromium, page: Page, site: Site) -> None:
    body = f"""<input type=password id=pw value={SECRET}><input name=otp id=otp><p id=shown>paid with {CARD}</p>
    <a href="/x?access_token={SECRET}&q=tea">x</a>
    <button onclick="shown.textContent = pw.value + ' was it'; pw.type = 'text'">Show</button>"""
    async with watching(browser, PLAN) as watch:
        await page.goto(site.page("/", body))
        await page.fill("#otp", "987123")
        await page.click("button")
        await watch.fence()
        await watch.until(lambda: "was it" in orjson.dumps(events(watch)).decode())
    everything = orjson.dumps(watch.seen).decode()
    for secret in (SECRET, CARD, "987123"):
        assert secret not in everything
    assert "q=tea" in everything


@pytest.mark.parametrize(
    ("attributes", "kept"),
    [
        ({"type": "hidden", "name": "ref", "value": "geheim12"}, False),
        ({"type": "text", "name": "csrf_token", "value": "geheim12"}, False),
        ({"name": "csrf-token", "content": "geheim12"}, False),
        ({"id": "api-key", "value": "geheim12"}, False),
        ({"data-api-key": "geheim12", "class": "a"}, False),
        ({"name": "description", "content": "geheim12"}, True),
        ({"type": "text", "name": "q", "value": "geheim12"}, True),
        ({"data-order": "geheim12"}, True),
    ],
)
def test_which_attributes_are_secrets(attributes: dict[str, str], kept: bool) -> None:
    visual = Visual(10**6, Masker())

    def said(event: dict[str, Any]) -> str:
        text = orjson.dumps([{"data": event}]).decode()
        about = {"tab": "T", "stream": "s", "n": 0, "now": 1, "events": text}
        return "".join(
            str(seen.data["text"]) for seen in visual.fold(CdpObservation("visual", about))
        )

    assert ("geheim12" in said({"node": {"type": 2, "id": 7, "attributes": attributes}})) is kept
    if "value" in attributes:
        later = {"attributes": [{"id": 7, "attributes": {"value": "geheim12"}}]}
        assert ("geheim12" in said(later)) is kept, "what becomes of it names it no more"
        assert ("geheim12" in said({"source": 5, "id": 7, "text": "geheim12"})) is kept


async def test_hidden_fields_and_tokens_of_the_page_are_not_recorded(
    browser: Chromium, page: Page, site: Site
) -> None:
    head, field = "Zk3l9secretcsrf", "s3cr3tCsrfValue"
    url = site.page("/v", f"""<meta name=csrf-token content={head}><form><input type=hidden name=ref value={field}>
        <input name=a></form><p>shown</p>""")  # fmt: skip
    async with watching(browser, PLAN) as watch:
        await page.goto(url)
        await watch.until(lambda: "shown" in orjson.dumps(events(watch)).decode())
    everything = orjson.dumps(watch.seen).decode()
    assert head not in everything
    assert field not in everything


@pytest.mark.slow
async def test_a_page_that_changes_without_end_is_a_gap_and_then_whole_again(
    browser: Chromium, page: Page, site: Site
) -> None:
    flood = """<p id=p></p><script>
    let left = 12;
    function more() {
      p.textContent = left ? ('x' + left).repeat(5e5) : 'calm';
      if (left--) setTimeout(more, 20);
    }
    onclick = more</script>"""
    async with watching(browser, PLAN) as watch:
        await page.goto(site.page("/", flood))
        await page.click("body")
        gap = await watch.one("gap.began", source="visual")
        assert "faster than it may be recorded" in gap["reason"]
        await watch.one("gap.ended", source="visual", part=gap["part"])
        last = watch.all("visual.dom_recorded", tab=gap["part"])[-1]["stream"]
        begun = [
            data for data in watch.all("visual.dom_recorded", stream=last) if data["sequence"] == 0
        ]
    assert '"type":2' in "".join(data["text"] for data in begun), "a whole document"


async def test_a_page_that_was_there_and_is_too_large_is_a_gap(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Its document comes before the recorder has said that it began."""
    await page.goto(site.page("/", f"<p>{'long ' * 1_000_000}"))
    async with watching(browser, PLAN) as watch:
        gap = await watch.one("gap.began", source="visual")
        assert "too large" in gap["reason"]
        await page.goto(site.page("/next", "<p>Next"))
        await watch.one("gap.ended", source="visual", part=gap["part"])
        await watch.until(lambda: [one for one in events(watch) if "Next" in set(texts(one))])


async def test_a_page_as_deep_as_can_be_costs_the_replay_and_nothing_else(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", f"{'<div>' * 300}<button>Buy</button>")
    async with watching(browser, PLAN) as watch:
        await page.goto(url)
        gap = await watch.one("gap.began", source="visual")
        assert "nested too deeply" in gap["reason"]
        await page.click("button")
        click = await watch.one("element.clicked")
        assert click["element"]["name"] == "Buy"


async def test_at_the_cap_nothing_more_is_kept(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page("/", f"<p>{'long ' * 400}")
    async with watching(browser, {"visual": 3000}) as watch:
        await page.goto(url)
        await watch.one("visual.dom_recorded")
        await page.goto(url + "?again")
        gap = await watch.one("gap.began", source="visual")
        await page.goto(url + "?more")
        await watch.one("page.loaded", url=url + "?more")
        await watch.fence()
    assert "--visual-max" in gap["reason"]
    assert sum(len(data["text"]) for data in watch.all("visual.dom_recorded")) <= 3000
    assert len(watch.all("gap.began", source="visual")) == 1
