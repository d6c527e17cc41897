"""Card numbers and tokens in running text: masked by what they are, and what looks alike is left
alone."""

from __future__ import annotations

import pytest

from agentd.masking import Masker
from agentd.masking.cards import is_card

CARDS = [
    pytest.param("4111111111111111", "***", id="Visa"),
    pytest.param("4222222222222", "***", id="Visa of 13 digits"),
    pytest.param("4000056655665556000", "4000056655665556000", id="19 digits, wrong check digit"),
    pytest.param("5555555555554444", "***", id="Mastercard"),
    pytest.param("2223003122003222", "***", id="Mastercard, the newer range"),
    pytest.param("378282246310005", "***", id="American Express"),
    pytest.param("6011111111111117", "***", id="Discover"),
    pytest.param("30569309025904", "***", id="Diners, 14 digits"),
    pytest.param("3566002020360505", "***", id="JCB"),
    pytest.param("6205500000000000004", "***", id="UnionPay, 19 digits"),
    pytest.param("6759649826438453", "***", id="Maestro"),
    pytest.param("2200770212727079", "***", id="Mir"),
    pytest.param("4111 1111 1111 1111", "***", id="with spaces"),
    pytest.param("4111-1111-1111-1111", "***", id="with dashes"),
    pytest.param("4111\u00a01111\u00a01111\u00a01111", "***", id="with no-break spaces"),
    pytest.param("3782 822463 10005", "***", id="as American Express writes it"),
    pytest.param("41111111 11111111", "***", id="in two halves"),
    pytest.param(
        "Pay with 4111 1111 1111 1111, please.", "Pay with ***, please.", id="in a sentence"
    ),
    pytest.param(
        "4111 1111 1111 1111 12 2030 123", "*** 12 2030 123", id="with date and code behind"
    ),
    pytest.param("12 4111 1111 1111 1111", "12 ***", id="with a number before"),
    pytest.param("a,4111111111111111,b", "a,***,b", id="in a table"),
    pytest.param("4111111111111111 5555555555554444", "*** ***", id="two"),
    pytest.param("card-4111111111111111", "card-***", id="after a dash"),
]

NO_CARDS = [
    pytest.param("4111111111111112", id="wrong check digit"),
    pytest.param("1111111111111117", id="no issuer's prefix, right check digit"),
    pytest.param("411111111111111", id="too short for its issuer"),
    pytest.param("41111111111111111111", id="too long"),
    pytest.param("1690000000007", id="a timestamp in ms that passes the check digit"),
    pytest.param("1690000000000000", id="a timestamp in µs"),
    pytest.param("2024-10-11 10:11:12.123456", id="a date"),
    pytest.param("2024 10 11 12 13 14 15 16", id="numbers in a row"),
    pytest.param("+49 4111 1111 1111 111", id="a telephone number"),
    pytest.param("+4111111111111111", id="a telephone number of nobody"),
    pytest.param("(030) 4111 1111 111", id="a telephone number with its area"),
    pytest.param("DE89 3704 0044 0532 0130 00", id="an IBAN"),
    pytest.param("DE89370400440532013000", id="an IBAN without spaces"),
    pytest.param("NL91ABNA0417164300", id="an IBAN with letters"),
    pytest.param("IL620108000000099999999", id="an IBAN of digits"),
    pytest.param("4006381333931", id="a bar code"),
    pytest.param("X4111111111111111", id="part of a word"),
    pytest.param("0.4111111111111111", id="a decimal"),
    pytest.param("4111111111111111.5", id="a number with a fraction"),
    pytest.param("ORD-2024-000123", id="an order's number"),
    pytest.param("550e8400-e29b-41d4-a716-446655440000", id="a UUID"),
    pytest.param("4111_1111_1111_1111", id="another gap"),
    pytest.param("४१११११११११११११११", id="digits of another script"),
    pytest.param("", id="nothing"),
]

TOKENS = [
    ("Authorization: Bearer abcDEF123456789xyz", "Authorization: Bearer ***"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN", "***"),
    ("use ghp_0123456789abcdefghijABCDEFGHIJ012345 now", "use *** now"),
    ("AKIAIOSFODNN7EXAMPLE", "***"),
    ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n*** ***\nb"),
]
NO_TOKENS = [
    "Bearer of good news",
    "Basic understanding of everything",
    "sk-ip",
    "eyJ",
    "AKIA",
    "the Next page",
]


@pytest.mark.parametrize(("text", "masked"), CARDS)
def test_card_numbers(text: str, masked: str) -> None:
    assert Masker().mask_text(text) == masked


@pytest.mark.parametrize("text", NO_CARDS)
def test_what_is_no_card_stays(text: str) -> None:
    assert Masker().mask_text(text) == text


@pytest.mark.parametrize(("text", "masked"), TOKENS)
def test_tokens_show_by_their_shape(text: str, masked: str) -> None:
    assert Masker().mask_text(text) == masked


@pytest.mark.parametrize("text", NO_TOKENS)
def test_what_is_no_token_stays(text: str) -> None:
    assert Masker().mask_text(text) == text


def test_few_numbers_of_a_long_row_are_taken_for_cards() -> None:
    """One order number in a few hundred may look like a card; a timestamp of today never does."""
    assert not any(is_card(str(n)) for n in range(1_700_000_000_000, 1_700_000_100_000))
    assert sum(is_card(str(n)) for n in range(4_100_000_000_000_000, 4_100_000_000_010_000)) == 1000
    assert sum(is_card(str(n)) for n in range(7_100_000_000_000_000, 7_100_000_000_010_000)) == 0


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part", ["1111 ", "4", "4111-", "DE89 ", "eyJa.", "-eyJaaaaaaaa", "Basic "]
)
def test_a_hostile_text_does_not_hold_the_daemon_up(part: str) -> None:
    """With work that grows as the square of the length each of these would take many minutes."""
    text = part * 100_000
    assert Masker().mask_text(text) == text
