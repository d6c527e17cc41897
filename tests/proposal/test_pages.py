"""Proposals from recordings of live pages, judged on recordings that they did not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.miniwob.record import main as record
from benchmarks.proposal import judge, read_runs, split_runs, sum_counts
from benchmarks.proposal_states import judge_task
from lab.benchmarks import infinity
from tests.support.cases import CASES

INFINITY = CASES / "webarena-infinity"
PAGES = ("click-link", "click-option", "enter-text")
"""A click by its text, a choice that can be changed again, a value of the instruction."""


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(580)
def test_a_proposal_of_three_instances_judges_others_as_their_page_does(tmp_path: Path) -> None:
    assert (
        record([str(tmp_path), *PAGES, "--first-seed", "301", "--seeds", "4", "--runs", "4"]) == 0
    )
    judged = 0
    for page, runs in read_runs(tmp_path).items():
        learned, unseen = split_runs(runs, 3)
        if not unseen:
            continue
        counts = judge(learned, unseen)
        assert (counts.right_unpaid, counts.wrong_paid) == (0, 0), (page, counts)
        judged += counts.judged
    assert judged >= 6, "the script's own chance gives enough runs of both kinds"


@pytest.mark.slow
@pytest.mark.shared_cases("webarena-infinity")
def test_a_proposal_of_states_judges_others_as_the_importer_s_task_does() -> None:
    """A few tasks of each application; `python -m benchmarks.proposal_states` judges more."""
    found = [
        judge_task(app, about)
        for app in infinity.read_applications(INFINITY)
        for about in app.tasks[::90]
    ]
    counts = sum_counts([one for one in found if one is not None])
    assert counts.judged >= 60
    assert (counts.wrong_paid, counts.unknown) == (0, 0)
    assert counts.right_paid + counts.wrong_unpaid >= 0.95 * counts.judged
