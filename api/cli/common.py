"""What several commands share: where the data is, and values that options have."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import orjson
from cyclopts import Parameter

from common.command_line import option
from common.regular_file import NotRegularError, read_regular
from detectors.engine.attribution import CREDITS, OWN_CREDITS, Credit, OwnCredit

if TYPE_CHECKING:
    from api.core.settings import Settings

MAX_SECONDS = 10**9
_SPANS = {"s": 1 / 86_400, "m": 1 / 1_440, "h": 1 / 24, "d": 1.0, "w": 7.0}


def read_days(text: str) -> float:
    """Read a span such as 30d or 12h, in days."""
    found = re.fullmatch(r"([0-9]{1,5})([smhdw])", text)
    if found is None or int(found[1]) == 0:
        raise ValueError(f"expected a number and one of {', '.join(_SPANS)}, such as 30d")
    return int(found[1]) * _SPANS[found[2]]


def read_seconds(text: str) -> float:
    """Read a time of one second to `MAX_SECONDS`. Raises ValueError for what is none."""
    if not text.replace(".", "", 1).isdecimal() or not 1 <= float(text) <= MAX_SECONDS:
        raise ValueError(f"expected a number of seconds from 1 to {MAX_SECONDS:,}")
    return float(text)


def read_silence(text: str) -> float:
    """Read a time of at least one second, or 0 for one that never ends."""
    if text == "0":
        return 0.0
    try:
        return read_seconds(text)
    except ValueError:
        raise ValueError(f"expected 0, or a number of seconds from 1 to {MAX_SECONDS:,}") from None


def read_share(text: str) -> float:
    """Read a share. Raises ValueError for what is no number from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError("expected a number from 0 to 1")
    return share


def whole_number(minimum: int, maximum: int) -> Callable[[str], int]:
    """Return what reads a whole number in these bounds."""

    def read(text: str) -> int:
        """Read a whole number within the bounds. Raises ValueError."""
        if not text.isdecimal() or not minimum <= int(text) <= maximum:
            raise ValueError(f"expected a whole number from {minimum} to {maximum}")
        return int(text)

    return read


def read_pair(text: str) -> tuple[str, str]:
    """Read an option's ``KEY=VALUE`` into key and value."""
    key, mark, value = text.partition("=")
    if not (key and mark):
        raise ValueError("expected KEY=VALUE")
    return key, value


Overrides = Annotated[
    tuple[tuple[str, str], ...],
    option(
        "replace a task's top-level key, or a template's value (values.NAME); may be given again",
        "KEY=VALUE",
        read_pair,
        many=True,
    ),
]
OwnCreditTo = Annotated[
    OwnCredit,
    option(
        "what is credited to each step: as it was paid (default), by the step that set a"
        " milestone with `credit_to: cause` in motion, or spread over the steps that led to it",
        "|".join(OWN_CREDITS),
    ),
]
CreditTo = Annotated[
    Credit,
    option(
        "what is credited to each step: as it was paid (default), by the step that set a"
        " milestone with `credit_to: cause` in motion, spread over the steps that led to it, or"
        " beside the other exported episodes that came to the same point",
        "|".join(CREDITS),
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Store:
    """Where the service's data is."""

    data: Annotated[
        Path | None,
        option(
            "the service's own folder: database, secret, first admin token (default:"
            " $MILESTONED_DATA, else the database's folder, else ./milestoned-data)",
            "DIR",
            env_var="MILESTONED_DATA",
        ),
    ] = None
    database: Annotated[
        str,
        option(
            "such as sqlite:///FILE (default: $MILESTONED_DATABASE, else a file in the data"
            " folder)",
            "URL",
            env_var="MILESTONED_DATABASE",
        ),
    ] = ""

    def settings(self, token_file: Path | None = None) -> Settings:
        """Return the service's settings, with the secrets of the environment."""
        # Here: a command without a store is to start at once.
        from api.core.settings import settings_from_environment

        return settings_from_environment(self.data, self.database, token_file)


STORE = Store()
"""Where the data is unless a command is told."""


MAX_SERVICE_FILE = 1 << 16
"""Bytes of `service.json`, which says where a service listens."""


def hold(data: Path) -> int | None:
    """Hold the data directory for as long as this process lives; None if another does."""
    return _hold(data / "lock")


def hold_file(database: Path) -> int | None:
    """Hold a database that is a file: services with folders of their own may name the same one."""
    file = database.resolve()
    file.parent.mkdir(parents=True, exist_ok=True)
    return _hold(file.with_name(f"{file.name}.lock"))


def _hold(file: Path) -> int | None:
    """Lock a file; return its descriptor, None where another process holds it."""
    lock = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def service_address(settings: Settings) -> str:
    """Return the address of the service that runs over the data folder. Raises `OSError`, also for
    a file that is none of a service."""
    file = settings.data / "service.json"
    try:
        told: object = orjson.loads(read_regular(file, MAX_SERVICE_FILE))
    except orjson.JSONDecodeError as error:
        raise NotRegularError(file, f"expected JSON, got {error}") from None
    host, port = (told.get("host"), told.get("port")) if isinstance(told, dict) else (None, None)
    if not isinstance(host, str) or type(port) is not int:
        raise NotRegularError(file, "expected an object with host, a text, and port, a number")
    return f"http://{host}:{port}"
