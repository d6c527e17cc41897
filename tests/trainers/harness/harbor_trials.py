"""Harbor's own `harbor run`, with our plugin and verifier, over a task whose sandbox is a stub: an
agent that does nothing, one that writes its own reward, one that never ends.

`python -m tests.trainers.harness.harbor_trials AGENT KWARG=VALUE…` runs one job; `--no-plugin`
leaves the plugin out, `--attempts=N` runs more trials, `--steps` makes a task of two steps.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.cli.main import app
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.trial.hooks import TrialHookEvent
from milestoned_client import AsyncEpisode

from tests.trainers.harness.say import URL, say

HERE = "tests.trainers.harness.harbor_trials"
ADAPTER = "milestoned_client.adapters.harbor"
TASK = "[agent]\ntimeout_sec = 2.0\n[verifier]\ntimeout_sec = 60.0\n[environment]\ncpus = 1\n"


class Sandbox(BaseEnvironment):
    """A sandbox in name only: everything succeeds, and nothing is there."""

    @staticmethod
    def type() -> str:
        return "stub"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(mounted=True)

    def _validate_definition(self) -> None:
        pass

    async def start(self, force_build: bool) -> None:
        pass

    async def stop(self, delete: bool) -> None:
        pass

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        pass

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        pass

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        pass

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        pass

    async def exec(self, command: str, *_more: Any, **_options: Any) -> ExecResult:
        return ExecResult(return_code=0, stdout="", stderr="")


class Idle(BaseAgent):
    """Done at once. What was done is what the test's daemon says."""

    @staticmethod
    def name() -> str:
        return "idle"

    def version(self) -> str:
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        pass

    async def run(self, instruction: str, environment: BaseEnvironment, context: Any) -> None:
        (self.logs_dir / "ran").touch()


class Cheat(Idle):
    """Writes the reward itself, where Harbor's own verifier would read it."""

    @staticmethod
    def name() -> str:
        return "cheat"

    async def run(self, instruction: str, environment: BaseEnvironment, context: Any) -> None:
        await super().run(instruction, environment, context)
        verifier = self.logs_dir.parent / "verifier"
        verifier.mkdir(exist_ok=True)
        (verifier / "reward.json").write_text('{"reward": 100}')
        (verifier / "reward.txt").write_text("100")


class Endless(Idle):
    """Runs into the task's time limit."""

    @staticmethod
    def name() -> str:
        return "endless"

    async def run(self, instruction: str, environment: BaseEnvironment, context: Any) -> None:
        await super().run(instruction, environment, context)
        await asyncio.Event().wait()


def watch(event: TrialHookEvent, episode: AsyncEpisode) -> None:
    """The test runs the daemon of each trial."""
    assert event.trial_name.startswith("cart")
    say(episode=episode.id, token=episode.token)


STEPS = ("first", "second")


def task_folder(folder: Path, *, in_steps: bool) -> Path:
    """A task of Harbor's, as small as it takes one."""
    task = folder / "cart"
    for part in ("environment", "tests"):
        (task / part).mkdir(parents=True)
    (task / "task.toml").write_text(TASK)
    (task / "instruction.md").write_text("Put it into the cart.\n")
    (task / "environment" / "Dockerfile").write_text("FROM scratch\n")
    (task / "tests" / "test.sh").write_text("exit 1\n")
    if in_steps:
        steps = "".join(f'[[steps]]\nname = "{name}"\n' for name in STEPS)
        (task / "task.toml").write_text(TASK + steps)
        for name in STEPS:
            (task / "steps" / name).mkdir(parents=True)
            (task / "steps" / name / "instruction.md").write_text("Put it into the cart.\n")
    return task


def trials_of(jobs: Path) -> list[dict[str, Any]]:
    """What Harbor kept of each trial."""
    found: list[dict[str, Any]] = []
    for file in sorted(jobs.glob("*/*/result.json")):
        result = json.loads(file.read_bytes())
        exception = result["exception_info"] or {}
        kept = sorted(file.parent.glob("milestoned*.json"))
        found.append(
            {
                "rewards": (result["verifier_result"] or {}).get("rewards"),
                "valid": result["reward_valid"],
                "error": exception.get("exception_type"),
                "message": exception.get("exception_message"),
                "ran": (file.parent / "agent" / "ran").exists(),
                "kept": [json.loads(path.read_bytes()) for path in kept],
                "steps": [step["verifier_result"] for step in result["step_results"] or []],
            }
        )
    return found


def main(agent: str, *words: str) -> None:
    """Run the job as a user would; say what came of it."""
    in_steps = False
    attempts, plugin, kwargs = "1", ["--plugin", f"{ADAPTER}:MilestonedPlugin"], list[str]()
    for word in words:
        if word == "--steps":
            in_steps = True
        elif word == "--no-plugin":
            plugin = []
        elif word.startswith("--attempts="):
            attempts = word.partition("=")[2]
        else:
            kwargs += ["--verifier-kwarg", word]
    with tempfile.TemporaryDirectory() as folder:
        task, jobs = task_folder(Path(folder), in_steps=in_steps), Path(folder) / "jobs"
        command = ["run", "--path", str(task), "--jobs-dir", str(jobs), "--job-name", "job"]
        command += ["--env", f"{HERE}:Sandbox", "--agent", f"{HERE}:{agent}", "--quiet", "--yes"]
        command += ["--verifier", f"{ADAPTER}:MilestonedVerifier", "-k", attempts, *plugin]
        command += ["--verifier-kwarg", f"url={URL}", "--verifier-kwarg", f"watch={HERE}:watch"]
        said, status = io.StringIO(), 0
        try:
            with contextlib.redirect_stderr(said):
                app([*command, *kwargs], standalone_mode=False)
        except SystemExit as end:
            status = int(end.code or 0)
        except (ValueError, TypeError) as error:  # what a plugin refuses ends the command
            status, _ = 1, said.write(f"{type(error).__name__}: {error}")
        results = [json.loads(file.read_bytes()) for file in jobs.glob("*/result.json")]
        evals = [one for result in results for one in result["stats"]["evals"].values()]
        secrets = os.environ["MILESTONED_TOKEN"].encode()
        leaks = [
            file.name for file in jobs.rglob("*") if file.is_file() and secrets in file.read_bytes()
        ]
        say(
            result={
                "status": status,
                "said": said.getvalue()[-3000:],
                "trials": trials_of(jobs),
                "metrics": [one["metrics"] for one in evals],
                "leaks": leaks,
            }
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
