"""What a field holds is what stands in the page: text that a page takes at once was filled in, what
is drawn anew holds what it was drawn with, and what is gone holds nothing."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from playwright.async_api import Page

from agentd.core.source import FenceLateError
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import Said, began, ruleset, run, worth

pytestmark = [pytest.mark.browser, needs_chromium]

CLEAR = (
    "if (event.key === 'Enter') { out.append(this.value ?? this.innerText); %s;"
    " event.preventDefault() }"
)
CLEARING = {
    "keydown": f"""<input id=i aria-label=Todo onkeydown="{CLEAR % "this.value = ''"}">""",
    "keyup": f"""<input id=i aria-label=Todo onkeyup="{CLEAR % "this.value = ''"}">""",
    "a text area": (
        f"""<textarea id=i aria-label=Todo onkeydown="{CLEAR % "this.value = ''"}"></textarea>"""
    ),
    "an editor": (
        f"""<div contenteditable id=i aria-label=Todo onkeydown="{CLEAR % "this.textContent = ''"}"></div>"""
    ),
    "a form": (
        """<form onsubmit="out.append(i.value); i.value = ''; return false">
      <input id=i aria-label=Todo></form>"""
    ),
    "an editor that is taken away": (
        """<p id=p><i id=i contenteditable aria-label=Todo onkeydown="if (event.key === 'Enter') {
      out.append(this.textContent); event.preventDefault(); this.remove() }"></i></p>"""
    ),
    "the last letter": (
        """<input id=i aria-label=Todo oninput="if (this.value === 'Buy milk') { out.append(this.value);
      this.value = '' }">"""
    ),
    "drawn anew": (
        """<p id=p><input id=i aria-label=Todo onkeydown="if (event.key === 'Enter') {
      const own = p.innerHTML; out.append(this.value); p.innerHTML = ''; p.innerHTML = own; i.focus() }"></p>"""
    ),
}


ENDING = {
    "a comma": "if (this.value.endsWith(',')) { out.append(this.value.slice(0, -1)); this.value = '' }",
    "a space, later": (
        "if (this.value === 'milk ') Promise.resolve().then(() => { out.append(this.value.trim());"
        " this.value = '' })"
    ),
}


@pytest.mark.parametrize("delay", [0, 5, 40])
@pytest.mark.parametrize(
    ("typed", "held", "taking"),
    [
        (typed, held, ENDING[name])
        for name, typed, held in (
            ("a comma", "milk,", "milk"),
            ("a space, later", "milk ", "milk "),
        )
    ],
    ids=ENDING,
)
async def test_what_a_mark_at_its_end_clears_was_filled_in(
    browser: Chromium, page: Page, site: Site, typed: str, held: str, taking: str, delay: int
) -> None:
    """As fields for labels and addresses do: what they take is not what stood there at last. A
    condition on the value does not count the space."""
    to = {"id": "to", "when": {"field_filled": {"field": "To", "value": "milk"}}}
    rules = ruleset(to, origin=site.url)
    async with watching(browser) as watch:
        await page.goto(
            site.page("/", f'<input id=i aria-label=To oninput="{taking}"><p id=out></p>')
        )
        await page.focus("#i")
        await page.keyboard.type(typed, delay=delay)
        await fenced(watch)
        assert await page.inner_text("#out") == "milk"
        assert watch.all("field.filled", value=held, trusted=True)
        [reward] = run(rules, ("episode.opened", {}), began(0), *watch.seen, ("episode.closed", {}))
        assert [one.id for one in reward.milestones if one.worth] == ["to"]
        assert watch.all("field.filled")[-1]["value"] == ""


async def fenced(watch: Watch) -> None:
    """What the daemon does between a step's end and its seal."""
    with contextlib.suppress(FenceLateError):
        await watch.source.fence(1.0)
    await watch.source.before_seal(0, closing=False)


@pytest.mark.parametrize("delay", [0, 5, 20, 40])
@pytest.mark.parametrize("body", CLEARING.values(), ids=CLEARING)
async def test_what_enter_clears_was_filled_in(
    browser: Chromium, page: Page, site: Site, body: str, delay: int
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", f"{body}<p id=out></p>"))
        await page.focus("#i")
        await page.keyboard.type("Buy milk", delay=delay)
        await page.keyboard.press("Enter")
        await fenced(watch)
        assert await page.inner_text("#out") == "Buy milk"
        assert watch.all("field.filled", value="Buy milk", trusted=True)
        last = watch.all("field.filled")[-1]
        is_gone = bool(watch.all("field.removed"))
    assert is_gone or last["value"].strip() == "", "and it holds nothing now"


@pytest.mark.parametrize("event", ["oninput", "onchange"])
async def test_an_option_that_a_page_takes_at_once_was_chosen(
    browser: Chromium, page: Page, site: Site, event: str
) -> None:
    body = f"""<select id=s aria-label=Do {event}="out.append(this.value); this.selectedIndex = 0">
      <option value=''>Choose<option>Sort</select><p id=out></p>"""
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        await page.focus("#s")
        await page.keyboard.press("ArrowDown")
        await fenced(watch)
        assert await page.inner_text("#out") == "Sort"
        told = [(data["value"], data["trusted"]) for data in watch.all("field.filled")]
    assert ("Sort", True) in told
    assert told[-1][0] == ""


REFUSING = "if (!/^[0-9]*$/.test(this.value)) this.value = ''"


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["abc"], id="into an empty field"),
        pytest.param(["a"], id="a letter into an empty field"),
        pytest.param(["abc", "x"], id="twice"),
        pytest.param(["12", "x"], id="in place of what it took"),
        pytest.param(["12", "ab"], id="as long as what it took"),
        pytest.param(["12", "abc"], id="longer than what it took"),
    ],
)
@pytest.mark.parametrize("way", ["pasted", "typed on"])
async def test_what_a_page_refuses_at_once_was_not_filled_in(
    browser: Chromium, page: Page, site: Site, texts: list[str], way: str
) -> None:
    """Neither a text in place of another, nor one letter more. The page empties the field of a text
    that it takes as well, so that a text of which no trace is left may have been taken."""
    body = f"""<input id=i aria-label=Code oninput="{REFUSING}; out.append('.')"><p id=out></p>"""
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        await page.focus("#i")
        for text in texts:
            if way == "pasted":
                await page.keyboard.press("Control+a")
                await page.keyboard.insert_text(text)
            else:
                await page.keyboard.type(text)
        await fenced(watch)
        told = {data["value"] for data in watch.all("field.filled")}
    assert told - {None} <= {"", "1", "12"}
    if texts == ["a"] or (way == "typed on" and texts == ["abc"]):
        assert None not in told, "each letter came into an empty field"


TAKING = {
    "shown": "out.append(this.value.replace(/[ ,]+$/, '')); this.value = ''",
    "shown with its mark": "out.append(this.value); this.value = ''",
    "shown elsewhere": "const b = document.createElement('b'); b.textContent = 'To: milk.'; out.append(b); this.value = ''",
}  # fmt: skip


@pytest.mark.parametrize("text", ["milk", "milk,", "milk, "])
@pytest.mark.parametrize("taking", TAKING.values(), ids=TAKING)
async def test_what_is_inserted_at_once_and_taken_at_once_was_filled_in(
    browser: Chromium, page: Page, site: Site, text: str, taking: str
) -> None:
    """In one `input`, as a paste or `insertText` does it: the field holds it at no other moment."""
    to = {"id": "to", "when": {"field_filled": {"field": "To", "value": "milk"}}}
    other = {"id": "other", "when": {"field_filled": {"field": "To", "value": "honey"}}}
    rules = ruleset(to, other, origin=site.url)
    async with watching(browser) as watch:
        await page.goto(site.page("/", f'<input id=i aria-label=To oninput="{taking}"><p id=out>'))
        await page.focus("#i")
        await page.keyboard.insert_text(text)
        await fenced(watch)
        assert await page.input_value("#i") == ""
        [reward] = run(rules, ("episode.opened", {}), began(0), *watch.seen, ("episode.closed", {}))
    is_whole = taking == TAKING["shown with its mark"] and text != "milk"
    held = [data["value"] for data in watch.all("field.filled")]
    assert [one.strip() for one in held] == [text.strip() if is_whole else "milk", ""]
    assert [one.id for one in reward.milestones if one.worth] == ([] if is_whole else ["to"])
    assert reward.reward is not None


@pytest.mark.parametrize("way", ["inserted", "typed"])
@pytest.mark.parametrize("field", ["To", "Note"])
async def test_a_text_that_goes_without_a_trace_was_taken_or_refused(
    browser: Chromium, page: Page, site: Site, way: str, field: str
) -> None:
    """Kept in a script's variable, perhaps: nobody knows, so a condition on this field is null and
    one on another is not."""
    rule = {"id": "m", "when": {"field_filled": {"field": field, "value": "milk"}}}
    body = """<input id=i aria-label=To oninput="if (this.value.length > 3) { window.kept = this.value; this.value = '' }">
      <input aria-label=Note>"""
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        await page.focus("#i")
        if way == "typed":
            await page.keyboard.type("milk", delay=60)
        else:
            await page.keyboard.insert_text("milk")
        await fenced(watch)
        assert await page.evaluate("window.kept") == "milk"
        rules = ruleset(rule, origin=site.url)
        [reward] = run(rules, ("episode.opened", {}), began(0), *watch.seen, ("episode.closed", {}))
    assert (reward.reward is None) is (field == "To")
    assert watch.all("field.filled")[-1]["value"] == ""


MASKS = {
    "keys": (
        'onkeydown="if (event.key.length === 1) { event.preventDefault(); this.value += event.key }'
        '"'
    ),
    "beforeinput": 'onbeforeinput="event.preventDefault(); this.value += event.data"',
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
async def test_what_a_page_writes_for_a_key_was_filled_in_by_hand(
    browser: Chromium, page: Page, site: Site, mask: str
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", f"<input id=i aria-label=Day {mask}>"))
        await page.focus("#i")
        await page.keyboard.type("2026")
        await fenced(watch)
        last = watch.all("field.filled")[-1]
    assert (last["value"], last["trusted"]) == ("2026", True)


@pytest.mark.parametrize("kind", ["checkbox", "radio"])
@pytest.mark.parametrize("mark", ["checked", ""])
async def test_a_box_that_is_drawn_anew_by_its_click_is_set_by_hand_as_it_was_clicked(
    browser: Chromium, page: Page, site: Site, kind: str, mark: str
) -> None:
    box = f"<input type={kind} id=i name=n aria-label=Agree %s>"
    body = f'<p id=p onclick="this.innerHTML = `{box % mark}`">{box % ""}</p>'
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        await page.click("#i")
        await fenced(watch)
        told = watch.all("field.filled", checked=True)
    assert [data["trusted"] for data in told] == ([True] if mark else [])


async def test_what_a_page_formats_at_once_was_never_held(
    browser: Chromium, page: Page, site: Site
) -> None:
    body = "<input id=i aria-label=Code oninput=\"this.value = this.value.replace(/[^0-9]/g, '')\">"
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        await page.focus("#i")
        await page.keyboard.type("a1b2")
        await page.keyboard.press("Enter")
        await fenced(watch)
        held = {data["value"] for data in watch.all("field.filled")}
    assert held <= {"", "1", "12"}
    assert "12" in held


FIELD = {"field": "Name", "value": "Ada"}
BOX = {"field": "Agree", "checked": True}
FORM = {"fields": {"Name": "Ada", "City": "Oslo"}}
CLICK = {"element_clicked": {"name": "Go"}}
BODY = """<div id=d><input aria-label=Name id=n><input type=checkbox aria-label=Agree id=b><input aria-label=City id=c>
</div><button id=go>Go</button>"""
ANEW = """d.innerHTML = `<input aria-label=Name id=n value=Eve><input type=checkbox aria-label=Agree id=b>
<input aria-label=City id=c value=Rome>`"""
SAME = """d.innerHTML = `<input aria-label=Name id=n value=Ada><input type=checkbox checked aria-label=Agree id=b>
<input aria-label=City id=c value=Oslo>`"""
OTHER = (
    "d.innerHTML = `<input aria-label=Name name=other value=Eve><input aria-label=City name=city"
    " value=Rome>`"
)
AWAY = "d.innerHTML = ''"


def holding(condition: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "m",
        "when": {"all_of": {"of": [condition, CLICK], "holding": True}},
        "component": "form",
    }


def at_end(condition: dict[str, Any]) -> dict[str, Any]:
    return {"id": "m", "when": condition, "must_hold_at_end": True, "component": "form"}


@pytest.mark.parametrize("milestone", [holding, at_end])
@pytest.mark.parametrize(
    "rule", [{"field_filled": FIELD}, {"field_filled": BOX}, {"form_filled": FORM}], ids=str
)
@pytest.mark.parametrize(
    ("script", "pays"), [("0", True), (SAME, True), (ANEW, False), (OTHER, False), (AWAY, False)],
    ids=["as it was", "drawn anew alike", "drawn anew otherwise", "others of the same name", "taken away"],
)  # fmt: skip
async def test_what_stands_in_the_page_decides(
    browser: Chromium,
    page: Page,
    site: Site,
    script: str,
    pays: bool,
    rule: dict[str, Any],
    milestone: Any,
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", BODY))
        await watch.fence()
        first = watch.count()
        await page.fill("#n", "Ada")
        await page.fill("#c", "Oslo")
        await page.check("#b")
        await fenced(watch)
        await page.evaluate(script)
        await page.click("#go")
        await fenced(watch)
        said: list[Said] = [
            (kind, data) for kind, data in watch.seen[first:] if not data.get("baseline")
        ]
        assert not [kind for kind, _ in said if kind.startswith("gap.")]
    rules = ruleset(milestone(rule))
    total = sum(
        filter(
            None, worth(run(rules, ("episode.opened", {}), began(0), *said, ("episode.closed", {})))
        )
    )
    assert (total > 0) is pays


async def test_fields_that_come_filled_later_are_told(
    browser: Chromium, page: Page, site: Site
) -> None:
    """A date that a calendar writes into a field of its own: not by the agent's keys, and told
    nevertheless."""
    body = """<div id=d></div><button onclick="d.innerHTML = '<input aria-label=Day value=2026-11-03>'">Pick</button>"""
    rules = ruleset(
        {
            "id": "m",
            "when": {"field_filled": {"field": "Day", "value": "2026-11-03", "trusted": False}},
        },
        {
            "id": "t",
            "when": {"field_filled": {"field": "Day", "value": "2026-11-03"}},
            "component": "ui",
        },
    )
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        await fenced(watch)
        first = watch.count()
        await page.click("button")
        await fenced(watch)
        said = watch.seen[first:]
    [reward] = run(rules, ("episode.opened", {}), began(0), *said, ("episode.closed", {}))
    assert [m.id for m in reward.milestones] == ["m"]


async def test_a_form_in_parts_is_filled_part_by_part(
    browser: Chromium, page: Page, site: Site
) -> None:
    body = """<div id=d><input aria-label=Name id=n></div><button id=next
      onclick="d.innerHTML = '<input aria-label=City id=c>'">Next</button>"""
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        await watch.fence()
        first = watch.count()
        await page.fill("#n", "Ada")
        await page.click("#next")
        await fenced(watch)
        await page.fill("#c", "Oslo")
        await fenced(watch)
        said = watch.seen[first:]
    rules = ruleset({"id": "m", "when": {"form_filled": FORM}})
    assert worth(run(rules, ("episode.opened", {}), began(0), *said, ("episode.closed", {}))) == [
        0.2
    ]


async def test_a_field_that_comes_back_is_still_the_user_s(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser) as watch:
        await page.goto(site.page("/", BODY))
        await page.fill("#n", "Ada")
        await page.evaluate("window.kept = n; n.remove()")
        await fenced(watch)
        assert [data["field"] for data in watch.all("field.removed")] == ["/n"]
        await page.evaluate("d.prepend(kept)")
        await fenced(watch)
        last = watch.all("field.filled")[-1]
    assert (last["value"], last["trusted"]) == ("Ada", True)
