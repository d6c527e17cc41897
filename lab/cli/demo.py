"""`milestoned demo`: the whole product in one minute, on a shop of ours, with a scripted agent in
Chromium."""

from __future__ import annotations

import os
import shutil
import sys
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from cyclopts import Parameter

from api.cli.common import hold
from api.rewards.rendering import GOAL, total_in_words
from api.tasks.task_files import load_task_file
from common.command_line import option
from common.scratch import Scratch
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_to_json
from lab.demo.families import (
    DESKTOP_FAMILIES,
    Family,
    family_task,
    run_family,
    run_mail_desktop,
    show_side_by_side,
)
from lab.demo.live_run import AgentCommand, LiveRun, run_agent
from lab.demo.needs import (
    LackingError,
    find_chromium,
    find_client,
    find_desktop,
    find_display,
    find_playwright,
)
from lab.demo.parts import DemoService, shop_folder, start_service, start_shop
from lab.demo.processes import DemoProcesses, PartFailedError, stoppable
from lab.demo.show import DemoScreen

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


def run(
    family: Annotated[
        Family | None,
        option(
            "a family of desktop work, done right and done wrong on pages of ours; without it, the"
            " shop",
            "web|form|files|mail|mail-desktop|settings|search",
        ),
    ] = None,
    /,
    *,
    args: DemoSettings = DEFAULTS,
) -> int:
    """Watch a scripted agent earn its rewards, on a shop of ours.

    Gives 0 when the agent got through and the replayed rewards are the same bytes.
    """
    try:
        chromium = _find_needed(family, args)
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
    try:
        with stoppable(), _work_folder(args) as work:
            with DemoProcesses(work / "logs") as parts:
                if family is None:
                    equal = _demo(parts, work.resolve(), args, chromium)
                else:
                    equal = _show_family(parts, work.resolve(), args, chromium, family)
            if not args.keep:
                shutil.rmtree(kept, ignore_errors=True)
                shutil.move(work / "service", kept)
    except KeyboardInterrupt:
        print("Stopped; nothing is left running.", file=sys.stderr)
        return 130
    except PartFailedError as error:
        print(f"The demo failed: {error}", file=sys.stderr)
        return 1
    return 0 if equal else 1


def _find_needed(family: Family | None, args: DemoSettings) -> str:
    """Make sure that all is there that a demo needs; gives the browser's path, nothing for a family
    without one. Raises `LackingError`."""
    find_client()
    if family in DESKTOP_FAMILIES:
        find_desktop("thunderbird")
        if args.headed:
            raise LackingError("--headed shows a browser, and this family has none")
        return ""
    chromium = find_chromium()
    find_playwright()
    find_display(args.headed)
    return chromium


@contextmanager
def _work_folder(args: DemoSettings) -> Iterator[Path]:
    """An empty folder for logs, data and profile: with ``--keep`` one that stays."""
    if args.keep:
        work = args.out / "work"
        shutil.rmtree(work, ignore_errors=True)
        yield work
        return
    scratch = Scratch("milestoned-demo-")
    try:
        yield scratch.path
    finally:
        scratch.remove()


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
        command = AgentCommand("shop", shop, chromium, args.headed)
        ran = run_agent(
            parts, work, screen, service, episode, ruleset, command, args.out / "demo.mrec"
        )
    equal = _conclude(screen, ruleset, ran)
    _end_with_page(screen, args, service, f"{service.url}/episodes/{episode.id}")
    return equal


def _show_family(
    parts: DemoProcesses, work: Path, args: DemoSettings, chromium: str, family: Family
) -> bool:
    screen = DemoScreen()
    service = start_service(parts, work / "service")
    if family in DESKTOP_FAMILIES:
        found = run_mail_desktop(parts, work, screen, service, args.out)
    else:
        found = run_family(
            parts,
            work,
            screen,
            service,
            family,
            args.out,
            chromium=chromium,
            headed=args.headed,
        )
    screen.line()
    show_side_by_side(screen, found.ruleset, found.recordings)
    screen.line()
    for ran in found.runs.values():
        _say_replayed(screen, found.ruleset, ran, family_task(family))
    _end_with_page(screen, args, service, f"{service.url}/episodes/{found.episodes['wrong']}")
    return found.are_equal


def _end_with_page(screen: DemoScreen, args: DemoSettings, service: DemoService, page: str) -> None:
    """Say where an episode's page is and who serves it; with ``--open``, show it."""
    screen.line(f"its page: {page}")
    if args.open:
        _show_page(screen, service, page)
        return
    data, port = _data_folder(args), urlsplit(service.url).port
    screen.line(
        f"  served by: {_own_command()} serve --data {data} --port {port}  (token:"
        f" {data}/admin.token)"
    )


def _show_page(screen: DemoScreen, service: DemoService, page: str) -> None:
    """The episode's page, in whatever browser the person has, for as long as the person looks."""
    screen.line(f"log in with {service.token}; Ctrl-C ends the service")
    webbrowser.open(page)
    with suppress(KeyboardInterrupt):
        service.part.process.wait()


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


def _conclude(screen: DemoScreen, ruleset: Ruleset, ran: LiveRun) -> bool:
    screen.line()
    outcome = (
        f"total {total_in_words(ran.closing.total)} of {ruleset.attainable:g}, goal"
        f" {GOAL[ran.closing.success]}"
    )
    screen.line(screen.paint(outcome, "bold"))
    _say_replayed(screen, ruleset, ran, shop_folder() / "task.yaml")
    return not ran.same.unlike


def _say_replayed(screen: DemoScreen, ruleset: Ruleset, ran: LiveRun, task: Path) -> None:
    """Say where the recording is, whether its replay gave the same bytes, and how to do it
    again."""
    recording, same = ran.recording, ran.same
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
    arguments = replay_arguments(recording, task, ruleset.task.origin)
    screen.line(f"again: {_own_command()} {' '.join(arguments)}")


def replay_arguments(recording: Path, task: Path, origin: str | None) -> list[str]:
    """Return the arguments of `milestoned` that replay a demo's recording; ``origin``: the task's,
    None where it is about no site."""
    named = [] if origin is None else ["--set", f"origin={origin}"]
    return ["replay", str(recording), "--task", _display_path(task), *named]


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
