"""What several commands share: where the data is."""

from __future__ import annotations

import argparse
import fcntl
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from detectors.engine.attribution import CREDITS

if TYPE_CHECKING:
    from api.core.settings import Settings

_SPANS = {"s": 1 / 86_400, "m": 1 / 1_440, "h": 1 / 24, "d": 1.0, "w": 7.0}


def add_store(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare where the service's data is."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help=(
            "the service's own folder: database, secret, first admin token "
            "(default: $MILESTONED_DATA, else the database's folder, else ./milestoned-data)"
        ),
    )
    parser.add_argument(
        "--database",
        default="",
        metavar="URL",
        help="such as sqlite:///FILE (default: a file in the data folder)",
    )


def store_settings(args: argparse.Namespace, token_file: Path | None = None) -> Settings:
    """The settings that the arguments and the environment give."""
    from api.core.settings import (
        settings_from_environment,  # here: a command without a store is to start at once
    )

    return settings_from_environment(args.data, args.database, token_file)


def days(text: str) -> float:
    """A span such as 30d or 12h, in days."""
    found = re.fullmatch(r"([0-9]{1,5})([smhdw])", text)
    if found is None or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r}; wanted a number and one of {', '.join(_SPANS)}, such as 30d"
        )
    return int(found[1]) * _SPANS[found[2]]


def overrides(pairs: list[str]) -> dict[str, str]:
    """``KEY=VALUE`` arguments as a dict; exits with 2 on one that is not."""
    for pair in pairs:
        if "=" not in pair:
            sys.exit(f"--set {pair}: wanted KEY=VALUE, such as origin=http://127.0.0.1:8000")
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def hold(data: Path) -> int | None:
    """Hold the data directory for as long as this process lives; None if another does."""
    return _hold(data / "lock")


def hold_file(database: Path) -> int | None:
    """Hold a database that is a file: services with folders of their own may name the same one."""
    file = database.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    return _hold(file.with_name(f"{file.name}.lock"))


def _hold(file: Path) -> int | None:
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def add_credit(parser: argparse.ArgumentParser, of: str) -> None:
    """The option `--credit-to`, which is ``of`` what the command gives."""
    says = (
        f"{of}: as it was paid (default), or by the step that set a milestone with `credit_to:"
        " cause` in motion"
    )
    parser.add_argument("--credit-to", choices=CREDITS, default="as_paid", help=says)
