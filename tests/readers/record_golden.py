"""Records what a real daemon says of files that it reads in a short episode, as the service gets
it.

Run by hand after a change that is meant to change the output: ``python -m
tests.readers.record_golden``. Look at the difference before committing it.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from tests.agentd.support.peer import Peer
from tests.agentd.support.process import DaemonProcess
from tests.probes.record_golden import write
from tests.readers.making import make
from tests.support.logs import ruleset

GOLDEN = Path(__file__).with_name("golden")
RULES = ruleset(
    {
        "id": "agreed",
        "when": {"file_text": {"path": "minutes.docx", "text": {"contains": "agreed"}}},
    },
    {
        "id": "sold",
        "when": {
            "table_cells": {
                "path": "*.xlsx",
                "sheet": "Sales",
                "row": {"Item": "Lamp", "Sold": True},
            }
        },
    },
    {
        "id": "kept",
        "when": {"file_value": {"path": "vlcrc", "at": ["qt", "qt-bgcone"], "value": "0"}},
    },
    weights={"file": 1},
)
"""The task of the recording: two files are made, one of them badly at first; the third was there."""


def damage(home: str) -> None:
    Path(home, "minutes.docx").write_bytes(b"PK\3\4 half of it")


async def record() -> list[list[Any]]:
    """A settings file that was there, a document that is damaged and then whole, a sheet in a
    folder."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        make(Path(home), "vlcrc")
        async with Peer(**RULES.plan("E")) as peer, DaemonProcess(
            peer.url, Path(folder), "--files", f"home={home}"
        ) as daemon:  # fmt: skip
            await daemon.all_ready()
            for step, act in enumerate((damage, _minutes, _sales)):
                await daemon.post("/v1/steps")
                act(home)
                await daemon.post(f"/v1/steps/{step}:end?wait=seal")
            await daemon.post("/v1/close")
            await daemon.ended()
            return [[one.seq, one.source, one.kind, one.at, one.data] for one in peer.events]


def _minutes(home: str) -> None:
    make(Path(home), "minutes.docx")


def _sales(home: str) -> None:
    make(Path(home), "sales.xlsx")


def main() -> None:
    rows = asyncio.run(record())
    write(GOLDEN / "reads.log.jsonl", rows)
    write(GOLDEN / "reads.seen.jsonl", [[kind, data] for _, _, kind, _, data in rows])


if __name__ == "__main__":
    main()
