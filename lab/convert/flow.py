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
from lab.convert.page_state import MAIN, Pages
from lab.convert.source import Source
from lab.convert.tape import Tape

MS = 1_000_000
_ARIA = re.compile(r'^aria/(?P<name>.*?)(?:\[role="(?P<role>[\w-]+)"\])?$', re.DOTALL)
_CLICKS = {"click": "element.clicked", "doubleClick": "element.double_clicked"}


def fits(source: Source) -> bool:
    """Whether it is an object with steps that have types."""
    steps = source.value.get("steps") if isinstance(source.value, dict) else None
    return (
        isinstance(steps, list)
        and bool(steps)
        and isinstance(steps[0], dict)
        and "type" in steps[0]
    )


def read(source: Source) -> FlowReading:
    """The flow, checked. Raises `ConvertError`."""
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
    """A flow that was read: see `lab.convert.formats.Reading`."""

    version = None
    shows = frozenset(
        ("element.clicked", "element.double_clicked", "element.right_clicked", "field.filled")
    )

    def __init__(self, steps: list[dict[str, Any]]) -> None:
        self._steps = steps

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Step after step; what a step asserted to follow is told in it."""
        masker, pages = Masker(mask), Pages()
        tape.secrets = masker
        for number, step in enumerate(self._steps):
            at = number * MS
            tape.end(at)
            tape.begin(at, _action(step, masker))
            self._did(tape, at, step, masker)
            asserted = step.get("assertedEvents")
            events = (
                [one for one in asserted if isinstance(one, dict)]
                if isinstance(asserted, list)
                else []
            )
            urls = [
                str(one.get("url"))
                for one in events
                if one.get("type") == "navigation" and one.get("url")
            ]
            if step["type"] == "navigate" and not urls:
                urls = [str(step.get("url") or "about:blank")]
            for url in urls:
                for told in pages.navigated(at, MAIN, MAIN, masker.mask_url(url)):
                    tape.tell(at, told.kind, told.data)

    def _did(self, tape: Tape, at: int, step: dict[str, Any], masker: Masker) -> None:
        frame = (
            "frame-" + "-".join(map(str, step["frame"]))
            if isinstance(step.get("frame"), list)
            else MAIN
        )
        where: dict[str, Any] = {
            "tab": MAIN,
            "frame": frame,
            "element": _element(step, masker),
            "trusted": True,
        }
        if step["type"] in _CLICKS:
            right = step.get("button") in ("secondary", "right")
            tape.tell(at, "element.right_clicked" if right else _CLICKS[step["type"]], where)
        elif step["type"] == "change":
            value = masker.mask_value(_secretive(step), str(step.get("value") or ""))
            said = {"value": None, "filled": True} if value == MASK else {"value": value}
            tape.tell(at, "field.filled", where | said | {"field": _selectors(step)[-1][:300]})


def _action(step: dict[str, Any], masker: Masker) -> dict[str, Any]:
    action: dict[str, Any] = {"do": step["type"]}
    if isinstance(step.get("url"), str):
        action["url"] = masker.mask_url(step["url"])
    if selectors := [one for one in _selectors(step) if one]:
        action["selector"] = selectors[0]
    return action


def _selectors(step: dict[str, Any]) -> list[str]:
    """Every selector of a step as one text, those through shadow roots joined."""
    found = step.get("selectors")
    lists = found if isinstance(found, list) else []
    texts = [" >>> ".join(map(str, one)) if isinstance(one, list) else str(one) for one in lists]
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
    words = [word for one in _selectors(step) for word in re.findall(r"[\w-]+", one)]
    return next((word for word in words if masker.is_secret_name(word)), "")
