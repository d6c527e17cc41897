"""Reads an episode's server-sent events, and knows where to go on after a broken connection. No
I/O."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx

from milestoned_client import calls
from milestoned_client.errors import UnexpectedAnswerError, problem_from_body
from milestoned_client.exchange import Attempt, Peers, Retry
from milestoned_client.json_values import JsonObject
from milestoned_client.results import StreamItem, read_stream_item

_GAVE_UP_AFTER = 10


class StreamReader:
    """The state of one stream over all its connections: the last id, the half-read event, the
    end."""

    def __init__(self, episode: str, after: int | None) -> None:
        self._path = calls.episode_path(episode, "/stream")
        self._last_id = "" if after is None else str(after)
        self._name = ""
        self._data: list[str] = []
        self._id = self._last_id
        self._failures = 0
        self.ended = False
        """True once the service has said that everything was sent: also what a model or a judge
        decided late."""

    def attempt(self, peers: Peers) -> Attempt:
        """The request that goes on after the last event that was read whole."""
        url, token = peers.service.locate()
        headers = {"authorization": f"Bearer {token}", "accept": "text/event-stream"}
        if self._last_id:
            headers["last-event-id"] = self._last_id
        self._name, self._data, self._id = "", [], self._last_id
        return Attempt("GET", url + self._path, headers, {}, None, peers.timeout_s)

    def connected(self, response: httpx.Response, body: bytes) -> None:
        """Check the answer's head; ``body`` is that of a refusal. Raises `ProblemError`."""
        if response.status_code == 204:
            self.ended = True
        elif not response.is_success:
            raise problem_from_body(response.status_code, response.reason_phrase, body)

    def pause_s(self, retry: Retry, failed: bool) -> float:
        """How long (seconds) to pause before the next connection; -1 to give up."""
        self._failures = self._failures + 1 if failed else 0
        return -1.0 if self._failures >= _GAVE_UP_AFTER else retry.pause_s(max(1, self._failures))

    def feed(self, line: str) -> Iterator[StreamItem]:
        """Read one line, without its end; yields the event that it completes."""
        if not line:
            yield from self._dispatch()
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value

    def _dispatch(self) -> Iterator[StreamItem]:
        name, data, self._name, self._data = self._name, self._data, "", []
        self._last_id = self._id
        if not data:
            return
        self._failures = 0
        if name == "ended":
            self.ended = True
            return
        yield read_stream_item(name, _number(self._last_id), _document(data))


def _number(last_id: str) -> int | None:
    return int(last_id) if last_id.isdecimal() else None


def _document(data: list[str]) -> JsonObject:
    try:
        document = json.loads("\n".join(data))
    except (ValueError, RecursionError) as error:
        raise UnexpectedAnswerError(f"a streamed event is not JSON: {error}") from error
    return document if isinstance(document, dict) else {"value": document}


def patient(attempt: Attempt) -> httpx.Timeout:
    """Nothing may happen in an episode for a long time: reading waits as long as it takes."""
    return httpx.Timeout(attempt.timeout_s, read=None)
