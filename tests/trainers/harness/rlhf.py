"""OpenRLHF's `utils/agent.py` as it is; only its logger, which brings the whole package in, is
stood in for, as its own tests do. Tokens are characters, and the model says what it is told to."""

from __future__ import annotations

import importlib
import logging
import sys
from importlib.metadata import PackageNotFoundError, distribution
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from tests.trainers.harness.say import say


def agent_module() -> Any:
    """The module, out of the installed package."""
    try:
        where = distribution("openrlhf")
    except PackageNotFoundError:
        say(skip="OpenRLHF has no wheel for this Python")
        sys.exit(0)
    for name in ("openrlhf", "openrlhf.utils"):
        package = ModuleType(name)
        package.__path__ = [str(where.locate_file(name.replace(".", "/")))]
        sys.modules[name] = package
    logger = ModuleType("openrlhf.utils.logging_utils")
    logger.__dict__["init_logger"] = logging.getLogger
    sys.modules[logger.__name__] = logger
    return importlib.import_module("openrlhf.utils.agent")


class Tokenizer:
    """A character a token."""

    def __call__(self, text: str, **_more: Any) -> dict[str, Any]:
        return {
            "input_ids": np.array([[ord(letter) for letter in text]], dtype=np.int64).reshape(1, -1)
        }

    def decode(self, ids: list[int], **_more: Any) -> str:
        return "".join(map(chr, ids))


class Engine:
    """A model that says ``words``, one after the other."""

    def __init__(self, *words: str) -> None:
        self._words = list(words)

    async def generate(self, _tokens: Any, _params: Any, multi_modal_data: Any = None) -> Any:
        text = self._words.pop(0)
        return SimpleNamespace(
            outputs=[
                SimpleNamespace(
                    text=text, token_ids=[ord(x) for x in text], finish_reason="stop", logprobs=None
                )
            ]
        )


async def rollout(
    executor: Any, label: Any, *words: str, prompt: str = "What?", max_length: int = 4096
) -> dict[str, Any]:
    """What OpenRLHF makes of one sample."""
    params = SimpleNamespace(max_tokens=64, logprobs=None)
    found: dict[str, Any] = await executor.execute(
        prompt, label, params, max_length, Tokenizer(), Engine(*words)
    )
    return {name: found[name] for name in ("reward", "scores", "extra_logs")}
