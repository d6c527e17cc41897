"""`python -m benchmarks.unseen.record OUT`: record programs, commands and pages that no model of the
package was trained on or measured on.

Every way of every scene is an episode: right, near miss, wrong.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from benchmarks.desktop import managers
from benchmarks.scenes.recording import MakeOfProgram, MakePage, Scenes, record_scenes
from benchmarks.unseen import commands, page_tasks, programs

PAGES: dict[str, MakePage] = {f"unseen/{make.__name__}": make for make in page_tasks.KINDS}
PROGRAMS: list[MakeOfProgram] = [
    *((name, make.__name__, make) for name, make in commands.KINDS.items()),
    *(
        (name, make.__name__, partial(programs.editing, name, make))
        for name, (_, kinds) in programs.EDITORS.items()
        for make in kinds
    ),
    *(
        (name, make.__name__, partial(programs.managing, name, make))
        for name in programs.MANAGERS
        for make in managers.KINDS
    ),
    *((name, "calculating", partial(programs.calculating, name)) for name in programs.CALCULATORS),
]
SCENES = Scenes(Path(__file__).with_name("pages"), PAGES, PROGRAMS)


def main(argv: list[str]) -> int:
    """Record what is missing; prints a line an episode."""
    about = (__doc__ or "").splitlines()[0].split(": ", 1)[1]
    return record_scenes(argv, "benchmarks.unseen.record", about, SCENES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
