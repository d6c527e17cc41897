"""Refusals become named errors; broken connections are tried again, but only where that does no
harm."""

from __future__ import annotations

import json
import socket
from typing import Any

import httpx
import pytest
from milestoned_client import (
    ConflictError,
    Control,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    PeerUnreachableError,
    ProblemError,
    Retry,
    ServiceFaultError,
    TooLargeError,
    TooManyRequestsError,
    UnauthorizedError,
    UnexpectedAnswerError,
    calls,
    exchange,
)
from milestoned_client.exchange import Attempt, Pause, Peers, perform

from tests.client.peer import Peer
from tests.client.test_calls import OPENED, REWARD

STATUS = "/v1/episodes/e1"
OPEN = {
    "episode": "e1", "task": "a", "version": "1", "digest": "d", "labels": {}, "seed": None,
    "status": "open", "through": 4, "head": "h", "at": 9, "step": 0, "success": None, "total": None,
    "opened_at": "2026-11-25T17:00:00Z", "closed_at": None,
}  # fmt: skip


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequestError), (401, UnauthorizedError), (403, ForbiddenError), (404, NotFoundError),
        (409, ConflictError), (413, TooLargeError), (418, ProblemError), (422, InvalidRequestError),
        (501, ServiceFaultError),
    ],
)  # fmt: skip
def test_each_refusal_has_its_own_error(peer: Peer, connect: Any, status: int, kind: type) -> None:
    problem = {
        "type": "https://x/wrong",
        "title": "Wrong",
        "status": status,
        "detail": "step is 7",
        "wanted": 3,
    }
    peer.answer(STATUS, problem, status, {"content-type": "application/problem+json"})
    with pytest.raises(ProblemError) as caught:
        connect(peer.url).episode("e1").status()
    error = caught.value
    assert type(error) is kind
    assert (error.status, error.type, error.title, error.detail) == (
        status,
        "https://x/wrong",
        "Wrong",
        "step is 7",
    )
    assert error.members == {"wanted": 3}
    assert len(peer.asked) == 1, "what is refused for good is not asked again"


@pytest.mark.parametrize("status", [200, 403])
def test_an_answer_that_is_too_deep_to_read_is_an_error_of_the_clients_own(
    peer: Peer, connect: Any, status: int
) -> None:
    peer.answer(STATUS, "[" * 100_000, status)
    with pytest.raises((UnexpectedAnswerError, ForbiddenError)):
        connect(peer.url).episode("e1").status()


def test_a_proxys_page_of_html_is_still_a_problem(peer: Peer, connect: Any) -> None:
    peer.answer(STATUS, "<html>no</html>", 403)
    with pytest.raises(ForbiddenError, match="<html>no</html>"):
        connect(peer.url).episode("e1").status()


def test_a_get_is_asked_again_until_the_service_is_back(peer: Peer, connect: Any) -> None:
    for status in (503, 429, 502):
        peer.answer(STATUS, {}, status)
    peer.answer(STATUS, OPEN)
    assert connect(peer.url).episode("e1").status().through == 4
    assert len(peer.asked) == 4


def test_a_post_keeps_its_key_over_retries_and_the_next_one_has_another(
    peer: Peer, connect: Any
) -> None:
    peer.answer("/v1/episodes", {}, 503)
    peer.answer("/v1/episodes", OPENED, 201)
    peer.answer("/v1/episodes", OPENED, 201)
    client = connect(peer.url)
    client.open("a")
    client.open("a")
    first, again, other = (one.headers["idempotency-key"] for one in peer.asked)
    assert first == again
    assert first != other


def test_retries_end_with_what_the_service_said_last(peer: Peer, connect: Any) -> None:
    for _ in range(5):
        peer.answer(STATUS, {"title": "Busy"}, 429)
    with pytest.raises(TooManyRequestsError, match="Busy"):
        connect(peer.url).episode("e1").status()
    assert len(peer.asked) == 5


def test_nobody_there_is_an_error_that_says_so(connect: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(PeerUnreachableError, match="GET /v1/episodes/e1: ConnectError"):
            connect(url).episode("e1").status()


def _peers(daemon: bool = False, deadline_s: float = 60.0) -> Peers:
    here = Control("http://service", "t")
    return Peers(here, here if daemon else None, Retry(attempts=3), 10.0, deadline_s)


def test_retry_after_is_honoured() -> None:
    flow = perform(_peers(), calls.status("e1"))
    assert isinstance(next(flow), Attempt)
    pause = flow.send(httpx.Response(429, headers={"retry-after": "7"}))
    assert isinstance(pause, Pause)
    assert pause.seconds == 7


def test_a_pause_beyond_the_deadline_is_not_begun() -> None:
    flow = perform(_peers(deadline_s=5.0), calls.status("e1"))
    next(flow)
    with pytest.raises(TooManyRequestsError):
        flow.send(httpx.Response(429, headers={"retry-after": "7"}))


def test_pauses_grow_and_stay_bounded() -> None:
    retry = Retry(first_s=1.0, longest_s=5.0)
    for attempt, top in enumerate((1.0, 2.0, 4.0, 5.0, 5.0), 1):
        assert top / 2 <= retry.pause_s(attempt) <= top


ANSWER = calls.note("e1", "/answers", 1.0, direct=True, text="42")
STEP = calls.note("e1", "/steps", 1.0, direct=True, step=0)


@pytest.mark.parametrize(
    ("call", "fault", "again"),
    [
        (STEP, httpx.ReadError("reset"), True),
        (ANSWER, httpx.ConnectError("refused"), True),
        (ANSWER, httpx.ReadError("reset"), False),
    ],
    ids=["a numbered step", "an answer that never left", "an answer that may have arrived"],
)
def test_to_the_daemon_only_what_can_do_no_harm_is_sent_again(
    call: calls.Call[Any], fault: httpx.TransportError, again: bool
) -> None:
    flow = perform(_peers(daemon=True), call)
    next(flow)
    if again:
        assert isinstance(flow.throw(fault), Pause)
    else:
        with pytest.raises(PeerUnreachableError):
            flow.throw(fault)


def test_a_daemon_that_is_gone_does_not_keep_the_episode_from_closing() -> None:
    flow = exchange.wait_closed(_peers(daemon=True), "e1", None, False, 1.0, direct=True)
    sent = next(flow)
    while not isinstance(sent, Attempt) or sent.url.endswith("/v1/close"):
        sent = next(flow) if isinstance(sent, Pause) else flow.throw(httpx.ConnectError("refused"))
    assert sent.url == "http://service/v1/episodes/e1:close"


def _sse(name: str, seq: int, document: Any) -> str:
    return f"event: {name}\nid: {seq}\ndata: {json.dumps(document)}\n\n"


def test_a_stream_goes_on_after_a_break_and_ends_with_the_episode(peer: Peer, connect: Any) -> None:
    event = {"seq": 1, "at": 0, "source": "steps", "kind": "step.began", "data": {"step": 0}}
    closed = {"seq": 3, "at": 9, "source": "journal", "kind": "episode.closed", "data": {}}
    half = "event: reward\nid: 2\ndata: {"
    peer.answer(f"{STATUS}/stream", ": hello\n\n" + _sse("event", 1, event) + half)
    peer.answer(f"{STATUS}/stream", _sse("reward", 2, REWARD) + _sse("event", 3, closed))
    peer.answer(f"{STATUS}/stream", "", 204)
    items = list(connect(peer.url).episode("e1").stream())
    assert [(one.kind, one.seq) for one in items] == [("event", 1), ("reward", 2), ("event", 3)]
    assert "last-event-id" not in peer.asked[0].headers
    assert peer.asked[1].headers["last-event-id"] == "1", "the half-read reward is asked for again"


def test_a_stream_goes_on_behind_the_last_reward_until_the_service_says_that_it_ended(
    peer: Peer, connect: Any
) -> None:
    """A judge may decide after the end; a connection that ends before that is only a connection."""
    last = {**REWARD, "done": True, "status": "escalating", "reward": None, "mask": True}
    closed = {"seq": 3, "at": 9, "source": "journal", "kind": "episode.closed", "data": {}}
    peer.answer(f"{STATUS}/stream", _sse("event", 3, closed) + _sse("reward", 3, last))
    peer.answer(
        f"{STATUS}/stream",
        _sse("reward", 3, {**REWARD, "done": True}) + _sse("ended", 4, {"through": 3}),
    )
    items = list(connect(peer.url).episode("e1").stream())
    assert [(one.kind, one.seq) for one in items] == [("event", 3), ("reward", 3), ("reward", 3)]
    assert items[-1].item.status == REWARD["status"]
    assert peer.asked[1].headers["last-event-id"] == "3"


def test_a_stream_that_may_not_be_read_says_why(peer: Peer, connect: Any) -> None:
    peer.answer(f"{STATUS}/stream", {"title": "Forbidden"}, 403)
    with pytest.raises(ForbiddenError):
        list(connect(peer.url).episode("e1").stream())


def test_the_last_attempt_ends_with_the_deadline() -> None:
    """Nobody waits longer than they asked: an attempt has what is left until then."""
    flow = perform(_peers(deadline_s=4.0), calls.status("e1"))
    first = next(flow)
    assert isinstance(first, Attempt)
    assert 0 < first.timeout_s <= 4.0
