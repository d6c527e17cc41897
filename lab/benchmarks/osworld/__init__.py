"""OSWorld's tasks: its evaluator JSON as tasks of ours, wherever events, readers of files or probes
can decide.

A folder holds ``<group>/<id>.json`` as upstream's evaluation_examples/examples does. Where a
function compares with an expected file, its facts are taken from ``gold/<id>/<name>.json`` in that
folder, as `agentd read` prints them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import orjson

from api.tasks.task_files import BadTaskError, check_task
from common.regular_file import read_regular
from detectors.model.json_value import (
    JsonObject,
    JsonTypeError,
    JsonValue,
    as_items,
    require_object,
    require_text,
)
from lab.benchmarks.base import SECRET, BadSourceError, CoverageTable, Imported, asks_secret
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
_MISSING_ARGUMENT = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""What reading an evaluator raises that lacks an argument, or has another one than upstream's."""
POSTCONFIG = "the harness must do the evaluator's postconfig before it closes the episode"
START = "what is so at the start pays nothing here; the original pays it"


def tasks(source: Path, sites: Mapping[str, str]) -> Iterator[Imported]:
    """Every task below ``source``; raises `BadSourceError`. ``sites`` is not needed: the machine is
    watched itself."""
    for path in _paths(source):
        try:
            task = require_object(orjson.loads(read_regular(path)), "a task")
            fields = {name: task.get(name) for name in ("id", "instruction", "evaluator")}
            name = require_text(fields["id"], "id")
            if fields["instruction"] is None:
                raise JsonTypeError("instruction: expected a text, got None")
            evaluator = require_object(fields["evaluator"], "evaluator")
        except orjson.JSONDecodeError as error:
            raise BadSourceError(f"{path}: not JSON: {error}") from None
        except JsonTypeError as error:
            raise BadSourceError(f"{path}: {error}") from None
        yield _task(source, path, name, fields["instruction"], evaluator)


def coverage(source: Path) -> CoverageTable:
    """Tasks by group and kind; ``ready``: those that became a task of ours, and a good one, with
    what is there."""
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    missing: Counter[str] = Counter()
    for task in tasks(source, {}):
        counts = counted[task.name.rpartition("/")[0] or "."]
        counts[task.kind] += 1
        counts["ready"] += task.spec is not None
        if task.kind == "external":
            missing.update(task.remarks[-1:])
    total = sum(counted.values(), Counter[str]())
    rows = [(group, *_row(counts)) for group, counts in [*sorted(counted.items()), ("all", total)]]
    notes = []
    for why, many in sorted(missing.items()):
        plural = "s" if many > 1 else ""
        notes.append(f"External: {why}, {many} task{plural}.")
    return CoverageTable("OSWorld", ("group", "tasks", *KINDS, "ready"), rows, notes)


def _row(counts: Counter[str]) -> tuple[int, ...]:
    of_kinds = [counts[kind] for kind in KINDS]
    return sum(of_kinds), *of_kinds, counts["ready"]


def _paths(source: Path) -> list[Path]:
    """List the task files of a folder, those of expected files left out. Raises `BadSourceError`
    where there is none."""
    if not source.is_dir():
        raise BadSourceError("wanted a folder of <group>/<id>.json")
    every = sorted(source.rglob("*.json"))
    paths = [path for path in every if "gold" not in path.relative_to(source).parts]
    if not paths:
        raise BadSourceError("no *.json in it; wanted <group>/<id>.json")
    return paths


def _task(
    source: Path, path: Path, name: str, instruction: JsonValue, evaluator: JsonObject
) -> Imported:
    """Import one task; refused, with the reason in words, where a part of it needs the machine or a
    file that is not here."""
    place = str(path.relative_to(source).with_suffix(""))
    remarks = [START]
    if evaluator.get("postconfig"):
        remarks.append(POSTCONFIG)
    try:
        parts = _parts(source, name, evaluator)
        spec = _spec(name, instruction, evaluator, parts)
        check_task(spec)
    except NeedsGoldError as needed:
        return Imported(place, None, "file", (*remarks, str(needed)))
    except (ExternalError, BadTaskError, *_MISSING_ARGUMENT) as error:
        return Imported(place, None, "external", (*remarks, _refusal_reason(error)))
    kinds = {part.kind for _, part in parts}
    kind = next(kind for kind in reversed(KINDS) if kind in kinds)
    remarks += [remark for _, part in parts for remark in part.remarks]
    return Imported.from_spec(place, spec, kind, remarks)


def _refusal_reason(error: Exception) -> str:
    """Why nothing here can judge a task."""
    if isinstance(error, BadTaskError):
        problem = error.problems[0]
        return f"what it asks for is refused: got {problem.value}, wanted {problem.wanted}"
    if isinstance(error, ExternalError):
        return str(error)
    if isinstance(error, KeyError):
        return f"an argument that is not there: {error.args[0]}"
    return f"an argument that is not as upstream's: {error}"


def _parts(source: Path, name: str, evaluator: JsonObject) -> list[tuple[str, EvaluatorPart]]:
    """Each function of an evaluator, with the name of its probe."""
    functions = _many(evaluator["func"])
    if not functions:
        raise ExternalError("it asks for nothing")
    sides = {key: _many(evaluator.get(key) or {}) for key in ("result", "expected", "options")}
    gold = partial(_gold, source, name)
    parts = []
    for n, value in enumerate(functions):
        function = require_text(value, "func")
        if function not in FUNCTIONS:
            raise ExternalError(f"the function {function}")
        arguments = {key: _argument(side, n, key) for key, side in sides.items()}
        call = EvaluatorCall(function, **arguments, probe=f"asked-{n}", gold=gold)
        parts.append((call.probe, _part(call)))
    return parts


def _part(call: EvaluatorCall) -> EvaluatorPart:
    """What one function of an evaluator asks. Raises `ExternalError` for what no rule can tell."""
    function = call.function
    part = FUNCTIONS[function](call)
    if asks_secret(part.when):
        raise ExternalError(SECRET)
    known = READ_OPTIONS.get(function, set())
    ignored = sorted(set(call.options) - known)
    if not ignored:
        return part
    remark = f"options of {function} that do not count: {', '.join(ignored)}"
    return replace(part, remarks=(*part.remarks, remark))


def _argument(side: Sequence[JsonValue], number: int, name: str) -> JsonObject:
    """The argument of the function of that number, empty where there is none. Raises
    `ExternalError`."""
    argument = (side[number] if number < len(side) else {}) or {}
    if not isinstance(argument, Mapping):
        raise ExternalError(f"{name} that is {type(argument).__name__} and no object")
    return argument


def _gold(source: Path, name: str, file: str) -> JsonObject | None:
    """The facts of a task's expected file; None where there is none. Raises `NeedsGoldError`."""
    path = source / "gold" / name / f"{file}.json"
    if ".." in Path(file).parts or not path.is_file():
        return None
    place = path.relative_to(source)
    try:
        return _whole(orjson.loads(read_regular(path)), place)
    except orjson.JSONDecodeError as error:
        raise NeedsGoldError(f"{place}: no JSON: {error}") from None


def _whole(answer: JsonValue, path: Path) -> JsonObject:
    """The facts of an expected file. Raises `NeedsGoldError` where it was not read, or not to its
    end."""
    reading = require_object(answer, str(path))
    is_cut = reading.get("cut") is True
    if is_cut or reading.get("status") != "read":
        state = "cut" if is_cut else f"status: {reading.get('status')}"
        raise NeedsGoldError(
            f"{path}: {state}; wanted an expected file that `agentd read` reads whole"
        )
    return require_object(reading["facts"], "facts")


def _many(value: JsonValue) -> Sequence[JsonValue]:
    return as_items(value)


def _spec(
    name: str,
    instruction: JsonValue,
    evaluator: JsonObject,
    parts: list[tuple[str, EvaluatorPart]],
) -> JsonObject:
    """The task: a milestone for each function, worth nothing much alone, and the goal over them at
    the end."""
    conditions = [dict(part.when) for _, part in parts]
    when: JsonObject = {"all_of": {"holding": True, "of": conditions}}
    if len(conditions) == 1:
        when = conditions[0]
    elif evaluator.get("conj", "and") == "or":
        when = {"any_of": conditions}
    probes = [{"id": probe, **part.probe} for probe, part in parts if part.probe is not None]
    spec: JsonObject = {
        "id": f"osworld/{name}",
        "version": "1",
        "instruction": instruction,
        "weights": {"goal": 1.0},
        "milestones": [
            {"id": "solved", "when": {"goal": {"when": when}}, "must_hold_at_end": True}
        ],
    }
    if evaluator.get("func") == "infeasible":
        spec = {**spec, "infeasible": True}
    return {**spec, "probes": probes} if probes else spec
