"""`python -m benchmarks.flame PART --of TEXT --out FILE.svg`: runs a part of the benchmarks, and
draws where the Python processes of it whose command line has TEXT spend their processor time."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.flame.drawing import draw
from benchmarks.flame.samples import FOLDER, OF, read_samples

HOOK = Path(__file__).parent / "hook"


def main(arguments: Sequence[str]) -> int:
    """Run the part and write the picture; 1 where the part failed or nothing was sampled."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flame", description=__doc__)
    parser.add_argument("part", metavar="PART", help="as `python -m benchmarks` takes it")
    parser.add_argument("--of", default="", metavar="TEXT", help="default: every process of it")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.svg")
    given, further = parser.parse_known_args(arguments)
    with tempfile.TemporaryDirectory() as where:
        path = os.pathsep.join(
            entry for entry in (str(HOOK), os.environ.get("PYTHONPATH")) if entry
        )
        command = [sys.executable, "-m", "benchmarks", given.part, *further]
        command += ["--json", str(Path(where) / "run.json")]
        added = {"PYTHONPATH": path, FOLDER: where, OF: given.of}
        done = subprocess.run(command, env={**os.environ, **added})
        stacks = read_samples(Path(where))
    if done.returncode or not stacks:
        print(
            f"flame: {given.part} ended with {done.returncode}, {len(stacks)} stacks of {given.of!r}"
        )
        return 1
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(draw(stacks, " ".join(["python -m benchmarks", given.part, *further])))
    print(f"{given.out}: {sum(stacks.values()):,} samples")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
