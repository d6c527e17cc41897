"""NeMo Gym's own command line, `gym env start`, with what docs/trainers/nemo-gym.md says to put
into its folder."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.support.ports import free_port
from tests.trainers.harness.nemo_agents import HOST, PATIENCE_S
from tests.trainers.harness.say import say

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "trainers" / "nemo-gym.md").read_text()


def pasted(root: Path) -> Path:
    """The server's folder as its page has it; its agent is another test's, its environment this
    process's own."""
    code, config = (
        re.search(rf"^```{kind}\n(.*?)^```", PAGE, re.M | re.S) for kind in ("python", "yaml")
    )
    assert code is not None
    assert config is not None
    folder = root / "resources_servers" / "milestoned"
    (folder / "configs").mkdir(parents=True)
    (folder / "app.py").write_text(code[1])
    told = {
        "milestoned": yaml.safe_load(config[1])["milestoned"],
        "head_server": {"host": HOST, "port": free_port()},
    }
    where = folder / "configs" / "milestoned.yaml"
    where.write_text(yaml.safe_dump(told))
    (folder / ".venv").symlink_to(sys.prefix)
    return where


def verified(url: str, text: str) -> Any:
    """The answer to a rollout in which the model said ``text``."""
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {
        "type": "message",
        "id": "m1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    response = {
        "id": "r1",
        "created_at": 0,
        "model": "m",
        "object": "response",
        "output": [message],
    }
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    row = {"verifier_metadata": {"task_id": "quiz/answer"}}
    body = {"responses_create_params": {"input": [{"role": "user", "content": "What?"}]}, **row}
    with httpx.Client(base_url=url, timeout=60) as client:
        client.post("/seed_session", json=body).raise_for_status()
        return client.post("/verify", json={**body, "response": response}).raise_for_status().json()


def ready(log: Path, process: subprocess.Popen[bytes]) -> str:
    """Where the command line says that the server is, once it says that all are ready."""
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        said = log.read_text(errors="replace")
        if "servers ready! " in said and (found := re.search(r"'url': '(.+?)'", said)):
            return found[1]
        time.sleep(0.2)
    raise RuntimeError(log.read_text(errors="replace")[-3000:])


def main() -> dict[str, Any]:
    gym = Path(str(distribution("nemo-gym").locate_file(""))).parents[2] / "bin" / "gym"
    with tempfile.TemporaryDirectory() as name:
        root, log = Path(name), Path(name) / "log"
        command = [
            str(gym),
            "env",
            "start",
            "--config",
            str(pasted(root)),
            "+skip_venv_if_present=true",
        ]
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=root,
                env={**os.environ},
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            url = ready(log, process)
            return {text: verified(url, text) for text in ("42", "41")}
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(timeout=60)


if __name__ == "__main__":
    say(result=main())
