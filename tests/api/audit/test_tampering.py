"""Every way to change the past behind the service's back is found and named; on both databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard
from sqlalchemy import text

from api.audit.note import Checkpoint, sign_note
from api.core.signing import Signer
from common.frames import unpack
from detectors.model.codec import decode_segment, encode_segment
from detectors.model.types import Event
from tests.api.audit.audited import differences, sign, tamper, told
from tests.api.service import Service, Store, running


async def frames(service: Service, id: str) -> list[Any]:
    """The stored segments."""
    return [row async for row in service.app.state.parts.audits.segments(id)]


async def rewrite(service: Service, id: str, first: int, events: list[Event] | bytes) -> None:
    """Put other content into a stored segment, with the columns that belong to it."""
    row = next(one for one in await frames(service, id) if one.first == first)
    body = events if isinstance(events, bytes) else encode_segment(events, row.prev)
    said = (
        "UPDATE segments SET frame = :frame, digest = :digest, last = :last WHERE episode = :id AND"
        " first = :first"
    )
    segment = decode_segment(body)
    values = {"frame": zstandard.compress(body), "digest": segment.digest, "last": segment.last}
    assert await tamper(service, said, id=id, first=first, **values) == 1


async def events_of(service: Service, id: str, first: int) -> list[Event]:
    row = next(one for one in await frames(service, id) if one.first == first)
    return list(decode_segment(unpack(row.frame)).events)


async def changed_byte(service: Service, id: str) -> None:
    events = await events_of(service, id, 4)
    events[1] = events[1]._replace(at=events[1].at + 1)
    await rewrite(service, id, 4, events)


async def changed_frame(service: Service, id: str) -> None:
    frame = bytearray((await frames(service, id))[1].frame)
    frame[-3] ^= 1
    said = "UPDATE segments SET frame = :frame WHERE episode = :id AND first = 4"
    await tamper(service, said, id=id, frame=bytes(frame))


async def removed_event(service: Service, id: str) -> None:
    await rewrite(service, id, 4, (await events_of(service, id, 4))[:-1])


async def added_event(service: Service, id: str) -> None:
    events = await events_of(service, id, 4)
    await rewrite(service, id, 4, [*events, events[-1]._replace(seq=events[-1].seq + 1)])


async def removed_segment(service: Service, id: str) -> None:
    await tamper(service, "DELETE FROM segments WHERE episode = :id AND first = 4", id=id)


async def swapped_segments(service: Service, id: str) -> None:
    one, other = (await frames(service, id))[1:3]
    said = (
        "UPDATE segments SET frame = :frame, digest = :digest WHERE episode = :id AND first ="
        " :first"
    )
    await tamper(service, said, id=id, first=one.first, frame=other.frame, digest=other.digest)
    await tamper(service, said, id=id, first=other.first, frame=one.frame, digest=one.digest)


async def swapped_with_another_episodes(service: Service, id: str) -> None:
    other = await frames(service, await told(service))
    said = "UPDATE segments SET frame = :frame, digest = :digest WHERE episode = :id AND first = 4"
    await tamper(service, said, id=id, frame=other[1].frame, digest=other[1].digest)


async def truncated_tail(service: Service, id: str) -> None:
    await tamper(service, "DELETE FROM segments WHERE episode = :id AND first >= 7", id=id)


async def truncated_tail_and_row(service: Service, id: str) -> None:
    last = (await frames(service, id))[1]
    await tamper(service, "DELETE FROM segments WHERE episode = :id AND first >= 7", id=id)
    said = "UPDATE episodes SET through = :last, head = :digest WHERE id = :id"
    await tamper(service, said, id=id, last=last.last, digest=last.digest)


async def edited_reward(service: Service, id: str) -> None:
    await tamper(service, "UPDATE rewards SET reward = 0.9 WHERE episode = :id AND step = 1", id=id)


async def edited_reward_body(service: Service, id: str) -> None:
    body = orjson.dumps({"episode": id, "reward": 1.0})
    await tamper(
        service,
        "UPDATE rewards SET body = :body WHERE episode = :id AND step = 1",
        id=id,
        body=body,
    )


async def removed_reward(service: Service, id: str) -> None:
    await tamper(service, "DELETE FROM rewards WHERE episode = :id AND step = 1", id=id)


async def added_reward(service: Service, id: str) -> None:
    columns = "episode, step, status, reward, through, body"
    said = (
        f"INSERT INTO rewards ({columns}) SELECT episode, 9, status, reward, through, body FROM"
        " rewards"
    )
    await tamper(service, said + " WHERE episode = :id AND step = 1", id=id)


async def edited_milestone(service: Service, id: str) -> None:
    await tamper(
        service, "UPDATE milestones SET worth = 0.9 WHERE episode = :id AND number = 0", id=id
    )


async def removed_milestone(service: Service, id: str) -> None:
    await tamper(service, "DELETE FROM milestones WHERE episode = :id AND number = 1", id=id)


async def edited_total(service: Service, id: str) -> None:
    await tamper(service, "UPDATE episodes SET total = 1.0 WHERE id = :id", id=id)


async def edited_labels(service: Service, id: str) -> None:
    await tamper(
        service, """UPDATE episodes SET labels = '{"policy":"other"}' WHERE id = :id""", id=id
    )


async def edited_opener(service: Service, id: str) -> None:
    await tamper(service, "UPDATE episodes SET opened_by = 'tok_other' WHERE id = :id", id=id)


async def edited_step(service: Service, id: str) -> None:
    await tamper(
        service, "UPDATE steps SET began = began + 1 WHERE episode = :id AND step = 1", id=id
    )


async def edited_task(service: Service, _id: str) -> None:
    row = await service.app.state.parts.database.first(text("SELECT body FROM tasks"))
    body = bytes(row.body).replace(b'"Buy"', b'"Sell"')
    await tamper(service, "UPDATE tasks SET body = :body", body=body)


async def edited_instruction(service: Service, _id: str) -> None:
    row = await service.app.state.parts.database.first(text("SELECT body FROM tasks"))
    await tamper(
        service,
        "UPDATE tasks SET body = :body",
        body=bytes(row.body).replace(b"Put it", b"Sell it"),
    )


async def deleted_episode(service: Service, id: str) -> None:
    for table in (
        "segments",
        "steps",
        "milestones",
        "rewards",
        "commands",
        "engine_states",
        "tokens",
    ):
        await tamper(service, f"DELETE FROM {table} WHERE episode = :id", id=id)
    await tamper(service, "DELETE FROM episodes WHERE id = :id", id=id)


async def deleted_episode_and_its_leaf(service: Service, id: str) -> None:
    await deleted_episode(service, id)
    await tamper(service, "DELETE FROM leaves WHERE episode = :id", id=id)
    await tamper(service, "DELETE FROM checkpoints WHERE origin LIKE :of", of=f"%{id}")


async def forged_tombstone(service: Service, id: str) -> None:
    await deleted_episode(service, id)
    columns = "episode, tenant, deleted_at, body, signature, key"
    said = f"INSERT INTO tombstones ({columns}) VALUES (:id, 'default', '', :b, :s, :k)"
    body = orjson.dumps({"episode": id})
    await tamper(service, said, id=id, b=body, s=bytes(64), k=service.app.state.parts.signer.public)


async def edited_statement(service: Service, id: str) -> None:
    row = await service.app.state.parts.audits.leaf(id)
    body = bytes(row.body).replace(b'"success":true', b'"success":false')
    await tamper(service, "UPDATE leaves SET body = :body WHERE episode = :id", id=id, body=body)


async def removed_checkpoint(service: Service, id: str) -> None:
    await tamper(service, "DELETE FROM checkpoints WHERE origin LIKE :of", of=f"%{id}")


async def edited_engine_state(service: Service, id: str) -> None:
    row = await service.app.state.parts.audits.state(id)
    body = orjson.dumps({**orjson.loads(row.body), "total": 0.75})
    await tamper(
        service, "UPDATE engine_states SET body = :body WHERE episode = :id", id=id, body=body
    )


async def engine_state_inside_a_segment(service: Service, id: str) -> None:
    await tamper(service, "UPDATE engine_states SET through = 5 WHERE episode = :id", id=id)


async def engine_state_before_the_log(service: Service, id: str) -> None:
    await tamper(service, "UPDATE engine_states SET through = 0 WHERE episode = :id", id=id)


OF_ONE: dict[str, tuple[Any, str]] = {
    "a changed byte": (changed_byte, "segment 7.prev"),
    "a changed byte of the frame": (changed_frame, "segment 4"),
    "a removed event": (removed_event, "segment 7.first"),
    "an added event": (added_event, "segment 7.first"),
    "a removed segment": (removed_segment, "segment 7.first"),
    "swapped segments": (swapped_segments, "segment 4.first"),
    "a segment of another episode": (swapped_with_another_episodes, "segment 4"),
    "a truncated tail": (truncated_tail, "episode.through"),
    "a truncated tail and its row": (truncated_tail_and_row, "log, by the checkpoint outside"),
    "an edited reward": (edited_reward, "reward of step 1.reward"),
    "an edited reward's body": (edited_reward_body, "reward of step 1.body"),
    "a removed reward": (removed_reward, "reward of step 1"),
    "an added reward": (added_reward, "reward of step 9"),
    "an edited milestone": (edited_milestone, "milestone 0.worth"),
    "a removed milestone": (removed_milestone, "milestone 1"),
    "an edited total": (edited_total, "episode.total"),
    "edited labels": (edited_labels, "labels_sha256, by the statement"),
    "an edited opener": (edited_opener, "opened_by, by the statement"),
    "an edited step": (edited_step, "step 1.began"),
    "a forged tombstone": (forged_tombstone, "tombstone"),
    "an edited statement": (edited_statement, "success, by the statement"),
    "a removed checkpoint": (removed_checkpoint, "checkpoint"),
    "an edited engine state": (edited_engine_state, "engine state at event 10"),
    "an engine state inside a segment": (engine_state_inside_a_segment, "engine state"),
    "an engine state before the log": (engine_state_before_the_log, "engine state"),
}
OF_ALL: dict[str, tuple[Any, str]] = {
    "an edited task": (edited_task, "ruleset"),
    "an edited instruction": (edited_instruction, "task_sha256, by the statement"),
    "a deleted episode": (deleted_episode, "episode"),
    "a deleted episode and its leaf": (deleted_episode_and_its_leaf, "episode"),
}


async def test_every_tampering_with_an_episode_is_named(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    async with running(store, checkpoints=str(file)) as service:
        ids = {case: await told(service) for case in (*OF_ONE, "none")}
        await sign(service)
        assert await differences(service, file) == []
        for case, (change, what) in OF_ONE.items():
            await change(service, ids[case])
            found = await differences(service, file, ids[case])
            assert any(one.what.startswith(what) for one in found), (case, found)
        named = {one.episode for one in await differences(service, file)} - {""}
        assert named == set(ids.values()) - {ids["none"]}


async def test_every_tampering_with_what_episodes_share_is_named(
    store: Store, tmp_path: Path, fresh: Any
) -> None:
    for case, (change, what) in OF_ALL.items():
        file = tmp_path / f"{case}.notes"
        async with running(fresh(store), checkpoints=str(file)) as service:
            ids = [await told(service) for _ in range(3)]
            await sign(service)
            await change(service, ids[1])
            found = await differences(service, file)
            assert any(one.what.startswith(what) and one.episode in ids for one in found), (
                case,
                found,
            )


WITHIN = {
    **{case: what for case, (_, what) in (OF_ONE | OF_ALL).items()},
    "a truncated tail and its row": "head, by the statement",
    "a deleted episode and its leaf": "number of its leaf",
}
"""What names them where no checkpoint was kept outside: the signed statements and the tree over them."""


@pytest.mark.slow
async def test_each_of_them_is_named_without_what_is_outside(store: Store, fresh: Any) -> None:
    async with running(store) as service:
        ids = {case: await told(service) for case in (*OF_ONE, "none")}
        await sign(service)
        for case, (change, _) in OF_ONE.items():
            await change(service, ids[case])
            found = await differences(service, episode=ids[case])
            assert any(one.what.startswith(WITHIN[case]) for one in found), (case, found)
    for case, (change, _) in OF_ALL.items():
        async with running(fresh(store)) as service:
            changed = [await told(service) for _ in range(3)][1]
            await sign(service)
            await change(service, changed)
            found = await differences(service)
            assert any(one.what.startswith(WITHIN[case]) for one in found), (case, found)


async def rolled_back(service: Service) -> None:
    """Put back how it was before the newest episode, as whoever has a backup of the database
    can."""
    tree = await service.app.state.parts.audits.tree()
    kept = {
        "size": tree.size,
        "full": bytes(tree.full),
        "at": tree.signed_size,
        "day": tree.signed_day,
    }
    id = await told(service)
    await sign(service)
    await deleted_episode_and_its_leaf(service, id)
    for table in ("episode_facts", "episode_marks"):
        await tamper(service, f"DELETE FROM {table} WHERE episode = :id", id=id)
    await tamper(
        service,
        "DELETE FROM checkpoints WHERE origin = 'milestoned' AND size > :size",
        size=tree.size,
    )
    said = (
        'UPDATE audit_trees SET size = :size, "full" = :full, signed_size = :at, signed_day = :day'
    )
    await tamper(service, said, **kept)


async def signed_again(service: Service) -> None:
    """Change what was signed, and let the service sign it as if it had never been."""
    await edited_opener(
        service, await anext(row.id async for row in service.app.state.parts.audits.episode_rows())
    )
    for table in ("leaves", "checkpoints", "episode_facts", "audit_trees"):
        await tamper(service, f"DELETE FROM {table}")
    await tamper(
        service, "INSERT INTO closings (episode, queued_at) SELECT id, '2026' FROM episodes"
    )
    await sign(service)


@pytest.mark.parametrize(
    ("change", "what"),
    [(rolled_back, "tree"), (signed_again, "milestoned at size 1")],
    ids=["rolled back", "signed again"],
)
async def test_only_what_is_outside_names_another_history(
    store: Store, tmp_path: Path, change: Any, what: str
) -> None:
    """The rest of the database fits it: docs/audit.md says what cannot be known."""
    file = tmp_path / "notes"
    async with running(store, checkpoints=str(file)) as service:
        await service.app.state.parts.checkpointer.stop()
        await told(service)
        await sign(service)
        await change(service)
        assert await differences(service) == []
        assert any(one.what.startswith(what) for one in await differences(service, file))


async def test_an_open_episode_and_one_that_waits_to_be_signed_are_no_findings(
    service: Service,
) -> None:
    await service.app.state.parts.checkpointer.stop()
    await told(service)
    await told(service, close=False)
    await service.open()
    assert await differences(service) == []


async def test_an_episode_that_was_deleted_by_the_rules_is_no_finding(
    store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "notes"
    async with running(store, checkpoints=str(file)) as service:
        id, kept = await told(service), await told(service)
        await sign(service)
        gone = await service.call("DELETE", f"/v1/episodes/{id}", params={"reason": "asked"})
        assert gone.status_code == 200, gone.text
        assert await differences(service, file) == []
        assert [row.id async for row in service.app.state.parts.audits.episode_rows()] == [kept]


async def test_a_forged_note_outside_is_named(service: Service, tmp_path: Path) -> None:
    id = await told(service)
    await sign(service)
    file = tmp_path / "notes"
    other = Signer(bytes(32), "milestoned")
    head = Checkpoint(f"milestoned/episodes/{id}", 4, bytes(32))
    file.write_text(
        sign_note(head.text(), other)
        + "\n"
        + sign_note(head.text(), service.app.state.parts.signer)
    )
    found = [(one.episode, one.what) for one in await differences(service, file)]
    assert found == [("", "checkpoint 1 outside"), (id, "log, by the checkpoint outside")]
