"""Explanations, reports and health over the wire and from the command line, of episodes that were
really told."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from api.audit.report_text import as_report_text
from api.auth.store import Terms
from api.cli.main import main
from tests.api.audit.audited import sign, tamper, told, whole
from tests.api.service import TASK, Service, Store, running
from tests.support.logs import Said, clicked, filled, sealed, went

FARM: dict[str, Any] = {
    **TASK,
    "id": "shop/farm",
    "milestones": [
        {"id": "cart", "when": {"url_reached": {"url": "/cart"}}},
        {"id": "look", "repeat": 10, "weight": 10, "when": {"element_clicked": {"role": "button"}}},
        {"id": "buy", "when": {"element_clicked": {"role": "button", "name": "Buy"}}},
        {"id": "sell", "when": {"element_clicked": {"role": "button", "name": "Sell"}}},
        {"id": "done", "when": {"goal": {"requires": ["buy"]}}},
    ],
}
GAP: list[Said] = [
    ("gap.began", {"source": "cdp", "reason": "gone"}),
    ("gap.ended", {"source": "cdp"}),
]
ODD = "file:///srv/gold/<b>answers</b>.json"


async def played(service: Service, policy: str, *steps: list[Said]) -> str:
    """A closed episode of FARM with that label."""
    assert (await service.post("/v1/tasks", FARM)).status_code in (200, 201)
    opened = (
        await service.post("/v1/episodes", {"task": FARM["id"], "labels": {"policy": policy}})
    ).json()
    await service.tell(
        opened["episode"], opened["token"], *[one for one in whole(*steps) if one[0] != "x"]
    )
    return str(opened["episode"])


async def test_a_reward_explains_itself(service: Service) -> None:
    secret: Said = filled("Password", "••••")
    id = await told(service, [went("/cart"), secret, sealed(0)], [clicked("Buy")])
    early = await service.get(f"/v1/episodes/{id}/steps/9/explanation")
    assert (early.status_code, early.json()["last_step"]) == (404, 1)
    await sign(service)
    said = (await service.get(f"/v1/episodes/{id}/steps/1/explanation")).json()
    assert said["reward"]["reward"] == (await service.reward(id, 1)).json()["reward"]
    buy = said["milestones"][0]
    assert (buy["id"], buy["rule"], buy["declared"]) == (
        "buy",
        "element_clicked",
        {**buy["declared"], "id": "buy"},
    )
    assert [event["kind"] for event in buy["events"]] == ["element.clicked"]
    assert buy["events"][0]["data"]["element"]["name"] == "Buy"
    assert said["opened"]["by"]["scope"] == "admin"
    assert "hash" not in str(said["opened"])
    assert [v["stage"] for v in said["verdicts"]] == ["rule"]
    assert said["signed"]["statement"]["episode"] == id
    assert said["signed"]["checkpoints"][0].startswith(f"milestoned/episodes/{id}\n")
    assert said["edge"] is None


async def test_an_episode_is_verified_over_the_wire(service: Service) -> None:
    id = await told(service)
    await sign(service)
    said = (await service.get("/v1/audit/verify", params={"episode": id})).json()
    assert (said["verified"], said["differences"], said["rewards"], said["events"]) == (
        True,
        [],
        3,
        10,
    )
    await tamper(service, "UPDATE rewards SET reward = 0.9 WHERE episode = :id AND step = 1", id=id)
    said = (await service.get("/v1/audit/verify", params={"episode": id})).json()
    assert (said["verified"], [one["what"] for one in said["differences"]]) == (
        False,
        ["reward of step 1.reward"],
    )
    assert (await service.get("/v1/audit/verify")).status_code == 422
    assert (
        await service.get("/v1/audit/verify", params={"episode": "ep_nobody"})
    ).status_code == 404


async def test_a_report_says_what_was_paid_masked_and_tampered_with(service: Service) -> None:
    await played(service, "v1", [went("/cart"), clicked("Buy")], [*GAP])
    odd = await played(service, "v1", [went("/cart")], [went(ODD)])
    await service.open()
    await sign(service)
    report = (await service.get("/v1/audit/report", params={"task": FARM["id"]})).json()
    assert report["episodes"] == {"closed": 2}
    task = report["tasks"][0]
    assert (task["closed"], task["steps"], task["masked_steps"]) == (2, 4, 1)
    assert (task["always_hit"], task["never_hit"]) == (["cart"], ["sell"])
    assert task["never_loaded"] == [], "what nobody reached is no address"
    # The one with a masked step is not counted: nobody knows what was reached in it beside what was
    # seen.
    assert {one["id"]: one["hit_rate"] for one in task["milestones"]} == {
        "cart": 1, "look": 0, "buy": 0, "sell": 0, "done": 0
    }  # fmt: skip
    assert "(means and rates leave out what is not known)" in as_report_text(report)
    assert report["masks"] == [{"cause": "cdp: gone", "steps": 1, "while_acting": 1, "episodes": 1}]
    assert [
        (one["episode"], one["address"], one["names_a_secret"]) for one in report["tamper"]
    ] == [(odd, ODD, True)]
    assert (report["totals"]["judged"], report["totals"]["cost"]) == (0, 0)
    assert (await service.get("/v1/audit/report")).json()["episodes"] == {"closed": 2, "open": 1}


@pytest.mark.parametrize(
    ("query", "many"),
    [
        ({}, 3),
        ({"label": "policy=v2"}, 1),
        ({"label": "policy=v3"}, 0),
        ({"task": "nothing"}, 0),
        ({"status": "open"}, 0),
        ({"since": "2000-01-01"}, 3),
        ({"until": "2000-01-01"}, 0),
    ],
)
async def test_a_report_is_about_its_selection(
    service: Service, query: dict[str, str], many: int
) -> None:
    for policy in ("v1", "v1", "v2"):
        await played(service, policy, [clicked("Buy")])
    report = (await service.get("/v1/audit/report", params=query)).json()
    assert sum(report["episodes"].values()) == many
    assert report["selection"] == query


@pytest.mark.parametrize("query", [{"label": "policy"}, {"status": "gone"}, {"format": "pdf"}])
async def test_a_selection_that_is_none_is_refused(service: Service, query: dict[str, str]) -> None:
    assert (await service.get("/v1/audit/report", params=query)).status_code == 422


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags, self.text = list[tuple[str, Any]](), ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


async def test_the_page_needs_nothing_else_and_escapes_what_agents_wrote(service: Service) -> None:
    await played(service, "<i>v1</i>", [went(ODD)])
    await sign(service)
    answer = await service.get("/v1/audit/report", params={"format": "html"})
    page = _Page()
    page.feed(answer.text)
    assert {tag for tag, _ in page.tags} & {"script", "link", "img", "iframe", "b", "i"} == set()
    assert not any({"src", "href"} & set(attrs) for _, attrs in page.tags)
    assert ODD in page.text
    assert "<i>v1</i>" in page.text


async def test_health_is_of_what_was_really_played(service: Service) -> None:
    """v2 clicks about for more reward and reaches the goal as seldom as v1 did."""
    for policy, clicks in (("v1", 1), ("v2", 8)):
        for n in range(20):
            about = [clicked(f"Tab {k}") for k in range(clicks)]
            await played(
                service, policy, [went("/cart"), *about], [clicked("Buy")] if n % 4 == 0 else []
            )
        await sign(service)
    health = (await service.get("/v1/reports/health")).json()
    assert [(one["version"], one["episodes"], one["goal_rate"]) for one in health["versions"]] == [
        ("v1", 20, 0.25),
        ("v2", 20, 0.25),
    ]
    assert {one["name"] for one in health["alarms"]} == {"reward_without_goal", "milestone_farmed"}
    assert (await service.get("/v1/reports/health", params={"by": "nothing"})).json()[
        "alarms"
    ] == []
    shown = (await service.get("/metrics")).text
    assert 'milestoned_health_goal_rate{tenant="default",version="v2"} 0.25' in shown
    assert (
        'milestoned_health_alarm{alarm="milestone_farmed",tenant="default",version="v2"} 1.0'
        in shown
    )


async def test_one_tenant_reads_nothing_of_anothers(service: Service) -> None:
    id = await told(service)
    await sign(service)
    other = await service.app.state.parts.tokens.create("read", "", Terms("other"))
    report = (await service.get("/v1/audit/report", other[1])).json()
    assert (report["episodes"], report["tasks"]) == ({}, [])
    for path in (f"/v1/episodes/{id}/steps/0/explanation", f"/v1/audit/verify?episode={id}"):
        assert (await service.get(path, other[1])).status_code == 404


def run(capsys: Any, store: Store, *words: str) -> tuple[int, str, str]:
    """One command over the store: exit status, what it printed, what it said."""
    where = ["--data", str(store.folder), *(["--database", store.url] if store.url else [])]
    status = main(["audit", *words, *where])
    said = capsys.readouterr()
    return status, said.out, said.err


async def test_the_command_says_the_same(store: Store, tmp_path: Path, capsys: Any) -> None:
    import asyncio

    file = tmp_path / "notes"
    async with running(store, checkpoints=str(file)) as service:
        id = await told(service)
        await sign(service)

    async def command(*words: str) -> tuple[int, str, str]:
        return await asyncio.to_thread(run, capsys, store, *words)

    _, key, _ = await command("key")
    status, out, err = await command("verify", "--checkpoints", str(file), "--key", key.strip())
    assert (status, out) == (0, "")
    assert re.match(r"1 episodes, 10 events and 3 rewards recomputed .*: no differences", err)
    status, out, _ = await command("explain", id, "2")
    assert status == 0
    assert f"{id} step 2: +0.400, sealed, decided by rule" in out
    assert "buy by element_clicked version" in out
    status, out, _ = await command(
        "report", "--format", "html", "--out", str(tmp_path / "report.html")
    )
    assert (status, out) == (0, "")
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")
    (tmp_path / "report.html").write_text("somebody's")
    again = ["report", "--out", str(tmp_path / "report.html")]
    status, _, err = await command(*again)
    assert (status, (tmp_path / "report.html").read_text()) == (2, "somebody's")
    assert "is there already" in err
    assert (await command(*again, "--force"))[0] == 0
    assert (tmp_path / "report.html").read_text() != "somebody's"
    assert "goal rate 100.0%" in (await command("report"))[1]
    async with running(store) as service:
        await tamper(
            service, "UPDATE rewards SET reward = 0.9 WHERE episode = :id AND step = 1", id=id
        )
    status, out, _ = await command("verify", "--episode", id)
    assert (status, out) == (1, f"{id}: reward of step 1.reward: found 0.9, wanted 0.0\n")
    status, _, err = await command("explain", "ep_nobody", "0")
    assert (status, "ep_nobody" in err) == (1, True)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, 1),
        ({"since": "2020-01-01"}, 1),
        ({"until": "2020-01-01"}, 0),
        ({"since": "9999-12-31T23:59:59Z"}, 0),
        ({"since": "2020-01-01T00:00:00+14:00", "until": "9999-12-31T00:00:00-01:00"}, 1),
    ],
)
async def test_a_report_is_of_a_time(service: Service, query: dict[str, str], found: int) -> None:
    await told(service)
    await sign(service)
    report = await service.get("/v1/audit/report", params=query)
    assert sum(report.json()["episodes"].values()) == found


async def test_a_time_of_another_zone_is_that_time(service: Service) -> None:
    """Rows have theirs in UTC: an hour's difference is not read as text."""
    id = await told(service)
    await tamper(
        service, "UPDATE episodes SET opened_at = '2026-11-21T12:00:00.000Z' WHERE id = :id", id=id
    )
    for since, found in (("2026-11-21T12:30:00+01:00", 1), ("2026-11-21T11:30:00-01:00", 0)):
        report = await service.get("/v1/audit/report", params={"since": since})
        assert sum(report.json()["episodes"].values()) == found, since


@pytest.mark.parametrize(
    "said", ["yesterday", "01.11.2026", "2026-13-45", "", "\0", "0001-01-01T00:00:00+14:00"]
)
@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize("path", ["/v1/audit/report", "/v1/reports/health"])
async def test_what_is_no_time_is_refused(
    service: Service, path: str, name: str, said: str
) -> None:
    answer = await service.get(path, params={name: said})
    assert (answer.status_code, answer.json()["detail"].startswith(f"{name}: got ")) == (422, True)


def test_the_command_refuses_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "upgrade", "--data", str(tmp_path)]) == 0
    assert main(["audit", "report", "--data", str(tmp_path), "--since", "yesterday"]) == 2
    assert "since: got 'yesterday', wanted a date or time" in capsys.readouterr().err


def test_an_episode_that_is_not_there_is_what_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["db", "upgrade", "--data", str(tmp_path)]) == 0
    assert main(["audit", "explain", "ep_nowhere", "0", "--data", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "episode: ep_nowhere is not there\n"
