"""Immunity 4, the evaluator changes the world: one scripted session with the daemon and one
without, compared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.demo.parts import start_agent, start_shop
from lab.demo.processes import DemoProcesses
from tests.support.chromium import LEAN, needs_chromium
from tests.support.stack import Stack

pytestmark = [pytest.mark.browser, needs_chromium]

TASK = Path(__file__).parents[2] / "examples" / "shop" / "task.yaml"
LAST_STEP = 17


def _left_behind(folder: Path) -> dict[str, Any]:
    """The agent's report and the shop's access log; the page's own polling by the clock is left
    out."""
    report: dict[str, Any] = json.loads((folder / "sandbox" / "report.json").read_text())
    lines = [
        json.loads(line) for line in (folder / "shop" / "access.jsonl").read_text().splitlines()
    ]
    # A frame of another host loads beside the page's own: which of the two is first is the
    # browser's affair.
    report["access"] = [
        line for line in lines if line["path"] not in ("/api/ping", "/pickup", "/delivery")
    ]
    report["frames"] = sorted(
        line["path"] for line in lines if line["path"] in ("/pickup", "/delivery")
    )
    return report


def _unwatched(folder: Path) -> dict[str, Any]:
    with DemoProcesses(folder / "logs") as parts:
        shop = start_shop(parts, folder / "shop", 2)
        agent = start_agent(parts, folder / "sandbox", shop, LEAN)
        agent.say("go")
        agent.say("end")
        assert agent.wait_end(60) == 0, agent.log.read_text()
    return _left_behind(folder)


def _watched(folder: Path) -> dict[str, Any]:
    with Stack(folder) as stack, DemoProcesses(folder / "logs") as parts:
        shop = stack.start_shop(2)
        task = TASK.read_text().replace("http://127.0.0.1:8000", shop.rstrip("/"))
        episode = stack.open(task.replace("settle_ms: 1000", "settle_ms: 10000"))
        more = ("--control", str(stack.state), "--episode", episode.id)
        agent = start_agent(parts, folder / "sandbox", shop, LEAN, more=more)
        stack.watch(
            ("--profile", str(folder / "sandbox" / "profile")), [folder / "sandbox" / "downloads"]
        )
        agent.say("go")
        # A browser that goes while its last step is still settling leaves that step unobserved, as
        # it should.
        assert episode.reward(LAST_STEP, wait_s=60).reward is not None
        agent.say("end")
        assert agent.wait_end(60) == 0, agent.log.read_text()
        closing = episode.close()
        assert closing.total is not None, [
            (one.step, one.reason) for one in closing.rewards if one.mask
        ]
        assert closing.total > 0.5, "the daemon saw the session"
    return _left_behind(folder)


@pytest.mark.slow
def test_the_session_ends_in_the_same_state_with_the_daemon_and_without(tmp_path: Path) -> None:
    alone, watched = _unwatched(tmp_path / "alone"), _watched(tmp_path / "watched")
    assert watched == alone
    assert len(alone["access"]) > 10
    assert list(alone["downloads"]) == ["invoice-1001.csv", "invoice-1001.pdf"]
    assert [one["accepted"] for one in alone["dialogs"]] == [False]
