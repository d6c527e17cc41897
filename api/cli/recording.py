"""`milestoned recording show|verify`: what is in a recording, and whether it is as it was
written."""

from __future__ import annotations

import itertools
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import orjson

from api.cli.recording_sizes import RecordingSizes
from api.replay.recording_check import findings, findings_of_said
from api.replay.recordings import RecordingError, layout_of, read_bodies, read_file, read_frames
from api.rewards.event_text import clip, line, telling
from api.verdicts.recorded import DECIDED, GIVEN
from common.command_line import new_app, option
from detectors.model.codec import GENESIS, canonical, sha256
from detectors.model.kinds import KINDS
from detectors.model.types import Event

SOUND, BROKEN, USAGE, OPEN = 0, 1, 2, 3
"""Exit codes: sound, closed; changed, cut or no recording; no such file or kind; sound, open."""
MAX_FINDINGS = 20
MAX_NAME = 100
"""Characters of a kind's or a source's name that are remembered."""


app = new_app("recording", "Show what is in a recording, verify that it is as it was written.")

Recording = Annotated[Path, option("a recording", "FILE")]


@app.command(name="show")
def run_show(
    recording: Recording,
    /,
    *,
    kinds: Annotated[
        str | None,
        option("only these kinds, or nouns: page.navigated, request, ...", "KIND,..."),
    ] = None,
    steps: Annotated[bool, option("a line a step instead of a line an event")] = False,
    json: Annotated[bool, option("one event a line: [seq, at, source, kind, data]")] = False,
    sizes: Annotated[bool, option("how many bytes each kind of event takes instead")] = False,
    verdicts: Annotated[
        bool, option("the verdicts of model, judge and person instead, one a line as JSON")
    ] = False,
    conditions: Annotated[
        bool,
        option("the events that meet conditions, with those, as lines for a task's milestones"),
    ] = False,
    origin: Annotated[
        str | None,
        option("with --conditions: the site (default: where most pages were opened)", "URL"),
    ] = None,
) -> int:
    """Show the events as lines, and what they come to."""
    selected = set(kinds.split(",")) if kinds else None
    if sizes:
        return _guarded(lambda: _show_sizes(recording))
    if conditions:
        return _guarded(lambda: _show_conditions(recording, selected, origin))
    return _guarded(lambda: show(recording, selected, steps=steps, json=json, verdicts=verdicts))


@app.command(
    name="verify",
    help_epilogue=(
        "exit codes: 0 sound and closed; 1 changed, cut or no recording; 2 cannot be read; 3"
        " sound, but open"
    ),
)
def run_verify(
    recording: Recording,
    /,
    *,
    head: Annotated[
        str | None, option("the last segment's digest, as it was when it was written", "DIGEST")
    ] = None,
    verdicts_head: Annotated[
        str | None, option("the last verdict's digest, as a statement has it", "DIGEST")
    ] = None,
) -> int:
    """Check chains, numbers, clock, kinds and fields."""
    return _guarded(lambda: verify(recording, head, verdicts_head))


def _guarded(do: Callable[[], int]) -> int:
    """Work on a recording, and return the exit status: broken, sound, or used wrongly, each said on
    the error stream."""
    try:
        return do()
    except RecordingError as error:
        print(clip(str(error), 1000), file=sys.stderr)
        return BROKEN
    except BrokenPipeError:
        sys.stderr.close()  # whoever read it has enough
        return SOUND
    except OSError as error:
        print(f"{error.filename}: {error.strerror}; wanted a recording", file=sys.stderr)
        return USAGE


class _Passed:
    """What is known of a recording whose events went by, one segment at a time: no more than one is
    in memory."""

    def __init__(self, packed: bytes, path: Path) -> None:
        self._packed, self._path = packed, path
        self.segments, self.head = 0, GENESIS
        self.kinds: Counter[str] = Counter()
        self.sources: Counter[str] = Counter()
        self.steps: set[int] = set()
        self.open_gaps: dict[tuple[str, str], Gap] = {}
        self.last: Event | None = None

    def events(self) -> Iterator[Event]:
        """Yield each event of the recording and count it. Raises `RecordingError`."""
        for segment in read_frames(self._packed, self._path):
            self.segments, self.head = self.segments + 1, segment.digest
            self.last = segment.events[-1]._replace(data={})
            for event in segment.events:
                self._count(event)
                yield event
            del segment, event

    def _count(self, event: Event) -> None:
        """Count an event by kind and source, and note steps and gaps that are open."""
        self.kinds[event.kind[:MAX_NAME]] += 1
        self.sources[event.source[:MAX_NAME]] += 1
        if event.kind == "step.began":
            step = event.data.get("step")
            if type(step) is int:
                self.steps.add(step)
        elif event.kind == "gap.ended":
            self.open_gaps.pop(_gap_of(event)[:2], None)
        elif event.kind == "gap.began":
            gap = _gap_of(event)
            self.open_gaps.pop(gap[:2], None)  # the last that began comes last
            self.open_gaps[gap[:2]] = gap


class Gap(NamedTuple):
    """What is not seen: ``of`` is empty where it is all of its source."""

    source: str
    of: str
    reason: str


def _gap_of(event: Event) -> Gap:
    """Return what an event of a gap names."""
    data = event.data
    return Gap(_short(data.get("source")), _short(data.get("part")), _short(data.get("reason")))


def _short(value: object) -> str:
    """Return a value as a short text, "" for None."""
    return "" if value is None else clip(str(value), 400)


def show(
    recording: Path, selected: set[str] | None, *, steps: bool, json: bool, verdicts: bool
) -> int:
    """Print events, steps or JSON; raises as `read_frames`."""
    packed = read_file(recording)
    passed = _Passed(packed, recording)
    deque(passed.events(), maxlen=0)
    said = read_bodies(packed, recording)
    if verdicts:
        sys.stdout.buffer.write(b"".join(body + b"\n" for body in said))
        return SOUND
    events: Iterable[Event] = _Passed(packed, recording).events()
    if selected is not None:
        absent, present = _find_absent(selected, passed)
        unknown = [name for name in absent if name not in _KNOWN_NAMES]
        if unknown:
            print(
                f"--kinds {unknown[0]}: is not in {recording}; there are {present}",
                file=sys.stderr,
            )
            return USAGE
        for name in absent:
            print(f"note: --kinds {name}: none in {recording}", file=sys.stderr)
        events = (event for event in events if selected & _names_of(event.kind))
    if json:
        _print_json(events)
    else:
        lines = _steps(events) if steps else map(line, events)
        _print_lines(lines, passed, said)
    return SOUND


def _find_absent(selected: set[str], passed: _Passed) -> tuple[list[str], str]:
    """Return those of the selected kinds that a recording has not, and in words those that it
    has."""
    present: set[str] = set()
    for kind in passed.kinds:
        present |= _names_of(kind)
    return sorted(selected - present), ", ".join(sorted(present))


def _show_sizes(recording: Path) -> int:
    """Print what takes how much; raises as `read_frames`."""
    packed = read_file(recording)
    events = _Passed(packed, recording).events()
    print("\n".join(RecordingSizes.measure(events, len(packed)).lines()))
    return SOUND


def _show_conditions(recording: Path, selected: set[str] | None, origin: str | None) -> int:
    """Print each event that meets conditions, and these below it; raises as `read_frames`."""
    from api.suggestions.telling import condition_lines
    from api.suggestions.trial import MAX_EVENTS, TaskSite, find_site, suggest

    log = list(_Passed(read_file(recording), recording).events())
    if len(log) > MAX_EVENTS:
        print(
            f"{recording}: {len(log)} events; wanted at most {MAX_EVENTS} for --conditions",
            file=sys.stderr,
        )
        return USAGE
    site = TaskSite(origin) if origin else find_site(log)
    if site.origin:
        print(f"origin: {site.origin}")
    for one in suggest(log, site):
        is_selected = selected is None or bool(selected & _names_of(one.event.kind))
        if not is_selected:
            continue
        print(line(one.event))
        for text, _ in condition_lines(one.conditions):
            print(f"        {text}")
    return SOUND


def _names_of(kind: str) -> set[str]:
    """What ``--kinds`` may select a kind by: itself, or its noun."""
    return {kind, kind.partition(".")[0]}


_KNOWN_NAMES = frozenset().union(*map(_names_of, KINDS))
"""What ``--kinds`` may select, whether or not a recording has it."""


def _print_json(events: Iterable[Event]) -> None:
    """Print each event as a line of canonical JSON."""
    for event in events:
        row = [event.seq, event.at, event.source, event.kind, event.data]
        sys.stdout.buffer.write(canonical(row) + b"\n")


def _print_lines(lines: Iterable[str], passed: _Passed, said: list[bytes]) -> None:
    """Print the lines, then what the recording comes to."""
    for text in lines:
        print(text)
    print()
    for text in _summary(passed):
        print(text)
    print(f"{'digest':<9} {passed.head} (of the last of {passed.segments} segments)")
    if said:
        print(f"{'verdicts':<9} {_of_said(said)}, digest {sha256(said[-1])}")


def _of_said(said: list[bytes]) -> str:
    """Say how many verdicts a recording has, by stage, and how many steps were decided."""
    found = [orjson.loads(body) for body in said]
    stages = Counter(one["verdict"]["stage"] for one in found if one["kind"] == GIVEN)
    decided = sum(one["kind"] == DECIDED for one in found)
    words = ", ".join(f"{stage} {count}" for stage, count in sorted(stages.items()))
    return f"{stages.total()} words: {words or 'none'}; {decided} steps decided"


_GAPS = ("gap.began", "gap.ended", "events.dropped")
"""The kinds of the journal that say when a source did not observe."""


def _steps(events: Iterable[Event]) -> Iterator[str]:
    """A line for each step: when, what, and how many events of which kinds came in it."""
    head = ""
    counts: Counter[str] = Counter()
    for event in events:
        begins = event.kind == "step.began" or not head
        if begins and head:
            yield _step(head, counts)
        if begins:
            head = _head_of(event)
            counts = Counter()
        if _is_counted(event):
            counts[event.kind] += 1
    if head:
        yield _step(head, counts)


def _is_counted(event: Event) -> bool:
    """Whether an event is counted with its step: what a source observed, or that it did not."""
    return event.source not in ("steps", "journal") or event.kind in _GAPS


def _head_of(first: Event) -> str:
    """Return the beginning of a step's line: its number, when it began, and the action."""
    if first.kind == "step.began":
        name = f"step {first.data.get('step')}"
        doing = clip(telling(first), 50)
    else:
        name = "before"
        doing = ""
    return f"{name:<9} {first.at / 1e9:>10.3f} s  {doing:<50}"


def _step(head: str, counts: Counter[str]) -> str:
    """Return a step's line: how many events of each kind came in it."""
    said = ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()))
    return f"{head}  {said or 'nothing'}".rstrip()


def _summary(passed: _Passed) -> list[str]:
    """Return the lines on a whole recording: its end, sources, steps, and gaps that are open."""
    last = passed.last
    assert last is not None
    kinds = passed.kinds
    gaps = list(passed.open_gaps.values())
    is_closed = last.kind == "episode.closed"
    end = "closed" if is_closed else "open: it ends before its episode does"
    sources = ", ".join(f"{name} {count}" for name, count in sorted(passed.sources.items()))
    open_gaps = f", {len(gaps)} open at the end:" if gaps else ""
    return [
        f"{'episode':<9} {last.episode}, {last.at / 1e9:.3f} s, {end}",
        f"{'events':<9} {last.seq}: {sources}",
        f"{'steps':<9} {kinds['step.began']}, {kinds['step.sealed']} sealed before the next",
        f"{'gaps':<9} {kinds['gap.began']}{open_gaps}",
        *_gap_lines(gaps),
    ]


def _gap_lines(gaps: list[Gap]) -> Iterator[str]:
    """Yield a line for each reason of gaps: what is not seen for it."""
    by_reason: dict[str, list[str]] = {}
    for gap in gaps:
        part = f"{gap.source} {gap.of}".rstrip()
        by_reason.setdefault(gap.reason, []).append(part)
    for reason, parts in sorted(by_reason.items()):
        yield clip(f"{'':<9} {reason}: {', '.join(parts)}", 400)


def verify(recording: Path, wanted_head: str | None, wanted_verdicts_head: str | None) -> int:
    """Say whether the recording is sound; raises as `read_frames`."""
    packed = read_file(recording)
    passed, said = _Passed(packed, recording), read_bodies(packed, recording)
    events = passed.events()
    of_events = list(itertools.islice(findings(events), MAX_FINDINGS + 1))
    deque(events, maxlen=0)
    assert passed.last is not None
    head, last = passed.head, passed.last
    said_head = sha256(said[-1]) if said else GENESIS
    verdicts = [orjson.loads(body) for body in said]
    found: list[str] = []
    if wanted_verdicts_head not in (None, said_head):
        found.append(f"the last verdict's digest is {said_head}; wanted {wanted_verdicts_head}")
    if wanted_head not in (None, head):
        found.append(f"the last segment's digest is {head}; wanted {wanted_head}")
    if layout_of(packed, recording).checksum is None:
        found.append(
            "no checksum stands at its end: it was cut there, or was never written as a recording"
            " file"
        )
    found += of_events
    found += itertools.islice(findings_of_said(verdicts, passed.steps, last.seq), MAX_FINDINGS + 1)
    if found:
        _print_findings(recording, found)
        return BROKEN
    is_open = last.kind != "episode.closed"
    state = "sound, but open: it ends before its episode does" if is_open else "sound and closed"
    beyond = f"; {len(said)} verdicts, digest {said_head}" if said else ""
    print(
        f"{recording}: {state}; {last.seq} events in {passed.segments} segments, digest"
        f" {head}{beyond}"
    )
    return OPEN if is_open else SOUND


def _print_findings(recording: Path, found: list[str]) -> None:
    """Print what is wrong with a recording, up to `MAX_FINDINGS`, and how much there is."""
    for text in found[:MAX_FINDINGS]:
        print(f"{recording}: {clip(text, 300)}", file=sys.stderr)
    more = f"more than {MAX_FINDINGS}" if len(found) > MAX_FINDINGS else str(len(found))
    print(f"{recording}: not sound: {more} findings", file=sys.stderr)
