"""`milestoned task check FILE…` and `milestoned task schema`: task files, before anything runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import orjson

from api.schema import task_schema
from api.tasks import BadTaskError, load_task_file
from detectors.ruleset import compile_task


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="task_command", required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="say whether task files are right; exit 1 if one is not")
    check.add_argument("files", nargs="+", type=Path, metavar="FILE")
    check.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="replace a top-level key")
    check.set_defaults(run=_check)
    schema = commands.add_parser("schema", help="print the JSON Schema of task files")
    schema.set_defaults(run=_schema)


def overrides(pairs: list[str]) -> dict[str, str]:
    """``KEY=VALUE`` arguments as a dict; exits with 2 on one that is not."""
    for pair in pairs:
        if "=" not in pair:
            sys.exit(f"--set {pair}: wanted KEY=VALUE, such as origin=http://127.0.0.1:8000")
    return {key: value for key, _, value in (pair.partition("=") for pair in pairs)}


def _check(args: argparse.Namespace) -> int:
    failed = False
    for path in args.files:
        try:
            task = load_task_file(path, overrides(args.set))
        except BadTaskError as error:
            failed = True
            for problem in error.problems:
                print(f"{path}: {problem}", file=sys.stderr)
        except OSError as error:
            failed = True
            print(f"{path}: {error.strerror}", file=sys.stderr)
        else:
            rules = compile_task(task)
            print(
                f"{path}: ok: {task.id} version {task.version}, {len(task.milestones)} milestones, "
                f"at most {rules.attainable:g}, ruleset {rules.digest[:12]}"
            )
    return 1 if failed else 0


def _schema(args: argparse.Namespace) -> int:
    sys.stdout.buffer.write(orjson.dumps(task_schema(), option=orjson.OPT_INDENT_2) + b"\n")
    return 0
