"""Bodies of requests in every form that pages send, kept only where the plan asks, never a file's
bytes."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from agentd.sources.cdp.state.capture_plan import CapturePlan
from detectors.matchers.values import body_fields
from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

PLAN = {"request_bodies": ["/up"]}


async def test_repeated_fields_stay_repeated(browser: Chromium, page: Page, site: Site) -> None:
    site.page("/up", "<title>up</title>")
    url = site.page("/", """<form method=post action=/up><select name=c multiple><option selected>red
        <option selected>b&amp;w</select><input name=t value='Grüße &amp; more'>
        <button>Go</button></form>""")  # fmt: skip
    async with watching(browser, PLAN | {"origin": site.url}) as watch:
        await page.goto(url)
        await page.click("button")
        finished = await watch.one("request.finished", url=site.url + "/up")
    fields = body_fields(finished["body"]["text"], finished["body"]["mime"], repeated="any")
    assert fields("c") == ("red", "b&w")
    assert fields("t") == ("Grüße & more",)


async def test_json_with_arrays_and_binary(browser: Chromium, page: Page, site: Site) -> None:
    site.page("/up", "ok")
    async with watching(browser, PLAN | {"origin": site.url}) as watch:
        await page.goto(site.url)
        send = (
            "([body]) => fetch('/up', {method: 'POST', body, headers: {'content-type':"
            " 'application/json'}})"
        )
        await page.evaluate(
            f"({send})([JSON.stringify({{a: [1, {{b: ['ä', null]}}]}})]).then((r) => r.text())"
        )
        await page.evaluate(
            "fetch('/up', {method: 'POST', body: new Uint8Array([0, 255, 1, 2, 137])}).then((r) =>"
            " r.text())"
        )
        await watch.until(lambda: len(watch.all("request.finished", url=site.url + "/up")) == 2)
    first, second = watch.all("request.finished", url=site.url + "/up")
    assert first["body"] == {"text": '{"a":[1,{"b":["ä",null]}]}', "mime": "application/json"}
    assert second["body"] == {"base64": base64.b64encode(bytes([0, 255, 1, 2, 137])).decode()}


@pytest.mark.parametrize("how", ["form", "fetch"])
async def test_an_upload_names_its_files_and_keeps_no_bytes(
    browser: Chromium, page: Page, site: Site, tmp_path: Path, how: str
) -> None:
    site.page("/up", "<title>up</title>")
    (tmp_path / "größe.png").write_bytes(b"\x89PNG" + bytes(range(256)) * 40)
    url = site.page("/", """<form method=post action=/up enctype=multipart/form-data><input name=q value=v>
        <input name=q value='ü'><input type=file name=f><button>Go</button></form>""")  # fmt: skip
    async with watching(browser, PLAN | {"origin": site.url}) as watch:
        await page.goto(url)
        await page.set_input_files("[type=file]", tmp_path / "größe.png")
        if how == "form":
            await page.click("button")
        else:
            await page.evaluate(
                "fetch('/up', {method: 'POST', body: new FormData(document.forms[0])})"
            )
        finished = await watch.one("request.finished", url=site.url + "/up")
    body = finished["body"]
    assert body["files"] == [
        {"name": "f", "filename": "größe.png", "mime": "image/png", "size": 10244}
    ]
    assert body_fields(body["text"], body["mime"], repeated="any")("q") == ("v", "ü")
    assert "PNG" not in body["text"].replace("image/png", "")
    assert "cut" not in body
    assert len(site.asked[-1].body) > 10244, "the site itself got the file"


async def test_a_small_text_file_is_told(browser: Chromium, page: Page, site: Site) -> None:
    site.page("/up", "ok")
    async with watching(browser, PLAN | {"origin": site.url}) as watch:
        await page.goto(site.url)
        await page.evaluate("""async () => { const form = new FormData(); form.append("a", "1");
            form.append("n", new File(["notes, 4111 1111 1111 1111\\n"], "n.txt", {type: "text/plain"}));
            await fetch("/up", {method: "POST", body: form}) }""")
        body = (await watch.one("request.finished", url=site.url + "/up"))["body"]
    assert "notes, ***\n" in body["text"]
    assert body["files"] == [{"name": "n", "filename": "n.txt", "mime": "text/plain", "size": 27}]


async def test_card_numbers_tokens_and_added_names_never_leave(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/up", "ok")
    async with watching(
        browser, PLAN | {"origin": site.url, "mask": ["pin"], "text": True}
    ) as watch:
        await page.goto(
            site.page(
                "/", "<input name=card aria-label=Card><input name=pin><p>4111 1111 1111 1111</p>"
            )
        )
        await page.fill("[name=card]", "4111 1111 1111 1111")
        await page.fill("[name=pin]", "9753")
        await page.evaluate(
            """fetch("/up?card=4111111111111111&access_token=tok123", {method: "POST", body: JSON.stringify(
            {card: 4111111111111111, api_key: "key123", pin: "9753", order: 1690000000007})}).then((r) => r.text())"""
        )
        finished = await watch.one("request.finished", type="Fetch")
        await watch.fence()
    assert finished["url"] == site.url + "/up?card=***&access_token=***"
    assert (
        finished["body"]["text"]
        == '{"card":"***","api_key":"***","pin":"***","order":1690000000007}'
    )
    assert {d["value"] for d in watch.all("field.filled")} == {
        "***",
        None,
    }, "what is named secret stays in the page"
    said = str(watch.seen)
    assert not [secret for secret in ("4111", "tok123", "key123", "9753") if secret in said]


async def test_nothing_is_fetched_that_nobody_asked_for(
    browser: Chromium, page: Page, site: Site
) -> None:
    site.page("/other", "ok")
    stream = "Network.streamResourceContent"
    for plan, wanted in (
        ({}, [set()]),
        ({"request_bodies": ["/up"], "response_bodies": ["/up"], "origin": site.url}, [set()]),
        # A body that was whole before it was to be streamed is got.
        (
            {"response_bodies": ["/other"], "origin": site.url},
            [{stream}, {stream, "Network.getResponseBody"}],
        ),
    ):
        async with watching(browser, plan) as watch:
            assert watch.source._live is not None
            connection = watch.source._live._connection
            sent: list[str] = []
            send = connection.send

            def noted(
                method: str,
                *rest: object,
                send: object = send,
                sent: list[str] = sent,
                **named: object,
            ) -> object:
                sent.append(method)
                return send(method, *rest, **named)  # type: ignore[operator]

            connection.send = noted  # type: ignore[assignment, method-assign]
            await page.goto(site.url)
            await page.evaluate(
                "fetch('/other', {method: 'POST', body: 'x'.repeat(100000)}).then((r) => r.text())"
            )
            await watch.one("request.finished", url=site.url + "/other")
            await watch.fence()
        asked = {method for method in sent if method.startswith(("Network.get", "Network.stream"))}
        assert asked in wanted


async def test_no_body_comes_here_that_no_rule_asks_for(page: Page, site: Site) -> None:
    """Of the browser's own message about a request: a limit of 0 would be none."""
    hears = await page.context.new_cdp_session(page)
    sent: list[dict[str, Any]] = []
    hears.on("Network.requestWillBeSent", lambda about: sent.append(about["request"]))
    await hears.send("Network.enable", CapturePlan.from_plan({}).enabling())
    await page.goto(site.url)
    await page.evaluate("fetch('/other', {method: 'POST', body: 'x'.repeat(100000)})")
    [posted] = [one for one in sent if one["method"] == "POST"]
    assert posted["hasPostData"]
    assert not {"postData", "postDataEntries"} & posted.keys()
