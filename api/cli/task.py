"""`milestoned task new|check|explain|test|attack|schema`: task files, before anything runs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import orjson

from api.cli.common import Overrides
from api.cli.main import added_commands
from api.cli.other_site import note_other_site
from api.replay.recordings import RecordingError
from api.replay.task_tests import (
    BadTestError,
    as_bytes,
    bundle_recordings,
    lacking,
    read_log,
    run_tests,
)
from api.rewards.explaining import Explained, in_general, of_events
from api.rewards.rendering import GOAL, tiers_in_words, total_in_words
from api.tasks.schema import task_schema
from api.tasks.script_check import (
    NotTriedError,
    doubtful_calls,
    script_probes,
    try_expressions,
    try_on_page,
)
from api.tasks.task_files import BadTaskError, check_task, load_task_file, read_task_file
from api.tasks.task_warnings import warnings_over_schedules
from api.verdicts.recorded import Playback
from common.command_line import new_app, option
from detectors.model.codec import CodecError
from detectors.model.rewards import total as sum_of
from detectors.task.language import Task
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_to_json

TEMPLATE = Path(__file__).with_name("new_task.yaml")


app = new_app("task", "Check task files before anything runs.")
app.command(
    "api.cli.task_attack:run",
    name="attack",
    help="Attack a task with adversaries made of a recording that solves it.",
)
app.command(
    "api.cli.task_rubric:run",
    name="rubric",
    help="Draft criteria for a judge from a task's instruction, or confirm a draft.",
)
app.command(
    "api.cli.task_register:run",
    name="register",
    help="Register a task with a running service, so that its episodes can be opened.",
)
for _name, (_target, _about) in added_commands().items():
    if _name.startswith("task "):
        app.command(_target, name=_name.partition(" ")[2], help=_about)


def _complain(path: Path, error: Exception) -> int:
    """Print each problem of a file; return the exit status 1."""
    said: Iterable[object] = error.problems if isinstance(error, BadTaskError) else [error]
    if isinstance(error, OSError):
        path, said = Path(error.filename or path), [error.strerror]
    for problem in said:
        print(f"{path}: {problem}", file=sys.stderr)
    return 1


@app.command
def new(file: Annotated[Path, option("one that does not exist yet", "FILE")], /) -> int:
    """Write a task file to begin with."""
    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(TEMPLATE.read_text("utf-8").replace("NAME", _id(file.stem)))
    except OSError as error:
        return _complain(file, error)
    print(
        f"{file}: written; `milestoned task check {file}` checks it, docs/tasks.md says"
        " what can be said"
    )
    return 0


def _id(stem: str) -> str:
    """The name of a file as a task's id."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", stem).strip("-._")[:64] or "task"


@app.command
def check(
    files: Annotated[tuple[Path, ...], option("task files", "FILE")],
    /,
    *,
    set_: Overrides = (),
    written_out: Annotated[
        bool, option("print the task as JSON, presets and defaults in it")
    ] = False,
    page: Annotated[
        str | None,
        option(
            "a page of yours, which is loaded: print what each script probe answers there", "URL"
        ),
    ] = None,
) -> int:
    """Say whether task files are right; exit 1 if one is not."""
    failed = 0
    for path in files:
        try:
            task = load_task_file(path, dict(set_))
        except (BadTaskError, OSError) as error:
            failed |= _complain(path, error)
            continue
        rules = compile_task(task)
        if written_out:
            sys.stdout.buffer.write(
                orjson.dumps(task_to_json(task), option=orjson.OPT_INDENT_2) + b"\n"
            )
            continue
        if _scripts_fail(path, task) or (page is not None and _page_fails(path, task, page)):
            failed = 1
            continue
        print(
            f"{path}: ok: {task.id} version {task.version}, {len(task.milestones)} milestones, "
            f"at most {rules.attainable:g}, ruleset {rules.digest[:12]}"
        )
        if rules.unplaced:
            print(
                f"{path}: warning: no `origin`, so any page meets {', '.join(rules.unplaced)}: name"
                " the site's origin",
                file=sys.stderr,
            )
        for warning in warnings_over_schedules(rules):
            print(f"{path}: warning: {warning}", file=sys.stderr)
    return failed


def _scripts_fail(path: Path, task: Task) -> bool:
    """Whether a real browser refuses a script probe of the task; says which, and what could not be
    tried."""
    probes = script_probes(task)
    if not probes:
        return False
    problems: list[str] = []
    try:
        problems = try_expressions(probes)
    except NotTriedError as error:
        print(f"{path}: the script probes were not tried: {error}", file=sys.stderr)
    for problem in problems:
        print(f"{path}: {problem}", file=sys.stderr)
    for doubt in () if problems else doubtful_calls(probes):
        print(f"{path}: warning: {doubt}", file=sys.stderr)
    return bool(problems)


def _page_fails(path: Path, task: Task, page: str) -> bool:
    """Whether a script probe of the task fails on a page; prints what each of them answers."""
    failed = False
    try:
        for trial in try_on_page(task, page):
            failed |= bool(trial.problem)
            if trial.problem:
                print(f"{path}: {trial.path}: {trial.problem}", file=sys.stderr)
            else:
                print(f"{path}: {trial.path}: {trial.answer}")
    except NotTriedError as error:
        print(f"{path}: nothing was tried on the page: {error}", file=sys.stderr)
        return True
    return failed


@app.command
def explain(
    file: Annotated[Path, option("the task file", "FILE")],
    recording: Annotated[Path | None, option("a .mrec or .jsonl to explain", "RECORDING")] = None,
    /,
    *,
    set_: Overrides = (),
) -> int:
    """Say what each milestone waits for, and why it paid or did not."""
    try:
        rules = compile_task(load_task_file(file, dict(set_)))
        if recording is None:
            _show(in_general(rules))
            _show_tiers(rules)
            return 0
        events, verdicts = read_log(recording)
        explained, playback = of_events(rules, events, events[0].episode, verdicts)
    except (BadTaskError, OSError, RecordingError, CodecError) as error:
        return _complain(file if isinstance(error, BadTaskError) else recording or file, error)
    _show(explained)
    _show_tiers(rules)
    _show_null_steps(playback)
    note_other_site(rules, events)
    masked = sum(reward.mask for reward in playback.rewards)
    known = sum_of(reward.reward for reward in playback.rewards if reward.reward is not None)
    print(
        f"total {total_in_words(playback.total, known)} of {rules.attainable:g},"
        f" {masked} steps masked; goal {GOAL[playback.success]}"
    )
    return 0


def _show_null_steps(playback: Playback) -> None:
    """Show the steps whose reward is not known, with their reasons, and where the remedies are."""
    masked = [reward for reward in playback.rewards if reward.mask]
    for reward in masked:
        print(f"    step {reward.step} is null ({reward.status}): {reward.reason}")
    if masked:
        remedies = "docs/how-to/null-rewards.md"
        print(f"note: what to do about each reason of a null step: {remedies}", file=sys.stderr)
    if not playback.rewards:
        print(
            "note: no step is sealed, so nothing is paid yet; what the daemon does not observe:"
            " milestoned recording show RECORDING --kinds gap",
            file=sys.stderr,
        )


def _show(explained: list[Explained]) -> None:
    """Print each milestone with what it waits for and what became of it."""
    for one in explained:
        print(f"{one.id} ({one.worth:+g})")
        for line in one.waits:
            print(f"    {line}")
        for line in one.became:
            print(f"  > {line}")


def _show_tiers(rules: Ruleset) -> None:
    """Print who is asked beyond the rules, if anybody is."""
    lines = list(tiers_in_words(rules))
    if lines:
        print("beyond the rules")
    for line in lines:
        print(f"    {line}")


@app.command(name="test")
def try_tasks(
    files: Annotated[tuple[Path, ...], option("task files", "FILE")],
    /,
    *,
    set_: Overrides = (),
    bundle: Annotated[bool, option("print the task with its recordings, for the service")] = False,
) -> int:
    """Run tasks against the recordings named in them; exit 1 if one fails."""
    failed = 0
    for path in files:
        try:
            spec, lines = read_task_file(path, dict(set_))
            rules = compile_task(check_task(spec, lines))
            missing = lacking(spec.get("tests"))
            if bundle:
                sys.stdout.buffer.write(as_bytes(bundle_recordings(spec, path.parent)) + b"\n")
                continue
            for one in run_tests(rules, spec.get("tests", []), path.parent):
                failed |= one.wrong is not None
                came = f"total {total_in_words(one.total)} of {rules.attainable:g}"
                print(f"{path}: {one.kind} {one.name}: {one.wrong or 'ok'}, {came}")
                for hint in one.hints:
                    print(f"    {hint}")
            if missing is not None:
                failed = 1
                print(f"{path}: tests: wanted {missing}", file=sys.stderr)
        except (BadTaskError, BadTestError, OSError) as error:
            failed |= _complain(path, error)
    return int(failed)


@app.command
def schema() -> int:
    """Print the JSON Schema of task files."""
    sys.stdout.buffer.write(orjson.dumps(task_schema(), option=orjson.OPT_INDENT_2) + b"\n")
    return 0
