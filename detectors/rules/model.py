"""The reward model decides."""

from __future__ import annotations

from collections.abc import Iterator

from detectors.model.types import Event, Reading
from detectors.sdk.registry import rule
from detectors.sdk.tier_rules import Judged
from detectors.sdk.world import World


@rule(component="goal", args=Judged, alone=True)
def model(event: Event, world: World, args: Judged) -> Iterator[Reading]:
    """The reward model's score is the milestone's level. No event meets this condition: the model
    is called when the step is sealed.

    Only as the whole of a milestone's `when`; an abstention leaves the step's reward null. See
    docs/cascade.md.
    """
    return iter(())
