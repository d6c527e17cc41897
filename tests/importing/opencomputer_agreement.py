"""Compare OpenComputer's checks with what its verifiers make of end states, check by check.

``python -m tests.importing.opencomputer_agreement SOURCE [--into docs/coverage.md] [--every N]``: of each check
that a file or a profile decides it makes right end states and wrong ones from the check's own parameters,
lets the daemon's readers tell them to the check's condition, and a reading of theirs say whether it passes.
"""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import opencomputer
from lab.benchmarks.base import CoverageTable
from lab.benchmarks.opencomputer.base import HOME, Told, UntoldCheckError
from tests.importing.opencomputer_machine import paid
from tests.importing.opencomputer_states import UnmadeStateError, make_state, seen_events
from tests.importing.opencomputer_theirs import UnreadStateError, is_met

MAX_WRONG = 2
"""Wrong end states of a check."""
Check = Mapping[str, Any]


@dataclass
class Compared:
    """What came of one check's end states. ``ways``: the command by which each wrong one was made;
    ``unlike``: what differs; ``unmade``: why there are none."""

    app: str
    check: Check
    states: Counter[str] = field(default_factory=Counter)
    unlike: list[str] = field(default_factory=list)
    unmade: str = ""
    ways: dict[str, list[str]] = field(default_factory=dict)


def compare_checks(source: Path, every: int = 1) -> Iterator[Compared]:
    """Compare each ``every``-th check that a file or a profile decides."""
    tasks = [orjson.loads(line) for line in (source / "tasks.jsonl").read_bytes().splitlines()]
    number = 0
    for task in tasks:
        for check, told, _ in opencomputer.read_checks(task):
            if told is None or not told.when or not is_lasting(check, task["app"]):
                continue
            number += 1
            if number % every == 0:
                yield compare_check(task, check, told)


def is_lasting(check: Check, app: str) -> bool:
    """Whether a file or a profile decides a check."""
    command = str(check["command"]).partition(" ")[0]
    return "judge" not in check and command not in opencomputer.LIVE.get(app, frozenset())


def compare_check(task: Mapping[str, Any], check: Check, told: Told) -> Compared:
    """Compare one check over the end states that are made of it."""
    about = opencomputer._about(task)
    found = Compared(task["app"], check)
    with tempfile.TemporaryDirectory() as folder:
        homes = Path(folder)
        try:
            _make(homes, task["app"], check, told)
            found.unlike += _judge(found, about.document, homes, "right", told, met=True)
            wrong = [*islice(_wrong_states(found, homes, task, told), MAX_WRONG)]
            for name in wrong:
                found.unlike += _judge(found, about.document, homes, name, told, met=False)
            if not wrong:
                found.unmade = "no wrong state"
        except (UnmadeStateError, UnreadStateError) as error:
            found.unmade = str(error)
    return found


def _make(homes: Path, app: str, check: Check, told: Told) -> None:
    """Make the state ``start`` in which a check is not met, and ``right`` in which it is: nothing, and what it
    asks for; the other way round where it asks that something is gone."""
    start, right = homes / "start", homes / "right"
    start.mkdir()
    right.mkdir()
    is_gone = check.get("expected") is False and bool(told.argv)
    words = shlex.split(str(check["command"]))
    make_state(start if is_gone else right, app, words, told.when or {})


def _judge(
    found: Compared, document: str | None, homes: Path, name: str, told: Told, *, met: bool
) -> Iterator[str]:
    """Yield what differs from theirs over one end state: come to from the start, and untouched."""
    theirs = is_met(found.app, found.check, homes / name, document)
    rules = _rules(told)
    words = found.ways.get(name) or shlex.split(str(found.check["command"]))
    seen = seen_events(found.app, words)
    ours = bool(paid(rules, homes / "start", homes / name, *seen)[0])
    found.states["right" if theirs else "wrong"] += 1
    if theirs is not met:
        yield f"{name}: made to be {_say(met)}, and theirs says {_say(theirs)}"
    if ours is not theirs:
        yield f"{name}: theirs says {_say(theirs)}, ours {_say(ours)}"
    if theirs and met:
        found.states["untouched"] += 1
        if paid(rules, homes / name, homes / name)[0]:
            yield f"{name}: it was so at the start, and is paid"


def _say(is_met: bool) -> str:
    return "met" if is_met else "not met"


def _rules(told: Told) -> Any:
    """The rules of a task of one check, also where it only counts."""
    condition = opencomputer._condition_of(1, told)
    milestones = [{"id": "check-1", "component": "file", "when": condition}]
    goal = {"id": "goal", "when": {"goal": {"requires": ["check-1"]}}}
    spec: dict[str, Any] = {
        "id": "opencomputer/one",
        "version": "1",
        "instruction": "One check.",
        "weights": {"file": 0.5, "goal": 0.5},
        "milestones": [*milestones, goal],
    }
    if told.argv:
        spec["probes"] = [opencomputer._probe(1, told)]
    return compile_task(task_from_json(spec))


def _wrong_states(
    found: Compared, homes: Path, task: Mapping[str, Any], told: Told
) -> Iterator[str]:
    """Make end states that meet a check like it, and not the check: a value, a place or a name of it is
    another; of one that something must not be there, where it is there. Yield their names."""
    document = opencomputer._about(task).document
    for number, (one, when) in enumerate(_unlike(task, found.check, told)):
        name = f"wrong-{number}"
        (homes / name).mkdir()
        words = found.ways[name] = shlex.split(str(one["command"]))
        try:
            make_state(homes / name, found.app, words, when)
            is_wrong = not is_met(found.app, found.check, homes / name, document)
        except (UnmadeStateError, ValueError, AttributeError):
            continue
        if is_wrong:
            yield name


def _unlike(
    task: Mapping[str, Any], check: Check, told: Told
) -> Iterator[tuple[Check, Mapping[str, Any]]]:
    """Yield checks like a check, each with its condition, that ask for something else."""
    excluded = _excluded(told.when or {})
    if excluded is not None:
        yield check, excluded
    if told.argv and check.get("expected") is False:
        yield check, {}
    if check["command"] == "check-file-saved":
        yield check, _written_elsewhere(told)
    for other in _changed_checks(check):
        try:
            read = opencomputer._read(other, opencomputer._about(task))
        except (UntoldCheckError, ValueError, SyntaxError):
            continue
        if read.when:
            yield other, read.when


def _excluded(when: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What must not be there, of a condition that says so of a file."""
    for part in when.get("all_of", {}).get("of", []):
        if "none_of" in part:
            [condition] = part["none_of"]["of"]
            return dict(condition)
    return None


def _written_elsewhere(told: Told) -> Mapping[str, Any]:
    """The condition of a document that was written under another name."""
    [first, *_] = dict(told.when or {})["any_of"]["of"]
    observed = dict(first)["observed"]
    folder, _, name = observed["where"]["path"].rpartition("/")
    where = {**observed["where"], "path": f"{folder}/other-{name}"}
    return {"any_of": {"of": [{"observed": {**observed, "where": where}}]}}


def _changed_checks(check: Check) -> Iterator[Check]:
    """Yield a check with one value of its expression, or one word of its command, changed: the last
    first."""
    expression = check.get("eval")
    if expression is not None:
        for changed in _changed_expressions(str(expression)):
            yield {**check, "eval": changed}
    words = shlex.split(str(check["command"]))
    for place in range(len(words) - 1, 0, -1):
        changed_words = [*words[:place], change_word(words[place]), *words[place + 1 :]]
        yield {**check, "command": shlex.join(changed_words)}


def _changed_expressions(expression: str) -> Iterator[str]:
    found = [*re.finditer(r"'(?:[^'\\]|\\.)*'|\b\d+(?:\.\d+)?\b", expression)]
    for match in reversed(found):
        text = match[0]
        if text.startswith("'"):
            word = ast.literal_eval(text)
            if word in _NAMES or not word:
                continue
            changed = repr(change_word(word))
        else:
            changed = change_word(text)
        yield expression[: match.start()] + changed + expression[match.end() :]


_NAMES = frozenset(
    (
        *("tables", "data", "name", "rows", "cols", "text", "paragraphs", "bookmarks", "formula"),
        *("value", "header_text", "footer_text", "count", "content", "line_count", "full_text"),
        *("pages", "shape_count", "notes", "bold", "\\n", "\n"),
    )
)
"""Texts in expressions that name what a command gives."""


def change_word(word: str) -> str:
    """Return another word that is like one: the next number, the other truth, a path whose last name is
    another, a text that ends otherwise."""
    if word.lower() in ("true", "false"):
        return "false" if word.lower() == "true" else "true"
    if re.fullmatch(r"-?\d+", word):
        return str(int(word) + 1)
    if re.fullmatch(r"-?\d+\.\d+", word):
        return str(float(word) + 10.0)
    if word.startswith(HOME):
        folder, _, name = word.rstrip("/").rpartition("/")
        return f"{folder}/other-{name}"
    for place in range(len(word) - 1, -1, -1):
        if word[place].isalnum():
            other = "q" if word[place].lower() != "q" else "k"
            if word[place].isdecimal():
                other = str((int(word[place]) + 1) % 10)
            return f"{word[:place]}{other}{word[place + 1 :]}"
    return f"{word}q"


def tables(found: Sequence[Compared]) -> str:
    """The table as Markdown, with what differs and why some have no end states."""
    apps = dict.fromkeys(one.app for one in found)
    rows = [[app, *_counts([one for one in found if one.app == app])] for app in apps]
    columns = ("program", "checks", "compared", "agree", "right", "wrong", "untouched")
    table = CoverageTable("Agreement", columns, [*rows, ["**all**", *_counts(found)]])
    compared = [one for one in found if not one.unmade]
    agree = sum(not one.unlike for one in compared)
    share = f" ({agree / len(found):.1%})" if found else ""
    said = f"Of {len(found)} checks that a file or a profile decides, {agree} agree{share} over"
    said += f" {sum(sum(one.states.values()) for one in compared)} end states."
    reasons = Counter(one.unmade for one in found if one.unmade)
    lines = [f"- {number} not compared: {why}" for why, number in reasons.most_common()]
    for one in compared:
        asked = one.check.get("eval") or one.check["command"]
        lines += [f"- {one.app}, `{asked}`: {why}" for why in one.unlike]
    return f"{said}\n\n{table.markdown()}\n" + "".join(f"{line}\n" for line in lines)


def _counts(found: Sequence[Compared]) -> list[int]:
    compared = [one for one in found if not one.unmade]
    states = sum((one.states for one in compared), Counter[str]())
    agree = sum(not one.unlike for one in compared)
    kinds = [states[kind] for kind in ("right", "wrong", "untouched")]
    return [len(found), len(compared), agree, *kinds]


BEGIN, END = (
    "<!-- python -m tests.importing.opencomputer_agreement -->\n",
    "<!-- end of agreement -->",
)


def main(arguments: Sequence[str]) -> int:
    """Print the table, or write it between its marks; 1 where something differs."""
    options = argparse.ArgumentParser(prog="opencomputer-agreement", description=__doc__)
    options.add_argument("source", type=Path, help="the folder with tasks.jsonl")
    options.add_argument("--into", type=Path, help="write the table between its marks here")
    options.add_argument("--every", type=int, default=1, help="compare each so many-th check alone")
    given = options.parse_args(arguments)
    found = [*compare_checks(given.source, given.every)]
    page = tables(found)
    if given.into is None:
        print(page)
    else:
        text = given.into.read_text("utf-8")
        head, mark, rest = text.partition(BEGIN)
        assert mark, f"the page has no line {BEGIN!r}"
        given.into.write_text(f"{head}{BEGIN}{page}{END}{rest.partition(END)[2]}", "utf-8")
    return int(any(one.unlike for one in found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
