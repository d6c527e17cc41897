"""An X display for browsers with a window: Xvfb on a free number, ended by its pid."""

from __future__ import annotations

import os
import shutil
import subprocess
from types import TracebackType

import pytest

needs_display = pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is missing")


class Display:
    """``name`` is what DISPLAY has to be, once started."""

    def __init__(self) -> None:
        self.name = ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Display:
        # Xvfb looks for a free number itself and writes it when it listens.
        read, write = os.pipe()
        self._process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x900x24", "-nolisten", "tcp"],
            pass_fds=(write,),
            stderr=subprocess.DEVNULL,
        )
        os.close(write)
        with os.fdopen(read) as answer:
            number = answer.readline().strip()
        if not number:
            raise RuntimeError(f"Xvfb ended with {self._process.wait()}")
        self.name = f":{number}"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait()
