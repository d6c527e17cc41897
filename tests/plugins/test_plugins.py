"""Rules of others: taken with tables that hold, refused by name without; part of the digest that
they score under."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from detectors.sdk.plugins import FoundPlugin, PlugIn, PlugInError, take
from detectors.sdk.registry import Rule, foreign, rules
from tests.plugins.sample.milestoned_sample.long_name import PLUG_IN
from tests.support.logs import created, episode, ruleset, run

NAME = "sample_long_name"
MILESTONE = {"id": "m", "when": {NAME: {"length": 5}}, "component": "file"}


@pytest.fixture(autouse=True)
def _none_left() -> Iterator[None]:
    """Other tests know our own rules alone."""
    yield
    take([])


def offered(plug_in: Any = PLUG_IN, name: str = NAME, version: str = "0.3.0") -> FoundPlugin:
    def load() -> Any:
        if isinstance(plug_in, Exception):
            raise plug_in
        return plug_in

    return FoundPlugin(name, "milestoned-sample", version, load)


def changed(**rule: Any) -> PlugIn:
    return replace(PLUG_IN, rule=replace(PLUG_IN.rule, **rule))


def test_a_rule_of_others_is_a_rule_like_ours() -> None:
    """It pays, and is gone when its distribution is."""
    assert take([offered()]) == [NAME]
    assert foreign(NAME) == "milestoned-sample==0.3.0"
    assert foreign("url_reached") is None
    rewards = run(ruleset(MILESTONE, weights={"file": 1}), *episode([created("a-long-name.txt")]))
    assert [reward.reward for reward in rewards] == [1.0]
    assert take([offered()]) == [NAME], "found again in the same process"
    assert take([]) == []
    assert NAME not in rules()


def test_the_digest_names_the_distribution_s_version() -> None:
    """Another version is another ruleset, though the rule's own number is the same; tasks without
    it do not care."""
    other = {"id": "o", "when": {"url_reached": {"url": "/"}}}
    alone = ruleset(other).digest
    digests = set()
    for version in ("0.3.0", "0.3.1"):
        take([offered(version=version)])
        digests.add(ruleset(MILESTONE).digest)
        assert ruleset(other).digest == alone
    assert len(digests) == 2


def heard(kind: str) -> PlugIn:
    return changed(hears_of=lambda args: (kind,))


def broken(*args: Any) -> Any:
    return 1 / 0


BURNT: Any = [("file.burnt", {})]
CLICK: Any = [("element.clicked", {"tab": "T"})]
REFUSED: dict[str, tuple[FoundPlugin, str]] = {
    "no table of yes": (offered(replace(PLUG_IN, yes=[])), "an empty table 'yes'"),
    "no table of no": (offered(replace(PLUG_IN, no=())), "an empty table 'no'"),
    "a yes that is none": (offered(replace(PLUG_IN, yes=PLUG_IN.no)), r"yes\[0\] finds nothing"),
    "a no that is a yes": (offered(replace(PLUG_IN, no=PLUG_IN.yes)), r"no\[0\] finds its fact"),
    "a wrong argument": (offered(replace(PLUG_IN, no=[({"len": 5}, [])])), "sample_long_name.len"),
    "an event that there is not": (offered(replace(PLUG_IN, no=[({"length": 5}, BURNT)])), "'file.burnt'"),
    "what it never hears": (offered(replace(PLUG_IN, yes=[({"length": 1}, CLICK)])), r"yes\[0\] finds nothing"),
    "a rule alone": (offered(PLUG_IN.rule), "Rule; wanted a detectors.sdk.plugins.PlugIn"),
    "another name": (offered(name="sample_other"), "calls itself 'sample_long_name'"),
    "a name of ours": (offered(changed(name="url_reached"), name="url_reached"), "milestoned has a rule of this name"),
    "no docstring": (offered(changed(doc="")), "no docstring"),
    "an unknown kind": (offered(changed(hears=("file.burnt",))), "hears file.burnt"),
    "what no rule hears": (offered(changed(hears=("visual.dom_recorded",))), "hears visual.dom_recorded"),
    "unknown by its arguments": (offered(heard("file.burnt")), r"yes\[0\]: hears file.burnt"),
    "unheard by its arguments": (offered(heard("visual.dom_recorded")), r"yes\[0\]: hears visual.dom_recorded"),
    "a rule that raises": (offered(changed(read=broken)), r"yes\[0\] raises ZeroDivisionError"),
    "an index that raises": (offered(changed(index_args=broken)), r"yes\[0\] raises ZeroDivisionError"),
    "an index of parts that leaves a yes out": (offered(changed(index_parts=lambda args: ("no such part",), index_event=lambda event: ("a-name",))), r"yes\[0\] finds nothing"),
    "a case that is none": (offered(replace(PLUG_IN, no=[5])), r"no\[0\] raises TypeError"),  # type: ignore[list-item]
    "what raises as it is loaded": (offered(RuntimeError("no licence")), "RuntimeError: no licence"),
    "what can't be imported": (offered(ImportError("No module named 'x'")), "No module named 'x'"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_keep_the_rules_is_refused_by_name(case: str) -> None:
    """The message says which rule of which distribution, and what was wanted; nothing of it is
    taken."""
    found, says = REFUSED[case]
    with pytest.raises(PlugInError, match=says) as refused:
        take([found])
    assert found.name in str(refused.value)
    assert "milestoned-sample 0.3.0" in str(refused.value)
    assert "wanted" in str(refused.value)
    assert isinstance(rules()["url_reached"], Rule)
    assert NAME not in rules()


def test_two_rules_of_one_name_are_refused() -> None:
    """Nobody could tell which of them scored."""
    with pytest.raises(PlugInError, match="has one of this name too"):
        take([offered(), offered(version="9")])


@pytest.mark.slow
def test_an_installed_wheel_is_found(tmp_path: Path) -> None:
    """Built, installed and scored by in processes of their own; one whose tables do not hold stops
    the command."""
    sample = Path(__file__).parent / "sample"
    built, installed = tmp_path / "built", tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run(
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", built, sample], check=True
    )
    (wheel,) = built.iterdir()
    subprocess.run([*pip, "install", "--no-deps", "--target", installed, wheel], check=True)
    task = {"id": "t", "version": "1", "instruction": "Do.", "milestones": [MILESTONE]}
    (tmp_path / "task.json").write_text(json.dumps(task))

    def check(*paths: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "api.cli.main", "task", "check", str(tmp_path / "task.json")],
            capture_output=True, text=True, check=False,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(map(str, paths))},
        )  # fmt: skip

    without, having = check(), check(installed)
    assert without.returncode != 0
    assert NAME in without.stdout + without.stderr
    assert having.returncode == 0, having.stderr
    module = installed / "milestoned_sample" / "long_name.py"
    module.write_text(module.read_text().replace('({"length": 6}', '({"length": 5}'))
    refused = check(installed)
    assert refused.returncode == 2
    assert (
        "the rule sample_long_name of milestoned-sample 0.3.0: no[0] finds its fact"
        in refused.stderr
    )
