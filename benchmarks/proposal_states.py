"""`python -m benchmarks.proposal_states FOLDER`: proposals from the states that WebArena-Infinity's
applications would send.

FOLDER holds the benchmark's files. The applications themselves are no part of them, so nothing is
recorded: for every task (or each ``--every``-th) runs are made of its start state and its patch, as
the daemon tells the requests with which such an application saves. Right runs save after each
operation of the patch, and change something else too; wrong ones stop early, write another value or
solve another task. Of three right and three wrong ones a task is proposed; the others are judged by
it, and compared with what the importer's task says, which stands for the verifier.
"""

from __future__ import annotations

import argparse
import copy
import random
import sys
from collections.abc import Iterator, Sequence
from itertools import compress
from pathlib import Path
from typing import Any

import orjson

from api.proposal.mining import propose
from api.proposal.support import RecordedRun
from api.proposal.writing import RecordingCounts, TaskHead, write_proposal
from api.tasks.task_files import check_task, load_task_yaml
from benchmarks.proposal import PageCounts, count_verdict, share, sum_counts, write_into
from detectors.engine.engine import Engine
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset, compile_task
from lab.benchmarks import infinity
from lab.benchmarks.json_patch import PatchError, apply_patch
from lab.benchmarks.state_values import StateTask
from tests.importing.heard import Browser
from tests.support.logs import ORIGIN, episode, log, went

EACH = 3
BEGIN, END = "<!-- python -m benchmarks.proposal_states -->\n", "\n<!-- end of states -->"
TEXTS = frozenset(("body", "description", "snippet", "notes", "bio"))
"""Under these keys stand texts that a run may change without having anything to do with its task."""
STATE = f"{ORIGIN}/api/state"


def main(argv: list[str]) -> int:
    """Print a row for each application, as it is judged, and their sum."""
    parser = argparse.ArgumentParser(
        "benchmarks.proposal_states", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--every", type=int, default=1, help="each n-th task of an application (1)")
    parser.add_argument("--into", type=Path, help="write the table between its marks here")
    asked = parser.parse_args(argv)
    lines: list[str] = []

    def add(line: str) -> None:
        lines.append(line)
        print(line, flush=True)

    total, undecided = PageCounts(), 0
    add("| application | right runs paid | wrong runs paid | not known | tasks undecided |")
    add("| --- | --- | --- | --- | --- |")
    for app in infinity.read_applications(asked.folder):
        found = [judge_task(app, about) for about in app.tasks[:: asked.every]]
        counts = sum_counts([one for one in found if one is not None])
        add(_row(app.name, counts, found.count(None)))
        total = sum_counts([total, counts])
        undecided += found.count(None)
    add(_row("all", total, undecided))
    agreed = total.right_paid + total.wrong_unpaid
    add(f"\nAgreement {share(agreed, total.judged)}.")
    add(f"Wrong runs paid {share(total.wrong_paid, total.wrong_paid + total.wrong_unpaid)}.")
    if asked.into is not None:
        write_into(asked.into, "\n".join(lines), BEGIN, END)
    return 0


def _row(name: str, counts: PageCounts, left: int) -> str:
    right = f"{counts.right_paid} of {counts.right_paid + counts.right_unpaid}"
    wrong = f"{counts.wrong_paid} of {counts.wrong_paid + counts.wrong_unpaid}"
    return f"| {name} | {right} | {wrong} | {counts.unknown} | {left} |"


def judge_task(app: infinity.Application, about: StateTask) -> PageCounts | None:
    """Propose a task of runs of one and judge others; None where nothing is decided."""
    made = infinity.import_task(app, about, ORIGIN)
    if made.spec is None or about.expect_seed:
        return None
    rules = compile_task(check_task(made.spec))
    draw = random.Random(f"{app.name}/{about.id}")
    logs = [
        _log(rules, run) for run in (*_right_runs(app, about, draw), *_wrong_runs(app, about, draw))
    ]
    verdicts = [bool(_succeeds(rules, events)) for events in logs]
    good = [*compress(logs, verdicts)]
    bad = [events for events, is_right in zip(logs, verdicts, strict=True) if not is_right]
    if min(len(good), len(bad)) <= EACH:
        return None
    proposed = _proposed(about.instruction, good[:EACH], bad[:EACH])
    if proposed is None:
        return None
    counts = PageCounts()
    for is_right, unseen in ((True, good[EACH:]), (False, bad[EACH:])):
        for events in unseen:
            count_verdict(counts, is_right, _succeeds(proposed, events))
    return counts


def _proposed(
    instruction: str, good: Sequence[list[Event]], bad: Sequence[list[Event]]
) -> Ruleset | None:
    """The rules of what is proposed; None where it says that it decides nothing."""
    runs = [RecordedRun(f"run-{n}", events) for n, events in enumerate((*good, *bad))]
    try:
        proposal = propose(runs[: len(good)], runs[len(good) :], ORIGIN)
    except ValueError:
        return None
    if not proposal.is_decided:
        return None
    head, counts = TaskHead("proposal", instruction, ORIGIN), RecordingCounts(len(good), len(bad))
    return compile_task(load_task_yaml(write_proposal(head, proposal, counts, ())))


def _succeeds(rules: Ruleset, events: Sequence[Event]) -> bool | None:
    engine = Engine(rules, events[0].episode)
    engine.feed(events)
    return engine.success


def _log(rules: Ruleset, states: Sequence[Any]) -> list[Event]:
    browser = Browser(rules)
    told = [browser.told("PUT", STATE, orjson.dumps(state), 200) for state in states]
    return log(*episode(*told[1:], before=[went("/"), *told[0]]))


def _right_runs(
    app: infinity.Application, about: StateTask, draw: random.Random
) -> Iterator[list[Any]]:
    for _ in range(2 * EACH):
        states = _steps(app.seed, about.patch)
        yield _with_detour([app.seed, *states], draw)


def _wrong_runs(
    app: infinity.Application, about: StateTask, draw: random.Random
) -> Iterator[list[Any]]:
    others = [one for one in app.tasks if one.patch != about.patch and not one.expect_seed]
    for number in range(2 * EACH):
        if number % 3 == 0:
            states = _steps(app.seed, draw.choice(others).patch)
        elif number % 3 == 1 and len(about.patch) > 1:
            states = _steps(app.seed, about.patch[: draw.randrange(1, len(about.patch))])
        else:
            last = _otherwise(about.patch[-1])
            states = _steps(app.seed, [*about.patch[:-1], *([last] if last else [])])
        yield _with_detour([app.seed, *states], draw)


def _otherwise(operation: Any) -> Any | None:
    """An operation that writes another value; None instead of one that writes none."""
    value = operation.get("value")
    if isinstance(value, dict):
        texts = [key for key, one in value.items() if isinstance(one, str) and key != "id"]
        return {**operation, "value": value | {key: f"{value[key]}x" for key in texts}}
    if isinstance(value, bool):
        return {**operation, "value": not value}
    if isinstance(value, int | float):
        return {**operation, "value": value + 1}
    return {**operation, "value": f"{value}x"} if isinstance(value, str) else None


def _steps(seed: Any, patch: Sequence[Any]) -> list[Any]:
    """The state after each operation."""
    states: list[Any] = []
    state = seed
    for operation in patch:
        try:
            state = apply_patch(state, [operation])
        except PatchError:
            break
        states.append(state)
    return states or [seed]


def _with_detour(states: list[Any], draw: random.Random) -> list[Any]:
    """Change some other text at the first step, if there is one; it stays so."""
    places = [*_texts(states[0], ())]
    if not places:
        return states
    keys = draw.choice(places)
    made = []
    for number, state in enumerate(states):
        changed = copy.deepcopy(state)
        if number:
            _write(changed, keys, f"detour {draw.random():.6f}")
        made.append(changed)
    return made


def _texts(value: Any, keys: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for key, part in parts:
        if key in TEXTS and isinstance(part, str):
            yield (*keys, key)
        yield from _texts(part, (*keys, key))


def _write(value: Any, keys: Sequence[Any], text: str) -> None:
    try:
        for key in keys[:-1]:
            value = value[key]
        if isinstance(value[keys[-1]], str):
            value[keys[-1]] = text
    except (KeyError, IndexError, TypeError):
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
