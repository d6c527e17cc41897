"""The pages of the `miniwob` package over loopback http, and the one seam between a page and its
test.

Only `reward` reads the page's globals: it is the oracle to which the milestones are held.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from lab.benchmarks.miniwob.instance import Instance

LONG_MS = 600_000
"""An episode's time on the page: long enough that no page is ever decided by a slow machine."""

START = """([seed, limit]) => {
  Math.seedrandom(seed);
  core.EPISODE_MAX_TIME = limit;
  core.startEpisodeReal();
}"""


def _html() -> Path:
    """Where the installed package keeps its pages; found without importing the package and its
    gym."""
    spec = find_spec("miniwob")
    assert spec is not None, "miniwob is not installed; requirements/dev.txt has it"
    return Path(str(spec.origin)).parent / "html"


class _Quiet(SimpleHTTPRequestHandler):
    def guess_type(self, path: str | os.PathLike[str]) -> str:
        """Say UTF-8: unicode-test names no charset of its own."""
        return f"{super().guess_type(path)}; charset=utf-8"

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a test's output is pytest's."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A tab that is closed while it still loads a picture is no error; all else is."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def serve() -> Iterator[str]:
    """Serve the package's html folder; gives its origin."""
    handler = partial(_Quiet, directory=str(_html()))
    with _Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def begin(page: Page, origin: str, name: str, seed: str) -> None:
    """Open the page and start its episode: the same seed gives the same instance."""
    airline = name.removeprefix("flight.")
    page.goto(
        f"{origin}/miniwob/{name}.html"
        if airline == name
        else f"{origin}/flight/{airline}/wrapper.html"
    )
    page.wait_for_function("() => core.cover_div !== null && WOB_TASK_READY")
    page.evaluate(START, [seed, LONG_MS])
    page.wait_for_function("() => WOB_TASK_READY")


def utterance(page: Page) -> tuple[str, dict[str, Any]]:
    """The environment's words, and the fields that it names beside them."""
    said = page.evaluate("() => core.getUtterance()")
    return (said, {}) if isinstance(said, str) else (said["utterance"], said["fields"])


def instance(page: Page, origin: str, name: str, seed: str) -> Instance:
    """What the environment says of the instance that was begun: it is the environment's word,
    before anybody acts."""
    words, fields = utterance(page)
    if name.startswith("flight."):
        fields = page.evaluate("() => core.currentQuestion.request")
    return Instance(name, words, page.content(), fields, origin, seed)


def reward(page: Page) -> float:
    """What the page itself pays: above 0 for solved, 0 while undecided."""
    return float(page.evaluate("() => WOB_RAW_REWARD_GLOBAL"))
