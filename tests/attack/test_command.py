"""`milestoned task attack`: what it prints, how it ends, and what it says of a recording that
solves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from api.attack.logs import as_lines
from api.cli.main import main
from detectors.model.types import Event
from tests.attack.orders import LOOKED_AROUND, ORDERED, SOLVED, goal
from tests.support.logs import ORIGIN, Said, clicked, created, episode, filled, finished, log, went

SOUND_TASK = goal(ORDERED)
WEAK_TASK = goal({"request_accepted": {"method": "POST", "url": "/orders"}})


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a recording that solves the tasks, and one that solves none."""
    monkeypatch.chdir(tmp_path)
    write("solved.jsonl", SOLVED)
    write("around.jsonl", LOOKED_AROUND)
    return tmp_path


def write(name: str, events: list[Event]) -> None:
    Path(name).write_bytes(as_lines(events))


def write_task(milestones: list[dict[str, Any]], **more: Any) -> None:
    instruction = "Order the lamp as Ada Lovelace."
    spec = {"id": "orders", "version": "1", "instruction": instruction, "origin": ORIGIN}
    Path("task.json").write_bytes(orjson.dumps({**spec, "milestones": milestones, **more}))


def run(*words: str) -> int:
    return main(["task", "attack", "task.json", *words])


def test_nothing_falls(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_task(SOUND_TASK)
    assert run("--oracle", "solved.jsonl", "--other", "around.jsonl") == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "task.json: orders by solved.jsonl, which pays 0.2 of 0.2"
    assert printed[1].split() == ["class", "adversaries", "paid", "allowed", "verdict"]
    assert "  nothing           1           0                     0         holds" in printed
    assert printed[-1].endswith(" 0 fall")
    assert not [line for line in printed if "FALL" in line]


def test_what_falls_is_named_with_what_it_was_paid_for(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_task(WEAK_TASK, tests=[{"oracle": "solved.jsonl"}])
    assert run("--keep", "fallen") == 1
    printed = capsys.readouterr().out
    assert "constants         4           0.2                   0         4 FALL" in printed
    assert (
        "    done +0.2\n      event 14 request.finished POST http://shop.test/orders 200" in printed
    )
    kept = sorted(path.name for path in Path("fallen").iterdir())
    assert kept[0] == "1-constants-constant.jsonl"
    write_task(WEAK_TASK, tests=[{"oracle": "solved.jsonl"}, {"adversarial": f"fallen/{kept[0]}"}])
    assert main(["task", "test", "task.json"]) == 1
    assert "reached the goal" in capsys.readouterr().out


def test_the_report_as_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_task(WEAK_TASK)
    assert run("--oracle", "solved.jsonl", "--json") == 1
    report = orjson.loads(capsys.readouterr().out)
    assert (report["task"], report["version"], report["oracle"]) == ("orders", "1", "solved.jsonl")
    assert report["paid"] == 0.2
    fallen = [one for one in report["adversaries"] if one["verdict"] == "falls"]
    assert len(fallen) == report["falls"] == 4
    assert fallen[0] == {
        "kind": "constants",
        "variant": "'constant'",
        "stands_for": "the same constant in every field and answer",
        "paid": 0.2,
        "known": 0.2,
        "allowed": 0.0,
        "success": True,
        "verdict": "falls",
        "why": [
            "the goal is reached",
            "it pays 0.2, at most 0 is allowed",
            "paid beyond what is allowed: done",
        ],
        "payouts": [
            {
                "milestone": "done",
                "worth": 0.2,
                "evidence": [{"seq": 14, "kind": "request.finished"}],
            }
        ],
    }


REFUSED = {
    "it solves nothing": (
        ("--oracle", "around.jsonl"),
        "around.jsonl: it does not solve orders: it pays 0 and does not reach the goal",
    ),
    "no oracle": ((), "task.json: no oracle: give --oracle RECORDING, or name one in its tests"),
    "no file": (("--oracle", "gone.jsonl"), "gone.jsonl: No such file or directory"),
    "no recording": (("--oracle", "task.json"), "task.json: byte 0: text, wanted a recording"),
    "no other": (("--oracle", "solved.jsonl", "--other", "gone.mrec"), "gone.mrec: No such file"),
    "another key": (
        ("--set", "version=", "--oracle", "solved.jsonl"),
        "task.json: line 1: version: got",
    ),
}


@pytest.mark.parametrize(("words", "why"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_attacked(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], why: str
) -> None:
    write_task(SOUND_TASK)
    assert run(*words) == 2
    assert capsys.readouterr().err.startswith(why)


def with_gap(step: int) -> list[Event]:
    """The solved episode, with nothing seen of files from this step on."""
    gap = Event("ep_1", 0, "journal", "gap.began", 0, {"source": "files", "reason": "x"})
    begins = [n for n, event in enumerate(SOLVED) if event.kind == "step.began"]
    return [*SOLVED[: begins[step] + 1], gap, *SOLVED[begins[step] + 1 :]]


KEPT = {"id": "kept", "when": {"file_created": {"path": "other.txt"}}}


def test_what_is_not_known_is_null(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gap in the oracle's log stays one in each adversary's: what it hides is no fall."""
    write("gap.jsonl", with_gap(4))
    write_task([*SOUND_TASK, KEPT])
    assert run("--oracle", "gap.jsonl") == 0
    printed = capsys.readouterr().out
    assert "nothing           1           not known (seen: 0)   0         holds, 1 null" in printed
    assert run("--oracle", "gap.jsonl", "--json") == 0
    nothing = orjson.loads(capsys.readouterr().out)["adversaries"][0]
    assert (nothing["paid"], nothing["known"], nothing["verdict"]) == (None, 0.0, "unknown")


def test_an_oracle_of_which_nothing_is_known(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write("gap.jsonl", with_gap(0))
    write_task([*SOUND_TASK, KEPT])
    assert run("--oracle", "gap.jsonl") == 2
    assert "no milestone is paid; null: steps 0, 1, 2, 3, 4" in capsys.readouterr().err


def operation(kind: str, fields: str = "id") -> Said:
    """A request of a GraphQL page: ``query`` asks, ``mutation`` changes something."""
    document = f"{kind} Book {{ {fields} }}"
    text = orjson.dumps({"operationName": "Book", "query": document}).decode()
    body = {"text": text, "mime": "application/json"}
    return finished("POST", "/graphql", 200, body=body)


ACTS: dict[str, tuple[list[Said], bool]] = {
    "a click by hand": ([clicked("Book now")], True),
    "a field filled in": ([filled("Name", "Ada")], True),
    "a request that writes": ([finished("POST", "/book", 201)], True),
    "a file": ([created("ticket.pdf")], True),
    "a script's click": ([clicked("Book now", trusted=False)], False),
    "a request that reads": ([finished("GET", "/book", 200)], False),
    "an operation that writes": ([operation("mutation")], True),
    "an operation that asks": ([operation("query")], False),
    "an operation that asks for much": ([operation("\n  query", "name " * 100)], False),
    "a page that opens": ([went("/thanks")], False),
    "nothing": ([], False),
}


@pytest.mark.parametrize("name", ACTS)
def test_an_act_after_the_goal_is_noted(
    name: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    said, is_noted = ACTS[name]
    write("acts.jsonl", log(*episode([went("/"), went("/book")], said)))
    write_task(goal({"url_reached": {"url": "/book"}}))
    run("--oracle", "acts.jsonl")
    printed = capsys.readouterr().out
    assert (
        "  note: the goal is reached before the oracle's last act, event 6 " in printed
    ) is is_noted
    run("--oracle", "acts.jsonl", "--json")
    assert len(orjson.loads(capsys.readouterr().out)["notes"]) == is_noted
