"""WebArena-Verified's kind of tasks, on one of our own: what its import says, and what no trick is
paid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from detectors.engine.engine import Engine
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import verified
from lab.benchmarks.base import BadSourceError
from lab.benchmarks.patterns import rewrite_pattern
from tests.convert.hand_made import A_HAR, write
from tests.convert.making import converted, of
from tests.support.logs import Said, answered, episode, finished, log

SITE = "http://forum.test"
CHECK = {
    "evaluator": "NetworkEventEvaluator",
    "ignored_query_params_patterns": ["^utm"],
    "expected": {
        "url": "^__REDDIT__/f/books/\\d+/-/comment$", "http_method": "POST", "response_status": 302,
        "post_data": {"text": "^good (?:book|read)!?$", "draft": None},
    },
}  # fmt: skip
ANSWER = {
    "evaluator": "AgentResponseEvaluator",
    "results_schema": {"type": "null"},
    "expected": {"task_type": "mutate", "status": "SUCCESS", "retrieved_data": None},
}
TASK = {
    "task_id": 7,
    "sites": ["reddit"],
    "intent": "Comment.",
    "revision": 2,
    "eval": [ANSWER, CHECK],
}
BODY = {"text": "text=Good+Book&token=1", "mime": "application/x-www-form-urlencoded"}
DONE = answered(json.dumps({"task_type": "mutate", "status": "SUCCESS"}))


def rules(tmp_path: Path, task: dict[str, Any] = TASK) -> Ruleset:
    path = tmp_path / verified.NAME
    path.write_bytes(orjson.dumps([task]))
    spec = next(verified.tasks(path, {"reddit": SITE})).spec
    assert spec is not None
    return compile_task(task_from_json(spec))


def sent(status: int = 302, landed: int = 200, to: str = "/f/books/9", **more: Any) -> Said:
    """The comment is posted, and what its redirect led to answers."""
    hop = {
        "method": "POST",
        "url": f"{SITE}/f/books/9/-/comment?utm_x=1",
        "status": status,
        "location": to,
        "body": BODY,
    }
    return finished("GET", to, landed, url=SITE + to, hops=[{**hop, **more}])


def scored(own: Ruleset, *said: Said) -> tuple[float | None, bool | None]:
    engine = Engine(own, "ep")
    engine.feed(log(*episode(list(said))))
    return engine.total, engine.success


def test_done_and_said_is_the_goal_and_steps_pay_on_the_way(tmp_path: Path) -> None:
    own = rules(tmp_path)
    assert [m.id for m in own.task.milestones] == ["check-1-there", "check-1", "answer", "goal"]
    assert scored(own, sent(), DONE) == (own.attainable, True) == (1.0, True)
    total, success = scored(own, sent(body={**BODY, "text": "text=bad"}), DONE)
    assert total is not None
    assert (0 < total < 0.2, success) == (True, False)
    assert scored(own, sent())[1] is False


PAGE = {"evaluator": "NetworkEventEvaluator", "expected": {"url": "__REDDIT__/f/books/new"}}
OPENED, HOME = (finished("GET", "", 200, url=SITE + path) for path in ("/f/books/new", "/"))
READ = answered(json.dumps({"task_type": "navigate", "status": "SUCCESS"}))


@pytest.mark.parametrize(
    ("before", "steps", "paid", "success"),
    [
        ([HOME], [OPENED, READ], 1.0, True),
        ([OPENED], [READ], 0.0, False),
        ([OPENED], [HOME, READ], 0.0, False),
        ([OPENED], [HOME, OPENED, READ], 1.0, True),
        ([OPENED], [OPENED, READ], 1.0, True),
    ],
    ids=["reached", "open at the start", "left", "left and reached again", "loaded again"],
)
def test_a_page_that_is_open_at_the_start_is_not_reached(
    tmp_path: Path, before: list[Said], steps: list[Said], paid: float, success: bool
) -> None:
    expected = {**ANSWER["expected"], "task_type": "navigate"}
    own = rules(tmp_path, {**TASK, "eval": [{**ANSWER, "expected": expected}, PAGE]})
    engine = Engine(own, "ep")
    engine.feed(log(*episode(steps, before=before)))
    assert (engine.total, engine.success) == (paid, success)


@pytest.mark.parametrize(
    "said",
    [
        [], [DONE], [answered("^.*$")], [answered("SUCCESS")],
        [sent(status=500), DONE], [sent(landed=500), DONE], [sent(to="/login"), DONE], [DONE, sent()],
        [sent(url=f"{SITE}.evil/f/books/9/-/comment"), DONE],
        [sent(body={**BODY, "text": BODY["text"] + "&draft=1"}), DONE], [sent(method="GET"), DONE],
    ],
)  # fmt: skip
def test_1_2_3_6_10_tricks_reach_no_goal(tmp_path: Path, said: list[Said]) -> None:
    """Patterns, nothing, claims, refusals, an answer before the deed, look-alike hosts, further
    contents."""
    total, success = scored(rules(tmp_path), *said)
    assert (success, total is not None and total <= 0.4) == (False, True)


def test_of_a_body_that_is_cut_nobody_knows(tmp_path: Path) -> None:
    assert scored(rules(tmp_path), sent(body={**BODY, "cut": True}), DONE) == (None, None)


def test_the_last_request_to_a_place_counts_unless_several_are_asked_for_there(
    tmp_path: Path,
) -> None:
    """Two that are each asked to be the last could not both be there."""
    other = {**CHECK, "expected": {**CHECK["expected"], "post_data": {"text": "thanks"}}}
    thanks = sent(body={**BODY, "text": "text=thanks"})
    for last in (thanks, sent(status=500)):
        assert scored(rules(tmp_path), sent(), last, DONE)[1] is False
    assert scored(rules(tmp_path), thanks, sent(), DONE)[1] is True
    both = rules(tmp_path, {**TASK, "eval": [ANSWER, CHECK, other]})
    assert scored(both, sent(), thanks, DONE)[1] is True
    assert scored(both, thanks, sent(), DONE)[1] is True
    assert scored(both, sent(), sent(), DONE)[1] is False


def test_a_later_request_from_another_page_is_anothers(tmp_path: Path) -> None:
    """Neither is one that the browser answered by itself the last one that the server took."""
    expected = {**CHECK["expected"], "headers": {"referer": "__REDDIT__/f/books"}}
    own = rules(tmp_path, {**TASK, "eval": [ANSWER, {**CHECK, "expected": expected}]})
    bad = {**BODY, "text": "text=bad"}
    right = sent(headers={"referer": f"{SITE}/f/books"})
    for later, reached in (
        (sent(body=bad, headers={"referer": f"{SITE}/f/films"}), True),
        (sent(body=bad, cached=True), True),
        (sent(body=bad), False),
        (sent(body=bad, headers={"referer": f"{SITE}/f/books"}), False),
    ):
        assert scored(own, right, later, DONE)[1] is reached, later


def test_files_that_are_no_tasks_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for path in (tmp_path / "x.json", tmp_path):
        with pytest.raises(BadSourceError, match="wanted"):
            list(verified.tasks(path, {}))


def test_a_conversion_takes_the_answer_and_tells_named_cookies(tmp_path: Path) -> None:
    """What a HAR lacks, and what is masked in it unless the operator says that it is no secret."""
    (tmp_path / "answer.json").write_text('{"status": "SUCCESS"}')
    source = write(tmp_path / "a.har", A_HAR)
    told = converted(source, tmp_path, answer=tmp_path / "answer.json", cookies=("sid",))
    assert of(told, "agent.answered") == [{"text": '{"status": "SUCCESS"}'}]
    assert "sid=***" in str(converted(source, tmp_path)[-5:] + converted(source, tmp_path))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("^(?!price$).+$", {"all": [".+"], "none": ["price"]}),
        ("^(?!q$|dir_(?:a|b)).*$", {"all": [".*"], "none": ["q", "dir_(?:a|b).*"]}),
        ("^.*(?=.*white)(?=.*desk).* added.*$", {"all": [".*white.*", ".*desk.*", ".*.* added.*"]}),
        ("^.*(?!delete$).*$", ".*"),
        ("^\\d+$", "\\d+"),
    ],
)
def test_patterns_that_look_around(pattern: str, expected: Any) -> None:
    """RE2 has no look-around: the forms that their tasks use are said without."""
    assert rewrite_pattern(pattern) == expected
