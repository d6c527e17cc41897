"""Records the right and the wrong run of each family of desktop work, as `milestoned demo FAMILY` does, beside their tasks.

Run it from the project's root after a change that is meant to change the runs: ``.venv/bin/python -m
tests.e2e.record_families [FAMILY...]``. No event is made by hand: the daemon reports what a real
Chromium did.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from lab.demo.families import (
    DESKTOP_FAMILIES,
    FAMILIES,
    family_task,
    run_family,
    run_mail_desktop,
)
from lab.demo.parts import start_service
from lab.demo.processes import DemoProcesses, stoppable
from lab.demo.show import DemoScreen
from tests.support.chromium import EXECUTABLE

PORT = 42802
"""Of the tasks' `origin`."""


def main() -> None:
    """Write the recordings of the families that are named, or of all."""
    asked = [family for family in FAMILIES if not sys.argv[1:] or family in sys.argv[1:]]
    for family in asked:
        with tempfile.TemporaryDirectory() as scratch, stoppable():
            work = Path(scratch)
            with DemoProcesses(work / "logs") as parts:
                service = start_service(parts, work / "service")
                out = family_task(family).parent / "recordings"
                if family in DESKTOP_FAMILIES:
                    run_mail_desktop(parts, work, DemoScreen(), service, out)
                    continue
                run_family(
                    parts,
                    work,
                    DemoScreen(),
                    service,
                    family,
                    out,
                    chromium=EXECUTABLE,
                    port=PORT,
                )


if __name__ == "__main__":
    main()
