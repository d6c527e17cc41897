"""Chrome DevTools Recorder flows: a step each, with what the recorder said that it met.

A flow has no times, so its steps are told a millisecond apart. It names elements by selectors: an
``aria/`` one gives the accessible name, and the role where it is written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from agentd.masking import MASK, Masker
from lab.convert.errors import format_value
from lab.convert.page_state import MAIN, PageFrames
from lab.convert.source import SourceFile
from lab.convert.tape import Tape

MS = 1_000_000
_ARIA = re.compile(r'^aria/(?P<name>.*?)(?:\[role="(?P<role>[\w-]+)"\])?$', re.DOTALL)
_CLICKS = {"click": "element.clicked", "doubleClick": "element.double_clicked"}


def fits(source: SourceFile) -> bool:
    """Whether it is an object with steps that have types."""
    steps = source.value.get("steps") if isinstance(source.value, dict) else None
    first = steps[0] if isinstance(steps, list) and steps else None
    return isinstance(first, dict) and "type" in first


def read(source: SourceFile) -> FlowReading:
    """Check the flow's steps and give its reading. Raises `ConvertError`."""
    steps = source.value.get("steps") if isinstance(source.value, dict) else None
    if not isinstance(steps, list):
        raise source.wrong("steps", format_value(steps), "wanted a list of steps")
    for number, step in enumerate(steps):
        if not isinstance(step, dict) or not isinstance(step.get("type"), str):
            raise source.wrong(
                f"steps[{number}]", format_value(step), "wanted an object with a type"
            )
    return FlowReading(steps)


class FlowReading:
    """A flow that was read: see `lab.convert.formats.FormatReading`."""

    version = None
    shows = frozenset(
        ("element.clicked", "element.double_clicked", "element.right_clicked", "field.filled")
    )

    def __init__(self, steps: list[dict[str, Any]]) -> None:
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
                for telling in pages.navigated(at, MAIN, MAIN, masker.mask_url(url)):
                    tape.tell(at, telling.kind, telling.data)

    def _act(self, tape: Tape, at: int, step: dict[str, Any], masker: Masker) -> None:
        """Report what a step clicked or filled in."""
        where: dict[str, Any] = {
            "tab": MAIN,
            "frame": _frame(step),
            "element": _element(step, masker),
            "trusted": True,
        }
        if step["type"] in _CLICKS:
            right = step.get("button") in ("secondary", "right")
            tape.tell(at, "element.right_clicked" if right else _CLICKS[step["type"]], where)
        elif step["type"] == "change":
            value = masker.mask_value(_secretive(step), str(step.get("value") or ""))
            about = {"value": None, "has_value": True} if value == MASK else {"value": value}
            tape.tell(at, "field.filled", where | about | {"field": _selectors(step)[-1][:300]})


def _addresses(step: dict[str, Any]) -> list[str]:
    """Where the page went in a step: as the recorder asserted it, else as the step asked."""
    asserted = step.get("assertedEvents")
    urls = [
        str(event.get("url"))
        for event in (asserted if isinstance(asserted, list) else ())
        if isinstance(event, dict) and event.get("type") == "navigation" and event.get("url")
    ]
    if step["type"] == "navigate" and not urls:
        return [str(step.get("url") or "about:blank")]
    return urls


def _frame(step: dict[str, Any]) -> str:
    path = step.get("frame")
    return "frame-" + "-".join(map(str, path)) if isinstance(path, list) else MAIN


def _action(step: dict[str, Any], masker: Masker) -> dict[str, Any]:
    action: dict[str, Any] = {"do": step["type"]}
    if isinstance(step.get("url"), str):
        action["url"] = masker.mask_url(step["url"])
    selector = next(filter(None, _selectors(step)), None)
    if selector is not None:
        action["selector"] = selector
    return action


def _selectors(step: dict[str, Any]) -> list[str]:
    """Every selector of a step as one text, those through shadow roots joined."""
    found = step.get("selectors")
    lists = found if isinstance(found, list) else []
    texts = [
        " >>> ".join(map(str, selector)) if isinstance(selector, list) else str(selector)
        for selector in lists
    ]
    return texts or [""]


def _element(step: dict[str, Any], masker: Masker) -> dict[str, str]:
    for selector in _selectors(step):
        aria = _ARIA.match(selector.rpartition(" >>> ")[2])
        if aria is not None:
            return {"role": aria["role"] or "", "name": masker.mask_text(aria["name"]), "tag": ""}
    return {"role": "", "name": "", "tag": ""}


def _secretive(step: dict[str, Any]) -> str:
    """The selector whose words say that a secret goes there, where one does."""
    masker = Masker()
    words = re.findall(r"[\w-]+", " ".join(_selectors(step)))
    return next(filter(masker.is_secret_name, words), "")
