"""Logs of CDP messages in detail: their forms, sessions, steps, and what only older browsers
say."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.replay.recordings import replay
from api.tasks.task_files import check_task
from detectors.task.ruleset import compile_task
from tests.convert.hand_made import A_LOG, asked, cdp, lines, write
from tests.convert.making import converted, gaps, of

ANSWERED = [
    cdp(
        "Network.responseReceived",
        1.2,
        requestId="1",
        response={"status": 200, "mimeType": "text/html"},
    ),
    cdp("Network.loadingFinished", 1.3, requestId="1"),
]
INFO = {"sessionId": "W", "targetInfo": {"targetId": "worker", "type": "worker", "url": ""}}


def performance(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As chromedriver's performance log has them."""
    return [
        {
            "level": "INFO",
            "timestamp": 1,
            "message": orjson.dumps({"message": one, "webview": "W"}).decode(),
        }
        for one in messages
    ]


def test_every_form_of_a_log_gives_the_same_events(tmp_path: Path) -> None:
    """An array, JSON lines, performance entries, gzip, and with replies to commands in between."""
    whole = converted(write(tmp_path / "a.json", A_LOG), tmp_path)[1:]
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(orjson.dumps(A_LOG)))
    for path in (
        lines(tmp_path / "a.jsonl", A_LOG),
        write(tmp_path / "b.json", performance(A_LOG)),
        tmp_path / "a.json.gz",
        write(tmp_path / "c.json", [A_LOG[0], {"id": 1, "result": {}}, *A_LOG[1:]]),
    ):
        events = converted(path, tmp_path)[1:]
        assert [event[2:] for event in events] == [event[2:] for event in whole], path.name


def test_a_step_for_each_document_of_the_main_frame(tmp_path: Path) -> None:
    """From its request on; a hop, a frame below and a change within the document begin none."""
    log = [
        asked("1", "http://a.example/", 1.0),
        asked(
            "1",
            "http://a.example/home",
            1.1,
            redirectResponse={"status": 302, "url": "http://a.example/"},
        ),
        cdp(
            "Page.frameNavigated",
            1.2,
            frame={"id": "F", "loaderId": "1", "url": "http://a.example/home"},
        ),
        cdp("Page.frameAttached", 1.3, frameId="G", parentFrameId="F"),
        asked("2", "http://b.example/", 1.4, frameId="G"),
        cdp(
            "Page.frameNavigated",
            1.5,
            frame={"id": "G", "parentId": "F", "loaderId": "2", "url": "http://b.example/"},
        ),
        cdp("Page.navigatedWithinDocument", 1.6, frameId="F", url="http://a.example/home#x"),
        cdp("Page.frameNavigated", 2.0, frame={"id": "F", "loaderId": "3", "url": "about:blank"}),
    ]
    for one in log:
        if one["params"].get("frameId") == "F" and one["method"].startswith("Network") is False:
            one["params"].pop("timestamp")
    events = converted(write(tmp_path / "a.json", log), tmp_path)
    assert [data["action"] for data in of(events, "step.began")] == [
        {"navigate": "http://a.example/"}, {"navigate": "about:blank"},
    ]  # fmt: skip
    assert [data["main"] for data in of(events, "page.navigated")] == [True, False, True, True]


def test_an_answer_whose_end_the_log_does_not_have_is_told_as_that(tmp_path: Path) -> None:
    events = converted(write(tmp_path / "a.json", A_LOG), tmp_path)
    assert [(data["url"], data["status"]) for data in of(events, "request.response_started")] == [
        ("http://shop.example/two?token=***", 200),
        ("http://shop.example/events", 200),
    ]
    assert len(of(events, "request.finished")) == 1


def test_old_browsers_loads_are_told_like_todays(tmp_path: Path) -> None:
    """`Page.loadEventFired` stands for the lifecycle's event where the log has no lifecycle."""
    [loaded] = of(converted(write(tmp_path / "a.json", A_LOG), tmp_path), "page.loaded")
    assert loaded["url"] == "http://shop.example/"


@pytest.mark.parametrize(
    ("answer", "cached"),
    [
        ({"fromDiskCache": True, "timing": {"pushStart": 0}}, True),
        ({"fromDiskCache": True, "timing": {"pushStart": 12.5}}, None),
        ({"fromDiskCache": True, "fromEarlyHints": True, "timing": {"pushStart": 0}}, None),
        ({"fromDiskCache": False}, None),
    ],
    ids=["cached", "pushed", "hinted", "fetched"],
)
def test_what_the_server_sent_by_itself_is_not_cached(
    answer: dict[str, Any], cached: Any, tmp_path: Path
) -> None:
    log = [
        asked("1", "http://a.example/x.css", 1.0, "Stylesheet"),
        cdp("Network.responseReceived", 1.1, requestId="1", response={"status": 200, **answer}),
        cdp("Network.loadingFinished", 1.2, requestId="1"),
    ]
    [finished] = of(converted(write(tmp_path / "a.json", log), tmp_path), "request.finished")
    assert finished.get("cached") is cached


def test_a_hops_answer_told_twice_is_told_once(tmp_path: Path) -> None:
    """Chrome 56 tells it again for the request that follows, cancels that, and sends it anew."""
    first = "http://a.example/old"
    log = [
        asked("1", first, 1.0, "XHR"),
        asked(
            "1", "http://a.example/new", 1.1, "XHR", redirectResponse={"status": 301, "url": first}
        ),
        cdp("Network.responseReceived", 1.2, requestId="1", response={"status": 301, "url": first}),
        cdp("Network.loadingFinished", 1.3, requestId="1"),
        cdp("Network.loadingFailed", 1.4, requestId="1", errorText="", canceled=True),
    ]
    events = converted(write(tmp_path / "a.json", log), tmp_path)
    assert of(events, "request.finished") == []
    assert len(of(events, "request.redirected")) == len(of(events, "request.failed")) == 1


@pytest.mark.parametrize(
    ("error", "method", "wire", "sent"),
    [
        ("net::ERR_ABORTED", "POST", False, True),
        ("net::ERR_CONNECTION_RESET", "POST", False, True),
        ("net::ERR_CONNECTION_REFUSED", "POST", False, False),
        ("net::ERR_ABORTED", "GET", False, False),
        ("net::ERR_ABORTED", "POST", True, False),
    ],
)
def test_a_write_that_broke_off_may_have_been_taken_where_the_network_tells_nothing(
    error: str, method: str, wire: bool, sent: bool, tmp_path: Path
) -> None:
    """Logs of old browsers have no word of the network service itself; of those that have it, a
    request without it did not go out."""
    order = asked("1", "http://a.example/order", 1.0, "XHR")
    order["params"]["request"]["method"] = method
    log = [
        order,
        cdp("Network.loadingFailed", 1.2, requestId="1", errorText=error),
    ]
    if wire:
        log.insert(0, cdp("Network.requestWillBeSentExtraInfo", 0.5, requestId="0", headers={}))
    [failed] = of(converted(write(tmp_path / "a.json", log), tmp_path), "request.failed")
    assert failed.get("sent", False) is sent


@pytest.mark.parametrize("attached", [True, False])
def test_a_session_of_a_worker_is_its_tabs(attached: bool, tmp_path: Path) -> None:
    """Whether the log has its attachment or begins later."""
    log = [
        cdp(
            "Page.frameNavigated",
            1.0,
            "S",
            frame={"id": "F", "loaderId": "1", "url": "http://a.example/"},
        ),
        *([cdp("Target.attachedToTarget", 1.1, "S", **INFO)] if attached else []),
        {
            **asked("9", "http://a.example/data", 1.2, "Fetch"),
            "sessionId": "W",
            "targetType": "worker",
        },
    ]
    del log[-1]["params"]["frameId"]
    [sent] = of(converted(write(tmp_path / "a.json", log), tmp_path), "request.sent")
    assert sent["tab"] == "F"


@pytest.mark.parametrize(
    ("log", "seen", "unseen"),
    [
        ([asked("1", "http://a.example/", 1.0), *ANSWERED], "request", "page"),
        (
            [cdp("Page.frameNavigated", 1.0, frame={"id": "F", "url": "http://a.example/"})],
            "page.navigated",
            "request",
        ),
        (
            [cdp("Page.lifecycleEvent", 1.0, frameId="F", name="load", loaderId="1")],
            "page.loaded",
            "request",
        ),
    ],
    ids=["Network", "Page", "lifecycle"],
)
def test_domains_that_were_switched_off_are_gaps(
    log: list[dict[str, Any]], seen: str, unseen: str, tmp_path: Path
) -> None:
    hidden = gaps(converted(write(tmp_path / "a.json", log), tmp_path))
    assert seen not in hidden
    assert unseen in hidden
    assert "element" in hidden


POST = {"request": {"method": "POST"}}
HOP = {
    "redirectResponse": {
        "status": 302,
        "url": "http://a.example/order",
        "headers": {"location": "/thanks"},
    }
}
SHOWN = cdp(
    "Page.frameNavigated", 0.9, frame={"id": "F", "loaderId": "0", "url": "http://a.example/"}
)
LANDED = cdp(
    "Page.frameNavigated",
    1.25,
    frame={"id": "F", "loaderId": "1", "url": "http://a.example/thanks"},
)
ENDS: dict[str, tuple[list[dict[str, Any]], dict[str, float | None]]] = {
    "a redirect, and its page": (
        [asked("1", "http://a.example/order", 1.0, **POST), asked("1", "http://a.example/thanks", 1.1, **HOP),
         *ANSWERED, LANDED],
        {"request": 1.0, "page": 1.0},
    ),
    "a redirect": (
        [asked("1", "http://a.example/order", 1.0, **POST), asked("1", "http://a.example/thanks", 1.1, **HOP)],
        {"request": None, "page": None},
    ),
    "a request": ([asked("1", "http://a.example/order", 1.0, "Fetch", **POST)], {"request": None, "page": 0.0}),
    "a document's answer": (
        [asked("1", "http://a.example/thanks", 1.0), *ANSWERED], {"request": 0.0, "page": None},
    ),
    "a request that failed": (
        [asked("1", "http://a.example/thanks", 1.0),
         cdp("Network.loadingFailed", 1.1, requestId="1", errorText="net::ERR_FAILED")],
        {"request": 0.0, "page": 0.0},
    ),
    "a document without content": (
        [asked("1", "http://a.example/thanks", 1.0),
         cdp("Network.responseReceived", 1.2, requestId="1", response={"status": 204}),
         cdp("Network.loadingFinished", 1.3, requestId="1")],
        {"request": 0.0, "page": 0.0},
    ),
}  # fmt: skip
RULES: dict[str, dict[str, Any]] = {
    "request": {"request_accepted": {"method": "POST", "url": "/order", "redirect_to": "/thanks"}},
    "page": {"url_reached": {"url": "/thanks"}},
}


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", ENDS)
def test_what_was_under_way_when_the_log_ended_is_null_and_not_zero(
    name: str, rule: str, tmp_path: Path
) -> None:
    """Where the log ends at a redirect, a request or a document on its way, the rest is not
    known."""
    log, wanted = ENDS[name]
    converted(write(tmp_path / "a.json", [SHOWN, *log]), tmp_path)
    task = {"id": "t", "version": "1", "instruction": "Go.", "origin": "http://a.example", "weights": {"nav": 1.0},
            "milestones": [{"id": "m", "component": "nav", "when": RULES[rule]}]}  # fmt: skip
    rewards = replay(tmp_path / "made.mrec", compile_task(check_task(task)))[1]
    assert rewards[-1].reward == wanted[rule]
    assert all(one.reward is not None for one in rewards[:-1]), "what came before is known"
