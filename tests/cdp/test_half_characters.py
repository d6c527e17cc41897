"""A page may hold halves of characters (lone surrogates) anywhere; they blind nobody."""

from __future__ import annotations

import orjson
import pytest
from playwright.async_api import Dialog, Page

from common.devtools_messages import decode_message
from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

PAGE = r"""<button id=b>x</button><input id=i aria-label=Name><script>
b.textContent = "Go \ud800!"; document.title = "half \udc00";
b.onclick = () => { history.pushState(0, "", "/next?q=\ud800"); confirm("Really \ud800?"); i.value = "\ud800";
i.dispatchEvent(new Event("input", {bubbles: true})); };</script>"""


@pytest.mark.browser
@needs_chromium
async def test_halves_of_characters_blind_nobody(browser: Chromium, page: Page, site: Site) -> None:
    """In a name, a title, an address, a dialog and a value; what follows is still seen."""

    async def accept(dialog: Dialog) -> None:
        await dialog.accept()

    page.on("dialog", accept)
    async with watching(browser) as watch:
        await page.goto(site.page("/", PAGE))
        await page.click("#b")
        clicked = await watch.one("element.clicked")
        assert clicked["element"]["name"].startswith("Go ")
        closed = await watch.one("dialog.closed")
        assert closed["message"].startswith("Really ")
        await watch.one("field.filled")
        assert all(orjson.dumps(data) for _, data in watch.seen)


def test_a_message_with_half_a_character_is_read() -> None:
    """As Chrome may write it."""
    assert decode_message('{"a":"x\\ud800y","b":1}') == {"a": "x\ufffdy", "b": 1}
    assert decode_message(b'{"a":"\\ud83d\\ude00"}') == {"a": "\U0001f600"}
