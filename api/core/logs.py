"""How the service logs: sentences with fields on stderr, coloured for a person, JSON lines for a
machine."""

from __future__ import annotations

import logging
import sys

import structlog


def set_up_logs() -> None:
    """Configure structlog. A fault is told with its frames and never with their variables, which
    structlog shows by itself where it can: tokens are among them, and laying them out holds up
    every request for seconds."""
    person = sys.stderr.isatty()
    shown = (
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if person
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S" if person else "iso", utc=not person),
            *shown,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
