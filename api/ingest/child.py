"""A process beside the service: it opens large segments, detects in them, and tells what is to be
written.

It keeps the engines that it was handed. The service says where an episode stands with every
segment, so an engine that stands elsewhere (what it worked out last was never written) is of no use
and is not used.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
import time
from dataclasses import replace
from typing import Any, BinaryIO

from api.core.errors import ProblemError
from api.core.frames import read_appended, stated_size
from api.core.gc_tuning import spare
from api.core.settings import Limits
from api.episodes.position import EpisodePosition
from api.ingest.advance import advance
from api.ingest.engine_size import EngineSize
from api.ingest.stored_frames import feed_frame
from api.ingest.wire import (
    LENGTH,
    OUT_OF_MEMORY,
    Answer,
    Handed,
    SegmentRequest,
    SegmentResult,
    pack_message,
    unpack_message,
)
from api.rewards.scored_episode import ruleset_of
from api.tasks.plugins import load_plugins
from detectors.engine.engine import Engine
from detectors.model.caches import SizedCache
from detectors.model.errors import DetectorError

NICE = 5
"""Whoever waits for a reward waits for the service's own process: that goes first."""


class Detecting:
    """What one process does."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._engines: SizedCache[str, tuple[Engine, str, EngineSize]] = SizedCache(
            limits.engines_bytes
        )

    def answer(self, asked: SegmentRequest) -> Answer:
        """Feed a segment to its episode's engine."""
        try:
            segment = read_appended(asked.frame, asked.episode, self._limits)
        except ProblemError as problem:
            return problem
        bare = replace(segment, events=())
        if not asked.at.continued_by(segment):
            return SegmentResult(bare, None)
        engine, size = self._restore_engine(asked.episode, asked.at, asked.handed)
        if engine is None:
            return None
        found = advance(engine, asked.at, segment, asked.now)
        if not found.standing.closed:
            size.grow(engine, stated_size(asked.frame))
            self._engines.put(
                asked.episode,
                (engine, segment.digest, size),
                size.bytes,
                engine.ruleset.shared,
            )
        return SegmentResult(bare, found)

    def _restore_engine(
        self, episode: str, at: EpisodePosition, handed: Handed | None
    ) -> tuple[Engine | None, EngineSize]:
        """Return the engine at this position: the one that is kept, or one built from what was
        handed over; None for neither."""
        engine, head, size = self._engines.get(episode) or (None, "", EngineSize())
        self._engines.drop(episode)
        if handed is not None:
            try:
                engine = _build_engine(episode, handed)
            except DetectorError:
                # Other plug-ins than the service has, or a stored state that is of no use.
                return None, EngineSize()
            return (engine if engine.through == at.through else None), EngineSize()
        # A segment's digest is of all before it, too.
        return (engine if head == at.head else None), size


def _build_engine(episode: str, handed: Handed) -> Engine:
    """Build the engine that was handed over. Raises `DetectorError`."""
    rules = ruleset_of(handed.task)
    engine = Engine.load(rules, handed.state) if handed.state else Engine(rules, episode)
    for frame in handed.frames:
        feed_frame(engine, frame)
    return engine


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer until whoever asks is gone."""
    load_plugins()
    limits: Limits | None = None
    while (message := _read(requests)) is not None:
        if limits is None:
            limits, told = message, None
            detecting = Detecting(limits)
            _bound_memory(limits.detection_bytes)
            spare()
        else:
            _bound(resource.RLIMIT_CPU, int(time.process_time()) + 1 + limits.detection_cpu_s)
            told = detecting.answer(message)
        answers.write(pack_message(told))
        answers.flush()


def _read(requests: BinaryIO) -> Any:
    """Return the next request, None at the end."""
    head = requests.read(LENGTH.size)
    body = requests.read(LENGTH.unpack(head)[0]) if len(head) == LENGTH.size else b""
    return unpack_message(body) if body else None


def _bound_memory(most: int) -> None:
    """``most`` bytes beside what is mapped now: beyond it the kernel gives none, and the process
    ends."""
    with open("/proc/self/statm", encoding="ascii") as told:
        mapped = int(told.read().split()[0]) * resource.getpagesize()
    _bound(resource.RLIMIT_AS, mapped + most)


def _bound(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard < 0 else min(most, hard), hard))


def main() -> None:
    """Serve on the socket whose number is the only argument."""
    os.nice(NICE)
    _bound(resource.RLIMIT_CORE, 0)
    try:
        with (
            socket.socket(fileno=int(sys.argv[1])) as held,
            held.makefile("rb") as requests,
            held.makefile("wb") as answers,
        ):
            serve(requests, answers)
    except (MemoryError, ImportError, SystemError):
        # A library that is imported when it is needed can't be mapped; or C code that got no memory
        # failed without an exception of its own, which Python reports as a SystemError.
        os._exit(OUT_OF_MEMORY)  # nothing is tidied up: that could want memory


if __name__ == "__main__":
    main()
