"""No log stops an episode: nothing that a page says is too odd for a rule, and one that fails
blinds its step alone."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from detectors.engine.engine import Engine
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.registry import Rule, add_foreign, rule
from detectors.sdk.world import World
from detectors.task.ruleset import Ruleset
from tests.detectors import tables_probes
from tests.detectors.test_rules import NO, YES
from tests.support.logs import Said, clicked, created, episode, log, ruleset, run, titled, worth

ROUNDS = 6
"""Of each line of the tables."""
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**63, "", "x" * 300, "http://[x", "\0", "\u0663", [], {}, [None], [[1]], {"a": {"b": 1}},
    "&" * 1100, "%zz", "1" * 5000, "http://[@h/", "\u00b2", "\u00e9" * 10, "1e999", "//[", "9" * 30,
)  # fmt: skip
ENDS = ("?" + "&" * 1100, "\ud7ff", "#[", "@[", "\n", "%")


def made(name: str, args: Any) -> Ruleset:
    """A task of the one rule."""
    condition = {name: args}
    if name in ("none_of", "probe_kept"):  # alone they would pay for nothing
        condition = {
            "all_of": {"holding": True, "of": [condition, {"element_clicked": {"name": "Go"}}]}
        }
    return ruleset(
        {"id": "m", "when": condition, "component": "nav"},
        weights={"nav": 1},
        probes=tables_probes.PROBES,
    )


def mutated(value: Any, chance: random.Random) -> Any:
    """The value with parts of it odd, missing, or longer at the end."""
    if chance.random() < 0.1:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {key: mutated(one, chance) for key, one in value.items() if chance.random() > 0.03}
    if isinstance(value, list | tuple):
        return [mutated(one, chance) for one in value]
    return (
        value + chance.choice(ENDS) if isinstance(value, str) and chance.random() < 0.1 else value
    )


@pytest.mark.parametrize("name", sorted(YES))
def test_nothing_that_a_page_says_is_too_odd(name: str) -> None:
    """Each rule's own tables with their events spoilt: read to the end, by rules that do not fail,
    and stored."""
    chance = random.Random(name)
    for args, said in (*(case[:2] for case in YES[name]), *NO[name]):
        rules = made(name, args)
        for _ in range(ROUNDS):
            spoilt = [
                (kind, found if isinstance(found := mutated(data, chance), dict) else {})
                for kind, data in said
            ]
            engine = Engine(rules, "ep_1")
            rewards = engine.feed(log(*episode(spoilt))).rewards
            assert engine.closed
            failed = [reward.reason for reward in rewards if "failed:" in str(reward.reason)]
            assert failed == [], f"{name}: {args} on {spoilt}"
            engine.dump()


@dataclass(frozen=True, slots=True)
class Args:
    name: str = arg("The file's name.")


@rule(component="file", hears=("file.created",), args=Args)
def sample_fragile(event: Event, world: World, args: Args) -> Iterator[Reading]:
    """A file of a name, by a rule that takes its size for granted."""
    if event.data["name"] == args.name:
        yield Reading(1.0 if 100 / event.data["size"] else 0.0, "file")


def _index(event: Event) -> tuple[str, ...]:
    return (str(event.data["size"] // event.data["size"]),)


@pytest.fixture
def fragile() -> Iterator[None]:
    """The rule, installed as one of others is."""
    indexed = replace(
        sample_fragile, name="sample_indexed", index_args=lambda args: ("1",), index_event=_index
    )
    add_foreign({one.name: (one, "sample==1") for one in (sample_fragile, indexed)})
    yield
    add_foreign({})


M: dict[str, Any] = {"id": "m", "when": {"sample_fragile": {"name": "a"}}}
GO: dict[str, Any] = {"id": "go", "when": {"element_clicked": {"name": "Go"}}}


@pytest.mark.usefixtures("fragile")
def test_a_rule_that_fails_blinds_its_step() -> None:
    """Null, with the event and the rule, and without a word of the page; the steps around it are as
    they were."""
    rules = ruleset(M, GO)
    steps: list[list[Said]] = [
        [clicked("Go")],
        [created("a", size=0)],
        [created("a")],
        [titled("x")],
    ]
    rewards = run(rules, *episode(*steps))
    assert worth(rewards) == [0.2, None, 0.3, 0.0]
    assert rewards[1].reason == "event 5: sample_fragile failed: ZeroDivisionError"
    assert (rewards[1].mask, rewards[1].status) == (True, "unobserved")


@pytest.mark.usefixtures("fragile")
def test_what_rests_on_a_rule_that_failed_is_not_known() -> None:
    """What did not happen may have, and so may the goal."""
    goal = {"id": "g", "when": {"goal": {"requires": ["m"]}}}
    late = run(ruleset(M, goal), *episode([created("a", size=0)], [titled("x")]))
    assert (worth(late), late[-1].success) == ([None, None], None)
    none = {
        "id": "n",
        "component": "ui",
        "when": {"all_of": {"holding": True, "of": [{"none_of": [M["when"]]}, GO["when"]]}},
    }
    assert worth(run(ruleset(none), *episode([created("a", size=0)], [clicked("Go")]))) == [
        None,
        None,
    ]
    assert worth(run(ruleset(none), *episode([created("b", size=0)], [clicked("Go")]))) == [
        0.0,
        0.2,
    ]


@pytest.mark.usefixtures("fragile")
def test_between_steps_it_blinds_the_next() -> None:
    """There it would have paid."""
    sealed: Said = ("step.sealed", {"step": 0, "reason": "quiet"})
    assert worth(run(ruleset(M), *episode([sealed, created("a", size=0)], [titled("x")], []))) == [
        0.0,
        None,
        0.0,
    ]


@pytest.mark.usefixtures("fragile")
def test_an_index_that_fails_blinds_as_well() -> None:
    """The rules behind it can't be asked."""
    rewards = run(
        ruleset({**M, "when": {"sample_indexed": {"name": "a"}}}, GO),
        *episode([created("a", size=0), clicked("Go")]),
    )
    assert worth(rewards) == [None]
    assert rewards[0].reason == "event 3: an index of rules failed: ZeroDivisionError"


def test_memory_that_runs_out_is_the_machine_s() -> None:
    """Another machine's replay would not have it: it is no fact of the log."""

    def read(event: Event, world: World, args: Any) -> Iterator[Reading]:
        raise MemoryError

    assert isinstance(sample_fragile, Rule)
    add_foreign({"sample_fragile": (replace(sample_fragile, read=read), "sample==1")})
    try:
        with pytest.raises(MemoryError):
            run(ruleset(M), *episode([created("a")]))
    finally:
        add_foreign({})
