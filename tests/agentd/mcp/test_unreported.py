"""What the gateway could not report of tool calls leaves the step unknown under a task that depends on
it, and is nothing under another."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from detectors.engine.engine import Engine
from detectors.model.kinds import catalogue_fields
from tests.agentd.mcp.support import Beside
from tests.agentd.mcp.test_brackets import back, call
from tests.support.logs import ruleset

CAME_BACK = {"tool_returned": {"tool": "go", "ok": True}}
# Paid more often than it is called here: what is earned for good depends on no call any more.
TOOLS = ruleset({"id": "went", "when": CAME_BACK, "repeat": 9}, weights={"tool": 1})
PAGES = ruleset({"id": "page", "when": {"url_reached": {"url": "/cart"}}})


async def one_step(beside: Beside, request: str = "1") -> None:
    await beside.brackets.begin("s", [call(request)])
    beside.brackets.finish("s", back(request))
    await beside.brackets.settle()


async def reported(beside: Beside) -> None:
    await one_step(beside)
    await one_step(beside, "2")


async def without_a_daemon(beside: Beside) -> None:
    """A call passes while none listens; it belongs to what came before the next step."""
    await one_step(beside)
    await beside.stop()
    await one_step(beside, "2")
    await beside.start()
    await one_step(beside, "3")


async def too_long_an_answer(beside: Beside) -> None:
    await one_step(beside)
    await beside.brackets.begin("s", [call("2")])
    beside.brackets.lose_sight("s")


async def an_id_in_use(beside: Beside) -> None:
    await one_step(beside)
    await beside.brackets.begin("s", [call("2")])
    await beside.brackets.begin("s", [call("2")])
    beside.brackets.finish("s", back("2"))


CASES: dict[Callable[[Beside], Awaitable[None]], bool] = {
    reported: True,
    without_a_daemon: False,
    too_long_an_answer: False,
    an_id_in_use: False,
}
"""What happens in the second step, and whether it is known."""


@pytest.mark.parametrize("story", CASES, ids=lambda story: story.__name__)
async def test_what_was_not_reported_is_null(
    tmp_path: Path, story: Callable[[Beside], Awaitable[None]]
) -> None:
    async with Beside(tmp_path) as beside:
        opened = {"task": "t", "digest": "d", **catalogue_fields()}
        beside.stage.recorder.append("journal", "episode.opened", opened)
        await story(beside)
        await beside.brackets.settle()
        await beside.stage.conductor.close("done")
        beside.stage.journal.flush()
        events = list(beside.stage.journal.events(0))
    for rules, is_known in ((TOOLS, CASES[story]), (PAGES, True)):
        first, second = Engine(rules, "E").feed(events).rewards[:2]
        assert first.reward is not None
        assert (second.reward is not None) == is_known, second
        assert second.mask != is_known
