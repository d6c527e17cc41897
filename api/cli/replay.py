"""`milestoned replay RECORDING --task FILE`: rewards from a recording, with no browser and no
service."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from api.cli.common import Overrides, OwnCreditTo
from api.cli.other_site import note_other_site
from api.replay.recordings import RecordingError, play, read_recording
from api.rewards.rendering import GOAL, is_beside_penalty, total_in_words
from api.tasks.task_files import BadTaskError, load_task_file
from api.verdicts.recorded import Playback
from common.command_line import option
from detectors.engine.attribution import OwnCredit, causes_of, credit
from detectors.engine.gaps import is_never_reported
from detectors.model.codec import canonical
from detectors.model.kinds import KINDS
from detectors.model.optional_values import without_none
from detectors.model.rewards import encode_reward, reward_to_json
from detectors.model.rewards import total as sum_of
from detectors.model.types import Milestone, Reward
from detectors.task.ruleset import Ruleset, compile_task

MAX_UNPAID = 5
"""Milestones that a note names."""


def run(
    recording: Annotated[Path, option("the recording to score", "RECORDING")],
    /,
    *,
    task: Annotated[Path, option("the task file to score it by", "FILE")],
    set_: Overrides = (),
    json: Annotated[
        bool, option("one reward a line, the very bytes that the service gives")
    ] = False,
    credit_to: OwnCreditTo = "as_paid",
) -> int:
    """Replay the recording and print its rewards; return the exit code."""
    try:
        ruleset = _ruleset(task, dict(set_))
        playback = play(recording, ruleset)
    except BadTaskError as error:
        for problem in error.problems:
            print(f"{task}: {problem}", file=sys.stderr)
        return 1
    except RecordingError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    is_other_site = _note_origin(playback, recording)
    credits = _credits(playback, ruleset, credit_to)
    if json:
        _print_json(playback.rewards, credits)
        return 0
    _print_lines(playback.rewards, credits)
    print(_summary(playback))
    note = _next_command(playback, _explain_command(task, recording, set_))
    if note and not (is_other_site and _is_known(playback)):
        print(f"note: {note}", file=sys.stderr)
    return 0


def _note_origin(playback: Playback, recording: Path) -> bool:
    """Note where the recording was made for another task, or on another site; return whether it was
    on another site."""
    ruleset, recorded_under = playback.engine.ruleset, playback.engine.recorded_under
    if recorded_under == ruleset.digest:
        return False
    if recorded_under is not None:
        _note_other_ruleset(str(recorded_under), playback, recording)
    events = (event for segment in read_recording(recording) for event in segment.events)
    return note_other_site(ruleset, events)


def _is_known(playback: Playback) -> bool:
    """Return whether what every step needs was observed."""
    return all(reward.status != "unobserved" for reward in playback.rewards)


def _next_command(playback: Playback, explain: str) -> str:
    """Say what the command ``explain`` tells of these rewards; empty where nothing is open."""
    if not _is_known(playback):
        return (
            "null is not 0: what a rule needs was not observed. Which milestones depend on it:"
            f" {explain}; what to do about each reason: docs/how-to/null-rewards.md"
        )
    unpaid = _list_unpaid(playback)
    return f"{unpaid}. What came nearest: {explain}" if unpaid else ""


def _credits(
    playback: Playback, ruleset: Ruleset, credit_to: OwnCredit
) -> dict[int, float | None] | None:
    """Return each step's credit in a view, None where nothing is added to what was paid."""
    if credit_to == "as_paid":
        return None
    rewards = [reward_to_json(reward) for reward in playback.rewards]
    closed = playback.engine.closed
    return credit(rewards, causes_of(ruleset.task), credit_to, closed=closed)


def _note_other_ruleset(recorded: str, playback: Playback, recording: Path) -> None:
    """Note that the recording was made under the digest ``recorded``, and what it may lack."""
    ruleset = playback.engine.ruleset
    print(
        f"note: recorded under ruleset {recorded[:12]}, scored under {ruleset.digest[:12]}"
        " (another task, version or origin)",
        file=sys.stderr,
    )
    for kind in _missing_asked_kinds(recording, ruleset):
        if is_never_reported(playback.engine.state, kind):
            continue  # the reason of each step says so
        print(
            f"note: no {kind} is in the recording; the daemon reports it only if the task that"
            " was recorded asks for it (docs/events.md), so that 0 may mean not observed",
            file=sys.stderr,
        )


def _list_unpaid(playback: Playback) -> str:
    """Say which milestones never paid; empty where each did."""
    paid = {m.id for reward in playback.rewards for m in reward.milestones if not m.baseline}
    milestones = playback.engine.ruleset.task.milestones
    unpaid = [one.id for one in milestones if one.penalty is None and one.id not in paid]
    if not unpaid:
        return ""
    more = len(unpaid) - MAX_UNPAID
    return f"not paid: {', '.join(unpaid[:MAX_UNPAID])}{f' and {more} more' if more > 0 else ''}"


def _explain_command(task: Path, recording: Path, overrides: Overrides) -> str:
    """Return the command that says what became of each milestone."""
    changes = "".join(f" --set {key}={shlex.quote(value)}" for key, value in overrides)
    files = f"{shlex.quote(str(task))} {shlex.quote(str(recording))}"
    return f"milestoned task explain {files}{changes}"


def _missing_asked_kinds(recording: Path, ruleset: Ruleset) -> list[str]:
    """Return the asked kinds that a rule hears and the recording has no event of, where it does not
    say what its daemon was asked for; where it does, rewards are null by it."""
    missing = {kind for kind in ruleset.slots if kind in KINDS and KINDS[kind].asked}
    for segment in read_recording(recording):
        if segment.events[0].kind == "episode.opened" and "asked" in segment.events[0].data:
            return []
        missing.difference_update(event.kind for event in segment.events)
    return sorted(missing)


def _print_json(rewards: Sequence[Reward], credits: Mapping[int, float | None] | None) -> None:
    """Print the canonical rewards, or each with its step's credit where ``credits`` are given."""
    for reward in rewards:
        body = encode_reward(reward)
        if credits is not None:
            body = canonical({**reward_to_json(reward), "credit": credits[reward.step]})
        sys.stdout.buffer.write(body + b"\n")


def _print_lines(rewards: Sequence[Reward], credits: Mapping[int, float | None] | None) -> None:
    """Print each reward, and beside it what its step is credited."""
    for reward in rewards:
        print(describe(reward))
        if credits is not None:
            credited = credits[reward.step]
            print(f"          {'null' if credited is None else f'{credited:+.3f}'}  credited")


def _ruleset(path: Path, changed: dict[str, str]) -> Ruleset:
    """Compile a task's file, with the plug-ins only where it needs them. Raises `BadTaskError`."""
    try:
        return compile_task(load_task_file(path, changed))
    except BadTaskError:
        from api.cli.main import plugged_in

        if not plugged_in():
            sys.exit(2)
        return compile_task(load_task_file(path, changed))


def describe(reward: Reward) -> str:
    """One step for people: its reward, then each milestone with its evidence."""
    value = "null" if reward.reward is None else f"{reward.reward:+.3f}"
    lines = [f"step {reward.step:>3}  {value}  {reward.reason or ''}".rstrip()]
    for m in reward.milestones:
        cause = "" if m.cause_step is None else f", set in motion in step {m.cause_step}"
        events = ", ".join(map(str, m.evidence))
        lines.append(
            f"          {m.worth:+.3f}  {m.component:<6} {m.id}"
            f" ({m.rule}; events {events}{cause}{_unpaid(m, reward)})"
        )
    return "\n".join(lines)


def _unpaid(milestone: Milestone, reward: Reward) -> str:
    """Why a milestone was not paid, after a semicolon; empty where it was."""
    if reward.reward is None:
        return "; not paid, since the step is null"
    if is_beside_penalty(milestone.worth, reward.reason):
        return "; not paid, since only a penalty is known of the step"
    return ""


def _summary(playback: Playback) -> str:
    """Return the last line: total, masks, goal, and the ruleset's digest."""
    engine, values = playback.engine, [reward.reward for reward in playback.rewards]
    success = GOAL[playback.success]
    if not engine.closed:
        success = "open: the recording ends before the episode does"
    masked = f", {values.count(None)} masked" if None in values else ""
    seen = sum_of(without_none(values))
    total = total_in_words(playback.total, seen)
    return (
        f"total {total} of {engine.ruleset.attainable:g}{masked}; goal {success}; ruleset"
        f" {engine.ruleset.digest[:12]}"
    )
