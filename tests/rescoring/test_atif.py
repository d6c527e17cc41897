"""`milestoned export --form atif`: trajectories with rewards in `extra`, and back again by `milestoned
convert`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import main
from api.exporting.atif import file_stem
from api.replay.recordings import read_recording
from lab.convert import Conversion, convert
from tests.api.service import TASK, events, frames
from tests.convert.hand_made import A_TRAJECTORY, write
from tests.rescoring.corpus import GAP, written
from tests.rescoring.test_chats import SEEN, SHOP
from tests.support.logs import Said, clicked, went

CALLED: Said = ("agent.tool_called", {"call": "c1", "tool": "search", "arguments": {"q": "lamp"}})
RETURNED: Said = ("agent.tool_returned", {"call": "c1", "ok": True, "result": ["lamp"]})
FAILED: Said = ("agent.tool_returned", {"call": "c1", "ok": False, "error": "gone"})
ANSWERED: Said = ("agent.answered", {"text": "It is in the cart."})
"""What a harness reports of a step."""


def recorded(path: Path, *steps: tuple[Any, list[Said]], closed: bool = True) -> Path:
    """A recording whose steps have these actions."""
    log: list[Said] = [("episode.opened", {"task": "t", "digest": "d"})]
    for number, (action, happened) in enumerate(steps):
        log += [("step.began", {"step": number, "action": action}), *happened]
    log += [("episode.closed", {"reason": "done"})] if closed else []
    path.write_bytes(b"".join(frames(events(f"ep_{path.stem}", *log))))
    return path


def export(*recordings: Path, task: Any = SHOP) -> dict[str, Any]:
    """The trajectories, by their files' names."""
    folder = recordings[0].parent
    out = folder / "out"
    arguments = ["--task", written(folder / "task.yaml", task), "--out", out, "--form", "atif"]
    assert main(["export", *map(str, recordings), *map(str, arguments)]) == 0
    return {path.name: json.loads(path.read_bytes()) for path in sorted(out.iterdir())}


def one(recording: Path, task: Any = SHOP) -> Any:
    """The one trajectory of a recording."""
    (document,) = export(recording, task=task).values()
    return document


def own(step: Any) -> Any:
    return step["extra"]["milestoned"]


def test_a_step_has_its_action_calls_and_reward(tmp_path: Path) -> None:
    steps = [
        ("go to cart", [went("/cart")]),
        ({"click": "Buy"}, [CALLED, RETURNED, clicked("Buy"), ANSWERED]),
    ]
    document = one(recorded(tmp_path / "a.mrec", *steps))
    assert (document["schema_version"], document["session_id"]) == ("ATIF-v1.8", "ep_a")
    user, first, second = document["steps"]
    assert [step["step_id"] for step in document["steps"]] == [1, 2, 3]
    assert (user["source"], user["message"]) == ("user", TASK["instruction"])
    assert (first["source"], first["message"], own(first)["step"]) == ("agent", "go to cart", 0)
    assert "action" not in own(first)
    assert "timestamp" not in first, "a recording has no wall clock"
    (milestone,) = own(first)["milestones"]
    assert milestone["evidence"]
    assert own(first)["reward"] == milestone["worth"] > 0
    assert (own(first)["status"], own(first)["mask"]) == ("sealed", False)
    assert (second["message"], own(second)["action"]) == ("It is in the cart.", {"click": "Buy"})
    assert second["tool_calls"] == [
        {"tool_call_id": "c1", "function_name": "search", "arguments": {"q": "lamp"}}
    ]
    returned, observed = second["observation"]["results"]
    assert (returned["source_call_id"], returned["content"]) == ("c1", '["lamp"]')
    assert "http://shop.test/cart" in observed["content"]
    about = document["extra"]["milestoned"]
    total = sum(own(step)["reward"] for step in (first, second))
    assert document["final_metrics"]["extra"] == {"reward": pytest.approx(total), "success": True}
    assert (about["task"], about["total"]) == (SHOP["id"], pytest.approx(total))
    assert len(about["head"]) == 64


def test_what_is_not_known_is_null_with_its_reason(tmp_path: Path) -> None:
    steps = [("go", [GAP, went("/cart"), SEEN]), ("buy", [clicked("Buy")])]
    document = one(recorded(tmp_path / "a.mrec", *steps))
    blind = own(document["steps"][1])
    assert (blind["reward"], blind["mask"], blind["status"]) == (None, True, "unobserved")
    assert blind["reason"]
    assert set(blind["components"].values()) == {None}
    assert document["final_metrics"]["extra"]["reward"] is None


def test_a_penalty_stays_negative(tmp_path: Path) -> None:
    document = one(recorded(tmp_path / "a.mrec", ("help", [went("/help")])))
    (milestone,) = own(document["steps"][1])["milestones"]
    assert (milestone["id"], milestone["worth"]) == ("help", -0.3)
    assert own(document["steps"][1])["reward"] == -0.3


def test_an_open_episode_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    closed = recorded(tmp_path / "a.mrec", ("go", []))
    running = recorded(tmp_path / "b.mrec", ("go", []), closed=False)
    assert list(export(closed, running)) == ["ep_a.json"]
    assert "left out: 1 episodes not closed" in capsys.readouterr().out


def test_a_call_of_an_earlier_step_is_named_in_extra_alone(tmp_path: Path) -> None:
    """ATIF refuses a result whose call is none of its step's."""
    document = one(recorded(tmp_path / "a.mrec", ("go", [CALLED]), ("on", [FAILED])))
    (result,) = document["steps"][2]["observation"]["results"]
    assert result == {"content": "gone", "extra": {"milestoned": {"ok": False, "call": "c1"}}}


def test_what_was_said_before_the_first_step_is_a_step_without_a_reward(tmp_path: Path) -> None:
    path = tmp_path / "a.mrec"
    log: list[Said] = [("episode.opened", {"task": "t", "digest": "d"}), CALLED, ANSWERED]
    log += [("episode.closed", {"reason": "done"})]
    path.write_bytes(b"".join(frames(events("ep_a", *log))))
    _, before, close = one(path)["steps"]
    assert own(before) == {"step": -1, "answer": "It is in the cart."}
    assert [call["function_name"] for call in before["tool_calls"]] == ["search"]
    assert (close["source"], close["message"]) == ("system", "The episode was closed.")
    assert own(close)["reward"] == 0.0


@pytest.mark.parametrize(
    ("episode", "name"),
    [
        ("ep_20261125wj", "ep_20261125wj"),
        ("../../etc/passwd", "______etc_passwd"),
        ("", "episode"),
        (".hidden", "_hidden"),
        ("a" * 300, "a" * 100),
    ],
)
def test_the_name_of_an_episode_is_no_path(episode: str, name: str) -> None:
    assert file_stem(episode) == name


def test_the_same_episode_twice_makes_two_files(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a.mrec", ("go", []))
    second = tmp_path / "copy.mrec"
    second.write_bytes(first.read_bytes())
    assert list(export(first, second)) == ["ep_a-2.json", "ep_a.json"]


def told(recording: Path) -> list[tuple[str, Any]]:
    """What the harness reported, without the numbers of steps."""
    read = [event for segment in read_recording(recording) for event in segment.events]
    return [
        (event.kind, {name: part for name, part in event.data.items() if name != "step"})
        for event in read
        if event.kind == "step.began" or event.kind.startswith("agent.")
    ]


def test_a_trajectory_comes_back_as_it_went(tmp_path: Path) -> None:
    """ATIF, recording, ATIF, recording: steps, calls, results, answers."""
    first, again = tmp_path / "first.mrec", tmp_path / "again.mrec"
    convert(Conversion(input=write(tmp_path / "trajectory.json", A_TRAJECTORY), out=first))
    document = one(first)
    convert(Conversion(input=write(tmp_path / "back.json", document), out=again))
    assert told(again) == told(first)
    theirs = [step for step in A_TRAJECTORY["steps"] if step["source"] == "agent"]
    ours = [step for step in document["steps"] if step["source"] == "agent"]
    assert [step["message"] for step in ours] == [step["message"] for step in theirs]
    names = [[call["function_name"] for call in step.get("tool_calls", [])] for step in ours]
    assert names == [["login", "multiply"], ["fly"], []]
    assert own(ours[2])["answer"] == "It is 42."


def test_an_episode_comes_back_as_it_went(tmp_path: Path) -> None:
    """Actions of any JSON, and an answer in the middle; nothing is taken for an answer that was
    none."""
    steps = [
        ({"click": [1, 2]}, [CALLED, RETURNED]),
        (None, [ANSWERED]),
        ("", [("agent.tool_called", {"call": "c2", "tool": "fly", "arguments": {}}), FAILED]),
        ("stop here", []),
    ]
    recording, again = recorded(tmp_path / "a.mrec", *steps), tmp_path / "again.mrec"
    convert(Conversion(input=write(tmp_path / "back.json", one(recording)), out=again))
    actions = [data.get("action") for kind, data in told(again) if kind == "step.began"]
    assert actions == [{"click": [1, 2]}, None, "", "stop here"]
    assert [data for kind, data in told(again) if kind == "agent.answered"] == [ANSWERED[1]]
    assert [data["tool"] for kind, data in told(again) if kind == "agent.tool_called"] == [
        "search",
        "fly",
    ]
