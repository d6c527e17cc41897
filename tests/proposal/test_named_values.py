"""Which values stand in an instruction or in a condition, as words and not as letters in a row."""

from __future__ import annotations

import pytest

from api.proposal.named_values import stands_in, stands_in_condition
from detectors.model.json_value import JsonValue

IN_TEXTS = [
    ("Ada Lovelace", "Order it for ada  lovelace, to Bergen.", True),
    ("art", "Start the engine.", False),
    ("art", "Buy the art.", True),
    ("Ada", "Change Ada's role.", True),
    ("Ada", "Change Adam's role.", False),
    ("O'Brien", "Write to Miss O'Brien.", True),
    ("Lovelace Ada", "Order it for Ada Lovelace.", False),
    ("100", "Pay 100 crowns.", True),
    ("100", "Pay 1000 crowns.", False),
    ("100", "Pay 100.50 crowns.", False),
    ("24.00", "Pay €24.00.", True),
    ("234", "Pay 1,234.", False),
    ("2026-07-01", "From 2026-07-01 on.", True),
    ("2026", "From 2026-07-01 on.", False),
    ("12:30", "At 12:30pm.", True),
    ("12:30", "At 12:30:15.", False),
    ("ada@example.org", "Write to ada@example.org.", True),
    ("example.org", "Write to ada@example.org.", False),
    ("example.org", "Open https://example.org/login.", True),
    ("lamp", "Order the desk-lamp.", False),
    ("北京", "请输入北京市", True),
    ("서울", "서울에서 찾기", True),
    ("---", "Fill in --- here.", True),
    ("???", "Fill in --- here.", False),
    ("{name}", "/users/{name}", True),
    ("{name}", "/name/{other}", False),
    ("", "Anything.", True),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text", "is_there"), IN_TEXTS)
def test_a_value_stands_in_a_text_by_its_words(value: str, text: str, is_there: bool) -> None:
    assert stands_in(value, text) is is_there


IN_CONDITIONS: list[tuple[str, JsonValue, bool]] = [
    ("Ada", {"request_accepted": {"body": {"name": "Ada Lovelace"}}}, True),
    ("name", {"request_accepted": {"body": {"name": "Ada"}}}, False),  # an argument's name
    ("url", {"url_reached": {"url": "/a"}}, False),
    ("art", {"url_reached": {"url": "/start"}}, False),
    ("desk lamp", {"url_reached": {"url": "/search?q=desk%20lamp"}}, True),
    ("desk lamp", {"url_reached": {"url": "/search?q=desk+lamp"}}, True),
    ("250", {"request_accepted": {"body": {"amount": 250}}}, True),
    ("250", {"request_accepted": {"body": {"amount": 2500}}}, False),
    ("2.5", {"request_accepted": {"body": {"amount": 2.5}}}, True),
    ("true", {"request_accepted": {"body": {"accepted": True}}}, True),
    ('say "hi"', {"field_filled": {"value": 'say "hi"'}}, True),  # escaped in JSON
    ("Blåbær", {"all_of": {"of": [{"field_filled": {"value": "blåbær"}}]}}, True),
    ("{item}", {"request_accepted": {"body": {"item": "{item}"}}}, True),
    ("{item}", {"request_accepted": {"body": {"item": "item"}}}, False),
]


@pytest.mark.parametrize(("value", "condition", "is_there"), IN_CONDITIONS)
def test_a_value_stands_in_what_a_condition_asks_for(
    value: str, condition: JsonValue, is_there: bool
) -> None:
    assert stands_in_condition(value, condition) is is_there
