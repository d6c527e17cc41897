"""Any event that a source can tell of, by its own facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from detectors.matchers import FactsMatch, TextMatch, UrlMatch
from detectors.matchers.facts import check_type, split_path, value_at
from detectors.model.errors import UnseenError
from detectors.model.kinds import KINDS
from detectors.model.kinds.shapes import plain_types_at, texts_at
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.condition_reads import Reads, asks_of_reads, check_reads, reads_of_facts
from detectors.sdk.decorators import by_script, check_kind, kind_rule
from detectors.sdk.documents import judge_page, loaded_arg, reading_on_page
from detectors.sdk.kept_back import find_hidden
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class ObservedArgs:
    kind: str = arg("The kind of event, such as widget.activated; docs/events.md lists them.")
    where: FactsMatch | None = arg(
        "Facts that the event must carry: dotted paths into its data, such as {widget.name: Save}.",
        None,
    )
    app: TextMatch | None = arg("Only of this application (desktop kinds).", None)
    url: UrlMatch | None = arg("Only in a frame at this address (browser kinds).", None)
    loaded: bool | None = loaded_arg()
    distinct: str | None = arg("A path whose value identifies an occurrence, for `repeat`.", None)
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )

    def __post_init__(self) -> None:
        check_kind(self.kind)
        check_reads(self.kind, self.reads)
        fields = {field.removesuffix("?") for field in KINDS[self.kind].fields}
        for name, given, needed in (("app", self.app, "app"), ("url", self.url, "frame")):
            if given is not None and needed not in fields:
                what = "an application" if name == "app" else "a frame"
                raise ValueError(f"{name}: {self.kind} is not told of {what}")

    def explain_mismatches(self) -> Iterator[tuple[str, str]]:
        """Yield the argument and what is expected for each fact that no event of the kind has."""
        for path, wanted in () if self.where is None else self.where.facts:
            expected = check_type(wanted, plain_types_at(self.kind, path))
            if expected is not None:
                place = ".".join(path)
                yield "where", f"{place} of {self.kind} is never that; expected {expected}"
            texts = texts_at(self.kind, path)
            if texts and isinstance(wanted, TextMatch) and not any(map(wanted.matches, texts)):
                place, known = ".".join(path), ", ".join(texts)
                yield "where", f"{place} of {self.kind} is never that; expected one of {known}"

    @property
    def reads(self) -> Reads:
        """What it reads of an event."""
        return reads_of_facts(self.where, *([split_path(self.distinct)] if self.distinct else []))

    def asks(self) -> dict[str, list[Any]]:
        """What is told only because it is read here."""
        return asks_of_reads(self.kind, self.reads)


@kind_rule(args=ObservedArgs, version=6)
def observed(event: Event, world: World, args: ObservedArgs) -> Iterator[Reading]:
    """An event of this kind has these facts. Actions of a page's script (`trusted: false`) do not
    count, unless `where` itself names `trusted`; nor does what a window contained when it opened
    (`initial`), unless `where` names that.

    Use it for kinds that have no rule of their own: a widget activated, a process started, a
    message received, text pasted. If it depends on the `size` of a file in a request's body and
    the size is not known, or on a secret that was kept back or masked, or on the rest of a text or
    a list of which only the beginning was reported, the step is null.
    """
    data = event.data
    if not _is_countable(event, args) or not is_met(args.app, data.get("app")):
        return
    is_there = judge_page(args.url, event, world)
    if is_there is False:
        return
    hidden = find_hidden(event, args.reads.places)
    judged = args.where is None or args.where.judged(data, hidden.judge)
    if judged is False:
        return
    distinct = split_path(args.distinct) if args.distinct else None
    key = "observed" if distinct is None else f"observed:{value_at(data, distinct)}"
    reading = Reading(1.0, key)
    if judged is None or (distinct is not None and hidden.hides(distinct)):
        raise UnseenError(hidden.reason, reading)
    yield from reading_on_page(is_there, reading, event, world)


def _is_countable(event: Event, args: ObservedArgs) -> bool:
    """Whether it is no doing of page script and no state of a window that opened, unless the rule
    asks about those itself."""
    if by_script(event) and not _asks_about(args, "trusted"):
        return False
    return event.data.get("initial") is not True or _asks_about(args, "initial")


def _asks_about(args: ObservedArgs, fact: str) -> bool:
    return args.where is not None and args.where.names(fact)
