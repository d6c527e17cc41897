"""The shop of the tests as an environment of ``ors`` or ``openreward``, served by that package's
own server. Annotations are evaluated at once: the packages read them as types."""

import asyncio
import importlib
import threading
import time
from typing import Any

import uvicorn
from pydantic import BaseModel

INSTRUCTION = "Put it into the cart."
ENDING = threading.Event()
"""A call of `end_step` runs."""


class StepInput(BaseModel, extra="forbid"):
    action: Any = None


class AnswerInput(BaseModel, extra="forbid"):
    text: str


def make_server(package: str, slow_s: float = 0.0) -> Any:
    """The package's server over a quiz and a shop, each with one task and the tools of ours.

    ``slow_s``: how long `end_step` takes.
    """
    name = "ors" if package == "ors" else "openreward.environments"
    module: Any = importlib.import_module(name)

    def output(text: str, reward: float | None = None, finished: bool = False) -> Any:
        blocks = [module.TextBlock(text=text)]
        return module.ToolOutput(blocks=blocks, reward=reward, finished=finished)

    class Shop(module.Environment):
        @classmethod
        def list_splits(cls) -> list[Any]:
            return ["train"]

        @classmethod
        async def list_tasks(cls, split: str) -> list[Any]:
            return [{"task": "shop/cart", "version": "1"}]

        @classmethod
        async def num_tasks(cls, split: str) -> int:
            return 1

        def get_prompt(self) -> list[Any]:
            return [module.TextBlock(text=INSTRUCTION)]

        @module.tool
        async def step(self, params: StepInput) -> module.ToolOutput:
            """Begin a step."""
            return output("Step 0 began.")

        @module.tool
        async def end_step(self) -> module.ToolOutput:
            """End the step."""
            ENDING.set()
            await asyncio.sleep(slow_s)
            return output("Step 0 ended.", 0.5)

        async def score_group(self, candidates: Any) -> Any:
            return [0.5 for _ in candidates]

        @getattr(module, "terminal", lambda tool: tool)
        @module.tool
        async def answer(self, params: AnswerInput) -> module.ToolOutput:
            """Answer."""
            return output("The answer was taken.", 0.5, True)

    class Quiz(Shop):
        pass

    return module.Server([Quiz, Shop])


def serve(server: Any, port: int) -> uvicorn.Server:
    """Serve in a thread until the process ends."""
    config = uvicorn.Config(server.app, port=port, log_level="error")
    found = uvicorn.Server(config)
    threading.Thread(target=found.run, daemon=True).start()
    while not found.started:
        time.sleep(0.01)
    return found
