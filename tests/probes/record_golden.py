"""Records what a real daemon says of its probes in a short episode, as the service gets it.

Run by hand after a change that is meant to change the output: ``python -m
tests.probes.record_golden``. Look at the difference before committing it.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import orjson

from detectors.model.types import Event
from tests.agentd.support.peer import Peer
from tests.agentd.support.process import DaemonProcess
from tests.cdp.site import Answer, Site
from tests.support.logs import ruleset

GOLDEN = Path(__file__).with_name("golden")
JSON = (("content-type", "application/json"),)
PROBES = [
    {"id": "cart", "get": "/api/cart", "budget_ms": 5000},
    {"id": "note", "file": {"root": "home", "path": "note.json", "as": "json"}, "budget_ms": 5000},
    {"id": "uname", "command": {"argv": ["uname"]}, "when": ["close"], "budget_ms": 5000},
]
NOTES = ('{"done": fal', '{"done": false}', '{"done": true, "password": "hunter2"}')
RULES = ruleset(
    {"id": "put", "when": {"probe_answers": {"probe": "cart", "path": "body.items", "value": 1}}},
    {
        "id": "noted",
        "when": {"probe_answers": {"probe": "note", "path": "done", "value": True}},
        "after": ["put"],
    },
    weights={"goal": 1},
    probes=PROBES,
)
"""The task of the recording; its paths stand below the origin that the site had then."""


def as_events(rows: list[list[Any]]) -> list[Event]:
    """A recording as the log that it is."""
    return [Event("E", *row) for row in rows]


def save(home: str, note: str) -> None:
    Path(home, "note.json").write_text(note)


async def record() -> list[list[Any]]:
    """A cart that fills, and a note that is written badly, then well."""
    with (
        Site() as site,
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as home,
    ):
        plan = {**RULES.plan("E"), "origin": site.url}
        site.page("/api/cart", Answer('{"items": 0}', headers=JSON))
        async with (
            Peer(**plan) as peer,
            DaemonProcess(peer.url, Path(folder), "--files", f"home={home}") as daemon,
        ):
            await daemon.all_ready()
            site.page("/api/cart", Answer('{"items": 1}', headers=JSON))
            for step, note in enumerate(NOTES):
                await daemon.post("/v1/steps")
                save(home, note)
                await daemon.post(f"/v1/steps/{step}:end?wait=seal")
            await daemon.post("/v1/close")
            await daemon.ended()
            return [[one.seq, one.source, one.kind, one.at, one.data] for one in peer.events]


def write(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    print(path, len(rows))


def main() -> None:
    rows = asyncio.run(record())
    write(GOLDEN / "probes.log.jsonl", rows)
    write(GOLDEN / "probes.seen.jsonl", [[kind, data] for _, _, kind, _, data in rows])


if __name__ == "__main__":
    main()
