"""The whole comparison: three seeds of each kind of reward, and what came out, as a table and as a
plot.

    python -m examples.learning --plot docs/learning.svg

Starts the service and the page, runs `examples.learning.train` in the environment `.venv-learning`,
two at a time. A run that ended is kept in ``--out``: the same command goes on with the others.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from hashlib import sha256
from pathlib import Path
from typing import Any

from milestoned_client import RewardClient

from examples.learning.table import table
from examples.learning.tasks import KINDS, task
from examples.page_server import serve_pages
from lab.demo.needs import find_chromium
from lab.demo.parts import DemoService, start_service
from lab.demo.processes import DemoProcesses

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-learning" / "bin" / "python"
PAGE = (Path(__file__).parent / "page.html").read_bytes()


def trained(
    service: DemoService, page: str, kind: str, seed: int, most: int, folder: Path
) -> dict[str, Any]:
    """One run, in a process of its own. Raises `RuntimeError` with its last words where it
    fails."""
    out = folder / f"{kind}-{seed}.json"
    told = {"MILESTONED_URL": service.url, "MILESTONED_TOKEN": service.token}
    paths = os.pathsep.join((str(ROOT), str(ROOT / "client")))
    command = [
        str(PYTHON),
        "-m",
        "examples.learning.train",
        kind,
        str(seed),
        f"{page}/shop",
        str(out),
    ]
    command += ["--most", str(most), "--executable", find_chromium()]
    environment = {**os.environ, "PYTHONPATH": paths, **told}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(
            f"{kind}, seed {seed}, ended with {done.returncode}:\n{done.stderr[-3000:]}"
        )
    found: dict[str, Any] = json.loads(out.read_text())
    print(f"{kind}, seed {seed}: {_reached(found)}, {found['seconds']:.0f} s", flush=True)
    return found


def _reached(run: dict[str, Any]) -> str:
    return (
        f"80 % after {run['reached']} steps"
        if run["reached"]
        else f"not within {run['steps']} steps"
    )


def compared(
    kinds: list[str], seeds: int, most: int, workers: int, out: Path
) -> list[dict[str, Any]]:
    """Every run's outcome; the longest ones begin first. Those that are in ``out`` are not run
    again, and each is written there when it ends. Raises `RuntimeError` once all others have ended
    where one fails."""
    asked = [(kind, seed) for kind in kinds for seed in range(seeds)]
    known = read_known(out, asked, most)
    with (
        tempfile.TemporaryDirectory() as name,
        DemoProcesses(Path(name) / "logs") as parts,
        serve_pages(lambda _: PAGE) as page,
    ):
        folder = Path(name)
        service = start_service(parts, folder / "service")
        with RewardClient(service.url, service.token) as client:
            for kind in kinds:
                client.register_task(task(kind, page))
        failed: list[str] = []
        with ThreadPoolExecutor(workers) as pool:
            running = [
                pool.submit(trained, service, page, kind, seed, most, folder)
                for kind, seed in asked
                if (kind, seed) not in known
            ]
            for done in as_completed(running):
                try:
                    run = done.result()
                except RuntimeError as error:
                    failed.append(str(error))
                    continue
                known[run["kind"], run["seed"]] = {**run, "task": _digest(run["kind"])}
                _write_runs(out, known)
    if failed:
        raise RuntimeError("\n".join([*failed, "the same command runs these again"]))
    return [known[one] for one in asked]


def read_known(
    out: Path, asked: Sequence[tuple[str, int]], most: int
) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the runs in a file that are asked for, by kind and seed: of as many steps, under the
    task as it is."""
    if not out.exists():
        return {}
    runs = {(run["kind"], run["seed"]): run for run in json.loads(out.read_text())}
    return {
        one: run
        for one, run in runs.items()
        if one in asked and run["most"] == most and run.get("task") == _digest(one[0])
    }


def _digest(kind: str) -> str:
    """The digest of a kind's task, wherever its page is served."""
    return sha256(json.dumps(task(kind, "http://page.test"), sort_keys=True).encode()).hexdigest()


def _write_runs(out: Path, runs: Mapping[tuple[str, int], dict[str, Any]]) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    new = out.with_suffix(".new")
    new.write_text(json.dumps(list(runs.values())))
    new.replace(out)


def main() -> None:
    """Run the trainings that the arguments name; write and plot them."""
    parser = argparse.ArgumentParser(prog="python -m examples.learning", description=__doc__)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--most", type=int, default=1600, help="environment steps of a run at most (default 1600)"
    )
    parser.add_argument("--workers", type=int, default=2, help="runs at a time (default 2)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("runs/learning.json"),
        help="where the runs are written, and found again",
    )
    parser.add_argument("--plot", type=Path, help="draw the learning curves into this SVG")
    parser.add_argument(
        "--again", action="store_true", help="only the table and the plot, of the runs in --out"
    )
    given = parser.parse_args()
    if not PYTHON.exists():
        sys.exit(f"{PYTHON} is missing: tools/set-up-trainers .venv-learning learning makes it")
    if not given.again:
        runs = compared(given.kinds, given.seeds, given.most, given.workers, given.out)
        _write_runs(given.out, {(run["kind"], run["seed"]): run for run in runs})
    print(table(json.loads(given.out.read_text())))
    if given.plot is not None:
        command = [str(PYTHON), "-m", "examples.learning.plot", str(given.out), str(given.plot)]
        subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
