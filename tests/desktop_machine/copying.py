"""A scene on a real desktop, recorded by the real daemon: a text is copied in one program and
pasted in another.

Run by hand after a change that is meant to change the output: ``python -m
tests.desktop_machine.copying``, which writes golden/copying.seen.jsonl. Look at the difference
before committing it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import httpx
import orjson
import zstandard

from detectors.model.codec import decode_segment, split_segments
from detectors.model.types import Event
from tests.desktop_machine.conftest import ROOT, Shell
from tests.support.desktop import Desktop

GOLDEN = Path(__file__).with_name("golden") / "copying.seen.jsonl"
TEXT = "Quest Lumaflex 42"
SOURCES = ("steps", "processes", "clipboard", "screen")
PATIENCE_S = 60.0


class Recording:
    """`agentd record`, as a process; steps over its port."""

    def __init__(self, out: Path, environ: dict[str, str], *options: str) -> None:
        self.out = out
        command = [
            sys.executable,
            "-m",
            "agentd",
            "record",
            "--out",
            str(out),
            "--steps",
            "port",
            *options,
        ]
        self._log = out.with_suffix(".log")
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(command, cwd=ROOT, env=environ, stderr=log, stdout=log)
        self._http = httpx.Client(trust_env=False, timeout=PATIENCE_S)
        self._await_ready()

    def _await_ready(self) -> None:
        state = self.out.with_name(self.out.name + ".state")
        until = time.monotonic() + PATIENCE_S
        while True:
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < until, self._log.read_text()
            with contextlib.suppress(OSError, ValueError, httpx.TransportError):
                port = json.loads((state / "agentd.json").read_text())["port"]
                self._http.base_url = httpx.URL(f"http://127.0.0.1:{port}")
                self._http.headers["authorization"] = (
                    f"Bearer {(state / 'control.token').read_text().strip()}"
                )
                if set(self._http.get("/healthz").json()["sources"].values()) == {"ready"}:
                    return
            time.sleep(0.02)

    def begin(self) -> None:
        """The next step."""
        self._http.post("/v1/steps", json={}).raise_for_status()

    def end(self, step: int) -> None:
        """Returns once the step is sealed."""
        self._http.post(f"/v1/steps/{step}:end?wait=seal", json={}).raise_for_status()

    def finish(self) -> list[Event]:
        """End it as ctrl-C does, and read what it wrote."""
        self._http.close()
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(PATIENCE_S) == 0, self._log.read_text()
        reader = zstandard.ZstdDecompressor().stream_reader(
            self.out.read_bytes(), read_across_frames=True
        )
        return [
            event for part in split_segments(reader.read()) for event in decode_segment(part).events
        ]

    def kill(self) -> None:
        """Whatever happened."""
        self._process.kill()
        self._process.wait()


def scene(folder: Path) -> list[Event]:
    """Step 0: a script with a secret in its command line. 1: copied in mousepad. 2: pasted in
    featherpad, saved. 3: featherpad is closed."""
    (folder / "from.txt").write_text(TEXT)
    (folder / "to.txt").touch()
    with Desktop() as desk, contextlib.closing(Shell(folder, desk.environ)) as shell:
        watched = (
            "--processes",
            str(shell.pid),
            "--clipboard",
            "clipboard,primary",
            "--screen",
            "x11",
        )
        recording = Recording(folder / "copying.mrec", os.environ | desk.environ, *watched)
        try:
            recording.begin()
            shell.finish(
                "sh -c 'sleep 0.3; :' upload --token geheim1 https://ada:geheim2@files.test/up"
            )
            recording.end(0)
            recording.begin()
            shell.run("mousepad from.txt 2>/dev/null & editor=$!")
            desk.window("from.txt")
            desk.keys("ctrl+a", "ctrl+c")
            recording.end(1)
            recording.begin()
            shell.run("featherpad to.txt 2>/dev/null & other=$!")
            desk.window("to.txt")
            desk.keys("ctrl+v", "ctrl+s")
            until = time.monotonic() + PATIENCE_S
            while (folder / "to.txt").read_text().strip() != TEXT:
                assert time.monotonic() < until, "nothing was pasted"
                time.sleep(0.02)
            recording.end(2)
            recording.begin()
            shell.finish("kill $other; wait $other")
            recording.end(3)
            return recording.finish()
        except BaseException:
            recording.kill()
            raise


def story(said: Iterable[tuple[str, Mapping[str, Any]]]) -> list[tuple[Any, ...]]:
    """What is the same each time that the scene is played."""
    told: list[tuple[Any, ...]] = []
    for kind, data in said:
        if kind in ("process.started", "process.ended") and data.get("name") not in ("mv", None):
            told.append((kind, data["name"], data.get("arguments"), data.get("baseline", False)))
        elif kind == "clipboard.changed" and data["selection"] == "clipboard":
            told.append((kind, data["app"], data["text"], data["sha256"]))
        elif kind == "screen.captured":
            told.append((kind, data.get("step"), data["width"], data["height"]))
    return told


def main() -> None:
    """Record anew."""
    with tempfile.TemporaryDirectory() as name:
        events = scene(Path(name))
    GOLDEN.parent.mkdir(exist_ok=True)
    rows = [orjson.dumps([event.kind, event.data]) for event in events if event.source in SOURCES]
    GOLDEN.write_bytes(b"".join(row + b"\n" for row in rows))
    print(GOLDEN, len(rows))


if __name__ == "__main__":
    main()
