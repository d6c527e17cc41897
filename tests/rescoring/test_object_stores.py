"""`milestoned export --out URL`: to an object store, whole or not at all."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import obstore
import pyarrow.parquet as pq
import pytest
from obstore.store import LocalStore, MemoryStore, ObjectStore

from api.cli import export as command
from api.cli.main import main
from api.exporting.object_stores import (
    ObjectStoreError,
    open_store,
    staged_for,
    upload,
    without_secrets,
)
from api.exporting.staging import INCOMPLETE, staged_in
from tests.rescoring.corpus import written
from tests.rescoring.test_chats import BUY, CART, SHOP, recorded

ROOT = Path(__file__).parents[2]
FILES = {"sft.parquet", "README.md"}
SECRET = "hunter2hunter2"


def names(store: ObjectStore) -> set[str]:
    """The paths of all objects."""
    return {str(one["path"]) for page in obstore.list(store) for one in page}


def export(tmp_path: Path, out: str, *more: str) -> int:
    """Export one recorded success as conversations."""
    recorded(tmp_path / "one.mrec", [("go to cart", CART), ("buy", BUY)])
    task = written(tmp_path / "task.yaml", SHOP)
    asked = ["export", str(tmp_path / "one.mrec"), "--task", str(task), "--form", "sft"]
    return main([*asked, "--out", out, *more])


def cut_off(staging: Path) -> NoReturn:
    """Write a part of an export, and end as Ctrl-C does."""
    (staging / "README.md").write_text("cut off")
    raise KeyboardInterrupt


@pytest.fixture(params=("memory", "local"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """An empty store of each kind that needs no server."""
    return MemoryStore() if request.param == "memory" else LocalStore(tmp_path / "s", mkdir=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of an export, one larger than a part of an upload."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "README.md").write_text("card")
    (files / "steps.parquet").write_bytes(bytes(range(256)) * 40_000)
    return files


def test_the_files_are_there_whole_and_nothing_else(store: ObjectStore, folder: Path) -> None:
    obstore.put(store, f"{INCOMPLETE}/old.parquet", b"of an export that was killed")
    obstore.put(store, "README.md", b"of an earlier export")
    upload(store, folder)
    assert names(store) == {"README.md", "steps.parquet"}
    for name in names(store):
        assert bytes(obstore.get(store, name).bytes()) == (folder / name).read_bytes()


def test_an_upload_that_fails_leaves_nothing_behind(store: ObjectStore, folder: Path) -> None:
    obstore.put(store, "README.md", b"of an earlier export")
    (folder / "zeros.parquet").mkdir()
    (folder / "zeros.parquet").rmdir()
    (folder / "zeros.parquet").symlink_to("/proc/self/mem")  # a regular file that fails when read
    with pytest.raises(ObjectStoreError):
        upload(store, folder)
    assert names(store) == {"README.md"}
    assert bytes(obstore.get(store, "README.md").bytes()) == b"of an earlier export"


def test_the_command_writes_to_a_url(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = f"file://{tmp_path}/bucket/run-1"
    assert export(tmp_path, url) == 0
    assert capsys.readouterr().out.startswith(f"{url}: 1 rows of sft data")
    assert {path.name for path in (tmp_path / "bucket/run-1").iterdir()} >= FILES
    rows = pq.read_table(tmp_path / "bucket/run-1/sft.parquet").to_pylist()
    assert [row["episode"] for row in rows] == ["ep_one"]
    assert export(tmp_path, "memory:///trial") == 0


def test_an_export_that_is_cut_off_leaves_nothing_in_folder_or_store(tmp_path: Path) -> None:
    earlier = tmp_path / "earlier"
    earlier.mkdir()
    (earlier / "README.md").write_text("of an earlier export")
    for place in (tmp_path / "new", earlier):
        with pytest.raises(KeyboardInterrupt), staged_in(place) as staging:
            cut_off(staging)
    assert not (tmp_path / "new").exists()
    assert [path.read_text() for path in earlier.iterdir()] == ["of an earlier export"]
    url = f"file://{tmp_path}/bucket"
    with pytest.raises(KeyboardInterrupt), staged_for(url) as staging:
        cut_off(staging)
    assert list((tmp_path / "bucket").iterdir()) == []


@pytest.mark.parametrize("form", command.EXPORT_FORMS)
def test_every_form_that_fails_in_its_midst_leaves_no_file(
    tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The second of two recordings is damaged."""
    recorded(tmp_path / "a.mrec", [("go to cart", CART), ("buy", BUY)])
    content = (tmp_path / "a.mrec").read_bytes()
    (tmp_path / "b.mrec").write_bytes(content[: len(content) // 2])
    task = written(tmp_path / "task.yaml", SHOP)
    asked = [str(tmp_path / "a.mrec"), str(tmp_path / "b.mrec"), "--task", str(task)]
    out = tmp_path / "out"
    assert main(["export", *asked, "--form", form, "--out", str(out)]) == 2
    assert "b.mrec" in capsys.readouterr().err
    assert not out.exists()


REFUSED = {
    "ftp://host/x": "--out: got ftp://; expected a folder or s3://, gs://, az://, file://",
    f"s3://id:{SECRET}@bucket/x": "--out: got a URL with credentials or a query",
    f"s3://bucket/x?secret={SECRET}": "--out: got a URL with credentials or a query",
    "s3://": "--out: Generic URL error",
}


@pytest.mark.parametrize("url", REFUSED)
def test_a_url_that_is_refused_is_named_without_its_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    assert export(tmp_path, url) == 2
    said = capsys.readouterr()
    assert REFUSED[url] in said.err
    assert SECRET not in said.err + said.out
    assert len(said.err.splitlines()) == 1


def test_no_message_has_the_value_of_a_secret() -> None:
    variables = {"AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "eu-west-1"}
    said = without_secrets(f"no {SECRET} in eu-west-1", variables)
    assert said == "no [masked] in eu-west-1"


def test_a_store_that_does_not_answer_is_an_error_of_one_line(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
        "AWS_ALLOW_HTTP": "true",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("api.exporting.object_stores.MAX_RETRIES", 0)
    with pytest.raises(ObjectStoreError) as refused:
        upload(open_store("s3://bucket/run"), folder)
    assert str(refused.value).startswith("--out: Generic S3 error")
    assert SECRET not in str(refused.value)


def test_without_the_extra_the_command_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "api.exporting.object_stores", None)
    assert export(tmp_path, "s3://bucket/x") == 2
    assert "pip install 'milestoned[object-store]'" in capsys.readouterr().err


@pytest.fixture
def s3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The log of an S3 server with an empty bucket `runs`: moto's, in its own environment."""
    python = ROOT / ".venv-objects" / "bin" / "python"
    if not python.exists():
        pytest.skip(".venv-objects is missing: `make test-all` makes it")
    requests = tmp_path / "requests.log"
    program = [python, Path(__file__).with_name("s3_server.py")]
    with (
        requests.open("w") as log,
        subprocess.Popen(program, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        assert server.stdout is not None
        for name, value in {
            "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": server.stdout.readline().strip(),
            "AWS_ALLOW_HTTP": "true",
        }.items():
            monkeypatch.setenv(name, value)
        yield requests
        server.terminate()


@pytest.mark.slow
def test_s3_takes_an_export_in_parts_and_keeps_nothing_of_one_that_failed(
    s3: Path, tmp_path: Path, folder: Path
) -> None:
    assert export(tmp_path, "s3://runs/one") == 0
    store = open_store("s3://runs")
    assert names(store) == {f"one/{name}" for name in FILES}
    upload(open_store("s3://runs/two"), folder)
    found = obstore.get(store, "two/steps.parquet")
    assert found.meta["size"] == (folder / "steps.parquet").stat().st_size
    assert "partNumber=2" in s3.read_text(), "it was sent in two parts"
    (folder / "zeros.parquet").symlink_to("/proc/self/mem")
    with pytest.raises(ObjectStoreError):
        upload(open_store("s3://runs/three"), folder)
    assert {name for name in names(store) if name.startswith("three")} == set()
    with pytest.raises(ObjectStoreError) as refused:
        upload(open_store("s3://nobody/x"), folder)
    assert SECRET not in str(refused.value)
