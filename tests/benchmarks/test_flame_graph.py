"""The picture of where a process spends its time says what its stacks say."""

from __future__ import annotations

import pytest

from benchmarks.flame_graph import draw, read_stacks

STACKS = [
    "run (api/a.py);feed (detectors/b.py) 60",
    "run (api/a.py);feed (detectors/b.py);<listcomp> (detectors/b.py) 20",
    "run (api/a.py) 19",
    "run (api/a.py);rare (api/c.py) 1",
]


def test_each_box_says_its_share() -> None:
    picture = draw(read_stacks(STACKS))
    assert "<title>run (api/a.py): 100.0%</title>" in picture
    assert "<title>feed (detectors/b.py): 80.0%</title>" in picture
    assert "<title>&lt;listcomp&gt; (detectors/b.py): 20.0%</title>" in picture
    assert "<script" not in picture


def test_what_is_too_rare_is_left_out() -> None:
    picture = draw(read_stacks([*STACKS, "run (api/a.py) 900"]))
    assert "rare" not in picture


def test_a_line_without_a_count_is_none() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        read_stacks(["run (api/a.py)"])
