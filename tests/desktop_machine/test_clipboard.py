"""The clipboard beside real owners: xclip, desktop programs, and one that misbehaves as it is
told."""

from __future__ import annotations

import hashlib
import signal
from typing import Any

import pytest

from agentd.core.source import SourceLostError
from agentd.sources.clipboard import ClipboardSource
from agentd.sources.clipboard import reading as reading_module
from agentd.sources.clipboard import source as source_module
from tests.desktop_machine.conftest import Own, copy, paste
from tests.support import desktop
from tests.support.display import Display, needs_display
from tests.support.watching import Watch, running

pytestmark = [needs_display, desktop.needs("xclip")]
CARD = "4111 1111 1111 1111"


def source(display: str, *words: str, **plan: Any) -> ClipboardSource:
    return ClipboardSource(display, words or ("clipboard",), plan)


async def news(watch: Watch, **wanted: Any) -> dict[str, Any]:
    return await watch.one("clipboard.changed", baseline=None, **wanted)


async def test_what_is_copied_is_told(display: str) -> None:
    """What was there at the start as the baseline, then each copy with length and hash."""
    copy(display, "before")
    async with running(Watch(source(display))) as watch:
        (first,) = watch.all("clipboard.changed")
        assert (first["text"], first["baseline"]) == ("before", True)
        copy(display, "Käse")
        told = await news(watch)
        # xclip hands its connection to a child and ends: whoever looks in time sees its name.
        if "pid" in told:
            assert (told.pop("app"), told.pop("pid") > 0) == ("xclip", True)
        assert told == {
            "selection": "clipboard",
            "text": "Käse",
            "length": 4,
            "sha256": hashlib.sha256("Käse".encode()).hexdigest(),
            "types": ["UTF8_STRING"],
        }
        assert paste(display) == "Käse"


async def test_an_empty_clipboard_has_no_baseline(display: str) -> None:
    async with running(Watch(source(display))) as watch:
        assert not watch.seen


async def test_the_fence_brings_what_was_copied_before(display: str) -> None:
    """At a step's end the copy of the step is in the log, PRIMARY's too, though it does not rest
    yet."""
    async with running(Watch(source(display, "clipboard", "primary"))) as watch:
        copy(display, "one")
        copy(display, "two", "primary")
        await watch.fence()
        assert [(data["selection"], data["text"]) for _, data in watch.seen] == [
            ("clipboard", "one"), ("primary", "two"),
        ]  # fmt: skip


async def test_secrets_are_masked_and_not_hashed(display: str) -> None:
    """A hash of sixteen digits would give them away; the operator's names count too."""
    async with running(Watch(source(display))) as watch:
        copy(display, f"pay with {CARD} today")
        told = await news(watch)
        assert (told["text"], told["length"]) == ("pay with *** today", 34)
        assert "sha256" not in told


async def test_long_texts_are_cut(display: str) -> None:
    """Told in part, counted and hashed as a whole; xclip hands 300,000 bytes over piece by
    piece."""
    text = "0123456789" * 30_000
    async with running(Watch(source(display))) as watch:
        copy(display, text)
        told = await news(watch)
        assert (told["text"], told["length"], told["cut"]) == (text[:10_000], 300_000, True)
        assert told["sha256"] == hashlib.sha256(text.encode()).hexdigest()
        assert paste(display) == text


async def test_unread_asks_for_nothing(display: str, own: Own) -> None:
    """Only the change is told, and the owner hears nothing of it."""
    async with running(Watch(source(display, "clipboard", "unread"))) as watch:
        owner = own("secret")
        told = await news(watch)
        assert (told["app"], told["pid"], told["unread_reason"]) == ("Owner", owner.pid, "unasked")
        owner.kill()
        assert owner.communicate()[0] == ""


OWNERS: dict[str, dict[str, Any]] = {
    "secret": {"unread_reason": "secret", "types": ["UTF8_STRING", "x-kde-passwordManagerHint"]},
    "latin": {"text": "Käse", "length": 4, "types": ["STRING"]},
    "picture": {"unread_reason": "no text", "types": ["image/png"]},
    "refusing": {"unread_reason": "refused", "types": ["UTF8_STRING"]},
    "pieces": {"text": "é" * 10_000, "length": 150_000, "cut": True},
    "burst": {"text": "last", "length": 4},
}


@pytest.mark.parametrize("mode", OWNERS)
async def test_owners_of_many_kinds(display: str, own: Own, mode: str) -> None:
    """A password manager's hint is respected; there is text or a reason for none; 50 claims in a
    row are one."""
    async with running(Watch(source(display))) as watch:
        owner = own(mode)
        told = await news(watch)
        assert {name: told.get(name) for name in OWNERS[mode]} == OWNERS[mode]
        assert (told["app"], told["pid"]) == ("Owner", owner.pid)
        await watch.fence()
        assert len(watch.all("clipboard.changed", text=told.get("text"))) <= 3
        if mode == "secret":
            owner.kill()
            assert "UTF8_STRING" not in owner.communicate()[0].split()


@pytest.mark.parametrize("mode", ["silent", "endless"])
async def test_an_owner_that_does_not_come_to_an_end(
    display: str, own: Own, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source gives up in bounded time, says so, and hears the next owner."""
    monkeypatch.setattr(reading_module, "WHOLE_S", 1.0)
    async with running(Watch(source(display))) as watch:
        own(mode)
        assert (await news(watch))["unread_reason"] == "timeout"
        copy(display, "next")
        await news(watch, text="next")
        assert [kind for kind, _ in watch.seen] == [
            "gap.began",
            "clipboard.changed",
            "gap.ended",
            "clipboard.changed",
        ]


async def test_an_owner_that_hangs_holds_nothing_up(display: str, own: Own) -> None:
    """Stopped by SIGSTOP: another copy is told at once, the stopped one's text is not known, and it
    goes on later."""
    async with running(Watch(source(display))) as watch:
        owner = own("latin")
        await news(watch, app="Owner")
        owner.send_signal(signal.SIGSTOP)
        async with running(Watch(source(display))) as late:
            assert late.all("clipboard.changed", baseline=True)[0]["unread_reason"] == "timeout"
        copy(display, "next")
        await news(watch, text="next")
        owner.send_signal(signal.SIGCONT)
        assert owner.wait(60) == 0, "it noticed that it owns the clipboard no more"


async def test_an_owner_that_goes_leaves_nothing(display: str, own: Own) -> None:
    """As on a desktop without a clipboard manager."""
    async with running(Watch(source(display))) as watch:
        own("latin").kill()
        assert await news(watch, length=0) == {"selection": "clipboard", "length": 0}


async def test_a_display_that_goes_is_a_gap() -> None:
    """The supervisor records it and tries again."""
    with Display() as display:
        async with running(Watch(source(display.name))) as watch:
            display.__exit__(None, None, None)
            assert watch.task is not None
            with pytest.raises(SourceLostError, match=display.name):
                await watch.until(lambda: False)
    with pytest.raises(SourceLostError, match="can't be reached"):
        async with running(Watch(source(":4242"))):
            pass


@desktop.needs("mousepad", "featherpad")
async def test_copied_from_a_pasted_in_b() -> None:
    """From a GTK program to a Qt program: the log names the one that it was copied from, and
    pasting is untouched."""
    with desktop.Desktop() as desk:
        (desk.folder / "from.txt").write_text("Quest Lumaflex 42")
        (desk.folder / "to.txt").write_text("")
        async with running(Watch(source(desk.environ["DISPLAY"], "clipboard", "primary"))) as watch:
            desk.start("mousepad", desk.folder / "from.txt")
            desk.window("from.txt")
            desk.keys("ctrl+a", "ctrl+c")
            told = await news(watch, selection="clipboard")
            assert (told["app"].lower(), told["text"]) == ("mousepad", "Quest Lumaflex 42")
            selected = await news(watch, selection="primary", text="Quest Lumaflex 42")
            assert selected["app"].lower() == "mousepad"
            assert told["pid"] in desk.pids("mousepad")
            desk.start("featherpad", desk.folder / "to.txt")
            desk.window("to.txt")
            desk.keys("ctrl+v", "ctrl+s")
            while (desk.folder / "to.txt").read_text().strip() != "Quest Lumaflex 42":
                await watch.fence()
            desk.keys("ctrl+a", "ctrl+c")
            assert (await news(watch, app="FeatherPad"))["selection"] == "clipboard"
        assert paste(desk.environ["DISPLAY"]).strip() == "Quest Lumaflex 42"


@pytest.mark.parametrize(
    ("closing", "longest", "lost"), [(True, 20.0, 0), (True, 0.1, 1), (False, 0.1, 1)]
)
async def test_an_owner_that_takes_its_time_is_waited_for(
    display: str,
    own: Own,
    monkeypatch: pytest.MonkeyPatch,
    closing: bool,
    longest: float,
    lost: int,
) -> None:
    """Before a seal and at the close; what is not known even then is a loss."""
    for name in ("STEP_S", "CLOSE_S"):
        monkeypatch.setattr(source_module, name, longest)
    async with running(Watch(source(display))) as watch:
        own("silent")
        await watch.source.fence(0.05)
        assert not watch.all("clipboard.changed")
        await watch.source.before_seal(0, closing=closing)
        assert len(watch.all("events.dropped", source="clipboard")) == lost
        assert [data["unread_reason"] for data in watch.all("clipboard.changed")] == ["timeout"] * (
            longest > 1
        )


async def test_where_all_is_told_a_seal_does_not_wait(display: str) -> None:
    async with running(Watch(source(display))) as watch:
        await watch.source.fence(20)
        with pytest.raises(StopIteration):
            watch.source.before_seal(0, closing=True).send(None)
