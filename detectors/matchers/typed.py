"""Texts that mean something: a date, an amount of money, a distance, a list. The table of the typed
forms.

A typed form is ``{name: value, options…}`` wherever a task has a text. Each reads the *whole* text,
after the normalisation of `text`, and compares what it means: "$1,234.50" and "1234.5 USD" are one
amount, "$1,234.50 or so" is none. What comes from agent or page is only read, never compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from detectors.matchers import loose, moments, places, quantities, structures
from detectors.matchers.typed_base import Form, Path
from detectors.model.errors import SpecError

Parse = Callable[[Any, Mapping[str, Any], Path], Form]
"""(value, options, path) → the form. Raises `SpecError`."""

TYPES: dict[str, tuple[Parse, frozenset[str]]] = {
    name: (parse, frozenset(options.split()))
    for name, parse, options in (
        ("integer", quantities.integer, "tolerance"),
        ("percentage", quantities.percentage, "tolerance"),
        ("money", quantities.money, "currency locale tolerance"),
        ("duration", quantities.duration, "tolerance"),
        ("distance", quantities.distance, "tolerance"),
        ("date", moments.date, "day_first"),
        ("time", moments.time, "tolerance"),
        ("coordinates", places.coordinates, "tolerance"),
        ("address", places.address, ""),
        ("boolean", loose.boolean, ""),
        ("url", loose.url, ""),
        ("path", loose.path_glob, ""),
        ("regex", loose.regex, "ignore_case"),
        ("fuzzy", loose.fuzzy, "threshold"),
        ("any_of", loose.any_of, ""),
        ("all_of", loose.all_of, ""),
        ("list", structures.listing, "separator ordered"),
        ("table", structures.table, "separator ordered header"),
        ("json", structures.json_path, "value every"),
    )
}
"""Each form, how its value is read, and the options that may stand beside it."""

LINEAR = frozenset(("regex", "json", "any_of", "all_of"))
"""Forms that look into a text of any length in linear time, or leave that to their parts."""


def parse_typed(name: str, spec: Mapping[str, object], path: Path) -> Form:
    """The form ``name`` of a task's JSON. Raises `SpecError`."""
    parse, allowed = TYPES[name]
    options = {key: value for key, value in spec.items() if key != name}
    for key in options:
        if key not in allowed:
            raise SpecError(
                (*path, key),
                spec[key],
                f"no such option; {name} has {', '.join(sorted(allowed)) or 'none'}",
            )
    return parse(spec[name], options, (*path, name))
