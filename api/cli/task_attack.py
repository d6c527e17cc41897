"""`milestoned task attack TASK`: adversaries derived from a recording that solves the task."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import orjson

from api.attack.attack import AttackResult, NoOracleError, attack, make_oracle
from api.attack.logs import as_lines
from api.attack.report import as_json, fallen, summary, text_lines
from api.attack.scores import Oracle
from api.attack.unfinished import describe_act_after_goal
from api.cli.common import Overrides
from api.replay.recordings import RecordingError
from api.replay.task_tests import read_events
from api.tasks.task_files import BadTaskError, check_task, read_task_file
from common.command_line import option
from detectors.model.codec import CodecError
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset, compile_task

USAGE = 2
"""The exit status where nothing could be attacked."""


def run(
    file: Annotated[Path, option("the task file", "TASK")],
    /,
    *,
    oracle: Annotated[
        tuple[Path, ...],
        option(
            "a .mrec or .jsonl that solves the task; without it, those of the task's tests",
            "RECORDING",
            many=True,
        ),
    ] = (),
    other: Annotated[
        tuple[Path, ...],
        option("another task's episode, which must not reach the goal", "RECORDING", many=True),
    ] = (),
    set_: Overrides = (),
    keep: Annotated[
        Path | None, option("write the log of each adversary that falls here, as .jsonl", "DIR")
    ] = None,
    json: Annotated[bool, option("a JSON object an oracle")] = False,
) -> int:
    """Attack a task; exit 0 if nothing is paid that may not be, 1 if something is, 2 if there is
    no recording that solves it."""
    try:
        spec, lines = read_task_file(file, dict(set_))
        rules = compile_task(check_task(spec, lines))
        others = [read_events(path) for path in other]
        results: list[AttackResult] = []
        for path in oracle or _oracles_of(spec, file.parent):
            results += _attack(rules, path, others, json=json, file=file)
        if keep is not None:
            _keep(keep, fallen(results))
    except BadTaskError as error:
        return _complain(*(f"{file}: {problem}" for problem in error.problems))
    except (RecordingError, CodecError, NoOracleError) as error:
        return _complain(str(error))
    except OSError as error:
        return _complain(f"{error.filename}: {error.strerror}")
    if not results:
        return _complain(f"{file}: no oracle: give --oracle RECORDING, or name one in its tests")
    return int(bool(fallen(results)))


def _complain(*problems: str) -> int:
    """Print problems; return the exit status of wrong use."""
    for problem in problems:
        print(problem, file=sys.stderr)
    return USAGE


def _oracles_of(spec: object, beside: Path) -> list[Path]:
    """The recordings that the task's own tests name as oracles."""
    tests = spec.get("tests") if isinstance(spec, dict) else None
    named = (test.get("oracle") for test in tests or () if isinstance(test, dict))
    return [beside / name for name in named if isinstance(name, str)]


def _attack(
    rules: Ruleset, path: Path, others: Sequence[Sequence[Event]], *, json: bool, file: Path
) -> list[AttackResult]:
    """Attack with one oracle and print the report. Raises `NoOracleError`."""
    try:
        oracle = make_oracle(rules, read_events(path))
    except NoOracleError as error:
        raise NoOracleError(f"{path}: it does not solve {rules.task.id}: {error}") from None
    results = list(attack(oracle, others))
    if json:
        print(orjson.dumps(as_json(oracle, str(path), results)).decode())
    else:
        _print(oracle, path, results, file)
    return results


def _print(oracle: Oracle, path: Path, results: list[AttackResult], file: Path) -> None:
    """Print the task, its attacks as a table, and a last line that sums up."""
    rules = oracle.rules
    paid = f"{oracle.score.total:g} of {rules.attainable:g}"
    print(f"{file}: {rules.task.id} by {path}, which pays {paid}")
    for line in text_lines(results):
        print(line)
    unfinished = describe_act_after_goal(oracle)
    if unfinished is not None:
        print(f"  note: {unfinished}")
    print(f"{file}: {summary(results)}")


def _keep(folder: Path, results: list[AttackResult]) -> None:
    """Write each adversary's log into the folder, named by its number and kind."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, result in enumerate(results, 1):
        words = re.sub(r"[^A-Za-z0-9]+", "-", f"{result.kind} {result.adversary.variant}").strip(
            "-"
        )
        path = folder / f"{number}-{words[:80]}.jsonl"
        path.write_bytes(as_lines(result.adversary.events))
