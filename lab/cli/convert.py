"""`milestoned convert INPUT --out FILE`: makes a recording of what another program recorded."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from agentd.core.errors import AgentdError, UsageError
from detectors.model.kinds import KINDS
from detectors.model.wire_versions import current_kind, explain_rename
from lab.convert.convert import Conversion, convert
from lab.convert.formats import FORMATS


def add(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `milestoned convert`."""
    parser.add_argument("input", type=Path, metavar="INPUT", help="what another program recorded")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the recording to write (.mrec)"
    )
    parser.add_argument("--force", action="store_true", help="replace --out if it is there")
    parser.add_argument(
        "--from",
        dest="format",
        metavar="FORMAT",
        help="what INPUT is, where it is not told by its content",
    )
    parser.add_argument(
        "--vouch", metavar="PART,...", help="say that INPUT hides nothing of these, as in page"
    )
    parser.add_argument(
        "--mask", action="append", default=[], metavar="NAME",
        help="a field or header that is masked too, as in pin; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--cookie",
        action="append",
        default=[],
        metavar="NAME",
        help="tell this cookie's value; may be given again",
    )
    parser.add_argument(
        "--answer", type=Path, metavar="FILE", help="what the agent answered in the end, a text"
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    os.umask(0o077)  # a recording holds what the agent typed: no other user reads it
    try:
        made = convert(
            Conversion(
                input=args.input,
                out=args.out,
                force=args.force,
                format=_known_format(args.format),
                vouch=_vouched_parts(args.vouch),
                mask=tuple(args.mask),
                cookies=tuple(args.cookie),
                answer=args.answer,
            )
        )
    except AgentdError as error:
        print(f"milestoned: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{args.out}: {made.events} events, {made.steps} steps of a {made.format}")
    return 0


def _known_format(name: str | None) -> str | None:
    if name is not None and name not in FORMATS:
        raise UsageError(f"--from {name}: wanted one of {', '.join(FORMATS)}")
    return name


def _vouched_parts(text: str | None) -> tuple[str, ...]:
    """``PART,PART``: nouns or kinds of the browser's events."""
    if text is None:
        return ()
    parts = {
        part
        for name, kind in KINDS.items()
        if kind.source == "cdp"
        for part in (name, name.partition(".")[0])
    }
    names = set(text.split(","))
    if unknown := sorted(names - parts):
        raise UsageError(
            f"--vouch {unknown[0]}: wanted a noun or a kind of docs/events.md, as in page or"
            f" page.title_changed{explain_rename(unknown[0], current_kind(unknown[0]))}"
        )
    return tuple(sorted(names))
