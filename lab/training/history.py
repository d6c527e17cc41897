"""What became of models: an append-only file beside them, ``history.jsonl``, and the link
``served``.

Each line is on disk before what it says is done, and is done again if a process was killed between:
`settle` makes the link what the last line says. A torn last line counts as not written. Nothing
here changes a reward that was sealed: a verdict names the model that gave it by its digest.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import orjson

from common.regular_file import read_regular
from detectors.model.json_value import JsonValue

FILE, LOCK, SERVED = "history.jsonl", ".history.lock", "served"
Phase = Literal["trained", "gated", "promoted", "drifted", "rolled back"]
_BEGIN = b'{"at":"'
_EXPECTED = "a line of JSON with at, phase, model, digest and facts; put a backup in its place"
SERVING: tuple[Phase, ...] = ("promoted", "rolled back")
"""After these the model of the line is the one that is served."""


class HistoryError(ValueError):
    """A model can't be promoted or rolled back; the message says which, and what was wanted."""


class ModelEvent(NamedTuple):
    """One line: ``facts`` are figures of a gate or of a comparison, and reasons."""

    at: str
    phase: Phase
    model: str
    digest: str
    facts: Mapping[str, JsonValue]


class ModelHistory:
    """The history of the models in one folder. What reads it raises `HistoryError` for a line that
    is none, `OSError`."""

    def __init__(self, models: Path) -> None:
        self.models = models
        self._file = models / FILE

    def events(self) -> list[ModelEvent]:
        """Return all whole lines, the oldest first."""
        if not self._file.exists():
            return []
        content = read_regular(self._file)
        lines = content[: content.rfind(b"\n") + 1].splitlines()
        self._must_be_torn(content[content.rfind(b"\n") + 1 :], len(lines) + 1)
        return [self._parse(line, number) for number, line in enumerate(lines, 1)]

    def served(self) -> ModelEvent | None:
        """Return the event that made the served model what it is; None before the first one."""
        return next((one for one in reversed(self.events()) if one.phase in SERVING), None)

    def promote(self, model: str, digest: str, facts: Mapping[str, JsonValue]) -> None:
        """Make a model the one that is served, on disk first."""
        with self._locked():
            self._append("promoted", model, digest, facts)
            self._link(model)

    def roll_back(self, facts: Mapping[str, JsonValue]) -> ModelEvent:
        """Serve again what was served before; returns its event. Raises `HistoryError`."""
        with self._locked():
            before = self._find_before()
            self._append("rolled back", before.model, before.digest, facts)
            self._link(before.model)
        return before

    def note(self, phase: Phase, model: str, digest: str, facts: Mapping[str, JsonValue]) -> None:
        """Append what changes nothing that is served."""
        with self._locked():
            self._append(phase, model, digest, facts)

    def settle(self) -> None:
        """Make the link what the last event says, where somebody was killed between both."""
        with self._locked():
            served = self.served()
            if served is not None and self._target() != served.model:
                self._link(served.model)

    def _find_before(self) -> ModelEvent:
        """The event of the model that was served before this one: of those that were promoted and
        not rolled back since, the last but one."""
        standing: list[ModelEvent] = []
        for event in self.events():
            if event.phase == "promoted":
                standing.append(event)
            elif event.phase == "rolled back" and standing:
                standing.pop()
        if len(standing) < 2:
            raise HistoryError(
                f"{self.models}: there is no model that was served before this one; wanted two that"
                " were promoted"
            )
        return standing[-2]

    def _append(
        self, phase: Phase, model: str, digest: str, facts: Mapping[str, JsonValue]
    ) -> None:
        at = datetime.now(UTC).isoformat(timespec="seconds")
        line = orjson.dumps(ModelEvent(at, phase, model, digest, dict(facts))._asdict()) + b"\n"
        with self._file.open("a+b") as file:
            self._cut_torn(file.fileno())
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def _cut_torn(self, descriptor: int) -> None:
        """Cut off a line that a kill left without its end."""
        content = self._file.read_bytes()
        end = content.rfind(b"\n") + 1
        self._must_be_torn(content[end:], content.count(b"\n") + 1)
        if end != len(content):
            os.ftruncate(descriptor, end)

    def _must_be_torn(self, rest: bytes, number: int) -> None:
        """Refuse a last line without an end that no kill in the midst of a write leaves."""
        if rest and not (_BEGIN.startswith(rest) or rest.startswith(_BEGIN)):
            raise HistoryError(f"{self._file}:{number}: got {rest[:40]!r}, expected {_EXPECTED}")

    def _parse(self, line: bytes, number: int) -> ModelEvent:
        """Read one line of the history. Raises `HistoryError` that names it."""
        wrong = HistoryError(f"{self._file}:{number}: got {line[:80]!r}, expected {_EXPECTED}")
        try:
            event = ModelEvent(**orjson.loads(line))
        except (orjson.JSONDecodeError, TypeError):
            raise wrong from None
        texts = (event.at, event.model, event.digest)
        are_texts = all(isinstance(text, str) for text in texts)
        is_event = event.phase in get_args(Phase) and isinstance(event.facts, dict)
        if not (are_texts and is_event):
            raise wrong
        return event

    def _target(self) -> str | None:
        link = self.models / SERVED
        return os.readlink(link) if link.is_symlink() else None

    def _link(self, model: str) -> None:
        """Make a model the served one by its link. Raises `HistoryError` where a folder stands in
        the link's place."""
        link, fresh = self.models / SERVED, self.models / f".{SERVED}.{os.getpid()}"
        if link.exists() and not link.is_symlink():
            raise HistoryError(f"{link}: is a folder of its own, wanted nothing or a link there")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(model)
        fresh.replace(link)  # at once: whoever loads finds the old one or the new one

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self.models.mkdir(parents=True, exist_ok=True)
        with (self.models / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
