"""Ten thousand reward queries at once on 1,024 sockets: all are answered, those that wait for the
seal too."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest

from tests.faults.script import run
from tests.support.stack import Stack

SOCKETS, EACH = 1_024, 10
FEW_FILES = ("prlimit", "--nofile=1024:")
"""What a login shell gives a process; the service raises it by itself."""
SAY_IT = """
id: test/said
version: "1"
instruction: Say it.
weights: {answer: 1.0}
milestones:
  - {id: said, when: {answer_matches: {text: done}}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("database", ["sqlite", "postgres"], indirect=True)
def test_ten_thousand_queries_at_once(tmp_path: Path, database: str) -> None:
    """Half ask for a sealed step, half wait for one that is not sealed until they all wait."""
    with Stack(tmp_path, database, FEW_FILES) as stack:
        calm = run(stack, tmp_path / "notes", 2)
        old = stack.episode.id
        stack.open(SAY_IT)
        direct = stack.watch()
        direct.step(step=0)
        direct.answer("done")
        host = urlsplit(stack.url)
        wanted = [(old, 0, 0), (stack.episode.id, 0, 50_000)] * (EACH // 2)

        async def ask() -> list[list[tuple[int, dict[str, object]]]]:
            sockets = await _open(host.hostname or "", host.port or 0)
            for _, writer in sockets:
                for episode, step, wait in wanted:
                    path = f"/v1/episodes/{episode}/steps/{step}/reward?wait_ms={wait}"
                    writer.write(_request(path, stack.service.token))
            await asyncio.gather(*(writer.drain() for _, writer in sockets))
            answers = asyncio.gather(*(_answers(reader) for reader, _ in sockets))
            await asyncio.to_thread(direct.end_step, 0)
            found = await answers
            for _, writer in sockets:
                writer.close()
            return found

        found = [answer for of_socket in asyncio.run(ask()) for answer in of_socket]
        assert Counter(status for status, _ in found) == {200: SOCKETS * EACH}
        rewards = Counter((body["episode"], body["status"], body["reward"]) for _, body in found)
        half = SOCKETS * EACH // 2
        assert rewards[old, "sealed", calm[0].reward] == half
        assert rewards[stack.episode.id, "sealed", stack.episode.reward(0).reward] == half


Socket = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _open(host: str, port: int) -> list[Socket]:
    return list(
        await asyncio.gather(*(asyncio.open_connection(host, port) for _ in range(SOCKETS)))
    )


def _request(path: str, token: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: service\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


async def _answers(reader: asyncio.StreamReader) -> list[tuple[int, dict[str, object]]]:
    return [await _answer(reader) for _ in range(EACH)]


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, object]]:
    async with asyncio.timeout(120):
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower().splitlines()
        length = next(
            int(line.partition(":")[2]) for line in head if line.startswith("content-length:")
        )
        return int(head[0].split()[1]), orjson.loads(await reader.readexactly(length))
