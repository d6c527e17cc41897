"""A judge is as sure as it was found to be on labelled items: what a bar means, what is stored, what
decides nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from api.cli.main import main
from api.stages.judge.answers import SCHEMA
from api.stages.judge.calibration import (
    CalibrationError,
    JudgeCalibration,
    Level,
    load_calibration,
)
from api.stages.judge.judge import Judge
from api.stages.judge.prompt import prompt_digest
from api.stages.judge.settings import judge_settings
from lab.evaluation.calibrating import JudgedItem, calibrate, check_left_out
from lab.evaluation.intervals import highest_share
from tests.judge.sessions import session
from tests.support.cases import CASES

PROMPT = prompt_digest("ˆ", SCHEMA)
JUDGED = "judged-trajectories/dev.jsonl.gz"


def calibration(
    model: str = "honest", risk: float = 0.05, sure: float = 0.97, prompt: str = PROMPT
) -> JudgeCalibration:
    """One that has seen successes with three votes, and failures with any."""
    return JudgeCalibration(
        model, prompt, risk, (Level(0.8, 200, 1, sure),), (Level(0.5, 90, 9, 0.8),), {}
    )


@pytest.mark.parametrize(
    ("wrong", "size", "chance", "highest"),
    [(0, 59, 0.05, 0.0495), (3, 100, 0.025, 0.0852), (50, 100, 0.025, 0.6017), (7, 7, 0.05, 1.0)],
)
def test_the_bound_is_the_exact_one(wrong: int, size: int, chance: float, highest: float) -> None:
    """As tables of Clopper and Pearson have it."""
    assert highest_share(wrong, size, chance) == pytest.approx(highest, abs=1e-4)


def items(
    rng: np.random.Generator, count: int, errors: dict[float, float], *, of_group: int = 1
) -> list[JudgedItem]:
    """Items of which the share ``errors[support]`` is wrong, the same throughout a group."""
    found = []
    for group in range(count // of_group):
        support = float(rng.choice(list(errors)))
        called, wrong = bool(rng.integers(2)), bool(rng.random() < errors[support])
        found += [JudgedItem(support, called, called != wrong, f"g{group}")] * of_group
    return found


def test_a_bar_keeps_its_risk() -> None:
    """Of all that it lets decide, no more is wrong than it states, whatever bar a task names; but
    for the one time in twenty that the bounds may fail."""
    errors, rng = {0.4: 0.5, 0.6: 0.2, 0.75: 0.08, 0.8: 0.02}, np.random.default_rng(4)
    broken = 0
    for _ in range(8):
        found = calibrate(items(rng, 400, errors), 0.05, "m", "p", "")
        for levels in (found.success, found.failure):
            for level in levels:
                decided = [
                    errors[s] for s in errors if found.confidence(s, 1.0) >= level.confidence
                ]
                if levels is found.success and np.mean(decided) > 1 - level.confidence:
                    broken += 1
    assert broken <= 2


def test_items_that_are_alike_say_less() -> None:
    """A hundred copies of four groups are worth four."""
    rng = np.random.default_rng(2)
    apart = calibrate(items(rng, 200, {0.8: 0.0}), 0.05, "m", "p", "")
    alike = calibrate(items(rng, 200, {0.8: 0.0}, of_group=50), 0.05, "m", "p", "")
    assert apart.success[0].confidence > 0.95
    assert alike.success[0].confidence < 0.7


def test_the_check_is_made_on_groups_that_were_left_out() -> None:
    """A judge that is right decides; one that is wrong in one of four never does."""
    rng = np.random.default_rng(3)
    good = check_left_out(items(rng, 600, {0.8: 0.0, 0.3: 0.4}), 0.05)
    assert (good.wrong, good.decided > 200) == (0, True)
    assert check_left_out(items(rng, 600, {0.8: 0.25}), 0.05).decided == 0


def test_a_file_is_what_was_written(tmp_path: Path) -> None:
    """With its digest; one that was changed is refused."""
    file, made = tmp_path / "judge.json", calibration()
    made.write(file)
    assert load_calibration(file) == made
    body = orjson.loads(file.read_bytes())
    body["success"][0]["confidence"] = 0.99
    file.write_bytes(orjson.dumps(body))
    with pytest.raises(CalibrationError, match="changed after it was written"):
        load_calibration(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"schema":"judge-calibration/2"}',
        b'{"schema":"judge-calibration/1","model":"m","prompt":"p","risk":2,"success":[],'
        b'"failure":[],"facts":{}}',
        b'{"schema":"judge-calibration/1","model":"m","prompt":"p","risk":0.1,"success":'
        b'[{"support":0.9,"cases":1,"wrong":0,"confidence":0.9},'
        b'{"support":0.8,"cases":1,"wrong":0,"confidence":0.9}],"failure":[],"facts":{}}',
    ],
)
def test_what_is_no_calibration_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "judge.json").write_bytes(content)
    with pytest.raises(CalibrationError, match=r"judge\.json: "):
        load_calibration(tmp_path / "judge.json")


async def test_a_verdict_is_as_sure_as_its_kind_was_found_to_be(
    judge: Callable[..., Judge],
) -> None:
    """A success with three votes decides; a failure is below the stated risk, and abstains with
    what it would have said."""
    made = calibration()
    sure = await judge("honest", calibration=made).ask(session(success=True))
    assert (sure.verdict.score, sure.verdict.confidence) == (1.0, 0.97)
    assert sure.record["calibration"] == made.digest
    unsure = await judge("honest", calibration=made).ask(session(success=False))
    assert (unsure.verdict.score, unsure.verdict.confidence) == (None, 0.0)
    assert unsure.verdict.why.startswith("not sure enough: 0.8, wanted 0.95")
    assert {name: unsure.record[name] for name in ("outcome", "score", "confidence")} == {
        "outcome": "unsure",
        "score": 0.0,
        "confidence": 0.8,
    }


def test_another_calibration_is_another_question(judge: Callable[..., Judge]) -> None:
    """What was kept under the one is not given under the other."""
    asked = session()
    digests = {
        judge("honest", calibration=made).digest(asked)
        for made in (None, calibration(), calibration(sure=0.98))
    }
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("made", "named"),
    [(calibration(model="other"), "of the model"), (calibration(prompt="0" * 64), "of the prompt")],
)
def test_another_judges_calibration_is_refused(
    judge: Callable[..., Judge], made: JudgeCalibration, named: str
) -> None:
    with pytest.raises(CalibrationError, match=named):
        judge("honest", calibration=made)


def test_a_service_is_told_of_it_by_a_variable(tmp_path: Path) -> None:
    """A file that is none, and an accuracy beside it, are refused."""
    file = tmp_path / "judge.json"
    calibration(model="m").write(file)
    env = {
        "MILESTONED_JUDGE_URL": "http://a.test/v1",
        "MILESTONED_JUDGE_MODEL": "m",
        "MILESTONED_JUDGE_CALIBRATION": str(file),
    }
    found = judge_settings(env)
    assert found is not None
    assert found.calibration == calibration(model="m")
    with pytest.raises(ValueError, match="both are set"):
        judge_settings({**env, "MILESTONED_JUDGE_ACCURACY": "0.9"})
    with pytest.raises(ValueError, match="can't be read"):
        judge_settings({**env, "MILESTONED_JUDGE_CALIBRATION": str(tmp_path / "no")})


def judged_lines(path: Path, wrong: int, count: int = 200) -> Path:
    """A file of judged/1, each line a group of its own."""
    rows = [
        {
            "schema": "judged/1", "id": f"{n}", "group": f"g{n}", "model": "m", "prompt": "p",
            "support": 0.8, "score": 1.0, "label": n >= wrong,
        }
        for n in range(count)
    ]  # fmt: skip
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("wrong", "risk", "status"), [(0, "0.05", 0), (10, "0.05", 1), (10, "0.2", 0)]
)
def test_the_command_finds_the_bar(
    tmp_path: Path, wrong: int, risk: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """1 where nothing may decide at that risk."""
    file, out = judged_lines(tmp_path / "judged.jsonl", wrong), tmp_path / "judge.json"
    assert main(["cascade", "calibrate", str(file), "--risk", risk, "--out", str(out)]) == status
    found = load_calibration(out)
    assert (found.model, found.risk) == ("m", float(risk))
    assert (found.confidence(0.8, 1.0) >= found.bar) is (status == 0)
    assert found.digest[:12] in capsys.readouterr().out
    kept = out.read_bytes()
    again = ["cascade", "calibrate", str(file), "--risk", "0.3", "--out", str(out)]
    assert main(again) == 2
    assert "is there already" in capsys.readouterr().err
    assert out.read_bytes() == kept
    assert main([*again, "--force"]) == 0
    assert out.read_bytes() != kept


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["FILE", "--risk", "0"], "--risk: got 0, expected a share"),
        ([], "nothing to read: expected FILE"),
        (["BAD"], "line 1: support: got 7, expected a number from 0 to 1"),
    ],
)
def test_what_the_command_refuses(
    tmp_path: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    good = judged_lines(tmp_path / "good.jsonl", 0, 3)
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(good.read_bytes().replace(b'"support":0.8', b'"support":7'))
    files = {"FILE": str(good), "BAD": str(bad)}
    given = [files.get(argument, argument) for argument in arguments]
    assert main(["cascade", "calibrate", *given]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.shared_cases("judged-trajectories")
def test_recorded_verdicts_of_larger_judges(capsys: pytest.CaptureFixture[str]) -> None:
    """135 trajectories are too few for a risk of 5 %; at 30 % failures decide."""
    assert main(["cascade", "calibrate", str(CASES / JUDGED)]) == 1
    assert main(["cascade", "calibrate", str(CASES / JUDGED), "--risk", "0.3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "recorded judges: 135 items of 50 groups, 13 wrong"
    assert "of 135 it decides 0" in lines[11]
    assert "of 135 it decides 111, 12 of them wrong: 0.108 [0.059, 0.190]" in lines[-2]


def test_more_support_is_never_less_sure() -> None:
    """Of levels with few items the confidence is that of the set below, which they stand in."""
    rng = np.random.default_rng(5)
    found = calibrate(items(rng, 500, {0.6: 0.01, 0.8: 0.01}), 0.05, "m", "p", "")
    few = [one._replace(support=0.9) for one in items(rng, 3, {0.8: 0.0})]
    more = calibrate([*items(rng, 500, {0.6: 0.01}), *few], 0.05, "m", "p", "")
    for made in (found, replace(more, risk=0.1)):
        sure = [level.confidence for level in made.success]
        assert sure == sorted(sure)
