"""`make bench`: every figure of docs/performance.md. `python -m benchmarks soak --minutes 30` runs
one part, `python -m benchmarks compare OLD NEW` compares two runs."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import compare
from benchmarks.parts import PARTS, Options, choose_parts, load_parts
from benchmarks.run import run_parts

RUN_FILE = Path(".build/bench.json")


def main(arguments: Sequence[str]) -> int:
    """Run all parts, or the named ones; returns 0, 1 if a part failed, 130 if it was
    interrupted."""
    if list(arguments[:1]) == ["compare"]:
        return compare.main(arguments[1:])
    parser = _parser()
    given = parser.parse_args(arguments)
    for name in given.parts:
        if name not in PARTS:
            parser.error(f"{name}: no such part; there are {', '.join(PARTS)}")
    names = choose_parts(given.parts, is_quick=given.quick)
    options = Options(given.minutes, given.sandboxes, given.step_s)
    run = run_parts(load_parts(names, options), given.json, is_quick=given.quick)
    states = {part.status for part in run.parts.values()}
    if "interrupted" in states:
        return 130
    return 1 if "failed" in states else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    alone = ", ".join(name for name, part in PARTS.items() if not part.is_default)
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"of {', '.join(PARTS)}; if none, all but {alone}",
    )
    parser.add_argument(
        "--quick", action="store_true", help="the short form: the same rows with fewer rounds"
    )
    parser.add_argument(
        "--json", type=Path, default=RUN_FILE, metavar="FILE", help=f"default {RUN_FILE}"
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=30.0,
        help="how long the soak takes (default 30), and a third; and the fleet",
    )
    parser.add_argument(
        "--sandboxes", type=int, default=1_000, help="how many the fleet has (default 1000)"
    )
    parser.add_argument(
        "--step-s", type=float, default=30.0, help="how long the fleet's steps take (default 30)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
