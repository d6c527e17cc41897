"""`milestoned audit`: explain a reward, verify a log, report on many; straight in the database."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from api.audit.explaining import Explainer, as_text
from api.audit.note import NoteError, PublicKey, parse_key, split
from api.audit.report_text import as_html, as_report_text
from api.audit.reporting import Reporter
from api.audit.selection import AuditSelection
from api.audit.store import Audits
from api.audit.verifying import Verifier
from api.cli.common import add_store, store_settings
from api.core.errors import InvalidError, NotFoundError, ProblemError, UnavailableError
from api.core.regular_file import read_regular
from api.core.settings import Settings
from api.core.signing import KEY_FILE, NAME, Signer, SigningKeyError
from api.db.database import Database, is_missing
from api.db.migrate import current, latest_revision, reached
from api.rewards.ledger import Ledger

Work = Callable[[argparse.Namespace, Settings, Audits, Ledger], Awaitable[int]]

_SELECTED = {
    "task": "episodes of this task",
    "status": "open, closing or closed",
    "label": "NAME=VALUE",
    "since": "opened at or after this date or time, ISO 8601 in UTC",
    "until": "opened before it",
    "by": "the label that names the policy's version (default: policy)",
}


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `milestoned audit`."""
    commands = parser.add_subparsers(dest="audit_command", required=True, metavar="COMMAND")
    explain = commands.add_parser(
        "explain", help="why a step was worth what it was, down to the events"
    )
    explain.add_argument("episode", metavar="EPISODE")
    explain.add_argument("step", type=int, metavar="STEP")
    explain.add_argument("--json", action="store_true", help="the document that the service gives")
    explain.set_defaults(work=_explain)
    verify = commands.add_parser(
        "verify",
        help=(
            "recompute chain, checkpoints and rewards from the log alone; exit 1 and name every"
            " difference"
        ),
    )
    verify.add_argument(
        "--episode",
        metavar="ID",
        help="this one alone (default: every one, and the tree over them)",
    )
    verify.add_argument(
        "--checkpoints", type=Path, metavar="FILE", help="notes that were kept outside the database"
    )
    verify.add_argument(
        "--key",
        metavar="PUBLIC",
        help="the service's public key as `audit key` prints it (default: its own)",
    )
    verify.add_argument("--json", action="store_true", help="one difference a line")
    verify.set_defaults(work=_verify)
    report = commands.add_parser(
        "report", help="rewards by task, masks, tampering, health, over a selection"
    )
    for name, says in _SELECTED.items():
        report.add_argument(f"--{name}", metavar=name.upper(), help=says)
    report.add_argument("--format", choices=["text", "json", "html"], default="text")
    report.add_argument(
        "--out", type=Path, metavar="FILE", help="write it here (default: to the terminal)"
    )
    report.set_defaults(work=_report)
    key = commands.add_parser(
        "key", help="print the public key that verifies checkpoints and tombstones"
    )
    key.set_defaults(work=_print_key)
    for command in (explain, verify, report, key):
        add_store(command)
        command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Do what was asked: 1 for a difference or a failure, 2 for what was asked wrongly."""
    try:
        return asyncio.run(_run(args, store_settings(args)))
    except (NoteError, SigningKeyError) as error:
        print(error, file=sys.stderr)
        return 2
    except InvalidError as error:
        print(error.detail, file=sys.stderr)
        return 2
    except ProblemError as error:
        print(error.detail, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 2


async def _run(args: argparse.Namespace, settings: Settings) -> int:
    work: Work = args.work
    if is_missing(settings.database):
        print(
            f"--data: there is no database at {settings.database}; wanted the folder of a service",
            file=sys.stderr,
        )
        return 2
    database = Database(settings.database)
    try:
        found = await current(database)
        if not reached(found):
            raise UnavailableError(
                f"schema: at {found}, this build's is {latest_revision()}: run `milestoned db"
                " upgrade`"
            )
        return await work(
            args, settings, Audits(database), Ledger(database, settings.limits.rewards_cached)
        )
    finally:
        await database.close()


async def _explain(
    args: argparse.Namespace, _settings: Settings, audits: Audits, ledger: Ledger
) -> int:
    if await audits.episode(args.episode) is None:
        deleted = await audits.tombstone(args.episode) is not None
        raise NotFoundError(
            f"episode: {args.episode[:80]} {'was deleted' if deleted else 'is not there'}"
        )
    said = await Explainer(audits, ledger, NAME).explain(args.episode, args.step)
    print(orjson.dumps(said, option=orjson.OPT_INDENT_2).decode() if args.json else as_text(said))
    return 0


async def _verify(
    args: argparse.Namespace, settings: Settings, audits: Audits, ledger: Ledger
) -> int:
    key = parse_key(args.key) if args.key else _own_key(settings)
    notes = split(read_regular(args.checkpoints).decode()) if args.checkpoints else ()
    verifier = Verifier(audits, ledger, settings.limits, key, notes)
    differences = 0
    async for one in (
        verifier.everything() if args.episode is None else verifier.episode(args.episode)
    ):
        differences += 1
        print(orjson.dumps(one._asdict()).decode() if args.json else one)
    print(
        f"{verifier.episodes} episodes, {verifier.events} events and {verifier.rewards} rewards"
        f" recomputed under key {key.text()}: {differences or 'no'}"
        f" difference{'' if differences == 1 else 's'}",
        file=sys.stderr,
    )
    return 1 if differences else 0


async def _report(
    args: argparse.Namespace, _settings: Settings, audits: Audits, _ledger: Ledger
) -> int:
    selection = AuditSelection(**{name: getattr(args, name) for name in _SELECTED if name != "by"})
    found = await Reporter(audits, selection, args.by or "policy").report()
    text = {"text": as_report_text, "html": as_html, "json": _as_json}[args.format](found)
    if args.out is None:
        print(text)
    else:
        args.out.write_text(text + "\n")
    return 0


def _as_json(found: Mapping[str, Any]) -> str:
    return orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()


async def _print_key(
    _args: argparse.Namespace, settings: Settings, _audits: Audits, _ledger: Ledger
) -> int:
    print(_own_key(settings).text())
    return 0


def _own_key(settings: Settings) -> PublicKey:
    if settings.signing_key is None and not (settings.data / KEY_FILE).exists():
        raise NoteError(
            f"--key: there is no signing key in {settings.data}; wanted the service's public key"
        )
    signer = Signer.load(settings)
    return PublicKey(signer.name, signer.public)
