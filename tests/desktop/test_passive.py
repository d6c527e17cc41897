"""Law 1 on the desktop: a scripted session ends in the same state with the daemon and without
it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import zstandard

from detectors.model.codec import decode_segment, split_segments
from tests.support.desktop import Desktop, missing, needs

ROOT = Path(__file__).parents[2]


def session(desktop: Desktop) -> dict[str, Any]:
    """An edit, a save, a menu left alone, another edit, a question dismissed; what the desktop is
    then."""
    note = desktop.folder / "note.txt"
    note.write_text("hello\n")
    desktop.start("mousepad", "--disable-server", note)
    desktop.window("note.txt")
    desktop.keys("ctrl+Home")
    desktop.type("one ")
    desktop.keys("ctrl+s")
    desktop.await_file(note, "one hello\n")
    desktop.await_title(lambda title: title.startswith("/"))
    desktop.keys("alt+f", "Down", "Escape", "Escape")
    desktop.type("two ")
    desktop.await_title(lambda title: title.startswith("*"))
    desktop.keys("ctrl+q")
    desktop.await_title(lambda title: title == "Save Changes")
    desktop.keys("Escape")
    desktop.await_title(lambda title: title.startswith("*"))
    status = [
        desktop.call_bus("org.freedesktop.DBus.Properties.Get", "org.a11y.Status", name)
        for name in ("IsEnabled", "ScreenReaderEnabled")
    ]
    return {
        "file": note.read_text(),
        "mode": note.stat().st_mode,
        "files": sorted(path.name for path in desktop.folder.glob("*.txt*")),
        "title": desktop.active_title().replace(str(desktop.folder), ""),
        "windows": sorted(title.replace(str(desktop.folder), "") for title in desktop.titles()),
        "pointer": desktop.do("getmouselocation", "--shell").splitlines()[:2],
        "accessibility": status,
    }


@pytest.mark.slow
@needs("mousepad")
def test_with_and_without_the_daemon(tmp_path: Path) -> None:
    """The real daemon over its command line; it saw the session, and left it alone."""
    if lacking := missing("mousepad"):
        pytest.skip(f"missing: {', '.join(lacking)}")
    with Desktop() as desktop:
        alone = session(desktop)
    out = tmp_path / "desktop.mrec"
    with Desktop() as desktop:
        environ = os.environ | {
            name: desktop.environ[name] for name in ("DISPLAY", "DBUS_SESSION_BUS_ADDRESS")
        }
        with subprocess.Popen(
            [sys.executable, "-m", "agentd", "record", "--out", str(out), "--desktop"],
            cwd=ROOT, env=environ, stderr=subprocess.PIPE, text=True,
        ) as daemon:  # fmt: skip
            assert daemon.stderr is not None
            said = [next(line for line in daemon.stderr if "ctrl-C ends it" in line)]
            watched = session(desktop)
            daemon.send_signal(signal.SIGINT)
            said += daemon.stderr.readlines()
        assert daemon.returncode == 0, said
    assert watched == alone
    text = (
        zstandard.ZstdDecompressor().stream_reader(out.read_bytes(), read_across_frames=True).read()
    )
    events = [
        event
        for part in split_segments(text)
        for event in decode_segment(part).events
        if event.source == "ax"
    ]
    texts = [event.data["text"] for event in events if event.kind == "widget.text_changed"]
    assert texts[-1] == "one two hello\n"
    assert [event.data["title"] for event in events if event.kind == "window.opened"][1:] == [
        "Question"
    ]
