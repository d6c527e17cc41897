"""What `milestoned serve` and `milestoned rescore --ask-again` are told of the tiers beyond the
rules."""

from __future__ import annotations

import argparse

from api.cascade.spending import budget_of, together
from api.core.settings import StageSettings
from detectors.model.types import Budget


def add_stages(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Declare the arguments for reward model and judges."""
    default = StageSettings()
    parser.add_argument(
        "--model",
        default="",
        metavar="DIR|URL",
        help="the reward model: its folder, or a scorer's address",
    )
    parser.add_argument(
        "--judge",
        nargs="+",
        default=[],
        metavar="URL",
        help="OpenAI-compatible endpoints that judge (docs/judge.md)",
    )
    parser.add_argument(
        "--stage-calls",
        type=_count,
        default=default.at_once,
        metavar="N",
        help="calls of one endpoint that may run at once (default: %(default)s)",
    )
    parser.add_argument(
        "--stage-lease-s",
        type=_seconds,
        default=default.lease_s,
        metavar="S",
        help=(
            "after which what a dead replica was asked is taken up by another (default:"
            " %(default)g)"
        ),
    )
    parser.add_argument(
        "--budget",
        type=_budget,
        action="append",
        default=[],
        metavar="SCOPE:LIMIT",
        help=(
            "the most to ask for, such as tenant:calls=1000 or day:cost=5; scopes: episode, task,"
            " tenant, day"
        ),
    )


def stage_settings(args: argparse.Namespace) -> StageSettings:
    """Read the stage settings from the parsed arguments."""
    return StageSettings(
        args.model, tuple(args.judge), args.stage_calls, args.stage_lease_s, together(args.budget)
    )


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}; wanted a whole number from 1 to 1024")
    return int(text)


def _seconds(text: str) -> float:
    if not text.replace(".", "", 1).isdecimal() or float(text) < 1:
        raise argparse.ArgumentTypeError(f"{text[:40]!r}; wanted a number of seconds, at least 1")
    return float(text)


def _budget(text: str) -> tuple[str, Budget]:
    try:
        return budget_of(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
