"""The screen: pictures after steps, of an X display and of the browser's tab in front, which
notices nothing."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from playwright.async_api import Dialog, async_playwright

from agentd.core.source import SourceLostError
from agentd.readers.picture_measures import cells, changed_share, encode, phash
from agentd.sources.screen import ScreenSource
from agentd.sources.screen.cdp import CdpCamera
from agentd.sources.screen.store import ShotStore
from agentd.sources.screen.x11 import X11Camera
from tests.desktop_machine.conftest import Own
from tests.support.chromium import Chromium, needs_chromium
from tests.support.desktop import needs
from tests.support.display import needs_display
from tests.support.watching import Watch, running

MUCH = 1 << 28


async def after(watch: Watch, step: int) -> dict[str, Any]:
    """Seal a step, and give the picture after it."""
    source = watch.source
    assert isinstance(source, ScreenSource)
    source.after_seal(step)
    return await watch.one("screen.captured", step=step)


@needs_display
@needs("xsetroot")
async def test_a_picture_after_every_step(tmp_path: Path, display: str, own: Own) -> None:
    """One before all steps, one after each; one that is the same as before is kept once."""
    own("latin")  # without any program, the server forgets what was painted
    folder = tmp_path / "screens"
    async with running(Watch(ScreenSource(lambda: X11Camera(display), folder, MUCH))) as watch:
        (first,) = watch.all("screen.captured")
        assert (first["baseline"], first["width"], first["height"], first["backend"]) == (
            True,
            1280,
            900,
            "x11",
        )
        assert not {"step", "changed"} & set(first)
        same = await after(watch, 0)
        assert (same["sha256"], same["changed"]) == (first["sha256"], 0.0)
        await paint(display, "#336699")
        other = await after(watch, 1)
        assert other["changed"] == 1.0
        assert other["sha256"] != first["sha256"]
    files = sorted(folder.iterdir())
    assert [file.name for file in files] == sorted(
        f"{one['sha256']}.webp" for one in (first, other)
    )
    for file in files:
        assert hashlib.sha256(file.read_bytes()).hexdigest() == file.stem
        with Image.open(file) as image:
            assert image.size == (1280, 900)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700, (
        "others have no business with what the screen showed"
    )


@needs_display
@needs("xsetroot")
async def test_with_visual_each_picture_is_told_once(
    tmp_path: Path, display: str, own: Own
) -> None:
    own("latin")
    source = ScreenSource(lambda: X11Camera(display), tmp_path, MUCH, tells=True)
    async with running(Watch(source)) as watch:
        await after(watch, 0)
        await paint(display, "#336699")
        other = await after(watch, 1)
        told = await watch.one("visual.screenshot_taken", sha256=other["sha256"])
        assert hashlib.sha256(base64.b64decode(told["base64"])).hexdigest() == other["sha256"]
        assert len(watch.all("visual.screenshot_taken")) == 2, (
            "the one that is the same as before is not told again"
        )


async def paint(display: str, color: str) -> None:
    """Fill the screen."""
    process = await asyncio.create_subprocess_exec("xsetroot", "-display", display, "-solid", color)
    assert await process.wait() == 0


@needs_display
async def test_the_close_waits_for_the_last_picture(tmp_path: Path, display: str) -> None:
    """Of a step that was sealed a moment ago, and of one that never was; other seals wait for
    nothing."""
    source = ScreenSource(lambda: X11Camera(display), tmp_path, MUCH)
    async with running(Watch(source)) as watch:
        source.after_seal(0)
        await source.before_seal(1, closing=False)
        await source.fence(0.1)
        assert not watch.all("screen.captured", step=0), "nobody waited"
        await source.before_seal(0, closing=True)
        assert [data["step"] for data in watch.all("screen.captured", baseline=None)] == [0]
        await source.before_seal(1, closing=True)
        (last,) = watch.all("screen.captured", step=1)
        assert "ms" not in last, "it was not sealed"


@needs_display
@pytest.mark.parametrize("regions", [(), ((0, 0, 64, 64),)], ids=["for people", "for rules"])
async def test_a_last_picture_that_is_late_is_a_gap_for_rules(
    tmp_path: Path,
    display: str,
    monkeypatch: pytest.MonkeyPatch,
    regions: tuple[tuple[int, ...], ...],
) -> None:
    """What it would have shown is not known; without regions no rule asks."""
    monkeypatch.setattr("agentd.sources.screen.source.CLOSE_S", 0.0)
    source = ScreenSource(lambda: X11Camera(display), tmp_path, MUCH, regions=regions)
    async with running(Watch(source)) as watch:
        await source.before_seal(3, closing=True)
        assert not watch.all("screen.captured", step=3), "nobody waited"
        gaps = [gap["reason"] for gap in watch.all("gap.began", part="screen.captured")]
        late = "the last picture, of step 3, did not come in time"
        assert gaps == [late for _ in regions]
        assert watch.all("alarm.raised", reason=late)


@needs_display
async def test_a_late_picture_at_a_close_between_two_steps_is_of_no_step_that_is_named(
    tmp_path: Path, display: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The close waits for what is under way, and no step is open."""
    monkeypatch.setattr("agentd.sources.screen.source.CLOSE_S", 0.0)
    source = ScreenSource(lambda: X11Camera(display), tmp_path, MUCH)
    async with running(Watch(source)) as watch:
        source.after_seal(3)
        await source.before_seal(None, closing=True)
        (alarm,) = watch.all("alarm.raised")
    assert alarm["reason"] == "the last picture did not come in time"


@needs_display
async def test_steps_faster_than_pictures(tmp_path: Path, display: str) -> None:
    """The newest one is taken, and that one is missing is said; ``ms`` says how late a picture
    is."""
    source = ScreenSource(lambda: X11Camera(display), tmp_path, MUCH)
    async with running(Watch(source)) as watch:
        for step in range(3):
            source.after_seal(step)
        last = await watch.one("screen.captured", step=2)
        assert last["delay_ms"] >= 0
        (alarm,) = watch.all("alarm.raised")
        assert "no picture of step 0" in alarm["reason"]
        assert watch.all("alarm.ended", part=alarm["part"])


@needs_display
@needs("xsetroot")
async def test_at_the_cap_nothing_is_kept_and_it_is_said(
    tmp_path: Path, display: str, own: Own
) -> None:
    """What a log names stays: the new picture is told, but not kept."""
    own("latin")
    async with running(Watch(ScreenSource(lambda: X11Camera(display), tmp_path, MUCH))) as watch:
        size = watch.all("screen.captured")[0]["bytes"]
    async with running(
        Watch(ScreenSource(lambda: X11Camera(display), tmp_path, size + 10))
    ) as watch:
        assert "kept" not in watch.all("screen.captured")[0], "it is there from before"
        await paint(display, "#996633")
        assert (await after(watch, 0))["kept"] is False
        assert "--screens-max" in (await watch.one("alarm.raised"))["reason"]
        await paint(display, "black")
        await after(watch, 1)
        await watch.one("alarm.ended")
    assert len(os.listdir(tmp_path)) == 1


def test_the_store_counts_what_it_finds(tmp_path: Path) -> None:
    """A daemon that starts again keeps to the same cap."""
    assert ShotStore(tmp_path, 10).keep("a", b"12345678") is None
    again = ShotStore(tmp_path, 10)
    assert again.keep("a", b"12345678") is None, "the same once more takes no room"
    assert "cap of 10 bytes" in str(again.keep("b", b"123"))
    assert again.keep("c", b"12") is None


async def test_a_display_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceLostError, match=":4242"):
        async with running(Watch(ScreenSource(lambda: X11Camera(":4242"), tmp_path, MUCH))):
            pass


class Relay:
    """A display of its own number that passes ``display`` on until it ends: the number of an X
    server that ended is soon another one's. ``only_setup``: each connection ends with the server's
    first answer."""

    def __init__(self, display: str, *, only_setup: bool = False) -> None:
        self._socket = f"/tmp/.X11-unix/X{display.removeprefix(':')}"
        self._only_setup = only_setup
        self._ends: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> Relay:
        self._server = await asyncio.start_server(self._pass_on, "127.0.0.1", 0)
        self.name = f"127.0.0.1:{self._server.sockets[0].getsockname()[1] - 6000}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for end in self._ends:
            end.close()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(self._socket)
        self._ends += [writer, to_server]
        if not self._only_setup:
            await asyncio.gather(_pump(reader, to_server), _pump(from_server, writer))
            return
        to_server.write(await reader.read(4096))
        head = await from_server.readexactly(8)
        words = int.from_bytes(head[6:], sys.byteorder)
        writer.write(head + await from_server.readexactly(4 * words))
        await writer.drain()
        writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on all that comes, and the end."""
    with suppress(OSError):
        while some := await reader.read(1 << 16):
            writer.write(some)
            await writer.drain()
    writer.close()


@needs_display
async def test_a_display_that_goes_while_a_picture_connects(tmp_path: Path, display: str) -> None:
    """The server lets the client in, and ends before it answers anything: the display is gone."""
    async with Relay(display, only_setup=True) as relay:
        with pytest.raises(SourceLostError, match=relay.name):
            async with running(Watch(ScreenSource(lambda: X11Camera(relay.name), tmp_path, MUCH))):
                pass


@needs_display
async def test_a_display_that_goes(tmp_path: Path, display: str) -> None:
    """It is noticed with the next picture, and no alarm stays behind."""
    async with (
        Relay(display) as relay,
        running(Watch(ScreenSource(lambda: X11Camera(relay.name), tmp_path, MUCH))) as watch,
    ):
        await relay.__aexit__()
        with pytest.raises(SourceLostError, match=relay.name):
            await after(watch, 0)
        assert not watch.all("alarm.raised")


PAGE = """<title>one</title><input id=i><div style='height:3000px'>tall</div><script>
heard = [];
for (const name of ['resize', 'focus', 'blur', 'scroll', 'pagehide', 'pageshow', 'freeze', 'orientationchange'])
  addEventListener(name, () => heard.push(name), true);
document.addEventListener('visibilitychange', () => heard.push(document.visibilityState));
new ResizeObserver(() => heard.push('resized')).observe(document.documentElement);
visualViewport.addEventListener('resize', () => heard.push('viewport'));
matchMedia('(min-width: 500px)').addEventListener('change', () => heard.push('media'));
state = () => [innerWidth, innerHeight, outerWidth, outerHeight, devicePixelRatio, scrollX, scrollY, history.length,
  document.hasFocus(), document.visibilityState, document.activeElement.id, Object.keys(window).length, heard];
</script>"""


@pytest.mark.slow_where("headful")
@pytest.mark.browser
@needs_chromium
@needs_display
@pytest.mark.parametrize("headless", [True, False], ids=["headless", "headful"])
async def test_a_page_does_not_notice(tmp_path: Path, display: str, headless: bool) -> None:
    """No event, no size, no focus, no visibility is other after ten pictures; the tab behind stays
    hidden too."""
    async with (
        Chromium(headless=headless, display=display) as browser,
        async_playwright() as playwright,
    ):
        agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
        page = agent.contexts[0].pages[0]
        await page.set_content(PAGE)
        await page.focus("#i")
        await page.mouse.wheel(0, 300)
        await page.wait_for_function("scrollY > 0")
        # Until it stands still: a scroll's events come late.
        while (before := await page.evaluate("state()")) != await page.evaluate("state()"):
            pass
        source = ScreenSource(lambda: CdpCamera(browser.endpoint, None), tmp_path, MUCH)
        async with running(Watch(source)) as watch:
            for step in range(10):
                shot = await after(watch, step)
            assert (shot["width"], shot["height"], shot["backend"]) == (*before[:2], "cdp")
            assert await page.evaluate("state()") == before
            front = await agent.contexts[0].new_page()
            await front.set_content("<title>two</title>")
            shown = await page.evaluate("state()")
            assert (await after(watch, 10))["tab"] != shot["tab"], "the tab in front is taken"
            assert await page.evaluate("state()") == shown
            await front.close()
            assert (await after(watch, 11))["tab"] == shot["tab"]
        await agent.close()


@pytest.mark.browser
@needs_chromium
async def test_a_tab_in_a_dialog_gives_no_picture(tmp_path: Path) -> None:
    """That is said in bounded time, and the dialog is left to its user."""
    async with Chromium() as browser, async_playwright() as playwright:
        agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
        page = agent.contexts[0].pages[0]
        asked: asyncio.Future[Dialog] = asyncio.get_running_loop().create_future()
        page.on("dialog", lambda dialog: asked.set_result(dialog))
        source = ScreenSource(lambda: CdpCamera(None, browser.profile), tmp_path, MUCH)
        async with running(Watch(source)) as watch:
            answer = asyncio.create_task(page.evaluate("confirm('Sure?')"))
            dialog = await asked
            source.after_seal(0)
            assert "dialog" in (await watch.one("alarm.raised"))["reason"]
            await dialog.accept()
            assert await answer is True
            await after(watch, 1)
            assert watch.all("alarm.ended")
            assert not watch.all("screen.captured", step=0)
        await agent.close()


@pytest.mark.browser
@needs_chromium
async def test_a_browser_that_goes_is_a_gap(tmp_path: Path) -> None:
    with Chromium() as browser:
        source = ScreenSource(lambda: CdpCamera(browser.endpoint, None), tmp_path, MUCH)
        async with running(Watch(source)) as watch:
            await asyncio.to_thread(browser.kill)
            with pytest.raises(SourceLostError):
                await watch.until(lambda: False)


def picture(
    *boxes: tuple[int, int, int, int], size: tuple[int, int] = (1280, 900), color: str = "black"
) -> Image.Image:
    """White, with boxes."""
    image = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(image)
    for box in boxes:
        draw.rectangle(box, fill=color)
    return image


SHARES: dict[str, tuple[Image.Image, float, float]] = {
    "nothing": (picture(), 0.0, 0.0),
    "a caret": (picture((100, 100, 101, 116)), 0.0003, 0.001),
    "a letter": (picture((100, 100, 102, 112), (104, 100, 106, 112)), 0.0003, 0.001),
    "one colour for another of the same brightness": (
        picture((0, 0, 639, 899), color="#ffff00"),
        0.49,
        0.51,
    ),
    "a dialog in the middle": (picture((320, 225, 960, 675)), 0.24, 0.27),
    "everything": (picture((0, 0, 1280, 900)), 1.0, 1.0),
}


@pytest.mark.parametrize("what", SHARES)
def test_how_much_changed(what: str) -> None:
    """From a white screen to this."""
    now, least, most = SHARES[what]
    assert least <= changed_share(cells(picture()), cells(now)) <= most


def test_alike_pictures_have_alike_hashes() -> None:
    """A letter more or another size changes few of 64 bits, another window many; the file is that
    of its pixels."""
    window = [(100, 80, 700, 600), (760, 300, 1200, 860), (20, 700, 300, 880)]
    desktop = picture(*window)
    letter = picture(*window, (800, 100, 808, 112))
    smaller = desktop.resize((640, 450))
    other = picture((600, 20, 1270, 500), (30, 500, 500, 890))

    def apart(one: Image.Image, two: Image.Image) -> int:
        return (int(phash(one), 16) ^ int(phash(two), 16)).bit_count()

    assert len(phash(desktop)) == 16
    assert max(apart(desktop, letter), apart(desktop, smaller)) <= 2
    assert apart(desktop, other) >= 10
    assert encode(desktop) == encode(desktop.copy()) != encode(letter)


@needs_chromium
async def test_regions_that_rules_ask_for_are_measured(tmp_path: Path) -> None:
    """Each by its brightnesses and its hash; one that is not whole on the screen is left out."""
    async with Chromium() as browser, async_playwright() as playwright:
        agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
        page = await agent.contexts[0].new_page()
        await page.set_content(
            "<body style='margin: 0'><div style='width: 80px; height: 80px;"
            " background: linear-gradient(90deg, black, white)'></div>"
        )
        await page.bring_to_front()
        regions = [[0, 0, 80, 80], [0, 0, 99_999, 10]]
        source = ScreenSource(
            lambda: CdpCamera(browser.endpoint, None), tmp_path, MUCH, regions=regions
        )
        async with running(Watch(source)) as watch:
            told = await after(watch, 0)
        await agent.close()
    [measured] = told["regions"]
    cells = base64.b64decode(measured["gray"])
    assert (measured["region"], len(cells)) == ([0, 0, 80, 80], 64 * 64)
    assert cells[0] < 20
    assert cells[63] > 235
    assert measured["phash"] == "0" * 16, "brightness falls nowhere"
