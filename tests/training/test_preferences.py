"""Preferences: what a line may say, what the rules make of episodes, what a spoilt copy is."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import main
from lab.training.pairing import preferences_of
from lab.training.perturbing import INJECTED, perturb_log
from lab.training.preferences import PreferenceError, read_preferences, rows_of, score_log
from tests.support.logs import Said
from tests.training.conftest import Made
from tests.training.synthetic import episode, fill, stray, submit, task, write

SIDE = {"recording": "a.mrec", "instruction": "Do it.", "group": "g"}
PAIR: dict[str, Any] = {"schema": "pref/1", "id": "p", "kind": "pair", "source": "person"}
PAIR |= {"chosen": SIDE, "rejected": SIDE}
OUTCOME = {
    "schema": "pref/1",
    "id": "o",
    "kind": "outcome",
    "source": "env",
    "trajectory": SIDE,
    "success": True,
}
NO = {
    "no JSON": ("{", "not JSON"),
    "another schema": ({**PAIR, "schema": "pref/2"}, "schema: 'pref/1' was expected"),
    "half a pair": ({key: value for key, value in PAIR.items() if key != "rejected"}, "rejected"),
    "an outcome without its word": (
        {key: value for key, value in OUTCOME.items() if key != "success"},
        "success",
    ),
    "a field that nobody knows": ({**PAIR, "wieght": 2}, "wieght"),
    "a weight of nothing": ({**PAIR, "weight": 0}, "weight: 0"),
    "nobody's word": ({**PAIR, "source": "wind"}, "source: 'wind'"),
    "a step's pair without steps": ({**PAIR, "level": "step"}, "step is missing on a side"),
}


@pytest.mark.parametrize("name", NO)
def test_a_wrong_line_is_refused_by_file_line_and_field(name: str, tmp_path: Path) -> None:
    """Nothing is read past it."""
    line, said = NO[name]
    file = tmp_path / "p.jsonl"
    file.write_text(
        json.dumps(OUTCOME) + "\n" + (line if isinstance(line, str) else json.dumps(line)) + "\n"
    )
    with pytest.raises(PreferenceError, match=said) as error:
        read_preferences([file])
    assert f"{file}:2: " in str(error.value)


def test_right_lines_are_read(tmp_path: Path) -> None:
    """Blank lines are none; the digest is the content's."""
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps(PAIR) + "\n\n" + json.dumps(OUTCOME) + "\n")
    found = read_preferences([file])
    assert (len(found.pairs), len(found.outcomes)) == (1, 1)
    before = found.digest
    file.write_text(file.read_text() + json.dumps({**OUTCOME, "id": "o2"}) + "\n")
    assert read_preferences([file]).digest != before


def test_a_recording_that_is_not_there_is_named(tmp_path: Path) -> None:
    """As the error of the line that wants it."""
    file = tmp_path / "p.jsonl"
    file.write_text(json.dumps(OUTCOME) + "\n")
    with pytest.raises(PreferenceError, match=r"a\.mrec"):
        rows_of(read_preferences([file]).outcomes[0].trajectory)


def test_what_the_rules_make_of_episodes(made: Made) -> None:
    """Outcomes of rules and of the environment, pairs of episodes and steps, copies as losers, none
    as a winner."""
    lines = [json.loads(line) for line in made.preferences.read_text().splitlines()]
    found = Counter(
        (line["kind"], line.get("level", "trajectory"), line["source"]) for line in lines
    )
    assert found["outcome", "trajectory", "env"] == found["outcome", "trajectory", "rule"] == 72
    assert found["pair", "trajectory", "rule"] > 72
    assert found["pair", "step", "rule"] > 0
    hows = Counter(
        line["rejected"]["perturbed"]["how"]
        for line in lines
        if line["kind"] == "pair" and spoilt(line)
    )
    assert set(hows) == {"truncated", "removed", "injected"}
    assert not any(line["chosen"].get("perturbed") for line in lines if line["kind"] == "pair")
    assert not any(line["source"] == "env" for line in lines if line["kind"] == "pair")


def spoilt(line: dict[str, Any]) -> bool:
    return "perturbed" in line["rejected"]


def test_preferences_that_are_there_are_replaced_only_with_force(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else lines that somebody labelled would go with them."""
    kept = made.folder / "kept.jsonl"
    kept.write_text("somebody's")
    again = ["rm", "prefer", str(made.index), str(kept)]
    assert main(again) == 2
    assert "is there already" in capsys.readouterr().err
    assert kept.read_text() == "somebody's"
    assert main([*again, "--force"]) == 0
    assert kept.read_bytes() == made.preferences.read_bytes()


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_figures_that_are_there_are_replaced_only_with_force(
    made: Made, tmp_path: Path, option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    kept.write_text("somebody's")
    assert main(["rm", "eval", str(made.preferences), option, str(kept)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert kept.read_text() == "somebody's"


def test_what_the_close_pays_is_of_the_last_step(tmp_path: Path) -> None:
    """A milestone of a closing step has no deed of its own, so no row of features: each line can be
    trained on."""
    kept = {
        "id": "kept",
        "when": {"field_filled": {"field": "Name", "value": "amber"}},
        "must_hold_at_end": True,
    }
    spec = task("amber", "g")
    spec["milestones"] = [kept, *spec["milestones"]]  # type: ignore[misc]
    lines = []
    for name, steps in (("won", [fill("amber"), submit()]), ("lost", [fill("amber"), stray()])):
        write(tmp_path / f"{name}.mrec", episode("amber", *steps, name=name))
        lines.append(json.dumps({"id": name, "file": f"{name}.mrec", "group": "g", "task": spec}))
    index, told = tmp_path / "episodes.jsonl", tmp_path / "pref.jsonl"
    index.write_text("\n".join(lines))
    told.write_text("\n".join(json.dumps(line) for line in preferences_of(index)))
    found = read_preferences([told])
    steps_paid = {
        one.trajectory.step for one in found.outcomes if one.level == "step" and one.success
    }
    assert steps_paid == {0, 1}
    for side in (
        *(one.trajectory for one in found.outcomes),
        *(s for p in found.pairs for s in (p.chosen, p.rejected)),
    ):
        assert rows_of(side)


def fine(of: str) -> dict[str, Any]:
    """A penalty for clicking what does nothing, or another thing."""
    return {"id": "bad", "penalty": 0.1, "when": {"element_clicked": {"role": of}}}


@pytest.mark.parametrize(("of", "is_masked"), [("link", True), ("generic", False)])
def test_a_step_whose_reward_is_null_is_neither_better_nor_worse(
    of: str, is_masked: bool, tmp_path: Path
) -> None:
    """Nobody could see what was done in it, or its fine alone is known: it is no failed step, no
    idle one, and no copy without it is a loser."""
    blind: list[Said] = [
        ("gap.began", {"source": "cdp", "reason": "gone"}),
        ("gap.ended", {"source": "cdp"}),
    ]
    spec = task("amber", "g")
    spec["milestones"] = [*spec["milestones"], fine(of)]  # type: ignore[misc]
    parts = {
        "seen": [stray(), fill("amber"), submit()],
        "blind": [[*stray(), *blind], fill("amber"), submit()],
    }
    lines = []
    for name, steps in parts.items():
        events = episode("amber", *steps, name=name)
        rewards = score_log(spec, events)
        assert (rewards[0].mask, rewards[-1].success) == (name == "blind" and is_masked, True)
        write(tmp_path / f"{name}.mrec", events)
        lines.append(json.dumps({"id": name, "file": f"{name}.mrec", "group": "g", "task": spec}))
    index = tmp_path / "episodes.jsonl"
    index.write_text("\n".join(lines))
    made = [line for line in preferences_of(index) if line.get("level") == "step"]
    outcomes = {
        (line["trajectory"]["recording"], line["trajectory"]["step"])
        for line in made
        if "trajectory" in line
    }
    assert ("seen.mrec", 0) in outcomes
    assert ("blind.mrec", 0) not in outcomes
    sides = {
        (line[of]["recording"], line[of]["step"])
        for line in made
        for of in ("chosen", "rejected")
        if of in line
    }
    assert ("seen.mrec", 0) in sides
    assert ("blind.mrec", 0) not in sides


def test_a_copy_of_which_nobody_knows_whether_it_succeeded_is_no_loser(tmp_path: Path) -> None:
    """The second button is pressed in the dark: without the first the goal is not known, which is
    no failure."""
    blind: list[Said] = [
        ("gap.began", {"source": "cdp", "reason": "gone"}),
        ("gap.ended", {"source": "cdp"}),
    ]
    spec = task("amber", "g")
    write(
        tmp_path / "won.mrec",
        episode("amber", fill("amber"), submit(), [*stray(), *blind], name="won"),
    )
    index = tmp_path / "episodes.jsonl"
    index.write_text(json.dumps({"id": "won", "file": "won.mrec", "group": "g", "task": spec}))
    copies = [line for line in preferences_of(index) if line["source"] == "perturbed"]
    whole = list(episode("amber", fill("amber"), submit(), [*stray(), *blind], name="won"))
    for line in copies:
        how = (line.get("rejected") or line["trajectory"]).get("perturbed")
        assert score_log(spec, list(perturb_log(whole, how)))[-1].success is False, how


@pytest.mark.parametrize(
    ("how", "success", "steps"),
    [
        (None, True, 3),
        ({"how": "truncated", "step": 2}, False, 2),
        ({"how": "removed", "step": 0}, False, 2),
        ({"how": "removed", "step": 1}, True, 2),
        ({"how": "injected", "text": INJECTED}, True, 3),
    ],
    ids=str,
)
def test_spoilt_copies(how: dict[str, Any] | None, success: bool, steps: int) -> None:
    """They are whole logs, numbered without gaps, which the rules score as any other."""
    events = list(perturb_log(episode("amber", fill("amber"), stray(), submit()), how))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.data["step"] for event in events if event.kind == "step.began"] == list(
        range(steps)
    )
    assert events[-1].kind == "episode.closed"
    assert score_log(task("amber", "g"), events)[-1].success is success
    assert sum(event.data.get("text") == INJECTED for event in events) == (
        3 if how and how["how"] == "injected" else 0
    )
