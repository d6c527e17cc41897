"""Pages, frames, tabs and popups: each commit told once, with its frame and its tab."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from playwright.async_api import Error, Page

from tests.cdp.site import Answer, Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]


async def test_a_single_page_application_moves_within_its_document(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/app",
        """<title>App</title><a href=# onclick="history.pushState({}, '', '/app/item/7'); document.title = 'Item 7';
        return false">Item</a>""",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("a")
        moved = await watch.one("page.navigated", url=site.url + "/app/item/7")
        await watch.one("page.title_changed", title="Item 7")
        await page.go_back()
        await watch.until(lambda: len(watch.all("page.navigated", url=url)) == 2)
        told = watch.all("page.navigated", tab=moved["tab"])
    assert [one["same_document"] for one in told] == [False, True, True]
    assert "loader" not in moved


@pytest.mark.parametrize("way", ["back", "popup"])
async def test_a_title_is_told_after_its_document(
    browser: Chromium, page: Page, site: Site, way: str
) -> None:
    """Also of a page that the browser knows by its title before it is there again: else a condition
    about both could not be known."""
    cart = site.page("/cart", "<title>Cart</title>")
    url = site.page(
        "/", "<title>Shop</title><button onclick=\"window.open('/cart')\">Open</button>"
    )
    async with watching(browser) as watch:
        if way == "back":
            await page.goto(cart)
            await page.goto(url)
            await page.go_back(wait_until="commit")
        else:
            await page.goto(url)
            await page.click("button")
        wanted = 2 if way == "back" else 1
        await watch.until(lambda: len(watch.all("page.title_changed", title="Cart")) == wanted)
    at: dict[str, str] = {}
    for kind, data in watch.seen:
        if kind == "page.navigated":
            at[data["tab"]] = data["url"]
        elif kind == "page.title_changed" and not data.get("baseline"):
            assert at.get(data["tab"]) == data["url"], f"{data['title']} was told before"


async def test_a_page_commits_and_loads_once(browser: Chromium, page: Page, site: Site) -> None:
    url = site.page(
        "/", "<title>One</title><script>history.replaceState({}, '', location.href)</script>"
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await watch.one("page.loaded", url=url)
        await watch.one("page.title_changed", title="One")
        await page.reload()
        await watch.until(lambda: len(watch.all("page.loaded", url=url)) == 2)
        assert len(watch.all("page.navigated", url=url)) == 2, "one for each document"


async def test_a_frame_of_another_site_is_seen_in_its_own_process(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/inner", "<title>inner</title><button>Pay</button><input aria-label=Card>")
    url = site.page("/", f"<title>outer</title><iframe src='{site.other}/inner'></iframe>")
    async with watching(browser) as watch:
        await page.goto(url)
        inner = page.frame_locator("iframe")
        await inner.get_by_role("button", name="Pay").click()
        await inner.get_by_label("Card").fill("4111")
        outer = await watch.one("page.navigated", url=url)
        frame = await watch.one("page.navigated", url=f"{site.other}/inner")
        click = await watch.one("element.clicked")
        filled = await watch.one("field.filled", value="4111")
        assert frame["main"] is False
        assert frame["frame"] != outer["frame"]
        assert {frame["tab"], click["tab"], filled["tab"]} == {outer["tab"]}
        assert (click["frame"], filled["frame"]) == (frame["frame"], frame["frame"])
        assert len(watch.all("page.navigated", url=f"{site.other}/inner")) == 1
        await page.evaluate("document.querySelector('iframe').remove()")
        await watch.one("frame.detached", frame=frame["frame"])


async def test_frames_of_the_same_process_are_told_apart(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/a", "<button>A</button>")
    site.page("/b", "<button>B</button>")
    url = site.page(
        "/", "<iframe src=/a></iframe><iframe src=/b></iframe><iframe srcdoc='<button>C</button>'></iframe>"
        "<iframe id=blank></iframe><script>blank.contentDocument.body.innerHTML = '<button>D</button>'</script>",
    )  # fmt: skip
    async with watching(browser) as watch:
        await page.goto(url)
        for index, name in enumerate("ABCD"):
            await (
                page.frame_locator(f"iframe >> nth={index}")
                .get_by_role("button", name=name)
                .click()
            )
        await watch.until(lambda: len(watch.all("element.clicked")) == 4)
        urls = {one["frame"]: one["url"] for one in watch.all("page.navigated")}
        clicked = {
            one["element"]["name"]: urls[one["frame"]] for one in watch.all("element.clicked")
        }
    assert clicked == {
        "A": site.url + "/a",
        "B": site.url + "/b",
        "C": "about:srcdoc",
        "D": "about:blank",
    }


async def test_going_to_another_site_and_back_keeps_hearing(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/there", "<button>There</button>")
    url = site.page("/", "<button>Here</button>")
    async with watching(browser) as watch:
        for address, name in ((url, "Here"), (site.other + "/there", "There"), (url, "Here")):
            await page.goto(address)
            await page.click("button")
            await watch.until(partial(watch.clicked, name))
        await page.go_back(wait_until="commit")
        await page.click("button")
        await watch.until(lambda: len(watch.all("element.clicked")) == 4)
        assert watch.all("element.clicked")[-1]["element"]["name"] == "There"


async def test_a_popup_is_a_tab_with_its_opener(browser: Chromium, page: Page, site: Site) -> None:
    site.page("/popup", "<title>Popup</title><button>Agree</button>")
    url = site.page(
        "/", "<button onclick=\"open('/popup', '', 'width=300,height=300')\">Terms</button>"
    )
    async with watching(browser) as watch:
        await page.goto(url)
        async with page.expect_popup() as opened:
            await page.click("button")
        popup = await opened.value
        await popup.click("button")
        tab = await watch.one("page.navigated", url=site.url + "/popup")
        assert (await watch.one("tab.opened", tab=tab["tab"]))["opener"] == watch.all(
            "page.navigated", url=url
        )[0]["tab"]
        click = await watch.until(lambda: watch.all("element.clicked", tab=tab["tab"]))
        assert click[0]["element"]["name"] == "Agree"
        assert len(watch.all("page.navigated", url=site.url + "/popup")) == 1
        await popup.close()
        await watch.one("tab.closed", tab=tab["tab"])


async def test_a_new_tab_is_about_blank_until_it_goes_somewhere(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", "<title>x</title>")
    async with watching(browser) as watch:
        other = await page.context.new_page()
        blank = await watch.one("page.navigated", url="about:blank")
        await other.goto(url)
        await watch.one("page.navigated", url=url, tab=blank["tab"])
        await other.close()
        await watch.one("tab.closed", tab=blank["tab"])


async def test_what_exists_at_attachment_is_baseline(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/inner", "<p>in</p>")
    icon = "<link rel='icon' href='data:,'>"  # else the browser asks for one, at its leisure
    body = f"<title>Stands</title>{icon}<iframe src='{site.other}/inner'></iframe>"
    url = site.page("/", body)
    await page.goto(url)
    async with watching(browser) as watch:
        told = {
            kind
            for kind, data in watch.seen
            if data.get("baseline") and data.get("url", "").startswith(url)
        }
        assert told == {"tab.opened", "page.navigated", "page.loaded", "page.title_changed"}
        assert watch.all("page.navigated", url=f"{site.other}/inner", baseline=True)
        assert not [kind for kind, data in watch.seen if not data.get("baseline")]


async def test_what_could_not_be_loaded_is_told_with_its_error(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/gone", Answer(status=404, body=""))
    site.page(
        "/shut",
        Answer("<p>in</p>", headers=(("content-type", "text/html"), ("x-frame-options", "DENY"))),
    )
    url = site.page("/", "<title>x</title><iframe src=/shut></iframe>")
    async with watching(browser) as watch:
        await page.goto(url)
        inner = await watch.one("page.failed", url=f"{site.url}/shut")
        assert (inner["main"], inner["error"]) == (False, "net::ERR_BLOCKED_BY_RESPONSE")
        for address, error in (
            ("http://nowhere.invalid/?a=1", "net::ERR_NAME_NOT_RESOLVED"),
            (f"{site.url}/gone", "net::ERR_HTTP_RESPONSE_CODE_FAILURE"),
        ):
            with pytest.raises(Error, match=error):
                await page.goto(address)
            failed = await watch.one("page.failed", url=address)
            assert (failed["main"], failed["error"]) == (True, error)
            assert (
                watch.all("page.navigated", frame=failed["frame"])[-1]["url"]
                == "chrome-error://chromewebdata/"
            )
            await watch.until(lambda failed=failed: _loaded_after(watch, failed))


def _loaded_after(watch: Watch, failed: dict[str, Any]) -> bool:
    """Whether the error page has been loaded since; a navigation before would be taken for its
    end."""
    at = next(index for index, (_, data) in enumerate(watch.seen) if data == failed)
    return any(
        kind == "page.loaded" and data["frame"] == failed["frame"] for kind, data in watch.seen[at:]
    )


async def test_stages_of_loading_are_told_to_who_asks(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", "<title>x</title><iframe src=/in></iframe>")
    site.page("/in", "<p>in</p>")
    async with watching(browser, {"hears": ["page.parsed", "page.network_idle"]}) as watch:
        await page.goto(url)
        for address in (url, f"{site.url}/in"):
            await watch.one("page.parsed", url=address)
            await watch.one("page.network_idle", url=address)
        await watch.fence()
        stages = [
            kind for kind, data in watch.seen if data.get("url") == url and kind.startswith("page.")
        ]
        assert [kind for kind in stages if kind != "page.title_changed"] == [
            "page.navigated", "page.parsed", "page.loaded", "page.network_idle",
        ]  # fmt: skip
    async with watching(browser) as watch:
        await page.goto(url)
        await watch.one("page.loaded", url=url)
        await watch.fence()
        assert not watch.all("page.parsed")


async def test_frames_within_frames_of_other_sites(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/inner", "<button>Deep</button>")
    site.page("/middle", f"<iframe src='{site.url}/inner'></iframe>")
    url = site.page("/", f"<title>x</title><iframe src='{site.other}/middle'></iframe>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.frame_locator("iframe").frame_locator("iframe").locator("button").click()
        click = await watch.one("element.clicked")
        frames = {one["url"]: one for one in watch.all("page.navigated")}
        deep = frames[f"{site.url}/inner"]
        assert click["frame"] == deep["frame"]
        assert {one["tab"] for one in frames.values()} == {click["tab"]}
        assert [one["main"] for one in (frames[url], frames[f"{site.other}/middle"], deep)] == [
            True,
            False,
            False,
        ]
        await page.evaluate("document.querySelector('iframe').remove()")
        await watch.one("frame.detached", frame=deep["frame"])
        await watch.one("frame.detached", frame=frames[f"{site.other}/middle"]["frame"])


async def test_a_popup_of_a_popup_has_it_as_its_opener(
    browser: Chromium, page: Page, site: Site
) -> None:
    opening = (
        "<title>{}</title><button onclick=\"open('{}', '', 'width=300,height=300')\">Open</button>"
    )
    site.page("/second", "<title>second</title><button>Deep</button>")
    site.page("/first", opening.format("first", "/second"))
    url = site.page("/", opening.format("start", "/first"))
    async with watching(browser) as watch:
        await page.goto(url)
        pages = [page]
        for _ in range(2):
            async with pages[-1].expect_popup() as opened:
                await pages[-1].click("button")
            pages.append(await opened.value)
        await pages[-1].click("button")
        tabs = [
            (await watch.one("page.navigated", url=site.url + path))["tab"]
            for path in ("/", "/first", "/second")
        ]
        openers = {one["tab"]: one["opener"] for one in watch.all("tab.opened")}
        assert openers == {tabs[1]: tabs[0], tabs[2]: tabs[1]}
        await watch.until(lambda: watch.all("element.clicked", tab=tabs[2]))
        for one in pages[:0:-1]:
            await one.close()
        await watch.until(lambda: len(watch.all("tab.closed")) == 2)


async def test_about_blank_that_goes_somewhere_is_both(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/there", "<title>there</title>")
    url = site.page(
        "/",
        "<title>x</title><button onclick=\"w = window.open(''); w.location ="
        " '/there'\">Open</button>",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        async with page.expect_popup() as opened:
            await page.click("button")
        there = await watch.one("page.navigated", url=f"{site.url}/there")
        told = [one["url"] for one in watch.all("page.navigated", tab=there["tab"])]
        assert told[-1] == there["url"]
        assert set(told[:-1]) <= {"about:blank"}
        await watch.one("page.title_changed", tab=there["tab"], title="there")
        await (await opened.value).close()
