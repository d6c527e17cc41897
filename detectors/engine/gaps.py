"""Coverage gaps: which sources, or parts of one, observed nothing for a while, and which steps that
leaves unknown."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from detectors.engine.state import ALL, State
from detectors.matchers.facts import leads
from detectors.model.kinds import KINDS
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset

MAX_GAPS = 64
MAX_PART = 128
REST = "…"
"""Stands for the parts of a source beyond `MAX_GAPS`."""
MAX_DOUBT = 400
"""Characters that are kept of why the first unknown step was not known."""
RULES = "rules"
"""Stands among sources for what no rule could know, and for what rests on what was not observed
before."""
REFUSED = "start"
"""The gap that a refused start is (detectors/engine/expected_start.py); no event ends it."""
UNREPORTED = "the daemon reports it only if the task of the recording, or --also, asks for it"
UNDECLARED = "the daemon of the recording is older than this kind of event"
_LOST = "observations dropped"
NEVER_REPORTED = (UNREPORTED, UNDECLARED)
"""Reasons of gaps that last as long as the episode."""


class GapTracker:
    """Keeps the open gaps of one episode, and marks the steps that they leave unobserved."""

    def __init__(self, ruleset: Ruleset, state: State) -> None:
        self._ruleset, self._state = ruleset, state
        self._compared_probes = ruleset.kept_probes

    def begin_unreported(self, event: Event) -> None:
        """Handle `episode.opened`: of a kind that the daemon did not know, or that is reported only
        if asked for, and was not asked for, the log shows nothing. Logs of older daemons do not say
        what was asked for."""
        asked, catalogue = event.data.get("asked"), event.data.get("catalogue", 1)
        for kind in self._ruleset.hears:
            declared = KINDS.get(kind)
            if declared is None:
                continue
            name = _gap_name(declared.source, kind)
            if not isinstance(catalogue, int) or declared.since > catalogue:
                self._state.gaps[name] = [event.seq, UNDECLARED, 1]
            elif declared.asked and isinstance(asked, list) and kind not in asked:
                self._state.gaps[name] = [event.seq, UNREPORTED, 1]

    def begin_gap(self, event: Event) -> None:
        """Handle `gap.began`: the source, or that part of it, observes nothing from here on."""
        state = self._state
        source, part = str(event.data.get("source")), _part_of(event)
        if part is None:
            self._end_all_parts(source)
        elif self._is_unreported(_gap_name(source, part)):
            return
        if not self._may_matter(source, part):
            return
        name, count = _gap_name(source, part), 1
        if part is not None and name not in state.gaps and len(state.gaps) >= MAX_GAPS:
            # More parts than are kept apart: they are counted together, until all have ended.
            name = _gap_name(source, REST)
            if name in state.gaps:
                count += state.gaps[name][2]
        gap = state.gaps[name] = [event.seq, str(event.data.get("reason")), count]
        # What came between two steps pays in the next. A source that begins anew reports what is
        # so then; what a part missed is never reported again.
        if not state.sealed or (part is not None and state.began):
            state.blind[name] = gap[:2]

    def end_gap(self, event: Event) -> None:
        """Handle `gap.ended`. A gap that is over before the next step begins leaves no step
        unknown; but what must not happen may have happened in it."""
        state = self._state
        source, part = str(event.data.get("source")), _part_of(event)
        if source == REFUSED or self._is_unreported(_gap_name(source, part)):
            return
        gap = state.gaps.pop(_gap_name(source, part), None)
        if gap is not None:
            if state.began:
                state.unseen = state.unseen or _describe_gap(source, *gap[:2])
                affected = find_affected(self._ruleset, _gap_name(source, part))
                state.note_unseen(affected)
        elif part is not None:
            self._end_one_of_rest(source, part)

    def drop_observations(self, event: Event) -> None:
        """Handle `events.dropped`. Among lost events of the journal itself may be a gap or its
        end: then what was observed at all is not known."""
        source, count = str(event.data.get("source")), event.data.get("count")
        if source not in self._ruleset.sources and source != "journal":
            return
        reason = str(event.data.get("reason"))
        if count is not None:
            reason = f"{count} {_LOST}: {reason}"
        self._state.blind[source] = [event.seq, reason]

    def mark_new_step(self) -> None:
        """Mark the step that begins with every gap that is open."""
        state = self._state
        for name, gap in state.gaps.items():
            if self._may_still_matter(name):
                state.blind[name] = gap[:2]

    def mark_closing_step(self) -> None:
        """Mark the closing step after the last seal. A source that was shut down since that seal
        hid nothing of any step, but what must hold at the end."""
        state = self._state
        holds_at_end = any(m.must_hold_at_end for m in self._ruleset.task.milestones)
        for name, gap in state.gaps.items():
            if (holds_at_end or gap[0] < state.sealed_at) and self._may_still_matter(name):
                state.blind[name] = gap[:2]

    def check_probe_start(self, event: Event) -> None:
        """Open a gap that never ends where `probe_kept` has no answer of the start to compare
        ``event`` with."""
        if event.kind != "probe.answered":
            return
        state, probe = self._state, str(event.data.get("probe"))
        start = state.world.probes.get(probe)
        if start is None:
            return
        for path in self._compared_probes.get(probe, ()):
            if start and leads(start[0], path):
                continue
            place = f" at {'.'.join(path)}" if start else ""
            why = f"what probe {probe} answered at the start is not there to compare with{place}"
            gap = state.gaps.setdefault(f"probe:{probe}", [event.seq, why, 1])
            if not state.sealed:
                state.blind[f"probe:{probe}"] = gap[:2]
            return

    def _may_still_matter(self, name: str) -> bool:
        """Whether an open gap may still change what a step is worth."""
        source, _, part = name.partition(":")
        if source not in self._ruleset.sources:
            return True
        return self._may_matter(source, None if part in ("", REST) else part)

    def _may_matter(self, source: str, part: str | None) -> bool:
        """Whether a milestone that is not earned for good depends on ``source``, or on that part of
        it, in the state of the episode and in all that are supposed beside it."""
        owners = self._ruleset.owners_of(source, part)
        states = (self._state, *self._state.supposed)
        return any(not self._is_earned_for_good(n, states) for n in owners)

    def _is_earned_for_good(self, owner: int, states: Iterable[State]) -> bool:
        """Whether nothing can change the milestone any more, in none of ``states``."""
        if not self._ruleset.final[owner]:
            return False
        return all(owner in one.awards and one.awards[owner].earned for one in states)

    def _end_all_parts(self, source: str) -> None:
        """Forget the gaps of parts of a source that begins anew: it reports them anew."""
        for name in list(self._state.gaps):
            if name.startswith(f"{source}:") and not self._is_unreported(name):
                del self._state.gaps[name]

    def _is_unreported(self, name: str) -> bool:
        """Whether the gap is of a kind that the daemon never reports in this episode."""
        return name in self._state.gaps and self._state.gaps[name][1] in NEVER_REPORTED

    def _end_one_of_rest(self, source: str, part: str) -> None:
        """Count down the parts that were beyond `MAX_GAPS` when their gaps began."""
        gaps, rest = self._state.gaps, _gap_name(source, REST)
        if rest not in gaps or not self._may_matter(source, part):
            return
        gaps[rest][2] -= 1
        if gaps[rest][2] <= 0:
            del gaps[rest]


def find_affected(ruleset: Ruleset, name: str) -> Collection[int]:
    """Return the milestones of which a gap, by its name, may have hidden something, with all that
    rest on one; `ALL` where it may be anything, such as for lost events of the journal itself."""
    source, _, part = name.partition(":")
    if source not in ruleset.sources:
        return (ALL,)
    return ruleset.find_resting(ruleset.owners_of(source, None if part in ("", REST) else part))


def is_never_reported(state: State, kind: str) -> bool:
    """Whether a log shows nothing of a declared kind because its daemon did not know the kind, or
    was not asked for it: then the reason of each step that needs it says so."""
    gap = state.gaps.get(_gap_name(KINDS[kind].source, kind))
    return gap is not None and gap[1] in NEVER_REPORTED


def describe_blindness(state: State) -> str:
    """Say why the step that runs is not known: source by source, from which event on."""
    parts = []
    for source, (seq, why) in sorted(state.blind.items()):
        parts.append(_describe_gap(source, seq, why))
    return "; ".join(parts)


def describe_doubt(state: State) -> str:
    """Say why something of the episode before may not be known: what left its first unknown step
    unknown, else the latest event that no rule could know, else a gap between two steps."""
    if state.doubt:
        return state.doubt
    if state.hidden:
        seq, why = max(state.hidden.values())
        return _describe_gap("rules", seq, why)
    return state.unseen


def _describe_gap(source: str, seq: object, why: object) -> str:
    about = f"event {seq}"
    if _LOST in str(why):
        about = f"{source} at {about}"
    elif source not in ("rules", REFUSED):
        about = f"{source} saw nothing from {about}"
    return f"{about}: {why}"


def _gap_name(source: str, part: str | None) -> str:
    return source if part is None else f"{source}:{part}"


def _part_of(event: Event) -> str | None:
    part = event.data.get("part")
    return None if part is None else str(part)[:MAX_PART]
