"""What several commands share: where the data is."""

from __future__ import annotations

import argparse
from pathlib import Path

from api.settings import Settings, settings_from_environment


def add_store(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare where the service's data is."""
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="the service's own folder: database, secret, first admin token "
        "(default: $MILESTONED_DATA, else the database's folder, else ./milestoned-data)",
    )
    parser.add_argument(
        "--database", default="", metavar="URL", help="such as sqlite:///FILE (default: a file in the data folder)"
    )


def store_settings(args: argparse.Namespace, token_file: Path | None = None) -> Settings:
    """The settings that the arguments and the environment give."""
    return settings_from_environment(args.data, args.database, token_file)
