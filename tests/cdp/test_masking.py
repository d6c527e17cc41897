"""Passwords in addresses and bodies: what is masked, and what must stay as it was."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from agentd.sources.cdp.state.masking import (
    MAX_CLEAN,
    MAX_HASHED,
    MAX_NAMES,
    Secrets,
    cover,
    hash53,
    mask_body,
)

MULTIPART = (
    '--B\r\nContent-Disposition: form-data; name="user"\r\n\r\nada\r\n'
    '--B\r\nContent-Disposition: form-data; name="pin"\r\n\r\n{}\r\n--B--\r\n'
)
FORM = "application/x-www-form-urlencoded"


@pytest.fixture
def secrets() -> Secrets:
    """What a page told: a field named pin, and the hash of one value."""
    return Secrets("salt", {"pin"}, {hash53("salt" + "hunter2")})


@pytest.mark.parametrize(
    ("text", "mime", "masked"),
    [
        pytest.param(
            "user=ada&pin=12", FORM, "user=ada&pin=***", id="a field that the page told of"
        ),
        pytest.param("a=1&new_password=x", FORM, "a=1&new_password=***", id="a name that says so"),
        pytest.param(
            "k=hunter2&l=hunter3", FORM, "k=***&l=hunter3", id="a value that the page told of"
        ),
        pytest.param(
            '{"a":{"pin":"12"},"b":[1]}',
            "application/json",
            '{"a":{"pin":"***"},"b":[1]}',
            id="JSON",
        ),
        pytest.param(
            '{"pin":null,"passwd":7}',
            "application/json",
            '{"pin":null,"passwd":"***"}',
            id="no text",
        ),
        pytest.param(
            '["x", {"k": ["hunter2"]}]', "text/plain", '["x",{"k":["***"]}]', id="JSON by its look"
        ),
        pytest.param(
            MULTIPART.format("12"),
            "multipart/form-data; boundary=B",
            MULTIPART.format("***"),
            id="multipart",
        ),
        pytest.param("pin=1", "multipart/form-data", "***", id="multipart without its boundary"),
        pytest.param('{"broken', "application/json", '{"broken', id="broken JSON"),
        pytest.param(
            '{ "a" : 1 }',
            "application/json",
            '{ "a" : 1 }',
            id="what holds no secret stays as written",
        ),
        pytest.param("pin=&passive=1", FORM, "pin=&passive=1", id="empty values and like names"),
        pytest.param("", "", "", id="nothing"),
    ],
)
def test_bodies(secrets: Secrets, text: str, mime: str, masked: str) -> None:
    assert mask_body(text, mime, secrets) == masked


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("https://ada:pw@shop.example/a?b=c@d#e", "https://shop.example/a?b=c@d#e"),
        ("https://shop.example/?q=1&pin=12&pwd=x#access&pin=3", "https://shop.example/?q=1&pin=***&pwd=***#access&pin=***"),
        ("https://shop.example/a@b?c=%20d", "https://shop.example/a@b?c=%20d"),
        ("https://a.example/in?next=%2Freset%3Ftoken%3Dx1%26a%3D2", "https://a.example/in?next=%2Freset%3Ftoken%3D***%26a%3D2"),
        ("https://a.example/in?to=https%3A%2F%2Fu%3Ap%40b%2F%3Fpin%3D1", "https://a.example/in?to=https%3A%2F%2Fb%2F%3Fpin%3D***"),
        ("https://a.example/in?next=%2Fcart%3Fstep%3D2&q=a/b?c", "https://a.example/in?next=%2Fcart%3Fstep%3D2&q=a/b?c"),
        ("https://a.example/cart;jsessionid=A1;v=2/x?q=1", "https://a.example/cart;jsessionid=***;v=2/x?q=1"),
        ("https://a.example/u/hunter2/x", "https://a.example/u/***/x"),
        ("about:blank", "about:blank"),
        ("", ""),
    ],
)  # fmt: skip
def test_addresses(secrets: Secrets, url: str, masked: str) -> None:
    assert secrets.mask_url(url) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("hunter2", "***"),
        (" hunter2\n", "***"),
        ("Your password is hunter2.", "Your password is ***."),
        ("Password: 'hunter2', thanks", "Password: '***', thanks"),
        ("<p>hunter2</p>", "<p>***</p>"),
        ("login=ada&key=hunter2;", "login=ada&key=***;"),
        ("(a b!) and a b!", "(a b!) and a b!"),
        ("a b!", "***"),
        ("hunter22 hunter xhunter2", "hunter22 hunter xhunter2"),
        ("s3cret! s3cret", "*** s3cret"),
        ("is it s3cret!?", "is it ***?"),
        ("pin 123 of 4", "pin 123 of 4"),
        ("", ""),
    ],
)
def test_a_told_value_is_known_again_in_running_text(text: str, masked: str) -> None:
    told = ("hunter2", "a b!", "s3cret!", "123", "4")
    secrets = Secrets("salt", (), [hash53("salt" + one) for one in told])
    assert secrets.mask_text(text) == masked
    data: dict[str, object] = {"message": text, "input": text, "element": {"name": text}}
    cover("dialog.opened", data, secrets)
    fields = {} if masked == text else {"masked": ["element", "input", "message"]}
    assert data == {"message": masked, "input": masked, "element": {"name": masked}, **fields}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", ["hunter3 ", "a", ")", "abcd)", "{}-{} ".format])
def test_a_long_text_does_not_hold_the_daemon_up(part: str | Callable[[int, int], str]) -> None:
    text = "".join(part(n, n + 1) for n in range(50_000)) if callable(part) else part * 100_000
    assert Secrets("salt", (), [hash53("salthunter2")]).mask_text(text) == text


def test_words_that_are_known_to_be_none_are_not_hashed_again() -> None:
    lines = [
        f"Row {n}: order {n * 7} of customer Ada Lovelace, shipped to Berlin" for n in range(2_000)
    ]
    secrets = Secrets("salt", (), [hash53("salthunter2")])

    def spent() -> float:
        began = time.process_time()
        assert [secrets.mask_text(line) for line in lines] == lines
        return time.process_time() - began

    first = spent()
    assert min(spent(), spent()) < first / 2


def test_a_word_that_was_none_is_one_once_the_page_tells_it() -> None:
    secrets = Secrets("salt", (), [hash53("salthunter2")])
    text = "a hunter3! b hunter3 hunter2"
    assert secrets.mask_text(text) == "a hunter3! b hunter3 ***"
    assert secrets.mask_text("hunter3") == "hunter3"
    secrets.add_field({"hash": hash53("salthunter3")})
    assert secrets.mask_text(text) == "a ***! b *** ***"
    assert secrets.mask_text("hunter3") == "***"


def test_a_value_is_masked_however_often_it_stands_there_and_whatever_came_before() -> None:
    secrets = Secrets("salt", (), [hash53("salthunter2")])
    for number in range(0, MAX_CLEAN + 5_000, 5_000):
        secrets.mask_text(" ".join(f"w{one}" for one in range(number, number + 5_000)))
    text = "hunter2 " * (MAX_HASHED // 4)
    assert "hunter2" not in secrets.mask_text(text)
    assert len(secrets._clean) + len(secrets._read) <= MAX_CLEAN + 10_000


def test_without_secrets_nothing_is_hashed() -> None:
    assert mask_body("k=hunter2", FORM, Secrets("salt")) == "k=hunter2"


def test_of_too_many_secrets_the_last_ones_are_kept() -> None:
    """The password that is typed now is told last: it must not be the one that is refused."""
    full = Secrets("salt")
    for number in range(MAX_NAMES + 1):
        full.add_field({"field": f"field{number}", "hash": hash53(f"saltvalue{number}")})
    assert full.is_secret(f"field{MAX_NAMES}", "x")
    assert full.is_secret("k", f"value{MAX_NAMES}")
    assert not full.is_secret("field0", "x")
    full.add_field({"field": "field1"})
    full.add_field({"field": "one more"})
    assert full.is_secret("field1", "x"), "told again, it is the newest"
