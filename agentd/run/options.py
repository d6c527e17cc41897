"""Every option of the daemon in one table: name, default, what it means.

An option comes from the command line, else from the environment (``AGENTD_`` and its name in
capitals), else it has its default. The token itself is never an option: command lines and
environments are read by others.
"""

from __future__ import annotations

import argparse
import itertools
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from agentd.core.errors import UsageError
from agentd.core.settings import (
    BODY_S,
    KEEP_BYTES,
    MAX_WAIT_S,
    READY_S,
    SCREENS_BYTES,
    VISUAL_BYTES,
    Settings,
)
from detectors.model.kinds import KINDS
from detectors.model.wire_versions import current_kind, explain_rename


def _files(text: str) -> tuple[str, Path]:
    """Parse ``LABEL=DIR`` or ``DIR``, whose label is its name."""
    label, equals, folder = text.partition("=")
    if not equals or "/" in label:
        label, folder = "", text
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise UsageError(f"--files {text}: {path} is not a directory; wanted DIR or LABEL=DIR")
    return label or path.name or "root", path


def _label(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--label {text}: wanted KEY=VALUE")
    return name, value


def _url(text: str) -> str:
    if not text.startswith(("http://", "https://")):
        raise UsageError(f"{text!r}: wanted an address that begins with http:// or https://")
    return text.rstrip("/")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise UsageError(f"--port {text}: wanted a number from 0 (any free port) to 65535")
    return int(text)


def _listen(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--listen {text}: expected HOST:PORT, as in 0.0.0.0:9223")
    return host.strip("[]"), int(port)


def _bytes(option: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        digits, unit = text.rstrip("KMGiB"), text[len(text.rstrip("KMGiB")) :]
        factor = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(unit.removesuffix("iB"))
        if not digits.isdecimal() or factor is None:
            raise UsageError(f"{option} {text}: wanted a number of bytes, or one with K, M or G")
        return int(digits) * factor

    return read


def _seconds(option: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        if (
            not text.replace(".", "", 1).isdecimal()
            or not text.isascii()
            or not 0 < float(text) <= MAX_WAIT_S
        ):
            raise UsageError(
                f"{option} {text[:40]}: wanted seconds, more than 0 and at most {MAX_WAIT_S}"
            )
        return float(text)

    return read


def _clipboard(text: str) -> frozenset[str]:
    words = frozenset(text.split(","))
    if not words <= {"clipboard", "primary", "unread"} or words == {"unread"}:
        raise UsageError(
            f"--clipboard {text}: wanted clipboard, primary or both with a comma between them, and"
            " unread with them where only the change is to be told, not the text"
        )
    return words


def _screen(text: str) -> str:
    if text not in ("x11", "cdp"):
        raise UsageError(f"--screen {text}: wanted x11 (the display) or cdp (the tab in front)")
    return text


def _kinds(text: str) -> tuple[str, ...]:
    """``KIND,KIND`` or ``all``: kinds that are reported only when asked for."""
    asked = {name for name, kind in KINDS.items() if kind.asked}
    names = asked if text == "all" else set(text.split(","))
    if unknown := sorted(names - asked):
        renamed = explain_rename(unknown[0], current_kind(unknown[0]))
        raise UsageError(
            f"--also {unknown[0]}: wanted all, or of {', '.join(sorted(asked))}{renamed}"
        )
    return tuple(sorted(names))


def _yes(text: str) -> bool:
    if text not in ("1", "yes", "true"):
        raise UsageError(f"{text!r}: wanted 1, yes or true, or nothing at all")
    return True


def _file_format(text: str) -> str:
    from agentd.readers.formats import FORMATS

    if text not in FORMATS:
        raise UsageError(f"--as {text}: wanted one of {', '.join(FORMATS)}")
    return text


class Option(NamedTuple):
    """``read`` turns the text into the value and raises `UsageError`; ``commands`` are those that
    have it.

    ``flag``: given without a value; ``place``: given by its place, without a name.
    """

    name: str
    read: Callable[[str], Any]
    default: Any
    metavar: str
    help: str
    commands: tuple[str, ...] = ("run", "record", "join")
    many: bool = False
    needed: bool = False
    flag: bool = False
    place: bool = False

    @property
    def flag_name(self) -> str:
        """The option as the command line has it, as in ``--ready-wait``."""
        return self.metavar if self.place else "--" + self.name.strip("_").replace("_", "-")


EVERY = ("run", "record", "join")
SERVED = ("run", "join")
WATCHING = (*SERVED, "record")
TOKEN = (*SERVED, "devtools")
BROWSER = ("run", "record", "join", "devtools")

OPTIONS: tuple[Option, ...] = (
    Option(
        "service",
        _url,
        None,
        "URL",
        "the service, as in http://127.0.0.1:8420",
        SERVED,
        needed=True,
    ),
    Option(
        "episode", str, None, "ID", "the episode that the trainer opened", ("run",), needed=True
    ),
    Option(
        "token_file",
        Path,
        None,
        "FILE",
        "holds the episode's append token, the fleet's or DevTools'",
        TOKEN,
        needed=True,
    ),
    Option(
        "listen",
        _listen,
        None,
        "HOST:PORT",
        "where harnesses find DevTools",
        ("devtools",),
        needed=True,
    ),
    Option(
        "state",
        Path,
        None,
        "DIR",
        "journal, control token, agentd.json; one daemon a directory",
        SERVED,
        needed=True,
    ),
    Option(
        "name",
        str,
        None,
        "NAME",
        "the sandbox's name in the fleet (default: this machine's)",
        ("join",),
    ),
    Option(
        "label",
        _label,
        (),
        "KEY=VALUE",
        "what trainers select it by; may be given again",
        ("join",),
        many=True,
    ),
    Option(
        "address",
        str,
        None,
        "TEXT",
        "where a harness finds the sandbox, as it is told to trainers",
        ("join",),
    ),
    Option(
        "address_token",
        Path,
        None,
        "FILE",
        "holds the token of `agentd devtools` at --address, told with it",
        ("join",),
    ),
    Option("once", _yes, False, "", "end after one episode", ("join",), flag=True),
    Option("file", Path, None, "FILE", "the file to read", ("read",), needed=True, place=True),
    Option(
        "as_",
        _file_format,
        None,
        "FORMAT",
        "what FILE is, where its content and name do not tell",
        ("read",),
    ),
    Option("query", str, None, "SQL", "of a SQLite file, what this gives", ("read",)),
    Option("out", Path, None, "FILE", "the recording to write (.mrec)", ("record",), needed=True),
    Option("force", _yes, False, "", "replace --out if it is there", ("record",), flag=True),
    Option(
        "cdp",
        _url,
        None,
        "URL",
        "the browser's debugging address, as in http://127.0.0.1:9222",
        BROWSER,
    ),
    Option(
        "profile",
        Path,
        None,
        "DIR",
        "or the browser's profile: the port is read from DevToolsActivePort",
    ),
    Option(
        "files", _files, (), "[LABEL=]DIR", "a directory to watch; may be given again", many=True
    ),
    Option(
        "mask",
        str,
        (),
        "NAME",
        "a field or header that is masked too, as in pin; may be given again",
        EVERY,
        many=True,
    ),
    Option(
        "desktop",
        _yes,
        False,
        "",
        "what desktop programs show, on DISPLAY and DBUS_SESSION_BUS_ADDRESS",
        flag=True,
    ),
    Option(
        "processes",
        str,
        None,
        "all|USER|PID",
        "programs started and ended: all, a user's, or below a process",
    ),
    Option(
        "clipboard",
        _clipboard,
        None,
        "WHICH",
        "clipboard, primary or both (a comma between); unread: no text",
    ),
    Option(
        "screen",
        _screen,
        None,
        "x11|cdp",
        "a screenshot after every step, of the display or of the tab in front",
    ),
    Option(
        "screens_max",
        _bytes("--screens-max"),
        SCREENS_BYTES,
        "BYTES",
        "the screenshots' cap (default 256M)",
    ),
    Option(
        "visual",
        _yes,
        False,
        "",
        "what pages look like into the log, and --screen's pictures",
        flag=True,
    ),
    Option(
        "visual_max",
        _bytes("--visual-max"),
        VISUAL_BYTES,
        "BYTES",
        "an episode's cap of --visual (default 64M)",
    ),
    Option(
        "edge",
        Path,
        None,
        "TASK.json",
        "score the journal here too, as a hint (docs/audit.md)",
        ("run",),
    ),
    Option(
        "allow_commands",
        _yes,
        False,
        "",
        "let the task's probes run programs as this user",
        WATCHING,
        flag=True,
    ),
    Option(
        "task",
        Path,
        None,
        "TASK.json",
        "ask this task's probes, keep what its rules read",
        ("record",),
    ),
    Option(
        "also",
        _kinds,
        (),
        "KIND,...",
        "report these kinds though no rule hears them, or all (docs/events.md)",
    ),
    Option("port", _port, 0, "PORT", "the loopback control port; 0 (default) takes any free one"),
    Option("socket", Path, None, "PATH", "a Unix socket of mode 0600 instead of the loopback port"),
    Option(
        "body_wait",
        _seconds("--body-wait"),
        BODY_S,
        "SECONDS",
        "how long a body may take to come to the control port",
    ),
    Option(
        "detach",
        _yes,
        False,
        "",
        "go on in the background; exit 0 once every source sees",
        ("run",),
        flag=True,
    ),
    Option(
        "ready_wait",
        _seconds("--ready-wait"),
        READY_S,
        "SECONDS",
        "how long --detach waits (default 60)",
        ("run",),
    ),
    Option(
        "journal_max",
        _bytes("--journal-max"),
        KEEP_BYTES,
        "BYTES",
        "the journal's cap, as in 512M (default 1G)",
    ),
    Option(
        "journal_after",
        str,
        "keep",
        "keep|remove",
        "a closed, shipped episode's; run: keep, join: remove",
        SERVED,
    ),
    Option(
        "steps",
        str,
        "auto",
        "auto|port",
        "one step until ctrl-C (default), or over the control port",
        ("record",),
    ),
)


def add_options(parser: argparse.ArgumentParser, command: str) -> None:
    """Give ``parser`` the options of ``command``."""
    for option in OPTIONS:
        if command not in option.commands:
            continue
        if option.place:
            parser.add_argument(option.name, metavar=option.metavar, help=option.help)
        elif option.flag:
            parser.add_argument(
                option.flag_name,
                dest=option.name,
                help=option.help,
                action="store_const",
                const="yes",
            )
        else:
            parser.add_argument(
                option.flag_name,
                dest=option.name,
                metavar=option.metavar,
                help=option.help + (" (needed)" if option.needed else ""),
                action="append" if option.many else "store",
            )


def read_settings(
    command: str,
    given: Mapping[str, str | Sequence[str] | None],
    environ: Mapping[str, str] = os.environ,
) -> Settings:
    """The settings of ``command``; raises `UsageError` that names the option and what was
    wanted."""
    values: dict[str, Any] = {}
    for option in OPTIONS:
        if command not in option.commands:
            continue
        text = given.get(option.name) or environ.get("AGENTD_" + option.name.strip("_").upper())
        if text:
            texts = [text] if isinstance(text, str) else text
            values[option.name] = (
                tuple(map(option.read, texts)) if option.many else option.read(texts[-1])
            )
        elif option.needed:
            raise UsageError(f"{option.flag_name} {option.metavar} is missing: {option.help}")
    _check(command, values)
    if command == "join":  # episode after episode would fill the disk
        values.setdefault("journal_after", "remove")
    return Settings(**values)


def _check(command: str, values: Mapping[str, Any]) -> None:
    """Raise `UsageError` for options that do not go together."""
    if command == "devtools" and not values.get("cdp"):
        raise UsageError(
            "--cdp URL is missing: the browser whose DevTools are served, as in"
            " http://127.0.0.1:9222"
        )
    if values.get("address_token") and not values.get("address"):
        raise UsageError(
            "--address-token: expected --address too, the address that the token is for"
        )
    for first, second in (("cdp", "profile"), ("port", "socket")):
        if values.get(first) and values.get(second):
            raise UsageError(f"--{first} and --{second}: wanted one of the two")
    if values.get("screen") == "cdp" and not values.keys() & {"cdp", "profile"}:
        raise UsageError(
            "--screen cdp: wanted --cdp or --profile too, which say where the browser is"
        )
    _check_folders(values.get("files", ()))
    if values.get("steps", "auto") not in ("auto", "port"):
        raise UsageError(f"--steps {values['steps']}: wanted auto or port")
    if values.get("journal_after", "keep") not in ("keep", "remove"):
        raise UsageError(f"--journal-after {values['journal_after']}: wanted keep or remove")


def _check_folders(folders: Sequence[tuple[str, Path]]) -> None:
    """Raise `UsageError` where two folders have one label, or one lies in another."""
    counts = Counter(label for label, _ in folders)
    twice = sorted(label for label, count in counts.items() if count > 1)
    if twice:
        raise UsageError(
            f"--files: the label {twice[0]!r} stands for two directories; wanted LABEL=DIR"
        )
    for outer, inner in itertools.pairwise(sorted(path for _, path in folders)):
        if inner.is_relative_to(outer):
            raise UsageError(
                f"--files {inner}: lies in {outer}, which is watched with all that is in it;"
                " wanted one"
            )
