"""Expressions beside a real page: read, refused if they change anything, never seen by the page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, Playwright

from detectors.task.script_calls import INSTEAD, calls_of, refused_calls
from tests.cdp.site import Site
from tests.probes.asking import asking
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as chromium:
        yield chromium


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Chromium, one_playwright: Playwright, site: Site) -> AsyncIterator[Page]:
    agent = await one_playwright.chromium.connect_over_cdp(browser.endpoint)
    page = await agent.contexts[0].new_page()
    await page.goto(
        site.page("/shop", "<title>Shop</title><p id=total>12 €</p><input id=q value=lamp>")
    )
    yield page
    await page.close()
    await agent.close()


def script(expression: str, url: str = "/shop", **more: Any) -> dict[str, Any]:
    return {"id": "it", "kind": "script", "url": url, "expression": expression, **more}


async def test_what_the_page_shows_is_read(browser: Chromium, site: Site, page: Page) -> None:
    """After a change, after another document, and as any JSON."""
    wanted = (
        "({total: document.querySelector('#total').textContent, q:"
        " document.querySelector('#q').value})"
    )
    async with asking(script(wanted), given={"cdp": browser.endpoint}, origin=site.url) as asked:
        assert asked.said[0][1]["value"] == {"total": "12 €", "q": "lamp"}
        await page.fill("#q", "desk")
        assert (await asked.value(0))["q"] == "desk"
        await page.goto(site.page("/shop", "<p id=total>0 €</p><input id=q value=none>"))
        assert await asked.value(1) == {"total": "0 €", "q": "none"}


async def test_the_tab_is_found_again_on_another_site(
    browser: Chromium, site: Site, page: Page
) -> None:
    """In another process of the browser, and back."""
    where = {"origin": site.other, "path": "/there"}
    site.page("/there", "<title>There</title>")
    probes = [
        {**script("document.title"), "id": "here"},
        {**script("document.title"), "id": "there", "url": where},
    ]
    async with asking(*probes, given={"cdp": browser.endpoint}, origin=site.url) as asked:
        for address, told in (
            ("/shop", "Shop"),
            (site.other + "/there", "There"),
            ("/shop", "Shop"),
        ):
            await page.goto(address if "://" in address else site.url + address)
            assert told in [data.get("value") for _, data in await asked.at(0)]


async def test_a_browser_that_is_started_anew_is_found(tmp_path: Path, site: Site) -> None:
    """Its end is a failure; the next one in the same profile answers."""
    address = site.page("/start", "<title>Start</title>")
    probe = script("document.title", "/start")
    async with asking(probe, given={"profile": tmp_path}, origin=site.url) as asked:
        assert asked.said[1][0] == "probe.failed"
        for step in (0, 2):
            with Chromium(profile=tmp_path, url=address):
                await asked.until("Start", step)
            assert await asked.reason(step + 1)


@pytest.mark.parametrize(
    "expression",
    [
        "document.title = 'changed'",
        "document.body.remove()",
        "document.querySelector('#q').value = ''",
        "document.querySelector('#q').focus()",
        "globalThis.left = 1",
        "localStorage.setItem('a', 'b')",
        "history.pushState(0, '', '/elsewhere')",
        "fetch('/api')",
        "document.cookie = 'a=b'",
        "alert(1)",
        "new Proxy(localStorage.setItem, {}).call(localStorage, 'a', 'b')",
        "Reflect.apply(localStorage.setItem, localStorage, ['a', 'b'])",
        "Reflect.apply(new Proxy(localStorage.setItem, {}), localStorage, ['a', 'b'])",
    ],
)
async def test_an_expression_that_would_change_anything_is_refused(
    browser: Chromium, site: Site, page: Page, expression: str
) -> None:
    """By V8 itself, before it happened; the page and the site are as they were."""
    state = (
        "[document.documentElement.outerHTML, document.querySelector('#q').value,"
        " document.activeElement.id, "
    )
    state += "location.href, localStorage.length, document.cookie, history.length, globalThis.left]"
    before = await page.evaluate(state)
    async with asking(
        script(expression), given={"cdp": browser.endpoint}, origin=site.url
    ) as asked:
        assert "side-effect" in await asked.reason()
    assert await page.evaluate(state) == before
    assert {one.path for one in site.asked} <= {"/shop", "/favicon.ico"}


PAGE = (Path(__file__).parents[2] / "docs" / "probes.md").read_text("utf-8")
FILLED = (
    "(() => { const o = {}; for (const [k, v] of Object.entries({a: 1})) o[k] = v; return o })()"
)
READ = {
    "localStorage.getItem('a')": "localStorage['a']",
    "document.getElementById('total').id": "document.querySelector('#total').id",
    "document.querySelector('#q').closest('body').tagName": (
        "(() => { for (let e = document.querySelector('#q'); e; e = e.parentElement) "
        "if (e.tagName === 'BODY') return e.tagName; return null })()"
    ),
    "document.querySelector('#q').matches('input')": (
        "Array.from(document.querySelectorAll('input')).includes(document.querySelector('#q'))"
    ),
    "new URL('http://a/shop').pathname": "location.pathname",
    "new URLSearchParams('?a=1').get('a')": (
        "'?a=1'.slice(1).split('&').map(x => x.split('='))[0][1]"
    ),
    "new FormData(document.forms[0]).get('name')": "document.forms[0].elements.name.value",
    "Object.fromEntries([['a', 1]])": (
        "[['a', 1]].reduce((o, [k, v]) => { o[k] = v; return o }, {})"
    ),
    "Object.assign({}, {a: 1})": FILLED,
    "({...{a: 1}})": FILLED,
    "document.evaluate('string(//p)', document, null, 2, null).stringValue": (
        "document.querySelector('p').textContent"
    ),
    "Array.from('aa'.matchAll(/a/g)).length": "'aa'.match(/a/g).length",
    "document.querySelector('#q').checkValidity()": "document.querySelector('#q').validity.valid",
    "document.querySelector('#q').checkVisibility()": (
        "getComputedStyle(document.body).display !== 'none'"
    ),
    "getComputedStyle(document.body).getPropertyValue('display')": (
        "getComputedStyle(document.body).display"
    ),
    "document.body.getClientRects()[0].width": "document.body.getBoundingClientRect().width",
    "document.body.getRootNode() === document": "document.body.ownerDocument === document",
    "document.body.compareDocumentPosition(document.querySelector('p')) > 0": (
        "Array.from(document.querySelectorAll('*')).indexOf(document.body) > 0"
    ),
    "document.body.isEqualNode(document.body)": (
        "document.body.outerHTML === document.body.outerHTML"
    ),
    "structuredClone({a: 1})": "JSON.parse(JSON.stringify({a: 1}))",
}
"""What Chromium refuses though it only reads, and the same read in words that it takes."""


async def test_a_read_that_is_refused_is_named_and_can_be_written_otherwise(
    browser: Chromium, site: Site, page: Page
) -> None:
    """Each that detectors/task/script_calls.py knows; what stands in its place is worth what the
    page itself says."""
    await page.evaluate("localStorage.setItem('a', 'b')")
    await page.goto(
        site.page("/shop", "<p id=total>12</p><input id=q><form><input name=name value=Ann></form>")
    )
    probes = [{**script(one), "id": one} for pair in READ.items() for one in pair]
    plan = {"cdp": browser.endpoint}
    answers = {}
    for n in range(0, len(probes), 8):
        async with asking(*probes[n : n + 8], given=plan, origin=site.url) as asked:
            answers |= {data["probe"]: data for _, data in await asked.at(0) if "probe" in data}
    for refused, instead in READ.items():
        ((name, _),) = refused_calls(refused)
        assert f"{name} may not be called, write " in answers[refused].get("reason", ""), refused
        assert answers[instead]["value"] == await page.evaluate(f"({refused})"), instead
    known = {name for one in READ for name in INSTEAD if re.search(rf"\b{re.escape(name)}\(", one)}
    assert known == set(INSTEAD)


async def test_the_reads_of_the_page_s_list_may_be_called(
    browser: Chromium, site: Site, page: Page
) -> None:
    """What docs/probes.md says may be called."""
    may = re.findall(r"`([^`]+)`", PAGE.partition("\nAllowed: ")[2].partition("\n\n")[0])
    assert len(may) > 15
    wanted = (
        "(() => { const element = document.querySelector('#q'), list = [2, 1], text = 'a b'; return"
        " [%s].length })()"
    )
    async with asking(
        script(wanted % ", ".join(may)), given={"cdp": browser.endpoint}, origin=site.url
    ) as asked:
        assert await asked.value() == len(may)


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ("document.body.remove()", ["document.body.remove"]),
        ("document.title = 'a.closest(b)'", []),
        ("localStorage?.getItem('a')", ["localStorage?.getItem"]),
        ("document.querySelector('p').closest('b')", ["document.querySelector", ".closest"]),
        ("(() => { if (new URL('http://a')) for (const a of [1]); })()", ["new URL"]),
    ],
)
def test_calls_are_named_as_they_are_written(expression: str, named: list[str]) -> None:
    """From the text: a name within a string is no call."""
    assert list(calls_of(expression)) == named


async def test_the_page_does_not_see_it_and_can_not_lie_to_it(
    browser: Chromium, site: Site, page: Page
) -> None:
    """Its own globals are not the page's, and what the page puts over the browser's functions is
    not called."""
    await page.evaluate(
        "window.secret = 1; document.querySelector = () => ({textContent: 'a lie'});"
        " window.before = 1"
    )
    expression = "[typeof secret, document.querySelector('#total').textContent]"
    async with asking(
        script(expression), given={"cdp": browser.endpoint}, origin=site.url
    ) as asked:
        assert await asked.value() == ["undefined", "12 €"]


async def test_which_tab_is_asked(browser: Chromium, site: Site, page: Page) -> None:
    """None: it fails, until one shows the address; several: they must agree."""
    probe = script("document.title", "/later")
    async with asking(probe, given={"cdp": browser.endpoint}, origin=site.url) as asked:
        assert asked.said[1][1]["reason"] == "no tab shows the address"
        await page.goto(site.page("/later", "<title>Later</title>"))
        assert await asked.value_after_gap() == "Later"
        other = await page.context.new_page()
        await other.goto(site.url + "/later")
        assert await asked.value(1) == "Later"
        await other.evaluate("document.title = 'Else'")
        assert "answer differently" in await asked.reason(2)
        await other.close()


async def test_an_endless_expression_ends_with_its_budget(
    browser: Chromium, site: Site, page: Page
) -> None:
    """And the page goes on."""
    probe = script("(() => { for (;;); })()", budget_ms=200)
    async with asking(probe, given={"cdp": browser.endpoint}, origin=site.url) as asked:
        assert asked.said[1][0] == "probe.failed"
    assert await page.evaluate("1 + 1") == 2


async def test_a_dialog_holds_up_nothing(browser: Chromium, site: Site, page: Page) -> None:
    """While one is open the page can't answer: a failure within the budget; and it is the agent who
    answers it."""
    opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    page.on("dialog", lambda dialog: opened.set_result(dialog))
    probe = script("document.title", budget_ms=300)
    async with asking(probe, given={"cdp": browser.endpoint}, origin=site.url) as asked:
        click = asyncio.create_task(page.evaluate("document.title = String(confirm('Sure?'))"))
        dialog = await opened
        assert await asked.reason() == "no answer within 300 ms"
        await dialog.accept()
        await click
        assert await asked.value_after_gap(1) == "true"


async def test_without_a_browser_it_fails_and_says_why() -> None:
    async with asking(script("1")) as asked:
        assert asked.said[1][1]["reason"] == "the daemon was given no --cdp or --profile"
    async with asking(script("1"), given={"cdp": "http://127.0.0.1:9"}) as asked:
        assert "does not answer as a browser does" in asked.said[1][1]["reason"]
