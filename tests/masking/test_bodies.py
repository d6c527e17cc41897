"""Secrets that stand deep in a body: in JSON within a value, in parts without a name, under a
page's own form."""

from __future__ import annotations

import orjson
import pytest

from agentd.masking import MASK, Masker
from agentd.masking.bodies import mask_body
from agentd.masking.masker import MAX_DEPTH

INNER = r'{"payload":"{\"user\":\"ada\",\"password\":\"%s\"}"}'
RELATED = '--b\r\nContent-Type: application/json\r\n\r\n{"token":"%s","n":1}\r\n--b--'


@pytest.mark.parametrize(
    ("mime", "body"),
    [
        pytest.param("application/json", INNER, id="JSON in a text of JSON"),
        pytest.param("application/json", "[" + orjson.dumps(INNER).decode() + "]", id="two deep"),
        pytest.param(
            "application/x-www-form-urlencoded",
            "f.req=%%7B%%22password%%22%%3A%%22%s%%22%%7D&a=1",
            id="in a field",
        ),
        pytest.param("multipart/related; boundary=b", RELATED, id="in a part without a name"),
        pytest.param(
            "multipart/form-data; boundary=zzz",
            "user=ada&password=%s",
            id="a boundary that is not there",
        ),
        pytest.param(
            "text/html",
            '<meta><input value="%s" type=password><input ',
            id="before a tag that never ends",
        ),
        pytest.param("text/plain", "user=ada\r\npassword=%s\r\n", id="a form sent as text"),
        pytest.param("", "CONNECT\nlogin:guest\npasscode:%s\n\n\0", id="a frame of STOMP"),
        pytest.param("application/xml", "<a><password>%s</password></a>", id="an element"),
        pytest.param(
            "text/xml",
            '<s:a><w:Password Type="t">%s</w:Password></s:a>',
            id="an element with a prefix",
        ),
        pytest.param("", "<u><![CDATA[x]]></u><u api-key='%s' n='1'/>", id="an attribute"),
        pytest.param("text/html", '<div data-api-key="%s" class="a">', id="an attribute of HTML"),
        pytest.param(
            "application/json", ")]}'\n" + '{"password":"%s","n":1}', id="JSON behind its guard"
        ),
        pytest.param("application/x-ndjson", '{"a":1}\n{"token":"%s"}\n', id="a line of JSON"),
        pytest.param("application/json", '{"next":"/reset?token=%s&a=1"}', id="an address in JSON"),
    ],
)
def test_a_secret_within(mime: str, body: str) -> None:
    assert mask_body(body % "geheim", mime, Masker()) == body % MASK


@pytest.mark.parametrize(
    ("body", "masked"),
    [
        (")]}'\n" + '{"otp":123456,"n":1}', ")]}'\n" + '{"otp":"***","n":1}'),
        ('{"n":1}\n{"otp":123456}', '{"n":1}\n{"otp":"***"}'),
        ('{"otp":123456', '{"otp":"***"'),
        ('{"password":"geheim","password":""}', '{"password":""}'),
        ('{"n":["4111111111111111"],"n":1}', '{"n":1}'),
    ],
    ids=[
        "a number behind a guard",
        "a number in a line",
        "a number that is cut",
        "a key twice",
        "a card under a key twice",
    ],
)
def test_a_secret_that_the_rest_of_the_json_hides(body: str, masked: str) -> None:
    assert mask_body(body, "application/json", Masker()) == masked


@pytest.mark.parametrize(
    ("mime", "body"),
    [
        ("text/plain", "total=12\nThe password is in the safe.\nhttps://a.example/b\n12:30 lunch"),
        ("text/html", "<label for=password>Password</label>\n<p>passing: 3</p><a href='/x?a=1'>"),
        (
            "application/xml",
            "<user><name>ada</name><passport id='7'>x</passport><password></password></user>",
        ),
        ("application/x-ndjson", '{"a":1}\n{ "b" : 2 }\nplain\n'),
        ("application/json", '{ "big" : 12345678901234567890123, "a": {"x": 1}, "b": {"x": 1} }'),
        ("application/javascript", "const a = {\n  password: field.value,\n};"),
        ("application/json", '{"next":"/a?b=c%20d#e","at":"//a.example;v=1"}'),
    ],
    ids=["text", "HTML", "XML", "lines", "JSON", "a program", "addresses"],
)
def test_what_holds_no_secret_stays_as_it_was_written(mime: str, body: str) -> None:
    assert mask_body(body, mime, Masker()) == body


def test_json_is_read_so_deep_and_no_deeper() -> None:
    """What a page nests deeper is kept back, and nobody runs out of stack over it."""
    for depth in (MAX_DEPTH, MAX_DEPTH + 1, 1000, 100_000):
        shown = mask_body("[" * depth + "7" + "]" * depth, "application/json", Masker())
        assert ("7" in shown) is (
            depth == MAX_DEPTH or depth > 1024
        )  # what orjson refuses is no JSON, but text


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "part",
    [
        "<input ",
        "<meta\n",
        "<input x='",
        '"a":',
        "<input value=<",
        "<a><![CDATA[",
        "<a b ",
        "a.",
        "a='",
        "a = ",
        "a: ",
    ],
)
@pytest.mark.parametrize("mime", ["text/html", "text/plain"])
def test_hostile_markup_does_not_hold_the_daemon_up(part: str, mime: str) -> None:
    """With work that grows as the square of the length each of these would take many minutes."""
    text = part * 100_000
    assert mask_body(text, mime, Masker()) == text
