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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from api.core.regular_file import read_regular
from detectors.model.errors import SpecError
from lab.benchmarks.base import BadSourceError, CoverageTable, Imported
from lab.benchmarks.json_patch import PatchError, patched
from lab.benchmarks.state_facts import Fact, NothingToTellError, changes, new_ids
from lab.benchmarks.state_values import Context, Start

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
    for app, tree in _apps(source):
        yield from _imported_all(app, tree, sites.get(app, ORIGIN))


def coverage(source: Path) -> CoverageTable:
    """One line an application: its tasks, those that are already solved, milestones. Raises as
    `tasks`."""
    rows: list[list[object]] = []
    sums: Counter[str] = Counter()
    for app, tree in _apps(source):
        counted: Counter[str] = Counter()
        for made in _imported_all(app, tree, ORIGIN):
            counted["tasks"] += 1
            counted["solved"] += made.kind == ALREADY_TRUE
            if made.spec is None:
                counted["none"] += 1
            else:
                counted["milestones"] += len(made.spec["milestones"]) - 1
                counted["facts"] += _facts(made.spec)
        rows.append([app, *(counted[name] for name in _COLUMNS)])
        sums += counted
    rows.append(["**all**", *(sums[name] for name in _COLUMNS)])
    return CoverageTable("WebArena-Infinity", ("application", *_COLUMNS.values()), rows)


def _facts(spec: Mapping[str, Any]) -> int:
    whens = (milestone["when"] for milestone in spec["milestones"])
    return sum(len(when["state_accepted"]["facts"]) for when in whens if "state_accepted" in when)


def _apps(source: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read each application's file: its name and its tree."""
    paths = sorted(source.glob("*.json*")) if source.is_dir() else [source]
    if not paths:
        raise BadSourceError("wanted .json or .json.gz files, each with app, seed and tasks")
    for path in paths:
        raw = read_regular(path)
        try:
            tree = orjson.loads(_unpacked(raw) if path.suffix == ".gz" else raw)
        except (orjson.JSONDecodeError, gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise BadSourceError(f"{path.name}: no JSON: {error}") from None
        _check(tree, path.name)
        yield str(tree.get("app") or path.name.partition(".")[0]), tree


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


def _check(tree: Any, where: str) -> None:
    """Raises `BadSourceError` for what is no application with tasks."""
    is_application = isinstance(tree, dict) and isinstance(tree.get("seed"), dict)
    if not is_application or not isinstance(tree.get("tasks"), list):
        raise BadSourceError(
            f"{where}: wanted an object with app, seed and tasks, the seed an object"
        )
    for n, task in enumerate(tree["tasks"]):
        if not _is_task(task):
            wanted = "an object with id, instruction and patch, a list of operations"
            raise BadSourceError(f"{where}: tasks[{n}]: got {task!r:.80}, wanted {wanted}")
        runs = task.get("runs") or []
        if not isinstance(runs, list) or not all(map(_is_patch, runs)):
            raise BadSourceError(
                f"{where}: tasks[{n}].runs: got {runs!r:.80}, wanted a list of patches of further"
                " runs"
            )


def _is_task(value: object) -> bool:
    if not isinstance(value, dict) or not _is_patch(value.get("patch")):
        return False
    return isinstance(value.get("id"), str) and isinstance(value.get("instruction"), str)


def _is_patch(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(operation, dict) for operation in value)


def _imported_all(app: str, tree: Mapping[str, Any], origin: str) -> Iterator[Imported]:
    start = Start.from_seed(tree["seed"], tree["tasks"])
    for task in tree["tasks"]:
        yield _imported(app, tree["seed"], task, origin, start)


def _imported(app: str, seed: Any, task: Mapping[str, Any], origin: str, start: Start) -> Imported:
    name = f"{app}/{task['id']}"
    if task.get("expect_solved") is False:
        why = "skipped: expect_solved is false, its own solution fails"
        return Imported(name, None, "solution fails", (why,))
    solved = _solved(name, seed, task["patch"])
    context = Context.from_task(start, task, new_ids(seed, solved))
    try:
        groups = changes(seed, solved, context)
    except NothingToTellError as error:
        return Imported(name, None, "nothing to tell apart", (f"skipped: {error}",))
    except (SpecError, ValueError) as error:
        why = f"skipped: no rule says what is different: {error!s:.300}"
        return Imported(name, None, "no rule", (why,))
    if not groups:
        why = "the patch changes nothing that a state could show"
        return Imported(name, None, "nothing to see", (why,))
    already = bool(task.get("expect_seed"))
    spec = {
        "id": f"webarena-infinity/{name}",
        "version": "1",
        "instruction": task["instruction"],
        "origin": origin,
        # What is true before the agent came is nobody's doing: there is nothing to earn.
        "weights": {"form": 0, "goal": 0} if already else {"form": 0.5, "goal": 0.5},
        "milestones": _milestones(groups),
    }
    return Imported(name, spec, ALREADY_TRUE if already else "state", context.remarks())


def _solved(name: str, seed: object, patch: list[dict[str, Any]]) -> dict[str, Any]:
    """The state that a task's own solution makes of its start. Raises `BadSourceError`."""
    try:
        solved = patched(seed, patch)
    except PatchError as error:
        raise BadSourceError(f"{name}: patch: {error}") from None
    if not isinstance(solved, dict):
        raise BadSourceError(f"{name}: patch: got a state that is {solved!r:.80}, wanted an object")
    return solved


def _milestones(groups: Mapping[str, list[Fact]]) -> list[dict[str, Any]]:
    """One step for the facts of each thing, and the goal over all of them.

    The steps remember what was reached; the goal wants all of it to be so in one state, the last
    one.
    """
    milestones: list[dict[str, Any]] = []
    for number, (label, facts) in enumerate(groups.items()):
        when = {"state_accepted": {"url": STATE, "facts": facts}}
        milestones.append({"id": f"{number}-{label}"[:64], "weight": len(facts), "when": when})
    requires = [milestone["id"] for milestone in milestones]
    all_facts = [fact for facts in groups.values() for fact in facts]
    together = {
        "requires": requires,
        "when": {"state_accepted": {"url": STATE, "facts": all_facts, "whole": True}},
    }
    milestones.append({"id": "solved", "when": {"goal": together}, "must_hold_at_end": True})
    return milestones
