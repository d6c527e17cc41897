"""Proposals at large: tasks that are proposed of drawn recordings pay no adversary that is derived
from one of their successes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from hypothesis import given, settings
from hypothesis import strategies as st

from api.attack.attack import attack, make_oracle
from api.attack.report import fallen, finding
from api.proposal.support import RecordedRun
from api.proposal.tested_task import ComparedRuns, propose_with_tests
from api.tasks.task_files import load_task_yaml
from detectors.task.ruleset import compile_task
from tests.support.examples import examples
from tests.support.logs import (
    ORIGIN,
    Said,
    clicked,
    created,
    episode,
    filled,
    finished,
    loaded,
    log,
    went,
)

PAGES = ("/lamps", "/lamps/desk", "/order", "/account")
FIELDS = {"Name": "Ada Lovelace", "City": "Bergen", "Amount": "twelve"}
DEEDS = ("Order", "Save", "Accept terms")
INSTRUCTION = f"Do it for {', '.join(FIELDS.values())}."


class Drawn(NamedTuple):
    """What a success of a drawn site does: pages and fields, the button, and what comes of it."""

    pages: Sequence[str]
    fields: Sequence[str]
    button: str
    effect: str


def deeds_of(drawn: Drawn, number: int, wrong: str) -> list[list[Said]]:
    """The steps of a run; ``wrong``: what a failure does otherwise."""
    steps: list[list[Said]] = [[*went_to(page)] for page in drawn.pages]
    values = {name: FIELDS[name] for name in drawn.fields}
    if wrong == "value" and values:
        values[drawn.fields[0]] = "nobody"
    steps += [[filled(name, value)] for name, value in values.items()]
    if wrong == "stops":
        return steps or [[]]
    button = "Cancel" if wrong == "button" else drawn.button
    steps.append([clicked(button)])
    if wrong == "button":
        return steps
    if drawn.effect in ("request", "file"):
        body = {"text": urlencode(values), "mime": "application/x-www-form-urlencoded"}
        steps[-1].append(finished("POST", f"/orders/{number}", 201, body=body))
    if drawn.effect == "file":
        steps[-1].append(created(f"order-{number}.csv"))
    if drawn.effect == "page":
        steps[-1].extend(went_to("/thanks"))
    return steps


def went_to(page: str) -> list[Said]:
    return [went(page), loaded(page)]


DRAWN = st.builds(
    Drawn,
    pages=st.lists(st.sampled_from(PAGES), min_size=1, max_size=3, unique=True),
    fields=st.lists(st.sampled_from(sorted(FIELDS)), max_size=3, unique=True),
    button=st.sampled_from(DEEDS),
    effect=st.sampled_from(("none", "request", "file", "page")),
)
WRONG = st.lists(st.sampled_from(("stops", "value", "button")), min_size=1, max_size=3)


@given(drawn=DRAWN, successes=st.integers(2, 3), wrong=WRONG)
@settings(max_examples=examples(60), deadline=None, derandomize=True)
def test_what_is_proposed_pays_no_adversary(
    drawn: Drawn, successes: int, wrong: Sequence[str]
) -> None:
    good = [run(f"good-{n}", deeds_of(drawn, n, "")) for n in range(1, successes + 1)]
    bad = [run(f"bad-{n}", deeds_of(drawn, 9 + n, how)) for n, how in enumerate(wrong)]
    names = [one.name for one in (*good, *bad)]
    proposed = propose_with_tests("drawn", ORIGIN, ComparedRuns(good, bad, INSTRUCTION), names)
    if not proposed.proposal.is_decided:
        return  # its note says that it cannot tell failures apart
    rules = compile_task(load_task_yaml(proposed.text, {}))
    others = [one.events for one in bad]
    results = [*attack(make_oracle(rules, good[0].events), others)]
    assert [finding(one) for one in fallen(results)] == [], proposed.text


def run(name: str, steps: Sequence[Sequence[Said]]) -> RecordedRun:
    return RecordedRun(name, log(*episode(*steps, before=[went("/")])))
