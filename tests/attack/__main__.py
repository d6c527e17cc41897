"""Attacks every task that is at hand and prints docs/coverage.md's table: how many tasks there are,
and how many pay an adversary. ``python -m tests.attack [--into docs/coverage.md] [GROUP ...]``.

MiniWoB++'s ways are recorded live, which takes minutes; ``--recordings FOLDER`` keeps them, so that
the same command goes on with those that are missing."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.attack.sources import GROUPS, miniwob
from tests.attack.table import attack_group, is_explained, tables, write_into
from tests.miniwob.table import SEEDS


def main() -> int:
    """Attack the groups that are named, or all; return 1 where something falls unexplained."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=", ".join(GROUPS))
    parser.add_argument("--into", type=Path, help="write the tables between their marks here")
    parser.add_argument("--recordings", type=Path, help="keep MiniWoB++'s recordings here")
    parser.add_argument("--seeds", default=SEEDS[0], help="instances of MiniWoB++'s pages (1)")
    given = parser.parse_args()
    unknown = [name for name in given.groups if name not in GROUPS]
    if unknown:
        parser.error(f"GROUP: expected one of {', '.join(GROUPS)}, got {unknown[0]}")
    missing = [name for name in given.groups or GROUPS if not GROUPS[name][1].exists()]
    for name in missing:
        print(f"{name}: {GROUPS[name][1]} is not here", file=sys.stderr)
    tasks = {"MiniWoB++": miniwob(given.recordings, given.seeds.split(","))}
    rows = [
        attack_group(name, tasks.get(name))
        for name in given.groups or GROUPS
        if name not in missing
    ]
    if given.into is not None:
        given.into.write_text(write_into(given.into.read_text("utf-8"), rows), "utf-8")
    else:
        print(tables(rows))
    return int(bool(missing) or not all(map(is_explained, rows)))


if __name__ == "__main__":
    sys.exit(main())
