"""The daemon's logs on stderr: coloured sentences for a person, JSON lines for a machine."""

from __future__ import annotations

import contextlib
import logging
import sys
from typing import TextIO, cast

import structlog


class Stderr:
    """Writes to whatever ``sys.stderr`` is at the time: a harness may exchange or close it.

    A line that can't be written is dropped: observation must not end over it.
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
    structlog.configure(
        processors=_processors(for_person=sys.stderr.isatty()),
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.DEBUG if verbose else logging.INFO
        ),
        logger_factory=_factory(),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)


def _processors(*, for_person: bool) -> list[structlog.typing.Processor]:
    """Return the steps that make a line of an entry: times of day and plain tracebacks for a
    person, JSON with whole times for a program."""
    if for_person:
        return [
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            # Not its coloured traceback, which shows every frame's variables: tokens and passwords
            # are among them.
            structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
        ]
    return [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    ]


def set_up_quietly() -> None:
    """Log warnings on stderr, unless the process that we are a guest of has set up structlog."""
    if not structlog.is_configured():
        structlog.configure(
            wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
            logger_factory=_factory(),
        )
