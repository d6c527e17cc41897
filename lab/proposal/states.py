"""Facts of the state that an application sends as a whole: what all successes changed in it.

Pure. Rows of lists are found by their own id, not by their place; a new row by what is the same of
it in every success. A fact that stood there at the start is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

import orjson

from api.suggestions.event_values import split_address
from detectors.model.json_value import JsonObject, JsonValue, objects_in
from detectors.model.safe_json import mapping
from detectors.model.types import Event
from lab.proposal.candidates import TaskCandidate

MAX_FACTS = 64
_ACCEPTED = range(200, 300)
_IDS = ("id", "iid", "key", "email", "name")


class SentState(NamedTuple):
    """What a run's application sent to one address: the document before the first step, the last
    one, and the event that has it."""

    first: JsonValue
    last: JsonValue
    event: int


def state_candidates(
    good: Sequence[Sequence[Event]], origins: Sequence[str | None]
) -> Iterator[TaskCandidate]:
    """Yield a condition for each fact that all successes brought about, and one for all of them
    together. Nothing where they sent no whole state."""
    sent = [sent_states(*of) for of in zip(good, origins, strict=True)]
    for method, path in sent[0] if sent else ():
        states = [of.get((method, path)) for of in sent]
        known = [state for state in states if state is not None]
        if len(known) < len(states):
            continue
        facts = [*_shared([(state.first, state.last) for state in known])][:MAX_FACTS]
        about: JsonObject = {"url": path, "method": method}
        for fact in facts:
            family = f"state {fact['path']}"
            when: JsonObject = {"state_accepted": {**about, "facts": [fact], "whole": True}}
            yield TaskCandidate(family, 0, when, known[0].event)
        if len(facts) > 1:
            whole: JsonObject = {"state_accepted": {**about, "facts": [*facts], "whole": True}}
            yield TaskCandidate(f"state {path} together", 0, whole, known[0].event)


def sent_states(log: Sequence[Event], origin: str | None) -> dict[tuple[str, str], SentState]:
    """Return what was accepted at each address of the site more than once, by method and path."""
    found: dict[tuple[str, str], SentState] = {}
    began = False
    for event in log:
        began = began or event.kind == "step.began"
        if event.kind != "request.finished" or event.data.get("status") not in _ACCEPTED:
            continue
        where, path, _ = split_address(event.data.get("url"))
        document = _document(event)
        if document is None or where is None or where != origin:
            continue
        place = (str(event.data.get("method")), path)
        known = found.get(place)
        first = document if known is None or not began else known.first
        found[place] = SentState(first, document, event.seq)
    return {place: state for place, state in found.items() if state.first != state.last}


def _document(event: Event) -> JsonValue:
    """Return the object that a request carries; None for anything else."""
    if event.data.get("method") not in ("PUT", "POST", "PATCH"):
        return None
    text = mapping(event.data.get("body")).get("text")
    try:
        found: JsonValue = orjson.loads(text) if isinstance(text, str) else None
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, Mapping) else None


def _shared(states: Sequence[tuple[JsonValue, JsonValue]]) -> Iterator[JsonObject]:
    """Yield what is different in every success in the same way."""
    yield from _compare("$", [old for old, _ in states], [new for _, new in states])


def _compare(
    path: str, olds: Sequence[JsonValue], news: Sequence[JsonValue]
) -> Iterator[JsonObject]:
    """Yield facts of the value at a path, of each success the old one and the new one."""
    if any(old == new for old, new in zip(olds, news, strict=True)):
        return
    if all(isinstance(one, Mapping) for one in (*olds, *news)):
        yield from _compare_objects(path, [*map(mapping, olds)], [*map(mapping, news)])
    elif all(isinstance(one, list) for one in (*olds, *news)):
        yield from _compare_lists(path, [*map(_items, olds)], [*map(_items, news)])
    elif all(new == news[0] for new in news):
        yield {"path": path, "value": news[0]}


def _items(value: JsonValue) -> list[JsonValue]:
    return [*value] if isinstance(value, list) else []


def _compare_objects(
    path: str, olds: Sequence[JsonObject], news: Sequence[JsonObject]
) -> Iterator[JsonObject]:
    for key in sorted(set.intersection(*map(set, news))):
        if not key.startswith("_"):
            below = f"{path}[{_text(key)}]"
            yield from _compare(below, [old.get(key) for old in olds], [new[key] for new in news])


def _compare_lists(
    path: str, olds: Sequence[list[JsonValue]], news: Sequence[list[JsonValue]]
) -> Iterator[JsonObject]:
    id = _id_of([*olds, *news])
    if id is not None:
        yield from _compare_rows(
            path, id, [_by_id(id, of) for of in olds], [_by_id(id, of) for of in news]
        )
        return
    pairs = [*zip(olds, news, strict=True)]
    added = [one for one in news[0] if all(one in new and one not in old for old, new in pairs)]
    removed = [one for one in olds[0] if all(one in old and one not in new for old, new in pairs)]
    if added or (removed and all(news)):
        yield {"path": f"{path}[*]", "all": added, "none": removed}
    elif removed and all(new == [] for new in news):
        yield {"path": path, "value": []}


def _compare_rows(
    path: str,
    id: str,
    olds: Sequence[dict[bytes, JsonObject]],
    news: Sequence[dict[bytes, JsonObject]],
) -> Iterator[JsonObject]:
    """Compare lists whose rows have an id: rows that stayed, rows that went, new rows."""
    kept = [key for key in olds[0] if all(key in of for of in (*olds, *news))]
    for key in kept:
        row = f"{path}[?@.{id}=={key.decode()}]"
        yield from _compare(row, [of[key] for of in olds], [of[key] for of in news])
    gone = [
        row[id]
        for key, row in olds[0].items()
        if all(key in old and key not in new for old, new in zip(olds, news, strict=True))
    ]
    if gone and all(news):
        yield {"path": f"{path}[*].{id}", "all": [], "none": gone}
    elif gone:
        yield {"path": path, "value": []}
    fresh = [
        [row for key, row in new.items() if key not in old]
        for old, new in zip(olds, news, strict=True)
    ]
    yield from _new_rows(path, id, fresh, [*olds[0].values()])


def _new_rows(
    path: str, id: str, fresh: Sequence[list[JsonObject]], before: Sequence[JsonObject]
) -> Iterator[JsonObject]:
    """Yield a fact for each new row of the first success that the others have too: its plain values
    that are the same in all. None where an old row has these as well."""
    for row in fresh[0]:
        alike = [max(rows, key=lambda one: len(_same(row, one)), default={}) for rows in fresh]
        shared = {key: value for key, value in reduce(_same, alike, row).items() if key != id}
        if shared and not any(_same(shared, old) == shared for old in before):
            said = " && ".join(f"@.{key}=={_text(value)}" for key, value in shared.items())
            yield {"path": f"{path}[?{said}]"}


def _same(row: JsonObject, other: JsonObject) -> JsonObject:
    """Return the plain values that two rows share."""
    return {
        key: value
        for key, value in row.items()
        if key.isidentifier()
        and not isinstance(value, Mapping | list)
        and key in other
        and other[key] == value
    }


def _id_of(lists: Sequence[list[JsonValue]]) -> str | None:
    """Return the key under which every row of the lists has an id of its own."""
    rows = [objects_in(of) for of in lists]
    if not any(rows) or any(len(of) < len(of_all) for of, of_all in zip(rows, lists, strict=True)):
        return None
    for key in _IDS:
        ids = [[_text(row[key]) for row in of if key in row] for of in rows]
        if all(len(set(of)) == len(full) for of, full in zip(ids, rows, strict=True)):
            return key
    return None


def _by_id(id: str, rows: Sequence[JsonValue]) -> dict[bytes, JsonObject]:
    return {orjson.dumps(row[id]): row for row in objects_in([*rows])}


def _text(value: JsonValue) -> str:
    return orjson.dumps(value).decode()
