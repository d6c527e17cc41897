"""What a recorded trajectory shows without anybody's judgement: its actions, never the agent's
reasoning.

The last message counts for what it withdraws (an admission of failure), and for what of the goal it
takes up.
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from lab.evaluation.measures import Array
from lab.evaluation.records import Record

UNKNOWN = 0.5
"""What stands for a truth that is unknown: neither side of it."""
_VERB = re.compile(r"[a-z_]+")
_WORD = re.compile(r"[a-z0-9]+")
_GIVES_UP = re.compile(
    r"unable|cannot|can't|could not|couldn't|not able|no results?|not"
    r" found|unfortunately|sorry|captcha|error|n/a|"
    r"infeasible|not available|failed|would you like",
    re.IGNORECASE,
)
_SAYS = ("send_msg_to_user", "report_infeasible")
_VERBS = ("click", "fill", "goto", "scroll", "noop", "select_option", "press", "go_back", "hover")


def features(record: Record) -> list[float]:
    """The numbers of one trajectory; always as many, in this order."""
    actions = [action for action in record.actions if action not in ("", "None")]
    verbs = Counter(map(_verb, actions))
    count = max(1, len(actions))
    spoken = [action for action in actions if _verb(action) in _SAYS]
    last = "".join(spoken[-1:])
    goal = set(_WORD.findall(record.goal.lower()))
    told = set(_WORD.findall(last.lower()))
    last_action = "".join(actions[-1:])
    repeats_last = actions.count(last_action) > 1
    terminated = UNKNOWN if record.terminated is None else float(record.terminated)
    return [
        terminated,
        float(np.log1p(len(actions))),
        len(set(actions)) / count,
        _longest_run(actions) / count,
        float(repeats_last),
        float(bool(spoken)),
        float(verbs["report_infeasible"] > 0),
        float(np.log1p(len(last))),
        float(bool(_GIVES_UP.search(last))),
        len(goal & told) / max(1, len(goal)),
        float(any(map(str.isdigit, last))),
        float(np.log1p(len(record.goal))),
        *(verbs[verb] / count for verb in _VERBS),
    ]


def table(records: list[Record]) -> Array:
    """The features of all, (n, d)."""
    return np.array([features(record) for record in records], dtype=np.float64)


def _verb(action: str) -> str:
    found = _VERB.match(action)
    return found[0] if found else ""


def _longest_run(actions: list[str]) -> int:
    """Return how often the same action came in a row, at most."""
    best = run = 0
    for n, action in enumerate(actions):
        run = run + 1 if n and action == actions[n - 1] else 1
        best = max(best, run)
    return best
