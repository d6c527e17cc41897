"""`python -m benchmarks.proposal DIR`: how far proposed goals agree with the pages' own verdicts.

DIR is what `python -m benchmarks.miniwob.record DIR` recorded. For each page with enough runs a
task is proposed from three right and three wrong ones, their instructions among them; the others
are judged by it. What their goal says is compared with what the page paid. A page of which the
proposal says itself that it decides nothing is named, and not judged.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from api.core.intervals import wilson
from api.proposal.mining import propose
from api.proposal.slots import InstructionTemplate, NoTemplateError, find_template, read_values
from api.proposal.support import RecordedRun
from api.proposal.writing import RecordingCounts, TaskHead, write_proposal
from api.replay.task_tests import read_log
from api.suggestions.event_values import find_origin
from api.tasks.task_files import BadTaskError, load_task_yaml
from detectors.engine.engine import Engine
from detectors.task.ruleset import compile_task

BEGIN, END = "<!-- python -m benchmarks.proposal -->\n", "\n<!-- end of proposals -->"
LEARNED = 3
"""Right runs, and wrong ones, of which a task is proposed."""


@dataclass(frozen=True, slots=True)
class PageRun:
    """A recorded run of a page: what the agent was told, and whether the page paid it in full."""

    file: Path
    page: str
    instance: str
    instruction: str
    is_right: bool


@dataclass
class PageCounts:
    """What the goal of one page's proposal said of the runs that it did not see."""

    right_paid: int = 0
    right_unpaid: int = 0
    wrong_paid: int = 0
    wrong_unpaid: int = 0
    unknown: int = 0

    @property
    def judged(self) -> int:
        return self.right_paid + self.right_unpaid + self.wrong_paid + self.wrong_unpaid


def sum_counts(counts: Sequence[PageCounts]) -> PageCounts:
    """Add up what was counted of several pages."""
    total = PageCounts()
    for one in counts:
        for name, value in vars(one).items():
            setattr(total, name, getattr(total, name) + value)
    return total


def main(argv: list[str]) -> int:
    """Print a row for each page and their sum."""
    parser = argparse.ArgumentParser(
        "benchmarks.proposal", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--learned", type=int, default=LEARNED, help=f"of each kind ({LEARNED})")
    parser.add_argument("--into", type=Path, help="write the table between its marks here")
    asked = parser.parse_args(argv)
    table = table_of(asked.folder, asked.learned)
    print(table)
    if asked.into is not None:
        write_into(asked.into, table, BEGIN, END)
    return 0


def write_into(page: Path, table: str, begin: str, end: str) -> None:
    """Put a table between its marks in a page. Raises `ValueError` where the page lacks them."""
    before, mark, rest = page.read_text("utf-8").partition(begin)
    _, last, after = rest.partition(end)
    if not mark or not last:
        raise ValueError(f"{page}: expected the marks {begin.strip()!r} and {end.strip()!r}")
    page.write_text(f"{before}{begin}{table}{end}{after}", "utf-8")


def table_of(folder: Path, learned: int = LEARNED) -> str:
    """Return a table with a row for each page with enough runs, and what they come to."""
    total, undecided = PageCounts(), []
    rows = ["| page | right runs paid | wrong runs paid | not known |", "| --- | --- | --- | --- |"]
    for page, runs in sorted(read_runs(folder).items()):
        seen, unseen = split_runs(runs, learned)
        if not unseen:
            continue
        try:
            counts = judge(seen, unseen)
        except (ValueError, BadTaskError) as error:
            undecided.append(f"{page} ({str(error).splitlines()[0]})")
            continue
        rows.append(_row(page, counts))
        total = sum_counts([total, counts])
    rows.append(_row("all", total))
    agreed = total.right_paid + total.wrong_unpaid
    said = [
        f"Agreement {share(agreed, total.judged)}.",
        f"Wrong runs paid {share(total.wrong_paid, total.wrong_paid + total.wrong_unpaid)}.",
        f"Said to be undecided: {', '.join(undecided) or 'none'}.",
    ]
    return "\n".join([*rows, "", *said])


def read_runs(folder: Path) -> dict[str, list[PageRun]]:
    """Return the recorded runs whose pages events decide, by page."""
    runs: dict[str, list[PageRun]] = {}
    for line in (folder / "events.jsonl").read_text().splitlines():
        said = json.loads(line)
        page = said["task"]["id"].rpartition("/")[2]
        instance = said["id"].rpartition("-")[0]
        one = PageRun(
            folder / said["file"],
            page,
            instance,
            said["task"]["instruction"],
            bool(said["success"]),
        )
        runs.setdefault(page, []).append(one)
    return runs


def split_runs(runs: Sequence[PageRun], learned: int) -> tuple[list[PageRun], list[PageRun]]:
    """Return the runs of which a task is proposed, right ones first and of as many instances as
    there are, and all others; no others where there are too few."""
    chosen: list[PageRun] = []
    for is_right in (True, False):
        of_kind = [run for run in runs if run.is_right is is_right]
        if len(of_kind) < learned + (1 if is_right else 0):
            return [], []
        chosen += _spread(of_kind, learned)
    return chosen, [run for run in runs if run not in chosen]


def _spread(runs: Sequence[PageRun], count: int) -> list[PageRun]:
    """Return ``count`` runs, of as many instances as there are."""
    seen: dict[str, int] = {}
    ranked: list[tuple[int, int, PageRun]] = []
    for run in runs:
        seen[run.instance] = seen.get(run.instance, 0) + 1
        ranked.append((seen[run.instance], len(ranked), run))
    return [run for _, _, run in sorted(ranked, key=lambda one: one[:2])[:count]]


def judge(learned: Sequence[PageRun], unseen: Sequence[PageRun]) -> PageCounts:
    """Propose a task of ``learned`` and judge ``unseen`` by its goal. Raises `ValueError` where
    nothing is shared, `BadTaskError` where the proposal is refused."""
    template = _template_of([run.instruction for run in learned])
    logs = [
        replace(_read(run), values=values)
        for run, values in zip(learned, template.values, strict=True)
    ]
    good = [log for log, run in zip(logs, learned, strict=True) if run.is_right]
    bad = [log for log, run in zip(logs, learned, strict=True) if not run.is_right]
    origin = find_origin(chain.from_iterable(log.events for log in good))
    head = TaskHead("proposal", template.text, origin, good[0].values)
    counts = RecordingCounts(len(good), len(bad))
    proposal = propose(good, bad, origin, template.text)
    if not proposal.is_decided:
        raise ValueError("; ".join(proposal.notes))
    text = write_proposal(head, proposal, counts, ())
    found = PageCounts()
    for run in unseen:
        count_verdict(found, run.is_right, _succeeded(text, template, run))
    return found


def _template_of(instructions: Sequence[str]) -> InstructionTemplate:
    """Return the template of instructions; where they share no words, the first without a slot."""
    try:
        return find_template(instructions)
    except NoTemplateError:
        return InstructionTemplate(instructions[0], tuple({} for _ in instructions))


def _succeeded(text: str, template: InstructionTemplate, run: PageRun) -> bool | None:
    """Return whether the proposal's goal was reached; None where nobody knows, or where the
    instruction is none of the template's."""
    try:
        (values,) = read_values(template.text, [run.instruction]).values
    except NoTemplateError:
        return None
    examples = template.values[0]
    filled = {
        f"values.{name}": str(value)
        for name, value in values.items()
        if isinstance(value, type(examples[name]))
    }
    if len(filled) < len(examples):
        return None
    log = _read(run)
    overrides = filled | ({"origin": log.origin} if log.origin else {})
    engine = Engine(compile_task(load_task_yaml(text, overrides)), log.events[0].episode)
    engine.feed(log.events)
    return engine.success


def count_verdict(counts: PageCounts, is_right: bool, is_paid: bool | None) -> None:
    """Count what a proposal's goal says of a run, None where that is not known."""
    if is_paid is None:
        counts.unknown += 1
    elif is_right:
        counts.right_paid += is_paid
        counts.right_unpaid += not is_paid
    else:
        counts.wrong_paid += is_paid
        counts.wrong_unpaid += not is_paid


def _read(run: PageRun) -> RecordedRun:
    """Read a run; each had a server, and so an origin, of its own."""
    events = read_log(run.file).events
    return RecordedRun(run.file.name, events, origin=find_origin(events))


def _row(page: str, counts: PageCounts) -> str:
    right = f"{counts.right_paid} of {counts.right_paid + counts.right_unpaid}"
    wrong = f"{counts.wrong_paid} of {counts.wrong_paid + counts.wrong_unpaid}"
    return f"| {page} | {right} | {wrong} | {counts.unknown} |"


def share(part: int, whole: int) -> str:
    """Return a share with its 95 % interval, as it is printed."""
    if not whole:
        return "nothing judged"
    low, high = wilson(part / whole, whole)
    return f"{part}/{whole} = {part / whole:.3f} [{low:.3f}, {high:.3f}]"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
