"""What must be so before a service listens where others than this machine can call: TLS, and tokens
made on purpose."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from api.auth.store import FIRST, Tokens
from api.core.errors import UnavailableError
from api.core.keys import MAX_TOKEN, MIN_LETTERS
from api.core.settings import Settings
from api.db.database import Database, is_missing, now
from api.db.migrate import upgrade
from common.command_line import option
from common.regular_file import read_regular

MAX_PEM = 1 << 20
"""Bytes of a certificate chain or a key."""


@Parameter(name="*", group="TLS and proxies")
@dataclass(frozen=True, kw_only=True)
class Exposure:
    """Where the service listens, and what stands between it and its callers."""

    host: Annotated[str, option("where to listen (default: loopback)", "ADDRESS")] = "127.0.0.1"
    tls_cert: Annotated[
        Path | None, option("speak TLS with this certificate chain (PEM)", "FILE")
    ] = None
    tls_key: Annotated[Path | None, option("and this private key (PEM)", "FILE")] = None
    i_have_tls_in_front: Annotated[
        bool,
        option("allow an address that is not loopback without TLS here: a proxy in front has it"),
    ] = False
    forwarded_allow_ips: Annotated[
        str,
        option(
            "proxies whose X-Forwarded-For and -Proto are believed (default: 127.0.0.1)",
            "ADDRESSES",
        ),
    ] = "127.0.0.1"

    def refusal(self, settings: Settings) -> str | None:
        """Why the service must not start with these arguments, or None."""
        refusal = self._tls_refusal()
        if refusal is not None or _is_loopback(self.host):
            return refusal
        if self.tls_cert is None and not self.i_have_tls_in_front:
            return (
                f"--host {self.host}: tokens would travel in clear; wanted a loopback address,"
                " --tls-cert and --tls-key, or --i-have-tls-in-front behind a proxy that speaks TLS"
            )
        if settings.admin_token is not None:
            return _guessed("MILESTONED_ADMIN_TOKEN", settings.admin_token)
        if settings.token_file is not None and settings.token_file.exists():
            return _guessed_in(settings.token_file)
        try:
            made = asyncio.run(_made_on_purpose(settings))
        except UnavailableError as error:
            return error.detail
        if made:
            return None
        return (
            f"--host {self.host}: nobody made a token, so that everybody would call as the first"
            " admin; wanted `milestoned token create trainer` (or another scope) first, or"
            " MILESTONED_ADMIN_TOKEN"
        )

    def _tls_refusal(self) -> str | None:
        """Why the files for TLS can't be used, or None."""
        if (self.tls_cert is None) != (self.tls_key is None):
            return "--tls-cert and --tls-key: got one of them, wanted both or none"
        for name, path in (("--tls-cert", self.tls_cert), ("--tls-key", self.tls_key)):
            if path is not None and not path.is_file():
                return f"{name} {path}: no such file"
        if self.tls_cert is None or self.tls_key is None:
            return None
        return _unfit_for_tls(self.tls_cert, self.tls_key)


def _unfit_for_tls(cert: Path, key: Path) -> str | None:
    """Why a certificate chain and a private key can't be served with, or None; a key with a
    password is tried by the server, which asks for it."""
    texts = []
    for name, path in (("--tls-cert", cert), ("--tls-key", key)):
        try:
            texts.append(read_regular(path, MAX_PEM))
        except OSError as error:
            return f"{name} {path}: can't be read: {error.strerror}"
        if b"-----BEGIN " not in texts[-1]:
            return f"{name} {path}: expected a file in PEM"
    _, key_text = texts
    if b"ENCRYPTED" in key_text:
        return None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or error
        return (
            f"--tls-cert {cert}, --tls-key {key}: expected a certificate chain and its own private"
            f" key in PEM: {why}"
        )
    return None


LOOPBACK = Exposure()
"""Only this machine calls."""


async def _made_on_purpose(settings: Settings) -> bool:
    """Whether somebody made a token that is in force, beside the one that the service makes
    itself."""
    if is_missing(settings.database):
        return False
    database = Database(settings.database)
    try:
        await upgrade(database)
        rows = await Tokens(database, cache_s=0).listed()
    finally:
        await database.close()
    in_force = [
        row
        for row in rows
        if row.revoked_at is None and (row.expires_at is None or row.expires_at > now())
    ]
    return any(row.label not in FIRST for row in in_force)


def _guessed_in(file: Path) -> str | None:
    """Say what is wrong with a file's token: it can't be read, or it can be guessed. None:
    nothing."""
    try:
        token = read_regular(file, MAX_TOKEN).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        return f"--token-file {file}: {why}; wanted a file that holds the first admin token"
    return _guessed(f"--token-file {file}", token)


def _guessed(what: str, token: str) -> str | None:
    """Say that a token can be guessed, being too short; None where it is long enough."""
    return (
        f"{what}: shorter than {MIN_LETTERS} characters, which can be guessed"
        if len(token) < MIN_LETTERS
        else None
    )


def _is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
