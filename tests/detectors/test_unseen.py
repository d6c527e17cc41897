"""What a rule is asked and nobody let us see is null; what the agent itself made unreadable is
0."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from detectors.model.types import Reward
from detectors.sdk.world import MAX_TEXT
from tests.detectors.tables_probes import PROBES, probed
from tests.support.logs import (
    Said,
    clicked,
    created,
    episode,
    filled,
    finished,
    resumed,
    ruleset,
    run,
    worth,
)

HASH = "ab" * 32
FILE: dict[str, Any] = {"file_matches": {"name": "a.pdf", "sha256": HASH}}
NAMED: dict[str, Any] = {"file_matches": {"name": "a.pdf"}}
FIELD: dict[str, Any] = {"field_filled": {"field": "Password", "value": "s3cret"}}
LOGIN: dict[str, Any] = {"form_filled": {"fields": {"Name": "Ada", "Password": "s3cret"}}}
SENT: dict[str, Any] = {"form_submitted": {"fields": {"name": "Ada", "password": "s3cret"}}}
TYPED: dict[str, Any] = {"widget_text": {"name": "Password", "text": "s3cret"}}
ANY: dict[str, Any] = {"widget_text": {"text": "s3cret"}}
RUN: dict[str, Any] = {
    "process_started": {"name": "python3", "arguments": {"contains": "report.py"}}
}
WHOLE: dict[str, Any] = {"process_started": {"name": "python3", "arguments": "report.py"}}
COPIED: dict[str, Any] = {"clipboard_holds": {"text": "4711"}}
LONG: dict[str, Any] = {"form_filled": {"fields": {"Body": {"contains": "4711"}, "Name": "Ada"}}}
TEXT = "4711" + "x" * 2 * MAX_TEXT
ESSAY: dict[str, Any] = {"field_filled": {"field": "Body", "value": TEXT}}
ROW: dict[str, Any] = {"element_clicked": {"role": "img", "around": {"contains": "Ada"}}}
ASKED: dict[str, Any] = {"probe_answers": {"probe": "cart", "value": "4711", "path": "pin"}}
BIG: dict[str, Any] = {
    "observed": {
        "kind": "request.finished",
        "where": {"body.files.0.filename": "a.pdf", "body.files.0.size": {"min": 3}},
    }
}
REDIRECTED: dict[str, Any] = {
    "observed": {"kind": "request.finished", "where": {"hops.0.body.files.1.size": 7}}
}
NO_SIZE: dict[str, Any] = {
    "observed": {"kind": "request.finished", "where": {"body.files.0.size": None}}
}
APART: dict[str, Any] = {"observed": {"kind": "request.finished", "distinct": "body.files.0.size"}}
UPLOAD: dict[str, Any] = {
    "request_accepted": {
        "method": "POST",
        "url": "/upload",
        "file": "a.pdf",
        "file_size": {"min": 3},
    }
}
SECRET_FILE: dict[str, Any] = {
    "request_accepted": {"method": "POST", "url": "/upload", "file": "secret.pdf"}
}
DUMMIES: list[dict[str, Any]] = [{"filename": f"{n}.txt", "size": 1} for n in range(100)]
NO_WORD_OF_SIZE = "request_accepted: the size of a file that was uploaded is not known"
SECRET, NAME = filled("Password", None, has_value=True), filled("Name", "Ada")
OTHER = clicked("Other")


def submitted(*fields: Any, trusted: bool = True) -> Said:
    form = {"name": "Log in", "action": "http://shop.test/login", "method": "post"}
    return (
        "form.submitted",
        {"tab": "T", "frame": "T", "form": form, "fields": list(fields), "trusted": trusted},
    )


def unread(why: str, name: str = "a.pdf", **more: Any) -> Said:
    return created(name, sha256=None, unread_reason=why, **more)


def widget(role: str, text: str) -> Said:
    said = {
        "app": "mail",
        "window": "Log in",
        "widget": {"role": role, "name": "Password", "path": "0/1"},
    }
    return ("widget.text_changed", {**said, "text": text})


def process(**more: Any) -> Said:
    return ("process.started", {"pid": 7, "name": "python3", **more})


def copied(**more: Any) -> Said:
    return ("clipboard.changed", {"selection": "clipboard", **more})


def paid(method: str = "POST", **fields: Any) -> Said:
    body = {"text": orjson.dumps(fields).decode(), "mime": "application/json"}
    return finished(method, "/pay", 200, body=body)


def cel(expression: str) -> dict[str, Any]:
    return {"cel": {"kind": "request.finished", "expression": expression}}


def uploaded(*files: dict[str, Any], hop: bool = False) -> Said:
    body = {
        "text": "",
        "mime": "multipart/form-data; boundary=x",
        "files": [{"name": "f", **file} for file in files],
    }
    if not hop:
        return finished("POST", "/upload", 200, body=body)
    return finished(
        "GET",
        "/done",
        200,
        hops=[
            {
                "method": "POST",
                "url": "http://shop.test/",
                "status": 303,
                "location": "/done",
                "body": body,
            }
        ],
    )


TWO = uploaded(
    {"filename": "a.pdf"},
    {"filename": "a.pdf"},
    {"filename": "a.pdf", "size": 3},
    {"filename": "b.pdf", "size": 3},
)


def full(count: int) -> list[Said]:
    """So many other fields that hold long texts."""
    return [filled(f"Other {n}", "y" * 10_000) for n in range(count)]


def rewards(
    when: dict[str, Any], happened: list[Said], before: list[Said] | None = None
) -> list[Reward]:
    """Of three steps; it happens in the second."""
    rules = ruleset(
        {"id": "m", "component": "ui", "when": when}, weights={"ui": 1.0}, probes=PROBES
    )
    return run(rules, *episode([OTHER], happened, [OTHER], before=before or []))


NULL: dict[str, tuple[dict[str, Any], list[Said], str]] = {
    "a file that was being written": (FILE, [unread("busy")], "the file has no sha256: busy"),
    "a file that the machine was slow to read": (FILE, [unread("slow")], "slow"),
    "a file that may not be read": (FILE, [unread("denied", kind="file.modified")], "denied"),
    "a password": (FIELD, [SECRET], "the field's value is a secret"),
    "a hidden password, where hidden ones count": (
        {"field_filled": {**FIELD["field_filled"], "hidden": True}},
        [filled("Password", None, has_value=True, hidden=True)],
        "the field's value is a secret",
    ),
    "a password in a form": (LOGIN, [NAME, SECRET], "the field's value is a secret"),
    "a password that is sent": (
        SENT,
        [submitted(["name", "Ada"], ["password", None])],
        "a field's value is a secret",
    ),
    "a password on the desktop": (
        TYPED,
        [widget("password text", "***")],
        "the text of a password field is kept back",
    ),
    "a secret that was copied": (
        COPIED,
        [copied(unread_reason="secret")],
        "what was copied is a secret",
    ),
    "another user's program": (RUN, [process()], "its arguments could not be read"),
    "a long text beside many": (
        LONG,
        [*full(6), filled("Body", TEXT)],
        "the field's value is too long to be kept",
    ),
    "what goes on around an icon": (ROW, [clicked("", "img", around="x" * 200)], "goes on"),
    "a secret around an icon": (ROW, [clicked("", "img", around="Bob •••")], "has a secret"),
    "what an icon stands in": (
        ROW,
        [clicked("", "img")],
        "what the element stands in was not told",
    ),
    "an answer too long to keep": (
        ASKED,
        [probed(None, cut=True)],
        "the probe's answer was too long",
    ),
    "an upload of no known size": (
        BIG,
        [uploaded({"filename": "a.pdf"})],
        "observed: the size of a file",
    ),
    "a field whose surroundings were not told": (
        {"field_filled": {"around": "Buy milk", "checked": True}},
        [filled("", "on", checked=True)],
        "field_filled: what the element stands in was not told",
    ),
    "an accepted upload of no known size": (
        UPLOAD,
        [uploaded({"filename": "a.pdf"})],
        NO_WORD_OF_SIZE,
    ),
    "a file that may be beyond those that are told": (
        SECRET_FILE,
        [uploaded(*DUMMIES)],
        "request_accepted: a request uploaded more files than are told",
    ),
    "a file that may be beyond those that are told, before a redirect": (
        {
            "request_accepted": {
                **SECRET_FILE["request_accepted"],
                "url": "/",
                "redirect_to": "/done",
            }
        },
        [uploaded(*DUMMIES, hop=True)],
        "more files than are told",
    ),
    "the second of an upload before a redirect": (
        REDIRECTED,
        [uploaded({"filename": "a", "size": 7}, {"filename": "b"}, hop=True)],
        "the size of a file that was uploaded is not known",
    ),
    "uploads that are told apart by size": (
        APART,
        [uploaded({"filename": "a.pdf"})],
        "the size of a file",
    ),
    "an upload of no known size, in CEL": (
        cel("data.body.files[0].size > 3"),
        [uploaded({"filename": "a.pdf"})],
        "cel: the size of a file that was uploaded is not known",
    ),
    "any of the uploads, in CEL": (
        cel("data.body.files.exists(f, f.size > 3)"),
        [uploaded({"filename": "a", "size": 1}, {"filename": "b"})],
        "the size of a file",
    ),
    "whether an upload has a size, in CEL": (
        cel("has(data.body.files[0].size) && data.body.files[0].size > 3"),
        [uploaded({"filename": "a.pdf"})],
        "the size of a file",
    ),
    **{
        f"{expression}, in CEL": (cel(expression), [TWO], "cel: the size of a file")
        for expression in (
            "data.body.files[0] == {'filename': 'a.pdf', 'size': 3}",
            "data.body.files[0] == data.body.files[1]",
            "data.body.files[1] != data.body.files[2]",
            "data.body.files.exists(f, f.exists(key, f[key] == 3))",
            "data.body.files.map(f, f)[0].size == 3",
            "(data.body.files)[0]['size'] == 3",
            "data.body.files[0] == {'filename': 'a.pdf', 'si' + 'ze': 3}",
        )
    },
    "which of some uploads it is, in CEL": (
        {"cel": {**cel("true")["cel"], "distinct": "data.body.files[0]"}},
        [TWO],
        "cel: the size of a file",
    ),
}
ZERO: dict[str, tuple[dict[str, Any], list[Said]]] = {
    "another file": (FILE, [unread("busy", "b.pdf")]),
    "a file that is too large for a hash": (FILE, [unread("large")]),
    "another content": (FILE, [created("a.pdf", sha256="cd" * 32)]),
    "an emptied password": (FIELD, [filled("Password", None, has_value=False)]),
    "a password that script filled in": (
        FIELD,
        [filled("Password", None, has_value=True, trusted=False)],
    ),
    "a password that nobody could see": (
        FIELD,
        [filled("Password", None, has_value=True, hidden=True)],
    ),
    "a password in a form that nobody could see": (
        LOGIN,
        [filled("Password", None, has_value=True, hidden=True)],
    ),
    "another password": (FIELD, [filled("Pin", None, has_value=True)]),
    "another name sent": (SENT, [submitted(["name", "Bob"], ["password", None])]),
    "no password sent": (SENT, [submitted(["name", "Ada"])]),
    "sent by script": (SENT, [submitted(["name", "Ada"], ["password", None], trusted=False)]),
    "a password of any field": (ANY, [widget("password text", "***")]),
    "another text copied": (COPIED, [copied(text="47110")]),
    "a text that goes on": (COPIED, [copied(text="4711" * 2_500, cut=True)]),
    "another program": (RUN, [process(name="sh")]),
    "arguments that go on": (WHOLE, [process(arguments=["report.py"] * 64, cut=True)]),
    "a cut text that is another": (
        {"field_filled": {"field": "Body", "value": TEXT}},
        [filled("Body", TEXT + "y" * 10_000, cut=True)],
    ),
    "an icon in another row": (ROW, [clicked("", "img", around="Bob")]),
    "another element in a row that is not told": (ROW, [clicked("Go")]),
    "another pin": (ASKED, [probed({"pin": "1147"})]),
    "another probe's answer": (ASKED, [probed(None, "other", cut=True)]),
    "an accepted upload of a small size": (UPLOAD, [uploaded({"filename": "a.pdf", "size": 2})]),
    "another accepted upload of no known size": (UPLOAD, [uploaded({"filename": "b.pdf"})]),
    "a small upload": (BIG, [uploaded({"filename": "a.pdf", "size": 2})]),
    "another upload of no known size": (BIG, [uploaded({"filename": "b.pdf"})]),
    "no upload": (BIG, [uploaded()]),
    "another file than all that are told": (SECRET_FILE, [uploaded(*DUMMIES[1:])]),
    "an upload has a size, known or not": (NO_SIZE, [uploaded({"filename": "a.pdf"})]),
    "a small upload, in CEL": (
        cel("data.body.files[0].size > 3"),
        [uploaded({"filename": "a.pdf", "size": 2})],
    ),
    "another upload of no known size, in CEL": (
        cel("data.body.files[0].size > 3 && data.body.files[0].filename == 'a.pdf'"),
        [uploaded({"filename": "b.pdf"})],
    ),
    "another key that is not there, in CEL": (
        cel("data.via == 'worker'"),
        [uploaded({"filename": "a.pdf"})],
    ),
    **{
        f"{expression}, in CEL": (cel(expression), [TWO])
        for expression in (
            "data.body.files == []",
            "data.body.files[0] == {}",
            "data.status == 201 && data.body.files[0] == data.body.files[1]",
            "data.body.files[0] == data.body.files[3]",
            "'colour' in data.body.files[0]",
        )
    },
}
PAID: dict[str, tuple[dict[str, Any], list[Said]]] = {
    "a beginning that says enough": (ROW, [clicked("", "img", around="Ada " + "x" * 196)]),
    "a name beside a secret, around an icon": (ROW, [clicked("", "img", around="Ada •••")]),
    "a file by its name alone": (NAMED, [unread("busy")]),
    "a long text": (LONG, [NAME, filled("Body", TEXT)]),
    "the beginning of a cut text": (LONG, [NAME, filled("Body", TEXT, cut=True)]),
    "the beginning of cut arguments": (RUN, [process(arguments=["report.py", "x"], cut=True)]),
    "a text on the desktop": (TYPED, [widget("text", "s3cret")]),
    "a file that was read": (FILE, [created("a.pdf")]),
    "an accepted upload of a large size": (UPLOAD, [uploaded({"filename": "a.pdf", "size": 3})]),
    "an accepted upload beside one of no known size": (
        UPLOAD,
        [uploaded({"filename": "a.pdf"}, {"filename": "a.pdf", "size": 3})],
    ),
    "the last file that is told": (
        SECRET_FILE,
        [uploaded(*DUMMIES[1:], {"filename": "secret.pdf", "size": 1})],
    ),
    "a large upload": (BIG, [uploaded({"filename": "a.pdf", "size": 3})]),
    "an upload beside one of no known size": (
        BIG,
        [uploaded({"filename": "a.pdf", "size": 3}, {"filename": "b"})],
    ),
    "an upload by its name alone": (
        {"observed": {"kind": "request.finished", "where": {"body.files.0.filename": "a.pdf"}}},
        [uploaded({"filename": "a.pdf"})],
    ),
    "a large upload, in CEL": (
        cel("data.body.files[0].size > 3"),
        [uploaded({"filename": "a.pdf", "size": 4})],
    ),
    "an upload by its name alone, in CEL": (
        cel("data.body.files[0].filename == 'a.pdf' || data.body.files[0].size > 3"),
        [uploaded({"filename": "a.pdf"})],
    ),
    **{
        f"{expression}, in CEL": (cel(expression), [TWO])
        for expression in (
            "data.body.files != null",
            "data.body.files != [] && data.body != null",
            "'filename' in data.body.files[0]",
            "data.body.files.exists(f, f != null && f.filename == 'a.pdf')",
            "data.body.files.map(f, f)[0].filename == 'a.pdf'",
            "(data.status == 200 ? data.body.files : [])[0].filename == 'a.pdf'",
            "data.status == 200 || data.body.files[0] == data.body.files[1]",
            "data.body.files[0] != data.body.files[3]",
        )
    },
    "a beginning before a secret": (
        {"field_filled": {"field": "Note", "value": {"contains": "card"}}},
        [filled("Note", "card ***")],
    ),
    "a name beside a card": (
        {"request_accepted": {"method": "POST", "url": "/pay", "body": {"name": "Ada"}}},
        [paid(card="***", name="Ada")],
    ),
}


@pytest.mark.parametrize("name", NULL)
def test_what_nobody_can_know_is_null(name: str) -> None:
    """In its step, and with its reason; the next step is known again."""
    when, happened, why = NULL[name]
    first, second, last = rewards(when, happened)
    assert (first.reward, second.reward, last.reward) == (0.0, None, 0.0)
    assert why in str(second.reason)


@pytest.mark.parametrize("name", ZERO)
def test_what_is_known_to_be_otherwise_is_zero(name: str) -> None:
    """Or is the agent's own doing."""
    when, happened = ZERO[name]
    assert rewards(when, happened)[1].reward == 0.0


@pytest.mark.parametrize("name", PAID)
def test_what_is_known_pays(name: str) -> None:
    """Whatever else is not."""
    when, happened = PAID[name]
    assert rewards(when, happened)[1].reward == 1.0


@pytest.mark.parametrize("name", NULL)
def test_what_stood_there_before_the_agent_began_blinds_nothing(name: str) -> None:
    """It would have paid nothing either way."""
    when, happened, _ = NULL[name]
    assert worth(rewards(when, [OTHER], before=happened)) == [0.0, 0.0, 0.0]


def test_no_penalty_is_escaped_behind_files_that_are_not_told() -> None:
    rules = ruleset({"id": "m", "when": SECRET_FILE, "penalty": 0.5})
    files = {
        "few": DUMMIES[1:],
        "many": DUMMIES,
        "told": [*DUMMIES[1:], {"filename": "secret.pdf"}],
    }
    paid = {name: run(rules, *episode([uploaded(*told)]))[0].reward for name, told in files.items()}
    assert paid == {"few": 0.0, "many": None, "told": -0.5}


def test_a_goal_that_leans_on_it_is_not_known_to_have_failed() -> None:
    """The close is null too: success is unknown, not false."""
    rules = ruleset(
        {"id": "m", "when": FILE}, {"id": "done", "when": {"goal": {"requires": ["m"]}}}
    )
    said = run(rules, *episode([OTHER], [unread("busy")], [OTHER]))
    assert worth(said) == [0.0, None, None]
    assert said[-1].success is None


def test_it_is_made_up_for_once_it_is_known() -> None:
    """The same file, read: what came true is paid then, in the same step as if nothing had been in
    doubt."""
    assert worth(rewards(FILE, [unread("busy"), created("a.pdf", kind="file.modified")])) == [
        0.0,
        1.0,
        0.0,
    ]
    rules = ruleset({"id": "m", "component": "ui", "when": FILE}, weights={"ui": 1.0})
    assert worth(
        run(rules, *episode([unread("busy")], [created("a.pdf", kind="file.modified")]))
    ) == [None, 1.0]


def test_a_guard_that_nobody_can_check_pays_nothing_and_takes_nothing() -> None:
    """Whether the cart is as it was is not known: neither is what rests on it."""
    kept = {
        "all_of": {
            "holding": True,
            "of": [{"probe_kept": {"probe": "cart"}}, {"element_clicked": {"name": "Go"}}],
        }
    }
    assert worth(
        rewards(kept, [probed("x", cut=True), clicked("Go")], before=[probed("x", when="start")])
    ) == [
        0,
        None,
        0,
    ]


def test_a_fact_that_nobody_can_see_any_more_does_not_hold_at_the_end() -> None:
    """Nor is it gone: its step is null, and so is the close."""
    rules = ruleset({"id": "m", "when": ASKED, "must_hold_at_end": True}, probes=PROBES)
    assert (
        worth(run(rules, *episode([probed({"pin": "4711"})], [probed(None, cut=True)])))[-1] is None
    )


def test_what_rests_on_its_not_having_happened_is_not_known_either() -> None:
    """Even where it stood there before the first step: what can't be told from its opposite pays
    neither."""
    quiet = {"all_of": {"of": [{"element_clicked": {"name": "Go"}}, {"none_of": [FIELD]}]}}
    assert worth(rewards(quiet, [clicked("Go")], before=[filled("Password", "other")])) == [
        0.0,
        1.0,
        0.0,
    ]
    assert worth(rewards(quiet, [clicked("Go")], before=[SECRET])) == [0.0, None, 0.0]


def scored(*steps: list[Said], milestones: list[dict[str, Any]], **task: Any) -> list[float | None]:
    """What the steps are worth; the last number is the close's."""
    weights = dict.fromkeys(sorted({m.get("component", "goal") for m in milestones}), 1.0)
    return worth(
        run(ruleset(*milestones, weights=weights, probes=PROBES, **task), *episode(*steps))
    )


GO: dict[str, Any] = {"element_clicked": {"name": "Go"}}
BOTH: dict[str, Any] = {"all_of": {"of": [FIELD, GO]}}
REPEATED: dict[str, Any] = {"field_filled": {"field": "Repeat", "value": "s3cret"}}
PLAIN: dict[str, Any] = {"field_filled": {"field": "Shown", "value": "s3cret"}}
LATER: dict[str, tuple[list[dict[str, Any]], list[list[Said]], list[float | None]]] = {
    "the step that completes it": (
        [{"id": "m", "component": "ui", "when": BOTH}],
        [[SECRET], [clicked("Go")], [OTHER]],
        [0.0, None, 0.0],
    ),
    "a step that would not have completed it": (
        [{"id": "m", "component": "ui", "when": {"all_of": {"of": [FIELD, GO, NAMED]}}}],
        [[SECRET], [clicked("Go")], [OTHER]],
        [0.0, 0.0, 0.0],
    ),
    "an order": (
        [{"id": "m", "component": "ui", "when": {"sequence": {"of": [FIELD, GO]}}}],
        [[SECRET], [OTHER], [clicked("Go")]],
        [0.0, 0.0, None],
    ),
    "a part of a form": (
        [{"id": "m", "component": "form", "when": LOGIN}],
        [[SECRET], [NAME], [OTHER]],
        [None, 0.5, 0.0],
    ),
    "what comes after it": (
        [
            {"id": "m", "component": "ui", "when": FIELD},
            {"id": "n", "component": "ui", "when": GO, "after": ["m"]},
        ],
        [[SECRET], [clicked("Go")], [OTHER]],
        [None, None, 0.0],
    ),
    "a gate": (
        [{"id": "m", "component": "ui", "when": GO, "only_if": FIELD}],
        [[SECRET], [clicked("Go")], [OTHER]],
        [0.0, None, 0.0],
    ),
    "what takes it back": (
        [{"id": "m", "component": "ui", "when": GO, "revoke_on": FIELD}],
        [[clicked("Go")], [SECRET], [OTHER]],
        [1.0, None, 0.0],
    ),
    "a penalty": (
        [
            {"id": "m", "component": "ui", "when": FIELD, "penalty": 0.5},
            {"id": "n", "component": "ui", "when": GO},
        ],
        [[clicked("Go")], [SECRET], [OTHER]],
        [1.0, None, 0.0],
    ),
    "a guard that was cut holds no more": (
        [{"id": "m", "component": "ui", "when": {"all_of": {"holding": True, "of": [ASKED, GO]}}}],
        [[probed({"pin": "4711"})], [probed(None, cut=True)], [clicked("Go")]],
        [0.0, 0.0, None],
    ),
    "a secret that is to be typed twice": (
        [
            {
                "id": "m",
                "component": "ui",
                "when": {"same": {"by": "value", "of": [FIELD, REPEATED]}},
            }
        ],
        [[SECRET], [filled("Repeat", None, has_value=True)], [OTHER]],
        [0.0, None, 0.0],
    ),
    "a secret that is to be another field's value": (
        [
            {
                "id": "m",
                "component": "ui",
                "when": {"same": {"by": "value", "order": "given", "of": [PLAIN, FIELD]}},
            }
        ],
        [[filled("Shown", "s3cret")], [SECRET], [OTHER]],
        [0.0, None, 0.0],
    ),
    "what is typed again": (
        [{"id": "m", "component": "ui", "when": FIELD}],
        [[SECRET], [OTHER], [SECRET]],
        [None, 0.0, None],
    ),
    "what is taken back as it is earned": (
        [{"id": "m", "component": "ui", "when": GO, "revoke_on": FIELD}],
        [[clicked("Go"), SECRET], [OTHER], [OTHER]],
        [None, 0.0, 0.0],
    ),
    "what is taken back because it is no more": (
        [{"id": "m", "component": "ui", "when": GO, "revoke_on": {"none_of": [FILE]}}],
        [[created("a.pdf"), clicked("Go")], [unread("busy", kind="file.modified")], [OTHER]],
        [1.0, None, 0.0],
    ),
    "a guard that has nothing to do with it": (
        [
            {"id": "m", "component": "ui", "when": FIELD},
            {
                "id": "n",
                "component": "ui",
                "when": {"all_of": {"of": [GO, {"none_of": [NAMED]}]}},
                "penalty": 0.5,
            },
        ],
        [[SECRET], [OTHER], [clicked("Go")]],
        [None, 0.0, -0.5],
    ),
    "what is earned already": (
        [{"id": "m", "component": "ui", "when": {"any_of": {"of": [FIELD, GO]}}}],
        [[clicked("Go")], [SECRET], [OTHER]],
        [1.0, 0.0, 0.0],
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_a_later_step_is_null_where_it_could_be_worth_more(name: str) -> None:
    """And only there: what was not seen matters in the step whose reward it decides."""
    milestones, steps, wanted = LATER[name]
    assert scored(*steps, milestones=milestones) == wanted


def test_a_level_is_not_known_while_it_stands() -> None:
    """Credited by level: each step until the field is emptied again."""
    emptied = filled("Password", None, has_value=False)
    milestone = {"id": "m", "component": "ui", "when": FIELD}
    assert scored([SECRET], [OTHER], [emptied], milestones=[milestone], credit={"ui": "level"}) == [
        None,
        None,
        0.0,
    ]


@pytest.mark.parametrize("name", LATER)
def test_both_stories_are_stored(name: str) -> None:
    """An engine that is stored and loaded after each event gives the same."""
    milestones, steps, _ = LATER[name]
    rules = ruleset(*milestones, weights={"ui": 1.0, "form": 1.0}, probes=PROBES)
    said = episode(*steps)
    assert resumed(rules, *said) == run(rules, *said)


def test_a_goal_that_has_nothing_to_do_with_it_is_decided() -> None:
    """Who types into a password's field does not keep its failure from being told."""
    milestones = [
        {"id": "m", "component": "ui", "when": FIELD},
        {"id": "n", "component": "ui", "when": GO},
    ]
    goal = {"id": "done", "when": {"goal": {"requires": ["n"]}}}
    task = {"weights": {"ui": 1.0, "goal": 1.0}, "outcome": {"success": 1.0, "failure": -1.0}}
    failed = run(ruleset(*milestones, goal, **task), *episode([SECRET], [OTHER]))
    assert (worth(failed), failed[-1].success) == ([None, -1.0], False)
    unknown = run(
        ruleset(*milestones, {"id": "done", "when": {"goal": {"requires": ["m"]}}}, **task),
        *episode([SECRET]),
    )
    assert (worth(unknown), unknown[-1].success) == ([None], None)


def test_what_the_end_is_worth_is_compared_too() -> None:
    """How soon it was reached, where it was made up for later."""
    goal = {"id": "done", "when": {"goal": {"requires": ["m"]}}}
    rules = ruleset({"id": "m", "component": "ui", "when": FILE}, goal, weights={"ui": 1.0, "goal": 1.0},
                    efficiency={"weight": 1.0, "best": 1, "worst": 5})  # fmt: skip
    said = run(
        rules,
        *episode([unread("busy")], [OTHER], [created("a.pdf", kind="file.modified")], [OTHER]),
    )
    assert (worth(said), said[-1].success) == ([None, 0.0, 2.0, None], True)
    assert "(efficiency) may be 1" in str(said[-1].reason)


def by_goal(*ids: str) -> dict[str, Any]:
    """A goal that requires milestones of these ids."""
    return {"id": "done", "component": "goal", "when": {"goal": {"requires": list(ids)}}}


LOGGED_IN = {"id": "login", "component": "form", "when": LOGIN}
DROPPED: Said = ("events.dropped", {"source": "cdp", "count": 3, "reason": "journal full"})
OPEN_GOALS: dict[str, tuple[list[list[Said]], str]] = {
    "a secret is to blame where it stood, not the later field": (
        [[SECRET], [NAME], []],
        "event 3: form_filled: ",
    ),
    "lost events": (
        [[DROPPED, NAME], []],
        "cdp at event 3: 3 observations dropped: journal full",
    ),
    "a gap of an earlier step": (
        [
            [("gap.began", {"source": "cdp", "reason": "gone"}), ("gap.ended", {"source": "cdp"})],
            [],
        ],
        "cdp saw nothing from event 3: gone",
    ),
}


@pytest.mark.parametrize(("steps", "cause"), OPEN_GOALS.values(), ids=OPEN_GOALS)
def test_a_goal_that_is_left_open_names_the_event_that_left_it_open(
    steps: list[list[Said]], cause: str
) -> None:
    *_, last = run(ruleset(LOGGED_IN, by_goal("login")), *episode(*steps))
    assert last.reward is None
    assert last.reason is not None
    assert last.reason.startswith(cause), last.reason
    assert "the goal may have been " in last.reason
