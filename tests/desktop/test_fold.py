"""The fold by tables: what raw messages tell, and what they don't."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agentd.masking import Masker
from agentd.sources.ax.fold import SWITCHES, DesktopFold, feed_all
from agentd.sources.ax.messages import Message
from detectors.model.kinds.shapes import texts_at

BUS = ":1.7"
ROOT, WINDOW, DIALOG = f"{BUS}/root", f"{BUS}/w", f"{BUS}/d"
SHOWN = ["enabled", "sensitive", "showing", "visible"]


def node(
    one: str, role: str, name: str = "", parent: str = WINDOW, states: list[str] | None = None
) -> Message:
    return {
        "t": "node", "id": f"{BUS}/{one}" if "/" not in one else one, "bus": BUS, "role": role, "name": name,
        "parent": parent, "index": 0, "states": SHOWN if states is None else states,
    }  # fmt: skip


def event(kind: str, one: str, d1: int = 0, d2: int = 0, any_: Any = None) -> Message:
    return {
        "t": "event", "type": kind, "id": f"{BUS}/{one}" if "/" not in one else one, "d1": d1, "d2": d2, "any": any_,
    }  # fmt: skip


def windows(*titles: tuple[str, str]) -> Message:
    listed = [{"id": one, "name": name, "states": [*SHOWN, "active"]} for one, name in titles]
    return {"t": "windows", "bus": BUS, "windows": listed}


def read(one: str, text: str | None = None, **more: Any) -> Message:
    said = {"t": "read", "id": f"{BUS}/{one}", "states": SHOWN, **more}
    return said | ({} if text is None else {"text": text, "cut": False})


START: list[Message] = [
    node(ROOT, "application", "editor", ""),
    {"t": "app", "bus": BUS, "id": ROOT, "toolkit": "GTK", "version": "3.24", "pid": 9},
    node(WINDOW, "frame", "a.txt", ROOT),
    windows((WINDOW, "a.txt")),
    {"t": "ready"},
]
BOX = [node("text", "text"), node("bar", "progress bar"), node("item", "menu item", "Copy"), node("ok", "push button", "OK"),
       node("hidden", "check box", "Off", states=["enabled", "sensitive"]), node("box", "check box", "Wrap"),
       node("menu", "menu", "Edit"), node("label", "label", "3 files"), node("pane", "split pane"),
       node("pass", "password text", "Password")]  # fmt: skip


def told(*messages: Message, masker: Masker | None = None) -> list[tuple[str, Any]]:
    """What messages after the start tell, in short: the kind, and what is new in it."""
    fold = DesktopFold(masker)
    feed_all(fold, [*START, *BOX])
    said = []
    for message in messages:
        if message["t"] == "due":
            fold.take_due()
        else:
            said += fold.feed(message)
    return [(say.kind, short(say.data)) for say in said]


def short(data: Mapping[str, Any]) -> Any:
    for name in ("text", "value", "state", "title", "part", "by"):
        if name in data:
            extra = tuple(key for key in ("initial", "baseline", "cut") if data.get(key))
            value = (data["state"], data["on"]) if name == "state" else data[name]
            return (value, *extra) if extra else value
    return data.get("widget", {}).get("name")


DUE: Message = {"t": "due"}
YES: dict[str, tuple[list[Message], list[tuple[str, Any]]]] = {
    "a title with its event": (
        [event("object:property-change:accessible-name", WINDOW, any_="*a.txt")],
        [("window.title_changed", "*a.txt")],
    ),
    "a title that only a list tells, once": (
        [windows((WINDOW, "*a.txt")), event("object:property-change:accessible-name", WINDOW, any_="*a.txt")],
        [("window.title_changed", "*a.txt")],
    ),
    "a dialog opens, is active, closes": (
        [
            node(DIALOG, "dialog", "Save?", ROOT), event("window:create", DIALOG), event("window:activate", DIALOG),
            windows((WINDOW, "a.txt"), (DIALOG, "Save?")), event("window:destroy", DIALOG), windows((WINDOW, "a.txt")),
        ],
        [
            ("window.opened", "Save?"), ("window.activated", "Save?"), ("window.closed", "Save?"),
            ("window.activated", "a.txt"),
        ],
    ),
    "a window that has another object above what is in it": (
        [
            node("w2", "frame", "a.txt", ROOT), node("in", "push button", "In", f"{BUS}/w2"),
            event("window:activate", "w2"), windows((WINDOW, "a.txt")), event("object:state-changed:focused", "in", 1),
        ],
        [("widget.focused", "In")],
    ),
    "a window that only the list misses": ([windows()], [("window.closed", "a.txt")]),
    "a text, read when it rested": (
        [event("object:text-changed:insert", "text", 0, 2, "hi"), DUE, read("text", "hi")],
        [("widget.text_inserted", "hi"), ("widget.text_changed", "hi")],
    ),
    "a text whose widget died, by its edits": (
        [
            event("object:text-changed:insert", "text", 0, 5, "hello"), event("object:text-changed:delete", "text", 0, 1, "h"),
            event("object:text-changed:insert", "text", 0, 1, "J"), DUE, {"t": "read", "id": f"{BUS}/text", "dead": True},
        ],
        [
            ("widget.text_inserted", "hello"), ("widget.text_deleted", "h"), ("widget.text_inserted", "J"),
            ("widget.text_changed", "Jello"),
        ],
    ),
    "a text of a window that closes comes before it": (
        [event("object:text-changed:insert", "text", 0, 2, "hi"), event("window:destroy", WINDOW)],
        [("widget.text_inserted", "hi"), ("widget.text_changed", "hi"), ("window.closed", "a.txt")],
    ),
    "gtk 4's offsets, counted from the end of what was inserted": (
        [
            event("object:text-changed:insert", "text", 0, 0, ""), event("object:text-changed:insert", "text", -1, 1, "1"),
            event("object:text-changed:insert", "text", 0, 1, "2"), DUE, {"t": "read", "id": f"{BUS}/text", "dead": True},
        ],
        [
            ("widget.text_inserted", ""), ("widget.text_inserted", "1"), ("widget.text_inserted", "2"),
            ("widget.text_changed", "12"),
        ],
    ),
    "what stands in a window that opened": ([read("text", "old")], [("widget.text_changed", ("old", "initial"))]),
    "a password, but not which": (
        [event("object:text-changed:insert", "pass", 0, 2, "pw"), DUE, read("pass", "pw")],
        [("widget.text_inserted", "***"), ("widget.text_changed", "***")],
    ),
    "a card's number is masked": (
        [event("object:text-changed:insert", "text", 0, 1, ""), DUE, read("text", "4111 1111 1111 1111")],
        [("widget.text_inserted", ""), ("widget.text_changed", "***")],
    ),
    "a label's new text": (
        [event("object:property-change:accessible-name", "label", any_="4 files"), DUE, read("label")],
        [("widget.text_changed", "4 files")],
    ),
    "a bar's progress, where it stopped": (
        [event("object:property-change:accessible-value", "bar")] * 50 + [DUE, read("bar", value=0.9)],
        [("widget.value_changed", 0.9)],
    ),
    "a switch, once": (
        [event("object:state-changed:checked", "box", 1)] * 2 + [event("object:state-changed:checked", "box", 0)],
        [("widget.state_changed", ("checked", True)), ("widget.state_changed", ("checked", False))],
    ),
    "a switch that was described only after it changed": (
        [node("late", "check box", "Late", states=[*SHOWN, "checked"]), event("object:state-changed:checked", "late", 1)],
        [("widget.state_changed", ("checked", True))],
    ),
    "a switch that is off now and was on as it was described": (
        [node("was", "check box", "Was", states=[*SHOWN, "checked"]), event("object:state-changed:checked", "was", 0)],
        [("widget.state_changed", ("checked", False))],
    ),
    "a button that is not sensitive any more": (
        [event("object:state-changed:sensitive", "ok", 0), DUE, read("ok") | {"states": ["showing"]}],
        [("widget.state_changed", ("sensitive", False))],
    ),
    "focus": ([event("object:state-changed:focused", "text", 1)] * 2, [("widget.focused", "")]),
    "focus as GTK 2 tells it": ([event("focus:", "ok")], [("widget.focused", "OK")]),
    "a program that is gone": (
        [{"t": "gone", "bus": BUS}], [("window.closed", "a.txt"), ("app.vanished", None)],
    ),
    "an empty tree": (
        [{"t": "walked", "id": WINDOW, "nodes": 0, "tries": tries} for tries in (1, 2, 3, 4)]
        + [{"t": "walked", "id": WINDOW, "nodes": 12, "tries": 5}],
        [("gap.began", "editor"), ("alarm.raised", "editor"), ("gap.ended", "editor"), ("alarm.ended", "editor")],
    ),
    "a program that does not answer": (
        [{"t": "busy", "bus": BUS, "on": True}] * 3 + [{"t": "busy", "bus": BUS, "on": False}],
        [("gap.began", "editor"), ("alarm.raised", "editor"), ("gap.ended", "editor"), ("alarm.ended", "editor")],
    ),
}  # fmt: skip

NO: dict[str, list[Message]] = {
    "a tooltip's window": [node(DIALOG, "window", "", ROOT), event("window:create", DIALOG)],
    "a title that a list overtook": [event("object:property-change:accessible-name", WINDOW, any_="a.txt")],
    "a splitter's place": [event("object:property-change:accessible-value", "pane"), DUE, read("pane", value=1.0)],
    "a text that is as it was": [read("text", "")],
    "a switch told to be off that was not on": [event("object:state-changed:checked", "box", 0)],
    "a switch nobody sees": [event("object:state-changed:checked", "hidden", 1)],
    "a menu's highlight": [event("object:state-changed:selected", "item", 1)],
    "a menu item that its program switches": [event("object:state-changed:checked", "item", 1)],
    "undo greyed and back while one types": [
        event("object:state-changed:sensitive", "ok", 0), event("object:state-changed:sensitive", "ok", 1), DUE, read("ok"),
    ],
    "an object that nobody described": [event("object:state-changed:focused", "nobody", 1)],
    "a window's focus": [event("object:state-changed:focused", WINDOW, 1)],
    "one empty look": [{"t": "walked", "id": WINDOW, "nodes": 0, "tries": 1}],
    "one slow answer": [{"t": "busy", "bus": BUS, "on": True}, {"t": "busy", "bus": BUS, "on": False}],
}  # fmt: skip


@pytest.mark.parametrize("name", YES)
def test_what_is_told(name: str) -> None:
    messages, wanted = YES[name]
    assert told(*messages) == wanted


@pytest.mark.parametrize("name", NO)
def test_what_is_not(name: str) -> None:
    assert told(*NO[name]) == []


def test_an_event_about_a_window_that_a_list_said_to_be_gone_is_an_old_one() -> None:
    """Lists are asked for and may be ahead of events."""
    before = [
        node(DIALOG, "dialog", "Old", ROOT),
        windows((WINDOW, "a.txt"), (DIALOG, "Old")),
        windows((WINDOW, "a.txt")),
    ]
    assert told(*before, event("window:activate", DIALOG)) == told(*before)


def press(what: str, **more: Any) -> Message:
    return {"t": "press", "what": what, **more}


def click(one: str | None, end: str = "up") -> list[Message]:
    under = None if one is None else f"{BUS}/{one}"
    return [press("down", n=1, at=100), press("under", n=1, id=under), press(end, n=1)]


def focus(one: str, at: int) -> Message:
    return event("object:state-changed:focused", one, 1) | {"at": at}


PRESSED: dict[str, tuple[list[Message], list[str]]] = {
    "a button under the pointer": (click("ok"), ["OK pointer"]),
    "the button around the label under the pointer": (
        [node("icon", "label", "OK", f"{BUS}/ok"), *click("icon")], ["OK pointer"]
    ),
    "a button dragged away from": (click("ok", "dragged"), []),
    "a text under the pointer": (click("text"), []),
    "a button that is not sensitive": ([node("grey", "push button", "No", states=["showing"]), *click("grey")], []),
    "a key on the focused button": ([focus("ok", 50), press("key", at=60)], ["OK key"]),
    "a key in a text": ([focus("text", 50), press("key", at=60)], []),
    "a key that closed its dialog, heard late": (
        [focus("ok", 50), focus("text", 70), press("key", at=60)], ["OK key"]
    ),
    "a menu's item by key": (
        [event("object:state-changed:selected", "item", 1) | {"at": 50}, press("key", at=60)], ["Copy key"]
    ),
    "a menu that was left": (
        [
            event("object:state-changed:selected", "item", 1) | {"at": 50},
            event("object:state-changed:selected", "item", 0) | {"at": 55}, press("key", at=60),
        ],
        [],
    ),
    "a menu's item by pointer, highlighted late": (
        [press("down", n=1, at=100), press("under", n=1, id=f"{BUS}/text"),
         event("object:state-changed:selected", "item", 1) | {"at": 110}, press("up", n=1)],
        ["Copy pointer"],
    ),
    "a click that closed its window at once: what it focused": (
        [focus("text", 50), press("down", n=1, at=100), press("under", n=1, id=None), focus("ok", 105), press("up", n=1)],
        ["OK pointer"],
    ),
    "a click that closed its window at once: nothing it focused": (
        [focus("ok", 50), press("down", n=1, at=100), press("under", n=1, id=None), press("up", n=1)], [],
    ),
    "a menu of a menu bar": (
        [node("mbar", "menu bar"), node("file", "menu item", "File", f"{BUS}/mbar"), *click("file")], []
    ),
    "where the toolkit tells it itself": (
        [event("object:state-changed:armed", "ok", 1), event("object:state-changed:armed", "ok", 0)], ["OK toolkit"]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PRESSED)
def test_what_was_activated(name: str) -> None:
    messages, wanted = PRESSED[name]
    fold = DesktopFold()
    feed_all(fold, [*START, *BOX])
    told = feed_all(fold, messages)
    said: list[Any] = [say.data for say in told if say.kind == "widget.activated"]
    assert [f"{data['widget']['name']} {data['by']}" for data in said] == wanted


def test_before_ready_everything_is_baseline() -> None:
    """Windows, texts, switches that are on: nobody did it now."""
    said = feed_all(
        DesktopFold(),
        [*START[:4], node("text", "text"), node("on", "check box", "Wrap", states=[*SHOWN, "checked"]), read("text", "old"),
         {"t": "walked", "id": WINDOW, "nodes": 2, "tries": 1}],
    )  # fmt: skip
    assert [say.kind for say in said] == [
        "app.appeared", "window.opened", "window.activated", "widget.text_changed", "widget.state_changed",
    ]  # fmt: skip
    assert all(say.data["baseline"] is True for say in said)


def test_what_is_never_asked_for_is_settled_from_the_events() -> None:
    """As a converter of a capture does it, where nobody can be asked any more."""
    fold = DesktopFold()
    feed_all(fold, [*START, *BOX, event("object:text-changed:insert", "text", 0, 2, "hi")])
    assert fold.due
    assert [(say.kind, say.data["text"]) for say in fold.settle()] == [
        ("widget.text_changed", "hi")
    ]
    assert not fold.due
    assert fold.settle() == []


def test_a_field_that_the_task_calls_secret_is_masked() -> None:
    """By its label."""
    masker = Masker(["pin"])
    said = told(node("pin", "entry", "PIN"), DUE, event("object:text-changed:insert", "pin", 0, 1, "1"), DUE,
                read("pin", "12"), masker=masker)  # fmt: skip
    assert said == [("widget.text_inserted", "***"), ("widget.text_changed", "***")]


def test_a_flood_is_bounded() -> None:
    """Ten thousand labels that change are five hundred to be read."""
    fold = DesktopFold()
    feed_all(fold, START)
    for number in range(10_000):
        fold.feed(node(f"l{number}", "label", "x"))
        assert (
            fold.feed(event("object:property-change:accessible-name", f"l{number}", any_="y")) == []
        )
    assert len(fold.take_due()) == 500


def test_the_states_that_are_reported_are_those_that_the_kind_names() -> None:
    """A condition may wait for no other."""
    assert {*SWITCHES, "sensitive"} == set(texts_at("widget.state_changed", ("state",)))
