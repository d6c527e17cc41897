"""A tool that the agent called comes back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import FactsMatch, TextMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.registry import rule
from detectors.sdk.world import MAX_NAME, World


@dataclass(frozen=True, slots=True)
class ToolReturnedArgs:
    tool: TextMatch | None = arg("The tool's name.", None)
    ok: bool = arg("Whether it succeeded, as the harness reports.", True)
    result: FactsMatch | None = arg("Facts that its result must carry: dotted paths into it.", None)
    error: TextMatch | None = arg("The error that it came back with.", None)


@rule(component="tool", hears=("agent.tool_returned",), args=ToolReturnedArgs, occurrence=True)
def tool_returned(event: Event, world: World, args: ToolReturnedArgs) -> Iterator[Reading]:
    """A tool returns from a reported call, with a result or an error; the call names the tool."""
    data = event.data
    called = world.calls.get(str(data.get("call"))[:MAX_NAME])
    if called is None or data.get("ok") is not args.ok:
        return
    if not is_met(args.tool, called[0]):
        return
    if args.result is not None and not args.result.matches(data.get("result")):
        return
    if is_met(args.error, data.get("error")):
        yield Reading(1.0, f"call:{called[0]}:{data.get('call')}", (called[1],), called[2])
