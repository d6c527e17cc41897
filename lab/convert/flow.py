"""Chrome DevTools Recorder flows: a step each, with what the recorder said that it met.

A flow has no times, so its steps are told a millisecond apart. It names elements by selectors: an
``aria/`` one gives the accessible name, and the role where it is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentd.masking import MASK, Masker
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    as_items,
    list_or_empty,
    object_or_empty,
    objects_in,
    read_text,
)
from lab.convert.errors import format_value
from lab.convert.page_state import MAIN, PageFrames
from lab.convert.source import SourceFile
from lab.convert.tape import Tape

MS = 1_000_000
_ARIA = re.compile(r'^aria/(?P<name>.*?)(?:\[role="(?P<role>[\w-]+)"\])?$', re.DOTALL)
_CLICKS = {"click": "element.clicked", "doubleClick": "element.double_clicked"}


def fits(source: SourceFile) -> bool:
    """Whether it is an object with steps that have types."""
    steps = list_or_empty(_steps(source))
    first = next(iter(steps), None)
    return isinstance(first, dict) and "type" in first


def _steps(source: SourceFile) -> JsonValue:
    """What the file has as its steps, unchecked; None for nothing."""
    flow = object_or_empty(source.value)
    return flow.get("steps")


def read(source: SourceFile) -> FlowReading:
    """Check the flow's steps and give its reading. Raises `ConvertError`."""
    steps = _steps(source)
    if not isinstance(steps, list):
        raise source.wrong("steps", format_value(steps), "wanted a list of steps")
    for number, step in enumerate(steps):
        kind = object_or_empty(step).get("type")
        if not isinstance(kind, str):
            raise source.wrong(
                f"steps[{number}]", format_value(step), "wanted an object with a type"
            )
    return FlowReading(objects_in(steps))


class FlowReading:
    """A flow that was read: see `lab.convert.formats.FormatReading`."""

    version = None
    shows = frozenset(
        ("element.clicked", "element.double_clicked", "element.right_clicked", "field.filled")
    )

    def __init__(self, steps: Sequence[JsonObject]) -> None:
        self._steps = steps

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Step after step; what a step asserted to follow is told in it."""
        masker, pages = Masker(mask), PageFrames()
        tape.secrets = masker
        for number, step in enumerate(self._steps):
            at = number * MS
            tape.end(at)
            tape.begin(at, _action(step, masker))
            self._act(tape, at, step, masker)
            for url in _addresses(step):
                tape.play(pages.navigated(at, MAIN, MAIN, masker.mask_url(url)))

    def _act(self, tape: Tape, at: int, step: JsonObject, masker: Masker) -> None:
        """Report what a step clicked or filled in."""
        where: dict[str, JsonValue] = {
            "tab": MAIN,
            "frame": _frame(step),
            "element": _element(step, masker),
            "trusted": True,
        }
        kind = _CLICKS.get(str(step["type"]))
        if kind is not None:
            is_right = step.get("button") in ("secondary", "right")
            tape.tell(at, "element.right_clicked" if is_right else kind, where)
        elif step["type"] == "change":
            value = masker.mask_value(_secret_selector(step), read_text(step, "value"))
            filled: dict[str, JsonValue] = {"value": value}
            if value == MASK:
                filled = {"value": None, "has_value": True}
            tape.tell(at, "field.filled", {**where, **filled, "field": _selectors(step)[-1][:300]})


def _addresses(step: JsonObject) -> list[str]:
    """Where the page went in a step: as the recorder asserted it, else as the step asked."""
    events = objects_in(step.get("assertedEvents"))
    addresses = [event.get("url") for event in events if event.get("type") == "navigation"]
    known = [str(address) for address in addresses if address]
    if step["type"] == "navigate":
        return known or [read_text(step, "url", "about:blank")]
    return known


def _frame(step: JsonObject) -> str:
    path = step.get("frame")
    return "frame-" + "-".join(map(str, path)) if isinstance(path, list) else MAIN


def _action(step: JsonObject, masker: Masker) -> JsonObject:
    """Return what stands in the step: its type, its address without secrets, its first selector."""
    action: dict[str, JsonValue] = {"do": step["type"]}
    url = step.get("url")
    if isinstance(url, str):
        action["url"] = masker.mask_url(url)
    selector = next(filter(None, _selectors(step)), None)
    if selector is not None:
        action["selector"] = selector
    return action


def _selectors(step: JsonObject) -> list[str]:
    """Every selector of a step as one text, those through shadow roots joined."""
    texts: list[str] = []
    for selector in list_or_empty(step.get("selectors")):
        through = as_items(selector)
        texts.append(" >>> ".join(map(str, through)))
    return texts or [""]


def _element(step: JsonObject, masker: Masker) -> dict[str, str]:
    """What a step's selectors say of its element: role and name, "" where none says so."""
    innermost = (selector.rpartition(" >>> ")[2] for selector in _selectors(step))
    matches = filter(None, map(_ARIA.match, innermost))
    aria = next(matches, None)
    if aria is None:
        return {"role": "", "name": "", "tag": ""}
    name = masker.mask_text(aria["name"])
    return {"role": aria["role"] or "", "name": name, "tag": ""}


def _secret_selector(step: JsonObject) -> str:
    """The word of the selectors that says that a secret goes there, "" where none does."""
    masker = Masker()
    words = re.findall(r"[\w-]+", " ".join(_selectors(step)))
    return next(filter(masker.is_secret_name, words), "")
