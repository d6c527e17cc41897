"""The gateway as a process before a server as a process: bytes, exit status, signals, the journal."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.agentd.mcp.line_server import NOISE
from tests.agentd.mcp.support import Beside
from tests.api.processes import ROOT

SERVER = (sys.executable, "-m", "tests.agentd.mcp.line_server")
GARBAGE = b'{"half": \n\xff\xfe\xfd\n\n{"jsonrpc":"2.0"\r\n' + b"x" * 300_000 + b"\n"


def request(number: int, tool: str, **arguments: object) -> bytes:
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    return json.dumps(message).encode() + b"\n"


async def start(*command: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *command,
        cwd=ROOT,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


def before(state: Path, *server: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "agentd", "mcp", "--state", os.fspath(state), "--", *server)


async def talk(server: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    """Call a tool, then another between lines that are no messages; everything that came."""
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(request(1, "say"))
    first = await server.stdout.readuntil(b'"say"}]}}\n')
    rest, errors = await server.communicate(GARBAGE + request(2, "tell") + b"no line feed")
    return first + rest, errors


async def test_every_byte_passes_and_each_call_is_a_step(tmp_path: Path) -> None:
    """In both directions, to the last that no line feed ends, and the exit status, too: as of the
    bare server."""
    async with Beside(tmp_path) as beside:
        bare, gateway = await start(*SERVER), await start(*before(tmp_path, *SERVER))
        async with asyncio.timeout(30):
            (alone, _), (through, said) = await asyncio.gather(talk(bare), talk(gateway))
        assert through == alone
        assert alone.count(NOISE) == 2
        assert GARBAGE in alone.replace(b"heard: ", b"")
        assert (gateway.returncode, said) == (bare.returncode, b"")
        assert await beside.told() == [
            *("began 0", "called say", "returned say", "ended 0"),
            *("began 1", "called tell", "returned tell", "ended 1"),
        ]


async def test_a_server_that_dies_ends_the_gateway_and_the_step(tmp_path: Path) -> None:
    """Half an answer passes, too; the call that ran comes back with the reason."""
    async with Beside(tmp_path) as beside:
        gateway = await start(*before(tmp_path, *SERVER))
        assert gateway.stdin is not None
        assert gateway.stdout is not None
        gateway.stdin.write(request(1, "die"))
        async with asyncio.timeout(30):  # the client's end stays open
            assert await gateway.stdout.read() == b'{"jsonrpc":"2.0","id":0,"resu'
            assert await gateway.wait() == 7
        assert await beside.told() == [
            *("began 0", "called die", "returned the server ended with status 7", "ended 0")
        ]


async def test_a_gateway_that_is_told_to_stop_passes_it_on(tmp_path: Path) -> None:
    """The server decides; no daemon listens, and nothing waits for one."""
    gateway = await start(*before(tmp_path, *SERVER))
    assert gateway.stdin is not None
    assert gateway.stdout is not None
    gateway.stdin.write(request(1, "say"))
    async with asyncio.timeout(30):
        await gateway.stdout.readuntil(b'"text": "say"')
        gateway.send_signal(signal.SIGTERM)
        said = (await gateway.communicate())[1].decode()
    assert gateway.returncode == 128 + signal.SIGTERM
    assert "agentd.json is missing" in said


REFUSED = {
    "no server": (["--state", "."], "SERVER is missing"),
    "no such folder": (
        ["--state", "nowhere", "--", "true"],
        "--state nowhere: expected the folder",
    ),
    "no such command": (["--state", ".", "--", "no-such-command"], "no-such-command: No such file"),
}


@pytest.mark.parametrize(("argv", "said"), REFUSED.values(), ids=REFUSED)
def test_refused(argv: list[str], said: str, capfd: pytest.CaptureFixture[str]) -> None:
    from agentd.cli.main import main

    with pytest.raises(SystemExit) as ended:
        main(["mcp", *argv])
    assert ended.value.code == 2
    assert said in capfd.readouterr().err
