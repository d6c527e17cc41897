"""`milestoned episode open TASK`: opens an episode and prints the daemon's command line."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import httpx
import orjson

from api.cli.common import add_store, store_settings
from api.core.keys import MAX_TOKEN, admin_token_file, write_private
from api.core.plain_answers import HEADERS, HOOKS
from api.core.regular_file import read_regular
from api.core.settings import Settings


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `milestoned episode`."""
    commands = parser.add_subparsers(dest="episode_command", required=True, metavar="COMMAND")
    opening = commands.add_parser("open", help="open an episode of a registered task")
    opening.add_argument("task", metavar="TASK_ID")
    opening.add_argument("--version", help="of the task (default: the latest registered)")
    opening.add_argument("--label", action="append", default=[], metavar="KEY=VALUE")
    opening.add_argument("--seed", type=int)
    opening.add_argument(
        "--service", metavar="URL", help="(default: the service of the data folder)"
    )
    opening.add_argument(
        "--state", type=Path, metavar="DIR", help="the daemon's folder (default: ./EPISODE)"
    )
    opening.add_argument(
        "--token-file", type=Path, metavar="FILE", help="of a trainer (default: the first admin's)"
    )
    add_store(opening)
    opening.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Open; the append token goes to a file of mode 0600, never to the screen."""
    settings = store_settings(args, args.token_file)
    try:
        service = args.service or _service(settings)
        token = (
            settings.admin_token
            or read_regular(admin_token_file(settings), MAX_TOKEN).decode().strip()
        )
    except OSError as error:
        print(
            f"{error.filename}: {error.strerror}; is `milestoned serve` running with this --data?",
            file=sys.stderr,
        )
        return 1
    labels = {key: value for key, _, value in (pair.partition("=") for pair in args.label)}
    body = {"task": args.task, "version": args.version, "labels": labels, "seed": args.seed}
    try:
        headers = {"authorization": f"Bearer {token}", **HEADERS}
        with httpx.Client(headers=headers, event_hooks=HOOKS) as client:
            answer = client.post(f"{service}/v1/episodes", json=body)
    except httpx.TransportError as error:
        print(f"{service}: {error}", file=sys.stderr)
        return 1
    said = answer.json()
    if answer.status_code != 201:
        print(said["detail"], file=sys.stderr)
        return 1
    state = args.state or Path(said["episode"])
    write_private(state / "append.token", said["token"])
    command = ["agentd", "run", "--service", service, "--episode", said["episode"]]
    command += ["--token-file", str(state / "append.token"), "--state", str(state)]
    print(shlex.join(command), "--cdp http://127.0.0.1:9222")
    return 0


def _service(settings: Settings) -> str:
    told = orjson.loads(read_regular(settings.data / "service.json"))
    return f"http://{told['host']}:{told['port']}"
