"""Each law on each wire has a cell, each cell a test that there is, and docs/wires.md the table."""

from __future__ import annotations

import ast
from functools import cache

import pytest

from tests.api.processes import ROOT
from tests.interop.table import LAWS, TABLE, WIRES, Absent, Held, as_markdown

CELLS = [(law, wire) for law in LAWS for wire in WIRES]


def test_there_is_a_cell_for_each_law_on_each_wire() -> None:
    assert [(law, wire) for law, row in TABLE.items() for wire in row] == CELLS


@cache
def functions_of(path: str) -> frozenset[str]:
    """The tests of a file."""
    tree = ast.parse((ROOT / path).read_text())
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, kinds))


@pytest.mark.parametrize(("law", "wire"), CELLS)
def test_a_cell_is_a_test_or_says_why_there_is_none(law: str, wire: str) -> None:
    cell = TABLE[law][wire]
    if isinstance(cell, Absent):
        assert cell.because
        return
    assert isinstance(cell, Held)
    assert cell.tests
    for test in cell.tests:
        path, name = test.split("::")
        assert name.partition("[")[0] in functions_of(path), test


def test_the_docs_show_the_table() -> None:
    assert as_markdown() in (ROOT / "docs" / "wires.md").read_text()
