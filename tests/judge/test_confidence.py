"""How sure a judge is follows from what stands behind its verdict, until its operator has measured
it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from api.stages.judge.answers import Met
from api.stages.judge.confidence import Answered, support_of
from api.stages.judge.judge import Judge
from api.stages.judge.settings import judge_settings
from detectors.task.language import Escalation
from tests.judge.sessions import session

BAR = Escalation().confident


def said(met: Met, *cited: str) -> Answered:
    """One vote's word on one criterion."""
    return Answered(met, frozenset(cited))


YES, NO, UNCLEAR = said("yes", "e8"), said("no"), said("unclear")


@pytest.mark.parametrize(
    ("criteria", "whole", "confidence"),
    [
        pytest.param([[YES, YES]], True, 0.75, id="two votes name the same line"),
        pytest.param([[YES, YES, YES]], True, 0.8, id="three do"),
        pytest.param([[YES, YES]], False, 0.75, id="a line is proof though others were cut"),
        pytest.param(
            [[said("yes", "e8", "e9"), said("yes", "e9")]], True, 0.75, id="one line in common"
        ),
        pytest.param([[NO, NO]], True, 0.75, id="nothing in the whole record shows it"),
        pytest.param(
            [[said("no", "e3"), said("no", "e3")]], False, 0.75, id="a line shows that it is not so"
        ),
        pytest.param(
            [[YES, YES, YES]] * 9 + [[YES, YES, said("yes", "e1")]],
            True,
            0.72,
            id="one of ten without",
        ),
    ],
)
def test_verdicts_that_may_decide(
    criteria: list[list[Answered]], whole: bool, confidence: float
) -> None:
    """At or above the bar of a task that does not say another."""
    assert support(criteria, whole) == pytest.approx(confidence)
    assert confidence >= BAR


@pytest.mark.parametrize(
    ("criteria", "whole", "confidence"),
    [
        pytest.param([[YES, said("yes", "e9")]], True, 0.0, id="each vote names another line"),
        pytest.param([[NO, NO]], False, 0.0, id="absent from a record that was cut"),
        pytest.param([[YES, NO]], True, 0.0, id="the votes disagree, with no common proof"),
        pytest.param(
            [[said("yes", "e8"), said("no", "e8")]],
            True,
            0.5,
            id="the votes disagree about one line",
        ),
        pytest.param([[UNCLEAR, UNCLEAR]], True, 0.0, id="unclear"),
        pytest.param(
            [[YES, YES], [UNCLEAR, UNCLEAR]], True, 0.75 * 0.5 * 0.5, id="half of it unclear"
        ),
        pytest.param(
            [[YES, YES], [YES, said("yes", "e9")]],
            True,
            0.375,
            id="half of it without common proof",
        ),
        pytest.param([[YES]], True, 2 / 3, id="one vote alone"),
        pytest.param([], True, 0.0, id="no criterion"),
    ],
)
def test_verdicts_that_may_not(
    criteria: list[list[Answered]], whole: bool, confidence: float
) -> None:
    """Below it: what nobody else decides is null."""
    assert support(criteria, whole) == pytest.approx(confidence)
    assert confidence < BAR


def support(criteria: list[list[Answered]], whole: bool) -> float:
    """Of the words of each vote, criterion by criterion."""
    votes = [{f"c{n}": one for n, one in enumerate(vote)} for vote in zip(*criteria, strict=True)]
    return support_of(votes, whole=whole).confidence


async def test_a_no_that_rests_on_a_cut_record_is_not_sure(judge: Callable[..., Judge]) -> None:
    """The same question, shown whole and shown in part."""
    question = session(success=False)
    whole = (await judge("honest").ask(question)).verdict
    cut = await judge("honest", evidence_chars=400).ask(question)
    assert (whole.score, whole.confidence) == (0.0, 0.8)
    assert cut.record["evidence"]["cut"] > 0
    assert (cut.verdict.score, cut.verdict.confidence) == (0.0, 0.0)
    assert cut.record["support"] == {"agreement": 0.8, "clear": 1.0, "grounded": 0.0}


async def test_what_was_measured_is_what_counts(judge: Callable[..., Judge]) -> None:
    """An operator's own accuracy takes the place of what is derived."""
    assert (
        await judge("honest", accuracy=0.91).ask(session(success=True))
    ).verdict.confidence == 0.91
    env = {"MILESTONED_JUDGE_URL": "http://judge.test/v1", "MILESTONED_JUDGE_MODEL": "m"}
    derived, measured = (
        judge_settings(env),
        judge_settings({**env, "MILESTONED_JUDGE_ACCURACY": "0.9"}),
    )
    assert derived is not None
    assert measured is not None
    assert (derived.accuracy, measured.accuracy) == (None, 0.9)
