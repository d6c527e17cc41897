"""The browser's side of a run, a process of its own: pages, Chromium, a daemon for each episode.

    python -m examples.agent.world SERVICE FOLDER

MILESTONED_TOKEN is the trainer's. A line on stdin is a command for several slots at once, a line on
stdout its answer: ``open``, ``act`` and ``close``, as `World` has them. Each slot is a browser
context with one page, in which one episode runs after the other.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from milestoned_client import AsyncRewardClient
from milestoned_client.adapters.turn_rewards import rewards_of_turns
from playwright.async_api import Browser, Page, async_playwright

import agentd
from examples.agent.families import SPARE, instance
from examples.agent.tasks import task
from examples.page_server import serve_pages
from lab.demo.needs import find_chromium

FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-gpu",
    "--renderer-process-limit=2",
)
LOOK = """() => [...document.querySelectorAll("main input, main button, main a")].map((one) => {
  const role = { BUTTON: "button", A: "link" }[one.tagName] ?? (one.type === "checkbox" ? "checkbox" : "textbox");
  const name = (one.closest("label") ?? one).textContent.trim();
  const value = role === "textbox" ? one.value : one.checked ? "checked" : "";
  const at = one.getBoundingClientRect();
  return [role, name, value, at.x + Math.min(at.width, 40) / 2, at.y + at.height / 2];
})"""
Seen = Sequence[Sequence[Any]]


def _page_of(path: str) -> bytes | None:
    """Return the page of the instance that a path names as /FAMILY/SEED."""
    names = path.strip("/").split("/")
    return instance(names[0], int(names[1])).page() if len(names) == 2 else None


def lines(seen: Seen) -> str:
    """Return a page as the model reads it: a line an element, with role, name and value."""
    return "\n".join(
        f"{role} {name}" + (f" = {value}" if value else "") for role, name, value, *_ in seen
    )


@dataclass
class Slot:
    """A browser context, and the episode that runs in it."""

    page: Page
    seen: Seen = ()
    watch: Any = None
    episode: Any = None
    state: Path = Path()
    turns: int = 0
    max_turns: int = 0
    script: list[tuple[str, str]] = field(default_factory=list)

    def scripted(self) -> str:
        """Return the next action of the demonstration."""
        if not self.script:
            return "done"
        name, text = self.script.pop(0)
        return f"type {name} {text}" if text else f"click {name}"


class World:
    """The slots of a run; each method does the same in several of them at once."""

    def __init__(
        self, client: AsyncRewardClient, service: str, pages: str, folder: Path, browser: Browser
    ) -> None:
        self._client, self._service, self._pages = client, service, pages
        self._folder, self._browser = folder, browser
        self._slots: dict[int, Slot] = {}
        self._registered: dict[str, asyncio.Task[Any]] = {}

    async def open(self, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Open an episode in each slot: ``slot``, ``family``, ``seed``, ``kind``, ``labels``, and
        ``spare``, the turns more than it needs after which it is cut off."""
        return await asyncio.gather(*(self._open(one) for one in asked))

    async def _open(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        made = instance(asked["family"], asked["seed"])
        slot = await self._slot(asked["slot"])
        registered = await self._task(asked["kind"], made.family, made.values)
        slot.episode = await self._client.open(
            registered, labels=asked["labels"], seed=made.seed % 2**31
        )
        slot.state = self._folder / slot.episode.id
        await slot.page.goto(f"{self._pages}/{made.family}/{made.seed}")
        slot.watch = await agentd.attach(
            slot.page,
            service=self._service,
            episode=slot.episode.id,
            token=slot.episode.opened.token,
            state=slot.state,
        )
        slot.turns, slot.script = 0, list(made.script)
        slot.max_turns = len(made.script) + asked.get("spare", SPARE)
        slot.seen = await slot.page.evaluate(LOOK)
        return {"text": lines(slot.seen), "instruction": made.instruction}

    async def _slot(self, number: int) -> Slot:
        if number not in self._slots:
            context = await self._browser.new_context(viewport={"width": 320, "height": 320})
            self._slots[number] = Slot(await context.new_page())
        return self._slots[number]

    async def _task(self, kind: str, family: str, values: Mapping[str, str]) -> Any:
        key = json.dumps([kind, family, values])
        if key not in self._registered:
            template = task(family, kind, self._pages)
            asking = self._client.register_task(template, dict(values))
            self._registered[key] = asyncio.create_task(asking)
        return await self._registered[key]

    async def act(self, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Take one step in each slot: ``slot``, and ``do``, the model's text, or None for the
        demonstration's. What the model saw and did is the step's action in the log."""
        return await asyncio.gather(*(self._act(self._slots[one["slot"]], one) for one in asked))

    async def _act(self, slot: Slot, asked: Mapping[str, Any]) -> dict[str, Any]:
        words = asked["do"] if asked["do"] is not None else slot.scripted()
        await slot.watch.begin_step({"saw": lines(slot.seen), "do": words})
        slot.turns += 1
        over = await performed(slot, words)
        slot.seen = await slot.page.evaluate(LOOK)
        await slot.watch.end_step()
        over = over or not slot.seen or slot.turns >= slot.max_turns
        return {"text": lines(slot.seen), "over": over, "did": words}

    async def close(self, asked: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Close the episode of each ``slot``: the rewards of its turns (None: not known), and
        whether it reached its goal."""
        return await asyncio.gather(*(self._close(self._slots[one["slot"]]) for one in asked))

    async def _close(self, slot: Slot) -> dict[str, Any]:
        # Never as truncated, which leaves a potential paid: no critic of GRPO's would subtract it.
        closing, _ = await asyncio.gather(slot.episode.close("the rollout ended"), _ended(slot))
        shutil.rmtree(slot.state, ignore_errors=True)
        paid = rewards_of_turns(closing.rewards, slot.turns, slot.turns)
        return {
            "rewards": paid,
            "success": closing.success,
            "episode": slot.episode.id,
            "milestones": [[m.id for m in one.milestones] for one in closing.rewards],
        }


async def _ended(slot: Slot) -> None:
    await slot.watch.close()


async def performed(slot: Slot, words: str) -> bool:
    """Do what the model wrote: `click NAME`, `type NAME TEXT` or `done`; names are unique on a page.
    Text that means nothing does nothing. Returns whether it said that it is done.
    """
    verb, *rest = words.split() or [""]
    if verb == "done":
        return True
    found = next((one for one in slot.seen if rest[:1] == [one[1]]), None)
    if found is None or verb not in ("click", "type"):
        return False
    role, _, value, x, y = found
    await slot.page.mouse.click(x, y)
    if verb == "type" and len(rest) == 2 and role == "textbox":
        if value:
            await slot.page.keyboard.press("Control+A")
        await slot.page.keyboard.insert_text(rest[1])
    return False


async def serve(service: str, folder: Path) -> None:
    """Answer commands until stdin ends."""
    playwright = await async_playwright().start()
    browser = await playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
    client = AsyncRewardClient(service, os.environ["MILESTONED_TOKEN"])
    with serve_pages(_page_of) as pages:
        world = World(client, service, pages, folder, browser)
        while line := await asyncio.to_thread(sys.stdin.readline):
            command, asked = json.loads(line)
            done: Callable[..., Awaitable[Any]] = getattr(world, command)
            print(json.dumps(await done(asked)), flush=True)
        await client.close()
        await browser.close()
        await playwright.stop()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))
