"""When probes are asked, what that costs a seal, and what stands in the log when one is not
answered."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from detectors.engine.engine import Engine
from detectors.model.types import Event
from tests.agentd.support.peer import Peer
from tests.agentd.support.process import DaemonProcess
from tests.probes.asking import asking
from tests.support.logs import ruleset

NOTE = {"id": "note", "kind": "file", "root": "home", "path": "note.txt"}
SLEEP = {
    "id": "slow",
    "kind": "command",
    "argv": [sys.executable, "-c", "import time; time.sleep(60)"],
}


async def test_each_moment_asks_what_is_meant_for_it(tmp_path: Path) -> None:
    """The start all, as the baseline; a step's end and the close those that say so; the close also
    for a step that it ends itself."""
    (tmp_path / "note.txt").write_text("old")
    probes = [{**NOTE, "id": f"at-{when}", "when": ["start", when]} for when in ("step", "close")]
    async with asking(*probes, given={"files": {"home": tmp_path}}) as asked:
        assert [(data["probe"], data["when"], data["value"], data["baseline"]) for _, data in asked.said] == [
            ("at-step", "start", "old", True), ("at-close", "start", "old", True),
        ]  # fmt: skip
        (tmp_path / "note.txt").write_text("new")
        ((kind, data),) = await asked.at(0)
        assert kind == "probe.answered"
        assert (data["probe"], data["when"], data["step"], data["value"]) == (
            "at-step",
            "step",
            0,
            "new",
        )
        assert "baseline" not in data
        assert [data["probe"] for _, data in await asked.at(0, closing=True)] == ["at-close"]
        assert [data["probe"] for _, data in await asked.at(1, closing=True)] == [
            "at-step",
            "at-close",
        ]


async def test_a_budget_that_is_spent_is_a_failure_and_a_gap_until_it_answers(
    tmp_path: Path,
) -> None:
    """The seal waits no longer than that, and the other probes are answered."""
    (tmp_path / "note.txt").write_text("x")
    slow = {**SLEEP, "budget_ms": 50, "when": ["start", "step"]}
    async with asking(
        slow, NOTE, given={"files": {"home": tmp_path}, "allow_commands": True}
    ) as asked:
        loop = asyncio.get_running_loop()
        began = loop.time()
        said = await asked.at(0)
        assert loop.time() - began < 30, "the sixty seconds were waited for"
        assert [(kind, data.get("probe") or data["part"]) for kind, data in said] == [
            ("probe.failed", "slow"), ("probe.answered", "note"),
        ]  # fmt: skip
        assert said[0][1]["reason"] == "no answer within 50 ms"
        gaps = [data for kind, data in asked.said if kind == "gap.began"]
        assert gaps == [{"source": "probe", "part": "slow", "reason": "no answer within 50 ms"}], (
            "told once, not twice"
        )


async def test_what_answers_again_is_no_gap_any_more(tmp_path: Path) -> None:
    """And the answer stands before the gap's end, so that nobody takes it for one that was
    watched."""
    async with asking({**NOTE, "as": "json"}, given={"files": {"home": tmp_path}}) as asked:
        (tmp_path / "note.txt").write_text("{half")
        assert [kind for kind, _ in await asked.at(0)] == ["gap.began", "probe.failed"]
        (tmp_path / "note.txt").write_text('{"whole": true}')
        assert [kind for kind, _ in await asked.at(1)] == ["probe.answered", "gap.ended"]


async def test_secrets_and_floods_stay_out_of_the_log(tmp_path: Path) -> None:
    """Masked by name and by shape; an answer too long to be kept whole is not kept at all."""
    probe = {**NOTE, "as": "json"}
    async with asking(probe, given={"files": {"home": tmp_path}}, mask=["pin"]) as asked:
        secrets = '"password": "hunter2", "pin": "1234", "card": "4111 1111 1111 1111"'
        (tmp_path / "note.txt").write_text(f'{{{secrets}, "n": 1}}')
        value = await asked.value()
        assert value["n"] == 1
        for secret in ("hunter2", "1234", "4111"):
            assert secret not in str(value)
        (tmp_path / "note.txt").write_text('"' + "x" * 70_000 + '"')
        ((_, data),) = await asked.at(1)
        assert (data["value"], data["cut"]) == (None, True)


PLAN: dict[str, Any] = {"hears": ["probe.answered"], "quiet_ms": 0}
TASK = {
    "id": "saved",
    "when": {"probe_answers": {"probe": "note", "value": "saved"}},
    "component": "goal",
}
RULES = ruleset(
    TASK,
    weights={"goal": 1},
    probes=[{"id": "note", "file": {"root": "home", "path": "note.txt"}, "budget_ms": 5000}],
)


def rewards(events: list[Event]) -> list[float | None]:
    """What the recorded episode is worth, step by step."""
    return [reward.reward for reward in Engine(RULES, "E").feed(events).rewards]


async def test_a_whole_daemon_asks_before_it_seals(tmp_path: Path) -> None:
    """The answer stands before the seal of the step that made it true, and that step is paid."""
    home = tmp_path / "home"
    home.mkdir()
    plan = RULES.plan("E")
    assert plan["probes"] == [
        {"id": "note", "kind": "file", "when": ["start", "step", "close"], "budget_ms": 5000, "root": "home",
         "path": "note.txt", "as": "text"},
    ]  # fmt: skip
    async with (
        Peer(**plan) as peer,
        DaemonProcess(peer.url, tmp_path, "--files", f"home={home}") as daemon,
    ):
        await daemon.all_ready()
        await daemon.post("/v1/steps")
        await daemon.post("/v1/steps/0:end?wait=seal")
        await daemon.post("/v1/steps")
        (home / "note.txt").write_text("saved")
        await daemon.post("/v1/steps/1:end?wait=seal")
        await daemon.post("/v1/close")
        await daemon.ended()
        told = [
            event
            for event in peer.events
            if event.kind in ("probe.answered", "step.sealed", "episode.closed")
        ]
        assert [(event.kind, event.data.get("when"), event.data.get("value")) for event in told] == [
            ("probe.answered", "start", None),
            ("probe.answered", "step", None), ("step.sealed", None, None),
            ("probe.answered", "step", "saved"), ("step.sealed", None, None),
            ("probe.answered", "close", "saved"), ("episode.closed", None, None),
        ]  # fmt: skip
        assert rewards(peer.events) == [0.0, 1.0, 0.0]


async def test_a_probe_that_fails_masks_what_leans_on_it(tmp_path: Path) -> None:
    """Its steps are unobserved, never 0: the daemon was given no such folder."""
    async with Peer(**RULES.plan("E")) as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        await daemon.all_ready()
        await daemon.post("/v1/steps")
        await daemon.post("/v1/steps/0:end?wait=seal")
        await daemon.post("/v1/close")
        await daemon.ended()
        assert peer.data("probe.failed")[0]["reason"] == "the daemon was given no --files home=DIR"
        assert rewards(peer.events)[0] is None
