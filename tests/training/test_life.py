"""A model's life: kept, gated, promoted, followed without a restart, found to drift, rolled back;
whoever is killed loses nothing."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.cli.main import main
from api.labelling.decisions import Weights, decisions_of, lines_of
from api.stages.base import Question
from api.stages.model.folder import BUILTIN, load
from api.stages.model.linked_model import LOOK_S, FollowedModel
from lab.training.gating import compare, find_drift, held_of, is_held
from lab.training.history import FILE, HistoryError, ModelHistory
from lab.training.keeping import keep_builtin, keep_model, must_have_passed
from lab.training.preferences import read_preferences
from lab.training.stored import audited_pairs
from lab.training.training import Learner
from tests.training.conftest import Made
from tests.training.synthetic import episode, fill, instruction, submit

TASK = {"id": "shop/buy", "instruction": "Buy it.", "version": "1"}


def copied(made: Made, models: Path, *names: str) -> dict[str, str]:
    """Models of these names, each with a digest of its own."""
    digests = {}
    for name in names:
        model = made.model
        card = {**model.card, "name": name}
        digests[name] = keep_model(
            models, name, type(model)(
                name, "", model.heads, model.weights, model.scales, model.known,
                model.calibration, card,
            ),
        )  # fmt: skip
    return digests


def test_what_was_served_is_served_again(made: Made, tmp_path: Path) -> None:
    """Promoted twice, rolled back once; a third roll-back has nothing to go to."""
    digests, history = copied(made, tmp_path, "one", "two"), ModelHistory(tmp_path)
    for name in ("one", "two"):
        history.promote(name, digests[name], {})
    assert load(tmp_path / "served").digest == digests["two"]
    assert history.roll_back({"why": "drift"}).model == "one"
    assert load(tmp_path / "served").digest == digests["one"]
    with pytest.raises(HistoryError, match="wanted two that were promoted"):
        history.roll_back({})
    phases = [event.phase for event in history.events()]
    assert phases == ["trained", "trained", "promoted", "promoted", "rolled back"]


def test_a_kill_between_the_line_and_the_link_is_mended(made: Made, tmp_path: Path) -> None:
    """The history says what is served; the link is made what it says."""
    digests, history = copied(made, tmp_path, "one", "two"), ModelHistory(tmp_path)
    history.promote("one", digests["one"], {})
    history._append("promoted", "two", digests["two"], {})  # and killed
    assert os.readlink(tmp_path / "served") == "one"
    ModelHistory(tmp_path).settle()
    assert os.readlink(tmp_path / "served") == "two"


def test_a_torn_line_is_no_line(made: Made, tmp_path: Path) -> None:
    """It is cut off before the next one is written."""
    digests, history = copied(made, tmp_path, "one"), ModelHistory(tmp_path)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"at":"2026')
    assert len(history.events()) == 1
    history.promote("one", digests["one"], {})
    assert [event.phase for event in history.events()] == ["trained", "promoted"]


def test_the_gate_compares_on_groups_that_are_held_out(made: Made) -> None:
    """A model is not worse than itself, and a model of nothing is refused."""
    learner = Learner(read_preferences([made.preferences]))
    held = held_of(learner.groups)
    assert held == [group for group in learner.groups if is_held(group)]
    result = compare(learner, made.model, made.model)
    if len(held) >= 3:
        assert (result.passed, result.low, result.high) == (True, 0.0, 0.0)
    else:
        assert not result.passed
        assert result.new is None
        assert "groups held out" in result.why


def test_a_promotion_that_wants_a_gate_needs_one_that_passed(made: Made, tmp_path: Path) -> None:
    """Against what is served now, not what was."""
    digests, history = copied(made, tmp_path, "one", "two"), ModelHistory(tmp_path)
    with pytest.raises(HistoryError, match="its last gate did not pass"):
        must_have_passed(history, digests["one"])
    history.note("gated", "one", digests["one"], {"passed": True, "against": None})
    must_have_passed(history, digests["one"])
    history.promote("two", digests["two"], {})
    with pytest.raises(HistoryError, match="against what is served now"):
        must_have_passed(history, digests["one"])


def question(number: int = 0) -> Question:
    events = episode("amber", fill("amber"), submit(), name=f"ep_{number}")
    task = {"id": "t", "instruction": instruction("amber")}
    return Question(f"ep_{number}", 1, "goal", True, task, (), events, ())


def test_a_service_takes_up_what_is_promoted_without_a_restart(made: Made, tmp_path: Path) -> None:
    """A question that was begun is ended by the model that began it; a broken model changes
    nothing."""
    digests, history = copied(made, tmp_path, "one", "two"), ModelHistory(tmp_path)
    history.promote("one", digests["one"], {})
    now = [0.0]
    stage = FollowedModel(tmp_path / "served", clock=lambda: now[0])
    begun = question()
    first = stage.digest(begun)
    history.promote("two", digests["two"], {})
    now[0] += LOOK_S
    assert stage.digest(question(1)) != first
    by = [asyncio.run(stage.ask(one)).verdict.by for one in (begun, question(2))]
    assert [one.split("@")[1] for one in by] == [digests[name][:12] for name in ("one", "two")]
    shutil.rmtree(tmp_path / "one")
    (tmp_path / "one").mkdir()
    history._link("one")
    now[0] += LOOK_S
    stage.digest(question(3))
    assert stage.signature.endswith(digests["two"][:12])


def test_the_package_s_model_has_a_life_too(made: Made, tmp_path: Path) -> None:
    """Promoted, it is what the next one is gated against, what drift is looked for in, and what is
    served again; its verdicts are known by the digest that `serve --model builtin` gives them."""
    models, options = tmp_path / "models", ["--models", str(tmp_path / "models")]
    digest = load(BUILTIN).digest
    for _ in range(2):
        assert main(["rm", "promote", "builtin", *options]) == 0
        assert load(models / "served").digest == digest
    copied(made, models, "own")
    assert main(["rm", "gate", "own", str(made.preferences), *options]) in (0, 1)
    history = ModelHistory(models)
    assert history.events()[-1].facts["against"] == digest
    assert main(["rm", "promote", "own", *options]) == 0
    assert history.roll_back({}).model == keep_builtin(models) == f"builtin-{digest[:12]}"
    assert load(models / "served").digest == digest


def test_a_model_of_one_s_own_may_have_that_name(made: Made, tmp_path: Path) -> None:
    """It is the one that is promoted then."""
    digests = copied(made, tmp_path, "builtin")
    assert main(["rm", "promote", "builtin", "--models", str(tmp_path)]) == 0
    assert load(tmp_path / "served").digest == digests["builtin"]


def test_drift_is_told_by_what_was_audited() -> None:
    """Few errors are no alarm, many are; without an answer there is nothing to say."""
    assert not find_drift([(0.9, 1.0)] * 40 + [(0.9, 0.0)] * 2, 0.05).alarm
    assert find_drift([(0.9, 1.0)] * 20 + [(0.9, 0.0)] * 10, 0.05).alarm
    assert find_drift([], 0.05) == (0, 0, 0.0, False)


def verdict(stage: str, score: float | None, item: str = "goal", by: str = "m@abc") -> bytes:
    said = {"stage": stage, "score": score, "confidence": 0.8, "why": "", "by": by, "cost": 0}
    return orjson.dumps(
        {"kind": "verdict.given", "item": item, "step": 1, "audit": True, "verdict": said}
    )


def test_rules_and_judges_become_preferences_with_their_weights() -> None:
    """A judge's verdict weighs less than a rule's decision; what is not known becomes nothing."""
    won = orjson.dumps({"success": True, "decided_by": "rule"})
    lost = orjson.dumps({"success": False, "decided_by": "rule"})
    unknown = orjson.dumps({"success": None})
    found: list[Any] = []
    for name, reward, said in (
        ("a", won, [verdict("judge", 1.0)]),
        ("b", lost, [verdict("judge", 0.0)]),
        ("c", unknown, [verdict("judge", None)]),
    ):
        found += decisions_of(name, TASK, [reward], said, Weights())
    assert [(one.episode, one.source, one.success) for one in found] == [
        ("a", "rule", True), ("a", "judge", True), ("b", "rule", False), ("b", "judge", False),
    ]  # fmt: skip
    pairs = {
        line["source"]: line["weight"] for line in lines_of(found, Weights()) if "chosen" in line
    }
    assert pairs == {"rule": 1.0, "judge": pytest.approx(0.4)}


def test_only_items_that_both_scored_are_compared() -> None:
    """The model of another digest, and an abstention, say nothing of this one."""
    said = [verdict("model", 0.9), verdict("judge", 0.0), verdict("model", 0.8, "x", "m@old")]
    said += [verdict("judge", 1.0, "x"), verdict("model", None, "y"), verdict("person", 1.0, "y")]
    assert list(audited_pairs(said, "@abc")) == [(0.9, 0.0)]


KILLED = """
import os, signal, sys
from pathlib import Path
from api.stages.model import folder
from lab.training import history, keeping

phase, models, made = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
die = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
model = folder.load(made)
if phase == "train":
    Path.rename = die
    keeping.keep_model(models, "two", model)
if phase == "append":
    os.fsync = die
    history.ModelHistory(models).promote("two", "d" * 64, {})
if phase == "link":
    history.ModelHistory._link = die
    history.ModelHistory(models).promote("two", "d" * 64, {})
if phase == "roll back":
    history.ModelHistory._link = die
    history.ModelHistory(models).roll_back({})
"""


@pytest.mark.slow
def test_kill_9_in_each_phase_loses_nothing(made: Made, tmp_path: Path) -> None:
    """After each the served model loads, the history reads, and the next command goes on."""
    digests, history = copied(made, tmp_path, "one"), ModelHistory(tmp_path)
    history.promote("one", digests["one"], {})
    for phase in ("train", "append", "link", "roll back"):
        if phase == "append":
            shutil.copytree(tmp_path / "one", tmp_path / "two")
        before = history.events()
        command = [sys.executable, "-c", KILLED, phase, str(tmp_path), str(made.models / "first")]
        died = subprocess.run(command, check=False, capture_output=True)
        assert died.returncode == -signal.SIGKILL, died.stderr
        assert history.events()[: len(before)] == before
        history.settle()
        served = history.served()
        assert served is not None
        assert os.readlink(tmp_path / "served") == served.model
        load(tmp_path / "served")


@pytest.mark.slow
def test_a_week(made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Monday a model is trained and promoted; in the week another is trained on more, gated, and
    promoted; on Friday the audited share says that it errs, and the first one serves again."""
    models, options = tmp_path / "models", ["--models", str(tmp_path / "models")]
    preferences = str(made.preferences)
    for name in ("monday", "thursday"):
        assert main(["rm", "train", preferences, *options, "--name", name, "--hold-out"]) == 0
        refused = main(["rm", "gate", name, preferences, *options])
        assert refused in (0, 1)
        assert main(["rm", "promote", name, *options, *([] if refused else ["--gated"])]) == 0
    history = ModelHistory(models)
    served = history.served()
    assert served is not None
    said = [verdict("model", 0.9, f"{n}", f"served@{served.digest[:12]}") for n in range(30)]
    said += [verdict("judge", float(n % 2), f"{n}") for n in range(30)]
    drift = find_drift(audited_pairs(said, f"@{served.digest[:12]}"), 0.05)
    assert drift.alarm
    history.note("drifted", served.model, served.digest, drift.facts())
    assert main(["rm", "rollback", *options, "--why", "drift"]) == 0
    assert load(models / "served").digest == load(models / "monday").digest
    capsys.readouterr()
    assert main(["rm", "history", *options]) == 0
    phases = [line.split("  ")[1].strip() for line in capsys.readouterr().out.splitlines()]
    assert phases == ["trained", "gated", "promoted"] * 2 + ["drifted", "rolled back"]
