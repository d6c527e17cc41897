"""Agent-Lightning's own server in this process, and its client: what it keeps of what is reported,
in the format that its trainer reads."""

from __future__ import annotations

import sys
import threading
import time
from importlib.resources import files
from typing import Any

import uvicorn
from agentlightning.client import AgentLightningSyncClient
from agentlightning.server.app import create_app
from milestoned_client.adapters.agent_lightning import report
from omegaconf import OmegaConf

from tests.support.ports import free_port
from tests.trainers.harness.say import STRANGER, say

KEY = "a-key"


def start() -> str:
    """Serve in a thread until the process ends; where."""
    port = free_port()
    shipped = OmegaConf.load(str(files("agentlightning") / "config" / "server.yaml"))
    app = create_app(OmegaConf.merge(shipped, {"key": KEY}))
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="error"))
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return f"http://127.0.0.1:{port}"


def main(good: str, lost: str, hostile: str) -> dict[str, Any]:
    base = start()
    client = AgentLightningSyncClient(key=KEY, base_url=base)

    def reported(
        *arguments: Any, key: str = KEY, event_url: str | None = None, **more: Any
    ) -> dict[str, Any]:
        created = client.post("/api/rollouts", json=[{"input": "Buy it."}])
        (rollout,) = created.raise_for_status().json()
        id = rollout["rollout_id"]
        where = f"{base}/api/rollouts/{id}/attempt/0/events"
        try:
            value: Any = report(*arguments, event_url=event_url or where, key=key, **more)
        except Exception as error:  # noqa: BLE001  # its name is what is told
            value = f"{type(error).__name__}: {error}"
        told = client.get(f"/api/rollouts/{id}/events", params={"format": "triplet"})
        return {"value": value, "events": told.raise_for_status().json()}

    return {
        "good": reported(good),
        "lost": reported(lost),
        "paid": reported(lost, fallback=-0.25),
        "right": reported("quiz/answer", "42"),
        "nobody": reported("ep_nobody"),
        "stranger": reported(good, token=STRANGER),
        "hostile": reported(hostile),
        "again": reported(good),
        "locked": reported(good, key="another"),
        "gone": reported(good, event_url=f"http://127.0.0.1:{free_port()}"),
    }


if __name__ == "__main__":
    say(result=main(*sys.argv[1:]))
