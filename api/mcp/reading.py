"""What the tools read of a service, over its own wire: with the caller's token, of its tenant."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx

from api.replay.recordings import RecordingError
from api.replay.task_tests import read_log
from api.rewards.explaining import Explained, of_events
from api.tasks.task_files import BadTaskError, check_task
from common.scratch import scratch_folder
from detectors.model.codec import CodecError
from detectors.task.ruleset import compile_task

MAX_RECORDING = 64 << 20
"""Bytes of an episode's recording that is explained."""
Query = Mapping[str, str | int | float | None]


class ReadingError(Exception):
    """What was asked for cannot be read; the text says why, for the agent that asked."""


class NearMisses(NamedTuple):
    """What each milestone of an episode waits for and what became of it."""

    milestones: list[Explained]
    total: float | None
    success: bool | None


class ServiceReader:
    """Asks a running service, by GET alone."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def get(self, path: str, query: Query | None = None) -> dict[str, Any]:
        """Return a document of the service. Raises `ReadingError`."""
        given = {name: value for name, value in (query or {}).items() if value is not None}
        try:
            answer = await self._http.get(path, params=given)
        except httpx.HTTPError as error:
            raise ReadingError(_unreachable(error)) from None
        if not answer.is_success:
            raise ReadingError(_describe_refusal(answer))
        document: dict[str, object] = answer.json()
        return document

    async def episode(self, episode: str, below: str = "", query: Query | None = None) -> Any:
        """Return a document of one episode. Raises `ReadingError`."""
        return await self.get(f"/v1/episodes/{quote(episode, safe='')}{below}", query)

    async def near_misses(self, episode: str) -> NearMisses:
        """Explain an episode's log by its task's own rules, here. Raises `ReadingError`."""
        status = await self.episode(episode)
        task = await self.get(f"/v1/tasks/{quote(status['task'])}", {"version": status["version"]})
        recording = await self._recording(episode)
        try:
            return await asyncio.to_thread(_explain, task["task"], recording, episode)
        except (BadTaskError, RecordingError, CodecError) as error:
            raise ReadingError(f"the episode cannot be explained here: {error}") from None

    async def _recording(self, episode: str) -> bytes:
        """Read an episode's recording, up to a bound. Raises `ReadingError`."""
        recording = bytearray()
        path = f"/v1/episodes/{quote(episode, safe='')}/recording"
        try:
            async with self._http.stream("GET", path) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise ReadingError(_describe_refusal(answer))
                async for part in answer.aiter_raw():
                    recording += part
                    if len(recording) > MAX_RECORDING:
                        raise ReadingError(f"recording: more than {MAX_RECORDING} bytes")
        except httpx.HTTPError as error:
            raise ReadingError(_unreachable(error)) from None
        return bytes(recording)


def _explain(task: object, recording: bytes, episode: str) -> NearMisses:
    with scratch_folder("milestoned-mcp-") as folder:
        file = folder / "episode.mrec"
        file.write_bytes(recording)
        events, verdicts = read_log(file)
    rules = compile_task(check_task(task))
    explained, playback = of_events(rules, events, episode, verdicts)
    return NearMisses(explained, playback.total, playback.success)


def _unreachable(error: httpx.HTTPError) -> str:
    return f"the service could not be asked: {str(error) or type(error).__name__}"


def _describe_refusal(answer: httpx.Response) -> str:
    try:
        detail = str(answer.json()["detail"])
    except (ValueError, KeyError, TypeError):
        detail = answer.text[:300]
    return f"the service answered {answer.status_code}: {detail}"
