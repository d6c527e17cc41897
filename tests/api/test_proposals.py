"""Tasks proposed by the service from recordings that are sent to it: by what the command proposes,
in a process of its own, and with a name for all that is refused."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.cli.main import main
from api.proposal.apart import ApartProposer, ProposalBudget
from api.proposal.requested import (
    MAX_EVENTS,
    ProposalRequest,
    RequestedRecording,
    answer_request,
)
from api.replay.task_tests import BadTestError
from api.tasks.task_files import load_task_yaml
from detectors.model.codec import encode_event
from detectors.model.json_value import JsonObject
from tests.api.service import Service, events, frames
from tests.support.logs import Said, clicked, episode, filled, finished, log, went


def order(item: str = "lamp") -> list[list[Said]]:
    body = {"text": f"item={item}", "mime": "application/x-www-form-urlencoded"}
    return [[went("/shop")], [clicked("Order")], [finished("POST", "/orders/7", 200, body=body)]]


def packed(name: str, outcome: str, *steps: Sequence[Said]) -> dict[str, str]:
    content = b"".join(frames(events("ep_1", *episode(*steps)), [3]))
    return {"name": name, "outcome": outcome, "frames": base64.b64encode(content).decode()}


def lines(name: str, outcome: str, *steps: Sequence[Said]) -> dict[str, str]:
    told = [
        encode_event(one.seq, one.source, one.kind, one.at, one.data).decode()
        for one in log(*episode(*steps))
    ]
    return {"name": name, "outcome": outcome, "lines": "\n".join(told)}


GOOD = packed("good.mrec", "good", *order())
ASKED = {
    "recordings": [GOOD, lines("good.jsonl", "good", *order()), packed("bad.mrec", "bad", *order("desk"))],
    "instruction": "Order the lamp.",
    "id": "shop/order",
}  # fmt: skip


async def test_a_task_is_proposed_and_can_be_registered(service: Service) -> None:
    sent = await service.post("/v1/tasks:propose", ASKED)
    assert sent.status_code == 200, sent.text
    told = sent.json()
    assert (told["good"], told["bad"], told["decided"], told["notes"]) == (2, 1, True, [])
    task = load_task_yaml(told["yaml"])
    assert (task.id, task.instruction, task.origin) == (
        "shop/order", "Order the lamp.", "http://shop.test",
    )  # fmt: skip
    named = {one["id"]: one for one in told["milestones"]}
    assert [*named, "done"] == [one.id for one in task.milestones]
    weights = {one.id: one.weight for one in task.milestones}
    assert {name: one["weight"] for name, one in named.items()} == {
        name: weights[name] for name in named
    }
    sent_order = named["request-post-orders"]
    assert (sent_order["in_good"], sent_order["in_bad"]) == (2, 0)
    assert (sent_order["recording"], sent_order["event"]) == ("good.mrec", 7)
    assert set(told["limits"]) == {"bad.mrec"}
    assert 0 < told["limits"]["bad.mrec"] < 0.4 + 1e-9
    assert await service.rows("tasks") == 0, "nothing is stored"
    made = await service.call(
        "POST", "/v1/tasks", content=told["yaml"], headers={"content-type": "application/yaml"}
    )
    assert made.status_code == 201, made.text


def changed(**more: Any) -> dict[str, Any]:
    return {"recordings": [{**GOOD, **more}]}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": ({}, "recordings"),
    "no recording": ({"recordings": []}, "recordings"),
    "too many": ({"recordings": [{**GOOD, "name": f"{n}"} for n in range(21)]}, "recordings"),
    "an outcome": (changed(outcome="fine"), "recordings[0].outcome"),
    "two contents": (changed(lines="x"), "recordings[0]"),
    "no content": (changed(frames=None), "recordings[0]"),
    "no base64": (changed(frames="%%%"), "recordings[0]"),
    "no frames": (changed(frames=base64.b64encode(b"abc").decode()), "recordings[0]"),
    "no lines": (changed(frames=None, lines="{"), "recordings[0]"),
    "one name": ({"recordings": [GOOD, GOOD]}, "recordings[1].name"),
    "no success": (changed(outcome="bad"), "recordings"),
    "nothing shared": (
        {"recordings": [packed("a", "good", [went("/a")]), packed("b", "good", [clicked("B")])]},
        "recordings",
    ),
    "an id": ({**ASKED, "id": "a b"}, "id"),
    "another member": ({**ASKED, "weights": {}}, "weights"),
}


@pytest.mark.parametrize(("body", "path"), REFUSED.values(), ids=list(REFUSED))
async def test_what_is_refused_is_named(service: Service, body: dict[str, Any], path: str) -> None:
    sent = await service.post("/v1/tasks:propose", body)
    assert sent.status_code == 422, sent.text
    assert path in [one["path"] for one in sent.json()["errors"]]


async def test_a_request_is_bounded(service: Service) -> None:
    limit = 2 * service.app.state.parts.settings.limits.frame_bytes
    sent = await service.call("POST", "/v1/tasks:propose", content=b" " * (limit + 1))
    assert sent.status_code == 413


def test_events_of_all_recordings_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_EVENTS == 50_000
    monkeypatch.setattr("api.proposal.requested.MAX_EVENTS", 10)
    recordings = [
        {"name": one["name"], "outcome": "good", "content": {"frames": one["frames"]}}
        for one in (GOOD, {**GOOD, "name": "again.mrec"})
    ]
    request = {"recordings": recordings, "instruction": "", "id": "a", "origin": None}
    told: Any = answer_request(orjson.dumps(request))["problem"]
    path, value, wanted = told
    assert (path, wanted) == ("recordings[1]", "events, at most 10 in all recordings")
    assert int(value) == 2 * 8


def long_request(steps: int) -> ProposalRequest:
    """A request that takes seconds: one success of many steps."""
    step = [
        went("/shop"),
        clicked("Order"),
        filled("Amount", "2"),
        finished("POST", "/orders/7", 200),
    ]
    recording = lines("long.jsonl", "good", *([step] * steps))
    content: JsonObject = {"lines": recording["lines"]}
    recordings: list[RequestedRecording] = [
        {"name": "long.jsonl", "outcome": "good", "content": content}
    ]
    return {"recordings": recordings, "instruction": "", "id": "a", "origin": None}


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        (ProposalBudget(cpu_s=1), "1 s of a core"),
        (ProposalBudget(memory=64 << 20), "64 MiB of memory"),
        (ProposalBudget(deadline_s=0.01), "0.01 s"),
    ],
    ids=["processor", "memory", "deadline"],
)
async def test_what_exceeds_a_budget_is_refused_with_that_budget(
    budget: ProposalBudget, limit: str
) -> None:
    with pytest.raises(BadTestError) as refused:
        await ApartProposer(budget=budget).propose(long_request(4_000))
    assert refused.value.wanted == f"recordings of which a task is made within {limit}"


def children() -> set[int]:
    """The processes that this one started."""
    files = Path("/proc/self/task").glob("*/children")
    return {int(pid) for file in files for pid in file.read_text().split()}


async def test_a_crash_of_the_process_is_no_refusal_of_the_recordings(service: Service) -> None:
    """The real process is killed while it starts: the caller hears of a fault of the service, and
    the next request is answered."""
    before = children()
    asked = asyncio.create_task(service.post("/v1/tasks:propose", ASKED))
    while not (started := children() - before):
        assert not asked.done(), asked.result().text
        await asyncio.sleep(0.005)
    for pid in started:
        os.kill(pid, signal.SIGKILL)
    sent = await asked
    assert sent.status_code == 500
    problem = sent.json()
    assert problem["type"] == "urn:milestoned:problem:proposer-crashed"
    assert "ended with SIGKILL, expected a proposal" in problem["detail"]
    again = await service.post("/v1/tasks:propose", ASKED)
    assert again.status_code == 200, again.text


async def test_of_a_failure_that_is_not_known_nobody_says_what_it_earns(service: Service) -> None:
    gap: list[Said] = [("gap.began", {"source": "cdp", "reason": "lost"})]
    recordings = [GOOD, packed("bad.mrec", "bad", [went("/shop")], gap)]
    sent = await service.post("/v1/tasks:propose", {"recordings": recordings})
    assert sent.status_code == 200, sent.text
    assert sent.json()["limits"] == {"bad.mrec": None}


def run_of(item: str, amount: str, *, sent: str | None = None) -> list[list[Said]]:
    """A run that orders an amount of an item, or of another one (``sent``)."""
    form = f"item={sent or item}&amount={amount}"
    body = {"text": form, "mime": "application/x-www-form-urlencoded"}
    return [
        [went(f"/products/{item}")],
        [filled("Amount", amount), clicked("Order")],
        [finished("POST", "/orders", 200, body=body)],
    ]


TOLD = {
    "good-1.jsonl": ("lamp", "2", None),
    "good-2.jsonl": ("chair", "11", None),
    "good-3.jsonl": ("desk", "5", None),
    "bad-1.jsonl": ("lamp", "2", "rug"),
}


async def test_a_proposed_template_judges_an_instance_that_it_never_saw(
    service: Service, tmp_path: Path
) -> None:
    """From recordings to a template, from its values to a registered task, from an episode to its
    reward: right for what was asked, and nothing of the goal for another item."""

    def propose() -> str:
        for name, (item, amount, sent) in TOLD.items():
            recorded = lines(name, "", *run_of(item, amount, sent=sent))["lines"]
            (tmp_path / name).write_text(recorded + "\n")
        told = [f"{name}: Order {one[1]} of the {one[0]}.\n" for name, one in TOLD.items()]
        (tmp_path / "told.yaml").write_text("".join(told))
        out = tmp_path / "order.yaml"
        words = [w for name in TOLD for w in (_option(name), str(tmp_path / name))]
        words += ["--instructions", str(tmp_path / "told.yaml"), "--out", str(out)]
        words += ["--instruction", "Order {amount} of the {item}.", "--id", "shop/order"]
        assert main(["task", "propose", *words]) == 0
        assert main(["task", "test", str(out)]) == 0
        return out.read_text().partition("\ntests:")[0]

    template = await asyncio.to_thread(propose)
    kind = {"content-type": "application/yaml"}
    bare = await service.call("POST", "/v1/tasks", content=template, headers=kind)
    assert bare.status_code == 422, "a template is registered with its values"
    content = template + "\nvalues: {amount: 7, item: stool}\n"
    sent = await service.call("POST", "/v1/tasks", content=content, headers=kind)
    assert sent.status_code == 201, sent.text
    named = {"task": "shop/order", "version": sent.json()["version"]}
    outcomes = []
    for item in ("stool", "rug"):
        opened = (await service.post("/v1/episodes", named)).json()
        steps = episode(*run_of("stool", "7", sent=item))
        await service.tell(opened["episode"], opened["token"], *steps)
        told = (await service.get(f"/v1/episodes/{opened['episode']}")).json()
        outcomes.append((told["success"], round(told["total"], 6)))
    assert outcomes[0] == (True, 1.0)
    assert outcomes[1][0] is False
    assert outcomes[1][1] <= 0.4


def _option(name: str) -> str:
    return "--against" if name.startswith("bad") else "--from"
