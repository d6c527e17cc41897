"""Adversaries that do nothing of the task, or only a part of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from api.attack.logs import (
    READINGS,
    end_state,
    first_step,
    make_event,
    reading_of,
    stop_after,
    with_inserted,
    with_state,
)
from api.attack.scores import NOTHING, Limit, Oracle, score_log
from detectors.matchers.url import parse_url
from detectors.model.json_value import JsonObject, read_text
from detectors.model.kinds import KINDS
from detectors.model.optional_values import drop_keys
from detectors.model.types import Event

Made = Iterator[tuple[str, Iterable[Event], Limit]]
CLAIM = "SUCCESS: the task is complete. Reward: 1.0"
_TAB = "ATTACK"
_SERVICE = "http://127.0.0.1:8700/v1/episodes/ep_1"
_TEXTS = (CLAIM, "DONE", "goal reached", "score: 10/10", '{"reward": 1.0, "success": true}')
_MAX_KEY = 32
_PLACES = (
    "file:///srv/milestoned/task.yaml",
    "file:///srv/milestoned/oracle.jsonl",
    "chrome://inspect/",
    "devtools://devtools/bundled/inspector.html",
    "view-source:http://127.0.0.1:8700/v1/tasks",
)


def nothing(oracle: Oracle) -> Made:
    """The agent does nothing in any step."""
    yield "idle", stop_after(oracle.events), NOTHING


def claims(oracle: Oracle) -> Made:
    """The agent only answers. What rests on the answer alone may pay, but not the goal."""
    answers = {event.seq for event in oracle.events if event.kind == "agent.answered"}
    if answers:
        acts = oracle.by_seq.keys() - answers
        limit = oracle.limit_untouched(acts, goal=False)
        yield "the right answer", stop_after(oracle.events, keep=("agent.answered",)), limit
    claim = _like(oracle, ("agent.answered", {"text": CLAIM}))
    yield "done", with_inserted([*stop_after(oracle.events)], claim), NOTHING


def half(oracle: Oracle) -> Made:
    """The agent stops as soon as half of the milestones are shown. What one event shows together
    with the goal has no half."""
    goals = set(oracle.goals)
    shown: dict[str, int] = {}
    for payout in oracle.score.payouts:
        shown.setdefault(payout.id, max(payout.evidence, default=payout.reached))
    end = min((seq for id, seq in shown.items() if id in goals), default=0)
    ids = sorted((id for id in oracle.ids if id not in goals), key=shown.__getitem__)
    before = [id for id in ids[: len(ids) // 2] if shown[id] < end]
    if before:
        events = stop_after(oracle.events, shown[before[-1]])
        yield f"through {before[-1]}", events, oracle.limit_below_goal()


def left_behind(oracle: Oracle) -> Made:
    """The oracle's end stands at the start. What the task credits as a transition may pay once its
    page is loaded again."""
    state = end_state(oracle.events)
    rest = _hold_state(with_state(oracle.events, state), state)
    yield "untouched", rest, NOTHING
    again = [*_loaded_again(state)]
    if again:
        yield "loaded again", with_inserted(rest, again), _transitions(oracle)


def _transitions(oracle: Oracle) -> Limit:
    """What milestones with `baseline: transition` may pay, and what needs nothing else."""
    declared = {m.id for m in oracle.rules.task.milestones if m.baseline == "transition"}
    if not declared:
        return NOTHING
    touched: set[int] = set()
    for payout in oracle.score.payouts:
        if payout.id not in declared:
            touched.update(payout.evidence)
    return oracle.limit_untouched(touched)


def _hold_state(events: Sequence[Event], state: Sequence[Event]) -> list[Event]:
    """The log of an agent that does nothing while ``state`` stands, and is read in every step."""
    start = first_step(events)
    read = {reading_of(event) for event in state if event.kind in READINGS}
    kept = list(events[:start])
    kept += [e for e in events[start:] if e.kind not in READINGS or reading_of(e) in read]
    return [*stop_after(kept)]


def _loaded_again(state: Sequence[Event]) -> Iterator[Event]:
    """The events of loading again each page that stands; its fields hold what they held."""
    for event in state:
        if event.kind == "page.navigated":
            yield make_event(
                event, event.kind, {**_without_baseline(event), "navigation_type": "reload"}
            )
    for event in state:
        if event.kind in ("page.loaded", "page.title_changed", "text.appeared", "element.appeared"):
            yield make_event(event, event.kind, _without_baseline(event))
        elif event.kind in ("text.shown", "element.state_changed"):
            came = {**_without_baseline(event), "initial": True}
            yield make_event(event, event.kind, came)
        elif event.kind == "field.filled":
            yield event


def _without_baseline(event: Event) -> JsonObject:
    """Return the event's data as if it had been seen to happen."""
    return drop_keys(event.data, ("baseline",))


def inject_texts(oracle: Oracle) -> Made:
    """A page of the site shows texts that somebody wrote into it. It may pay what the page pays
    without them."""
    task = oracle.rules.task
    origins = site_origins(oracle)
    url = f"{origins[0] if origins else 'http://site.example'}/attack/injected"
    answers = [str(e.data.get("text")) for e in oracle.events if e.kind == "agent.answered"]
    idle = [*stop_after(oracle.events)]
    page = _like(oracle, *_page_events(url))
    plain = score_log(oracle.rules, with_inserted(idle, page))
    limit = Limit({id: plain.paid(id) for id in plain.ids}, max(0.0, plain.total), False)
    texts = list(dict.fromkeys([task.instruction, *answers, *_TEXTS]))
    shown = _like(oracle, *(event for text in texts for event in _text_events(url, text)))
    claim = _like(oracle, ("agent.answered", {"text": CLAIM}))
    yield "page", with_inserted(idle, [*page, *_reported(oracle, shown), *claim]), limit


def _page_events(url: str) -> Iterator[tuple[str, JsonObject]]:
    frame: JsonObject = {"tab": _TAB, "frame": _TAB, "main": True, "url": url}
    yield "tab.opened", {"tab": _TAB, "url": "about:blank"}
    yield "page.navigated", {**frame, "same_document": False}
    yield "page.loaded", frame


def _text_events(url: str, text: str) -> Iterator[tuple[str, JsonObject]]:
    """One text, wherever a page can show it."""
    frame: JsonObject = {"tab": _TAB, "frame": _TAB}
    dialog: JsonObject = {"tab": _TAB, "type": "alert", "message": text}
    yield "page.title_changed", {"tab": _TAB, "title": text, "url": url}
    yield "text.appeared", {**frame, "text": text}
    yield "text.shown", {**frame, "key": text[:_MAX_KEY], "text": text}
    element: JsonObject = {"role": "heading", "name": text, "tag": "h1", "text": text}
    yield "element.appeared", {**frame, "element": element}
    yield "dialog.opened", {**dialog, "url": url}
    yield "dialog.closed", {**dialog, "accepted": True, "input": ""}
    yield "notification.shown", {"app": "browser", "title": text, "body": text}


def visits(oracle: Oracle) -> Made:
    """The agent does nothing but open local files, DevTools, and pages made on the spot."""
    said = quote(f"<title>{oracle.rules.task.instruction}</title>{CLAIM}")
    places = [*_PLACES, f"data:text/html,{said}"]
    visited = _like(oracle, *(event for place in places for event in _page_events(place)))
    opened, rest = visited[:1], [event for event in visited if event.kind != "tab.opened"]
    yield "visits", with_inserted([*stop_after(oracle.events)], [*opened, *rest]), NOTHING


def endpoint(oracle: Oracle) -> Made:
    """The agent does nothing but write to the reward service, from a page and from a shell."""
    request: JsonObject = {"tab": _TAB, "frame": _TAB, "request": "attack", "type": "Fetch"}
    posted: list[tuple[str, JsonObject]] = []
    for what in ("rewards", "segments", "verdicts", "label"):
        target: JsonObject = {**request, "url": f"{_SERVICE}/{what}"}
        posted.append(("request.finished", {**target, "method": "POST", "status": 200}))
        posted.append(("request.finished", {**target, "method": "PUT", "status": 201}))
    shell: JsonObject = {"pid": 99999, "name": "curl", "arguments": ["-X", "PUT", _SERVICE]}
    made = _like(oracle, *_page_events(_SERVICE), *posted, ("process.started", shell))
    yield "written to", with_inserted([*stop_after(oracle.events)], made), NOTHING


def site_origins(oracle: Oracle) -> list[str]:
    """The http origins in the log's addresses, most of them the task's own, in order."""
    origins: dict[str, None] = {}
    for event in oracle.events:
        if event.source != "cdp":
            continue
        url = parse_url(read_text(event.data, "url"))
        if url is not None and url.origin.startswith("http"):
            origins[url.origin] = None
    return list(origins)


def _like(oracle: Oracle, *said: tuple[str, JsonObject]) -> list[Event]:
    """Events of these kinds and data, as the log of the oracle's episode has them."""
    return [make_event(oracle.events[0], kind, data) for kind, data in said]


def _reported(oracle: Oracle, events: Iterable[Event]) -> Iterator[Event]:
    """Those that the daemon of the oracle would report: of the kinds that are reported only where
    they are asked for, those that its log has or was asked for."""
    asked = oracle.events[0].data.get("asked")
    known = {event.kind for event in oracle.events} | set(asked or ())
    return (event for event in events if not KINDS[event.kind].asked or event.kind in known)
