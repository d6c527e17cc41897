"""What a scripted solution of a MiniWoB++ page is made of: acts on the page, as a person would do
them.

The goal is the importer's to say, from the instance alone: a script that erred with it would show
nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from playwright.sync_api import Locator, Page, TimeoutError

FETCH_MS = 400
"""How long a picture that stands there while the pointer is over it may take to come."""


class Act(NamedTuple):
    """One trusted input: what is done, to which element (a Playwright selector), with which
    text."""

    verb: str
    target: str
    text: str = ""

    def perform(self, page: Page) -> None:
        """Do it as a person would: the browser's input events, never the page's script."""
        element = page.locator(self.target).first
        match self.verb:
            case "click":
                element.click()
            case "add":
                element.click(modifiers=["Control"])
            case "hover":
                element.hover()
            case "fill":
                element.fill(self.text)
            case "type":
                element.press_sequentially(self.text)
            case "press":
                element.press(self.text)
            case "force":
                # A picture that is fetched as the pointer comes moves its neighbours meanwhile.
                with suppress(TimeoutError), page.expect_request_finished(timeout=FETCH_MS):
                    element.hover(force=True)
                element.click(force=True)
            case "keys":
                key, times = self.text.split()
                for _ in range(int(times)):
                    element.press(key)
            case "select":
                element.click(position={"x": 5, "y": 5}, click_count=int(self.text))
            case "at":
                x, y = map(float, self.text.split(","))
                element.click(position={"x": x, "y": y})
            case "drag":
                _drag(
                    page,
                    element,
                    [tuple(map(float, part.split(","))) for part in self.text.split()],
                )
            case "turn":
                _turn(page, element, self.text)
            case "wait":
                element.wait_for()
                page.wait_for_timeout(float(self.text))
            case _:
                raise ValueError(f"act: verb is {self.verb!r}, wanted one of those above")


def _turn(page: Page, element: Locator, wanted: str) -> None:
    """Drag until the cube shows ``wanted``: it swings on for as long as the machine lets it, so
    nothing but looking says how it stands."""
    for n in range(120):
        if page.locator(".active").first.text_content() == wanted:
            return
        _drag(page, element, [(0, -40) if n % 5 < 4 else (45, 0)])
        page.wait_for_timeout(120)  # until it rests
    raise ValueError(f"the cube never showed {wanted}")


def _drag(page: Page, element: Locator, steps: list[tuple[float, ...]]) -> None:
    """Press in the middle of the element, go by each (dx, dy) from there, let go."""
    element.scroll_into_view_if_needed()
    box = element.bounding_box()
    assert box is not None, "what is not shown can't be dragged"
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for dx, dy in steps:
        page.mouse.move(x + dx, y + dy, steps=4)
    page.mouse.up()


class Script(NamedTuple):
    """One instance of a page: the acts that reach its goal, the acts that narrowly miss it."""

    right: list[Act]
    wrong: list[Act]


Reader = Callable[[Page], Script]
"""Looks at an instance of a page and says how it is solved. It may touch the page: the acts run on a fresh one."""


class Entry(NamedTuple):
    """A page of the collection, the seed of its instance, and who reads it."""

    page: str
    seed: str
    read: Reader


Table = dict[str, Entry]


def entry(table: Table, page: str, seed: str = "1") -> Callable[[Reader], Reader]:
    """List the decorated reader in ``table`` under the page's name; one reader may serve several
    pages."""

    def add(read: Reader) -> Reader:
        if page in table:
            raise ValueError(f"page {page!r} is listed twice")
        table[page] = Entry(page, seed, read)
        return read

    return add


def quoted(text: str) -> str:
    """``text`` as a string inside a selector."""
    return json.dumps(text, ensure_ascii=False)


def query(page: Page) -> str:
    """The instruction as a person reads it."""
    return " ".join(page.inner_text("#query").split())


def said(page: Page) -> list[str]:
    """The parts of the instruction that stand in quotation marks."""
    return query(page).split('"')[1::2]


def click(target: str) -> Act:
    """Click the first element that the selector finds."""
    return Act("click", target)


def fill(target: str, text: str) -> Act:
    """Put ``text`` in place of what the field holds."""
    return Act("fill", target, text)


def drag(target: str, *steps: tuple[float, float]) -> Act:
    """Drag the element by these offsets from where it was taken."""
    return Act("drag", target, " ".join(f"{x:g},{y:g}" for x, y in steps))


def at(target: str, x: float, y: float) -> Act:
    """Click at a place of the element."""
    return Act("at", target, f"{x:g},{y:g}")


SUBMIT = click("#subbtn")
