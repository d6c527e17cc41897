"""Every task that is shipped, or shown whole in the docs, checks without a warning; where one
warns, its reason stands here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from api.cli.task import TEMPLATE
from api.tasks.task_files import check_task, load_task_file, load_task_yaml
from api.tasks.task_warnings import warnings_of
from detectors.task.language import Task
from detectors.task.ruleset import compile_task
from examples.learning.tasks import KINDS, task
from tests.api.processes import ROOT

_BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)

_ADDRESS = (
    "the goal is an address; the agent can only choose among the actions of its shop, none of which"
    " is script, and docs/learning.md has what was measured with this goal"
)
_LITERAL = (
    "the weights of its family are kept to the letter, and what it pays is shown beside its most"
)
MEANT = {
    **{
        f"examples/office/{family}.yaml": _LITERAL
        for family in ("files", "mail", "mail-desktop", "search")
    },
    "examples/learning: milestones": (
        "the experiment's question is whether pay on the way to a goal, more of it than for the"
        " goal, teaches an agent to reach it; docs/learning.md has what was measured with these"
        " weights"
    ),
    "examples/learning: sparse": _ADDRESS,
    "examples/learning: mined": _ADDRESS,
    "examples/learning/mined.yaml": _ADDRESS,
    "examples/learning: potential": _ADDRESS,
}
"""Tasks that warn, and why they stay as they are."""


def shipped() -> Iterator[tuple[str, Task]]:
    for path in sorted((ROOT / "examples").rglob("*.yaml")):
        yield str(path.relative_to(ROOT)), load_task_file(path)
    yield "the template of `task new`", load_task_file(TEMPLATE)
    for kind in KINDS:
        made: dict[str, Any] = task(kind, "http://shop.test")
        yield f"examples/learning: {kind}", check_task(made)
    for path in sorted((ROOT / "docs").rglob("*.md")):
        for number, block in enumerate(_BLOCK.findall(path.read_text())):
            if re.search(r"^id: ", block, re.MULTILINE) and re.search(
                r"^milestones:", block, re.MULTILINE
            ):
                yield f"{path.relative_to(ROOT)} block {number}", load_task_yaml(block)


TASKS = dict(shipped())


def test_the_list_is_not_empty() -> None:
    """All of the six families, twice, e-mail in a mail program too, the judge's, the demo's, and
    what the docs show."""
    for folder, number in (("examples/desktop/", 6), ("examples/office/", 7)):
        assert len([name for name in TASKS if name.startswith(folder)]) == number
    assert {name.partition("/")[0] for name in TASKS} >= {"examples", "docs"}
    assert MEANT.keys() <= TASKS.keys()


@pytest.mark.parametrize("name", TASKS)
def test_a_shipped_task_does_not_warn(name: str) -> None:
    """Its weights sum to 1, reaching the goal is worth the most, and its rules about pages have a
    site."""
    rules = compile_task(TASKS[name])
    warned = [*warnings_of(rules), *rules.unplaced]
    assert bool(warned) is (name in MEANT), warned
