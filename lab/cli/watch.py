"""`milestoned watch TASK --cdp URL`: watch your own browser or desktop, and see each milestone as
you reach it; with ``--events`` the conditions that what you do meets, to be pasted into a task."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.replay.task_tests import read_log
from api.rewards.rendering import total_in_words
from api.suggestions.asking import PREFIX, task_that_asks
from api.suggestions.event_values import split_address
from api.suggestions.trial import TaskSite
from api.tasks.task_files import BadTaskError, load_task_file
from common.command_line import option
from common.scratch import Scratch
from detectors.model.types import Event as LoggedEvent
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json, task_to_json
from lab.demo.needs import LackingError, find_client
from lab.demo.parts import start_daemon, start_service
from lab.demo.processes import DemoProcess, DemoProcesses, PartFailedError, stoppable
from lab.demo.session import DemoFollower
from lab.demo.show import DemoScreen, ShownEvent, StepTable, columns
from lab.demo.suggesting import ConditionPrinter

if TYPE_CHECKING:
    from milestoned_client import Episode, StreamItem

GLANCE_S = 0.2


def run(
    task: Annotated[
        Path | None, option("what counts; needed without --events", "TASK.yaml")
    ] = None,
    /,
    *,
    cdp: Annotated[
        str | None,
        option("a browser started with --remote-debugging-port=9222 and a profile", "URL"),
    ] = None,
    desktop: Annotated[
        bool, option("programs on DISPLAY and DBUS_SESSION_BUS_ADDRESS, too")
    ] = False,
    files: Annotated[tuple[Path, ...], option("watch this folder too", "DIR")] = (),
    events: Annotated[
        bool,
        option("show what you do as events, with the conditions that each meets, for a task file"),
    ] = False,
    origin: Annotated[
        str | None,
        option("with --events: the site (default: the task's, or where most pages open)", "URL"),
    ] = None,
    out: Annotated[
        Path | None, option("where to write the recording (a new folder)", "DIR")
    ] = None,
) -> int:
    """Watch your own browser and see its events as milestones.

    Watches until interrupted, then closes, sums up and says where the recording is.
    """
    sources = [*(("--cdp", cdp) if cdp else ()), *(["--desktop"] if desktop else ())]
    misuse = _find_problem(
        is_told_what=task is not None or events,
        is_told_where=bool(sources or files),
        origin=origin,
    )
    if misuse is not None:
        print(misuse, file=sys.stderr)
        return 2
    try:
        find_client()
        ruleset = _ruleset(task, origin, events=events)
    except LackingError as error:
        print(error, file=sys.stderr)
        return 2
    except BadTaskError as error:
        for problem in error.problems:
            print(f"{task}: {problem}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{task}: {error.strerror}", file=sys.stderr)
        return 1
    if out is not None:
        return _watch_into(out, ruleset, sources, files, events=events)
    scratch = Scratch("milestoned-watch-")
    try:
        return _watch_into(scratch.path, ruleset, sources, files, events=events)
    finally:
        scratch.keep()  # its recording and its logs are its user's


def _find_problem(*, is_told_what: bool, is_told_where: bool, origin: str | None) -> str | None:
    """Return what is wrong with the command's words; None where nothing is."""
    if not is_told_what:
        return "TASK.yaml: wanted a task file, or --events to see what one could say"
    if not is_told_where:
        return "wanted one at least of --cdp URL, --desktop and --files DIR"
    if origin is not None and origin != split_address(origin)[0]:
        return f"--origin {origin}: wanted an origin such as https://shop.example"
    return None


def _watch_into(
    folder: Path, ruleset: Ruleset, sources: Sequence[str], files: Sequence[Path], *, events: bool
) -> int:
    """Watch until ctrl-C, with the processes' logs in ``folder``. Return 130 for ctrl-C and 1 where
    a process failed."""
    try:
        with stoppable(), DemoProcesses(folder / "logs") as parts:
            _watch(parts, ruleset, folder.resolve(), sources, files, events=events)
    except KeyboardInterrupt:
        return 130
    except PartFailedError as error:
        print(f"Watching failed: {error}", file=sys.stderr)
        return 1
    return 0


def _ruleset(task: Path | None, origin: str | None, *, events: bool) -> Ruleset:
    """Return the rules to watch by; for ``events`` they ask the daemon for all that conditions can
    be suggested for. Raises `BadTaskError`, `OSError`."""
    given = None if task is None else load_task_file(task, {"origin": origin} if origin else {})
    if given is not None and not events:
        return compile_task(given)
    spec = None if given is None else task_to_json(given)
    return compile_task(task_from_json(task_that_asks(spec, origin)))


def _watch(
    parts: DemoProcesses,
    ruleset: Ruleset,
    out: Path,
    sources: Sequence[str],
    files: Sequence[Path],
    *,
    events: bool,
) -> None:
    """Start a service and a daemon, open an episode, and print what comes until it is stopped."""
    from milestoned_client import ControlDir, RewardClient

    screen = DemoScreen()
    service = start_service(parts, out / "service")
    state = out / "daemon"
    with RewardClient(service.url, service.token, control=ControlDir(state)) as client:
        episode = client.open(
            client.register_task(task_to_json(ruleset.task)), labels={"from": "watch"}
        )
        daemon = start_daemon(parts, state, service.url, episode.id, episode.token, sources, files)
        episode.step({"says": "what you do"})
        screen.line(screen.paint(ruleset.task.instruction, "bold"))
        screen.line(f"Watching {' '.join([*sources, *map(str, files)])}. Stop with ctrl-C.")
        printer = None
        if events:
            printer = ConditionPrinter(screen, _site(ruleset))
            token = out / "service" / "admin.token"
            screen.line(f"The same as a page: {service.url}/episodes/{episode.id}/conditions")
            screen.line(f"Its login wants the token in {token}.")
        _follow(screen, ruleset, episode, daemon.part, printer)
        closing = episode.close("stopped by its user")
        recording = out / "watch.mrec"
        episode.recording(recording)
    if printer is not None:
        printer.complete(read_log(recording).events)
    pays = (
        ""
        if ruleset.attainable == 0
        else (f"total {total_in_words(closing.total)} of {ruleset.attainable:g}; ")
    )
    screen.line(f"{pays}recording: {recording}")


def _site(ruleset: Ruleset) -> TaskSite | None:
    task = ruleset.task
    return None if task.origin is None else TaskSite(task.origin, task.hosts)


def _follow(
    screen: DemoScreen,
    ruleset: Ruleset,
    episode: Episode,
    daemon: DemoProcess,
    printer: ConditionPrinter | None,
) -> None:
    """Show milestones until ctrl-C, by ``printer`` what events meet. Raises `PartFailedError` if
    the daemon ends."""
    from milestoned_client import Event, Milestone

    table = StepTable(screen, columns(ruleset.components))
    events: dict[int, ShownEvent] = {}

    def show(item: StreamItem) -> None:
        """Print a milestone, or what could be asked about an event; the daemon's own milestones are
        left out."""
        got = item.item
        if isinstance(got, Event):
            events[got.seq] = (got.source, got.kind, got.data)
            if printer is not None:
                printer.take(
                    LoggedEvent(episode.id, got.seq, got.source, got.kind, got.at, got.data)
                )
        elif isinstance(got, Milestone) and not got.id.startswith(PREFIX):
            table.milestone(got, events)

    follower = DemoFollower(episode, show)
    follower.start()
    with contextlib.suppress(KeyboardInterrupt):
        while daemon.running:
            follower.join(GLANCE_S)
            if printer is not None:
                printer.show()
        raise daemon.failed(f"ended with {daemon.process.returncode}")
