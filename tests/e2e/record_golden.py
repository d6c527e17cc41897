"""Records what journal and harness say in one real episode, its daemon lost and found again on the
way.

Run it from the project's root: ``.venv/bin/python -m tests.e2e.record_golden``.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import orjson

from tests.e2e.test_client import TASK
from tests.support.stack import SEAL_S, Stack

GOLDEN = Path(__file__).parent / "golden" / "episode.seen.jsonl"


def main() -> None:
    """Write the first event of each kind, as [kind, data]."""
    with tempfile.TemporaryDirectory() as scratch, Stack(Path(scratch)) as stack:
        watched = Path(scratch) / "watched"
        watched.mkdir()
        episode = stack.open(TASK)
        rules = Path(scratch) / "task.json"
        rules.write_bytes(orjson.dumps(TASK))
        stack.watch(("--edge", str(rules)), files=[watched])
        episode.step({"click": "Save"})
        episode.tool_called("c1", "editor", {"file": "report.txt"})
        (watched / "report.txt").write_text("all is well")
        episode.tool_returned("c1", ok=True, result={"bytes": 11})
        episode.end_step()
        episode.reward(0, wait_s=SEAL_S)
        created = next(event.seq for event in episode.events() if event.kind == "file.created")
        episode.submit_evidence("c1", [created])
        stack.kill_daemon()
        shutil.rmtree(stack.state)
        stack.start_daemon()
        episode.step({"say": "42"})
        episode.answer("42")
        episode.close("done", wait_s=SEAL_S)
        first: dict[str, bytes] = {}
        for event in episode.events():
            if event.source in ("journal", "steps"):
                first.setdefault(event.kind, orjson.dumps([event.kind, dict(event.data)]))
        GOLDEN.write_bytes(b"".join(line + b"\n" for line in first.values()))


if __name__ == "__main__":
    main()
