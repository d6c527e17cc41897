"""Where a value stands in a state, as a JSON Path (RFC 9535)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import orjson

AT = "\0"
"""Stands for a place's own value in a test; JSON has no such letter."""
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYS = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[\"((?:[^\"\\]|\\.)*)\"\]")


def json_text(value: object) -> str:
    """A value as JSON, for comparison."""
    return orjson.dumps(value).decode()


def key_step(key: str) -> str:
    """The step of a JSON Path from an object to the value under ``key``."""
    return f".{key}" if _SIMPLE.fullmatch(key) else f"[{json_text(key)}]"


class StatePlace(NamedTuple):
    """Where a value stands: below the row of ``base`` for which ``test`` holds, or, without a test,
    below the root."""

    base: str
    test: str
    inner: str

    @property
    def path(self) -> str:
        """The place as a JSON Path from the root."""
        return f"{self.base}[?{self.test}]{self.inner}" if self.test else f"${self.inner}"

    @property
    def last_key(self) -> str:
        """The last key of the path; of a list's row the list's."""
        keys = _KEYS.findall(self.inner or self.base)
        return "".join(keys[-1]) if keys else ""

    def step(self, key: str) -> StatePlace:
        """The place of the value under ``key``."""
        return self._replace(inner=self.inner + key_step(key))

    def row(self, test: str) -> StatePlace:
        """The row of this list for which ``test`` holds."""
        return StatePlace(self.path, test, "")

    def path_with(self, tests: Sequence[str]) -> str:
        """A JSON Path that finds something where all ``tests`` hold, in each of which `AT` is this
        place's value."""
        own = f"@{self.inner}" if self.test else f"${self.inner}"
        texts = [test.replace(AT, own) for test in tests]
        if self.test:
            texts.insert(0, self.test)
        return f"{self.base if self.test else '$'}[?{' && '.join(texts)}]"
