"""`milestoned`: one table of subcommands, each imported only when it is asked for."""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("api.cli.serve", "run the service"),
    "demo": ("lab.cli.demo", "watch a scripted agent earn its rewards, on a shop of ours"),
    "watch": ("lab.cli.watch", "watch your own browser and see its events as milestones"),
    "task": ("api.cli.task", "check task files before anything runs"),
    "coverage": ("lab.cli.coverage", "how much of others' benchmarks our tasks say, as tables"),
    "replay": ("api.cli.replay", "score a recording, with no browser and no service"),
    "rescore": ("api.cli.rescore", "score stored episodes or recordings by changed rules, and show what differs"),
    "export": ("api.cli.export", "episodes, rewards and returns-to-go as Parquet files"),
    "audit": ("api.cli.audit", "explain a reward, verify the whole log, report on many episodes"),
    "rm": ("lab.cli.rm", "train, measure and promote the learned reward model"),
    "cascade": ("lab.cli.cascade", "measure the tiers beyond the rules against labelled trajectories"),
    "recording": ("api.cli.recording", "show what is in a recording, verify that it is as it was written"),
    "episode": ("api.cli.episode", "open an episode on a running service"),
    "token": ("api.cli.token", "create, list and revoke tokens"),
    "db": ("api.cli.db", "bring the database's schema up to date, or check it"),
}
"""name → (module, help). A module has ``add(parser)``, which sets ``run`` to what takes the arguments."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand and give its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(
        prog="milestoned",
        description="Says, step by step, what a computer-use agent's work was worth.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="commands:\n" + "\n".join(f"  {name:<9} {says}" for name, (_, says) in COMMANDS.items()),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="one of those below")
    name = parser.parse_args(arguments[:1]).command
    module, says = COMMANDS[name]
    command = argparse.ArgumentParser(prog=f"milestoned {name}", description=says[0].upper() + says[1:] + ".")
    gc.disable()  # imports make objects that stay: looking for garbage among them is a sixth of their time
    found = import_module(module)
    gc.enable()
    if not getattr(found, "PLUGINS_WHEN_ASKED_FOR", False) and not plugged_in():
        return 2
    found.add(command)
    args = command.parse_args(arguments[1:])
    return int(args.run(args) or 0)


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
