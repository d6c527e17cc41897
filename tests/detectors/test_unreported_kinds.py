"""A kind that is reported only if asked for: where the daemon of a log did not report it, what
depends on it is not known, and never 0."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.model.kinds import KINDS, asked_kinds
from tests.support.logs import Said, clicked, log, resumed, ruleset, run

TEXT = {"id": "thanked", "when": {"text_visible": {"text": "Thank you"}}}
GO = {"id": "go", "when": {"element_clicked": {"name": "Go"}}}
BAD = {"id": "bad", "when": {"element_clicked": {"name": "Bad"}}, "penalty": 0.5}
NO_TEXT = {
    "id": "silent",
    "when": {"all_of": {"of": [GO["when"], {"none_of": [TEXT["when"]]}]}},
}
BROWSER_RESTARTED: list[Said] = [
    ("gap.began", {"source": "cdp", "reason": "browser gone"}),
    ("gap.ended", {"source": "cdp"}),
]
PART_RESTARTED: list[Said] = [
    ("gap.began", {"source": "cdp", "part": "text.appeared", "reason": "too much text"}),
    ("gap.ended", {"source": "cdp", "part": "text.appeared"}),
]


def recorded(asked: object, *step: Said, before: list[Said] | None = None) -> list[Said]:
    """An episode of one step whose daemon reported these of the asked kinds."""
    opened: dict[str, Any] = {"task": "other", "digest": "d"}
    if asked is not None:
        opened["asked"] = asked
    return [
        ("episode.opened", opened),
        *(before or ()),
        ("step.began", {"step": 0, "action": None}),
        *step,
        ("step.sealed", {"step": 0, "reason": "quiet"}),
    ]


UNKNOWN: dict[str, tuple[list[dict[str, Any]], list[Said]]] = {
    "a text": ([TEXT], recorded([])),
    "a text, beside what was done": ([TEXT, GO], recorded([], clicked("Go"))),
    "that a text did not appear": ([NO_TEXT], recorded([], clicked("Go"))),
    "another kind was asked for": ([TEXT], recorded(["element.focused"])),
    "the browser began anew": ([TEXT], recorded([], before=BROWSER_RESTARTED)),
    "a gap of the kind came and went": ([TEXT], recorded([], before=PART_RESTARTED)),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_what_was_not_asked_for_is_unknown(case: str) -> None:
    milestones, events = UNKNOWN[case]
    for rewards in (run(ruleset(*milestones), *events), resumed(ruleset(*milestones), *events)):
        (reward,) = rewards
        assert (reward.status, reward.reward, reward.mask) == ("unobserved", None, True)
        assert reward.reason is not None
        assert reward.reason.startswith("cdp:text.appeared saw nothing from event 1: the daemon")


KNOWN: dict[str, tuple[list[dict[str, Any]], list[Said], float]] = {
    "no rule depends on it": ([GO], recorded([], clicked("Go")), 0.2),
    "it was asked for": ([TEXT], recorded(["text.appeared", "text.disappeared"]), 0.0),
    "the log does not say what was asked for": ([TEXT], recorded(None), 0.0),
    "a penalty that was observed": ([TEXT, BAD], recorded([], clicked("Bad")), -0.5),
}


@pytest.mark.parametrize("case", KNOWN)
def test_what_does_not_depend_on_it_is_known(case: str) -> None:
    milestones, events, worth = KNOWN[case]
    (reward,) = run(ruleset(*milestones), *events)
    assert (reward.status, reward.reward) == ("sealed", worth)


@pytest.mark.parametrize("kind", sorted(name for name, kind in KINDS.items() if kind.asked))
def test_a_plan_asks_for_every_kind_that_its_rules_hear(kind: str) -> None:
    """So a task's own log leaves none of its steps unknown."""
    assert asked_kinds({"hears": [kind]}) == [kind]
    assert asked_kinds({"also": [kind]}) == [kind]
    assert kind not in asked_kinds({"hears": [], "also": None})


def test_an_opened_event_that_says_no_list_opens_no_gap() -> None:
    assert len(log(*recorded("text.appeared"))) == 3
    (reward,) = run(ruleset(TEXT), *recorded("text.appeared"))
    assert reward.status == "sealed"
