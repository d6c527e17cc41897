"""What every test finds, whatever the one before it or the user's shell left."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
import structlog
from hypothesis import settings
from hypothesis.internal.conjecture import providers
from playwright.async_api import Playwright, async_playwright, expect

from tests.support.cases import skip_without_cases, summary_of
from tests.support.examples import choose, examples, is_whole
from tests.support.naming import Naming

# Nor does a page that takes more than Playwright's 5 s: on a busy machine it has taken 20.
expect.set_options(timeout=60_000)
# A traceback with every local variable, framed and coloured, takes a second of processor time, in
# which the event loop of the service under test stands still; nobody reads it here.
_renderer = structlog.get_config()["processors"][-1]
assert isinstance(_renderer, structlog.dev.ConsoleRenderer)
_renderer.exception_formatter = structlog.dev.plain_traceback


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Debian's own: commands that a test calls in its own process set a narrower one for all of
    that process."""
    found = os.umask(0o022)
    yield
    os.umask(found)


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """As structlog comes: commands that a test calls in its own process set it up for all of that
    process."""
    yield
    structlog.reset_defaults()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def one_playwright() -> AsyncIterator[Playwright]:
    """Its driver is a process that takes most of a second to come up: one for all pages, in a loop
    of their own."""
    async with async_playwright() as playwright:
        yield playwright


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """How many examples properties are tried on, before any is imported. A worker's tests are named
    by the process that hears of them."""
    choose(config.option.markexpr)
    # Machines are shared: an example that takes more than Hypothesis's 200 ms says nothing of what
    # is tested. Where it sees a CI, Hypothesis would try the same examples each time.
    settings.register_profile(
        "shared machines",
        settings(),
        deadline=None,
        derandomize=False,
        max_examples=examples(100),
    )
    settings.load_profile("shared machines")
    if not is_whole():
        # Hypothesis parses every module of ours, in each worker, to draw their constants: seconds.
        pytest.MonkeyPatch().setattr(providers, "is_local_module_file", lambda _path: False)
    _answer_at_once(config)
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Naming(terminal))


def _answer_at_once(config: pytest.Config) -> None:
    """With ``--reruns``, a worker tells the process that hands tests out of each test and asks it
    of the next one: two short messages, of which TCP keeps the second back until the first is
    acknowledged, 40 ms for every test that is shorter."""
    told = getattr(getattr(config, "failures_db", None), "sock", None)
    if told is not None:
        told.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """The collection makes ten thousand tests and imports all modules, and none of it is garbage:
    a collector that looks through it again and again takes seconds of each worker. The process that
    hands tests out to workers collects none, and is never told that the collection is over."""
    if not session.config.pluginmanager.hasplugin("dsession"):
        gc.disable()


def pytest_collection_finish() -> None:
    """Take what the collection made out of the garbage collector's sight: it is half a second of
    each `gc.collect()` in a test."""
    gc.freeze()
    gc.enable()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if line := summary_of(terminalreporter):
        terminalreporter.write_line(line)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What Playwright made can be used in its own loop alone: tests that have a page run there.
    `slow_where` is told before pytest's own ``-m`` chooses."""
    for item in items:
        if " at 0x" in item.name:
            raise pytest.UsageError(
                f"{item.nodeid}: expected an id alike in every worker, see ids="
            )
        if not isinstance(item, pytest.Function):
            continue
        if any(
            mark.args[0] in item.name.partition("[")[2] for mark in item.iter_markers("slow_where")
        ):
            item.add_marker(pytest.mark.slow)
        skip_without_cases(item)
        if "one_playwright" in item.fixturenames:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
