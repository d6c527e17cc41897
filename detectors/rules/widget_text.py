"""A text stands in a widget of a desktop program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from detectors.matchers import TextMatch
from detectors.model.errors import UnseenError
from detectors.model.safe_json import mapping
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.kept_back import judge_told, reading_if_told
from detectors.sdk.registry import rule
from detectors.sdk.world import World, widget_key


@dataclass(frozen=True, slots=True)
class WidgetTextArgs:
    text: TextMatch = arg("The whole text in the widget.")
    name: TextMatch | None = arg("The widget's accessible name.", None)
    role: TextMatch | None = arg("AT-SPI's role name, such as text or entry.", None)
    app: TextMatch | None = arg("The application's name on the accessibility bus.", None)
    initial: bool = arg("Whether its state when its window opened counts; false by default.", False)


@rule(version=4, component="ax", hears=("widget.text_changed",), args=WidgetTextArgs)
def widget_text(event: Event, world: World, args: WidgetTextArgs) -> Iterator[Reading]:
    """The widget's text, once it no longer changes, is this one. True until the text is another,
    also when its window closes.

    The text on the screen is not the file on the disk: use a file rule if the file matters. The
    value of a password field is not known: if the rule names the field, the step is null. So it is
    if the rule hangs on a secret in the text, or on the rest of one that is longer than is
    reported.
    """
    data, widget = event.data, mapping(event.data.get("widget"))
    if not _is_widget(data.get("app"), widget, args):
        return
    if data.get("initial") is True and not args.initial:
        return
    reading = Reading(1.0, widget_key(data, "text"))
    if widget.get("role") == "password text":
        if args.name is not None or args.role is not None:
            raise UnseenError("the text of a password field is kept back", reading)
        return
    yield from reading_if_told(judge_told(args.text, data, "text"), reading, data, "text")


def _is_widget(app: object, widget: Mapping[str, object], args: WidgetTextArgs) -> bool:
    pairs = ((app, args.app), (widget.get("role"), args.role), (widget.get("name"), args.name))
    return all(is_met(matcher, value or "") for value, matcher in pairs)
