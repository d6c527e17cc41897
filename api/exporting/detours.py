"""Which steps of an episode led nowhere: detours, which `--purified` leaves out of chat data.

A detour is a run of steps that ended in the observed state in which it began and had no effect that
the log shows. A step with a reward that is not known is never part of one, nor is the last step,
which is how the agent ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from api.rewards.observation import ObservationJson
from api.rewards.trajectory import TransitionJson
from detectors.model.codec import canonical
from detectors.model.rewards import RewardJson
from detectors.model.types import Event

IDLE = "idle: the observed state stayed as it was"
LOOP = "loop: steps {} to {} ended in the observed state in which step {} began"
BOUNDARIES = frozenset(("step.began", "step.ended", "step.sealed", "reward.estimated"))
LOOKING = frozenset(
    (
        *("tab.opened", "tab.activated", "tab.closed"),
        *("page.navigated", "page.parsed", "page.loaded", "page.network_idle"),
        *("page.title_changed", "page.scrolled", "frame.detached"),
        *("request.redirected", "request.response_started", "request.finished", "request.failed"),
        *("element.focused", "element.hovered", "element.appeared", "element.disappeared"),
        *("attribute.changed", "text.appeared", "text.disappeared", "text.shown", "text.selected"),
        *("window.activated", "window.title_changed", "widget.focused"),
        *("screen.captured", "visual.dom_recorded", "visual.screenshot_taken"),
        "visual.tree_recorded",
    )
)
"""Kinds of what happens where an agent only looks around."""
CLICKS = frozenset(("element.clicked", "element.pressed"))
"""Kinds that are an effect of their own, unless the step went to another page by them."""
SAFE_METHODS = frozenset(("GET", "HEAD"))


def find_detours(steps: Sequence[TransitionJson], events: Iterable[Event]) -> dict[int, str]:
    """Return the numbers of the steps that led nowhere, each with why.

    ``steps``: those in which the agent acted, in order, with their rewards; ``events``: the
    episode's log. Of two detours that overlap the one that began first counts, as far as it goes.
    """
    without_effect = _steps_without_effect(events)
    detours: dict[int, str] = {}
    place = 0
    while place < len(steps) - 1:
        end = _end_of_detour(steps, place, without_effect)
        if end is None:
            place += 1
            continue
        first, last = steps[place]["step"], steps[end]["step"]
        reason = IDLE if first == last else LOOP.format(first, last, first)
        detours.update((step["step"], reason) for step in steps[place : end + 1])
        place = end + 1
    return detours


def _end_of_detour(
    steps: Sequence[TransitionJson], place: int, without_effect: Mapping[int, bool]
) -> int | None:
    """Return the place of the last step that ended where the one at ``place`` began; None: none
    did."""
    began = _state(steps[place]["observation"])
    end = None
    for at in range(place, len(steps) - 1):
        step = steps[at]
        if not (without_effect.get(step["step"], False) and _earned_nothing(step["reward"])):
            break
        if step["next_observation"] is not None and _state(step["next_observation"]) == began:
            end = at
    return end


def _state(observation: ObservationJson) -> bytes:
    """Return what has to be the same for a step to have led nowhere; where an agent looks on the
    way (focus, pictures, what is shown) is not part of it."""
    same = ("tabs", "filled_fields", "files", "dialog")
    return canonical({part: observation[part] for part in same})  # type: ignore[literal-required]


def _earned_nothing(reward: RewardJson | None) -> bool:
    """Whether the step is known to have earned nothing: it is sealed, worth 0 and reached
    nothing."""
    if reward is None or reward["status"] != "sealed" or reward["reason"] is not None:
        return False
    return reward["reward"] == 0 and not reward["milestones"]


def _steps_without_effect(events: Iterable[Event]) -> dict[int, bool]:
    """Return step → whether the log shows no effect of it."""
    without_effect: dict[int, bool] = {}
    clicked: set[int] = set()
    went: set[int] = set()
    step = -1
    for event in events:
        if event.kind == "step.began":
            step = event.data["step"]
            without_effect[step] = True
        elif event.kind == "page.navigated" and event.data.get("main"):
            went.add(step)
        elif event.kind in CLICKS:
            clicked.add(step)
        elif not _only_looks(event):
            without_effect[step] = False
    for step in clicked - went:
        without_effect[step] = False
    return without_effect


def _only_looks(event: Event) -> bool:
    """Whether an event changes nothing: a request that only reads, or a look at the page."""
    if event.kind == "request.sent":
        return event.data.get("method") in SAFE_METHODS
    return event.kind in LOOKING or event.kind in BOUNDARIES
