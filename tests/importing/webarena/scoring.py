"""Ours and theirs, of the same HAR and answer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from agentd.convert.convert import record
from agentd.convert.formats import FORMATS
from agentd.convert.source import Source
from api.importing import verified
from api.importing.verified import SITES
from detectors.codec import decode_segment
from detectors.engine import Engine
from detectors.ruleset import Ruleset, compile_task
from detectors.task_json import task_from_json
from detectors.types import Event
from tests.importing.webarena.hars import Case

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / ".venv-webarena"
PYTHON = HOME / "bin" / "python"


def dataset() -> list[Any]:
    """Their tasks, as their wheel has them."""
    return verified._dataset(HOME)


def rulesets() -> dict[int, Ruleset]:
    """Our tasks, compiled, by their number."""
    found: dict[int, Ruleset] = {}
    for one in verified.tasks(HOME, {}):
        assert one.spec is not None
        found[int(one.name)] = compile_task(task_from_json(one.spec))
    return found


def theirs(cases: Iterable[Case]) -> list[bool]:
    """What their own evaluators say of each."""
    command = [str(PYTHON), "-m", "tests.importing.webarena.oracle", json.dumps(SITES)]
    lines = "".join(case.line() for case in cases)
    done = subprocess.run(command, input=lines, capture_output=True, text=True, cwd=ROOT, check=True)
    return [float(line) == 1.0 for line in done.stdout.splitlines()]


def events(case: Case, folder: Path) -> list[Event]:
    """The HAR as our converter has it, with the answer before the close."""
    page = {"id": "p", "startedDateTime": "2026-01-02T00:00:00.000Z", "title": "", "pageTimings": {}}
    creator = {"name": "made here", "version": "1"}
    path = folder / "one.har"
    path.write_bytes(
        orjson.dumps({"log": {"version": "1.2", "creator": creator, "pages": [page], "entries": case.entries}})
    )
    tape = record(Source(path), FORMATS["har"])
    head = {"wire": 1, "episode": "ep", "first": 1, "count": len(tape.lines), "prev": "0" * 64}
    told = list(decode_segment(orjson.dumps(head) + b"\n" + b"".join(line + b"\n" for line in tape.lines)).events)
    if case.answer is not None:
        said = case.answer if isinstance(case.answer, str) else json.dumps(case.answer)
        place = next(n for n, event in enumerate(told) if event.kind == "episode.closed")
        told.insert(place, Event("ep", 0, "steps", "agent.answered", told[place].at, {"text": said}))
    return [event._replace(seq=number, episode="ep") for number, event in enumerate(told, 1)]


def ours(rules: Ruleset, told: list[Event]) -> Engine:
    """The engine after the episode."""
    engine = Engine(rules, "ep")
    engine.feed(told)
    return engine
