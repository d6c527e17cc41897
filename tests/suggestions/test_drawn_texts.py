"""Which texts look as if an application drew them."""

from __future__ import annotations

import pytest

from api.suggestions.drawn_texts import list_drawn, looks_drawn, open_text
from detectors.model.json_value import JsonValue


@pytest.mark.parametrize(
    "text",
    [
        "9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a",
        "01J9ZK3V7Q8W2X4Y6R5T1N0M9P",
        "V1StGXR8_Z5jdHi6B-myT",
        "XByRzDf1LGHZDev_fnQrj",
        "CGMIrWw9PUbA-_-eobsE4",
        "q83vEjRWeJCrze8SNFZ4kA==",
        "2cf24dba5fb0",
        "A7X2-99QK-LM3P",
        "R-2026-00017",
        "pi_3MtwBwLkdIwHu7ix28a3tqPa",
    ],
)
def test_what_was_drawn(text: str) -> None:
    assert looks_drawn(text)


@pytest.mark.parametrize(
    "text",
    [
        "Tea",
        "plan-of-room-b12-and-c3-v2",
        "astro-gaming-a50-wireless-headset-base-station-gen-4-compatible-with-ps5",
        ".LocContainer.col-sm-12.col-xs-12.clearfix",
        "2025-2026",
        "A-1204",
        "ALL-STARS",
        "AndroidSlidingUpPanel",
        "iPhone15ProMax",
        "2026-03-06",
    ],
)
def test_what_somebody_wrote(text: str) -> None:
    assert not looks_drawn(text)


def test_in_a_condition_each_is_listed_once_and_no_document() -> None:
    code, moment = "A7X2-99QK-LM3P", "2026-03-06T12:00:00Z"
    facts: list[JsonValue] = [
        {"name": code, "is": moment},
        {"json": "$.at", "is": {"text": [f"order {code}", 3]}},
    ]
    assert list_drawn({"rule": {"facts": facts, "picture": "q83vEjRWeJCr" * 20}}) == [code, moment]


@pytest.mark.parametrize(
    ("text", "opened"),
    [
        ("/orders/17/edit", "/orders/*/edit"),
        ("/carts/01J9ZK3V7Q8W2X4Y6R5T1N0M9P/items", "/carts/*/items"),
        ("/carts/cart-V1StGXR8_Z5jdHi6B-myT", "/carts/cart-*"),
        ("report-9f1c2e77-0b3a-4d1e-8a55-1f2e3d4c5b6a.pdf", "report-*.pdf"),
        ("export-01J9ZK3V7Q8W2X4Y6R5T1N0M9P.tar.gz", "export-*.tar.gz"),
        ("/caf%C3%A9/%E2%82%AC/7", "/caf%C3%A9/%E2%82%AC/*"),
        ("/plan-of-room", "/plan-of-room"),
    ],
)
def test_the_pattern_of_a_text(text: str, opened: str) -> None:
    assert open_text(text) == opened
