"""What people said of episodes is committed to: an edited, a removed and a replaced word are found,
and nothing is found that the rules allow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text

from api.core.settings import Settings
from api.db.database import Database
from api.db.migrate import upgrade
from api.labelling.store import LabelWord
from tests.api.audit.audited import differences, sign, tamper, told
from tests.api.service import Service, Store, running

TENANT, ANNOTATOR = "main", "tok_1"


async def prefer(service: Service, choice: str, first: str, second: str, **more: Any) -> None:
    """Somebody says which of two episodes is better."""
    word = LabelWord("shop/buy", first, second, -1, "", choice)
    who = {"tenant": TENANT, "annotator": ANNOTATOR, **more}
    await service.app.state.parts.preferences.say(who["tenant"], who["annotator"], word)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE preferences SET choice = 'second'", ["label 1 of {first}: its digest"]),
        ("UPDATE preferences SET task = 'shop/other'", ["label 1 of {first}: its digest"]),
        ("UPDATE preferences SET final = true", ["label 1 of {first}: its digest"]),
        ("UPDATE preferences SET annotator = 'tok_2'", ["label 1 of {first}", "label"]),
        ("UPDATE preferences SET leaf = 7", ["label 1 of {first}: its leaf"]),
        ("DELETE FROM preferences", ["label"]),
        ("DELETE FROM label_leaves", ["label tree", "stored label tree.size", "stored label tree.full", "label 1 of {first}"]),
        ("UPDATE label_leaves SET digest = slot", ["label tree at size 1", "stored label tree.full", "label 1 of {first}: its digest"]),
        ("DELETE FROM audit_trees WHERE name = 'labels'", ["stored label tree"]),
    ],
)  # fmt: skip
async def test_what_is_changed_behind_the_service_is_named(
    service: Service, change: str, found: list[str]
) -> None:
    await service.app.state.parts.checkpointer.stop()
    first, second = sorted((await told(service), await told(service)))
    await prefer(service, "first", first, second)
    await sign(service)
    assert await differences(service) == []
    assert await tamper(service, change) == 1
    named = [one.what for one in await differences(service)]
    assert named == [what.format(first=first) for what in found]


async def test_a_word_that_is_said_again_is_another_leaf(store: Store, tmp_path: Path) -> None:
    """The later one counts; older ones stay in the tree."""
    file = tmp_path / "notes"
    async with running(store, checkpoints=str(file)) as service:
        await service.app.state.parts.checkpointer.stop()
        first, second = sorted((await told(service), await told(service)))
        for choice in ("first", "tie", "second"):
            await prefer(service, choice, first, second)
            assert await differences(service, file if file.exists() else None) == []
            await sign(service)
            assert await differences(service, file) == []
        leaves = [leaf.number async for leaf in service.app.state.parts.audits.label_leaves()]
        assert leaves == [0, 1, 2]
        # The same person's earlier word is put back, with the leaf that it had.
        await tamper(service, "UPDATE preferences SET choice = 'tie', leaf = 1")
        named = [one.what.partition(": ")[2] for one in await differences(service)]
        assert named == ["its leaf", "its digest"]


async def test_what_goes_with_a_deleted_episode_is_no_finding(service: Service) -> None:
    await service.app.state.parts.checkpointer.stop()
    first, second = sorted((await told(service), await told(service)))
    await prefer(service, "first", first, second)
    await prefer(service, "yes", second, "", annotator="tok_2")
    await sign(service)
    gone = await service.call("DELETE", f"/v1/episodes/{first}", params={"reason": "asked"})
    assert gone.status_code == 200, gone.text
    assert await differences(service) == []
    words = [row.first async for row in service.app.state.parts.audits.labels()]
    assert words == [second]


async def test_the_older_schema_forgets_what_was_signed_and_a_later_one_signs_anew(
    store: Store,
) -> None:
    """Of a tree that is begun again an old note would say that leaves were taken out."""
    async with running(store) as service:
        await service.app.state.parts.checkpointer.stop()
        first, second = sorted((await told(service), await told(service)))
        for choice in ("first", "tie"):
            await prefer(service, choice, first, second)
            await sign(service)
    database = Database(Settings(store.folder, store.url).database)
    async with database.write() as conn:
        await conn.run_sync(_downgrade)
    assert (await database.all(text("SELECT choice FROM preferences")))[0].choice == "tie"
    await upgrade(database)
    await database.close()
    async with running(store) as service:
        await service.app.state.parts.checkpointer.stop()
        assert await differences(service) == []
        await sign(service)
        assert await differences(service) == []
        assert await service.rows("label_leaves") == 1


def _downgrade(connection: Any) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parents[3] / "migrations"))
    config.attributes["connection"] = connection
    command.downgrade(config, "0020")


async def test_an_older_state_is_named_by_what_is_outside(store: Store, tmp_path: Path) -> None:
    """The last word, its leaf and its note are cut off, and the tree's row is put back."""
    file = tmp_path / "notes"
    async with running(store, checkpoints=str(file)) as service:
        parts = service.app.state.parts
        await parts.checkpointer.stop()
        first, second = sorted((await told(service), await told(service)))
        await prefer(service, "first", first, second)
        await sign(service)
        kept = await parts.audits.tree("labels")
        size, full = kept.size, bytes(kept.full)
        await prefer(service, "second", first, second, annotator="tok_2")
        await sign(service)
        for statement in (
            "DELETE FROM preferences WHERE annotator = 'tok_2'",
            "DELETE FROM label_leaves WHERE number = 1",
            "DELETE FROM checkpoints WHERE origin = 'milestoned/labels' AND size = 2",
        ):
            assert await tamper(service, statement) == 1
        await tamper(
            service,
            'UPDATE audit_trees SET size = :size, "full" = :full, signed_size = :size'
            " WHERE name = 'labels'",
            size=size,
            full=full,
        )
        assert await differences(service) == []
        assert [one.what for one in await differences(service, file)] == ["label tree"]
