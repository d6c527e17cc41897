"""Any event that a source can tell of, by its own facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from detectors.matchers import FactsMatch, TextMatch, UrlMatch
from detectors.matchers.facts import dotted, value_at
from detectors.model.errors import UnseenError
from detectors.model.kinds import KINDS
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.condition_reads import Reads, asks_of_reads, check_reads, reads_of_facts
from detectors.sdk.decorators import by_script, check_kind, kind_rule
from detectors.sdk.uploads import NO_SIZE, UPLOADS, is_one_of, unsized
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class Args:
    kind: str = arg("The kind of event, such as widget.activated; docs/events.md lists them.")
    where: FactsMatch | None = arg(
        "Facts that the event must carry: dotted paths into its data, such as {widget.name: Save}.",
        None,
    )
    app: TextMatch | None = arg("Only of this application (desktop kinds).", None)
    url: UrlMatch | None = arg("Only in a frame at this address (browser kinds).", None)
    distinct: str | None = arg(
        "A path whose value tells one occurrence from another, for `repeat`.", None
    )
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, and on pages that are"
        " nobody's.",
        False,
    )

    def __post_init__(self) -> None:
        check_kind(self.kind)
        check_reads(self.kind, self.reads)
        fields = {field.removesuffix("?") for field in KINDS[self.kind].fields}
        for name, given, needed in (("app", self.app, "app"), ("url", self.url, "frame")):
            if given is not None and needed not in fields:
                raise ValueError(
                    f"{name}: {self.kind} is not told of"
                    f" {'an application' if name == 'app' else 'a frame'}"
                )

    @property
    def reads(self) -> Reads:
        """What it reads of an event."""
        return reads_of_facts(self.where, *([dotted(self.distinct)] if self.distinct else []))

    def asks(self) -> dict[str, list[Any]]:
        """What is told only because it is read here."""
        return asks_of_reads(self.kind, self.reads)


@kind_rule(args=Args, version=2)
def observed(event: Event, world: World, args: Args) -> Iterator[Reading]:
    """An event of this kind, with these facts. What page script did (`trusted: false`) does not
    count, unless `where` itself says something about `trusted`; nor does what stood in a window
    when it opened (`initial`), unless it says something about that.

    For what no rule of its own speaks of: a widget activated, a process started, a message
    received, text pasted. Where it hangs on the `size` of a file in a request's body and nobody
    knows that, the step is null.
    """
    data = event.data
    if by_script(event) and not (args.where and args.where.names("trusted")):
        return
    if data.get("initial") is True and not (args.where and args.where.names("initial")):
        return
    if args.app is not None and not args.app.matches(str(data.get("app"))):
        return
    if args.url is not None and not args.url.matches(world.url(str(data.get("frame")))):
        return
    hidden = unsized(event, args.reads.places) if event.kind in UPLOADS else ()
    judged = args.where is None or args.where.judged(data, lambda steps: is_one_of(steps, hidden))
    if judged is False:
        return
    reading = Reading(
        1.0, f"observed:{value_at(data, dotted(args.distinct))}" if args.distinct else "observed"
    )
    if judged is None or (args.distinct is not None and is_one_of(dotted(args.distinct), hidden)):
        raise UnseenError(NO_SIZE, reading)
    yield reading
