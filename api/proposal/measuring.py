"""Which candidates the runs of a comparison meet, and where: the engine itself finds it, so that
what is proposed is what is paid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from api.proposal.candidates import TaskCandidate
from api.proposal.slots import Values, fill_task, with_slots
from api.proposal.states import state_candidates
from api.proposal.support import ConditionSupport, RecordedRun
from api.proposal.weighing import EVEN_WEIGHTS
from detectors.engine.engine import Engine
from detectors.model.codec import canonical
from detectors.model.json_value import JsonValue
from detectors.model.optional_values import without_none
from detectors.model.rewards import episode_total
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import TaskError, task_from_json

CandidateMaker = Callable[[Sequence[Event], str | None], Iterator[TaskCandidate]]
"""Makes candidates of a log's events and the task's site."""

MAX_CANDIDATES = 1_500


def score_log(rules: Ruleset, log: RecordedRun) -> float | None:
    """Return what a log is worth under the rules: the sum of its rewards, None where one of them is
    not known."""
    rewards = Engine(rules, log.events[0].episode).feed(log.events).rewards
    return episode_total(reward.reward for reward in rewards)


def keep_separating(
    candidates: Sequence[tuple[TaskCandidate, str]],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> list[ConditionSupport]:
    """Return those of the conditions that all successes met, and no failure."""
    found = measure_candidates(candidates, good, bad, origin)
    return [one for one in found if one.in_good == len(good) and not one.in_bad]


def collect_candidates(
    logs: Sequence[RecordedRun], origin: str | None, make: CandidateMaker
) -> list[tuple[TaskCandidate, str]]:
    """Return the candidates of all logs, each once, with the name of its first log."""
    found: dict[bytes, tuple[TaskCandidate, RecordedRun]] = {}
    for log in logs:
        for candidate in make(log.events, log.origin or origin):
            for one in (*with_slots(candidate, log.values), candidate):
                if len(found) < MAX_CANDIDATES:
                    # A body of one field is a whole body and a part of it: both are kept.
                    found.setdefault(canonical([one.part_of, dict(one.when)]), (one, log))
    return [
        (candidate, log.name)
        for candidate, log in found.values()
        if _is_valid(candidate, origin, [log.values, *(other.values for other in logs)])
    ]


def collect_state_candidates(
    good: Sequence[RecordedRun], origin: str | None
) -> list[tuple[TaskCandidate, str]]:
    """Return what the successes changed in the state that their application sent."""
    logs = [log.events for log in good]
    found = state_candidates(logs, [log.origin or origin for log in good])
    values = [log.values for log in good]
    return [(one, good[0].name) for one in found if _is_valid(one, origin, values)]


def measure_candidates(
    candidates: Sequence[tuple[TaskCandidate, str]],
    good: Sequence[RecordedRun],
    bad: Sequence[RecordedRun],
    origin: str | None,
) -> list[ConditionSupport]:
    """Return where each candidate is met, as the engine finds it."""
    if not candidates:
        return []
    met = [_first_met([one for one, _ in candidates], log, origin) for log in (*good, *bad)]
    supports = []
    for number, (candidate, name) in enumerate(candidates):
        places = [of[number] for of in met]
        in_good = without_none(places[: len(good)])
        in_failures = tuple(places[len(good) :])
        supports.append(
            ConditionSupport(candidate, name, len(in_good), tuple(in_good), in_failures)
        )
    return supports


def _is_valid(candidate: TaskCandidate, origin: str | None, fillings: Sequence[Values]) -> bool:
    """Return whether a task may say so, with the values of each run: what pages wrote need not be
    a value that a rule takes."""
    task = build_trial_task([candidate], origin)
    try:
        task_from_json(fill_task(task, fillings[0]))
        if fillings[0]:
            for values in fillings[1:]:
                task_from_json(fill_task(task, values))
    except TaskError:
        return False
    return True


def _first_met(
    candidates: Sequence[TaskCandidate], log: RecordedRun, origin: str | None
) -> list[float | None]:
    """Return where in a log each candidate was met first, as a share of it; None: nowhere."""
    task = fill_task(build_trial_task(candidates, log.origin or origin), log.values)
    rules = compile_task(task_from_json(task))
    engine = Engine(rules, log.events[0].episode)
    places: dict[str, float] = {}
    for milestone in engine.feed(log.events).milestones:
        place = max(milestone.evidence, default=0) / len(log.events)
        places.setdefault(milestone.id, place)
    return [places.get(f"m{number}") for number in range(len(candidates))]


def build_trial_task(
    candidates: Sequence[TaskCandidate], origin: str | None
) -> dict[str, JsonValue]:
    """Return a task with one milestone a candidate, to score recordings by."""
    milestones: list[JsonValue] = [
        {"id": f"m{number}", "when": dict(candidate.when)}
        for number, candidate in enumerate(candidates)
    ]
    task: dict[str, JsonValue] = {
        "id": "proposal",
        "version": "1",
        "instruction": "proposal",
        "weights": dict(EVEN_WEIGHTS),
        "milestones": milestones,
    }
    return {**task, "origin": origin} if origin else task
