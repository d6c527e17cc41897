"""A kind that is newer than the daemon of a log: what depends on it is not known, and never 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from detectors.model.kinds import CATALOGUE, KINDS
from tests.support.logs import Said, clicked, resumed, ruleset, run

FIRST = Path(__file__).with_name("catalogue_1.txt")
GO = {"id": "go", "when": {"element_clicked": {"name": "Go"}}}


def recorded(catalogue: object, *step: Said) -> list[Said]:
    """An episode of one step by a daemon of this catalogue; None: its log does not say."""
    opened: dict[str, Any] = {"task": "t", "digest": "d", "asked": []}
    if catalogue is not None:
        opened["catalogue"] = catalogue
    return [
        ("episode.opened", opened),
        ("step.began", {"step": 0, "action": None}),
        *step,
        ("step.sealed", {"step": 0, "reason": "quiet"}),
    ]


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clicks are a kind of the second catalogue."""
    kind = KINDS["element.clicked"]
    monkeypatch.setitem(KINDS, "element.clicked", kind._replace(since=2))


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize("catalogue", [None, 1, "two"])
def test_a_newer_kind_is_unknown(catalogue: object) -> None:
    for play in (run, resumed):
        (reward,) = play(ruleset(GO), *recorded(catalogue))
        assert (reward.status, reward.reward, reward.mask) == ("unobserved", None, True)
        assert reward.reason == (
            "cdp:element.clicked saw nothing from event 1: the daemon of the recording is older"
            " than this kind of event"
        )


@pytest.mark.usefixtures("newer")
@pytest.mark.parametrize("catalogue", [2, 3])
def test_a_daemon_that_has_the_kind_saw_that_it_did_not_happen(catalogue: int) -> None:
    (idle,) = run(ruleset(GO), *recorded(catalogue))
    assert (idle.status, idle.reward) == ("sealed", 0.0)
    (paid,) = run(ruleset(GO), *recorded(catalogue, clicked("Go")))
    assert (paid.status, paid.reward) == ("sealed", 0.2)


@pytest.mark.usefixtures("newer")
def test_other_kinds_of_the_source_are_known() -> None:
    other = {"id": "there", "when": {"url_reached": {"url": "/there"}}}
    (reward,) = run(ruleset(other), *recorded(1))
    assert (reward.status, reward.reward) == ("sealed", 0.0)


def test_every_kind_is_of_the_catalogue_that_first_had_it() -> None:
    """A new kind has ``since=`` of a number above that of the last release."""
    first = set(FIRST.read_text().split())
    assert {name for name, kind in KINDS.items() if kind.since == 1} == first, (
        "a kind that is not in catalogue_1.txt is declared with since=2 or above; none is renamed"
        " or taken out without a converter (detectors/model/wire_versions.py)"
    )
    assert max(kind.since for kind in KINDS.values()) == CATALOGUE
