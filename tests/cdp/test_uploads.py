"""Files that a page uploads, and files that it makes: what a task can ask of them, on a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page

from detectors.task.ruleset import Ruleset
from tests.cdp.site import Answer, Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import began, ruleset, run

pytestmark = [pytest.mark.browser, needs_chromium]

SEND: dict[str, Any] = {"method": "POST", "url": "/up"}
FORM = """<form method=post action=/up enctype=multipart/form-data><input name=q value=v>
    <input type=file name=cv><input type=file name=more multiple><button>Go</button></form>"""
UPLOADED = {
    "its name": {"file": "größe.pdf"},
    "name and size": {"file": "größe.pdf", "file_size": 4711},
    "another field's file": {
        "file_field": "more",
        "file": {"glob": "*.txt"},
        "file_size": {"max": 9},
    },
    "fields beside it": {"file": "größe.pdf", "body": {"q": "v"}},
}
NOT_UPLOADED = {
    "another name": {"file": "cv.pdf"},
    "another size": {"file": "größe.pdf", "file_size": 4710},
    "the size of another file": {"file": "größe.pdf", "file_size": {"max": 9}},
    "another field": {"file": "größe.pdf", "file_field": "more"},
    "other fields beside it": {"file": "größe.pdf", "body": {"q": "w"}},
}
MADE = {
    "a blob": {"name": "blob.csv"},
}
NOT_MADE = {
    "written into a link, as anybody can into the address bar": {"name": "data.csv"},
    "a blob of a frame of no site": {"name": "strange.csv"},
    "another name": {"name": "other.csv"},
}


def _rules(rule: str, cases: dict[str, dict[str, Any]], site: Site, **more: Any) -> Ruleset:
    return ruleset(
        *({"id": f"m{n}", "component": "ui", "when": {rule: {**more, **case}}} for n, case in enumerate(cases.values())),
        origin=site.url,
    )  # fmt: skip


def _paid(rules: Ruleset, watch: Watch, cases: dict[str, dict[str, Any]]) -> set[str]:
    """The cases that what was seen pays, all of it in one step whose reward is known."""
    opened, closed = ("episode.opened", {}), ("episode.closed", {})
    rewards = run(rules, opened, began(0), *watch.seen, closed)
    assert not [reward.reason for reward in rewards if reward.mask]
    ids = {f"m{n}": name for n, name in enumerate(cases)}
    return {ids[one.id] for reward in rewards for one in reward.milestones}


async def test_an_upload_is_asked_for_by_name_true_size_and_field(
    browser: Chromium, page: Page, site: Site, tmp_path: Path
) -> None:
    """Files from the disk, whose bytes the browser never tells; by a form and by `fetch`."""
    (tmp_path / "größe.pdf").write_bytes(b"%PDF" + b"\x00" * 4707)
    (tmp_path / "a.txt").write_text("notes")
    site.page("/up", "<title>up</title>")
    cases = {**UPLOADED, **NOT_UPLOADED}
    rules = _rules("request_accepted", cases, site, **SEND)
    for how in ("form", "fetch"):
        async with watching(browser, rules.plan("e")) as watch:
            await page.goto(site.page("/", FORM))
            await page.set_input_files("[name=cv]", tmp_path / "größe.pdf")
            if how == "form":
                await page.set_input_files("[name=more]", tmp_path / "a.txt")
                await page.click("button")
            else:
                await page.evaluate(
                    """() => { const body = new FormData(document.forms[0]);
                    body.set("more", new File(["notes"], "a.txt", {type: "text/plain"}));
                    return fetch("/up", {method: "POST", body}).then((r) => r.text()) }"""
                )
            finished = await watch.one("request.finished", url=f"{site.url}/up")
            await watch.fence()
            sizes = {one["filename"]: one.get("size") for one in finished["body"]["files"]}
            if how == "form":  # two files from the disk: how much each is, nobody is told
                assert sizes == {"größe.pdf": None, "a.txt": None}
            else:
                assert sizes == {"größe.pdf": 4711, "a.txt": 5}
                assert _paid(rules, watch, cases) == set(UPLOADED)


@pytest.mark.slow
async def test_of_a_form_that_a_redirect_answers_the_body_is_unknown_and_the_submission_known(
    browser: Chromium, page: Page, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("notes")
    site.page("/up", Answer(status=303, headers=(("location", "/done"),)))
    site.page("/done", "<title>done</title>")
    to = {**SEND, "redirect_to": "/done"}
    submitted = {"form_submitted": {"action": "/up", "fields": {"q": "v", "cv": "a.txt"}}}
    for when, pays in (
        ({"request_accepted": {**to, "file": "a.txt"}}, None),
        ({"sequence": {"of": [submitted, {"request_accepted": to}]}}, 0.2),
    ):
        rules = ruleset({"id": "m", "component": "ui", "when": when}, origin=site.url)
        async with watching(browser, rules.plan("e")) as watch:
            await page.goto(site.page("/", FORM))
            await page.set_input_files("[name=cv]", tmp_path / "a.txt")
            await page.click("button")
            await watch.one("request.finished", url=f"{site.url}/done")
            await watch.fence()
        (reward,) = run(
            rules, ("episode.opened", {}), began(0), *watch.seen, ("episode.closed", {})
        )
        assert reward.reward == pays, reward.reason


@pytest.mark.slow
async def test_what_no_rule_asks_for_is_not_recorded(
    browser: Chromium, page: Page, site: Site, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("notes")
    site.page("/up", "<title>up</title>")
    rules = _rules("request_accepted", {"any": {}}, site, **SEND)
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(site.page("/", FORM))
        await page.set_input_files("[name=cv]", tmp_path / "a.txt")
        await page.click("button")
        assert "body" not in await watch.one("request.finished", url=f"{site.url}/up")


async def test_a_file_that_a_page_makes_is_its_site_s(
    browser: Chromium, page: Page, site: Site
) -> None:
    cases = {**MADE, **NOT_MADE}
    rules = _rules("download_finished", cases, site)
    body = """<a id=b download=blob.csv>Blob</a><a download=data.csv href="data:text/csv,a,b">Data</a>
        <iframe sandbox="allow-scripts allow-downloads" srcdoc="<a id=s download=strange.csv>Strange</a>
        <script>s.href = URL.createObjectURL(new Blob(['x']))</script>"></iframe>
        <script>b.href = URL.createObjectURL(new Blob(['a,b']))</script>"""
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(site.page("/", body))
        for name in ("Blob", "Data"):
            async with page.expect_download():
                await page.get_by_role("link", name=name).click()
        async with page.expect_download():
            await page.frame_locator("iframe").get_by_role("link").click()
        await watch.until(lambda: len(watch.all("download.finished")) == 3)
        addresses = [one["url"].partition(":")[0] for one in watch.all("download.finished")]
        assert addresses == ["blob", "data", "blob"]
        assert _paid(rules, watch, cases) == set(MADE)
