"""Each request of a page's script that the browser counts and no page reports is a gap where a
document was left; what is counted elsewhere, or by nobody, makes up for none."""

from __future__ import annotations

from typing import Any

import pytest

from agentd.sources.cdp.network.outliving import KEPT_ALIVE, SENT_LATER
from agentd.sources.cdp.network.script_requests import LOOKED_UP, ScriptRequests
from agentd.sources.cdp.state.state import CdpObservation

HIT, MISS, CREATE = 0, 1, 4
SITE = "https://a.example/"


def request(kind: str, url: str = SITE, **more: Any) -> dict[str, Any]:
    """A message that such a request was sent, and what caused it."""
    about = {"method": "GET", "url": url, "initialPriority": "High"} | more
    cause = {"type": about.pop("by", "script")}
    return {"requestId": "1", "type": kind, "request": about, "initiator": cause}


REPORTS: dict[str, tuple[dict[str, Any], bool]] = {
    "fetch": (request("Fetch"), True),
    "a fetch that writes": (request("Fetch", method="POST"), True),
    "XMLHttpRequest": (request("XHR"), True),
    "EventSource": (request("EventSource"), True),
    "prefetch": (request("Other", initialPriority="VeryLow"), True),
    "a dictionary for compression": (request("Other", initialPriority="VeryLow", by="other"), True),
    "preload of a fetch, in the markup": (request("Other", by="parser"), True),
    "an XMLHttpRequest that is waited for": (request("XHR", initialPriority="VeryHigh"), False),
    "a fetch of a blob": (request("Fetch", "blob:https://a.example/1"), False),
    "a fetch of data": (request("Other", "data:,a"), False),
    "an icon": (request("Other", by="other"), False),
    "a drawing that an image uses": (request("Other", initialPriority="Low"), False),
    "a policy's report": (request("Other", method="POST"), False),
    "an image": (request("Image"), False),
    "a script": (request("Script"), False),
    "a document": (request("Document", initialPriority="VeryHigh"), False),
    "a beacon": (request("Ping", method="POST", initialPriority="VeryLow"), False),
    "a preflight": (request("Other", method="OPTIONS", by="preflight"), False),
}
"""What a page reports, and whether the browser counts it, as Chromium 156 was seen to do."""


@pytest.mark.parametrize(("report", "is_counted"), REPORTS.values(), ids=REPORTS)
def test_what_is_counted(report: dict[str, Any], is_counted: bool) -> None:
    counts = ScriptRequests()
    counts.note(report)  # type: ignore[arg-type]
    assert counts.mark() == is_counted


def replies(fetched: int = 0, kept: int = 0, later: int = 0, written: int = 0) -> tuple[Any, Any]:
    """The browser's answers: what is kept alive or sent later, and look-ups of code."""
    first = [
        {"name": KEPT_ALIVE, "buckets": [{"low": 0, "count": kept}, {"low": 2, "count": 9}]},
        {"name": SENT_LATER, "buckets": [{"low": 1, "count": later}]},
    ]
    buckets = [{"low": MISS, "count": fetched}, {"low": CREATE, "count": written}]
    second = [{"name": LOOKED_UP, "buckets": buckets}]
    return {"histograms": first}, {"histograms": second}


START = replies()
CALL, LEFT, FENCE, NO_ANSWER = "call", "left", "fence", ({}, {})
Moments = list[Any]
CASES: dict[str, tuple[Moments, int]] = {
    "nothing is known to begin with": ([LEFT, replies(7), FENCE], 0),
    "no such count yet": ([({"histograms": []}, {"histograms": []}), LEFT, replies(1), FENCE], 1),
    "reported and counted": ([START, CALL, LEFT, replies(1), FENCE], 0),
    "counted as the page is left": ([START, LEFT, replies(1), FENCE], 1),
    "one of two is reported": ([START, CALL, LEFT, replies(2), FENCE], 1),
    "its page had called before": (
        [START, CALL, replies(1), FENCE, LEFT, replies(2), FENCE],
        1,
    ),
    "nothing was left": ([START, replies(1), FENCE], 0),
    "it was left before that": ([START, LEFT, FENCE, FENCE, replies(1), FENCE], 0),
    "counted by another process a fence later": ([START, LEFT, FENCE, replies(1), FENCE], 1),
    "that it was left is told a fence later": ([START, replies(1), FENCE, LEFT, FENCE], 1),
    "told two fences later": ([START, replies(1), FENCE, FENCE, LEFT, FENCE], 0),
    "told once": ([START, LEFT, replies(1), FENCE, replies(1), FENCE], 1),
    "two fences, one request each": ([START, LEFT, replies(1), FENCE, LEFT, replies(2), FENCE], 2),
    "counted before its report": ([START, LEFT, replies(1), CALL, FENCE], 0),
    "counted a reading after its report": (
        [START, CALL, LEFT, replies(0), replies(1), FENCE],
        0,
    ),
    "reported, and never counted: it makes up for no other": (
        [START, CALL, replies(0), replies(0), LEFT, replies(1), FENCE],
        1,
    ),
    "kept alive": ([START, CALL, LEFT, replies(kept=1), FENCE], 0),
    "kept alive, as the page is left": ([START, LEFT, replies(kept=1), FENCE], 1),
    "an ordinary one does not make up for one kept alive": (
        [START, CALL, LEFT, replies(1, kept=1), FENCE],
        1,
    ),
    "sent later": ([START, CALL, LEFT, replies(later=1), FENCE], 0),
    "code is written to the cache": ([START, CALL, LEFT, replies(1, written=3), FENCE], 0),
    "nobody was asked for a while": ([START, NO_ANSWER, LEFT, replies(3), FENCE], 0),
}


def run(moments: Moments) -> tuple[ScriptRequests, list[CdpObservation]]:
    counts = ScriptRequests()
    told: list[CdpObservation] = []
    for moment in moments:
        if moment == CALL:
            counts.note(request("Fetch"))  # type: ignore[arg-type]
        elif moment == LEFT:
            counts.note_left()
        elif moment == FENCE:
            told += counts.settle()
        else:
            counts.compare(*moment, counts.mark())
    return counts, told


@pytest.mark.parametrize(("moments", "gaps"), CASES.values(), ids=CASES)
def test_a_request_that_no_page_reported_is_a_gap(moments: Moments, gaps: int) -> None:
    _, told = run(moments)
    assert [seen.kind for seen in told] == ["gap.began", "gap.ended"] * gaps


EXACT: dict[str, tuple[Moments, bool]] = {
    "nobody asked": ([], False),
    "nothing was ever counted": ([START, START], False),
    "the browser has counted before": ([replies(3)], True),
    "a call was counted": ([START, CALL, replies(1)], True),
    "a call is not counted yet": ([replies(3), CALL, replies(3)], True),
    "a call was never counted": ([replies(3), CALL, replies(3), replies(3)], False),
    "the next one is counted again": (
        [replies(3), CALL, replies(3), replies(3), CALL, replies(4)],
        True,
    ),
    "the browser does not say": ([replies(3), NO_ANSWER], False),
}


@pytest.mark.parametrize(("moments", "is_exact"), EXACT.values(), ids=EXACT)
def test_whether_the_count_is_to_be_trusted(moments: Moments, is_exact: bool) -> None:
    assert run(moments)[0].is_exact is is_exact
