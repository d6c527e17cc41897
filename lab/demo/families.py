"""`milestoned demo FAMILY`: a task of desktop work, done right and done wrong, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Literal, get_args

from api.replay.task_tests import read_log
from api.rewards.explaining import Explained, of_events
from api.rewards.rendering import GOAL, total_in_words, unpaid_in_words
from api.tasks.task_files import load_task_file
from api.verdicts.recorded import Playback
from detectors.model.rewards import total
from detectors.model.types import Milestone, Reward
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_to_json
from lab.demo.live_run import AgentCommand, LiveRun, run_agent
from lab.demo.mail_desktop import run_mail_agent
from lab.demo.parts import DemoService, example_folder, start_site
from lab.demo.processes import DemoProcesses
from lab.demo.show import DemoScreen

if TYPE_CHECKING:
    from milestoned_client import Episode

Family = Literal["web", "form", "files", "mail", "mail-desktop", "settings", "search"]
FAMILIES: tuple[Family, ...] = get_args(Family)
DESKTOP_FAMILIES: tuple[Family, ...] = ("mail-desktop",)
"""Families whose program is no browser."""
RunKind = Literal["right", "wrong"]
RUNS: tuple[RunKind, ...] = get_args(RunKind)

_NAME, _WORTH, _CELL = 12, 8, 22
_WIDTH = 110


@dataclass(frozen=True, slots=True)
class FamilyRuns:
    """What the runs of a family came to, by "right" and "wrong"; and the ids of their episodes."""

    ruleset: Ruleset
    runs: Mapping[str, LiveRun]
    episodes: Mapping[str, str]

    @property
    def recordings(self) -> dict[str, Path]:
        """The file of each run, by "right" and "wrong"."""
        return {kind: run.recording for kind, run in self.runs.items()}

    @property
    def are_equal(self) -> bool:
        """Whether each recording replays to the same bytes."""
        return not any(run.same.unlike for run in self.runs.values())


def family_task(family: Family) -> Path:
    """Where a family's task file is."""
    return example_folder("office") / f"{family}.yaml"


def run_family(
    parts: DemoProcesses,
    work: Path,
    screen: DemoScreen,
    service: DemoService,
    family: Family,
    out: Path,
    *,
    chromium: str,
    headed: bool = False,
    port: int = 0,
) -> FamilyRuns:
    """Run a family's right and wrong run, each in a browser and an episode of its own, and write
    ``out/FAMILY.RUN.mrec``. ``port``: the site's, if not a free one. Raises `PartFailedError`."""
    site = start_site(parts, work / f"office-{family}", "office", port=port)
    ruleset = compile_task(load_task_file(family_task(family), {"origin": site.rstrip("/")}))

    def run(kind: RunKind, episode: Episode, recording: Path) -> LiveRun:
        name = f"{family}-{kind}"
        more = ("--family", family, "--run", kind)
        command = AgentCommand("office", site, chromium, headed, more, name)
        return run_agent(parts, work / name, screen, service, episode, ruleset, command, recording)

    _introduce(screen, ruleset, f"a small office of ours at {site}")
    return run_both(screen, service, family, ruleset, out, run)


def run_mail_desktop(
    parts: DemoProcesses, work: Path, screen: DemoScreen, service: DemoService, out: Path
) -> FamilyRuns:
    """Run the right and the wrong run in Thunderbird, each with its own desktop, mail server and
    episode, and write ``out/mail-desktop.RUN.mrec``. Raises `PartFailedError`."""
    ruleset = compile_task(load_task_file(family_task("mail-desktop")))

    def run(kind: RunKind, episode: Episode, recording: Path) -> LiveRun:
        folder = work / f"mail-desktop-{kind}"
        with DemoProcesses(folder / "logs") as own:
            return run_mail_agent(own, folder, screen, service, episode, ruleset, kind, recording)

    _introduce(screen, ruleset, "Thunderbird, unseen")
    return run_both(screen, service, "mail-desktop", ruleset, out, run)


def run_both(
    screen: DemoScreen,
    service: DemoService,
    family: Family,
    ruleset: Ruleset,
    out: Path,
    run: Callable[[RunKind, Episode, Path], LiveRun],
) -> FamilyRuns:
    """Let ``run`` do the right run and then the wrong one, each in an episode of its own that it is
    given with the file to record to, ``out/FAMILY.RUN.mrec``."""
    from milestoned_client import RewardClient

    runs: dict[str, LiveRun] = {}
    episodes: dict[str, str] = {}
    with RewardClient(service.url, service.token) as client:
        task = client.register_task(task_to_json(ruleset.task))
        for kind in RUNS:
            screen.line()
            screen.line(screen.paint(f"the {kind} run", "bold"))
            episode = client.open(task, labels={"from": "demo", "run": kind})
            runs[kind] = run(kind, episode, out / f"{family}.{kind}.mrec")
            episodes[kind] = episode.id
    return FamilyRuns(ruleset, runs, episodes)


def _introduce(screen: DemoScreen, ruleset: Ruleset, place: str) -> None:
    """Write the instruction and where it is carried out."""
    screen.line(screen.paint(ruleset.task.instruction, "bold"))
    screen.line(f"task {ruleset.task.id}, at most {ruleset.attainable:g}; {place}")


def show_side_by_side(screen: DemoScreen, ruleset: Ruleset, recordings: Mapping[str, Path]) -> None:
    """Write a table of what each milestone was worth in either run, and why it was not paid;
    ``recordings``: by "right" and "wrong"."""
    told = {kind: _explain(ruleset, recordings[kind]) for kind in RUNS}
    screen.line(screen.paint(_row("milestone", "worth", "right run", "wrong run"), "bold"))
    ends = [told[kind][1] for kind in RUNS]
    for explained in zip(*(told[kind][0] for kind in RUNS), strict=True):
        _show_milestone(screen, explained, ends)
    at_most = f"{ruleset.attainable:g}"
    totals = [f"{total_in_words(end.total)} of {at_most}" for end in ends]
    screen.line(screen.paint(_row("total", at_most, *totals), "bold"))
    screen.line(_row("goal", "", *(GOAL[end.success] for end in ends)))


def _say(screen: DemoScreen, line: str, style: str) -> None:
    """Write a line below a milestone, folded where it is too long, as deep as it is indented."""
    indent = " " * (4 + len(line) - len(line.lstrip()))
    for part in wrap(line.strip(), _WIDTH - len(indent), subsequent_indent="    "):
        screen.line(screen.paint(f"{indent}{part}", style))


def _explain(ruleset: Ruleset, recording: Path) -> tuple[list[Explained], Playback]:
    events, verdicts = read_log(recording)
    return of_events(ruleset, events, events[0].episode, verdicts)


def _row(name: str, worth: str, right: str, wrong: str) -> str:
    return f"{name:<{_NAME}}{worth:>{_WORTH}}   {right:<{_CELL}}{wrong}".rstrip()


def _show_milestone(
    screen: DemoScreen, explained: Sequence[Explained], ends: Sequence[Playback]
) -> None:
    """Write one milestone's row, what it waits for, and why a run was not paid for it."""
    first = explained[0]
    cells = [_paid(end, first.id) for end in ends]
    screen.line(_row(first.id, f"{first.worth:g}", *cells))
    for line in first.waits:
        _say(screen, line, "dim")
    for kind, one in zip(RUNS, explained, strict=True):
        for line in _why_not(one):
            _say(screen, f"{kind} run: {line}", "yellow")


def _paid(playback: Playback, milestone: str) -> str:
    """What a milestone was paid in a run and in which step; 0 where it did not come true, and not
    known where it came true in a step whose reward is not known, or of which only a penalty is."""
    steps: dict[int, None] = {}
    worths: list[float] = []
    for reward, one in _came_true(playback, milestone):
        if unpaid_in_words(reward.status, mask=reward.mask, worth=one.worth, reason=reward.reason):
            return f"not known in step {one.step}"
        steps[one.step] = None
        worths.append(one.worth)
    if not worths:
        return "0"
    numbers = ", ".join(map(str, steps))
    return f"{total(worths):+g} in step {numbers}"


def _came_true(playback: Playback, milestone: str) -> Iterator[tuple[Reward, Milestone]]:
    """Each time that a milestone came true in a run, with the reward of its step; what was so from
    the start is left out."""
    for reward in playback.rewards:
        for one in reward.milestones:
            if one.id == milestone and not one.baseline:
                yield reward, one


def _why_not(one: Explained) -> Iterator[str]:
    """What a milestone that did not pay in full lacked: what came nearest to it."""
    last = "".join(one.became[-1:])
    if last.startswith("paid"):
        return
    for line in one.became:
        if line != "did not pay" and not line.startswith("paid"):
            yield line.strip()
