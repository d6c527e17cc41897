"""Task templates: a task with named parameters, which values make into tasks of their own (pure).

A template declares `parameters`, each with an example, and names them in its texts as `{name}`. A
text that is a slot alone becomes the value, of the value's type; within a longer text a slot
becomes the value's text. Filling comes before all checking, so that a filled template is checked as
any task is. docs/tasks.md, "Templates".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast
from urllib.parse import quote

from detectors.model.codec import canonical, sha256, text_or_json
from detectors.model.errors import SpecError, format_path
from detectors.model.json_types import Schema, fields_schema, object_schema
from detectors.model.json_value import JsonObject, is_number
from detectors.model.optional_values import drop_keys
from detectors.model.types import Json
from detectors.task.task_json import TaskError
from detectors.task.value_types import MAX_CHARACTERS

PARAMETERS, VALUES = "parameters", "values"
MAX_PARAMETERS = 100
DIGEST_CHARACTERS = 12
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SLOT = re.compile(r"\{([a-z][a-z0-9_]{0,63})\}")
_CODE = frozenset(("cel", "expression", "regex", "pattern", "glob", "json", "argv"))
"""Keys under which a text is a program or a pattern: a value there could be more than a value."""
_ADDRESSES = frozenset(("url", "get", "origin"))
_PATHS = frozenset(("path", "root"))

Path = tuple[str | int, ...]
Value = str | int | float | bool


@dataclass(frozen=True, slots=True)
class Template:
    """A template's examples by parameter, and the document that names the parameters."""

    examples: Mapping[str, Value]
    body: JsonObject


def template_schema() -> Schema:
    """The JSON Schemas of `parameters` and `values`, by key."""
    value: Schema = {"type": ["string", "number", "boolean"]}
    description: Schema = {"type": "string"}
    declared = object_schema({"example": value, "description": description}, ("example",))
    return {
        PARAMETERS: {
            **fields_schema(declared),
            "description": "Makes the task a template: its slots `{name}`, each with an example.",
        },
        VALUES: {
            **fields_schema(value),
            "description": "What a template's slots are filled with, by name.",
        },
    }


def fill_template(spec: Json, *, values_needed: bool = False) -> Json:
    """Return a template filled with its `values`, else with its examples; anything else as it is.

    The version of a filled template ends in `+` and a digest of the values, or in `+example`.
    ``values_needed``: examples are not enough. Raises `TaskError`.
    """
    if not isinstance(spec, Mapping) or not (PARAMETERS in spec or VALUES in spec):
        return spec
    template = _read_template(cast(JsonObject, spec))
    values = template.examples
    suffix = "example"
    if VALUES in spec or values_needed:
        values = _read_values(spec.get(VALUES), template.examples)
        suffix = sha256(canonical(dict(values)))[:DIGEST_CHARACTERS]
    filler = _Filler(values)
    filled = {key: filler.fill(value, (key,)) for key, value in template.body.items()}
    unused = [
        SpecError((PARAMETERS, name), None, f"a slot {{{name}}} somewhere in the task")
        for name in values
        if name not in filler.used
    ]
    if filler.problems or unused:
        raise TaskError([*filler.problems, *unused])
    if isinstance(filled.get("version"), str):
        filled["version"] = f"{filled['version']}+{suffix}"
    return cast(Json, filled)


def written_version(version: str) -> str:
    """Return the version that a task's author wrote: a filled template's without its digest."""
    return version.partition("+")[0]


def _read_template(spec: JsonObject) -> Template:
    declared = spec.get(PARAMETERS)
    if not isinstance(declared, Mapping) or not 0 < len(declared) <= MAX_PARAMETERS:
        wanted = f"an object of 1 to {MAX_PARAMETERS} names, each with an example"
        raise TaskError([SpecError((PARAMETERS,), declared, wanted)])
    problems = [problem for name in declared for problem in _check_parameter(name, declared[name])]
    if problems:
        raise TaskError(problems)
    examples = {name: cast(Value, one["example"]) for name, one in declared.items()}  # type: ignore[index, call-overload]
    body = drop_keys(spec, (PARAMETERS, VALUES))
    return Template(examples, body)


def _check_parameter(name: str, declared: object) -> Iterator[SpecError]:
    path = (PARAMETERS, name)
    if not _NAME.fullmatch(name):
        yield SpecError(path, name, "a name of lower-case letters, digits and _, at most 64")
    if not isinstance(declared, Mapping) or "example" not in declared:
        yield SpecError(path, declared, "an object with example, and description if wanted")
        return
    for key in declared.keys() - {"example", "description"}:
        yield SpecError((*path, key), declared[key], "nothing: the keys are example, description")
    if not _is_value(declared["example"]):
        yield SpecError((*path, "example"), declared["example"], "a text, a number, true or false")


def _read_values(values: object, examples: Mapping[str, Value]) -> dict[str, Value]:
    """Return the values of all parameters, in the order of their declaration."""
    names = ", ".join(examples)
    if not isinstance(values, Mapping):
        raise TaskError(
            [SpecError((VALUES,), values, f"an object with a value for each of {names}")]
        )
    problems = [
        SpecError((VALUES, name), values[name], f"a parameter of the template: {names}")
        for name in values
        if name not in examples
    ]
    for name, example in examples.items():
        kind = _kind_of(example)
        if name not in values or not _is_value(values[name]) or _kind_of(values[name]) != kind:
            problems.append(
                SpecError((VALUES, name), values.get(name), f"{kind}, as its example is")
            )
    if problems:
        raise TaskError(problems)
    return {name: values[name] for name in examples}


def _is_value(value: object) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= MAX_CHARACTERS
    return isinstance(value, bool) or is_number(value)


def _kind_of(value: object) -> str:
    if isinstance(value, str):
        return f"a text of 1 to {MAX_CHARACTERS} characters"
    return "true or false" if isinstance(value, bool) else "a number"


def _is_address(text: str, keys: Sequence[str]) -> bool:
    """Return whether a text of a task is an address, or a path below the task's origin."""
    if keys[-1] in _PATHS:
        return "url" in keys
    looks_so = text.startswith("/") or "://" in text
    return keys[-1] in _ADDRESSES or (looks_so and keys[-1] != "instruction")


class _Filler:
    """Puts values into slots; ``used`` has the names that stood somewhere, ``problems`` the slots
    that may not stand where they do."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = values
        self.used: set[str] = set()
        self.problems: list[SpecError] = []

    def fill(self, value: object, path: Path) -> object:
        """Return ``value``, which stands at ``path``, with its slots filled."""
        if isinstance(value, str):
            return self._fill_text(value, path)
        if isinstance(value, Mapping):
            for key in value:
                if any(True for _ in self._slots(key)):
                    self._refuse(
                        (*path, key), key, "a key without a slot: a slot is of values alone"
                    )
            return {key: self.fill(one, (*path, key)) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.fill(one, (*path, index)) for index, one in enumerate(value)]
        return value

    def _slots(self, text: str) -> Iterator[str]:
        return (name for name in _SLOT.findall(text) if name in self._values)

    def _fill_text(self, text: str, path: Path) -> object:
        names = list(self._slots(text))
        if not names:
            return text
        self.used.update(names)
        keys = [key for key in path if isinstance(key, str)]
        if keys[-1] in _CODE:
            self._refuse(path, text, "no slot in an expression or a pattern")
            return text
        is_address = _is_address(text, keys)
        if is_address or keys[-1] in _PATHS:
            self._refuse_wildcards(names, path)
        if text == f"{{{names[0]}}}":
            return self._values[names[0]]
        return _SLOT.sub(lambda slot: self._render(slot, is_address=is_address), text)

    def _refuse_wildcards(self, names: list[str], path: Path) -> None:
        for name in names:
            if "*" in str(self._values[name]):
                wanted = (
                    f"a value without *, which stands for any characters in {format_path(path)}"
                )
                self._refuse((VALUES, name), self._values[name], wanted)

    def _render(self, slot: re.Match[str], *, is_address: bool) -> str:
        if slot[1] not in self._values:
            return slot[0]
        value = self._values[slot[1]]
        text = text_or_json(value)
        return quote(text, safe="") if is_address else text

    def _refuse(self, path: Path, value: object, wanted: str) -> None:
        self.problems.append(SpecError(path, value, wanted))
