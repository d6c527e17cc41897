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

import pytest

from api.cli.main import main
from api.proposal.answering import answer_request
from api.proposal.apart import ApartProposer, ProposalBudget
from api.proposal.requested import MAX_EVENTS, ProposalRequest, RequestedRecording
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
    "an origin": ({**ASKED, "origin": "shop"}, "origin"),
    "an origin with a path": ({**ASKED, "origin": "http://shop.test/a b"}, "origin"),
    "a long instruction": ({**ASKED, "instruction": "x" * 10_001}, "instruction"),
    "one told and one not": (
        {"recordings": [{**GOOD, "instruction": "Order."}, {**GOOD, "name": "b.mrec"}]},
        "recordings[1].instruction",
    ),
    "no instance of the template": (
        {
            "recordings": [
                {**packed("a.mrec", "bad", *order()), "instruction": "Order the lamp."},
                {**GOOD, "instruction": "Buy a desk."},
            ],
            "instruction": "Order the {item}.",
        },
        "recordings[1].instruction",
    ),
    "no word shared": (
        {
            "recordings": [
                {**GOOD, "instruction": "Order"},
                {**GOOD, "name": "b.mrec", "instruction": "Buy"},
            ]
        },
        "recordings",
    ),
    "an empty instruction": (
        {"recordings": [{**GOOD, "instruction": ""}]},
        "recordings[0].instruction",
    ),
    "another member": ({**ASKED, "weights": {}}, "weights"),
}


@pytest.mark.parametrize(("body", "path"), REFUSED.values(), ids=list(REFUSED))
async def test_what_is_refused_is_named(service: Service, body: dict[str, Any], path: str) -> None:
    sent = await service.post("/v1/tasks:propose", body)
    assert sent.status_code == 422, sent.text
    assert [one["path"] for one in sent.json()["errors"]] == [path]


async def test_where_nothing_is_shared_it_is_named_what_each_recording_has(
    service: Service,
) -> None:
    body, _ = REFUSED["nothing shared"]
    refused = await service.post("/v1/tasks:propose", body)
    said = "tell; a: it alone has page /a; b: it alone has click button B"
    assert said in refused.text


async def test_a_request_is_bounded(service: Service) -> None:
    limit = 2 * service.app.state.parts.settings.limits.frame_bytes
    sent = await service.call("POST", "/v1/tasks:propose", content=b" " * (limit + 1))
    assert sent.status_code == 413


def test_events_of_all_recordings_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_EVENTS == 50_000
    monkeypatch.setattr("api.proposal.requested.MAX_EVENTS", 10)
    recordings: list[RequestedRecording] = [
        {
            "name": one["name"],
            "outcome": "good",
            "content": {"frames": one["frames"]},
            "instruction": None,
        }
        for one in (GOOD, {**GOOD, "name": "again.mrec"})
    ]
    request: ProposalRequest = {
        "recordings": recordings,
        "instruction": "",
        "id": "a",
        "origin": None,
    }
    told: Any = answer_request(request)["problem"]
    path, value, wanted = told
    assert (path, wanted) == ("recordings[1]", "events, at most 10 in all recordings")
    assert int(value) == 2 * 8


def long_request(steps: int, kinds: int = 1) -> ProposalRequest:
    """A request of one success of many steps, of so many kinds; of 1,000 kinds it takes seconds."""
    done = [
        [
            went(f"/shop/{step % kinds}"),
            clicked(f"Order {step % kinds}"),
            filled("Amount", "2"),
            finished("POST", f"/orders/{step % kinds}", 200),
        ]
        for step in range(steps)
    ]
    recording = lines("long.jsonl", "good", *done)
    content: JsonObject = {"lines": recording["lines"]}
    recordings: list[RequestedRecording] = [
        {"name": "long.jsonl", "outcome": "good", "content": content, "instruction": None}
    ]
    return {"recordings": recordings, "instruction": "", "id": "a", "origin": None}


@pytest.mark.parametrize(
    ("budget", "request_of", "limit"),
    [
        (ProposalBudget(cpu_s=1), (2_000, 1_000), "1 s of a core"),
        (ProposalBudget(memory=64 << 20), (4_000,), "64 MiB of memory"),
        (ProposalBudget(deadline_s=0.01), (4,), "0.01 s"),
    ],
    ids=["processor", "memory", "deadline"],
)
async def test_what_exceeds_a_budget_is_refused_with_that_budget(
    budget: ProposalBudget, request_of: tuple[int, ...], limit: str
) -> None:
    with pytest.raises(BadTestError) as refused:
        await ApartProposer(budget=budget).propose("one", long_request(*request_of))
    assert refused.value.wanted == f"recordings of which a task is made within {limit}"


async def test_many_requests_of_a_tenant_hold_up_another_s_by_one() -> None:
    proposer, order = ApartProposer(), []

    async def propose(tenant: str) -> None:
        await proposer.propose(tenant, long_request(4))
        order.append(tenant)

    first = [asyncio.create_task(propose("many")) for _ in range(4)]
    await asyncio.sleep(0)  # they wait before the other asks
    await asyncio.gather(*first, propose("one"))
    assert order == ["many", "one", "many", "many", "many"]


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
TEMPLATE = "Order {amount} of the {item}."


def instance(name: str) -> dict[str, str]:
    """A run of the template as it is sent, with what the agent was told in it."""
    item, amount, sent = TOLD[name]
    outcome = "bad" if name.startswith("bad") else "good"
    recording = lines(name, outcome, *run_of(item, amount, sent=sent))
    return {**recording, "instruction": f"Order {amount} of the {item}."}


def propose_by_command(folder: Path) -> str:
    """The task file that the command writes of the template's recordings in a folder."""
    for name in TOLD:
        (folder / name).write_text(instance(name)["lines"] + "\n")
    told = [f"{name}: {instance(name)['instruction']}\n" for name in TOLD]
    (folder / "told.yaml").write_text("".join(told))
    out = folder / "order.yaml"
    words = [w for name in TOLD for w in (_option(name), str(folder / name))]
    words += ["--instructions", str(folder / "told.yaml"), "--out", str(out)]
    words += ["--instruction", TEMPLATE, "--id", "shop/order"]
    assert main(["task", "propose", *words]) == 0
    assert main(["task", "test", str(out)]) == 0
    return out.read_text()


async def test_the_service_and_the_command_propose_the_same_template(
    service: Service, tmp_path: Path
) -> None:
    """Whatever the order of the recordings; with the same tests, which are of the example alone."""
    written = await asyncio.to_thread(propose_by_command, tmp_path)
    for names in (list(TOLD), list(reversed(TOLD))):
        body = {
            "id": "shop/order",
            "instruction": TEMPLATE,
            "recordings": [instance(one) for one in names],
        }
        sent = await service.post("/v1/tasks:propose", body)
        assert sent.status_code == 200, sent.text
        told = sent.json()
        if names == list(TOLD):
            assert told["yaml"] == written
        assert sorted(told["limits"]) == ["bad-1.jsonl"]
        assert [list(one) for one in told["tests"]] == [["oracle"], ["adversarial", "at_most"]]
        assert {one.get("oracle") or one["adversarial"] for one in told["tests"]} == {
            "good-1.jsonl",
            "bad-1.jsonl",
        }
        task = load_task_yaml(told["yaml"])
        assert (task.instruction, task.version) == ("Order 2 of the lamp.", "1+example")
    found = await service.post("/v1/tasks:propose", {"recordings": body["recordings"]})
    assert "instruction: Order {order} of the {order_2}.\n" in found.json()["yaml"]


async def test_the_tests_of_an_answer_are_run_by_the_command(
    service: Service, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Recordings are files of the names in the answer, which end as what they hold."""
    recordings = [
        {**GOOD, "name": "good"},
        lines("right.mrec", "good", *order()),
        packed("bad.jsonl", "bad", *order("desk")),
        packed(
            "gap.mrec", "bad", [went("/shop")], [("gap.began", {"source": "cdp", "reason": "lost"})]
        ),
    ]
    told = (await service.post("/v1/tasks:propose", {**ASKED, "recordings": recordings})).json()
    assert [one.get("oracle") or one["adversarial"] for one in told["tests"]] == [
        "good.mrec", "right.mrec.jsonl", "bad.jsonl.mrec",
    ]  # fmt: skip
    assert set(told["limits"]) == {"bad.jsonl", "gap.mrec"}, "by the names that were sent"
    for test, one in zip(told["tests"], recordings, strict=False):
        file = tmp_path / (test.get("oracle") or test["adversarial"])
        text = one.get("lines")
        file.write_bytes(text.encode() if text else base64.b64decode(one["frames"]))
    (tmp_path / "order.yaml").write_text(told["yaml"])

    def run() -> int:
        return main(["task", "test", str(tmp_path / "order.yaml")])

    assert await asyncio.to_thread(run) == 0
    capsys.readouterr()
    worse = told["yaml"].replace(f"at_most: {told['tests'][2]['at_most']}", "at_most: 0.01")
    assert worse != told["yaml"]
    (tmp_path / "order.yaml").write_text(worse)
    assert await asyncio.to_thread(run) == 1, "the tests do look"


async def test_a_proposed_template_judges_an_instance_that_it_never_saw(
    service: Service, tmp_path: Path
) -> None:
    """From recordings to a template, from its values to a registered task, from an episode to its
    reward: right for what was asked, and nothing of the goal for another item."""

    written = await asyncio.to_thread(propose_by_command, tmp_path)
    template = written.partition("\ntests:")[0]
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
