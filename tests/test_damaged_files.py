"""Files that somebody gives, and files that a lost machine or a full disk left half: each is refused
in words that name it, or read as it is; nothing is taken for what it is not."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from agentd.core.errors import UsageError
from agentd.core.secret_file import read_or_make_secret
from agentd.run.daemon import read_token
from agentd.sources.cdp.transport.address import websocket_address
from api.cli.exposure import Exposure
from api.cli.main import main
from api.core.keys import KeyFileError, load_keys, read_or_create
from api.core.settings import Settings
from api.stages.model.folder import BUILTIN, PARTS, ModelError, load
from common.regular_file import MAX_BYTES
from lab.training.history import FILE, HistoryError, ModelHistory
from tests.api.service import TASK
from tests.api.test_exposure import certificate
from tests.rescoring.corpus import record, rescore, written

ROOT = Path(__file__).parents[1]
NO_SECRET = {
    "empty": b"",
    "a line's end alone": b"\n",
    "cut off": b"0123456789abcdef0123456789abcde",
    "zeros of a lost machine": bytes(64),
    "no text": b"\xff\xfe" * 32,
    "JSON": b'{"token": "0123456789abcdef0123456789abcdef"}',
    "two lines": b"0123456789abcdef\n0123456789abcdef0123456789abcdef\n",
}


@pytest.mark.parametrize("content", NO_SECRET.values(), ids=NO_SECRET)
def test_a_file_that_holds_no_secret_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    """An empty one was the key of every daemon's token: anybody could have made them."""
    for file in (tmp_path / "secret", tmp_path / "instance"):
        file.write_bytes(content)
    with pytest.raises(KeyFileError, match=r"secret: got .* characters, expected one line"):
        load_keys(Settings(data=tmp_path))
    with pytest.raises(UsageError, match=r"instance: got .* characters, expected the 43 letters"):
        read_or_make_secret(tmp_path / "instance")
    if content != NO_SECRET["cut off"]:
        with pytest.raises(UsageError, match=r"--token-file .*secret: wanted one token"):
            read_token(tmp_path / "secret", "the append token")


def test_a_secret_is_made_once(tmp_path: Path) -> None:
    for _ in range(2):
        assert read_or_create(tmp_path / "a", lambda: "0" * 32) == "0" * 32
    assert read_or_make_secret(tmp_path / "b") == read_or_make_secret(tmp_path / "b")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", ["secret", "admin.token", "signing.key"])
def test_a_service_does_not_start_with_a_key_that_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    refused = milestoned("serve", "--port", "0", "--data", str(tmp_path))
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"{tmp_path / name}: got 0 characters, expected one line")
    assert len(refused.stderr.splitlines()) == 1


def milestoned(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "api.cli.main", *arguments]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("name", ["cert.pem", "key.pem"])
@pytest.mark.parametrize("how", ["empty", "half", "zeros", "no text", "another's"])
def test_a_service_does_not_start_with_a_certificate_or_key_that_is_none(
    tmp_path: Path, name: str, how: str
) -> None:
    for folder in (tmp_path / "other", tmp_path):
        folder.mkdir(exist_ok=True)
        certificate(folder)
        pair = Exposure(tls_cert=folder / "cert.pem", tls_key=folder / "key.pem")
        assert pair.refusal(Settings(data=tmp_path)) is None
    whole = (tmp_path / name).read_bytes()
    damaged = {
        "empty": b"",
        "half": whole[: len(whole) // 2],
        "zeros": bytes(len(whole)),
        "no text": b"\xff\xfe",
        "another's": (tmp_path / "other" / name).read_bytes(),
    }
    (tmp_path / name).write_bytes(damaged[how])
    refusal = pair.refusal(Settings(data=tmp_path))
    assert refusal is not None
    assert str(tmp_path / name) in refusal
    assert "PEM" in refusal


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "no database": lambda _: b"\0" * 4_096,
    "a text": lambda _: b"null",
    "half": lambda whole: whole[: len(whole) // 2],
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_database_that_is_damaged_is_named(
    how: str, sqlite_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sqlite_file.write_bytes(BROKEN[how](sqlite_file.read_bytes()))
    data = ["--data", str(sqlite_file.parent)]
    for command in (["token", "list"], ["db", "check"], ["db", "upgrade"]):
        assert main([*command, *data]) == 1
        said = capsys.readouterr().err
        assert f"the database {sqlite_file}: " in said
        assert "put a backup in its place" in said
        assert len(said.splitlines()) == 1


def test_a_check_reads_the_whole_database(
    sqlite_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What no statement meets as the service starts."""
    data = ["--data", str(sqlite_file.parent)]
    assert main(["db", "check", *data]) == 0
    content = bytearray(sqlite_file.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    for number in range(20, 24):
        content[number * page : number * page + 16] = b"\xff" * 16
    sqlite_file.write_bytes(content)
    assert main(["token", "list", *data]) == 0
    capsys.readouterr()
    assert main(["db", "check", *data]) == 1
    assert f"the database {sqlite_file}: " in capsys.readouterr().err


@pytest.fixture
def sqlite_file(tmp_path: Path) -> Path:
    """A database of SQLite's with the schema and nothing in it."""
    assert main(["db", "upgrade", "--data", str(tmp_path)]) == 0
    return tmp_path / "milestoned.db"


ADDRESSES: dict[bytes, str] = {
    b"": "expected JSON",
    b"\xff\xfe": "expected JSON",
    b"null": "expected an object with host",
    b'{"port": 1}': "expected an object with host",
    b'{"host": "127.0.0.1", "port": "1"}': "and port, a number",
}


@pytest.mark.parametrize("content", ADDRESSES)
def test_an_address_of_a_service_that_is_none_is_named(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "service.json"
    file.write_bytes(content)
    assert main(["episode", "explain", "ep_x", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"{file}: ")
    assert ADDRESSES[content] in said


@pytest.mark.parametrize(
    "content", [b"", b"9222", b"9222\x0f/devtools/browser/a", b"9222\ndevtools", b"x\n/devtools"]
)
async def test_a_browsers_port_file_that_is_none_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "DevToolsActivePort").write_bytes(content)
    with pytest.raises(Exception, match="DevToolsActivePort: wanted a port and a path"):
        await websocket_address(None, tmp_path)


LINE = (
    b'{"at":"2026-11-28T00:00:00+00:00","phase":"promoted","model":"a","digest":"d","facts":{}}\n'
)
NO_HISTORY = {
    "a foreign end": LINE + b"P*M\x18foreign",
    "zeros of a lost machine": LINE + bytes(64),
    "zeros alone": bytes(64),
    "no object": LINE + b"null\n",
    "another member": LINE.replace(b"facts", b"fact"),
    "another phase": LINE.replace(b"promoted", b"promotes"),
    "no JSON": LINE + LINE[1:],
    "no text": LINE + b"\xff\n",
}


@pytest.mark.parametrize("content", NO_HISTORY.values(), ids=NO_HISTORY)
def test_a_history_of_models_that_is_none_is_named_and_stays_as_it_is(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what is served: a part of it is no other history."""
    file = tmp_path / FILE
    file.write_bytes(content)
    with pytest.raises(HistoryError, match=f"{FILE}:[12]: got .*, expected a line of JSON"):
        ModelHistory(tmp_path).events()
    assert main(["rm", "history", "--models", str(tmp_path)]) == 2
    assert str(file) in capsys.readouterr().err
    if content.endswith(b"\n"):
        return
    with pytest.raises(HistoryError):
        ModelHistory(tmp_path).note("trained", "b", "d", {})
    assert file.read_bytes() == content


def test_a_history_of_models_that_a_kill_left_torn_goes_on(tmp_path: Path) -> None:
    for torn in (b"{", LINE[:20], LINE[:-2]):
        (tmp_path / FILE).write_bytes(LINE + torn)
        assert [one.model for one in ModelHistory(tmp_path).events()] == ["a"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A copy of the model of the package."""
    return Path(shutil.copytree(BUILTIN, tmp_path / "m"))


def resign(folder: Path) -> None:
    """Let the card say the digests of what is there, as somebody who makes a folder can."""
    from api.stages.model.folder import _sha

    card = orjson.loads((folder / "card.json").read_bytes())
    card["digests"] = {name: _sha(folder / name) for name in PARTS}
    (folder / "card.json").write_bytes(orjson.dumps(card))


def changed(folder: Path, **arrays: Callable[[Any], Any]) -> None:
    """Change arrays of the model's success head."""
    with np.load(folder / "model.npz") as kept:
        found = dict(kept)
    for name, change in arrays.items():
        found[f"success.{name}"] = change(found[f"success.{name}"])
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **found)
    (folder / "model.npz").write_bytes(packed.getvalue())
    resign(folder)


@pytest.mark.parametrize(
    ("arrays", "why"),
    [
        ({"left": lambda a: a + 10**6}, "left: expected whole numbers from 0"),
        ({"feature": lambda a: a - 10**6}, "feature: expected whole numbers from 0"),
        ({"roots": lambda a: a.astype(np.float64)}, "roots: expected whole numbers"),
        ({"depth": lambda _: np.int64(10**12)}, "depth: expected 0 to 1024"),
        ({"value": lambda a: a * np.nan}, "value: expected finite numbers"),
        ({"value": lambda a: a[:-1]}, "value: expected .* nodes"),
        ({"value": lambda a: a.reshape(1, -1)}, "value: expected a row of numbers"),
        ({"left": lambda a: a.astype("S4")}, "left: expected a row of numbers"),
    ],
    ids=[
        "beyond the nodes",
        "below them",
        "not whole",
        "a depth without end",
        "no numbers",
        "too few",
        "a table",
        "texts",
    ],
)
def test_trees_that_no_walk_ends_in_are_refused(
    model: Path, arrays: dict[str, Callable[[Any], Any]], why: str
) -> None:
    load(model)
    changed(model, **arrays)
    with pytest.raises(ModelError, match=why):
        load(model)


@pytest.mark.parametrize("part", ["card.json", *PARTS])
@pytest.mark.parametrize(
    "content", [b"", b"null", b"[]", b"{}", b"\0" * 99, b"\xff", b"PK\x03\x04"]
)
def test_a_part_of_a_model_that_is_none_is_refused(model: Path, part: str, content: bytes) -> None:
    (model / part).write_bytes(content)
    if part != "card.json":
        resign(model)
    with pytest.raises(ModelError, match=str(model)):
        load(model)


def test_an_archive_that_unpacks_to_gigabytes_is_refused(model: Path) -> None:
    with (
        zipfile.ZipFile(model / "model.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("success.left.npy", "w", force_zip64=True) as entry,
    ):
        for _ in range(300):
            entry.write(bytes(1 << 20))
    assert (model / "model.npz").stat().st_size < MAX_BYTES
    resign(model)
    with pytest.raises(ModelError, match=r"model\.npz: expected at most .* bytes unpacked"):
        load(model)


def test_a_card_that_was_changed_since_the_training_is_not_promoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The card has the weights of the heads, and the digests of everything else."""
    pytest.importorskip("lightgbm")
    model = Path(shutil.copytree(BUILTIN, tmp_path / "m"))
    ModelHistory(tmp_path).note("trained", "m", load(model).digest, {})
    card = orjson.loads((model / "card.json").read_bytes())
    (model / "card.json").write_bytes(orjson.dumps(card | {"risk": 1}))
    assert main(["rm", "promote", "m", "--models", str(tmp_path)]) == 2
    assert f"{model / 'card.json'}: sha256 is" in capsys.readouterr().err
    assert not (tmp_path / "served").exists()


@pytest.mark.parametrize("at", [5, 100, 400, -400, -2])
def test_earlier_results_that_were_changed_or_cut_off_are_refused(
    tmp_path: Path, at: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A changed number would be a difference that is none, or none where there is one."""
    recordings, task = record(tmp_path / "corpus", 3), written(tmp_path / "t.yaml", TASK)
    out = tmp_path / "results.jsonl"
    assert rescore(recordings, "--task", task, "--out", out, "--workers", 1) == 0
    again = (recordings, "--task", task, "--against", out, "--workers", 1)
    assert rescore(*again) == 0
    whole = out.read_bytes()
    flipped = bytearray(whole)
    flipped[at] ^= 1
    lines = whole.splitlines(keepends=True)
    for damaged in (bytes(flipped), b"".join(lines[:-1]), whole[:-1], b"", b"null\n", lines[1]):
        out.write_bytes(damaged)
        capsys.readouterr()
        assert rescore(*again) == 2
        assert str(out) in capsys.readouterr().err
