"""MiniWoB++: on each page the goal of a task made for its instance agrees with the page's own raw reward.

The rules hear clicks, fields and visible text only. The page's globals are read by the test, as the oracle.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from tests.miniwob.bench import Bench, Way
from tests.miniwob.table import ENTRIES

CASES = Path(__file__).parents[3] / "shared" / "cases" / "miniwob" / "pages.json"
LEAST = 20
KIN = frozenset(
    "click-collapsible-2-nodelay click-collapsible-nodelay click-menu-2 click-tab-2-easy click-tab-2-hard "
    "click-test-2 email-inbox email-inbox-noscroll email-inbox-star-reply enter-text-dynamic enter-time "
    "read-table simple-algebra".split()
)
"""Pages so like another one that every run need not have both."""


def _names() -> list[str]:
    """The scripted pages, as far as they are among the shared cases; all of them where these are missing."""
    listed = set(json.loads(CASES.read_text())) if CASES.exists() else set(ENTRIES)
    return sorted(listed & set(ENTRIES))


def _marked(name: str) -> object:
    return pytest.param(name, marks=pytest.mark.slow) if name in KIN else name


def test_enough_pages_are_scripted() -> None:
    """A script for a page that is not a case would count for nothing."""
    assert len(_names()) == len(ENTRIES)
    assert len(set(_names()) - KIN) >= LEAST


@pytest.mark.browser
@pytest.mark.parametrize("way", get_args(Way))
@pytest.mark.parametrize("name", [_marked(name) for name in _names()])
def test_goal_agrees_with_the_page(bench: Bench, name: str, way: Way) -> None:
    """The right way reaches the goal and the page pays; the near miss does neither."""
    outcome = bench.run(ENTRIES[name], way)
    assert (outcome.raw_reward > 0) is (way == "right"), "the script itself is off"
    assert outcome.success is (outcome.raw_reward > 0)
    assert outcome.total == pytest.approx(0.2 if outcome.success else 0.0)
