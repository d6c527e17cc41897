"""What stands inside the fields of an event that are no plain value, and which fields are told only
where asked for.

A shape is `LEAF` (a text, a number, true, false, null), `ANY` (whatever somebody else put there), a
list of one shape (its items), or a mapping of names to shapes; ``"*"`` as its only name stands for
any name. Shapes are those of the payloads' types.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints, is_typeddict

from detectors.model.kinds import KINDS
from detectors.model.wire_versions import current_path, explain_rename

LEAF = None
ANY: Any = ...
Shape = Any
_PLAIN: frozenset[Any] = frozenset((str, int, float, bool))
Path = tuple[str, ...]
"""Names and indices from an event's data on; ``*`` is any item of a list."""

_UNREAD: Mapping[str, tuple[str, ...]] = {
    "request.failed": ("body", "headers", "response", "hops"),
    "step.began": ("action",),
}
"""Fields that no condition looks into."""


def _shape_of(hint: object) -> Shape:
    """The shape of a payload's field, of its type."""
    if is_typeddict(hint):
        return {name: _shape_of(part) for name, part in get_type_hints(hint).items()}
    if hint is Any:
        return ANY
    parts = get_args(hint)
    match get_origin(hint):
        case builtins.list:
            return [_shape_of(parts[0])]
        case builtins.dict:
            return {"*": _shape_of(parts[1])}
        case types.UnionType:
            return next((shape for part in parts if (shape := _shape_of(part)) is not LEAF), LEAF)
        case _:
            return LEAF


def _shapes_of(kind: str) -> dict[str, Shape]:
    shapes: dict[str, Shape] = _shape_of(KINDS[kind].payload)
    return shapes | dict.fromkeys(_UNREAD.get(kind, ()), LEAF)


_SHAPES = {kind: _shapes_of(kind) for kind in KINDS}

_CLICKS = ("element.clicked", "element.double_clicked", "element.right_clicked", "element.pressed")
_BODIES = {("body",): "request_bodies", ("response", "body"): "response_bodies"}
_HEADS = {("headers",): "request_headers", ("response", "headers"): "response_headers"}


class OnRequest(NamedTuple):
    """A fact that is told only where a plan asks for it by ``ask``; ``named``: what is asked for
    are the names of what stands at ``path``, not all of it; ``item``: what else stands in the plan
    for it."""

    path: Path
    ask: str
    named: bool = False
    item: bool | str = True


def _of_requests(kind: str) -> Iterator[OnRequest]:
    for base in ((), ("hops", "*")) if kind == "request.finished" else ((),):
        yield from (OnRequest((*base, *path), ask) for path, ask in _BODIES.items())
        yield from (OnRequest((*base, *path), ask, True) for path, ask in _HEADS.items())


ON_REQUEST: Mapping[str, tuple[OnRequest, ...]] = {
    **{
        kind: (
            *(OnRequest((name,), "around") for name in ("around", "class", "color")),
            *(OnRequest((name,), "points") for name in ("point", "box")),
        )
        for kind in _CLICKS
    },
    "field.filled": (OnRequest(("around",), "around", item="fields"),),
    **{kind: tuple(_of_requests(kind)) for kind in ("request.finished", "request.redirected")},
}
"""The facts of each kind that no source tells unasked."""


def shape_at(kind: str, path: Path) -> Shape:
    """The shape of what an event of the kind can have at ``path``. Raises `LookupError` with a
    sentence for a path that leads nowhere in any event of the kind."""
    shape: Shape = _SHAPES[kind]
    for n, step in enumerate(path):
        where = f"{'.'.join(path)}: "
        holder = ".".join(path[:n]) or kind
        if shape is ANY:
            return ANY
        if shape is LEAF:
            raise LookupError(f"{where}{holder} is a plain value of {kind}, with nothing in it")
        if isinstance(shape, list):
            if not step.isdecimal() and step != "*":
                raise LookupError(
                    f"{where}{holder} of {kind} is a list: its items by number, as in {holder}.0"
                )
            shape = shape[0]
        elif "*" in shape:
            shape = shape["*"]
        elif step in shape:
            shape = shape[step]
        else:
            new = current_path(kind, path[: n + 1])
            renamed = explain_rename(step, new[-1])
            raise LookupError(
                f"{where}{holder} has no {step}; it has {', '.join(sorted(shape))}{renamed}"
            )
    return shape


def plain_types_at(kind: str, path: Path) -> frozenset[type]:
    """The types of the plain values that events of the kind can have at ``path``, of `str`, `int`,
    `float` and `bool`; empty where the table does not say, or where no plain value stands."""
    hint = _type_at(kind, path)
    if hint is None:
        return frozenset()
    options = get_args(hint) if get_origin(hint) is types.UnionType else (hint,)
    plain: set[type] = set()
    for option in options:
        values = get_args(option) if get_origin(option) is Literal else ()
        plain |= {type(value) for value in values} or {option}
    return frozenset(plain & _PLAIN) if plain <= _PLAIN | {types.NoneType} else frozenset()


def texts_at(kind: str, path: Path) -> tuple[str, ...]:
    """The only texts that events of the kind can have at ``path``; empty where the table names
    none."""
    hint = _type_at(kind, path)
    return get_args(hint) if get_origin(hint) is Literal else ()


def _type_at(kind: str, path: Path) -> object:
    """The type of what events of the kind have at ``path``; None where that can't be said."""
    hint: object = KINDS[kind].payload
    for n, step in enumerate(path):
        is_unread = n == 0 and step in _UNREAD.get(kind, ())
        hint = None if is_unread else _part_of(hint, step)
        if hint is None:
            return None
    return hint


def _part_of(hint: object, step: str) -> object:
    """The type of what stands under a name or an index in a value of the type ``hint``; None where
    that can't be said."""
    if is_typeddict(hint):
        return get_type_hints(hint).get(step)
    match get_origin(hint):
        case builtins.list:
            return get_args(hint)[0]
        case builtins.dict:
            return get_args(hint)[1]
        case types.UnionType:
            parts = [_part_of(option, step) for option in get_args(hint)]
            known = [part for part in parts if part is not None]
            return known[0] if len(known) == 1 else None
        case _:
            return None
