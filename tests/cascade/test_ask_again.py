"""`milestoned rescore --ask-again`: the one replay that asks, whom it is told to ask, for no more
than it may."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.cascade.stages import Stages
from api.stages.base import Opinion, Question
from api.verdicts.escalations import PendingItem
from detectors.model.types import Verdict
from tests.api.service import Store, eventually
from tests.cascade.judged import lines, milestoned, recorded, save
from tests.cascade.stage import Endpoint, stages
from tests.cascade.test_escalation import STAKE, answering, endpoint, final, judged, task
from tests.cascade.test_worker import Scripted, says
from tests.judge.conftest import standin
from tests.judge.serving import Served
from tests.judge.sessions import PROOF
from tests.rescoring.corpus import written
from tests.support.logs import Said, episode, went

__all__ = ["answering", "endpoint", "standin"]
NO = {"answer": {"score": 0.0, "confidence": 0.9, "cost": 0.02}}


@pytest.fixture
async def files(tmp_path: Path, endpoint: Endpoint) -> Path:
    """Three episodes of two silent steps each, all judged with a yes; the task beside them."""
    async with judged(Store(tmp_path / "service"), endpoint) as service:
        for n in range(3):
            steps = [[went(f"/first-{n}")], [went(f"/second-{n}")]]
            await recorded(service, task(), tmp_path / "files" / f"{n}.mrec", *steps)
    return tmp_path / "files"


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets the stages that the command has."""

    def put(found: Stages | Scripted) -> None:
        if isinstance(found, Scripted):
            found = Stages({"judge": [found]}, {"model": "the model is off: a test left it out"})
        monkeypatch.setattr("api.cli.rescore.stages_of", lambda _: found)

    return put


async def again(files: Path, *more: object, spec: Path | None = None) -> int:
    """The command, beside this loop."""
    spec = spec or files / "0.yaml"
    given = [files, "--task", spec, "--against", files / "0.yaml", "--ask-again", *more]
    return await asyncio.to_thread(milestoned, "rescore", *given)


async def summary(
    capfd: Any, files: Path, *more: object, spec: Path | None = None
) -> dict[str, Any]:
    """What the run told at its end."""
    capfd.readouterr()
    await again(files, "--json", *more, spec=spec)
    return dict(orjson.loads(capfd.readouterr().out.splitlines()[-1])["summary"])


async def test_another_judge_s_answers_change_what_they_decide(
    files: Path, endpoint: Endpoint, asking: Any, capfd: Any
) -> None:
    """All questions are asked anew; the old side is what was recorded."""
    endpoint.say(**NO)
    asking(stages(endpoint.url, "judge"))
    before = endpoint.calls()["came"]
    assert await again(files, "--out", files.parent / "out.jsonl") == 1
    shown = capfd.readouterr().out
    assert "0.mrec: total 0.02 → 0" in shown
    assert (
        "6 asked again: 6 answered, 0 abstained; 6 calls, cost 0.12\n3 episodes: 3 changed\n"
        in shown
    )
    assert endpoint.calls()["came"] == before + 6
    told, *_ = lines(files.parent / "out.jsonl")[1:]
    assert [one["reward"] for one in told["result"]["rewards"]] == [0.0, 0.0]
    assert [one["kind"] for one in told["said"]] == ["verdict.given", "step.decided"] * 2
    assert not (files.parent / "out.jsonl.asked").exists()


async def test_the_same_answers_change_nothing(
    files: Path, endpoint: Endpoint, asking: Any
) -> None:
    """A deterministic judge is its own witness."""
    asking(stages(endpoint.url, "judge"))
    assert await again(files) == 0


async def test_without_it_nobody_is_asked(
    files: Path, asking: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stage that fails when it is made, digested or asked is never met."""

    def fail(*_: object) -> Any:
        raise AssertionError("somebody was asked")

    monkeypatch.setattr("api.cli.rescore.stages_of", fail)
    monkeypatch.setattr("api.cascade.stages._judge", fail)
    monkeypatch.setattr("api.rescoring.again.Again.ask_all", fail)
    monkeypatch.setenv("MILESTONED_JUDGE_URL", "http://127.0.0.1:9/v1")
    spec = files / "0.yaml"
    given = ["rescore", files, "--task", spec, "--against", spec, "--workers", 1]
    assert await asyncio.to_thread(milestoned, *given) == 0
    assert (
        await asyncio.to_thread(
            milestoned, "rescore", "--stored", "--data", files.parent / "service"
        )
        == 0
    )
    with pytest.raises(AssertionError, match="somebody was asked"):
        await again(files)


async def test_identical_questions_are_asked_once_a_run(
    tmp_path: Path, endpoint: Endpoint, asking: Any, capfd: Any
) -> None:
    """Of two episodes in which the same happened; the next run asks again."""
    async with judged(Store(tmp_path / "service"), endpoint) as service:
        for n in range(2):
            await recorded(service, task(), tmp_path / "files" / f"{n}.mrec", [went("/same")])
    for _ in range(2):
        before = endpoint.calls()["came"]
        asking(stages(endpoint.url, "judge"))
        told = (await summary(capfd, tmp_path / "files"))["asked"]
        assert told == {"questions": 2, "answered": 2, "abstained": 0, "calls": 1, "cost": 0.01}
        assert endpoint.calls()["came"] == before + 1


@pytest.mark.parametrize("whose", ["operator", "task"])
async def test_a_budget_of_one_call_is_one_call(
    files: Path, endpoint: Endpoint, asking: Any, capfd: Any, whose: str
) -> None:
    """The operator's, of the day, and the task's own; the rest abstain and are null."""
    limited = written(files / "limited.yaml", task(budget={"task": {"calls": 1}}))
    asking(stages(endpoint.url, "judge"))
    before = endpoint.calls()["came"]
    more, spec = (
        (["--budget", "day:calls=1"], files / "0.yaml") if whose == "operator" else ([], limited)
    )
    out = files.parent / "out.jsonl"
    told = await summary(capfd, files, *more, "--out", out, spec=spec)
    assert told["asked"] == {
        "questions": 6,
        "answered": 1,
        "abstained": 5,
        "calls": 1,
        "cost": 0.01,
    }
    assert endpoint.calls()["came"] == before + 1
    rewards = [one for told in lines(out)[1:] for one in told["result"]["rewards"]]
    assert sorted(str(one["reward"]) for one in rewards) == [str(STAKE)] + ["None"] * 5
    assert sum("budget of 1 calls is spent" in (one["reason"] or "") for one in rewards) == 5


async def test_what_a_person_said_is_kept(
    tmp_path: Path, endpoint: Endpoint, asking: Any, capfd: Any
) -> None:
    """It stands above, and no stage is asked of what it decided; what the judge said of the other
    step is not used."""
    endpoint.say(hold=True)
    spec, path = task(), tmp_path / "files" / "0.mrec"
    async with judged(Store(tmp_path / "service"), endpoint) as service:
        id, token = await service.open(spec)
        await service.tell(id, token, *episode([went("/one")], [went("/two")]))
        await eventually(lambda: service.rows("escalations"))
        cascade = service.app.state.parts.cascade
        row = await service.app.state.parts.episodes.get(id)
        asked = PendingItem(id, 0, "step", False, 0, 0.0, row.tenant, row.task, row.task_number)
        assert await cascade.say(asked, Verdict("person", 0.25, 1.0, "by hand", "ada"))
        endpoint.say(hold=False)
        assert (await final(service, id))["decided_by"] == "person"
        await final(service, id, 1)
        await save(service, id, path)
    written(path.with_suffix(".yaml"), spec)
    endpoint.say(**NO)
    asking(stages(endpoint.url, "judge"))
    out = tmp_path / "out.jsonl"
    told = await summary(capfd, path.parent, "--out", out)
    assert told["asked"]["questions"] == 1
    first, second = lines(out)[1]["result"]["rewards"]
    assert (first["reward"], first["decided_by"]) == (0.25 * STAKE, "person")
    assert (second["reward"], second["decided_by"]) == (0.0, "judge")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param(
            ZeroDivisionError(),
            "the judge failed: ZeroDivisionError",
            marks=pytest.mark.slow,
            id="fails",
        ),
        pytest.param(
            says(None, 0.0, 1, again=True), "no answer in 0.1 s: so it says", id="is out of reach"
        ),
        pytest.param(says(None, 0.0, 1), "so it says", id="abstains"),
    ],
)
async def test_a_stage_without_an_answer_abstains(
    files: Path, asking: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch, said: Any, why: str
) -> None:
    """As in the service: null with its reason, when patience ends."""
    monkeypatch.setattr("api.rescoring.again.PATIENCE_S", 0.1)
    asking(Scripted(said))
    told = await summary(capfd, files, "--out", files.parent / "out.jsonl")
    assert (told["asked"]["questions"], told["asked"]["abstained"]) == (6, 6)
    rewards = [
        one for told in lines(files.parent / "out.jsonl")[1:] for one in told["result"]["rewards"]
    ]
    assert {(one["status"], one["reward"]) for one in rewards} == {("unscored", None)}
    assert all(why in one["reason"] for one in rewards)


async def test_a_stage_that_is_off_abstains(
    files: Path, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No judge was named: said at the start, and of each question."""
    monkeypatch.delenv("MILESTONED_JUDGE_URL", raising=False)
    assert await again(files) == 1
    shown = capfd.readouterr()
    assert "the judge is off: started without --judge" in shown.err
    assert "6 asked again: 0 answered, 6 abstained; 0 calls, cost 0\n" in shown.out


async def test_a_run_that_was_interrupted_asks_only_what_is_left(
    files: Path, endpoint: Endpoint, asking: Any, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither of the finished episodes nor of those that were in work; the bill is the whole
    run's."""
    out = files.parent / "out.jsonl"

    class Stopped(Scripted):
        async def ask(self, question: Question) -> Opinion:
            if len(self.said) == 1:
                raise asyncio.CancelledError  # as if somebody had pressed ctrl-C in its midst
            return await super().ask(question)

    monkeypatch.setattr("api.rescoring.again.EPISODES", 1)
    asking(Stopped(*[says(1.0, 0.01, 1)] * 4))
    with pytest.raises(asyncio.CancelledError):
        await again(files, "--out", out)
    part = out.with_name("out.jsonl.part")
    assert part.read_bytes().count(b"\n") == 2
    assert out.with_name("out.jsonl.asked").exists()
    judge = Scripted(says(1.0, 0.01, 1))
    asked: list[str] = []
    ask = judge.ask

    async def count(question: Question) -> Opinion:
        asked.append(question.episode)
        return await ask(question)

    judge.ask = count  # type: ignore[method-assign]
    asking(judge)
    told = await summary(capfd, files, "--out", out)
    assert told["asked"] == {
        "questions": 6,
        "answered": 6,
        "abstained": 0,
        "calls": 6,
        "cost": 0.06,
    }
    assert len(asked) == 3
    assert [one["result"]["total"] for one in lines(out)[1:]] == [2 * STAKE] * 3
    assert sorted(path.name for path in out.parent.glob("out*")) == ["out.jsonl"]
    await again(files, "--out", out)
    assert len(asked) == 9, "a run that is begun anew asks all"


async def test_the_arguments_are_those_of_serve(
    tmp_path: Path, endpoint: Endpoint, standin: Served, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real judge behind an OpenAI-compatible endpoint is asked, of recordings and of stored
    episodes."""
    spec = task(escalate="goal", rubric={"goal": ["The order is confirmed."]})
    text: Said = ("text.appeared", {"tab": "T", "frame": "T", "text": PROOF})
    endpoint.say(**NO)
    async with judged(Store(tmp_path / "service"), endpoint) as service:
        await recorded(service, spec, tmp_path / "files" / "0.mrec", [went("/"), text])
    monkeypatch.setenv("MILESTONED_JUDGE_MODEL", "honest")
    given = ["--judge", standin.url, "--stage-calls", 2, "--budget", "episode:calls=30"]
    assert await again(tmp_path / "files", *given) == 1
    shown = capfd.readouterr().out
    assert "total 0 → 0.6, success no → yes" in shown
    stored = ["rescore", "--stored", "--data", tmp_path / "service", "--ask-again", *given]
    assert await asyncio.to_thread(milestoned, *stored) == 1
    assert "success no → yes" in capfd.readouterr().out


REFUSED: list[tuple[str, Sequence[object], str]] = [
    ("nobody is asked", ["--judge", "http://127.0.0.1:9"], "wanted --ask-again with them"),
    (
        "no model",
        ["--ask-again", "--judge", "http://127.0.0.1:9"],
        "MILESTONED_JUDGE_MODEL: not set",
    ),
    ("no folder", ["--ask-again", "--model", "nowhere"], "--model nowhere: no folder there"),
]


@pytest.mark.parametrize(
    ("given", "says_so"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
async def test_what_is_asked_wrong_is_refused(
    files: Path, given: Sequence[object], says_so: str, capfd: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 2, by name."""
    monkeypatch.delenv("MILESTONED_JUDGE_MODEL", raising=False)
    spec = files / "0.yaml"
    run = ["rescore", files, "--task", spec, "--against", spec, *given]
    assert await asyncio.to_thread(milestoned, *run) == 2
    assert says_so in capfd.readouterr().err
