"""How the daemon logs: sentences with fields on stderr, coloured for a person, JSON lines for a
machine."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TextIO, cast

import structlog


class Stderr:
    """Whatever stderr is when a line is written: who has us in their process may exchange it, or
    close it.

    A line that can't be written is let go: watching must not end over it.
    """

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.flush()


def _factory() -> structlog.PrintLoggerFactory:
    return structlog.PrintLoggerFactory(cast(TextIO, Stderr()))


def set_up_logs(*, verbose: bool) -> None:
    """Configure structlog and quieten the libraries; ``verbose`` shows debug messages too."""
    person = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if person else "iso", utc=not person),
            *(
                # Not its coloured traceback, which shows every frame's variables: tokens and
                # passwords are among them.
                [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
                if person
                else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.DEBUG if verbose else logging.INFO
        ),
        logger_factory=_factory(),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)


def set_up_quietly() -> None:
    """For a daemon in somebody's process: warnings on stderr, unless that process has its own
    structlog."""
    if not structlog.is_configured():
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
            logger_factory=_factory(),
        )
