"""The edge's hint: what the daemon says of its own journal, once, and what it does not."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from agentd.core.errors import UsageError
from agentd.journal.journal import Journal
from agentd.journal.recorder import Recorder
from agentd.session.local_scoring import Edge, load_rules
from tests.support.logs import Said, began, episode, went

TASK: dict[str, Any] = {
    "id": "t",
    "version": "1",
    "instruction": "Go.",
    "origin": "http://shop.test",
    "milestones": [{"id": "cart", "when": {"url_reached": {"url": "/cart"}}}],
}
SEALED: Said = ("step.sealed", {"step": 0, "reason": "quiet"})


@pytest.fixture
def task(tmp_path: Path) -> Path:
    path = tmp_path / "task.json"
    path.write_bytes(orjson.dumps(TASK))
    return path


async def journalled(
    folder: Path, task: Path, said: Sequence[Said]
) -> list[tuple[str, dict[str, Any]]]:
    """What a journal in ``folder`` holds after a daemon wrote ``said`` into it."""
    recorder = Recorder(Journal(folder / "journal.sqlite3", "ep_1"))
    Edge(recorder, load_rules(task))
    for kind, data in said:
        recorder.append("steps" if kind.startswith("step.") else "cdp", kind, data)
        await asyncio.sleep(0)  # the edge computes in the loop's next turn
    recorder.flush()
    found = [(kind, data) for _, kind, data in recorder.journal.rows()]
    recorder.close()
    return found


async def test_a_sealed_step_is_scored_once_though_the_daemon_starts_again(
    tmp_path: Path, task: Path
) -> None:
    first = await journalled(tmp_path, task, [*episode([went("/cart")], close=False), SEALED])
    digest = load_rules(task).digest
    assert first[-1] == ("reward.estimated", {"step": 0, "reward": 0.1, "digest": digest})
    again = await journalled(tmp_path, task, [began(1), went("/"), began(2)])
    said = [(data["step"], data["reward"]) for kind, data in again if kind == "reward.estimated"]
    assert said == [(0, 0.1), (1, 0.0)]


async def test_a_journal_without_its_beginning_is_not_scored(tmp_path: Path, task: Path) -> None:
    journal = Journal(tmp_path / "journal.sqlite3", "ep_1")
    journal.adopt(9, "a" * 64)
    recorder = Recorder(journal)
    Edge(recorder, load_rules(task))
    for kind, data in (began(0), SEALED):
        recorder.append("steps", kind, data)
        await asyncio.sleep(0)
    recorder.flush()
    assert [kind for _, kind, _ in recorder.journal.rows()] == ["step.began", "step.sealed"]
    recorder.close()


def test_the_services_answer_is_a_task_too(tmp_path: Path, task: Path) -> None:
    answer = tmp_path / "answer.json"
    answer.write_bytes(orjson.dumps({"id": "t", "task": TASK}))
    assert load_rules(answer).digest == load_rules(task).digest


TEMPLATE = """
id: t/template
version: "1"
instruction: Order the {item}.
origin: http://shop.test
parameters: {item: {example: lamp}}
milestones:
  - {id: page, when: {url_reached: {url: "/{item}"}}}
tests:
  - {oracle: good.mrec}
"""


def test_a_task_is_read_as_its_author_wrote_it(tmp_path: Path, task: Path) -> None:
    """In YAML, with its tests, which are not the task's; a template by its examples."""
    written = tmp_path / "task.yaml"
    written.write_text(yaml.safe_dump(TASK | {"tests": [{"oracle": "good.mrec"}]}))
    assert load_rules(written).digest == load_rules(task).digest
    written.write_text(TEMPLATE)
    found = load_rules(written).task
    assert (found.version, found.instruction) == ("1+example", "Order the lamp.")


@pytest.mark.parametrize("content", [b"", b"a: [", b"\xff", b"[]", b"{}", b'{"id":"t"}'])
def test_what_is_no_task_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="--edge"):
        load_rules(path)
    with pytest.raises(UsageError, match=r"--task .*missing\.json: No such file"):
        load_rules(tmp_path / "missing.json", "--task")
