"""One key, two histories: a key that a second service uses too, and an older backup in the place of
a newer database.

What is stored fits each time; the checkpoints that somebody keeps outside name it. On both
databases.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from api.audit.difference import Difference
from tests.api.audit.audited import STEPS, differences, sign, told, whole
from tests.api.processes import milestoned
from tests.api.service import Service, Store, events, frames, running
from tests.support.logs import went
from tests.support.postgres import Postgres

OTHERWISE = ([went("/")], [went("/cart")])
"""Another course of an episode than the usual one."""


async def kept(service: Service, *episodes: str) -> str:
    """What a client of the service can ask for and keep: the heads over all episodes, and of
    these."""
    notes: list[str] = []
    for query in ({}, *({"episode": id} for id in episodes)):
        notes += (await service.get("/v1/audit/checkpoints", params=query)).json()["checkpoints"]
    assert len(notes) > len(episodes)
    return "\n".join(notes)


def said(found: list[Difference]) -> set[tuple[str, str]]:
    """Whose and what of each difference, without numbers of sizes and checkpoints."""
    return {(one.episode, one.what.rstrip("0123456789 ")) for one in found}


@pytest.mark.parametrize(
    ("own", "others", "named"),
    [
        (1, 1, "milestoned at size"),
        (3, 1, "tree at size"),
        (1, 3, "tree"),
    ],
    ids=["as many episodes", "more", "fewer"],
)
async def test_a_key_that_another_service_uses_too_is_named(
    store: Store, fresh: Callable[[Store], Store], tmp_path: Path, own: int, others: int, named: str
) -> None:
    """By whoever has notes of both, or holds the one's database against the other's notes."""
    other = fresh(store)
    ours, theirs, both = (tmp_path / name for name in ("ours", "theirs", "both"))
    async with running(store) as service:
        await (
            service.app.state.parts.checkpointer.stop()
        )  # it would sign the head over all before the last episode
        ids = [await told(service) for _ in range(own)]
        await sign(service)
        ours.write_text(await kept(service, *ids))
    shutil.copy(store.folder / "signing.key", other.folder / "signing.key")
    async with running(other) as second:
        await second.app.state.parts.checkpointer.stop()
        other_ids = [await told(second, *OTHERWISE) for _ in range(others)]
        await sign(second)
        theirs.write_text(await kept(second, *other_ids))
        assert await differences(second) == [], "nothing is wrong within it"
    both.write_text(f"{ours.read_text()}\n{theirs.read_text()}")
    async with running(store) as service:
        assert await differences(service, ours) == []
        for file in (theirs, both):
            found = said(await differences(service, file))
            assert {(id, "episode") for id in other_ids} <= found, (
                "they were signed, and are not here"
            )
            assert {episode for episode, _ in found} == {*other_ids, ""}
        over_all = {what for episode, what in found if not episode}
        assert named in over_all


class Backups:
    """Of the database of a store, while no service runs."""

    def __init__(self, store: Store, server: Postgres | None, folder: Path) -> None:
        self._store, self._server, self._folder = store, server, folder
        self._copy = ""

    def save(self) -> None:
        """Copy the database."""
        if self._server is not None:
            self._copy = self._server.database(like=self._store.url)
        else:
            shutil.copytree(self._store.folder, self._folder)

    def put_back(self) -> None:
        """Put the copy in the place of what there is."""
        if self._server is not None:
            self._server.put_back(self._store.url, self._copy)
            return
        for file in self._store.folder.glob("milestoned.db*"):
            file.unlink()
        for file in self._folder.glob("milestoned.db*"):
            shutil.copy(file, self._store.folder)


@pytest.fixture
def backups(
    store: Store, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Backups:
    server = request.getfixturevalue("postgres") if store.url else None
    return Backups(store, server, tmp_path_factory.mktemp("backup") / "copy")


@pytest.mark.parametrize("goes_on", [False, True], ids=["left so", "and the service goes on"])
async def test_an_older_backup_in_the_place_of_a_newer_database_is_named(
    store: Store, backups: Backups, tmp_path: Path, goes_on: bool
) -> None:
    """What was signed since is not there; where others are signed in its place there are two
    histories."""
    outside = tmp_path / "outside"
    async with running(store) as service:
        old = await told(service)
        await sign(service)
    backups.save()
    async with running(store) as service:
        assert await differences(service) == []
        lost = await told(service)
        await sign(service)
        outside.write_text(await kept(service, old, lost))
        assert await differences(service, outside) == []
    backups.put_back()
    async with running(store) as service:
        found = said(await differences(service, outside))
        assert found == {(lost, "episode"), ("", "tree")}
        assert await differences(service) == [], "the backup fits itself"
        if goes_on:
            new = await told(service, *OTHERWISE)
            await sign(service)
            assert await differences(service) == []
            found = said(await differences(service, outside))
            assert (lost, "episode") in found
            assert new not in {episode for episode, _ in found}, "what is stored of it is right"
            later = tmp_path / "later"
            later.write_text(f"{outside.read_text()}\n{await kept(service, old, new)}")
            assert ("", "milestoned at size") in said(await differences(service, later))


async def test_an_episode_that_the_daemon_tells_again_to_a_backup_is_the_one_that_was_signed(
    store: Store, backups: Backups, tmp_path: Path
) -> None:
    """The same log gives the same head: of the episode nothing is named."""
    outside = tmp_path / "outside"
    async with running(store) as service:
        id, token = await service.open()
        made = frames(events(id, *whole(*STEPS)), [2, 2])
        for frame in made[:2]:
            assert (await service.append(id, frame, token)).status_code == 200
    backups.save()
    async with running(store) as service:
        for frame in made[2:]:
            assert (await service.append(id, frame, token)).status_code == 200
        await sign(service)
        outside.write_text(await kept(service, id))
        assert await differences(service, outside) == []
    backups.put_back()
    async with running(store) as service:
        assert (await service.get(f"/v1/episodes/{id}")).json()["status"] == "open"
        for frame in made[2:]:
            assert (await service.append(id, frame, token)).status_code == 200
        await sign(service)
        assert {one for one in said(await differences(service, outside)) if one[0]} == set()


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_the_command_names_what_a_backup_lacks(
    store: Store, backups: Backups, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    async with running(store, checkpoints=str(outside)) as service:
        await service.app.state.parts.checkpointer.stop()
        await told(service)
        await sign(service)
    backups.save()
    async with running(store, checkpoints=str(outside)) as service:
        await service.app.state.parts.checkpointer.stop()
        lost = await told(service)
        await sign(service)
    command = ("audit", "verify", "--data", str(store.folder), "--checkpoints", str(outside))
    verified = milestoned(tmp_path, *command)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    backups.put_back()
    refused = milestoned(tmp_path, *command)
    assert refused.returncode == 1, refused.stdout + refused.stderr
    assert f"{lost}: episode: found none" in refused.stdout
