"""What a page sends to its servers: forms, and requests that change something, compared with the
goal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl

import orjson

from api.stages.model.goal_comparison import AGREES, FieldPairs, GoalComparison
from api.stages.model.screen import EventData
from api.stages.model.words import plain, ratio, share
from detectors.model.types import Event, Json

METHODS = frozenset(("POST", "PUT", "PATCH", "DELETE"))
"""Methods of requests that change something."""
TYPES = frozenset(("Document", "XHR", "Fetch"))
"""Types of requests that a page makes for its user; a ping or a report is none."""
MAX_COUNT = 3
MAX_DEEDS = 5
MAX_BODY = 65_536
"""Characters of a body that is read; a longer one counts as unknown."""
MAX_VALUES = 300
"""Values of a body that are compared with the goal."""
MAX_DEPTH = 8
MAX_ENTERED = 100
"""Values entered into fields that are remembered."""
MAX_REQUESTS = 100
"""Requests that are remembered by their ids."""
MAX_PAIRED = 60
"""Values of a body whose names are compared with where the goal has them, and names."""
LARGE = 1e15
"""From here on a whole number is written as it is."""
OPERATION = frozenset(("query", "operationName", "extensions"))
"""Keys of a GraphQL request beside its variables."""
UNKNOWN = -1.0


class SentValue(NamedTuple):
    """One value of a body, and its name there, both as plain words. ``record``: the number of the
    object that has it. ``number``: the value where it is a number, else None."""

    name: str
    value: str
    record: int
    number: float | None = None


class Writes:
    """What was sent so far, and what was done since."""

    def __init__(self, comparison: GoalComparison) -> None:
        self._comparison = comparison
        self._writes = 0
        self._in_step = 0
        self._status = 0
        self._deeds = 0
        """Clicks and fills since something was sent last."""
        self._steps = 0
        """Steps since then."""
        self._entered: dict[str, str] = {}
        """Values that were entered into fields, by their plain words."""
        self._typed = ""
        self._requests: dict[str, None] = {}
        """Requests that were sent, the last one last."""
        self._has_form = False
        """A form was submitted in this step, and no request followed yet."""
        self._body: list[SentValue] | None = None
        self._compared: dict[str, float] | None = _unknown_body()
        """The features of the body; None while they are not computed."""
        self._best_words = 0.0
        """The largest share of the goal's words that anything sent had."""

    def begin(self, typed: str) -> None:
        """Note that a step begins, in which the harness says that it types or chooses a text."""
        self._in_step = 0
        self._has_form = False
        self._typed = typed

    def fold(self, event: Event) -> None:
        """Apply one more event to what was sent."""
        if event.data.get("baseline"):
            return
        match event.kind:
            case "element.clicked":
                self._deeds += bool(event.data.get("trusted"))
            case "field.filled":
                self._note_fill(event.data)
            case "form.submitted" if event.data.get("trusted"):
                self._note_form(event.data)
            case "request.sent" if _is_write(event.data):
                self._note_request(event.data)
            case "request.finished" | "request.redirected" if _is_write(event.data):
                self._note_answer(event.data)

    def finish(self) -> dict[str, float]:
        """Return the features of the step that is over, and of what was sent last."""
        self._steps = 0 if self._in_step else self._steps + 1
        was_sent = self._writes > 0
        if self._compared is None:
            self._compared = self._compare(self._body)
        return {
            "writes_now": float(min(MAX_COUNT, self._in_step)),
            "writes": math.log1p(self._writes),
            "write_status": float(self._status),
            "deeds_unsent": float(min(MAX_DEEDS, self._deeds)) if was_sent else UNKNOWN,
            "steps_unsent": math.log1p(self._steps) if was_sent else UNKNOWN,
        } | self._compared

    def _note_fill(self, data: EventData) -> None:
        value = data.get("value")
        values = value if isinstance(value, list) else [value]
        texts = [one for one in values if isinstance(one, str)]
        # A library that chooses an option of a list does so by script.
        is_own = data.get("trusted") or (bool(self._typed) and self._typed in texts)
        if not is_own or data.get("commit"):
            return
        self._deeds += 1
        for text in texts:
            words = plain(text)
            if words and len(self._entered) < MAX_ENTERED:
                self._entered.setdefault(words, text)

    def _note_write(self) -> None:
        self._writes += 1
        self._in_step += 1
        self._deeds = 0
        self._status = 0

    def _note_form(self, data: EventData) -> None:
        """A form was submitted: its fields are what was sent, until its request's body is known."""
        self._note_write()
        self._has_form = True
        self._set_body(_values_of_pairs(_text_pairs(data.get("fields"))))

    def _note_request(self, data: EventData) -> None:
        """A request was sent, of which the body is told with its answer."""
        self._note_write()
        request = str(data.get("request"))
        self._requests.pop(request, None)
        self._requests[request] = None
        if len(self._requests) > MAX_REQUESTS:
            del self._requests[next(iter(self._requests))]
        if not self._has_form:
            self._set_body(None)
        self._has_form = False

    def _note_answer(self, data: EventData) -> None:
        """The request that was sent last was answered: note its class of status, and its body as
        far as it was read. One of which nobody heard that it was sent is sent now."""
        request = str(data.get("request"))
        if request not in self._requests:
            self._note_request(data)
        if request != next(reversed(self._requests)):
            return
        status, body = data.get("status"), data.get("body")
        self._status = status // 100 if isinstance(status, int) else 0
        values = read_body(body) if isinstance(body, Mapping) else None
        if values is not None:
            self._set_body(values)

    def _set_body(self, values: list[SentValue] | None) -> None:
        self._body = values
        self._compared = None
        if values is not None:
            self._best_words = max(self._best_words, self._share_of_words(values))

    def _share_of_words(self, values: Sequence[SentValue]) -> float:
        words = {word for one in values for text in (one.name, one.value) for word in text.split()}
        return share(words, self._comparison.goal.words)

    def _compare(self, values: Sequence[SentValue] | None) -> dict[str, float]:
        """The features of one body, by its values."""
        if values is None:
            return _unknown_body()
        slots = self._comparison.goal.slots
        texts = [f" {one.name} {one.value} " for one in values]
        records: dict[int, str] = {}
        for one, text in zip(values, texts, strict=True):
            records[one.record] = records.get(one.record, "") + text
        whole = "".join(texts)
        found = [slot for slot in slots if f" {slot} " in whole]
        words = self._share_of_words(values)
        pairs = self._pair(values)
        return {
            "sent_slots": ratio(len(found), len(slots), 1.0),
            "sent_words": words,
            "sent_lost": self._best_words - words,
            "sent_in_value": _best_share(found, texts),
            "sent_in_record": _best_share(found, list(records.values())),
            "sent_paired": pairs.share,
            "sent_crossed": float(min(MAX_COUNT, pairs.crossed)),
            "sent_off": float(self._count_off(values)),
        }

    def _pair(self, values: Sequence[SentValue]) -> FieldPairs:
        """Compare the values that the goal has with their names, and with the names of others."""
        text = self._comparison.goal.text
        named = [(one.name, one.value) for one in values if f" {one.value} " in text]
        names = list(dict.fromkeys(one.name for one in values))
        return self._comparison.pair_values(named[:MAX_PAIRED], names[:MAX_PAIRED])

    def _count_off(self, values: Sequence[SentValue]) -> int:
        """How many different values are wrong by the goal, at most `MAX_COUNT`."""
        count = 0
        for one in dict.fromkeys(values):
            count += self._is_off(one)
            if count == MAX_COUNT:
                break
        return count

    def _is_off(self, sent: SentValue) -> bool:
        """Whether a value is wrong by the goal: entered and not in it, or the number of something
        that it names with another number."""
        entered = self._entered.get(sent.value)
        if entered is not None:
            return self._comparison.compare_value(entered) < AGREES
        is_other_number = sent.number and f" {sent.value} " not in self._comparison.goal.text
        return bool(is_other_number) and self._comparison.agrees(sent.name) >= AGREES


def _unknown_body() -> dict[str, float]:
    """The features of a body that is not known, or while nothing was sent."""
    names = ("sent_slots", "sent_words", "sent_in_value", "sent_in_record", "sent_paired")
    return dict.fromkeys(names, UNKNOWN) | dict.fromkeys(
        ("sent_lost", "sent_crossed", "sent_off"), 0.0
    )


def _is_write(data: EventData) -> bool:
    """Whether a request changes something for the page's user. A redirect tells no type."""
    method, type = data.get("method"), data.get("type", "Document")
    return isinstance(method, str) and method in METHODS and type in tuple(TYPES)


def _best_share(found: Sequence[str], texts: Sequence[str]) -> float:
    """Of the slots that were found the share that the best of the texts has by itself; 1 for
    none."""
    best = max((sum(f" {slot} " in text for slot in found) for text in texts), default=0)
    return ratio(best, len(found), 1.0)


def read_body(body: Mapping[str, Json]) -> list[SentValue] | None:
    """Return the values of a body of JSON or of a form; None where it is neither, or is cut or too
    long."""
    text = body.get("text")
    is_whole = isinstance(text, str) and not body.get("cut") and not body.get("base64")
    if not is_whole or not isinstance(text, str) or len(text) > MAX_BODY:
        return None
    if text.lstrip()[:1] in ("{", "["):
        try:
            document = orjson.loads(text)
        except orjson.JSONDecodeError:
            return None
        return _values_of_json(document)
    if "urlencoded" in str(body.get("mime") or ""):
        return _values_of_pairs(parse_qsl(text, keep_blank_values=True))
    return None


def _text_pairs(fields: Json) -> list[tuple[str, str]]:
    """The names and values of a form's fields; secret ones have no value."""
    rows = fields if isinstance(fields, list) else []
    pairs = [row for row in rows if isinstance(row, list) and len(row) == 2]
    return [
        (name, value if isinstance(value, str) else "")
        for name, value in pairs
        if isinstance(name, str)
    ]


def _values_of_pairs(pairs: Sequence[tuple[str, str]]) -> list[SentValue]:
    return [SentValue(plain(name), plain(value), 0) for name, value in pairs[:MAX_VALUES]]


def _values_of_json(document: Json) -> list[SentValue]:
    """The first values of a document, each with the object that has it. Of a GraphQL operation
    those of its variables."""
    if isinstance(document, Mapping) and not OPERATION.isdisjoint(document):
        document = document.get("variables", document)
    found: list[SentValue] = []
    for value in _walk(document, "", 0, 0, iter(range(1, MAX_VALUES * MAX_DEPTH))):
        found.append(value)
        if len(found) >= MAX_VALUES:
            break
    return found


def _walk(
    document: Json, name: str, record: int, depth: int, numbers: Iterator[int]
) -> Iterator[SentValue]:
    """Yield the values below a part of a document; ``numbers`` are given to its objects."""
    if isinstance(document, Mapping | list):
        if depth >= MAX_DEPTH:
            return
        own = next(numbers, record) if isinstance(document, Mapping) else record
        items = (
            document.items() if isinstance(document, Mapping) else ((name, one) for one in document)
        )
        for key, value in items:
            yield from _walk(value, str(key), own, depth + 1, numbers)
        return
    if document is None:
        return
    is_number = isinstance(document, int | float) and not isinstance(document, bool)
    number = float(document) if is_number and isinstance(document, int | float) else None
    yield SentValue(plain(name), plain(_text_of(document)), record, number)


def _text_of(scalar: Json) -> str:
    """A scalar as a person writes it: 2 for 2.0."""
    if isinstance(scalar, float) and scalar.is_integer() and abs(scalar) < LARGE:
        return str(int(scalar))
    return str(scalar)
