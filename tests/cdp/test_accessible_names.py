"""Role and name as we tell them against Chrome's own accessibility tree, asked by the test, never
by the source.

On a page of cases, then on every element of the MiniWoB++ pages that can be clicked or filled.
"""

from __future__ import annotations

import json
from collections import Counter
from importlib.util import find_spec
from typing import Any

import pytest
from playwright.async_api import CDPSession, Page

from agentd.sources.cdp.attach.script import PageScript
from tests.cdp.site import Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import watching
from tests.miniwob.site import LONG_MS, START, serve
from tests.support.cases import CASES
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]

THINGS = """<style>body > * { display: block; margin: 4px }</style>
<button data-n=1>Save <b>all</b></button>
<button data-n=2 aria-label="Close dialog">x</button>
<a data-n=3 href="#x"><img alt="Home page" width=20 height=20></a>
<span id=lab>Billing</span><div data-n=4 role=button tabindex=0 aria-labelledby="lab">Edit</div>
<label>Agree <input data-n=5 type=checkbox></label>
<label for=r1>One</label><input data-n=6 type=radio id=r1>
<input data-n=7 placeholder="Search here" type=search>
<input data-n=8 type=submit value="Send it">
<label>Town <input data-n=9></label>
<textarea data-n=10 title="Remarks"></textarea>
<div data-n=11 role=tab tabindex=0>Details</div>
<div data-n=12 role="menuitem" tabindex=0>Copy</div>
<details><summary data-n=13>More</summary>text</details>
<div data-n=14 role=switch aria-checked=false tabindex=0>Dark mode</div>
<button data-n=15><span aria-hidden=true>★</span> Star</button>
<label>Age <input data-n=16 type=number></label>
<div data-n=17 role="nonsense button" tabindex=0>Fallback</div>
<input data-n=18 type=button value=Plain title=Hint>
<button data-n=19 title="Delete all"></button>
<a data-n=20 href="#x" title="Delete all"> </a>
<button data-n=21><img title="Delete all" width=20 height=20></button>
<button data-n=22><span><iframe title="Delete all" width=20 height=20></iframe></span></button>
<button data-n=23>Delete<br>all</button>
<button data-n=24 class=icon></button><style>.icon::before { content: url(data:,) / "Delete all" }</style>
<button data-n=25><img title="Delete" width=20 height=20 style="visibility: hidden"></button>
<button data-n=26 aria-label="Delete all" title="no"></button>"""
ROLES = {"searchBox": "searchbox", "DisclosureTriangle": "button"}
COUNT = 26


async def test_role_and_name_are_those_of_chromes_own_tree(
    browser: Chromium, page: Page, site: Site
) -> None:
    await page.goto(site.page("/", THINGS))
    async with watching(browser) as watch:
        for n in range(1, COUNT + 1):
            await page.dispatch_event(f"[data-n='{n}']", "click")
        await watch.fence()
        clicks = watch.all("element.clicked")
    told = [(click["element"]["role"], click["element"]["name"]) for click in clicks]
    asked = await page.context.new_cdp_session(page)
    root = (await asked.send("DOM.getDocument"))["root"]["nodeId"]
    tree = []
    for n in range(1, COUNT + 1):
        node = await asked.send(
            "DOM.querySelector", {"nodeId": root, "selector": f"[data-n='{n}']"}
        )
        found = await asked.send(
            "Accessibility.getPartialAXTree", {"nodeId": node["nodeId"], "fetchRelatives": False}
        )
        role = found["nodes"][0]["role"]["value"]
        tree.append((ROLES.get(role, role), found["nodes"][0]["name"]["value"].strip()))
    assert told == tree


async def test_a_place_in_a_picture_has_its_name(browser: Chromium, page: Page, site: Site) -> None:
    """Chrome's own tree has these below the picture."""
    body = """<img src="data:," width=200 height=40 usemap="#m"><map name=m>
      <area shape=rect coords="0,0,100,40" href="#x" alt="Delete all" title=no>
      <area shape=rect coords="100,0,200,40" href="#x" title="Keep all"></map>"""
    async with watching(browser) as watch:
        await page.goto(site.page("/", body))
        box = await page.locator("img").bounding_box()
        assert box is not None
        for x in (50, 150):
            await page.mouse.click(box["x"] + x, box["y"] + 20)
        await watch.fence()
        told = [data["element"] for data in watch.all("element.clicked", trusted=True)]
    assert [(one["role"], one["name"]) for one in told] == [
        ("link", "Delete all"),
        ("link", "Keep all"),
    ]


INTERNALS = """<style>body > * { display: block; margin: 8px }</style>
<x-own id=own tabindex=0>Save</x-own><x-own id=around><span id=inner>Keep</span></x-own>
<x-own id=labelled aria-label=Close>x</x-own><x-name id=named role=button>Go</x-name>
<x-plain id=plain>Text</x-plain><x-plain id=said role=button>Send</x-plain>
<x-plain id=box><button>Inside</button></x-plain><x-own id=gone onclick="this.remove()">Remove</x-own>
<x-own id=left onclick="location = '/next'">Leave</x-own><script>
const define = (name, make) => customElements.define(name, class extends HTMLElement {
  constructor() { super(); make(this) } });
define('x-own', (one) => Object.assign(one.attachInternals(), { role: 'button', ariaLabel: 'Delete all' }));
define('x-name', (one) => { one.attachInternals().ariaLabel = 'Delete all' });
define('x-plain', () => {});</script>"""
BY_NAME, BY_ROLE = {"name": "Delete all"}, {"role": "button"}
OWN: dict[str, tuple[str, dict[str, Any], float | None]] = {
    "its own name": ("#own", BY_NAME, None),
    "its own role": ("#own", BY_ROLE, None),
    "its text": ("#own", {"text": "Save"}, 1.0),
    "its text with a role": ("#own", {"text": "Save", "role": "button"}, None),
    "another text with its role": ("#own", {"text": "Cancel", "role": "button"}, 0.0),
    "its id": ("#own", {"id": "own"}, 1.0),
    "what stands in it": ("#inner", BY_NAME, None),
    "what stands in it, by its id": ("#inner", {"id": "around"}, 1.0),
    "a label that all can read": ("#labelled", {"id": "labelled", "name": "Close"}, None),
    "a name beside a role": ("#named", BY_NAME, None),
    "a role beside a name": ("#named", {"role": "button", "text": "Go"}, 1.0),
    "no control": ("#plain", BY_ROLE, 0.0),
    "no name": ("#plain", BY_NAME, 0.0),
    "a role that all can read": ("#said", {"role": "button", "name": "Send"}, 1.0),
    "another's name": ("#said", BY_NAME, 0.0),
    "a button in one": ("#box button", {"name": "Inside"}, 1.0),
    "another button in one": ("#box button", BY_NAME, 0.0),
    "one that goes": ("#gone", BY_NAME, None),
    "one that leaves": ("#left", BY_NAME, None),
}


@pytest.mark.parametrize(("clicked", "wanted", "worth"), OWN.values(), ids=OWN)
async def test_what_an_element_s_internals_say_of_it_is_not_known(
    browser: Chromium,
    page: Page,
    site: Site,
    clicked: str,
    wanted: dict[str, Any],
    worth: float | None,
) -> None:
    """Nobody can read it as the click is made; what else of it a rule names counts as ever."""
    asked = {"id": "m", "component": "ui", "when": {"element_clicked": wanted}}
    rules = ruleset(asked, weights={"ui": 1}, origin=site.url)
    site.page("/next", "next")
    async with watching(browser, rules.plan("e")) as watch:
        await page.goto(site.page("/", INTERNALS))
        await page.click(clicked)
        if clicked == "#left":
            await page.wait_for_url("**/next")
        await watch.catch_up()
        assert watch.all("element.clicked", trusted=True)
        assert paid(rules, watch).reward == worth


LIST = CASES / "miniwob" / "pages.json"
PAGES: list[str] = json.loads(LIST.read_text()) if LIST.exists() else []
needs_miniwob = pytest.mark.skipif(
    find_spec("miniwob") is None, reason="the package miniwob is missing"
)
SEED = "1"
WANTED = 0.99

# Chrome's own names for what ARIA calls otherwise, or has no name for ("generic": nothing that a
# person would name).
ALIASES = {
    "image": "img",
    "SvgRoot": "graphics-document",
    "LabelText": "generic",
    "none": "generic",
    "Date": "textbox",
    "InputTime": "textbox",
}

# Every kind of difference that is left: (tag, our role, Chrome's) and the reason.
REST = {
    (
        "div",
        "textbox",
        "generic",
    ): "contenteditable: Chrome names no role; we say what it is to whoever writes in it",
    (
        "a",
        "button",
        "generic",
    ): "aria-hidden: not in Chrome's tree; a person sees the spinner's button and clicks it",
}

# Elements that can be clicked or filled: by what they are, or because script listens; visible ones,
# labels of controls.
FIND = """Array.from(document.querySelectorAll('body *'), (element) => element).filter((element) =>
  element.checkVisibility({visibilityProperty: true}) && (element.localName === 'label' ? element.control :
    element.matches(`a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, option,
        [contenteditable], [tabindex], [onclick]`) || INTERACTIVE.has(element.getAttribute('role')) ||
    ['click', 'dblclick', 'mousedown', 'mouseup', 'pointerdown'].some((type) => getEventListeners(element)[type])))"""
ROLES_OF_WIDGETS = (
    "button link checkbox radio switch tab menuitem menuitemcheckbox menuitemradio option treeitem"
    " textbox searchbox combobox listbox spinbutton slider"
)


@needs_miniwob
@pytest.mark.shared_cases("miniwob")
async def test_a_tenth_of_the_pages_differs_only_as_listed(browser: Chromium, page: Page) -> None:
    count, rest = await compare(page, PAGES[::10])
    assert count > 30
    assert set(rest) <= set(REST), rest


@needs_miniwob
@pytest.mark.shared_cases("miniwob")
@pytest.mark.slow
async def test_all_pages_agree_with_chromes_tree(browser: Chromium, page: Page) -> None:
    count, rest = await compare(page, PAGES)
    same = 1 - rest.total() / count
    print(f"{count} elements on {len(PAGES)} pages, {same:.2%} as in Chrome's tree; the rest:")
    for kind, times in rest.items():
        print(f"{times:4} {kind}: {REST.get(kind)}")
    assert set(rest) <= set(REST), rest
    assert same >= WANTED


async def compare(page: Page, names: list[str]) -> tuple[int, Counter[tuple[str, str, str]]]:
    """How many elements the pages have, and the differences by kind; a name that differs is a kind
    of its own."""
    asked = await page.context.new_cdp_session(page)
    worlds: dict[str, int] = {}  # frame -> the page's own context in it

    def on_context(params: dict[str, Any]) -> None:
        about = params["context"]["auxData"]
        if about["isDefault"]:
            worlds[about["frameId"]] = params["context"]["id"]

    asked.on("Runtime.executionContextCreated", on_context)
    await asked.send("Runtime.enable")
    count, rest = 0, Counter[tuple[str, str, str]]()
    with serve() as origin:
        for name in names:
            await begin(page, origin, name)
            for ours, chromes in await both(asked, worlds):
                count += 1
                if (ours["role"], ours["name"]) != chromes:
                    named = f"{chromes[0]} {chromes[1]!r}, we said {ours['name']!r} on {name}"
                    rest[
                        ours["tag"],
                        ours["role"],
                        chromes[0] if ours["name"] == chromes[1] else named,
                    ] += 1
    return count, rest


async def begin(page: Page, origin: str, name: str) -> None:
    """Open a page and start its episode, as tests/miniwob does; the flight pages show another one
    in a frame."""
    folder, _, flight = name.partition(".")
    path = f"flight/{flight}/wrapper" if flight and folder == "flight" else f"miniwob/{name}"
    await page.goto(f"{origin}/{path}.html")
    await page.wait_for_function("() => core.cover_div !== null")
    await page.evaluate(START, [SEED, LONG_MS])
    if flight:
        await page.wait_for_function("() => WOB_TASK_READY")


async def both(
    asked: CDPSession, worlds: dict[str, int]
) -> list[tuple[dict[str, str], tuple[str, str]]]:
    """For each element of all frames: as we describe it, and Chrome's role and name."""
    pairs = []
    tree = (await asked.send("Page.getFrameTree"))["frameTree"]
    for frame in [tree, *tree.get("childFrames", ())]:
        frame_id = frame["frame"]["id"]
        script = PageScript.new({})
        world = await asked.send(
            "Page.createIsolatedWorld", {"frameId": frame_id, "worldName": script.world}
        )
        where = {"contextId": world["executionContextId"]}
        await asked.send("Runtime.evaluate", where | {"expression": script.source(initial=True)})
        # Only the page's own world shows the page's listeners.
        widgets = f"const INTERACTIVE = new Set({json.dumps(ROLES_OF_WIDGETS)}.split(' '));"
        found = await asked.send(
            "Runtime.evaluate",
            {
                "contextId": worlds[frame_id],
                "expression": f"(() => {{ {widgets} return {FIND} }})()",
            }
            | {"includeCommandLineAPI": True},
        )
        assert "exceptionDetails" not in found, found
        ax = await asked.send("Accessibility.getFullAXTree", {"frameId": frame_id})
        nodes = {
            node["backendDOMNodeId"]: node for node in ax["nodes"] if "backendDOMNodeId" in node
        }
        for one in await items(asked, found["result"]["objectId"]):
            pairs.append(await pair(asked, script, where["contextId"], one, nodes))
    return pairs


async def items(asked: CDPSession, array: str) -> list[str]:
    """The object ids of an array's items."""
    owned = await asked.send("Runtime.getProperties", {"objectId": array, "ownProperties": True})
    return [one["value"]["objectId"] for one in owned["result"] if one["name"].isdecimal()]


async def pair(
    asked: CDPSession, script: PageScript, context: int, element: str, nodes: dict[int, Any]
) -> tuple[dict[str, str], tuple[str, str]]:
    """One element as we and as Chrome describe it."""
    backend = (await asked.send("DOM.describeNode", {"objectId": element}))["node"]["backendNodeId"]
    here = await asked.send(
        "DOM.resolveNode", {"backendNodeId": backend, "executionContextId": context}
    )
    describe = f"function() {{ return globalThis['{script.binding}_observer'].describe(this) }}"
    call = {
        "objectId": here["object"]["objectId"],
        "functionDeclaration": describe,
        "returnByValue": True,
    }
    ours = await asked.send("Runtime.callFunctionOn", call)
    node = nodes.get(backend, {})
    role = node.get("role", {}).get("value", "none") if not node.get("ignored") else "none"
    name = " ".join(str(node.get("name", {}).get("value", "")).split())
    return ours["result"]["value"], (ALIASES.get(role, ROLES.get(role, role)), name)
