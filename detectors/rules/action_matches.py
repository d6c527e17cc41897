"""The agent begins a step with an action of a given form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import FactsMatch, TextMatch
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import SchemaMatch, arg
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class ActionMatchesArgs:
    text: TextMatch | None = arg("The action, where it is a text.", None)
    facts: FactsMatch | None = arg(
        "Facts of the action, where it is an object: dotted paths, such as {type: click}.", None
    )
    schema: SchemaMatch | None = arg(
        "JSON Schema (draft 2020-12) that the action must conform to.", None
    )
    wrong: bool = arg("Whether the action must fail what is asked instead.", False)

    def __post_init__(self) -> None:
        if self.text is None and self.facts is None and self.schema is None:
            raise ValueError("at least one of text, facts, schema")


@rule(
    component="tool",
    hears=("step.began",),
    args=ActionMatchesArgs,
    occurrence=True,
    alone=True,
)
def action_matches(event: Event, world: World, args: ActionMatchesArgs) -> Iterator[Reading]:
    """The action that the harness names when a step begins is as asked: of a schema, with these
    facts, this text. With `wrong`, and as a `penalty`, it takes something for actions that no tool
    can read.

    An action is what the agent asked for, not what came of it: use events of pages, files and
    requests for that, and `tool_called` for the arguments of a call by MCP, in which the gateway
    masks secrets. A step without an action has nothing that could match, nor be wrong. The cost of
    a schema is bounded, as for `tool_called`.
    """
    action = event.data.get("action")
    if action is None:
        return
    is_right = (
        (args.text is None or args.text.matches_json(action))
        and (args.facts is None or args.facts.matches(action))
        and (args.schema is None or args.schema.matches(action))
    )
    if is_right is not args.wrong:
        yield Reading(1.0, f"action:{event.data.get('step')}")
