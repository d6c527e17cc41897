"""`milestoned task register`: a task file given to a running service, from a shell."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import httpx
import orjson

from api.cli.access import find_access
from api.cli.common import STORE, Store
from common.command_line import option
from common.plain_answers import HEADERS, HOOKS
from common.regular_file import read_regular

MAX_FILE = 64 << 20
"""Bytes of a task file; the service takes less, and says how much."""
TIMEOUT_S = 300.0
"""How long a service may take to check a task with its recordings, in seconds."""


def run(
    file: Annotated[Path, option("a task file, YAML or (`.json`) JSON", "FILE")],
    /,
    *,
    service: Annotated[
        str | None, option("its address (default: the service of the data folder)", "URL")
    ] = None,
    token_file: Annotated[
        Path | None, option("of an author of tasks (default: the first admin's)", "FILE")
    ] = None,
    store: Store = STORE,
) -> int:
    """Register a task with a running service, so that its episodes can be opened.

    A version is registered once; other content needs another `version`.
    """
    access = find_access(store.settings(token_file), service)
    if access is None:
        return 1
    address, headers = access
    kind = "application/json" if file.suffix == ".json" else "application/yaml"
    try:
        content = read_regular(file, MAX_FILE)
        with httpx.Client(
            headers={**headers, **HEADERS, "content-type": kind},
            event_hooks=HOOKS,
            timeout=TIMEOUT_S,
        ) as client:
            answer = client.post(f"{address}/v1/tasks", content=content)
    except httpx.TransportError as error:
        print(f"{address}: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{file}: {error.strerror}", file=sys.stderr)
        return 1
    return _report(file, answer)


def _report(file: Path, answer: httpx.Response) -> int:
    """Print what the service made of it; returns the exit code."""
    said = orjson.loads(answer.content)
    if answer.status_code not in (200, 201):
        print(f"{file}: {said['detail']}", file=sys.stderr)
        return 1
    how = "registered" if answer.status_code == 201 else "was registered before"
    print(
        f"{file}: {how}: {said['id']} version {said['version']}, at most {said['attainable']:g},"
        f" ruleset {said['digest'][:12]}"
    )
    then = shlex.join(["milestoned", "episode", "open", said["id"], "--version", said["version"]])
    print(f"{then}  # opens an episode")
    return 0
