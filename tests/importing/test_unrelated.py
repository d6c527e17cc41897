"""Nothing that was done, and nothing that was done for another reason, pays a task of OSWorld's or
MiniWoB++'s.

WebArena-Infinity's, whose tasks are made of a difference between two states, have a property of
their own (test_state_fuzz.py). No other importer makes a task of a difference; what WebArena-Verified
asks of requests has a table of its own (test_verified_drawn.py).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.benchmarks.miniwob.instance import Instance
from tests.importing import osworld_tasks as osworld
from tests.importing import test_miniwob as miniwob
from tests.support.logs import Said, clicked, created, went

UNRELATED: dict[str, list[Said]] = {
    "nothing": [],
    "another page": [went("http://zebra.test/")],
    "another element": [clicked("Zebra")],
    "another file": [created("zebra.bin", size=3)],
    "another file's content": [osworld.said({"zebra": 1}, "zebra.json")],
    "a line of another program": [
        ("window.opened", {"title": "Zebra", "app": "zebra", "window": "w9"})
    ],
}


@pytest.mark.parametrize("function", osworld.RIGHT_AND_WRONG)
def test_a_task_of_osworld_s_is_not_paid_by_another_change(function: str, tmp_path: Path) -> None:
    spec, right, _ = osworld.RIGHT_AND_WRONG[function]
    one = osworld.imported(tmp_path, spec)
    assert osworld.worth(one.spec, right) == 1.0
    for name, happened in UNRELATED.items():
        assert not osworld.worth(one.spec, happened), name


@pytest.mark.parametrize("one", miniwob.EVERY, ids=lambda one: one.page)
def test_a_page_of_miniwob_s_is_not_paid_by_another_change(one: Instance) -> None:
    for name, happened in UNRELATED.items():
        assert miniwob.goal(one, happened) == (False, 0.0), name
