"""OpenRLHF with `--reward.remote_url URL`: 512 samples at once, the same one ten times, one that
nobody can score."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from tests.trainers.harness.rlhf import agent_module, rollout
from tests.trainers.harness.say import ADDRESS, say

QUIZ = '{"task_id": "quiz/answer"}'


async def main(lost: str) -> dict[str, Any]:
    executor = agent_module().SingleTurnAgentExecutor
    one = executor(f"{ADDRESS}/get_reward")
    many = await asyncio.gather(
        *(rollout(one, QUIZ, "42<|im_end|>" if n % 3 else "41") for n in range(512))
    )
    again = [await rollout(one, QUIZ, "42") for _ in range(10)]
    paid = executor(f"{ADDRESS}/adapters/openrlhf/score?fallback=-0.25&wait_ms=0")
    return {
        "many": many,
        "again": again,
        "lost": await rollout(executor(f"{ADDRESS}/get_reward?wait_ms=0"), lost, "x"),
        "paid": await rollout(paid, lost, "x"),
    }


if __name__ == "__main__":
    say(result=asyncio.run(main(sys.argv[1])))
