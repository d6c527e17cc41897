"""The pages of many episodes on their own wire: what each says, whose it is, what a form of theirs
may do."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from jsonschema import Draft202012Validator

from api.auth.store import Terms
from detectors.model.codec import sha256
from lab.training.preferences import SCHEMA
from tests.api.conftest import copies, postgres, postgres_schema, sqlite_schema, store
from tests.api.service import ADMIN, TASK, Service, Store, running
from tests.support.logs import Said, clicked, went

__all__ = ["copies", "postgres", "postgres_schema", "sqlite_schema", "store"]
HTML = {"accept": "text/html"}
OTHER = {
    **TASK,
    "version": "2",
    "milestones": [
        *TASK["milestones"][:2],
        {
            "id": "search",
            "when": {"url_reached": {"url": "/search"}},
        },
        TASK["milestones"][2],
    ],
}
GAP: Said = ("gap.began", {"source": "cdp", "reason": "the browser is gone"})
PAGES = (
    "/episodes", "/fleet", "/tasks", "/tasks/shop/cart", "/editor?task=shop/cart", "/training", "/label", "/audit",
    "/audit?verify={good}", "/compare", "/compare?a={good}&b={poor}", "/compare?a={good}&version=2",
    "/episodes/export", "/episodes/export?format=recordings", "/audit/report", "/label/preferences.zip",
)  # fmt: skip


class Shop:
    """A service with two policy versions: `good` reaches the goal, `poor` looks behind the scenes
    and is not seen."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.good = self.poor = ""

    async def fill(self) -> None:
        for task in (TASK, OTHER):
            await self.service.post("/v1/tasks", task)
        buys = [(went("/search"),), (went("/cart"), clicked("Buy"))]
        self.good = await self.run({"policy": "8", "greedy": True}, *buys)
        self.poor = await self.run(
            {"policy": "7"}, (went("/search"),), (went("file:///etc/rules.yaml"), GAP)
        )
        await self.service.app.state.parts.checkpointer.turn(head=True)

    async def run(self, labels: dict[str, Any], *steps: tuple[Said, ...]) -> str:
        body = {"task": TASK["id"], "version": "1", "labels": labels}
        opened = (await self.service.post("/v1/episodes", body)).json()
        said: list[Said] = [("episode.opened", {"task": TASK["id"], "digest": opened["digest"]})]
        for number, step in enumerate(steps):
            said += [("step.began", {"step": number, "action": {"says": f"deed {number}"}}), *step]
        said.append(("episode.closed", {"reason": "done"}))
        await self.service.tell(opened["episode"], opened["token"], *said)
        return str(opened["episode"])

    async def look(self, path: str, token: str = ADMIN) -> Any:
        path = path.format(good=self.good, poor=self.poor)
        return await self.service.get(path, None, headers={**HTML, "cookie": f"milestoned={token}"})

    async def send(
        self, path: str, token: str = ADMIN, origin: str | None = None, **fields: Any
    ) -> Any:
        headers = {**HTML, "cookie": f"milestoned={token}"} | ({"origin": origin} if origin else {})
        return await self.service.call("POST", path, None, data=fields, headers=headers)


@asynccontextmanager
async def open_shop(where: Store) -> AsyncIterator[Shop]:
    async with running(where) as service:
        found = Shop(service)
        await found.fill()
        yield found


@pytest.fixture
async def shop(tmp_path: Path) -> AsyncIterator[Shop]:
    async with open_shop(Store(tmp_path)) as found:
        yield found


async def test_every_page_says_what_there_is_and_nothing_of_it_to_another_tenant(
    store: Store,
) -> None:
    async with open_shop(store) as shop:
        await _walk(shop)


async def _walk(shop: Shop) -> None:
    tokens = shop.service.app.state.parts.tokens
    _, stranger = await tokens.create("admin", "of the others", Terms("other"))
    for path in PAGES:
        mine = await shop.look(path)
        assert mine.status_code == 200, (path, mine.text[:300])
        assert "default-src 'none'" in mine.headers["content-security-policy"]
        theirs = await shop.look(path, stranger)
        told = theirs.text if "zip" not in theirs.headers["content-type"] else ""
        assert "Put it into the cart" not in told, path
        assert "<td>environment</td>" not in told, path
        if "{good}" in path:
            assert (theirs.status_code, f"there is no episode {shop.good}" in told) == (
                404,
                True,
            ), path
        else:
            assert shop.good not in told, path


async def test_an_episode_says_what_is_not_known_to_be_reached_and_what_a_0_means(
    shop: Shop,
) -> None:
    """The poor one's last step was not seen: what it did not reach it may have reached there."""
    unknown = "not reached in a step that is known"
    pages = [(await shop.look(f"/episodes/{id}?step=0")).text for id in (shop.good, shop.poor)]
    good, poor = (" ".join(page.split()) for page in pages)
    assert unknown in poor
    assert unknown not in good
    assert "No milestone came true here." in good


async def test_whoever_only_reads_changes_nothing(shop: Shop) -> None:
    _, reader = await shop.service.app.state.parts.tokens.create("read", "a reader", Terms())
    for path in ("/editor", "/label"):
        assert (await shop.send(path, reader, text="x", first=shop.good)).status_code == 403
        assert (
            await shop.send(path, origin="https://evil.test", text="x", first=shop.good)
        ).status_code == 403
    assert "token of the scope" in (await shop.look("/editor?task=shop/cart", reader)).text


async def test_numbers_that_are_none_are_refused(shop: Shop) -> None:
    for event in ("9" * 19, "9" * 20, "9" * 5000, "-1", "x"):
        for path in ("/episodes/{good}", "/episodes/{good}/detail"):
            answer = await shop.look(f"{path}?event={event}")
            assert answer.status_code in (404, 422) or (
                path == "/episodes/{good}" and event == "9" * 19
            ), event
    for step in ("--5", "5-", "9" * 30):
        answer = await shop.send("/label", first=shop.good, step=step, choice="yes")
        assert (answer.status_code, "step: got" in answer.text) == (422, True)


async def test_a_page_that_missed_the_end_is_told_of_it(shop: Shop) -> None:
    """Between its rendering and its first connection, or while that was lost."""
    through = (await shop.service.get(f"/v1/episodes/{shop.good}")).json()["through"]
    closed = "event: closed\ndata: \n\n"
    for after, told in ((through, closed), (1, f"event: moved\nid: {through}\ndata: \n\n{closed}")):
        missed = await shop.look(f"/episodes/{{good}}/live?after={after}")
        assert (missed.status_code, missed.text) == (200, told)


async def test_training_tells_versions_apart(shop: Shop) -> None:
    text = (await shop.look("/training")).text
    rows = re.findall(r"<tr><td><a href=\"/episodes\?label=policy%3D(\d)\".*?</tr>", text, re.S)
    assert rows == ["7", "8"]
    assert "100.0%" in text
    assert "Judge's cost" in text or "Judge&#39;s cost" in text


async def test_the_audit_names_what_somebody_should_look_at(shop: Shop) -> None:
    text = (await shop.look("/audit")).text
    assert "signed, and hold" in text
    assert "file:///etc/rules.yaml" in text
    assert "<td>environment</td>" in text
    verified = (await shop.look("/audit?verify={good}")).text
    assert "verified</span> 1 episode" in verified
    report = await shop.look("/audit/report?format=json")
    assert report.headers["content-disposition"].startswith("attachment")
    assert report.json()["totals"]["tamper"] == 1


async def test_a_compare_gives_each_difference_its_reason(shop: Shop) -> None:
    two = (await shop.look("/compare?episode={good}&episode={poor}")).text
    assert "A reached buy (+0.2), B never did" in two
    assert "B is not known here" in two
    rules = (await shop.look("/compare?a={good}&version=2")).text
    assert "version 2 reached search (+0.05), as paid never did" in rules
    assert "page.navigated http://shop.test/search" in rules
    assert (await shop.look("/compare?episode={good}")).status_code == 422


async def test_a_task_shows_how_often_each_milestone_came(shop: Shop) -> None:
    text = (await shop.look("/tasks/shop/cart?version=1")).text
    assert text.count('class="arrow requires"') == 2
    assert "1 of 1" in text
    assert "1 left out below" in text, "the poor one has a masked step"
    assert "median 1" in text
    unseen = (await shop.look("/tasks/shop/cart?version=2")).text
    assert "no episode" in unseen


async def test_a_changed_task_is_tried_before_it_is_saved(shop: Shop) -> None:
    text = (await shop.look("/editor?task=shop/cart&version=1")).text
    written = re.search(r"<textarea.*?>\n(.*?)</textarea>", text, re.S)
    assert written is not None
    changed = (
        written[1]
        .replace("&#39;1&#39;", "'3'")
        .replace("&#39;", "'")
        .replace("url: /cart", "url: /search")
    )
    unsaved = await shop.send("/editor", task="shop/cart", text=changed, do="save")
    assert "What it would have paid" in unsaved.text
    tried = await shop.send(
        "/editor", task="shop/cart", text=changed, do="try", episode=[shop.good, shop.poor]
    )
    assert "moved cart" in tried.text
    digest = sha256(changed.encode())
    assert f'name="tried" value="{digest}"' in tried.text
    saved = await shop.send("/editor", task="shop/cart", text=changed, do="save", tried=digest)
    assert (saved.status_code, saved.headers["location"]) == (303, "/tasks/shop/cart?version=3")
    again = await shop.send(
        "/editor", task="shop/cart", text=changed + "\nsettings: {quiet_ms: 60}\n", do="try"
    )
    digest = sha256((changed + "\nsettings: {quiet_ms: 60}\n").encode())
    other = await shop.send(
        "/editor", text=changed + "\nsettings: {quiet_ms: 60}\n", do="save", tried=digest
    )
    assert again.status_code == 200
    assert "wanted a new version" in other.text
    wrong = await shop.send("/editor", task="shop/cart", text="id: x\nmilestones: 3\n", do="try")
    assert wrong.status_code == 422
    assert "<strong>line 2</strong>" in wrong.text


async def test_what_people_say_becomes_preferences(shop: Shop) -> None:
    _, second = await shop.service.app.state.parts.tokens.create("trainer", "another", Terms())
    asked = (await shop.look("/label")).text
    assert "Which one does it better?" in asked
    pair = {"first": min(shop.good, shop.poor), "second": max(shop.good, shop.poor)}
    assert (await shop.send("/label", **pair, choice=shop.good)).status_code == 303
    assert "You have said all" in (await shop.look("/label")).text
    assert "somebody else has said" in (await shop.look("/label", second)).text
    await shop.send("/label", second, **pair, choice=shop.poor)
    assert "1 item by two or more, 1 disagreed on" in (await shop.look("/label")).text
    await shop.send("/label", second, **pair, choice=shop.good)
    bad = await shop.send("/label", **pair, choice="ep_nobodys")
    assert bad.status_code == 422
    with zipfile.ZipFile(io.BytesIO((await shop.look("/label/preferences.zip")).content)) as made:
        lines = [orjson.loads(line) for line in made.read("preferences.jsonl").splitlines()]
        assert set(made.namelist()) >= {line["chosen"]["recording"] for line in lines}
        times = {entry.date_time for entry in made.infolist()}
        assert times == {(1980, 1, 1, 0, 0, 0)}, "the same bytes, whenever it is asked for"
    for line in lines:
        Draft202012Validator(orjson.loads(SCHEMA.read_bytes())).validate(line)
    assert [line["chosen"]["recording"] for line in lines] == [f"recordings/{shop.good}.mrec"] * 2


async def test_a_list_is_a_file(shop: Shop) -> None:
    rows = (await shop.look("/episodes/export?label=policy%3D8")).text.splitlines()
    assert rows[0].startswith("episode,task,version")
    assert [row.split(",")[0] for row in rows[1:]] == [shop.good]
    with zipfile.ZipFile(
        io.BytesIO((await shop.look("/episodes/export?format=recordings")).content)
    ) as made:
        assert sorted(made.namelist()) == sorted(f"{id}.mrec" for id in (shop.good, shop.poor))
    with zipfile.ZipFile(
        io.BytesIO((await shop.look("/episodes/export?format=parquet")).content)
    ) as made:
        assert "rewards.parquet" in made.namelist()
    assert (await shop.look("/episodes/export?format=parquet&task=none")).status_code == 422
