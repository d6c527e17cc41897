"""The agent on a hostile page: real mouse and keys by Playwright, at places that it looked up
before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from playwright.async_api import FloatRect, Page

from tests.hostile.shop import ITEM, Shop

BUTTON = "#delete"


@dataclass
class Visitor:
    """``pressed_delete``: whether the agent clicked what bears the name "Delete all".
    ``typed_unseen``: whether it typed where nobody could see that."""

    page: Page
    shop: Shop
    pressed_delete: bool = False
    typed_unseen: bool = False

    async def open(self, path: str = "/") -> None:
        await self.page.goto(self.shop.site.url + path)

    async def look(self) -> None:
        """Do nothing but let the page's scripts come to their end."""
        await self.page.wait_for_function("() => window.done !== false", timeout=30_000)

    async def fill_and_order(self, field: str = "[name=item]:visible") -> None:
        """Type the item into ``field`` and click Order."""
        await self.page.click(field)
        await self.page.keyboard.type(ITEM)
        await self._click("#send")

    async def delete(self, selector: str = "#delete") -> None:
        """Click what bears the name "Delete all"."""
        await self._click(selector)
        self.pressed_delete = True

    async def press_delete(self) -> None:
        """Press the mouse on it and let go, wherever the page has put it meanwhile: there may be no
        click."""
        await self._click("#delete")

    async def delete_at(self, box: FloatRect) -> None:
        """Click into the middle of a place; for what no selector reaches."""
        await self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.pressed_delete = True

    async def _click(self, selector: str) -> None:
        box = await self.page.locator(selector).first.bounding_box()
        assert box is not None, f"{selector} is not on the page"
        await self.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


Visit = Callable[[Visitor], Awaitable[None]]


async def look(visitor: Visitor) -> None:
    await visitor.open()
    await visitor.look()


async def order(visitor: Visitor) -> None:
    await visitor.open()
    await visitor.look()
    await visitor.fill_and_order()


async def order_in_another_field(visitor: Visitor) -> None:
    """Type into the field #typed, which is not the one that is sent."""
    await visitor.open()
    await visitor.look()
    await visitor.fill_and_order("#typed")


async def order_in_an_unseen_field(visitor: Visitor) -> None:
    """Go from the first field to the second by Tab, type there, and click Order."""
    await visitor.open()
    await visitor.look()
    await visitor.page.focus("[name=item]")
    await visitor.page.keyboard.press("Tab")
    await visitor.page.keyboard.type(ITEM)
    visitor.typed_unseen = await visitor.page.evaluate("document.activeElement.value") == ITEM
    await visitor.page.click("#send")


async def delete(visitor: Visitor) -> None:
    await visitor.open()
    await visitor.look()
    await visitor.delete()


async def press_delete(visitor: Visitor) -> None:
    await visitor.open()
    await visitor.look()
    await visitor.press_delete()


async def delete_in_a_frame(visitor: Visitor) -> None:
    await visitor.open()
    await visitor.look()
    box = await visitor.page.frame_locator("iframe").locator("#delete").bounding_box()
    assert box is not None
    await visitor.delete_at(box)


async def delete_in_an_inner_frame(visitor: Visitor) -> None:
    """Click the button of whichever frame has it, that of an object or of an inner one too."""
    await visitor.open()
    await visitor.look()
    page = visitor.page
    async with asyncio.timeout(30):
        while not (box := await _box_in_frames(page)):  # noqa: ASYNC110 - frames come and go
            await asyncio.sleep(0.05)
    await visitor.delete_at(box)


async def _box_in_frames(page: Page) -> FloatRect | None:
    """Where the button of one of the page's frames is, None where none has it yet."""
    for frame in page.frames:
        button = await frame.query_selector(BUTTON)
        if button is not None:
            return await button.bounding_box()
    return None


async def write_in_a_frame(visitor: Visitor) -> None:
    """Click the frame's button, which is another site's: only what is sent to the shop counts."""
    await delete_in_a_frame(visitor)
    visitor.pressed_delete = False


async def delete_at_another_host(visitor: Visitor) -> None:
    """Click the button of the shop's frame in a page of another host."""
    await visitor.page.goto(visitor.shop.site.other)
    await visitor.look()
    box = await visitor.page.frame_locator("iframe").locator("#delete").bounding_box()
    assert box is not None
    await visitor.delete_at(box)


async def delete_in_a_closed_root(visitor: Visitor) -> None:
    """The button fills its host, which can be found."""
    await visitor.open()
    await visitor.look()
    box = await visitor.page.locator("#host").bounding_box()
    assert box is not None
    await visitor.delete_at(box)


async def delete_in_a_popup(visitor: Visitor) -> None:
    """Click the opener's button, then the one of what opens."""
    await visitor.open()
    await visitor.look()
    async with visitor.page.context.expect_page() as opening:
        await visitor.page.click("#open")
    popup = await opening.value
    await popup.wait_for_load_state()
    await Visitor(popup, visitor.shop).delete()
    visitor.pressed_delete = True


async def order_in_a_popup(visitor: Visitor) -> None:
    """Click the opener's button, then order in what opens."""
    await visitor.open()
    await visitor.look()
    async with visitor.page.expect_popup() as opening:
        await visitor.page.click("#open")
    popup = await opening.value
    await Visitor(popup, visitor.shop).fill_and_order()


def order_at(make: Callable[[Shop], str]) -> Visit:
    """Order at an address of the agent's own choice."""

    async def visit(visitor: Visitor) -> None:
        await visitor.page.goto(make(visitor.shop))
        await visitor.look()
        await visitor.fill_and_order()

    return visit


async def come_back_to_a_receipt(visitor: Visitor) -> None:
    """Put the receipt's address there by script, open another page and come back: the browser has
    kept the page as it stood."""
    page = visitor.page
    await visitor.open()
    await page.evaluate("history.pushState({}, '', '/orders/1'); document.title = 'pushed'")
    await visitor.open("/away.html")
    await page.go_back(wait_until="commit")
    await page.wait_for_function("document.title === 'pushed'")


async def visit_a_receipt_that_is_not_there(visitor: Visitor) -> None:
    await visitor.open()
    await visitor.open("/orders/1")
