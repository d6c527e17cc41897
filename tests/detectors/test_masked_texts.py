"""What the daemon masked in a text that a page, a window or the clipboard shows is not known: a
condition that hangs on it is null, and asterisks of the page's own are asterisks."""

from __future__ import annotations

from typing import Any

import pytest

from agentd.masking import Masker
from agentd.sources.cdp.state.masking import cover
from detectors.matchers import TextMatch
from detectors.matchers.masked_text import judge_running_text
from detectors.model.kinds.limits import MAX_CLASSES
from detectors.model.types import Reward
from detectors.task.part_index import MIN_LEAVES
from tests.detectors.tables_probes import PROBES, probed
from tests.support.logs import Said, clicked, episode, filled, ruleset, run, titled, went

CARD = "4111111111111111"
SHOP = "Paid with ***"
KEYED = "a\nkey=*** ***\non"
"""A file with a private key, which is several lines."""
PINNED = '{"a":1,"pin":"***"}'
"""A text of JSON as the daemon writes it where it masked something: in one line, without spaces."""
STARRED = "Paid with *****"
LABEL = f"Paid with {CARD}"
ON_PAGE = {"tab": "T", "frame": "T"}


def masked(kind: str, data: dict[str, Any], *fields: str) -> Said:
    return kind, {**data, "masked": list(fields)} if fields else data


def text(shown: str, *fields: str, **more: Any) -> Said:
    return masked("text.appeared", {**ON_PAGE, "text": shown, **more}, *fields)


def block(shown: str, *fields: str, **more: Any) -> Said:
    return masked("text.shown", {**ON_PAGE, "key": "k", "text": shown, **more}, *fields)


def title(shown: str, *fields: str) -> Said:
    return masked(*titled(shown), *fields)


def click(name: str, *fields: str, **element: Any) -> Said:
    return masked(*clicked(name, **element), *fields)


def fill(name: str, value: Any, *fields: str, **more: Any) -> Said:
    kind, data = filled(name, value, **more)
    data["element"].pop("attr_name")
    return masked(kind, data, *fields)


def submit(name: str, *fields: str) -> Said:
    form = {"name": name, "action": "http://shop.test/pay", "method": "post"}
    data = {**ON_PAGE, "form": form, "fields": [["town", "Oslo"]], "trusted": True}
    return masked("form.submitted", data, *fields)


def state(name: str, *fields: str) -> Said:
    data = {**ON_PAGE, "key": "k", "element": {"role": "tab", "name": name, "tag": "div"}}
    return masked("element.state_changed", {**data, "visible": True, "checked": True}, *fields)


def dialog(message: str, answer: str, *fields: str) -> Said:
    data = {"tab": "T", "type": "prompt", "message": message, "accepted": True, "input": answer}
    return masked("dialog.closed", data, *fields)


def window(shown: str, *fields: str) -> Said:
    data = {"app": "editor", "window": "w", "role": "frame", "title": shown}
    return masked("window.opened", data, *fields)


def widget(shown: str, *fields: str, **more: Any) -> Said:
    data = {"app": "editor", "window": "w", "widget": {"role": "text", "name": "Note", "id": "1"}}
    return masked("widget.text_changed", {**data, "text": shown, **more}, *fields)


def download(name: str, *fields: str) -> Said:
    data = {"tab": "T", "url": "http://shop.test/a", "name": name, "download": "d", "size": 3}
    return masked("download.finished", data, *fields)


def styled(classes: list[str], *fields: str) -> Said:
    element = {"role": "tab", "name": "Go", "tag": "div", "id": "x"}
    data = {**ON_PAGE, "key": "k", "element": element, "visible": True, "classes": classes}
    return masked("element.state_changed", data, *fields)


def program(*arguments: str, **more: Any) -> Said:
    data = {"pid": 7, "name": "pay", "arguments": list(arguments), "masked": ["arguments"]}
    return "process.started", data | more


def file(facts: dict[str, Any], *fields: str, **more: Any) -> Said:
    data = {
        "root": "home",
        "path": "a",
        "name": "a",
        "as": "auto",
        "status": "read",
        "when": "step",
    }
    return masked("file.read", {**data, "format": "json", "facts": facts, **more}, *fields)


def table(*cells: str) -> Said:
    sheet = {"name": "one", "size": [1, len(cells)], "rows": [list(cells)]}
    return file({"sheets": [sheet]}, "facts")


def packed(*names: str) -> Said:
    entries = [{"name": name} for name in names]
    return file({"entries": entries, "count": len(entries)}, "facts")


def line(number: int, text: str) -> dict[str, Any]:
    return {"path": "a", "unit": "line", "number": number, "text": text}


def clipboard(shown: str, **more: Any) -> Said:
    return "clipboard.changed", {"selection": "clipboard", "text": shown, "length": 9, **more}


TABLE: dict[str, tuple[str, dict[str, Any], Said, float | None]] = {
    "a text": ("text_visible", {"text": f"Paid with {CARD}"}, text(SHOP, "text"), None),
    "a text, in part": ("text_visible", {"text": {"contains": CARD}}, text(SHOP, "text"), None),
    "a pattern of two letters": ("text_visible", {"text": {"glob": "??*"}}, text("***", "text"), None),
    "a text that begins otherwise": ("text_visible", {"text": f"Sent to {CARD}"}, text(SHOP, "text"), 0.0),
    "what stands beside the mask": ("text_visible", {"text": {"contains": "Paid"}}, text(SHOP, "text"), 1.0),
    "asterisks of the page's own": ("text_visible", {"text": {"contains": "Sent"}}, text("*** Sale ***"), 0.0),
    "a block": ("text_visible", {"text": f"Paid with {CARD}", "now": True}, block(SHOP, "text"), None),
    "a block that begins otherwise": ("text_visible", {"text": "Sent", "now": True}, block(SHOP, "text"), 0.0),
    "a block that is cut": ("text_visible", {"text": f"{SHOP} and gone", "now": True}, block(SHOP, cut=True), None),
    "a block that is cut, and otherwise": ("text_visible", {"text": "Sent", "now": True}, block(SHOP, cut=True), 0.0),
    "a title": ("title_matches", {"title": f"Paid with {CARD}"}, title(SHOP, "title"), None),
    "another title": ("title_matches", {"title": "Shop"}, title(SHOP, "title"), 0.0),
    "a title with asterisks": ("title_matches", {"title": f"Paid with {CARD}"}, title(SHOP), 0.0),
    "a click": ("element_clicked", {"name": f"Paid with {CARD}"}, click(SHOP, "element"), None),
    "a click on another": ("element_clicked", {"name": "Cancel"}, click(SHOP, "element"), 0.0),
    "a click by its id": ("element_clicked", {"id": "pay"}, click(SHOP, "element", id="pay"), 1.0),
    "a click on another id": ("element_clicked", {"name": f"Paid with {CARD}", "id": "x"}, click(SHOP, "element", id="pay"), 0.0),
    "a state": ("element_state", {"name": f"Paid with {CARD}", "checked": True}, state(SHOP, "element"), None),
    "a state of another": ("element_state", {"name": "Cancel", "checked": True}, state(SHOP, "element"), 0.0),
    "another state": ("element_state", {"name": f"Paid with {CARD}", "checked": False}, state(SHOP, "element"), 0.0),
    "a field": ("field_filled", {"field": LABEL, "value": "me"}, fill(SHOP, "me", "element"), None),
    "a field, in part": ("field_filled", {"field": {"contains": CARD}, "value": "me"}, fill(SHOP, "me", "element"), None),
    "a box": ("field_filled", {"field": LABEL, "checked": True}, fill(SHOP, None, "element", checked=True), None),
    "a field by what is beside the mask": ("field_filled", {"field": {"contains": "Paid"}, "value": "me"}, fill(SHOP, "me", "element"), 1.0),
    "a field of another label": ("field_filled", {"field": "Town", "value": "me"}, fill(SHOP, "me", "element"), 0.0),
    "a field of another value": ("field_filled", {"field": LABEL, "value": "me"}, fill(SHOP, "you", "element"), 0.0),
    "a field with asterisks": ("field_filled", {"field": LABEL, "value": "me"}, fill(SHOP, "me"), 0.0),
    "a form": ("form_filled", {"fields": {LABEL: "me"}}, fill(SHOP, "me", "element"), None),
    "a form's field in asterisks": ("form_filled", {"fields": {f"Paid with *{CARD}*": "me"}}, fill(STARRED, "me", "element"), None),
    "a field in asterisks": ("field_filled", {"field": f"Paid with *{CARD}*", "value": "me"}, fill(STARRED, "me", "element"), None),
    "a form's box": ("form_filled", {"fields": {LABEL: True}}, fill(SHOP, None, "element", checked=True), None),
    "a form's other field": ("form_filled", {"fields": {"Town": "me"}}, fill(SHOP, "me", "element"), 0.0),
    "a form's field of another value": ("form_filled", {"fields": {LABEL: "me"}}, fill(SHOP, "you", "element"), 0.0),
    "a form's field with asterisks": ("form_filled", {"fields": {LABEL: "me"}}, fill(SHOP, "me"), 0.0),
    "a form that is submitted": ("form_submitted", {"form": LABEL}, submit(SHOP, "form"), None),
    "another form that is submitted": ("form_submitted", {"form": "Search"}, submit(SHOP, "form"), 0.0),
    "a form with asterisks": ("form_submitted", {"form": LABEL}, submit(SHOP), 0.0),
    "a form of another value": ("form_submitted", {"form": LABEL, "fields": {"town": "Rome"}}, submit(SHOP, "form"), 0.0),
    "a dialog's message": ("dialog_answered", {"message": f"Paid with {CARD}"}, dialog(SHOP, "yes", "message"), None),
    "a dialog's input": ("dialog_answered", {"input": CARD}, dialog("Card?", "***", "input"), None),
    "another dialog": ("dialog_answered", {"message": "Name?", "input": CARD}, dialog("Card?", "***", "input"), 0.0),
    "a window's title": ("window_opened", {"title": f"Paid with {CARD}"}, window(SHOP, "title"), None),
    "another window's title": ("window_opened", {"title": "Files"}, window(SHOP, "title"), 0.0),
    "a widget's text": ("widget_text", {"text": f"Paid with {CARD}"}, widget(SHOP, "text"), None),
    "another widget's text": ("widget_text", {"text": "Files"}, widget(SHOP, "text"), 0.0),
    "a cut text": ("widget_text", {"text": f"Paid with {CARD}, thanks"}, widget(SHOP, "text", cut=True), None),
    "the clipboard": ("clipboard_holds", {"text": f"Paid with {CARD}"}, clipboard(SHOP), None),
    "the clipboard, otherwise": ("clipboard_holds", {"text": "Files"}, clipboard(SHOP), 0.0),
    "asterisks that were copied": ("clipboard_holds", {"text": "Files"}, clipboard(SHOP, sha256="0" * 64), 0.0),
    "a download": ("download_finished", {"name": f"{CARD}.pdf"}, download("***.pdf", "name"), None),
    "another download": ("download_finished", {"name": "invoice.pdf"}, download("***.csv", "name"), 0.0),
    "a download with asterisks": ("download_finished", {"name": f"{CARD}.pdf"}, download("***.pdf"), 0.0),
    "a class": ("element_state", {"id": "x", "css_class": f"c{CARD}"}, styled(["big", "c***"], "classes"), None),
    "another class": ("element_state", {"id": "x", "css_class": "small"}, styled(["big", "c***"], "classes"), 0.0),
    "a class that is there": ("element_state", {"id": "x", "css_class": "big"}, styled(["big", "c***"], "classes"), 1.0),
    "a class beyond those that are told": ("element_state", {"id": "x", "css_class": "on"}, styled(["c"] * MAX_CLASSES), None),
    "a program": ("process_started", {"name": "pay", "arguments": f"pay {CARD}"}, program("pay", "***"), None),
    "a program with others": ("process_started", {"name": "pay", "arguments": "send me"}, program("pay", "***"), 0.0),
    "a program with asterisks": ("process_started", {"name": "pay", "arguments": f"pay {CARD}"}, program("pay", "***", masked=[]), 0.0),
    "a program of many arguments": ("process_started", {"name": "pay", "arguments": {"ends_with": "me"}}, program("pay", "***", cut=True), None),
    "a file": ("file_text", {"path": "a", "text": {"contains": CARD}}, file({"text": SHOP}, "facts"), None),
    "another file": ("file_text", {"path": "a", "text": "Sent"}, file({"text": SHOP}, "facts"), 0.0),
    "what stands in a file beside the mask": ("file_text", {"path": "a", "text": {"contains": "Paid"}}, file({"text": SHOP}, "facts"), 1.0),
    "asterisks of a file's own": ("file_text", {"path": "a", "text": {"contains": CARD}}, file({"text": SHOP}), 0.0),
    "a file that is cut": ("file_text", {"path": "a", "text": {"contains": CARD}}, file({"text": SHOP}, "facts", cut=True), None),
    "a line below a private key": ("file_text", line(3, "on"), file({"text": KEYED}, "facts"), None),
    "a line of a private key's file that is not there": ("file_text", line(3, "off"), file({"text": KEYED}, "facts"), 0.0),
    "a line above a private key": ("file_text", line(1, "a"), file({"text": KEYED}, "facts"), 1.0),
    "a line far below a private key": ("file_text", line(9, "on"), file({"text": KEYED}, "facts"), None),
    "a line of JSON that was written anew": ("file_text", line(2, '  "a": 1,'), file({"text": PINNED}, "facts"), None),
    "what JSON that was written anew contains": ("file_text", {"path": "a", "text": {"contains": '"a":1'}}, file({"text": PINNED}, "facts"), None),
    "JSON with asterisks": ("file_text", {"path": "a", "text": {"contains": '"a":1'}}, file({"text": PINNED}), 1.0),
    "a line of asterisks": ("file_text", line(3, "on"), file({"text": KEYED}), 1.0),
    "a setting": ("file_value", {"path": "a", "at": ["pin"], "value": "7"}, file({"value": {"pin": "***", "n": 1}}, "facts"), None),
    "another setting": ("file_value", {"path": "a", "at": ["n"], "value": 2}, file({"value": {"pin": "***", "n": 1}}, "facts"), 0.0),
    "a number that is masked": ("file_value", {"path": "a", "at": ["pin"], "value": {"min": 1}}, file({"value": {"pin": "***"}}, "facts"), None),
    "a cell": ("table_cells", {"path": "a", "cells": {"B1": "7"}}, table("pin", "***"), None),
    "another cell": ("table_cells", {"path": "a", "cells": {"A1": "city"}}, table("pin", "***"), 0.0),
    "a column": ("table_cells", {"path": "a", "row": {"x": "7"}}, table("pin", "***"), None),
    "a whole table": ("table_cells", {"path": "a", "table": {"table": [["pin", "7"]]}}, table("pin", "***"), None),
    "an archive": ("archive_lists", {"path": "a", "names": ["b", CARD]}, packed("b", "***"), None),
    "an archive with no more": ("archive_lists", {"path": "a", "names": ["b"], "only": True}, packed("b", "***"), None),
    "an archive with others": ("archive_lists", {"path": "a", "names": ["b"], "only": True}, packed("c", "***"), 0.0),
}  # fmt: skip


@pytest.mark.parametrize(("rule", "args", "said", "worth"), TABLE.values(), ids=TABLE)
@pytest.mark.parametrize("conditions", [1, MIN_LEAVES], ids=["alone", "in an index"])
def test_a_step_that_hangs_on_what_was_masked_is_null(
    rule: str, args: dict[str, Any], said: Said, worth: float | None, conditions: int
) -> None:
    asked = [{"id": f"m{n}", "component": "ui", "when": {rule: args}} for n in range(conditions)]
    rules = ruleset(*asked, weights={"ui": 1})
    reward: Reward
    (reward,) = run(rules, *episode([said], before=[went("/")]))
    assert reward.reward == (None if worth is None else pytest.approx(worth))
    assert (worth is None) is (reward.status == "unobserved")


CONTAINED: list[tuple[str, str, bool | None]] = [
    ("Paid", "Paid with ***", True),
    ("Order placed", "Paid with ***", False),
    ("placed", "Paid with ***", None),
    ("with 4111", "Paid with ***", None),
    ("with 4111 1111", "Paid with ***", None),
    ("with card 4111", "Paid with ***", False),
    ("4111 1111", "Paid with *** today", None),
    ("1111 today", "Paid with *** today", None),
    ("1111 tomorrow", "Paid with *** today", False),
    ("Order placed", "***", None),
    ("a b", "*** ***", None),
    ("x and y", "*** and ***", None),
    ("x or y", "*** and ***", False),
    ("x and y or z", "*** and *** or ***", None),
    ("PAID WITH x", "Paid with ***", False),
    ("Order failed", "Say: *** *** now", None),
    ("say failed", "say*** ***", None),
    ("PRIVATE KEY", "Your key *** *** was made", None),
    ("to *4111 1111", "Sent to ****", None),
    ("9==4111 1111", "Bearer ******", None),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "shown", "is_so"), CONTAINED)
def test_what_a_running_text_can_contain(wanted: str, shown: str, is_so: bool | None) -> None:
    """A mask among words stands for a word, or for a card's digits: what has spaces is not in it."""
    matcher = TextMatch.parse({"contains": wanted}, ())
    assert judge_running_text(matcher, shown) is is_so


def test_a_text_of_many_masks_is_judged_in_linear_time() -> None:
    matcher = TextMatch.parse({"contains": "x y " * 50}, ())
    assert judge_running_text(matcher, "a *** " * 40_000) is None
    assert judge_running_text(matcher, "a *** " * 10) is False


COVERED: list[tuple[str, dict[str, Any], list[str] | None]] = [
    ("text.appeared", {"text": f"Card {CARD}"}, ["text"]),
    ("text.appeared", {"text": "*** Sale ***"}, None),
    ("element.clicked", {"element": {"name": f"Card {CARD}", "role": "button"}}, ["element"]),
    ("element.clicked", {"element": {"name": "Buy"}, "around": f"Card {CARD}"}, ["around"]),
    ("dialog.closed", {"message": CARD, "input": CARD}, ["input", "message"]),
    ("page.title_changed", {"title": "Shop"}, None),
    ("form.submitted", {"fields": [["card", CARD]], "form": {"name": "pay"}}, ["fields"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "data", "fields"), COVERED)
def test_the_daemon_names_the_fields_in_which_it_masked(
    kind: str, data: dict[str, Any], fields: list[str] | None
) -> None:
    cover(kind, data, Masker())
    assert data.get("masked") == fields
    assert CARD not in str(data)


GIVEN_BACK: list[tuple[dict[str, Any], dict[str, Any], float | None]] = [
    ({"result": {"token": "abc"}}, {"result": {"token": "***", "n": 1}}, None),
    ({"result": {"n": 2}}, {"result": {"token": "***", "n": 1}}, 0.0),
    ({"result": {"n": 1}}, {"result": {"token": "***", "n": 1}}, 1.0),
    ({"ok": False, "error": {"contains": CARD}}, {"ok": False, "error": "no ***"}, None),
    ({"ok": False, "error": "gone"}, {"ok": False, "error": "no ***"}, 0.0),
    ({"error": "None"}, {"result": 1}, 0.0),
]


@pytest.mark.parametrize(("args", "returned", "worth"), GIVEN_BACK)
def test_what_a_tool_gave_back_and_was_masked_is_not_known(
    args: dict[str, Any], returned: dict[str, Any], worth: float | None
) -> None:
    call = ("agent.tool_called", {"call": "c", "tool": "pay", "arguments": {}})
    back = ("agent.tool_returned", {"call": "c", "ok": True, **returned})
    rules = ruleset(
        {"id": "m", "component": "tool", "when": {"tool_returned": args}}, weights={"tool": 1}
    )
    (reward,) = run(rules, *episode([call, back]))
    assert reward.reward == worth


def test_a_share_of_a_masked_list_pays_nothing_where_the_page_is_not_known() -> None:
    """What some of it is worth on the wanted page is not paid for one that may be another."""
    kind, data = filled("Towns", ["Oslo", "***"])
    graded = {
        "kind": "field.filled",
        "value": "value",
        "grade": {"share": ["Oslo", "Rome"]},
        "url": "/pay/card",
    }
    rules = ruleset(
        {"id": "m", "component": "form", "when": {"graded": graded}}, weights={"form": 1}
    )
    (reward,) = run(rules, *episode([went("/pay/***"), (kind, data)]))
    assert reward.reward is None
    assert list(reward.milestones) == []


def test_rows_of_a_probe_count_as_often_as_they_are_there() -> None:
    """Two masked rows, of which one is now masked in part: it may be what it was."""
    when = {
        "all_of": {
            "holding": True,
            "of": [{"probe_kept": {"probe": "cart"}}, {"element_clicked": {"name": "Go"}}],
        }
    }
    rules = ruleset(
        {"id": "m", "component": "nav", "when": when}, weights={"nav": 1}, probes=PROBES
    )
    first, later = (probed([*rows]) for rows in (["***", "***"], ["***", "x***"]))
    first[1]["when"] = "start"
    (reward,) = run(rules, *episode([later, clicked("Go")], before=[first]))
    assert reward.reward is None
