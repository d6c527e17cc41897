"""A judge decides."""

from __future__ import annotations

from collections.abc import Iterator

from detectors.model.types import Event, Reading
from detectors.sdk.registry import rule
from detectors.sdk.tier_rules import Judged
from detectors.sdk.world import World


@rule(component="goal", args=Judged, alone=True)
def judge(event: Event, world: World, args: Judged) -> Iterator[Reading]:
    """The judge decides that the rubric is met. No event meets this condition: the question is
    queued when the step is sealed.

    Only as the whole of a milestone's `when`; the share of criteria that are met is the
    milestone's level, and an abstention leaves the step's reward null. See docs/cascade.md.
    """
    return iter(())
