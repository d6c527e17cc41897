"""Playwright traces in detail: every version alike, what is the user's, what is not in a trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.convert.hand_made import SECRET, entry, trace_rows, trace_zip
from tests.convert.making import converted, gaps, of


def rows_with(version: int, *more: dict[str, Any], without: str = "") -> list[dict[str, Any]]:
    return [*(row for row in trace_rows(version) if row["type"] != without), *more]


def told(
    folder: Path, rows: list[dict[str, Any]], network: list[dict[str, Any]] | None = None
) -> list[Any]:
    return converted(trace_zip(folder / "trace.zip", rows, network), folder)


@pytest.mark.parametrize("version", range(4, 11))
def test_every_version_tells_the_same(version: int, tmp_path: Path) -> None:
    events = told(tmp_path, trace_rows(version))
    page = [event for event in events if event.source == "cdp"]
    assert [event.kind for event in page] == [
        "tab.opened", "page.navigated", "page.title_changed", "field.filled", "element.clicked", "page.navigated",
    ]  # fmt: skip
    filled, clicked, within = (event.data for event in page[3:])
    assert (filled["element"]["name"], filled["value"], filled["trusted"]) == (
        "Search",
        "lamp",
        True,
    )
    assert (clicked["element"]["role"], clicked["element"]["name"], clicked["trusted"]) == (
        "button",
        "Go",
        True,
    )
    assert (within["url"], within["same_document"]) == ("http://shop.example/#found", True)
    assert of(events, "episode.opened")[0]["converted"]["version"] == version


def test_a_call_is_a_step_and_its_effects_stand_in_it(tmp_path: Path) -> None:
    events = told(tmp_path, trace_rows(8))
    assert [event.kind for event in events if event.source in ("steps", "cdp") and event.at >= 10_000_000] == [
        "step.ended", "field.filled",
        "step.sealed", "step.began", "element.clicked", "step.ended", "page.navigated",
    ]  # fmt: skip
    assert [data["action"] for data in of(events, "step.began")] == [
        {"call": "Frame fill", "selector": "[name=q]", "value": "lamp"},
        {"call": "Frame click", "selector": "button"},
    ]


def test_calls_that_overlap_are_steps_in_the_order_of_their_beginnings(tmp_path: Path) -> None:
    waiting = {
        "type": "before",
        "callId": "call@9",
        "class": "Page",
        "method": "waitForEvent",
        "startTime": 125.0,
    }
    events = told(
        tmp_path,
        rows_with(
            8,
            waiting | {"title": "Wait", "params": {}},
            {"type": "after", "callId": "call@9", "endTime": 150.0},
        ),
    )
    assert [data["action"]["call"] for data in of(events, "step.began")] == [
        "Frame fill",
        "Wait",
        "Frame click",
    ]
    assert [data["step"] for data in of(events, "step.ended")] == [0, 2]


def changed(version: int, value: str, phase: str = "after", **marks: str) -> list[dict[str, Any]]:
    """The rows, with another value in the second call's last snapshot."""
    rows = trace_rows(version)
    field = {"__playwright_value_": value, "name": "q", "aria-label": "Search", **marks}
    rows[-1]["snapshot"]["html"] = ["HTML", {}, [[4, 2]], ["BODY", {}, ["INPUT", field], [[1, 4]]]]
    return rows


def test_a_field_that_changes_by_itself_is_not_the_users(tmp_path: Path) -> None:
    """The click's own target is a button: the page's script filled the field."""
    filled = of(told(tmp_path, changed(8, "lamp shade")), "field.filled")
    assert [(data["value"], data["trusted"]) for data in filled] == [
        ("lamp", True),
        ("lamp shade", False),
    ]


def test_what_stands_in_a_new_document_is_baseline(tmp_path: Path) -> None:
    rows = trace_rows(8)
    rows[2]["snapshot"]["html"][3][2][1]["__playwright_value_"] = "prefilled"
    first = of(told(tmp_path, rows), "field.filled")[0]
    assert (first["value"], first["baseline"]) == ("prefilled", True)


def secret_rows() -> list[dict[str, Any]]:
    rows = trace_rows(8)
    rows[1]["params"]["value"] = SECRET
    for row in rows:
        html = row.get("snapshot", {}).get("html", [])
        for node in html[3] if len(html) > 3 else ():
            if isinstance(node, list) and node[0] == "INPUT":
                node[1]["type"] = "password"
                node[1]["__playwright_value_"] = node[1]["__playwright_value_"] and SECRET
    return rows


def test_a_password_is_kept_back_wherever_it_comes_again(tmp_path: Path) -> None:
    """In the call, the field, a body, an address: under names that say nothing."""
    posted = {"mimeType": "application/x-www-form-urlencoded", "text": f"z={SECRET}"}
    network = entry(f"http://shop.example/?y={SECRET}", 40, 200, "POST", posted=posted)
    rows = [
        {
            "type": "resource-snapshot",
            "snapshot": {**network, "_monotonicTime": 145.0, "_frameref": "frame@1"},
        }
    ]
    events = told(tmp_path, secret_rows(), rows)
    [filled] = of(events, "field.filled")
    assert (filled["value"], filled["has_value"]) == (None, True)
    assert of(events, "step.began")[0]["action"]["value"] == "***"
    [finished] = of(events, "request.finished")
    assert (finished["url"], finished["body"]["text"]) == ("http://shop.example/?y=***", "z=***")
    assert SECRET not in str([event.data for event in events])


@pytest.mark.parametrize(
    ("method", "cls", "part"),
    [("mouseClick", "Page", "element"), ("keyboardType", "Page", "element"), ("dragAndDrop", "Frame", "element"),
     ("click", "Frame", "field")],
)  # fmt: skip
def test_what_a_trace_does_not_say_of_a_call_blinds_its_step(
    method: str, cls: str, part: str, tmp_path: Path
) -> None:
    """Input at a place instead of an element; a click without a snapshot of what it met."""
    call = {
        "type": "before",
        "callId": "call@9",
        "class": cls,
        "method": method,
        "startTime": 150.0,
        "title": "It",
    }
    end = {"type": "after", "callId": "call@9", "endTime": 160.0}
    events = told(tmp_path, rows_with(8, call | {"params": {"text": SECRET}}, end))
    momentary = [event for event in events if event.kind == "gap.began" and event.at > 0]
    assert part in {event.data["part"] for event in momentary}
    assert {event.data["part"] for event in momentary} == {
        data["part"] for data in of(events, "gap.ended")
    }
    assert SECRET not in str([event.data for event in events])


@pytest.mark.parametrize(
    ("method", "parts"),
    [("click", {"element", "field", "page", "request"}), ("fill", {"element", "field", "page", "request"}),
     ("goto", {"element", "field", "page", "request"}), ("title", set())],
)  # fmt: skip
def test_a_call_that_was_under_way_when_the_trace_ended_blinds_its_step(
    method: str, parts: set[str], tmp_path: Path
) -> None:
    """What it clicked, filled, loaded or sent, if it did, came after the trace's last row."""
    call = {
        "type": "before",
        "callId": "call@9",
        "class": "Frame",
        "method": method,
        "startTime": 150.0,
        "title": "It",
    }
    events = told(tmp_path, rows_with(8, call | {"params": {}}))
    lost = {
        e.data["part"]
        for e in events
        if e.kind == "gap.began" and "trace ends before It" in e.data["reason"]
    }
    assert lost == parts


def second(method: str, target: Any, **params: Any) -> list[dict[str, Any]]:
    """The rows, with another second call, on ``target`` in place of the button: an element, or
    children of the body."""
    rows = trace_rows(8)
    call = next(row for row in rows if row["type"] == "before" and row["callId"] == "call@2")
    call |= {"method": method, "params": params}
    nodes = target if isinstance(target[0], list) else [target]
    shot = next(
        row["snapshot"]
        for row in rows
        if row.get("snapshot", {}).get("snapshotName") == "input@call@2"
    )
    shot["html"] = ["HTML", {}, [[3, 2]], ["BODY", {}, *nodes]]
    return rows


def node(tag: str, *children: Any, **attributes: str) -> list[Any]:
    return [tag, attributes, *children]


MARK = {"__playwright_target__": "call@2"}
FORM = node("FORM", node("INPUT", name="q", **MARK), node("BUTTON", "Go"))
FAR = [node("INPUT", name="q", form="f", **MARK), node("BUTTON", "Go", form="f")]

PRESSED: dict[str, tuple[Any, str, int, bool]] = {
    "Enter on a button": (node("BUTTON", "Go", **MARK), "Enter", 1, False),
    "Space on a button": (node("BUTTON", "Go", **MARK), "Space", 1, False),
    "a blank on a button": (node("BUTTON", "Go", **MARK), " ", 1, False),
    "Enter of the number block on a button": (
        node("BUTTON", "Go", **MARK),
        "NumpadEnter",
        1,
        False,
    ),
    "Enter on a submit": (node("INPUT", type="submit", value="Go", **MARK), "Enter", 1, False),
    "Enter on a summary": (node("SUMMARY", "Go", **MARK), "Enter", 1, False),
    "Enter on a link": (node("A", "Go", href="/x", **MARK), "Enter", 1, False),
    "Space on a checkbox": (node("INPUT", type="checkbox", **MARK), "Space", 1, False),
    "Space on a link": (node("A", "Go", href="/x", **MARK), "Space", 0, False),
    "Enter on what leads nowhere": (node("A", "Go", **MARK), "Enter", 0, False),
    "Enter on a button that is off": (node("BUTTON", "Go", disabled="", **MARK), "Enter", 0, False),
    "Enter on what only looks like a button": (
        node("DIV", "Go", role="button", **MARK),
        "Enter",
        0,
        False,
    ),
    "Tab on a button": (node("BUTTON", "Go", **MARK), "Tab", 0, False),
    "Enter with a modifier on a button": (node("BUTTON", "Go", **MARK), "Control+Enter", 0, True),
    "Enter in a form's field": (FORM, "Enter", 0, True),
    "Enter in a far form's field": (FAR, "Enter", 0, True),
    "a letter in a form's field": (FORM, "e", 0, False),
    "Space in a form's field": (FORM, "Space", 0, False),
    "Enter in a field of no form": (node("INPUT", name="q", **MARK), "Enter", 0, False),
    "Enter in a form without a button": (
        node("FORM", node("INPUT", name="q", **MARK)),
        "Enter",
        0,
        False,
    ),
    "Enter in a text of many lines": (
        node("FORM", node("TEXTAREA", **MARK), node("BUTTON", "Go")),
        "Enter",
        0,
        False,
    ),
}


@pytest.mark.parametrize(("target", "key", "clicks", "unseen"), PRESSED.values(), ids=PRESSED)
def test_a_key_that_clicks(
    target: Any, key: str, clicks: int, unseen: bool, tmp_path: Path
) -> None:
    """Browsers click what has the focus, or the form's first button: which that is a trace does not
    say."""
    events = told(tmp_path, second("press", target, key=key))
    assert [data["trusted"] for data in of(events, "element.clicked")] == [True] * clicks
    momentary = [
        event.data["part"] for event in events if event.kind == "gap.began" and event.at > 0
    ]
    assert momentary == (["element"] if unseen else [])


@pytest.mark.parametrize(("text", "unseen"), [("lamp\n", True), ("lamp ", False)])
def test_typing_that_sends_the_form(text: str, unseen: bool, tmp_path: Path) -> None:
    events = told(tmp_path, second("type", FORM, text=text))
    assert [
        event.data["part"] for event in events if event.kind == "gap.began" and event.at > 0
    ] == ["element"] * unseen


@pytest.mark.parametrize("method", ["click", "tap", "dblclick", "check", "uncheck", "setChecked"])
def test_a_trial_clicks_nothing(method: str, tmp_path: Path) -> None:
    """It only looks whether the call could be done; the same call in earnest is told."""
    button = node("BUTTON", "Go", **MARK)
    for trial, clicks in ((True, 0), (False, 2 if method == "dblclick" else 1)):
        events = told(tmp_path, second(method, button, trial=trial))
        assert len(of(events, "element.clicked")) == clicks
        assert [event for event in events if event.kind == "gap.began" and event.at > 0] == []


def test_a_trial_that_failed_hides_nothing(tmp_path: Path) -> None:
    rows = second("click", node("BUTTON", "Go", **MARK), trial=True)
    next(row for row in rows if row["type"] == "after" and row["callId"] == "call@2")["error"] = {
        "message": "Timeout"
    }
    assert [
        event for event in told(tmp_path, rows) if event.kind == "gap.began" and event.at > 0
    ] == []


def test_a_click_that_failed_is_told_as_none(tmp_path: Path) -> None:
    rows = trace_rows(8)
    next(row for row in rows if row["type"] == "after" and row["callId"] == "call@2")["error"] = {
        "message": "Timeout"
    }
    events = told(tmp_path, rows)
    assert of(events, "element.clicked") == []
    assert [
        event.data["part"] for event in events if event.kind == "gap.began" and event.at > 0
    ] == ["element"]


def test_a_trace_without_snapshots_is_blind_for_pages(tmp_path: Path) -> None:
    events = told(tmp_path, rows_with(8, without="frame-snapshot"))
    assert {"page", "element", "field", "dialog"} <= gaps(events)
    assert len(of(events, "step.began")) == 2


def dialog(answer: str | None) -> list[dict[str, Any]]:
    params = {"pageId": "page@1", "type": "confirm", "message": "Sure?"}
    asks = {
        "type": "event",
        "time": 142.0,
        "class": "BrowserContext",
        "method": "dialog",
        "params": params,
    }
    call = {
        "type": "before",
        "callId": "call@8",
        "class": "Dialog",
        "method": answer,
        "startTime": 143.0,
        "params": {},
    }
    later = {
        "type": "before",
        "callId": "call@9",
        "class": "Page",
        "method": "title",
        "startTime": 150.0,
        "params": {},
    }
    return [
        asks,
        *([call, {"type": "after", "callId": "call@8", "endTime": 144.0}] if answer else []),
        later,
    ]


@pytest.mark.parametrize(
    ("answer", "accepted"), [("accept", [True]), ("dismiss", [False]), (None, [])]
)
def test_dialogs_and_who_answered_them(
    answer: str | None, accepted: list[bool], tmp_path: Path
) -> None:
    """What Playwright itself dismissed is in no trace: then the answer is not known."""
    events = told(tmp_path, rows_with(10, *dialog(answer)))
    assert [data["message"] for data in of(events, "dialog.opened")] == ["Sure?"]
    assert [data["accepted"] for data in of(events, "dialog.closed")] == accepted
    unknown = [event for event in events if event.kind == "gap.began" and event.at > 0]
    assert [event.data["part"] for event in unknown] == ([] if accepted else ["dialog.closed"])


def test_requests_of_the_harness_itself_are_not_the_browsers(tmp_path: Path) -> None:
    own = {**entry("http://shop.example/api", 0), "_monotonicTime": 135.0, "_apiRequest": True}
    assert (
        of(
            told(tmp_path, trace_rows(8), [{"type": "resource-snapshot", "snapshot": own}]),
            "request.sent",
        )
        == []
    )


@pytest.mark.parametrize(
    "html",
    [
        [[0, 0]],
        [[99, 0]],
        [[1, 99]],
        [[-1, 0]],
        ["HTML"],
        [],
        "text",
        ["DIV", {}, [[0, 1]], [[0, 0]]],
        [[[0, 0]]],
    ],
    ids=str,
)
def test_a_snapshot_that_points_nowhere_ends(html: Any, tmp_path: Path) -> None:
    rows = trace_rows(8)
    rows[-1]["snapshot"]["html"] = html
    assert of(told(tmp_path, rows), "episode.closed")


def test_a_snapshot_that_repeats_itself_without_end_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each snapshot holds the one before it twice."""
    monkeypatch.setattr("lab.convert.trace_dom.MAX_NODES", 2000)
    rows = trace_rows(8)
    last = rows[-1]["snapshot"]
    for number in range(60):
        doubled = ["DIV", {}, [[1, 0 if number else 5]], [[1, 0 if number else 5]]]
        rows.append(
            {
                "type": "frame-snapshot",
                "snapshot": last | {"html": doubled, "timestamp": 150.0 + number},
            }
        )
    assert of(told(tmp_path, rows), "episode.closed")
