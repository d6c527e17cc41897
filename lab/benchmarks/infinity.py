"""WebArena-Infinity's tasks, as data: a start state, an instruction and a patch to a solved state.

Its applications are single pages that send their whole state to their own server (``PUT
/api/state``) at each change; its verifiers read that state. So do these tasks: what the patch
changes becomes facts of the state that the server accepted last, one milestone for each thing that
is to change. No answer and no page is asked.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from common.regular_file import read_regular
from detectors.model.errors import SpecError
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    object_or_empty,
    objects_in,
    read_list,
    read_object,
    read_text,
)
from lab.benchmarks.base import BadSourceError, CoverageTable, Imported
from lab.benchmarks.json_patch import PatchError, apply_patch
from lab.benchmarks.state_facts import Fact, NothingToTellError, changes, new_ids
from lab.benchmarks.state_values import Context, Start, StateTask

STATE = "/api/state"
ORIGIN = "http://127.0.0.1:8000"
"""Where the applications serve by default."""
_CHUNK = 1 << 20
_FREE = 1 << 25
_MAX_RATIO = 50
"""What packed bytes may unpack to beyond the first `_FREE`."""
ALREADY_TRUE = "already true"
_COLUMNS = {
    "tasks": "tasks",
    "solved": "already true at the start: pay 0",
    "milestones": "step milestones",
    "facts": "facts of the state",
    "none": "no task made",
}


def tasks(source: Path, sites: Mapping[str, str]) -> Iterator[Imported]:
    """One task each; ``sites`` says where an application is, by its name. Raises `BadSourceError`,
    `OSError`."""
    for app in read_applications(source):
        yield from _imported_all(app, sites.get(app.name, ORIGIN))


def coverage(source: Path) -> CoverageTable:
    """One line an application: its tasks, those that are already solved, milestones. Raises as
    `tasks`."""
    rows: list[list[object]] = []
    sums: Counter[str] = Counter()
    for app in read_applications(source):
        counted: Counter[str] = Counter()
        for made in _imported_all(app, ORIGIN):
            counted["tasks"] += 1
            counted["solved"] += made.kind == ALREADY_TRUE
            if made.spec is None:
                counted["none"] += 1
            else:
                milestones = objects_in(made.spec["milestones"])
                counted["milestones"] += len(milestones) - 1
                counted["facts"] += sum(map(_facts, milestones))
        rows.append([app.name, *(counted[name] for name in _COLUMNS)])
        sums += counted
    rows.append(["**all**", *(sums[name] for name in _COLUMNS)])
    return CoverageTable("WebArena-Infinity", ("application", *_COLUMNS.values()), rows)


def _facts(milestone: JsonObject) -> int:
    """How many facts of the state a milestone asks for."""
    return len(read_list(read_object(read_object(milestone, "when"), "state_accepted"), "facts"))


class Application(NamedTuple):
    """One application of the benchmark: its start state, and its tasks."""

    name: str
    seed: JsonObject
    tasks: Sequence[StateTask]


def read_applications(source: Path) -> Iterator[Application]:
    """Read the applications of a file or a folder, in the order of their names."""
    paths = sorted(source.glob("*.json*")) if source.is_dir() else [source]
    if not paths:
        raise BadSourceError("wanted .json or .json.gz files, each with app, seed and tasks")
    for path in paths:
        raw = read_regular(path)
        try:
            tree = orjson.loads(_unpacked(raw) if path.suffix == ".gz" else raw)
        except (orjson.JSONDecodeError, gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise BadSourceError(f"{path.name}: no JSON: {error}") from None
        yield _application(tree, path.name)


def _unpacked(raw: bytes) -> bytes:
    """Raises `BadSourceError` for a bomb: by what has come out of the bytes that were read so
    far."""
    packed, out = io.BytesIO(raw), bytearray()
    with gzip.open(packed) as file:
        while chunk := file.read(_CHUNK):
            out += chunk
            if len(out) > max(_FREE, _MAX_RATIO * packed.tell()):
                raise BadSourceError(
                    f"unpacks {packed.tell()} bytes to more than {len(out)}; wanted a smaller one"
                )
    return bytes(out)


def _application(tree: JsonValue, where: str) -> Application:
    """Read an application. Raises `BadSourceError` for what is none with tasks."""
    app = object_or_empty(tree)
    seed, tasks = app.get("seed"), app.get("tasks")
    if not isinstance(seed, dict) or not isinstance(tasks, list):
        raise BadSourceError(
            f"{where}: wanted an object with app, seed and tasks, the seed an object"
        )
    read = [_task(task, f"{where}: tasks[{n}]") for n, task in enumerate(tasks)]
    return Application(read_text(app, "app", where.partition(".")[0]), seed, read)


def _task(value: JsonValue, where: str) -> StateTask:
    """Read a task. Raises `BadSourceError` that names ``where`` it stands."""
    task = object_or_empty(value)
    id = task.get("id")
    instruction = task.get("instruction")
    patch = task.get("patch")
    are_texts = isinstance(id, str) and isinstance(instruction, str)
    if not are_texts or not _is_patch(patch):
        wanted = "an object with id, instruction and patch, a list of operations"
        raise BadSourceError(f"{where}: got {value!r:.80}, wanted {wanted}")
    runs = task.get("runs") or []
    if not isinstance(runs, list) or not all(map(_is_patch, runs)):
        wanted = "a list of patches of further runs"
        raise BadSourceError(f"{where}.runs: got {runs!r:.80}, wanted {wanted}")
    return StateTask(
        str(id),
        str(instruction),
        objects_in(patch),
        [objects_in(run) for run in runs],
        expect_solved=task.get("expect_solved") is not False,
        expect_seed=bool(task.get("expect_seed")),
    )


def _is_patch(value: JsonValue) -> bool:
    """Whether a value can be a JSON Patch: a list of objects, one an operation; what stands in them
    is checked when they are applied."""
    return isinstance(value, list) and all(isinstance(operation, dict) for operation in value)


def import_task(app: Application, task: StateTask, origin: str) -> Imported:
    """Make one task of an application that is served at ``origin``."""
    return _imported(app, task, origin, Start.from_seed(app.seed, app.tasks))


def _imported_all(app: Application, origin: str) -> Iterator[Imported]:
    start = Start.from_seed(app.seed, app.tasks)
    for task in app.tasks:
        yield _imported(app, task, origin, start)


def _imported(app: Application, task: StateTask, origin: str, start: Start) -> Imported:
    """Import one task as what its patch changes; refused, with the reason in words, where nothing
    tells the solved state from the start."""
    name = f"{app.name}/{task.id}"
    if not task.expect_solved:
        why = "skipped: expect_solved is false, its own solution fails"
        return Imported(name, None, "solution fails", (why,))
    solved = _solved(name, app.seed, task.patch)
    context = Context.from_task(start, task, new_ids(app.seed, solved, task.instruction))
    try:
        groups = changes(app.seed, solved, context)
    except NothingToTellError as error:
        return Imported(name, None, "nothing to tell apart", (f"skipped: {error}",))
    except (SpecError, ValueError) as error:
        why = f"skipped: no rule says what is different: {error!s:.300}"
        return Imported(name, None, "no rule", (why,))
    if not groups:
        why = "the patch changes nothing that a state could show"
        return Imported(name, None, "nothing to see", (why,))
    spec: JsonObject = {
        "id": f"webarena-infinity/{name}",
        "version": "1",
        "instruction": task.instruction,
        "origin": origin,
        # What is true before the agent came is nobody's doing: there is nothing to earn.
        "weights": {"form": 0, "goal": 0} if task.expect_seed else {"form": 0.5, "goal": 0.5},
        "milestones": _milestones(groups),
    }
    kind = ALREADY_TRUE if task.expect_seed else "state"
    return Imported(name, spec, kind, context.remarks())


def _solved(name: str, seed: JsonObject, patch: Sequence[JsonObject]) -> JsonObject:
    """The state that a task's own solution makes of its start. Raises `BadSourceError`."""
    try:
        solved = apply_patch(seed, patch)
    except PatchError as error:
        raise BadSourceError(f"{name}: patch: {error}") from None
    if not isinstance(solved, dict):
        raise BadSourceError(f"{name}: patch: got a state that is {solved!r:.80}, wanted an object")
    return solved


def _milestones(groups: Mapping[str, list[Fact]]) -> list[JsonObject]:
    """One step for the facts of each thing, and the goal over all of them.

    The steps remember what was reached; the goal wants all of it to be so in one state, the last
    one.
    """
    names = [f"{number}-{label}"[:64] for number, label in enumerate(groups)]
    milestones: list[JsonObject] = []
    for name, facts in zip(names, groups.values(), strict=True):
        when: JsonObject = {"state_accepted": {"url": STATE, "facts": facts}}
        milestones.append({"id": name, "weight": len(facts), "when": when})
    all_facts = [fact for facts in groups.values() for fact in facts]
    goal: JsonObject = {
        "requires": names,
        "when": {"state_accepted": {"url": STATE, "facts": all_facts, "whole": True}},
    }
    milestones.append({"id": "solved", "when": {"goal": goal}, "must_hold_at_end": True})
    return milestones
