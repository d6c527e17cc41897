"""The demo's table: one row a step, and under it what was earned and the events that show it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TextIO
from urllib.parse import urlsplit

from api.rewards.rendering import unpaid_in_words
from detectors.model.codec import canonical
from detectors.model.json_value import JsonObject, JsonValue, objects_in, read_object

if TYPE_CHECKING:
    from milestoned_client import Milestone, Reward

ShownEvent = tuple[str, str, JsonObject]
"""Source, kind and data."""
Events = Mapping[int, ShownEvent]

_STYLES = {"bold": "1", "dim": "2", "green": "32", "red": "31", "cyan": "36", "yellow": "33"}
_USUAL = ("nav", "ui", "form", "file", "goal")
_ACTION = 38
_CELL = 7


class DemoScreen:
    """Where lines go; coloured only where a person watches a terminal."""

    def __init__(self, out: TextIO = sys.stdout) -> None:
        self._out = out
        self._colour = out.isatty() and "NO_COLOR" not in os.environ

    def line(self, text: str = "") -> None:
        """Write one line, and flush it at once."""
        self._out.write(text + "\n")
        self._out.flush()

    def paint(self, text: str, style: str) -> str:
        """``text`` in a style of this module's table, or as it is."""
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self._colour else text


class StepTable:
    """Rows of steps. ``components`` are the columns; the total is summed up on the way, and is null
    from the first step on whose reward is."""

    def __init__(self, screen: DemoScreen, components: Sequence[str]) -> None:
        self._screen = screen
        self._components = components
        self._total: float | None = 0.0

    def head(self) -> None:
        """Write the line of the columns' names."""
        cells = "".join(f"{name:>{_CELL}}" for name in self._components)
        head = f"{'step':>4}  {'action':<{_ACTION}}{cells}{'reward':>9}{'total':>8}"
        self._screen.line(self._screen.paint(head, "bold"))

    def row(self, action: str, reward: Reward, events: Events) -> None:
        """Write one sealed step with its milestones; ``events`` by number, each (source, kind,
        data)."""
        paid = reward.reward
        self._add(paid)
        total = "null" if self._total is None else f"{self._total:.3f}"
        cells = "".join(self._cell(reward.components.get(name)) for name in self._components)
        value = "masked" if paid is None else _signed(paid)
        self._screen.line(
            f"{reward.step:>4}  {clip(action, _ACTION - 1):<{_ACTION}}{cells}"
            f"{self._toned(f'{value:>9}', paid)}{total:>8}"
        )
        if paid is None:
            self._screen.line(self._screen.paint(f"      {reward.reason}", "yellow"))
        for milestone in reward.milestones:
            unpaid = unpaid_in_words(
                reward.status, mask=reward.mask, worth=milestone.worth, reason=reward.reason
            )
            self.milestone(milestone, events, unpaid)

    def _add(self, paid: float | None) -> None:
        """Add a step's reward to the total, which is not known after one that is not known."""
        if self._total is None or paid is None:
            self._total = None
        else:
            self._total += paid

    def milestone(self, milestone: Milestone, events: Events, unpaid: str = "") -> None:
        """Write one milestone and the events that are its evidence; ``unpaid``: why it has not paid
        what it is worth."""
        cause = milestone.cause_step
        caused = "" if cause is None else f", set in motion by step {cause}"
        met = f" ({unpaid})" if unpaid else ""
        if milestone.baseline:
            met = " (so from the start: earns nothing)"
        worth = self._toned(f"{milestone.worth:+.3f}", milestone.worth)
        head = f"{milestone.id:<14} {worth} by {milestone.rule} v{milestone.version}{caused}{met}"
        self._screen.line(f"      {self._screen.paint('└', 'dim')} {head}")
        for seq in milestone.evidence:
            said = describe(events[seq]) if seq in events else "(not in this view)"
            self._screen.line(self._screen.paint(f"          #{seq:<4} {said}", "dim"))

    def _cell(self, value: float | None) -> str:
        return self._toned(f"{value:+.2f}".rjust(_CELL), value) if value else self._dot()

    def _dot(self) -> str:
        return self._screen.paint("·".rjust(_CELL), "dim")

    def _toned(self, text: str, value: float | None) -> str:
        """Return ``text`` in green for what was gained, in red for what was lost, as it is for
        nothing."""
        if not value:
            return text
        return self._screen.paint(text, "green" if value > 0 else "red")


def columns(components: Sequence[str]) -> tuple[str, ...]:
    """The components in the order in which a task is mostly worked through; those of its own come
    last."""
    return tuple(
        sorted(
            components,
            key=lambda name: (_USUAL.index(name) if name in _USUAL else len(_USUAL), name),
        )
    )


def clip(text: str, width: int) -> str:
    """``text`` on one line and not wider than ``width``."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 1] + "…"


def describe(event: ShownEvent) -> str:
    """One event in a few words: its kind, and of its data what a person would ask for first."""
    _source, kind, data = event
    return clip(f"{kind} {_DETAILS.get(kind.partition('.')[0], _plain)(data)}", 96)


def _path(url: JsonValue) -> str:
    """Return an address without its origin: path and query."""
    parts = urlsplit(str(url))
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _page(data: JsonObject) -> str:
    """Return a page by its title, or else by its path, with a note where the document stayed."""
    if "title" in data:
        return f"“{data['title']}”"
    return _path(data.get("url")) + (" (same document)" if data.get("same_document") else "")


def _request(data: JsonObject) -> str:
    status = data.get("status", data.get("error", "?"))
    hops = objects_in(data.get("hops"))
    after = [f" (after {hop['method']} {_path(hop['url'])} → {hop['status']})" for hop in hops]
    return f"{data.get('method')} {_path(data.get('url'))} → {status}{''.join(after)}"


def _element(data: JsonObject) -> str:
    element = read_object(data, "element")
    by = "" if data.get("trusted", True) else " by page script"
    return f"{element.get('role', '')} “{element.get('name', '')}”{by}"


def _field(data: JsonObject) -> str:
    """Return a field with what it holds now, or whether it is checked; a secret's value is kept
    back."""
    if data.get("checked") is not None:
        return f"{_element(data)} {'checked' if data['checked'] else 'unchecked'}"
    value = data.get("value")
    return f"{_element(data)} = {'(kept back)' if value is None else repr(value)}"


def _dialog(data: JsonObject) -> str:
    answer = {"True": " → yes", "False": " → no"}.get(str(data.get("accepted")), "")
    return f"{data.get('type')} “{data.get('message')}”{answer}"


def _file(data: JsonObject) -> str:
    return (
        f"{data.get('name')} {data.get('size', '?')} bytes, sha256 {str(data.get('sha256'))[:8]}…"
    )


def _download(data: JsonObject) -> str:
    return f"{data.get('name')} from {_path(data.get('url'))}"


def _text(data: JsonObject) -> str:
    text = data.get("text")
    return "(kept back)" if text is None else f"“{text}”"


def _plain(data: JsonObject) -> str:
    return canonical(data).decode()


_DETAILS = {
    "page": _page,
    "request": _request,
    "element": _element,
    "field": _field,
    "dialog": _dialog,
    "file": _file,
    "download": _download,
    "text": _text,
}


def _signed(value: float) -> str:
    """A reward with its sign; 0 has none."""
    return f"{value:+.3f}" if value else "0"
