"""What ends a task is of its goal, also where no failure lacks it: a run that fills everything in
and sends nothing has not done it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from api.proposal.measuring import score_log
from api.proposal.mining import propose
from api.proposal.support import RecordedRun
from api.proposal.tested_task import ComparedRuns, propose_with_tests
from api.tasks.task_files import load_task_yaml
from detectors.task.ruleset import compile_task
from tests.support.logs import ORIGIN, Said, clicked, episode, filled, finished, log, went


def recording(name: str, *steps: Sequence[Said]) -> RecordedRun:
    return RecordedRun(name, log(*episode(*steps)))


def book(room: str) -> list[list[Said]]:
    """A booking over two pages, the second of which sends nothing to a server."""
    return [
        [filled("Room", room), clicked("Continue"), went(f"/details?room={room}")],
        [filled("Guest", "Ada Lovelace")],
        [clicked("Book now")],
    ]


def score(steps: list[list[Said]]) -> tuple[float | None, str]:
    """What a task that is proposed of one right run and a wrong one pays these steps."""
    good, bad = recording("good", *book("Garden")), recording("bad", *book("Attic"))
    runs = ComparedRuns([good], [bad], "Book the Garden room for Ada Lovelace.")
    text = propose_with_tests("t", ORIGIN, runs, ["good", "bad"]).text
    rules = compile_task(load_task_yaml(text, {}))
    return score_log(rules, recording("run", *steps)), text


def test_a_run_that_sends_nothing_has_not_reached_the_goal() -> None:
    paid, text = score(book("Garden")[:-1])
    assert paid is not None
    assert paid < 0.4, text
    assert score(book("Garden"))[0] == 1


def test_what_ends_a_task_counts_after_all_that_its_goal_asks() -> None:
    """Pressed before anything was filled in, and not again, it ends nothing."""
    first, second, press = book("Garden")
    paid, text = score([press, first, second])
    assert paid is not None
    assert paid < 0.4, text
    assert score([press, first, second, press])[0] == 1


def test_of_requests_with_one_field_the_last_is_asked_for() -> None:
    """A card goes from one column to the next: it is to stand in the last one."""

    def move(column: str) -> Said:
        body: dict[str, Any] = {"text": f'{{"column": "{column}"}}', "mime": "application/json"}
        return finished("POST", "/cards/12", 200, body=body)

    run = recording("good", [move("Doing")], [move("Done")])
    found = propose([run], [], ORIGIN)
    (asked,) = [one.candidate.when["request_accepted"] for one in found.milestones]
    assert asked == {"method": "POST", "url": "/cards/*", "body": {"column": "Done"}}
