"""What the daemon is started with: the one declaration of every option of `agentd`.

An option comes from the command line, else from the environment (``AGENTD_`` and its name in
capitals), else it has its default. The token itself is never an option: command lines and
environments are read by others.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from cyclopts import Parameter
from cyclopts.argument import Argument

from agentd.core.errors import UsageError
from agentd.core.patience import DEFAULT_PATIENCE, MAX_PATIENCE, Patience
from agentd.core.plan import EpisodePlan
from agentd.core.source import Source
from common.command_line import CommandLineError, new_app, option, parse_command
from detectors.model.kinds import KINDS
from detectors.model.wire_versions import current_kind, explain_rename

KEEP_BYTES = 1 << 30
"""The cap of the journal unless --journal-max says otherwise."""
BODY_S = 60.0
"""How long a body may take to come unless --body-wait says otherwise, in seconds."""
MAX_WAIT_S = 86_400
"""The longest wait that can be asked for, in seconds."""
MAX_PORT = 65_535
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}

_Connect = Callable[[EpisodePlan], Source]


def _read_folder(text: str) -> tuple[str, Path]:
    """Parse ``LABEL=DIR`` or ``DIR``, whose label is its name."""
    label, equals, folder = text.partition("=")
    if not equals or "/" in label:
        label, folder = "", text
    path = Path(folder).expanduser().resolve()
    if not path.is_dir():
        raise ValueError("expected DIR or LABEL=DIR of a directory")
    return label or path.name or "root", path


def _read_label(text: str) -> tuple[str, str]:
    """Read KEY=VALUE; the value may be empty, the key may not. Raises ValueError."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise ValueError("expected KEY=VALUE")
    return name, value


def _read_url(text: str) -> str:
    """Read an address of a service, without the slashes at its end. Raises ValueError for other
    schemes."""
    if not text.startswith(("http://", "https://")):
        raise ValueError("expected an address that begins with http:// or https://")
    return text.rstrip("/")


def _read_port(text: str) -> int:
    """Read a port's number; 0 stands for any that is free. Raises ValueError."""
    if not text.isdecimal() or int(text) > MAX_PORT:
        raise ValueError(f"expected a number from 0 (any free port) to {MAX_PORT}")
    return int(text)


def _read_listen(text: str) -> tuple[str, int]:
    """Read HOST:PORT; an address of IPv6 stands in brackets. Raises ValueError."""
    host, colon, port = text.rpartition(":")
    if not colon or not host or not port.isdecimal() or int(port) > MAX_PORT:
        raise ValueError("expected HOST:PORT, as in 0.0.0.0:9223")
    return host.strip("[]"), int(port)


def _read_bytes(text: str) -> int:
    """Read a number of bytes, as 1000, 64K or 2GiB; K is 1024. Raises ValueError."""
    digits = text.rstrip("KMGiB")
    factor = _UNITS.get(text.removeprefix(digits).removesuffix("iB"))
    if not digits.isdecimal() or factor is None:
        raise ValueError("expected a number of bytes, or one with K, M or G")
    return int(digits) * factor


def _read_seconds(text: str) -> float:
    """Read seconds, whole or not, above 0 and up to `MAX_WAIT_S`. Raises ValueError."""
    is_number = text.isascii() and text.replace(".", "", 1).isdecimal()
    if not is_number or not 0 < float(text) <= MAX_WAIT_S:
        raise ValueError(f"expected seconds, more than 0 and at most {MAX_WAIT_S}")
    return float(text)


def _read_patience(text: str) -> Patience:
    """Read the factor by which all waits are longer, from 1. Raises ValueError."""
    is_number = text.isascii() and text.replace(".", "", 1).isdecimal()
    if not is_number or not 1 <= float(text) <= MAX_PATIENCE:
        raise ValueError(f"expected a factor from 1 to {MAX_PATIENCE}")
    return Patience(float(text))


def _read_clipboard(text: str) -> frozenset[str]:
    """Read which of the two selections are watched, and whether their text is kept. Raises
    ValueError."""
    words = frozenset(text.split(","))
    if not words <= {"clipboard", "primary", "unread"} or words == {"unread"}:
        raise ValueError(
            "expected clipboard, primary or both with a comma between them, and unread with them"
            " where only the change is to be reported, not the text"
        )
    return words


def _read_kinds(text: str) -> tuple[str, ...]:
    """Parse ``KIND,KIND`` or ``all``: kinds that are reported only when asked for."""
    offered = {name for name, kind in KINDS.items() if kind.asked}
    names = offered if text == "all" else set(text.split(","))
    if unknown := sorted(names - offered):
        renamed = explain_rename(unknown[0], current_kind(unknown[0]))
        raise ValueError(f"expected all, or of {', '.join(sorted(offered))}{renamed}")
    return tuple(sorted(names))


def _url(about: str) -> Parameter:
    return option(about, "URL", _read_url)


def _bytes(about: str) -> Parameter:
    return option(about, "BYTES", _read_bytes)


def _seconds(about: str) -> Parameter:
    return option(about, "SECONDS", _read_seconds)


class BrowserLine(NamedTuple):
    """Another way to the browser than its port: what opens a connection
    (agentd/sources/cdp/transport/connection.py), raising `SourceLostError`, and the browser context
    that it is for (None: all)."""

    open: Callable[[], Awaitable[Any]]
    scope: str | None = None


@dataclass(frozen=True, kw_only=True)
class CommandSettings:
    """What every command has."""

    verbose: Annotated[bool, option("log more, for a search for faults", alias="-v")] = False


@dataclass(frozen=True, kw_only=True)
class DaemonSettings(CommandSettings):
    """What is watched, and where the harness reaches the daemon. Raises `UsageError` for options
    that do not go together."""

    cdp: Annotated[
        str | None, _url("the browser's debugging address, as in http://127.0.0.1:9222")
    ] = None
    profile: Annotated[
        Path | None,
        option("or the browser's profile: the port is read from DevToolsActivePort", "DIR"),
    ] = None
    files: Annotated[
        tuple[tuple[str, Path], ...],
        option("a directory to watch; may be given again", "[LABEL=]DIR", _read_folder, many=True),
    ] = ()
    mask: Annotated[
        tuple[str, ...],
        option("a field or header that is masked too, as in pin; may be given again", "NAME"),
    ] = ()
    desktop: Annotated[
        bool, option("what desktop programs show, on DISPLAY and DBUS_SESSION_BUS_ADDRESS")
    ] = False
    processes: Annotated[
        str | None,
        option("programs started and ended: all, a user's, or below a process", "all|USER|PID"),
    ] = None
    clipboard: Annotated[
        frozenset[str] | None,
        option(
            "clipboard, primary or both (a comma between); unread: no text",
            "WHICH",
            _read_clipboard,
        ),
    ] = None
    screen: Annotated[
        Literal["x11", "cdp"] | None,
        option("a screenshot after every step, of the display or of the tab in front", "x11|cdp"),
    ] = None
    screens_max: Annotated[int, _bytes("the screenshots' cap (default 256M)")] = 256 << 20
    visual: Annotated[
        bool, option("what pages look like into the log, and --screen's pictures")
    ] = False
    visual_max: Annotated[int, _bytes("an episode's cap of --visual (default 64M)")] = 64 << 20
    allow_commands: Annotated[bool, option("let the task's probes run programs as this user")] = (
        False
    )
    also: Annotated[
        tuple[str, ...],
        option(
            "report these kinds though no rule hears them, or all (docs/events.md)",
            "KIND,...",
            _read_kinds,
        ),
    ] = ()
    port: Annotated[
        int,
        option("the loopback control port; 0 (default) takes any free one", "PORT", _read_port),
    ] = 0
    socket: Annotated[
        Path | None,
        option("a Unix socket of mode 0600 instead of the loopback port", "PATH"),
    ] = None
    body_wait: Annotated[
        float, _seconds("how long a body may take to come to the control port (default 60)")
    ] = BODY_S
    patience: Annotated[
        Patience,
        option(
            "how many times longer a seal waits for slow sources: 1 (default) to 60",
            "FACTOR",
            _read_patience,
            accepts_keys=False,
        ),
    ] = DEFAULT_PATIENCE
    journal_max: Annotated[int, _bytes("the journal's cap, as in 512M (default 1G)")] = KEEP_BYTES
    connect: Annotated[_Connect | None, Parameter(parse=False)] = None
    """Makes the browser source inside a harness's process; never an option."""
    line: Annotated[BrowserLine | None, Parameter(parse=False)] = None
    """How script probes reach the browser there; never an option."""

    def __post_init__(self) -> None:
        """Refuse options that exclude each other, or of which one needs another. Raises
        `UsageError`."""
        for first, second in (("cdp", "profile"), ("port", "socket")):
            if getattr(self, first) and getattr(self, second):
                raise UsageError(f"--{first} and --{second}: wanted one of the two")
        if self.screen == "cdp" and self.cdp is None and self.profile is None:
            raise UsageError(
                "--screen cdp: wanted --cdp or --profile too, which say where the browser is"
            )
        self._check_folders()

    def _check_folders(self) -> None:
        """Refuse a label that stands for two folders, and a watched folder within another one.
        Raises `UsageError`."""
        counts = Counter(label for label, _ in self.files)
        twice = sorted(label for label, count in counts.items() if count > 1)
        if twice:
            raise UsageError(
                f"--files: the label {twice[0]!r} stands for two directories; wanted LABEL=DIR"
            )
        for outer, inner in itertools.pairwise(sorted(path for _, path in self.files)):
            if inner.is_relative_to(outer):
                raise UsageError(
                    f"--files {inner}: lies in {outer}, which is watched with all that is in it;"
                    " wanted one"
                )

    @property
    def screens(self) -> Path:
        """The folder that screenshots are kept in."""
        raise NotImplementedError

    @property
    def own_paths(self) -> tuple[Path, ...]:
        """What the daemon itself writes, and what holds its token."""
        return ()


@dataclass(frozen=True, kw_only=True)
class ServedSettings(DaemonSettings):
    """A daemon that ships its journal to a service."""

    service: Annotated[str, _url("the service, as in http://127.0.0.1:8420")]
    token_file: Annotated[Path, option("holds the episode's append token, or the fleet's", "FILE")]
    state: Annotated[
        Path, option("journal, control token, agentd.json; one daemon a directory", "DIR")
    ]
    journal_after: Annotated[
        Literal["keep", "remove"],
        option("a closed, shipped episode's; run: keep, join: remove", "keep|remove"),
    ] = "keep"

    @property
    def screens(self) -> Path:
        return self.state / "screens"

    @property
    def own_paths(self) -> tuple[Path, ...]:
        return self.state.resolve(), self.token_file.resolve()


@dataclass(frozen=True, kw_only=True)
class RunSettings(ServedSettings):
    """`agentd run`."""

    episode: Annotated[str, option("the episode that the trainer opened", "ID")]
    edge: Annotated[
        Path | None, option("score the journal here too, as a hint (docs/audit.md)", "TASK")
    ] = None
    detach: Annotated[bool, option("go on in the background; exit 0 once every source sees")] = (
        False
    )
    ready_wait: Annotated[float, _seconds("how long --detach waits (default 60)")] = 60.0


@dataclass(frozen=True, kw_only=True)
class JoinSettings(ServedSettings):
    """`agentd join`."""

    name: Annotated[
        str | None, option("the sandbox's name in the fleet (default: this machine's)", "NAME")
    ] = None
    label: Annotated[
        tuple[tuple[str, str], ...],
        option(
            "what trainers select it by; may be given again", "KEY=VALUE", _read_label, many=True
        ),
    ] = ()
    address: Annotated[
        str | None, option("the sandbox's address for a harness, which trainers are given", "TEXT")
    ] = None
    address_token: Annotated[
        Path | None, option("holds the token of `agentd devtools` at --address", "FILE")
    ] = None
    once: Annotated[bool, option("end after one episode")] = False
    # Episode after episode would fill the disk.
    journal_after: Annotated[
        Literal["keep", "remove"], option("a closed, shipped episode's", "keep|remove")
    ] = "remove"

    def __post_init__(self) -> None:
        """Refuse a token for an address that is not given. Raises `UsageError`."""
        super().__post_init__()
        if self.address_token is not None and not self.address:
            raise UsageError(
                "--address-token: expected --address too, the address that the token is for"
            )

    def run_settings(self, episode: str, state: Path) -> RunSettings:
        """Return the settings of the daemon of one of the fleet's episodes."""
        shared = {each.name: getattr(self, each.name) for each in fields(ServedSettings)}
        return RunSettings(**{**shared, "episode": episode, "state": state})


@dataclass(frozen=True, kw_only=True)
class RecordSettings(DaemonSettings):
    """`agentd record`."""

    out: Annotated[Path, option("the recording to write (.mrec)", "FILE")]
    force: Annotated[bool, option("replace --out if it is there")] = False
    task: Annotated[
        Path | None, option("ask this task's probes, keep what its rules read", "TASK")
    ] = None
    steps: Annotated[
        Literal["auto", "port"],
        option("one step until ctrl-C (default), or over the control port", "auto|port"),
    ] = "auto"

    @property
    def state(self) -> Path:
        """The folder of the journal while the recording runs."""
        return self.out.with_name(self.out.name + ".state")

    @property
    def screens(self) -> Path:
        return self.out.with_name(self.out.name + ".screens")

    @property
    def own_paths(self) -> tuple[Path, ...]:
        out = self.out.resolve()
        return out, out.with_name(out.name + ".state")


@dataclass(frozen=True, kw_only=True)
class ReadSettings(CommandSettings):
    """`agentd read`."""

    file: Annotated[Path, option("the file to read", "FILE")] = field(kw_only=False)
    as_: Annotated[
        str | None, option("what FILE is, where its content and name do not tell", "FORMAT")
    ] = None
    query: Annotated[str | None, option("of a SQLite file, what this gives", "SQL")] = None


@dataclass(frozen=True, kw_only=True)
class McpSettings(CommandSettings):
    """`agentd mcp`. Raises `UsageError` for a state folder that is not there."""

    target: Annotated[
        tuple[str, ...],
        option("the MCP server: its address, or behind -- the command that starts it", "SERVER"),
    ] = field(kw_only=False)
    state: Annotated[
        Path, option("of the daemon beside: `agentd run --state` or `agentd join --state`", "DIR")
    ]
    mask: Annotated[
        tuple[str, ...],
        option("an argument that is masked too, as in pin; may be given again", "NAME"),
    ] = ()
    listen: Annotated[
        tuple[str, int],
        option(
            "before an address: where clients find the gateway (default 127.0.0.1:8423)",
            "HOST:PORT",
            _read_listen,
        ),
    ] = ("127.0.0.1", 8423)

    def __post_init__(self) -> None:
        """Refuse a gateway without a server, and a state that is no folder. Raises `UsageError`."""
        if not self.target:
            raise UsageError("SERVER: expected an address, or -- and a command, got none")
        if not self.state.is_dir():
            raise UsageError(f"--state {self.state}: expected the folder of a daemon, got none")

    @property
    def url(self) -> str | None:
        """The server's address; None: it is a command."""
        is_url = len(self.target) == 1 and self.target[0].startswith(("http://", "https://"))
        return self.target[0] if is_url else None


@dataclass(frozen=True, kw_only=True)
class DevtoolsSettings(CommandSettings):
    """`agentd devtools`."""

    token_file: Annotated[Path, option("holds DevTools' token", "FILE")]
    listen: Annotated[
        tuple[str, int], option("where harnesses find DevTools", "HOST:PORT", _read_listen)
    ]
    cdp: Annotated[str, _url("the browser whose DevTools are served, as in http://127.0.0.1:9222")]


_Settings = TypeVar("_Settings", bound=CommandSettings)


def parse_settings(kind: type[_Settings], argv: Sequence[str]) -> _Settings:
    """Return the settings that ``argv`` alone means, without the environment; raises
    `UsageError`."""
    app = new_app("agentd")
    app.default(kind)
    try:
        command, bound = parse_command(app, argv)
    except CommandLineError as error:
        raise UsageError(str(error)) from None
    settings: _Settings = command(*bound.args, **bound.kwargs)
    return settings


@cache
def arguments_of(kind: type[CommandSettings]) -> Mapping[str, Argument]:
    """Return what a command accepts, by name as in ``token_file``. It is read once, which takes
    17 ms: `agentd.attach` asks for each episode."""
    app = new_app("agentd")
    app.default(kind)
    arguments = app.assemble_argument_collection()
    return MappingProxyType({each.field_info.name: each for each in arguments if each.parse})
