"""`milestoned convert INPUT --out FILE`: makes a recording of what another program recorded."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

from agentd.core.errors import AgentdError
from common.command_line import option
from detectors.model.kinds import KINDS
from detectors.model.wire_versions import current_kind, explain_rename
from lab.convert.convert import Conversion, convert
from lab.convert.formats import FORMATS


def _read_format(name: str) -> str:
    if name not in FORMATS:
        raise ValueError(f"expected one of {', '.join(FORMATS)}")
    return name


def _read_parts(text: str) -> tuple[str, ...]:
    """``PART,PART``: nouns or kinds of the browser's events."""
    parts = {
        part
        for name, kind in KINDS.items()
        if kind.source == "cdp"
        for part in (name, name.partition(".")[0])
    }
    names = set(text.split(","))
    if unknown := sorted(names - parts):
        raise ValueError(
            "expected nouns or kinds of docs/events.md, as in page or"
            f" page.title_changed{explain_rename(unknown[0], current_kind(unknown[0]))}"
        )
    return tuple(sorted(names))


def run(
    input: Annotated[Path, option("what another program recorded", "INPUT")],
    /,
    *,
    out: Annotated[Path, option("the recording to write (.mrec)", "FILE")],
    force: Annotated[bool, option("replace --out if it is there")] = False,
    from_: Annotated[
        str | None,
        option("the format of INPUT, where its content does not show it", "FORMAT", _read_format),
    ] = None,
    vouch: Annotated[
        tuple[str, ...],
        option("say that INPUT hides nothing of these, as in page", "PART,...", _read_parts),
    ] = (),
    mask: Annotated[
        tuple[str, ...],
        option("a field or header that is masked too, as in pin; may be given again", "NAME"),
    ] = (),
    cookie: Annotated[
        tuple[str, ...], option("tell this cookie's value; may be given again", "NAME")
    ] = (),
    answer: Annotated[
        Path | None, option("what the agent answered in the end, a text", "FILE")
    ] = None,
) -> int:
    """Make a recording of what another program recorded."""
    os.umask(0o077)  # a recording holds what the agent typed: no other user reads it
    try:
        made = convert(
            Conversion(
                input=input,
                out=out,
                force=force,
                format=from_,
                vouch=vouch,
                mask=mask,
                cookies=cookie,
                answer=answer,
            )
        )
    except AgentdError as error:
        print(f"milestoned: {error}", file=sys.stderr)
        return error.exit_code
    print(f"{out}: {made.events} events, {made.steps} steps of {made.source}")
    return 0
