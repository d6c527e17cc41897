"""What a browser asks a person: permissions, a file, a password, to print. The page goes on, and
the answer is theirs.

Headless and headful, with another client at the browser and with none.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cdp.hands import Hand, hand
from tests.cdp.site import Answer, Asked, Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.display import Display, needs_display

pytestmark = [pytest.mark.browser, needs_chromium, pytest.mark.slow_where("headful")]

# A page that shows in its title that it goes on, and what came of what it asked.
ALIVE = """<title>0</title><button onclick=ask()>Ask</button><input type=file style="position:fixed;top:90px">
<script>let count = 0, said = ''; setInterval(() => { document.title = said + ' ' + (++count) }, 100)</script>"""


@pytest.fixture(scope="module", params=["headless", "headful"])
def shown(request: pytest.FixtureRequest) -> Iterator[Chromium]:
    """A browser that no library has changed, headless or on a display of its own."""
    if request.param == "headless":
        with Chromium() as chromium:
            yield chromium
        return
    if needs_display.args[0]:
        pytest.skip(needs_display.kwargs["reason"])
    with Display() as display, Chromium(headless=False, display=display.name) as chromium:
        yield chromium


@asynccontextmanager
async def asking(
    browser: Chromium, site: Site, script: str
) -> AsyncIterator[tuple[Watch, Hand, str, str]]:
    """A watched tab whose button asks; gives the watch, a hand, the tab and the hand's session
    there."""
    url = site.page("/ask", f"{ALIVE}<script>function ask() {{ {script} }}</script>")
    async with watching(browser) as watch, hand(browser) as user:
        tab = await user.open(url)
        await watch.one("page.loaded", tab=tab)
        yield watch, user, tab, await user.session(tab)
        await user.close(tab)
        await watch.one("tab.closed", tab=tab)


async def goes_on(watch: Watch, tab: str) -> None:
    """The page's script runs: three more of its titles are told; and a fence comes back."""
    before = len(watch.all("page.title_changed", tab=tab))
    await watch.until(lambda: len(watch.all("page.title_changed", tab=tab)) > before + 2)
    await watch.fence()


async def says(watch: Watch, tab: str, text: str) -> None:
    await watch.until(
        lambda: any(
            one["title"].startswith(text) for one in watch.all("page.title_changed", tab=tab)
        )
    )


GEOLOCATION = (
    "navigator.geolocation.getCurrentPosition(() => said = 'here', (error) => said = 'error ' +"
    " error.code)"
)


async def test_a_permission_prompt_that_nobody_answers_holds_nothing_up(
    shown: Chromium, site: Site
) -> None:
    async with asking(shown, site, GEOLOCATION) as (watch, user, tab, session):
        await user.click(session, "button")
        await watch.one("element.clicked", tab=tab)
        await goes_on(watch, tab)
        # A browser without a window answers no by itself; one with a window waits for its user.
        assert {one["state"] for one in watch.all("permission.changed", tab=tab)} <= {"denied"}


@pytest.mark.parametrize(("setting", "outcome"), [("granted", "here"), ("denied", "error 1")])
async def test_a_permission_is_the_users_and_its_change_is_told(
    shown: Chromium, site: Site, setting: str, outcome: str
) -> None:
    async with asking(shown, site, GEOLOCATION) as (watch, user, tab, session):
        await user.call(
            session, "Emulation.setGeolocationOverride", latitude=1, longitude=2, accuracy=1
        )
        permission = {"name": "geolocation"}
        await user.call(
            "", "Browser.setPermission", permission=permission, setting=setting, origin=site.url
        )
        changed = await watch.one("permission.changed", tab=tab)
        assert (changed["name"], changed["state"], changed["frame"]) == (
            "geolocation",
            setting,
            tab,
        )
        await user.click(session, "button")
        await says(watch, tab, outcome)
        await user.call(
            "", "Browser.setPermission", permission=permission, setting="prompt", origin=site.url
        )
        await watch.one("permission.changed", tab=tab, state="prompt")
        assert len(watch.all("permission.changed", tab=tab)) == 2


async def test_a_file_chooser_is_the_users(shown: Chromium, site: Site, tmp_path: Path) -> None:
    chosen = tmp_path / "cv.txt"
    chosen.write_text("me")
    script = "document.querySelector('input').click()"
    async with asking(shown, site, script) as (watch, user, tab, session):
        # Nobody answers: the browser's own window stands open, and the page goes on.
        await user.click(session, "button")
        await goes_on(watch, tab)
        assert not watch.all("field.filled", tab=tab)
    async with asking(shown, site, script) as (watch, user, tab, session):
        await user.call(session, "Page.enable")
        await user.call(session, "Page.setInterceptFileChooserDialog", enabled=True)
        await user.click(session, "button")
        opened = await user.hears("Page.fileChooserOpened")
        await goes_on(watch, tab)
        node = opened["backendNodeId"]
        await user.call(session, "DOM.setFileInputFiles", files=[str(chosen)], backendNodeId=node)
        filled = await watch.one("field.filled", tab=tab)
        assert filled["files"] == [["cv.txt", 2]]


def guarded(asked: Asked) -> Answer:
    if "authorization" in asked.headers:
        return Answer("<title>in</title>")
    return Answer(
        "<title>out</title>",
        401,
        (("www-authenticate", 'Basic realm="shop"'), ("content-type", "text/html")),
    )


async def test_a_password_that_the_server_asks_for_is_the_users_to_give(
    shown: Chromium, site: Site
) -> None:
    url = site.page("/guarded", guarded)
    async with asking(shown, site, "") as (watch, user, tab, session):
        await user.call(session, "Fetch.enable", handleAuthRequests=True)
        navigating = user.soon(session, "Page.navigate", url=url)
        await user.call(
            session,
            "Fetch.continueRequest",
            requestId=(await user.hears("Fetch.requestPaused"))["requestId"],
        )
        asked = await user.hears("Fetch.authRequired")
        await watch.fence(
            0.5
        )  # until a navigation is decided the browser holds back what is asked of its page
        assert not watch.all("page.navigated", url=url), "nobody answered"
        given: dict[str, Any] = {
            "response": "ProvideCredentials",
            "username": "ada",
            "password": "geheim-1234",
        }
        await user.call(
            session,
            "Fetch.continueWithAuth",
            requestId=asked["requestId"],
            authChallengeResponse=given,
        )
        await watch.one("page.title_changed", tab=tab, title="in")
        await navigating
        assert "geheim-1234" not in str(watch.seen)
    assert [
        one.headers.get("authorization", "")[:5] for one in site.asked if one.path == "/guarded"
    ] == ["", "Basic"]


async def test_a_password_that_nobody_gives_holds_up_only_its_own_page(
    shown: Chromium, site: Site
) -> None:
    url = site.page("/guarded", guarded)
    async with asking(shown, site, f"location = '{url}'") as (watch, user, tab, session):
        await user.click(session, "button")
        await watch.one("auth.challenged", tab=tab)
        other = await user.open(site.url)
        await watch.one("page.loaded", tab=other)
        await watch.fence()
        await user.close(other)
    assert [
        one.headers.get("authorization", "") for one in site.asked if one.path == "/guarded"
    ] == [""]


async def test_printing_is_the_users(shown: Chromium, site: Site) -> None:
    async with asking(shown, site, "setTimeout(() => { print(); said = 'printed' }, 50)") as (
        watch,
        user,
        tab,
        session,
    ):
        await user.click(session, "button")
        await watch.one("element.clicked", tab=tab)
        other = await user.open(site.url)
        await watch.one("page.loaded", tab=other)
        await watch.fence()
        await user.close(other)
