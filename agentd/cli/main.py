"""The command `agentd`: reads options, sets up logs, runs, and turns errors into words and exit
codes."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version

from agentd.core.errors import AgentdError
from agentd.core.settings import Settings
from agentd.run.options import add_options, read_settings

EXIT_CODES = """exit codes:
  0  closed and acknowledged (run), written (record), or told to stop: start again to go on; with
     --detach: every source sees, and the daemon runs
  1  something broke that the message names
  2  wrong options, an unknown episode, another daemon works in --state
  3  the service refuses the token
  4  the service refuses the log (another journal wrote to the episode); the journal is kept
  5  the service does not take a daemon of this version (join)

Every option can stand in the environment too: AGENTD_STATE for --state, and so on."""


def main(argv: Sequence[str] | None = None) -> None:
    """The console command's entry; ends the process with one of `EXIT_CODES`."""
    parser = _parser()
    given = parser.parse_args(argv)
    try:
        settings = read_settings(given.command, vars(given))
        code = _run(given.command, settings, verbose=given.verbose)
    except AgentdError as error:
        print(f"agentd: {error}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    shape = argparse.RawDescriptionHelpFormatter
    about = "Watches the browser and the files of a computer-use agent, and never touches them."
    parser = argparse.ArgumentParser(
        "agentd", description=about, epilog=EXIT_CODES, formatter_class=shape
    )
    parser.add_argument(
        "--version", action="version", version=f"agentd of milestoned {version('milestoned')}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, short in (
        ("run", "watch for one episode of a service, until it is closed"),
        ("join", "work for a fleet: the service says which episode is next, until ctrl-C"),
        ("record", "watch without a service and write a recording, until ctrl-C"),
        ("read", "print what the daemon's readers tell of a file: see docs/readers.md"),
        ("devtools", "serve a browser's DevTools to who has a token, for the sandboxes of a fleet"),
    ):
        command = commands.add_parser(
            name, help=short, description=short, epilog=EXIT_CODES, formatter_class=shape
        )
        command.add_argument(
            "-v", "--verbose", action="store_true", help="log more, for a search for faults"
        )
        add_options(command, name)
    return parser


def _run(command: str, settings: Settings, *, verbose: bool) -> int:
    """Run a command to its end and return the exit code; raises `AgentdError`."""
    # Journal, tokens and recordings hold what the agent typed and what is heard: no other user
    # reads them, whatever the mode of the folder that they were given.
    os.umask(0o077)
    from agentd.core.logs import set_up_logs

    set_up_logs(verbose=verbose)
    if command == "run" and settings.detach:
        command = "detach"
    report = _COMMANDS[command](settings, verbose)
    if report:
        print(report)
    return 0


# A command imports what it runs: `agentd read` needs no websockets, `agentd devtools` no journal.


def _record(settings: Settings, verbose: bool) -> str:
    from agentd.run.record import record

    events = asyncio.run(record(settings))
    return f"{settings.out}: {events} events"


def _read(settings: Settings, verbose: bool) -> str:
    from agentd.cli.read import show

    return show(settings)


def _join(settings: Settings, verbose: bool) -> None:
    from agentd.fleet.worker import join

    asyncio.run(join(settings))


def _devtools(settings: Settings, verbose: bool) -> None:
    from agentd.fleet.devtools import serve_devtools

    asyncio.run(serve_devtools(settings))


def _detach(settings: Settings, verbose: bool) -> str:
    from agentd.run.detached import start

    return f"agentd: {start(settings, verbose=verbose)}"


def _watch(settings: Settings, verbose: bool) -> None:
    from agentd.run.daemon import run

    asyncio.run(run(settings))


_COMMANDS: dict[str, Callable[[Settings, bool], str | None]] = {
    "run": _watch,
    "detach": _detach,
    "record": _record,
    "read": _read,
    "join": _join,
    "devtools": _devtools,
}


if __name__ == "__main__":
    main()
