"""A masked value of a field, an event, a tool's argument is neither the wanted one nor another."""

from __future__ import annotations

from typing import Any

import pytest

from agentd.masking import Masker
from detectors.model.types import Reward
from detectors.sdk.kept_back import MASKED, SECRET_VALUE
from tests.detectors.tables_probes import PROBES, probed
from tests.support.logs import Said, episode, filled, finished, ruleset, run

CARD = "4111 1111 1111 1111"
MASKER = Masker()


def typed(name: str, value: str) -> Said:
    """A field of text whose value the daemon masked, by its name or by how it looks."""
    return filled(name, MASKER.mask_value(name, value))


def submitted(**fields: str) -> Said:
    form = {"name": "Pay", "action": "http://shop.test/pay", "method": "post"}
    pairs = [[name, MASKER.mask_value(name, value)] for name, value in fields.items()]
    return (
        "form.submitted",
        {"tab": "T", "frame": "T", "form": form, "fields": pairs, "trusted": True},
    )


def called(**arguments: Any) -> Said:
    given = MASKER.mask_json(arguments)
    return ("agent.tool_called", {"call": "c", "tool": "pay", "arguments": given})


def field(name: str, value: Any) -> dict[str, Any]:
    return {"field_filled": {"field": name, "value": value}}


def form(**fields: Any) -> dict[str, Any]:
    return {"form_submitted": {"fields": fields}}


def observed(kind: str, **where: Any) -> dict[str, Any]:
    return {"observed": {"kind": kind, "where": where}}


def cel(expression: str) -> dict[str, Any]:
    return {"cel": {"kind": "field.filled", "expression": expression}}


def graded(**more: Any) -> dict[str, Any]:
    return {"graded": {"kind": "field.filled", "value": "value", "grade": {"f1": "a b"}, **more}}


def call(*, wrong: bool = False, schema: Any = None, **arguments: Any) -> dict[str, Any]:
    said = {"tool": "pay", "wrong": wrong}
    return {
        "tool_called": said
        | ({"arguments": arguments} if arguments else {})
        | ({"schema": schema} if schema else {})
    }


def body(text: str) -> Said:
    return finished("POST", "/pay", 200, body={"text": MASKER.mask_pairs(text), "mime": ""})


NUMBER = {"type": "object", "properties": {"card_number": {"type": "integer"}}}
TEXT = "body.text"
NOT_KNOWN: dict[str, tuple[dict[str, Any], Said, str]] = {
    "a field named as a secret": (field("token", "abc"), typed("token", "abc"), SECRET_VALUE),
    "a card number": (field("Card", CARD), typed("Card", CARD), SECRET_VALUE),
    "a part of a value": (field("Note", f"my {CARD}"), typed("Note", f"my {CARD}"), SECRET_VALUE),
    "a pattern that the mask is of": (
        field("Card", {"regex": "[^0-9]+"}),
        typed("Card", CARD),
        SECRET_VALUE,
    ),
    "of a form": (
        {"form_filled": {"fields": {"Card": CARD}}},
        typed("Card", CARD),
        SECRET_VALUE,
    ),
    "submitted": (form(token="abc"), submitted(token="abc"), "a field's value is a secret"),
    "submitted, beside another": (
        form(token="abc", city="Rome"),
        submitted(token="abc", city="Rome"),
        "a field's value is a secret",
    ),
    "observed": (
        observed("field.filled", value=CARD),
        typed("Card", CARD),
        "value is a secret, kept back",
    ),
    "observed, of a body": (
        observed("request.finished", **{TEXT: {"contains": "hunter2"}}),
        body("password=hunter2"),
        "body.text is a secret, kept back",
    ),
    "cel": (cel(f"data.value == '{CARD}'"), typed("Card", CARD), "value is a secret, kept back"),
    "cel, a part": (cel("data.value.contains('4111')"), typed("Note", f"my {CARD}"), "value is a secret, kept back"),
    "graded": (graded(), typed("Card", CARD), "value is a secret, kept back"),
    "an argument": (call(password="abc"), called(password="abc"), MASKED),
    "an argument that is not wrong": (call(wrong=True, password="abc"), called(password="abc"), MASKED),
    "a number": (call(card_number=4111111111111111), called(card_number=4111111111111111), MASKED),
    "a schema": (call(schema=NUMBER), called(card_number=4111111111111111), MASKED),
    "a schema that is not failed": (call(wrong=True, schema=NUMBER), called(card_number=4111111111111111), MASKED),
}  # fmt: skip
KNOWN: dict[str, tuple[dict[str, Any], Said, float]] = {
    "any value": (field("token", {"glob": "*"}), typed("token", "abc"), 1.0),
    "another field": (field("City", "abc"), typed("token", "abc"), 0.0),
    "a text that it can't be": (field("Note", "no card"), typed("Note", f"my {CARD}"), 0.0),
    "a text that is there": (field("Note", {"contains": "my"}), typed("Note", f"my {CARD}"), 1.0),
    "submitted, another is wrong": (
        form(token="abc", city="Oslo"),
        submitted(token="abc", city="Rome"),
        0.0,
    ),
    "submitted, another is right": (form(city="Rome"), submitted(token="abc", city="Rome"), 1.0),
    "observed, any": (observed("field.filled", value={"glob": "*"}), typed("token", "abc"), 1.0),
    "observed, another": (
        observed("field.filled", value="abc", **{"element.name": "City"}),
        typed("token", "abc"),
        0.0,
    ),
    "observed, a body's other part": (
        observed("request.finished", **{TEXT: {"contains": "user=ada"}}),
        body("user=ada&password=hunter2"),
        1.0,
    ),
    "observed, a body's beginning": (
        observed("request.finished", **{TEXT: {"starts_with": "user=bob"}}),
        body("user=ada&password=hunter2"),
        0.0,
    ),
    "cel, that it is there": (cel("has(data.value)"), typed("token", "abc"), 1.0),
    "cel, by another": (
        cel("data.element.name == 'token' || data.value == 'abc'"),
        typed("token", "x"),
        1.0,
    ),
    "cel, a text that is there": (
        cel("data.value.contains('my')"),
        typed("Note", f"my {CARD}"),
        1.0,
    ),
    "cel, another": (
        cel("data.element.name == 'City' && data.value == 'abc'"),
        typed("token", "abc"),
        0.0,
    ),
    "an argument that is wrong": (
        call(password="abc", city="Oslo"),
        called(password="abc", city="Rome"),
        0.0,
    ),
    "wrong by another": (
        call(wrong=True, password="abc", city="Oslo"),
        called(password="abc", city="Rome"),
        1.0,
    ),
    "another argument": (call(city="Rome"), called(password="abc", city="Rome"), 1.0),
}


def reward_of(when: dict[str, Any], *said: Said) -> Reward:
    rules = ruleset({"id": "m", "component": "form", "when": when}, weights={"form": 1, "tool": 0})
    (reward,) = run(rules, *episode(said))
    return reward


@pytest.mark.parametrize(("when", "said", "why"), NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_what_hangs_on_a_masked_value_is_null(when: dict[str, Any], said: Said, why: str) -> None:
    reward = reward_of(when, said)
    assert (reward.status, reward.reward, reward.mask) == ("unobserved", None, True)
    assert why in str(reward.reason)


@pytest.mark.parametrize(("when", "said", "worth"), KNOWN.values(), ids=KNOWN)
def test_what_does_not_hang_on_it_is_known(when: dict[str, Any], said: Said, worth: float) -> None:
    reward = reward_of(when, said)
    assert (reward.status, reward.reward) == ("sealed", worth)


PIN = {"user": "ada", "pin": 7, "token": "abc", "cards": [{"id": 1, "number": 4111111111111111}]}
ANSWERS: list[tuple[dict[str, Any], float | None]] = [
    ({"path": "token", "value": "abc"}, None),
    ({"path": "token", "value": {"glob": "*"}}, 1.0),
    ({"path": "token", "value": None}, 0.0),
    ({"path": "cards.0.number", "value": 4111111111111111}, None),
    ({"path": "cards.0.id", "value": 2}, 0.0),
    ({"path": "user", "value": "ada"}, 1.0),
    ({"path": "user", "value": "bob"}, 0.0),
    ({"path": "cards", "value": {"json": "$[0].number", "value": 4111111111111111}}, None),
    ({"path": "cards", "value": {"json": "$[0].id", "value": 2}}, 0.0),
    ({"path": "cards", "value": {"json": "$[0].id", "value": 1}}, 1.0),
]


@pytest.mark.parametrize(("wanted", "worth"), ANSWERS)
def test_a_masked_answer_of_a_probe_is_not_known(
    wanted: dict[str, Any], worth: float | None
) -> None:
    rules = ruleset(
        {"id": "m", "component": "goal", "when": {"probe_answers": {"probe": "cart", **wanted}}},
        weights={"goal": 1},
        probes=PROBES,
    )
    at_start = probed({"user": "", "cards": [{"id": 0, "number": 0}]}, when="start")
    came = probed(MASKER.mask_json(PIN))
    (reward,) = run(rules, *episode([came], before=[at_start]))
    assert reward.reward == worth


SAME: list[tuple[dict[str, Any], Said, Said, float | None]] = [
    ({"by": "value"}, typed("A", CARD), typed("B", CARD), None),
    ({"by": "value"}, typed("A", "Rome"), typed("B", CARD), None),
    ({"by": "value"}, typed("A", "Rome"), typed("B", "Rome"), 1.0),
    ({"by": "value"}, typed("A", "Rome"), typed("B", "Oslo"), 0.0),
    ({"by": "tab"}, typed("A", CARD), typed("B", CARD), 1.0),
    (
        {"by": "value", "part": True, "order": "given"},
        typed("A", f"4711 {CARD}"),
        typed("B", "4711"),
        1.0,
    ),
]


@pytest.mark.parametrize(("about", "first", "second", "worth"), SAME)
def test_two_masked_values_are_not_the_same_one(
    about: dict[str, Any], first: Said, second: Said, worth: float | None
) -> None:
    parts = [field("A", {"glob": "*"}), field("B", {"glob": "*"})]
    assert reward_of({"same": {**about, "of": parts}}, first, second).reward == worth


FINES: list[tuple[dict[str, Any], Said, float | None]] = [
    (field("Note", {"contains": "bad"}), typed("Note", f"bad {CARD}"), -0.5),
    (field("Note", {"contains": "bad"}), typed("Note", CARD), None),
    (form(token="abc", city="Rome"), submitted(token="abc", city="Rome"), None),
    (form(token="abc", city="Oslo"), submitted(token="abc", city="Rome"), 0.0),
]


@pytest.mark.parametrize(("when", "said", "worth"), FINES)
def test_no_fine_is_escaped_by_a_mask(when: Any, said: Said, worth: float | None) -> None:
    nav = {"id": "n", "component": "nav", "when": {"url_reached": {"url": "/cart"}}}
    fine = {"id": "f", "component": "form", "penalty": 0.5, "when": when}
    (reward,) = run(ruleset(nav, fine, weights={"nav": 0.5, "form": 0.5}), *episode([said]))
    assert reward.reward == worth
