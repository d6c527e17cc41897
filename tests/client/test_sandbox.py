"""`sandbox()` returns once a step can begin, over as many polls as its wait takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.peer import Peer

PATH = "/v1/episodes/e1/sandbox"
LEASE = {"episode": "e1", "state": "held", "why": None, "sandbox": {"name": "one"}}
QUEUED = {**LEASE, "state": "queued", "sandbox": None, "ready": False, "waiting": {"sandbox": "q"}}
STARTING = {**LEASE, "ready": False, "waiting": {"cdp": "starting"}}
READY = {**LEASE, "ready": True, "waiting": {}}


@pytest.mark.parametrize(
    ("answers", "options", "asked"),
    [
        ([QUEUED, STARTING, READY], {"wait_s": 20.0}, 3),
        ([STARTING], {}, 1),
        ([LEASE], {"wait_s": 20.0}, 1),
        ([STARTING], {"wait_s": 20.0, "until": "held"}, 1),
        ([{**STARTING, "state": "lost", "why": "its owner"}], {"wait_s": 20.0}, 1),
    ],
    ids=["in time", "not asked to wait", "an older service", "held is enough", "lost"],
)
def test_when_it_returns(
    peer: Peer, connect: Any, answers: list[Any], options: dict[str, Any], asked: int
) -> None:
    for answer in answers:
        peer.answer(PATH, answer)
    lease = connect(peer.url).episode("e1").sandbox(**options)
    assert (lease.state, lease.ready) == (answers[-1]["state"], answers[-1].get("ready"))
    assert lease.waiting == answers[-1].get("waiting")
    assert [one.query["until"] for one in peer.asked] == [options.get("until", "ready")] * asked
