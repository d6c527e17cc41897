"""Runs in .venv-webarena: lines {task_id, answer, entries or har} in, [its own evaluator's score,
seconds] out."""

from __future__ import annotations

import json
import logging
import sys
import time
from pathlib import Path

from webarena_verified.api import WebArenaVerified
from webarena_verified.types.config import WebArenaVerifiedConfig

if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    sites = {
        f"__{name.upper()}__": {"urls": [url]} for name, url in json.loads(sys.argv[1]).items()
    }
    judge = WebArenaVerified(config=WebArenaVerifiedConfig(environments=sites))
    for line in sys.stdin:
        case = json.loads(line)
        trace = Path(case["har"]) if "har" in case else case["entries"]
        began = time.process_time()
        found = judge.evaluate_task(
            task_id=case["task_id"], agent_response=case["answer"], network_trace=trace
        )
        print(json.dumps([found.score, time.process_time() - began]), flush=True)
