"""The asyncio client: `AsyncRewardClient` and the `AsyncEpisode` that it opens. The blocking client
is generated from this file (tools/blocking_client.py)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar, Unpack

import httpx

from milestoned_client import calls
from milestoned_client.calls import Call
from milestoned_client.connections import AsyncConnections
from milestoned_client.control import Control, ControlDir
from milestoned_client.curriculum import curriculum
from milestoned_client.episode_lists import EpisodeFilters, list_episodes, sample_episodes
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
    wait_sandbox,
)
from milestoned_client.groups import score_group
from milestoned_client.heartbeat import AsyncHeartbeat
from milestoned_client.json_values import Json, JsonObject
from milestoned_client.models import (
    Advanced,
    Basis,
    Blame,
    Closing,
    CreditTo,
    DrawnEpisodes,
    EpisodePage,
    EpisodeStatus,
    Event,
    Fold,
    Group,
    Hints,
    Lease,
    MaskCause,
    Noted,
    Opened,
    Pick,
    PreferenceLines,
    Readiness,
    Registered,
    Reward,
    Sample,
    Scale,
    Score,
    Sealed,
    StartState,
    TaskProgress,
    Transition,
)
from milestoned_client.numbering import Numbering
from milestoned_client.preferences import read_preferences
from milestoned_client.results import StreamItem
from milestoned_client.saving import save
from milestoned_client.scores import score
from milestoned_client.sse import StreamReader, patient

T = TypeVar("T")


class AsyncRewardClient:
    """Talks to one milestoned service. Close it, or use it as an async context manager.

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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.peers = Peers(Control(url, token), control, retry or Retry(), timeout_s, deadline_s)
        self._connections = AsyncConnections(transport)
        self.heartbeat = AsyncHeartbeat(self.call)

    async def __aenter__(self) -> AsyncRewardClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Give the connections back and send no more heartbeats; episodes stay as they are."""
        await self.heartbeat.close()
        await self._connections.aclose()

    async def register_task(
        self, task: JsonObject | str, values: JsonObject | None = None
    ) -> Registered:
        """Register a task (a mapping, or YAML text). The same task again is fine; a changed one
        needs a new version. ``values``: what a template's parameters are in this one. Raises
        `InvalidRequestError`, `ConflictError`."""
        return await self.call(calls.register_task(task, values))

    async def open(
        self,
        task: str | Registered,
        *,
        version: str | None = None,
        labels: Mapping[str, str | int | float | bool] | None = None,
        seed: int | None = None,
        sandbox: Literal["any"] | Mapping[str, str] | None = None,
        owner_silence_s: float | None = None,
        wait_ready: float | None = None,
        traceparent: str | None = None,
    ) -> AsyncEpisode:
        """Open an episode of a task: as `register_task` gave it, or by its id (its newest version
        unless told); ``sandbox``: have one of the fleet work on it, any or one with these labels.

        ``owner_silence_s``: after how long a silence of this client the service ends the episode,
        masked (0: never; by default the service's, where a sandbox is asked for). Heartbeats go out
        while the client is open and the returned handle is kept. ``traceparent``: the trace that
        the episode is part of (docs/telemetry.md); by default that of the OpenTelemetry span that
        runs here. ``wait_ready``: wait that many
        seconds until a step can begin, as `AsyncEpisode.wait_ready` does. Raises `NotReadyError`,
        whose ``opened`` is the episode.
        """
        opened = await self.call(
            calls.open_episode(task, version, labels, seed, sandbox, owner_silence_s, traceparent)
        )
        episode = AsyncEpisode(self, opened.episode, opened)
        if opened.owner_silence_s is not None:
            self.heartbeat.keep(episode.id, episode, opened.owner_silence_s)
        if wait_ready is not None:
            try:
                await episode.wait_ready(wait_ready)
            except NotReadyError as error:
                error.opened = episode
                raise
        return episode

    def episode(self, episode: str) -> AsyncEpisode:
        """A handle on an episode that was opened elsewhere."""
        return AsyncEpisode(self, episode)

    async def rewards(
        self,
        items: Iterable[tuple[str, int]],
        wait_s: float = 0.0,
        *,
        credit_to: CreditTo = "as_paid",
    ) -> list[Reward | ProblemError]:
        """Many (episode, step) at once, in order; each gives its reward or the problem that it has.

        ``credit_to="cause"``: with `credit`, what the step set in motion credited to it once the
        episode is closed."""
        return await self.call(calls.rewards(items, wait_s, credit_to))

    async def score(
        self,
        samples: Iterable[Sample],
        *,
        fold: Fold = "sum",
        gamma: float = 1.0,
        min_known: float = 0.5,
        mask_causes: Iterable[MaskCause] = (),
        wait_s: float = 10.0,
    ) -> list[Score | ProblemError]:
        """Many samples at once, in order: episodes, steps, answers alone; each gives its score or
        its problem. What failed for one of ``mask_causes`` has no reward, unless a penalty was
        observed."""
        return await self.call(score(samples, wait_s, fold, gamma, min_known, mask_causes))

    async def score_group(
        self,
        episodes: Iterable[str],
        *,
        fold: Fold = "sum",
        gamma: float = 1.0,
        min_known: float = 0.5,
        advantages: Basis = "rank",
        scale: Scale = "std",
        ask_tiers: bool = True,
        mask_causes: Iterable[MaskCause] = (),
        wait_s: float = 10.0,
    ) -> Group:
        """Rank 2 to 256 episodes of one task by what the rules paid, ties by the task's tiers.

        ``advantages`` are normalised over the known episodes: (x - mean) / std of the score of the
        rank, or of the reward. A group that is not ``complete`` in time has no ranks yet.
        """
        return await self.call(
            score_group(
                episodes,
                wait_s,
                fold=fold,
                gamma=gamma,
                min_known=min_known,
                advantages=advantages,
                scale=scale,
                ask_tiers=ask_tiers,
                mask_causes=mask_causes,
            )
        )

    async def list_episodes(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Unpack[EpisodeFilters]
    ) -> EpisodePage:
        """Read a page of at most ``limit`` (1 to 500) episodes. ``cursor``: `next` of the page
        before."""
        return await self.call(list_episodes(filters, limit, cursor))

    async def curriculum(
        self, *, policy: str | None = None, group: str = "group", window: int = 200
    ) -> tuple[TaskProgress, ...]:
        """Read how a policy does on each task; `CurriculumSampler` draws tasks by the weights.

        ``policy``: the value of the label `policy`; ``group``: the label that names an episode's
        group; ``window``: of each task its newest closed episodes, 1 to 10,000.
        """
        return (await self.call(curriculum(policy, group, window))).tasks

    async def sample_episodes(
        self,
        task: str,
        n: int,
        *,
        pick: Pick = "any",
        seed: int = 0,
        near: float = 0.5,
        label: str | None = None,
    ) -> DrawnEpisodes:
        """Draw ``n`` (1 to 1,000) closed episodes of a task; the same seed draws the same ones.

        ``near``: the share of what the task can pay that makes a failure a near miss; ``label``:
        ``KEY=VALUE``.
        """
        call = sample_episodes(task, n, pick=pick, seed=seed, near=near, label=label)
        return await self.call(call)

    async def preferences(
        self,
        task: str | None = None,
        *,
        version: str | None = None,
        labels: Mapping[str, str] | None = None,
        weights: Mapping[str, float] | None = None,
    ) -> PreferenceLines:
        """Read what a reward model can be trained on of at most 2,000 closed episodes: people's
        labels, the rules' decisions of the goal and the judge's verdicts of it.

        ``task``, ``version`` and ``labels`` choose the episodes; ``weights``: what a pair by a
        ``rule`` (1) or a ``judge`` (0.5, times its confidence) weighs. A recording that a line
        names is that of `AsyncEpisode.recording`.
        """
        return await self.call(read_preferences(task, version, labels, weights))

    async def call(self, call: Call[T]) -> T:
        """Carry one call out, with its retries."""
        return await self.run(perform(self.peers, call))

    async def run(self, flow: Flow[T]) -> T:
        """Carry a flow out: send what it yields, pause where it pauses."""
        answer: httpx.Response | None = None
        try:
            wanted = flow.send(None)
            while True:
                if isinstance(wanted, Pause):
                    await asyncio.sleep(wanted.seconds)
                    answer = None
                else:
                    try:
                        answer = await self._send(wanted)
                    except httpx.TransportError as error:
                        wanted = flow.throw(error)
                        continue
                wanted = flow.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    async def _send(self, attempt: Attempt) -> httpx.Response:
        http, url = self._connections.route(attempt.url)
        return await http.request(
            attempt.method,
            url,
            params=attempt.params,
            headers=attempt.headers,
            content=attempt.content,
            timeout=attempt.timeout_s,
        )

    async def stream_lines(self, reader: StreamReader) -> AsyncIterator[StreamItem]:
        """Follow a stream over broken connections until its end, `ended`. Raises
        `PeerUnreachableError`."""
        while not reader.ended:
            attempt = reader.attempt(self.peers)
            failed = False
            try:
                async with self._connections.http.stream(
                    attempt.method, attempt.url, headers=attempt.headers, timeout=patient(attempt)
                ) as response:
                    reader.connected(
                        response, b"" if response.is_success else await response.aread()
                    )
                    async for line in response.aiter_lines():
                        for item in reader.feed(line):
                            yield item
                        if reader.ended:
                            return
            except httpx.TransportError as error:
                failed = True
                cause = error
            pause = reader.pause_s(self.peers.retry, failed)
            if pause < 0:
                raise PeerUnreachableError(f"the stream broke again and again: {cause}") from cause
            await asyncio.sleep(pause)


class AsyncEpisode:
    """One episode. ``token`` and ``plan`` are there only where this client opened it."""

    def __init__(
        self, client: AsyncRewardClient, episode: str, opened: Opened | None = None
    ) -> None:
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
    def plan(self) -> JsonObject:
        """What the daemon may know of the task. Raises `LookupError` on an episode of others."""
        if self.opened is None:
            raise LookupError(
                f"episode {self.id} was opened elsewhere; only its opener was told the plan"
            )
        return self.opened.plan

    async def status(self) -> EpisodeStatus:
        """Ask where the episode stands: its last step, whether it is closed."""
        return await self._client.call(calls.status(self.id))

    async def sandbox(
        self, *, wait_s: float = 0.0, until: Literal["held", "ready"] = "ready"
    ) -> Lease:
        """Which sandbox of the fleet the episode has, once a step can begin in it; after ``wait_s``
        seconds the lease as it is, whose ``ready`` and ``waiting`` (source: reason) say what it
        still waits for.

        ``until="held"``: return as soon as there is one, as for a harness that has to start the
        browser at its address first.
        """
        return await self._client.run(wait_sandbox(self._client.peers, self.id, wait_s, until))

    async def readiness(self, *, wait_s: float = 0.0) -> Readiness:
        """Whether every source of its daemon sees; waits for that at most ``wait_s``."""
        return await self._client.call(calls.ready(self.id, wait_s))

    async def wait_ready(self, wait_s: float = 60.0) -> Readiness:
        """Wait until every source of its daemon sees, so that the first step is observed, wherever
        the daemon runs.

        Raises `NotReadyError`, which names what it still waits for after ``wait_s`` seconds.
        """
        return await self._client.run(wait_ready(self._client.peers, self.id, wait_s))

    async def step(
        self, action: Json = None, *, step: int | None = None, wait_s: float = 10.0
    ) -> Noted:
        """Begin the next step, with what the agent is about to do (any JSON).

        Where it is ``queued`` after ``wait_s`` seconds, it has not begun, and what the agent does
        counts in the step before: begin it again with its number, which gives the same answer.
        """
        step = self._numbering.next(step)
        return self._numbering.began(
            await self._note("/steps", wait_s, step=step, action=action), step
        )

    async def end_step(self, step: int | None = None, *, wait_s: float = 10.0) -> Noted:
        """The current step's action is done; the daemon waits for its effects and seals it."""
        return await self._note(f"/steps/{self._numbering.current(step)}:end", wait_s)

    async def seal_step(self, step: int | None = None, *, wait_s: float = 10.0) -> Sealed:
        """End the current step, and get its reward.

        It is `end_step` and `reward` in one request, for a harness that needs the reward before it
        knows its next action. After ``wait_s`` seconds the reward may be ``settling``.
        """
        ending = self._numbering.current(step)
        if self._client.peers.daemon is not None:
            noted = await self.end_step(ending, wait_s=wait_s)
            reward = await self.reward(ending, wait_s=wait_s)
            return Sealed(noted.command, noted.step, reward, noted.seq, noted.status)
        return await self._client.call(calls.seal(self.id, ending, wait_s))

    async def advance(
        self, action: Json = None, *, step: int | None = None, wait_s: float = 10.0
    ) -> Advanced:
        """End the current step, begin the next with ``action``, and get the ended one's reward.

        It is `end_step`, `reward` and `step` in one request, for a harness that knows its next
        action before it needs the last reward. After ``wait_s`` seconds the step that begins may
        be ``queued``, and the reward ``settling``.
        """
        ending = self._numbering.current(step)
        if self._client.peers.daemon is not None:
            await self.end_step(ending, wait_s=wait_s)
            reward = await self.reward(ending, wait_s=wait_s)
            noted = await self.step(action, step=ending + 1, wait_s=wait_s)
            return Advanced(noted.command, noted.step, reward, noted.seq, noted.status)
        advanced = await self._client.call(calls.advance(self.id, ending, action, wait_s))
        return self._numbering.began(advanced, ending + 1)

    async def answer(self, text: str, *, wait_s: float = 10.0) -> Noted:
        """Report the final answer of the agent to the task."""
        return await self._note("/answers", wait_s, text=text)

    async def submit_evidence(
        self,
        criterion: str,
        events: Sequence[int] = (),
        pictures: Sequence[str] = (),
        *,
        wait_s: float = 10.0,
    ) -> Noted:
        """Point to what shows that a criterion of the task's rubric is met: numbers of ``events``,
        sha256 of ``pictures``. A judge sees them as a claim."""
        pointers: dict[str, Json] = {"events": list(events), "pictures": list(pictures)}
        call = calls.note(
            self.id, "/evidence", wait_s, direct=False, criterion=criterion, **pointers
        )
        return await self._client.call(call)

    async def tool_called(
        self, call: str, tool: str, arguments: JsonObject, *, wait_s: float = 10.0
    ) -> Noted:
        """The agent calls a tool; ``call`` is the harness's id of this call."""
        return await self._note(
            "/tools:call", wait_s, call=call, tool=tool, arguments=dict(arguments)
        )

    async def tool_returned(
        self,
        call: str,
        *,
        ok: bool,
        result: Json = None,
        error: str | None = None,
        wait_s: float = 10.0,
    ) -> Noted:
        """Report what a tool call of the agent returned."""
        return await self._note(
            "/tools:return", wait_s, call=call, ok=ok, result=result, error=error
        )

    async def _note(self, what: str, wait_s: float, **body: Json) -> Noted:
        direct = self._client.peers.daemon is not None
        return await self._client.call(calls.note(self.id, what, wait_s, direct=direct, **body))

    async def reward(self, step: int, *, wait_s: float = 30.0) -> Reward:
        """The step's reward; after ``wait_s`` seconds without its seal it is ``settling`` and
        masked."""
        return await self._client.run(wait_reward(self._client.peers, self.id, step, wait_s))

    async def close(
        self, reason: str | None = None, *, truncated: bool = False, wait_s: float = 30.0
    ) -> Closing:
        """Close the episode and wait until all is decided; after ``wait_s`` its status is
        ``closing``.

        ``truncated``: it was cut off, as at a limit of steps, and its last state is no end of the
        task."""
        direct = self._client.peers.daemon is not None
        closing = await self._client.run(
            wait_closed(self._client.peers, self.id, reason, truncated, wait_s, direct)
        )
        self._client.heartbeat.kept.drop([self.id])
        return closing

    async def trajectory(
        self,
        *,
        credit_to: CreditTo = "as_paid",
        mask_causes: Iterable[MaskCause] = (),
        drop_causes: Iterable[MaskCause] = (),
        shape_by: calls.ShapingTier = "none",
        gamma: float = 1.0,
    ) -> list[Transition]:
        """The episode as (o, a, r, o') tuples; ``credit_to`` is the view that `credit` is of,
        ``shape_by`` whose scores of steps each `shaping` is of, under the trainer's ``gamma``.

        A step that failed for one of ``mask_causes`` has no reward, for one of ``drop_causes`` it
        is left out; a step in which a penalty was observed stays as it is.
        """
        return await self._client.call(
            calls.trajectory(self.id, credit_to, mask_causes, drop_causes, shape_by, gamma)
        )

    async def blame(self) -> Blame:
        """Why the episode failed, and each of its steps; ``cause`` is None where it did not."""
        return await self._client.call(calls.blame(self.id))

    async def hints(self) -> Hints:
        """What came nearest to each milestone that is not reached yet, with a token of the scope
        `hints`; from then on the episode counts as guided."""
        return await self._client.call(calls.hints(self.id))

    async def start_state(self) -> StartState:
        """How the episode began; ``findings`` say what is unlike the task's other episodes."""
        return await self._client.call(calls.start_state(self.id))

    async def events(
        self, after: int = 0, *, limit: int | None = None, kind: str | None = None
    ) -> list[Event]:
        """Events after number ``after``, oldest first, at most ``limit`` (or as many as a page
        holds)."""
        return await self._client.call(calls.events(self.id, after, limit, kind))

    def stream(self, after: int | None = None) -> AsyncIterator[StreamItem]:
        """Events, milestones and rewards as they come, until it is closed and every judge has had
        its last word.

        Where a judge is asked that may be a while after the close; who wants no more than the log
        leaves earlier.
        """
        return self._client.stream_lines(StreamReader(self.id, after))

    async def recording(self, target: str | os.PathLike[str]) -> int:
        """Save the recording (``.mrec``) as ``target``; gives its size in bytes."""
        return save(await self._client.call(calls.recording(self.id)), Path(target))

    async def screenshot(self, sha256: str) -> bytes:
        """The picture that an observation of the trajectory names, in its own format."""
        return await self._client.call(calls.screenshot(self.id, sha256))
