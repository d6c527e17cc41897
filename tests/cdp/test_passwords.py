"""A password's value is in no observation, whatever way a page takes with it."""

from __future__ import annotations

import orjson
import pytest
from playwright.async_api import Page

from detectors.matchers import TextMatch
from detectors.sdk.kept_back import judge_told
from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

SECRET = "korrektPferd9"


async def test_a_password_never_leaves_the_page(browser: Chromium, page: Page, site: Site) -> None:
    site.page("/done", "<title>done</title>")
    url = site.page(
        "/",
        """<form action=/done method=post>
        <label>User <input name=user></label>
        <label>Secret <input type=password name=s3 id=pw><button type=button id=show>Show</button></label>
        <input name=mine autocomplete=new-password aria-label=Again>
        <button id=go>Log in</button></form>
        <script>show.onclick = () => pw.type = 'text';
        show.addEventListener('mouseup', () =>
            fetch('/api', {method: 'POST', body: JSON.stringify({odd: pw.value})}))</script>""",
    )
    async with watching(
        browser, {"request_bodies": ["/*"], "origin": site.url, "text": True}
    ) as watch:
        await page.goto(url)
        await page.fill("[name=user]", "ada")
        await page.locator("#pw").press_sequentially(SECRET)
        await page.fill("[name=mine]", SECRET)
        await page.click("#show")
        await page.locator("#pw").press("End")
        await page.locator("#pw").press_sequentially("X")
        await page.click("#go")
        finished = await watch.one("request.finished", url=site.url + "/done", method="POST")
        await watch.one("request.finished", url=site.url + "/api")
    everything = orjson.dumps(watch.seen).decode()
    assert SECRET not in everything
    assert "ada" in everything
    assert finished["body"]["text"] == "user=ada&s3=***&mine=***"
    filled = [d for d in watch.all("field.filled") if d["element"].get("attr_name") == "s3"]
    assert filled
    assert all(d["value"] is None and d["has_value"] is True for d in filled)
    assert watch.all("form.submitted")[0]["fields"] == [
        ["user", "ada"],
        ["s3", None],
        ["mine", None],
    ]


async def test_a_password_in_an_address_is_masked(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/done", "<title>done</title>")
    url = site.page(
        "/", "<form action=/done><input type=password name=geheim><button>Go</button></form>"
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await page.fill("input", SECRET)
        await page.click("button")
        await watch.one("page.navigated", url=f"{site.url}/done?geheim=***")
        await watch.fence()
    assert SECRET not in orjson.dumps(watch.seen).decode()
    assert site.asked[-1].path == f"/done?geheim={SECRET}", "the site itself got what was typed"


async def test_page_script_can_neither_see_nor_call_the_observer(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        "<button>Go</button><script>window.before ="
        " Object.getOwnPropertyNames(window).sort()</script>",
    )
    names = "Object.getOwnPropertyNames(window).filter((name) => name !== 'before').sort()"
    await page.goto(url)
    without = await page.evaluate(names)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.click("button")
        await watch.one("element.clicked")
        assert await page.evaluate(names) == without
        assert watch.source._live is not None
        script = watch.source._live.attachment._script
        for name in (script.binding, f"{script.binding}_observer", script.world):
            assert await page.evaluate(f"typeof globalThis['{name}']") == "undefined"
            assert await page.evaluate(f"'{name}' in window") is False
        seen_by_page = await page.evaluate(
            """new Promise((done) => { const button = document.querySelector('button');
               button.addEventListener('click', (event) => done([new Error().stack, event.composedPath().length]));
               button.click() })"""
        )
    assert script.binding not in str(seen_by_page)


@pytest.mark.parametrize(
    ("field", "secret"),
    [
        pytest.param("<input type=password>", True, id="a password"),
        pytest.param(
            "<input autocomplete='section-a cc-number'>", True, id="autocomplete: a card's number"
        ),
        pytest.param("<input autocomplete=cc-csc>", True, id="autocomplete: its security code"),
        pytest.param(
            "<input autocomplete=one-time-code>", True, id="autocomplete: a one-time code"
        ),
        pytest.param("<input name=card[cvc]>", True, id="name: cvc"),
        pytest.param("<input id=userAccessToken>", True, id="id: a token"),
        pytest.param("<textarea name=private-key></textarea>", True, id="name: a key"),
        pytest.param("<input name=otp>", True, id="name: otp"),
        pytest.param("<input name=doorPin>", True, id="a name that the task adds"),
        pytest.param("<input name=pint>", False, id="a name that only begins so"),
        pytest.param("<input name=boarding_pass>", False, id="a boarding pass"),
        pytest.param("<input name=nextPageToken>", False, id="a place in a list"),
        pytest.param("<input autocomplete=cc-name>", False, id="autocomplete: the holder's name"),
    ],
)
async def test_which_fields_are_secret(
    browser: Chromium, page: Page, site: Site, field: str, secret: bool
) -> None:
    url = site.page("/", f"<label>Field {field}</label>")
    async with watching(
        browser, {"mask": ["pin"], "also": ["field.typed", "text.selected"]}
    ) as watch:
        await page.goto(url)
        await page.locator("input, textarea").press_sequentially("wort 77")
        await page.keyboard.press("Control+a")
        await watch.fence()
        filled = watch.all("field.filled")[-1]
        typed = watch.all("field.typed")[-1]
    assert (filled["value"], filled.get("has_value")) == (
        (None, True) if secret else ("wort 77", None)
    )
    assert typed["text"] == (None if secret else "wort 77")
    assert ("wort 77" in orjson.dumps(watch.seen).decode()) is not secret


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("show.onclick = () => pw.type = 'text'", id="on click"),
        pytest.param("show.onpointerdown = () => pw.type = 'text'", id="on pointerdown"),
        pytest.param("pw.onfocus = () => pw.type = 'text'", id="on focus"),
        pytest.param("pw.oninput = () => pw.type = 'text'", id="on input"),
        pytest.param("show.onclick = () => shown.textContent = pw.value", id="as text"),
        pytest.param("show.onclick = () => { pw.replaceWith(Object.assign(document.createElement('input'), "
                     "{id: 'pw', name: 'pw', value: pw.value})) }", id="in another field of that name"),
    ],
)  # fmt: skip
async def test_a_password_that_the_page_shows_stays_one(
    browser: Chromium, page: Page, site: Site, script: str
) -> None:
    body = "<input type=password id=pw name=pw><button id=show>Show</button><p id=shown>.</p>"
    url = site.page("/", f"{body}<script>{script}</script>")
    kinds = [
        "text.appeared",
        "text.disappeared",
        "text.selected",
        "field.typed",
        "element.appeared",
    ]
    async with watching(browser, {"also": kinds}) as watch:
        await page.goto(url)
        await page.locator("#pw").press_sequentially(SECRET)
        await page.click("#show")
        await page.locator("#pw").press("Control+a")
        await page.keyboard.press("End")
        await page.locator("#pw").press_sequentially("!")
        await page.click("#shown")
        await watch.fence()
        assert SECRET not in orjson.dumps(watch.seen).decode()
        assert watch.all("field.filled")


async def test_a_value_half_typed_is_no_secret_of_its_own(
    browser: Chromium, page: Page, site: Site
) -> None:
    """`orders` stands in every shop's addresses; only the whole password is one."""
    site.page("/list", "[]")
    url = site.page(
        "/",
        "<input type=password id=pw><button onclick=\"fetch('/list?type=orders&k=' +"
        ' pw.value)">Go</button>',
    )
    async with watching(browser, {"origin": site.url}) as watch:
        await page.goto(url)
        await page.locator("#pw").press_sequentially("orders2024", delay=60)
        await page.click("button")
        await watch.one("request.finished", url=site.url + "/list?type=orders&k=***")
        await page.evaluate("fetch('/list?type=orders2024&sort=order')")
        await watch.one("request.finished", url=site.url + "/list?type=***&sort=order")


async def test_enter_right_after_the_last_key(browser: Chromium, page: Page, site: Site) -> None:
    """The page sends the value before it rested, under a name that says nothing."""
    site.page("/login", "ok")
    url = site.page(
        "/",
        "<input type=password id=pw><script>"
        "pw.onkeydown = (e) => { if (e.key === 'Enter') fetch('/login?k=' + pw.value) }</script>",
    )
    async with watching(browser, {"origin": site.url}) as watch:
        await page.goto(url)
        await page.locator("#pw").press_sequentially(SECRET)
        await page.keyboard.press("Enter")
        await watch.one("request.finished", url=site.url + "/login?k=***")
    assert SECRET not in orjson.dumps(watch.seen).decode()


async def test_a_user_whose_password_is_the_users_name(
    browser: Chromium, page: Page, site: Site
) -> None:
    """`admin` stood in the open before it was a password: a rule about the user has to see it."""
    site.page("/done", "<title>done</title><p>Welcome, admin")
    form = (
        "<form action=/done method=post><input name=user><input type=password name=pw><button>Log"
        " in</button></form>"
    )
    url = site.page("/", form)
    plan = {"request_bodies": ["/*"], "origin": site.url, "text": True}
    async with watching(browser, plan) as watch:
        await page.goto(url)
        await page.locator("[name=user]").press_sequentially("admin", delay=40)
        await page.locator("[name=pw]").press_sequentially("admin", delay=40)
        await page.click("button")
        finished = await watch.one("request.finished", url=site.url + "/done", method="POST")
        await watch.one("text.appeared", text="Welcome, admin")
    assert finished["body"]["text"] == "user=admin&pw=***"
    assert watch.all("form.submitted")[0]["fields"] == [["user", "admin"], ["pw", None]]


async def test_a_text_with_a_secret_is_told_from_dots_of_the_page_s_own(
    browser: Chromium, page: Page, site: Site
) -> None:
    """`masked` names the fields in which something stands for a secret: of these nobody knows
    whether they are the text that a rule asks for."""
    url = site.page(
        "/",
        "<title>Log in</title><input type=password id=pw>"
        "<button id=go>Show</button><p id=shown>.</p><p id=card></p>"
        "<script>go.onclick = () => { shown.textContent = 'It is ' + pw.value;"
        " card.textContent = 'Card ••• 42 ***';"
        " go.textContent = pw.value; document.title = 'Hello ' + pw.value }</script>",
    )
    async with watching(browser, {"also": ["text.appeared"]}) as watch:
        await page.goto(url)
        await page.locator("#pw").press_sequentially(SECRET)
        await page.click("#go")
        await page.click("#go")
        await watch.one("page.title_changed", title="Hello ***")
        await watch.fence()
    texts = {data["text"]: data.get("masked") for data in watch.all("text.appeared")}
    assert texts["Card ••• 42 ***"] is None
    assert texts["It is •••"] == ["text"]
    (title,) = [one for one in watch.all("page.title_changed") if one["title"] == "Hello ***"]
    assert title["masked"] == ["title"]
    first, second = watch.all("element.clicked")[-2:]
    assert (first["element"]["name"], first.get("masked")) == ("Show", None)
    assert (second["element"]["name"], second["masked"]) == ("•••", ["element"])


async def test_a_secret_of_several_words_is_told_from_one_word(
    browser: Chromium, page: Page, site: Site
) -> None:
    """Whoever has a penalty's text as a password hides it: nobody knows what words are hidden."""
    url = site.page(
        "/",
        "<input type=password id=pw><button id=go>Show</button><p id=shown>.</p>"
        "<script>go.onclick = () => { shown.textContent = 'It says ' + pw.value + ' now' }</script>",
    )
    async with watching(browser, {"also": ["text.appeared"]}) as watch:
        await page.goto(url)
        await page.fill("#pw", "Order failed again")
        await page.click("#go")
        shown = await watch.one("text.appeared", text="It says ••• ••• now")
    assert shown["masked"] == ["text"]
    matcher = TextMatch.parse({"contains": "Order failed"}, ())
    assert judge_told(matcher, shown, "text") is None
