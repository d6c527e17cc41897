"""A region of the screen: what later pictures make untrue, what is not known, what is asked for."""

from __future__ import annotations

import re
from typing import Any

import pytest

from detectors.model.errors import SpecError
from detectors.sdk.arguments import parse_args
from detectors.sdk.registry import rules
from tests.detectors.tables_screen import BOARD, HASH, LIKE, OTHER, captured
from tests.support.logs import Said, episode, resumed, ruleset, run

MILESTONE = {"id": "m", "component": "ui", "when": {"screen_like": LIKE}}
AT_END = ruleset({**MILESTONE, "must_hold_at_end": True}, weights={"ui": 1})


@pytest.mark.parametrize("play", [run, resumed])
@pytest.mark.parametrize(
    ("steps", "level"),
    [
        ([[captured(BOARD)]], 1),
        ([[captured(BOARD)], [captured(OTHER)]], 0),
        ([[captured(OTHER)], [captured(BOARD)]], 1),
    ],
)
def test_the_latest_picture_decides_the_end(play: Any, steps: list[list[Said]], level: int) -> None:
    *_, last = play(AT_END, *episode(*steps))
    assert (last.reward, last.mask) == (level, False)


@pytest.mark.parametrize(
    ("when", "said"),
    [
        (LIKE, captured(BOARD, regions=[])),
        (LIKE, captured(BOARD, region=[0, 0, 9, 9])),
        (LIKE, captured("not base64")),
        (HASH, captured(BOARD, phash="no hash")),
    ],
)
def test_a_region_that_was_not_measured_is_null(when: dict[str, Any], said: Said) -> None:
    reward = run(ruleset({**MILESTONE, "when": {"screen_like": when}}), *episode([said]))[0]
    assert (reward.reward, reward.mask) == (None, True)
    assert "not measured" in str(reward.reason)


def test_the_daemon_is_told_the_region_and_not_how_it_is_to_look() -> None:
    plan = ruleset(MILESTONE).plan("E")
    assert plan["regions"] == [LIKE["region"]]
    assert BOARD not in str(plan)


REFUSED = [
    ({"region": [0, 0, 9], "to": BOARD}, "whole pixels"),
    ({"region": [0, 0, 0, 9], "to": BOARD}, "whole pixels"),
    ({"region": [0.5, 0, 9, 9], "to": BOARD}, "whole pixels"),
    ({"region": [-1, 0, 9, 9], "to": BOARD}, "whole pixels"),
    ({"region": [0, 0, 9, 9]}, "to or phash"),
    ({**LIKE, "phash": "0"}, "to or phash"),
    ({**LIKE, "to": "AAAA"}, "64 × 64 brightnesses"),
    ({**HASH, "phash": "xyz"}, "hex digits"),
    ({**HASH, "grade": {"linear": {"from": 0, "to": 1}}}, "of the similarity"),
    ({**LIKE, "grade": {"f1": "a"}}, "linear or tiers"),
]


@pytest.mark.parametrize(("args", "message"), REFUSED)
def test_what_is_no_region_or_reference_is_refused(args: Any, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        parse_args(rules()["screen_like"].args, args, ("screen_like",), None)
