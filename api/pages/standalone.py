"""An episode as one HTML file that opens anywhere: no network, no script, no service.

What agents and sites wrote is escaped by the templates, as on the other pages; the file's own
Content-Security-Policy lets nothing but its own style through.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from api.exporting.rows import Exported, scored_result
from api.pages.curve import HEIGHT, WIDTH, curve
from api.pages.episode_view import list_milestones
from api.pages.render import read_static, render
from api.replay.recordings import read_frames
from api.rewards.scored_episode import Result, ruleset_of
from api.timeline.timeline import Outline, Span, TimelineRow, fold_lines
from detectors.model.rewards import MilestoneJson, RewardJson
from detectors.model.types import Event

MAX_LINES = 400
"""Lines of one step; of those beyond, the file has what is evidence."""
STYLES = ("pages.css", "episode.css", "standalone.css")


@dataclass(slots=True)
class CoverageGap:
    """What a source did not observe, from event ``began`` until ``ended``; None: until the end."""

    source: str
    part: str
    reason: str
    began: int
    at: int
    key: str
    ended: int | None = None


class StepPart(NamedTuple):
    """A step as the file has it. ``left_out``: how many lines it does not show."""

    span: Span
    reward: RewardJson | None
    lines: list[TimelineRow]
    left_out: int


def write_pages(folder: Path, episodes: Iterable[Exported]) -> int:
    """Write a file of each episode into ``folder``, named after it; how many. Raises
    `RecordingError`, `TaskError`."""
    folder.mkdir(parents=True, exist_ok=True)
    written: set[str] = set()
    for exported in episodes:
        name = _file_name(exported.name, written)
        part = folder / f"{name}.part"
        part.write_text(render_episode(exported), encoding="utf-8")
        part.replace(folder / name)
    return len(written)


def _file_name(name: str, taken: set[str]) -> str:
    """Return a new file's name for an episode's id or recording's path, and add it to ``taken``."""
    stem = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(name).stem).strip("-")[:120] or "episode"
    numbered = (f"{stem}-{number}" for number in count(2))
    chosen = next(one for one in chain([stem], numbered) if one.lower() not in taken)
    taken.add(chosen.lower())
    return f"{chosen}.html"


def render_episode(exported: Exported) -> str:
    """Return the file of one episode. Raises `RecordingError`, `TaskError`."""
    assert exported.task is not None, "what is exported comes with its task"
    segments = list(read_frames(exported.content, exported.name))
    result = scored_result(exported, segments)
    events = [event for segment in segments for event in segment.events]
    outline = Outline()
    for event in events:
        outline.take(event)
    rewards = result["rewards"]
    drawn = curve(rewards)
    reached = [*result["baseline"], *_milestones_of(rewards)]
    evidence = frozenset(seq for milestone in reached for seq in milestone["evidence"])
    task = ruleset_of(exported.task).task
    steps = _steps(outline, events, rewards, evidence)
    return render(
        "standalone.html",
        styles=[read_static(name) for name in STYLES],
        episode=_facts(exported.facts, result),
        task=task,
        milestones=list_milestones(task, reached),
        curve=drawn,
        used={bar.component for bar in drawn.bars} if drawn else set(),
        width=WIDTH,
        height=HEIGHT,
        paid={reward["step"]: reward for reward in rewards},
        steps=steps,
        closing=_closing_rewards(steps, rewards),
        gaps=_gaps(events, outline),
        here=None,
    )


def _milestones_of(rewards: Sequence[RewardJson]) -> Iterator[MilestoneJson]:
    for reward in rewards:
        yield from reward["milestones"]


def _closing_rewards(steps: Sequence[StepPart], rewards: Sequence[RewardJson]) -> list[RewardJson]:
    """Return the rewards of no step: what the close decided."""
    shown = {part.span.step for part in steps}
    return [reward for reward in rewards if reward["step"] not in shown]


def _facts(facts: Mapping[str, object], result: Result) -> dict[str, Any]:
    """Return what the head says; a recording has no labels and no times."""
    return {
        "episode": result["episode"],
        "task": result["task"],
        "version": result["version"],
        "digest": result["ruleset"],
        "head": result["head"],
        "through": result["through"],
        "status": "closed" if result["closed"] else "open",
        "success": result["success"],
        "total": result["total"],
        "masked": sum(reward["mask"] for reward in result["rewards"]),
        "labels": facts.get("labels", {}),
        "opened_at": facts.get("opened_at"),
        "closed_at": facts.get("closed_at"),
    }


def _steps(
    outline: Outline,
    events: Sequence[Event],
    rewards: Sequence[RewardJson],
    evidence: frozenset[int],
) -> list[StepPart]:
    """Return the steps in order, each with its events as lines; events are numbered from 1."""
    by_step = {reward["step"]: reward for reward in rewards}
    parts = []
    for span in outline.spans:
        lines = fold_lines(events[span.first - 1 : span.last], evidence)
        shown = lines[:MAX_LINES] + [line for line in lines[MAX_LINES:] if line.marked]
        reward = None if span.step is None else by_step.get(span.step)
        parts.append(StepPart(span, reward, shown, len(lines) - len(shown)))
    return parts


def _gaps(events: Sequence[Event], outline: Outline) -> list[CoverageGap]:
    """Return what was not observed, in the order in which it began."""
    gaps: list[CoverageGap] = []
    for event in events:
        if event.kind not in ("gap.began", "gap.ended"):
            continue
        source, part = str(event.data["source"]), str(event.data.get("part", ""))
        if event.kind == "gap.ended":
            for gap in gaps:
                if gap.ended is None and (gap.source, gap.part) == (source, part):
                    gap.ended = event.seq
            continue
        key = outline.span_of(event.seq).key
        reason = str(event.data["reason"])
        gaps.append(CoverageGap(source, part, reason, event.seq, event.at, key))
    return gaps
