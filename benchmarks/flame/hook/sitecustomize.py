"""Python imports this as it starts where its folder is in PYTHONPATH: a process of a benchmark
whose command line has a text then samples its main thread, by the processor time of all its
threads."""

import atexit
import os
import signal
import sys
from collections import Counter
from types import FrameType

FOLDER, OF = "MILESTONED_FLAME_FOLDER", "MILESTONED_FLAME_OF"
EVERY_S = 0.001
WRITE_EVERY = 500
"""Samples after which they are written: a process that is killed leaves those before."""


def sample_into(folder: str) -> None:
    """Count the stacks of this process until it ends, in a file of its own below ``folder``."""
    stacks: Counter[tuple[tuple[str, str], ...]] = Counter()
    file = os.path.join(folder, f"{os.getpid()}.stacks")
    is_noting = False

    def write() -> None:
        with open(file, "w", encoding="utf-8") as out:
            for stack, count in stacks.items():
                frames = "\0".join(f"{name}\t{path}" for name, path in stack)
                out.write(f"{count}\0{frames}\n")

    def note(_signal: int, frame: FrameType | None) -> None:
        # The next signal comes while this one is handled: it is not counted.
        nonlocal is_noting
        if is_noting:
            return
        is_noting = True
        stack = []
        while frame is not None:
            code = frame.f_code
            stack.append((code.co_qualname, code.co_filename))
            frame = frame.f_back
        stacks[tuple(reversed(stack))] += 1
        if stacks.total() % WRITE_EVERY == 0:
            write()
        is_noting = False

    def end() -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        write()

    signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, EVERY_S, EVERY_S)
    atexit.register(end)


if os.environ.get(FOLDER) and os.environ.get(OF, "") in " ".join(sys.orig_argv):
    sample_into(os.environ[FOLDER])
