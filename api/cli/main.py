"""`milestoned`: a table of subcommands, each imported only when it is asked for.

Other distributions, and the lab of this one, add theirs by entry points of the group
``milestoned.commands``: each gives a table like `COMMANDS`.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import cache

from cyclopts import App

from common.command_line import CommandLineError, new_app, parse_command
from detectors.model.optional_values import drop_keys, first_or_none

COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("api.cli.serve:run", "run the service"),
    "ors-proxy": (
        "api.cli.ors_proxy:run",
        "put rewards into the answers of an environment server of the Open Reward Standard",
    ),
    "mcp": ("api.cli.mcp:run", "what episodes were worth and why, as tools for a coding agent"),
    "task": ("api.cli.task:app", "check task files before anything runs"),
    "replay": ("api.cli.replay:run", "score a recording, with no browser and no service"),
    "rescore": (
        "api.cli.rescore:run",
        "score stored episodes or recordings by changed rules, and show what differs",
    ),
    "export": ("api.cli.export:run", "episodes, rewards and returns-to-go as Parquet files"),
    "audit": (
        "api.cli.audit:app",
        "explain a reward, verify the whole log, report on many episodes",
    ),
    "recording": (
        "api.cli.recording:app",
        "show what is in a recording, verify that it is as it was written",
    ),
    "episode": ("api.cli.episode:app", "open, fetch or explain an episode of a running service"),
    "token": ("api.cli.token:app", "create, list and revoke tokens"),
    "db": ("api.cli.db:app", "bring the database's schema up to date, or check it"),
}
"""Name → (what is imported: a function or a group of commands, help)."""
OF_GROUPS: Mapping[str, Sequence[str]] = {
    "attack": ("task attack",),
    "check": ("task check", "db check"),
    "explain": ("task explain", "episode explain", "audit explain"),
    "propose": ("task propose",),
    "show": ("recording show",),
    "test": ("task test",),
    "verify": ("recording verify", "audit verify"),
}
"""Commands that people ask for without their group → how they are called."""
PLUGINS_WHEN_ASKED_FOR = "api.cli.replay"
"""This command looks for rules of others once the task names one that is not ours."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and give its exit status."""
    # imports make objects that stay: looking for garbage among them, then or later, is a fifth of
    # a service's start
    gc.disable()
    try:
        words = sys.argv[1:] if argv is None else argv
        command, bound = parse_command(make_app(first_or_none(words)), words)
    except CommandLineError as error:
        known = OF_GROUPS.get(words[0]) if words else None
        what = f"{words[0]}: expected {' or '.join(known)}" if known else error
        print(f"milestoned: {what}", file=sys.stderr)
        return 2
    finally:
        if argv is None:  # a process of its own
            gc.freeze()
        gc.enable()
    is_ours = command.__module__ not in ("cyclopts.core", PLUGINS_WHEN_ASKED_FOR)
    if is_ours and not plugged_in():
        return 2
    try:
        status = int(command(*bound.args, **bound.kwargs) or 0)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads the output has enough, as `head` has; nothing more is to be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return status


def make_app(asked: str | None = None) -> App:
    """Return the program with the commands that are installed, none of them imported yet; of one of
    ours that is ``asked`` for, with that alone: to look for others' takes a tenth of a replay."""
    app = new_app(
        "milestoned",
        "Says, step by step, what a computer-use agent's work was worth.",
        version=_describe_version,
        version_flags=("--version",),
    )
    commands: Mapping[str, tuple[str, str]]
    commands = {asked: COMMANDS[asked]} if asked in COMMANDS else {**COMMANDS, **added_commands()}
    for name, (target, about) in commands.items():
        if " " not in name:
            app.command(target, name=name, help=about)
    return app


def _describe_version() -> str:
    from importlib.metadata import version  # here: it takes long to import

    return f"milestoned {version('milestoned')}"


@cache
def added_commands() -> Mapping[str, tuple[str, str]]:
    """The commands that installed distributions add, as `COMMANDS` has its own.

    A name of two words is a subcommand of the first.
    """
    from importlib.metadata import entry_points

    added: dict[str, tuple[str, str]] = {}
    for entry in entry_points(group="milestoned.commands"):
        added.update(entry.load())
    return drop_keys(added, COMMANDS)


def plugged_in() -> bool:
    """Whether the rules of others that are installed were taken; if not, the reason was printed."""
    # Here: looking for what is installed takes as long as scoring a recording.
    from api.tasks.plugins import load_plugins
    from detectors.sdk.plugins import PlugInError

    try:
        load_plugins()
    except PlugInError as error:
        print(f"milestoned: {error}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
