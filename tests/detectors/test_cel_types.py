"""CEL that compares a number with a text: refused where the kind says which it is, and an alarm
where only the event does. It was silently 0 for ever."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.engine.engine import Engine
from detectors.model.errors import SpecError
from detectors.model.types import Alarm
from detectors.sdk.arguments import parse_args
from detectors.sdk.registry import rules
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import TaskError, task_from_json
from tests.detectors.tables_probes import PROBES, probed
from tests.support.logs import Said, episode, finished, log, worth

ORIGIN = "http://shop.test"
FINISHED, DOWNLOAD, CLICK = "request.finished", "download.finished", "element.clicked"
ANSWER = "probe.answered"


@pytest.mark.parametrize(
    ("kind", "expression", "expected"),
    [
        (FINISHED, 'data.status == "200"', "expected a number to compare it with, got a text"),
        (FINISHED, '"200" == data.status', "expected a text to compare it with, got a number"),
        (FINISHED, 'data.status != "200"', "expected a number to compare it with, got a text"),
        (FINISHED, "data.status >= '200'", "expected a number to compare it with, got a text"),
        (FINISHED, '(data.status) == ("200")', "expected a number to compare it with, got a text"),
        (FINISHED, 'data["status"] == "200"', "expected a number to compare it with, got a text"),
        (FINISHED, 'data.status in ["200", "201"]', "expected a number to compare it with"),
        (FINISHED, "data.status == true", "expected a number to compare it with, got true or fal"),
        (FINISHED, "data.cached == 1", "expected true or false to compare it with, got a number"),
        (FINISHED, "data.method == 5", "expected a text to compare it with, got a number"),
        (FINISHED, "data.headers['x-total'] > 42", "expected a text to compare it with"),
        (FINISHED, "data.hops[0].status == '302'", "expected a number to compare it with"),
        (FINISHED, 'size(data.body.files) == "2"', "expected a number to compare it with"),
        (FINISHED, 'data.body.files.exists(f, f.size > "5")', "f.size is a number; expected"),
        (FINISHED, "data.method == 'GET' || data.status == '200'", "data.status is a number"),
        (FINISHED, "!(data.status == '200')", "data.status is a number"),
        (FINISHED, "data.status == data.method", "data.status is a number"),
        (FINISHED, "-1 == data.method", "-1 is a number"),
        (FINISHED, "url > 5", "url is a text"),
        (FINISHED, "data.status.startsWith('2')", "expected a text, data.status is a number"),
        (FINISHED, "data.status.contains('2')", "expected a text, data.status is a number"),
        (FINISHED, "data.status", "expected an expression that is true or false, got a number"),
        (FINISHED, "string(data.status)", "expected an expression that is true or false, got a te"),
        (DOWNLOAD, 'data.size > "5"', "expected a number to compare it with, got a text"),
        (CLICK, "data.point[0] == '3'", "expected a number to compare it with, got a text"),
    ],
)
def test_what_can_never_be_alike_is_refused(kind: str, expression: str, expected: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_args(rules()["cel"].args, {"kind": kind, "expression": expression}, ("c",), ORIGIN)
    assert caught.value.path == ("c", "expression")
    assert expected in caught.value.wanted


def test_the_key_of_an_occurrence_is_checked_too_but_need_not_be_true_or_false() -> None:
    args = {"kind": FINISHED, "expression": "true", "distinct": "string(data.status)"}
    assert parse_args(rules()["cel"].args, args, (), ORIGIN).distinct == "string(data.status)"
    wrong = args | {"distinct": "data.status == '200' ? 'a' : 'b'"}
    with pytest.raises(SpecError, match="distinct: got"):
        parse_args(rules()["cel"].args, wrong, (), ORIGIN)


@pytest.mark.parametrize(
    ("expression", "worth_of_it"),
    [
        ("data.status == 200", 1.0),
        ("data.status == 200.0", 1.0),
        ("data.status < 200.5", 1.0),
        ('string(data.status) == "200"', 1.0),
        ('data.method == "POST" && data.status in [200, 201]', 1.0),
        ('data.method in ["POST", "PUT"]', 1.0),
        ('"/orders" in [url, "/orders"]', 1.0),
        ("data.cached == null || data.cached == false", 0.0),
        ("has(data.status) ? data.status == 200 : false", 1.0),
        ("[200].exists(status, status == data.status)", 1.0),
        ("['200'].exists(url, url == '200')", 1.0),
        ("data.status + 1 == 201", 1.0),
        ("data.url.size() > 3 && size(data.url) < 300", 1.0),
        ("data.url.startsWith('http') == true", 1.0),
        ("data.status == 404", 0.0),
    ],
)
def test_what_can_be_alike_is_taken(expression: str, worth_of_it: float) -> None:
    said = finished("POST", "/orders", 200)
    reward, alarms = run_with_alarms(one_rule(FINISHED, expression), said)
    assert (reward, alarms) == (worth_of_it, [])


ALARM = Alarm(3, "cel", "comparison", "TypeError")
GIVEN: list[tuple[str, Any, float, bool]] = [
    ("data.value.n == 5", 5, 1.0, False),
    ("data.value.n == 5", 5.0, 1.0, False),
    ("data.value.n == 5", 6, 0.0, False),
    ("data.value.n == 5", "5", 0.0, True),
    ("data.value.n > 4", "5", 0.0, True),
    ("data.value.n > 4", True, 0.0, True),
    ("data.value.n > 4", None, 0.0, False),
    ("data.value.m > 4", 5, 0.0, False),
    ("int(data.value.n) > 4", "5", 1.0, False),
    ("data.value.n == 5 || data.value.n == '5'", "5", 1.0, False),
    ("data.when == 'step' && data.value.n > 4", "5", 0.0, True),
    ("data.when == 'start' && data.value.n > 4", "5", 0.0, False),
    ("data.value.n != 5", "5", 1.0, True),
    ("data.value.n in [4, 5]", "5", 0.0, True),
    ("data.value.n.startsWith('5')", 5, 0.0, True),
    ("data.value.n.startsWith('5')", "51", 1.0, False),
    ("data.value.n.exists(i, i.q > 4)", [{"q": 5}], 1.0, False),
    ("data.value.n.exists(i, i.q > 4)", [{"q": "5"}], 0.0, True),
    ("data.value.n[0] == 5", ["5"], 0.0, True),
    ("data.value['n'] == 5", "5", 0.0, True),
    ("5 in data.value.n", ["5"], 0.0, True),
]


@pytest.mark.parametrize(("expression", "n", "worth_of_it", "is_told"), GIVEN)
def test_what_the_event_alone_tells_is_an_alarm(
    expression: str, n: Any, worth_of_it: float, is_told: bool
) -> None:
    """It does not match, as whatever a matcher fails on: who is scored could else make steps
    null."""
    reward, alarms = run_with_alarms(one_rule(ANSWER, expression), probed({"n": n}))
    assert reward == worth_of_it
    assert alarms == ([ALARM] if is_told else [])


def test_a_task_that_was_registered_before_goes_on() -> None:
    """A newer build refuses it for its author, and does not stop the service that has it."""
    task = a_task(FINISHED, 'data.status == "200"')
    with pytest.raises(TaskError, match="expression"):
        task_from_json(task)
    assert task_from_json(task, stored=True).id == "t"
    task = a_task(FINISHED, "true")
    task["milestones"][0]["when"] = {"observed": {"kind": FINISHED, "where": {"status": "200"}}}
    with pytest.raises(TaskError, match="where"):
        task_from_json(task)
    assert task_from_json(task, stored=True).id == "t"


def a_task(kind: str, expression: str) -> dict[str, Any]:
    when = {"cel": {"kind": kind, "expression": expression, "anywhere": True}}
    return {
        "id": "t",
        "version": "1",
        "instruction": "Do it.",
        "origin": ORIGIN,
        "weights": {"goal": 1},
        "probes": PROBES,
        "milestones": [{"id": "m", "component": "goal", "when": when}],
    }


def one_rule(kind: str, expression: str) -> Ruleset:
    return compile_task(task_from_json(a_task(kind, expression)))


def run_with_alarms(rules_: Ruleset, *said: Said) -> tuple[float | None, list[Alarm]]:
    outcome = Engine(rules_, "ep_1").feed(log(*episode(list(said))))
    return worth(outcome.rewards)[0], outcome.alarms
