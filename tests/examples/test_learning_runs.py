"""The runs of `examples.learning` that ended are found again, so that a broken comparison goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from examples.learning.__main__ import _digest, read_known

ASKED = [("mined", 0), ("mined", 1)]
RUN = {"kind": "mined", "seed": 0, "most": 1600, "task": _digest("mined")}


@pytest.mark.parametrize(
    ("change", "is_known"),
    [
        ({}, True),
        ({"seed": 2}, False),
        ({"kind": "sparse"}, False),
        ({"most": 48}, False),
        ({"task": "0" * 64}, False),
        ({"task": None}, False),
    ],
    ids=["it", "another seed", "another kind", "another length", "another task", "none named"],
)
def test_a_run_is_known_if_it_is_the_same_one(
    change: dict[str, Any], is_known: bool, tmp_path: Path
) -> None:
    out = tmp_path / "learning.json"
    assert read_known(out, ASKED, 1600) == {}
    run = {**RUN, **change}
    out.write_text(json.dumps([run]))
    assert read_known(out, ASKED, 1600) == ({("mined", 0): run} if is_known else {})
