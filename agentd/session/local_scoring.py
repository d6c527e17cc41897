"""Local scoring: with ``--edge TASK`` the daemon scores its own journal and records it there.

A hint and nothing more: the service pays what it computed itself, and shows where the two differ.
Most daemons are not given the rules at all; who gives them lets nobody but the daemon's user read
the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import structlog

from agentd.core.errors import UsageError
from agentd.journal.recorder import Recorder
from common.regular_file import NotRegularError, read_regular
from detectors.matchers.faults import describe_consequence
from detectors.model.errors import DetectorError
from detectors.model.optional_values import drop_keys
from detectors.model.types import Event

if TYPE_CHECKING:
    from detectors.task.ruleset import Ruleset

SEALING = ("step.sealed", "step.began")
"""What may seal a step. After `episode.closed` nothing follows, so a closing step has no hint."""

log = structlog.get_logger(__name__)

MAX_TASK = 16 << 20
"""Bytes of a task's file."""


def load_rules(path: Path, option: str = "--edge") -> Ruleset:
    """Load the rules of a task's file, YAML or JSON, or of what the service answers (``GET
    /v1/tasks/ID``). A template is filled with its values, or with its examples.

    Raises `UsageError`, which names the ``option`` that the path was given by.
    """
    try:
        return _compile(path)
    except ImportError as error:
        raise UsageError(f"{option}: {error}; wanted: pip install 'milestoned[api]'") from None
    except OSError as error:
        raise UsageError(f"{option} {path}: {error.strerror}; wanted a task's file") from None
    except (DetectorError, NotRegularError, ValueError) as error:
        raise UsageError(f"{option} {path}: {error}") from None


def _compile(path: Path) -> Ruleset:
    """Read a task's file, with the rules of plug-ins that are installed, and compile it."""
    # What rules are made of comes with the extra `api`: a daemon without a task does without.
    from detectors.sdk.plugins import GROUP, FoundPlugin, take
    from detectors.task.ruleset import compile_task
    from detectors.task.task_json import task_from_json
    from detectors.task.templates import fill_template

    # The service may score by rules of others; a hint that is made without them would be another.
    take(
        FoundPlugin(entry.name, entry.dist.name, entry.dist.version, entry.load)
        for entry in entry_points(group=GROUP)
        if entry.dist
    )
    task = _read_task(read_regular(path, MAX_TASK))
    return compile_task(task_from_json(fill_template(task)))


def _read_task(content: bytes) -> Any:
    """Read a task as the service answers it, in JSON, or as its author wrote it, in YAML. Raises
    `ValueError`."""
    from common.yaml_text import read_yaml

    is_json = content.lstrip()[:1] == b"{"
    read = orjson.loads(content) if is_json else read_yaml(content.decode())[0]
    if not isinstance(read, dict):
        return read
    task = read.get("task", read)
    if not isinstance(task, dict):
        return task
    return drop_keys(task, ("tests",))


class Edge:
    """Scores each step of ``recorder``'s journal once it is sealed."""

    def __init__(self, recorder: Recorder, rules: Ruleset) -> None:
        from detectors.engine.engine import Engine

        self._recorder = recorder
        self._engine = Engine(rules, recorder.journal.episode)
        self._said: set[int] = set()
        self._stopped = False
        recorder.listen(self._on_event)

    def _on_event(self, source: str, kind: str) -> None:
        """Compute rewards soon after an event that seals a step."""
        if kind in SEALING and not self._stopped:
            asyncio.get_running_loop().call_soon(self._compute)

    def _compute(self) -> None:
        """Feed what is on disk to the engine, and record what each newly sealed step is worth."""
        if self._stopped or not self._recorder.flush():
            return  # on a full disk: with the next seal
        try:
            outcome = self._engine.feed(self._events())
        except DetectorError as error:
            self._stopped = True
            log.warning(
                "The edge computes no more: the journal does not have all events.", why=str(error)
            )
            return
        for alarm in outcome.alarms:
            consequence = describe_consequence(alarm.error)
            log.warning(
                f"A matcher failed on a text from agent or page; {consequence}.",
                **alarm._asdict(),
            )
        for reward in outcome.rewards:
            if reward.step not in self._said:
                data = {"step": reward.step, "reward": reward.reward, "digest": reward.digest}
                self._recorder.append("journal", "reward.estimated", data)

    def _events(self) -> Iterator[Event]:
        """Yield the events that the engine has not seen; estimates among them were said before a
        restart."""
        journal = self._recorder.journal
        for event in journal.events(after=self._engine.through):
            if event.kind == "reward.estimated":
                self._said.add(event.data["step"])  # by the daemon before a restart
            yield event
