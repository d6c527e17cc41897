"""Single messages through the folds: what is told once, what waits, what is ignored."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.folds.page_events import MAX_HELD
from agentd.sources.cdp.state.addresses import bound_addresses
from agentd.sources.cdp.state.capture_plan import ALWAYS, CapturePlan
from agentd.sources.cdp.state.state import MAX_REMEMBERED
from detectors.model.kinds.limits import MAX_ADDRESS

PAGE = {"id": "T", "loaderId": "L1", "url": "https://a.example/"}


@pytest.fixture
def fold() -> Normaliser:
    """A browser with one tab T, attached as session S, its baseline told."""
    normaliser = Normaliser("bind", "salt", CapturePlan(request_body=lambda method, url: ALWAYS))
    info = {"targetId": "T", "type": "page", "url": "", "title": ""}
    told(normaliser, "", "Target.targetCreated", targetInfo=info)
    told(normaliser, "", "Target.attachedToTarget", sessionId="S", targetInfo=info)
    normaliser.browser.settled = True
    return normaliser


def told(
    fold: Normaliser, session: str, method: str, **params: Any
) -> list[tuple[str, dict[str, Any]]]:
    return [(seen.kind, seen.data) for seen in fold.feed(session, method, params)]


def kinds(seen: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [kind for kind, _ in seen]


def said(
    fold: Normaliser, context: int, kind: str, **data: Any
) -> list[tuple[str, dict[str, Any]]]:
    payload = orjson.dumps([kind, data]).decode()
    return told(
        fold, "S", "Runtime.bindingCalled", name="bind", payload=payload, executionContextId=context
    )


def test_a_missed_commit_is_reconciled_and_told_once(fold: Normaliser) -> None:
    [(kind, data)] = told(fold, "S", "Page.getFrameTree", frameTree={"frame": PAGE})
    assert (kind, data["backfilled"]) == ("page.navigated", True)
    assert told(fold, "S", "Page.frameNavigated", frame=PAGE) == []
    assert kinds(told(fold, "S", "Page.frameNavigated", frame=PAGE | {"loaderId": "L2"})) == [
        "page.navigated"
    ]


def test_a_heard_commit_is_not_reconciled(fold: Normaliser) -> None:
    [(_, data)] = told(fold, "S", "Page.frameNavigated", frame=PAGE)
    assert "backfilled" not in data
    assert told(fold, "S", "Page.getFrameTree", frameTree={"frame": PAGE}) == []


def test_the_pages_own_address_after_its_load_is_no_navigation(fold: Normaliser) -> None:
    told(fold, "S", "Page.frameNavigated", frame=PAGE)
    assert told(fold, "S", "Page.navigatedWithinDocument", frameId="T", url=PAGE["url"]) == []
    [(_, data)] = told(
        fold, "S", "Page.navigatedWithinDocument", frameId="T", url=PAGE["url"] + "#a"
    )
    assert data["same_document"] is True


def test_a_navigation_takes_the_frames_below_with_it(fold: Normaliser) -> None:
    told(fold, "S", "Page.frameNavigated", frame=PAGE)
    told(fold, "S", "Page.frameAttached", frameId="F", parentFrameId="T")
    told(fold, "S", "Page.frameAttached", frameId="G", parentFrameId="F")
    seen = told(fold, "S", "Page.frameNavigated", frame=PAGE | {"loaderId": "L2"})
    assert [(kind, data["frame"]) for kind, data in seen] == [
        ("frame.detached", "G"),
        ("frame.detached", "F"),
        ("page.navigated", "T"),
    ]


def test_a_frame_told_of_before_its_parent_stays(fold: Normaliser) -> None:
    told(
        fold,
        "",
        "Target.attachedToTarget",
        sessionId="O",
        targetInfo={"targetId": "F", "type": "iframe", "url": ""},
    )
    inner = {"id": "F", "parentId": "T", "loaderId": "LF", "url": "https://b.example/"}
    [(_, data)] = told(fold, "O", "Page.getFrameTree", frameTree={"frame": inner})
    assert data["main"] is False
    assert kinds(told(fold, "S", "Page.getFrameTree", frameTree={"frame": PAGE})) == [
        "page.navigated"
    ]
    assert "F" in fold.browser.frames


def test_what_a_context_says_waits_until_its_frame_is_known(fold: Normaliser) -> None:
    told(fold, "S", "Page.frameNavigated", frame=PAGE)
    assert said(fold, 7, "element.clicked", element={"role": "button"}, trusted=True) == []
    seen = told(fold, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    assert seen == [
        (
            "element.clicked",
            {"tab": "T", "frame": "T", "element": {"role": "button"}, "trusted": True},
        )
    ]


def test_another_binding_is_not_ours(fold: Normaliser) -> None:
    told(fold, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    payload = '["element.clicked", {"trusted": true}]'
    assert (
        told(fold, "S", "Runtime.bindingCalled", name="x", payload=payload, executionContextId=7)
        == []
    )


def test_fields_without_a_name_here_and_of_the_wrong_type_are_left_out(fold: Normaliser) -> None:
    told(fold, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    [(_, data)] = said(
        fold,
        7,
        "element.clicked",
        element={"role": "x", "extra": 1, "id": 3},
        trusted="yes",
        more=1,
    )
    assert data == {"tab": "T", "frame": "T", "element": {"role": "x"}}
    assert said(fold, 7, "page.navigated", url="https://forged.example/") == []


def test_what_the_page_could_not_keep_is_recorded_as_lost(fold: Normaliser) -> None:
    told(fold, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    [(kind, data)] = said(fold, 7, "dropped", count=12)
    assert (kind, data["count"]) == ("events.dropped", 12)


def sent(number: str, **more: Any) -> dict[str, Any]:
    request = {
        "url": "https://a.example/order",
        "method": "POST",
        "headers": {},
        "hasPostData": True,
    }
    return {"requestId": number, "frameId": "T", "type": "Fetch", "request": request} | more


def test_a_body_that_comes_late_holds_up_only_its_own_request(fold: Normaliser) -> None:
    assert kinds(told(fold, "S", "Network.requestWillBeSent", **sent("1"))) == ["request.sent"]
    assert [one.number for one in fold.network.take_missing()] == ["1"]
    answer = {"status": 302, "headers": {"Location": "/done"}}
    hop = {"url": "https://a.example/done", "method": "GET", "headers": {}}
    assert (
        told(
            fold,
            "S",
            "Network.requestWillBeSent",
            **sent("1", request=hop, redirectResponse=answer),
        )
        == []
    )
    told(
        fold,
        "S",
        "Network.responseReceived",
        requestId="1",
        response={"status": 200, "mimeType": "text/html"},
    )
    assert told(fold, "S", "Network.loadingFinished", requestId="1") == []
    assert kinds(told(fold, "S", "Page.frameNavigated", frame=PAGE)) == ["page.navigated"]
    seen = told(fold, "S", "Network.getRequestPostData", requestId="1", postData="a=1")
    assert kinds(seen) == ["request.redirected", "request.sent", "request.finished"]
    assert seen[0][1]["body"] == seen[2][1]["hops"][0]["body"] == {"text": "a=1"}
    assert "body" not in seen[2][1]


FILE_HEAD = (
    '--b\r\nContent-Disposition: form-data; name="f"; filename="n.png"\r\nContent-Type:'
    " image/png\r\n\r\n"
)
UPLOAD = FILE_HEAD + "\r\n--b--\r\n"
"""As Chromium tells a body of which it reads a file from disk: without the file."""


@pytest.mark.parametrize(
    "order", ["wire, request, body", "request, wire, body", "request, body, wire", "request, body"]
)
def test_an_uploaded_file_s_size_is_known_in_every_order_and_never_read_as_0(
    fold: Normaliser, order: str
) -> None:
    """Its size is what the body that went out has more than what is told of it; the two come in any
    order."""
    headers = {"Content-Type": "multipart/form-data; boundary=b"}
    request = {
        "url": "https://a.example/order",
        "method": "POST",
        "headers": headers,
        "hasPostData": True,
    }
    length = {"Content-Length": str(len(UPLOAD) + 10244)}
    messages: dict[str, tuple[str, dict[str, Any]]] = {
        "request": ("Network.requestWillBeSent", sent("1", request=request)),
        "wire": ("Network.requestWillBeSentExtraInfo", {"requestId": "1", "headers": length}),
        "body": ("Network.getRequestPostData", {"requestId": "1", "postData": UPLOAD}),
    }
    for name in order.split(", "):
        told(fold, "S", messages[name][0], **messages[name][1])
    told(fold, "S", "Network.responseReceived", requestId="1", response={"status": 200})
    [(_, data)] = told(fold, "S", "Network.loadingFinished", requestId="1")
    [file] = data["body"]["files"]
    assert file.get("size") == (10244 if "wire" in order else None), "not known is not 0"


@pytest.mark.parametrize("others", [98, 99, 100])
def test_no_size_is_derived_where_files_may_not_be_told(fold: Normaliser, others: int) -> None:
    """Of a hundred and more files nobody knows how many there are: the bytes that are missing may
    be of several."""
    body = FILE_HEAD + "\r\n" + others * (FILE_HEAD + "x\r\n") + "--b--\r\n"
    headers = {
        "Content-Type": "multipart/form-data; boundary=b",
        "Content-Length": str(len(body) + 7),
    }
    request = {
        "url": "https://a.example/order",
        "method": "POST",
        "headers": headers,
        "postData": body,
    }
    told(fold, "S", "Network.requestWillBeSent", **sent("1", request=request))
    told(fold, "S", "Network.requestWillBeSentExtraInfo", requestId="1", headers=headers)
    told(fold, "S", "Network.responseReceived", requestId="1", response={"status": 200})
    [(_, data)] = told(fold, "S", "Network.loadingFinished", requestId="1")
    first, *rest = data["body"]["files"]
    assert (first.get("size"), len(rest)) == (7 if others == 98 else None, min(others, 99))


def test_a_body_that_cannot_be_had_is_left_out(fold: Normaliser) -> None:
    told(fold, "S", "Network.requestWillBeSent", **sent("1"))
    told(fold, "S", "Network.responseReceived", requestId="1", response={"status": 200})
    told(fold, "S", "Network.loadingFinished", requestId="1")
    [(kind, data)] = told(fold, "S", "Network.getRequestPostData", requestId="1")
    assert kind == "request.finished"
    assert "body" not in data


@pytest.mark.slow
def test_the_table_of_requests_is_bounded(fold: Normaliser) -> None:
    for number in range(5000):
        told(fold, "S", "Network.requestWillBeSent", **sent(str(number)))
    assert len(fold.network.table.requests) <= 4096


def test_the_browsers_own_pages_are_no_tabs(fold: Normaliser) -> None:
    for url, kind in (
        ("devtools://x", "page"),
        ("chrome-extension://x", "page"),
        ("https://a", "browser_ui"),
    ):
        info = {"targetId": "U", "type": kind, "url": url, "title": ""}
        assert told(fold, "", "Target.targetCreated", targetInfo=info) == []


@pytest.fixture
def live() -> Normaliser:
    """As ``fold``, by a daemon that is at the browser; the tab shows a document."""
    normaliser = Normaliser(
        "bind", "salt", CapturePlan(kinds=frozenset(["text.appeared"])), live=True
    )
    info = {"targetId": "T", "type": "page", "url": "", "title": ""}
    told(normaliser, "", "Target.attachedToTarget", sessionId="S", targetInfo=info)
    normaliser.browser.settled = True
    told(normaliser, "S", "Page.frameNavigated", frame=PAGE)
    return normaliser


def left(fold: Normaliser, *, gesture: bool = True) -> list[str]:
    """The parts that are said to be missed when the document gives way to another."""
    request = {"url": "https://a.example/2", "method": "GET", "headers": {}}
    about = {
        "requestId": "L2",
        "loaderId": "L2",
        "frameId": "T",
        "type": "Document",
        "hasUserGesture": gesture,
    }
    told(fold, "S", "Network.requestWillBeSent", request=request, **about)
    seen = told(fold, "S", "Page.frameNavigated", frame=PAGE | {"loaderId": "L2"})
    return [data["part"] for kind, data in seen if kind == "gap.began"]


def lives(fold: Normaliser, name: str) -> None:
    told(fold, "S", "Page.lifecycleEvent", frameId="T", loaderId="L1", name=name)


def test_a_document_that_was_shown_and_left_unheard_is_said_to_be(live: Normaliser) -> None:
    lives(live, "firstPaint")
    assert left(live) == ["element", "field", "form", "text"]


def test_a_document_that_asked_to_be_left_without_a_gesture_hid_nothing_but_its_text(
    live: Normaliser,
) -> None:
    lives(live, "firstContentfulPaint")
    told(
        live,
        "S",
        "Page.frameRequestedNavigation",
        frameId="T",
        reason="scriptInitiated",
        disposition="currentTab",
    )
    assert left(live, gesture=False) == ["text.appeared"]


def test_a_gesture_that_led_on_is_one(live: Normaliser) -> None:
    lives(live, "firstPaint")
    told(
        live,
        "S",
        "Page.frameRequestedNavigation",
        frameId="T",
        reason="anchorClick",
        disposition="currentTab",
    )
    assert left(live) == ["element", "field", "form", "text"]


def test_a_document_that_nobody_saw_hid_nothing(live: Normaliser) -> None:
    lives(live, "load")
    assert left(live) == []


def test_a_document_whose_observer_spoke_hid_nothing(live: Normaliser) -> None:
    lives(live, "firstPaint")
    told(live, "S", "Page.observed", frameId="T", loaderId="L1")
    assert left(live) == []


def test_somebody_who_acted_before_the_observer_was_there_is_a_gap_in_a_new_tab_only(
    live: Normaliser,
) -> None:
    told(live, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    assert said(live, 7, "late") == []
    told(
        live,
        "",
        "Target.attachedToTarget",
        sessionId="N",
        targetInfo={"targetId": "N", "type": "page", "url": ""},
    )
    told(live, "N", "Page.frameNavigated", frame=PAGE | {"id": "N"})
    told(live, "N", "Page.createIsolatedWorld", frameId="N", executionContextId=7)
    payload = orjson.dumps(["late", {}]).decode()
    seen = told(
        live, "N", "Runtime.bindingCalled", name="bind", payload=payload, executionContextId=7
    )
    assert [data["part"] for kind, data in seen if kind == "gap.began"] == [
        "element",
        "field",
        "form",
        "text",
    ]


def test_a_page_that_is_prepared_is_told_when_it_is_shown(live: Normaliser) -> None:
    told(
        live,
        "",
        "Target.targetCreated",
        targetInfo={"targetId": "T", "type": "page", "url": "", "title": ""},
    )
    told(
        live,
        "",
        "Target.attachedToTarget",
        sessionId="TAB",
        targetInfo={"targetId": "X", "type": "tab", "url": ""},
    )
    page = {"type": "page", "url": "", "title": ""}
    told(live, "TAB", "Target.attachedToTarget", sessionId="S", targetInfo=page | {"targetId": "T"})
    ready = page | {"targetId": "R", "subtype": "prerender"}
    assert told(live, "", "Target.targetCreated", targetInfo=ready) == []
    told(live, "TAB", "Target.attachedToTarget", sessionId="P", targetInfo=ready)
    frame = {"id": "R", "loaderId": "LR", "url": "https://a.example/next"}
    assert told(live, "P", "Page.frameNavigated", frame=frame) == []
    sent_early = told(live, "P", "Network.requestWillBeSent", **sent("9", frameId="R"))
    assert [(kind, data["tab"], data["frame"]) for kind, data in sent_early] == [
        ("request.sent", "T", "R")
    ]
    seen = told(live, "", "Target.targetInfoChanged", targetInfo=page | {"targetId": "R"})
    assert [(kind, data["tab"], data["frame"]) for kind, data in seen] == [
        ("frame.detached", "T", "T"),
        ("page.navigated", "T", "R"),
    ]
    assert told(live, "", "Target.targetDestroyed", targetId="T") == [], "the tab goes on"
    assert kinds(told(live, "", "Target.targetDestroyed", targetId="R")) == ["tab.closed"]


def test_what_there_was_no_room_for_is_counted_and_told_at_the_fence(fold: Normaliser) -> None:
    """A page that says more than may wait for its document: lost, and on record as lost, once."""
    for _ in range(MAX_HELD + 3):
        assert said(fold, 7, "element.clicked") == []
    [dropped] = fold.fenced()
    assert (dropped.kind, dropped.data["source"], dropped.data["count"]) == (
        "events.dropped",
        "cdp",
        3,
    )
    assert list(fold.fenced()) == []


def test_of_a_page_that_was_never_shown_nothing_is_lost(fold: Normaliser) -> None:
    """Prerendered and dropped: nobody saw it. Shown at last, what there was no room for is
    missed."""
    session = fold.browser.sessions["S"]
    session.hidden = True
    for _ in range(MAX_HELD + 3):
        said(fold, 7, "element.clicked")
    assert list(fold.fenced()) == []
    session.hidden = False
    assert [seen.kind for seen in fold.fenced()] == ["events.dropped"]


CALL = {"method": "POST", "url": "https://a.example/w", "headers": {}}
CALLS = (
    "Network.requestWillBeSent",
    {"requestId": "9", "request": CALL, "loaderId": "L1", "frameId": "T", "type": "Fetch"},
)
IS_LEFT = ("Page.frameNavigated", {"frame": PAGE | {"loaderId": "L2"}})
IS_CLOSED = ("Target.targetDestroyed", {"targetId": "T"})
CRASHES: tuple[str, dict[str, Any]] = ("Inspector.targetCrashed", {})
ANSWERS = ("Page.observed", {"frameId": "T", "loaderId": "L1"})
WORLD = ("Page.createIsolatedWorld", {"frameId": "T", "executionContextId": 7})
TELLS = (
    "Runtime.bindingCalled",
    {"name": "bind", "payload": '["left",{}]', "executionContextId": 7},
)
UNCOUNTED, COUNTED = False, True
Happens = list[tuple[str, dict[str, Any]]]


@pytest.mark.parametrize(
    ("counted", "happens", "gaps"),
    [
        (UNCOUNTED, [CALLS, IS_LEFT], 1),
        (UNCOUNTED, [CALLS, IS_LEFT, IS_LEFT], 1),
        (UNCOUNTED, [IS_LEFT], 0),
        (UNCOUNTED, [(CALLS[0], CALLS[1] | {"type": "Script"}), IS_LEFT], 0),
        (COUNTED, [CALLS, IS_LEFT], 0),
        (UNCOUNTED, [IS_CLOSED], 1),
        (UNCOUNTED, [WORLD, TELLS, IS_CLOSED], 1),
        (COUNTED, [IS_CLOSED], 1),
        (COUNTED, [WORLD, TELLS, IS_CLOSED], 0),
        (COUNTED, [WORLD, TELLS, ANSWERS, IS_CLOSED], 1),
        (UNCOUNTED, [CALLS, CRASHES, IS_CLOSED], 0),
    ],
)
def test_a_document_that_may_have_sent_something_as_it_was_left_is_a_gap(
    live: Normaliser, counted: bool, happens: Happens, gaps: int
) -> None:
    """A first call is counted by the browser, unless its tab is closed (test_first_calls.py)."""
    told(live, "", "Target.targetCreated", targetInfo={"targetId": "T", "type": "page", "url": ""})
    live.browser.guards, live.browser.counts_kept = True, True
    live.browser.counts_calls = counted
    assert _count_gaps(live, happens) == gaps


def test_where_nothing_is_counted_each_document_that_is_left_is_a_gap(live: Normaliser) -> None:
    """One browser context beside others: the browser's counts are not those of its pages."""
    told(live, "", "Target.targetCreated", targetInfo={"targetId": "T", "type": "page", "url": ""})
    live.browser.guards = True
    assert _count_gaps(live, [IS_LEFT]) == 1


@pytest.mark.parametrize("happens", [[CALLS, IS_LEFT], [IS_CLOSED]])
def test_it_is_none_where_no_guard_rests_on_requests(live: Normaliser, happens: Happens) -> None:
    told(live, "", "Target.targetCreated", targetInfo={"targetId": "T", "type": "page", "url": ""})
    assert _count_gaps(live, happens) == 0


def _count_gaps(live: Normaliser, happens: Happens) -> int:
    session = {"Target.targetDestroyed": ""}
    seen = [
        one
        for method, params in happens
        for one in told(live, session.get(method, "S"), method, **params)
    ]
    return [kind for kind, _ in seen].count("gap.began")


def lifecycle(loader: str = "L1", name: str = "init", frame: str = "T") -> dict[str, Any]:
    return {"frameId": frame, "loaderId": loader, "name": name}


def test_a_loader_that_begins_again_is_another_document(fold: Normaliser) -> None:
    """As of a `javascript:` URL; not one that is written anew, which says so just before."""
    assert kinds(told(fold, "S", "Page.lifecycleEvent", **lifecycle())) == []
    told(fold, "S", "Page.frameNavigated", frame=PAGE)
    ((kind, data),) = told(fold, "S", "Page.lifecycleEvent", **lifecycle())
    assert kind == "page.navigated"
    assert (data["url"], data["same_document"], data["loader"]) == (PAGE["url"], False, "L1")
    told(fold, "S", "Page.documentOpened", frame=PAGE)
    assert kinds(told(fold, "S", "Page.lifecycleEvent", **lifecycle())) == []
    # With a gap of what the page may have kept from its observer since.
    assert "page.navigated" in kinds(told(fold, "S", "Page.lifecycleEvent", **lifecycle()))
    told(fold, "S", "Page.documentOpened", frame=PAGE)
    told(fold, "S", "Page.lifecycleEvent", **lifecycle(name="networkIdle"))
    assert "page.navigated" in kinds(told(fold, "S", "Page.lifecycleEvent", **lifecycle()))
    assert kinds(told(fold, "S", "Page.lifecycleEvent", **lifecycle("L2"))) == []


@pytest.mark.parametrize(("moved", "document"), [("cart", PAGE["url"]), ("#top", None)])
def test_a_document_out_of_the_cache_says_from_where_it_was_loaded(
    fold: Normaliser, moved: str, document: str | None
) -> None:
    """Script had put it at another address; another fragment is no other address."""
    here = {**PAGE, "url": PAGE["url"] + moved}
    other = {**PAGE, "loaderId": "L9", "url": "https://a.example/b"}
    told(fold, "S", "Page.frameNavigated", frame=PAGE)
    told(fold, "S", "Page.navigatedWithinDocument", frameId="T", url=here["url"])
    told(fold, "S", "Page.frameNavigated", frame=other)
    seen = told(fold, "S", "Page.frameNavigated", frame=here, type="BackForwardCacheRestore")
    (data,) = [data for kind, data in seen if kind == "page.navigated"]
    assert (data["same_document"], data.get("document")) == (False, document)


@pytest.mark.parametrize("status", [404, 200])
def test_what_replaces_an_error_page_in_place_is_one(fold: Normaliser, status: int) -> None:
    """As by a `javascript:` URL, when the request of the page is long over."""
    request = {"url": PAGE["url"], "method": "GET", "headers": {}}
    about = {"requestId": "L1", "loaderId": "L1", "frameId": "T", "type": "Document"}
    told(fold, "S", "Network.requestWillBeSent", request=request, **about)
    answer = {"status": status, "mimeType": "text/html"}
    told(fold, "S", "Network.responseReceived", requestId="L1", response=answer)
    seen = told(fold, "S", "Page.frameNavigated", frame=PAGE)
    told(fold, "S", "Network.loadingFinished", requestId="L1")
    for _ in range(2):
        told(fold, "S", "Page.lifecycleEvent", **lifecycle())
        seen += told(fold, "S", "Page.lifecycleEvent", **lifecycle())
    said = [data.get("status") for kind, data in seen if kind == "page.navigated"]
    assert len(said) > 2
    assert set(said) == {status if status == 404 else None}
    told(fold, "S", "Page.frameNavigated", frame=PAGE | {"loaderId": "L2"})
    assert fold.browser.frames["T"].status == 0, "another document is another answer"


IN = {"id": "F", "parentId": "T", "loaderId": "LF", "url": "https://a.example/in"}


def frames_back(fold: Normaliser, url: str) -> dict[str, Any]:
    """How a frame, loaded at /in, is told at ``url`` when its page comes out of the cache."""
    told(fold, "S", "Page.frameNavigated", frame=PAGE | {"loaderId": "L9"})
    told(fold, "S", "Page.frameNavigated", frame=PAGE, type="BackForwardCacheRestore")
    tree = {"frame": PAGE, "childFrames": [{"frame": IN | {"url": url}}]}
    ((_, data),) = told(fold, "S", "Page.getFrameTree", frameTree=tree)
    return data


@pytest.mark.parametrize(("moved", "document"), [("https://a.example/cart", IN["url"]), ("", None)])
def test_a_frame_out_of_the_cache_says_from_where_it_was_loaded(
    fold: Normaliser, moved: str, document: str | None
) -> None:
    """No commit is told of it: the frame tree shows it."""
    told(fold, "S", "Page.frameNavigated", frame=PAGE)
    told(fold, "S", "Page.frameNavigated", frame=IN)
    if moved:
        told(fold, "S", "Page.navigatedWithinDocument", frameId="F", url=moved)
    data = frames_back(fold, moved or IN["url"])
    assert (data["same_document"], data.get("document")) == (False, document)


def test_from_where_a_document_was_loaded_is_unknown_once_that_is_forgotten(
    fold: Normaliser,
) -> None:
    """Of one that was there before: replaced in place, or out of the cache; not of a new one."""
    told(fold, "S", "Page.frameNavigated", frame=PAGE)
    told(fold, "S", "Page.frameNavigated", frame=IN)
    told(fold, "S", "Page.lifecycleEvent", **lifecycle())
    fold.browser.documents |= {f"other {n}": PAGE["url"] for n in range(MAX_REMEMBERED)}
    ((_, replaced),) = [
        seen
        for seen in told(fold, "S", "Page.lifecycleEvent", **lifecycle())
        if seen[0] == "page.navigated"
    ]
    assert replaced["document"] == ""
    assert frames_back(fold, "https://a.example/cart")["document"] == ""
    ((_, new),) = told(fold, "S", "Page.frameNavigated", frame=IN | {"id": "G", "loaderId": "LG"})
    assert "document" not in new


def listed(fold: Normaliser, title: str, path: str = "cart", tab: str = "T") -> list[str]:
    """What is told as the browser lists a tab with this title."""
    info = {"targetId": tab, "type": "page", "url": f"https://a.example/{path}", "title": title}
    return titles(told(fold, "", "Target.targetInfoChanged", targetInfo=info))


def titles(seen: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [data.get("title", kind) for kind, data in seen]


CART = PAGE | {"loaderId": "L2", "url": "https://a.example/cart"}


def test_a_listed_title_waits_for_its_document(live: Normaliser) -> None:
    """The browser lists it before the document is heard of: told at once it would be taken for the
    title of the one before, or of none in a new tab."""
    assert listed(live, "", "") == ["tab.opened"]
    assert listed(live, "Cart") == []
    assert titles(told(live, "S", "Page.frameNavigated", frame=CART)) == ["page.navigated", "Cart"]
    assert listed(live, "Your cart", "cart#top") == ["Your cart"]
    assert listed(live, "New", tab="U") == ["tab.opened"]
    info = {"targetId": "U", "type": "page", "url": "", "title": ""}
    told(live, "", "Target.attachedToTarget", sessionId="S2", targetInfo=info)
    moved = told(live, "S2", "Page.frameNavigated", frame=CART | {"id": "U"})
    assert titles(moved)[-2:] == ["page.navigated", "New"]


def test_a_listed_title_waits_until_the_fence_at_most(live: Normaliser) -> None:
    """Or for the next one, or for what the page itself says; it is told once."""
    assert listed(live, "", "") == ["tab.opened"]
    assert listed(live, "Cart") == []
    assert listed(live, "Bill", "bill") == ["Cart"]
    assert titles([(seen.kind, seen.data) for seen in live.fenced()]) == ["Bill"]
    assert listed(live, "Cart") == []
    assert titles(told(live, "S", "Page.frameNavigated", frame=CART)) == ["page.navigated", "Cart"]
    told(live, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    assert titles(said(live, 7, "title", title="Cart")) == []
    assert listed(live, "Bill", "bill") == []
    told(live, "", "Target.targetDestroyed", targetId="T")
    assert list(live.fenced()) == []


@pytest.mark.parametrize("is_live", [True, False])
def test_a_title_of_the_start_is_of_the_start(is_live: bool) -> None:
    """However long its document keeps it waiting; in a log nobody waits."""
    normaliser = Normaliser("bind", "salt", CapturePlan(), live=is_live)
    assert listed(normaliser, "Cart") == (["tab.opened"] if is_live else ["tab.opened", "Cart"])
    rest = [seen.data["baseline"] for seen in normaliser.settle()]
    assert rest == ([True] if is_live else [])


def test_addresses_are_kept_up_to_a_length(fold: Normaliser) -> None:
    """A page gives itself address upon address of 2 MB: 512 of them took a gigabyte. What a
    condition can see of them is kept: that it came from elsewhere, and how it came."""
    end = MAX_ADDRESS + 1
    for number in range(8):
        url = f"https://a.example/{number}/" + "x" * 2_000_000
        began = {"frameId": "T", "loaderId": f"L{number}", "navigationType": "differentDocument"}
        told(fold, "S", "Page.frameStartedNavigating", url=url, **began)
        told(fold, "S", "Page.frameNavigated", frame=PAGE | {"loaderId": f"L{number}", "url": url})
        told(fold, "S", "Page.navigatedWithinDocument", frameId="T", url="https://a.example/p")
        began["navigationType"] = "historySameDocument"
        told(fold, "S", "Page.frameStartedNavigating", url=url, **began)
        [(_, back)] = told(fold, "S", "Page.navigatedWithinDocument", frameId="T", url=url)
        assert bound_addresses("page.navigated", back)["url"] == url[:end]
        assert fold.browser.documents[f"L{number}"] == url[:end]
    kept = [*fold.browser.documents.values(), fold.browser.underway["T"]["url"]]
    assert max(map(len, kept)) == end


@pytest.mark.parametrize("kind", ["page.navigated", "page.loaded", "tab.opened"])
def test_an_address_that_is_told_has_a_length(kind: str) -> None:
    whole = {"url": "https://a.example/" + "x" * MAX_ADDRESS, "same_document": True}
    cut = bound_addresses(kind, whole)
    assert cut == whole | {"url": whole["url"][: MAX_ADDRESS + 1]}  # type: ignore[index]
    assert bound_addresses(kind, cut) == cut
    short = {"url": "https://a.example/" + "x" * 100}
    assert bound_addresses(kind, short) is short
    assert bound_addresses("request.sent", whole) is whole
