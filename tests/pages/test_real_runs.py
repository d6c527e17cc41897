"""Every page on what real runs left: the demo's episode, a MiniWoB set, a browser that died, a site
that attacks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, get_args

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Playwright, expect, sync_playwright

from tests.miniwob.bench import Bench, Way
from tests.miniwob.site import serve
from tests.miniwob.test_pages import QUICK
from tests.pages.looking import LOOKS, TOO_WIDE, grave
from tests.support.chromium import LEAN, Chromium, needs_chromium
from tests.support.shopping import Session
from tests.support.stack import Stack

pytestmark = [pytest.mark.browser, pytest.mark.slow, needs_chromium]
ATTACK = (
    "</title><img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
)
HOSTILE = f"""<title>Free lamps {ATTACK.replace("</title>", "&lt;/title>")}</title>
<button aria-label="{ATTACK.replace('"', "&quot;")}">x</button>
<svg onload="window.own = 1"></svg><style>body {{ background: url("javascript:0") }}</style>"""
MILESTONES = (
    {"id": "product", "when": {"url_reached": {"url": "/products/lamp"}}},
    {"id": "add", "when": {"element_clicked": {"role": "button", "name": "Add to cart"}}},
)


class Real(NamedTuple):
    """A service that knows them all; episodes by what is special about them."""

    url: str
    token: str
    lost: str
    hostile: str


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, playwright: Playwright) -> Iterator[Real]:
    """The demo's own service, started again over what it kept, and told of the others by real
    daemons."""
    folder = tmp_path_factory.mktemp("real")
    demo = [sys.executable, "-m", "api.cli.main", "demo", "--keep", "--out", str(folder)]
    seen = {**os.environ, "AGENTD_VISUAL": "yes", "AGENTD_SCREEN": "cdp"}
    subprocess.run(demo, check=True, stdout=subprocess.DEVNULL, env=seen)
    kept = folder / "kept"
    kept.mkdir()
    (folder / "work" / "service").rename(kept / "service")
    with Stack(kept) as stack:
        lost, hostile = _shopped(stack, playwright, folder)
        _miniwob(stack, playwright)
        yield Real(stack.service.url, stack.service.token, lost, hostile)


def _shopped(stack: Stack, playwright: Playwright, folder: Path) -> tuple[str, str]:
    session = Session(stack, playwright, folder / "shopping")
    try:
        lost = session.open(*MILESTONES, version="lost").id
        session.act(session.goto("products/lamp"))
        session.act(lambda: (session.browser.kill(), session.start_browser()))
        session.act(session.put_in_cart)
        session.episode.close(wait_s=60)
        session.context.route(
            "**/free", lambda route: route.fulfill(body=HOSTILE, content_type="text/html")
        )
        hostile = session.open(*MILESTONES, version="hostile").id
        session.act(session.goto("free"))
        session.act(lambda: session.page.get_by_role("button").click())
        session.episode.close(wait_s=60)
        return lost, hostile
    finally:
        session.browser.stop()


def _miniwob(stack: Stack, playwright: Playwright) -> None:
    with serve() as origin, Chromium() as chromium:
        browser = playwright.chromium.connect_over_cdp(chromium.endpoint)
        bench = Bench(origin, chromium.endpoint, browser, stack)
        for name in QUICK:
            case = bench.read(name, "1")
            for way in get_args(Way):
                bench.run(case, way)


@pytest.fixture(scope="module")
def browser(playwright: Playwright) -> Iterator[Browser]:
    launched = playwright.chromium.launch(executable_path=LEAN, args=["--no-sandbox"])
    yield launched
    launched.close()


@pytest.fixture
def page(browser: Browser, real: Real) -> Iterator[Page]:
    """A tab of somebody who is logged in; its scripts fail at nothing and are refused nothing."""
    problems: list[str] = []
    with browser.new_context(base_url=real.url) as context:
        tab = context.new_page()
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("console", lambda said: problems.append(said.text) if said.type == "error" else None)
        tab.goto("/")
        tab.get_by_label("Token").fill(real.token)
        tab.get_by_role("button", name="Log in").click()
        tab.wait_for_url("**/episodes")
        yield tab
    assert problems == []


def is_accessible(page: Page) -> None:
    """axe-core finds nothing serious, light and dark, wide and narrow; nothing reaches beyond the
    window."""
    for scheme, width in LOOKS:
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 800})
        assert grave(Axe().run(page)) == [], f"{scheme}, {width} px"
        assert page.evaluate(TOO_WIDE) <= 0, f"{width} px"


def shown(page: Page, path: str) -> None:
    page.goto(path)
    expect(page.locator("h1")).to_be_visible()


def test_the_demo_s_episode(page: Page) -> None:
    shown(page, "/episodes?label=from%3Ddemo")
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Buy the desk lamp, then download its invoice as CSV."
    )
    expect(page.locator(".milestones .reached")).to_have_count(7)
    page.locator(".milestones").get_by_role("link", name="order").click()
    expect(page.locator(".line.lit").first).to_contain_text("request.finished")
    inside = page.frame_locator(".looks iframe").frame_locator("iframe").first
    expect(inside.get_by_text("Thank you")).to_be_visible()
    page.locator(".milestones").get_by_role("link", name="cancelled").click()
    expect(page.locator("#detail")).to_contain_text("dialog_answered")
    is_accessible(page)


def test_a_run_whose_browser_died(real: Real, page: Page) -> None:
    shown(page, "/episodes?finding=gap")
    assert real.lost in page.content()
    shown(page, f"/episodes/{real.lost}?step=1")
    step = page.locator("a.step[aria-current]")
    expect(step).to_contain_text("null")
    expect(step).to_contain_text("gap")
    expect(page.locator(".verdict")).to_contain_text("Not known, masked: ")
    expect(page.locator("dl .unknown, dl .failure")).to_be_visible()
    is_accessible(page)


def test_a_site_that_attacks(real: Real, page: Page) -> None:
    for path in (
        f"/episodes/{real.hostile}?step=0",
        f"/episodes/{real.hostile}?step=1",
        f"/audit?verify={real.hostile}",
    ):
        shown(page, path)
        assert page.title() != "owned"
        assert page.locator("main script, main [onerror], main [onload]").count() == 0
    shown(page, f"/episodes/{real.hostile}?step=1")
    expect(page.locator("#s-1 .line", has_text="element.clicked")).to_contain_text("onerror=")
    is_accessible(page)


def test_a_miniwob_set(page: Page) -> None:
    shown(page, "/episodes?label=way%3Dright")
    expect(page.locator("tbody tr")).to_have_count(len(QUICK))
    expect(page.locator("tbody .success")).to_have_count(len(QUICK))
    shown(page, "/episodes?label=page%3Dclick-color")
    for box in page.locator("tbody input").all():
        box.check()
    page.get_by_role("button", name="Compare").click()
    expect(page.locator("tr.differs").first).to_be_visible()
    is_accessible(page)
    shown(page, "/training?by=way")
    expect(page.locator("canvas")).not_to_have_count(0)
    versions = page.get_by_role("region", name="Versions")
    expect(versions.locator("tbody tr", has_text="right")).to_contain_text("100.0%")
    expect(versions.locator("tbody tr", has_text="wrong")).to_contain_text("0.0%")


def test_every_task_that_was_run_is_drawn(page: Page) -> None:
    shown(page, "/tasks")
    tasks = page.locator("tbody td:first-child a").evaluate_all(
        "all => all.map((one) => one.getAttribute('href'))"
    )
    assert len(tasks) >= 2 + len(QUICK)
    for task in tasks:
        shown(page, task)
        expect(page.locator(".graph text.id").first).to_be_visible()


PAGES = (
    "/episodes",
    "/fleet",
    "/tasks",
    "/training?by=way",
    "/label",
    "/audit?verify=newest",
    "/editor?task=shop/buy-lamp",
)


@pytest.mark.parametrize("path", PAGES)
def test_everybody_can_read_and_reach_it(page: Page, path: str) -> None:
    shown(page, path)
    is_accessible(page)


def test_what_was_signed_holds(page: Page) -> None:
    """Of episodes that real daemons told of, recomputed on the spot."""
    shown(page, "/audit?verify=newest")
    expect(page.locator("main")).to_contain_text(re.compile("verified|holds"))
    assert page.locator("main .failure").count() == 0
