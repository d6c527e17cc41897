"""What a site draws for each request, and what the daemon masks, is asked by no task of
WebArena-Verified's kind: of such a field any value is taken, and that is said.

Each case is one check with values that were drawn in the benchmark's own run. The right request
carries others; the wrong one carries the benchmark's, and does something else.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import orjson
import pytest

from detectors.engine.engine import Engine
from detectors.model.codec import GENESIS, decode_segment, join_segment
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import verified
from lab.benchmarks.base import Imported
from lab.convert.convert import record
from lab.convert.formats import FORMATS
from lab.convert.source import SourceFile
from tests.importing.webarena.hars import entry, timed

SITE = "http://forum.test"
UUID, OTHER_UUID = "0b9f4c2e-7d1a-4f35-9c6e-2a7b18d3e501", "f1c3a6d8-91be-47ac-8d02-6be45c9f7a33"
ULID, OTHER_ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01BX5ZZKBKACTAV9WEVGEMMVRZ"
HASH, OTHER_HASH = "9f86d081884c7d659a2feaa0c55ad015", "2c26b46b68ffc68ff99b453c1d304134"
CARD = "4111 1111 1111 1111"
DRAWN, MASKED, DONE = (
    "the site draws it for each request",
    "the daemon masks it",
    "when it was done",
)


def form(**fields: str) -> dict[str, str]:
    return {"mimeType": "application/x-www-form-urlencoded", "text": urlencode(fields)}


def document(value: Any) -> dict[str, str]:
    return {"mimeType": "application/json", "text": json.dumps(value)}


def parts(**fields: str) -> dict[str, str]:
    named = "".join(
        f'--x\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    return {"mimeType": "multipart/form-data; boundary=x", "text": f"{named}--x--\r\n"}


class Asked(NamedTuple):
    """``expected``: what the check asks beside address and method; ``right``, ``wrong``: (path,
    posted, further parts of the entry) of a request; ``says``: what is opened, and why."""

    expected: dict[str, Any]
    right: tuple[Any, ...]
    wrong: tuple[Any, ...]
    says: str
    url: str = "/x"


def posted(name: str, drawn: str, other: str, why: str) -> Asked:
    """A form's field that was drawn, beside a title."""
    return Asked(
        {"post_data": {name: drawn, "title": "Bug"}},
        ("/x", form(**{name: other, "title": "Bug"})),
        ("/x", form(**{name: drawn, "title": "Other"})),
        f"{name} ({why})",
    )


def in_json(name: str, drawn: Any, other: Any, why: str) -> Asked:
    """A key of a JSON body that was drawn, beside a title."""
    return Asked(
        {"post_data": {f"$.{name}": drawn, "$.title": "Bug"}},
        ("/x", document({name: other, "title": "Bug"})),
        ("/x", document({name: drawn, "title": "Other"})),
        f"$.{name} ({why})",
    )


CASES: dict[str, Asked] = {
    "a form's key": posted("form_key", "Qy7RkP2mZx9TtL4v", "b8WnK3cVd0JsQeHf", DRAWN),
    "a form's token": posted("authenticity_token", "q83vEjRWeJCrze==", "Zm9vYmFyYmF6==", MASKED),
    "a nonce": posted("_wpnonce", "8f1c2e770b", "1d2c3b4a5f", DRAWN),
    "a moment": posted("timestamp", "1767348672345", "1769999972345", DRAWN),
    "a password": posted("user[password]", "hunter22", "hunter22", MASKED),
    "a card by its shape": posted("number", CARD, CARD, MASKED),
    "a key of JSON": in_json("_csrf", HASH, OTHER_HASH, DRAWN),
    "a request's id": in_json("requestId", UUID, OTHER_UUID, DRAWN),
    "an id that the page gives": in_json("id", UUID, OTHER_UUID, DRAWN),
    "by another name": in_json("uuid", UUID, OTHER_UUID, DRAWN),
    "a ULID": in_json("id", ULID, OTHER_ULID, DRAWN),
    "when it was made": in_json(
        "createdAt", "2026-03-02T10:11:12.345Z", "2026-04-05T10:11:13Z", DONE
    ),
    "when it was made, in seconds": in_json("createdAt", 1767348672, 1769999972, DONE),
    "within an object": Asked(
        {"post_data": {"$.item": {"createdAt": "2026-03-02T10:11:12Z", "title": "Bug"}}},
        ("/x", document({"item": {"createdAt": "2026-04-05T10:11:13Z", "title": "Bug"}})),
        ("/x", document({"item": {"createdAt": "2026-03-02T10:11:12Z", "title": "Other"}})),
        f"$.item.createdAt ({DONE})",
    ),
    "in parts": Asked(
        {"post_data": {"form_key": HASH, "title": "Bug"}},
        ("/x", parts(form_key=OTHER_HASH, title="Bug")),
        ("/x", parts(form_key=HASH, title="Other")),
        f"form_key ({DRAWN})",
    ),
    "in the query": Asked(
        {"query_params": {"_": ["1767348672345"], "tab": ["all"]}},
        ("/x?_=1769999972345&tab=all", form(a="1")),
        ("/x?_=1767348672345&tab=one", form(a="1")),
        f"_ ({DRAWN})",
    ),
    "in the address's own query": Asked(
        {"post_data": {"title": "Bug"}},
        (f"/x?nonce={OTHER_HASH}&tab=all", form(title="Bug")),
        (f"/x?nonce={HASH}&tab=one", form(title="Bug")),
        f"nonce ({DRAWN})",
        f"/x?nonce={HASH}&tab=all",
    ),
    "in the path": Asked(
        {"post_data": {"title": "Bug"}},
        (f"/save/key/{OTHER_HASH}/", form(title="Bug")),
        (f"/save/key/{OTHER_HASH}/", form(title="Other")),
        f"key/{HASH} ({DRAWN})",
        f"/save/key/{HASH}/",
    ),
    "a cookie of the answer": Asked(
        {"post_data": {"title": "Bug"}, "response_cookies": {"visit": UUID}},
        ("/x", form(title="Bug"), {"cookies": {"visit": OTHER_UUID}}),
        ("/x", form(title="Other"), {"cookies": {"visit": UUID}}),
        f"visit ({DRAWN})",
    ),
    "the number of what was made": Asked(
        {"post_data": {"title": "Bug"}, "response_content": {"$.id": 18374}},
        ("/x", form(title="Bug"), {"content": document({"id": 18399})}),
        ("/x", form(title="Other"), {"content": document({"id": 18374})}),
        "$.id (the site numbers it)",
    ),
}


def imported(tmp_path: Path, asked: Asked, instruction: str = "Report a bug.") -> Imported:
    """The task of one check that posts."""
    expected = {"url": f"__REDDIT__{asked.url}", "http_method": "POST", **asked.expected}
    answer = {"task_type": "mutate", "status": "SUCCESS", "retrieved_data": None}
    task = {
        "task_id": 7,
        "sites": ["reddit"],
        "intent": instruction,
        "eval": [
            {"evaluator": "AgentResponseEvaluator", "expected": answer},
            {"evaluator": "NetworkEventEvaluator", "expected": expected},
        ],
    }
    (tmp_path / verified.NAME).write_bytes(orjson.dumps([task]))
    return next(verified.tasks(tmp_path / verified.NAME, {"reddit": SITE}))


def success(tmp_path: Path, one: Imported, *requests: tuple[Any, ...]) -> bool | None:
    """Whether a HAR with these requests, and the right answer, reaches the goal."""
    assert one.spec is not None
    entries = [entry("GET", f"{SITE}/", 200)]
    for path, body, *more in requests:
        further = more[0] if more else {}
        entries.append(entry("POST", SITE + path, 200, posted=body, **further))
    har = tmp_path / "made.har"
    log = {"version": "1.2", "entries": timed(entries)}
    har.write_bytes(orjson.dumps({"log": log}))
    said = json.dumps({"task_type": "mutate", "status": "SUCCESS"})
    lines = record(SourceFile(har), FORMATS["har"], answer=said, cookies=("visit",)).lines
    engine = Engine(compile_task(task_from_json(one.spec)), "ep")
    engine.feed(decode_segment(join_segment("ep", 1, lines, GENESIS)).events)
    return engine.success


@pytest.mark.parametrize("name", CASES)
def test_another_run_draws_other_values_and_is_paid(name: str, tmp_path: Path) -> None:
    asked = CASES[name]
    one = imported(tmp_path, asked)
    assert f"check 1: any value is taken of {asked.says}" in one.remarks
    assert success(tmp_path, one, asked.right) is True
    assert success(tmp_path, one, asked.wrong) is False
    assert success(tmp_path, one) is False


@pytest.mark.parametrize(
    ("name", "value", "other", "instruction"),
    [
        ("form_key", "SAVE-2026-XK9", "SAVE-2026-XK8", "Use the key SAVE-2026-XK9."),
        ("coupon", "SAVE-2026-XK9", "SAVE-2026-XK8", "Use the best coupon."),
        ("subscribed", "true", "false", "Subscribe."),
        ("createdAt", "2026-03-02T10:11:12Z", "2026-03-03T10:11:12Z", "Date it 2026-03-02."),
        ("form_key", "^a+$", "bb", "Send it."),
    ],
)
def test_what_is_named_or_may_have_been_there_is_asked_as_it_is(
    name: str, value: str, other: str, instruction: str, tmp_path: Path
) -> None:
    asked = posted(name, value, other, "")
    one = imported(tmp_path, asked, instruction)
    assert not any("any value" in remark for remark in one.remarks)
    assert success(tmp_path, one, asked.right) is False
    right = value if value[0] != "^" else "aa"
    assert success(tmp_path, one, ("/x", form(**{name: right, "title": "Bug"}))) is True


@pytest.mark.parametrize(
    "asked",
    [
        Asked({"post_data": {"issue_id": UUID, "state": "closed"}}, (), (), ""),
        Asked({"post_data": {"state": "closed"}}, (), (), "", f"/issues/{UUID}/close"),
        Asked({"post_data": {"a": "1"}, "headers": {"referer": f"{SITE}/{UUID}"}}, (), (), ""),
    ],
    ids=["in the body", "in the address", "in the referer"],
)
def test_what_looks_drawn_and_may_have_been_there_is_said(asked: Asked, tmp_path: Path) -> None:
    said = f"may be drawn anew in each run, and then nobody meets it: {UUID}"
    assert said in imported(tmp_path, asked).remarks
    assert said not in imported(tmp_path, asked, f"Close {UUID.upper()}.").remarks


@pytest.mark.parametrize(
    "expected",
    [
        {"post_data": {"form_key": HASH}},
        {"post_data": {"user[password]": "hunter22"}},
        {"response_content": {"$.id": 18374}},
    ],
    ids=["drawn", "masked", "numbered"],
)
def test_a_request_of_which_nothing_else_is_asked_makes_no_task(
    expected: dict[str, Any], tmp_path: Path
) -> None:
    one = imported(tmp_path, Asked(expected, (), (), ""))
    assert (one.spec, one.kind) == (None, verified.REFUSED)
    assert "any other to its address would be paid" in one.remarks[0]
