"""A tool that the agent called comes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from detectors.matchers import FactsMatch, TextMatch
from detectors.matchers.masked_text import judge_text
from detectors.model.errors import UnseenError
from detectors.model.three_valued import all_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.kept_back import MASKED, judge_fact
from detectors.sdk.registry import rule
from detectors.sdk.world import MAX_NAME, World


@dataclass(frozen=True, slots=True)
class ToolReturnedArgs:
    tool: TextMatch | None = arg("The tool's name.", None)
    ok: bool = arg("Whether it succeeded, as the harness reports.", True)
    result: FactsMatch | None = arg("Facts that its result must carry: dotted paths into it.", None)
    error: TextMatch | None = arg("The error that it came back with.", None)


@rule(
    version=2,
    component="tool",
    hears=("agent.tool_returned",),
    args=ToolReturnedArgs,
    occurrence=True,
)
def tool_returned(event: Event, world: World, args: ToolReturnedArgs) -> Iterator[Reading]:
    """A tool returns from a reported call, with a result or an error; the call names the tool.
    If it hangs on what was masked in them, a password or a token, the step is null."""
    data = event.data
    called = world.calls.get(str(data.get("call"))[:MAX_NAME])
    if called is None or data.get("ok") is not args.ok:
        return
    if not is_met(args.tool, called[0]):
        return
    is_so = all_verdict([_judge_result(data.get("result"), args), _judge_error(data, args)])
    reading = Reading(1.0, f"call:{called[0]}:{data.get('call')}", (called[1],), called[2])
    if is_so is None:
        raise UnseenError(MASKED, reading)
    if is_so:
        yield reading


def _judge_result(result: object, args: ToolReturnedArgs) -> bool | None:
    """Whether the result carries the facts; None where that hangs on what was masked in it."""
    if args.result is None:
        return True
    return args.result.judged(result, lambda _, fact, value: judge_fact(fact, value))


def _judge_error(data: Mapping[str, object], args: ToolReturnedArgs) -> bool | None:
    if args.error is None:
        return True
    return judge_text(args.error, str(data.get("error") or ""))
