"""ATIF trajectories: what becomes an event, what is an answer, what is not known, and that an export
reads back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from api.replay.recordings import replay
from api.tasks.task_files import check_task
from detectors.model.kinds import SOURCES
from detectors.task.ruleset import compile_task
from tests.convert.hand_made import A_TRAJECTORY, Json, called, came_back, trajectory, turn, write
from tests.convert.making import converted, gaps, of

CALL = called("c1", "search", query="lamp")


def events_of(document: Json, folder: Path) -> list[Any]:
    return converted(write(folder / "trajectory.json", document), folder)


def test_steps_of_the_agent_are_steps_with_their_calls(tmp_path: Path) -> None:
    events = events_of(A_TRAJECTORY, tmp_path)
    told = [event for event in events if event.source == "steps"]
    assert [event.kind for event in told if event.kind != "step.sealed"] == [
        "step.began",
        "agent.tool_called",
        "agent.tool_called",
        "agent.tool_returned",
        "agent.tool_returned",
        "step.ended",
        "step.began",
        "agent.tool_called",
        "agent.tool_returned",
        "step.ended",
        "step.began",
        "agent.answered",
        "step.ended",
    ]
    first, second, third = of(events, "step.began")
    assert first["action"]["message"] == "I look it up."
    assert [one["tool"] for one in first["action"]["tool_calls"]] == ["login", "multiply"]
    assert (second["action"]["message"], third["action"]) == ("", "It is 42.")
    assert of(events, "agent.tool_called")[1] == {
        "call": "c2",
        "tool": "multiply",
        "arguments": {"a": 6, "b": 7},
    }
    assert of(events, "agent.tool_returned")[1:] == [
        {"call": "c2", "ok": True, "result": "42"},
        {"call": "c3", "ok": False, "error": "no such tool"},
    ]
    assert of(events, "agent.answered") == [{"text": "It is 42."}]


def test_times_are_those_of_the_file_from_its_first(tmp_path: Path) -> None:
    began = [event.at for event in events_of(A_TRAJECTORY, tmp_path) if event.kind == "step.began"]
    assert began == [0, 1_000_000_000, 2_000_000_000]
    untimed = trajectory(*({**turn(n, "on"), "timestamp": None} for n in (1, 2)))
    began = [event.at for event in events_of(untimed, tmp_path) if event.kind == "step.began"]
    assert began == [0, 1_000_000]


ANSWERS: list[tuple[str, Json, list[str]]] = [
    ("the last message", trajectory(turn(1, "I think."), turn(2, "42")), ["42"]),
    ("no message", trajectory(turn(1, "I think."), turn(2, "")), []),
    ("a call beside it", trajectory(turn(1, "I search.", tool_calls=[CALL])), []),
    ("continued elsewhere", trajectory(turn(1, "42"), continued_trajectory_ref="next.json"), []),
    (
        "the user has the last word",
        trajectory(turn(1, "42"), {"step_id": 2, "source": "user", "message": "Thanks."}),
        ["42"],
    ),
    (
        "parts",
        trajectory(
            turn(1, [  # type: ignore[arg-type]
                {"type": "text", "text": "See"},
                {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
            ])
        ),
        ["See\n[image a.png]"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("document", "answers"), [row[1:] for row in ANSWERS], ids=[row[0] for row in ANSWERS]
)
def test_what_the_agent_said_last_is_its_answer(
    document: Json, answers: list[str], tmp_path: Path
) -> None:
    events = events_of(document, tmp_path)
    assert [data["text"] for data in of(events, "agent.answered")] == answers


def test_a_trajectory_that_goes_on_elsewhere_is_cut_off(tmp_path: Path) -> None:
    whole, cut = trajectory(turn(1)), trajectory(turn(1), continued_trajectory_ref="next.json")
    closed = [of(events_of(one, tmp_path), "episode.closed")[0] for one in (whole, cut)]
    assert [one.get("truncated") for one in closed] == [None, True]


def test_steps_that_were_copied_from_another_trajectory_are_none(tmp_path: Path) -> None:
    copied = turn(1, "before", tool_calls=[CALL], is_copied_context=True)
    events = events_of(trajectory(copied, turn(2, "now")), tmp_path)
    assert [data["action"] for data in of(events, "step.began")] == ["now"]
    assert of(events, "agent.tool_called") == []


UNKNOWN: list[tuple[str, list[Json], bool]] = [
    ("said to be fine", [came_back("c1", "found", is_error=False)], False),
    ("said to be an error", [came_back("c1", "none", tool_result_is_error=True)], False),
    ("not said", [came_back("c1", "found")], True),
    ("something else is said", [came_back("c1", "found", score=1)], True),
    ("no result", [], True),
]


@pytest.mark.parametrize(
    ("results", "unknown"), [row[1:] for row in UNKNOWN], ids=[row[0] for row in UNKNOWN]
)
def test_whether_a_call_succeeded_is_a_gap_where_nothing_says_it(
    results: list[Json], unknown: bool, tmp_path: Path
) -> None:
    step = turn(1, tool_calls=[CALL], observation={"results": results})
    events = events_of(trajectory(step), tmp_path)
    assert ("agent.tool_returned" in gaps(events)) == unknown
    assert len(of(events, "agent.tool_returned")) == (not unknown)


def test_pages_files_and_windows_are_not_shown(tmp_path: Path) -> None:
    assert gaps(events_of(A_TRAJECTORY, tmp_path)) == set(SOURCES) - {"journal", "steps"}


def test_rules_about_pages_are_null_and_rules_about_calls_and_answers_pay(tmp_path: Path) -> None:
    events_of(A_TRAJECTORY, tmp_path)

    def rewards(*whens: Json) -> list[float | None]:
        milestones = [{"id": f"m{n}", "when": when} for n, when in enumerate(whens)]
        task = {"id": "t", "version": "1", "instruction": "?", "origin": "http://shop.example"}
        weights = {"ui": 1.0, "tool": 1.0, "answer": 1.0}
        ruleset = compile_task(check_task({**task, "weights": weights, "milestones": milestones}))
        return [reward.reward for reward in replay(tmp_path / "made.mrec", ruleset)[1]]

    page, called, answered = (
        {"url_reached": {"url": "/"}},
        {"tool_called": {"tool": "multiply"}},
        {"answer_matches": {"text": {"contains": "42"}}},
    )
    paid = rewards(called, answered)
    assert paid[1] == 0.0
    assert [reward is not None and reward > 0 for reward in paid] == [True, False, True]
    assert set(rewards(page)) == {None}
    assert set(rewards(page, called)) == {None}
    silent = trajectory(turn(1, tool_calls=[CALL]), turn(2))
    events_of(silent, tmp_path)
    assert rewards({"tool_returned": {"tool": "search"}}) == [None, None]
    assert rewards({"tool_called": {"tool": "fly"}}) == [0.0, 0.0]
