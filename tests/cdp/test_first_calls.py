"""A page that the browser counts as one that calls `fetch` or XMLHttpRequest, and that reported no
request, is a gap where a document was left."""

from __future__ import annotations

from typing import Any

import pytest

from agentd.sources.cdp.network.first_calls import FEATURES, FirstCalls
from agentd.sources.cdp.state.state import CdpObservation

BUCKETS = {"fetch": 675, "xhr": 677, "sync": 465, "unload": 203}
LEFT, SERVED = "left", "served"
FENCE, COMMIT = True, False


def counts(**called: int) -> dict[str, Any]:
    """The browser's answer: how many pages it has counted for each function."""
    buckets = [{"low": BUCKETS[name], "count": count} for name, count in called.items()]
    other = {"name": "Blink.UseCounter.FeaturesOther", "buckets": [{"low": 675, "count": 9}]}
    return {"histograms": [{"name": FEATURES, "buckets": buckets}, other]}


def at(when: bool, **called: int) -> tuple[bool, dict[str, Any]]:
    return when, counts(**called)


START = at(FENCE)
Moments = list[Any]
NO_ANSWER: Moments = [(FENCE, {})]
CASES: dict[str, tuple[Moments, int]] = {
    "nothing is known to begin with": ([LEFT, at(COMMIT, fetch=7)], 0),
    "no such histogram yet": ([(FENCE, {"histograms": []}), LEFT, at(COMMIT, fetch=1)], 1),
    "called and reported": ([START, "A Fetch", LEFT, at(COMMIT, fetch=1)], 0),
    "called as the page is left": ([START, LEFT, at(COMMIT, fetch=1)], 1),
    "counted at the fence after that": ([START, LEFT, at(COMMIT), at(FENCE, fetch=1)], 1),
    "counted after that fence": ([START, LEFT, at(FENCE), at(FENCE, fetch=1)], 0),
    "nothing was left": ([START, at(FENCE, fetch=1)], 0),
    "told once": ([START, LEFT, at(COMMIT, fetch=1), at(FENCE, fetch=1)], 1),
    "reported, counted later": (
        [START, "B Fetch", LEFT, at(COMMIT), at(FENCE), LEFT, at(COMMIT, fetch=1)],
        0,
    ),
    "reported by a page that is gone: it makes up for no other": (
        [START, "A Fetch", LEFT, at(COMMIT), LEFT, at(COMMIT, fetch=1)],
        1,
    ),
    "reported twice: the page is counted once": (
        [START, "B Fetch", "B Fetch", at(FENCE, fetch=1), LEFT, at(COMMIT, fetch=2)],
        1,
    ),
    "two pages": ([START, "A Fetch", "B Fetch", LEFT, at(COMMIT, fetch=2)], 0),
    "another type is reported": ([START, "A Fetch", LEFT, at(COMMIT, xhr=1)], 1),
    "a request of no script": ([START, "A Document", LEFT, at(COMMIT, fetch=1)], 1),
    "both ways of an XMLHttpRequest": ([START, "A XHR", LEFT, at(COMMIT, xhr=1, sync=1)], 0),
    "another feature": ([START, LEFT, at(COMMIT, unload=1)], 0),
    "a service worker's, for a page that it serves": (
        [START, LEFT, at(COMMIT), SERVED, at(FENCE, fetch=1)],
        0,
    ),
    "as a page is left, before a service worker's": (
        [START, LEFT, at(COMMIT, fetch=1), SERVED, at(FENCE, fetch=2)],
        1,
    ),
    "nobody was asked for a while": ([START, *NO_ANSWER, LEFT, at(COMMIT, fetch=3)], 0),
}


@pytest.mark.parametrize(("happened", "gaps"), CASES.values(), ids=CASES)
def test_a_call_that_no_page_reported_is_a_gap(happened: Moments, gaps: int) -> None:
    calls = FirstCalls()
    told: list[CdpObservation] = []
    for moment in happened:
        if moment == LEFT:
            calls.note_left()
        elif moment == SERVED:
            calls.note_served("B")
        elif isinstance(moment, tuple):
            fenced, reply = moment
            told += calls.compare(reply, {"B"}, fenced=fenced)
        else:
            calls.note(*moment.split())
    assert [seen.kind for seen in told] == ["gap.began", "gap.ended"] * gaps
