"""What holds of the tests themselves: they wait for conditions, not for a time."""

from __future__ import annotations

import ast
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent
MAX_FIXED_SLEEPS = 10
SLEEPS = {"asyncio.sleep", "time.sleep"}


def fixed_sleeps(source: str) -> Iterator[int]:
    """Yield the line of each sleep of a constant time that no ``while`` repeats until something
    holds. ``sleep(0)`` gives others a turn, and is none."""

    def visit(node: ast.AST, *, waits: bool) -> Iterator[int]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Call) and ast.unparse(child.func) in SLEEPS and not waits:
                length = ast.unparse(child.args[0])
                if length != "0" and not _is_parameter(child.args[0]):
                    yield child.lineno
            inside = waits or isinstance(child, ast.While)
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                inside = False
            yield from visit(child, waits=inside)

    yield from visit(ast.parse(source), waits=False)


def _is_parameter(length: ast.expr) -> bool:
    """Return whether a double's caller, a script or chance says how long it takes."""
    if any(isinstance(node, ast.Subscript) for node in ast.walk(length)):
        return True
    names = {ast.unparse(node) for node in ast.walk(length) if isinstance(node, ast.Name)}
    return any(not name.isupper() and name not in ("uploader",) for name in names)


def test_what_counts_as_a_fixed_sleep() -> None:
    source = """
async def test(seconds):
    time.sleep(1)
    await asyncio.sleep(0.2)
    await asyncio.sleep(SETTLE_S)
    await asyncio.sleep(0)
    await asyncio.sleep(seconds)
    while not done():
        await asyncio.sleep(0.01)
        def held():
            time.sleep(3)
    for _ in range(4):
        time.sleep(2)
"""
    assert list(fixed_sleeps(source)) == [3, 4, 5, 11, 13]


def test_a_sleep_of_fixed_length_has_its_reason() -> None:
    """At most ten, each with ``# fixed:`` and why no condition can be waited for."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text()
        if "sleep(" not in source:
            continue  # to parse every test takes seconds
        lines = source.splitlines()
        for number in fixed_sleeps(source):
            found.append(f"{path.relative_to(ROOT)}:{number}")
            assert "# fixed: " in lines[number - 1], (
                f"{found[-1]}: expected a reason after # fixed:"
            )
    assert len(found) <= MAX_FIXED_SLEEPS, found


def test_a_short_test_waits_for_no_acknowledgement(pytestconfig: pytest.Config) -> None:
    """What a worker and its controller say of each test goes out at once."""
    told: Any = getattr(getattr(pytestconfig, "failures_db", None), "sock", None)
    if told is None:
        pytest.skip("without pytest-xdist nobody is told")
    assert told.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
