"""The agent calls a tool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import FactsMatch, TextMatch, text_key
from detectors.matchers.masked import is_masked
from detectors.model.errors import UnseenError
from detectors.model.three_valued import all_verdict
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import SchemaMatch, arg, is_met
from detectors.sdk.kept_back import MASKED, judge_fact
from detectors.sdk.registry import Keys, rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class ToolCalledArgs:
    tool: TextMatch | None = arg("The tool's name.", None)
    other_than: TextMatch | None = arg("Any tool but this one, or these.", None)
    arguments: FactsMatch | None = arg(
        "Facts that the arguments must carry: dotted paths into them.", None
    )
    schema: SchemaMatch | None = arg(
        "JSON Schema (draft 2020-12) that the arguments must conform to.", None
    )
    wrong: bool = arg("Whether the arguments must fail `arguments` and `schema` instead.", False)

    def __post_init__(self) -> None:
        if self.wrong and self.arguments is None and self.schema is None:
            raise ValueError("arguments or schema, or both, beside wrong")


@rule(
    version=3,
    component="tool",
    hears=("agent.tool_called",),
    args=ToolCalledArgs,
    index_args=lambda args: args.tool.keys() if args.tool is not None else None,
    index_event=lambda event: tool_keys(event),
    occurrence=True,
    alone=True,
)
def tool_called(event: Event, world: World, args: ToolCalledArgs) -> Iterator[Reading]:
    """The agent calls the tool with the given arguments, as the harness reports it.

    A call is only the harness's report: use `tool_returned`, files, requests or pages for its
    effect.

    The cost of a schema over the arguments is bounded, as for `cel`: beyond the bound the step is
    null. So is one that depends on an argument that was masked: a password, a token, a card number.
    References are local (`#/$defs/...`), and a schema may refer to itself if that descends
    into the value.
    """
    name, given = str(event.data.get("tool")), event.data.get("arguments")
    if not is_met(args.tool, name):
        return
    if args.other_than is not None and args.other_than.matches(name):
        return
    reading = Reading(1.0, f"call:{name}:{event.data.get('call')}")
    is_right = all_verdict([_has_facts(given, args.arguments), _conforms(given, args.schema)])
    if is_right is None:
        raise UnseenError(MASKED, reading)
    if is_right is not args.wrong:
        yield reading


def _has_facts(given: object, wanted: FactsMatch | None) -> bool | None:
    """Whether the arguments have the facts; None where that hangs on one that was masked."""
    if wanted is None:
        return True
    return wanted.judged(given, lambda _, fact, value: judge_fact(fact, value))


def _conforms(given: object, schema: SchemaMatch | None) -> bool | None:
    """The same of the schema: what stands behind a mask may be of another type."""
    if schema is None or schema.matches(given):
        return True
    return None if is_masked(given) else False


def tool_keys(event: Event) -> Keys:
    """Index keys of a call: the tool."""
    return (text_key(str(event.data.get("tool"))),)
