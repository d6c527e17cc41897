"""`milestoned demo` from the outside: it shows its steps, proves its bytes, and says what it
lacks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.api.processes import Process
from tests.support.chromium import needs_chromium

ROOT = Path(__file__).parents[2]


def _milestoned(
    *args: str, cwd: Path, timeout_s: float = 120, **env: str
) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT), str(ROOT / "client")])
    return subprocess.run(
        [sys.executable, "-m", "api.cli.main", *args],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": paths, **env},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


@pytest.mark.browser
@needs_chromium
def test_the_demo_shows_every_step_and_its_replay_gives_the_same_bytes(tmp_path: Path) -> None:
    done = _milestoned("demo", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = _rows(done.stdout)
    assert [int(number) for number, _ in rows][:18] == list(range(18))
    shown = (ROOT / "docs" / "tutorial.md").read_text().partition("\n## 2.")[0]
    # What comes after the last step's seal is a closing step of its own, on a busy machine.
    assert rows[:18] == _rows(shown), "the tutorial shows other steps"
    assert "the same bytes" in done.stdout
    assert "goal reached" in done.stdout
    assert "\x1b[" not in done.stdout, "no colours where nobody looks"
    again = re.search(r"again: \S*milestoned (.*)", done.stdout)
    assert again is not None
    replayed = _milestoned(*again[1].split(), cwd=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    assert "goal reached" in replayed.stdout
    assert {one.name for one in (tmp_path / "out").iterdir()} == {"demo.mrec", "service"}
    _score_by_another_task(tmp_path)
    _look_at_its_page(done.stdout, tmp_path)


def _score_by_another_task(folder: Path) -> None:
    """A task that needs texts, of which the demo's daemon reported none: unknown, not 0."""
    task = {
        "id": "test/texts",
        "version": "1",
        "instruction": "Read the page.",
        "milestones": [{"id": "read", "when": {"text_visible": {"text": "x", "anywhere": True}}}],
    }
    (folder / "texts.json").write_text(json.dumps(task))
    lines = _milestoned(
        "replay", "out/demo.mrec", "--task", "texts.json", "--json", cwd=folder
    ).stdout.splitlines()
    rewards = [json.loads(line) for line in lines]
    assert len(rewards) >= 18
    for reward in rewards:
        assert (reward["status"], reward["reward"], reward["mask"]) == ("unobserved", None, True)
        assert "cdp:text.appeared saw nothing from event 1" in reward["reason"]


def _rows(text: str) -> list[tuple[str, str]]:
    """Find number and action of the steps that the demo's table shows."""
    return re.findall(r"^ +(\d+)  (\S.*?) {2,}", text, re.MULTILINE)


def _look_at_its_page(said: str, folder: Path) -> None:
    """The address that the demo ends with is its episode's, once the command below it runs."""
    found = re.search(
        r"^its page: (\S+)\n  served by: \S*milestoned serve --data (\S+) --port (\d+)",
        said,
        re.MULTILINE,
    )
    assert found is not None
    service = Process(folder / found[2])
    service.port = int(found[3])
    service.start()
    try:
        page = httpx.get(
            found[1], headers={"cookie": f"milestoned={service.admin}", "accept": "text/html"}
        )
        assert page.status_code == 200
        assert "Buy the desk lamp" in page.text
        again = _milestoned("demo", "--out", "out", cwd=folder)
        assert again.returncode == 2
        assert "a service serves the last demo's data" in again.stderr
    finally:
        service.stop_if_running()


def test_without_chromium_the_demo_says_what_to_do(tmp_path: Path) -> None:
    done = _milestoned("demo", cwd=tmp_path, PATH=str(tmp_path))
    assert done.returncode == 2
    assert "apt-get install chromium" in done.stderr
    assert list(tmp_path.iterdir()) == [], "nothing was started or written"


def test_where_playwright_s_node_does_not_run_the_demo_says_which_library_lacks(
    tmp_path: Path,
) -> None:
    lacks = "error while loading shared libraries: libatomic.so.1: cannot open shared object file"
    node, chromium = tmp_path / "node", tmp_path / "chromium"
    node.write_text(f"#!/bin/sh\necho 'node: {lacks}' >&2\nexit 127\n")
    chromium.touch()
    for one in (node, chromium):
        one.chmod(0o755)
    done = _milestoned(
        "demo", cwd=tmp_path, MILESTONED_CHROMIUM=str(chromium), PLAYWRIGHT_NODEJS_PATH=str(node)
    )
    assert done.returncode == 2
    assert lacks in done.stderr
    assert "apt-get install libatomic1" in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(tmp_path.iterdir()) == [chromium, node], "nothing was started or written"
