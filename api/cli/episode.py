"""`milestoned episode open|recording|explain`: episodes of a running service: opened, their
recording fetched, their milestones explained."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import httpx
import orjson

from api.cli.access import find_access
from api.cli.common import STORE, Store, read_pair
from api.cli.task import explain as explain_task
from api.core.keys import write_private
from common.command_line import new_app, option
from common.plain_answers import HEADERS, HOOKS
from common.scratch import scratch_folder
from detectors.model.kinds import KINDS, UNHEARD

app = new_app("episode", "Open an episode on a running service; fetch or explain one.")

EpisodeId = Annotated[str, option("the episode's id", "EPISODE")]
ServiceUrl = Annotated[
    str | None, option("its address (default: the service of the data folder)", "URL")
]
TokenFile = Annotated[
    Path | None, option("of a reader or trainer (default: the first admin's)", "FILE")
]


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
    service: ServiceUrl = None,
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
        if answer.status_code == 404:
            print("`milestoned task register FILE` registers a task file", file=sys.stderr)
        return 1
    state = state or Path(said["episode"])
    write_private(state / "append.token", said["token"])
    command = ["agentd", "run", "--service", service, "--episode", said["episode"]]
    command += ["--token-file", str(state / "append.token"), "--state", str(state)]
    needed = {KINDS[kind].source for kind in said["plan"]["hears"] if kind in KINDS}
    print(shlex.join(command), *(text for name, text in _OPTIONS.items() if name in needed))
    others = sorted(needed - _OPTIONS.keys() - _GIVEN)
    if others:
        print(
            f"note: the task needs {', '.join(others)} too: `agentd run --help` has the options",
            file=sys.stderr,
        )
    return 0


@app.command(name="recording")
def fetch_recording(
    episode: EpisodeId,
    /,
    *,
    out: Annotated[
        Path | None, option("a file that does not exist yet (default: EPISODE.mrec)", "FILE")
    ] = None,
    service: ServiceUrl = None,
    token_file: TokenFile = None,
    store: Store = STORE,
) -> int:
    """Fetch an episode's recording, also of one that runs, into a file."""
    out = out or Path(f"{episode.replace('/', '-')}.mrec")
    access = find_access(store.settings(token_file), service)
    if access is None:
        return 1
    try:
        _get_episode(access, episode)
        recording = _get(access, f"{_path(episode)}/recording")
        with out.open("xb") as file:
            file.write(recording)
    except _RefusedError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"--out {out}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"{out}: written; `milestoned recording show {shlex.quote(str(out))}` shows it")
    return 0


@app.command
def explain(
    episode: EpisodeId,
    /,
    *,
    service: ServiceUrl = None,
    token_file: TokenFile = None,
    store: Store = STORE,
) -> int:
    """Say what each milestone of an episode's task waited for, and why it paid or did not."""
    access = find_access(store.settings(token_file), service)
    if access is None:
        return 1
    try:
        row = _get_episode(access, episode)
        version = quote(row["version"], safe="")
        task = orjson.loads(_get(access, f"/v1/tasks/{quote(row['task'])}?version={version}"))
        recording = _get(access, f"{_path(episode)}/recording")
    except _RefusedError as error:
        print(error, file=sys.stderr)
        return 1
    with scratch_folder("milestoned-explain-") as folder:
        files = folder / "task.json", folder / "episode.mrec"
        files[0].write_bytes(orjson.dumps(task["task"]))
        files[1].write_bytes(recording)
        return explain_task(*files)


_OPTIONS = {"cdp": "--cdp http://127.0.0.1:9222", "files": "--files DIR"}
"""The options of the sources that most tasks need."""
_GIVEN = UNHEARD | {"probe", "reader"}
"""Sources that no option of their own asks for."""


class _RefusedError(Exception):
    """The service does not answer, or with another status than 200; the message says which."""


def _get_episode(access: tuple[str, dict[str, str]], episode: str) -> dict[str, Any]:
    """Return the service's document of an episode. Raises `_RefusedError`, also where nothing was
    recorded yet."""
    row: dict[str, object] = orjson.loads(_get(access, _path(episode)))
    if not row["through"]:
        raise _RefusedError(f"{episode}: its daemon has sent no event yet")
    return row


def _path(episode: str) -> str:
    return f"/v1/episodes/{quote(episode, safe='')}"


def _get(access: tuple[str, dict[str, str]], path: str) -> bytes:
    """Return the body of a GET of the service. Raises `_RefusedError`."""
    service, headers = access
    try:
        with httpx.Client(
            headers={**headers, **HEADERS}, event_hooks=HOOKS, timeout=60.0
        ) as client:
            answer = client.get(f"{service}{path}")
    except httpx.TransportError as error:
        raise _RefusedError(f"{service}: {error}") from None
    if answer.status_code != 200:
        raise _RefusedError(_detail_of(answer))
    return answer.content


def _detail_of(answer: httpx.Response) -> str:
    """Return what a refusal says, or its status where it says nothing."""
    try:
        return str(orjson.loads(answer.content)["detail"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return f"{answer.url}: status {answer.status_code}, wanted 200"
