"""A real session of Playwright's, its trace and its HAR, and a trajectory: they become the same events
as ever."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.convert.making import converted, of
from tests.convert.record_golden import GOLDEN, INPUTS, WRITTEN, events

SECRETS = (b"1234geheim", b"s3cr3t")


@pytest.mark.parametrize("name", [*INPUTS, *WRITTEN])
def test_a_recorded_session_gives_its_golden_events(name: str) -> None:
    golden = (GOLDEN / f"{name}.events.jsonl").read_bytes().splitlines()
    assert events(name).splitlines() == golden, (
        "if the change is meant, as for a new source: python -m tests.convert.record_golden --events"
    )


@pytest.mark.parametrize("name", [*INPUTS, *WRITTEN])
def test_its_password_and_cookie_are_in_none_of_them(name: str) -> None:
    for secret in SECRETS:
        assert secret not in (GOLDEN / f"{name}.events.jsonl").read_bytes()


def test_the_trace_shows_what_was_done(tmp_path: Path) -> None:
    """The installed Playwright's own version, which the cases do not have."""
    told = converted(GOLDEN / "session.zip", tmp_path)
    assert [(data["element"]["role"], data["element"]["name"]) for data in of(told, "element.clicked")] == [
        ("checkbox", "Terms"), ("button", "Inner"), ("button", "Cart"), ("button", "Ask"), ("button", "Order"),
        ("link", "File"),
    ]  # fmt: skip
    filled = [data for data in of(told, "field.filled") if "baseline" not in data]
    assert [(data["element"]["name"], data["value"], data["trusted"]) for data in filled] == [
        ("Name", "Ada", True), ("PIN", None, True), ("Terms", "on", True), ("Speed", "fast", False),
        ("Name", " LAda", True),
    ]  # fmt: skip
    within = [data["same_document"] for data in of(told, "page.navigated") if data["main"]]
    assert within == [False, False, True, False], "about:blank, the shop, the route, thanks"
    assert [data["accepted"] for data in of(told, "dialog.closed")] == [True]
    assert len(of(told, "download.began")) == 1
    assert [data["error"] for data in of(told, "request.failed")] == [
        "net::ERR_ABORTED",
        "net::ERR_UNSAFE_PORT",
    ]


def test_both_tell_of_the_same_requests(tmp_path: Path) -> None:
    kinds = ("request.sent", "request.redirected", "request.finished", "request.failed")
    seen = []
    for name in INPUTS:
        told = converted(GOLDEN / name, tmp_path)
        seen.append(sorted(orjson.dumps([event.kind, event.data["method"], event.data["url"], event.data.get("status")])
                           for event in told if event.kind in kinds))  # fmt: skip
    assert seen[0] == seen[1]
