"""Makes the models of what the service answers, and refuses what they can't be made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, partial
from types import NoneType, UnionType
from typing import NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from milestoned_client.errors import ProblemError, UnexpectedAnswerError, problem_from_json
from milestoned_client.json_values import Json, JsonObject
from milestoned_client.models import Event, Milestone, Reward

Model = TypeVar("Model")
"""One of the dataclasses of models.py."""


@dataclass(frozen=True, slots=True)
class StreamItem:
    """One server-sent event: ``event`` (`Event`), ``milestone`` (`Milestone`) or ``reward``
    (`Reward`)."""

    kind: str
    seq: int | None
    item: Event | Milestone | Reward | JsonObject


def read_model(model: type[Model], document: Json, **extra: object) -> Model:
    """Make a ``model`` of a JSON object; ``extra`` are fields that the object has not.

    Raises `UnexpectedAnswerError` naming the field that is missing.
    """
    answer = read_object(model.__name__, document)
    values: dict[str, object] = {}
    for name, required, read in _fields_of(model):  # type: ignore[arg-type]  # classes are hashable
        if name in answer:
            values[name] = answer[name] if read is None else read(answer[name])
        elif required and name not in extra:
            raise UnexpectedAnswerError(f"{model.__name__}: expected a field {name!r}, got none")
    return model(**{**values, **extra})


def read_object(where: str, document: Json) -> JsonObject:
    """Return ``document`` if it is a JSON object. Raises `UnexpectedAnswerError`."""
    if not isinstance(document, dict):
        raise _unexpected(where, "a JSON object", document)
    return document


def read_list(document: Json, name: str) -> list[Json]:
    """Return the list ``name`` of a JSON object. Raises `UnexpectedAnswerError`."""
    items = read_object(name, document).get(name)
    if not isinstance(items, list):
        raise _unexpected(name, "a list", document)
    return items


def read_entry(model: type[Model], document: Json) -> Model | ProblemError:
    """Read one entry of a batch: a ``model``, or why there is none."""
    problem = document.get("error") if isinstance(document, Mapping) else None
    if isinstance(problem, Mapping):
        return problem_from_json(problem, 500)
    return read_model(model, document)


def read_stream_item(kind: str, seq: int | None, document: JsonObject) -> StreamItem:
    """Make a `StreamItem` of a server-sent event's name, id and data; unknown names keep their raw
    data."""
    if kind == "event":
        return StreamItem(kind, seq, read_model(Event, document))
    if kind == "milestone":
        return StreamItem(kind, seq, read_model(Milestone, document))
    if kind == "reward":
        return StreamItem(kind, seq, read_model(Reward, document))
    return StreamItem(kind, seq, document)


class _Field(NamedTuple):
    name: str
    required: bool
    read: Callable[[Json], object] | None
    """Makes the field's value of its JSON; None where that is the value."""


@cache
def _fields_of(model: type[object]) -> tuple[_Field, ...]:
    hints = get_type_hints(model)
    return tuple(
        _Field(
            spec.name,
            spec.default is MISSING and spec.default_factory is MISSING,
            _reader_of(model.__name__, spec.name, hints[spec.name]),
        )
        for spec in fields(model)  # type: ignore[arg-type]  # a dataclass
    )


def _reader_of(model: str, name: str, hint: object) -> Callable[[Json], object] | None:
    """Return what makes a field's value of its JSON; None where that is the value."""
    if isinstance(hint, type) and is_dataclass(hint):
        return partial(read_model, hint)
    parts = get_args(hint)
    if get_origin(hint) is tuple:
        return partial(_read_tuple, f"{model}.{name}", _reader_of(model, name, parts[0]))
    if get_origin(hint) is UnionType and len(parts) == 2 and parts[1] is NoneType:
        read = _reader_of(model, name, parts[0])
        return None if read is None else partial(_read_optional, read)
    return None


def _read_tuple(
    where: str, read_item: Callable[[Json], object] | None, document: Json
) -> tuple[object, ...]:
    if not isinstance(document, list):
        raise _unexpected(where, "a list", document)
    return tuple(document) if read_item is None else tuple(map(read_item, document))


def _read_optional(read: Callable[[Json], object], document: Json) -> object:
    return None if document is None else read(document)


def _unexpected(where: str, expected: str, document: Json) -> UnexpectedAnswerError:
    return UnexpectedAnswerError(f"{where}: expected {expected}, got {str(document)[:120]!r}")
