"""The Open Reward Standard with others' code: their clients against our server, and each operation
of our server beside the same of theirs, in one run."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from tests.api.processes import ROOT, Process
from tests.api.test_score import DEAD
from tests.support.logs import clicked, went
from tests.trainers.support import run_ors, serve_fleet

PACKAGES = [
    pytest.param("ors", "trainers"),
    pytest.param("openreward", "trl", marks=pytest.mark.slow),
]
MILESTONED = ROOT / ".venv" / "bin" / "milestoned"
SHOP = {"task": "shop/cart", "version": "1"}


@pytest.mark.parametrize(("package", "venv"), PACKAGES)
async def test_their_clients_get_rewards(process: Process, package: str, venv: str) -> None:
    found = await run_ors("ors_clients", process, package, venv)
    assert found["listed"] == {
        "splits": ["train"],
        "tasks": [SHOP],
        "num_tasks": 1,
        "task": SHOP,
        "range": [SHOP],
        "tools": ["step", "end_step"],
        "openai": ["step", "end_step"],
    }
    rollout = found["rollout"]
    begun, ended, again, answered = rollout["outputs"]
    assert (rollout["prompt"], rollout["tools"]) == (
        ["Put it into the cart."],
        ["step", "end_step"],
    )
    assert [begun["reward"], again["reward"]] == [None, None], "they completed no step"
    assert ended["reward"] > 0
    assert ended["metadata"]["rewards"][0]["milestones"][0]["evidence"]
    assert (answered["reward"] > 0, answered["finished"]) == (True, True)
    unknown, wrong, over = rollout["refused"]
    assert "'fly' is not a valid tool" in unknown
    assert "act: expected" in wrong
    assert "the episode has finished" in over
    assert found["unknown"]["reward"] is None, "never a silent 0"
    assert found["unknown"]["metadata"]["mask"] is True
    assert found["many"] == [1.0 if number % 3 else 0.0 for number in range(48)]
    assert "404" in found["nowhere"]
    right, wrong = found["group"]
    assert (right["reward"], wrong["reward"]) == (1.0, 0.0)
    assert (right["metadata"]["total"], right["metadata"]["candidate"]) == (1.0, {"at": 0})
    assert [score["reward"] for score in found["episodes"]] == [0.5, None]
    assert found["episodes"][1]["metadata"]["mask"] is True
    assert "there is no episode ep_nobody" in found["ungrouped"]
    if package == "openreward":
        assert (found["terminal"]["reward"], found["groups"]) == (1.0, True)
        assert found["messages"] == [{"role": "user", "content": "What is six times seven?"}]


def without(shape: Any, *names: str) -> Any:
    """The shape without members, wherever they stand."""
    if isinstance(shape, dict):
        return {name: without(one, *names) for name, one in shape.items() if name not in names}
    return [without(one, *names) for one in shape] if isinstance(shape, list) else shape


GROUPS = ("group", "group of none", "no group", "group of no messages", "group with more")
NOT_IN_ORS = ("env_name", "reason", "terminal_tool", "supports_score_group", "message_block_types")
"""Members of the standard that its SDK does not know: there ours are more."""


STANDARD = frozenset(
    (
        *("GET /health", "GET /version", "GET /list_environments", "GET /{env}/tools"),
        *("GET /{env}/splits", "POST /{env}/tasks", "POST /{env}/num_tasks", "POST /{env}/task"),
        *("POST /{env}/task_range", "POST /create_session", "POST /create", "GET /{env}/prompt"),
        *("GET /{env}/messages", "GET /{env}/task_tools", "POST /{env}/call"),
        *("POST /{env}/score_group", "POST /ping", "POST /delete", "POST /delete_session"),
    )
)
"""Every operation of the standard."""


def test_each_operation_of_the_standard_is_asked() -> None:
    text = (ROOT / "tests/trainers/harness/ors_conformance.py").read_text()
    asked = re.findall(r'"(GET|POST)", f?"(/[^"]*)"', text)
    names = {"tasks", "num_tasks", "task", "task_range"} if "/shop/{name}" in text else set()
    found = {f"{method} {path.replace('/shop/', '/{env}/')}" for method, path in asked}
    found |= {f"POST /{{env}}/{name}" for name in names}
    assert found >= STANDARD


@pytest.mark.parametrize(("package", "venv"), PACKAGES)
async def test_each_operation_answers_as_their_own_server(
    process: Process, package: str, venv: str
) -> None:
    found = await run_ors("ors_conformance", process, package, venv)
    assert len(found) > 50
    more = NOT_IN_ORS if package == "ors" else ()
    differ = {
        name: [ours, theirs]
        for name, ours, theirs in found
        if without(ours, *more) != without(theirs, *more)
    }
    # A path below no environment leads theirs to the first one's, which has no such path.
    for name in ("tools of nowhere", "no such path"):
        ours, theirs = differ.pop(name)
        assert (ours["status"], theirs["status"]) == (404, 404)
        assert (ours["hops"], theirs["hops"]) == ([], [308])
    if package == "ors":
        # Its SDK has no version.
        ours, theirs = differ.pop("version")
        assert (ours["status"], theirs["status"]) == (200, 404)
        # Its SDK has no terminal tool: what the model is not shown stands in its list.
        for name in ("tools", "tools of the first", "tools of another case", "session's tools"):
            ours, theirs = differ.pop(name)
            assert ours["status"] == theirs["status"]
            assert len(theirs["shape"]["tools"]) == len(ours["shape"]["tools"]) + 1
        ours, theirs = differ.pop("messages")
        assert (ours["status"], theirs["status"]) == (200, 404)
        # Nor does it know of groups.
        for name in (*GROUPS, "group, no id"):
            ours, theirs = differ.pop(name)
            assert (ours["status"] in (200, 400, 422), theirs["status"]) == (True, 404), name
        # Its sessions do not know that an episode is over.
        ours, theirs = differ.pop("step after the end")
        assert (ours["shape"]["ok"], theirs["shape"]["ok"]) == (False, True)
    assert differ == {}


@pytest.mark.slow
async def test_a_proxy_pays_where_the_upstream_does_not_and_dies_without_losing_an_answer(
    process: Process,
) -> None:
    """ors-sdk's client and server with the proxy between them. It is killed while the second call
    runs; the client comes back to its successor by itself, and gets the upstream's answer."""
    effects = {0: [went("/cart")], 1: [clicked("Buy")], 2: [DEAD]}
    found = await run_ors("ors_proxied", process, "", effects=effects, MILESTONED=str(MILESTONED))
    assert (found["tasks"], found["prompt"]) == ([SHOP], ["Put it into the cart."])
    assert found["tools"] == ["answer", "end_step", "step"], "as the upstream has them"
    begun, ended, answered = found["outputs"]
    ours = [output["metadata"]["milestoned"] for output in (begun, ended, answered)]
    assert begun["text"] == ["Step 0 began."]
    assert begun["reward"] == ours[0]["reward"] == pytest.approx(0.1)
    assert ours[0]["rewards"][0]["milestones"][0]["evidence"]
    assert (ended["text"], ended["reward"]) == (["Step 0 ended."], 0.5), "the upstream's stays"
    assert (ours[1]["upstream_reward"], ours[1]["step"]) == (0.5, 1)
    assert ours[1]["reward"] > 0
    assert "'fly' is not a valid tool" in found["refused"]
    assert (answered["reward"], answered["finished"]) == (0.5, True)
    assert (ours[2]["reward"], ours[2]["mask"], ours[2]["step"]) == (None, True, 3)
    assert "browser gone" in ours[2]["reason"]


@pytest.mark.slow
async def test_trls_own_openreward_support_trains_on_our_server(process: Process) -> None:
    """Its `OpenRewardSpec` with episodes that sandboxes of the fleet take, and `GRPOTrainer`."""
    effects = {0: [went("/cart")], 1: [clicked("Buy")], 3: [DEAD]}
    fleet = [asyncio.create_task(serve_fleet(process, f"box {n}", effects)) for n in range(2)]
    try:
        found = await run_ors("trl_openreward", process, "", "trl")
    finally:
        for sandbox in fleet:
            sandbox.cancel()
        await asyncio.gather(*fleet, return_exceptions=True)
    assert found["rows"][0]["task"] == "shop/cart"
    shop, lost = found["shop"], found["lost"]
    assert "Put it into the cart." in shop["prompt"]
    assert shop["rewards"] == [None, pytest.approx(0.1), pytest.approx(0.4)]
    assert (shop["own"], shop["ours"]) == ([pytest.approx(0.4)], [pytest.approx(0.5)])
    assert (lost["rewards"][-1], lost["ours"]) == (None, [None]), "never a silent 0"
    assert lost["own"] == [0.0], "what docs/trainers/ors.md warns of"
    first = found["trained"][0]
    assert 0 < first["reward"] < 1, "some said 42"
    assert first["moved"]
