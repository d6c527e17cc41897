"""Every command and every option that names a file: what is read is a regular file, or refused at
once, by name.

A FIFO that nobody writes to would be waited for, and a device would be read until the memory is
full. Which arguments there are is asked of the commands, so that none is added without saying here
what it is.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.audit.note import PublicKey
from api.cli.access import find_access
from api.cli.main import main
from api.core.settings import Settings
from api.core.signing import Signer
from tests.support.bounded import in_bounds
from tests.support.commands import commands_of, shown_name

TASK = Path(__file__).parents[1] / "examples" / "shop" / "task.yaml"
SHOP = Path(__file__).parents[1] / "benchmarks" / "fleet" / "shop.mrec"
SIGNER = Signer(bytes(32))
KEY = PublicKey(SIGNER.name, SIGNER.public).text()
MAX_MEMORY = 200 << 20
"""Of the whole process, of which some commands' libraries take more than half."""

KINDS = ("pipe", "device")
READ: dict[str, str] = {
    "api watch task": "watch {} --cdp http://127.0.0.1:9",
    "api task check files": "task check {}",
    "api task explain file": "task explain {}",
    "api task explain recording": "task explain {task} {}",
    "api task test files": "task test {}",
    "api task attack file": "task attack {}",
    "api task attack --oracle": "task attack {task} --oracle {}",
    "api task attack --other": "task attack {task} --oracle {file} --other {}",
    "api task propose --from": "task propose --from {}",
    "api task propose --against": "task propose --from {shop} --against {}",
    "api task propose --instructions": "task propose --from {shop} --instructions {}",
    "api task propose --draft": "task propose --from {shop} --draft {}",
    "api task refine file": "task refine {} --stored --data {data}",
    "api task import source": "task import {importer} {} --out {out}",
    "api coverage source": "coverage {importer} {}",
    "api coverage --into": "coverage miniwob {miniwob} --into {}",
    "api replay recording": "replay {} --task {task} --set origin=http://shop.test",
    "api replay --task": "replay {file} --task {}",
    "api rescore recordings": (
        "rescore {} --task {task} --set origin=http://shop.test --against {task}"
    ),
    "api rescore --task": "rescore {file} --task {} --against {task}",
    "api rescore --against": (
        "rescore {file} --task {task} --set origin=http://shop.test --against {}"
    ),
    "api rescore --out": "rescore {file} --task {task} --set origin=http://shop.test --out {part}",
    "api export recordings": "export {} --task {task} --set origin=http://shop.test --out {out}",
    "api export --task": "export {file} --task {} --out {out}",
    "api audit verify --checkpoints": "audit verify --data {data} --key {key} --checkpoints {}",
    "api rm prefer index": "rm prefer {} {out}",
    "api rm train preferences": "rm train {} --models {out} --name m",
    "api rm eval preferences": "rm eval {}",
    "api rm gate preferences": "rm gate m {} --models {out}",
    "api task rubric file": "task rubric {}",
    "api task register file": (
        "task register {} --service http://127.0.0.1:9 --token-file {token}"
    ),
    "api task register --token-file": (
        "task register {task} --service http://127.0.0.1:9 --token-file {}"
    ),
    "api task rubric --confirm": "task rubric {task} --set origin=http://shop.test --by a --confirm {}",
    "api cascade eval file": "cascade eval {}",
    "api weights fit preferences": "weights fit {} --task {task}",
    "api weights fit --task": "weights fit {file} --task {}",
    "api cascade calibrate file": "cascade calibrate {}",
    "api recording show recording": "recording show {}",
    "api recording verify recording": "recording verify {}",
    "api episode open --token-file": "episode open t --service http://127.0.0.1:9 --token-file {}",
    "api episode recording --token-file": (
        "episode recording e --service http://127.0.0.1:9 --token-file {} --out {out}"
    ),
    "api episode explain --token-file": (
        "episode explain e --service http://127.0.0.1:9 --token-file {}"
    ),
    "api mcp --token-file": "mcp --service http://127.0.0.1:9 --token-file {}",
    "api ors-proxy --token-file": (
        "ors-proxy http://127.0.0.1:9 --task t --service http://127.0.0.1:9 --port 0 --token-file {}"
    ),
    "api serve --token-file": (
        "serve --data {out} --host 0.0.0.0 --i-have-tls-in-front --port 0 --token-file {}"
    ),
    "api serve --tls-cert": (
        "serve --data {out} --host 0.0.0.0 --port 0 --tls-cert {} --tls-key {file}"
    ),
    "api serve --tls-key": (
        "serve --data {out} --host 0.0.0.0 --port 0 --tls-cert {file} --tls-key {}"
    ),
    "agentd run --token-file": (
        "run --service http://127.0.0.1:9 --episode e --state {out} --token-file {}"
    ),
    "agentd join --token-file": "join --service http://127.0.0.1:9 --state {out} --token-file {}",
    "agentd devtools --token-file": (
        "devtools --cdp http://127.0.0.1:9 --listen 127.0.0.1:0 --token-file {}"
    ),
    "agentd join --address-token": (
        "join --service http://127.0.0.1:9 --state {out} --token-file {token} --once "
        "--address http://127.0.0.1:9 --address-token {}"
    ),
    "api convert input": "convert {} --out {out}.mrec",
    "api convert --answer": "convert {har} --out {out}.mrec --answer {}",
    "agentd read file": "read {}",
    "agentd run --edge": (
        "run --service http://127.0.0.1:9 --episode e --state {out} --token-file {token} --edge {}"
    ),
    "agentd record --task": "record --cdp http://127.0.0.1:9 --out {out}.mrec --task {}",
}
"""The command line with which an argument's file is opened for reading: ``{}`` stands for it."""
REFUSED = ("regular file", "no recording there; wanted a file", "no such file")
FOLDERS = {
    "--data", "--state", "--models", "--profile", "--files", "api demo --out", "api watch --out",
    "api task import --out", "api export --out", "api task attack --keep",
    "api rm prefer --into", "api rm learn --into",
}  # fmt: skip
WRITTEN = {
    "api serve --port-file", "api serve --checkpoints", "api task new file", "api audit report --out",
    "api task propose --out", "api task refine --out", "api episode recording --out", "api rm prefer out",    "api rm eval --json", "api rm eval --plot", "api cascade calibrate --out", "api task rubric --out",
    "agentd record --out", "api convert --out",
}  # fmt: skip
"""Written, and never read."""
ELSEWHERE = {
    "api serve --model": "a folder or an address",
    "api rescore --model": "a folder or an address",
    **{
        f"agentd {command} --socket": "a socket that is made"
        for command in ("run", "join", "record")
    },
}


def arguments() -> Iterator[str]:
    """Every argument that is a path, as ``program command argument``."""
    for program in ("milestoned", "agentd"):
        for command in commands_of(program):
            for argument in command.arguments:
                metavar = str(argument.parameter.metavar)
                if "Path" in str(argument.hint) or any(
                    word in metavar for word in ("FILE", "DIR", "PATH")
                ):
                    words = ("api" if program == "milestoned" else program, *command.words)
                    yield " ".join((*words, shown_name(argument)))


def test_every_argument_that_is_a_file_is_named_here() -> None:
    """A new one fails until it says whether it is read; one that is gone is taken away."""
    found = set(arguments())
    folders = {one for one in found if one in FOLDERS or one.rpartition(" ")[2] in FOLDERS}
    assert found - folders - set(ELSEWHERE) == set(READ) | WRITTEN
    assert len(READ) > 30


def _places(folder: Path, path: Path) -> dict[str, str]:
    made = {"file": "a.mrec", "token": "token", "har": "a.har", "miniwob": "tasks.jsonl"}
    for name in made.values():
        (folder / name).write_bytes(b"")
    (folder / "token").write_text("tok_0123456789abcdef")
    (folder / "a.har").write_text('{"log": {"entries": []}}')
    return {
        "shop": str(SHOP), "task": str(TASK), "importer": "webarena-infinity", "out": str(folder / "out"), "data": str(folder / "service"),
        "part": str(path).removesuffix(".part"), "key": KEY,
        **{key: str(folder / name) for key, name in made.items()},
    }  # fmt: skip


def _by_turns() -> Iterator[Any]:
    """Each argument with a pipe and with a device: every fourth argument with one of the two, by
    turns, the rest in `make test-all` alone, for each is a process."""
    for number, argument in enumerate(READ):
        for kind in KINDS:
            is_slow = number % 4 > 0 or KINDS[number // 4 % 2] == kind
            marks = [pytest.mark.slow] if is_slow else []
            yield pytest.param(argument, kind, id=f"{argument}-{kind}", marks=marks)


@pytest.mark.parametrize(("argument", "kind"), list(_by_turns()))
def test_a_pipe_is_not_waited_for_and_a_device_is_not_read(
    argument: str, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "it.part"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    if "{data}" in READ[argument]:
        assert main(["db", "upgrade", "--data", str(tmp_path / "service")]) == 0
    line = READ[argument].replace("{}", str(path)).format(**_places(tmp_path, path))
    module = {"api": "api.cli.main", "agentd": "agentd"}[argument.partition(" ")[0]]
    code, said, peak = in_bounds(*shlex.split(line), module=module, patience_s=120)
    assert code != 0, said
    assert "Traceback" not in said, said
    assert peak < MAX_MEMORY
    assert any(words in said for words in REFUSED), said


NO_TEXT = b"\xff\xfe\x00 no UTF-8"


@pytest.mark.parametrize("argument", ["api coverage --into", "api audit verify --checkpoints"])
def test_bytes_that_are_no_text_are_refused_by_name(
    argument: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "it.part"
    path.write_bytes(NO_TEXT)
    places = _places(tmp_path, path)
    assert main(["db", "upgrade", "--data", places["data"]]) == 0
    assert main(shlex.split(READ[argument].replace("{}", str(path)).format(**places))) != 0
    assert f"{path}: is no UTF-8 text" in capsys.readouterr().err
    assert path.read_bytes() == NO_TEXT


def test_an_admin_token_that_is_no_text_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "admin.token").write_bytes(NO_TEXT)
    settings = Settings(data=tmp_path, admin_token="")
    assert find_access(settings, "http://127.0.0.1:9") is None
    assert f"{tmp_path / 'admin.token'}: is no UTF-8 text" in capsys.readouterr().err
