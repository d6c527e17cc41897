"""OpenComputer's tasks: what its verifiers ask of documents, profiles and pages, check by check.

Each check that something tells is a milestone, all alike, as in its mean over checks; they come to
half of the reward, the goal to the other half. The goal wants those that can be known, and a task
of which the greater part can't be is none of ours. The machine's ``/home/user`` is the watched
folder ``home``.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import orjson

from api.tasks.task_files import BadTaskError, check_task
from common.regular_file import read_regular
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    list_or_empty,
    object_or_empty,
    read_list,
    read_object,
    require_object,
    require_text,
)
from lab.benchmarks.base import SECRET, BadSourceError, CoverageTable, Imported, asks_secret
from lab.benchmarks.opencomputer import files, office, profiles
from lab.benchmarks.opencomputer.base import (
    HOME,
    WAYS,
    Readers,
    TaskOf,
    Told,
    UntoldCheckError,
    UpstreamCheck,
)

APPS: Mapping[str, Readers] = {
    "libreoffice_calc": office.CALC,
    "libreoffice_writer": office.WRITER,
    "libreoffice_impress": office.IMPRESS,
    "libreoffice_draw": office.DRAW,
    "gedit": files.GEDIT,
    "pcmanfm": files.PCMANFM,
    "vlc": files.VLC,
    "galculator": profiles.GALCULATOR,
    "chrome": profiles.CHROME,
    "firefox": profiles.FIREFOX_CHECKS,
    "inkscape": files.INKSCAPE,
    "thunderbird": profiles.THUNDERBIRD_CHECKS,
    "drawio": files.DRAWIO,
    "gimp": files.GIMP,
}
"""Program → its commands, and what reads each."""
LIVE: Mapping[str, frozenset[str]] = {
    "chrome": frozenset(("check-page-contains", "check-tab-open", "eval", "input")),
    "firefox": frozenset(("check-page-contains", "check-tab-open", "eval", "input", "tabs")),
    "galculator": frozenset(("check-display-value", "check-running")),
    "vlc": frozenset(
        (
            "check-fullscreen",
            "check-loop",
            "check-media-loaded",
            "check-playing",
            "check-position",
            "check-repeat",
            "check-state",
            "check-volume",
        )
    ),
}
"""Program → commands about what it shows or plays now; what all others ask stands in a file or a
profile, once it is saved."""
COUNTS = frozenset(
    (
        *("check-edge-count", "check-file-count", "check-file-line-count", "check-page-count"),
        *("check-shape-count", "check-sheet-count", "check-slide-count", "check-vertex-count"),
        *("check-word-count", "contact-count", "edges", "file-line-count"),
    )
)
"""Commands that only count: whatever makes as many meets them."""
_HALF = 0.5
MAX_PROBES = 32
WHOLE, PART, REFUSED = "whole", "part", "refused"
"""The kinds of tasks: every check told, most of them, too few."""
_DOCUMENT = re.compile(r"/home/user/[\w./ -]*?\.(?:ods|xlsx|odt|docx|odp|pptx|odg)\b")
WANTED = "lines of JSON with id, app, task, env.files and verification"


def tasks(source: Path, sites: Mapping[str, str]) -> Iterator[Imported]:
    """One task each, in the file's order. Raises `BadSourceError`, `OSError`. ``sites`` is not
    needed: the machine is watched itself."""
    for task in _dataset(source):
        name = require_text(task["id"], "id")
        try:
            yield _imported(name, task)
        except BadTaskError as error:
            problem = error.problems[0]
            why = f"what it asks for is refused: got {problem.value}, wanted {problem.wanted}"
            yield Imported(name, None, REFUSED, (why,))


def coverage(source: Path) -> CoverageTable:
    """Checks by program and by how they are told, and why some are not."""
    counted: dict[str, Counter[str]] = {}
    missing: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    lasting: Counter[str] = Counter()
    for task, made in zip(_dataset(source), tasks(source, {}), strict=True):
        kinds[made.kind] += 1
        counts = counted.setdefault(str(task["app"]), Counter())
        counts["tasks"] += 1
        for check, told, why in read_checks(task):
            way = "unobservable" if told is None else told.way
            counts[way] += 1
            lasting[way] += _is_lasting(check, str(task["app"]))
            if told is None:
                missing[why.partition(":")[0]] += 1
    every = sum(counted.values(), Counter[str]())
    rows = [
        [app, counts["tasks"], sum(counts[way] for way in WAYS), *(counts[way] for way in WAYS)]
        for app, counts in [*counted.items(), ("**all**", every)]
    ]
    said = ", ".join(f"{kinds[kind]} {kind}" for kind in (WHOLE, PART, REFUSED))
    reasons = "\n".join(f"- {many}: {why}" for why, many in missing.most_common())
    notes = [
        f"{sum(kinds.values())} tasks: {said}.",
        _describe_lasting_checks(lasting),
        f"Unobservable, by reason:\n\n{reasons}",
    ]
    return CoverageTable("OpenComputer", ("program", "tasks", "checks", *WAYS), rows, notes)


def _is_lasting(check: JsonObject, app: str) -> bool:
    """Return whether a file or a profile decides a check: no program has to be asked, and no
    model."""
    command = require_text(check["command"], "command").partition(" ")[0]
    return "judge" not in check and command not in LIVE.get(app, frozenset())


def _refusal_reason(told: list[tuple[int, JsonObject]], unknown: int) -> str | None:
    """Say why a task of these checks, and of so many ``unknown`` ones, is none of ours; None where
    it is one."""
    if not told or unknown > len(told):
        return "more of it is unknown than known"
    if all(_is_count(check) for _, check in told):
        return "it only counts: any other change that makes as many would be paid"
    return _find_contradiction(told)


def _find_contradiction(told: list[tuple[int, JsonObject]]) -> str | None:
    """Say which two checks ask that one thing is so and that it is not: what solves such a task
    fails it. None where there are none."""
    asked: dict[str, tuple[int, bool]] = {}
    for number, check in told:
        command, expected = f"{check['command']} {check.get('key')}", check.get("expected")
        if "eval" in check or not isinstance(expected, bool):
            continue
        before, was_expected = asked.setdefault(command, (number, expected))
        if was_expected is not expected:
            return f"checks {before} and {number} contradict each other: its own solution fails"
    return None


def _is_count(check: JsonObject) -> bool:
    """Return whether a check asks how many of something there are, and nothing of any."""
    return require_text(check["command"], "command").partition(" ")[0] in COUNTS


def _describe_lasting_checks(counts: Counter[str]) -> str:
    told = counts["told"] + counts["as meant"]
    asked = told + counts["unobservable"]
    share = f" ({told / asked:.1%})" if asked else ""
    return (
        f"Of {asked} checks that a file or a profile decides, {told} are told{share};"
        f" {counts['true at the start']} more are true at the start."
    )


def read_checks(task: JsonObject) -> list[tuple[JsonObject, Told | None, str]]:
    """Each check of a task with what it is to us; None and the reason where it is nothing."""
    about = _about(task)
    found: list[tuple[JsonObject, Told | None, str]] = []
    for value in read_list(task, "verification"):
        check = require_object(value, "verification")
        try:
            found.append((check, _read(check, about), ""))
        except UntoldCheckError as error:
            found.append((check, None, str(error)))
    return found


def _read(check: JsonObject, about: TaskOf) -> Told:
    """Return a check as a condition of ours. Raises `UntoldCheckError` with the reason where no
    rule can tell it."""
    if "judge" in check:
        raise UntoldCheckError("what a language model makes of it")
    try:
        words = shlex.split(require_text(check["command"], "command"))
    except ValueError:
        raise UntoldCheckError("a command whose quotes are not closed") from None
    reader = APPS[about.app].get(words[0] if words else "")
    if reader is None:
        raise UntoldCheckError(f"a command that nothing here reads: {words[0]}")
    expression = check.get("eval")
    told = reader(
        UpstreamCheck(
            words, check.get("expected"), None if expression is None else str(expression)
        ),
        about,
    )
    if asks_secret(told.when):
        raise UntoldCheckError(SECRET)
    return told


def _about(task: JsonObject) -> TaskOf:
    """Collect what readers of checks ask of a task: its program, the files that it begins with, and
    the document that it is about, named by the instruction or else given."""
    given = [
        require_text(require_object(one, "files").get("sandbox_path"), "sandbox_path")
        for one in read_list(read_object(task, "env"), "files")
    ]
    named = _DOCUMENT.findall(require_text(task["task"], "task"))
    documents = [path for path in (*reversed(named), *given) if _DOCUMENT.fullmatch(path)]
    return TaskOf(
        app=str(task["app"]),
        document=documents[0].removeprefix(HOME) if documents else None,
        given=frozenset(path.removeprefix(HOME) for path in given),
    )


def _dataset(source: Path) -> list[JsonObject]:
    """Read the tasks of a file, or of a folder that holds it. Raises `BadSourceError` that names
    the line."""
    path = source / "tasks.jsonl" if source.is_dir() else source
    found = []
    for number, line in enumerate(read_regular(path).splitlines(), 1):
        try:
            task = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise BadSourceError(f"line {number}: no JSON: {error}") from None
        if not _is_task(task):
            raise BadSourceError(
                f"line {number}: wanted {WANTED}, of a program among {', '.join(APPS)}"
            )
        found.append(task)
    if not found:
        raise BadSourceError(f"wanted {WANTED}")
    return found


def _is_task(task: object) -> bool:
    """Whether ``task`` has what one of the dataset's has: texts, a program, checks of commands."""
    about = object_or_empty(task)
    texts = [about.get(name) for name in ("id", "app", "task")]
    if not all(isinstance(text, str) for text in texts):
        return False
    checks = about.get("verification")
    has_parts = isinstance(checks, list) and isinstance(about.get("env"), dict)
    if not has_parts or about["app"] not in APPS:
        return False
    return all("command" in object_or_empty(check) for check in list_or_empty(checks))


def _imported(name: str, task: JsonObject) -> Imported:
    """Import a task from those of its checks that a rule can tell. Raises `BadSourceError`."""
    checks = read_checks(task)
    told: list[tuple[int, Told]] = []
    remarks: list[str] = []
    for number, (_, one, why) in enumerate(checks, 1):
        if one is None:
            remarks.append(f"check {number}: {why}")
        elif one.when:
            told.append((number, one))
    asked = [(number, one) for number, one in told if one.argv]
    if len(asked) > MAX_PROBES:
        raise BadSourceError(f"{name}: {len(asked)} probes, at most {MAX_PROBES}")
    unknown = len(remarks)
    refusal = _refusal_reason([(number, checks[number - 1][0]) for number, _ in told], unknown)
    if refusal is not None:
        return Imported(name, None, REFUSED, (*remarks, refusal))
    milestones: list[JsonValue] = [
        {"id": f"check-{n}", "component": "file", "when": _condition_of(n, one)} for n, one in told
    ]
    spec: dict[str, JsonValue] = {
        "id": f"opencomputer/{name}",
        "version": "1",
        "instruction": require_text(task["task"], "task"),
        "weights": {"file": _HALF, "goal": _HALF},
        "milestones": [*milestones, _goal(told)],
    }
    if asked:
        spec["probes"] = [_probe(number, one) for number, one in asked]
    check_task(spec)
    return Imported.from_spec(name, spec, PART if unknown else WHOLE, remarks)


def _goal(told: list[tuple[int, Told]]) -> JsonObject:
    """All of them reached, and so at the end still, but for what was asked of the past."""
    conditions: list[JsonValue] = [
        _condition_of(number, one) for number, one in told if not one.is_past
    ]
    goal: JsonObject = {"requires": [f"check-{number}" for number, _ in told]}
    if conditions:
        goal = {**goal, "when": {"all_of": {"holding": True, "of": conditions}}}
    return {"id": "goal", "when": {"goal": goal}, "must_hold_at_end": True}


def _condition_of(number: int, told: Told) -> JsonObject:
    """Return a check's condition; one that is asked by a command names its probe."""
    when = told.when or {}
    if not told.argv:
        return when
    return {"probe_answers": {"probe": f"check-{number}", **read_object(when, "probe_answers")}}


def _probe(number: int, told: Told) -> JsonObject:
    command: JsonObject = {"argv": [*told.argv]}
    return {"id": f"check-{number}", "command": command, "when": ["start", "step", "close"]}
