"""Immunity 4 and 8: an agent with a keyboard only, on a browser with a window; the world with the
daemon and without.

Nobody but the daemon speaks CDP here: dialogs, downloads and the focus are the person's own.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cdp.site import Answer, Asked, Site
from tests.support.chromium import Chromium, needs_chromium
from tests.support.desktop import PATIENCE_S, Desktop, needs
from tests.support.stack import PATIENT, SEAL_S, Stack, chromium_preferences

pytestmark = [pytest.mark.browser, needs_chromium, needs()]

FORM = """<!doctype html><title>Order</title><form action="/done" method="get">
<label>Name <input name="name" autofocus></label><label><input type="checkbox" name="gift">Gift</label>
<button>Order</button></form>
<script>
// The window has its title before the field has the keyboard.
document.querySelector("[autofocus]").addEventListener("focus", () => navigator.sendBeacon("/ready"), {once: true});
let sure = false; // who presses Return once more while the answer is on its way asks nothing again
document.forms[0].onsubmit = () => {
  if (sure) return false;
  navigator.sendBeacon("/asking");
  return (sure = confirm("Really order?"));
}</script>"""
DONE = """<!doctype html><title>Done</title><a href="/report.csv" id="get">Report</a>
<script>
const tell = () => fetch("/left", {method: "POST", body: JSON.stringify({
  history: history.length, focus: document.activeElement.id, visible: document.visibilityState,
  attributes: [...document.querySelectorAll("*")].flatMap(e => e.getAttributeNames()).sort(),
  globals: Object.getOwnPropertyNames(window).length, focused: document.hasFocus()})});
addEventListener("keyup", e => { if (e.key === "F9") tell(); });
</script>"""
CSV = Answer(
    "a,b\n1,2\n", headers=(("content-type", "text/csv"), ("content-disposition", "attachment"))
)
LONG_AGO = (1_000_000_000, 1_500_000_000)
"""Read before it was written: a mere look at the file would move its atime."""

TASK: dict[str, Any] = {
    "id": "test/keyboard",
    "version": "1",
    "instruction": "Order for Ada and get the report.",
    "weights": {"form": 0.3, "ui": 0.1, "nav": 0.1, "file": 0.5},
    "settings": PATIENT,
    "milestones": [
        {
            "id": "name",
            "when": {"field_filled": {"field": "Name", "value": "Ada"}},
            "component": "form",
        },
        {
            "id": "yes",
            "when": {"dialog_answered": {"type": "confirm", "accepted": True}},
            "component": "ui",
        },
        {"id": "done", "when": {"url_reached": {"url": "/done"}}},
        {"id": "report", "when": {"file_created": {"name": "report.csv"}}},
    ],
}


def _wait(what: str, found: Callable[[], Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not found():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.05)


def _site() -> Site:
    site = Site()
    site.pages |= {
        "/": FORM,
        "/done": DONE,
        "/report.csv": CSV,
        "/left": Answer("", 204),
        "/ready": Answer("", 204),
        "/asking": Answer("", 204),
        "/favicon.ico": Answer("", 404),
    }
    return site


def _asked(site: Site, path: str) -> list[Asked]:
    return [one for one in site.asked if one.path.partition("?")[0] == path]


def _work(desktop: Desktop, site: Site, downloads: Path) -> None:
    """What a person does: by keys alone, waiting for what can be seen on the screen and at the
    site."""
    desktop.window("^Order")
    _wait("the field", lambda: _asked(site, "/ready"))
    desktop.type("Ada")
    desktop.keys("Tab", "space", "Return")
    _wait("the question", lambda: _asked(site, "/asking"))
    while not desktop.active_title().startswith(
        "Done"
    ):  # the browser takes no answer in the first half second
        desktop.keys("Return")
    desktop.window("^Done")
    desktop.keys("Tab", "Return")
    _wait("the download", (downloads / "report.csv").exists)
    desktop.window("^Done")
    desktop.keys("F9")
    _wait("the page's last words", lambda: _asked(site, "/left"))


def _left(site: Site, downloads: Path) -> dict[str, Any]:
    old = os.stat(downloads / "old.txt")
    files = {one.name: one.read_bytes() for one in sorted(downloads.iterdir())}
    return {
        "access": [(one.method, one.path) for one in site.asked if one.path != "/favicon.ico"],
        "page": json.loads(_asked(site, "/left")[0].body),
        "files": files,
        "times": (old.st_atime_ns, old.st_mtime_ns),
    }


def _session(folder: Path, watch: bool) -> tuple[dict[str, Any], list[str]]:
    downloads, profile = folder / "downloads", folder / "profile"
    downloads.mkdir(parents=True)
    (downloads / "old.txt").write_text("old")
    os.utime(downloads / "old.txt", LONG_AGO)
    chromium_preferences(profile, downloads)
    earned: list[str] = []
    with Desktop() as desktop, _site() as site, Stack(folder) as stack:
        with Chromium(
            headless=False, profile=profile, display=desktop.environ["DISPLAY"], url=site.url
        ) as browser:
            if watch:
                episode = stack.open({**TASK, "origin": site.url.rstrip("/")})
                stack.watch(("--cdp", browser.endpoint), [downloads])
                episode.step({"type": "the whole order"})
            _work(desktop, site, downloads)
            if watch:
                episode.end_step()
                reward = episode.reward(0, wait_s=SEAL_S)
                assert reward.reward == pytest.approx(1.0), reward
                earned = [m.id for m in reward.milestones]
        return _left(site, downloads), earned


@pytest.mark.slow
def test_a_person_at_the_keyboard_notices_nothing_and_everything_is_seen(tmp_path: Path) -> None:
    alone, _ = _session(tmp_path / "alone", watch=False)
    watched, earned = _session(tmp_path / "watched", watch=True)
    assert watched == alone
    assert sorted(earned) == ["done", "name", "report", "yes"]
    assert alone["access"][-2:] == [("GET", "/report.csv"), ("POST", "/left")]
    assert alone["times"] == tuple(at * 10**9 for at in LONG_AGO)
    assert alone["page"]["focus"] == "get"
