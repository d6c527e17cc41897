"""Every call of the wire as a value: what is sent, what may be sent again, how the answer is read.

No I/O here; the sync and the async client share all of it.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeAlias, TypeVar
from urllib.parse import quote

from milestoned_client.errors import ProblemError
from milestoned_client.json_values import Json, JsonObject
from milestoned_client.models import (
    Advanced,
    Blame,
    Closing,
    CreditTo,
    EpisodeStatus,
    Event,
    Hints,
    Lease,
    MaskCause,
    Noted,
    Opened,
    Readiness,
    Registered,
    Reward,
    Sealed,
    StartState,
    Transition,
)
from milestoned_client.results import Model, read_entry, read_list, read_model, read_object

T = TypeVar("T")
Parse = Callable[[Json, bytes], T]
"""Makes a call's result of the answer's JSON and its bytes."""

MAX_POLL_S = 25.0
"""How long one request may wait at the service; longer waits are several requests."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One logical call. ``wait_s``: how long the peer may hold the answer back, beyond the usual
    timeout.

    ``key`` is minted once and kept over retries, so the service does the work once. ``repeatable``
    is false for what must not be sent again when nobody knows whether it arrived. ``raw``: the
    answer is bytes, not JSON. ``traceparent``: the trace and span that the call is made in.
    """

    method: Literal["GET", "POST"]
    path: str
    parse: Parse[T]
    params: Mapping[str, str | int] = field(default_factory=dict)
    content: bytes | None = None
    content_type: str = "application/json"
    wait_s: float = 0.0
    key: str | None = None
    repeatable: bool = True
    peer: Literal["service", "daemon"] = "service"
    raw: bool = False
    traceparent: str | None = None

    def headers(self, token: str) -> dict[str, str]:
        """The headers of every attempt of this call."""
        headers = {
            "authorization": f"Bearer {token}",
            "accept": "application/json, application/problem+json",
        }
        if self.content is not None:
            headers["content-type"] = self.content_type
        if self.key is not None:
            headers["idempotency-key"] = self.key
        if self.traceparent is not None:
            headers["traceparent"] = self.traceparent
        return headers


def milliseconds(seconds: float) -> int:
    """The wire counts in milliseconds; one request never waits longer than `MAX_POLL_S`."""
    return max(0, round(min(seconds, MAX_POLL_S) * 1000))


def get(path: str, parse: Parse[T], wait_s: float = 0.0, **params: str | int | None) -> Call[T]:
    """A GET; parameters that are None are left out."""
    given = {name: value for name, value in params.items() if value is not None}
    return Call("GET", path, parse, given, wait_s=min(wait_s, MAX_POLL_S))


def post(path: str, parse: Parse[T], wait_s: float = 0.0, **body: Json) -> Call[T]:
    """A POST to the service with a fresh Idempotency-Key; members that are None are left out."""
    return Call(
        "POST",
        path,
        parse,
        content=_encode(body),
        wait_s=min(wait_s, MAX_POLL_S),
        key=uuid.uuid4().hex,
    )


def _encode(body: JsonObject) -> bytes:
    return json.dumps({name: value for name, value in body.items() if value is not None}).encode()


def decode_as(model: type[Model]) -> Parse[Model]:
    """Return what makes a ``model`` of a call's answer."""
    return lambda document, _body: read_model(model, document)


def _decode_list(name: str, model: type[Model]) -> Parse[list[Model]]:
    return lambda document, _body: [read_model(model, item) for item in read_list(document, name)]


def register_task(task: JsonObject | str, values: JsonObject | None) -> Call[Registered]:
    """Register a task: a mapping goes as JSON, a string as the YAML that it is; ``values`` fill a
    template."""
    if isinstance(task, str):
        if values is not None:
            # JSON is YAML; a line of its own is a key of the document.
            task = f"{task.rstrip()}\nvalues: {json.dumps(dict(values))}\n"
        content, kind = task.encode(), "application/yaml"
    else:
        filled = dict(task) if values is None else {**task, "values": dict(values)}
        content, kind = json.dumps(filled).encode(), "application/json"
    return Call(
        "POST",
        "/v1/tasks",
        decode_as(Registered),
        content=content,
        content_type=kind,
        key=uuid.uuid4().hex,
    )


def open_episode(
    task: str | Registered,
    version: str | None,
    labels: JsonObject | None,
    seed: int | None,
    sandbox: Literal["any"] | Mapping[str, str] | None,
    owner_silence_s: float | None = None,
    traceparent: str | None = None,
) -> Call[Opened]:
    """Open an episode of a registered task; of one as it was registered in that version, whatever
    came after it. ``traceparent`` None: the span of OpenTelemetry that runs here, if there is
    one."""
    if isinstance(task, Registered):
        version, task = version or task.version, task.id
    labels = None if labels is None else dict(labels)
    wanted = dict(sandbox) if isinstance(sandbox, Mapping) else sandbox
    call = post(
        "/v1/episodes",
        decode_as(Opened),
        task=task,
        version=version,
        labels=labels,
        seed=seed,
        sandbox=wanted,
        owner_silence_s=owner_silence_s,
    )
    return replace(call, traceparent=traceparent or current_traceparent())


def current_traceparent() -> str | None:
    """Return the span of OpenTelemetry that runs here, as the header `traceparent`; None without
    one. A process that has not imported OpenTelemetry has no span."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    span = trace.get_current_span().get_span_context()
    if not span.is_valid:
        return None
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{int(span.trace_flags):02x}"


def heartbeat(episodes: Sequence[str]) -> Call[Mapping[str, str]]:
    """Tell the service that the owner of these episodes is alive; the status of each."""

    def parse(document: Json, _body: bytes) -> Mapping[str, str]:
        statuses = read_object("episodes", read_object("heartbeat", document).get("episodes"))
        return {id: str(status) for id, status in statuses.items()}

    return post("/v1/episodes:heartbeat", parse, episodes=list(episodes))


def episode_path(episode: str, rest: str = "") -> str:
    """The path of an episode, its id quoted."""
    return f"/v1/episodes/{quote(episode, safe='')}{rest}"


def status(episode: str) -> Call[EpisodeStatus]:
    """The call that asks where the episode stands."""
    return get(episode_path(episode), decode_as(EpisodeStatus))


def sandbox(episode: str, wait_s: float, until: Literal["held", "ready"]) -> Call[Lease]:
    """Which sandbox of the fleet the episode has; the service waits at most ``wait_s``."""
    return get(
        episode_path(episode, "/sandbox"),
        decode_as(Lease),
        wait_s,
        wait_ms=milliseconds(wait_s),
        until=until,
    )


def ready(episode: str, wait_s: float) -> Call[Readiness]:
    """Whether every source of the episode's daemon sees; the service waits for that at most
    ``wait_s``."""
    return get(
        episode_path(episode, "/ready"), decode_as(Readiness), wait_s, wait_ms=milliseconds(wait_s)
    )


def note(episode: str, what: str, wait_s: float, *, direct: bool, **body: Json) -> Call[Noted]:
    """A step boundary, answer or tool call: to the daemon itself (``direct``) or by the service's
    queue.

    The daemon answers a step that it already has with the same numbers, so those may be sent again.
    """
    if not direct:
        return post(
            episode_path(episode, what),
            decode_as(Noted),
            wait_s,
            **body,
            wait_ms=milliseconds(wait_s),
        )
    numbered = body.get("step") is not None or what.endswith(":end")
    return Call(
        "POST",
        f"/v1{what}",
        # The daemon has no queue, so its answer has no command.
        lambda document, _body: read_model(Noted, document, command=None),
        content=_encode(body),
        wait_s=wait_s,
        key=uuid.uuid4().hex,
        repeatable=numbered,
        peer="daemon",
    )


def advance(episode: str, step: int, action: Json, wait_s: float) -> Call[Advanced]:
    """The end of a step, the beginning of the next one, and the reward of the first."""
    return post(
        episode_path(episode, f"/steps/{step}:advance"),
        decode_as(Advanced),
        wait_s,
        action=action,
        wait_ms=milliseconds(wait_s),
    )


def seal(episode: str, step: int, wait_s: float) -> Call[Sealed]:
    """The end of a step, and its reward."""
    return post(
        episode_path(episode, f"/steps/{step}:seal"),
        decode_as(Sealed),
        wait_s,
        wait_ms=milliseconds(wait_s),
    )


def reward(episode: str, step: int, wait_s: float) -> Call[Reward]:
    """One step's reward; the service waits for the seal at most ``wait_s``."""
    return get(
        episode_path(episode, f"/steps/{step}/reward"),
        lambda document, body: read_model(Reward, document, body=body),
        wait_s,
        wait_ms=milliseconds(wait_s),
    )


def rewards(
    items: Iterable[tuple[str, int]], wait_s: float, credit_to: CreditTo = "as_paid"
) -> Call[list[Reward | ProblemError]]:
    """Many steps' rewards at once, in the order asked; each is a reward or the problem that it
    has."""
    wanted: list[Json] = [{"episode": episode, "step": step} for episode, step in items]

    def parse(document: Json, _body: bytes) -> list[Reward | ProblemError]:
        return [read_entry(Reward, item) for item in read_list(document, "rewards")]

    return post(
        "/v1/rewards:query",
        parse,
        wait_s,
        items=wanted,
        wait_ms=milliseconds(wait_s),
        credit_to=credit_to,
    )


def close(episode: str, reason: str | None, truncated: bool, wait_s: float) -> Call[Closing]:
    """Close the episode; answered once its last event is in the log, or with ``closing``."""

    def parse(document: Json, _body: bytes) -> Closing:
        return read_model(Closing, {"episode": episode, **read_object("Closing", document)})

    return post(
        episode_path(episode, ":close"),
        parse,
        wait_s,
        reason=reason,
        truncated=truncated or None,
        wait_ms=milliseconds(wait_s),
    )


def close_direct(reason: str | None, truncated: bool) -> Call[None]:
    """Ask the daemon itself to close; closing twice is closing once."""
    said = _encode({"reason": reason, "truncated": truncated or None})
    return Call("POST", "/v1/close", lambda _d, _b: None, content=said, peer="daemon")


def events(episode: str, after: int, limit: int | None, kind: str | None) -> Call[list[Event]]:
    """Events after number ``after``, oldest first."""
    path = episode_path(episode, "/events")
    return get(path, _decode_list("events", Event), after=after, limit=limit, kind=kind)


ShapingTier: TypeAlias = Literal["none", "model", "judge"]
"""Whose scores of steps are a potential."""


def trajectory(
    episode: str,
    credit_to: CreditTo = "as_paid",
    mask_causes: Iterable[MaskCause] = (),
    drop_causes: Iterable[MaskCause] = (),
    shape_by: ShapingTier = "none",
    gamma: float = 1.0,
) -> Call[list[Transition]]:
    """The episode as (o, a, r, o') tuples, one a step."""
    return get(
        episode_path(episode, "/trajectory"),
        _decode_list("steps", Transition),
        credit_to=credit_to,
        mask_causes=",".join(mask_causes) or None,
        drop_causes=",".join(drop_causes) or None,
        shape_by=None if shape_by == "none" else shape_by,
        gamma=None if shape_by == "none" else repr(gamma),
    )


def blame(episode: str) -> Call[Blame]:
    """Why the episode failed, and each of its steps."""
    return get(episode_path(episode, "/blame"), decode_as(Blame))


def start_state(episode: str) -> Call[StartState]:
    """How the episode began, beside the others of its task."""
    return get(episode_path(episode, "/start"), decode_as(StartState))


def recording(episode: str) -> Call[bytes]:
    """The recording: the stored segments' zstd frames, one after the other."""
    return Call("GET", episode_path(episode, "/recording"), lambda _document, body: body, raw=True)


def hints(episode: str) -> Call[Hints]:
    """What came nearest to each milestone that is not reached yet."""
    return get(episode_path(episode, "/hints"), decode_as(Hints))


def screenshot(episode: str, sha256: str) -> Call[bytes]:
    """A screenshot of the episode's log, as the daemon took it."""
    path = episode_path(episode, f"/screenshots/{quote(sha256, safe='')}")
    return Call("GET", path, lambda _document, body: body, raw=True)
