"""Single network messages through the fold, in the orders in which they may come, and what it keeps
of them."""

from __future__ import annotations

from typing import Any

import pytest

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.network import reports
from agentd.sources.cdp.network.extra_info import MAX_EARLY
from agentd.sources.cdp.network.headers import MAX_HEADERS
from agentd.sources.cdp.network.request_table import MAX_REQUESTS
from agentd.sources.cdp.network.worker_documents import BY_WORKER
from agentd.sources.cdp.state.capture_plan import ALWAYS, NOBODY, CapturePlan

HEADERS = CapturePlan(
    request_headers=frozenset(("cookie", "x-a")), response_headers=frozenset(("set-cookie", "x-b"))
)


def told(fold: Normaliser, method: str, **params: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(seen.kind, seen.data) for seen in fold.feed("", f"Network.{method}", params)]


def sent(fold: Normaliser, number: str = "1", **more: Any) -> list[tuple[str, dict[str, Any]]]:
    request = {"url": "https://a.example/x", "method": "GET", "headers": {"X-A": "1"}} | more.pop(
        "request", {}
    )
    return told(
        fold,
        "requestWillBeSent",
        requestId=number,
        frameId="",
        loaderId="L",
        type="Fetch",
        request=request,
        **more,
    )


def head(status: int = 200, **more: Any) -> dict[str, Any]:
    return {
        "url": "https://a.example/x",
        "status": status,
        "headers": {"X-B": "2"},
        "mimeType": "text/plain",
    } | more


def real(
    fold: Normaliser, number: str = "1", *, status: int | None = None, **headers: str
) -> list[Any]:
    if status is None:
        return told(fold, "requestWillBeSentExtraInfo", requestId=number, headers=headers)
    return told(
        fold, "responseReceivedExtraInfo", requestId=number, headers=headers, statusCode=status
    )


def ended(fold: Normaliser, number: str = "1") -> list[tuple[str, dict[str, Any]]]:
    return told(fold, "loadingFinished", requestId=number)


@pytest.mark.parametrize("early", [True, False], ids=["before the request", "after it"])
def test_the_real_headers_may_come_first(early: bool) -> None:
    fold = Normaliser("", "", HEADERS)
    if early:
        assert real(fold, Cookie="a=1", **{"x-a": "1", "x-c": "3"}) == []
        assert [kind for kind, _ in sent(fold)] == ["request.sent"]
    else:
        sent(fold)
        real(fold, Cookie="a=1", **{"x-a": "1", "x-c": "3"})
    real(fold, status=200, **{"Set-Cookie": "s=1; Secure", "X-B": "2"})
    told(fold, "responseReceived", requestId="1", response=head(), hasExtraInfo=True)
    [(_, data)] = ended(fold)
    assert data["headers"] == {"cookie": "a=***", "x-a": "1"}
    assert data["response"] == {"headers": {"set-cookie": "s=***; Secure", "x-b": "2"}}


def test_what_is_told_waits_for_the_real_headers() -> None:
    fold = Normaliser("", "", HEADERS)
    sent(fold)
    told(fold, "responseReceived", requestId="1", response=head(), hasExtraInfo=True)
    assert ended(fold) == []
    assert real(fold, Cookie="a=1") == []
    [(kind, data)] = real(fold, status=200, **{"Set-Cookie": "s=1"})
    assert kind == "request.finished"
    assert (data["headers"], data["response"]["headers"]) == (
        {"cookie": "a=***"},
        {"set-cookie": "s=***"},
    )
    assert not fold.network.table.requests


def test_each_hop_has_its_own_headers_though_they_come_late() -> None:
    fold = Normaliser("", "", HEADERS)
    sent(fold)
    redirect = {
        "redirectResponse": head(302, headers={"Location": "/y", "X-B": "hop"}),
        "redirectHasExtraInfo": True,
    }
    assert sent(fold, request={"headers": {"X-A": "2"}}, **redirect) == []
    for value in ("1", "2"):
        real(fold, **{"X-A": value, "Cookie": f"c{value}=x"})
    seen = real(fold, status=302, **{"X-B": "hop"})
    assert [kind for kind, _ in seen] == ["request.redirected", "request.sent"]
    assert seen[0][1]["headers"] == {"x-a": "1", "cookie": "c1=***"}
    real(fold, status=200, **{"X-B": "end"})
    told(fold, "responseReceived", requestId="1", response=head(), hasExtraInfo=True)
    [(_, data)] = ended(fold)
    assert data["headers"] == {"x-a": "2", "cookie": "c2=***"}
    assert [hop["response"]["headers"]["x-b"] for hop in (*data["hops"], data)] == ["hop", "end"]


def test_real_headers_that_never_come_are_waited_for_until_the_fence() -> None:
    fold = Normaliser("", "", HEADERS)
    sent(fold)
    told(fold, "responseReceived", requestId="1", response=head(), hasExtraInfo=True)
    assert ended(fold) == []
    [seen] = fold.fenced()
    assert (seen.kind, seen.data["headers"], seen.data["response"]) == (
        "request.finished",
        {"x-a": "1"},
        {"headers": {"x-b": "2"}},
    )


@pytest.mark.parametrize("early", [True, False], ids=["before the request", "after it"])
def test_a_redirect_that_could_not_be_followed_was_not_sent_on(early: bool) -> None:
    """The network's word of the first hop counts once, whether it comes before or after the
    page's."""
    fold = Normaliser("", "", HEADERS)
    post = {"method": "POST", "url": "https://a.example/x"}
    if early:
        real(fold, Origin="https://a.example")
        sent(fold, request=post)
    else:
        sent(fold, request=post)
        real(fold, Origin="https://a.example")
    real(fold, status=307, Location="https://a.example:1/")
    onward = {"method": "POST", "url": "https://a.example:1/"}
    redirect = head(307, headers={"Location": "https://a.example:1/"})
    sent(fold, request=onward, redirectResponse=redirect, redirectHasExtraInfo=True)
    [(kind, failed)] = told(fold, "loadingFailed", requestId="1", errorText="net::ERR_UNSAFE_PORT")
    assert (kind, failed["error"]) == ("request.failed", "net::ERR_UNSAFE_PORT")
    assert "sent" not in failed


def test_without_a_wish_for_headers_none_is_kept_and_none_waited_for() -> None:
    fold = Normaliser("", "", CapturePlan())
    for number in range(3 * MAX_EARLY):
        real(fold, f"early{number}", Cookie="a=1")
    assert not fold.network.extra_info.early
    sent(fold)
    assert fold.network.table.requests["1"].heads is None
    told(fold, "responseReceived", requestId="1", response=head(), hasExtraInfo=True)
    [(_, data)] = ended(fold)
    assert not {"headers", "answer"} & set(data)


def test_headers_are_bounded() -> None:
    fold = Normaliser("", "", HEADERS)
    for number in range(3 * MAX_EARLY):
        real(fold, f"early{number}", Cookie="a=1")
    assert len(fold.network.extra_info.early) <= MAX_EARLY
    everything = Normaliser("", "", CapturePlan.everything())
    sent(everything, request={"headers": {f"x-{n}": "v" * 10_000 for n in range(1000)}})
    told(everything, "responseReceived", requestId="1", response=head())
    assert everything.network.take_missing() == []
    ended(everything)
    [missing] = everything.network.take_missing()
    [(_, data)] = told(everything, "getResponseBody", requestId=missing.number)
    assert len(data["headers"]) == MAX_HEADERS
    assert max(map(len, data["headers"].values())) <= 4096


def test_nothing_that_waits_is_lost_when_the_table_is_full() -> None:
    fold = Normaliser("", "", HEADERS)
    sent(fold, "first")
    told(fold, "responseReceived", requestId="first", response=head(), hasExtraInfo=True)
    assert ended(fold, "first") == []
    kinds = [kind for n in range(MAX_REQUESTS) for kind, _ in sent(fold, f"n{n}")]
    assert kinds.count("request.finished") == 1
    assert len(fold.network.table.requests) <= MAX_REQUESTS


def test_a_request_that_is_forgotten_on_its_way_is_a_gap() -> None:
    """Its end will come and find nobody: a page that asks for that much hides nothing in
    silence."""
    fold = Normaliser("", "", HEADERS)
    assert all(
        [kind for kind, _ in sent(fold, f"n{n}")] == ["request.sent"] for n in range(MAX_REQUESTS)
    )
    began, ended_, (kind, _) = sent(fold, "one more")
    assert began[0] == "gap.began"
    assert began[1]["part"] == "request"
    assert ended_ == ("gap.ended", {"source": "cdp", "part": "request"})
    assert kind == "request.sent"


def test_an_answers_body_waits_only_its_own_request() -> None:
    fold = Normaliser("", "", CapturePlan(response_body=lambda method, url: ALWAYS))
    sent(fold, "1")
    sent(fold, "2")
    for number in ("1", "2"):
        told(fold, "responseReceived", requestId=number, response=head())
        assert ended(fold, number) == []
    assert [(one.command, one.number) for one in fold.network.take_missing()] == [
        ("Network.getResponseBody", "1"),
        ("Network.getResponseBody", "2"),
    ]
    [(_, second)] = told(fold, "getResponseBody", requestId="2", body="YQ==", base64Encoded=True)
    [(_, first)] = told(fold, "getResponseBody", requestId="1")
    assert second["response"]["body"] == {"text": "a", "mime": "text/plain"}
    assert first["response"]["body"] == {"lost": True}
    assert not fold.network.table.requests


@pytest.mark.parametrize(
    ("text", "scheme", "realm"),
    [
        ('Basic realm="shop"', "basic", "shop"),
        ("Basic realm=shop, charset=UTF-8", "basic", "shop"),
        ('Digest qop="auth", realm="a \\"b\\"", nonce="1"', "digest", 'a "b"'),
        ("Negotiate", "negotiate", None),
        ('  Bearer error="invalid_token"', "bearer", None),
    ],
)
def test_a_challenge_by_its_header(text: str, scheme: str, realm: str | None) -> None:
    for status, name in ((401, "WWW-Authenticate"), (407, "Proxy-Authenticate")):
        fold = Normaliser("", "", CapturePlan())
        sent(fold)
        [(kind, data)] = told(
            fold, "responseReceived", requestId="1", response=head(status, headers={name: text})
        )
        assert (kind, data["scheme"], data.get("realm")) == ("auth.challenged", scheme, realm)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (401, {}),
        (401, {"WWW-Authenticate": ""}),
        (401, {"Proxy-Authenticate": "Basic"}),
        (403, {"WWW-Authenticate": "Basic"}),
    ],
)
def test_no_challenge(status: int, headers: dict[str, str]) -> None:
    fold = Normaliser("", "", CapturePlan())
    sent(fold)
    assert (
        told(fold, "responseReceived", requestId="1", response=head(status, headers=headers)) == []
    )


@pytest.mark.parametrize(
    ("answer", "cached", "by"),
    [
        ({}, None, None),
        ({"fromDiskCache": True}, True, "disk"),
        ({"fromPrefetchCache": True}, True, "prefetch"),
        ({"fromServiceWorker": True, "serviceWorkerResponseSource": "network"}, None, "worker"),
        ({"fromServiceWorker": True}, None, "worker"),
        (
            {"fromServiceWorker": True, "serviceWorkerResponseSource": "cache-storage"},
            True,
            "cache_storage",
        ),
        ({"fromServiceWorker": True, "serviceWorkerResponseSource": "http-cache"}, True, "disk"),
        (
            {"fromServiceWorker": True, "serviceWorkerResponseSource": "fallback-code"},
            None,
            "worker",
        ),
    ],
)
def test_who_answered(answer: dict[str, Any], cached: bool | None, by: str | None) -> None:
    fold = Normaliser("", "", CapturePlan())
    sent(fold)
    told(fold, "responseReceived", requestId="1", response=head(**answer))
    [(_, data)] = ended(fold)
    assert (data.get("cached"), data.get("served_from")) == (cached, by)
    assert data.get("via") == ("service_worker" if "fromServiceWorker" in answer else None)


def test_mixed_content_is_a_block() -> None:
    fold = Normaliser("", "", CapturePlan())
    sent(fold)
    [(_, data)] = told(
        fold, "loadingFailed", requestId="1", errorText="", blockedReason="mixed-content"
    )
    assert data["blocked"] == "mixed-content"


def test_a_memory_cache_is_said_before_the_answer() -> None:
    fold = Normaliser("", "", CapturePlan())
    sent(fold)
    told(fold, "requestServedFromCache", requestId="1")
    told(fold, "responseReceived", requestId="1", response=head())
    [(_, data)] = ended(fold)
    assert (data["cached"], data["served_from"]) == (True, "memory")


def worker(
    *, settled: bool = True, kind: str = "worker", plan: CapturePlan | None = None
) -> Normaliser:
    fold = Normaliser("", "", plan or CapturePlan(), live=True)
    fold.browser.settled = settled
    info = {"targetId": "W", "type": kind, "url": "https://a.example/w.js", "title": ""}
    assert not list(
        fold.feed("", "Target.attachedToTarget", {"sessionId": "S", "targetInfo": info})
    )
    return fold


def at_worker(fold: Normaliser, method: str, **params: Any) -> list[str]:
    return [seen.kind for seen in fold.feed("S", f"Network.{method}", params)]


def test_a_worker_that_was_listened_to_too_late_is_a_gap_once() -> None:
    fold = worker()
    assert not list(fold.fenced()), "nobody knows yet"
    at_worker(fold, "enable")
    assert [(seen.kind, seen.data["part"]) for seen in fold.fenced()] == [
        ("gap.began", "request"),
        ("gap.ended", "request"),
    ]
    assert not list(fold.fenced())


def test_an_answer_to_what_a_worker_was_not_heard_to_ask_is_a_gap_at_once() -> None:
    assert at_worker(worker(), "responseReceived", requestId="7", response=head()) == [
        "gap.began",
        "gap.ended",
    ]


@pytest.mark.parametrize(
    "fold", [worker(settled=False), worker(kind="service_worker")], ids=["baseline", "service"]
)
def test_what_a_worker_did_before_is_no_gap(fold: Normaliser) -> None:
    at_worker(fold, "enable")
    assert not list(fold.fenced())


def test_a_worker_whose_script_was_heard_to_load_is_no_gap() -> None:
    fold = worker()
    at_worker(fold, "enable")
    at_worker(fold, "loadingFinished", requestId="W")
    assert not list(fold.fenced())


PASSED_ON = {"fromServiceWorker": True, "serviceWorkerResponseSource": "network"}
MADE_UP = {"fromServiceWorker": True, "serviceWorkerResponseSource": "fetch-event"}
ASKED: dict[str, Any] = {
    "request": {"url": "https://a.example/x", "method": "POST", "headers": {}},
    "type": "Fetch",
}
OF_PAGE, OF_WORKER = {"requestId": "1"}, {"requestId": "7"}
CONTENT = {"data": "dGFrZW4=", "dataLength": 5, "encodedDataLength": 0}
HANDED_ON: dict[str, tuple[str, str, dict[str, Any]]] = {
    # moment → session, method and parameters of the message
    "P": ("", "requestWillBeSent", OF_PAGE | ASKED | {"frameId": "", "loaderId": "L"}),
    "W": ("S", "requestWillBeSent", OF_WORKER | ASKED),
    "p": (
        "",
        "responseReceived",
        OF_PAGE | {"response": head(201, **PASSED_ON, responseTime=5.0)},
    ),
    "m": ("", "responseReceived", OF_PAGE | {"response": head(**MADE_UP)}),
    "w": ("S", "responseReceived", OF_WORKER | {"response": head(201, responseTime=5.0)}),
    "pd": ("", "dataReceived", OF_PAGE | CONTENT),
    "pe": ("", "loadingFinished", OF_PAGE),
    "we": ("S", "loadingFinished", OF_WORKER),
    "f": ("", "loadingFailed", OF_PAGE | {"errorText": "net::ERR_FAILED"}),
}
PASSED: dict[str, tuple[str, list[tuple[str, str]]]] = {
    # moments, in order → who is told of, by (kind, number)
    "the page's first": ("P W p w pe we", [("sent", "1"), ("finished", "1")]),
    "the worker's first": ("W P p w pe we", [("sent", "7"), ("finished", "7")]),
    "the worker's first, its answer too": ("W P w p we pe", [("sent", "7"), ("finished", "7")]),
    "the worker's first, its end too": ("W P w we p pe", [("sent", "7"), ("finished", "7")]),
    "the worker's after the page's answer": ("P p pe W w we", [("sent", "1"), ("finished", "1")]),
    "the worker's first, a fence in between": (
        "W P F p w pe we",
        [("sent", "7"), ("finished", "7")],
    ),
    "the page's first, the answer is made up": (
        "P W m w pe we",
        [("sent", "1"), ("sent", "7"), ("finished", "1"), ("finished", "7")],
    ),
    "the worker's first, the answer is made up": (
        "W P m w pe we",
        [("sent", "7"), ("sent", "1"), ("finished", "1"), ("finished", "7")],
    ),
    "the worker's first, the page's fails": (
        "W P f w we F",
        [("sent", "7"), ("sent", "1"), ("failed", "1"), ("finished", "7")],
    ),
    "the page's first, and has no end": (
        "P W w we E",
        [("sent", "1"), ("sent", "7"), ("finished", "7")],
    ),
    "the worker's first, the page's has no end": (
        "W P w we E",
        [("sent", "7"), ("finished", "7")],
    ),
}


@pytest.mark.parametrize(("moments", "told_of"), PASSED.values(), ids=PASSED)
def test_a_workers_request_and_the_pages_are_one_whichever_is_heard_of_first(
    moments: str, told_of: list[tuple[str, str]]
) -> None:
    fold = worker(kind="service_worker")
    at_worker(fold, "enable")
    seen = []
    for moment in moments.split():
        if moment == "F":
            seen += fold.fenced()
        elif moment == "E":
            seen += fold.network.unanswered()
        else:
            session, method, params = HANDED_ON[moment]
            seen += fold.feed(session, f"Network.{method}", params)
    kinds = [(one.kind.removeprefix("request."), one.data["request"]) for one in seen]
    assert sorted(kinds) == sorted(told_of)
    ends = [one.data for one in seen if one.kind == "request.finished"]
    assert all(data["method"] == "POST" for data in ends)
    if "m" not in moments and "f" not in moments:
        [data] = ends
        assert (data["status"], data.get("served_from")) == (201, None)


WITH_BODY = ["W P p w pd pe we", "W P p pd pe w we", "W P p w we pd pe", "P W p w pd pe we"]


@pytest.mark.parametrize("moments", WITH_BODY)
def test_the_answer_that_a_worker_handed_on_is_told_whichever_ends_first(moments: str) -> None:
    """The page has the body; the worker's request, which is told, waits for it."""
    fold = worker(kind="service_worker", plan=CapturePlan(lambda *_: NOBODY, lambda *_: ALWAYS))
    at_worker(fold, "enable")
    seen = []
    for moment in moments.split():
        session, method, params = HANDED_ON[moment]
        seen += fold.feed(session, f"Network.{method}", params)
        if moment in "PW":
            number = {"requestId": params["requestId"], "bufferedData": ""}
            list(fold.feed(session, "Network.streamResourceContent", number))
    [data] = [one.data for one in seen if one.kind == "request.finished"]
    assert data["response"]["body"]["text"] == "taken"


@pytest.mark.parametrize("moments", ["W P p w we", "P W p w we"])
def test_the_answer_that_a_worker_handed_on_to_a_page_that_is_gone_is_lost(moments: str) -> None:
    fold = worker(kind="service_worker", plan=CapturePlan(lambda *_: NOBODY, lambda *_: ALWAYS))
    at_worker(fold, "enable")
    for moment in moments.split():
        session, method, params = HANDED_ON[moment]
        list(fold.feed(session, f"Network.{method}", params))
    seen = list(fold.network.session_gone(fold.browser.session_state("")))
    assert [one.kind for one in seen if one.kind == "request.finished"] == ["request.finished"]


def test_a_workers_request_that_is_heard_of_after_the_pages_answer_is_that_request_still() -> None:
    fold = worker(kind="service_worker")
    at_worker(fold, "enable")
    sent(fold)
    passed_on = {"fromServiceWorker": True, "serviceWorkerResponseSource": "network"}
    told(fold, "responseReceived", requestId="1", response=head(**passed_on))
    assert ended(fold) == []
    asked = {"url": "https://a.example/x", "method": "GET", "headers": {}}
    at_worker(fold, "requestWillBeSent", requestId="7", request=asked, type="Fetch")
    at_worker(fold, "responseReceived", requestId="7", response=head(202))
    [seen] = fold.feed("S", "Network.loadingFinished", {"requestId": "7"})
    assert (seen.data["request"], seen.data["status"], seen.data.get("served_from")) == (
        "1",
        202,
        None,
    )


def test_what_a_worker_took_from_elsewhere_is_known_at_the_fence() -> None:
    fold = worker(kind="service_worker")
    at_worker(fold, "enable")
    sent(fold)
    told(
        fold,
        "responseReceived",
        requestId="1",
        response=head(fromServiceWorker=True, serviceWorkerResponseSource="network"),
    )
    assert ended(fold) == []
    [seen] = [one for one in fold.fenced() if one.kind == "request.finished"]
    assert seen.data["served_from"] == "worker"


def test_an_answer_over_no_connection_is_nobodys() -> None:
    fold = Normaliser("", "", CapturePlan())
    sent(fold)
    told(fold, "responseReceived", requestId="1", response=head(connectionId=0), hasExtraInfo=False)
    [(_, data)] = ended(fold)
    assert data["served_from"] == "unknown"


def test_a_failure_names_the_redirects_before_it_and_whether_it_went_out() -> None:
    fold = Normaliser("", "", CapturePlan())
    sent(fold, request={"method": "POST"})
    real(fold)
    sent(
        fold,
        redirectResponse=head(307, headers={"Location": "/y"}),
        request={"method": "POST"},
        redirectHasExtraInfo=True,
    )
    real(fold, status=307)
    real(fold)
    [(kind, data)] = told(
        fold, "loadingFailed", requestId="1", errorText="net::ERR_CONNECTION_RESET"
    )
    assert (kind, data["sent"], [hop["status"] for hop in data["hops"]]) == (
        "request.failed",
        True,
        [307],
    )


LATE_PAGES = ["gap.began", "gap.ended"]
OWN_DOCUMENTS: dict[str, tuple[str, float, str, str | None, list[str]]] = {
    # moments, in order; when the worker's request was answered; the moment at which the document is
    # told → from where it was loaded, and what is told once the worker's answer is heard of
    "the worker's answer first": ("W D w d c", 5.0, "c", None, []),
    "after the page's": ("W D d w c", 5.0, "c", None, []),
    "after the document": ("W D d c w h", 5.0, "h", None, []),
    "after the document, at another moment": ("W D d c w h", 4.0, "h", BY_WORKER, []),
    "after the worker had answered": ("W D d c h w", 5.0, "h", BY_WORKER, LATE_PAGES),
    "never": ("W D d c h", 5.0, "h", BY_WORKER, []),
    "the worker has no time to answer": ("W D d c n w", 5.0, "n", "", []),
    "the worker answers after it was given up": ("W D d c n h", 5.0, "n", "", []),
    "the worker's page is gone meanwhile": ("W D d c x w", 5.0, "x", "", []),
    "passed on, the worker's answer first": ("W D w p c", 5.0, "c", None, []),
    "passed on, after the document": ("W D p c w h", 5.0, "h", None, []),
    "passed on, after the worker had answered": ("W D p c h w", 5.0, "h", "", []),
}
TITLED = {"targetId": "T", "type": "page", "url": "https://a.example/x", "title": "order 1"}
OF_DOCUMENT: dict[str, Any] = {
    "requestId": "L1",
    "loaderId": "L1",
    "frameId": "T",
    "type": "Document",
}


def about_document(answered_at: float) -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Session, method and parameters of each moment of a document that a worker is asked for."""
    url = "https://a.example/x"
    about = {"request": {"url": url, "method": "GET", "headers": {}}}
    its_own = {"requestId": "7", "response": head(responseTime=answered_at)}
    made_up = {"response": head() | MADE_UP | {"responseTime": 5.0}}
    passed_on = {"response": head() | PASSED_ON | {"responseTime": 5.0}}
    committed = {"frame": {"id": "T", "loaderId": "L1", "url": url}, "type": "Navigation"}
    return {
        "W": ("S", "Network.requestWillBeSent", {"requestId": "7", "type": "Other"} | about),
        "D": ("P", "Network.requestWillBeSent", OF_DOCUMENT | about),
        "w": ("S", "Network.responseReceived", its_own),
        "d": ("P", "Network.responseReceived", OF_DOCUMENT | made_up),
        "p": ("P", "Network.responseReceived", OF_DOCUMENT | passed_on),
        "c": ("P", "Page.frameNavigated", committed),
        "h": ("P", "Page.workersHeard", {"loaders": ["L1"]}),
        "n": ("P", "Page.workersHeard", {"loaders": ["L1"], "is_given_up": True}),
        "x": ("", "Target.detachedFromTarget", {"sessionId": "P"}),
    }


@pytest.mark.parametrize(
    ("moments", "answered_at", "told_at", "loaded_from", "told_late"),
    OWN_DOCUMENTS.values(),
    ids=OWN_DOCUMENTS,
)
def test_a_document_of_a_worker_that_raced_is_the_server_s_or_a_gap_of_pages(
    moments: str, answered_at: float, told_at: str, loaded_from: str | None, told_late: list[str]
) -> None:
    """The browser says of it what it says of a document that the worker made up; the worker's own
    request tells. The document waits until that would have been heard of."""
    fold = worker(kind="service_worker")
    at_worker(fold, "enable")
    info = {"targetId": "T", "type": "page", "url": "", "title": ""}
    list(fold.feed("", "Target.attachedToTarget", {"sessionId": "P", "targetInfo": info}))
    messages = about_document(answered_at)
    seen = {moment: list(fold.feed(*messages[moment])) for moment in moments.split()}
    told_of = [
        (moment, one.data.get("document"))
        for moment, events in seen.items()
        for one in events
        if one.kind == "page.navigated"
    ]
    assert told_of == [(told_at, loaded_from)]
    pages = [one for one in seen.get("w", []) if one.data.get("part") == "page"]
    assert [one.kind for one in pages] == told_late


def waiting_document(plan: CapturePlan | None = None, **about: str) -> Normaliser:
    """A page whose document waits for a service worker; ``about``: more of its target."""
    fold = worker(kind="service_worker", plan=plan)
    at_worker(fold, "enable")
    info = {"targetId": "T", "type": "page", "url": "", "title": ""} | about
    list(fold.feed("", "Target.attachedToTarget", {"sessionId": "P", "targetInfo": info}))
    for moment in "WDdc":
        list(fold.feed(*about_document(5.0)[moment]))
    return fold


@pytest.mark.parametrize(
    ("moments", "document"), [("", ""), ("w h", None), ("h", BY_WORKER), ("n", "")]
)
def test_an_attachment_after_it_knows_no_more_of_a_document_that_waited(
    moments: str, document: str | None
) -> None:
    """The connection to the browser may be lost while a document waits."""
    fold = waiting_document()
    for moment in moments.split():
        list(fold.feed(*about_document(5.0)[moment]))
    later = Normaliser("", "", CapturePlan(), documents=fold.browser.documents)
    frame = about_document(5.0)["c"][2]["frame"]
    [navigated] = later.feed("", "Page.getFrameTree", {"frameTree": {"frame": frame}})
    assert navigated.data.get("document") == document


def test_what_is_seen_in_a_document_that_waits_is_told_after_it() -> None:
    fold = waiting_document()
    loaded = {"frameId": "T", "loaderId": "L1", "name": "load"}
    assert list(fold.feed("P", "Page.lifecycleEvent", loaded)) == []
    assert fold.take_unasked() == ["L1"]
    assert fold.take_unasked() == [], "workers are asked once"
    seen = [one.kind for one in fold.feed(*about_document(5.0)["h"])]
    assert seen == ["page.navigated", "page.loaded"]


def test_what_a_prerendered_page_sends_does_not_wait_with_its_document() -> None:
    """It reaches the site, also where the page is never shown."""
    fold = waiting_document(subtype="prerender")
    write = OF_PAGE | ASKED | {"frameId": "T", "loaderId": "L1"}
    sent_then = [one.kind for one in fold.feed("P", "Network.requestWillBeSent", write)]
    assert sent_then == ["request.sent"]
    list(fold.feed(*about_document(5.0)["h"]))
    shown = {"targetId": "T", "type": "page", "url": "https://a.example/x", "title": ""}
    seen = list(fold.feed("", "Target.targetInfoChanged", {"targetInfo": shown}))
    documents = [one.data["document"] for one in seen if one.kind == "page.navigated"]
    assert documents == [BY_WORKER]


def test_a_fence_tells_nothing_of_a_document_that_still_waits() -> None:
    """Its title and a request's end without the headers that were waited for come after it."""
    fold = waiting_document(HEADERS)
    list(fold.feed("", "Target.targetInfoChanged", {"targetInfo": TITLED}))
    asked = OF_PAGE | ASKED | {"frameId": "T", "loaderId": "L1"}
    answered = OF_PAGE | {"response": head(), "hasExtraInfo": True}
    for method, params in (
        ("requestWillBeSent", asked),
        ("responseReceived", answered),
        ("loadingFinished", OF_PAGE),
    ):
        assert list(fold.feed("P", f"Network.{method}", params)) == []
    assert {one.kind for one in fold.fenced()} == {"gap.began"}, "of the worker's own beginning"
    heard = [one.kind for one in fold.feed(*about_document(5.0)["h"])]
    assert heard == ["page.navigated", "request.sent", "page.title_changed"]
    assert [one.kind for one in fold.fenced()] == ["request.finished"]


def report(fold: Normaliser, number: str = "1") -> list[tuple[str, str | None]]:
    queued = {"id": number, "initiatorUrl": "https://a.example/x", "destination": "csp"}
    seen = told(fold, "reportingApiReportAdded", report=queued)
    return [
        (kind, data.get("url")) for kind, data in seen if not kind.endswith((".ended", "failed"))
    ]


def endpoints(fold: Normaliser, origin: str, *urls: str) -> None:
    named = [{"groupName": "csp", "url": url} for url in urls]
    told(fold, "reportingApiEndpointsChangedForOrigin", origin=origin, endpoints=named)


def test_a_report_may_go_to_each_address_that_a_document_of_the_site_gave_its_group() -> None:
    fold = Normaliser("", "", CapturePlan())
    assert report(fold) == [], "nobody takes it"
    endpoints(fold, "https://a.example", "https://a.example/one")
    endpoints(fold, "https://a.example", "https://a.example/two")
    both = [("request.sent", f"https://a.example/{name}") for name in ("one", "two")]
    assert report(fold, "2") == both
    assert report(fold, "2") == [], "each page of the site hears of it"


def test_where_a_report_goes_is_not_known_once_there_were_too_many_addresses() -> None:
    for origins, addresses in ((reports.MAX_ORIGINS + 1, 1), (1, reports.MAX_ADDRESSES + 1)):
        fold = Normaliser("", "", CapturePlan())
        for n in range(origins):
            origin = "https://a.example" if n == 0 else f"https://b{n}.example"
            endpoints(fold, origin, *(f"{origin}/{m}" for m in range(addresses)))
        assert report(fold) == [("gap.began", None)]
        endpoints(fold, "https://a.example", "https://a.example/new")
        assert report(fold, "2") == [
            ("gap.began", None),
            ("request.sent", "https://a.example/new"),
        ], "an older document's may still go to one that was forgotten"
