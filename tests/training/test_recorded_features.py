"""Rows of features that were recorded: a change of their code must not move one bit of them.

`python -m tests.training.test_recorded_features` records them again, where they are to change.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from api.stages.model.features import Row, extract
from api.stages.model.schema import NAMES
from tests.training.random_desks import draw_desk
from tests.training.random_logs import draw_episode
from tests.training.random_writes import draw_sending

RECORDED = Path(__file__).with_name("golden") / "features.jsonl"
DESKS = Path(__file__).with_name("golden") / "desk_features.jsonl"
WRITES = Path(__file__).with_name("golden") / "write_features.jsonl"
SEEDS = (
    11, 316, 468, 693, 808, 1084, 1116, 1121, 1161, 1190, 1307, 1359, 1369, 1479, 1556, 1557, 1577,
    1679, 1888, 2028, 2042, 2092, 2333, 2349, 2417, 2682, 2820, 2877, 2916, 2962, 2986, 2995, 3225,
    3292, 3515, 3728, 3909, 3928, 4008, 4108, 4134, 4148, 4211, 4285, 4427, 4492, 4690, 4808, 4820,
    4917, 5132, 5214, 5231, 5484, 5485, 5512, 5670, 5781, 5816, 5842,
)  # fmt: skip
"""Of 6,000 those whose rows together have the most different values of every feature."""
DESK_SEEDS = (
    18, 24, 58, 61, 81, 111, 160, 201, 271, 282, 369, 390, 791, 885, 987, 1020, 1068, 1143, 1199,
    1367, 1417, 1434, 1538, 1704, 1742, 1859, 1939, 1944, 2415, 2469, 2604, 2696,
)  # fmt: skip
"""Of desktops, files and tools: of 3,000 those with the most different values."""
WRITE_SEEDS = tuple(range(24))
"""Of what pages send."""


def row_bytes(row: Row) -> bytes:
    """A row as IEEE 754 doubles; every NaN alike."""
    numbers = [math.nan if math.isnan(number) else float(number) for number in row]
    return struct.pack(f"{len(row)}d", *numbers)


def read_recorded(file: Path = RECORDED, seeds: Sequence[int] = SEEDS) -> dict[int, list[Row]]:
    """The recorded rows of every seed."""
    lines = file.read_text(encoding="utf-8").splitlines()
    episodes = [
        [[math.nan if number is None else number for number in row] for row in json.loads(line)]
        for line in lines
    ]
    return dict(zip(seeds, episodes, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_are_the_recorded_ones_to_the_bit(seed: int) -> None:
    """Names of what differs first, then every bit."""
    _must_be_equal(extract(*draw_episode(seed)), read_recorded()[seed])


def test_rows_of_desktops_are_the_recorded_ones_to_the_bit() -> None:
    """The same for windows, widgets, files and tools."""
    recorded = read_recorded(DESKS, DESK_SEEDS)
    for seed in DESK_SEEDS:
        _must_be_equal(extract(*draw_desk(seed)), recorded[seed])


def test_rows_of_what_pages_send_are_the_recorded_ones_to_the_bit() -> None:
    recorded = read_recorded(WRITES, WRITE_SEEDS)
    for seed in WRITE_SEEDS:
        _must_be_equal(extract(*draw_sending(seed)), recorded[seed])


def _must_be_equal(rows: list[Row], recorded: list[Row]) -> None:
    assert len(rows) == len(recorded)
    for step, (row, before) in enumerate(zip(rows, recorded, strict=True)):
        differing = {
            name: (before[at], row[at])
            for at, name in enumerate(NAMES)
            if row_bytes([before[at]]) != row_bytes([row[at]])
        }
        assert differing == {}, f"step {step}"


def test_every_feature_takes_several_values_in_the_recorded_rows() -> None:
    """Otherwise the recorded rows would say nothing of it."""
    files = ((RECORDED, SEEDS), (DESKS, DESK_SEEDS), (WRITES, WRITE_SEEDS))
    episodes = [rows for file, seeds in files for rows in read_recorded(file, seeds).values()]
    rows = [row for episode in episodes for row in episode]
    constant = [
        name for at, name in enumerate(NAMES) if len({row_bytes([r[at]]) for r in rows}) < 2
    ]
    assert constant == []


def record() -> None:
    """Write the rows of this build; numbers as their shortest exact decimals, NaN as null."""
    _write(RECORDED, [extract(*draw_episode(seed)) for seed in SEEDS])
    _write(DESKS, [extract(*draw_desk(seed)) for seed in DESK_SEEDS])
    _write(WRITES, [extract(*draw_sending(seed)) for seed in WRITE_SEEDS])


def _write(file: Path, episodes: list[list[Row]]) -> None:
    lines = [
        json.dumps(
            [[None if math.isnan(number) else number for number in row] for row in rows],
            separators=(",", ":"),
        )
        for rows in episodes
    ]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
