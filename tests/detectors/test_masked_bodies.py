"""What the daemon masks in a body is not known: a condition that hangs on it is null, one that the
rest of the body decides is not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentd.masking import Masker
from agentd.masking.bodies import mask_body
from detectors.matchers import ContentMatch, StructureMatch, TextMatch, third_party
from detectors.matchers.masked import hides_choice, judge_json, judge_part
from detectors.matchers.masked_text import judge_text
from detectors.model.types import Reward
from tests.support.logs import ORIGIN, Said, episode, finished, ruleset, run

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
PARTS = "multipart/form-data; boundary=x"
NAMES = "text/plain; x=multipart/form-data"
CARD = "4111111111111111"
LOGIN = "user=ada&password=hunter2"
ORDER = '{"city": "Rome", "card": {"number": 4111111111111111, "cvc": "123"}, "items": [{"id": 1}]}'
PART = '--x\r\nContent-Disposition: form-data; name="password"\r\n\r\nhunter2\r\n--x--\r\n'

PLAIN_TEXTS: list[tuple[Any, str, bool | None]] = [
    ("hunter2", "***", None),
    ("", "***", False),
    (CARD, "***", None),
    ("***", "***", True),
    ("call ada", "call ***", None),
    ("call", "call ***", False),
    ("mail ada", "call ***", False),
    ("a b c", "a *** c", None),
    ("a c", "a *** c", False),
    ("ab", "a***b", False),
    ("1 x 2 y 3", "1 *** 2 *** 3", None),
    ("1 x 3 y 2", "1 *** 2 *** 3", False),
    ({"one_of": ["x", "call ada"]}, "call ***", None),
    ({"one_of": ["x", "y"]}, "call ***", False),
    ({"equals": "CALL ada", "ignore_case": True}, "Call ***", None),
    ({"contains": "call"}, "call ***", True),
    ({"contains": "mail"}, "call ***", None),
    ({"starts_with": "cal"}, "call ***", True),
    ({"starts_with": "call a"}, "call ***", None),
    ({"starts_with": "mail"}, "call ***", False),
    ({"ends_with": "now"}, "*** now", True),
    ({"ends_with": "ada now"}, "*** now", None),
    ({"ends_with": "then"}, "*** now", False),
    ({"glob": "*"}, "***", True),
    ({"glob": "call a*"}, "call ***", None),
    ({"glob": "mail*"}, "call ***", False),
    ({"glob": "*now"}, "call *** then", False),
    ({"glob": "plain"}, "call ***", False),
    (7, "***", None),
    (7, "call ***", False),
    ({"date": "2026-01-02"}, "***", None),
    ({"regex": "[a-z]+"}, "***", None),
    ({"date": "2026-01-02"}, "2026-01-03", False),
    ({"regex": "[^0-9]+"}, "call ***", None),
    ({"regex": "[^ ]+ [^ ]+"}, "call ***", True),
    ({"any_of": [{"regex": "call .{3}"}, {"date": "2026-01-02"}]}, "call ***", None),
    ({"glob": "call ???"}, "call ***", None),
    ({"regex": r"\*{3}now\*{3}"}, "***now***", True),
    ({"any_of": ["***now***", "then"]}, "***now***", True),
    ({"contains": "l **"}, "call ***", True),
    ({"glob": "c??l *"}, "call ***", True),
    (f"*{CARD}*", "*****", None),
    (f"**{CARD}", "*****", None),
    ({"ends_with": f"{CARD}*"}, "to ****", None),
    ({"glob": "to *1"}, "to ****", None),
    ({"ends_with": "then*"}, "**** now", False),
    ({"regex": "[^@]+"}, "***", None),
    ({"regex": "[^0-9@]+"}, "***", None),
    ({"regex": "[^/]+/[^/]+"}, "a/***", None),
    ({"path": "a/*"}, "a/***", None),
    ({"list": [{"contains": "a"}]}, "a***", None),
    ({"json": "$.a", "value": 1}, '{"a": 1, "b": "***"}', True),
    (12_345, "12,***", None),
    (12_345, "12,*** lamps", False),
]  # fmt: skip
JSON_PATH = {"json": "$.items[?(@.token == 'x')].id", "value": 1}


def chosen(condition: str) -> dict[str, Any]:
    """The ids of the items that meet a condition, of which one is to be 1."""
    return {"json": f"$.items[?{condition}].id", "value": 1}


VALUES: list[tuple[Any, Any, bool | None]] = [
    ({"json": "$.city", "value": "Rome"}, {"city": "Rome", "token": "***"}, True),
    ({"json": "$.city", "value": "Oslo"}, {"city": "Rome", "token": "***"}, False),
    ({"json": "$.token", "value": "x"}, {"city": "Rome", "token": "***"}, None),
    ({"json": "$.token", "value": {"glob": "*"}}, {"token": "***"}, True),
    ({"json": "$.*", "value": "Rome"}, {"city": "Rome", "token": "***"}, True),
    ({"json": "$.*", "value": "Rome", "every": True}, {"city": "Rome", "token": "***"}, None),
    ({"json": "$.*", "value": "Oslo", "every": True}, {"city": "Rome", "token": "***"}, False),
    ({"json": "$.token", "value": {"regex": "[^0-9]+"}}, {"token": "***"}, None),
    ({"json": "$.token", "value": "***"}, {"token": "***"}, True),
    ({"list": [{"regex": "[^0-9]+"}]}, ["***"], None),
    (JSON_PATH, {"items": [{"token": "***", "id": 1}]}, None),
    (JSON_PATH, {"items": [{"token": "y", "id": 1}], "password": "***"}, False),
    ("Rome", ["***"], False),
    (chosen("@.token == 'x' && @.kind == 'a'"), {"items": [{"token": "***", "kind": "b", "id": 1}]}, False),
    (chosen("@.token == 'x' && @.kind == 'a'"), {"items": [{"token": "***", "kind": "a", "id": 1}]}, None),
    (chosen("@.kind == 'a' && @.token == 'x'"), {"items": [{"token": "y", "kind": "a", "id": 1}, {"token": "***", "kind": "b"}]}, False),
    (chosen("@.token == 'x' || @.kind == 'a'"), {"items": [{"token": "***", "kind": "b", "id": 1}]}, None),
    (chosen("!(@.token == 'x' && @.kind == 'a')"), {"items": [{"token": "***", "kind": "b", "id": 2}]}, None),
    (chosen("@.token == 'x' && @.kind == '] && b'"), {"items": [{"token": "***", "kind": "a", "id": 1}]}, False),
    (chosen("@.token == 'x' && @.kind == '] && b'"), {"items": [{"token": "***", "kind": "] && b", "id": 1}]}, None),
    (chosen("@.at[0].token == 'x' && @.kind == 'a'"), {"items": [{"at": [{"token": "***"}], "kind": "a", "id": 1}]}, None),
    (chosen("@.at[?@.token == 'x'] && @.kind == 'a'"), {"items": [{"at": [{"token": "***"}], "kind": "b", "id": 1}]}, False),
    ({"json": "$.items[?@.token == 'x'].of[?@.kind == 'a']", "value": 1}, {"items": [{"token": "***", "of": []}]}, None),
    ({"json": "$.tags[?@ == 'x']", "value": "x"}, {"tags": ["***"]}, None),
    (chosen("@[?@ == 'x']"), {"items": [{"token": "***", "id": 1}]}, None),
    (chosen("@.card == @.other"), {"items": [{"card": {"cvc": "***"}, "other": {"cvc": "1"}, "id": 1}]}, None),
    (chosen("@.of == $.token"), {"token": "***", "items": [{"of": "a", "id": 1}]}, None),
    (chosen("@['t\\u006fken'] == 'x'"), {"items": [{"token": "***", "id": 1}]}, None),
    (chosen("@.idea == 'x'"), {"items": [{"id": "***", "idea": "y"}]}, False),
    (chosen("@.of == 'x' || @.of == 'y'"), {"items": [{"token": "***", "of": "z", "id": 1}]}, False),
    ({"json": "$.items[?@.of == 'a'].at[?@.id == 2].token", "value": {"contains": "x"}}, {"items": [{"of": "a", "at": [{"id": 1, "token": "***"}]}]}, False),
    ({"json": "$[?count($.items[?@.of == 'a']) >= 1].id", "value": 1}, {"items": [{"of": "b"}], "login": {"token": "***", "id": 2}}, False),
    ({"json": "$.items[?count(@.at[*]) == 1].id", "value": 1}, {"items": [{"at": [{"token": "***"}], "id": 2}]}, None),
    (chosen("@.token != 'x'"), {"items": [{"token": "***", "id": 1}]}, None),
    (chosen("@.token"), {"items": [{"token": "***", "id": 1}]}, True),
    (chosen("@.kind == 'a' || @.token == 'x'"), {"items": [{"token": "***", "kind": "a", "id": 1}]}, True),
    (chosen("@.token == 'x' || @.kind == 'a'") | {"every": True}, {"items": [{"kind": "a", "id": 1}, {"token": "***", "id": 2}]}, None),
    ({"json": "$.items[0, ?@.token == 'x'].id", "value": 1}, {"items": [{"id": 2}, {"token": "***", "id": 1}]}, None),
]  # fmt: skip
STRUCTURES: list[tuple[Any, Any, bool | None]] = [
    ({"string": ["x"]}, "***", None),
    (None, "***", False),
    ({"object": {"a": {"string": ["x"]}}}, {"a": "***"}, None),
    ({"object": {"a": {"string": ["x"]}}}, {"a": "***", "b": "1"}, False),
    ({"object": {"a": {"string": ["x"]}, "b": {"string": ["2"]}}}, {"a": "***", "b": "1"}, False),
    ({"object": {"b": {"string": ["1"]}}, "more": True}, {"a": "***", "b": "1"}, True),
    ({"items": [{"string": ["x"]}, {"string": ["y"]}]}, ["***", "y"], None),
    ({"items": [{"string": ["x"]}, {"string": ["y"]}]}, ["***", "z"], False),
    ({"items": [{"string": ["x"]}]}, ["***", "z"], False),
    ({"items": [{"string": ["x"]}, {"string": ["y"]}], "ordered": True}, ["y", "***"], False),
    ({"items": [{"string": ["x"]}, {"string": ["y"]}], "ordered": True}, ["x", "***"], None),
    ({"string": [], "pattern": [{"all": [".+"], "none": [".*admin.*"]}]}, "***", None),
    ({"string": [], "pattern": [{"none": [".*admin.*"]}]}, "ada", True),
    ({"string": [], "pattern": [".{2,}"]}, "***", None),
    ({"string": [], "pattern": ["[^@]+"]}, "***", None),
    ({"items": [{"string": [], "pattern": ["[^@]+"]}]}, ["***"], None),
    ({"items": [{"string": [], "pattern": ["[^@]+"]}], "ordered": True}, ["***"], None),
    ({"items": [{"string": [], "pattern": [".+"]}]}, ["***"], True),
    ({"object": {"a": {"string": [], "pattern": ["[^@]+"]}}}, '{"a": "***"}', None),
    ({"object": {"a": {"string": ["b"]}}}, '{"a": "b", "c": "***"}', False),
    ({"string": [], "pattern": ["[^0-9]+"]}, "***", None),
    ({"string": [], "pattern": [".+"]}, "***", True),
    ({"string": ["***"]}, "***", True),
]  # fmt: skip


@pytest.mark.parametrize(("wanted", "text", "verdict"), PLAIN_TEXTS)
def test_a_mask_stands_for_any_text_but_an_empty_one(
    wanted: Any, text: str, verdict: bool | None
) -> None:
    assert judge_text(TextMatch.parse(wanted, ("text",)), text) is verdict


@pytest.mark.parametrize(("wanted", "value", "verdict"), VALUES)
def test_of_a_json_value_what_was_asked_for_counts(
    wanted: Any, value: Any, verdict: bool | None
) -> None:
    assert judge_json(TextMatch.parse(wanted, ("value",)), value) is verdict


@pytest.mark.parametrize(("wanted", "value", "verdict"), STRUCTURES)
def test_of_a_structure_each_part_counts(wanted: Any, value: Any, verdict: bool | None) -> None:
    assert judge_part(StructureMatch.parse(wanted, ("value",)).root, value) is verdict


ROWS = st.lists(
    st.fixed_dictionaries({key: st.sampled_from(["x", "y", "z"]) for key in "abc"}), max_size=4
)
CONDITIONS = st.lists(
    st.builds("@.{} {} '{}'".format, st.sampled_from("abc"), st.sampled_from(["==", "!="]), st.sampled_from("xyz"))
    | st.sampled_from(["@[?@ == 'x']", "@['a'] == @.b", "@.c == $[0].a", "@ == $[1]", "!@..b"]),
    min_size=1,
    max_size=3,
)  # fmt: skip


def list_chosen(path: str, rows: list[dict[str, str]]) -> list[int]:
    """The places of the rows that a path chooses."""
    chosen = {id(row) for row in third_party.json_values(path, rows)}
    return [n for n, row in enumerate(rows) if id(row) in chosen]


@given(
    rows=ROWS,
    conditions=CONDITIONS,
    joint=st.sampled_from([" && ", " || "]),
    masks=st.sets(st.tuples(st.integers(0, 3), st.sampled_from("abc"))),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_choice_that_is_called_known_is_the_same_whatever_was_masked(
    rows: list[dict[str, str]], conditions: list[str], joint: str, masks: set[tuple[int, str]]
) -> None:
    path = f"$[?{joint.join(conditions)}]"
    told = [
        {key: "***" if (n, key) in masks else value for key, value in row.items()}
        for n, row in enumerate(rows)
    ]
    if not hides_choice(path, told):
        chosen = [list_chosen(path, document) for document in (rows, told)]
        assert chosen[0] == chosen[1]


@given(
    rows=ROWS,
    conditions=CONDITIONS,
    joint=st.sampled_from([" && ", " || "]),
    masks=st.sets(st.tuples(st.integers(0, 3), st.sampled_from("abc"))),
    every=st.booleans(),
)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_verdict_is_the_same_whatever_was_masked(
    rows: list[dict[str, str]],
    conditions: list[str],
    joint: str,
    masks: set[tuple[int, str]],
    *,
    every: bool,
) -> None:
    """Also where a condition was met by the mask itself, as that something is not equal."""
    path = f"$.rows[?{joint.join(conditions)}].a"
    wanted = TextMatch.parse({"json": path, "value": "x", "every": every}, ())
    facts = ContentMatch.parse([{"json": path, "is": {"string": ["x"]}}], ())
    masked = [
        {key: "***" if (n, key) in masks else value for key, value in row.items()}
        for n, row in enumerate(rows)
    ]
    assert judge_json(wanted, {"rows": masked}) in (None, wanted.matches_json({"rows": rows}))
    expected = facts.judge_document({"rows": rows}).is_so
    assert facts.judge_document({"rows": masked}).is_so in (None, expected)


def post(text: str, mime: str = FORM, **more: Any) -> Said:
    """A request whose body the daemon masked."""
    body = {"text": mask_body(text, mime, Masker()), "mime": mime}
    return finished("POST", "/pay", 200, body=body, **more)


def put(text: str) -> Said:
    return finished(
        "PUT", "/state", 200, body={"text": mask_body(text, JSON, Masker()), "mime": JSON}
    )


def came(text: str) -> Said:
    body = {"text": mask_body(text, JSON, Masker()), "mime": JSON}
    return finished("POST", "/pay", 200, response={"body": body})


def accepted(**body: Any) -> dict[str, Any]:
    return {"request_accepted": {"method": "POST", "url": "/pay", "body": body}}


def answer_says(**answer: Any) -> dict[str, Any]:
    return {"request_accepted": {"method": "POST", "url": "/pay", "answer": answer}}


def answered(*facts: dict[str, Any], of: str = "body", **more: Any) -> dict[str, Any]:
    url = {"any": [{"address": f"{ORIGIN}/pay"}]}
    return {"request_answered": {"url": url, "method": "POST", of: list(facts), **more}}


def fact(name: str, *texts: str, place: str = "name") -> dict[str, Any]:
    return {place: name, "is": {"string": list(texts)}}


def stored(*facts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"state_accepted": {"url": "/state", "facts": list(facts), **more}}


def cookies(value: str) -> Said:
    headers = {"set-cookie": f"sid={value}; Path=/\nlang=en"}
    return finished("POST", "/pay", 200, response={"headers": headers})


NUMBER, CITY = (
    {"path": "$.card.number", "value": 4111111111111111},
    {"path": "$.city", "value": "Rome"},
)
OSLO = {"path": "$.city", "value": "Oslo"}
NO_VISA = {"path": "$.card.number", "none": [4111111111111111]}
REQUEST, ANSWER = (
    "of a request's body is a secret, kept back",
    "of an answer's body is a secret, kept back",
)
DOCUMENT = "of the document is a secret, kept back"
NOT_KNOWN = {
    "a form's password": (accepted(password="hunter2"), post(LOGIN), f"password {REQUEST}"),
    "beside a known field": (accepted(user="ada", password="hunter2"), post(LOGIN), f"password {REQUEST}"),
    "of a form in parts": (accepted(password="hunter2"), post(PART, PARTS), f"password {REQUEST}"),
    "of parts without a boundary": (accepted(city="Rome"), post(PART, "multipart/form-data"), f"city {REQUEST}"),
    "a card number in JSON": (accepted(**{"card.number": CARD}), post(ORDER, JSON), f"card.number {REQUEST}"),
    "a card number in a text": (accepted(note=f"card {CARD}"), post(f"note=card+{CARD}"), f"note {REQUEST}"),
    "several": (accepted(**{"card.number": CARD, "card.cvc": "123"}), post(ORDER, JSON), f"card.cvc, card.number {REQUEST}"),
    "an answer's token": (answer_says(token="abc"), came('{"token": "abc"}'), f"token {ANSWER}"),
    "answered, a password": (answered(fact("password", "hunter2")), post(LOGIN), f"password {REQUEST}"),
    "answered, by a path": (answered(fact("$.card.cvc", "123", place="json")), post(ORDER, JSON), f"$.card.cvc {REQUEST}"),
    "answered, by a choice in JSON in a text": (answered(fact("$.of[?@.token == 'x'].id", "1", place="json")), post('{"of": "[{\\"token\\": \\"y\\", \\"id\\": 1}]"}', JSON), f"$.of[?@.token == 'x'].id {REQUEST}"),
    "answered, by a pattern": (answered(fact("pass.*", "hunter2", place="pattern")), post(LOGIN), f"a field {REQUEST}"),
    "answered, the last one": (answered(fact("password", "hunter2"), which="last"), post(LOGIN), f"password {REQUEST}"),
    "answered, one of several": (answered(fact("$.token", "x", place="json")), post('[{"id": 1}, {"token": "x"}]', JSON), f"$.token {REQUEST}"),
    "answered, its answer": (answered(fact("token", "abc"), of="answer"), came('{"token": "abc"}'), f"token {ANSWER}"),
    "answered, its cookie": (answered(fact("sid", "abc"), of="cookies"), cookies("***"), "sid of the cookies is a secret, kept back"),
    "stored": (stored(NUMBER, CITY), put(ORDER), f"$.card.number {DOCUMENT}"),
    "stored, as a whole": (stored(NUMBER, CITY, whole=True), put(ORDER), f"$.card.number {DOCUMENT}"),
    "stored, and not": (stored(NO_VISA), put(ORDER), f"$.card.number {DOCUMENT}"),
}  # fmt: skip
KNOWN = {
    "another field is wrong": (accepted(user="bob", password="hunter2"), post(LOGIN), 0.0),
    "another field is right": (accepted(user="ada"), post(LOGIN), 1.0),
    "a field that is not there": (accepted(password="hunter2", pin="1"), post(LOGIN), 0.0),
    "any password": (accepted(password={"glob": "*"}), post(LOGIN), 1.0),
    "no password": (accepted(password="hunter2"), post("user=ada&password="), 0.0),
    "a text that it can't be": (accepted(note="no card"), post(f"note=card+{CARD}"), 0.0),
    "a text that is there": (accepted(note={"contains": "card"}), post(f"note=card+{CARD}"), 1.0),
    "an object that is no text": (accepted(card="x"), post(ORDER, JSON), 0.0),
    "an item beside it": (accepted(**{"items.0.id": "2"}), post(ORDER, JSON), 0.0),
    "what is no form": (accepted(password="hunter2"), post(LOGIN, "text/plain"), 0.0),
    "a text that names a form": (accepted(user="ada"), post(LOGIN, NAMES), 0.0),
    "answered, a text that names a form": (answered(fact("user", "ada")), post(LOGIN, NAMES), 0.0),
    "an answer's other field": (answer_says(id="2"), came('{"token": "abc", "id": 1}'), 0.0),
    "answered, another is wrong": (answered(fact("user", "bob"), fact("password", "hunter2")), post(LOGIN), 0.0),
    "answered, another is right": (answered(fact("user", "ada")), post(LOGIN), 1.0),
    "answered, and it is to be none": (answered({"name": "password", "is": None}), post(LOGIN), 0.0),
    "answered, another cookie": (answered(fact("lang", "de"), of="cookies"), cookies("***"), 0.0),
    "stored, another fact": (stored(CITY), put(ORDER), 1.0),
    "stored, another is wrong": (stored(NUMBER, OSLO, whole=True), put(ORDER), 0.0),
    "stored, another kind": (stored({"path": "$.card.number", "value": None}), put(ORDER), 0.0),
    "stored, no secret by a choice": (stored({"path": "$.items[?@.id == 1].cvc", "value": None}), put('{"items": [{"id": 1, "cvc": "123"}]}'), 0.0),
    "stored, not that": (stored({"path": "$.city", "none": ["Oslo"]}), put(ORDER), 1.0),
}  # fmt: skip


def reward_of(when: dict[str, Any], said: Said) -> Reward:
    rules = ruleset({"id": "m", "component": "form", "when": when}, weights={"form": 1})
    (reward,) = run(rules, *episode([said]))
    return reward


@pytest.mark.parametrize(("when", "said", "why"), NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_what_hangs_on_a_masked_field_is_null_and_names_it(
    when: dict[str, Any], said: Said, why: str
) -> None:
    reward = reward_of(when, said)
    assert (reward.status, reward.reward, reward.mask) == ("unobserved", None, True)
    assert f": {why};" in str(reward.reason)


@pytest.mark.parametrize(("when", "said", "worth"), KNOWN.values(), ids=KNOWN)
def test_what_the_rest_of_the_body_decides_is_known(
    when: dict[str, Any], said: Said, worth: float
) -> None:
    reward = reward_of(when, said)
    assert (reward.status, reward.reward) == ("sealed", worth)


FINES: list[tuple[dict[str, Any], str, float | None]] = [
    ({"note": {"contains": "bad"}}, f"note=bad+{CARD}", -0.5),
    ({"note": {"contains": "bad"}}, f"note={CARD}", None),
    ({"password": "hunter2"}, LOGIN, None),
    ({"user": "bob", "password": "hunter2"}, LOGIN, 0.0),
]


@pytest.mark.parametrize(("body", "text", "worth"), FINES)
def test_no_fine_is_escaped_by_a_mask(body: Any, text: str, worth: float | None) -> None:
    nav = {"id": "n", "component": "nav", "when": {"url_reached": {"url": "/cart"}}}
    fine = {"id": "f", "component": "form", "penalty": 0.5, "when": accepted(**body)}
    (reward,) = run(ruleset(nav, fine, weights={"nav": 0.5, "form": 0.5}), *episode([post(text)]))
    assert reward.reward == worth


def test_a_document_that_replaces_it_is_known_again() -> None:
    rules = ruleset(
        {"id": "m", "component": "form", "when": stored(CITY, NUMBER)}, weights={"form": 1}
    )
    first, second = run(rules, *episode([put(ORDER)], [put('{"city": "Rome"}')]))
    assert (first.status, first.reward) == ("unobserved", None)
    # The city stood in the first one already: nothing is new.
    assert (second.status, second.reward) == ("sealed", 0.0)
