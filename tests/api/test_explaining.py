"""`milestoned task explain` over every rule's table of yes and of no: whatever happened, it can be
said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from api.rewards.explaining import of_events
from detectors.matchers import TextMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.plugins import FoundPlugin, PlugIn, take
from detectors.sdk.registry import rule, rules
from detectors.sdk.world import World
from tests.detectors import tables_probes
from tests.detectors.test_masked_rules import NEVER_MASKED, Hiding, masked, texts_in
from tests.detectors.test_rules import NO, YES
from tests.support.logs import Said, created, episode, filled, log, ruleset

Case = tuple[str, Any, list[Said]]
CASES: list[Case] = [
    (name, case[0], case[1]) for table in (YES, NO) for name, cases in table.items() for case in cases
]  # fmt: skip


def became(name: str, args: Any, said: list[Said]) -> tuple[str, ...]:
    """What is said of a milestone that waits for the rule, beside one that needs no other."""
    condition = {name: args}
    if name in ("none_of", "probe_kept"):  # alone they would pay for nothing
        condition = {
            "all_of": {"holding": True, "of": [condition, {"element_clicked": {"name": "Go"}}]}
        }
    before = [one for one in said if one[1].get("when") == "start"]
    since = [one for one in said if one not in before]
    own = ruleset(
        {"id": "m", "when": condition, "component": "nav"},
        weights={"nav": 1},
        probes=tables_probes.PROBES,
    )
    (explained,), _ = of_events(own, log(*episode(since, before=before)), "ep_1")
    return explained.became


@pytest.mark.parametrize("name", sorted(rules()))
def test_every_case_of_every_rule_can_be_explained(name: str) -> None:
    """Whatever a rule asks of a matcher, it may ask of an argument that is let go."""
    cases = [case for case in CASES if case[0] == name]
    assert cases
    for case in cases:
        assert became(*case), case


@pytest.mark.parametrize("name", sorted(YES.keys() - NEVER_MASKED.keys()))
def test_every_case_in_which_a_text_is_masked_can_be_explained(name: str) -> None:
    """Also where an argument is let go, and what it is compared with is masked."""
    hidden = 0
    for _, args, said in (case for case in CASES if case[0] == name):
        for secret in {
            text for _, data in said for text in texts_in(data, words=0) if text.strip()
        }:
            told = masked(said, Hiding(secret, ()))
            if told != said:
                assert became(name, args, told), (args, told)
                hidden += 1
    assert hidden


HELD = {"url": "/api/state", "facts": [{"path": "$.theme", "value": "Dark"}]}
LIST = "http://shop.test/list"
MISSES: list[tuple[str, dict[str, Any], Said, str]] = [
    ("state_accepted", HELD,
     ("request.finished", {"method": "PUT", "url": "http://shop.test/api/state", "status": 200,
                           "body": {"text": '{"theme": "Light"}', "mime": "application/json"}}),
     "facts is otherwise"),
    ("request_answered", {"url": {"any": [{"address": LIST}]}, "method": "POST"},
     ("request.finished", {"method": "GET", "url": LIST, "status": 200}), "method is “GET”, wanted “POST”"),
    ("dialog_answered", {"message": "Send?", "accepted": True},
     ("dialog.closed", {"type": "confirm", "message": "Send?", "accepted": False, "user": True}),
     "accepted is no, wanted yes"),
    ("file_text", {"path": "a", "text": "lamp"},
     ("file.read", {"root": "home", "path": "a", "as": "auto", "status": "read", "facts": {"text": "desk"}}),
     "text is otherwise, wanted “lamp”"),
    ("file_value", {"path": "a", "at": ["n"], "value": 3},
     ("file.read", {"root": "home", "path": "a", "as": "auto", "status": "read", "facts": {"value": {"n": 4}}}),
     "value is otherwise, wanted 3"),
    ("file_matches", {"name": "a", "sha256": "ab" * 32},
     ("file.created", {"root": "home", "path": "a", "name": "a", "size": 1, "sha256": None, "unread_reason": "busy"}),
     "the file has no sha256: busy; nobody can know"),
    ("file_matches", {"name": "b", "sha256": "ab" * 32},
     ("file.created", {"root": "home", "path": "a", "name": "a", "size": 1, "sha256": None, "unread_reason": "busy"}),
     "name is “a”, wanted “b”"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "said", "why"), MISSES)
def test_which_argument_an_event_failed(name: str, args: Any, said: Said, why: str) -> None:
    """Of rules that ask more of a matcher than whether it takes a text."""
    assert why in "\n".join(became(name, args, [said]))


@dataclass(frozen=True, slots=True)
class Args:
    name: TextMatch = arg("The file's name.")


@rule(component="file", hears=("file.created",), args=Args)
def sample_deeper(event: Event, world: World, args: Args) -> Iterator[Reading]:
    """A file was created whose name is one of the texts."""
    if str(event.data.get("name")) in args.name.texts:
        yield Reading(1.0, "deeper")


def test_a_rule_of_others_that_looks_deeper_is_explained_too() -> None:
    """It may ask anything of a matcher: which argument failed can't be told then, and nothing
    breaks."""
    plug_in = PlugIn(
        sample_deeper, [({"name": "a"}, [created("a")])], [({"name": "a"}, [created("b")])]
    )
    take([FoundPlugin("sample_deeper", "milestoned-sample", "1", lambda: plug_in)])
    try:
        assert "which does not count for sample_deeper" in "\n".join(
            became("sample_deeper", {"name": "a"}, [created("b")])
        )
    finally:
        take([])


@rule(component="file", hears=("file.created",), args=Args)
def sample_failing(event: Event, world: World, args: Args) -> Iterator[Reading]:
    """A file was created whose owner is one of the texts."""
    if args.name.matches(str(event.data["owner"])):
        yield Reading(1.0, "failing")


def test_a_milestone_whose_rule_failed_is_not_known() -> None:
    """As its step: it is not said that it did not pay."""
    owned = created("a", owner="a")
    plug_in = PlugIn(
        sample_failing, [({"name": "a"}, [owned])], [({"name": "a"}, [created("a", owner="b")])]
    )
    take([FoundPlugin("sample_failing", "milestoned-sample", "1", lambda: plug_in)])
    try:
        unknown, nearest = became("sample_failing", {"name": "a"}, [created("b")])
    finally:
        take([])
    failed = "event 3: sample_failing failed: KeyError"
    assert unknown == f"not known whether it came true: {failed} (step 0 is null)"
    assert "event 3 in step 0: sample_failing failed: KeyError; nobody can know" in nearest


def test_what_is_over_its_budget_is_explained_as_not_known() -> None:
    """A pattern that costs too much on a long text: it was an error of the explanation itself."""
    pattern = {"regex": "[^x]*.{0,400}y.{0,400}z"}
    when = {"field_filled": {"field": "Name", "value": pattern}}
    events = log(*episode([filled("Name", "ab" * 130_000)]))
    (explained,), _ = of_events(ruleset({"id": "x", "when": when}), events, "ep_1")
    why = "; ".join(explained.became)
    assert "a regular expression is over its budget; nobody can know" in why
    assert "whether it matches is not known" in why
