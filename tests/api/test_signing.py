"""The signing key: made once, private, and its signatures are checked by whoever has the public
half."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from api.app import create_app
from api.audit.owning import claim
from api.core.errors import ForeignKeyError
from api.core.settings import Settings
from api.core.signing import Signer, SigningKeyError, verify
from api.service.container import Parts
from api.service.retention import Upkeep
from tests.api.audit.audited import differences, sign, tamper, told
from tests.api.processes import Process, milestoned
from tests.api.service import ADMIN, SECRET, Service, Store, running
from tests.support.postgres import Postgres, needs_postgres

# RFC 8032, 7.1, test 2.
SEED = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
SIGNATURE = bytes.fromhex(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_it_signs_as_the_standard_says() -> None:
    signer = Signer(SEED)
    assert (signer.public, signer.sign(b"\x72")) == (PUBLIC, SIGNATURE)
    assert verify(PUBLIC, b"\x72", SIGNATURE)


@pytest.mark.parametrize(
    ("public", "message", "signature"),
    [
        (PUBLIC, b"\x73", SIGNATURE),
        (PUBLIC, b"\x72", bytes(64)),
        (PUBLIC, b"\x72", SIGNATURE[:-1]),
        (PUBLIC[:-1], b"\x72", SIGNATURE),
        (Signer(bytes(32)).public, b"\x72", SIGNATURE),
    ],
    ids=["other message", "other signature", "short signature", "short key", "other key"],
)
def test_what_is_not_its_signature(public: bytes, message: bytes, signature: bytes) -> None:
    assert not verify(public, message, signature)


def test_the_key_is_made_once_and_only_its_owner_can_read_it(tmp_path: Path) -> None:
    made = Signer.load(Settings(tmp_path))
    assert (tmp_path / "signing.key").stat().st_mode & 0o777 == 0o600
    assert Signer.load(Settings(tmp_path)).public == made.public


def test_the_operators_own_key_is_used_and_nothing_is_kept(tmp_path: Path) -> None:
    own = Settings(tmp_path, signing_key=base64.b64encode(SEED).decode())
    assert Signer.load(own).public == PUBLIC
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["nonsense!", base64.b64encode(SEED[1:]).decode(), SEED.hex()])
def test_a_wrong_key_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(SigningKeyError) as refused:
        Signer.load(Settings(tmp_path, signing_key=text))
    assert text not in str(refused.value)


def another(store: Store, folder: Path) -> Settings:
    """A replica on the same database, with a data folder of its own, where it finds no key and
    makes one."""
    url = store.url or f"sqlite:///{store.folder / 'milestoned.db'}"
    return Settings(folder, url, secret=SECRET, admin_token=ADMIN)


async def starts(settings: Settings) -> Parts:
    """The parts of a service that has started, signed what it may, and ended."""
    app = create_app(settings)
    async with app.router.lifespan_context(app):
        parts: Parts = app.state.parts
        if parts.owner.foreign is None:
            await parts.checkpointer.turn()
    return parts


@pytest.mark.parametrize("signed", [False, True], ids=["before anything is signed", "after"])
@pytest.mark.parametrize("noted", [False, True], ids=["by an older build", "by this one"])
async def test_a_replica_with_another_key_signs_and_deletes_nothing(
    store: Store, tmp_path: Path, service: Service, signed: bool, noted: bool
) -> None:
    if signed:
        await told(service)
        await sign(service)
    if not noted:
        await tamper(service, "UPDATE audit_trees SET key = NULL")
    if signed or noted:
        parts = await starts(another(store, tmp_path / "other"))
        assert "MILESTONED_SIGNING_KEY" in str(parts.owner.foreign)
        if noted:
            assert parts.owner.key.key == Signer.load(Settings(store.folder)).public
        with pytest.raises(ForeignKeyError, match="nothing can be deleted here") as refused:
            await parts.removal.delete("ep_of_another", "test", "test")
        assert (refused.value.status, dict(refused.value.headers)) == (409, {}), (
            "asked again it is refused again"
        )
    own = (store.folder / "signing.key").read_text()
    (tmp_path / "same").mkdir()
    (tmp_path / "same" / "signing.key").write_text(own)
    parts = await starts(another(store, tmp_path / "same"))
    assert parts.owner.foreign is None
    assert await differences(service) == []


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
async def test_a_lost_key_is_replaced_by_hand_and_never_by_itself(
    store: Store, tmp_path: Path
) -> None:
    async with running(store) as service:
        await told(service)
        await sign(service)
    (store.folder / "signing.key").unlink()
    data = ("--data", str(store.folder))
    for command in (["prune", "--older-than", "1d"], ["adopt-key"]):
        refused = milestoned(tmp_path, "db", *command, *data)
        assert (refused.returncode, "there is none in" in refused.stderr) == (2, True), (
            refused.stderr
        )
    assert not (store.folder / "signing.key").exists()
    (store.folder / "signing.key").write_text(base64.b64encode(SEED).decode())
    refused = milestoned(tmp_path, "db", "prune", "--older-than", "1d", *data)
    assert (refused.returncode, "adopt-key" in refused.stderr) == (2, True), refused.stderr
    process = Process(store.folder)
    process.start()
    try:
        refused = milestoned(tmp_path, "db", "adopt-key", *data)
    finally:
        process.stop()
    assert (refused.returncode, "a service works here" in refused.stderr) == (2, True), (
        refused.stderr
    )
    adopted = milestoned(tmp_path, "db", "adopt-key", *data)
    assert (
        adopted.returncode,
        "once every service on this database is restarted" in adopted.stdout,
    ) == (0, True)
    async with running(store) as service:
        assert any(
            one["what"].startswith("checkpoint") for one in map(as_dict, await differences(service))
        )


def test_a_mistyped_folder_is_not_made(tmp_path: Path) -> None:
    for command in (["prune", "--older-than", "1d"], ["adopt-key"]):
        refused = milestoned(tmp_path, "db", *command, "--data", "nowhere")
        assert (refused.returncode, "there is no database" in refused.stderr) == (2, True), (
            refused.stderr
        )
    assert list(tmp_path.iterdir()) == []


async def test_who_runs_while_another_adopts_signs_nothing_more(service: Service) -> None:
    parts = service.app.state.parts
    await parts.checkpointer.stop()
    for _ in range(2):  # the second is under no head over all
        await told(service)
        await parts.checkpointer.turn()
    before = await service.rows("checkpoints")
    await claim(parts.audits, Signer(SEED), anew=True)
    with pytest.raises(ForeignKeyError, match="by now"):
        await parts.checkpointer.turn(head=True)
    await told(service)
    with pytest.raises(ForeignKeyError, match="by now"):
        await parts.checkpointer.turn()
    assert (await service.rows("checkpoints"), await service.rows("closings")) == (before, 1)
    parts.checkpointer.start()  # it ends by itself, instead of trying for ever
    async with asyncio.timeout(20):
        await parts.checkpointer.periodic.task


async def test_upkeep_goes_on_where_nothing_may_be_deleted(service: Service) -> None:
    parts = service.app.state.parts
    await told(service)
    await tamper(service, "UPDATE episodes SET closed_at = '2020-01-01T00:00:00.000Z'")
    parts.removal.refuse("test")
    upkeep = Upkeep(parts.episodes.partitions, parts.removal, parts.answers, parts.arrivals, 7, 1.0)
    await upkeep.once()
    assert await service.rows("episodes") == 1


def as_dict(difference: object) -> dict[str, str]:
    return difference._asdict() if hasattr(difference, "_asdict") else {"what": str(difference)}


@pytest.mark.slow_where("nobody")
@pytest.mark.slow_where("nothere")
@needs_postgres
@pytest.mark.parametrize(
    ("user", "database", "why"),
    [("postgres", "nothere", "does not exist"), ("nobody", "postgres", '"nobody"')],
)
def test_a_database_or_role_that_is_not_there_is_said_in_a_line(
    tmp_path: Path, postgres: Postgres, user: str, database: str, why: str
) -> None:
    url = f"postgresql://{user}:x@127.0.0.1:{postgres.port}/{database}"
    for command in (["serve", "--port", "0"], ["db", "check"]):
        refused = milestoned(tmp_path, *command, "--data", "d", "--database", url)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (1, 1), refused.stderr
        assert why in refused.stderr


def test_a_service_that_can_not_start_says_why_in_a_line(tmp_path: Path) -> None:
    nowhere = ("--database", "postgresql://nobody@127.0.0.1:9/nowhere")
    for command in (["serve", "--port", "0"], ["db", "prune", "--older-than", "1d"]):
        refused = milestoned(tmp_path, *command, *nowhere, "--data", "d")
        assert refused.returncode in (1, 2)
        assert len(refused.stderr.splitlines()) == 1, refused.stderr
    for text, why in (
        ("nonsense!" * 5, "signing key: d/signing.key: not base64, wanted that of 32 bytes\n"),
        ("AAAA" * 10, "signing key: 30 bytes, wanted 32: d/signing.key\n"),
    ):
        (tmp_path / "d" / "signing.key").write_text(text)
        for command in (["serve", "--port", "0"], ["db", "prune", "--older-than", "1d", *nowhere]):
            refused = milestoned(tmp_path, *command, "--data", "d")
            assert (refused.returncode, refused.stderr) == (2, why)
