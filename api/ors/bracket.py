"""Steps of a service around the tool calls of another environment server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
import structlog

from detectors.model.rewards import total

WAIT_MS = 45_000
"""How long a reward may take to be sealed."""
MAX_EPISODES = 10_000
"""Episodes that are not asked for again."""
MASKED = "milestoned:masked"
"""The service's word for a score that is null for its cause."""
UNREACHABLE = "milestoned could not be asked: {}"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StepPay:
    """What a step was worth to milestoned; ``reward`` None: ``metadata`` says why."""

    reward: float | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BracketSettings:
    """What the episodes are opened of. ``scope`` tells the sessions of one proxy from another's.

    ``mask_causes``: an episode that failed for one of these causes is paid null at its end.
    """

    task: str
    version: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    sandbox: Mapping[str, str] = field(default_factory=dict)
    scope: str = ""
    mask_causes: Sequence[str] = ()


class StepBrackets:
    """Opens an episode a session, and a step a tool call.

    Nothing has to be remembered: an episode is found again by its Idempotency-Key, and the step of
    a call that is taken up again is the one that began last. No failure here is one of the call: it
    is told as a reward that is not known. So a call whose step could not begin has none: the step
    that began last is an earlier call's, which was paid.
    """

    def __init__(self, http: httpx.AsyncClient, settings: BracketSettings) -> None:
        self._http, self._settings = http, settings
        self._episodes: dict[str, str] = {}
        self._not_begun: dict[str, str] = {}
        """Session → why the step of its call could not begin, until that call ends."""

    async def open(self, sid: str) -> str:
        """Return the episode of a session, opened when it is asked for first. Raises
        `httpx.HTTPError`."""
        if sid in self._episodes:
            return self._episodes[sid]
        settings = self._settings
        body = {
            "task": settings.task,
            "version": settings.version,
            "labels": {**settings.labels, "ors_session": sid},
            "sandbox": dict(settings.sandbox) or "any",
        }
        key = f"ors-proxy {settings.scope} {sid}"[:255]
        opened = await self._ask("POST", "/v1/episodes", body, {"idempotency-key": key})
        if len(self._episodes) >= MAX_EPISODES:
            self._episodes.clear()
        self._episodes[sid] = str(opened["episode"])
        return self._episodes[sid]

    async def begin(self, sid: str, action: Any) -> None:
        """Begin a step before a tool call."""
        try:
            episode = await self.open(sid)
            body = {"action": action, "wait_ms": WAIT_MS}
            await self._ask("POST", f"/v1/episodes/{quote(episode)}/steps", body)
            self._not_begun.pop(sid, None)
        except httpx.HTTPError as error:
            self._not_begun[sid] = _describe_error(error)
            log.warning("A step could not begin.", session=sid, why=self._not_begun[sid])

    async def end(self, sid: str, *, is_last: bool) -> StepPay:
        """End the step that runs and return its reward, with that of the close if ``is_last``."""
        not_begun = self._not_begun.pop(sid, None)
        if not_begun is not None:
            reason = f"the step could not begin: {UNREACHABLE.format(not_begun)}"
            return StepPay(None, _metadata(None, None, "unobserved", reason, ()))
        try:
            episode = await self.open(sid)
            status = await self._ask("GET", f"/v1/episodes/{quote(episode)}")
            step = status["step"]
            if step is None:
                reason = "no daemon of the episode has taken a step"
                return StepPay(None, _metadata(episode, None, "unobserved", reason, ()))
            return await self._end_step(episode, step, is_last)
        except httpx.HTTPError as error:
            reason = UNREACHABLE.format(_describe_error(error))
            log.warning("A step has no reward.", session=sid, why=reason)
            return StepPay(None, _metadata(None, None, "unobserved", reason, ()))

    async def close(self, sid: str) -> None:
        """Close the episode of a session."""
        self._not_begun.pop(sid, None)
        try:
            episode = await self.open(sid)
            body = {"reason": "the session was deleted", "wait_ms": 0}
            await self._ask("POST", f"/v1/episodes/{quote(episode)}:close", body)
        except httpx.HTTPError as error:
            log.warning("An episode could not be closed.", session=sid, why=_describe_error(error))

    async def _end_step(self, episode: str, step: int, is_last: bool) -> StepPay:
        """End a step, with the last one the episode too, and return what it paid; null where a part
        is not known."""
        path = f"/v1/episodes/{quote(episode)}"
        try:
            await self._ask("POST", f"{path}/steps/{step}:end", {"wait_ms": WAIT_MS})
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.CONFLICT:
                raise  # else another step began or the episode was closed: the step is complete
        reward = await self._ask("GET", f"{path}/steps/{step}/reward?wait_ms={WAIT_MS}")
        rewards = [reward]
        if is_last:
            closed = await self._ask(
                "POST", f"{path}:close", {"reason": "the episode finished", "wait_ms": WAIT_MS}
            )
            later = [one for one in closed.get("rewards", ()) if one["step"] >= step]
            rewards = later or rewards
        unknown = next((one for one in rewards if one["reward"] is None), None)
        if unknown is not None:
            return StepPay(
                None, _metadata(episode, step, unknown["status"], unknown["reason"], rewards)
            )
        masked = await self._find_mask(episode) if is_last else None
        if masked is not None:
            return StepPay(None, _metadata(episode, step, "masked", masked, rewards))
        value = total([one["reward"] for one in rewards])
        return StepPay(value, _metadata(episode, step, "sealed", None, rewards))

    async def _find_mask(self, episode: str) -> str | None:
        """Return why an episode that is over is masked as a whole, None where it is not. Raises
        `httpx.HTTPError`."""
        causes = list(self._settings.mask_causes)
        if not causes:
            return None
        body = {"samples": [{"episode": episode}], "mask_causes": causes, "wait_ms": WAIT_MS}
        (score,) = (await self._ask("POST", "/v1/score", body))["results"]
        reason: str | None = score["failure_reason"]
        return reason if score["failure_kind"] == MASKED else None

    async def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Return the service's answer. Raises `httpx.HTTPError`."""
        answer = await self._http.request(method, path, json=body, headers=headers)
        answer.raise_for_status()
        document: dict[str, Any] = answer.json()
        return document


def _metadata(
    episode: str | None, step: int | None, status: str, reason: str | None, rewards: Any
) -> dict[str, Any]:
    return {
        "episode": episode,
        "step": step,
        "status": status,
        "reason": reason,
        "mask": status != "sealed",
        "rewards": list(rewards),
    }


def _describe_error(error: httpx.HTTPError) -> str:
    """Return an error of HTTP in words: the answer's, or the connection's."""
    if isinstance(error, httpx.HTTPStatusError):
        return f"{error.response.status_code} {error.response.text[:300]}"
    return str(error) or type(error).__name__
