"""Kinds of the journal itself and of the harness: the life of the episode, its sources, its
steps."""

from __future__ import annotations

from detectors.model.kinds.kind import EventKind, kind

JOURNAL: dict[str, EventKind] = {
    "episode.opened": kind(
        "journal",
        "task digest converted?",
        "The daemon opened the episode's journal. `converted`: {format, version?, sha256, bytes,"
        " declared_complete?}, where the recording was made of another program's file.",
    ),
    "episode.closed": kind(
        "journal",
        "reason truncated?",
        "Nothing follows; end-of-episode milestones are decided. `truncated`: the harness cut it"
        " off, as at a limit of steps, so that its last state is no end of the task.",
    ),
    "gap.began": kind(
        "journal",
        "source part? reason",
        "From here on the named source sees nothing; with `part` only of this part: a kind such as"
        " `page.title_changed`, a noun such as `request` (cdp), an application (ax), a probe, a"
        " path that is read (reader), the `text` copied (clipboard).",
    ),
    "gap.ended": kind(
        "journal", "source part?", "The named source sees again, its baseline reported."
    ),
    "alarm.raised": kind(
        "journal",
        "source part? reason",
        "A source works worse than it should; a person should look. Blinds nothing.",
    ),
    "alarm.ended": kind("journal", "source part?", "What raised the alarm is over."),
    "events.dropped": kind(
        "journal",
        "source count? reason",
        "Observations were lost, and this says how many; without `count` nobody knows.",
    ),
    "reward.estimated": kind(
        "journal",
        "step reward digest",
        "What the daemon itself computed of a step: a hint that pays nothing.",
    ),
}

STEPS: dict[str, EventKind] = {
    "step.began": kind("steps", "step action? command?", "The harness begins step number `step`."),
    "step.ended": kind("steps", "step command?", "The harness is done with the step's action."),
    "step.sealed": kind(
        "steps", "step reason", "All of the step's effects are in (`quiet`, `settle_ms` passed)."
    ),
    "agent.answered": kind("steps", "text command?", "The agent gave a final answer."),
    "agent.tool_called": kind("steps", "call tool arguments command?", "The agent called a tool."),
    "agent.tool_returned": kind("steps", "call ok result? error? command?", "The tool came back."),
}

PROBES: dict[str, EventKind] = {
    "probe.answered": kind(
        "probe",
        "probe when step? value ms cut? baseline?",
        "A fact that the task asked for, read by the daemon: `when` is start, step or close;"
        " `value` any JSON, with `cut` not all of it. The one of the start is the baseline.",
    ),
    "probe.failed": kind(
        "probe",
        "probe when step? reason ms",
        "The fact could not be read; what leans on it is not known.",
    ),
}
