"""Secrets that stand deep in a body: in JSON within a value, in parts without a name, under a page's own form."""

from __future__ import annotations

import orjson
import pytest

from agentd.masking import MASK, Masker
from agentd.masking.bodies import mask_body
from agentd.masking.masker import DEEPEST

INNER = r'{"payload":"{\"user\":\"ada\",\"password\":\"%s\"}"}'
RELATED = '--b\r\nContent-Type: application/json\r\n\r\n{"token":"%s","n":1}\r\n--b--'


@pytest.mark.parametrize(
    ("mime", "body"),
    [
        pytest.param("application/json", INNER, id="JSON in a text of JSON"),
        pytest.param("application/json", "[" + orjson.dumps(INNER).decode() + "]", id="two deep"),
        pytest.param(
            "application/x-www-form-urlencoded", "f.req=%%7B%%22password%%22%%3A%%22%s%%22%%7D&a=1", id="in a field"
        ),
        pytest.param("multipart/related; boundary=b", RELATED, id="in a part without a name"),
        pytest.param("multipart/form-data; boundary=zzz", "user=ada&password=%s", id="a boundary that is not there"),
        pytest.param("text/html", '<meta><input value="%s" type=password><input ', id="before a tag that never ends"),
    ],
)
def test_a_secret_within(mime: str, body: str) -> None:
    assert mask_body(body % "geheim", mime, Masker()) == body % MASK


def test_json_is_read_so_deep_and_no_deeper() -> None:
    """What a page nests deeper is kept back, and nobody runs out of stack over it."""
    for depth in (DEEPEST, DEEPEST + 1, 1000, 100_000):
        shown = mask_body("[" * depth + "7" + "]" * depth, "application/json", Masker())
        assert ("7" in shown) is (depth == DEEPEST or depth > 1024)  # what orjson refuses is no JSON, but text


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", ["<input ", "<meta\n", "<input x='", '"a":', "<input value=<"])
def test_hostile_markup_does_not_hold_the_daemon_up(part: str) -> None:
    """With work that grows as the square of the length each of these would take many minutes."""
    text = part * 100_000
    assert mask_body(text, "text/html", Masker()) == text
