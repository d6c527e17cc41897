"""`milestoned episode open TASK`: opens an episode and prints the daemon's command line."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import httpx

from api.cli.access import find_access
from api.cli.common import STORE, Store, read_pair
from api.core.keys import write_private
from common.command_line import new_app, option
from common.plain_answers import HEADERS, HOOKS

app = new_app("episode", "Open an episode on a running service.")


@app.command(name="open")
def open_episode(
    task: Annotated[str, option("the id of a registered task", "TASK_ID")],
    /,
    *,
    version: Annotated[
        str | None, option("of the task (default: the latest registered)", "VERSION")
    ] = None,
    label: Annotated[
        tuple[tuple[str, str], ...],
        option("a label of the episode; may be given again", "KEY=VALUE", read_pair, many=True),
    ] = (),
    seed: Annotated[int | None, option("a seed, as the task's author uses it", "SEED")] = None,
    service: Annotated[
        str | None, option("its address (default: the service of the data folder)", "URL")
    ] = None,
    state: Annotated[Path | None, option("the daemon's folder (default: ./EPISODE)", "DIR")] = None,
    token_file: Annotated[
        Path | None, option("of a trainer (default: the first admin's)", "FILE")
    ] = None,
    store: Store = STORE,
) -> int:
    """Open an episode of a registered task, and print the daemon's command line.

    The append token goes to a file of mode 0600, never to the screen.
    """
    access = find_access(store.settings(token_file), service)
    if access is None:
        return 1
    service, headers = access
    body = {"task": task, "version": version, "labels": dict(label), "seed": seed}
    try:
        with httpx.Client(headers={**headers, **HEADERS}, event_hooks=HOOKS) as client:
            answer = client.post(f"{service}/v1/episodes", json=body)
    except httpx.TransportError as error:
        print(f"{service}: {error}", file=sys.stderr)
        return 1
    said = answer.json()
    if answer.status_code != 201:
        print(said["detail"], file=sys.stderr)
        return 1
    state = state or Path(said["episode"])
    write_private(state / "append.token", said["token"])
    command = ["agentd", "run", "--service", service, "--episode", said["episode"]]
    command += ["--token-file", str(state / "append.token"), "--state", str(state)]
    print(shlex.join(command), "--cdp http://127.0.0.1:9222")
    return 0
