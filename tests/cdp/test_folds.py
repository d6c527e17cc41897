"""Single messages through the folds: what is told once, what waits, what is ignored."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agentd.sources.cdp.asks import Asks
from agentd.sources.cdp.normaliser import Normaliser

PAGE = {"id": "T", "loaderId": "L1", "url": "https://a.example/"}


@pytest.fixture
def fold() -> Normaliser:
    """A browser with one tab T, attached as session S, its baseline told."""
    normaliser = Normaliser("bind", "salt", Asks(request_body=lambda _: True))
    info = {"targetId": "T", "type": "page", "url": "", "title": ""}
    told(normaliser, "", "Target.targetCreated", targetInfo=info)
    told(normaliser, "", "Target.attachedToTarget", sessionId="S", targetInfo=info)
    normaliser.browser.settled = True
    return normaliser


def told(fold: Normaliser, session: str, method: str, **params: Any) -> list[tuple[str, dict[str, Any]]]:
    return [(seen.kind, seen.data) for seen in fold.feed(session, method, params)]


def kinds(seen: list[tuple[str, dict[str, Any]]]) -> list[str]:
    return [kind for kind, _ in seen]


def said(fold: Normaliser, context: int, kind: str, **data: Any) -> list[tuple[str, dict[str, Any]]]:
    payload = orjson.dumps([kind, data]).decode()
    return told(fold, "S", "Runtime.bindingCalled", name="bind", payload=payload, executionContextId=context)


def test_a_missed_commit_is_reconciled_and_told_once(fold: Normaliser) -> None:
    [(kind, data)] = told(fold, "S", "Page.getFrameTree", frameTree={"frame": PAGE})
    assert (kind, data["reconciled"]) == ("page.navigated", True)
    assert told(fold, "S", "Page.frameNavigated", frame=PAGE) == []
    assert kinds(told(fold, "S", "Page.frameNavigated", frame=PAGE | {"loaderId": "L2"})) == ["page.navigated"]


def test_a_heard_commit_is_not_reconciled(fold: Normaliser) -> None:
    [(_, data)] = told(fold, "S", "Page.frameNavigated", frame=PAGE)
    assert "reconciled" not in data
    assert told(fold, "S", "Page.getFrameTree", frameTree={"frame": PAGE}) == []


def test_the_pages_own_address_after_its_load_is_no_navigation(fold: Normaliser) -> None:
    told(fold, "S", "Page.frameNavigated", frame=PAGE)
    assert told(fold, "S", "Page.navigatedWithinDocument", frameId="T", url=PAGE["url"]) == []
    [(_, data)] = told(fold, "S", "Page.navigatedWithinDocument", frameId="T", url=PAGE["url"] + "#a")
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
    told(fold, "", "Target.attachedToTarget", sessionId="O", targetInfo={"targetId": "F", "type": "iframe", "url": ""})
    inner = {"id": "F", "parentId": "T", "loaderId": "LF", "url": "https://b.example/"}
    [(_, data)] = told(fold, "O", "Page.getFrameTree", frameTree={"frame": inner})
    assert data["main"] is False
    assert kinds(told(fold, "S", "Page.getFrameTree", frameTree={"frame": PAGE})) == ["page.navigated"]
    assert "F" in fold.browser.frames


def test_what_a_context_says_waits_until_its_frame_is_known(fold: Normaliser) -> None:
    told(fold, "S", "Page.frameNavigated", frame=PAGE)
    assert said(fold, 7, "element.clicked", element={"role": "button"}, trusted=True) == []
    seen = told(fold, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    assert seen == [("element.clicked", {"tab": "T", "frame": "T", "element": {"role": "button"}, "trusted": True})]


def test_another_binding_is_not_ours(fold: Normaliser) -> None:
    told(fold, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    payload = '["element.clicked", {"trusted": true}]'
    assert told(fold, "S", "Runtime.bindingCalled", name="x", payload=payload, executionContextId=7) == []


def test_fields_without_a_name_here_and_of_the_wrong_type_are_left_out(fold: Normaliser) -> None:
    told(fold, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    [(_, data)] = said(fold, 7, "element.clicked", element={"role": "x", "extra": 1, "id": 3}, trusted="yes", more=1)
    assert data == {"tab": "T", "frame": "T", "element": {"role": "x"}}
    assert said(fold, 7, "page.navigated", url="https://forged.example/") == []


def test_what_the_page_could_not_keep_is_recorded_as_lost(fold: Normaliser) -> None:
    told(fold, "S", "Page.createIsolatedWorld", frameId="T", executionContextId=7)
    [(kind, data)] = said(fold, 7, "dropped", count=12)
    assert (kind, data["count"]) == ("journal.dropped", 12)


def sent(number: str, **more: Any) -> dict[str, Any]:
    request = {"url": "https://a.example/order", "method": "POST", "headers": {}, "hasPostData": True}
    return {"requestId": number, "frameId": "T", "type": "Fetch", "request": request} | more


def test_a_body_that_comes_late_holds_up_only_its_own_request(fold: Normaliser) -> None:
    assert kinds(told(fold, "S", "Network.requestWillBeSent", **sent("1"))) == ["request.sent"]
    assert [one.number for one in fold.network.take_missing()] == ["1"]
    answer = {"status": 302, "headers": {"Location": "/done"}}
    hop = {"url": "https://a.example/done", "method": "GET", "headers": {}}
    assert told(fold, "S", "Network.requestWillBeSent", **sent("1", request=hop, redirectResponse=answer)) == []
    told(fold, "S", "Network.responseReceived", requestId="1", response={"status": 200, "mimeType": "text/html"})
    assert told(fold, "S", "Network.loadingFinished", requestId="1") == []
    assert kinds(told(fold, "S", "Page.frameNavigated", frame=PAGE)) == ["page.navigated"]
    seen = told(fold, "S", "Network.getRequestPostData", requestId="1", postData="a=1")
    assert kinds(seen) == ["request.redirected", "request.sent", "request.finished"]
    assert seen[0][1]["body"] == seen[2][1]["hops"][0]["body"] == {"text": "a=1"}
    assert "body" not in seen[2][1]


def test_a_body_that_cannot_be_had_is_left_out(fold: Normaliser) -> None:
    told(fold, "S", "Network.requestWillBeSent", **sent("1"))
    told(fold, "S", "Network.responseReceived", requestId="1", response={"status": 200})
    told(fold, "S", "Network.loadingFinished", requestId="1")
    [(kind, data)] = told(fold, "S", "Network.getRequestPostData", requestId="1")
    assert kind == "request.finished"
    assert "body" not in data


def test_the_table_of_requests_is_bounded(fold: Normaliser) -> None:
    for number in range(5000):
        told(fold, "S", "Network.requestWillBeSent", **sent(str(number)))
    assert len(fold.network._requests) <= 4096


def test_the_browsers_own_pages_are_no_tabs(fold: Normaliser) -> None:
    for url, kind in (("devtools://x", "page"), ("chrome-extension://x", "page"), ("https://a", "browser_ui")):
        info = {"targetId": "U", "type": kind, "url": url, "title": ""}
        assert told(fold, "", "Target.targetCreated", targetInfo=info) == []
