"""How each part is started for a demo, a watch or a test: the service, the daemon, the shop, the
agent."""

from __future__ import annotations

import json
import os
import ssl
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import httpx

from common.plain_answers import HEADERS, HOOKS
from lab.demo.processes import DemoProcess, DemoProcesses, console

_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Trusts nobody. All is asked without TLS here, many times a second, and to read the system's
certificates for each question would be most of the work."""


class DemoService(NamedTuple):
    """A running service: its address and the operator's token for it."""

    part: DemoProcess
    url: str
    token: str


class DemoDaemon(NamedTuple):
    """A running daemon and its state folder."""

    part: DemoProcess
    state: Path


def same_imports() -> dict[str, str]:
    """An environment in which a child finds the modules that this process finds."""
    return {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


def example_folder(name: str) -> Path:
    """Where an example that a demo runs is, such as ``shop``: inside the installed package, or in
    the source tree beside it."""
    installed = Path(__file__).parents[1] / "examples" / name
    return installed if installed.is_dir() else Path(__file__).parents[2] / "examples" / name


def shop_folder() -> Path:
    return example_folder("shop")


def _module(name: str) -> str:
    is_installed = example_folder(name).is_relative_to(Path(__file__).parents[1])
    return f"lab.examples.{name}" if is_installed else f"examples.{name}"


def start_service(
    parts: DemoProcesses,
    folder: Path,
    port: int = 0,
    database: str = "",
    prefix: Sequence[str] = (),
    name: str = "service",
) -> DemoService:
    """`milestoned serve` with its database in ``folder`` unless told, on a free port; returns once
    it is ready.

    ``prefix``: a command that runs the one after it, such as ``("env", "NAME=value")``; ``name``:
    of its log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port_file, token_file = folder / "port", folder / "admin.token"
    port_file.unlink(missing_ok=True)
    command = [
        *prefix,
        *console("milestoned", "api.cli.main"),
        "serve",
        "--data",
        str(folder),
        "--database",
        database or f"sqlite:///{folder / 'milestoned.db'}",
        "--port",
        str(port),
        "--port-file",
        str(port_file),
        "--token-file",
        str(token_file),
    ]
    part = parts.start(name, command, same_imports())
    url = f"http://127.0.0.1:{part.wait_until('it listened', lambda: _text(port_file))}"
    part.wait_until("it was ready", lambda: _answers(url + "/readyz"))
    return DemoService(part, url, part.wait_until("it wrote its token", lambda: _text(token_file)))


def start_daemon(
    parts: DemoProcesses,
    folder: Path,
    service: str,
    episode: str,
    token: str,
    browser: Sequence[str],
    files: Sequence[Path] = (),
    prefix: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
) -> DemoDaemon:
    """`agentd run` for one episode; ``browser`` is ``("--profile", DIR)``, ``("--cdp", URL)`` or,
    for the programs of the desktop that ``env`` names, ``("--desktop",)``. ``prefix`` as above.

    Returns once all its sources see. Its state stays in ``folder``, so that it can be started again
    there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    token_file = folder / "append.token"
    token_file.touch(0o600)
    token_file.write_text(token)
    (folder / "agentd.json").unlink(missing_ok=True)
    command = [*prefix, *console("agentd", "agentd.cli.main"), "run"]
    command += ["--service", service, "--episode", episode, "--token-file", str(token_file)]
    command += ["--state", str(folder), *browser]
    for root in files:
        command += ["--files", str(root)]
    part = parts.start("daemon", command, {**same_imports(), **(env or {})})
    part.wait_until("all its sources were ready", lambda: _all_ready(folder) or None)
    return DemoDaemon(part, folder)


def start_shop(parts: DemoProcesses, folder: Path, invoice_after: int) -> str:
    """The shop on a free port; gives its address. Its access log is ``folder/access.jsonl``."""
    return start_site(parts, folder, "shop", more=("--invoice-after", str(invoice_after)))


def start_site(
    parts: DemoProcesses, folder: Path, name: str, *, port: int = 0, more: Sequence[str] = ()
) -> str:
    """The site of the example ``name``, on a free port unless told; gives its address. Its access
    log is ``folder/access.jsonl``."""
    folder.mkdir(parents=True, exist_ok=True)
    port_file = folder / "port"
    command = [sys.executable, "-m", _module(name), "--port", str(port)]
    command += ["--port-file", str(port_file)]
    command += ["--access-log", str(folder / "access.jsonl"), *more]
    part = parts.start(name, command, same_imports())
    listening = part.wait_until("it listened", lambda: _text(port_file))
    url = f"http://127.0.0.1:{listening}/"
    part.wait_until("it answered", lambda: _answers(url + "api/ping"))
    return url


def start_agent(
    parts: DemoProcesses,
    folder: Path,
    site: str,
    chromium: str,
    *,
    example: str = "shop",
    headed: bool = False,
    more: Sequence[str] = (),
    name: str = "agent",
) -> DemoProcess:
    """The scripted agent of an example; returns once its browser runs, and it waits for a line to
    begin. ``name``: of its log."""
    command = [
        sys.executable,
        "-m",
        f"{_module(example)}.agent",
        "--wait",
        "--shop",
        site,
        "--chromium",
        chromium,
    ]
    command += ["--profile", str(folder / "profile"), "--downloads", str(folder / "downloads")]
    command += ["--report", str(folder / "report.json"), *(["--headed"] if headed else []), *more]
    part = parts.start(name, command, same_imports())
    part.wait_until("its browser ran", lambda: has_printed(part, "ready"))
    return part


def start_mail_server(parts: DemoProcesses, folder: Path, kept: Path, port: int = 0) -> int:
    """The office's mail server, which keeps messages in the folder ``kept``; gives its port."""
    folder.mkdir(parents=True, exist_ok=True)
    port_file = folder / "port"
    command = [sys.executable, "-m", f"{_module('office')}.mail_server", "--port", str(port)]
    command += ["--port-file", str(port_file), "--folder", str(kept)]
    part = parts.start(folder.name, command, same_imports())
    return int(part.wait_until("it listened", lambda: _text(port_file)))


def start_mail_agent(
    parts: DemoProcesses, env: Mapping[str, str], more: Sequence[str], name: str
) -> DemoProcess:
    """The office's scripted agent that works in Thunderbird, on the desktop that ``env`` names;
    returns once the program's window is there. ``name``: of its log."""
    command = [sys.executable, "-m", f"{_module('office')}.mail_client", *more]
    part = parts.start(name, command, {**same_imports(), **env})
    part.wait_until("its program ran", lambda: has_printed(part, "ready"), 120.0)
    return part


def has_printed(part: DemoProcess, word: str) -> bool | None:
    """True once the part wrote the line ``word``, else None."""
    return word in part.log.read_text(errors="replace").splitlines() or None


def _text(file: Path) -> str | None:
    """Return what stands in a file, stripped; None where it is empty or is not there."""
    return (file.read_text().strip() or None) if file.exists() else None


def _answers(url: str) -> bool | None:
    """Whether a server answers with success; None, to be asked again, where it does not yet."""
    try:
        with httpx.Client(
            verify=_NO_TLS, headers=HEADERS, event_hooks=HOOKS, timeout=2.0
        ) as client:
            return client.get(url).is_success or None
    except httpx.TransportError:
        return None


def _all_ready(state: Path) -> bool:
    """Whether the daemon listens and none of its sources is in a gap."""
    try:
        port = json.loads((state / "agentd.json").read_text())["port"]
        token = (state / "control.token").read_text().strip()
        headers = {"authorization": f"Bearer {token}", **HEADERS}
        with httpx.Client(
            verify=_NO_TLS, headers=headers, event_hooks=HOOKS, timeout=2.0
        ) as client:
            answer = client.get(f"http://127.0.0.1:{port}/healthz")
    except (OSError, ValueError, KeyError, httpx.TransportError):
        return False
    return answer.is_success and all(how == "ready" for how in answer.json()["sources"].values())
