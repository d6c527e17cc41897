"""Which button or menu item was activated: by the pointer, by keys, and when it was not."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest

from agentd.core.patience import Patience
from tests.desktop.watching import Watch, watching
from tests.support.desktop import Desktop, needs
from tests.support.watching import PATIENCE_S


async def editor(watch: Watch, desktop: Desktop) -> None:
    """Mousepad with a changed file."""
    note = desktop.folder / "note.txt"
    note.write_text("hello\n")
    desktop.start("mousepad", "--disable-server", note)
    await watch.one("window.activated", app="mousepad")
    await watch.window("note.txt")
    await watch.keys("ctrl+Home")
    await watch.type("x")
    await watch.until(lambda: "xhello\n" in watch.texts(role="text"))


async def click(watch: Watch, role: str, name: str) -> None:
    """Move onto an object and click, as an agent does that sees it."""
    x, y = await watch.place(role, name)
    await asyncio.to_thread(
        watch.desktop.do, "mousemove", str(x), str(y), "sleep", "0.1", "click", "1"
    )
    await watch.seal()


def is_activated(watch: Watch, count: int) -> bool:
    return len(activated(watch)) == count


def activated(watch: Watch) -> list[tuple[str, str, str]]:
    """(role, name, by) of everything activated."""
    return [
        (one["widget"]["role"], one["widget"]["name"], one["by"]) for one in watch.all("widget.activated")
    ]  # fmt: skip


@needs("mousepad")
async def test_a_menu_s_item_by_pointer(desktop: Desktop) -> None:
    """The item, not the menu that it stands in."""
    async with watching(desktop) as watch:
        await editor(watch, desktop)
        await click(watch, "menu", "File")
        await watch.one("widget.focused", role="menu", name="File")
        await click(watch, "menu item", "Save")
        await watch.until(lambda: activated(watch) == [("menu item", "Save", "pointer")])


@needs("mousepad")
async def test_a_menu_s_item_by_keys_and_a_menu_left_alone(desktop: Desktop) -> None:
    """Escape activates nothing, though an item was highlighted; Return does."""
    async with watching(desktop) as watch:
        await editor(watch, desktop)
        await watch.keys("alt+f")
        await watch.one("widget.focused", role="menu item", name="New")
        await watch.keys("Down")
        await watch.one("widget.focused", role="menu item", name="New Window")
        await watch.keys("Escape")
        await watch.until(lambda: watch.all("widget.focused")[-1]["widget"]["role"] == "text")
        await watch.keys("Return")
        assert activated(watch) == []
        await watch.keys("alt+e")
        await watch.one("widget.focused", role="menu item", name="Undo")
        await watch.keys("Return")
        await watch.until(lambda: activated(watch) == [("menu item", "Undo", "key")])


@needs("gnome-calculator")
async def test_buttons_of_gtk_4_by_pointer(desktop: Desktop) -> None:
    """Seven times eight; a press that is dragged away is none."""
    async with watching(desktop) as watch:
        desktop.start("gnome-calculator")
        await watch.one("window.activated", app="gnome-calculator")
        await watch.window("Calculator")
        await watch.looked_into("Calculator")
        await watch.type("9")
        await watch.until(lambda: "9" in watch.texts(app="gnome-calculator"))
        # GTK 4.8 tells no place on the screen: the window's own is the X server's, the buttons' the
        # agent's eyes'.
        left, top = desktop.corner("Calculator")
        for number, (x, y) in enumerate(((40, 358), (110, 402)), 1):
            await asyncio.to_thread(
                desktop.do, "mousemove", str(left + x), str(top + y), "sleep", "0.3", "click", "1"
            )
            await watch.until(partial(is_activated, watch, number))
        assert {(role, by) for role, _, by in activated(watch)} == {("push button", "pointer")}
        digits = "".join(name.split()[0] for _, name, _ in activated(watch))
        await watch.until(lambda: f"9{digits}" in watch.texts(app="gnome-calculator"))
        await asyncio.to_thread(
            desktop.do, "mousemove", str(left + 40), str(top + 358), "mousedown", "1"
        )
        await asyncio.to_thread(
            desktop.do, "mousemove", str(left + 110), str(top + 402), "mouseup", "1"
        )
        await watch.seal()
        assert len(activated(watch)) == 2


@needs("featherpad")
@pytest.mark.parametrize(("button", "closes"), [("Discard changes", True), ("Cancel", False)])
async def test_the_button_that_answered_a_dialog_of_qt(
    desktop: Desktop, button: str, closes: bool
) -> None:
    """Also of one that ends its program."""
    note = desktop.folder / "qt.txt"
    note.write_text("hello\n")
    async with watching(desktop) as watch:
        desktop.start("featherpad", "--standalone", note)
        await watch.one("window.activated", app="FeatherPad")
        await watch.window("qt.txt")
        await watch.type("x")
        await watch.until(lambda: "xhello\n" in watch.texts(role="text"))
        await watch.keys("ctrl+q")
        await watch.one("window.activated", role="alert")
        await click(watch, "push button", button)
        await watch.until(lambda: activated(watch) == [("push button", button, "pointer")])
        await watch.one("app.vanished" if closes else "window.closed", app="FeatherPad")


@needs("mousepad")
async def test_a_window_without_accessibility_is_said(desktop: Desktop) -> None:
    """Its program is not on the bus at all: a partial gap by its window's class, over with the
    program."""
    async with watching(desktop) as watch:
        program = desktop.start("mousepad", "--disable-server", env={"NO_AT_BRIDGE": "1"})
        await watch.one("gap.began", source="ax", part="Mousepad")
        await watch.one("alarm.raised", source="ax", part="Mousepad")
        assert not watch.all("window.opened")
        desktop.end({program.pid})
        await watch.one("gap.ended", source="ax", part="Mousepad")


@needs("mousepad")
@pytest.mark.parametrize("ends", ["press", "seal"])
async def test_patience_for_a_program_ends_with_a_press_and_with_a_seal(
    desktop: Desktop, ends: str
) -> None:
    """What is done meanwhile to a program that is not on the bus may be lost: a step with that is
    null, however much patience there is."""
    async with watching(desktop, patience=Patience(5)) as watch:
        desktop.start("mousepad", "--disable-server", env={"NO_AT_BRIDGE": "1"})
        await watch.window("Mousepad")
        async with asyncio.timeout(PATIENCE_S):
            while not _waits_for_a_program(watch):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert not watch.all("gap.began"), "the program may still come"
        if ends == "press":
            await asyncio.to_thread(desktop.keys, "x")
        else:
            await watch.seal()
        await watch.one("gap.began", source="ax", part="Mousepad")
        assert not _waits_for_a_program(watch)


def _waits_for_a_program(watch: Watch) -> bool:
    live = watch.source._live
    return live is not None and live._display is not None and live._display.is_undecided
