"""A scene with everything that a person does on a page and sees there, for the golden recording of
it."""

from __future__ import annotations

from playwright.async_api import Page

from detectors.model.kinds.page import PAGE
from tests.cdp.site import Site
from tests.cdp.watching import Watch

PLAN = {
    "also": [name for name, kind in PAGE.items() if kind.asked],
    "attributes": ["aria-expanded"],
}
SECRET = "1234geheim"
BODY = """<title>Board</title><style>body { height: 3000px } #zone, #log { width: 300px; height: 60px; overflow: auto;
border: 1px solid } #log p { height: 500px } #chip { position: absolute; left: 500px; top: 20px; width: 40px;
height: 40px; background: gold } #stamp, #pen { width: 60px; height: 20px }</style><h1>Board</h1>
<form id=f action=/sent onsubmit="event.preventDefault()"><label>Name <input name=who></label>
<label>Code <input name=otp></label><button>Send</button></form>
<details id=more><summary>More</summary>inside</details>
<p><b id=card draggable=true>Card</b></p><div id=zone aria-label=Zone></div>
<div id=log role=log aria-label=Log><p>x</p></div>
<div id=menu role=button tabindex=0 aria-expanded=false
  onclick="this.setAttribute('aria-expanded', 'true'); note.hidden = !note.hidden">Menu</div>
<p id=note role=alert hidden>It is open</p><canvas id=pad width=100 height=40></canvas><div id=chip>chip</div>
<div id=stamp>stamp</div><p id=pen><input aria-label=Pen></p><script>
stamp.onmousedown = () => stamp.replaceWith('stamped');
card.ondragstart = (event) => event.dataTransfer.setData('text/plain', 'card 7');
zone.ondragover = (event) => event.preventDefault();
zone.ondrop = (event) => { event.preventDefault(); zone.append(card) };
let held = null;
chip.onpointerdown = (event) => { held = [event.clientX - chip.offsetLeft, event.clientY - chip.offsetTop] };
onpointermove = (event) => { if (held) { chip.style.left = event.clientX - held[0] + 'px';
  chip.style.top = event.clientY - held[1] + 'px' } };
onpointerup = () => { held = null };
</script>"""


async def acting(page: Page, site: Site, watch: Watch) -> None:
    """Typed, pasted, dragged, scrolled, opened: by a real pointer and real keys."""
    await page.goto(site.page("/", BODY))
    await watch.one("element.unobservable")
    await _write(page, watch)
    await _open(page, watch)
    await _carry(page, watch)
    await page.hover("#log")
    await watch.one("element.hovered")
    await page.mouse.wheel(0, 90)
    await watch.until(lambda: [data for data in watch.all("page.scrolled") if "element" in data])
    await page.click("#stamp")
    await watch.one("element.pressed")
    await page.locator("[aria-label=Pen]").press_sequentially("blue")
    await watch.one("field.filled", value="blue")
    await page.evaluate("pen.textContent = ''")
    await page.get_by_role("button", name="Send").click()
    await watch.one("form.submitted")
    await watch.one("field.removed")
    await watch.fence()


async def _write(page: Page, watch: Watch) -> None:
    await page.locator("[name=who]").press_sequentially("Ada")
    await page.locator("[name=otp]").press_sequentially(SECRET)
    await page.locator("[name=who]").press("Control+a")
    await watch.one("text.selected", text="Ada")
    await page.keyboard.press("Control+c")
    await page.keyboard.press("End")
    await page.keyboard.press("Control+v")
    await watch.one("field.filled", value="AdaAda")


async def _open(page: Page, watch: Watch) -> None:
    await page.click("summary")
    await watch.one("element.toggled")
    await page.click("#menu")
    await watch.one("attribute.changed")
    await watch.one("text.appeared", text="It is open")
    await page.dblclick("h1")
    await page.click("h1", button="right")
    await page.click("#menu")
    await watch.one("text.disappeared")
    await watch.one("element.disappeared")


async def _carry(page: Page, watch: Watch) -> None:
    await page.drag_and_drop("#card", "#zone")
    await watch.one("element.dropped")
    await page.mouse.move(520, 40)
    await page.mouse.down()
    await page.mouse.move(600, 90, steps=3)
    await page.mouse.up()
    await watch.one("element.dropped", by="pointer")
