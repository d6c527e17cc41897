"""NeMo Gym's own SimpleAgent and GymnasiumAgent with a model that says what it is told to, each
launched as its command line launches it: a process that finds its configuration in the environment.

`proxy`: against the small resources server that docs/trainers says to put into
`resources_servers/milestoned`. `direct`: against the service itself, which speaks the dialect at
the root of a port.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import httpx
import yaml
from milestoned_client import RewardClient

from tests.support.ports import free_port
from tests.trainers.harness.say import TOKEN, URL, say, watched

HOST = "127.0.0.1"
APP = """from milestoned_client.adapters.nemo_gym import RewardResourcesServer

if __name__ == "__main__":
    RewardResourcesServer.run_webserver()
"""
PATIENCE_S = 240.0


class Model(BaseHTTPRequestHandler):
    """`/v1/responses`: what the first message asks to be said; where it says `act`, a tool is
    called once before."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        items = [asked["input"]] if isinstance(asked["input"], str) else asked["input"]
        first = items[0] if isinstance(items[0], str) else items[0]["content"]
        acted = any(isinstance(one, dict) and one.get("type") == "function_call" for one in items)
        if first.startswith("act") and not acted:
            out: dict[str, Any] = {
                "type": "function_call",
                "call_id": "c1",
                "name": "open",
                "arguments": "{}",
            }
        else:
            text = {"type": "output_text", "text": first.split()[-1], "annotations": []}
            out = {
                "type": "message",
                "id": "m1",
                "role": "assistant",
                "status": "completed",
                "content": [text],
            }
        answer = {"id": "r1", "created_at": 0, "model": "m", "object": "response", "output": [out]}
        answer |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_about: Any) -> None:
        """Say nothing: what this process says is read."""


def configuration(how: str, model: int) -> dict[str, Any]:
    """What the command line would make of its YAML files, with ports."""
    here = {"entrypoint": "app.py", "host": HOST}
    refs = {
        "resources_server": {"type": "resources_servers", "name": "milestoned"},
        "model_server": {"type": "responses_api_models", "name": "policy_model"},
    }
    if how == "proxy":
        server = {**here, "port": free_port(), "domain": "agent", "milestoned": {"wait_s": 5}}
    else:
        server = {**here, "host": f"any:{TOKEN}@{HOST}", "port": int(os.environ["NEMO_PORT"])}
    return {
        "head_server": {"host": HOST, "port": free_port()},
        "dry_run": False,
        "milestoned": {"resources_servers": {"milestoned": server}},
        "simple": {"responses_api_agents": {"simple_agent": {**here, "port": free_port(), **refs}}},
        "gymnasium": {
            "responses_api_agents": {"gymnasium_agent": {**here, "port": free_port(), **refs}}
        },
        "policy_model": {"responses_api_models": {"said": {"host": HOST, "port": model}}},
    }


@contextmanager
def launched(how: str, settings: dict[str, Any], folder: Path) -> Iterator[None]:
    """The servers, each in a process and in a folder of its own, as `gym env start` runs them."""
    packages = Path(str(distribution("nemo-gym").locate_file("")))
    apps = {
        name: packages / "responses_api_agents" / f"{name}_agent"
        for name in ("simple", "gymnasium")
    }
    if how == "proxy":
        (folder / "app.py").write_text(APP)
        apps["milestoned"] = folder
    running = []
    try:
        for name, at in apps.items():
            told = {"NEMO_GYM_CONFIG_DICT": yaml.safe_dump(settings), "NEMO_GYM_CONFIG_PATH": name}
            log = (folder / f"{name}.log").open("wb")
            command = [sys.executable, str(at / "app.py")]
            running.append(
                subprocess.Popen(
                    command,
                    cwd=folder,
                    env={**os.environ, **told},
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )
            )
        for name, process in zip(apps, running, strict=True):
            answering(port_of(settings, name), process, folder / f"{name}.log")
        yield
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(timeout=30)


def port_of(settings: dict[str, Any], name: str) -> int:
    (kind,) = settings[name].values()
    (server,) = kind.values()
    return int(server["port"])


def answering(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server answers; raises with its last words if it ended."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            httpx.get(f"http://{HOST}:{port}/healthz", timeout=5).raise_for_status()
            return
        except httpx.TransportError:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(
                    f"{log.name}: {log.read_text(errors='replace')[-3000:]}"
                ) from None
            time.sleep(0.2)


def run(settings: dict[str, Any], agent: str, says: str, row: dict[str, Any]) -> Any:
    """A rollout, as NeMo Gym's collection asks an agent for one."""
    body = {"responses_create_params": {"input": [{"role": "user", "content": says}]}, **row}
    answer = httpx.post(f"http://{HOST}:{port_of(settings, agent)}/run", json=body, timeout=120)
    if answer.is_error:
        return {"status": answer.status_code, "text": answer.text[:600]}
    found = answer.json()
    return {
        name: value
        for name, value in found.items()
        if name not in ("responses_create_params", "response")
    }


def rollouts(settings: dict[str, Any], lost: str) -> dict[str, Any]:
    quiz = {"verifier_metadata": {"task_id": "quiz/answer"}}
    with RewardClient(URL, TOKEN) as client:
        episode = client.open("shop/cart")
        watched(episode)
        shop = run(settings, "gymnasium", "act, then say Bought.", {"episode_id": episode.id})
        closed = client.episode(episode.id).status().status
    return {
        "simple": [run(settings, "simple", f"say {text}", quiz) for text in ("42", "41")],
        "masked": run(settings, "simple", "say 42", {"verifier_metadata": {"episode_id": lost}}),
        "unknown_task": run(
            settings, "simple", "say 42", {"verifier_metadata": {"task_id": "no/such"}}
        ),
        "gymnasium": [run(settings, "gymnasium", f"say {text}", quiz) for text in ("42", "41")],
        "shop": shop,
        "closed": closed,
    }


def main(how: str, lost: str) -> dict[str, Any]:
    model = ThreadingHTTPServer((HOST, 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    settings = configuration(how, model.server_port)
    with tempfile.TemporaryDirectory() as folder, launched(how, settings, Path(folder)):
        return rollouts(settings, lost)


if __name__ == "__main__":
    say(result=main(*sys.argv[1:]))
