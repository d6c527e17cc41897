"""A widget is in a state: checked, selected, expanded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.model.kinds.shapes import texts_at
from detectors.model.safe_json import mapping
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.registry import rule
from detectors.sdk.world import World, widget_key


@dataclass(frozen=True, slots=True)
class WidgetStateArgs:
    name: TextMatch = arg("The widget's accessible name.")
    state: str = arg(
        "AT-SPI's name of the state: checked, selected, expanded, pressed or sensitive."
    )
    on: bool = arg("Whether the state is to be on; true by default.", True)
    role: TextMatch | None = arg("AT-SPI's role name, such as check box.", None)
    app: TextMatch | None = arg("The application's name on the accessibility bus.", None)
    initial: bool = arg("Whether its state when its window opened counts; false by default.", False)

    def explain_mismatches(self) -> Iterator[tuple[str, str]]:
        """Yield the argument and what is expected where no widget is told to be in the state."""
        states = texts_at("widget.state_changed", ("state",))
        if self.state not in states:
            yield "state", f"one of {', '.join(states)}"


@rule(component="ax", hears=("widget.state_changed",), args=WidgetStateArgs)
def widget_state(event: Event, world: World, args: WidgetStateArgs) -> Iterator[Reading]:
    """The widget gets the state. True until it leaves it, also when its window closes: a box
    that was ticked in a dialog stays ticked."""
    data, widget = event.data, mapping(event.data.get("widget"))
    if data.get("state") != args.state or data.get("on") is not args.on:
        return
    if data.get("initial") is True and not args.initial:
        return
    if not is_met(args.app, data.get("app")):
        return
    if not is_met(args.role, widget.get("role")):
        return
    if args.name.matches(str(widget.get("name") or "")):
        yield Reading(1.0, widget_key(data, args.state))
