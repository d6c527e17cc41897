"""OSWorld's tasks: its evaluator JSON as tasks of ours, wherever events, readers of files or probes
can decide.

A folder holds ``<group>/<id>.json`` as upstream's evaluation_examples/examples does. Where a
function compares with an expected file, its facts are taken from ``gold/<id>/<name>.json`` in that
folder, as `agentd read` prints them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from api.core.regular_file import read_regular
from api.tasks.task_files import BadTaskError, check_task
from lab.benchmarks.base import BadSourceError, CoverageTable, Imported
from lab.benchmarks.osworld import files, machine
from lab.benchmarks.osworld.base import KINDS, EvaluatorCall, EvaluatorPart, ExternalError
from lab.benchmarks.osworld.files import NeedsGoldError

FUNCTIONS = {**files.FUNCTIONS, **machine.FUNCTIONS}
READ_OPTIONS = {
    "check_json": {"is_yaml"},
    "compare_table": {"rules"},
    **{function: set(files.TEXT_OPTIONS) for function in files.TEXTS},
}
"""Options that a function here reads; of others a task says that they do not count."""
POSTCONFIG = "the harness must do the evaluator's postconfig before it closes the episode"
START = "what is so at the start pays nothing here; the original pays it"


def tasks(source: Path, sites: Mapping[str, str]) -> Iterator[Imported]:
    """Every task below ``source``; raises `BadSourceError`. ``sites`` is not needed: the machine is
    watched itself."""
    for path in _paths(source):
        try:
            spec = orjson.loads(read_regular(path))
            yield _task(source, path, spec["id"], spec["instruction"], spec["evaluator"])
        except (orjson.JSONDecodeError, AttributeError, KeyError, TypeError) as error:
            raise BadSourceError(
                f"{path}: {error!r}; wanted OSWorld's id, instruction and evaluator"
            ) from None


def coverage(source: Path) -> CoverageTable:
    """Tasks by group and kind; ``ready``: those that became a task of ours, and a good one, with
    what is there."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    missing: Counter[str] = Counter()
    for one in tasks(source, {}):
        counts = counted[one.name.rpartition("/")[0] or "."]
        counts[one.kind] += 1
        counts["ready"] += one.spec is not None
        missing.update(one.remarks[-1:] if one.kind == "external" else ())
    total = sum(counted.values(), Counter[str]())
    rows = [(group, *_row(counts)) for group, counts in [*sorted(counted.items()), ("all", total)]]
    notes = [
        f"External: {why}, {many} task{'s' * (many > 1)}." for why, many in sorted(missing.items())
    ]
    return CoverageTable("OSWorld", ("group", "tasks", *KINDS, "ready"), rows, notes)


def _row(counts: Counter[str]) -> tuple[int, ...]:
    return sum(counts[kind] for kind in KINDS), *(counts[kind] for kind in KINDS), counts["ready"]


def _paths(source: Path) -> list[Path]:
    if not source.is_dir():
        raise BadSourceError("wanted a folder of <group>/<id>.json")
    found = [
        path
        for path in sorted(source.rglob("*.json"))
        if "gold" not in path.relative_to(source).parts
    ]
    if not found:
        raise BadSourceError("no *.json in it; wanted <group>/<id>.json")
    return found


def _task(
    source: Path, path: Path, name: str, instruction: str, evaluator: Mapping[str, Any]
) -> Imported:
    place = str(path.relative_to(source).with_suffix(""))
    remarks = [START] + ([POSTCONFIG] if evaluator.get("postconfig") else [])
    try:
        parts = _parts(source, name, evaluator)
        spec = _spec(name, instruction, evaluator, parts)
        check_task(spec)
    except NeedsGoldError as needed:
        return Imported(place, None, "file", (*remarks, str(needed)))
    except (
        ExternalError,
        BadTaskError,
        AttributeError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
    ) as error:
        return Imported(place, None, "external", (*remarks, _refusal_reason(error)))
    kinds = {part.kind for _, part in parts}
    kind = next(kind for kind in reversed(KINDS) if kind in kinds)
    remarks += [remark for _, part in parts for remark in part.remarks]
    return Imported(place, spec, kind, tuple(remarks))


def _refusal_reason(error: Exception) -> str:
    """Why nothing here can judge a task."""
    if isinstance(error, BadTaskError):
        problem = error.problems[0]
        return f"what it asks for is refused: got {problem.value}, wanted {problem.wanted}"
    return (
        str(error)
        if isinstance(error, ExternalError)
        else f"an argument that is not there: {error!r}"
    )


def _parts(
    source: Path, name: str, evaluator: Mapping[str, Any]
) -> list[tuple[str, EvaluatorPart]]:
    functions = _many(evaluator["func"])
    sides = {key: _many(evaluator.get(key) or {}) for key in ("result", "expected", "options")}

    def gold(file: str) -> Mapping[str, Any] | None:
        path = source / "gold" / name / f"{file}.json"
        if ".." in Path(file).parts or not path.is_file():
            return None
        try:
            return _whole(orjson.loads(read_regular(path)), path.relative_to(source))
        except orjson.JSONDecodeError as error:
            raise NeedsGoldError(f"{path.relative_to(source)}: no JSON: {error}") from None

    parts = []
    for n, function in enumerate(functions):
        if function not in FUNCTIONS:
            raise ExternalError(f"the function {function}")
        at = {key: (side[n] if n < len(side) else {}) or {} for key, side in sides.items()}
        if wrong := next((key for key, side in at.items() if not isinstance(side, Mapping)), None):
            raise ExternalError(f"{wrong} that is {type(at[wrong]).__name__} and no object")
        call = EvaluatorCall(
            function, at["result"], at["expected"], at["options"], f"asked-{n}", gold
        )
        part = FUNCTIONS[function](call)
        if ignored := sorted(set(call.options) - READ_OPTIONS.get(function, set())):
            part = replace(
                part,
                remarks=(
                    *part.remarks,
                    f"options of {function} that do not count: {', '.join(ignored)}",
                ),
            )
        parts.append((call.probe, part))
    return parts


def _whole(answer: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The facts of an expected file. Raises `NeedsGoldError` where it was not read, or not to its
    end."""
    if answer.get("status") != "read" or answer.get("cut") is True:
        said = "cut" if answer.get("cut") is True else f"status: {answer.get('status')}"
        raise NeedsGoldError(
            f"{path}: {said}; wanted an expected file that `agentd read` reads whole"
        )
    facts: Mapping[str, Any] = answer["facts"]
    return facts


def _many(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _spec(
    name: str,
    instruction: str,
    evaluator: Mapping[str, Any],
    parts: list[tuple[str, EvaluatorPart]],
) -> dict[str, Any]:
    """The task: a milestone for each function, worth nothing much alone, and the goal over them at
    the end."""
    conditions = [dict(part.when) for _, part in parts]
    if len(conditions) == 1:
        when = conditions[0]
    else:
        alternatives = evaluator.get("conj", "and") == "or"
        when = (
            {"any_of": conditions}
            if alternatives
            else {"all_of": {"holding": True, "of": conditions}}
        )
    probes = [{"id": probe, **part.probe} for probe, part in parts if part.probe is not None]
    spec: dict[str, Any] = {
        "id": f"osworld/{name}",
        "version": "1",
        "instruction": instruction,
        "weights": {"goal": 1.0},
        "milestones": [
            {"id": "solved", "when": {"goal": {"when": when}}, "must_hold_at_end": True}
        ],
    }
    return {**spec, "probes": probes} if probes else spec
