"""What `milestoned audit explain` prints: one line for each thing that the document says."""

from __future__ import annotations

from typing import Any

import pytest

from api.audit.explaining import as_text

Json = dict[str, Any]

PLAIN: Json = {
    "episode": "ep_1",
    "step": 2,
    "task": {"id": "shop", "version": "3", "instruction": "Buy a lamp."},
    "ruleset": "ab12",
    "labels": {},
    "opened": {"at": "2026-11-25T10:00:00Z", "by": {"id": "tk_1", "label": "ci", "scope": "write"}},
    "began": 4,
    "ended": 9,
    "reward": {
        "reward": 0.2,
        "status": "sealed",
        "decided_by": "rules",
        "reason": None,
        "through": 9,
    },
    "milestones": [],
    "verdicts": [],
    "said": [],
    "edge": None,
    "signed": None,
}
LINES = [
    "ep_1 step 2: +0.200, sealed, decided by rules",
    "  task shop version 3, ruleset ab12",
    "  opened 2026-11-25T10:00:00Z by token tk_1 (ci)",
    "  events 4 to 9",
    "  the daemon computed no reward of its own (agentd run --edge)",
    "  not signed yet",
]
"""What is printed of `PLAIN`."""

MILESTONE: Json = {
    "id": "buy",
    "rule": "element_clicked",
    "version": 7,
    "component": "form",
    "worth": 0.2,
    "cause_step": None,
    "events": [],
}
CLICK: Json = {"seq": 7, "source": "cdp", "kind": "element.clicked", "data": {"name": "Buy"}}
VERDICT: Json = {"stage": "judge", "score": 0.5, "confidence": 0.75, "by": "m@1", "why": "seen"}
ASKED: Json = {
    "seq": 12,
    "item": "step-2",
    "cached": False,
    "audit": False,
    "evidence": "e1",
    "verdict": {"stage": "judge", "score": 0.5, "cost": 0.01},
    "record": {"prompt": "0123456789abcdef", "votes": [{"score": 1}]},
}
NO_VERDICT: Json = {"seq": 13, "verdict": None, "decided_by": "judge", "verdicts": [12]}

CASES: dict[str, tuple[Json, Json, list[str]]] = {
    "a penalty": ({}, {"reward": -0.5}, ["ep_1 step 2: -0.500, sealed, decided by rules"]),
    "a reward that nobody knows": (
        {},
        {"reward": None, "status": "unobserved", "reason": "cdp saw nothing", "decided_by": None},
        ["ep_1 step 2: null, unobserved, not known", "  cdp saw nothing"],
    ),
    "opened with a token without a label": (
        {"opened": {"at": "then", "by": {"id": "tk_2"}}},
        {},
        ["  opened then by token tk_2"],
    ),
    "opened by nobody knows whom": (
        {"opened": {"at": "then", "by": None}},
        {},
        ["  opened then by nobody knows whom"],
    ),
    "a milestone with its events": (
        {"milestones": [{**MILESTONE, "events": [CLICK]}]},
        {},
        [
            "  +0.200 form buy by element_clicked version 7",
            '      event 7 cdp element.clicked {"name":"Buy"}',
        ],
    ),
    "a milestone that an earlier step set in motion": (
        {"milestones": [{**MILESTONE, "cause_step": 1, "worth": -0.1}]},
        {},
        ["  -0.100 form buy by element_clicked version 7, set in motion in step 1"],
    ),
    "an event that is long": (
        {"milestones": [{**MILESTONE, "events": [{**CLICK, "data": {"text": "a" * 500}}]}]},
        {},
        [
            "  +0.200 form buy by element_clicked version 7",
            "      event 7 cdp element.clicked " + '{"text":"' + "a" * 191,
        ],
    ),
    "a verdict": ({"verdicts": [VERDICT]}, {}, ["  judge: 0.5 (confidence 0.75) by m@1: seen"]),
    "a verdict without a score": (
        {"verdicts": [{**VERDICT, "score": None, "confidence": 0.0}]},
        {},
        ["  judge: null (confidence 0) by m@1: seen"],
    ),
    "a recorded verdict with its votes": (
        {"said": [ASKED]},
        {},
        [
            "  verdict 12 on step-2: judge 0.5 for 0.01, asked, prompt 0123456789ab, evidence e1",
            '      vote {"score":1}',
        ],
    ),
    "a recorded verdict from before, for an audit": (
        {"said": [{**ASKED, "cached": True, "audit": True, "record": {"prompt": "ab"}}]},
        {},
        [
            "  verdict 12 on step-2: judge 0.5 for 0.01, kept from before, prompt ab, evidence e1,"
            " an audit"
        ],
    ),
    "what the recorded verdicts came to": (
        {"said": [NO_VERDICT]},
        {},
        ["  verdict 13: decided by judge of verdicts [12]"],
    ),
    "recorded verdicts that decided nothing": (
        {"said": [{**NO_VERDICT, "decided_by": None, "verdicts": []}]},
        {},
        ["  verdict 13: decided by nobody of verdicts []"],
    ),
    "the same reward at the edge": (
        {"edge": {"seq": 11, "reward": 0.2, "digest": "ab12", "differs": False}},
        {},
        ["  the edge computed 0.2 at event 11: the same"],
    ),
    "another reward at the edge": (
        {"edge": {"seq": 11, "reward": None, "digest": "ab12", "differs": True}},
        {},
        ["  the edge computed null at event 11: which DIFFERS"],
    ),
    "a signed episode": (
        {"signed": {"leaf": 5, "statement": {}, "checkpoints": []}},
        {},
        ["  signed as leaf 5 of the tree over all episodes"],
    ),
}
"""Other values of `PLAIN`, and of its reward, with the lines that say them."""


def test_a_plain_step_is_six_lines() -> None:
    assert as_text(PLAIN).splitlines() == LINES


@pytest.mark.parametrize(("other", "reward", "lines"), CASES.values(), ids=CASES)
def test_what_is_otherwise_is_said_in_lines_of_its_own(
    other: Json, reward: Json, lines: list[str]
) -> None:
    """Beside them nothing is printed that is not printed of a plain step."""
    printed = as_text({**PLAIN, **other, "reward": {**PLAIN["reward"], **reward}}).splitlines()
    assert [line for line in printed if line not in LINES] == lines
