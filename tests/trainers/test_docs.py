"""docs/trainers.md says what is pinned and what exists."""

from __future__ import annotations

import ast
import re

import pytest

from tests.api.processes import ROOT

PAGE = (ROOT / "docs" / "trainers.md").read_text()
ADAPTERS = ROOT / "client" / "milestoned_client" / "adapters"
PINS = "".join((ROOT / "requirements" / name).read_text() for name in ("trainers-alone.in", "trainers.in"))
PACKAGES = {"SkyRL": "skyrl-gym", "NeMo Gym": "nemo-gym"}
NOT_ON_PYPI = {"slime"}


def rows() -> dict[str, list[str]]:
    """The first table: version, what, how and when of each trainer."""
    table = PAGE.split("| --- |", 1)[1].split("\n\n")[0]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.splitlines() if "|" in line]
    return {row[0].strip("| "): row[1:] for row in cells if len(row) == 5}


def test_what_was_run_is_what_is_pinned() -> None:
    """A row with a date names the version that is pinned; nothing is pinned that has no row."""
    pinned = dict(re.findall(r"^([a-z-]+)==([\w.]+)", PINS, re.M))
    ran = {trainer: row[0] for trainer, row in rows().items() if row[3].strip("| ") != "—"}
    named = {PACKAGES.get(trainer, trainer.lower()): version for trainer, version in ran.items()}
    assert {name: version for name, version in named.items() if name not in NOT_ON_PYPI} == pinned
    assert len(rows()) == 9


def test_every_trainer_has_its_section() -> None:
    sections = re.findall(r"^## (.+)$", PAGE, re.M)
    assert all(any(trainer in section for section in sections) for trainer in rows())


@pytest.mark.parametrize("what", ["Not known", "Fold"])
def test_every_section_says_what_a_newcomer_asks(what: str) -> None:
    sections = PAGE.split("\n## ")[2:]
    assert len(sections) == len(rows())
    assert [section.splitlines()[0] for section in sections if f"- {what}:" not in section] == []


def test_every_adapter_that_is_named_exists_and_is_named() -> None:
    named = set(re.findall(r"milestoned_client\.adapters\.(\w+)(?:\.|:| import )(\w+)", PAGE))
    for module, name in named:
        assert re.search(rf'(def|class) {name}\b|"{name}"', (ADAPTERS / f"{module}.py").read_text()), (module, name)
    apart = {"__init__", "settings", "carried", "paid", "rollout", "scoring", "openrlhf_agent", "verl_manager"}
    assert {path.stem for path in ADAPTERS.glob("*.py")} - apart - set(re.findall(r"adapters\.(\w+)", PAGE)) - {
        "openrlhf"
    } == set()


def test_the_python_is_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) >= 7
    for block in blocks:
        compile(block, "docs/trainers.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
