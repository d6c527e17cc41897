"""`milestoned ors-proxy UPSTREAM --task TASK_ID`: an environment server of the Open Reward Standard
with milestoned's rewards."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import httpx
import uvicorn

from api.blame.masking import MASK_CAUSES, MaskCause
from api.cli.access import find_access
from api.cli.common import STORE, Store, read_pair, whole_number
from api.ors.bracket import WAIT_MS, BracketSettings, StepBrackets
from api.ors.proxy import Mode, OrsProxy
from common.command_line import option
from common.plain_answers import ASYNC_HOOKS, HEADERS, HOOKS

UPSTREAM_S = 600.0
"""How long the upstream may be silent: its `/prompt` waits until an environment has started."""
MAX_PORT = 65_535


def _read_cause(text: str) -> MaskCause:
    """Return a cause that may be masked. Raises `ValueError`."""
    cause = next((cause for cause in MASK_CAUSES if cause == text), None)
    if cause is None:
        raise ValueError(f"expected one of {', '.join(MASK_CAUSES)}, got {text!r}")
    return cause


def run(
    upstream: Annotated[str, option("the environment server's address", "UPSTREAM")],
    /,
    *,
    task: Annotated[str, option("the id of a registered task, for every session", "TASK_ID")],
    version: Annotated[
        str | None, option("of the task (default: the latest registered)", "VERSION")
    ] = None,
    label: Annotated[
        tuple[tuple[str, str], ...],
        option("a label of each episode; may be given again", "KEY=VALUE", read_pair, many=True),
    ] = (),
    sandbox: Annotated[
        tuple[tuple[str, str], ...],
        option(
            "a label of the fleet's sandbox that is to be observed; may be given again (default:"
            " any sandbox)",
            "KEY=VALUE",
            read_pair,
            many=True,
        ),
    ] = (),
    mask_cause: Annotated[
        tuple[MaskCause, ...],
        option(
            "the last call of an episode that failed for this cause is paid null; may be given"
            " again",
            "CAUSE",
            _read_cause,
            many=True,
        ),
    ] = (),
    add: Annotated[
        bool, option("add to the upstream's rewards (default: only where they are null)")
    ] = False,
    replace: Annotated[bool, option("replace the upstream's rewards")] = False,
    host: Annotated[str, option("where to listen (default: loopback)", "ADDRESS")] = "127.0.0.1",
    port: Annotated[
        int, option("0: any free one, which is printed", "PORT", whole_number(0, MAX_PORT))
    ] = 8422,
    service: Annotated[
        str | None, option("milestoned's address (default: of the data folder's service)", "URL")
    ] = None,
    token_file: Annotated[
        Path | None, option("of a trainer (default: the first admin's)", "FILE")
    ] = None,
    store: Store = STORE,
) -> int:
    """Pass everything on to UPSTREAM, with each tool call as a step of an episode of the task, and
    the step's reward in the call's answer where the upstream has none."""
    if add and replace:
        print("--add: expected either --add or --replace, got both", file=sys.stderr)
        return 2
    if urlsplit(upstream).scheme not in ("http", "https"):
        print(f"UPSTREAM: expected http:// or https://, got {upstream!r}", file=sys.stderr)
        return 2
    access = find_access(store.settings(token_file), service)
    if access is None:
        return 1
    service, headers = access
    refusal = _refusal(service, headers, task, version)
    if refusal is not None:
        print(refusal, file=sys.stderr)
        return 1
    brackets = BracketSettings(task, version, dict(label), dict(sandbox), upstream, mask_cause)
    mode: Mode = "add" if add else "replace" if replace else "fill"
    app = _ProxyApplication(upstream, service, headers, brackets, mode)
    config = uvicorn.Config(
        app, host=host, port=port, lifespan="off", log_level="warning", access_log=False
    )
    server = _ProxyServer(config)
    server.run()
    return 0 if server.started else 1


def _refusal(service: str, headers: dict[str, str], task: str, version: str | None) -> str | None:
    """Return why no episode of the task could be opened, None if one could."""
    query = {} if version is None else {"version": version}
    try:
        with httpx.Client(headers={**headers, **HEADERS}, event_hooks=HOOKS) as client:
            answer = client.get(f"{service}/v1/tasks/{quote(task)}", params=query)
    except httpx.HTTPError as error:
        return f"{service}: {error}"
    return None if answer.is_success else f"--task: {answer.json()['detail']}"


class _ProxyApplication:
    """The proxy, whose clients are made in the server's own loop by the first request."""

    def __init__(
        self,
        upstream: str,
        service: str,
        headers: dict[str, str],
        brackets: BracketSettings,
        mode: Mode,
    ) -> None:
        self._upstream, self._service, self._headers = upstream, service, headers
        self._brackets, self._mode = brackets, mode
        self._proxy: OrsProxy | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer by the proxy, which is made with the first request, in the loop that it runs
        in."""
        if self._proxy is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
            client = httpx.AsyncClient(
                base_url=self._service,
                headers={**self._headers, **HEADERS},
                event_hooks=ASYNC_HOOKS,
                timeout=WAIT_MS / 1000 + 15,
                limits=limits,
            )
            upstream = httpx.AsyncClient(
                base_url=self._upstream,
                headers=HEADERS,
                event_hooks=ASYNC_HOOKS,
                timeout=UPSTREAM_S,
                limits=limits,
            )
            self._proxy = OrsProxy(upstream, StepBrackets(client, self._brackets), self._mode)
        await self._proxy(scope, receive, send)


class _ProxyServer(uvicorn.Server):
    """Prints where it listens, once it does."""

    async def startup(self, sockets: Any = None) -> None:
        """Listen, and print the address once a free port is known."""
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            print(f"the proxy listens on http://{host}:{port}", flush=True)
