"""`agentd.attach`: watch the browser that a harness drives, from inside the harness's own
process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, get_args, get_origin, overload

from cyclopts.argument import Argument

from agentd.core.errors import UsageError
from agentd.core.logs import set_up_quietly
from agentd.core.settings import (
    BrowserLine,
    RecordSettings,
    RunSettings,
    arguments_of,
    parse_settings,
)
from agentd.inprocess.harness import Harness
from agentd.inprocess.thread import DaemonThread, Work
from agentd.inprocess.watch import AsyncWatch, Attaching, Watch
from agentd.run.daemon import Opened
from agentd.run.daemon import run as run_daemon
from agentd.run.record import record

PATIENCE_S = 30.0
_NAMED = frozenset(
    ("service", "episode", "token_file", "state", "out", "files", "steps", "cdp", "profile")
)
"""Options that `attach` has as arguments of its own, or sets itself."""
_Settings = RunSettings | RecordSettings
Folders = Mapping[str, str | os.PathLike[str]] | Sequence[str | os.PathLike[str]]


class SyncOwned(Protocol):
    """A page, context or browser of Playwright without asyncio."""

    def close(self) -> None: ...


class AsyncOwned(Protocol):
    """A page, context or browser of Playwright on asyncio, or of pyppeteer."""

    def close(self) -> Coroutine[Any, Any, None]: ...


@overload
def attach(given: AsyncOwned, *, patience_s: float = ..., **options: Any) -> Attaching: ...
@overload
def attach(given: SyncOwned, *, patience_s: float = ..., **options: Any) -> Watch: ...
def attach(
    given: object,
    *,
    service: str | None = None,
    episode: str | None = None,
    token: str | None = None,
    out: str | os.PathLike[str] | None = None,
    state: str | os.PathLike[str] | None = None,
    files: Folders = (),
    patience_s: float = PATIENCE_S,
    **options: Any,
) -> Watch | Attaching:
    """Watch the browser of ``given``: a page or context (then its whole context is watched) or a
    browser (all of it).

    With ``service``, ``episode``, ``token`` and ``state`` (a folder) as `agentd run`; with ``out``
    as `agentd record`. ``files``: folders to watch, or label → folder. ``options``: any other
    option of the command, named as there. Playwright without asyncio: gives a `Watch` that sees. On
    asyncio: to be awaited, or entered with ``async with``. Raises `UsageError`: nothing that can be
    watched, watched already, a wrong option, or not seen in ``patience_s``.
    """
    library = _library(given)
    settings = _settings(service, episode, token, out, state, files, options)
    if library == "playwright.sync_api":
        return _attach_sync(given, settings, token, patience_s)

    async def making() -> AsyncWatch:
        return await _attach_async(library, given, settings, token, patience_s)

    return Attaching(making)


def _attach_sync(given: Any, settings: _Settings, token: str | None, patience_s: float) -> Watch:
    """Watch a synchronous Playwright's browser from a thread of its own; return once it sees.
    Raises `UsageError`."""
    from agentd.inprocess.playwright_sync import SyncPlaywright

    harness = SyncPlaywright(given)
    try:
        leave = _enter(harness)
    except UsageError:
        harness.leave()
        raise
    watch = Watch(_thread(harness, settings, token), settings.state, leave, harness)
    try:
        watch.wait_ready(patience_s)
    except BaseException:
        watch.abandon()
        raise
    return watch


async def _attach_async(
    library: str, given: Any, settings: _Settings, token: str | None, patience_s: float
) -> AsyncWatch:
    """Watch an asynchronous library's browser from a thread of its own; return once it sees. Raises
    `UsageError`."""
    harness: Harness
    if library == "pyppeteer":
        from agentd.inprocess.pyppeteer_async import Pyppeteer

        harness = await Pyppeteer.from_object(given)
    else:
        from agentd.inprocess.playwright_async import AsyncPlaywright

        harness = await AsyncPlaywright.from_object(given)
    leave = _enter(harness)
    watch = AsyncWatch(_thread(harness, settings, token), settings.state, leave)
    try:
        await watch.wait_ready(patience_s)
    except BaseException:
        await asyncio.shield(watch.abandon())
        raise
    return watch


def _thread(harness: Harness, settings: _Settings, token: str | None) -> DaemonThread:
    """Start the thread in which the daemon, or the recording, runs its own loop."""
    from agentd.inprocess.source import InProcessSource, open_connection

    line = BrowserLine(lambda: open_connection(harness), harness.scope)
    patience = settings.patience
    settings = replace(
        settings, connect=lambda plan: InProcessSource(harness, plan, patience), line=line
    )

    async def work(stop: asyncio.Event, opened: Opened) -> None:
        """Run what the settings ask for: a recording into a file, or a daemon for a service."""
        if isinstance(settings, RecordSettings):
            await record(settings, stop, opened)
        else:
            await run_daemon(settings, token, stop, opened)

    run: Work = work
    set_up_quietly()
    name = settings.out if isinstance(settings, RecordSettings) else settings.episode
    thread = DaemonThread(run, f"milestoned {name}")
    thread.start()
    return thread


# -- what is given

_LIBRARIES = ("playwright.sync_api", "playwright.async_api", "pyppeteer")
_THINGS = ("Page", "BrowserContext", "Browser")


def _library(given: object) -> str:
    """Return which library an object is of. Raises `UsageError` for others, and for what is closed
    or no Chromium."""
    for kind in type(given).__mro__:
        for library in _LIBRARIES:
            if kind.__name__ in _THINGS and f"{kind.__module__}.".startswith(library + "."):
                _must_be_open(given)
                _must_be_chromium(given)
                return library
    raise UsageError(
        f"attach: a {type(given).__module__}.{type(given).__qualname__}; wanted a Page,"
        " BrowserContext or Browser of Playwright (sync or async) or pyppeteer"
    )


def _must_be_open(given: object) -> None:
    """Raise `UsageError` where the page, context or browser says that it is closed."""
    name = type(given).__name__
    is_closed = getattr(given, "is_closed", None) or getattr(given, "isClosed", None)
    if is_closed is not None and is_closed():
        raise UsageError(f"attach: the {name} is closed; wanted an open one")
    is_connected = getattr(given, "is_connected", None)
    if name == "Browser" and is_connected is not None and not is_connected():
        raise UsageError("attach: the Browser is closed; wanted an open one")


def _must_be_chromium(given: object) -> None:
    """Raise `UsageError` where the object's browser is known to be another one."""
    context = getattr(given, "context", given)
    browser = getattr(context, "browser", context)
    name = getattr(getattr(browser, "browser_type", None), "name", "chromium")
    if name != "chromium":
        raise UsageError(
            f"attach: the browser is {name}, which speaks no DevTools protocol; wanted chromium"
        )


# -- one watch a browser context

_watched: dict[int, list[Harness]] = {}


def _enter(harness: Harness) -> Callable[[], None]:
    """Note that a browser or context is watched; returns what ends that.

    Raises `UsageError` where it is watched already.
    """
    there = _watched.setdefault(id(harness.browser), [])
    if any(other.scope is None or harness.scope in (None, other.scope) for other in there):
        raise UsageError(
            "attach: this browser is watched already; wanted close() on that watch first"
        )
    there.append(harness)

    def leave() -> None:
        """Forget this watch, and the browser with the last one that watched it."""
        there.remove(harness)
        if not there:
            _watched.pop(id(harness.browser), None)

    return leave


# -- settings, from the same declaration as the command's options


def _settings(
    service: str | None,
    episode: str | None,
    token: str | None,
    out: str | os.PathLike[str] | None,
    state: str | os.PathLike[str] | None,
    files: Folders,
    options: Mapping[str, object],
) -> _Settings:
    """Return the settings that the arguments of `attach` mean."""
    if (out is None) == (service is None):
        raise UsageError(
            "attach: wanted either service, episode, token and state, or out (a recording)"
        )
    if service is not None and not token:
        raise UsageError("attach: token is missing; wanted the episode's append token")
    if out is not None and any((episode, token, state)):
        raise UsageError("attach: a recording (out) has no episode, token or state of a service")
    clash = sorted({"cdp", "profile"} & options.keys())
    if clash:
        raise UsageError(
            f"attach: {clash[0]} is the browser that is attached to; wanted no such option"
        )
    given: dict[str, object] = {"files": _folder_texts(files)}
    kind: type[_Settings] = RunSettings
    if out is None:
        given |= {"service": service, "episode": episode, "token_file": "(given as token)"}
        given["state"] = os.fspath(state) if state else None
        known = arguments_of(RunSettings)
    else:
        kind = RecordSettings
        known = arguments_of(RecordSettings)
        given |= {"out": os.fspath(out), "steps": "port"}
    unknown = options.keys() - (known.keys() - _NAMED)
    if unknown:
        name = min(unknown)
        names = ", ".join(sorted(known.keys() - _NAMED))
        raise UsageError(
            f"attach: no option {name}={options[name]!r}; there are patience_s, {names}"
        )
    given |= options
    return parse_settings(
        kind, [text for name in given for text in _argv(known[name], given[name])]
    )


def _folder_texts(files: Folders) -> list[str]:
    """Return folders as values of the option --files."""
    if isinstance(files, Mapping):
        return [f"{label}={os.fspath(folder)}" for label, folder in files.items()]
    return [os.fspath(folder) for folder in files]


def _argv(argument: Argument, value: object) -> Iterator[str]:
    """Yield an option as the command line has it; nothing for None, and for a flag that is off."""
    if value is None or (value is False and argument.is_flag()):
        return
    accepts_many = get_origin(argument.hint) is tuple and get_args(argument.hint)[-1] is ...
    if accepts_many and isinstance(value, list | tuple):
        yield from (f"{argument.name}={item}" for item in value)
    else:
        yield f"{argument.name}={value}"
