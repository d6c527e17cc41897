"""Our goal is reached where WebArena-Verified's own evaluators pay 1, but for their known faults,
each shown here."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from detectors.engine.engine import Engine
from lab.benchmarks import verified
from lab.benchmarks.patterns import is_pattern
from lab.benchmarks.verified_forms import is_draft
from tests.importing.webarena.answers import variations
from tests.importing.webarena.hars import MARK, Case, cases
from tests.importing.webarena.samples import sample
from tests.importing.webarena.scoring import HOME, PYTHON, dataset, events, ours, rulesets, theirs
from tests.support.logs import Said, answered, episode, filled, finished, log, went

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason=f"no {HOME.name} here; `make {HOME.name}/ready` makes it"
)

DRAFTS = {528, 529, 530, 689, 690, 691, 692, 693}
"""Their patched site sends what stands in a form; a HAR of the real one does not show it."""


def differences(given: list[Case], folder: Path) -> list[tuple[int, str, bool, bool | None]]:
    """Where ours is not theirs: task, case, theirs, ours."""
    rules = rulesets()
    pairs = zip(given, theirs(given), strict=True)
    found = (
        (case, paid, ours(rules[case.task], events(case, folder)).success) for case, paid in pairs
    )
    return [(case.task, case.name, paid, own) for case, paid, own in found if own is not paid]


def markdown(config: dict[str, Any]) -> bool:
    """Whether a check compares Markdown that has a site's address in it."""
    return "markdown" in json.dumps(config.get("post_data_schema")) and "__" in json.dumps(
        config["expected"]
    )


def lone_list(config: dict[str, Any]) -> bool:
    """Whether a check wants a list of one value and has no schema for it."""
    wanted, schema = config["expected"].get("post_data") or {}, config.get("post_data_schema") or {}
    known = schema.get("properties") or {}
    return any(
        isinstance(one, list) and len(one) == 1 and name not in known
        for name, one in wanted.items()
    )


def alike(task: dict[str, Any]) -> bool:
    """Whether two checks each ask the last request to one place to be another."""
    asked = [
        config["expected"] for config in task["eval"][1:] if not config.get("should_not_exist")
    ]
    places = [(json.dumps(one["url"]), one.get("http_method")) for one in asked]
    return len(set(places)) < len(places)


def unwinnable(task: dict[str, Any]) -> bool:
    """Whether no answer is right by their own evaluators, through faults that `faults` shows."""
    lacks = "retrieved_data" not in task["eval"][0]["expected"]
    return (
        lacks
        or alike(task)
        or any(markdown(config) or lone_list(config) for config in task["eval"][1:])
    )


@pytest.mark.slow
def test_all_tasks_agree_over_hars_of_their_own_templates(tmp_path: Path) -> None:
    """812 tasks, right and wrong in one thing at a time, but for those whose draft no HAR shows."""
    told = [case for task in dataset() if task["task_id"] not in DRAFTS for case in cases(task)]
    wrong = differences(told, tmp_path)
    known = {task["task_id"] for task in dataset() if unwinnable(task)}
    assert [one for one in wrong if one[0] not in known] == []
    assert {
        name for _, name, _, _ in wrong if not name.startswith("right") and ": then " not in name
    } == set()


@pytest.mark.slow
def test_answers_agree(tmp_path: Path) -> None:
    """Every task that retrieves something: written otherwise, incomplete, too much, of another
    kind."""
    told = [case for task in dataset() if not unwinnable(task) for case in variations(task)]
    assert len(told) > 3316
    assert differences(told, tmp_path) == []


def by_id(number: int) -> dict[str, Any]:
    found: dict[str, Any] = next(task for task in dataset() if task["task_id"] == number)
    return found


def case_of(number: int, name: str = "right") -> Case:
    return next(case for case in cases(by_id(number)) if case.name == name)


def changed(case: Case, **post: Any) -> Case:
    """The case with its first request that has a body changed."""
    entries = copy.deepcopy(case.entries)
    target = next(entry for entry in entries if "postData" in entry["request"])
    target["request"]["postData"] |= post
    return case._replace(entries=entries)


def landed(case: Case, to: str, status: int) -> Case:
    """The case with what its redirect led to being another page."""
    entries = copy.deepcopy(case.entries)
    place = next(n for n, entry in enumerate(entries) if entry["response"]["status"] == 302)
    entries[place]["response"]["redirectURL"] = entries[place + 1]["request"]["url"] = to
    entries[place + 1]["response"]["status"] = status
    return case._replace(entries=entries)


def faults() -> dict[str, tuple[Case, bool, bool]]:
    """Their known faults: a case, what theirs says and what ours does."""
    lumaflex, biography, note = case_of(0), case_of(399), case_of(389)
    fields = {"user_biography[biography]": ["something else", "I am a robot"]}
    array = f"[{note.entries[1]['request']['postData']['text']}]"
    found = lumaflex.answer["retrieved_data"][0]

    def says(data: Any) -> Case:
        return lumaflex._replace(answer={**lumaflex.answer, "retrieved_data": data})

    site = "http://localhost:9999"
    return {
        "agent text as a pattern": (says(["^.*$"]), True, False),
        "a list of guesses as alternatives": (says([["Lamp", found]]), True, False),
        "letters that only look alike": (says([found.replace("e", "\u0435")]), True, False),
        "repeated fields dropped": (
            changed(biography, text=urlencode(fields, doseq=True)),
            False,
            True,
        ),
        "JSON-array bodies lost": (changed(note, text=array), False, True),
        "status alone as acceptance: an error page": (
            landed(biography, f"{site}/oops", 500),
            True,
            False,
        ),
        "status alone as acceptance: the login page": (
            landed(biography, f"{site}/login", 200),
            True,
            False,
        ),
        "addresses in Markdown never rendered": (case_of(564), False, True),
        "a list of one value without a schema is an error": (case_of(699), False, True),
        "two requests to one place, each asked to be the last": (case_of(567), False, True),
        "an answer with nothing retrieved lacks a key": (case_of(319), False, True),
    }


def test_known_faults_of_theirs(tmp_path: Path) -> None:
    """1, 6 and 10: each is shown by one case; docs/coverage.md lists them."""
    told = faults()
    rules = rulesets()
    said = dict(zip(told, theirs(case for case, _, _ in told.values()), strict=True))
    own = {
        name: ours(rules[case.task], events(case, tmp_path)).success
        for name, (case, _, _) in told.items()
    }
    assert {name: (said[name], own[name]) for name in told} == {
        name: (a, b) for name, (_, a, b) in told.items()
    }


def test_a_constant_pattern_is_paid_by_no_task(tmp_path: Path) -> None:
    """1: of 325 tasks that retrieve something theirs pays 45 for it."""
    for number, rules in rulesets().items():
        for text in ("^.*$", ".*"):
            said = json.dumps({"task_type": text, "status": text, "retrieved_data": [text]})
            engine = Engine(rules, "ep")
            engine.feed(log(*episode([answered(said)])))
            assert (engine.total or 0.0, engine.success is True) == (0.0, False), number


def test_2_and_3_credit_for_nothing_and_for_claims() -> None:
    """Doing nothing pays nothing; of what is to be done on the network no answer pays."""
    tasks = {task["task_id"]: task for task in dataset()}
    for number, rules in rulesets().items():
        said, *network = tasks[number]["eval"]
        nothing, claim = Engine(rules, "ep"), Engine(rules, "ep")
        nothing.feed(log(*episode([], [])))
        assert (nothing.total, nothing.success) == (0.0, False), number
        if network and any(not config.get("should_not_exist") for config in network):
            claim.feed(log(*episode([answered(json.dumps(case_answer(said)))])))
            assert (claim.total, claim.success) == (0.0, False), number


def case_answer(said: dict[str, Any]) -> dict[str, Any]:
    return {**said["expected"], "retrieved_data": None}


@pytest.mark.parametrize("number", sorted(DRAFTS))
def test_drafts_are_told_by_the_form(number: int) -> None:
    """The 8 checks that need their patched site: the form filled and not sent; sent, it is no draft
    any more."""
    task, rules = by_id(number), rulesets()[number]
    post = next(config for config in task["eval"][1:] if is_draft(config))["expected"]["post_data"]
    said = answered(
        json.dumps({"task_type": "mutate", "status": "SUCCESS", "retrieved_data": None})
    )
    open_ = went("http://localhost:7770/contact")
    right = [open_, *(fill(name, value) for name, value in post.items() if name != "form_id")]
    wrong = [open_, *(fill(name, MARK) for name in post)]
    sent = finished("POST", "http://localhost:7770/contact/index/post", 302)
    sent[1]["url"] = "http://localhost:7770/contact/index/post"
    for steps, paid in (
        ([*right, said], True),
        ([*wrong, said], False),
        ([*right, sent, said], False),
        (right, False),
    ):
        engine = Engine(rules, "ep")
        engine.feed(log(*episode(steps)))
        assert engine.success is paid, steps


def fill(name: str, value: str) -> Said:
    """The agent types into a field."""
    return filled(name, sample(value) if is_pattern(value) else value)


def test_the_table_of_coverage() -> None:
    """All tasks, all network checks, all schemas."""
    assert verified.coverage(HOME).rows[-1][1:7] == [812, 663, 8, 8, 9, 298]
    assert len({json.dumps(task["eval"][0]["results_schema"]) for task in dataset()}) == 43
