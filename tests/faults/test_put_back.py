"""An older backup in the place of what is newer: of the database and of the daemon's journal, in
mid-episode."""

from __future__ import annotations

import shutil
from pathlib import Path

import httpx
import pytest

from tests.faults.checks import whole
from tests.faults.script import run, task
from tests.support.postgres import Postgres, needs_postgres
from tests.support.stack import Stack, gist

STEPS = 6
UNAVAILABLE = 503
SAVED, PUT_BACK = 2, 4
"""Before these steps begin the backup is made, and put in the place of what there is."""


class Saved:
    """A backup of the stack's database, made and put back while no service runs."""

    def __init__(self, stack: Stack, server: Postgres | None, database: str) -> None:
        self._stack, self._server, self._database = stack, server, database
        self._copy = ""

    def save(self) -> None:
        """Copy the database, as it is for a moment in which no service runs."""
        self._stack.kill_service()
        if self._server is not None:
            self._copy = self._server.database(like=self._database)
        else:
            shutil.copytree(self._stack.folder / "service", self._stack.folder / "backup")
        self._stack.start_service()

    def put_back(self) -> None:
        """Put the copy in the place of the database."""
        self._stack.kill_service()
        if self._server is not None:
            self._server.put_back(self._database, self._copy)
        else:
            shutil.rmtree(self._stack.folder / "service")
            shutil.copytree(self._stack.folder / "backup", self._stack.folder / "service")
        self._stack.start_service()


@pytest.mark.slow_where("postgres")
@pytest.mark.parametrize(
    "database", ["sqlite", pytest.param("postgres", marks=needs_postgres)], indirect=True
)
def test_a_database_gets_from_the_daemon_what_it_lacks(
    tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    """Secret and signing key are as before: what was sealed since the backup is sealed again, in
    the same bytes."""
    server = request.getfixturevalue("postgres") if database else None
    bodies: dict[int, bytes] = {}
    with Stack(tmp_path, database) as stack:
        calm = run(stack, tmp_path / "notes", STEPS)
        saved = Saved(stack, server, database)

        def between(step: int) -> None:
            if step == SAVED:
                saved.save()
            if step == PUT_BACK:
                bodies.update(
                    {one: stack.episode.reward(one, wait_s=0).body for one in range(PUT_BACK)}
                )
                saved.put_back()

        shaken = run(stack, tmp_path / "notes", STEPS, between)
        assert gist(shaken) == gist(calm)
        assert {one: stack.episode.reward(one, wait_s=0).body for one in range(PUT_BACK)} == bodies
        whole(stack, shaken, task(STEPS))


@pytest.mark.parametrize(
    "how", ["replaced", "log removed", pytest.param("removed", marks=pytest.mark.slow)]
)
def test_a_file_that_is_not_the_opened_one_any_more_is_refused(tmp_path: Path, how: str) -> None:
    """A backup is moved over SQLite's file while the service runs, or the file is removed, or its
    log alone: nobody is told that anything is kept, so that the daemon sends it to the service that
    comes after. What was kept before in a log that is removed is kept."""
    file = tmp_path / "service" / "milestoned.db"
    with Stack(tmp_path) as stack:
        calm = run(stack, tmp_path / "notes", STEPS)
        saved = Saved(stack, None, "")

        def between(step: int) -> None:
            if step == SAVED:
                saved.save()
            if step == PUT_BACK:
                gone = f"{file.name}-wal" if how == "log removed" else f"{file.name}*"
                kept = [one.rename(tmp_path / one.name) for one in file.parent.glob(gone)]
                assert kept
                if how == "replaced":
                    shutil.copytree(stack.folder / "backup", file.parent, dirs_exist_ok=True)
                for path in ("/readyz", f"/v1/episodes/{stack.episode.id}"):
                    assert _is_refused(stack, path), path
                stack.kill_service()
                if how == "removed":
                    for one in kept:
                        one.rename(file.parent / one.name)
                stack.start_service()

        shaken = run(stack, tmp_path / "notes", STEPS, between)
        assert gist(shaken) == gist(calm)
        whole(stack, shaken, task(STEPS))


def _is_refused(stack: Stack, path: str) -> bool:
    """Whether the service says that it has to be started again."""
    headers = {"authorization": f"Bearer {stack.service.token}"}
    answer = httpx.get(f"{stack.service.url}{path}", headers=headers)
    return answer.status_code == UNAVAILABLE and "restart the service" in answer.text


@pytest.mark.slow
@pytest.mark.slow_where("postgres")
def test_a_journal_goes_on_after_what_the_service_has(stack: Stack, tmp_path: Path) -> None:
    """What the service had is neither sent again nor written over; the daemon says what its journal
    lacks."""
    calm = run(stack, tmp_path / "notes", STEPS)
    backup = tmp_path / "backup"

    def between(step: int) -> None:
        if step == SAVED:
            stack.kill_daemon()
            shutil.copytree(stack.state, backup)
            stack.start_daemon()
        if step == PUT_BACK:
            stack.kill_daemon()
            shutil.rmtree(stack.state)
            shutil.copytree(backup, stack.state)
            stack.start_daemon()

    shaken = run(stack, tmp_path / "notes", STEPS, between)
    events = whole(stack, shaken, task(STEPS))
    (lost,) = [event for event in events if event.kind == "events.dropped"]
    (before,) = [
        event.seq
        for event in events
        if event.kind == "step.sealed" and event.data["step"] == SAVED - 1
    ]
    assert (lost.data["source"], lost.data["count"]) == ("journal", lost.seq - 1 - before)
    for without, under in zip(calm, shaken, strict=True):
        # The step after the loss is unseen, and so is for ever whether what must not happen
        # happened meanwhile.
        if under.step == PUT_BACK or (under.step >= STEPS - 1 and under.reward is None):
            assert (under.reward, under.status, under.mask) == (None, "unobserved", True), under
            assert under.reason
        else:
            assert gist([under]) == gist([without])
