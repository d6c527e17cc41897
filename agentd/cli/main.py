"""The command `agentd`: reads options, sets up logs, runs, and turns errors into words and exit
codes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from cyclopts import App
from cyclopts.config import Env

from agentd.core.errors import AgentdError, UsageError
from agentd.core.settings import (
    CommandSettings,
    DevtoolsSettings,
    JoinSettings,
    McpSettings,
    ReadSettings,
    RecordSettings,
    RunSettings,
)
from common.command_line import CommandLineError, new_app, parse_command

EXIT_CODES = """exit codes:
  0  closed and acknowledged (run), written (record), or told to stop: start
     again to go on; with --detach: every source sees, and the daemon runs
  1  something broke that the message names
  2  wrong options, an unknown episode, another daemon works in --state
  3  the service refuses the token
  4  the service refuses the log (another journal wrote to the episode); the
     journal is kept
  5  the service does not take a daemon of this version (join)
mcp -- COMMAND ends with the status of COMMAND.

Every option can stand in the environment too: AGENTD_STATE for --state, and
so on."""

COMMANDS: dict[str, tuple[type[CommandSettings], str]] = {
    "run": (RunSettings, "watch for one episode of a service, until it is closed"),
    "join": (
        JoinSettings,
        "work for a fleet: the service says which episode is next, until ctrl-C",
    ),
    "record": (RecordSettings, "watch without a service and write a recording, until ctrl-C"),
    "read": (ReadSettings, "print what the daemon's readers tell of a file: see docs/readers.md"),
    "mcp": (
        McpSettings,
        "stand before an MCP server: each tool call becomes a step, every byte passes",
    ),
    "devtools": (
        DevtoolsSettings,
        "serve a browser's DevTools to who has a token, for the sandboxes of a fleet",
    ),
}
"""Name → (the declaration of its options, help)."""


def main(argv: Sequence[str] | None = None) -> None:
    """The console command's entry; ends the process with one of `EXIT_CODES`."""
    try:
        command, bound = parse_command(make_app(), sys.argv[1:] if argv is None else argv)
        settings = command(*bound.args, **bound.kwargs)
        if isinstance(settings, CommandSettings):
            _run(settings)
        code = 0
    except CommandLineError as error:
        print(f"agentd: {error}", file=sys.stderr)
        code = UsageError.exit_code
    except AgentdError as error:
        print(f"agentd: {error}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code)


def make_app() -> App:
    """Return the program's commands, each of which returns its settings."""
    app = new_app(
        "agentd",
        "Watches the browser and the files of a computer-use agent, and never touches them.",
        config=(Env("AGENTD_", command=False),),
        help_epilogue=EXIT_CODES,
        version=lambda: f"agentd of milestoned {version('milestoned')}",
        version_flags=("--version",),
    )
    for name, (settings, about) in COMMANDS.items():
        app.command(settings, name=name, help=about)
    return app


def _run(settings: CommandSettings) -> None:
    """Run a command to its end; raises `AgentdError`."""
    # Journal, tokens and recordings hold what the agent typed and what is heard: no other user
    # reads them, whatever the mode of the folder that they were given. The gateway keeps nothing,
    # and what the server behind it writes is the server's.
    if not isinstance(settings, McpSettings):
        os.umask(0o077)
    from agentd.core.logs import set_up_logs

    set_up_logs(verbose=settings.verbose)
    report = _RUNNERS[type(settings)](settings)
    if report:
        print(report)


# A command imports what it runs: `agentd read` needs no websockets, `agentd devtools` no journal.


def _record(settings: RecordSettings) -> str:
    from agentd.run.record import record

    events = asyncio.run(record(settings))
    return f"{settings.out}: {events} events"


def _read(settings: ReadSettings) -> str:
    from agentd.cli.read import show

    return show(settings)


def _join(settings: JoinSettings) -> None:
    from agentd.fleet.worker import join

    asyncio.run(join(settings))


def _devtools(settings: DevtoolsSettings) -> None:
    from agentd.fleet.devtools import serve_devtools

    asyncio.run(serve_devtools(settings))


def _mcp(settings: McpSettings) -> None:
    from agentd.mcp.gateway import run_gateway

    sys.exit(asyncio.run(run_gateway(settings)))


def _watch(settings: RunSettings) -> str | None:
    """Run a daemon in the foreground, or start one in the background and return the line that says
    so."""
    if settings.detach:
        from agentd.run.detached import start

        return f"agentd: {start(settings)}"
    from agentd.run.daemon import run

    asyncio.run(run(settings))
    return None


_RUNNERS: dict[type[CommandSettings], Callable[[Any], str | None]] = {
    RunSettings: _watch,
    RecordSettings: _record,
    ReadSettings: _read,
    JoinSettings: _join,
    DevtoolsSettings: _devtools,
    McpSettings: _mcp,
}


if __name__ == "__main__":
    main()
