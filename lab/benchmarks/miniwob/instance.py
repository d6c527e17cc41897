"""What the environment says of one instance of a page: its utterance, its fields, and what stands
there at the start.

All of it is trusted: it is taken before the agent acts, by who runs the environment.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

from selectolax.lexbor import LexborHTMLParser, LexborNode

from detectors.model.json_value import JsonObject, JsonValue, read_text
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
    fields: JsonObject = field(default_factory=dict)
    origin: str = ORIGIN
    seed: str = ""

    @classmethod
    def from_json(cls, value: JsonValue, origin: str | None = None) -> Instance:
        """Read one instance. Raises `BadSourceError` naming what is wrong with it."""
        if not isinstance(value, dict):
            raise BadSourceError(f"an instance of a MiniWoB++ page is an object, got {value!r:.80}")
        texts = {name: _text(value, name) for name in ("page", "utterance", "html", "seed")}
        fields = value.get("fields", {})
        if not isinstance(fields, dict):
            raise BadSourceError(f"fields: got {fields!r:.80}, wanted an object")
        needed = (texts["page"], texts["utterance"])
        if "" in needed:
            raise BadSourceError(
                "an instance needs page and utterance, each a text that is not empty"
            )
        where = origin or read_text(value, "origin", ORIGIN)
        return cls(**texts, fields=fields, origin=where)

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


def _text(value: JsonObject, name: str) -> str:
    text = value.get(name, "")
    if not isinstance(text, str):
        raise BadSourceError(f"{name}: got {text!r:.80}, wanted a text")
    return text


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
