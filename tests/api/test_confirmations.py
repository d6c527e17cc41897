"""Drafts that the service holds against recordings that are sent to it: what they confirm is a task
as the command writes it, and what does not is named."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from api.auth.store import Terms
from api.cli.main import main
from api.proposal.drafting import DRAFT_MARK, read_draft, write_draft
from api.proposal.writing import TaskHead
from api.tasks.task_files import load_task_yaml
from tests.api.service import Service
from tests.api.test_proposals import lines, packed
from tests.support.logs import Said, clicked, episode, finished, went

ANSWER = """{"milestones": [
 {"id": "cart", "why": "", "when": {"url_reached": {"url": "/cart"}}},
 {"id": "wish", "why": "", "when": {"url_reached": {"url": "/wishes"}}},
 {"id": "sent", "why": "", "when": {"request_accepted": {"method": "POST", "url": "/orders/*"}}}],
 "goal": ["sent"]}"""
DRAFT = write_draft(
    TaskHead("shop/order", "Order the lamp.", "http://shop.test"), read_draft(ANSWER), "a-model"
)


def run(*, sent: bool) -> Sequence[Sequence[Said]]:
    return [
        [went("/cart")],
        [clicked("Buy"), *([finished("POST", "/orders/7", 201)] if sent else [])],
    ]


GOOD, BAD = (
    lines("good.jsonl", "good", *run(sent=True)),
    lines("bad.jsonl", "bad", *run(sent=False)),
)
ASKED = {"draft": DRAFT, "recordings": [GOOD, BAD]}


def confirm_by_command(folder: Path) -> str:
    """The task file that the command writes of the draft and the same recordings."""
    for one in (GOOD, BAD):
        (folder / one["name"]).write_text(one["lines"] + "\n")
    draft, out = folder / "draft.yaml", folder / "order.yaml"
    draft.write_text(DRAFT)
    words = ["--from", str(folder / "good.jsonl"), "--against", str(folder / "bad.jsonl")]
    assert main(["task", "propose", *words, "--draft", str(draft), "--out", str(out)]) == 0
    assert main(["task", "test", str(out)]) == 0
    return out.read_text()


async def test_recordings_confirm_a_draft_as_by_the_command(
    service: Service, tmp_path: Path
) -> None:
    written = await asyncio.to_thread(confirm_by_command, tmp_path)
    for recordings in ([GOOD, BAD], [BAD, GOOD]):
        sent = await service.post("/v1/tasks:confirm", {**ASKED, "recordings": recordings})
        assert sent.status_code == 200, sent.text
        told = sent.json()
        assert told["yaml"] == written
    assert (told["good"], told["bad"]) == (1, 1)
    assert told["left_out"] == [{"id": "wish", "why": "not reached in good.jsonl"}]
    assert told["milestones"] == [
        {"id": "cart", "in_good": 1, "in_bad": 1, "unknown_bad": 0},
        {"id": "sent", "in_good": 1, "in_bad": 0, "unknown_bad": 0},
        {"id": "done", "in_good": 1, "in_bad": 0, "unknown_bad": 0},
    ]
    assert 0 < told["limits"]["bad.jsonl"] < 0.4
    assert [list(one) for one in told["tests"]] == [["oracle"], ["adversarial", "at_most"]]
    assert load_task_yaml(told["yaml"]).version == "1"
    assert DRAFT_MARK not in told["yaml"]
    assert await service.rows("tasks") == 0, "nothing is stored"


async def test_a_failure_with_a_gap_is_counted_as_unknown_and_is_no_test(service: Service) -> None:
    gap: Said = ("gap.began", {"source": "cdp", "reason": "lost"})
    dark = packed("dark.mrec", "bad", [went("/cart")], [gap])
    sent = await service.post("/v1/tasks:confirm", {**ASKED, "recordings": [GOOD, dark]})
    assert sent.status_code == 200, sent.text
    told = sent.json()
    assert told["limits"] == {"dark.mrec": None}
    assert {one["id"]: one["unknown_bad"] for one in told["milestones"]} == {
        "cart": 0, "sent": 1, "done": 1,
    }  # fmt: skip
    assert told["tests"] == [{"oracle": "good.jsonl"}]


async def test_a_failure_that_was_cut_off_is_noted_and_is_no_test(service: Service) -> None:
    cut = lines("cut.jsonl", "bad", *run(sent=False))
    cut["lines"] = cut["lines"].rpartition("\n")[0]
    sent = await service.post("/v1/tasks:confirm", {**ASKED, "recordings": [GOOD, cut]})
    told = sent.json()
    [note] = told["notes"]
    assert "cut.jsonl was not recorded to its end" in note
    assert f"# Note: {note}.\n" in told["yaml"]
    assert told["tests"] == [{"oracle": "good.jsonl"}]


def draft(old: str, new: str) -> dict[str, Any]:
    assert old in DRAFT
    return {**ASKED, "draft": DRAFT.replace(old, new)}


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no draft": ({**ASKED, "draft": ""}, "draft", "at least 1"),
    "no task": ({**ASKED, "draft": "id: [x"}, "draft", ""),
    "a wrong task": (draft("url: /cart", "url: cart"), "draft.milestones[0].when.url_reached.url", "/"),
    "no draft's version": (draft("1-draft", "1"), "draft.version", "that of a draft"),
    "tests of its own": (
        {**ASKED, "draft": DRAFT + "tests:\n  - oracle: a.mrec\n"},
        "draft",
        "expected none in a draft",
    ),
    "no success": ({**ASKED, "recordings": [BAD]}, "recordings", "one at least whose outcome is good"),
    "no frames": (
        {**ASKED, "recordings": [GOOD, {**BAD, "lines": "{"}]},
        "recordings[1]",
        "event",
    ),
    "a success without the goal": (
        {**ASKED, "recordings": [GOOD, {**BAD, "outcome": "good"}]},
        "recordings[1]",
        "a success to reach it; missing: sent",
    ),
    "a failure with the goal": (
        {**ASKED, "recordings": [GOOD, {**GOOD, "name": "again.jsonl", "outcome": "bad"}]},
        "recordings[1]",
        "no failure to",
    ),
    "an instruction": (
        {**ASKED, "recordings": [{**GOOD, "instruction": "Order."}]},
        "recordings[0].instruction",
        "",
    ),
    "a draft without a goal": (
        {**ASKED, "draft": DRAFT.partition("  - id: done")[0]},
        "draft",
        "one, which a success reaches",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "path", "wanted"), REFUSED.values(), ids=list(REFUSED))
async def test_what_is_refused_is_named(
    service: Service, body: dict[str, Any], path: str, wanted: str
) -> None:
    sent = await service.post("/v1/tasks:confirm", body)
    assert sent.status_code == 422, sent.text
    [error] = sent.json()["errors"]
    assert error["path"] == path
    assert wanted in error["wanted"]


async def test_a_draft_is_no_larger_than_a_task(service: Service) -> None:
    limit = service.app.state.parts.settings.limits.task_bytes
    body = {**ASKED, "draft": DRAFT + "#" * limit}
    sent = await service.post("/v1/tasks:confirm", body)
    assert sent.status_code == 422, sent.text
    assert sent.json()["errors"][0]["wanted"] == f"at most {limit}"


async def stored(service: Service, *, sent: bool, close: bool = True) -> str:
    """The id of an episode of the draft, which the service took as a task."""
    headers = {"content-type": "application/yaml"}
    await service.call("POST", "/v1/tasks", content=DRAFT, headers=headers)
    opened = (await service.post("/v1/episodes", {"task": "shop/order"})).json()
    await service.tell(opened["episode"], opened["token"], *episode(*run(sent=sent), close=close))
    return str(opened["episode"])


async def test_stored_episodes_confirm_the_draft_that_they_ran_under(service: Service) -> None:
    """As their recordings do; and a task is proposed from them."""
    good, bad = [await stored(service, sent=sent) for sent in (True, False)]
    recordings = [
        {"name": "good.mrec", "outcome": "good", "episode": good},
        {"name": "bad.mrec", "outcome": "bad", "episode": bad},
    ]
    sent = await service.post("/v1/tasks:confirm", {**ASKED, "recordings": recordings})
    assert sent.status_code == 200, sent.text
    inline = [
        packed("good.mrec", "good", *run(sent=True)),
        packed("bad.mrec", "bad", *run(sent=False)),
    ]
    told = (await service.post("/v1/tasks:confirm", {**ASKED, "recordings": inline})).json()
    assert sent.json() == told
    proposed = await service.post("/v1/tasks:propose", {"recordings": recordings})
    assert proposed.status_code == 200, proposed.text
    assert proposed.json()["decided"]


async def test_an_episode_is_read_with_its_own_rights_and_when_it_has_ended(
    service: Service,
) -> None:
    tokens = service.app.state.parts.tokens
    _, author = await tokens.create("tasks", "author")
    _, other = await tokens.create("admin", "other", Terms("other"))
    closed, running = [await stored(service, sent=True, close=close) for close in (True, False)]

    async def ask(id: str, path: str, **more: Any) -> Any:
        recording = {"name": "a.mrec", "outcome": "good", "episode": id}
        draft = {"draft": DRAFT} if path.endswith("confirm") else {}
        return await service.post(path, {**draft, "recordings": [GOOD, recording]}, **more)

    for path in ("/v1/tasks:confirm", "/v1/tasks:propose"):
        assert (await ask(closed, path)).status_code == 200
        forbidden = await ask(closed, path, token=author)
        assert forbidden.status_code == 403
        assert "recordings[1].episode: the token's scope is tasks" in forbidden.json()["detail"]
        assert (await ask(closed, path, token=other)).status_code == 404
        assert (await ask("ep_0", path)).status_code == 404
        refused = await ask(running, path)
        assert refused.status_code == 422
        [error] = refused.json()["errors"]
        assert (error["path"], error["wanted"]) == ("recordings[1].episode", "a closed episode")


@pytest.mark.parametrize(
    ("limit", "value", "says"),
    [("MAX_EVENTS", 3, "at most 3 events"), ("FRAMES", 0, "at most 0 bytes of episodes in all")],
)
async def test_episodes_of_a_request_are_bounded(
    service: Service, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, says: str
) -> None:
    good = await stored(service, sent=True)
    monkeypatch.setattr(f"api.http.sent_recordings.{limit}", value)
    recordings = [{"name": "good.mrec", "outcome": "good", "episode": good}]
    sent = await service.post("/v1/tasks:confirm", {**ASKED, "recordings": recordings})
    assert sent.status_code == 422
    [error] = sent.json()["errors"]
    assert (error["path"], error["wanted"]) == ("recordings[0].episode", says)
