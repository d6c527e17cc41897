"""A week of a service that learns from its own database: labels arrive, a model is trained, gated,
promoted, found worse, rolled back. No sealed reward changes, and a kill in any phase loses nothing."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.auth.store import OPERATOR
from api.cascade.stages import Stages
from api.cli.main import main
from api.labelling.store import LabelWord
from api.stages.base import Opinion, Question
from api.stages.model.folder import load
from api.stages.model.linked_model import LOOK_S, FollowedModel
from detectors.model.codec import canonical, sha256
from detectors.model.types import Verdict
from lab.training.gating import is_held
from lab.training.history import ModelHistory
from tests.api.service import Service, Store, eventually, frames, running
from tests.cascade.judged import milestoned
from tests.training.synthetic import WORDS, episode, fill, stray, submit, task

GROUPS = [f"app-{n}" for n in range(12)]
assert sum(map(is_held, GROUPS)) >= 3, "a gate needs groups that are held out"


class ContraryJudge:
    """A judge that calls a success what the rules call a failure, where ``contrary``; else as the
    rules do."""

    name = "judge"

    def __init__(self) -> None:
        self.contrary = False

    def digest(self, question: Question) -> str:
        """Of the episode: each is asked about once."""
        return sha256(canonical([question.episode, question.step, question.about, self.contrary]))

    async def ask(self, question: Question) -> Opinion:
        """By the instruction and what was filled in, as a person would see it."""
        filled = [e.data["value"] for e in question.events if e.kind == "field.filled"]
        wanted = str(question.task["instruction"]).split('"')[1]
        pressed = any(e.kind == "element.clicked" and e.data["element"]["name"] == "Submit"
                      for e in question.events)  # fmt: skip
        success = (wanted in filled and pressed) is not self.contrary
        verdict = Verdict("judge", float(success), 0.9, "as it looks", "scripted@1", 0.0)
        return Opinion(verdict, {"model": "scripted", "prompt": "p", "calls": 1})


def judged_task(wanted: str, group: str) -> dict[str, Any]:
    """Its steps and goal are audited by both tiers."""
    found: dict[str, Any] = task(wanted, f"{group}/fill")
    found["version"] = wanted
    return found | {"escalation": {"escalate": "never", "audit": 1.0, "confident": 0.0}}


async def work(service: Service, seed: int, each: int) -> dict[str, bool]:
    """Episodes of each group, half of them right; gives which."""
    draw, found = random.Random(seed), {}
    for group in GROUPS:
        for number in range(each):
            wanted, other = draw.sample(WORDS, 2)
            good = number % 2 == 0
            steps = [fill(wanted if good else other), submit()]
            if draw.random() < 0.4:
                steps.insert(draw.randrange(2), stray())
            id, token = await service.open(judged_task(wanted, group))
            for frame in frames(episode(wanted, *steps, name=id)):
                assert (await service.append(id, frame, token)).status_code == 200
            found[id] = good
    await eventually(lambda: _is_idle(service))
    return found


async def _is_idle(service: Service) -> bool:
    return await service.rows("escalations") == 0


async def label(service: Service, made: dict[str, bool]) -> None:
    """What a person says of the goal of each third of them."""
    for id, good in list(made.items())[::3]:
        choice = "yes" if good else "no"
        word = LabelWord(f"{GROUPS[0]}/fill", id, "", 1, "goal", choice)
        await service.app.state.parts.preferences.say(OPERATOR, "anna", word)


@asynccontextmanager
async def serving(
    folder: Path, models: Path, judge: ContraryJudge, clock: Sequence[float] = (0.0,)
) -> AsyncIterator[Service]:
    """A service whose model is whatever is promoted, as far as its ``clock`` lets it look."""
    tiers: dict[str, Any] = {"judge": [judge]}
    if (models / "served").exists():
        tiers["model"] = [FollowedModel(models / "served", clock=lambda: clock[0])]
    off = {} if "model" in tiers else {"model": "the model is off: nothing was promoted yet"}
    async with running(Store(folder), stages=Stages(tiers, off)) as service:
        yield service


async def sealed(service: Service, ids: dict[str, bool]) -> dict[tuple[str, int], bytes]:
    """The sealed rewards, byte for byte."""
    return {(id, step): (await service.reward(id, step)).content for id in ids for step in range(2)}


def learn(folder: Path, name: str) -> list[str]:
    """The command of a schedule."""
    return [
        "rm", "learn", "--stored", "--data", str(folder / "data"), "--into", str(folder / "learning"),
        "--models", str(folder / "models"), "--name", name,
    ]  # fmt: skip


async def command(*arguments: object) -> int:
    """A command beside this loop."""
    return await asyncio.to_thread(milestoned, *arguments)


async def test_preferences_are_the_same_by_command_and_by_wire(tmp_path: Path) -> None:
    """People, rules and judge, each with its weight; another tenant has none."""
    data, judge = tmp_path / "data", ContraryJudge()
    async with serving(data, tmp_path / "models", judge) as service:
        made = await work(service, 1, 2)
        await label(service, made)
        answer = await service.post(
            "/v1/reward-model/preferences", {"weights": {"rule": 1, "judge": 0.2}}
        )
        one = await service.post("/v1/reward-model/preferences", {"task": f"{GROUPS[0]}/fill"})
        other = await service.post("/v1/reward-model/preferences", {"labels": {"run": "x"}})
    arguments = ["rm", "prefer", "--stored", "--data", data, "--into", tmp_path / "out"]
    assert await command(*arguments, "--weight", "judge=0.2") == 0
    lines = (tmp_path / "out" / "preferences.jsonl").read_bytes().splitlines()
    assert answer.json()["episodes"] == len(made) == 24
    assert answer.json()["lines"] == [orjson.loads(line) for line in lines]
    weights = {
        one["source"]: one.get("weight") for one in answer.json()["lines"] if "chosen" in one
    }
    assert weights == {"rule": 1.0, "judge": pytest.approx(0.18)}
    sources = [one["source"] for one in answer.json()["lines"] if one["kind"] == "outcome"]
    assert {source: sources.count(source) for source in set(sources)} == {
        "person": 8, "rule": 24, "judge": 24,
    }  # fmt: skip
    assert one.json()["episodes"] == 2
    assert other.json() == {"episodes": 0, "lines": []}


@pytest.mark.slow
async def test_a_week(tmp_path: Path) -> None:
    """On a real database, with the commands that a schedule runs."""
    clock = [0.0]
    data, models, judge = tmp_path / "data", tmp_path / "models", ContraryJudge()
    async with serving(data, models, judge, clock) as service:
        monday = await work(service, 2, 6)
        await label(service, monday)
        before = await sealed(service, monday)
        assert await command(*learn(tmp_path, "monday")) == 0
    first = load(models / "served").digest
    async with serving(data, models, judge, clock) as service:
        tuesday = await work(service, 3, 4)
        before |= await sealed(service, tuesday)
        assert await command(*learn(tmp_path, "thursday")) == 0
        second = load(models / "served").digest
        assert second != first
        clock[0] += LOOK_S
        drift = ["rm", "drift", "--stored", "--data", data, "--models", models]
        await work(service, 4, 2)
        assert await command(*drift) == 0
        judge.contrary = True
        friday = await work(service, 5, 4)
        before |= await sealed(service, friday)
        assert await command(*drift, "--roll-back") == 1
        assert load(models / "served").digest == first
        ids = {**monday, **tuesday, **friday}
        assert await sealed(service, ids) == before
    assert main(["rm", "history", "--models", str(models)]) == 0
    assert [event.phase for event in ModelHistory(models).events()] == [
        "trained", "gated", "promoted", "trained", "gated", "promoted", "drifted", "rolled back",
    ]  # fmt: skip


KILLED = """
import os, signal, sys
from api.cli.main import main
from lab.training import history, keeping, stored

phase = sys.argv[1]
die = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
write, note = stored._write, history.ModelHistory.note

def dying_write(path, content):
    die() if path.name == stored.PREFERENCES else write(path, content)

def dying_note(self, said, *facts):
    die() if said == phase else note(self, said, *facts)

if phase == "prefer":
    stored._write = dying_write
if phase == "boost":
    keeping.save = die
if phase in ("trained", "gated"):
    history.ModelHistory.note = dying_note
if phase == "promoted":
    history.ModelHistory._link = die
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.slow
async def test_kill_9_in_each_phase_of_learning_loses_nothing(tmp_path: Path) -> None:
    """The next run of the schedule ends what this one began; what is served always loads."""
    data, models, judge = tmp_path / "data", tmp_path / "models", ContraryJudge()
    async with serving(data, models, judge) as service:
        made = await work(service, 6, 6)
        before = await sealed(service, made)
    history = ModelHistory(models)
    for number, phase in enumerate(("prefer", "boost", "trained", "gated", "promoted")):
        lines = history.events()
        arguments = [sys.executable, "-c", KILLED, phase, *learn(tmp_path, f"killed-{number}")]
        died = await asyncio.to_thread(
            subprocess.run, arguments, check=False, capture_output=True, text=True
        )
        assert died.returncode == -signal.SIGKILL, (phase, died.stderr)
        assert history.events()[: len(lines)] == lines
        assert await command(*learn(tmp_path, f"after-{number}")) == 0, phase
        served = history.served()
        assert served is not None
        assert os.readlink(models / "served") == served.model
        load(models / "served")
    async with serving(data, models, judge) as service:
        assert await sealed(service, made) == before
