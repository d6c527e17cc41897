"""A home folder before and after, told as the daemon tells it: files read by the readers themselves,
probes' commands run there."""

from __future__ import annotations

import importlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentd.readers.bounds import DamagedError
from agentd.readers.formats import FORMATS, format_of
from api.attack.scores import score_log
from detectors.matchers.plain import glob
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset
from tests.support.logs import Said, clicked, episode, log

HOME = "/home/user"


def told(rules: Ruleset, before: Path, after: Path, seen: tuple[Said, ...] = ()) -> list[Event]:
    """The log of an episode in which ``after`` came of ``before``; ``seen``: what else is told."""
    started = [*_reads(rules, before, "start"), *_probes(rules, before, "start")]
    baseline = [(kind, {**data, "baseline": True}) for kind, data in started]
    step = [*seen, *_changes(before, after), *_reads(rules, after, "step"), *_probes(rules, after, "step")]  # fmt: skip
    return log(*episode([clicked("x")], step, before=baseline))


def paid(rules: Ruleset, before: Path, after: Path, *seen: Said) -> tuple[set[str], bool]:
    """The milestones that are paid for it, and whether the task is solved."""
    score = score_log(rules, told(rules, before, after, seen))
    return set(score.ids), bool(score.success)


def _files(folder: Path) -> dict[str, Path]:
    return {
        str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()
    }


def _changes(before: Path, after: Path) -> Iterator[Said]:
    old, new = _files(before), _files(after)
    for path, file in new.items():
        if path in old and old[path].read_bytes() == file.read_bytes():
            continue
        name = path.rpartition("/")[2]
        data = {"root": "home", "path": path, "name": name, "size": file.stat().st_size}
        yield ("file.modified" if path in old else "file.created", {**data, "sha256": "ab" * 32})


def _reads(rules: Ruleset, folder: Path, when: str) -> Iterator[Said]:
    for asked in rules.plan("E")["file_reads"]:
        for path, file in _files(folder).items():
            if glob(asked["path"], path):
                yield "file.read", _read(asked, path, file, when)


def _read(asked: dict[str, Any], path: str, file: Path, when: str) -> dict[str, Any]:
    name = path.rpartition("/")[2]
    format = asked["format"] or format_of(None, name)
    about = {
        "root": "home", "path": path, "name": name, "as": asked["format"] or "auto", "format": format,
        "when": when, "step": 0, "ms": 1,
    }  # fmt: skip
    about |= {} if asked["query"] is None else {"query": asked["query"]}
    module = importlib.import_module(f"agentd.readers.{FORMATS[format].module}")
    try:
        with file.open("rb") as opened:
            read = getattr(module, f"read_{format}")(opened, {"format": format, "query": asked["query"]})  # fmt: skip
    except DamagedError as error:
        return {**about, "status": "damaged", "reason": str(error)}
    cut = {"cut": True} if read.pop("cut", False) else {}
    return {**about, "status": "read", "facts": read, **cut}


def _probes(rules: Ruleset, folder: Path, when: str) -> Iterator[Said]:
    for probe in rules.task.probes:
        assert probe.command is not None
        argv = [part.replace(HOME, str(folder)) for part in probe.command.argv]
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=10, check=False)
        value = {"exit": ran.returncode, "out": ran.stdout}
        yield "probe.answered", {"probe": probe.id, "when": when, "value": value, "ms": 1}
