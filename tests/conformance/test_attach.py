"""agentd.attach as a harness uses it: what it refuses, what it shares with others, what it says
when it is held up."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from milestoned_client import ControlDir, Episode
from playwright.sync_api import Browser, Page, sync_playwright

import agentd
from agentd.core.errors import AgentdError, UsageError
from agentd.inprocess import Watch
from agentd.inprocess.attaching import _must_be_chromium
from api.tasks.task_files import check_task
from detectors.engine.engine import Engine
from detectors.task.ruleset import compile_task
from tests.cdp.site import Site
from tests.conformance.comparing import events_of
from tests.conformance.harness import ARGS, LEAN
from tests.support.chromium import needs_chromium
from tests.support.stack import Stack

pytestmark = [pytest.mark.browser, needs_chromium]

TASK = {
    "id": "test/attached",
    "version": "1",
    "instruction": "Open the page.",
    "milestones": [{"id": "there", "when": {"url_reached": {"url": "/start"}}}],
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that Playwright without asyncio launched, by pipe."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=LEAN, args=ARGS)
        yield browser
        browser.close()


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as one:
        one.page("/start", "<title>start</title>")
        yield one


@contextmanager
def paid(page: Page, site: Site, stack: Stack, episode: Episode) -> Iterator[Watch]:
    """A watch on the page whose first step opened it, and was paid for that."""
    service = {"service": stack.service.url, "episode": episode.id, "token": episode.token}
    with agentd.attach(page, **service, state=stack.folder / "attached") as watch:
        watch.begin_step("open")
        page.goto(f"{site.url}/start")
        watch.end_step()
        reward = episode.reward(0, wait_s=30)
        assert [milestone.id for milestone in reward.milestones] == ["there"], reward.reason
        yield watch


def _closed(browser: Browser) -> Any:
    page = browser.new_page()
    page.close()
    return page


REFUSED: dict[str, tuple[Callable[[Browser], Any], dict[str, Any], str]] = {
    "no page": (lambda browser: "page", {"out": "x.mrec"}, "a builtins.str; wanted a Page"),
    "a closed page": (_closed, {"out": "x.mrec"}, "the Page is closed"),
    "an empty context": (lambda browser: browser.new_context(), {"out": "x.mrec"}, "no page yet"),
    "neither service nor recording": (
        lambda browser: browser,
        {},
        "either service, episode, token and state, or out",
    ),
    "no token": (
        lambda browser: browser,
        {"service": "http://127.0.0.1:1", "episode": "e", "state": "s"},
        "token",
    ),
    "no state": (
        lambda browser: browser,
        {"service": "http://127.0.0.1:1", "episode": "e", "token": "t"},
        "--state",
    ),
    "a port beside it": (
        lambda browser: browser,
        {"out": "x.mrec", "cdp": "http://127.0.0.1:1"},
        "cdp is the browser",
    ),
    "an option that there is not": (
        lambda browser: browser,
        {"out": "x.mrec", "visul": True},
        "no option visul=True",
    ),
    "an option of another command": (
        lambda browser: browser,
        {"out": "x.mrec", "edge": "t.json"},
        "no option edge",
    ),
    "a folder that is none": (lambda browser: browser, {"out": "/nowhere/x.mrec"}, "/nowhere"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_watched_is_refused_in_words(
    browser: Browser, case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    give, options, words = REFUSED[case]
    with pytest.raises(UsageError, match=words):
        agentd.attach(give(browser), **options)


def test_a_service_that_nobody_reaches_is_waited_for_no_longer_than_asked(
    browser: Browser, tmp_path: Path
) -> None:
    """Bound and not listening: a connection is refused, and asked for again."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        service = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        page = browser.new_page()
        began = time.monotonic()
        with pytest.raises(UsageError, match="no plan of the episode within 1 s"):
            agentd.attach(
                page, service=service, episode="e", token="t", state=tmp_path / "s", patience_s=1
            )
        assert time.monotonic() - began < 10
    with agentd.attach(page, out=tmp_path / "after.mrec"):  # the browser is free again
        pass


@pytest.mark.parametrize("name", ["firefox", "webkit"])
def test_other_browsers_are_refused_by_name(name: str) -> None:
    """They are not installed here: this is what Playwright's pages of them look like."""
    page = SimpleNamespace(
        context=SimpleNamespace(browser=SimpleNamespace(browser_type=SimpleNamespace(name=name)))
    )
    with pytest.raises(UsageError, match=f"the browser is {name}"):
        _must_be_chromium(page)


def test_a_browser_is_watched_once_and_a_context_apart_from_others(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    pages = {name: browser.new_page() for name in ("one", "two")}
    watches = {
        name: agentd.attach(page, out=tmp_path / f"{name}.mrec") for name, page in pages.items()
    }
    with pytest.raises(UsageError, match="watched already"):
        agentd.attach(pages["one"].context, out=tmp_path / "again.mrec")
    with pytest.raises(UsageError, match="watched already"):
        agentd.attach(browser, out=tmp_path / "all.mrec")
    for name, page in pages.items():
        watches[name].begin_step(name)
        page.goto(f"{site.url}/?{name}")
        watches[name].end_step()
    for watch in watches.values():
        watch.close()
    for name in pages:
        seen = {
            event.data["url"]
            for event in events_of(tmp_path / f"{name}.mrec")
            if "url" in event.data
        }
        assert {url for url in seen if "?" in url} == {f"{site.url}/?{name}"}
    with agentd.attach(pages["one"], out=tmp_path / "later.mrec") as watch:
        assert "cdp" not in watch.gaps


def test_a_harness_that_fails_leaves_a_closed_recording(browser: Browser, tmp_path: Path) -> None:
    out = tmp_path / "session.mrec"

    def harness() -> None:
        with agentd.attach(browser.new_page(), out=out) as watch:
            watch.begin_step("divide")
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        harness()
    assert events_of(out)[-1].data == {"reason": "the harness raised ZeroDivisionError"}


def test_a_recording_for_a_task_has_what_its_rules_read(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    """Page text, probes, what a click stands in: without the task nobody would have asked for
    them."""
    site.page("/list", "<p>Ada <button>Open</button></p><p>Bob <button>Open</button></p>")
    probe = {
        "id": "size",
        "script": {"url": "/list", "expression": "document.querySelectorAll('p').length"},
    }
    clicked = {"element_clicked": {"name": "Open", "around": {"contains": "Bob"}}}
    milestones = [
        {"id": "open", "when": clicked},
        {"id": "two", "when": {"probe_answers": {"probe": "size", "value": 2}}},
        {"id": "shown", "when": {"text_visible": {"text": {"contains": "Bob"}}}},
    ]
    task = {**TASK, "origin": site.url, "probes": [probe], "milestones": milestones}
    file, scored = tmp_path / "task.json", {}
    file.write_text(json.dumps(task))
    for name, options in (("with", {"task": str(file)}), ("without", {})):
        page = browser.new_page()
        with agentd.attach(page, out=tmp_path / f"{name}.mrec", **options) as watch:
            watch.begin_step("open")
            page.goto(site.url + "/list")
            page.locator("button").nth(1).click()
            watch.end_step()
        events = list(events_of(tmp_path / f"{name}.mrec"))
        rewards = Engine(compile_task(check_task(task)), events[0].episode).feed(events).rewards
        scored[name] = {one.id for reward in rewards for one in reward.milestones}
    assert scored == {"with": {"open", "two", "shown"}, "without": set()}


def _end_over_the_port(watch: Watch, step: int) -> None:
    url, token = ControlDir(watch.control).locate()
    httpx.post(
        f"{url}/v1/steps/{step}:end", headers={"authorization": f"Bearer {token}"}, json={}
    ).raise_for_status()


def test_a_seal_that_a_busy_harness_holds_up_is_a_gap(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    """Somebody else ends the step while the harness computes: what Playwright has not read yet is
    not in it."""
    out = tmp_path / "session.mrec"
    page = browser.new_page()
    with agentd.attach(page, out=out) as watch:
        step = watch.begin_step("open")
        page.goto(site.url)
        session = watch._daemon.session
        assert session is not None
        other = threading.Thread(target=_end_over_the_port, args=(watch, step))
        other.start()
        while not session.steps.sealed:
            time.sleep(0.05)  # the harness does not call Playwright
        other.join()
        watch.pump()
        watch.begin_step("go on")
        watch.end_step()
    events = [(event.kind, event.data) for event in events_of(out)]
    kinds = [kind for kind, _ in events]
    sealed, second = (
        kinds.index("step.sealed"),
        kinds.index("step.began", kinds.index("step.sealed")),
    )
    gaps = [
        at
        for at, (kind, data) in enumerate(events)
        if kind == "gap.began" and "gave its browser" in data["reason"]
    ]
    ended = [at for at, (kind, data) in enumerate(events) if kind == "gap.ended" and at > sealed]
    assert len(gaps) == len(ended) == 1
    assert gaps[0] < sealed < ended[0] < second


def test_an_episode_of_a_service_is_scored(browser: Browser, site: Site, tmp_path: Path) -> None:
    with Stack(tmp_path) as stack:
        episode = stack.open({**TASK, "origin": site.url})
        page = browser.new_page()
        with paid(page, site, stack, episode) as watch:
            watch.answer("done")
    with pytest.raises(AgentdError, match="the watch has ended"):
        watch.begin_step()


@pytest.mark.slow
def test_script_probes_ask_over_the_harness_in_its_own_context_only(
    browser: Browser, site: Site, tmp_path: Path
) -> None:
    task = {
        "id": "test/probed",
        "version": "1",
        "instruction": "Open the page.",
        "origin": site.url,
        "probes": [
            {
                "id": "title",
                "script": {"url": "/start", "expression": "document.title"},
                "when": ["step"],
            }
        ],
        "milestones": [
            {"id": "there", "when": {"probe_answers": {"probe": "title", "value": "start"}}}
        ],
    }
    with Stack(tmp_path) as stack:
        episode = stack.open(task)
        other, page = browser.new_context().new_page(), browser.new_context().new_page()
        other.goto(f"{site.url}/start")
        other.evaluate("document.title = 'another'")
        with paid(page, site, stack, episode):
            pass
        page.context.close()
        other.context.close()


def test_importing_agentd_brings_nothing_heavy() -> None:
    heavy = "{'httpx', 'uvicorn', 'playwright', 'websockets', 'agentd.inprocess'}"
    code = f"import agentd, sys; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
