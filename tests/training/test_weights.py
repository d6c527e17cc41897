"""`milestoned weights fit`: weights that order trajectories as people did."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from api.cli.main import main
from lab.evaluation.weights import fit_weights
from tests.support.logs import clicked, episode, filled, log, went
from tests.training.synthetic import write

TRUE = (0.6, 0.3, 0.1)
TASK = """id: t
version: "1"
instruction: Do it.
origin: http://shop.test
weights: {nav: 0.5, form: 0.5}
milestones:
  - {id: there, component: nav, when: {url_reached: {url: /a}}}
  - {id: form, component: form, when: {form_filled: {fields: {N: "1", M: "2"}}}}
"""


RUNS = {
    "nothing": [went("/")],
    "there": [went("/a")],
    "filled": [went("/a"), filled("N", "1"), filled("M", "2")],
}


def drawn(count: int, weights: tuple[float, ...] = TRUE, sharp: float = 12) -> tuple[list[list[float]], list[float], list[str]]:  # fmt: skip
    """Pairs of made-up trajectories and the word of somebody with these weights."""
    draw = random.Random(7)
    levels = (0.0, 0.25, 0.5, 0.75, 1.0)
    differences = [
        [draw.choice(levels) - draw.choice(levels) for _ in weights] for _ in range(count)
    ]
    margins = [sum(w * x for w, x in zip(weights, one, strict=True)) for one in differences]
    chosen = [float(draw.random() < 1 / (1 + 2.718281828 ** (-sharp * one))) for one in margins]
    return differences, chosen, [str(n) for n in range(count)]


def test_the_weights_of_whoever_prefers_are_found_with_intervals() -> None:
    fitted = fit_weights(*drawn(400), own=(1 / 3, 1 / 3, 1 / 3), draws=60)
    assert sum(fitted.weights) == pytest.approx(1)
    for weight, low, high, true in zip(fitted.weights, fitted.low, fitted.high, TRUE, strict=True):
        assert low <= weight <= high
        assert low <= true <= high
        assert 0.02 < high - low < 0.25
    assert fitted.agreement > fitted.before


def test_fewer_pairs_say_less() -> None:
    few, many = (fit_weights(*drawn(count), own=TRUE, draws=40) for count in (40, 300))
    assert few.high[0] - few.low[0] > many.high[0] - many.low[0]


def test_no_component_is_worth_less_than_nothing() -> None:
    differences, chosen, groups = drawn(100, (1.0, -0.8))
    fitted = fit_weights(differences, chosen, groups, own=(0.5, 0.5), draws=20)
    assert fitted.weights[1] == 0 == fitted.low[1]
    with pytest.raises(ValueError, match="no pair differs"):
        fit_weights([[0.0, 0.0]], [1.0], ["a"], own=(0.5, 0.5))


FINED = """  - {id: bad, component: form, penalty: 0.5, when: {element_clicked: {name: Delete}}}
"""
LOST = ("events.dropped", {"source": "cdp", "count": 3, "reason": "flood"})
BESIDE = {
    "whole": ([went("/a"), clicked("Delete")], 0),
    "lost": ([went("/a"), LOST], 20),
    "lost beside a fine": ([went("/a"), clicked("Delete"), LOST], 20),
}


@pytest.mark.parametrize("name", BESIDE)
def test_of_a_step_that_is_paid_its_fine_alone_no_component_is_known(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it may have earned is not 0."""
    said, unknown = BESIDE[name]
    (tmp_path / "task.yaml").write_text(TASK + FINED)
    sides = []
    for label, happened in (("chosen", RUNS["filled"]), ("other", said), ("none", RUNS["nothing"])):
        write(tmp_path / f"{label}.mrec", log(*episode(happened)))
        sides.append({"recording": f"{label}.mrec", "instruction": "Do it.", "group": label})
    lines = [
        {"schema": "pref/1", "id": f"{n}-{rejected['group']}", "kind": "pair", "source": "person"}
        | {"chosen": sides[0], "rejected": rejected}
        for n in range(20)
        for rejected in sides[1:]
    ]
    file = tmp_path / "p.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["weights", "fit", str(file), "--task", str(tmp_path / "task.yaml")]) == 0
    summary = capsys.readouterr().out.splitlines()[-2]
    assert summary.startswith(f"{40 - unknown} pairs, {unknown} left out as not known"), summary


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a task and recordings; too few pairs are refused."""
    (tmp_path / "task.yaml").write_text(TASK)
    sides = {}
    for name, said in RUNS.items():
        write(tmp_path / f"{name}.mrec", log(*episode(said)))
        sides[name] = {"recording": f"{name}.mrec", "instruction": "Do it.", "group": name}
    pairs = [("filled", "there")] * 16 + [("there", "nothing")] * 8
    lines = [
        {"schema": "pref/1", "id": str(n), "kind": "pair", "source": "person"}
        | {"chosen": sides[chosen], "rejected": sides[rejected]}
        for n, (chosen, rejected) in enumerate(pairs)
    ]
    file = tmp_path / "p.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["weights", "fit", str(file), "--task", str(tmp_path / "task.yaml")]) == 0
    *_, summary, weights = capsys.readouterr().out.splitlines()
    assert summary.startswith("24 pairs, 0 left out as not known; ordered as people did: 100.0%")
    found = json.loads(weights.removeprefix("weights: ").replace("form", '"form"').replace("nav", '"nav"'))  # fmt: skip
    assert found["form"] > found["nav"] > 0
    file.write_text(json.dumps(lines[0]) + "\n")
    assert main(["weights", "fit", str(file), "--task", str(tmp_path / "task.yaml")]) == 1
    assert "expected at least 20 pairs" in capsys.readouterr().err
