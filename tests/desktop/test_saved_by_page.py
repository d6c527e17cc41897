"""A page saves by the File System Access API: in a Chromium with a window, its dialog answered by the
keyboard. It is one event of the file's own name, for which a rule pays."""

from __future__ import annotations

import asyncio
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from api.attack.scores import score_log
from tests.cdp.site import Site
from tests.files.watching import Watch
from tests.support.chromium import Chromium, needs_chromium
from tests.support.desktop import Desktop, needs
from tests.support.logs import clicked, episode, log, ruleset

pytestmark = [pytest.mark.browser, needs_chromium, needs()]

PAGE = """<!doctype html><title>Notes</title><button autofocus>Save</button><script>
let handle, times = 0;
document.querySelector("button").onclick = async () => {
  try {
    handle ??= await showSaveFilePicker({suggestedName: "notes.txt"});
    const stream = await handle.createWritable();
    await stream.write(TEXT.repeat(++times));
    await stream.close();
    document.title = document.title === "Saved" ? "Saved again" : "Saved";
  } catch (error) { document.title = error.name; }
};
document.querySelector("button").addEventListener("focus", () => { document.title = "Ready"; }, {once: true});
</script>"""
DIALOG = "Warning: this site can see edits you make"
"""What Chromium calls the dialog in which a page's file is chosen."""
WANTED = "Minutes of Monday\n"


def page(site: Site, text: str) -> str:
    """The address of a page whose button saves a text, each time to the same file."""
    quoted = text.replace("\n", "\\n")
    return site.page("/notes", PAGE.replace("TEXT", f'"{quoted}"'))


def answer_dialog(desktop: Desktop, path: Path) -> None:
    """Press the page's button and write the file's path into the dialog that comes."""
    desktop.keys("Return")
    desktop.window(DIALOG)
    desktop.keys("ctrl+a")
    desktop.type(str(path))
    # Return only takes what its list of names offers.
    desktop.keys("alt+s")


async def titled(desktop: Desktop, title: str) -> None:
    """Wait until the page's title is this one."""
    await asyncio.to_thread(desktop.window, f"^{title} - ")


def contents(watch: Watch) -> list[tuple[str, str]]:
    """What was told of files, but for their permissions: Chromium may change them last."""
    return [one for one in watch.changes if one[0] != "file.mode_changed"]


def paid(watch: Watch) -> dict[str, bool]:
    """Which rules are met by what the source told of one step."""
    digest = hashlib.sha256(WANTED.encode()).hexdigest()
    when = {
        "matches": {"file_matches": {"name": "notes.txt", "sha256": digest}},
        "created": {"file_created": {"name": "notes.txt"}},
        "download": {"download_finished": {"name": "notes.txt", "anywhere": True}},
    }
    milestones: list[dict[str, Any]] = [
        {"id": id, "component": "file", "when": one} for id, one in when.items()
    ]
    step = [clicked("Save"), *((kind, dict(data)) for kind, data in watch.said)]
    met = score_log(ruleset(*milestones), log(*episode(step))).ids
    return {id: id in met for id in when}


@pytest.mark.parametrize("text", [WANTED, "Minutes of Tuesday\n"], ids=["right", "wrong"])
async def test_what_a_page_saves_is_one_event_and_a_rule_pays_for_its_content(
    desktop: Desktop, tmp_path: Path, text: str
) -> None:
    with Site() as site:
        url = page(site, text)
        async with Watch(tmp_path) as watch:
            with Chromium(headless=False, environ=desktop.environ, url=url):
                await titled(desktop, "Ready")
                await asyncio.to_thread(answer_dialog, desktop, tmp_path / "notes.txt")
                await titled(desktop, "Saved")
                await watch.until(lambda: watch.changes)
                await watch.fenced()
                assert contents(watch) == [("file.created", "notes.txt")]
                is_right = text == WANTED
                assert paid(watch) == {"matches": is_right, "created": True, "download": False}
                await asyncio.to_thread(desktop.keys, "Return")
                await titled(desktop, "Saved again")
                await watch.until(lambda: ("file.modified", "notes.txt") in watch.changes)
                await watch.fenced()
            assert contents(watch) == [
                ("file.created", "notes.txt"),
                ("file.modified", "notes.txt"),
            ]
    assert (tmp_path / "notes.txt").read_text() == text * 2


async def test_a_dialog_that_is_dismissed_saves_nothing(desktop: Desktop, tmp_path: Path) -> None:
    with Site() as site:
        url = page(site, WANTED)
        async with Watch(tmp_path) as watch:
            with Chromium(headless=False, environ=desktop.environ, url=url):
                await titled(desktop, "Ready")
                await asyncio.to_thread(dismiss_dialog, desktop)
                await titled(desktop, "AbortError")
                assert await watch.fenced() == []
    assert os.listdir(tmp_path) == []


def dismiss_dialog(desktop: Desktop) -> None:
    """Press the page's button and Escape in the dialog that comes."""
    desktop.keys("Return")
    desktop.window(DIALOG)
    desktop.keys("Escape")
