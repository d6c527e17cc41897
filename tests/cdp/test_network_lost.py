"""Requests whose page is left, bodies that are lost, secrets told late: what single messages make
of them."""

from __future__ import annotations

from typing import Any

import pytest

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.state.capture_plan import ALWAYS, MAX_BODY_LENGTH, CapturePlan
from agentd.sources.cdp.state.masking import hash53
from detectors.model.errors import SpecError
from tests.cdp.test_network_folds import ended, head, real, sent, told

LEFT = {"frame": {"id": "T", "loaderId": "M", "url": "https://a.example/done"}}


def at_page(**asked: Any) -> Normaliser:
    """A page that sent a request and got the head of its answer."""
    fold = Normaliser("", "", CapturePlan(**asked), live=True)
    info = {"targetId": "T", "type": "page", "url": "https://a.example/", "title": ""}
    list(fold.feed("", "Target.attachedToTarget", {"sessionId": "", "targetInfo": info}))
    document = {"frame": {"id": "T", "loaderId": "L", "url": "https://a.example/"}}
    list(fold.feed("", "Page.frameNavigated", document))
    fold.browser.settled = True
    sent(fold)
    told(fold, "responseReceived", requestId="1", type="Fetch", response=head(201))
    return fold


def of_requests(fold: Normaliser, method: str, params: dict[str, Any]) -> list[tuple[str, Any]]:
    told_of = fold.feed("", method, params)
    return [
        (seen.kind, seen.data.get("document_gone"))
        for seen in told_of
        if seen.kind.startswith("request.")
    ]


def test_a_request_that_the_server_took_is_finished_when_its_document_is_left() -> None:
    assert of_requests(at_page(), "Page.frameNavigated", LEFT) == [("request.finished", True)]
    assert of_requests(at_page(), "Target.detachedFromTarget", {"sessionId": ""}) == [
        ("request.finished", True)
    ]


@pytest.mark.parametrize(
    ("method", "status", "at_crash", "at_fence"),
    [
        ("POST", None, [], [("request.failed", True)]),
        ("POST", 201, [("request.finished", None)], []),
        ("GET", None, [], []),
    ],
    ids=["a write", "a write whose answer began", "a read"],
)
def test_a_write_of_a_renderer_that_crashes_is_lost_in_that_step(
    method: str, status: int | None, at_crash: list[Any], at_fence: list[Any]
) -> None:
    """Nobody will tell its answer; what the network tells by the fence counts."""
    fold = at_page()
    request = {"url": "https://a.example/x", "method": method}
    asked = {"frameId": "T", "loaderId": "L", "type": "Fetch", "request": request}
    told(fold, "requestWillBeSent", requestId="2", **asked)
    told(fold, "requestWillBeSentExtraInfo", requestId="2", headers={}, associatedCookies=[])
    if status is not None:
        told(fold, "responseReceived", requestId="2", type="Fetch", response=head(status))
    seen = [*fold.feed("", "Inspector.targetCrashed", {})]
    about = [(one.kind, one.data.get("sent")) for one in seen if one.data.get("request") == "2"]
    assert about == at_crash
    fenced = [one for one in fold.fenced() if one.kind.startswith("request.")]
    assert [(one.kind, one.data.get("sent")) for one in fenced] == at_fence
    assert all(one.data["error"] == "unseen: its page crashed" for one in fenced)


@pytest.mark.parametrize(
    ("began", "kind"),
    [
        (
            {"frameId": "T", "loaderId": "M", "navigationType": "differentDocument"},
            "request.finished",
        ),
        ({"frameId": "T", "loaderId": "M", "navigationType": "sameDocument"}, "request.failed"),
        (
            {"frameId": "T", "loaderId": "L", "navigationType": "differentDocument"},
            "request.failed",
        ),
        (
            {"frameId": "other", "loaderId": "M", "navigationType": "differentDocument"},
            "request.failed",
        ),
    ],
    ids=["leaves", "stays", "is there", "another"],
)
def test_an_abort_is_the_pages_own_or_comes_of_leaving(began: dict[str, str], kind: str) -> None:
    fold = at_page()
    list(fold.feed("", "Page.frameStartedNavigating", began | {"url": "https://a.example/done"}))
    [(got, _)] = told(
        fold, "loadingFailed", requestId="1", errorText="net::ERR_ABORTED", canceled=True
    )
    assert got == kind


@pytest.mark.parametrize(
    ("onward", "kind"), [(False, "request.failed"), (True, "request.finished")]
)
def test_a_document_that_came_back_out_of_the_cache_is_there_until_it_is_left(
    onward: bool, kind: str
) -> None:
    """It bears the loader that it came with, not the one under which going back began."""
    fold = at_page()
    back = {
        "frameId": "T",
        "loaderId": "M",
        "navigationType": "historyDifferentDocument",
        "url": "https://a.example/0",
    }
    list(fold.feed("", "Page.frameStartedNavigating", back))
    restored = {"id": "T", "loaderId": "K", "url": "https://a.example/0"}
    list(
        fold.feed("", "Page.frameNavigated", {"type": "BackForwardCacheRestore", "frame": restored})
    )
    request = {"url": "https://a.example/x", "method": "GET"}
    told(
        fold,
        "requestWillBeSent",
        requestId="2",
        frameId="T",
        loaderId="K",
        type="Fetch",
        request=request,
    )
    told(fold, "responseReceived", requestId="2", type="Fetch", response=head())
    if onward:
        list(fold.feed("", "Page.frameStartedNavigating", back | {"loaderId": "N"}))
    [(got, _)] = told(
        fold, "loadingFailed", requestId="2", errorText="net::ERR_ABORTED", canceled=True
    )
    assert got == kind


def test_a_stream_ends_with_the_document_that_is_left() -> None:
    """Nothing else ends one, so that it would stand in the table for ever."""
    fold = at_page()
    request = {"url": "https://a.example/stream", "method": "GET"}
    told(
        fold,
        "requestWillBeSent",
        requestId="2",
        frameId="T",
        loaderId="L",
        type="EventSource",
        request=request,
    )
    told(fold, "responseReceived", requestId="2", type="EventSource", response=head())
    onward = {
        "frameId": "T",
        "loaderId": "M",
        "navigationType": "differentDocument",
        "url": "https://a.example/done",
    }
    list(fold.feed("", "Page.frameStartedNavigating", onward))
    [(got, _)] = told(
        fold, "loadingFailed", requestId="2", errorText="net::ERR_ABORTED", canceled=True
    )
    assert got == "request.failed"
    assert list(fold.network.table.requests) == ["1"]


AT = {"origin": "https://a.example", "path": "/p"}
READ = {"url": AT, "methods": ["post"], "refused": False}


@pytest.mark.parametrize(
    ("entries", "method", "status", "gaps"),
    [
        pytest.param([AT], "GET", 200, 1, id="an address alone asks for all"),
        pytest.param([AT], "POST", 500, 1, id="and for refusals"),
        pytest.param([READ], "POST", 201, 1, id="taken"),
        pytest.param([READ], "POST", 400, 0, id="refused"),
        pytest.param([READ], "POST", 500, 0, id="failed at the server"),
        pytest.param([READ], "GET", 200, 0, id="another method"),
        pytest.param([READ | {"refused": True}], "POST", 422, 1, id="whose refusal is read"),
        pytest.param([READ | {"refused": True}], "GET", 422, 0, id="another method, refused"),
        pytest.param([{"url": AT, "refused": False}], "GET", 200, 1, id="any method"),
        pytest.param(
            [READ, READ | {"methods": ["get"]}], "GET", 200, 1, id="of two rules one reads it"
        ),
        pytest.param(
            [READ, READ | {"refused": True}], "POST", 500, 1, id="of two rules one reads refusals"
        ),
        pytest.param([READ | {"url": AT | {"path": "/q"}}], "POST", 200, 0, id="another address"),
    ],
)
@pytest.mark.parametrize(
    ("name", "reply"),
    [("request_bodies", "getRequestPostData"), ("response_bodies", "getResponseBody")],
    ids=["its body", "the answer"],
)
def test_a_body_that_no_rule_reads_is_no_gap(
    name: str, reply: str, entries: list[Any], method: str, status: int, gaps: int
) -> None:
    fold = Normaliser("", "", CapturePlan.from_plan({name: entries}), live=True)
    fold.browser.settled = True
    request = {"url": "https://a.example/p", "method": method, "hasPostData": True}
    seen = sent(fold, request=request)
    seen += told(fold, "responseReceived", requestId="1", response=head(status, url=request["url"]))
    seen += ended(fold)
    seen += told(fold, reply, requestId="1")
    assert [kind for kind, _ in seen] == ["request.sent", "request.finished"] + gaps * [
        "gap.began",
        "gap.ended",
    ]


@pytest.mark.parametrize(
    "entry",
    [
        {"url": AT, "methods": "post"},
        {"url": AT, "method": ["post"]},
        {"url": {}},
        {"methods": ["post"]},
        7,
    ],
)
def test_an_entry_of_a_plan_that_is_none_is_refused(entry: Any) -> None:
    with pytest.raises(SpecError):
        CapturePlan.from_plan({"request_bodies": [entry]})


@pytest.mark.parametrize(
    ("reply", "gaps"),
    [({"body": "ok"}, 0), ({"body": "x" * (MAX_BODY_LENGTH + 1)}, 1), ({}, 1)],
    ids=["whole", "cut", "lost"],
)
def test_a_wanted_answer_that_is_not_known_is_a_gap(reply: dict[str, str], gaps: int) -> None:
    fold = at_page(response_body=lambda method, url: ALWAYS)
    assert ended(fold) == []
    got = [kind for kind, _ in told(fold, "getResponseBody", requestId="1", **reply)]
    assert got == ["request.finished"] + gaps * ["gap.began", "gap.ended"]


@pytest.mark.parametrize("kind", ["Image", "Manifest", "TextTrack", "Other", "CSPViolationReport"])
def test_what_a_document_is_made_of_is_no_answer_to_read(kind: str) -> None:
    fold = at_page(response_body=lambda method, url: ALWAYS)
    image = {"url": "https://a.example/i", "method": "GET"}
    told(fold, "requestWillBeSent", requestId="2", type=kind, request=image)
    told(fold, "responseReceived", requestId="2", type=kind, response=head())
    ended(fold, "2")
    assert [kind for kind, _ in told(fold, "getResponseBody", requestId="2")] == [
        "request.finished"
    ]


@pytest.mark.parametrize(
    ("reply", "gaps"), [({"postData": "a=1"}, 0), ({}, 1)], ids=["known", "absent"]
)
def test_a_wanted_body_that_is_not_known_is_a_gap(reply: dict[str, str], gaps: int) -> None:
    fold = at_page(request_body=lambda method, url: ALWAYS)
    post = {"url": "https://a.example/p", "method": "POST", "hasPostData": True}
    told(fold, "requestWillBeSent", requestId="2", type="Fetch", request=post)
    told(fold, "responseReceived", requestId="2", type="Fetch", response=head())
    assert ended(fold, "2") == []
    got = [
        kind
        for kind, _ in told(fold, "getRequestPostData", requestId="2", **reply)
        if kind != "request.sent"
    ]
    assert got == ["request.finished"] + gaps * ["gap.began", "gap.ended"]


def test_of_a_session_that_is_gone_nothing_is_fetched_and_nothing_late_brings_it_back() -> None:
    fold = Normaliser("", "", CapturePlan(response_body=lambda method, url: ALWAYS), live=True)
    info = {"targetId": "T", "type": "page", "url": "https://a.example/", "title": ""}
    list(fold.feed("", "Target.attachedToTarget", {"sessionId": "S", "targetInfo": info}))
    fold.browser.settled = True
    request = {"url": "https://a.example/x", "method": "GET"}
    about = {"requestId": "1", "frameId": "T", "loaderId": "L", "type": "Fetch"}
    list(fold.feed("S", "Network.requestWillBeSent", about | {"request": request}))
    list(fold.feed("S", "Network.responseReceived", about | {"response": head()}))
    assert not [
        seen
        for seen in fold.feed("S", "Network.loadingFinished", about)
        if seen.kind == "request.finished"
    ]
    gone = [
        (seen.kind, seen.data)
        for seen in fold.feed("", "Target.detachedFromTarget", {"sessionId": "S"})
    ]
    assert [kind for kind, _ in gone] == ["request.finished", "gap.began", "gap.ended"]
    assert gone[0][1]["response"] == {"body": {"lost": True}}
    assert fold.network.take_missing() == []
    assert not list(fold.feed("S", "Page.getNavigationHistory", {"as_of": 1}))
    assert not fold.browser.sessions


def test_a_secret_that_the_page_tells_after_the_request_left_is_not_in_what_is_told_of_its_end() -> (
    None
):
    fold = Normaliser("", "salt", CapturePlan(request_body=lambda method, url: ALWAYS))
    about = {"url": "https://a.example/in?k=hunter2", "method": "POST", "hasPostData": True}
    sent(fold, request=about | {"postData": '{"key":"hunter2"}'})
    onward = {"redirectResponse": head(307, headers={"Location": "/b?k=hunter2"})}
    fold.browser.secrets.add_field({"hash": hash53("salthunter2")})
    [*seen, _] = sent(fold, request=about | {"url": "https://a.example/b?k=hunter2"}, **onward)
    told(fold, "responseReceived", requestId="1", response=head())
    seen += ended(fold)
    assert [kind for kind, _ in seen] == ["request.redirected", "request.finished"]
    assert "hunter2" not in str(seen)
    assert seen[1][1]["body"]["text"] == '{"key":"***"}'
    assert seen[1][1]["hops"][0]["url"] == "https://a.example/in?k=***"


@pytest.mark.parametrize(
    ("came", "length", "told_of"),
    [
        ([("", 0), ("YWI=", 2), ("Yw==", 1)], "3", "abc"),
        ([("YWI=", 2), ("Yw==", 1)], "3", "abc"),
        ([("", 0), ("YWI=", 2)], "3", None),
        ([("", 2), ("Yw==", 1)], "3", None),
        ([("", 0), ("YWI=", 2)], "", None),
        ([(None, 0), ("", 3)], "3", None),
    ],
    ids=[
        "whole",
        "some before",
        "not at its end",
        "the beginning is missing",
        "nobody knows how long",
        "refused",
    ],
)
def test_a_body_that_comes_in_is_told_where_it_is_known_to_be_whole(
    came: list[tuple[str | None, int]], length: str, told_of: str | None
) -> None:
    fold = at_page(response_body=lambda method, url: ALWAYS)
    request = {"url": "https://a.example/api", "method": "POST"}
    told(
        fold,
        "requestWillBeSent",
        requestId="2",
        frameId="T",
        loaderId="L",
        type="Fetch",
        request=request,
    )
    assert [one.command for one in fold.network.take_missing()] == [
        "Network.streamResourceContent"
    ] * 2
    (buffered, before), *chunks = came
    if before and buffered is not None:
        told(fold, "dataReceived", requestId="2", dataLength=before)
    reply = {} if buffered is None else {"bufferedData": buffered}
    told(fold, "streamResourceContent", requestId="2", **reply)
    told(
        fold,
        "responseReceived",
        requestId="2",
        type="Fetch",
        response=head(headers={"Content-Length": length}),
    )
    for data, size in chunks:
        told(fold, "dataReceived", requestId="2", dataLength=size, data=data)
    left = {
        seen.data["request"]: seen.data
        for seen in fold.feed("", "Page.frameNavigated", LEFT)
        if seen.kind == "request.finished"
    }
    body = left["2"]["response"]["body"]
    assert body == ({"lost": True} if told_of is None else {"text": told_of, "mime": "text/plain"})


WRITE = {"url": "https://a.example/p", "method": "POST"}
FRAME_GONE = {"frameId": "F", "reason": "remove"}


@pytest.mark.parametrize(
    ("method", "headers_known", "frame_goes", "gaps"),
    [
        pytest.param("POST", False, True, 1, id="a write, and its frame is gone"),
        pytest.param("POST", True, True, 0, id="it is known that it went out"),
        pytest.param("GET", False, True, 0, id="it changes nothing"),
        pytest.param(
            "POST", False, False, 0, id="its frame is there, and the network would have said so"
        ),
    ],
)
@pytest.mark.parametrize(
    "aborted", [True, False], ids=["told to have failed", "not told of any more"]
)
@pytest.mark.parametrize("loader", ["N", "2"], ids=["a call", "a form that was to come there"])
def test_whether_a_write_went_out_whose_frame_is_gone_is_known_or_a_gap(
    method: str, headers_known: bool, frame_goes: bool, gaps: int, aborted: bool, loader: str
) -> None:
    fold = at_page()
    list(fold.feed("", "Page.frameAttached", {"frameId": "F", "parentFrameId": "T"}))
    kind = "Document" if loader == "2" else "Fetch"
    about = {"requestId": "2", "frameId": "F", "loaderId": loader, "type": kind}
    told(fold, "requestWillBeSent", **about, request=WRITE | {"method": method})
    seen = real(fold, "2") if headers_known else []
    if aborted:
        seen += told(
            fold, "loadingFailed", requestId="2", errorText="net::ERR_ABORTED", canceled=True
        )
    if frame_goes:
        seen += [(one.kind, one.data) for one in fold.feed("", "Page.frameDetached", FRAME_GONE)]
    for _ in range(2):  # it is said once
        seen += [(one.kind, one.data) for one in fold.fenced()]
    begun = [data for kind, data in seen if kind == "gap.began"]
    assert len(begun) == gaps
    assert all(
        "whether a request to https://a.example/p went out" in gap["reason"] for gap in begun
    )


def test_whether_a_write_went_out_is_a_gap_where_its_session_is_gone() -> None:
    fold = at_page()
    sent(fold, "2", request=WRITE)
    seen = [one.kind for one in fold.feed("", "Target.detachedFromTarget", {"sessionId": ""})]
    assert seen.count("gap.began") == 1


@pytest.mark.parametrize(
    ("headers", "told_before", "told_after", "gaps"),
    [
        pytest.param(
            {"Origin": "https://a.example"}, False, False, 1, id="of a worker that is gone"
        ),
        pytest.param(
            {"Origin": "https://a.example"},
            False,
            True,
            0,
            id="its page tells of it a little later",
        ),
        pytest.param({"Origin": "https://a.example"}, True, False, 0, id="it is over already"),
        pytest.param({"Accept": "*/*"}, False, False, 0, id="without an Origin it is no write"),
    ],
)
def test_a_write_that_the_network_alone_tells_of_is_a_gap(
    headers: dict[str, str], told_before: bool, told_after: bool, gaps: int
) -> None:
    fold = at_page()
    if told_before:
        sent(fold, "2", request=WRITE)
        told(fold, "responseReceived", requestId="2", type="Fetch", response=head())
        ended(fold, "2")
    seen = real(fold, "2", **headers)
    if told_after:
        seen += sent(fold, "2", request=WRITE)
    seen += [(one.kind, one.data) for one in fold.fenced()]
    assert [kind for kind, _ in seen].count("gap.began") == gaps


@pytest.mark.parametrize(
    ("how", "before_the_fence", "sent_is_told"),
    [
        pytest.param({"errorText": "net::ERR_ABORTED", "canceled": True}, True, True, id="aborted"),
        pytest.param(
            {"errorText": "net::ERR_FAILED"}, True, True, id="a redirect that is an error"
        ),
        pytest.param(
            {"errorText": "net::ERR_FAILED"}, False, False, id="the network says nothing of it"
        ),
        pytest.param(
            {"errorText": "net::ERR_BLOCKED", "blockedReason": "csp"}, False, False, id="blocked"
        ),
    ],
)
def test_that_a_failed_write_went_out_may_be_told_after_its_failure(
    how: dict[str, Any], before_the_fence: bool, sent_is_told: bool
) -> None:
    fold = at_page()
    sent(fold, "2", request=WRITE)
    seen = told(fold, "loadingFailed", requestId="2", **how)
    if before_the_fence:
        seen += real(fold, "2")
    seen += [(one.kind, one.data) for one in fold.fenced()]
    [failed] = [data for kind, data in seen if kind == "request.failed"]
    assert failed.get("sent", False) is sent_is_told


def test_that_nobody_listens_is_told_at_once() -> None:
    fold = at_page()
    sent(fold, "2", request=WRITE)
    seen = told(fold, "loadingFailed", requestId="2", errorText="net::ERR_CONNECTION_REFUSED")
    assert [kind for kind, _ in seen] == ["request.failed"]


@pytest.mark.parametrize("before", [True, False], ids=["one before", "none"])
def test_a_document_that_had_a_session_of_webtransport_is_a_gap_as_it_is_left(before: bool) -> None:
    """The browser counts the first one of a page, and need not report one that begins then."""
    fold = at_page(guards=True)
    if before:
        told(fold, "webTransportCreated", transportId="1", url="https://a.example/write")
        told(fold, "webTransportClosed", transportId="1")
    seen = fold.feed("", "Page.frameNavigated", LEFT)
    reasons = [one.data["reason"] for one in seen if one.kind == "gap.began"]
    assert any("WebTransport" in reason for reason in reasons) is before
