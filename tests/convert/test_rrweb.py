"""rrweb streams in detail: steps, trust, texts, frames, what rrweb masked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.convert.hand_made import A_STREAM, did, node, text, write
from tests.convert.making import converted, gaps, of


def told(folder: Path, *more: dict[str, Any], begin: int = 2) -> list[Any]:
    return converted(write(folder / "a.json", [*A_STREAM[:begin], *more]), folder)


def test_a_step_for_each_thing_that_the_user_did(tmp_path: Path) -> None:
    events = told(tmp_path, begin=len(A_STREAM))
    assert [(data["action"]["do"], data["action"]["element"]["name"]) for data in of(events, "step.began")] == [
        ("click", "Name"), ("input", "Name"), ("input", "PIN"), ("click", "Order"),
    ]  # fmt: skip
    [appeared] = [
        event
        for event in events
        if event.kind == "text.appeared" and event.data["text"].startswith("Thank")
    ]
    assert appeared.seq > [event.seq for event in events if event.kind == "step.began"][-1]


def test_what_stood_there_first_is_baseline_before_any_step(tmp_path: Path) -> None:
    events = told(tmp_path, begin=len(A_STREAM))
    first = next(event.seq for event in events if event.kind == "step.began")
    standing = [event for event in events if event.seq < first and event.source == "cdp"]
    assert {event.kind for event in standing} == {
        "page.navigated",
        "text.appeared",
        "page.title_changed",
    }
    assert all(event.data["baseline"] for event in standing)


DOWN, CLICK = did(2000, 2, type=1, id=11), did(2050, 2, type=2, id=11)


@pytest.mark.parametrize(
    ("more", "trusted"),
    [
        ([DOWN, CLICK], [True]),
        ([CLICK], [False]),
        ([DOWN, CLICK, did(2100, 2, type=2, id=11)], [True, False]),
        ([did(2000, 2, type=7, id=11), CLICK], [True]),
        ([did(2000, 2, type=1, id=9), CLICK], [False]),
        (
            [did(2000, 2, type=1, id=15), did(2010, 2, type=2, id=15), did(2011, 2, type=2, id=17)],
            [True, True],
        ),
    ],
    ids=["pointer", "script", "then a script", "touch", "elsewhere", "label"],
)
def test_whose_click_it_is(more: list[dict[str, Any]], trusted: list[bool], tmp_path: Path) -> None:
    assert [data["trusted"] for data in of(told(tmp_path, *more), "element.clicked")] == trusted


def test_double_and_right_clicks(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        DOWN,
        CLICK,
        DOWN | {"timestamp": 2100},
        CLICK | {"timestamp": 2110},
        did(2111, 2, type=4, id=11),
        did(2200, 2, type=1, id=11),
        did(2201, 2, type=3, id=11),
    )
    assert [data["trusted"] for data in of(events, "element.double_clicked")] == [True]
    assert [data["trusted"] for data in of(events, "element.right_clicked")] == [True]


def filled(number: int, value: str, **more: Any) -> dict[str, Any]:
    return did(2100, 5, id=number, text=value, isChecked=more.pop("checked", False), **more)


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ([filled(9, "Ada")], {"value": "Ada", "trusted": False}),
        ([filled(9, "Ada", userTriggered=True)], {"value": "Ada", "trusted": True}),
        ([did(2000, 2, type=5, id=9), filled(9, "Ada")], {"value": "Ada", "trusted": True}),
        (
            [did(2000, 2, type=5, id=9), filled(9, "Ada", userTriggered=False)],
            {"value": "Ada", "trusted": False},
        ),
        ([filled(9, "***")], {"value": None, "has_value": True}),
        ([filled(10, "x")], {"value": None, "has_value": True}),
        ([filled(17, "on", checked=True)], {"value": "on", "checked": True}),
    ],
    ids=[
        "nobody known",
        "rrweb says so",
        "focused",
        "rrweb says no",
        "masked by rrweb",
        "password",
        "box",
    ],
)
def test_fields(more: list[dict[str, Any]], wanted: dict[str, Any], tmp_path: Path) -> None:
    [data] = of(told(tmp_path, *more), "field.filled")
    assert wanted.items() <= data.items()


def added(parent: int, item: dict[str, Any], following: int | None = None) -> dict[str, Any]:
    return {"parentId": parent, "nextId": following, "node": item}


def mutated(ms: int, *adds: dict[str, Any], **more: Any) -> dict[str, Any]:
    return did(ms, 0, **({"adds": list(adds), "removes": [], "texts": [], "attributes": []} | more))


@pytest.mark.parametrize(
    ("change", "appeared", "gone"),
    [
        (mutated(2000, added(13, text(20, "Hello"))), ["Hello"], []),
        (
            mutated(2000, added(13, node(21, "p")), added(21, text(22, "Child first"))),
            ["Child first"],
            [],
        ),
        (
            mutated(2000, added(21, text(22, "In any order")), added(13, node(21, "p"))),
            ["In any order"],
            [],
        ),
        (mutated(2000, added(13, node(21, "script", text(22, "code")))), [], []),
        (
            mutated(2000, added(13, node(21, "p", text(22, "Hidden"), style="display: none"))),
            [],
            [],
        ),
        (mutated(2000, removes=[{"parentId": 11, "id": 12}]), [], ["Order"]),
        (mutated(2000, texts=[{"id": 12, "value": "Buy"}]), ["Buy"], ["Order"]),
        (mutated(2000, added(99, text(20, "Nowhere"))), [], []),
    ],
    ids=[
        "added",
        "parent and child",
        "child and parent",
        "script",
        "hidden",
        "removed",
        "changed",
        "lost",
    ],
)
def test_texts_that_come_and_go(
    change: dict[str, Any], appeared: list[str], gone: list[str], tmp_path: Path
) -> None:
    events = told(tmp_path, change)
    assert [
        data["text"] for data in of(events, "text.appeared") if "baseline" not in data
    ] == appeared
    assert [data["text"] for data in of(events, "text.disappeared")] == gone


def test_a_frames_document_is_a_frame(tmp_path: Path) -> None:
    document = {
        "type": 0,
        "id": 30,
        "childNodes": [node(31, "html", node(32, "body", text(33, "Inside")))],
    }
    events = told(
        tmp_path,
        mutated(2000, added(13, node(29, "iframe", src="/inner"))),
        mutated(2001, added(29, document)),
    )
    [inner] = [data for data in of(events, "page.navigated") if not data["main"]]
    assert inner["url"] == "http://shop.example/inner"
    assert of(events, "text.appeared")[-1] == {
        "tab": "tab",
        "frame": inner["frame"],
        "text": "Inside",
    }


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ([A_STREAM[0] | {"timestamp": 2000}, A_STREAM[1] | {"timestamp": 2001}], []),
        ([{"type": 4, "timestamp": 2000, "data": {"href": "http://shop.example/cart"}}], [True]),
        ([{"type": 1, "timestamp": 1999, "data": {}},
          {"type": 4, "timestamp": 2000, "data": {"href": "http://shop.example/cart"}}], [False]),
    ],
    ids=["told again", "another address", "another document"],
)  # fmt: skip
def test_addresses_after_the_first(
    more: list[dict[str, Any]], wanted: list[bool], tmp_path: Path
) -> None:
    events = told(tmp_path, *more)
    assert [data["same_document"] for data in of(events, "page.navigated")][1:] == wanted


def test_scrolling_is_told_where_it_came_to_rest(tmp_path: Path) -> None:
    events = told(
        tmp_path,
        *(did(2000 + 10 * n, 3, id=1, x=0, y=100 * n) for n in range(5)),
        did(3000, 1, positions=[]),
    )
    assert [data["y"] for data in of(events, "page.scrolled")] == [400]


def test_addresses_are_not_known_between_snapshots(tmp_path: Path) -> None:
    assert {"page.navigated", "request", "dialog", "tab"} <= gaps(told(tmp_path))
