"""`--purified`: steps that led nowhere are left out of chat data, and only those."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from api.cli.main import main
from api.exporting.chats import Conversation, read_conversation
from api.exporting.rows import Exported
from api.rewards.scored_episode import task_bytes
from detectors.task.task_json import task_from_json
from tests.rescoring.corpus import GAP, written
from tests.rescoring.test_chats import BUY, CART, HELP, SEEN, SHOP, Step, recorded
from tests.support.logs import Said, clicked, filled, titled, went

AWAY, BACK = [went("/a")], [clicked("Back"), went("/cart")]
POST: Said = ("request.sent", {"method": "POST", "url": "http://shop.test/add"})
GET: Said = ("request.sent", {"method": "GET", "url": "http://shop.test/a"})
TOOL: Said = ("agent.tool_called", {"call": "1", "tool": "search", "arguments": {}})
LOOP = "loop: steps 1 to 2 ended in the observed state in which step 1 began"
IDLE = "idle: the observed state stayed as it was"
DETOURS: dict[str, tuple[list[Sequence[Said]], dict[int, str]]] = {
    "there and back": ([CART, AWAY, BACK, BUY], {1: LOOP, 2: LOOP}),
    "nothing observed": ([CART, [], BUY], {1: IDLE}),
    "before the first milestone": ([[], CART, BUY], {0: IDLE}),
    "only read": ([CART, [GET], BUY], {1: IDLE}),
    "two loops in one": (
        [CART, AWAY, BACK, [], BUY],
        dict.fromkeys((1, 2, 3), LOOP.replace("1 to 2", "1 to 3")),
    ),
    "not come back": ([CART, AWAY, BUY], {}),
    "another title": ([CART, AWAY, [*BACK, titled("Sale")], BUY], {}),
    "a click without a page": ([CART, [clicked("Add")], BUY], {}),
    "sent something": ([CART, [*AWAY, POST], BACK, BUY], {}),
    "filled in and gone": ([CART, [filled("Name", "Ann")], [went("/cart")], BUY], {}),
    "a tool": ([CART, [TOOL], BUY], {}),
    "a penalty": ([CART, HELP, BACK, BUY], {}),
    "a step that is not known": ([CART, [*AWAY, GAP, SEEN], BACK, BUY], {}),
    "the last step": ([CART, BUY, []], {}),
    "only one step": ([CART], {}),
}


def conversation(tmp_path: Path, steps: Sequence[Sequence[Said]]) -> Conversation:
    """An episode of these steps, whose actions are numbered, without what led nowhere."""
    acted: list[Step] = [(f"action {n}", said) for n, said in enumerate(steps)]
    file = tmp_path / "one.mrec"
    recorded(file, acted)
    task = task_bytes(task_from_json(SHOP))
    read = read_conversation(Exported("one", file.read_bytes(), task=task), 1.0, purified=True)
    assert isinstance(read, Conversation), read
    return read


@pytest.mark.parametrize("case", DETOURS)
def test_only_what_led_nowhere_is_left_out_and_the_row_says_so(tmp_path: Path, case: str) -> None:
    steps, expected = DETOURS[case]
    read = conversation(tmp_path, steps)
    assert read.left_out == expected
    kept = [n for n in range(len(steps)) if n not in expected]
    assert [turn.action for turn in read.turns] == [f"action {n}" for n in kept]
    assert [turn.step for turn in read.turns] == kept
    assert len(read.returns) == len(kept)
    instructed = [turn.user.startswith(SHOP["instruction"]) for turn in read.turns]
    assert instructed == [True, *[False] * (len(kept) - 1)]


def test_the_command_and_the_card_count_them_and_without_the_option_the_column_is_null(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recorded(tmp_path / "one.mrec", [("go", said) for said in (CART, [], AWAY, BACK, BUY)])
    written(tmp_path / "task.yaml", SHOP)
    files = ["export", str(tmp_path / "one.mrec"), "--task", str(tmp_path / "task.yaml")]
    for form in ("sft", "kto", "prm"):
        for option, expected in (((), [None]), (("--purified",), [{"step": 1}])):
            out = tmp_path / form
            assert main([*files, "--out", str(out), "--form", form, *option]) == 0
            row = pq.read_table(out / f"{form}.parquet").to_pylist()[0]
            steps = [None] if row["left_out"] is None else row["left_out"][:1]
            assert [one and {"step": one["step"]} for one in steps] == expected
    assert capsys.readouterr().out.count("purified: 3 steps loop") == 3
    assert "each with why (3 loop)" in (tmp_path / "sft" / "README.md").read_text()
