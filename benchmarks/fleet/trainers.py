"""Trainers: one coroutine an episode, which opens it, takes its steps, asks for each reward and
checks the total.

Requests go to the replicas in turn, so most ask another replica than the sandbox ships to. `python
-m benchmarks.fleet.trainers TOKEN EPISODES STEP_S OUT URL...` works until TERM, then writes OUT.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import ssl
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from agentd.run.daemon import until_signal
from benchmarks.fleet.tape import Tape, load, task

WAIT_MS = 30_000


class Trainer:
    """What all episodes of one process share: where to ask, and what came of it."""

    def __init__(self, token: str, urls: list[str], step_s: float) -> None:
        context = ssl.create_default_context()
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        headers = {"authorization": f"Bearer {token}"}
        self._clients = [
            httpx.AsyncClient(
                base_url=url,
                headers=headers,
                trust_env=False,
                verify=context,
                limits=limits,
                timeout=60,
            )
            for url in urls
            for _ in range(16)
        ]
        self._turn: Iterator[httpx.AsyncClient] = itertools.cycle(self._clients)
        self._step_s = step_s
        self.sealed_at: list[tuple[float, float]] = []
        """(monotonic time, seconds from the step's end to its sealed reward)."""
        self.called_at: list[tuple[float, str]] = []
        """(monotonic time, method) of each request."""
        self.errors: Counter[str] = Counter()
        self.episodes = 0

    async def call(self, method: str, path: str, **more: Any) -> Any:
        """One request's JSON; an answer that is an error is counted and raised."""
        self.called_at.append((time.monotonic(), method))
        answer = await next(self._turn).request(method, path, **more)
        if answer.status_code >= 400:
            self.errors[
                f"{method} {answer.status_code} {answer.json().get('detail', '')[:80]}"
            ] += 1
            answer.raise_for_status()
        return answer.json()

    async def episodes_without_end(self, name: str, tape: Tape, start_s: float) -> None:
        """Run one episode after the other, for ever."""
        await asyncio.sleep(start_s)
        while True:
            try:
                await self._episode(name, tape)
            except (httpx.HTTPError, KeyError) as error:
                self.errors[f"an episode ended with {type(error).__name__}"] += 1
                await asyncio.sleep(1.0)

    async def _episode(self, name: str, tape: Tape) -> None:
        episode = (await self.call("POST", "/v1/episodes", json={"task": name, "sandbox": "any"}))[
            "episode"
        ]
        steps = f"/v1/episodes/{episode}/steps"
        await self.call("POST", steps, json={"step": 0, "wait_ms": WAIT_MS})
        total, last = 0.0, len(tape.steps) - 1
        for step in range(len(tape.steps)):
            await asyncio.sleep(self._step_s * random.uniform(0.5, 1.5))
            ended = time.monotonic()
            if step < last:
                body = {"wait_ms": WAIT_MS}
                reward = (await self.call("POST", f"{steps}/{step}:advance", json=body))["reward"]
            else:
                await self.call("POST", f"{steps}/{step}:end", json={"wait_ms": WAIT_MS})
                reward = await self.call(
                    "GET", f"{steps}/{step}/reward", params={"wait_ms": WAIT_MS}
                )
            sealed = time.monotonic()
            self.sealed_at.append((sealed, sealed - ended))
            if reward["status"] != "sealed":
                self.errors[f"a reward was {reward['status']}"] += 1
            total += reward["reward"] or 0.0
        closed = await self.call("POST", f"/v1/episodes/{episode}:close", json={"wait_ms": WAIT_MS})
        if (
            closed["status"] != "closed"
            or abs(closed["total"] - 1.0) > 1e-9
            or abs(total - 1.0) > 1e-9
        ):
            self.errors[f"an episode's total was {total:.3f}, wanted 1"] += 1
        self.episodes += 1

    async def aclose(self) -> None:
        """Give the connections back to the system."""
        for client in self._clients:
            await client.aclose()


async def main(token: str, episodes: int, step_s: float, urls: list[str]) -> dict[str, Any]:
    """Keep ``episodes`` episodes going until TERM; what came of them."""
    stop = until_signal()
    tape = load()
    trainer = Trainer(token, urls, step_s)
    name = (await trainer.call("POST", "/v1/tasks", json=task(tape)))["id"]
    # Spread over one step, or all of them would act at the same moment for ever.
    works = [
        asyncio.create_task(trainer.episodes_without_end(name, tape, n / episodes * step_s))
        for n in range(episodes)
    ]
    await stop.wait()
    for work in works:
        work.cancel()
    await asyncio.gather(*works, return_exceptions=True)
    await trainer.aclose()
    return {
        "sealed_at": trainer.sealed_at,
        "called_at": trainer.called_at,
        "errors": trainer.errors,
        "episodes": trainer.episodes,
    }


if __name__ == "__main__":
    token, episodes, step_s, out, *urls = sys.argv[1:]
    Path(out).write_text(json.dumps(asyncio.run(main(token, int(episodes), float(step_s), urls))))
