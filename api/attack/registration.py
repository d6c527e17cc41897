"""A service that takes only tasks which hold against the adversaries of their own oracles."""

from __future__ import annotations

from collections.abc import Mapping

from api.attack.attack import NoOracleError, attack, make_oracle
from api.attack.report import fallen, finding
from api.replay.task_tests import BadTestError, read_of
from detectors.model.types import Json
from detectors.task.ruleset import Ruleset

MAX_EVENTS = 5_000
"""Events of an oracle: some sixty logs as long as it are scored while the author waits."""


def require_attack(rules: Ruleset, tests: Json) -> None:
    """Attack a task with each oracle of its ``tests``, whose recordings stand in them.

    Raises `BadTestError` for a task without one, for an oracle that does not solve it, and for the
    first adversary that is paid more than it may be.
    """
    listed = tests if isinstance(tests, list) else []
    named = [n for n, test in enumerate(listed) if isinstance(test, Mapping) and "oracle" in test]
    if not named:
        raise BadTestError("tests", tests, "an oracle test: this service attacks each task")
    for n in named:
        _attack(rules, listed[n]["oracle"], f"tests[{n}].oracle")


def _attack(rules: Ruleset, recording: Json, where: str) -> None:
    """Attack a task by one of its recordings. Raises `BadTestError` for an attack that is paid, and
    for a recording that can't be attacked."""
    events = read_of(recording, None, where).events
    if len(events) > MAX_EVENTS:
        raise BadTestError(where, f"{len(events)} events", f"at most {MAX_EVENTS}")
    try:
        oracle = make_oracle(rules, events)
    except NoOracleError as error:
        raise BadTestError(where, "…", f"a recording that solves the task: {error}") from None
    for result in attack(oracle):
        if fallen([result]):
            raise BadTestError(where, finding(result), "an attack that nothing is paid by")
