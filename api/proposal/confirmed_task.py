"""A draft that recordings confirm, written as a task file with these as its tests: the command and
the service write the same. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from api.proposal.confirming import Confirmation, confirm, write_confirmed, written_draft_version
from api.proposal.measuring import score_log
from api.proposal.support import RecordedRun
from api.proposal.tested_task import TestCandidate, choose_tests
from api.proposal.writing import RecordingCounts
from api.tasks.task_files import load_task_yaml
from detectors.model.json_value import JsonObject
from detectors.task.ruleset import compile_task


@dataclass(frozen=True, slots=True)
class ConfirmedTask:
    """A confirmed task file's text, and what it rests on. ``limits``: what each failure earns under
    it, in their order, None where one of its steps is not known; ``tests``: those of the file;
    ``notes``: which recordings would fail as one."""

    text: str
    confirmation: Confirmation
    counts: RecordingCounts
    limits: Sequence[float | None]
    tests: Sequence[JsonObject]
    notes: Sequence[str]


def confirm_with_tests(
    text: str, good: Sequence[RecordedRun], bad: Sequence[RecordedRun], files: Sequence[str]
) -> ConfirmedTask:
    """Hold a draft's ``text`` against recordings, and write what they confirm; ``files``: how the
    file names each success, then each failure. Raises `BadTaskError` for a text that is no task,
    `NotEditableError` for one that is no draft or cannot be changed in place, and
    `NotConfirmedError`."""
    task = load_task_yaml(text)
    written_draft_version(task)
    confirmation = confirm(task, good, bad)
    counts = RecordingCounts(len(good), len(bad))
    rules = compile_task(load_task_yaml(write_confirmed(text, task, confirmation, counts, (), ())))
    candidates = [
        TestCandidate("oracle" if number < len(good) else "adversarial", file, run, rules)
        for number, (file, run) in enumerate(zip(files, (*good, *bad), strict=True))
    ]
    limits = [score_log(rules, log) for log in bad]
    tests, faults = choose_tests(candidates)
    written = write_confirmed(text, task, confirmation, counts, tests, faults)
    return ConfirmedTask(written, confirmation, counts, limits, tests, faults)
