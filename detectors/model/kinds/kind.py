"""How kinds of events are declared: the payload's type and its docstring are the whole of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, NotRequired, TypedDict, TypeVar, get_origin, get_type_hints

Payload = TypeVar("Payload")


class Masked(TypedDict):
    """`masked`: the fields in which the daemon masked a secret."""

    masked: NotRequired[list[str]]


class EventKind(NamedTuple):
    """One kind of event. ``fields`` are names, ``?`` after one that may be missing; ``says`` is the
    payload's docstring, for docs and pages; ``asked``: reported only where a rule of the task hears
    it, or the daemon was started with ``--also``; ``payload``: the `TypedDict` of its data;
    ``since``: the first catalogue of kinds that has it."""

    source: str
    fields: tuple[str, ...]
    says: str
    asked: bool
    payload: type
    since: int = 1


class KindTable(dict[str, EventKind]):
    """The kinds of one source, by name."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source

    def kind(
        self, name: str, *, asked: bool = False, since: int = 1
    ) -> Callable[[type[Payload]], type[Payload]]:
        """Declare the kind ``name`` by the `TypedDict` that is decorated."""

        def declare(payload: type[Payload]) -> type[Payload]:
            says = " ".join((payload.__doc__ or "").split())
            self[name] = EventKind(self.source, _field_names(payload), says, asked, payload, since)
            return payload

        return declare


def _field_names(payload: type) -> tuple[str, ...]:
    """The names of a payload's fields, those that may be missing last."""
    hints = get_type_hints(payload, include_extras=True)
    optional = [name for name, hint in hints.items() if get_origin(hint) is NotRequired]
    required = [name for name in hints if name not in optional]
    return (*required, *(f"{name}?" for name in optional))
