"""`milestoned audit`: explain a reward, verify a log, report on many; straight in the database."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import orjson

from api.audit.explaining import Explainer, as_text
from api.audit.note import NoteError, PublicKey, parse_key, split
from api.audit.report_text import as_html, as_report_text
from api.audit.reporting import Reporter
from api.audit.selection import AuditSelection
from api.audit.store import Audits
from api.audit.verifying import Verifier
from api.cli.common import STORE, Store
from api.core.errors import InvalidError, NotFoundError, ProblemError, UnavailableError
from api.core.keys import KeyFileError
from api.core.settings import Settings
from api.core.signing import KEY_FILE, NAME, Signer
from api.db.database import Database, is_missing
from api.db.migrate import current, is_reached, latest_revision
from api.labelling.store import Preferences
from api.rewards.ledger import Ledger
from common.command_line import new_app, option
from common.output_file import why_not_writable
from common.regular_file import read_regular_text


class AuditStores(NamedTuple):
    """What the subcommands read of a service's database."""

    audits: Audits
    ledger: Ledger
    preferences: Preferences


Work = Callable[[Settings, AuditStores], Awaitable[int]]

app = new_app("audit", "Explain a reward, verify the whole log, report on many episodes.")


@app.command
def explain(
    episode: Annotated[str, option("the episode's id", "EPISODE")],
    step: Annotated[int, option("the step's number", "STEP")],
    /,
    *,
    json: Annotated[bool, option("the document that the service gives")] = False,
    store: Store = STORE,
) -> int:
    """Say why a step was worth what it was, down to the events."""

    async def work(_settings: Settings, stores: AuditStores) -> int:
        """Print why a step of an episode was paid what it was. Raises `NotFoundError`."""
        if await stores.audits.episode(episode) is None:
            deleted = await stores.audits.tombstone(episode) is not None
            raise NotFoundError(
                f"episode: {episode[:80]} {'was deleted' if deleted else 'is not there'}"
            )
        found = await Explainer(stores.audits, stores.ledger, NAME).explain(episode, step)
        print(_as_json(found) if json else as_text(found))
        if not json:
            print(
                "note: what each milestone waited for, and what came nearest: milestoned episode"
                f" explain {shlex.quote(episode)}",
                file=sys.stderr,
            )
        return 0

    return _run(store, work)


@app.command
def verify(
    *,
    episode: Annotated[
        str | None, option("this one alone (default: every one, and the tree over them)", "ID")
    ] = None,
    checkpoints: Annotated[
        Path | None, option("notes that were kept outside the database", "FILE")
    ] = None,
    key: Annotated[
        str,
        option("the service's public key as `audit key` prints it (default: its own)", "PUBLIC"),
    ] = "",
    json: Annotated[bool, option("one difference a line")] = False,
    store: Store = STORE,
) -> int:
    """Recompute chain, checkpoints and rewards from the log alone; exit 1 and name every
    difference."""

    async def work(settings: Settings, stores: AuditStores) -> int:
        """Recompute everything, or one episode, and print each difference. Return 1 where there is
        one."""
        public = parse_key(key) if key else _own_key(settings)
        notes = split(read_regular_text(checkpoints)) if checkpoints else ()
        verifier = Verifier(stores.audits, stores.ledger, settings.limits, public, notes)
        differences = 0
        async for difference in (
            verifier.everything() if episode is None else verifier.episode(episode)
        ):
            differences += 1
            print(orjson.dumps(difference._asdict()).decode() if json else difference)
        print(
            f"{verifier.episodes} episodes, {verifier.events} events and {verifier.rewards} rewards"
            f" recomputed under key {public.text()}: {differences or 'no'}"
            f" difference{'' if differences == 1 else 's'}",
            file=sys.stderr,
        )
        return 1 if differences else 0

    return _run(store, work)


@app.command
def report(
    *,
    task: Annotated[str | None, option("episodes of this task", "TASK")] = None,
    status: Annotated[str | None, option("open, closing or closed", "STATUS")] = None,
    label: Annotated[str | None, option("NAME=VALUE", "LABEL")] = None,
    since: Annotated[
        str | None, option("opened at or after this date or time, ISO 8601 in UTC", "SINCE")
    ] = None,
    until: Annotated[str | None, option("opened before it", "UNTIL")] = None,
    by: Annotated[
        str, option("the label that names the policy's version (default: policy)", "BY")
    ] = "policy",
    split: Annotated[
        str | None, option("a label by which the evaluation is told apart further", "LABEL")
    ] = None,
    format: Annotated[Literal["text", "json", "html"], option("default: text", "FORMAT")] = "text",
    out: Annotated[Path | None, option("write it here (default: to the terminal)", "FILE")] = None,
    force: Annotated[bool, option("replace --out if it is there")] = False,
    store: Store = STORE,
) -> int:
    """Report rewards by task, masks, tampering, health, over a selection."""
    problem = None if out is None else why_not_writable(out, force=force)
    if problem is not None:
        print(f"--out {problem}", file=sys.stderr)
        return 2

    async def work(_settings: Settings, stores: AuditStores) -> int:
        """Write the report in the format that is asked for, to a file or as output."""
        selection = AuditSelection(task=task, status=status, label=label, since=since, until=until)
        found = await Reporter(stores.audits, stores.preferences, selection, by, split).report()
        text = {"text": as_report_text, "html": as_html, "json": _as_json}[format](found)
        if out is None:
            print(text)
        else:
            out.write_text(text + "\n")
        return 0

    return _run(store, work)


@app.command(name="key")
def print_key(*, store: Store = STORE) -> int:
    """Print the public key that verifies checkpoints and tombstones."""

    async def work(settings: Settings, _stores: AuditStores) -> int:
        print(_own_key(settings).text())
        return 0

    return _run(store, work)


def _run(store: Store, work: Work) -> int:
    """Do what was asked: 1 for a difference or a failure, 2 for what was asked wrongly."""
    try:
        return asyncio.run(_with_database(store.settings(), work))
    except (NoteError, KeyFileError) as error:
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


async def _with_database(settings: Settings, work: Work) -> int:
    """Work on the database of a service's folder. Return 2 where there is none. Raises
    `UnavailableError` for an older schema."""
    if is_missing(settings.database):
        print(
            f"--data: there is no database at {settings.database}; wanted the folder of a service",
            file=sys.stderr,
        )
        return 2
    database = Database(settings.database)
    try:
        found = await current(database)
        if not is_reached(found):
            raise UnavailableError(
                f"schema: at {found}, this build's is {latest_revision()}: run `milestoned db"
                " upgrade`"
            )
        ledger = Ledger(database, settings.limits.rewards_cached)
        return await work(settings, AuditStores(Audits(database), ledger, Preferences(database)))
    finally:
        await database.close()


def _as_json(found: Mapping[str, object]) -> str:
    return orjson.dumps(found, option=orjson.OPT_INDENT_2).decode()


def _own_key(settings: Settings) -> PublicKey:
    """Return the public key of this folder's signing key. Raises `NoteError` where there is
    none."""
    if settings.signing_key is None and not (settings.data / KEY_FILE).exists():
        raise NoteError(
            f"--key: there is no signing key in {settings.data}; wanted the service's public key"
        )
    signer = Signer.load(settings)
    return PublicKey(signer.name, signer.public)
