"""The daemon as a process: an episode from the plan to the last acknowledgement, and what it refuses."""

from __future__ import annotations

from pathlib import Path

from tests.agentd.support.peer import Peer
from tests.agentd.support.process import DaemonProcess


async def test_an_episode_from_opening_to_close(tmp_path: Path) -> None:
    """Steps over the loopback port reach the service in order, and the closed daemon exits 0."""
    async with Peer() as peer, DaemonProcess(peer.url, tmp_path) as daemon:
        assert await daemon.post("/v1/steps", {"action": "click"}) == {"step": 0, "seq": 2}
        assert (await daemon.post("/v1/steps/0:end?wait=seal"))["sealed"] == 4
        await daemon.post("/v1/answers", {"text": "42"})
        await daemon.post("/v1/close", {"reason": "done"})
        code, said = await daemon.ended()
        assert code == 0, said
        assert peer.kinds == [
            "episode.opened", "step.began", "step.ended", "step.sealed", "agent.answered", "episode.closed",
        ]  # fmt: skip
        assert [event.seq for event in peer.events] == [1, 2, 3, 4, 5, 6]
        times = [event.at for event in peer.events]
        assert times == sorted(times)
        assert peer.data("step.began") == [{"step": 0, "action": "click"}]
        assert peer.data("step.sealed") == [{"step": 0, "why": "quiet"}]
        assert peer.data("episode.closed") == [{"reason": "done"}]
