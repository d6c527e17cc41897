"""Logs of CDP messages against what independent programs say of them: chrome-har and Lighthouse.

The figures are computed back from the converted recordings alone.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pytest

from detectors.model.types import Event
from tests.convert.making import converted, of
from tests.support.cases import CASES, parametrized_cases


class Entries:
    """A recording's requests, counted by chrome-har's rules.

    An entry is a hop or an answer that did not come from a cache; failures count only where an
    answer had begun and was aborted; sockets don't count. It knows a request by its number alone:
    where a number is used again from the memory cache, it takes the first entry of that number for
    the cached one.
    """

    def __init__(self, events: list[Event]) -> None:
        self.hops = of(events, "request.redirected")
        self.answers: dict[str, int] = {}
        seen: set[str] = set()
        for event in events:
            data = event.data
            if (
                event.kind not in ("request.finished", "request.response_started", "request.failed")
                or "status" not in data
            ):
                continue
            if event.kind == "request.failed" and data["error"] != "net::ERR_ABORTED":
                continue
            if data["type"] == "WebSocket":
                continue
            if data.get("cached"):
                self.answers.pop(data["request"], None)
            elif data["request"] not in seen:
                self.answers[data["request"]] = data["status"]
            seen.add(data["request"])

    def by_status(self) -> dict[str, int]:
        return dict(
            Counter(map(str, [*(hop["status"] for hop in self.hops), *self.answers.values()]))
        )


def pages(events: list[Event]) -> list[str]:
    """Each main frame once: the address that it set out for, or the one within the document where
    it was found."""
    mains = {data["frame"] for data in of(events, "page.navigated") if data["main"]}
    found: dict[str, str] = {}
    for event in events:
        data: Any = event.data
        if data.get("frame") not in mains or data["frame"] in found:
            continue
        if event.kind == "request.sent" or (
            event.kind == "page.navigated" and data["same_document"]
        ):
            found[data["frame"]] = data["url"]
    return list(found.values())


@parametrized_cases("cdp-chrome-har/perflogs", "*.gz")
def test_pages_entries_and_statuses_are_those_of_chrome_har(path: Path, tmp_path: Path) -> None:
    known = orjson.loads((path.parents[1] / "expected.json").read_bytes())[
        path.name.removesuffix(".gz")
    ]
    events = converted(path, tmp_path)
    statuses = Entries(events).by_status()
    assert statuses == known["status"]
    assert sum(statuses.values()) == known["entries"]
    assert pages(events) == known["pages"]


@parametrized_cases("cdp-lighthouse", "*.json.gz")
def test_navigations_failures_and_redirects_are_those_of_lighthouse(
    path: Path, tmp_path: Path
) -> None:
    known = orjson.loads((path.parent / "manifest.json").read_bytes())[
        path.name.removesuffix(".gz")
    ]
    events = converted(path, tmp_path)
    mains = [data for data in of(events, "page.navigated") if data["main"]]
    assert [data["url"] for data in mains if not data["same_document"]] == known["main_frame_navs"]
    # A document's own address told again right after its load is no navigation within it.
    within = [url for url in known["spa_navs"] if url not in known["main_frame_navs"]]
    assert [data["url"] for data in mains if data["same_document"]] == within
    assert len(of(events, "request.failed")) == known["failed"]
    assert len(of(events, "request.redirected")) == known["redirects"]
    assert len(of(events, "step.began")) == len(known["main_frame_navs"])


@pytest.mark.shared_cases("cdp-lighthouse")
def test_a_worker_belongs_to_the_tab_that_started_it(tmp_path: Path) -> None:
    """Its session has a number of its own, its requests are the tab's."""
    events = converted(
        CASES / "cdp-lighthouse" / "artifacts__redirect__devtoolslog.json.gz", tmp_path
    )
    assert len({data["tab"] for data in of(events, "request.sent")}) == 1
