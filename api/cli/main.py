"""`milestoned`: a table of subcommands, each imported only when it is asked for.

Other distributions, and the lab of this one, add theirs by entry points of the group
``milestoned.commands``: each gives a table like `COMMANDS`.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("api.cli.serve", "run the service"),
    "task": ("api.cli.task", "check task files before anything runs"),
    "replay": ("api.cli.replay", "score a recording, with no browser and no service"),
    "rescore": (
        "api.cli.rescore",
        "score stored episodes or recordings by changed rules, and show what differs",
    ),
    "export": ("api.cli.export", "episodes, rewards and returns-to-go as Parquet files"),
    "audit": ("api.cli.audit", "explain a reward, verify the whole log, report on many episodes"),
    "recording": (
        "api.cli.recording",
        "show what is in a recording, verify that it is as it was written",
    ),
    "episode": ("api.cli.episode", "open an episode on a running service"),
    "token": ("api.cli.token", "create, list and revoke tokens"),
    "db": ("api.cli.db", "bring the database's schema up to date, or check it"),
}
"""Name → (module, help). A module's ``add(parser)`` sets ``run``, called with the arguments."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and give its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    commands = {**COMMANDS, **added_commands()}
    listed = {name: about for name, about in commands.items() if " " not in name}
    parser = argparse.ArgumentParser(
        prog="milestoned",
        description="Says, step by step, what a computer-use agent's work was worth.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="commands:\n"
        + "\n".join(f"  {name:<9} {says}" for name, (_, says) in listed.items()),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    parser.add_argument("command", choices=listed, metavar="COMMAND", help="one of those below")
    name = parser.parse_args(arguments[:1]).command
    module, says = commands[name]
    command = argparse.ArgumentParser(
        prog=f"milestoned {name}", description=says[0].upper() + says[1:] + "."
    )
    # imports make objects that stay: looking for garbage among them is a sixth of their time
    gc.disable()
    found = import_module(module)
    gc.enable()
    if not getattr(found, "PLUGINS_WHEN_ASKED_FOR", False) and not plugged_in():
        return 2
    found.add(command)
    args = command.parse_args(arguments[1:])
    return int(args.run(args) or 0)


def added_commands() -> dict[str, tuple[str, str]]:
    """The commands that installed distributions add, as `COMMANDS` has its own."""
    added: dict[str, tuple[str, str]] = {}
    for entry in entry_points(group="milestoned.commands"):
        added.update(entry.load())
    return added


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


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"milestoned {version('milestoned')}")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
