"""Pages that are decided by how they stand when their button is pressed: a probe of the document
says it.

The expression runs in a world of its own: it sees the document, never the page's variables. The
document alone could be set up by page script, so a trusted press is part of every goal. What the
page paid stands in the document too, in its own display; `tests/importing/test_miniwob.py` holds
that no expression goes near it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from detectors.model.json_value import JsonObject, JsonValue
from lab.benchmarks.miniwob.conditions import SUBMIT, Condition
from lab.benchmarks.miniwob.plan import NEARLY, PagePlan

PROBE = "page"
_EXPRESSION = """(() => {
const one = (css, at) => (at || document).querySelector(css);
const all = (css, at) => Array.from((at || document).querySelectorAll(css));
const text = (node) => (node ? node.textContent.replace(/\\s+/g, " ").trim() : "");
const has = (node, name) => node.className.split(" ").includes(name);
const given = %s;
const cover = one("#sync-task-cover");
const over = !!cover && getComputedStyle(cover).display !== "none";
const state = (() => {
%s
})();
return { state, ended: over ? state.score : null };
})()"""
FULL = ((1.0, 1.0),)
TWENTIETHS = tuple((n / 20, n / 20 - 0.025) for n in range(1, 21))
"""Tiers of a page that pays any part of 1, to the nearest twentieth: (credit, from which score
on)."""


def expression(body: str, given: JsonObject) -> str:
    """The probe's: ``body`` returns {score, ...facts}, with ``given`` at hand as data."""
    return _EXPRESSION % (json.dumps(dict(given), ensure_ascii=False), body.strip())


def reads(path: str, value: JsonValue = True) -> Condition:
    """The probe's answer has ``value`` at ``path``."""
    return {"probe_answers": {"probe": PROBE, "path": path, "value": value}}


def score_condition(press: Condition, least: float, steps: int = 0) -> Condition:
    """The press, and in its step, or so many later, the round ended with at least this score."""
    ended = reads("ended", {"min": round(least - NEARLY, 7)})
    return {"all_of": {"holding": True, "within": {"steps": steps}, "of": [press, ended]}}


def state_plan(
    body: str,
    given: JsonObject,
    steps: Sequence[str],
    press: Condition = SUBMIT,
    tiers: Sequence[tuple[float, float]] = FULL,
    before: Sequence[tuple[str, Condition]] = (),
) -> PagePlan:
    """The plan of such a page. ``steps``: names of facts in the state that are true on the way.
    ``tiers``: (credit, least score)."""
    goal = [(credit, score_condition(press, least)) for credit, least in tiers]
    on_the_way = [*before, *((name, reads(f"state.{name}")) for name in steps)]
    return PagePlan(goal, on_the_way, press, {PROBE: expression(body, given)})
