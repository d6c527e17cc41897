"""`milestoned demo`: the whole product in one minute, on a shop of ours, with a scripted agent in
Chromium."""

from __future__ import annotations

import os
import shutil
import sys
import time
import webbrowser
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

from cyclopts import Parameter

from api.cli.common import hold
from api.rewards.rendering import GOAL, total_in_words
from api.tasks.task_files import load_task_file
from common.command_line import option
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_to_json
from lab.demo.check import Compared, compare
from lab.demo.needs import LackingError, find_chromium, find_client, find_display, find_playwright
from lab.demo.parts import (
    DemoDaemon,
    DemoService,
    has_printed,
    shop_folder,
    start_agent,
    start_daemon,
    start_service,
    start_shop,
)
from lab.demo.processes import DemoProcess, DemoProcesses, PartFailedError, stoppable
from lab.demo.scratch import Scratch
from lab.demo.session import DemoFollower, StepRows
from lab.demo.show import DemoScreen, columns

if TYPE_CHECKING:
    from milestoned_client import Closing, Episode

MAX_SESSION_S = 100.0
"""The session takes about ten seconds; beyond this something hangs."""

INVOICE_AFTER = 2
"""The CSV invoice comes in this many page views after the click on its link."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """How the demo is shown, and what of it stays."""

    headed: Annotated[bool, option("show the browser")] = False
    out: Annotated[Path, option("where the recording is written (default: runs/demo)", "DIR")] = (
        Path("runs/demo")
    )
    keep: Annotated[bool, option("keep the logs, the database and the profile too")] = False
    open: Annotated[bool, option("show the episode's page at the end, until Ctrl-C")] = False


DEFAULTS = DemoSettings()


def run(args: DemoSettings = DEFAULTS) -> int:
    """Watch a scripted agent earn its rewards, on a shop of ours.

    Gives 0 when the agent got through and the replayed rewards are the same bytes.
    """
    try:
        chromium = find_chromium()
        find_client()
        find_playwright()
        find_display(args.headed)
    except LackingError as error:
        print(error, file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    kept = _data_folder(args)
    if kept.is_dir() and hold(kept) is None:
        print(
            f"{kept}: a service serves the last demo's data; stop it, or give another --out",
            file=sys.stderr,
        )
        return 2
    scratch = None if args.keep else Scratch("milestoned-demo-")
    work = scratch.path if scratch else args.out / "work"
    if args.keep:
        shutil.rmtree(work, ignore_errors=True)
    try:
        with stoppable(), DemoProcesses(work / "logs") as parts:
            equal = _demo(parts, work.resolve(), args, chromium)
    except KeyboardInterrupt:
        print("Stopped; nothing is left running.", file=sys.stderr)
        return 130
    except PartFailedError as error:
        print(f"The demo failed: {error}", file=sys.stderr)
        return 1
    else:
        if not args.keep:
            shutil.rmtree(kept, ignore_errors=True)
            shutil.move(work / "service", kept)
    finally:
        if scratch:
            scratch.remove()
    return 0 if equal else 1


def _data_folder(args: DemoSettings) -> Path:
    """Where the service's data stay, for who looks at the pages later."""
    return args.out / ("work/service" if args.keep else "service")


def _demo(parts: DemoProcesses, work: Path, args: DemoSettings, chromium: str) -> bool:
    from milestoned_client import RewardClient

    screen = DemoScreen()
    service = start_service(parts, work / "service")
    shop = start_shop(parts, work / "shop", INVOICE_AFTER)
    ruleset = compile_task(
        load_task_file(shop_folder() / "task.yaml", {"origin": shop.rstrip("/")})
    )
    with RewardClient(service.url, service.token) as client:
        episode = client.open(
            client.register_task(task_to_json(ruleset.task)), labels={"from": "demo"}
        )
        _introduce(screen, ruleset, service, shop, episode.id)
        daemon, agent = _start_beside(parts, work, shop, chromium, args.headed, service, episode)
        rows = StepRows(screen, columns(ruleset.components))
        follower = DemoFollower(episode, rows.show)
        follower.start()
        agent.say("go")
        closing = _until_closed(follower, episode, service.part, daemon.part, agent)
        recording = args.out / "demo.mrec"
        episode.recording(recording)
        given = {step: episode.reward(step).body for step in range((closing.last_step or 0) + 1)}
    equal = _conclude(screen, closing, ruleset, recording, compare(recording, ruleset, given))
    page = f"{service.url}/episodes/{episode.id}"
    screen.line(f"its page: {page}")
    if args.open:
        _show_page(screen, service, page)
    else:
        data, port = _data_folder(args), urlsplit(service.url).port
        screen.line(
            f"  served by: {_own_command()} serve --data {data} --port {port}  (token:"
            f" {data}/admin.token)"
        )
    return equal


def _show_page(screen: DemoScreen, service: DemoService, page: str) -> None:
    """The episode's page, in whatever browser the person has, for as long as the person looks."""
    screen.line(f"log in with {service.token}; Ctrl-C ends the service")
    webbrowser.open(page)
    with suppress(KeyboardInterrupt):
        service.part.process.wait()


def _start_beside(
    parts: DemoProcesses,
    work: Path,
    shop: str,
    chromium: str,
    headed: bool,
    service: DemoService,
    episode: Episode,
) -> tuple[DemoDaemon, DemoProcess]:
    """The sandbox: a browser in the agent's hands, and the daemon that watches it."""
    beside, state = work / "sandbox", work / "daemon"
    more = ("--control", str(state), "--episode", episode.id)
    agent = start_agent(parts, beside, shop, chromium, headed=headed, more=more)
    browser = ("--profile", str(beside / "profile"))
    daemon = start_daemon(
        parts, state, service.url, episode.id, episode.token, browser, (beside / "downloads",)
    )
    return daemon, agent


def _until_closed(follower: DemoFollower, episode: Episode, *others: DemoProcess) -> Closing:
    """Let the agent work, close the episode when it is done, and wait until all is shown."""
    *watching, agent = others
    until = time.monotonic() + MAX_SESSION_S

    def is_done() -> bool | None:
        _check(follower, watching)
        return has_printed(agent, "done")

    agent.wait_until("its script was done", is_done, MAX_SESSION_S)
    closing = episode.close("done", wait_s=max(1.0, until - time.monotonic()))
    follower.join(max(1.0, until - time.monotonic()))
    if closing.status != "closed" or follower.is_alive():
        raise watching[-1].failed("did not close the episode in time")
    agent.say("end")
    if agent.wait_end(30.0) != 0:
        raise agent.failed(f"ended with {agent.process.returncode}")
    return closing


def _check(follower: DemoFollower, watching: list[DemoProcess]) -> None:
    """Raises `PartFailedError` if the service, the daemon or the stream between has failed."""
    for part in watching:
        if not part.running:
            raise part.failed(f"ended early, with {part.process.returncode}")
    if follower.failed is not None:
        raise watching[0].failed(f"broke its stream: {follower.failed}")


def _introduce(
    screen: DemoScreen, ruleset: Ruleset, service: DemoService, shop: str, episode: str
) -> None:
    task = ruleset.task
    screen.line(screen.paint(task.instruction, "bold"))
    screen.line(
        f"task {task.id} version {task.version}, ruleset {ruleset.digest[:12]}, at most"
        f" {ruleset.attainable:g}"
    )
    screen.line(f"service {service.url}  shop {shop}  episode {episode}")
    screen.line()


def _conclude(
    screen: DemoScreen, closing: Closing, ruleset: Ruleset, recording: Path, same: Compared
) -> bool:
    screen.line()
    outcome = (
        f"total {total_in_words(closing.total)} of {ruleset.attainable:g}, goal"
        f" {GOAL[closing.success]}"
    )
    screen.line(screen.paint(outcome, "bold"))
    size = recording.stat().st_size
    screen.line(f"recording {recording}: {same.events} events in {size} bytes")
    if same.unlike:
        steps = ", ".join(map(str, same.unlike))
        screen.line(
            screen.paint(f"replayed: the rewards of steps {steps} are NOT the same bytes", "red")
        )
    else:
        screen.line(
            f"replayed without browser and service: {same.steps} of {same.steps} rewards are "
            + screen.paint("the same bytes", "green")
            + f" (sha256 {same.digest[:16]}…)"
        )
    task = _display_path(shop_folder() / "task.yaml")
    screen.line(
        f"again: {_own_command()} replay {recording} --task {task} --set"
        f" origin={ruleset.task.origin}"
    )
    return not same.unlike


def _display_path(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _own_command() -> str:
    """How this command can be called again from here: the console script's path where it is not on
    PATH."""
    script = Path(sys.executable).with_name("milestoned")
    return (
        "milestoned"
        if shutil.which("milestoned") or not script.exists()
        else os.path.relpath(script)
    )
