"""Tasks that name kinds and fields of an older wire version: what was registered goes on, what is new is
told the new name."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.task.ruleset import compile_task
from detectors.task.task_json import TaskError, task_from_json, task_to_json
from tests.support.logs import episode, finished, ruleset, run, titled, went, worth

Condition = dict[str, Any]


def task(when: Condition) -> dict[str, Any]:
    milestones = [{"id": "a", "component": "nav", "when": when}]
    return {"id": "t", "version": "1", "instruction": "Do it.", "milestones": milestones}


def observed(kind: str, **args: Any) -> Condition:
    return {"observed": {"kind": kind, **args}}


def cel(kind: str, expression: str, **args: Any) -> Condition:
    return {"cel": {"kind": kind, "expression": expression, **args}}


CONVERTED: dict[str, tuple[Condition, Condition]] = {
    "a kind": (observed("page.titled"), observed("page.title_changed")),
    "a fact, and what tells occurrences apart": (
        observed("clipboard.changed", where={"unread": "secret", "app": "x"}, distinct="unread"),
        observed("clipboard.changed", where={"unread_reason": "secret", "app": "x"}, distinct="unread_reason"),
    ),
    "a path": (
        observed("request.finished", where={"hops.0.answer.headers.location": "/a", "answer.body.text": "x"}),
        observed("request.finished", where={"hops.0.response.headers.location": "/a", "response.body.text": "x"}),
    ),
    "within a composite": (
        {"all_of": {"of": [observed("file.permitted"), {"none_of": {"of": [observed("window.titled")]}}]}},
        {"all_of": {"of": [observed("file.mode_changed"), {"none_of": {"of": [observed("window.title_changed")]}}]}},
    ),
    "an expression": (
        cel("page.navigated", 'has(data.how) && data.how == "how" && data["how"] != "back"'),
        cel("page.navigated", 'has(data.navigation_type) && data.navigation_type == "how" && data["navigation_type"] != "back"'),
    ),
    "an expression over redirects": (
        cel("request.finished", "data.hops.exists(h, h.answered_by == 'disk') && !has(data.left)", distinct="data.url"),
        cel("request.finished", "data.hops.exists(h, h.served_from == 'disk') && !has(data.document_gone)", distinct="data.url"),
    ),
    "a kind in an expression": (
        cel("page.titled", 'kind == "page.titled" && data.title == "answer"'),
        cel("page.title_changed", 'kind == "page.title_changed" && data.title == "answer"'),
    ),
    "what has the newer names": (observed("element.toggled", where={"open": True}),) * 2,
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), CONVERTED.values(), ids=CONVERTED)
def test_a_stored_task_is_read_by_the_new_names(old: Condition, new: Condition) -> None:
    """Also what this build itself stored: that does not change."""
    stored = task_from_json(task(old), stored=True)
    assert stored == task_from_json(task(new))
    assert task_from_json(task_to_json(stored), stored=True) == stored
    assert compile_task(stored).digest == compile_task(task_from_json(task(new))).digest


REFUSED: dict[str, tuple[Condition, str]] = {
    "a kind": (observed("page.titled"), "since wire version 2 it is called page.title_changed"),
    "a fact": (observed("element.toggled", where={"on": True}), "since wire version 2 it is called open"),
    "a fact of a hop": (
        observed("request.finished", where={"hops.0.answered_by": "disk"}),
        "since wire version 2 it is called served_from",
    ),
    "an expression": (cel("page.navigated", "data.how == 'back'"), "since wire version 2 it is called navigation_type"),
    "a kind of an expression": (cel("edge.computed", "true"), "since wire version 2 it is called reward.estimated"),
}  # fmt: skip


@pytest.mark.parametrize(("when", "said"), REFUSED.values(), ids=REFUSED)
def test_a_new_task_with_an_old_name_is_told_the_new_one(when: Condition, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        task_from_json(task(when))


def test_a_name_that_never_was_is_told_no_other() -> None:
    with pytest.raises(TaskError) as refused:
        task_from_json(task(observed("page.tilted")))
    assert "since wire version" not in str(refused.value)


def test_a_plan_names_kinds_for_daemons_of_every_version() -> None:
    """One of version 1 reports a kind that nobody names unasked under its own name for it."""
    heard = ruleset({"id": "a", "component": "nav", "when": observed("page.network_idle")})
    assert heard.plan("E")["hears"] == ["page.idled", "page.network_idle"]


def test_the_stored_task_pays_as_the_new_one() -> None:
    """A response that no server made, and a title."""
    steps = episode([went("/"), titled("Done"), finished("GET", "/a", 200, served_from="disk")])
    for old, new in (CONVERTED["a kind"], CONVERTED["a kind in an expression"]):
        rules = [compile_task(task_from_json(task(one), stored=True)) for one in (old, new)]
        assert worth(run(rules[0], *steps)) == worth(run(rules[1], *steps))
    assert worth(
        run(compile_task(task_from_json(task(CONVERTED["a kind"][0]), stored=True)), *steps)
    ) != [0.0]
