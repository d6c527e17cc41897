"""What a region of the screen shows: what later pictures make untrue, what is not known, what is
asked for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from detectors.model.errors import SpecError
from detectors.rules.screen_text import NOT_READ, SECRET_SHOWN
from detectors.sdk.arguments import parse_args
from detectors.sdk.cut_off import CUT_OFF
from detectors.sdk.registry import rules
from tests.detectors.tables_screen import BOARD, REGION, SAVED, TOTAL, captured, showing
from tests.support.logs import Said, episode, resumed, ruleset, run

MILESTONE = {"id": "m", "component": "ui", "when": {"screen_text": SAVED}}
AT_END = ruleset({**MILESTONE, "must_hold_at_end": True}, weights={"ui": 1})


@pytest.mark.parametrize("play", [run, resumed])
@pytest.mark.parametrize(
    ("shown", "level"),
    [
        (["Changes saved"], 1),
        (["Changes saved", "Changes lost"], 0),
        (["Changes lost", "Changes saved"], 1),
    ],
)
def test_the_latest_picture_decides_the_end(play: Any, shown: list[str], level: int) -> None:
    *_, last = play(AT_END, *episode(*([showing(text)] for text in shown)))
    assert (last.reward, last.mask) == (level, False)


UNKNOWN: list[tuple[dict[str, Any], Said, str]] = [
    (SAVED, showing(None), NOT_READ),
    (SAVED, captured(BOARD, regions=[]), NOT_READ),
    (SAVED, showing("Changes saved", region=[0, 0, 9, 9]), NOT_READ),
    (SAVED, showing("Changes saved", cut=True), CUT_OFF),
    (TOTAL, showing("Lamp", cut=True), CUT_OFF),
    (SAVED, showing("Changes ••••"), SECRET_SHOWN),
]


@pytest.mark.parametrize(("when", "said", "reason"), UNKNOWN)
def test_what_was_not_read_whole_is_null(when: dict[str, Any], said: Said, reason: str) -> None:
    reward = run(ruleset({**MILESTONE, "when": {"screen_text": when}}), *episode([said]))[0]
    assert (reward.reward, reward.mask) == (None, True)
    assert reason in str(reward.reason)


def test_what_is_known_of_a_text_that_was_not_read_whole_is_paid() -> None:
    rules = ruleset({**MILESTONE, "when": {"screen_text": TOTAL}}, weights={"ui": 1})
    for said in (showing("Total: 12.50, to", cut=True), showing("Total: 12.50 by ••••")):
        reward = run(rules, *episode([said]))[0]
        assert (reward.reward, reward.mask) == (1, False)


def test_the_daemon_is_told_the_region_and_not_what_it_is_to_show() -> None:
    plan = ruleset(MILESTONE).plan("E")
    assert (plan["regions"], plan["text_regions"]) == ([REGION], [REGION])
    assert "saved" not in str(plan)


REFUSED = [
    ({"region": [0, 0, 9], "text": "x"}, "whole pixels"),
    ({"region": [0, 0, 9, 0], "text": "x"}, "whole pixels"),
    ({"region": [0, 0, 9, 9]}, "text"),
    ({"region": [0, 0, 9, 9], "text": {"regex": "("}}, "regex"),
]


@pytest.mark.parametrize(("args", "message"), REFUSED)
def test_what_is_no_region_or_text_is_refused(args: Any, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        parse_args(rules()["screen_text"].args, args, ("screen_text",), None)
