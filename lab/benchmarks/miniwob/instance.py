"""What the environment says of one instance of a page: its utterance, its fields, and what stands
there at the start.

All of it is trusted: it is taken before the agent acts, by who runs the environment.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from lab.benchmarks.base import BadSourceError

ORIGIN = "http://127.0.0.1"
CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class Instance:
    """One instance: ``html`` is the document at the start, ``fields`` what the environment itself
    names beside it."""

    page: str
    utterance: str
    html: str = ""
    fields: Mapping[str, Any] = field(default_factory=dict)
    origin: str = ORIGIN
    seed: str = ""

    @classmethod
    def from_json(cls, value: Any, origin: str | None = None) -> Instance:
        """Read one instance. Raises `BadSourceError` naming what is wrong with it."""
        if not isinstance(value, dict):
            raise BadSourceError(f"an instance of a MiniWoB++ page is an object, got {value!r:.80}")
        for name, kind in (
            ("page", str),
            ("utterance", str),
            ("html", str),
            ("fields", dict),
            ("seed", str),
        ):
            given = value.get(name, kind())
            if not isinstance(given, kind):
                raise BadSourceError(
                    f"{name}: got {given!r:.80}, wanted {'a text' if kind is str else 'an object'}"
                )
        if not value.get("page") or not value.get("utterance"):
            raise BadSourceError(
                "an instance needs page and utterance, each a text that is not empty"
            )
        own = {name: value[name] for name in ("html", "fields", "seed") if name in value}
        return cls(
            value["page"], value["utterance"], origin=origin or value.get("origin") or ORIGIN, **own
        )

    @cached_property
    def quoted(self) -> list[str]:
        """What stands in quotation marks in the utterance."""
        return self.utterance.split('"')[1::2]

    @cached_property
    def _document(self) -> LexborHTMLParser:
        return LexborHTMLParser(self.html)

    def find(self, pattern: str) -> tuple[str, ...]:
        """The groups of our own ``pattern`` in the utterance. Raises `BadSourceError` where it is
        not so worded."""
        found = re.search(pattern, self.utterance)
        if found is None:
            raise BadSourceError(
                f"utterance: got {self.utterance!r:.200}, wanted words like {pattern!r}"
            )
        return tuple(group or "" for group in found.groups())

    def all(self, css: str) -> list[LexborNode]:
        """The elements of the start that the selector finds."""
        return self._document.css(css)

    def first(self, css: str) -> LexborNode:
        """The first of them. Raises `BadSourceError` where there is none."""
        found = self._document.css_first(css)
        if found is None:
            raise BadSourceError(f"html: {self.page} shows no {css} at its start")
        return found

    def source(self, name: str, opening: str) -> str:
        """What the document's own script assigns to ``name``: from its ``opening`` bracket to the
        one that closes it, which begins a line that is indented no more than the assignment."""
        found = re.search(
            rf"var {name}\s*=\s*(\{opening}.*?\n\{CLOSING[opening]})", self.html, re.DOTALL
        )
        if found is None:
            raise BadSourceError(f"html: {self.page} has no {name} in its source")
        return found[1]


def text(node: LexborNode) -> str:
    """The text in it, white space folded."""
    return " ".join(node.text().split())


def attribute(node: LexborNode, name: str) -> str:
    """An attribute, empty where it is missing."""
    return node.attributes.get(name) or ""


def inside(node: LexborNode, css: str) -> LexborNode | None:
    """The first element in ``node`` that the selector finds."""
    return node.css_first(css)


def path(node: LexborNode) -> str:
    """Where a nameless element stands, as the daemon's page script says it:
    `#area>div:2>span:1`."""
    steps: list[str] = []
    here: LexborNode | None = node
    while here is not None and here.tag not in ("body", "html"):
        own = attribute(here, "id")
        if own:
            return ">".join([f"#{own}", *steps])
        place, other = 1, here.prev
        while other is not None:
            place += other.tag == here.tag
            other = other.prev
        steps.insert(0, f"{here.tag}:{place}")
        here = here.parent
    return ">".join(steps)
