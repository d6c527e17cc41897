"""A made log with the mix of kinds that real Chromium sessions have, and tasks of any size over
it."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any

from detectors.model.codec import GENESIS, decode_segment, encode_segment
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json

ORIGIN = "http://shop.test"
SHARES = {
    "request.sent": 30,
    "request.finished": 30,
    "field.filled": 12,
    "page.title_changed": 5,
    "page.navigated": 6,
    "page.loaded": 5,
    "element.clicked": 8,
    "step.began": 2,
    "step.sealed": 2,
}
"""Of 100 events; requests outnumber everything else on real pages."""


def events(count: int, episode: str = "ep_bench", seed: int = 1) -> list[Event]:
    """``count`` events of an episode; the same for the same seed."""
    rng = random.Random(seed)
    kinds = rng.choices(list(SHARES), weights=list(SHARES.values()), k=count)
    step = -1
    out = []
    for seq, kind in enumerate(kinds, 1):
        step += kind == "step.began"
        source = "steps" if kind.startswith("step.") else "cdp"
        out.append(Event(episode, seq, source, kind, seq * 1000, _data(rng, kind, step)))
    return out


def _data(rng: random.Random, kind: str, step: int) -> dict[str, Any]:
    n = rng.randrange(3000)
    place = {"tab": "8D3F2C", "frame": "8D3F2C"}
    url = f"{ORIGIN}/items/{n}?ref=list"
    if kind.startswith("step."):
        return (
            {"step": max(step, 0), "action": None}
            if kind == "step.began"
            else {"step": max(step, 0), "reason": "quiet"}
        )
    if kind.startswith("page."):
        return {**place, "main": True, "url": url, "title": f"Item {n}", "same_document": False}
    if kind == "element.clicked":
        return {
            **place,
            "element": {"role": "button", "name": f"Button {n}", "tag": "button"},
            "trusted": True,
        }
    if kind == "field.filled":
        element = {"role": "textbox", "name": f"Field {n}", "tag": "input", "type": "text"}
        return {
            **place,
            "field": f"f{n % 40}",
            "element": element,
            "value": f"value {n}",
            "trusted": True,
        }
    request = {
        **place,
        "request": f"{n}.{rng.randrange(99)}",
        "method": "GET",
        "url": url,
        "type": "Fetch",
    }
    return (
        {**request, "status": 200, "mime": "application/json"}
        if kind == "request.finished"
        else request
    )


def segments(log: list[Event], size: int = 500) -> list[bytes]:
    """The texts of the log's segments, each with its predecessor's digest."""
    texts, prev = [], GENESIS
    for at in range(0, len(log), size):
        text = encode_segment(log[at : at + size], prev)
        texts.append(text)
        prev = decode_segment(text).digest
    return texts


def task(milestones: int) -> Ruleset:
    """A task whose milestones are of six rules in turn, each about another address, name or
    value."""
    forms = (
        lambda n: {"url_reached": {"url": f"/items/{n}"}},
        lambda n: {"element_clicked": {"role": "button", "name": f"Button {n}"}},
        lambda n: {"field_filled": {"field": f"Field {n}", "value": f"value {n}"}},
        lambda n: {"request_accepted": {"url": f"/items/{n}"}},
        lambda n: {"title_matches": {"title": f"Item {n}"}},
        lambda n: {
            "form_filled": {
                "fields": {f"Field {n}": f"value {n}", f"Field {n + 1}": f"value {n + 1}"}
            }
        },
    )
    return _task("bench", [forms[n % len(forms)](n) for n in range(milestones)])


def seen_events(count: int, episode: str = "ep_bench", seed: int = 1) -> list[Event]:
    """``count`` events of texts, titles that are numbers, and dialogs."""
    rng = random.Random(seed)
    out = []
    for seq in range(1, count + 1):
        n, place = rng.randrange(3000), {"tab": "8D3F2C", "frame": "8D3F2C"}
        shown = {**place, "text": f"Order {n} was sent to you on Monday"}
        answered = {**place, "type": "confirm", "message": f"Delete item {n}?", "accepted": True}
        titled = {**place, "main": True, "url": ORIGIN, "title": str(n)}
        kind, data = rng.choice(
            (("text.appeared", shown), ("dialog.closed", answered), ("page.title_changed", titled))
        )
        out.append(Event(episode, seq, "cdp", kind, seq * 1000, data))
    return out


def seen_task(milestones: int) -> Ruleset:
    """A task about what `seen_events` are of: a text, a dialog, a number."""
    forms = (
        lambda n: {"text_visible": {"text": {"contains": f"Order {n} was"}}},
        lambda n: {"dialog_answered": {"message": {"starts_with": f"Delete item {n}?"}}},
        lambda n: {"title_matches": {"title": {"number": n, "tolerance": 0.5}}},
    )
    return _task("seen", [forms[n % len(forms)](n) for n in range(milestones)])


def amounts_task(milestones: int) -> Ruleset:
    """A task whose milestones ask for amounts of money in titles, which are found by their
    digits."""
    titles = [{"money": n} for n in range(milestones)]
    return _task("amounts", [{"title_matches": {"title": title}} for title in titles])


def dates_task(milestones: int) -> Ruleset:
    """A task whose milestones ask for dates in titles, which each text with a digit may be."""
    first = date(2026, 1, 1)
    days = [(first + timedelta(n)).isoformat() for n in range(milestones)]
    return _task("dates", [{"title_matches": {"title": {"date": day}}} for day in days])


def parted_task(milestones: int) -> Ruleset:
    """A task whose milestones ask for a part of an address, a name or a title."""
    forms = (
        lambda n: {"url_reached": {"url": f"/*/{n}"}},
        lambda n: {"element_clicked": {"name": {"ends_with": f" {n}"}}},
        lambda n: {"title_matches": {"title": {"ends_with": f" {n}"}}},
        lambda n: {"request_accepted": {"url": f"/*/{n}"}},
    )
    return _task("parts", [forms[n % len(forms)](n) for n in range(milestones)])


def deaf() -> Ruleset:
    """A task that hears none of the log's kinds but its steps."""
    return _task("deaf", [{"dialog_answered": {"message": "Leave?"}}])


def _task(id: str, conditions: list[dict[str, Any]]) -> Ruleset:
    listed = [{"id": f"m{n}", "when": when} for n, when in enumerate(conditions)]
    spec = {"id": id, "version": "1", "instruction": "-", "origin": ORIGIN, "milestones": listed}
    return compile_task(task_from_json(spec))
