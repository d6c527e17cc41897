"""An agent that uses no CDP at all: a browser with a window, a pointer and keys from X; all of it
told, and trusted."""

from __future__ import annotations

import asyncio

import pytest

from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.desktop import Desktop, needs

pytestmark = [pytest.mark.browser, needs_chromium, needs()]

KINDS = ["field.typed", "element.focused", "element.hovered", "page.scrolled", "text.selected"]
# The window tells where its page begins on the screen.
PAGE = """<style>body { margin: 0; height: 3000px } body > * { position: absolute; margin: 0; height: 30px }</style>
<input id=a aria-label=First style="left: 20px; top: 20px; width: 200px">
<input id=b aria-label=Second style="left: 20px; top: 70px; width: 200px">
<select aria-label=Size style="left: 20px; top: 120px; width: 200px"><option>S<option>M</select>
<label style="left: 20px; top: 170px"><input type=checkbox aria-label=Gift> Gift</label>
<details style="left: 20px; top: 220px"><summary>More</summary>inside</details>
<b id=card style="left: 300px; top: 20px; width: 80px; background: gold; user-select: none">Card</b>
<div id=zone aria-label=Zone style="left: 300px; top: 120px; width: 200px; height: 120px; background: silver"></div>
<script>
let held = null;
card.onpointerdown = (event) => { held = [event.clientX - card.offsetLeft, event.clientY - card.offsetTop] };
onpointermove = (event) => { if (held) { card.style.left = `${event.clientX - held[0]}px`;
  card.style.top = `${event.clientY - held[1]}px` } };
onpointerup = () => { held = null };
const edge = () => [screenX + (outerWidth - innerWidth) / 2, screenY + outerHeight - innerHeight];
onmousemove = () => { document.title = `at ${edge().join(' ')}` };
</script>"""


class Hand:
    """The pointer and the keys, in the page's own pixels."""

    def __init__(self, desktop: Desktop) -> None:
        self._desktop = desktop
        self.corner = (0, 0)

    async def do(self, *command: str) -> None:
        await asyncio.to_thread(self._desktop.do, *command)

    async def move(self, x: int, y: int) -> None:
        await self.do("mousemove", str(self.corner[0] + x), str(self.corner[1] + y))

    async def click(self, x: int, y: int, button: int = 1, times: int = 1) -> None:
        await self.move(x, y)
        await self.do("click", "--repeat", str(times), "--delay", "40", str(button))

    async def keys(self, *keys: str) -> None:
        await self.do("key", "--delay", "40", *keys)

    async def type(self, text: str) -> None:
        await self.do("type", "--delay", "20", text)


async def find(hand: Hand, watch: Watch) -> None:
    """Learn where the page stands on the screen, from its title."""
    await watch.one("tab.activated", baseline=True)
    said = list[dict[str, str]]()
    while not said:  # the window may not have come up yet
        await hand.move(400, 300)
        await hand.move(400, 310)
        said = [one for one in watch.all("page.title_changed") if one["title"].startswith("at ")]
    x, y = said[-1]["title"].split()[1:]
    hand.corner = (int(float(x)), int(float(y)))


async def test_real_keys_and_a_real_pointer_are_told_and_trusted(site: Site) -> None:
    url = site.page("/", PAGE)
    with Desktop() as desktop:
        size = ("--window-position=0,0", "--window-size=900,700")
        async with (
            Chromium(*size, headless=False, display=desktop.environ["DISPLAY"], url=url) as browser,
            watching(browser, {"also": KINDS}) as watch,
        ):
            hand = Hand(desktop)
            await find(hand, watch)
            await hand.click(60, 35)
            await hand.type("Ada")
            await watch.one("field.typed", text="Ada", trusted=True)
            await hand.keys("ctrl+a", "ctrl+c", "Tab")
            assert (await watch.one("text.copied", trusted=True))["text"] == "Ada"
            await hand.keys("ctrl+v")
            assert (await watch.one("text.pasted", trusted=True))["element"]["name"] == "Second"
            await watch.until(lambda: [d for d in watch.all("field.filled", value="Ada", trusted=True)
                                       if d["element"]["name"] == "Second"])  # fmt: skip
            await hand.keys("Tab", "Down")
            await watch.one("field.filled", value="M", trusted=True)
            await hand.click(28, 185)
            await watch.one("field.filled", checked=True, trusted=True)
            await hand.click(60, 232)
            await watch.one("element.toggled", open=True, trusted=True)
            await hand.click(400, 300, times=2)
            await watch.one("element.double_clicked", trusted=True)
            await hand.move(340, 30)
            await watch.until(
                lambda: [
                    d for d in watch.all("element.hovered") if d["element"].get("id") == "card"
                ]
            )
            await hand.do("mousedown", "1")
            for x, y in ((345, 60), (360, 110), (380, 170), (382, 172)):
                await hand.move(x, y)
            await hand.do("mouseup", "1")
            dropped = await watch.one("element.dropped", trusted=True)
            assert (dropped["element"]["id"], dropped["target"]["name"]) == ("card", "Zone")
            await hand.do("click", "5")
            await watch.one("page.scrolled")
            await hand.click(400, 300, button=3)
            await watch.one("element.right_clicked", trusted=True)
            await hand.keys("Escape")
            told = [data for _, data in watch.seen if "trusted" in data]
    assert all(data["trusted"] for data in told), [data for data in told if not data["trusted"]]
