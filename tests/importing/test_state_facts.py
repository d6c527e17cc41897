"""What a solved state asks of an application: dates that are wanted, no unrelated change, nothing
that it draws itself.

Every case is an application of two tasks or one: a start, an instruction and a patch. States that
the real application may come to pay fully; those in which what was asked is otherwise pay less; the
start pays nothing.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from detectors.engine.engine import Engine
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import infinity, state_facts
from lab.benchmarks.base import Imported
from lab.benchmarks.dates import day_of, is_minute_named, is_named
from lab.benchmarks.json_patch import apply_patch
from lab.benchmarks.state_facts import StateChange
from lab.benchmarks.state_values import is_masked
from tests.importing.heard import Browser
from tests.support.logs import episode, log

SEED: dict[str, Any] = {
    "tickets": [
        {"id": "t_1", "title": "Log in", "createdAt": "2026-01-05T08:00:00Z", "labels": ["a"], "sprintId": 1},
        {"id": "t_2", "title": "Export", "createdAt": "2026-01-06T08:00:00Z", "labels": [], "sprintId": 2},
    ],
    "sprints": [{"id": 1, "name": "One"}, {"id": 2, "name": "Two"}],
    "tokens": [{"id": "k1", "label": "CI", "prefix": "ab12"}, {"id": "k2", "label": "Bot", "prefix": "cd34"}],
    "notes": [{"text": "old", "at": "2026-01-01T10:00:00Z"}],
    "profile": {
        "feedHash": "h4sh-0ld", "apiToken": "t0ken", "language": "en-GB",
        "lastReviewedAt": None, "updatedAt": "2026-01-01T00:00:00Z",
    },
    "orders": {"ord_1": {"title": "Tea", "boughtOn": "Jan 5, 2026, 9:00 AM"}, "ord_2": {"title": "Pen", "boughtOn": "Jan 6, 2026, 9:00 AM"}},
    "receipts": [{"receiptId": "r-1", "for": "Tea", "confirmationNumber": 193842}, {"receiptId": "r-2", "for": "Pen", "confirmationNumber": 773842}],
    "route": "/tickets",
    "_nextId": 3,
}  # fmt: skip
DONE = "2026-03-06T12:00:00Z"


def new(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def ticket(**more: Any) -> dict[str, Any]:
    return {
        "id": "t_3",
        "title": "Search",
        "due": None,
        "createdAt": DONE,
        "labels": [],
        "sprintId": None,
        **more,
    }


def imported(
    tmp_path: Path, instruction: str, patch: list[dict[str, Any]], **more: Any
) -> Imported:
    """The one task of an application of our own."""
    task = {
        "id": "t",
        "instruction": instruction,
        "patch": patch,
        "expect_seed": False,
        "expect_solved": True,
        **more,
    }
    (tmp_path / "app.json").write_bytes(orjson.dumps({"app": "app", "seed": SEED, "tasks": [task]}))
    return next(infinity.tasks(tmp_path, {"app": "http://shop.test"}))


def paid(one: Imported, state: Any) -> bool:
    """Whether the page's ``state``, after its start, reaches the goal."""
    assert one.spec is not None
    rules = compile_task(task_from_json(one.spec))
    browser, url = Browser(rules), f"{rules.task.origin}/api/state"
    engine = Engine(rules, "ep_1")
    engine.feed(
        log(*episode(*(browser.told("PUT", url, orjson.dumps(one), 200) for one in (SEED, state))))
    )
    return bool(engine.success)


class Case(NamedTuple):
    """``right``: what may stand in the solved state instead; ``wrong``: what pays no goal; JSON
    Pointer → value."""

    instruction: str
    patch: list[dict[str, Any]]
    right: dict[str, Any]
    wrong: list[dict[str, Any]]
    says: str = ""


CASES: dict[str, Case] = {
    "a named due date is asked, the time of creation is not": Case(
        "Create a ticket Search, due May 1, 2026.",
        [new("/tickets/2", ticket(due="2026-05-01"))],
        {"/tickets/2/createdAt": "2027-01-01T01:01:01Z", "/tickets/2/id": "t_77"},
        [{"/tickets/2/due": "2026-05-02"}, {"/tickets/2/due": None}],
        "not asked: when it was done: $.tickets[new].createdAt",
    ),
    "a named day of a stamp is asked by its day": Case(
        "Snooze Log in until 10 March.",
        [new("/tickets/0/snoozedUntil", "2026-03-10T08:00:00Z")],
        {"/tickets/0/snoozedUntil": "2026-03-10T00:00:00.000Z"},
        [{"/tickets/0/snoozedUntil": "2026-03-11T08:00:00Z"}, {"/tickets/0/snoozedUntil": DONE}],
    ),
    "a named time of day is asked as well": Case(
        "Snooze Log in until 2026-03-10 at 8:30 AM.",
        [new("/tickets/0/snoozedUntil", "2026-03-10T08:30:00Z")],
        {"/tickets/0/snoozedUntil": "2026-03-10T08:30:00.000Z"},
        [{"/tickets/0/snoozedUntil": "2026-03-10T09:30:00Z"}],
    ),
    "a named day that is that of doing": Case(
        "Set the due date of Log in to March 6, and close it.",
        [{"op": "add", "path": "/tickets/0/due", "value": "2026-03-06"}, new("/tickets/0/closedAt", DONE)],
        {"/tickets/0/closedAt": "2026-03-06T23:00:00Z"},
        [{"/tickets/0/due": "2026-03-07"}],
    ),
    "a day that is not that of doing is asked, and said": Case(
        "Create a ticket Search, due next week.",
        [new("/tickets/2", ticket(due="2026-03-13"))],
        {"/tickets/2/createdAt": "2026-09-09T09:09:09Z"},
        [{"/tickets/2/due": "2026-03-14"}],
        "asked, though the instruction does not name it: another day than that of doing: "
        "$.tickets[new].due '2026-03-13'",
    ),
    "a day of doing that may be wanted is not asked, and said": Case(
        "Create a ticket Search that starts today.",
        [new("/tickets/2", ticket(startDate="2026-03-06"))],
        {"/tickets/2/startDate": "2026-07-07", "/tickets/2/createdAt": "2026-07-07T09:09:09Z"},
        [{"/tickets/2/title": "Find"}],
        "may be wanted, not asked: it is the day of doing, and the instruction does not name it: "
        "$.tickets[new].startDate '2026-03-06'",
    ),
    "a time in milliseconds": Case(
        "Create a ticket Search.",
        [new("/tickets/2", ticket(updatedAt=1772798400000))],
        {"/tickets/2/updatedAt": 1790000000000},
        [{"/tickets/2/title": "Find"}],
    ),
    "a copied time stays": Case(
        "Duplicate Log in as Search.",
        [new("/tickets/2", ticket(createdAt="2026-01-05T08:00:00Z", copiedAt=DONE))],
        {"/tickets/2/copiedAt": "2027-01-01T01:01:01Z"},
        [{"/tickets/2/createdAt": "2026-01-06T08:00:00Z"}],
    ),
    "a new row like an old one is not the old one": Case(
        "Duplicate the token CI.",
        [new("/tokens/2", {"id": "k3", "label": "CI", "prefix": "ab12"}), new("/_nextId", 4)],
        {"/tokens/2/id": "k_9f", "/_nextId": 9},
        [{"/tokens/2/label": "Other"}, {"/tokens": SEED["tokens"]}],
    ),
    "a new row like one without an id counts": Case(
        "Add the note again.",
        [new("/notes/1", {"text": "old", "at": DONE})],
        {"/notes/1/at": "2027-01-01T01:01:01Z"},
        [{"/notes/1/text": "other"}, {"/notes": SEED["notes"]}],
    ),
    "two new rows that are alike are two": Case(
        "Create two tickets Search.",
        [new("/tickets/2", ticket()), new("/tickets/3", ticket(id="t_4"))],
        {"/tickets/2/createdAt": "2027-01-01T01:01:01Z"},
        [{"/tickets/3/title": "Find"}],
    ),
    "creation times in a list whose rows have no id": Case(
        "Add a note 'new'.",
        [new("/notes/0", {"text": "new", "at": DONE})],
        {"/notes/0/at": "2027-01-01T01:01:01Z"},
        [{"/notes/0/text": "other"}, {"/notes": SEED["notes"]}],
    ),
    "a row without an id that was changed": Case(
        "Change the note to 'new'.",
        [{"op": "replace", "path": "/notes/0", "value": {"text": "new", "at": DONE}}],
        {"/notes/0/at": "2027-01-01T01:01:01Z"},
        [{"/notes": [*SEED["notes"], {"text": "new", "at": DONE}]}],
    ),
    "a code that the application draws, by its name": Case(
        "Create a token Deploy.",
        [new("/tokens/2", {"id": "k3", "label": "Deploy", "prefix": "test"})],
        {"/tokens/2/prefix": "x9y8"},
        [{"/tokens/2/label": "Other"}],
        "not asked: the application draws it: $.tokens[new].prefix 'test'",
    ),
    "a code that the application draws, by its shape": Case(
        "Create a ticket Search.",
        [new("/tickets/2", ticket(share="9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a", coupon="A7X2-99QK-LM3P"))],
        {"/tickets/2/share": "00000000-0b3a-4d1e-8a55-1f2e3d4c5b6a", "/tickets/2/coupon": "B7X2-19QK-LM3P"},
        [{"/tickets/2/title": "Other"}],
        "$.tickets[new].coupon 'A7X2-99QK-LM3P'",
    ),
    "a code that the instruction names is asked": Case(
        "Create a ticket Search with the coupon A7X2-99QK-LM3P.",
        [new("/tickets/2", ticket(coupon="A7X2-99QK-LM3P"))],
        {},
        [{"/tickets/2/coupon": "B7X2-19QK-LM3P"}],
    ),
    "a code that is drawn anew is another one": Case(
        "Make a new address of the feed.",
        [{"op": "replace", "path": "/profile/feedHash", "value": "h4sh-n3w"}],
        {"/profile/feedHash": "any0ther"},
        [{"/profile/feedHash": "h4sh-0ld"}, {"/profile/feedHash": ""}, {"/profile/feedHash": None}],
        "asked as another value than at the start: $.profile.feedHash",
    ),
    "what the daemon masks is not asked": Case(
        "Create a ticket Search with the password hunter22.",
        [new("/tickets/2", ticket(sharePassword="hunter22", accessToken="abc"))],
        {"/tickets/2/accessToken": "def"},
        [{"/tickets/2/title": "Other"}],
        "not asked: the daemon masks it: $.tickets[new].sharePassword",
    ),
    "what the daemon masks by its shape is not asked": Case(
        "Create a ticket Search, to be paid by 4111 1111 1111 1111.",
        [new("/tickets/2", ticket(paidBy="4111 1111 1111 1111"))],
        {},
        [{"/tickets/2/title": "Other"}],
        "not asked: the daemon masks it: $.tickets[new].paidBy",
    ),
    "words with numbers between them were not drawn": Case(
        "Create a ticket Search.",
        [new("/tickets/2", ticket(slug="plan-of-room-b12-and-c3-v2", years="2025-2026"))],
        {},
        [{"/tickets/2/slug": "plan-of-room-b12-and-c4-v2"}, {"/tickets/2/years": "2024-2025"}],
    ),
    "a word under a name of codes is asked": Case(
        "Switch to French.",
        [{"op": "replace", "path": "/profile/language", "value": "fr-FR"}, new("/profile/languageCode", "fra")],
        {},
        [{"/profile/language": "de-DE"}],
    ),
    "a number that a new row was given": Case(
        "Create a ticket Search.",
        [new("/tickets/2", ticket(iid=69, lists=[{"id": "x_1", "name": "All"}]))],
        {"/tickets/2/iid": 70, "/tickets/2/lists/0/id": "x_9"},
        [{"/tickets/2/lists/0/name": "None"}],
    ),
    "a reference to a new row is one that is no old row's": Case(
        "Create a sprint Three and move Log in into it.",
        [new("/sprints/2", {"id": 3, "name": "Three"}), {"op": "replace", "path": "/tickets/0/sprintId", "value": 3}],
        {"/sprints/2/id": 31, "/tickets/0/sprintId": 31},
        [{"/tickets/0/sprintId": 2}, {"/tickets/0/sprintId": None}, {"/sprints/2/name": "Four"}],
    ),
    "a new row's id in a list of them": Case(
        "Create a token Deploy and label Log in with it.",
        [new("/tokens/2", {"id": "k3", "label": "Deploy", "prefix": "ef56"}), new("/tickets/0/labels/1", "k3")],
        {"/tokens/2/id": "k9", "/tickets/0/labels/1": "k9"},
        [{"/tickets/0/labels": ["a"]}, {"/tickets/0/labels": ["k9"]}],
    ),
    "a row under a key that the application draws": Case(
        "Order Ink.",
        [new("/orders/9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a", {"title": "Ink", "boughtOn": DONE})],
        {"/orders": {**SEED["orders"], "1f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a": {"title": "Ink", "boughtOn": "2027-01-01T01:01:01Z"}}},
        [{"/orders": {**SEED["orders"], "ord_3": {"title": "Pot", "boughtOn": DONE}}}, {"/orders": SEED["orders"]}],
        "asked under any key: the application draws it: $.orders '9f1c2e77",
    ),
    "a row under a key that the application numbers": Case(
        "Order Tea again, and open it.",
        [new("/orders/ord_3", {"title": "Tea", "boughtOn": DONE}), {"op": "replace", "path": "/route", "value": "/orders/ord_3"}],
        {"/orders": {**SEED["orders"], "ord_9": {"title": "Tea", "boughtOn": "2027-01-01T01:01:01Z"}}, "/route": "/orders/ord_9"},
        [{"/orders": SEED["orders"]}, {"/route": "/tickets/t_1"}, {"/orders/ord_3/title": "Pen"}],
        "asked by how it begins: the application draws a part of it: $.route '/orders/ord_3'",
    ),
    "a key that the instruction names is asked": Case(
        "Add the order ord_3: Ink.",
        [new("/orders/ord_3", {"title": "Ink"})],
        {},
        [{"/orders": {**SEED["orders"], "ord_4": {"title": "Ink"}}}],
    ),
    "a key of days is asked": Case(
        "Block next Friday.",
        [new("/blocked", {"2026-03-12": {"why": "x"}, "2026-03-13": {"why": "x"}})],
        {},
        [{"/blocked": {"2026-03-12": {"why": "x"}, "2026-03-14": {"why": "x"}}}],
    ),
    "a key within a new row that the application draws": Case(
        "Create a ticket Search with the part Ink.",
        [new("/tickets/2", ticket(parts={"9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a": {"title": "Ink"}}))],
        {"/tickets/2/parts": {"1f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a": {"title": "Ink"}}},
        [{"/tickets/2/parts": {}}, {"/tickets/2/parts": {"a": {"title": "Pot"}}}],
    ),
    "a row's own id under another name, and a number of a list of such": Case(
        "Order Ink.",
        [new("/receipts/2", {"receiptId": "r-3", "for": "Ink", "confirmationNumber": 482913})],
        {"/receipts/2/receiptId": "r-8", "/receipts/2/confirmationNumber": 111222},
        [{"/receipts/2/for": "Pot"}],
        "not asked: the application draws it: $.receipts[new].confirmationNumber 482913",
    ),
    "a number that the instruction names is asked": Case(
        "Enter the receipt of Ink, number 482913.",
        [new("/receipts/2", {"receiptId": "r-3", "for": "Ink", "confirmationNumber": 482913})],
        {"/receipts/2/receiptId": "r-8"},
        [{"/receipts/2/confirmationNumber": 111222}],
    ),
    "an address with a part that is drawn": Case(
        "Share Log in by a link.",
        [new("/tickets/0/link", "https://app.test/s/9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a")],
        {"/tickets/0/link": "https://app.test/s/1f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a"},
        [{"/tickets/0/link": "https://other.test/s/x"}, {"/tickets/0/link": None}],
        "asked by how it begins: the application draws a part of it: $.tickets[?@.id==\"t_1\"].link",
    ),
    "a sentence with a code that is drawn": Case(
        "Order Ink.",
        [new("/notes/1", {"text": "Your order A7X2-99QK is placed", "at": DONE})],
        {"/notes/1/text": "Your order B1X2-11QK is placed", "/notes/1/at": "2027-01-01T01:01:01Z"},
        [{"/notes/1/text": "Your request A7X2-99QK is refused"}],
    ),
    "times of doing as people write them": Case(
        "Create a ticket Search.",
        [
            new("/tickets/2", ticket(resolvedAt="Mar 6, 2026, 12:00 PM", openedOn="06/03/2026 12:00")),
            new("/tickets/3", ticket(title="Copy", id="t_4", sentAt="12:04 PM", savedAt="just now", soldOn="Fri Mar 06 2026 12:00:00 GMT+0000")),
        ],
        {
            "/tickets/2/resolvedAt": "Apr 7, 2027, 1:00 AM", "/tickets/2/openedOn": "07/04/2027 01:00", "/tickets/3/sentAt": "1:55 AM",
            "/tickets/3/savedAt": "2 minutes ago", "/tickets/3/soldOn": "Wed Apr 07 2027 01:00:00 GMT+0000",
        },
        [{"/tickets/2/title": "Find"}],
        "not asked: when it was done: $.tickets[new].createdAt",
    ),
    "a date as people write it that is not that of doing is asked": Case(
        "Create a ticket Search, due next week.",
        [new("/tickets/2", ticket(due="Mar 13, 2026"))],
        {"/tickets/2/createdAt": "2027-01-01T01:01:01Z"},
        [{"/tickets/2/due": "Mar 14, 2026"}],
    ),
    "where it was done from, and how long it took": Case(
        "Create a ticket Search.",
        [new("/tickets/2", ticket(ipAddress="10.2.1.7", userAgent="Mozilla/5.0 (X11)", durationMs=532))],
        {"/tickets/2/ipAddress": "10.2.1.9", "/tickets/2/userAgent": "Other/1.0", "/tickets/2/durationMs": 77},
        [{"/tickets/2/title": "Find"}],
    ),
    "only a time that says what was done is another one": Case(
        "Review the profile without changing it.",
        [{"op": "replace", "path": "/profile/lastReviewedAt", "value": DONE}],
        {"/profile/lastReviewedAt": "2027-01-01T01:01:01Z"},
        [{"/profile/lastReviewedAt": None}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_what_is_asked_of_a_state(name: str, tmp_path: Path) -> None:
    """The solved state and what the real application may make of it pay, what is otherwise and the
    start do not."""
    case = CASES[name]
    one = imported(tmp_path, case.instruction, case.patch)
    solved = apply_patch(SEED, case.patch)

    def replaced(values: dict[str, Any]) -> Any:
        return apply_patch(
            solved,
            [{"op": "replace", "path": path, "value": value} for path, value in values.items()],
        )

    assert (paid(one, solved), paid(one, SEED)) == (True, False)
    assert paid(one, replaced(case.right)), one.spec
    for values in case.wrong:
        assert not paid(one, replaced(values)), values
    assert case.says in " ".join(one.remarks)


ONLY: dict[str, list[dict[str, Any]]] = {
    "a counter": [{"op": "replace", "path": "/_nextId", "value": 4}],
    "a time that any change sets": [{"op": "replace", "path": "/profile/updatedAt", "value": DONE}],
    "both": [
        {"op": "replace", "path": "/_nextId", "value": 4},
        {"op": "replace", "path": "/profile/updatedAt", "value": DONE},
    ],
    "a secret that the daemon masks": [
        {"op": "replace", "path": "/profile/apiToken", "value": "n3w"}
    ],
}


@pytest.mark.parametrize("name", ONLY)
def test_a_task_that_any_change_would_meet_is_refused_by_name(name: str, tmp_path: Path) -> None:
    """There is no task, and the path that is different is said."""
    one = imported(tmp_path, "Do it.", ONLY[name])
    assert (one.spec, one.kind) == (None, "nothing to tell apart")
    assert "any other change may set it as well" in one.remarks[0]
    said = {"a counter": "$._nextId", "a secret that the daemon masks": "$.profile.apiToken"}
    assert said.get(name, "$.profile.updatedAt") in one.remarks[0]


def test_a_fact_that_holds_at_the_start_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the comparison came to it: a task of such facts is refused, else only they are left
    out."""
    compared = state_facts._Comparison.differing
    standing = StateChange("route", "$.route", {"path": "$.route", "value": "/tickets"})
    monkeypatch.setattr(state_facts._Comparison, "differing", lambda *_: iter([standing]))
    one = imported(tmp_path, "Do it.", ONLY["a counter"])
    assert (one.spec, one.kind) == (None, "nothing to tell apart")

    def compare(*given: Any) -> list[StateChange]:
        """What differs, and what stands there already."""
        return [standing, *compared(*given)]

    monkeypatch.setattr(state_facts._Comparison, "differing", compare)
    patch = [{"op": "replace", "path": "/profile/language", "value": "de"}]
    assert not paid(imported(tmp_path, "Do it.", patch), SEED)
    assert "$.route" not in str(imported(tmp_path, "Do it.", patch).spec)


@pytest.mark.parametrize(
    ("key", "value", "masked"),
    [
        ("apiToken", "abcd", True),
        ("new_password2", "abcd", True),
        ("pin", 1234, False),
        ("number", "4111 1111 1111 1111", True),
        ("number", 4111111111111111, True),
        ("note", "Charge 4111 1111 1111 1111.", True),
        ("note", "ghp_abcdefghijklmnopqrstuvwxyz0123456789", True),
        ("apiToken", "", False),
        ("boardingPass", "abcd", False),
        ("token_count", 3, False),
    ],
)
def test_what_the_daemon_masks_by_name_or_shape_is_known_here(
    key: str, value: Any, masked: bool
) -> None:
    assert is_masked(key, value) is masked


def test_what_two_runs_have_otherwise_is_not_asked(tmp_path: Path) -> None:
    """``runs`` holds patches of further runs: a colour that the application picks is drawn, the
    title is not."""
    first, second = ([new("/tickets/2", ticket(colour=colour))] for colour in ("teal", "plum"))
    alone, compared = (
        imported(tmp_path, "Create Search.", first),
        imported(tmp_path, "Create Search.", first, runs=[second]),
    )
    assert (paid(alone, apply_patch(SEED, second)), paid(compared, apply_patch(SEED, second))) == (
        False,
        True,
    )
    assert not paid(
        compared, apply_patch(SEED, [new("/tickets/2", ticket(title="Find", colour="teal"))])
    )
    assert "the application draws it: $.tickets[new].colour 'teal'" in compared.remarks[1]


def test_a_key_that_two_runs_have_otherwise_is_not_asked(tmp_path: Path) -> None:
    """Of a new row that stands under it, the content is."""
    first, second, other = (
        [new(f"/profile/pages/{key}", {"title": title})]
        for key, title in (("abcd", "Ink"), ("wxyz", "Ink"), ("wxyz", "Pot"))
    )
    start = [new("/profile/pages", {})]
    task = {"id": "t", "instruction": "Add a page.", "patch": first, "runs": [second]}
    seed = apply_patch(SEED, start)
    (tmp_path / "app.json").write_bytes(orjson.dumps({"app": "app", "seed": seed, "tasks": [task]}))
    one = next(infinity.tasks(tmp_path, {"app": "http://shop.test"}))
    states = [apply_patch(seed, patch) for patch in (first, second, other)]
    assert [paid(one, state) for state in states] == [True, True, False]


def test_a_task_whose_solution_fails_by_its_own_verdict_is_skipped_and_named(
    tmp_path: Path,
) -> None:
    """Also where its patch can't be done."""
    for patch in ([new("/tickets/2", ticket())], [{"op": "remove", "path": "/none"}]):
        one = imported(tmp_path, "Do it.", patch, expect_solved=False)
        assert (one.spec, one.kind, one.name) == (None, "solution fails", "app/t")
        assert "expect_solved is false" in one.remarks[0]


def test_the_state_that_was_read_is_not_changed(tmp_path: Path) -> None:
    before = copy.deepcopy(SEED)
    imported(tmp_path, "Create a ticket.", [new("/tickets/2", ticket())])
    assert before == SEED


NAMES: dict[str, tuple[str, bool]] = {
    "due on 2026-05-01": ("2026-05-01", True),
    "due May 1st, 2026": ("2026-05-01", True),
    "due 1 May": ("2026-05-01", True),
    "due 5/1/2026": ("2026-05-01", True),
    "due 01.05.2026": ("2026-05-01", True),
    "due May 1, 2027": ("2026-05-01", False),
    "due May 11": ("2026-05-01", False),
    "version 2026.05": ("2026-05-01", False),
    "the issue #51": ("2026-05-01", False),
}


@pytest.mark.parametrize("text", NAMES)
def test_days_that_an_instruction_names(text: str) -> None:
    day, named = NAMES[text]
    assert is_named(day, text) is named


def test_points_in_time() -> None:
    """ISO 8601, seconds and milliseconds; not every number, nor a text with more in it."""
    for value in (
        "2026-03-06",
        DONE,
        "2026-03-06 12:00",
        "2026-03-06T12:00:00.123+02:00",
        1772798400,
        1772798400000,
    ):
        assert day_of(value) == "2026-03-06", value
    for other in (
        "2026-13-06",
        "on 2026-03-06",
        7,
        20260306,
        True,
        None,
        1e300,
        float("nan"),
        ["2026-03-06"],
    ):
        assert day_of(other) is None, other
    assert is_minute_named("15:00", "at 3 pm")
    assert not is_minute_named("03:00", "at 3 pm")
