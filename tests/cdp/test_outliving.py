"""What the browser counts and no page reports is a gap; a report that comes late is none."""

from __future__ import annotations

from typing import Any

import pytest

from agentd.sources.cdp.network.outliving import (
    IN_BACKGROUND,
    KEPT_ALIVE,
    SENT_LATER,
    OutlivingRequests,
)
from agentd.sources.cdp.state.state import CdpObservation

PING, FETCH, REPORT = 2, 0, 3
COUNTED = object()
"""The browser is asked: its answer comes next."""


def counts(later: int = 0, background: int = 0, **buckets: int) -> dict[str, Any]:
    """The browser's answer: how many of each kind it has counted."""
    low = {"ping": PING, "fetch": FETCH, "report": REPORT, "icon": 5}
    listed = [{"low": low[kind], "count": count} for kind, count in buckets.items()]
    others = [{"low": 1, "count": later}]
    return {
        "histograms": [
            {"name": KEPT_ALIVE, "buckets": listed},
            {"name": SENT_LATER, "buckets": others},
            {"name": IN_BACKGROUND, "buckets": [{"low": 0, "count": background}]},
            {
                "name": "FetchKeepAlive.Requests2.Succeeded.Browser",
                "buckets": [{"low": PING, "count": 9}],
            },
        ]
    }


START = [COUNTED, counts()]
NOTHING = [COUNTED, {}]
SETTLED = "settled"
OF_SCRIPTS = "settled of scripts"
CASES: dict[str, tuple[list[Any], int]] = {
    "nothing is known to begin with": ([COUNTED, counts(ping=7, fetch=2), SETTLED], 0),
    "no such histogram yet": ([COUNTED, {"histograms": []}, COUNTED, counts(ping=1), SETTLED], 1),
    "counted and reported": ([*START, "Ping", COUNTED, counts(ping=1), SETTLED], 0),
    "counted": ([*START, COUNTED, counts(ping=1), SETTLED], 1),
    "counted, one of two reported": ([*START, "Ping", COUNTED, counts(ping=2), SETTLED], 1),
    "a gap is told once": ([*START, COUNTED, counts(ping=1), SETTLED, SETTLED], 1),
    "counted again": (
        [*START, COUNTED, counts(ping=1), SETTLED, COUNTED, counts(ping=2), SETTLED],
        2,
    ),
    "counted, reported as the answer is on its way": (
        [*START, COUNTED, "Ping", counts(ping=1), SETTLED],
        0,
    ),
    "counted, reported after the answer": ([*START, COUNTED, counts(ping=1), "Ping", SETTLED], 0),
    "counted, reported too late": ([*START, COUNTED, counts(ping=1), SETTLED, "Ping"], 1),
    "reported, counted later": (
        [*START, COUNTED, "Ping", counts(), SETTLED, COUNTED, counts(ping=1), SETTLED],
        0,
    ),
    "reported, and never counted: it makes up for no other": (
        [*START, "Ping", COUNTED, counts(), SETTLED, COUNTED, counts(ping=1), SETTLED],
        1,
    ),
    "another kind is reported": ([*START, "Fetch", COUNTED, counts(ping=1), SETTLED], 1),
    "a report of a policy": ([*START, "Other", COUNTED, counts(report=1), SETTLED], 0),
    "sent later, its tab closed": ([*START, COUNTED, counts(later=1), SETTLED], 1),
    "sent later, reported": ([*START, "Fetch", COUNTED, counts(later=1), SETTLED], 0),
    "one is kept alive, one is sent later": (
        [*START, "Fetch", COUNTED, counts(fetch=1, later=1), SETTLED],
        1,
    ),
    "a background fetch is reported by nobody": (
        [*START, "Fetch", COUNTED, counts(background=1), SETTLED],
        1,
    ),
    "an icon of a download": ([*START, COUNTED, counts(icon=1), SETTLED], 0),
    "a script's, before its page is left": (
        [*START, "Fetch", COUNTED, counts(), COUNTED, counts(fetch=1), OF_SCRIPTS],
        1,
    ),
    "a script's, as the next page has begun": (
        [*START, COUNTED, counts(fetch=1), OF_SCRIPTS, "Fetch", COUNTED, counts(fetch=1), SETTLED],
        1,
    ),
    "a beacon's report may still come as the next page has begun": (
        [*START, COUNTED, counts(ping=1), OF_SCRIPTS, "Ping", SETTLED],
        0,
    ),
    "nobody was asked for a while": ([*START, *NOTHING, COUNTED, counts(ping=3), SETTLED], 0),
    "reported while nobody was asked": (
        [*START, "Ping", *NOTHING, COUNTED, counts(ping=3), COUNTED, counts(ping=4), SETTLED],
        1,
    ),
}


@pytest.mark.parametrize(("happened", "gaps"), CASES.values(), ids=CASES)
def test_what_is_counted_and_not_reported_is_a_gap(happened: list[Any], gaps: int) -> None:
    requests = OutlivingRequests()
    mark = requests.mark()
    told: list[CdpObservation] = []
    for moment in happened:
        if moment is COUNTED:
            mark = requests.mark()
        elif isinstance(moment, dict):
            requests.compare(moment, mark)  # type: ignore[arg-type]
        elif moment == SETTLED:
            told += requests.settle()
        elif moment == OF_SCRIPTS:
            told += requests.settle("Fetch")
        else:
            requests.note(moment, writes=True)
    assert [seen.kind for seen in told] == ["gap.began", "gap.ended"] * gaps
