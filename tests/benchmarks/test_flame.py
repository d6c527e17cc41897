"""Flame graphs: what is sampled, how stacks are named, what is drawn."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.flame.__main__ import HOOK
from benchmarks.flame.drawing import WIDTH, draw
from benchmarks.flame.samples import FOLDER, OF, ROOT, name_stack, read_samples

BUSY = """
def spin(times):
    return sum(n * n for n in range(times))
def rest():
    return spin(40_000)
for _ in range(200):
    spin(200_000)
    rest()
"""


def test_a_process_says_where_its_processor_time_went(tmp_path: Path) -> None:
    program = tmp_path / "busy.py"
    program.write_text(BUSY)
    samples = tmp_path / "samples"
    samples.mkdir()
    for of in ("another", "busy.py"):
        assert read_samples(samples) == Counter()
        environment = {"PYTHONPATH": str(HOOK), FOLDER: str(samples), OF: of}
        subprocess.run([sys.executable, str(program)], env=environment, check=True)
    stacks = read_samples(samples)
    share = Counter[str]()
    for stack, count in stacks.items():
        share.update(dict.fromkeys((name.split()[0] for name in stack), count / stacks.total()))
    assert share["spin"] > 0.9, "all calls of it"
    assert 0.02 < share["rest"] < 0.5, "a sixth of the work"


NAMES: dict[str, tuple[list[tuple[str, str]], tuple[str, ...]]] = {
    "ours by function and file": (
        [("Log.append", f"{ROOT}/api/ingest/appender.py")],
        ("Log.append (api/ingest/appender.py)",),
    ),
    "a library once for all its frames": (
        [("a", "/x/site-packages/fastapi/routing.py"), ("b", "/x/site-packages/fastapi/b.py")],
        ("fastapi",),
    ),
    "two libraries": (
        [("a", "/x/site-packages/fastapi/a.py"), ("b", "/x/site-packages/starlette/b.py")],
        ("fastapi", "starlette"),
    ),
    "the standard library by module": (
        [("Runner.run", "/opt/lib/python3.11/asyncio/runners.py")],
        ("asyncio",),
    ),
    "what is frozen": ([("run", "<frozen runpy>")], ("runpy",)),
    "a library again after ours": (
        [
            ("a", "/x/site-packages/anyio/a.py"),
            ("f", f"{ROOT}/f.py"),
            ("a", "/x/site-packages/anyio/a.py"),
        ],
        ("anyio", "f (f.py)", "anyio"),
    ),
}


@pytest.mark.parametrize(("frames", "expected"), NAMES.values(), ids=NAMES)
def test_names_of_a_stack(frames: list[tuple[str, str]], expected: tuple[str, ...]) -> None:
    assert name_stack(frames) == expected


def widths(svg: str) -> dict[str, float]:
    """The width of each box by its name."""
    boxes = re.findall(r"<g><title>(.*?): [\d.]+%</title><rect .*?width=\"([\d.]+)\"", svg)
    return {name: float(width) for name, width in boxes}


def test_a_box_is_as_wide_as_its_share_of_the_samples() -> None:
    drawn = widths(draw(Counter({("a", "b"): 60, ("a", "c"): 30, ("d",): 10}), "part"))
    assert drawn["all: part"] == WIDTH
    assert drawn["a"] == pytest.approx(0.9 * WIDTH)
    assert drawn["b"] == pytest.approx(0.6 * WIDTH)
    assert drawn["d"] == pytest.approx(0.1 * WIDTH)


def test_what_is_too_narrow_to_see_is_left_out() -> None:
    assert "c" not in widths(draw(Counter({("a", "b"): 999, ("a", "c"): 1}), "part"))


def test_names_are_escaped() -> None:
    svg = draw(Counter({("<module>",): 1}), "a & b")
    assert "&lt;module&gt;" in svg
    assert "<module>" not in svg
    assert "a &amp; b" in svg
