"""What breaks is on record: the child, the accessibility registry, the bus itself, a program that
hangs."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.desktop.watching import Watch, watching
from tests.support.desktop import Desktop, listener_of, needs

pytestmark = needs("mousepad")


async def opened(watch: Watch, desktop: Desktop, name: str = "note.txt") -> subprocess.Popen[bytes]:
    """An editor with a file."""
    note = desktop.folder / name
    note.write_text("hello\n")
    process = desktop.start("mousepad", "--disable-server", note)
    await watch.until(
        lambda: [one for one in watch.all("window.activated") if name in one["title"]]
    )
    await watch.window(name)
    return process


def child_of_this_process() -> int:
    """The accessibility child's process id."""
    child = listener_of(os.getpid())
    assert child is not None
    return child


async def test_a_killed_child_is_a_gap_and_a_new_baseline(own_desktop: Desktop) -> None:
    """Killed in mid-edit: the next child finds what is there, as baseline; what is typed then is
    news."""
    async with watching(own_desktop) as watch:
        await opened(watch, own_desktop)
        os.kill(child_of_this_process(), signal.SIGKILL)
        await watch.until(lambda: watch.lives == 2)
        assert watch.lost == ["the accessibility child ended with -9"]
        assert [
            one["title"].rpartition("/")[2] for one in watch.all("window.opened", baseline=True)
        ] == ["note.txt - Mousepad"]
        assert watch.texts(baseline=True, role="text") == ["hello\n"]
        await watch.keys("ctrl+End")
        await watch.type("more")
        await watch.until(lambda: "hello\nmore" in watch.texts(baseline=None, role="text"))


async def test_a_window_that_went_while_nobody_watched_is_told_as_closed(
    own_desktop: Desktop,
) -> None:
    """Late, with the new baseline; the program with it."""
    async with watching(own_desktop) as watch:
        program = await opened(watch, own_desktop)
        child = child_of_this_process()
        os.kill(child, signal.SIGSTOP)
        own_desktop.end({program.pid})
        os.kill(child, signal.SIGKILL)
        await watch.until(lambda: watch.lives == 2)
        assert [one["title"].rpartition("/")[2] for one in watch.all("window.closed")] == [
            "note.txt - Mousepad"
        ]
        assert watch.all("app.vanished", app="mousepad")


async def test_a_killed_registry_is_a_gap(own_desktop: Desktop) -> None:
    """Programs keep their bus and come back by themselves."""
    async with watching(own_desktop) as watch:
        await opened(watch, own_desktop)
        (registry,) = own_desktop.pids("at-spi2-registryd")
        os.kill(registry, signal.SIGKILL)
        await watch.until(lambda: watch.lives == 2)
        assert watch.lost == ["the accessibility registry is gone"]
        await watch.until(
            lambda: (
                watch.all("window.opened", baseline=True) or watch.all("gap.began", part="mousepad")
            )
        )


async def test_a_killed_bus_blinds_the_programs_that_do_not_come_back(own_desktop: Desktop) -> None:
    """The bus is started again; a program of before runs on unseen, which is a partial gap until it
    ends."""
    async with watching(own_desktop) as watch:
        before = await opened(watch, own_desktop)
        (bus,) = own_desktop.pids("dbus-daemon")
        os.kill(bus, signal.SIGKILL)
        await watch.until(lambda: watch.lives == 2)
        assert watch.lost[0] == "the accessibility bus is gone"
        await watch.one("gap.began", source="ax", part="mousepad")
        await watch.one("alarm.raised", source="ax", part="mousepad")
        own_desktop.end({before.pid})
        await watch.one("gap.ended", source="ax", part="mousepad")
        await opened(watch, own_desktop, "after.txt")
        await watch.type("seen")
        await watch.until(
            lambda: [text for text in watch.texts(role="text") if text.startswith("seen")]
        )


@pytest.mark.slow
async def test_a_program_that_hangs_is_a_partial_gap(own_desktop: Desktop) -> None:
    """Stopped: it answers nothing, the others are heard all the same; running again, it is seen
    again."""
    async with watching(own_desktop) as watch:
        program = await opened(watch, own_desktop)
        os.kill(program.pid, signal.SIGSTOP)
        try:
            await watch.seal()
            await watch.one("gap.began", source="ax", part="mousepad")
        finally:
            os.kill(program.pid, signal.SIGCONT)
        await watch.one("gap.ended", source="ax", part="mousepad")
        assert watch.lives == 1
