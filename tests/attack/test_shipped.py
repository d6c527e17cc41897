"""Every task that is shipped is attacked; those of the importers too. What falls has its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.attack.logs import change_event
from api.attack.scores import score_log
from api.replay.task_tests import read_events
from api.tasks.task_files import load_task_file
from detectors.task.ruleset import compile_task
from lab.benchmarks.miniwob.registry import UNOBSERVABLE
from tests.attack.sources import (
    EXAMPLES,
    GROUPS,
    INFINITY,
    SHOP,
    WEBARENA,
    miniwob,
    miniwob_by_hand,
)
from tests.attack.table import REASONS, AttackedGroup, attack_group, is_explained, tables
from tests.importing.test_coverage_page import PAGE
from tests.miniwob.table import ENTRIES
from tests.support.chromium import EXECUTABLE

QUICK = ("examples", "OSWorld")


@pytest.mark.parametrize("name", QUICK)
def test_shipped_tasks_pay_no_adversary_without_a_reason(name: str) -> None:
    group = attack_group(name)
    assert group.attacked >= 5
    assert is_explained(group), group.falls
    assert tables([group]).splitlines()[4] in PAGE, "python -m tests.attack"


def test_instances_that_are_written_by_hand_pay_no_adversary() -> None:
    """MiniWoB++ without a browser, and so without the pages."""
    group = attack_group("MiniWoB++", miniwob_by_hand())
    assert group.attacked == group.tasks == 5
    assert not group.falls


@pytest.mark.browser
def test_an_instance_is_attacked_by_its_recorded_ways(tmp_path: Path) -> None:
    """One that its clicks decide, and one that a probe of its field decides: what the page would
    have made of a constant is not known."""
    pages = ("click-test-2", "email-inbox-reply")
    group = attack_group("MiniWoB++", miniwob(tmp_path, ("1",), pages))
    assert (group.tasks, group.attacked, group.falls) == (2, 2, {})
    assert 4 <= group.unknown < group.adversaries
    assert group.adversaries >= 30
    assert len([*tmp_path.glob("*.mrec")]) == 4


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not Path(EXECUTABLE).exists(), reason=f"{EXECUTABLE} is missing")
def test_miniwob() -> None:
    """An instance of every page. How many adversaries a recording gives depends on what the browser
    told of."""
    group = attack_group("MiniWoB++")
    assert group.attacked == group.tasks == len(ENTRIES.keys() - UNOBSERVABLE.keys())
    assert is_explained(group), group.falls
    row = next(line for line in PAGE.splitlines() if line.startswith("| MiniWoB++ | "))
    tasks, attacked = (int(cell) for cell in row.split("|")[2:4])
    assert tasks == attacked == group.tasks


def test_each_reason_is_of_a_group() -> None:
    assert {name for name, _ in REASONS} <= GROUPS.keys()
    unexplained = AttackedGroup("examples", falls={"nothing": ["t"]})
    assert not is_explained(unexplained)
    assert "**not explained**" in tables([unexplained])


@pytest.mark.slow
@pytest.mark.shared_cases("webarena-infinity")
def test_webarena_infinity() -> None:
    group = attack_group("WebArena-Infinity")
    assert INFINITY.exists()
    assert is_explained(group), group.falls
    assert tables([group]).splitlines()[4] in PAGE


@pytest.mark.slow
@pytest.mark.shared_cases("webcanvas")
def test_webcanvas() -> None:
    group = attack_group("WebCanvas")
    assert is_explained(group), group.falls
    assert tables([group]).splitlines()[4] in PAGE


@pytest.mark.slow
@pytest.mark.shared_cases("opencomputer")
def test_opencomputer() -> None:
    """Whole tasks: what solves each meets all of its checks at once."""
    group = attack_group("OpenComputer")
    assert group.attacked == group.tasks - group.left_out["refused by its importer"]
    assert is_explained(group), group.falls
    assert tables([group]).splitlines()[4] in PAGE


@pytest.mark.slow
@pytest.mark.skipif(not WEBARENA.exists(), reason="make .venv-webarena/ready")
def test_webarena_verified() -> None:
    group = attack_group("WebArena-Verified")
    assert is_explained(group), group.falls
    assert tables([group]).splitlines()[4] in PAGE


def test_a_download_that_the_browser_names_anew_is_still_the_shop_s() -> None:
    """Beside a file of its name a browser saves `invoice-1001 (1).csv`, and announces it without
    the number."""
    path = EXAMPLES / "desktop" / "download.yaml"
    rules = compile_task(load_task_file(path))
    name = "invoice-1001 (1).csv"
    events = [
        change_event(event, name=name, path=name)
        if event.kind == "file.created" and event.data["name"] == "invoice-1001.csv"
        else event
        for event in read_events(SHOP)
    ]
    assert score_log(rules, events).total == 1.0
