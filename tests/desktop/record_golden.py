"""Records the golden files: `python -m tests.desktop.record_golden` drives real programs and writes
golden/.

`NAME.raw.jsonl` is what the fold was fed, and when it was asked what is due (``due``);
`NAME.seen.jsonl` what it told. The desktop's folder is written as /home/agent.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import orjson

from agentd.masking import Masker
from agentd.sources.ax.child import PYTHON
from agentd.sources.ax.fold import AxObservation, DesktopFold
from agentd.sources.ax.messages import Message
from tests.desktop.test_notices import NOTIFIER, notify
from tests.desktop.watching import Watch, watching
from tests.support.desktop import Desktop

GOLDEN = Path(__file__).with_name("golden")
DUE: Message = {"t": "due"}
EVERY = {
    "hears": None,
    "also": ["widget.text_inserted", "widget.text_deleted", "widget.added", "widget.removed"],
}


class Recording(DesktopFold):
    """A fold that keeps what it is fed."""

    lines: list[Message]

    def __init__(self, masker: Masker | None = None) -> None:
        super().__init__(masker)
        self.lines = Recording.lines = []

    def feed(self, message: Message) -> list[AxObservation]:
        self.lines.append(dict(message))
        return super().feed(message)

    def take_due(self) -> list[str]:
        self.lines.append(DUE)
        return super().take_due()


def replay(messages: Iterable[Message]) -> list[list[Any]]:
    """What a recording tells, as `[kind, data]`."""
    fold, told = DesktopFold(), []
    for message in messages:
        if message["t"] == "due":
            fold.take_due()
        else:
            told += [[say.kind, say.data] for say in fold.feed(message)]
    return told


async def editing(watch: Watch, desktop: Desktop) -> None:
    """GTK 3: a file is edited and saved; a menu; a switch of the find bar; a question on closing is
    dismissed."""
    note = desktop.folder / "note.txt"
    note.write_text("hello\n")
    desktop.start("mousepad", "--disable-server", note)
    await watch.one("window.activated", app="mousepad")
    await watch.window("note.txt")
    await watch.keys("ctrl+End", "BackSpace")
    await watch.type("world")
    await watch.keys("ctrl+s", "alt+e", "Down", "Escape", "ctrl+f")
    await watch.type("wor")
    await watch.keys("Escape")
    await watch.type("!")
    await watch.keys("alt+e")
    await watch.one("widget.focused", role="menu item", name="Undo")
    await watch.keys("Return", "ctrl+w")
    await asyncio.to_thread(desktop.end, desktop.running() - {desktop.pids("openbox")[0]})
    await watch.one("app.vanished", app="mousepad")


async def foldering(watch: Watch, desktop: Desktop) -> None:
    """GTK 2: a new folder, whose dialog is answered by a button."""
    (desktop.folder / "shelf").mkdir()
    desktop.start("pcmanfm", desktop.folder / "shelf")
    await watch.one("window.opened", title="shelf")
    await watch.window("^shelf$")
    await watch.keys("ctrl+shift+n")
    await watch.one("window.activated", role="dialog")
    await watch.type("reports")
    await watch.keys("Tab", "Tab", "space")
    await watch.one("window.closed", role="dialog")
    await watch.until(lambda: "1 item" in watch.texts(role="status bar"))


async def counting(watch: Watch, desktop: Desktop) -> None:
    """Qt: a spin button, a check box by the pointer; a notification."""
    desktop.start(PYTHON, NOTIFIER)
    desktop.start("featherpad", "--standalone")
    await watch.one("window.activated", app="FeatherPad")
    await watch.window("FeatherPad|Untitled")
    await watch.type("a")
    await watch.keys("Return", "Return", "ctrl+j")
    await watch.one("widget.focused", role="spin button")
    await watch.keys("Up")
    x, y = await watch.place("check box", "Select Text")
    await asyncio.to_thread(desktop.do, "mousemove", str(x), str(y), "sleep", "0.2", "click", "1")
    await watch.one("widget.activated", role="check box")
    while not await asyncio.to_thread(notify, desktop, "Backup", "It is done."):
        pass
    await watch.one("notification.shown")


SCENES: dict[str, Callable[[Watch, Desktop], Awaitable[None]]] = {
    "editing": editing, "foldering": foldering, "counting": counting
}  # fmt: skip


async def record(name: str) -> None:
    with Desktop() as desktop:
        async with watching(desktop, EVERY, Recording) as watch:
            await SCENES[name](watch, desktop)
            await watch.seal()
        raw = b"".join(orjson.dumps(line) + b"\n" for line in Recording.lines)
        raw = raw.replace(str(desktop.folder).encode(), b"/home/agent").replace(
            desktop.folder.name.encode(), b"agent"
        )
    seen = replay(orjson.loads(line) for line in raw.splitlines())
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / f"{name}.raw.jsonl").write_bytes(raw)
    (GOLDEN / f"{name}.seen.jsonl").write_bytes(
        b"".join(orjson.dumps(line) + b"\n" for line in seen)
    )


if __name__ == "__main__":
    for scene in sys.argv[1:] or SCENES:
        asyncio.run(record(scene))
