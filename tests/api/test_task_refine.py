"""`milestoned task refine` over a service's stored episodes, on each database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from api.cli.main import main
from api.tasks.task_files import load_task_file
from tests.api.service import Service, Store, running
from tests.api.test_rescores import place
from tests.support.logs import Said, clicked, episode, went

TASK = """\
id: shop/cart
version: "1"
instruction: Put it into the cart.   # as the trainer tells it
origin: http://shop.test
milestones:
  - id: cart
    when: {url_reached: {url: /cart}}
  - id: sale
    when: {url_reached: {url: /sale}}
  - id: buy
    when: {element_clicked: {role: button, name: Buy}}
  - id: done
    when: {goal: {requires: [cart, buy]}}
"""
GAP: Said = ("gap.began", {"source": "cdp", "reason": "lost"})
NO_CLICKS: Said = (
    "gap.began",
    {"source": "cdp", "part": "element.clicked", "reason": "lost"},
)


async def run(*arguments: object) -> int:
    return await asyncio.to_thread(main, ["task", "refine", *map(str, arguments)])


async def close(service: Service, task: str, *steps: list[Said], **labels: object) -> None:
    opened = (await service.post("/v1/episodes", {"task": task, "labels": labels})).json()
    await service.tell(opened["episode"], opened["token"], *episode(*steps))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cart.yaml"
    path.write_text(TASK)
    return path


async def test_what_stored_episodes_say_of_a_task(
    store: Store, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(store) as service:
        await service.call("POST", "/v1/tasks", content=TASK, headers={"content-type": "text/yaml"})
        for solved in (True, False):
            last = [clicked("Buy")] if solved else []
            for n in range(7):
                sale = [went("/sale")] if n else []
                await close(service, "shop/cart", [went("/cart")], sale, last, solved=solved)
        await close(service, "shop/cart", [went("/cart")], [GAP], solved="perhaps")
        await close(service, "shop/cart", [went("/cart"), NO_CLICKS], solved="perhaps")
        await service.post("/v1/tasks", {**_other(), "id": "shop/other"})
        await close(service, "shop/other", [went("/cart")])
    out = file.with_name("refined.yaml")
    asked = (file, "--stored", *place(store), "--workers", 1)
    assert await run(*asked, "--out", out) == 0
    shown = capsys.readouterr().out
    assert "16 stored episodes, 7 successes, 7 failures, 2 of unknown success" in shown
    assert "cart\n    reached in 16 of 16 (81% to 100%) episodes\n" in shown
    assert "    problem: always reached: it tells no episode from another\n" in shown
    assert "    reached in 12 of 15 (55% to 93%) episodes, unknown in 1\n" in shown
    assert "    reached in 7 of 14 (27% to 73%) episodes, unknown in 2\n" in shown
    assert "    not known: whether it tells success: the verdict rests on it\n" in shown
    assert "    weight: 1, the counts suggest 0.8571\n" in shown
    text = out.read_text()
    assert "instruction: Put it into the cart.   # as the trainer tells it\n" in text
    assert "  # reached in 12 of 15 (55% to 93%) episodes, unknown in 1\n" in text
    assert main(["task", "check", str(out)]) == 0
    refined = load_task_file(out)
    assert [one.weight for one in refined.milestones] == [1.0, 0.8571, 1.0, 1.0]
    assert refined.version == "2"
    capsys.readouterr()
    assert await run(*asked, "--out", out) == 2
    assert "expected a file that does not exist yet" in capsys.readouterr().err
    assert await run(*asked, "--out", out.parent / "none" / "task.yaml") == 2
    assert "its directory does not exist" in capsys.readouterr().err
    assert await run(*asked, "--outcome", "solved") == 0
    assert "whether it tells success: the verdict rests" not in capsys.readouterr().out


def _other() -> dict[str, object]:
    milestones = [{"id": "cart", "when": {"url_reached": {"url": "/cart"}}}]
    origin = "http://shop.test"
    return {"version": "1", "instruction": "x", "origin": origin, "milestones": milestones}


async def test_a_template_is_told_by_the_values_of_each_episode(
    store: Store, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each instance is scored by its own task; those of another version are left out and
    counted."""
    template = TASK.replace("/cart}}", "'/{page}'}}").replace(
        "milestones:", "parameters:\n  page: {example: cart}\nmilestones:"
    )
    await asyncio.to_thread(file.write_text, template)
    async with running(store) as service:
        for version in ("1", "0"):
            text = template.replace('version: "1"', f'version: "{version}"')
            for page in ("desk", "lamp"):
                sent = await service.call(
                    "POST",
                    "/v1/tasks",
                    content=f"{text}values: {{page: {page}}}\n",
                    headers={"content-type": "text/yaml"},
                )
                assert sent.status_code == 201, sent.text
                opened = await service.post(
                    "/v1/episodes", {"task": "shop/cart", "version": sent.json()["version"]}
                )
                told = opened.json()
                steps = episode([went(f"/{page}")], [clicked("Buy")])
                await service.tell(told["episode"], told["token"], *steps)
    assert await run(file, "--stored", *place(store), "--workers", 1) == 0
    shown = capsys.readouterr()
    assert "2 stored episodes, 2 successes" in shown.out
    assert "cart\n    reached in 2 of 2 (34% to 100%) episodes\n" in shown.out
    assert "not known: whether it is ever reached: 2 of at least 10 known" in shown.out
    assert "2 episodes are left out: of another version" in shown.err


async def test_what_cannot_be_asked_is_said(
    store: Store, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(store):
        pass
    assert await run(file) == 2
    assert "--stored: expected it" in capsys.readouterr().err
    assert await run(file, "--stored", "--data", tmp_path / "none") == 2
    assert "there is no database" in capsys.readouterr().err
    assert await run(file, "--stored", *place(store), "--workers", 1) == 1
    assert "no closed episode of shop/cart can be scored" in capsys.readouterr().err
    await asyncio.to_thread(file.write_text, "id: x\n")
    assert await run(file, "--stored", *place(store)) == 2
    assert "version" in capsys.readouterr().err
