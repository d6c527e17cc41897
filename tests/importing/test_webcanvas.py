"""WebCanvas' key nodes as milestones: what meets each, where its own functions say otherwise, and
why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from api.attack.attack import attack, make_oracle
from api.attack.report import fallen
from api.attack.scores import score_log
from api.cli.main import main
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import webcanvas
from lab.benchmarks.webcanvas_nodes import TRACKED, site_label
from tests.importing.test_coverage_page import published
from tests.importing.webcanvas_ways import (
    Node,
    address_for,
    element_node,
    right_way,
    theirs,
    url_node,
)
from tests.support.cases import CASES
from tests.support.logs import Said, clicked, episode, filled, log, went

WEBCANVAS = CASES / "webcanvas"
needs_cases = pytest.mark.shared_cases("webcanvas")
SHOP = "https://www.shop.test"
SITE, CART = url_node("shop."), url_node("/cart")


def task(*nodes: Node, index: Any = "t", **more: Any) -> dict[str, Any]:
    return {"index": index, "task": "Buy it.", "evaluation": [*nodes], **more}


def imported(folder: Path, *tasks: dict[str, Any], **sites: str) -> list[Any]:
    (folder / "tasks.json").write_text(json.dumps(tasks))
    return [*webcanvas.tasks(folder, sites)]


def rules_of(one: Any) -> Ruleset:
    assert one.spec is not None, one.remarks
    return compile_task(task_from_json(one.spec))


@pytest.fixture
def is_met(tmp_path: Path) -> Callable[[Node, list[Said]], bool]:
    def met(node: Node, said: list[Said]) -> bool:
        """Whether a task of this one node is solved."""
        [one] = imported(tmp_path, task(node))
        return bool(score_log(rules_of(one), log(*episode(said))).success)

    return met


def hit(*selectors: str, name: str = "", at: str = f"{SHOP}/a", **more: Any) -> list[Said]:
    kind, data = clicked(name, **more)
    return [went(at), (kind, {**data, "selectors": list(selectors)})]


def typed(value: str, *selectors: str, at: str = f"{SHOP}/a", **more: Any) -> list[Said]:
    return [went(at), filled("", value, selectors=list(selectors), **more)]


def pushed(url: str) -> Said:
    """A script of the page writes an address into the address bar."""
    return went(url, same_document=True, document=f"{SHOP}/")


PATH = element_node("path", ".cart > button ")
VALUE = element_node("value", "Add")
IN_FIELD = element_node("value", "Ada", path="#name ")
DRAWN = url_node(f"{SHOP}/s?k=lamp&crid=2ZD&x=a&qid=1", "exactly")
LAMP = url_node("Decide whether are searching for a red lamp or LMP", "semantic", "q")
SAME: list[tuple[Node, list[Said], bool]] = [
    (PATH, hit(".cart > button"), True),
    (PATH, hit(".cart > a"), False),
    (PATH, hit(".cart > button", trusted=False), False),
    (PATH, hit(".cart > button", at="https://www.other.test/a"), False),
    (PATH, typed("x", ".cart > button"), True),
    (VALUE, hit("*", name="Add"), True),
    (VALUE, hit("*", text="Add", name="Add to cart"), True),
    (VALUE, typed("Add", "*"), True),
    (VALUE, hit("*", name="add"), False),
    (VALUE, hit("*", name="Add to cart"), False),
    (element_node("value", "Add", "included"), hit("*", name="Add to cart"), True),
    (IN_FIELD, typed("Ada", "#name"), True),
    (IN_FIELD, typed("Ada", "#other"), False),
    (IN_FIELD, typed("Ada L", "#name"), False),
    (LAMP, [went(f"{SHOP}/s?q=Lamp+red")], True),
    (LAMP, [went(f"{SHOP}/s?q=lmp")], True),
    (LAMP, [went(f"{SHOP}/s?q=lamp")], False),
    (LAMP, [went(f"{SHOP}/s?k=red+lamp")], False),
    (CART, [*hit("*", name="Cart"), pushed(f"{SHOP}/cart")], True),
    (CART, [went(f"{SHOP}/"), filled("q", "x", selectors=["*"]), pushed(f"{SHOP}/cart")], True),
    (CART, [pushed(f"{SHOP}/cart"), *hit("*", name="Cart")], False),
    (DRAWN, [went(f"{SHOP}/s?crid=2ZD&k=lamp&qid=1&x=a")], True),
    (DRAWN, [went(f"{SHOP}/s?k=lamp&CRID=9QX&x=a&qid=170643")], True),
    (DRAWN, [went(f"{SHOP}/s?k=lamp&x=a")], True),
    (DRAWN, [went(f"{SHOP}/s?k=desk&x=a&qid=1")], False),
    (DRAWN, [went(f"{SHOP}/s?k=lamps&x=a&qid=1")], False),
    (DRAWN, [went(f"{SHOP}/s?k=lamp&x=a&qid=1&page=2")], False),
    (DRAWN, [went(f"{SHOP}/s")], False),
]
"""Nodes of elements, which their code as published can't score, as it describes them; and sentences,
which a language model reads there."""
FINAL = {"match_function_name": "final_answer_included_match", "content": {"reference_answer": "Yes", "url": f"{SHOP}/"}}  # fmt: skip


@pytest.mark.parametrize(("node", "said", "met"), SAME)
def test_what_meets_a_node(
    node: Node, said: list[Said], met: bool, is_met: Callable[[Node, list[Said]], bool]
) -> None:
    assert is_met(node, said) is met


ADDRESSES = [
    f"{SHOP}/", f"{SHOP}/cart", f"{SHOP}/a/cart/2", f"{SHOP}/Cart", f"{SHOP}/a?x=/cart", f"{SHOP}/a#/cart",
    f"{SHOP}/ca%72t", f"{SHOP}/a?q=red+lamp", f"{SHOP}/a?q=red%20lamp&x=1", f"{SHOP}/a?q=Red+lamp",
    f"{SHOP}/a?q=red+lamps", f"{SHOP}/a?qq=red+lamp", f"{SHOP}/a#q=red+lamp", f"{SHOP}/a?q=", f"{SHOP}/a?b=1#size=S",
    f"{SHOP}/a?q=red%2520lamp", f"{SHOP}/a#size=S", f"{SHOP}/size=S", "https://shop.test/cart",
]  # fmt: skip
NODES = [
    SITE,
    CART,
    url_node("www.shop.test/cart"),
    url_node("#size=S"),
    url_node("red lamp", "exactly", "q"),
    url_node("lamp", "included", "q"),
    url_node(f"{SHOP}/cart", "exactly"),
]


@pytest.mark.parametrize("node", NODES, ids=lambda node: node["content"]["reference_answer"])
def test_an_address_of_the_site_meets_what_it_meets_there(
    node: Node, is_met: Callable[[Node, list[Said]], bool]
) -> None:
    found = {url: is_met(node, [went(url)]) for url in ADDRESSES}
    assert found == {url: theirs(node, url) for url in ADDRESSES}
    assert set(found.values()) == {True, False} or node is SITE


OTHERWISE: list[tuple[str, Node, list[Said], bool, bool]] = [
    ("another site that says the site's name", SITE, [went("https://s.test/shop.html")], True, False),
    ("another site's page of that path", CART, [went("https://s.test/cart")], True, False),
    ("another site's parameter", url_node("1", "exactly", "q"), [went("https://s.test/?q=1")], True, False),
    ("a page that is not there", CART, [went("/cart"), went(f"{SHOP}/cart", status=404)], True, False),
    ("what the query is cut off of", url_node("/cart?id"), [went(f"{SHOP}/cart?id")], False, True),
    ("a scheme", url_node(f"{SHOP}/cart"), [went(f"{SHOP}/cart")], False, True),
    ("an address that was pasted", url_node("1https://x", "exactly", "q"), [went(f"{SHOP}/?q=1")], False, True),
    ("a script, and nobody did anything", CART, [went(f"{SHOP}/"), pushed(f"{SHOP}/cart")], True, False),
    ("the first of two values", url_node("1", "exactly", "q"), [went(f"{SHOP}/?q=1&q=2")], True, False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("node", "said", "there", "here"), [row[1:] for row in OTHERWISE], ids=[row[0] for row in OTHERWISE]
)  # fmt: skip
def test_where_theirs_says_otherwise(
    node: Node, said: list[Said], there: bool, here: bool, is_met: Callable[[Node, list[Said]], bool]
) -> None:  # fmt: skip
    assert theirs(node, said[-1][1]["url"]) is there
    assert is_met(node, said) is here


EVERY = [
    SITE, CART, url_node("red lamp", "exactly", "q"), LAMP, PATH, VALUE, IN_FIELD, element_node("value", " Sold"),
    element_node("value", "Decide whether the content means gift card", "semantic"), FINAL,
]  # fmt: skip
LABELS = {
    "https://www.gamestop.com/a": "gamestop", "https://store.example.com": "store", "https://m.example.com": "m",
    "http://localhost:80/": "",
}  # fmt: skip


@pytest.mark.parametrize(("url", "label"), LABELS.items())
def test_what_a_site_is_called(url: str, label: str) -> None:
    assert site_label(url) == label


def test_nodes_pay_alike_in_any_order_and_all_of_them_are_the_goal(tmp_path: Path) -> None:
    """One that stands there three times weighs three times; one that asks for nothing is left out."""
    [one] = imported(tmp_path, task(SITE, CART, PATH, PATH, PATH, element_node("value", "")))
    way = right_way(task(SITE, CART, PATH))
    rules = rules_of(one)
    totals = [score_log(rules, log(*episode(*steps))) for steps in (way, way[::-1], way[:2])]
    assert [(round(found.total, 6), bool(found.success)) for found in totals] == [
        (1.0, True),
        (1.0, True),
        (0.2, False),
    ]
    assert [remark.partition(":")[0] for remark in one.remarks] == ["node 3", "node 6"]
    assert one.kind == webcanvas.ELEMENTS


def test_a_task_pays_no_adversary(tmp_path: Path) -> None:
    """But for the site itself, of which a page was loaded, whatever script made of its address."""
    [one] = imported(tmp_path, task(*EVERY))
    rules = rules_of(one)
    solved = log(*episode([went("about:blank")], *right_way(task(*EVERY))))
    results = [*attack(make_oracle(rules, solved))]
    paid = {(result.kind, *(one.id for one in result.payouts)) for result in fallen(results)}
    assert paid == {("pushed", "node-1")}
    assert len({result.kind for result in results}) >= 10


def test_a_site_may_be_served_elsewhere(tmp_path: Path) -> None:
    [one] = imported(tmp_path, task(SITE, CART), shop="http://127.0.0.1:8099")
    said = [went("http://127.0.0.1:8099/cart")]
    assert score_log(rules_of(one), log(*episode(said))).success
    assert one.spec["origin"] == "http://127.0.0.1:8099"
    assert one.kind == webcanvas.ADDRESSES


REFUSED = {
    "a function that it does not have": url_node("x", "fuzzy"),
    "a sentence without words to look for": url_node("Is it cheap?", "semantic", "q"),
    "only what nobody can see": {"match_function_name": "cache_data_exactly_match", "content": {"reference_answer": "x", "url": f"{SHOP}/"}},
    "only what is never true": element_node("path", ".a", "included"),
}  # fmt: skip


def test_a_parameter_that_the_site_draws_is_left_out_and_said(tmp_path: Path) -> None:
    drawn, kept = url_node("nb_sb_noss_2", "exactly", "ref"), url_node("lamp", "exactly", "q")
    [one] = imported(tmp_path, task(CART, drawn, kept))
    said = [went(f"{SHOP}/cart"), went(f"{SHOP}/s?q=lamp&ref=nb_sb_noss_1")]
    assert score_log(rules_of(one), log(*episode(said))).success
    assert one.remarks == (f"node 2: {TRACKED}",)


@pytest.mark.parametrize("node", REFUSED.values(), ids=REFUSED)
def test_a_task_that_nothing_can_judge_is_refused_by_name(node: Node, tmp_path: Path) -> None:
    bad, good = imported(tmp_path, task(node), task(SITE, index=7))
    assert (bad.spec, bad.kind) == (None, webcanvas.REFUSED)
    assert (good.name, good.kind) == ("7", webcanvas.ADDRESSES)


BROKEN = {
    "no list": ({}, "wanted a list of tasks"),
    "no nodes": ([{"index": 1, "task": "x", "evaluation": []}], "wanted a list of tasks"),
    "no address": ([task({**SITE, "content": {"reference_answer": "a", "url": "x"}})], "task t: url"),
    "no instruction": ([{"index": 1, "evaluation": [SITE]}], "task 1: task"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "says"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_list_of_its_tasks_is_named(
    content: Any, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tasks.json").write_text(json.dumps(content))
    assert main(["coverage", "webcanvas", str(tmp_path)]) == 1
    assert says in capsys.readouterr().err


def test_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tasks.json").write_text(json.dumps([task(*EVERY, CART, index=3)]))
    assert main(["coverage", "webcanvas", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "| element_value_exactly_match | 3 | 2 | 0 | 1 | 0 |" in printed
    assert "| **all** | 11 | 8 | 2 | 1 | 0 |" in printed
    assert "- never true: it begins or ends with a space, values are trimmed (1 node): 3" in printed
    assert f"- {webcanvas.REPEATED} (1 node): 3" in printed


@needs_cases
def test_the_published_table_is_what_the_command_prints() -> None:
    assert published("webcanvas") == webcanvas.coverage(WEBCANVAS).markdown()


def _told(node: Node) -> bool:
    return node["match_function_name"] in ("url_included_match", "url_exactly_match")


def _in_capitals(url: str) -> str:
    """An address whose path and query are; a browser writes host and scheme small."""
    place = url.index("/", len("https://"))
    return url[:place] + url[place:].upper()


def _visits(nodes: list[Node]) -> Iterator[list[str]]:
    """Right addresses, each left out once, and each with something else in it."""
    right = [address_for(node) for node in nodes if _told(node)]
    yield right
    for n, url in enumerate(right):
        yield [*right[:n], *right[n + 1 :]]
        yield [*right[:n], url.replace("=", "=0"), *right[n + 1 :]]
        yield [*right[:n], _in_capitals(url), *right[n + 1 :]]
        yield [f"{url}0"]
    yield []


@pytest.mark.slow
@needs_cases
def test_every_address_of_every_task_meets_what_it_meets_there() -> None:
    """Nodes of addresses, over visits right and wrong, but for what is read as it was meant."""
    compared = 0
    source = json.loads((WEBCANVAS / "tasks.json").read_text())
    imports: list[Any] = [*webcanvas.tasks(WEBCANVAS, {})]
    for about, one in zip(source, imports, strict=True):
        rules, nodes = rules_of(one), about["evaluation"]
        meant = {remark.partition(":")[0] for remark in one.remarks if "never true" in remark}
        for visits in _visits(nodes):
            events = log(*episode([went("about:blank")], *([went(url)] for url in visits)))
            paid = set(score_log(rules, events).ids)
            for number, node in enumerate(nodes, 1):
                if not _told(node) or f"node {number}" in meant:
                    continue
                if f"node-{number}" not in {each["id"] for each in one.spec["milestones"]}:
                    continue
                there = any(theirs(node, url) for url in visits)
                assert (f"node-{number}" in paid) is there, (one.name, number, visits)
                compared += 1
    assert compared > 5000


@pytest.mark.slow
@needs_cases
def test_every_task_is_solved_by_its_right_way() -> None:
    source = json.loads((WEBCANVAS / "tasks.json").read_text())
    for about, one in zip(source, webcanvas.tasks(WEBCANVAS, {}), strict=True):
        events = log(*episode([went("about:blank")], *right_way(about)))
        assert score_log(rules_of(one), events).success, one.name
