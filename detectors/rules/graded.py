"""A number, a text or a list of an event, graded: a part of it pays a part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from detectors.matchers import FactsMatch, Grade, TextMatch, UrlMatch
from detectors.matchers.facts import MAX_PATH_LENGTH, split_path, value_at
from detectors.matchers.masked import is_masked
from detectors.model.errors import UnseenError
from detectors.model.kinds import KINDS
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg, is_met
from detectors.sdk.condition_reads import Read, Reads, asks_of_reads, check_reads, reads_of_facts
from detectors.sdk.decorators import by_script, check_kind
from detectors.sdk.documents import judge_page, loaded_arg, reading_on_page
from detectors.sdk.kept_back import MASKED, find_hidden
from detectors.sdk.registry import rule
from detectors.sdk.world import World

_OF_AGENT = ("agent.answered", "agent.tool_called", "agent.tool_returned")
"""Kinds that the harness reports and that may be graded."""


@dataclass(frozen=True, slots=True)
class GradedArgs:
    kind: str = arg("The kind of event, such as agent.answered; docs/events.md lists them.")
    value: str = arg("The path of what is graded in the event, such as text or value.rows.")
    grade: Grade = arg(
        "How: {linear: {from: 100, to: 0}}, {tiers: [{at_most: 5, pays: 1}, {at_most: 20, pays:"
        " 0.5}]}, {f1: text}, {bleu: text}, {share: 12} of a number, {share: [texts]} of the items"
        " of a list; `from` beside a likeness or a share: below it nothing is paid."
    )
    where: FactsMatch | None = arg(
        "Facts that the event must carry: dotted paths into its data, such as {probe: rows}.", None
    )
    app: TextMatch | None = arg("Only of this application (desktop kinds).", None)
    url: UrlMatch | None = arg("Only in a frame at this address (browser kinds).", None)
    loaded: bool | None = loaded_arg()
    anywhere: bool = arg(
        "Also on pages of other sites than the task's `origin` and `hosts`, or of no site.",
        False,
    )

    def __post_init__(self) -> None:
        if self.kind not in _OF_AGENT:
            check_kind(self.kind)
        if not all(self.path) or len(self.path) > MAX_PATH_LENGTH:
            raise ValueError(f"value: a dotted path of at most {MAX_PATH_LENGTH} names")
        check_reads(self.kind, self.reads)
        fields = {field.removesuffix("?") for field in KINDS[self.kind].fields}
        for name, given, needed in (("app", self.app, "app"), ("url", self.url, "frame")):
            if given is not None and needed not in fields:
                raise ValueError(f"{name}: {self.kind} does not say of which {needed} it is")

    @property
    def path(self) -> tuple[str, ...]:
        """The steps to what is graded."""
        return split_path(self.value)

    @property
    def probe(self) -> TextMatch | None:
        """The probe that is read, where one is named: a gap of another one leaves this known."""
        facts = () if self.where is None else self.where.facts
        named = [wanted for path, wanted in facts if path == ("probe",)]
        return named[0] if named and isinstance(named[0], TextMatch) else None

    @property
    def reads(self) -> Reads:
        """What it reads of an event."""
        reads = reads_of_facts(self.where)
        return Reads((*reads.places, Read(self.path)), reads.wanted)

    def asks(self) -> dict[str, list[Any]]:
        """What is reported only because it is read here."""
        return asks_of_reads(self.kind, self.reads)


@rule(
    version=6,
    component="goal",
    args=GradedArgs,
    hears_of=lambda args: (args.kind,),
    single=lambda _: True,
)
def graded(event: Event, world: World, args: GradedArgs) -> Iterator[Reading]:
    """What stands at `value` in an event of this kind, as a level from 0 to 1: a distance, tiers of
    a number, the likeness of a text to another (F1 of its words, BLEU), the share of what was to be
    there. Numbers may be JSON numbers or texts of them.

    The level is that of the latest such event; the milestone has paid the best so far, and pays
    what a later one is better. With `must_hold_at_end` the latest decides. What is no number, or no
    text, is worth 0; of a secret that was kept back, and of what was cut, the step is null.
    Actions of a page's script (`trusted: false`) do not count, unless `where` names `trusted`.
    """
    is_there = judge_page(args.url, event, world)
    if is_there is False or not _is_asked_for(event, args):
        return
    data = event.data
    hidden = find_hidden(event, args.reads.places)
    judged = args.where is None or args.where.judged(data, hidden.judge)
    if judged is False:
        return
    key = f"probe:{data.get('probe')}" if event.kind == "probe.answered" else "graded"
    if data.get("cut") is True:
        raise UnseenError("what is graded was too long to be reported whole", Reading(1.0, key))
    if judged is None or hidden.hides(args.path):
        raise UnseenError(hidden.reason, Reading(1.0, key))
    value = value_at(data, args.path)
    reading = Reading(args.grade.level(value) or 0.0, key)
    if _hangs_on_mask(args, reading.level, value):
        # An item of a list, of which some share is there; none, where the page is not known.
        raise UnseenError(MASKED, Reading(1.0, key), reading if is_there else None)
    yield from reading_on_page(is_there, reading, event, world)


def _hangs_on_mask(args: GradedArgs, level: float, value: object) -> bool:
    """Whether a share of a list may be larger by an item that the daemon masked."""
    return args.grade.way == "share" and level < 1 and is_masked(value)


def _is_asked_for(event: Event, args: GradedArgs) -> bool:
    """Whether ``event`` is of the app that ``args`` name, and a script's act only where `where`
    names `trusted`."""
    names_trusted = args.where is not None and args.where.names("trusted")
    if by_script(event) and not names_trusted:
        return False
    return is_met(args.app, event.data.get("app"))
