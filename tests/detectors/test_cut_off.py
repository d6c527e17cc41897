"""Of a text or a list that is longer than is reported only the beginning is known: a condition that
hangs on the rest is null, whatever it would pay or take."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from agentd.readers.bounds import MAX_CHARACTERS, MAX_NODES
from agentd.readers.sheets import MAX_COLUMNS
from agentd.sources.ax.model import MAX_NAME_LENGTH
from agentd.sources.cdp.folds.dialogs import MAX_CHARACTERS as MAX_DIALOG
from agentd.sources.cdp.folds.tabs import MAX_TITLE_LENGTH
from agentd.sources.cdp.network.headers import MAX_HEADER_LENGTH
from agentd.sources.processes.fold import MAX_ARGUMENT_LENGTH
from detectors.matchers import TextMatch
from detectors.model.kinds import KINDS, limits
from detectors.sdk.request_facts import PARTIAL
from tests.detectors.tables_probes import PROBES
from tests.support.logs import Said, clicked, episode, filled, finished, ruleset, run, went

PAGE = Path(__file__).parents[2] / "agentd" / "sources" / "cdp" / "page"
LONG = "begin " + "x" * 9_994
FILES: list[dict[str, Any]] = [{"name": "f", "filename": f"{n}.txt", "size": 1} for n in range(100)]
"""As many as are told of one request."""


def uploaded(files: list[dict[str, Any]], *, hop: bool = False) -> Said:
    body = {"text": "", "mime": "multipart/form-data; boundary=x", "files": files}
    if not hop:
        return finished("POST", "/upload", 200, body=body)
    first = {"method": "POST", "url": "http://shop.test/", "status": 303, "location": "/done"}
    return finished("GET", "/done", 200, hops=[{**first, "body": body}])


def came(text: str = "ok, begin", **more: Any) -> Said:
    """An answer whose body is so long that it was cut."""
    body = {"text": text, "mime": "text/plain", "cut": True, **more}
    return finished("POST", "/save", 200, response={"body": body})


def message(text: str, **more: Any) -> Said:
    return ("message.sent", {"request": "w", "url": "ws://shop.test/", "text": text, **more})


def said(kind: str, **data: Any) -> Said:
    return (kind, {"tab": "T", "frame": "T", **data})


def sent_form(*fields: list[Any]) -> Said:
    form = {"action": "http://shop.test/", "method": "post"}
    return said("form.submitted", form=form, fields=list(fields), trusted=True)


def observed(kind: str, where: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"observed": {"kind": kind, "where": where, **more}}


def of_request(**where: Any) -> dict[str, Any]:
    return observed("request.finished", {name.replace("__", "."): v for name, v in where.items()})


def cel(expression: str, kind: str = "request.finished") -> dict[str, Any]:
    return {"cel": {"kind": kind, "expression": expression}}


def picks(name: str, value: object = 1) -> dict[str, Any]:
    return {"json": f"$[?@.filename=='{name}'].size", "value": value}


LONG_ARGUMENT: Said = (
    "process.started",
    {"pid": 7, "name": "rm", "arguments": ["-r", "a" * MAX_ARGUMENT_LENGTH, "x"], "cut": True},
)
PAY = {"method": "POST", "url": "http://shop.test/pay"}
ADA = {"text": '{"name": "Ada"}', "mime": "application/json"}
TWICE = finished(
    "GET", "/done", 200,
    hops=[
        {**PAY, "status": 307, "location": "http://shop.test/pay", "body": {**ADA, "text": '{"na', "cut": True}},
        {**PAY, "status": 303, "location": "http://shop.test/done", "body": ADA},
    ],
)  # fmt: skip
"""A form that is sent twice, as its first answer asks: of the first one not all is told."""
MANY, FEW, MANY_BEFORE = uploaded(FILES), uploaded(FILES[1:]), uploaded(FILES, hop=True)
CUT, WHOLE = message(LONG, cut=True), message(LONG)
ANSWER = "response.body.text"
READ: dict[str, Any] = {"path": "a.txt", "as": "auto", "status": "read", "format": "text"}
FACTS: Said = ("file.read", {**READ, "facts": {"rows": [1], "text": "short"}, "cut": True})
PAGED: Said = (
    "file.read",
    {**READ, "facts": {"text": "One\nTwo", "pages": ["One", "Two"]}, "cut": True},
)
"""A PDF of so many pages that not all are told."""
ROW, WIDE = clicked("", "img", around="😀" * 100), clicked("", "img", around="é" * 150)

FAR = went("/" + "a" * limits.MAX_ADDRESS)

UNKNOWN: dict[str, tuple[dict[str, Any], Said]] = {
    "the end of a page's address": (cel("data.url.endsWith('x')", "page.navigated"), FAR),
    "that an address has no such part": (cel("!data.url.contains('x')", "page.navigated"), FAR),
    "the hundred-and-first file": (of_request(body__files__100__filename="s"), MANY),
    "that there is no such file": (of_request(body__files__150__filename=None), MANY),
    "the size of such a file": (of_request(body__files__100__size={"min": 1}), MANY),
    "a file before a redirect": (of_request(hops__0__body__files__100__filename="s"), MANY_BEFORE),
    "a file by its path": (of_request(body__files=picks("secret.txt")), MANY),
    "any of the files, in CEL": (cel("data.body.files.exists(f, f.filename == 's')"), MANY),
    "all of the files, in CEL": (cel("data.body.files.all(f, f.size == 1)"), MANY),
    "none of the files, in CEL": (cel("!data.body.files.exists(f, f.filename == 's')"), MANY),
    "how many files, in CEL": (cel("size(data.body.files) == 100"), MANY),
    "more files, in CEL": (cel("data.body.files.size() > 100"), MANY),
    "which files, in CEL": (cel("data.body.files.filter(f, f.size == 2).size() == 0"), MANY),
    "a file by its number, in CEL": (cel("data.body.files[100].filename == 's'"), MANY),
    "a file before a redirect, in CEL": (
        cel("data.hops.exists(h, h.body.files.exists(f, f.filename == 's'))"),
        MANY_BEFORE,
    ),
    "a word of a message": (observed("message.sent", {"text": {"contains": "4711"}}), CUT),
    "how a message ends": (observed("message.sent", {"text": {"ends_with": "x"}}), CUT),
    "an amount in a message": (observed("message.sent", {"text": {"money": 42}}), CUT),
    "what tells messages apart": (observed("message.sent", {"cut": True}, distinct="text"), CUT),
    "a word of a message, in CEL": (cel("data.text.contains('4711')", "message.sent"), CUT),
    "no word of a message, in CEL": (cel("!data.text.contains('4711')", "message.sent"), CUT),
    "a message's end, in CEL": (cel("data.text.endsWith('x')", "message.sent"), CUT),
    "a message's length, in CEL": (cel("size(data.text) < 20000", "message.sent"), CUT),
    "a message as a whole, in CEL": (cel("data == {}", "message.sent"), CUT),
    "a word of an answer": (of_request(**{ANSWER: {"contains": "4711"}}), came()),
    "a word of an answer, in CEL": (cel(f"data.{ANSWER}.contains('4711')"), came()),
    "an answer that could not be read": (
        of_request(**{ANSWER: {"contains": "ok"}}),
        finished("POST", "/save", 200, response={"body": {"lost": True}}),
    ),
    "a word of a field": (
        observed("field.filled", {"value": {"contains": "4711"}}),
        filled("Note", LONG, cut=True),
    ),
    "a word of a pasted text": (
        observed("text.pasted", {"text": {"contains": "4711"}}),
        said("text.pasted", text=LONG, trusted=True),
    ),
    "a word of a pasted text of large letters": (
        observed("text.pasted", {"text": {"contains": "4711"}}),
        said("text.pasted", text="😀" * 5_000, trusted=True),
    ),
    "a word of a button's text": (
        observed("element.clicked", {"element.text": {"contains": "4711"}}),
        said("element.clicked", element={"name": "Go", "text": "y" * 200}, trusted=True),
    ),
    "a fact of a file that may be there": (
        observed("file.read", {"path": "a.txt", "facts.bold": None}),
        FACTS,
    ),
    "a word of a file of many pages": (
        observed("file.read", {"path": "a.txt", "facts.text": {"contains": "Total"}}),
        PAGED,
    ),
    "how a file of many pages ends": (
        observed("file.read", {"path": "a.txt", "facts.text": {"ends_with": "Two"}}),
        PAGED,
    ),
    "a row beyond those of a file": (
        observed("file.read", {"path": "a.txt", "facts.rows.1": 2}),
        FACTS,
    ),
    "what a probe answered": (
        observed("probe.answered", {"value.pin": "4711"}),
        ("probe.answered", {"probe": "cart", "when": "step", "value": None, "ms": 1, "cut": True}),
    ),
    "an argument of a program": (
        observed("process.started", {"arguments.64": "--all"}),
        ("process.started", {"pid": 7, "name": "rm", "arguments": ["a"] * 64, "cut": True}),
    ),
    "how like an answer is, cut": (
        {"graded": {"kind": "request.finished", "value": ANSWER, "grade": {"f1": "ok"}}},
        came(),
    ),
    "a field's rest": (
        {"field_filled": {"field": "Note", "value": {"contains": "4711"}}},
        filled("Note", LONG, cut=True),
    ),
    "a form's field's rest": (
        {"form_filled": {"fields": {"Note": {"ends_with": "4711"}}}},
        filled("Note", LONG, cut=True),
    ),
    "a sent field's rest": (
        {"form_submitted": {"fields": {"note": {"contains": "4711"}}}},
        sent_form(["note", LONG]),
    ),
    "a field beyond those of a form": (
        {"form_submitted": {"fields": {"last": "1"}}},
        sent_form(*[[f"f{n}", "1"] for n in range(1_000)]),
    ),
    "a copied text's rest": (
        {"clipboard_holds": {"text": {"contains": "4711"}}},
        ("clipboard.changed", {"selection": "clipboard", "text": LONG, "cut": True}),
    ),
    "a widget's text's rest": (
        {"widget_text": {"text": {"contains": "4711"}}},
        ("widget.text_changed", {"app": "a", "window": "w", "widget": {"role": "text", "name": ""},
                                 "text": LONG, "cut": True}),
    ),
    "a program's other arguments": (
        {"process_started": {"name": "rm", "arguments": {"contains": "--all"}}},
        ("process.started", {"pid": 7, "name": "rm", "arguments": ["a"] * 64, "cut": True}),
    ),
    "an argument behind one that was cut": (
        {"process_started": {"name": "rm", "arguments": {"starts_with": f"-r {'a' * 600}"}}}, LONG_ARGUMENT,
    ),
    "what stands on both sides of a cut": (
        {"process_started": {"name": "rm", "arguments": {"contains": "aa x"}}}, LONG_ARGUMENT,
    ),
    "a row of large letters": ({"element_clicked": {"role": "img", "around": {"contains": "Ada"}}}, ROW),
    "a request whose body goes on": (
        {"request_accepted": {"method": "POST", "url": "/pay", "body": {"name": "Ada"}}},
        finished("POST", "/pay", 200, body={"text": '{"na', "mime": "application/json", "cut": True}),
    ),
    "an answer that goes on": (
        {"request_accepted": {"method": "POST", "url": "/save", "answer": {"name": "Ada"}}},
        came('{"na', mime="application/json"),
    ),
    "the last request's answer": (
        {"request_answered": {"url": {"any": [{"address": "http://shop.test/save"}]},
                              "method": "POST", "answer": [{"name": "name", "is": {"string": ["ada"]}}]}},
        came('{"na', mime="application/json"),
    ),
    "a document that goes on": (
        {"state_accepted": {"url": "http://shop.test/state", "method": "PUT",
                            "facts": [{"path": "$.theme", "value": "Dark"}]}},
        finished("PUT", "/state", 200, body={"text": '{"theme": "Da', "cut": True}),
    ),
}  # fmt: skip

NO: dict[str, tuple[dict[str, Any], Said]] = {
    "another file, all told": (of_request(body__files__98__filename="s"), FEW),
    "a file beyond them, all told": (of_request(body__files__99__filename="s"), FEW),
    "any file, all told, in CEL": (cel("data.body.files.exists(f, f.filename == 's')"), FEW),
    "one of those that are told": (of_request(body__files__3__filename="4.txt"), MANY),
    "a file of many pages that begins otherwise": (
        observed("file.read", {"path": "a.txt", "facts.text": {"starts_with": "Total"}}),
        PAGED,
    ),
    "another status": (of_request(body__files__100__filename="s", status=404), MANY),
    "another status, in CEL": (
        cel("data.status == 404 && data.body.files.exists(f, f.filename == 's')"),
        MANY,
    ),
    "another message": (observed("message.sent", {"text": "begin"}), CUT),
    "a message that begins otherwise": (observed("message.sent", {"text": {"starts_with": "a"}}), CUT),
    "a message of another form": (observed("message.sent", {"text": {"glob": "a*b"}}), CUT),
    "a message that is told whole": (observed("message.sent", {"text": {"contains": "4711"}}), WHOLE),
    "it, in CEL": (cel("data.text.contains('4711')", "message.sent"), WHOLE),
    "another row": ({"element_clicked": {"role": "img", "around": {"contains": "Ada"}}}, WIDE),
    "another argument": (
        observed("process.started", {"arguments.0": "b"}),
        ("process.started", {"pid": 7, "name": "rm", "arguments": ["a"] * 64, "cut": True}),
    ),
    "a sent field that is told whole": (
        {"form_submitted": {"fields": {"note": {"contains": "4711"}}}},
        sent_form(["note", LONG[:9_000]]),
    ),
    "a field that begins otherwise": (
        {"field_filled": {"field": "Note", "value": {"starts_with": "4711"}}},
        filled("Note", LONG, cut=True),
    ),
}  # fmt: skip

YES: dict[str, tuple[dict[str, Any], Said]] = {
    "an argument before one that was cut": (
        {"process_started": {"name": "rm", "arguments": {"starts_with": f"-r {'a' * 400}"}}}, LONG_ARGUMENT,
    ),
    "a second redirect, of which all is told": (
        {"request_accepted": {"method": "POST", "url": "/pay", "body": {"name": "Ada"},
                              "redirect_to": "/done"}},
        TWICE,
    ),
    "a second redirect, answered": (
        {"request_answered": {"url": {"any": [{"address": "http://shop.test/pay"}]}, "method": "POST",
                              "status": [303, 307], "body": [{"name": "name", "is": {"string": ["ada"]}}]}},
        TWICE,
    ),
    "the hundredth file": (of_request(body__files__99__filename="99.txt"), MANY),
    "a file by its path": (of_request(body__files=picks("99.txt")), MANY),
    "a file that is told, in CEL": (cel("data.body.files.exists(f, f.filename == '9.txt')"), MANY),
    "a file's number, in CEL": (cel("data.body.files[99].filename == '99.txt'"), MANY),
    "decided otherwise, in CEL": (
        cel("data.status == 200 || data.body.files.all(f, f.size == 1)"),
        MANY,
    ),
    "that there are files, in CEL": (cel("has(data.body.files)"), MANY),
    "how many, all told, in CEL": (cel("size(data.body.files) == 99"), FEW),
    "a message's beginning": (observed("message.sent", {"text": {"starts_with": "begin"}}), CUT),
    "a word of it": (observed("message.sent", {"text": {"contains": "begin"}}), CUT),
    "its form": (observed("message.sent", {"text": {"glob": "begin*"}}), CUT),
    "a word of it, in CEL": (cel("data.text.contains('begin')", "message.sent"), CUT),
    "a word of an answer's beginning": (of_request(**{ANSWER: {"contains": "ok"}}), came()),
    "a fact of a file that is told": (
        observed("file.read", {"path": "a.txt", "facts.text": "short"}),
        FACTS,
    ),
    "a word of a file of many pages": (
        observed("file.read", {"path": "a.txt", "facts.text": {"contains": "Two"}}),
        PAGED,
    ),
    "a word of a field's beginning": (
        {"field_filled": {"field": "Note", "value": {"contains": "begin"}}},
        filled("Note", LONG, cut=True),
    ),
    "a word of a copied text's beginning": (
        {"clipboard_holds": {"text": {"contains": "begin"}}},
        ("clipboard.changed", {"selection": "clipboard", "text": LONG, "cut": True}),
    ),
    "a word of a widget's text's beginning": (
        {"widget_text": {"text": {"contains": "begin"}}},
        ("widget.text_changed", {"app": "a", "window": "w", "widget": {"role": "text", "name": ""},
                                 "text": LONG, "cut": True}),
    ),
}  # fmt: skip


def paid(when: dict[str, Any], happened: Said, **more: Any) -> Any:
    milestone = {"id": "m", "component": "ui", "when": when, **more}
    return run(ruleset(milestone, weights={"ui": 1.0}, probes=PROBES), *episode([happened]))[0]


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_hangs_on_the_rest_is_null_with_its_reason(name: str) -> None:
    reward = paid(*UNKNOWN[name])
    assert (reward.status, reward.reward, reward.mask) == ("unobserved", None, True)
    assert (
        "beginning" in reward.reason
        or PARTIAL in reward.reason
        or "goes on" in reward.reason
        or "longer" in reward.reason
        or "too long" in reward.reason
    )


@pytest.mark.parametrize("name", UNKNOWN)
def test_no_penalty_is_escaped_behind_it(name: str) -> None:
    when, happened = UNKNOWN[name]
    milestone = {"id": "m", "component": "ui", "when": when, "penalty": 0.5}
    (reward,) = run(ruleset(milestone, weights={"ui": 1.0}, probes=PROBES), *episode([happened]))
    assert reward.reward is None


@pytest.mark.parametrize("name", NO)
def test_what_the_beginning_rules_out_is_zero(name: str) -> None:
    assert paid(*NO[name]).reward == 0.0


@pytest.mark.parametrize("name", YES)
def test_what_the_beginning_shows_pays(name: str) -> None:
    assert paid(*YES[name]).reward == 1.0


BEGINNINGS: list[tuple[Any, bool | None]] = [
    ("abc", False), ("abcdef", False), ("abcdefg", None), ("abcdefgh", None), ("xbcdefgh", False),
    ({"one_of": ["x", "abcdefgh"]}, None), ({"one_of": ["x", "y"]}, False),
    ({"contains": "CDE"}, None), ({"contains": "cde"}, True),
    ({"contains": "CDE", "ignore_case": True}, True), ({"starts_with": "abc"}, True),
    ({"starts_with": "abcdefghi"}, None), ({"starts_with": "b"}, False), ({"ends_with": "g"}, None),
    ({"glob": "ab*"}, True), ({"glob": "ab*z"}, None), ({"glob": "b*"}, False), ({"glob": "*z"}, None),
    (3, None), ({"integer": 3}, None),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "is_so"), BEGINNINGS)
def test_what_a_beginning_says_of_the_whole(wanted: Any, is_so: bool | None) -> None:
    """`abcdefg` is there, whatever follows."""
    assert TextMatch.parse(wanted, ()).matches_beginning("abcdefg") is is_so


def constant(script: str, name: str) -> int:
    (value,) = re.findall(rf"const {name} = (\d+);", (PAGE / script).read_text())
    return int(value)


def test_the_limits_are_those_of_the_daemon() -> None:
    """Else what was cut would pass for whole."""
    assert limits.MAX_NAME == constant("name.js", "LONGEST") == constant("element.js", "LONGEST")
    assert constant("text_of.js", "LONGEST") == limits.MAX_OWN_TEXT
    texts = ("clipboard.js", "selection.js", "dropping.js", "filling.js")
    assert {limits.MAX_TEXT} == {constant(script, "LONGEST") for script in texts}
    assert constant("fields.js", "LONGEST_VALUE") == limits.MAX_TEXT
    shorts = ("attributes.js", "title.js")
    assert {limits.MAX_SHORT} == {constant(script, "LONGEST") for script in shorts}
    assert limits.MAX_SHORT == constant("fields.js", "MOST") == constant("forms.js", "MOST")
    assert limits.MAX_SHORT == MAX_TITLE_LENGTH
    assert constant("dropping.js", "MOST_FILES") == limits.MAX_DROPPED
    assert constant("states.js", "MOST_CLASSES") == limits.MAX_CLASSES
    assert (limits.MAX_MESSAGE, limits.MAX_HEADER) == (MAX_DIALOG, MAX_HEADER_LENGTH)
    assert (limits.MAX_WIDGET_NAME, limits.MAX_ARGUMENT) == (MAX_NAME_LENGTH, MAX_ARGUMENT_LENGTH)
    lengths = [MAX_CHARACTERS]
    while lengths[-1] > 16:
        lengths.append(max(16, lengths[-1] // 2))
    assert frozenset(lengths) == limits.READ_ENDS
    assert (limits.READ_VALUES, limits.READ_COLUMNS) == (MAX_NODES, MAX_COLUMNS)


def test_every_kind_that_can_be_cut_says_which_of_its_fields_goes_on() -> None:
    """Else a task that wants the rest would be paid 0, and not null."""
    can_be_cut = {name for name, kind in KINDS.items() if "cut?" in kind.fields}
    assert len(can_be_cut) >= 10
    silent = {
        name for name in can_be_cut if all(one.longest is not None for one in limits.LIMITS[name])
    }
    assert not silent, (
        f"{sorted(silent)}: expected a row of _OWN in detectors/model/kinds/limits.py for the field"
        " beside `cut`: docs/how-to/add-a-source.md"
    )
