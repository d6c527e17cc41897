"""A probe of the task answers what is wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from detectors.matchers.answer import ValueMatch
from detectors.matchers.facts import MAX_PATH_LENGTH, split_path, value_at
from detectors.model.errors import UnseenError
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import arg
from detectors.sdk.kept_back import MASKED, judge_fact
from detectors.sdk.probe_facts import answer_keys
from detectors.sdk.registry import rule
from detectors.sdk.world import World


@dataclass(frozen=True, slots=True)
class ProbeAnswersArgs:
    probe: str = arg("The id of a probe that the task declares.")
    value: ValueMatch = arg(
        "What it answers: a text or its matcher, a number, {min, max}, true, false or null."
    )
    path: str | None = arg(
        "A dotted path into the answer, such as body.items.0.id; without one, the whole.", None
    )

    def __post_init__(self) -> None:
        steps = split_path(self.path or "x")
        if not all(steps) or len(steps) > MAX_PATH_LENGTH:
            raise ValueError(
                f"path: a dotted path of at most {MAX_PATH_LENGTH} names, such as body.items.0.id"
            )


@rule(
    version=3,
    component="goal",
    hears=("probe.answered",),
    args=ProbeAnswersArgs,
    index_args=lambda args: (args.probe,),
    index_event=answer_keys,
    single=lambda args: True,
)
def probe_answers(event: Event, world: World, args: ProbeAnswersArgs) -> Iterator[Reading]:
    """The result of a probe, which the task declares under `probes`, matches. True until the probe
    gives another result; a result that matched at the start earns nothing.

    While a probe fails, its result is too long to be recorded whole, or what is asked of it is
    masked as a secret, the steps that depend on it are unobserved, not worth 0.
    """
    data = event.data
    if data.get("probe") != args.probe:
        return
    if data.get("cut") is True:
        raise UnseenError(
            "the probe's answer was too long to keep whole", Reading(1.0, f"probe:{args.probe}")
        )
    value = data.get("value")
    value = value if args.path is None else value_at(value, split_path(args.path))
    reading = Reading(1.0, f"probe:{args.probe}")
    is_so = args.value.judged(value, judge_fact)
    if is_so is None:
        raise UnseenError(MASKED, reading)
    if is_so:
        yield reading
