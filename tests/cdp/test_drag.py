"""Dragged and dropped: by the browser's own means, and by a page's own from pointer events, as far
as can be known."""

from __future__ import annotations

import pytest
from playwright.async_api import Page

from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

BOARD = """<style>#board { display: flex } ul { width: 200px; height: 200px; border: 1px solid }</style>
<div id=board><ul id=todo aria-label=Todo><li draggable=true id=card>Write</li></ul>
<ul id=done aria-label=Done></ul><p id=closed>Closed</p></div><script>
card.ondragstart = (event) => event.dataTransfer.setData('text/plain', 'card 7')
done.ondragover = (event) => event.preventDefault()
done.ondrop = (event) => { event.preventDefault(); done.append(card) }
</script>"""


async def test_a_drop_names_what_was_carried_and_onto_what(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", BOARD)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.drag_and_drop("#card", "#done")
        drop = await watch.one("element.dropped")
        await watch.fence()
        assert len(watch.all("element.dropped")) == 1, (
            "the pointer's part of it is no drag of its own"
        )
    assert (drop["element"]["text"], drop["target"]["name"], drop["trusted"]) == (
        "Write",
        "Done",
        True,
    )
    assert drop["text"] == "card 7"
    assert drop["target_ancestors"] == ["board"]
    assert drop["index"] == 0, "it has a new place: the first of the list"


async def test_nothing_is_dropped_where_nothing_takes_it(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", BOARD)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.drag_and_drop("#card", "#closed")
        await watch.fence()
        assert not watch.all("element.dropped")


CARRIED = """<style>* { margin: 0 } li { width: 200px; height: 30px }</style><ul id=list aria-label=List><li draggable=true id=one>One
<li draggable=true id=two>Two<li draggable=true id=three>Three</ul><script>
list.ondragstart = (event) => { window.held = event.target }
list.ondragenter = ({ target }) => { if (target.localName === 'li' && target !== held) target.after(held) }
</script>"""


@pytest.mark.parametrize("made", ["", "drop", "dragend"])
async def test_a_list_that_is_sorted_while_something_is_carried_needs_no_drop(
    browser: Chromium, page: Page, site: Site, made: str
) -> None:
    """Nor does an event that page script makes meanwhile (``made``) take its place."""
    makes = f"list.dispatchEvent(new DragEvent('{made}', {{bubbles: true}}))" if made else ""
    script = f"<script>list.addEventListener('dragenter', () => {{ {makes} }})</script>"
    async with watching(browser) as watch:
        await page.goto(site.page("/", CARRIED + script))
        await page.mouse.move(60, 15)
        await page.mouse.down()
        for y in (20, 30, 45, 60, 75):
            await page.mouse.move(60, y)
        await page.mouse.up()
        drop = await watch.one("element.dropped", trusted=True)
        await watch.fence()
        assert watch.all("element.pressed") == []
    assert (drop["element"]["id"], drop["index"], drop["trusted"]) == ("one", 2, True)


async def test_a_drop_by_page_script_is_not_trusted(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", BOARD)
    async with watching(browser) as watch:
        await page.goto(url)
        await page.evaluate("done.dispatchEvent(new DragEvent('drop', {bubbles: true}))")
        assert (await watch.one("element.dropped"))["trusted"] is False


async def test_text_dropped_into_a_field_fills_it_by_hand(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", "<p><i id=word>Word</i></p><input aria-label=Goal>")
    async with watching(browser) as watch:
        await page.goto(url)
        await page.dblclick("#word")
        await page.drag_and_drop("#word", "input")
        drop = await watch.one("element.dropped")
        filled = await watch.one("field.filled", value="Word")
    assert (drop["text"], drop["target"]["name"], drop["trusted"]) == ("Word", "Goal", True)
    assert filled["trusted"] is True


FREE = """<style>#box, #slot { position: absolute; width: 60px; height: 60px; left: 20px; top: 20px }
#slot { left: 300px; top: 200px; width: 120px; height: 120px; background: silver }</style>
<div id=slot aria-label=Slot></div><div id=box>Box</div><script>
let from = null
box.onmousedown = (event) => from = [event.clientX - box.offsetLeft, event.clientY - box.offsetTop]
onmousemove = (event) => { if (from) {
  box.style.left = event.clientX - from[0] + 'px'; box.style.top = event.clientY - from[1] + 'px' } }
onmouseup = () => from = null
</script>"""


async def drag(page: Page, start: tuple[int, int], end: tuple[int, int]) -> None:
    """Press, move in a few steps, let go."""
    await page.mouse.move(*start)
    await page.mouse.down()
    await page.mouse.move(*end, steps=4)
    await page.mouse.up()


async def test_an_element_that_follows_the_pointer_is_dropped_where_it_is_let_go(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", FREE)
    async with watching(browser) as watch:
        await page.goto(url)
        await drag(page, (50, 50), (350, 250))
        drop = await watch.one("element.dropped")
    assert (drop["element"]["id"], drop["target"]["id"], drop["trusted"]) == ("box", "slot", True)
    assert (drop["by"], drop["moved"]) == ("pointer", [300, 200])


SORTED = """<style>li { height: 30px; list-style: none }</style><ol id=list><li>A<li>B<li>C</ol><script>
let held = null
list.onpointerdown = (event) => held = event.target
list.onpointerup = (event) => { if (held && event.target !== held) event.target.after(held); held = null }
</script>"""


async def test_an_item_that_changes_its_place_by_a_drag_is_dropped(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page("/", SORTED)
    async with watching(browser) as watch:
        await page.goto(url)
        boxes = [await page.get_by_text(letter, exact=True).bounding_box() for letter in "AC"]
        (x, y), (_, below) = [(int(box["x"]) + 20, int(box["y"]) + 10) for box in boxes if box]
        await drag(page, (x, y), (x, below))
        drop = await watch.one("element.dropped")
    assert (drop["element"]["text"], drop["target"]["text"], drop["index"]) == ("A", "C", 2)
    assert drop["target_ancestors"] == ["list"]


async def test_a_selection_and_a_drawn_line_are_no_drags(
    browser: Chromium, page: Page, site: Site
) -> None:
    url = site.page(
        "/",
        "<p>Some words that are selected</p><canvas width=300"
        " height=200></canvas><button>Go</button>",
    )
    async with watching(browser) as watch:
        await page.goto(url)
        await drag(page, (12, 25), (120, 25))
        await drag(page, (30, 90), (200, 150))
        await page.click("button")
        await watch.until(lambda: watch.clicked("Go"))
        await watch.fence()
        assert not watch.all("element.dropped")
