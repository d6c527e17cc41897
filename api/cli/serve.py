"""`milestoned serve`: upgrades the schema, sees to the first token, serves until it is told to
stop."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Annotated

import orjson
import uvicorn
from cyclopts import Parameter

from api.auth.secret_owner import claim_secret
from api.cascade.stages import StageError
from api.cli.common import (
    STORE,
    Store,
    hold,
    hold_file,
    read_days,
    read_seconds,
    read_silence,
    whole_number,
)
from api.cli.exposure import LOOPBACK, Exposure
from api.cli.stages import NO_STAGES, StageOptions
from api.cli.telemetry import NO_TELEMETRY, TelemetryOptions
from api.core.errors import UnavailableError
from api.core.gc_tuning import spare
from api.core.keys import (
    KeyFileError,
    admin_token_file,
    first_admin_token,
    load_keys,
    write_private,
)
from api.core.logs import set_up_logs
from api.core.notify import Notifier
from api.core.settings import Limits, Settings
from api.core.signing import Signer
from api.db.database import Database, file_of
from api.db.migrate import upgrade
from api.rescoring.crews import cores
from common.command_line import option

KEEP_ALIVE_S = 75
"""How long a connection may be idle between two requests, in seconds: longer than a client keeps
it, so that none is closed on which a request is on its way."""
BACKLOG = 2_048
WORKERS, MAX_WORKERS = 4, 64
MAX_PORT = 65_535
MAX_ENGINES_MIB = 1 << 20
MAX_DRAFTS = 1_000_000


def _default_workers() -> int:
    """Return how many processes read logs beside the service's own; none on one core."""
    return 0 if cores() == 1 else min(cores(), WORKERS)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """What the service is started with."""

    store: Store = STORE
    exposure: Exposure = LOOPBACK
    stages: StageOptions = NO_STAGES
    telemetry: TelemetryOptions = NO_TELEMETRY
    port: Annotated[
        int,
        option(
            "0: any free one, which is written to DATA/service.json",
            "PORT",
            whole_number(0, MAX_PORT),
        ),
    ] = 8420
    nemo_port: Annotated[
        int | None,
        option(
            "also speak NeMo Gym's dialect at the root of this port",
            "PORT",
            whole_number(0, MAX_PORT),
        ),
    ] = None
    ors_port: Annotated[
        int | None,
        option(
            "also be an environment server of the Open Reward Standard at the root of this port",
            "PORT",
            whole_number(0, MAX_PORT),
        ),
    ] = None
    port_file: Annotated[
        Path | None, option("also write the port here, once it listens", "FILE")
    ] = None
    tasks_need_tests: Annotated[
        bool,
        option(
            "refuse tasks without an oracle and an adversarial recording (`milestoned task test"
            " --bundle`)"
        ),
    ] = False
    tasks_need_attack: Annotated[
        bool,
        option(
            "refuse tasks without an oracle, and those that pay an adversary derived from it"
            " (`milestoned task attack`)"
        ),
    ] = False
    token_file: Annotated[Path | None, option("where to keep the first admin token", "FILE")] = None
    sandbox_lost_s: Annotated[
        float,
        option(
            "how long a sandbox of the fleet may be silent before its episode is closed (default:"
            f" {Limits().sandbox_lost_s:g})",
            "S",
            read_seconds,
        ),
    ] = Limits().sandbox_lost_s
    owner_silence: Annotated[
        float,
        option(
            "how long nothing may be heard of the owner of an episode of the fleet before it ends,"
            f" 0: for ever (default: {Limits().owner_silence_s:g})",
            "S",
            read_silence,
        ),
    ] = Limits().owner_silence_s
    body_s: Annotated[
        float,
        option(
            "how long the body of a request may take to come, whoever sends it (default:"
            f" {Limits().body_s:g})",
            "S",
            read_seconds,
        ),
    ] = Limits().body_s
    drafts_per_hour: Annotated[
        int,
        option(
            "how many drafts of tasks and rubrics a tenant may have the judge's endpoint write in"
            f" an hour, 0: any number (default: {Limits().drafts_per_hour})",
            "N",
            whole_number(0, MAX_DRAFTS),
        ),
    ] = Limits().drafts_per_hour
    keep: Annotated[
        float | None,
        option(
            "delete episodes that long after their end, such as 30d (default: never)",
            "SPAN",
            read_days,
        ),
    ] = None
    checkpoints: Annotated[
        str,
        option(
            "where signed checkpoints go, outside the database (default: $MILESTONED_CHECKPOINTS,"
            " else nowhere)",
            "FILE|URL",
            env_var="MILESTONED_CHECKPOINTS",
        ),
    ] = ""
    workers: Annotated[
        int,
        option(
            "processes beside the service that detect in large segments (default: one a core, at"
            f" most {WORKERS}, none on a machine of one core)",
            "N",
            whole_number(0, MAX_WORKERS),
        ),
    ] = _default_workers()
    engines_mib: Annotated[
        int,
        option(
            "memory for the episodes that are kept between two segments, in this process and in"
            " each worker; others are made again from the log (default:"
            f" {Limits().engines_bytes >> 20})",
            "N",
            whole_number(0, MAX_ENGINES_MIB),
        ),
    ] = Limits().engines_bytes >> 20

    def settings(self) -> Settings:
        """Return them as the service has them, with the secrets of the environment. Raises
        `ValueError` for a collector that can't be used."""
        settings = self.store.settings(self.token_file)
        limits = replace(
            settings.limits,
            sandbox_lost_s=self.sandbox_lost_s,
            owner_silence_s=self.owner_silence,
            body_s=self.body_s,
            drafts_per_hour=self.drafts_per_hour,
            engines_bytes=self.engines_mib << 20,
        )
        return replace(
            settings,
            keep_days=self.keep,
            tasks_need_tests=self.tasks_need_tests,
            tasks_need_attack=self.tasks_need_attack,
            workers=self.workers,
            limits=limits,
            checkpoints=self.checkpoints,
            stages=self.stages.settings(),
            telemetry=self.telemetry.settings(os.environ),
        )


DEFAULTS = ServeSettings()


def run(serve: ServeSettings = DEFAULTS) -> int:
    """Run the service until a signal comes.

    Gives 2 for what is refused, 1 where the database can't be used.
    """
    try:
        settings = serve.settings()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    refusal = serve.exposure.refusal(settings)
    if refusal is not None:
        print(refusal, file=sys.stderr)
        return 2
    set_up_logs()
    # The database holds what would be right and what it pays: nobody else on this machine may read
    # it.
    os.umask(0o077)
    _spread_out()
    try:
        settings.data.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        print(f"--data {settings.data}: a file; wanted a directory", file=sys.stderr)
        return 2
    locks = _hold(settings)
    if isinstance(locks, str):
        print(locks, file=sys.stderr)
        return 2
    unfit = asyncio.run(_unfit(settings))
    if unfit is not None:
        print(unfit, file=sys.stderr)
        return 2 if isinstance(unfit, KeyFileError) else 1
    listeners = [_listen(serve.exposure.host, serve.port)]
    dialects: dict[str, int] = {}
    for name, port in (("nemo", serve.nemo_port), ("ors", serve.ors_port)):
        if port is not None:
            listeners.append(_listen(serve.exposure.host, port))
            dialects[name] = listeners[-1].getsockname()[1]
    try:
        is_started = _serve(serve, settings, listeners, dialects)
    except StageError as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        (settings.data / "service.json").unlink(missing_ok=True)
        for lock in locks:
            os.close(lock)
    return 0 if is_started else 1


def _serve(
    serve: ServeSettings,
    settings: Settings,
    listeners: list[socket.socket],
    dialects: Mapping[str, int],
) -> bool:
    """Serve on the listeners until a signal comes; return whether it started at all.

    ``dialects``: the ports at whose root a dialect is, by its name. Raises `StageError`.
    """
    _import_application()
    from api.app import create_app
    from api.http.at_root import AtRoot
    from api.http.timeouts import patient

    app = create_app(settings)
    host, port = listeners[0].getsockname()[:2]
    off = [*app.state.off, *filter(None, [settings.telemetry.off])]
    config = uvicorn.Config(
        AtRoot(app, {port: f"/{name}" for name, port in dialects.items()}) if dialects else app,
        loop="uvloop" if sys.platform != "win32" else "auto",
        http=patient(settings.limits),
        ws="websockets-sansio",
        log_level="warning",
        access_log=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=5,
        timeout_keep_alive=KEEP_ALIVE_S,
        ssl_certfile=serve.exposure.tls_cert,
        ssl_keyfile=serve.exposure.tls_key,
        forwarded_allow_ips=serve.exposure.forwarded_allow_ips,
    )
    server = _Server(
        config,
        app.state.notifier,
        lambda: _announce(serve, settings, host, port, dialects, off),
    )
    server.run(sockets=listeners)
    return server.started


def _import_application() -> None:
    """Import what takes most of a start: one that is refused, or asked for its help, does not wait
    for it."""
    gc.disable()  # as `api.cli.main` imports a command
    try:
        import api.app  # noqa: F401
    finally:
        gc.freeze()
        gc.enable()


def _hold(settings: Settings) -> list[int] | str:
    """What keeps every other service from this one's folder and, where it is a file, database; or
    why it can't be."""
    lock = hold(settings.data)
    if lock is None:
        return f"--data {settings.data}: another service works here; wanted a directory of its own"
    file = file_of(settings.database)
    of_file = None if file is None else hold_file(file)
    if file is not None and of_file is None:
        os.close(lock)
        return (
            f"--database {file}: another service works with it; a database in a file has one"
            " service"
        )
    return [lock] if of_file is None else [lock, of_file]


async def _unfit(settings: Settings) -> KeyFileError | UnavailableError | None:
    """Why the service can't work with this database, in words and before anybody can call."""
    try:
        Signer.load(settings)
        load_keys(settings)
        first_admin_token(settings)
        database = Database(settings.database)
        try:
            await upgrade(database)
            await claim_secret(database, settings)
        finally:
            await database.close()
    except (KeyFileError, UnavailableError) as error:
        return error
    return None


class _Server(uvicorn.Server):
    """Tells where it listens once it does, and lets go of those who wait when it is told to
    stop."""

    def __init__(
        self, config: uvicorn.Config, notifier: Notifier, announce: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._notifier, self._announce = notifier, announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say where, once it does."""
        await super().startup(sockets)
        if self.started:
            spare()
            self._announce()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; a second interrupt stops at once."""
        # Not the base's: it would raise the signal again at the end, and being told to stop is no
        # failure.
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        self._notifier.stop()


def _spread_out() -> None:
    # A fleet's daemons each hold a connection or three, and 1,024 is what most shells allow a
    # process.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _announce(
    serve: ServeSettings,
    settings: Settings,
    host: str,
    port: int,
    dialects: Mapping[str, int],
    off: Iterable[str],
) -> None:
    """Write where the service listens into its folder, and print it with where the first token
    is."""
    told = {"host": host, "port": port, "pid": os.getpid()} | {
        f"{name}_port": port for name, port in dialects.items()
    }
    write_private(settings.data / "service.json", orjson.dumps(told).decode())
    if serve.port_file is not None:
        write_private(serve.port_file, str(port))
    where = (
        "in MILESTONED_ADMIN_TOKEN" if settings.admin_token else f"in {admin_token_file(settings)}"
    )
    scheme = "http" if serve.exposure.tls_cert is None else "https"
    print(
        f"milestoned listens on {scheme}://{host}:{port}; the first admin token is {where}",
        flush=True,
    )
    for why in off:
        print(why, flush=True)


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Exits with the reason where that can't be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except (OSError, OverflowError) as error:
        listener.close()
        sys.exit(f"--host {host} --port {port}: {getattr(error, 'strerror', None) or error}")
    listener.listen(BACKLOG)
    listener.set_inheritable(True)
    return listener
