"""`milestoned watch TASK --cdp URL`: watch your own browser, and see each milestone as you reach
it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from api.rewards.rendering import total_in_words
from api.tasks.task_files import BadTaskError, load_task_file
from common.command_line import option
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_to_json
from lab.demo.needs import LackingError, find_client
from lab.demo.parts import start_daemon, start_service
from lab.demo.processes import DemoProcess, DemoProcesses, PartFailedError, stoppable
from lab.demo.scratch import Scratch
from lab.demo.session import DemoFollower
from lab.demo.show import DemoScreen, ShownEvent, StepTable, columns

if TYPE_CHECKING:
    from milestoned_client import Episode, StreamItem

GLANCE_S = 0.2


def run(
    task: Annotated[Path, option("what counts", "TASK.yaml")],
    /,
    *,
    cdp: Annotated[
        str, option("a browser started with --remote-debugging-port=9222 and a profile", "URL")
    ],
    files: Annotated[tuple[Path, ...], option("watch this folder too", "DIR")] = (),
    out: Annotated[
        Path | None, option("where to write the recording (a new folder)", "DIR")
    ] = None,
) -> int:
    """Watch your own browser and see its events as milestones.

    Watches until interrupted, then closes, sums up and says where the recording is.
    """
    try:
        find_client()
        ruleset = compile_task(load_task_file(task))
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
    scratch = None if out else Scratch("milestoned-watch-")
    folder = scratch.path if scratch else out
    assert folder is not None
    try:
        with stoppable(), DemoProcesses(folder / "logs") as parts:
            _watch(parts, ruleset, folder.resolve(), cdp, files)
    except KeyboardInterrupt:
        return 130
    except PartFailedError as error:
        print(f"Watching failed: {error}", file=sys.stderr)
        return 1
    finally:
        if scratch:
            scratch.keep()  # its recording and its logs are its user's
    return 0


def _watch(
    parts: DemoProcesses, ruleset: Ruleset, out: Path, cdp: str, files: Sequence[Path]
) -> None:
    from milestoned_client import ControlDir, RewardClient

    screen = DemoScreen()
    service = start_service(parts, out / "service")
    state = out / "daemon"
    with RewardClient(service.url, service.token, control=ControlDir(state)) as client:
        episode = client.open(
            client.register_task(task_to_json(ruleset.task)), labels={"from": "watch"}
        )
        daemon = start_daemon(
            parts, state, service.url, episode.id, episode.token, ("--cdp", cdp), files
        )
        episode.step({"says": "what you do"})
        screen.line(screen.paint(ruleset.task.instruction, "bold"))
        screen.line(f"Watching {cdp}. Stop with ctrl-C.")
        _follow(screen, ruleset, episode, daemon.part)
        closing = episode.close("stopped by its user")
        recording = out / "watch.mrec"
        episode.recording(recording)
    screen.line(
        f"total {total_in_words(closing.total)} of {ruleset.attainable:g}; recording: {recording}"
    )


def _follow(screen: DemoScreen, ruleset: Ruleset, episode: Episode, daemon: DemoProcess) -> None:
    """Show milestones until ctrl-C. Raises `PartFailedError` if the daemon ends."""
    from milestoned_client import Event, Milestone

    table = StepTable(screen, columns(ruleset.components))
    events: dict[int, ShownEvent] = {}

    def show(item: StreamItem) -> None:
        if isinstance(item.item, Event):
            events[item.item.seq] = (item.item.source, item.item.kind, item.item.data)
        elif isinstance(item.item, Milestone):
            table.milestone(item.item, events)

    follower = DemoFollower(episode, show)
    follower.start()
    with contextlib.suppress(KeyboardInterrupt):
        while daemon.running:
            follower.join(GLANCE_S)
        raise daemon.failed(f"ended with {daemon.process.returncode}")
