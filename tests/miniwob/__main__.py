"""``python -m tests.miniwob OUT [--seeds 1,2,3] [PAGE...]``: run every script, watched; write what
goal and page said.

OUT becomes JSON lines, a line an instance, as `milestoned coverage miniwob OUT` reads them. An
instance that is in OUT already is not run again. The instance's document is not written: it is the
pages' authors'.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, get_args

from playwright.sync_api import Error, sync_playwright

from lab.benchmarks.miniwob.registry import UNOBSERVABLE
from lab.benchmarks.miniwob.table import agrees
from tests.miniwob.bench import Bench, Way
from tests.miniwob.site import serve
from tests.miniwob.table import ENTRIES, SEEDS, seeds
from tests.support.chromium import Chromium
from tests.support.stack import Stack


@contextmanager
def running(folder: Path) -> Iterator[Bench]:
    """One site, one browser and one service for all pages."""
    with (
        serve() as origin,
        Chromium() as chromium,
        Stack(folder) as stack,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.connect_over_cdp(chromium.endpoint)
        yield Bench(origin, chromium.endpoint, browser, stack)


def line(bench: Bench, page: str, seed: str) -> dict[str, Any]:
    """What both ways of one instance came to."""
    case = bench.read(page, seed)
    steps = [one["id"] for one in case.task["milestones"] if "goal" not in one["when"]]
    runs = [{"way": way, **bench.run(case, way)._asdict()} for way in get_args(Way)]
    return {
        "page": page,
        "seed": seed,
        "utterance": case.instance.utterance,
        "steps": steps,
        "runs": runs,
    }


def main(argv: Sequence[str]) -> int:
    """Write the lines that OUT lacks; 1 if a run disagrees with its page."""
    parser = argparse.ArgumentParser("tests.miniwob", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("pages", nargs="*", help="only these")
    parser.add_argument("--seeds", default=",".join(SEEDS))
    given = parser.parse_args(argv)
    known = (
        [json.loads(text) for text in given.out.read_text().splitlines()]
        if given.out.exists()
        else []
    )
    done = {(one["page"], one["seed"]) for one in known}
    off = 0
    with (
        tempfile.TemporaryDirectory() as folder,
        running(Path(folder)) as bench,
        given.out.open("a") as out,
    ):
        for wanted in given.seeds.split(","):
            for page in given.pages or sorted(ENTRIES):
                (seed,) = seeds(page, (wanted,))
                if (page, seed) in done or page in UNOBSERVABLE:
                    continue
                try:
                    found = line(bench, page, seed)
                except (Error, IndexError, KeyError, StopIteration, ValueError) as error:
                    print(
                        f"{page} {seed}: {type(error).__name__}: {str(error)[:300]!r}", flush=True
                    )
                    off += 1
                    continue
                out.write(json.dumps(found, ensure_ascii=False) + "\n")
                out.flush()
                wrong = [
                    run
                    for run in found["runs"]
                    if not agrees(run["raw"], run["credit"], run["success"])
                ]
                off += bool(wrong)
                print(f"{page} {seed}: {wrong or 'agrees'}", flush=True)
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
