"""The parts of an ATIF trajectory that become events, each checked: what is wrong is refused by its
path in the file.

The format is RFC 0001 of Harbor ("Agent Trajectory Interchange Format", versions 1.0 to 1.8).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from detectors.model.json_value import JsonObject, JsonValue, read_object
from detectors.model.optional_values import without_none
from lab.convert.errors import ConvertError, format_value
from lab.convert.source import SourceFile
from lab.convert.times import iso_to_ns

VERSIONS = tuple(f"ATIF-v1.{minor}" for minor in range(9))
SOURCES = ("system", "user", "agent")
_NAME = re.compile(r"ATIF-v[0-9.]{1,20}")
_ERROR_FLAGS = ("is_error", "tool_result_is_error")
"""Members of a result's `extra` by which Harbor's converters say that a call failed."""


@dataclass(frozen=True, slots=True)
class AtifCall:
    """A tool call; ``where`` is its path in the file."""

    where: str
    id: str
    tool: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class AtifResult:
    """What a tool call came back with. ``ok``: whether it succeeded, None where nothing says so."""

    where: str
    call: str
    ok: bool | None
    content: JsonValue


@dataclass(frozen=True, slots=True)
class AtifStep:
    """One step. ``at``: nanoseconds since 1970, None without a timestamp; ``extra``: what an export
    of this project left in it."""

    where: str
    is_agent: bool
    at: int | None
    message: str
    calls: Sequence[AtifCall]
    results: Sequence[AtifResult]
    extra: JsonObject


@dataclass(frozen=True, slots=True)
class AtifTrajectory:
    """A trajectory that was read. ``is_continued``: its end stands in another file; ``is_ours``: it
    was exported by this project, so that its answers are marked."""

    version: str
    steps: Sequence[AtifStep]
    is_continued: bool
    is_ours: bool


def is_trajectory(value: JsonValue) -> bool:
    """Whether a file's value says of itself that it is a trajectory."""
    if not isinstance(value, dict):
        return False
    version = value.get("schema_version")
    return isinstance(version, str) and _NAME.fullmatch(version) is not None and "steps" in value


def read_trajectory(source: SourceFile) -> AtifTrajectory:
    """Read and check the trajectory. Raises `ConvertError`."""
    return _TrajectoryReader(source).trajectory()


class _TrajectoryReader:
    def __init__(self, source: SourceFile) -> None:
        self._source = source

    def trajectory(self) -> AtifTrajectory:
        """Read the whole file. Raises `ConvertError` that names the place."""
        value = self._object("", self._source.value, "wanted an object, an ATIF trajectory")
        version = value.get("schema_version")
        if version not in VERSIONS:
            wanted = f"wanted one of {VERSIONS[0]} to {VERSIONS[-1]}"
            raise self._wrong("schema_version", format_value(version), wanted)
        agent = self._object("agent", value.get("agent"))
        self._text("agent.name", agent.get("name"))
        self._text("agent.version", agent.get("version"))
        steps = value.get("steps")
        if not isinstance(steps, list) or not steps:
            raise self._wrong("steps", format_value(steps), "wanted a list of at least one step")
        read = [self._step(number, step) for number, step in enumerate(steps)]
        own = self._own_extra("extra", value.get("extra"))
        return AtifTrajectory(
            version=str(version),
            steps=without_none(read),
            is_continued=value.get("continued_trajectory_ref") is not None,
            is_ours=bool(own),
        )

    def _step(self, number: int, value: JsonValue) -> AtifStep | None:
        """Read a step; None for one that was copied from another trajectory."""
        where = f"steps[{number}]"
        step = self._object(where, value)
        if step.get("step_id") != number + 1 or isinstance(step.get("step_id"), bool):
            wanted = f"wanted {number + 1}, the steps in order from 1"
            raise self._wrong(f"{where}.step_id", format_value(step.get("step_id")), wanted)
        origin = step.get("source")
        if origin not in SOURCES:
            wanted = f"wanted one of {', '.join(SOURCES)}"
            raise self._wrong(f"{where}.source", format_value(origin), wanted)
        calls = self._calls(f"{where}.tool_calls", step.get("tool_calls"))
        if calls and origin != "agent":
            what = f"tool calls of the {origin}"
            raise self._wrong(f"{where}.tool_calls", what, "wanted them in steps of the agent")
        if step.get("is_copied_context") is True:
            return None
        return AtifStep(
            where,
            origin == "agent",
            self._time(f"{where}.timestamp", step.get("timestamp")),
            self._message(f"{where}.message", step.get("message")),
            calls,
            self._results(f"{where}.observation", step.get("observation"), calls),
            self._own_extra(f"{where}.extra", step.get("extra")),
        )

    def _calls(self, where: str, value: JsonValue) -> list[AtifCall]:
        calls: list[AtifCall] = []
        for number, item in enumerate(self._list(where, value)):
            path = f"{where}[{number}]"
            call = self._object(path, item)
            calls.append(
                AtifCall(
                    path,
                    self._text(f"{path}.tool_call_id", call.get("tool_call_id")),
                    self._text(f"{path}.function_name", call.get("function_name")),
                    self._object(f"{path}.arguments", call.get("arguments")),
                )
            )
        return calls

    def _results(self, where: str, value: JsonValue, calls: Sequence[AtifCall]) -> list[AtifResult]:
        """Read what the step's calls came back with; other observations are nothing that an event
        says."""
        if value is None:
            return []
        observation = self._object(where, value)
        listed = observation.get("results")
        if listed is None:
            raise self._wrong(f"{where}.results", "None", "wanted a list")
        known = {call.id for call in calls}
        results = [
            self._result(f"{where}.results[{number}]", item, known)
            for number, item in enumerate(self._list(f"{where}.results", listed))
        ]
        return without_none(results)

    def _result(self, where: str, value: JsonValue, known: set[str]) -> AtifResult | None:
        """Read one result; None for one of no call. ``known``: the ids of the step's calls."""
        result = self._object(where, value)
        content = self._content(f"{where}.content", result.get("content"))
        call = result.get("source_call_id")
        if call is None:
            return None
        call_id = self._text(f"{where}.source_call_id", call)
        if known and call_id not in known:
            wanted = "wanted the tool_call_id of a call of this step"
            raise self._wrong(f"{where}.source_call_id", format_value(call_id), wanted)
        ok = self._outcome(f"{where}.extra", result.get("extra"))
        return AtifResult(where, call_id, ok, content)

    def _outcome(self, where: str, value: JsonValue) -> bool | None:
        """Whether a call succeeded, as the result's `extra` says."""
        if value is None:
            return None
        extra = self._object(where, value)
        own = self._own_extra(where, extra).get("ok")
        if isinstance(own, bool):
            return own
        flags = [extra.get(name) for name in _ERROR_FLAGS]
        has_error_text = isinstance(extra.get("error"), str)
        if has_error_text or True in flags:
            return False
        if False in flags:
            return True
        return None

    def _own_extra(self, where: str, value: JsonValue) -> JsonObject:
        """Return the member `milestoned` of an `extra`."""
        if value is None:
            return {}
        return read_object(self._object(where, value), "milestoned")

    def _message(self, where: str, value: JsonValue) -> str:
        content = self._content(where, value)
        if content is None:
            raise self._wrong(where, "None", "wanted a text or a list of parts")
        return content

    def _content(self, where: str, value: JsonValue) -> str | None:
        """Read a text, or the texts of a list of parts; pictures and sound are named by their
        paths."""
        if value is None or isinstance(value, str):
            return value
        texts: list[str] = []
        for number, item in enumerate(self._list(where, value)):
            path = f"{where}[{number}]"
            part = self._object(path, item)
            if part.get("type") == "text":
                texts.append(self._text(f"{path}.text", part.get("text")))
            elif part.get("type") in ("image", "audio"):
                medium = self._object(f"{path}.source", part.get("source"))
                name = self._text(f"{path}.source.path", medium.get("path"))
                texts.append(f"[{part['type']} {name}]")
            else:
                wanted = "wanted one of text, image, audio"
                raise self._wrong(f"{path}.type", format_value(part.get("type")), wanted)
        return "\n".join(texts)

    def _time(self, where: str, value: JsonValue) -> int | None:
        """Read a timestamp as nanoseconds since 1970; None where there is none."""
        if value is None:
            return None
        text = self._text(where, value)
        try:
            return iso_to_ns(text)
        except ValueError:
            wanted = "wanted a time, as in 2026-01-02T03:04:05.678Z"
            raise self._wrong(where, format_value(text), wanted) from None

    def _object(self, where: str, value: JsonValue, wanted: str = "wanted an object") -> JsonObject:
        if not isinstance(value, dict):
            raise self._wrong(where, format_value(value), wanted)
        return value

    def _list(self, where: str, value: JsonValue) -> Sequence[JsonValue]:
        """Return a list, an empty one for nothing."""
        if value is None:
            return []
        if not isinstance(value, list):
            raise self._wrong(where, format_value(value), "wanted a list")
        return value

    def _text(self, where: str, value: JsonValue) -> str:
        if not isinstance(value, str):
            raise self._wrong(where, format_value(value), "wanted a text")
        return value

    def _wrong(self, where: str, what: str, wanted: str) -> ConvertError:
        return self._source.wrong(where, what, wanted)
