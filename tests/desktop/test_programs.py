"""Real programs, each driven by xdotool through a right and a wrong run: the events say which was
which."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.desktop.watching import Watch, watching
from tests.support.desktop import Desktop, needs

EDITORS = {
    "mousepad": (["mousepad", "--disable-server"], "mousepad", "ctrl+w"),
    "gedit": (["gedit", "--standalone"], "gedit", "ctrl+w"),
    "featherpad": (["featherpad", "--standalone"], "FeatherPad", "ctrl+q"),
}


async def editing(watch: Watch, desktop: Desktop, which: str) -> tuple[Path, str]:
    """An editor with a file of two lines, the second empty; the cursor stands at its end."""
    command, app, _ = EDITORS[which]
    note = desktop.folder / "note.txt"
    note.write_text("hello\n")
    desktop.start(*command, note)
    await watch.one("window.activated", app=app)
    await watch.window("note.txt")
    await watch.until(
        lambda: [text for text in watch.texts(app=app, role="text") if text.startswith("hello")]
    )
    await watch.keys("ctrl+End")
    return note, app


@pytest.mark.parametrize("which", [pytest.param(name, marks=needs(name)) for name in EDITORS])
async def test_an_edit_is_told_and_its_saving(desktop: Desktop, which: str) -> None:
    """Right: typed and saved, so the title loses its star. The text in the window is told whole,
    once it rested."""
    async with watching(desktop) as watch:
        note, app = await editing(watch, desktop, which)
        await watch.type("world")
        await watch.until(
            lambda: watch.texts(app=app, role="text")[-1].replace("\n", "") == "helloworld"
        )
        starred = await watch.until(
            lambda: [
                one for one in watch.all("window.title_changed") if one["title"].startswith("*")
            ]
        )
        await watch.keys("ctrl+s")
        saved = await watch.until(
            lambda: watch.all("window.title_changed", title=starred[-1]["title"][1:])
        )
        assert saved[-1]["window"] == starred[-1]["window"]
        assert "world" in note.read_text()


@pytest.mark.parametrize("which", [pytest.param(name, marks=needs(name)) for name in EDITORS])
async def test_an_edit_that_is_not_saved_is_told_as_such(desktop: Desktop, which: str) -> None:
    """Wrong: another word, and on closing the program asks; the question is a window of its own,
    then gone."""
    async with watching(desktop) as watch:
        note, app = await editing(watch, desktop, which)
        await watch.type("wurld")
        await watch.until(
            lambda: watch.texts(app=app, role="text")[-1].replace("\n", "") == "hellowurld"
        )
        await watch.keys(EDITORS[which][2])
        asked = await watch.until(
            lambda: [
                one for one in watch.all("window.opened") if one["role"] in ("alert", "dialog")
            ]
        )
        await watch.keys("Escape")
        await watch.one("window.closed", window=asked[0]["window"])
        assert watch.all("window.title_changed")[-1]["title"].startswith("*")
        assert note.read_text() == "hello\n"


@needs("gnome-calculator")
@pytest.mark.parametrize(
    ("sum_", "answer"), [("12+30", "42"), ("12+31", "43")], ids=["right", "wrong"]
)
async def test_a_calculator_of_gtk_4_tells_what_it_shows(
    desktop: Desktop, sum_: str, answer: str
) -> None:
    """The sum, then the answer in its place. (Offsets of GTK 4.8's insertions are wrong: texts are
    read.)"""
    async with watching(desktop) as watch:
        desktop.start("gnome-calculator")
        await watch.one("window.opened", title="Calculator")
        await watch.window("Calculator")
        await watch.one("window.activated", title="Calculator")
        await watch.type(sum_)
        await watch.until(lambda: sum_ in watch.texts(app="gnome-calculator"))
        await watch.keys("Return")
        await watch.until(lambda: watch.texts(app="gnome-calculator")[-1:] == [answer])
        await watch.keys("alt+F4")
        await watch.one("window.closed", title="Calculator")
        await watch.one("app.vanished", app="gnome-calculator")


@needs("pcmanfm")
@pytest.mark.parametrize(("tabs", "button"), [(2, "OK"), (1, "Cancel")], ids=["right", "wrong"])
async def test_a_new_folder_in_a_file_manager_of_gtk_2(
    desktop: Desktop, tabs: int, button: str
) -> None:
    """Right: named and made, so the status bar counts it. Wrong: the dialog is dismissed, and it
    counts as before."""
    folder = desktop.folder / f"shelf-{button}"
    folder.mkdir()
    (folder / "a.txt").write_text("x")
    async with watching(desktop) as watch:
        desktop.start("pcmanfm", folder)
        await watch.one("window.opened", title=folder.name)
        await watch.window(f"^{folder.name}$")
        await watch.until(lambda: watch.texts(role="status bar")[-1:] == ["1 item"])
        await watch.keys("ctrl+shift+n")
        asked = await watch.one("window.opened", role="dialog", title="Creating New Folder")
        assert asked["modal"] is True
        await watch.until(lambda: watch.all("widget.focused", window=asked["window"], role="text"))
        await watch.type("reports")
        await watch.until(lambda: "reports" in watch.texts(window=asked["window"], role="text"))
        await watch.keys(*["Tab"] * tabs)
        await watch.one("widget.focused", role="push button", name=button)
        await watch.keys("space")
        await watch.one("window.closed", window=asked["window"])
        if button == "OK":
            await watch.until(lambda: watch.texts(role="status bar")[-1] == "2 items")
        assert [(one["widget"]["name"], one["by"]) for one in watch.all("widget.activated")] == [
            (button, "key")
        ]
        assert (folder / "reports").is_dir() == (button == "OK")
        assert ("2 items" in watch.texts(role="status bar")) == (button == "OK")


@pytest.mark.slow
@needs("libreoffice")
@pytest.mark.parametrize(("typed", "shown"), [("=1+2", "3"), ("=1+3", "4")], ids=["right", "wrong"])
async def test_a_cell_of_libreoffice_calc_is_told_when_it_is_left(
    desktop: Desktop, typed: str, shown: str
) -> None:
    """A cell's own text, not what was typed into it."""
    async with watching(desktop) as watch:
        desktop.start(
            "libreoffice",
            "--calc",
            "--norestore",
            "--nologo",
            f"-env:UserInstallation=file://{desktop.folder}/lo",
        )
        await watch.until(
            lambda: [one for one in watch.all("window.activated") if "Calc" in one["title"]]
        )
        await watch.window("LibreOffice Calc")
        await watch.until(lambda: "A1" in watch.texts(role="text"))
        await watch.keys("Down")
        await watch.one("widget.focused", role="table cell", name="A2")
        await watch.type(typed)
        await watch.keys("Return")
        await watch.one("widget.focused", role="table cell", name="A3")
        told = await watch.until(lambda: watch.texts(role="table cell", name="A2"))
        assert told == [shown]
        await asyncio.to_thread(desktop.keys, "ctrl+q")
        asked = await watch.until(
            lambda: [
                one for one in watch.all("window.opened") if one["role"] in ("alert", "dialog")
            ]
        )
        assert asked[0]["modal"] is True
