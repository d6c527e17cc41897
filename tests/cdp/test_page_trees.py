"""Pages as trees of roles and names, to train on: what stands there, masked, bounded, and nothing
at all where the task does not want it."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from playwright.async_api import Page

from agentd.masking import Masker
from agentd.sources.cdp.folds.page_trees import FrameAddress, PageTrees
from tests.cdp.site import Site
from tests.cdp.watching import Watch, watching
from tests.support.chromium import Chromium, needs_chromium

PLAN = {"tree_bytes": 32_768}
SECRET = "korrektPferd9"
WHERE = FrameAddress("T", "F", True)
SHOP = f"""<h1>Lamps <em>and</em> more</h1><nav aria-label=Main><a href=/cart>Cart</a></nav>
<p>Only <b>3</b> left</p><div style="display:none">never shown</div><span aria-hidden=true>deco</span>
<form><label>Name <input name=who value=Ada></label><label>Password <input type=password name=pw value={SECRET}></label>
<label><input type=checkbox checked> Gift</label>
<select aria-label=Colour><option>red<option selected>green</select>
<button disabled>Buy</button></form><ul><li>one</ul>"""

browser_test = pytest.mark.browser


async def trees(watch: Watch) -> list[dict[str, Any]]:
    """What is recorded at the end of a step."""
    before = len(watch.all("visual.tree_recorded"))
    await watch.source.before_seal(0, closing=False)
    return watch.all("visual.tree_recorded")[before:]


def shown(tree: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    return [(node["depth"], node["role"], node.get("name", "")) for node in tree]


@browser_test
@needs_chromium
async def test_a_step_ends_with_the_page_as_roles_and_names(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser, PLAN) as watch:
        await page.goto(site.page("/", SHOP))
        await page.get_by_label("Name").focus()
        (data,) = [data for data in await trees(watch) if data.get("tree")]
        tree = data["tree"]
        assert shown(tree) == [
            (0, "heading", "Lamps and more"),
            (0, "navigation", "Main"),
            (1, "link", "Cart"),
            (0, "text", "Only 3 left"),
            (0, "form", ""),
            (1, "text", "Name"),
            (1, "textbox", "Name"),
            (1, "text", "Password"),
            (1, "textbox", "Password"),
            (1, "checkbox", "Gift"),
            (1, "text", "Gift"),
            (1, "combobox", "Colour"),
            (1, "button", "Buy"),
            (0, "list", ""),
            (1, "listitem", ""),
            (2, "text", "one"),
        ]
        by_name = {
            node["name"]: node for node in tree if node.get("name") and node["role"] != "text"
        }
        assert (by_name["Name"]["value"], by_name["Name"]["focused"]) == ("Ada", True)
        assert by_name["Password"]["has_value"] is True
        assert (by_name["Colour"]["value"], by_name["Colour"]["options"]) == (
            "green",
            ["red", "green"],
        )
        assert (by_name["Gift"]["checked"], by_name["Buy"]["disabled"]) == (True, True)
        assert SECRET.encode() not in orjson.dumps(watch.seen)
        (again,) = [one for one in await trees(watch) if one["frame"] == data["frame"]]
        assert (again["sha256"], "tree" in again) == (data["sha256"], False)


@browser_test
@needs_chromium
async def test_a_page_in_a_dialog_is_named_as_unread_and_the_rest_waits_for_nothing(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser, PLAN) as watch:
        await page.goto(site.page("/", "<p>shown"))
        page.on("dialog", lambda dialog: None)
        asking = asyncio.create_task(page.evaluate("confirm('Sure?')"))
        await watch.one("dialog.opened")
        assert "a dialog is open" in [data.get("reason") for data in await trees(watch)]
        asking.cancel()


@browser_test
@needs_chromium
async def test_without_observations_in_the_task_no_page_is_read(
    browser: Chromium, page: Page, site: Site
) -> None:
    async with watching(browser, {}) as watch:
        await page.goto(site.page("/", SHOP))
        await watch.source.before_first_step()
        assert await trees(watch) == []


def answer(*nodes: object, cut: bool = False) -> str:
    return orjson.dumps({"nodes": list(nodes), "cut": cut}).decode()


NODE = {"depth": 0, "role": "text", "name": "a"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (answer(NODE), [NODE]),
        (answer(), []),
        (answer({**NODE, "more": 1, "checked": True}), [{**NODE, "checked": True}]),
        (answer({**NODE, "checked": "yes"}), [NODE]),
        (answer({**NODE, "name": "x" * 2_000}), [{**NODE, "name": "x" * 1_000}]),
        (answer({**NODE, "depth": -1}, {"depth": True, "role": "a"}, {"role": "a"}, 3), []),
    ],
    ids=["a node", "an empty page", "an unknown key", "a wrong type", "a long name", "no nodes"],
)
def test_only_what_a_node_may_have_is_recorded(given: str, kept: list[dict[str, Any]]) -> None:
    trees = PageTrees(10_000, Masker())
    trees.begin()
    assert trees.record(WHERE, given)["tree"] == kept


@pytest.mark.parametrize("given", [False, None, 3, "", "[]", '{"nodes": 1}', "{"])
def test_what_is_no_tree_is_unread_with_the_reason(given: object) -> None:
    trees = PageTrees(10_000, Masker())
    data = trees.record(WHERE, given)
    assert (data["reason"], "tree" in data, "sha256" in data) == (
        "the page gave no tree",
        False,
        False,
    )


def test_all_pages_of_a_step_share_its_bytes() -> None:
    trees = PageTrees(1_000, Masker())
    trees.begin()
    big = [{**NODE, "name": "x" * 300 + str(n)} for n in range(5)]
    first, second = trees.record(WHERE, answer(*big)), trees.record(WHERE, answer(NODE))
    assert (len(first["tree"]), first["cut"]) == (2, True)
    assert (second["tree"], second["cut"]) == ([], True)
    trees.begin()
    assert trees.record(WHERE, answer(NODE))["tree"] == [NODE]


def test_the_values_of_secret_fields_are_masked() -> None:
    trees = PageTrees(10_000, Masker())
    trees.begin()
    field = {"depth": 0, "role": "textbox", "field": "api_key", "value": "abc-123"}
    (node,) = trees.record(WHERE, answer(field))["tree"]
    assert node["value"] == "***"
