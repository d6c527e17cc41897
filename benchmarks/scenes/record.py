"""`python -m benchmarks.scenes.record OUT`: record the pages, commands and programs of this package, on
which the package's model is trained."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from benchmarks.desktop import managers
from benchmarks.scenes import commands, office_pages, page_tasks, programs, shop_pages, team_pages
from benchmarks.scenes.recording import MakeOfProgram, MakePage, Scenes, record_scenes

PAGES: dict[str, MakePage] = {
    f"scenes/{make.__name__}": make
    for make in (*page_tasks.KINDS, *office_pages.KINDS, *shop_pages.KINDS, *team_pages.KINDS)
}
PROGRAMS: list[MakeOfProgram] = [
    *((name, make.__name__, make) for name, make in commands.KINDS.items()),
    *((name, "editing", partial(programs.editing, name)) for name in programs.EDITORS),
    *(
        (programs.MANAGER, make.__name__, partial(programs.managing, make))
        for make in managers.KINDS
    ),
    *((name, "calculating", partial(programs.calculating, name)) for name in programs.CALCULATORS),
]
SCENES = Scenes(Path(__file__).with_name("pages"), PAGES, PROGRAMS)


def main(argv: list[str]) -> int:
    """Record what is missing; prints a line an episode."""
    about = (__doc__ or "").split(": ", 1)[1]
    return record_scenes(argv, "benchmarks.scenes.record", about, SCENES)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
