"""The demo's table says for each step what was paid and which events show it."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path

import pytest
from milestoned_client import Milestone, Reward
from milestoned_client.models import Status

from detectors.model.rewards import PARTLY
from lab.demo.processes import DemoProcesses, PartFailedError
from lab.demo.show import DemoScreen, StepTable, clip, describe

EARNED = Milestone("order", "request_accepted", 1, "goal", 3, 1.0, 0.1, (17,), 2, False)


def _reward(value: float | None, *milestones: Milestone) -> Reward:
    status: Status = "unobserved" if value is None else "sealed"
    reason = "cdp saw nothing from event 9: the browser is gone" if value is None else None
    return Reward(
        "e1",
        3,
        status,
        value,
        value is None,
        reason,
        {"goal": value or 0.0},
        milestones,
        (),
        None,
        False,
        None,
        20,
        "d",
    )


def _shown(*rewards: Reward) -> list[str]:
    out = io.StringIO()
    table = StepTable(DemoScreen(out), ("goal", "nav"))
    table.head()
    events = {
        17: ("cdp", "request.finished", {"method": "POST", "url": "http://x/orders", "status": 200})
    }
    for reward in rewards:
        table.row("place the order", reward, events)
    return out.getvalue().splitlines()


def test_a_paid_step_names_its_milestone_its_evidence_and_the_step_that_caused_it() -> None:
    head, row, milestone, evidence = _shown(_reward(0.1, EARNED))
    assert head.split() == ["step", "action", "goal", "nav", "reward", "total"]
    assert row.split() == ["3", "place", "the", "order", "+0.10", "·", "+0.100", "0.100"]
    assert (
        milestone.split("order", 1)[1].split()
        == "+0.100 by request_accepted v1, set in motion by step 2".split()
    )
    assert evidence.split() == ["#17", "request.finished", "POST", "/orders", "→", "200"]


def test_from_a_masked_step_on_the_total_is_null() -> None:
    _, first, row, reason, last = _shown(_reward(0.1), _reward(None), _reward(0.2))
    assert first.split()[-2:] == ["+0.100", "0.100"]
    assert row.split()[-2:] == ["masked", "null"]
    assert "the browser is gone" in reason
    assert last.split()[-2:] == ["+0.200", "null"]


def test_a_milestone_of_a_masked_step_says_that_it_was_not_paid() -> None:
    *_, milestone, _ = _shown(_reward(None, EARNED))
    assert milestone.endswith("set in motion by step 2 (not paid: the step is masked)")


def test_a_milestone_beside_a_penalty_in_a_step_that_is_not_known_was_not_paid() -> None:
    fine = replace(EARNED, id="rude", worth=-0.25)
    unknown = replace(_reward(-0.25, replace(EARNED, worth=0.0), fine), reason=f"{PARTLY}gone")
    _, _, order, _, rude, _ = _shown(unknown)
    assert order.endswith("(not paid: only a penalty is known of the step)")
    assert rude.endswith("set in motion by step 2")


def test_rows_are_aligned() -> None:
    head, first, second = _shown(_reward(0.0), _reward(-0.25))
    assert len(head) == len(first) == len(second)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            ("cdp", "page.navigated", {"url": "http://x/a?b=1", "same_document": True}),
            "/a?b=1 (same document)",
        ),
        (
            (
                "cdp",
                "field.filled",
                {"element": {"role": "textbox", "name": "Password"}, "value": None},
            ),
            "(kept back)",
        ),
        (
            (
                "cdp",
                "field.filled",
                {"element": {"role": "checkbox", "name": "T"}, "checked": True},
            ),
            "“T” checked",
        ),
        (
            (
                "cdp",
                "element.clicked",
                {"element": {"role": "button", "name": "Go"}, "trusted": False},
            ),
            "by page script",
        ),
        (
            ("cdp", "dialog.closed", {"type": "confirm", "message": "Sure?", "accepted": False}),
            "“Sure?” → no",
        ),
        (
            ("files", "file.created", {"name": "a.csv", "size": 3, "sha256": "abcdef0123"}),
            "a.csv 3 bytes",
        ),
        (("cdp", "text.appeared", {"tab": "7", "text": "Thank you"}), "text.appeared “Thank you”"),
        (("cdp", "text.copied", {"tab": "7", "text": None}), "text.copied (kept back)"),
        (("steps", "agent.answered", {"text": "done"}), '{"text":"done"}'),
    ],
)
def test_an_event_is_described_by_what_a_person_asks_first(
    event: tuple[str, str, dict[str, object]], said: str
) -> None:
    assert said in describe(event)


def test_long_and_many_lined_text_stays_on_one_line() -> None:
    assert clip("a\nb   c", 10) == "a b c"
    assert len(clip("x" * 100, 20)) == 20


def test_a_part_that_ends_early_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with DemoProcesses(tmp_path) as parts:
        part = parts.start("broken", ["sh", "-c", "echo out of paper; exit 3"])
        with pytest.raises(
            PartFailedError, match=r"(?s)broken ended with 3 before it printed.*out of paper"
        ):
            part.wait_until("it printed", lambda: None)


def test_leaving_ends_every_part_with_what_it_started(tmp_path: Path) -> None:
    with DemoProcesses(tmp_path) as parts:
        part = parts.start("parent", ["sh", "-c", "trap '' TERM; sleep 300 & echo $!; wait"])
        child = part.wait_until("its child ran", lambda: part.log.read_text().strip() or None)
        part.kill()
    # It was killed with its parent, whom alone somebody waits for: it may take a moment to be gone.
    left, deadline = Path(f"/proc/{child}/cmdline"), time.monotonic() + 60
    while _said(left):
        assert time.monotonic() < deadline, "it goes on"
        time.sleep(0.01)


def _said(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
