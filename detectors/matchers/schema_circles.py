"""A JSON Schema written so that the library remembers each reference that is in a circle.

The library remembers, for each object and list, the outcome of a reference to a schema that it was
still compiling when it came to the reference; where the schema was compiled already it does not. Of
eight alternatives that each name all others, one is therefore evaluated anew in up to 2^7 ways. So
the schema is wrapped. Each schema that is named in a circle gets a chain of references that leads
to it. The library puts off what is named by more than eight references, one within the other: it
comes to the ends of all chains, and so to all references in the circles, while their beginnings
wait for these ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import quote

from detectors.model.types import Json

MAX_REMEMBERED = 64
"""Schemas that are named in circles: each of them gets a chain."""
LINKS = 12
"""References in a chain: more than the library follows at once while it compiles."""

Spec = dict[str, Json]
"""A schema that is an object, or what looks like one."""
Reference = tuple[Spec, Spec | None]
"""A schema that has a `$ref`, and the schema that it names, if that is in a circle."""

_WHOLE = "#/$defs/whole"


def is_reference(spec: Spec) -> bool:
    """Whether the schema has a `$ref`, rather than a property of that name."""
    return isinstance(spec.get("$ref"), str)


def remember_references(schema: Spec, references: Sequence[Reference]) -> Spec:
    """Return a schema that takes the same values as ``schema``, which becomes a part of it: its
    ``references`` are changed, and all that has a `$ref` is to be among them."""
    pointers = _pointers(schema)
    named = dict.fromkeys(id(target) for _, target in references if target is not None)
    beginnings = {target: f"#/$defs/{n}.0" for n, target in enumerate(named)}
    for spec, target in references:
        if target is not None:
            spec["$ref"] = beginnings[id(target)]
        elif spec["$ref"] == "#" or spec["$ref"].startswith("#/"):
            spec["$ref"] = _WHOLE + spec["$ref"][1:]
    schema.pop("$id", None)
    definitions = {"whole": schema, **_chain("root", _WHOLE)}
    for n, target_id in enumerate(named):
        definitions |= _chain(str(n), _WHOLE + pointers[target_id])
    # Beside `true` the chains are compiled, and never evaluated.
    chains = {"allOf": [{"$ref": beginning} for beginning in beginnings.values()]}
    return {
        "$defs": definitions,
        "allOf": [{"anyOf": [True, chains]}, {"$ref": "#/$defs/root.0"}],
    }


def _chain(name: str, reference: str) -> dict[str, Spec]:
    """Definitions of which each names the next one, and the last what ``reference`` names."""
    following = [f"#/$defs/{name}.{n}" for n in range(1, LINKS)]
    return {f"{name}.{n}": {"$ref": next_} for n, next_ in enumerate([*following, reference])}


def _pointers(schema: Spec) -> dict[int, str]:
    """Where each object within the schema stands, as a JSON Pointer in an address, by its id."""
    pointers: dict[int, str] = {}
    waiting: list[tuple[str, object]] = [("", schema)]
    while waiting:
        pointer, part = waiting.pop()
        members: Iterable[tuple[object, object]] = ()
        if isinstance(part, dict):
            pointers[id(part)] = pointer
            members = part.items()
        elif isinstance(part, list):
            members = enumerate(part)
        for key, member in members:
            name = str(key).replace("~", "~0").replace("/", "~1")
            waiting.append((f"{pointer}/{quote(name)}", member))
    return pointers
