"""The blocking client: `RewardClient` and the `Episode` that it opens."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, TypeVar

import httpx

from milestoned_client import calls
from milestoned_client.calls import Call
from milestoned_client.control import Control, ControlDir
from milestoned_client.errors import NotReadyError, PeerUnreachableError, ProblemError
from milestoned_client.exchange import (
    Attempt,
    Flow,
    Pause,
    Peers,
    Retry,
    perform,
    wait_closed,
    wait_ready,
    wait_reward,
)
from milestoned_client.numbering import Numbering
from milestoned_client.results import (
    Closing,
    CreditTo,
    EpisodeStatus,
    Event,
    Lease,
    Noted,
    Opened,
    Readiness,
    Registered,
    Reward,
    StreamItem,
    Transition,
)
from milestoned_client.saving import save
from milestoned_client.scores import Fold, Sample, Score, score
from milestoned_client.sockets import socket_of
from milestoned_client.sse import StreamReader, patient

T = TypeVar("T")


class RewardClient:
    """Talks to one milestoned service. Thread-safe; close it, or use it as a context manager.

    ``token``: one of scope trainer (or read, which can only read). ``timeout_s``: how long one
    answer may take; ``deadline_s``: how long one call may take with all its retries; both come on
    top of a ``wait_s``. ``control``: the daemon's control port, if this runs beside it; steps then
    go there directly.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        control: Control | ControlDir | None = None,
        timeout_s: float = 10.0,
        deadline_s: float = 60.0,
        retry: Retry | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.peers = Peers(Control(url, token), control, retry or Retry(), timeout_s, deadline_s)
        self._http = httpx.Client(transport=transport)
        self._sockets: dict[str, httpx.Client] = {}
        self._opening = threading.Lock()

    def __enter__(self) -> RewardClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the connections back; episodes stay as they are."""
        for one in (self._http, *self._sockets.values()):
            one.close()

    def register_task(self, task: Mapping[str, Any] | str) -> Registered:
        """Register a task (a mapping, or YAML text). The same task again is fine; a changed one
        needs a new version. Raises `InvalidRequestError`, `ConflictError`."""
        return self.call(calls.register_task(task))

    def open(
        self,
        task: str | Registered,
        *,
        version: str | None = None,
        labels: Mapping[str, str | int | float | bool] | None = None,
        seed: int | None = None,
        sandbox: Literal["any"] | Mapping[str, str] | None = None,
        wait_ready: float | None = None,
    ) -> Episode:
        """Open an episode of a task: as `register_task` gave it, or by its id (its newest version
        unless told); ``sandbox``: have one of the fleet work on it, any or one with these labels.

        ``wait_ready``: wait that many seconds until a step can begin, as `Episode.wait_ready` does.
        Raises `NotReadyError`, whose ``opened`` is the episode.
        """
        opened = self.call(calls.open_episode(task, version, labels, seed, sandbox))
        episode = Episode(self, opened.episode, opened)
        if wait_ready is not None:
            try:
                episode.wait_ready(wait_ready)
            except NotReadyError as error:
                error.opened = episode
                raise
        return episode

    def episode(self, episode: str) -> Episode:
        """A handle on an episode that was opened elsewhere."""
        return Episode(self, episode)

    def rewards(
        self,
        items: Iterable[tuple[str, int]],
        wait_s: float = 0.0,
        *,
        credit_to: CreditTo = "as_paid",
    ) -> list[Reward | ProblemError]:
        """Many (episode, step) at once, in order; each gives its reward or the problem that it has.

        ``credit_to="cause"``: with `credit`, what the step set in motion credited to it once the
        episode is closed."""
        return self.call(calls.rewards(items, wait_s, credit_to))

    def score(
        self,
        samples: Iterable[Sample],
        *,
        fold: Fold = "sum",
        gamma: float = 1.0,
        min_known: float = 0.5,
        wait_s: float = 10.0,
    ) -> list[Score | ProblemError]:
        """Many samples at once, in order: episodes, steps, answers alone; each gives its score or
        its problem."""
        return self.call(score(samples, wait_s, fold, gamma, min_known))

    def call(self, call: Call[T]) -> T:
        """Carry one call out, with its retries."""
        return self.run(perform(self.peers, call))

    def run(self, flow: Flow[T]) -> T:
        """Carry a flow out: send what it yields, pause where it pauses."""
        answer: httpx.Response | None = None
        try:
            wanted = flow.send(None)
            while True:
                if isinstance(wanted, Pause):
                    time.sleep(wanted.seconds)
                    answer = None
                else:
                    try:
                        answer = self._send(wanted)
                    except httpx.TransportError as error:
                        wanted = flow.throw(error)
                        continue
                wanted = flow.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    def _send(self, attempt: Attempt) -> httpx.Response:
        path, url = socket_of(attempt.url)
        http = self._http if path is None else self._over(path)
        return http.request(
            attempt.method,
            url,
            params=attempt.params,
            headers=attempt.headers,
            content=attempt.content,
            timeout=attempt.timeout_s,
        )

    def _over(self, path: str) -> httpx.Client:
        with self._opening:
            if path not in self._sockets:
                self._sockets[path] = httpx.Client(transport=httpx.HTTPTransport(uds=path))
            return self._sockets[path]

    def stream_lines(self, reader: StreamReader) -> Iterator[StreamItem]:
        """Follow a stream over broken connections until its end, `ended`. Raises
        `PeerUnreachableError`."""
        while not reader.ended:
            attempt = reader.attempt(self.peers)
            failed = False
            try:
                with self._http.stream(
                    attempt.method, attempt.url, headers=attempt.headers, timeout=patient(attempt)
                ) as response:
                    reader.connected(response, b"" if response.is_success else response.read())
                    for line in response.iter_lines():
                        yield from reader.feed(line)
                        if reader.ended:
                            return
            except httpx.TransportError as error:
                failed = True
                cause = error
            pause = reader.pause_s(self.peers.retry, failed)
            if pause < 0:
                raise PeerUnreachableError(f"the stream broke again and again: {cause}") from cause
            time.sleep(pause)


class Episode:
    """One episode. ``token`` and ``plan`` are there only where this client opened it."""

    def __init__(self, client: RewardClient, episode: str, opened: Opened | None = None) -> None:
        self._client = client
        self._numbering = Numbering(opened is not None)
        self.id = episode
        self.opened = opened

    @property
    def token(self) -> str:
        """What the daemon needs to append to this episode. Raises `LookupError` on an episode of
        others."""
        if self.opened is None:
            raise LookupError(
                f"episode {self.id} was opened elsewhere; only its opener was told the token"
            )
        return self.opened.token

    @property
    def plan(self) -> Mapping[str, Any]:
        """What the daemon may know of the task. Raises `LookupError` on an episode of others."""
        if self.opened is None:
            raise LookupError(
                f"episode {self.id} was opened elsewhere; only its opener was told the plan"
            )
        return self.opened.plan

    def status(self) -> EpisodeStatus:
        """Where the episode stands."""
        return self._client.call(calls.status(self.id))

    def sandbox(self, *, wait_s: float = 0.0) -> Lease:
        """Which sandbox of the fleet the episode has; waits for one at most ``wait_s``."""
        return self._client.call(calls.sandbox(self.id, wait_s))

    def readiness(self, *, wait_s: float = 0.0) -> Readiness:
        """Whether every source of its daemon sees; waits for that at most ``wait_s``."""
        return self._client.call(calls.ready(self.id, wait_s))

    def wait_ready(self, wait_s: float = 60.0) -> Readiness:
        """Wait until every source of its daemon sees, so that the first step is observed, wherever
        the daemon runs.

        Raises `NotReadyError`, which names what it still waits for after ``wait_s`` seconds.
        """
        return self._client.run(wait_ready(self._client.peers, self.id, wait_s))

    def step(self, action: Any = None, *, step: int | None = None, wait_s: float = 10.0) -> Noted:
        """Begin the next step, with what the agent is about to do (any JSON)."""
        step = self._numbering.next(step)
        return self._numbering.began(self._note("/steps", wait_s, step=step, action=action), step)

    def end_step(self, step: int | None = None, *, wait_s: float = 10.0) -> Noted:
        """The current step's action is done; the daemon waits for its effects and seals it."""
        return self._note(f"/steps/{self._numbering.current(step)}:end", wait_s)

    def answer(self, text: str, *, wait_s: float = 10.0) -> Noted:
        """The agent's final answer."""
        return self._note("/answers", wait_s, text=text)

    def tool_called(
        self, call: str, tool: str, arguments: Mapping[str, Any], *, wait_s: float = 10.0
    ) -> Noted:
        """The agent calls a tool; ``call`` is the harness's id of this call."""
        return self._note("/tools:call", wait_s, call=call, tool=tool, arguments=dict(arguments))

    def tool_returned(
        self,
        call: str,
        *,
        ok: bool,
        result: Any = None,
        error: str | None = None,
        wait_s: float = 10.0,
    ) -> Noted:
        """The tool came back."""
        return self._note("/tools:return", wait_s, call=call, ok=ok, result=result, error=error)

    def _note(self, what: str, wait_s: float, **body: Any) -> Noted:
        direct = self._client.peers.daemon is not None
        return self._client.call(calls.note(self.id, what, wait_s, direct=direct, **body))

    def reward(self, step: int, *, wait_s: float = 30.0) -> Reward:
        """The step's reward; after ``wait_s`` seconds without its seal it is ``settling`` and
        masked."""
        return self._client.run(wait_reward(self._client.peers, self.id, step, wait_s))

    def close(
        self, reason: str | None = None, *, truncated: bool = False, wait_s: float = 30.0
    ) -> Closing:
        """Close the episode and wait until all is decided; after ``wait_s`` its status is
        ``closing``.

        ``truncated``: it was cut off, as at a limit of steps, and its last state is no end of the
        task."""
        direct = self._client.peers.daemon is not None
        return self._client.run(
            wait_closed(self._client.peers, self.id, reason, truncated, wait_s, direct)
        )

    def trajectory(self, *, credit_to: CreditTo = "as_paid") -> list[Transition]:
        """The episode as (o, a, r, o') tuples; ``credit_to`` is the view that `credit` is of."""
        return self._client.call(calls.trajectory(self.id, credit_to))

    def events(
        self, after: int = 0, *, limit: int | None = None, kind: str | None = None
    ) -> list[Event]:
        """Events after number ``after``, oldest first, at most ``limit`` (or as many as a page
        holds)."""
        return self._client.call(calls.events(self.id, after, limit, kind))

    def stream(self, after: int | None = None) -> Iterator[StreamItem]:
        """Events, milestones and rewards as they come, until it is closed and every judge has had
        its last word.

        Where a judge is asked that may be a while after the close; who wants no more than the log
        leaves earlier.
        """
        return self._client.stream_lines(StreamReader(self.id, after))

    def recording(self, target: str | os.PathLike[str]) -> int:
        """Save the recording (``.mrec``) as ``target``; gives its size in bytes."""
        return save(self._client.call(calls.recording(self.id)), Path(target))
