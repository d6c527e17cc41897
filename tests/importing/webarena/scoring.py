"""Ours and theirs, of the same HAR and answer."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from detectors.engine.engine import Engine
from detectors.model.codec import GENESIS, decode_segment, join_segment
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import verified
from lab.benchmarks.verified import SITES
from lab.convert.convert import record
from lab.convert.formats import FORMATS
from lab.convert.source import SourceFile
from tests.importing.webarena.hars import Case

ROOT = Path(__file__).resolve().parents[3]
HOME = ROOT / ".venv-webarena"
COOKIES = ("mage-messages", "_osm_directions_engine")
"""Those that its tasks ask."""
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
    done = subprocess.run(
        command, input=lines, capture_output=True, text=True, cwd=ROOT, check=True
    )
    return [json.loads(line)[0] == 1.0 for line in done.stdout.splitlines()]


def written(case: Case, folder: Path) -> Path:
    """The case as a HAR file."""
    page = {
        "id": "p",
        "startedDateTime": "2026-01-02T00:00:00.000Z",
        "title": "",
        "pageTimings": {},
    }
    log = {
        "version": "1.2",
        "creator": {"name": "made here", "version": "1"},
        "pages": [page],
        "entries": case.entries,
    }
    path = folder / f"{case.task}.har"
    path.write_bytes(orjson.dumps({"log": log}))
    return path


def lines(case: Case, har: Path) -> list[bytes]:
    """The HAR as our converter has it, with the answer before the close."""
    said = case.answer if isinstance(case.answer, str | None) else json.dumps(case.answer)
    return record(SourceFile(har), FORMATS["har"], answer=said, cookies=COOKIES).lines


def events(case: Case, folder: Path) -> list[Event]:
    """The same, decoded."""
    told = lines(case, written(case, folder))
    return list(decode_segment(join_segment("ep", 1, told, GENESIS)).events)


def ours(rules: Ruleset, told: list[Event]) -> Engine:
    """The engine after the episode."""
    engine = Engine(rules, "ep")
    engine.feed(told)
    return engine
