"""Facts of the state that an application sends as a whole: what all successes changed in it.

Pure. Rows of lists are found by their own id, not by their place; a new row by what is the same of
it in every success. A fact that stood there at the start is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple, TypeVar

import orjson

from api.proposal.candidates import TaskCandidate
from api.suggestions.event_values import split_address
from detectors.matchers.typed_base import json_text
from detectors.model.json_value import JsonObject, JsonValue, objects_in
from detectors.model.optional_values import drop_keys, without_none
from detectors.model.safe_json import mapping, read_json
from detectors.model.types import Event
from detectors.sdk.request_facts import is_partial

MAX_FACTS = 64
_ACCEPTED = range(200, 300)
_METHODS = ("PUT", "POST", "PATCH")
_GRAPHQL = frozenset(("query", "variables", "operationName", "extensions"))
_Item = TypeVar("_Item", bound=JsonValue)
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
        known = without_none(states)
        if len(known) < len(states):
            continue
        facts = [*_compare("$", [(state.first, state.last) for state in known])][:MAX_FACTS]
        about: JsonObject = {"url": path, "method": method}
        for fact in facts:
            family = f"state {fact['path']}"
            when: JsonObject = {"state_accepted": {**about, "facts": [fact], "whole": True}}
            yield TaskCandidate(family, 0, when, known[0].event)
        if len(facts) > 1:
            whole: JsonObject = {"state_accepted": {**about, "facts": [*facts], "whole": True}}
            yield TaskCandidate(f"state {path} together", 0, whole, known[0].event)


def sent_states(log: Sequence[Event], origin: str | None) -> dict[tuple[str, str], SentState]:
    """Return the state that the site took at each address before the first step, and changed since,
    by method and path. An address that took anything else too, or of which a document is not known
    whole, has none."""
    found: dict[tuple[str, str], SentState] = {}
    refused: set[tuple[str, str]] = set()
    began = False
    for event in log:
        began = began or event.kind == "step.began"
        place = _place_of(event, origin)
        if place is None:
            continue
        document = _document(event)
        if document is None:
            refused.add(place)
        elif not began:
            found[place] = SentState(document, document, event.seq)
        elif place in found:
            found[place] = found[place]._replace(last=document, event=event.seq)
    return {
        place: state
        for place, state in found.items()
        if place not in refused and not _is_equal(state.first, state.last)
    }


def _place_of(event: Event, origin: str | None) -> tuple[str, str] | None:
    """Return method and path of a request with content that the site accepted; None for others."""
    method = event.data.get("method")
    is_accepted = event.kind == "request.finished" and event.data.get("status") in _ACCEPTED
    if not is_accepted or method not in _METHODS:
        return None
    where, path, _ = split_address(event.data.get("url"))
    return (str(method), path) if where is not None and where == origin else None


def _document(event: Event) -> JsonObject | None:
    """Return the object that a request carries whole; None for anything else, a call among it: that
    says what to do, not how things stand."""
    body = mapping(event.data.get("body"))
    text = body.get("text")
    if is_partial(body) or not isinstance(text, str):
        return None
    try:
        found: JsonValue = read_json(text)
    except orjson.JSONDecodeError:
        return None
    return found if isinstance(found, Mapping) and not _is_call(found) else None


def _is_call(document: JsonObject) -> bool:
    """Return whether a document is a request of GraphQL or of JSON-RPC, which have one address for
    all that they do."""
    is_graphql = isinstance(document.get("query"), str) and document.keys() <= _GRAPHQL
    return is_graphql or "jsonrpc" in document


def _is_equal(one: JsonValue, other: JsonValue) -> bool:
    """Return whether two values are the same as JSON: 1 is 1.0, not true."""
    return one == other and json_text(one) == json_text(other)


def _compare(path: str, states: Sequence[tuple[JsonValue, JsonValue]]) -> Iterator[JsonObject]:
    """Yield what is different in every success in the same way: facts of the value at a path, of
    which ``states`` has the old one and the new one of each success."""
    olds, news = zip(*states, strict=True)
    if any(map(_is_equal, olds, news)):
        return
    if all(isinstance(one, Mapping) for one in (*olds, *news)):
        yield from _compare_objects(path, [*map(mapping, olds)], [*map(mapping, news)])
    elif all(isinstance(one, list) for one in (*olds, *news)):
        yield from _compare_lists(path, [*map(list, olds)], [*map(list, news)])
    elif all(_is_equal(new, news[0]) for new in news):
        yield {"path": path, "value": news[0]}


def _compare_objects(
    path: str, olds: Sequence[JsonObject], news: Sequence[JsonObject]
) -> Iterator[JsonObject]:
    """Yield facts on the members that all new states share, and on rows that are new in each."""
    pairs = [*zip(olds, news, strict=True)]
    shared = set.intersection(*map(set, news))
    for key in sorted(shared):
        if not key.startswith("_"):
            below = f"{path}[{_text(key)}]"
            yield from _compare(below, [(old.get(key), new[key]) for old, new in pairs])
    fresh = [objects_in([*drop_keys(new, shared | old.keys()).values()]) for old, new in pairs]
    yield from _tell_new_rows(path, "", fresh, objects_in([*olds[0].values()]))


def _compare_lists(
    path: str, olds: Sequence[list[JsonValue]], news: Sequence[list[JsonValue]]
) -> Iterator[JsonObject]:
    """Yield facts on lists: as values, or row by row where the rows have ids."""
    id_key = _id_key_of([*olds, *news])
    if id_key is None:
        yield from _compare_values(path, olds, news)
    else:
        before, after = ([_by_id(id_key, of) for of in lists] for lists in (olds, news))
        yield from _compare_kept_rows(path, id_key, before, after)
        gone = [row[id_key] for row in _find_lost(before, after)]
        yield from _tell_lists(f"{path}[*].{id_key}", path, [], gone, news)
        fresh = [[*drop_keys(new, old).values()] for old, new in zip(before, after, strict=True)]
        yield from _tell_new_rows(path, id_key, fresh, [*before[0].values()])


def _compare_values(
    path: str, olds: Sequence[list[JsonValue]], news: Sequence[list[JsonValue]]
) -> Iterator[JsonObject]:
    """Compare lists of values that have no id: what is in them, in any order."""
    before, after = (
        [{json_text(one): one for one in of} for of in lists] for lists in (olds, news)
    )
    added, removed = _find_lost(after, before), _find_lost(before, after)
    yield from _tell_lists(f"{path}[*]", path, added, removed, news)
    if not added:  # rows may be alike but for what the application drew
        fresh = [
            objects_in([*drop_keys(new, old).values()])
            for old, new in zip(before, after, strict=True)
        ]
        yield from _tell_new_rows(path, "", fresh, objects_in(olds[0]))


def _find_lost(
    these: Sequence[Mapping[str, _Item]], those: Sequence[Mapping[str, _Item]]
) -> list[_Item]:
    """Return the items that each of these has and the one beside it lacks."""
    lost = [of.keys() - other.keys() for of, other in zip(these, those, strict=True)]
    return [item for key, item in these[0].items() if all(key in of for of in lost)]


def _tell_lists(
    items: str,
    path: str,
    added: list[JsonValue],
    removed: list[JsonValue],
    news: Sequence[list[JsonValue]],
) -> Iterator[JsonObject]:
    """Yield what came into lists and what went: of ``items``, or that nothing is left, since of an
    empty list nothing holds."""
    if added or (removed and all(news)):
        yield {"path": items, "all": added, "none": removed}
    elif removed and not any(news):
        yield {"path": path, "value": []}


def _compare_kept_rows(
    path: str,
    id_key: str,
    olds: Sequence[Mapping[str, JsonObject]],
    news: Sequence[Mapping[str, JsonObject]],
) -> Iterator[JsonObject]:
    """Compare the rows that were there in all successes and stayed."""
    for key in olds[0]:
        if all(key in of for of in (*olds, *news)):
            row = f"{path}[?@.{id_key}=={key}]"
            pairs = zip(olds, news, strict=True)
            yield from _compare(row, [(old[key], new[key]) for old, new in pairs])


def _tell_new_rows(
    path: str, id_key: str, fresh: Sequence[list[JsonObject]], before: Sequence[JsonObject]
) -> Iterator[JsonObject]:
    """Yield a fact for each new row of the first success that the others have too: its plain values
    that are the same in all. None where an old row has these as well; one for rows alike.
    ``id_key``: the key of their ids, empty where they have none."""
    found: dict[str, None] = {}
    for row in fresh[0]:
        alike = [max(rows, key=lambda one: len(_same(row, one)), default={}) for rows in fresh]
        shared = drop_keys(reduce(_same, alike, row), (id_key,))
        if shared and not any(_same(shared, old) == shared for old in before):
            said = " && ".join(f"@.{key}=={_text(value)}" for key, value in shared.items())
            found[f"{path}[?{said}]"] = None
    yield from ({"path": one} for one in found)


def _same(row: JsonObject, other: JsonObject) -> JsonObject:
    """Return the plain values that two rows share."""
    return {
        key: value
        for key, value in row.items()
        if key.isidentifier()
        and not isinstance(value, Mapping | list)
        and key in other
        and _is_equal(other[key], value)
    }


def _id_key_of(lists: Sequence[list[JsonValue]]) -> str | None:
    """Return the key under which every row of the lists has an id of its own."""
    rows = [objects_in(of) for of in lists]
    if not any(rows) or any(len(of) < len(of_all) for of, of_all in zip(rows, lists, strict=True)):
        return None
    for key in _IDS:
        ids = [[_text(row[key]) for row in of if key in row] for of in rows]
        if all(len(set(of)) == len(full) for of, full in zip(ids, rows, strict=True)):
            return key
    return None


def _by_id(id_key: str, rows: Sequence[JsonValue]) -> dict[str, JsonObject]:
    return {_text(row[id_key]): row for row in objects_in([*rows])}


def _text(value: JsonValue) -> str:
    return orjson.dumps(value).decode()
