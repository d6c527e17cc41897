"""Several annotators made one, on simulated noise: who is reliable is found, and the order of the
items too."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from api.stages.model.calibration import sigmoid
from lab.training.annotators import AnnotatorWord, agree, reconcile_pairs
from lab.training.preferences import Pair, Side

RELIABLE = {"ada": 0.97, "bob": 0.9, "cy": 0.75, "guess": 0.5, "contrary": 0.1}


def words(seed: int, each: int = 250) -> list[AnnotatorWord]:
    """Each annotator's words on pairs of 25 items whose worth is their number."""
    draw, said = random.Random(seed), []
    for who, eta in RELIABLE.items():
        for _ in range(each):
            a, b = draw.sample(range(25), 2)
            so = draw.random() < float(sigmoid((a - b) * 0.8))
            if draw.random() > eta:
                so = not so
            said.append(
                AnnotatorWord(who, f"i{a:02}", f"i{b:02}")
                if so
                else AnnotatorWord(who, f"i{b:02}", f"i{a:02}")
            )
    return said


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_reliability_is_found(seed: int) -> None:
    """Who is right, who guesses, who says the reverse."""
    found = agree(words(seed)).reliability
    assert {who: pytest.approx(eta, abs=0.12) for who, eta in RELIABLE.items()} == found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_order_is_found_better_than_by_a_vote(seed: int) -> None:
    """Of all pairs of items."""
    said = words(seed)
    agreed = agree(said)
    votes = dict.fromkeys(agreed.score, 0)
    for one in said:
        votes[one.better] += 1
        votes[one.worse] -= 1
    order = sorted(agreed.score)
    pairs = [(a, b) for at, a in enumerate(order) for b in order[at + 1 :]]
    ours = sum(agreed.score[b] > agreed.score[a] for a, b in pairs) / len(pairs)
    theirs = sum(votes[b] > votes[a] for a, b in pairs) / len(pairs)
    assert ours > 0.95
    assert ours > theirs


def side(name: str) -> Side:
    return Side(Path(name), "do it", "g", "t", None, None, None)


def pair(better: str, worse: str, who: str | None, tie: bool = False) -> Pair:
    return Pair(
        f"{better}{worse}{who}",
        "trajectory",
        "success",
        "person",
        who,
        1.0,
        side(better),
        side(worse),
        tie,
    )


def test_words_on_one_pair_become_one_pair() -> None:
    """Three against one: one pair, with less weight than agreement has; ties are none; the unnamed
    stay."""
    said = [pair("a", "b", who) for who in ("x", "y", "z")] + [
        pair("b", "a", "w"),
        pair("a", "c", None),
    ]
    kept, reliability = reconcile_pairs([*said, pair("a", "b", "x", tie=True)])
    disputed = next(one for one in kept if one.rejected.recording == Path("b"))
    assert len(kept) == 2
    assert disputed.chosen.recording == Path("a")
    assert 0 < disputed.weight < 1
    assert reliability["w"] < min(reliability[who] for who in "xyz")
