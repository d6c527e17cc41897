"""The whole comparison: demonstrations, the model that is made of them, and runs of GRPO under each
kind of reward, over the same seeds.

    python -m examples.agent --seeds 3 --plot agent.svg

State is in one folder (`--folder`). The same command goes on where it was cut off, whatever cut it
off. `--quick` is the same with a few episodes of everything, to see that it runs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx

from examples.agent.demos import export, record
from examples.agent.families import SPARE
from examples.agent.kinds import KINDS
from examples.agent.table import describe_start, read_runs, table
from lab.demo.parts import DemoService, start_service
from lab.demo.processes import DemoProcesses

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-trl" / "bin" / "python"
PLOTTING = ROOT / ".venv-learning" / "bin" / "python"
TIED = ("setpriv", "--pdeathsig", "KILL")
"""Ends the service with this command, however that ends: it would keep its folder from the next."""
SHORT = 2
"""Parts of the tasks from which the model learns to read, before those of the run's."""
CLUMSY = 0.5
"""Share of the actions, in the last epochs of the start, that name another element."""
OF_START = ("parts", "demos", "epochs", "clumsy")
"""The options that a start is made with."""
QUICK = {"demos": 12, "epochs": 10, "updates": 3, "most": 10_000, "unseen": 1, "unseen_before": 1}


def make_start(given: argparse.Namespace) -> Path:
    """Return the folder of the model that all runs begin with: made once, of demonstrations that
    are recorded here."""
    folder: Path = given.folder
    start, data = folder / "start", folder / "demos"
    check_settings(folder, {name: getattr(given, name) for name in OF_START})
    if not start.exists():
        sft = folder / "sft"
        if not sft.exists():
            with DemoProcesses(folder / "logs") as processes:
                service = start_service(processes, data, prefix=TIED)
                for length in sorted({SHORT, given.parts}):
                    record(service, folder / "recording", given.demos, length)
            shutil.rmtree(sft_new := folder / "sft.new", ignore_errors=True)
            export(data, sft_new)
            sft_new.rename(sft)
        made = folder / "start.new"
        command = [str(PYTHON), "-m", "examples.agent.pretrain", str(sft), str(made)]
        for name in ("epochs", "clumsy", "device"):
            command += [f"--{name}", str(getattr(given, name))]
        subprocess.run(command, cwd=ROOT, env=environment(), check=True)
        made.rename(start)
    return start


def check_settings(folder: Path, settings: Mapping[str, object]) -> None:
    """Note with which settings a folder's start is made. Ends the command where it was made with
    others: its runs would begin otherwise than is said."""
    noted = folder / "settings.json"
    if not noted.exists():
        folder.mkdir(parents=True, exist_ok=True)
        noted.write_text(json.dumps(settings))
        return
    known = json.loads(noted.read_text())
    for name, value in settings.items():
        if known.get(name) != value:
            sys.exit(
                f"--{name}: got {value}, but {folder} was begun with {known.get(name)}; go on with"
                " that, or name another --folder"
            )


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a child that imports from this tree."""
    paths = os.pathsep.join((str(ROOT), str(ROOT / "client")))
    return {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **more}


def run(kind: str, seed: int, start: Path, given: argparse.Namespace) -> None:
    """Run one training with a service of its own, or go on with it. Raises `RuntimeError` where it
    fails."""
    folder = given.folder / f"{kind}-{seed}"
    if (folder / "done").exists():
        return
    with DemoProcesses(folder / "logs") as processes:
        service = start_service(processes, folder / "service", prefix=TIED)
        told = {"MILESTONED_URL": service.url, "MILESTONED_TOKEN": service.token}
        command = [str(PYTHON), "-m", "examples.agent.train", kind, str(seed), str(folder)]
        command += ["--start", str(start), "--python", sys.executable]
        for name in ("parts", "spare", "updates", "most", "unseen", "unseen_before", "device"):
            command += [f"--{name.replace('_', '-')}", str(getattr(given, name))]
        ended = subprocess.run(command, cwd=ROOT, env=environment(**told), check=False)
        if ended.returncode:
            raise RuntimeError(f"{kind}, seed {seed}, ended with {ended.returncode}")
        (folder / "health.json").write_text(json.dumps(health(service)))


def health(service: DemoService) -> Any:
    """Return the alarms of docs/health.md, over the run's stages."""
    answer = httpx.get(
        f"{service.url}/v1/reports/health",
        params={"by": "policy"},
        headers={"Authorization": f"Bearer {service.token}"},
        timeout=60,
    )
    answer.raise_for_status()
    return answer.json()


def main(arguments: Sequence[str] | None = None) -> None:
    """Do what the arguments name, then print the table and draw the curves."""
    given = read_arguments(arguments)
    if not given.again:
        if not PYTHON.exists():
            sys.exit(f"{PYTHON} is missing: tools/set-up-trainers .venv-trl trl makes it")
        start = make_start(given)
        asked = [(kind, seed) for seed in range(given.seeds) for kind in given.kinds]
        with ThreadPoolExecutor(given.workers) as pool:
            running = [pool.submit(run, kind, seed, start, given) for kind, seed in asked]
            for one in running:
                one.result()
    if start_figures := describe_start(given.folder):
        print(f"{start_figures}\n")
    print(table(read_runs(given.folder)))
    if given.plot is not None:
        command = [str(PLOTTING), "-m", "examples.agent.plot", str(given.folder), str(given.plot)]
        subprocess.run(command, cwd=ROOT, check=True)


def read_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options, those of `--quick` among them."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.agent",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", type=int, default=3, help="of each kind (default 3)")
    parser.add_argument("--folder", type=Path, default=Path("runs/agent"), help="state and results")
    parser.add_argument(
        "--parts", type=int, default=SHORT, choices=range(1, 6), help="of each task (default 2)"
    )
    parser.add_argument(
        "--demos", type=int, default=276, help="demonstrations of each length (default 276)"
    )
    parser.add_argument("--epochs", type=int, default=40, help="over them (default 40)")
    parser.add_argument(
        "--clumsy",
        type=float,
        default=CLUMSY,
        help="share of the actions that the start is taught to do wrongly (default 0.5)",
    )
    parser.add_argument(
        "--spare",
        type=int,
        default=SPARE,
        help="turns more than it needs after which an episode is cut off (default 3)",
    )
    parser.add_argument("--updates", type=int, default=150, help="of a run at most (default 150)")
    parser.add_argument(
        "--most", type=int, default=8_000, help="environment steps of a run (default 8,000)"
    )
    parser.add_argument(
        "--unseen", type=int, default=40, help="unseen instances of each family (default 40)"
    )
    parser.add_argument(
        "--unseen-before",
        type=int,
        help="those that are played before a run, which begins as every other (default: as --unseen)",
    )
    parser.add_argument("--workers", type=int, default=2, help="runs at a time (default 2)")
    parser.add_argument("--device", default="cpu", help="of the model: cpu (default) or cuda")
    parser.add_argument("--plot", type=Path, help="draw the curves into this SVG")
    parser.add_argument("--again", action="store_true", help="only table and plot, of --folder")
    parser.add_argument("--quick", action="store_true", help="a few episodes: does it run?")
    given = parser.parse_args(arguments)
    given.folder = given.folder.absolute()
    if given.unseen_before is None:
        given.unseen_before = given.unseen
    if given.quick:
        vars(given).update(QUICK, seeds=1, workers=1)
    return given


if __name__ == "__main__":
    main()
