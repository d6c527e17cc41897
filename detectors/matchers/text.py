"""Text against what the author wrote: equality after normalisation, or one declared relaxation of
it.

Normalisation is Unicode NFKC, typographic dashes and quotation marks as on a keyboard, white space
folded to single blanks and stripped; case is kept unless ``ignore_case``. Where the author's text
has an address (``://``) only white space is folded: a full-width digit there is another place.
Matching takes time linear in the text for all forms but ``glob``, which is bounded by text times
pattern length; no form compiles anything.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from detectors.matchers.faults import answers
from detectors.matchers.plain import (
    fixed_parts,
    glob,
    keys_near_number,
    literal,
    normal,
    number,
    text_key,
)
from detectors.matchers.typed_base import (
    FLAG_OFF,
    TOLERANCE,
    Form,
    Option,
    Path,
    is_plain,
    number_of,
    parsed_type,
    read_options,
)
from detectors.model.errors import SpecError
from detectors.model.json_types import Schema, checked_type, object_schema
from detectors.model.json_value import is_number

TEXT: Schema = {"type": "string"}
TEXT_FORM: Schema = {"$ref": "#/$defs/text"}
"""A text or one of its forms, in a JSON Schema."""
ITEMS: Schema = {"type": "array", "minItems": 1, "items": TEXT_FORM}

Mode = Literal[
    "equals", "contains", "starts_with", "ends_with", "glob", "one_of", "number", "typed"
]
_IGNORE_CASE: Schema = {"ignore_case": FLAG_OFF.schema()}
_PLAIN = checked_type(is_plain, "a number", {"type": "number"}, float)
_OF_NUMBER = {"number": Option(_PLAIN, required=True), "tolerance": TOLERANCE}
_MODES: Mapping[Mode, Schema] = {
    "equals": {"equals": TEXT, **_IGNORE_CASE},
    "contains": {"contains": TEXT, **_IGNORE_CASE},
    "starts_with": {"starts_with": TEXT, **_IGNORE_CASE},
    "ends_with": {"ends_with": TEXT, **_IGNORE_CASE},
    "glob": {"glob": TEXT, **_IGNORE_CASE},
    "one_of": {"one_of": {"type": "array", "minItems": 1, "items": TEXT}, **_IGNORE_CASE},
    "number": {name: option.schema() for name, option in _OF_NUMBER.items()},
}
"""The relaxations, each with the JSON Schema of its value and of what may stand beside it."""
MODES = tuple(_MODES)
_COMPARISONS: Mapping[Mode, Callable[[str, str], bool]] = {
    "equals": operator.eq,
    "contains": operator.contains,
    "starts_with": str.startswith,
    "ends_with": str.endswith,
    "glob": lambda text, pattern: glob(pattern, text),
}
"""How a text is compared with the author's one."""

MAX_TYPED_CHARACTERS = 20_000
"""Characters of a text, its white space folded, that a typed form reads; a longer one is no date
and no amount."""

MAX_LINEAR_CHARACTERS = 262_144
"""The same for forms that look *into* a text in linear time: as many as any source reports of a
body, a file, a probe, so that nobody hides behind padding what must not be there."""


def _are_texts(value: object) -> bool:
    """Whether it is a list of at least one text."""
    return isinstance(value, list) and bool(value) and all(isinstance(v, str) for v in value)


def _parse_texts(mode: Mode, value: Any, path: Path) -> list[str]:
    """Return the texts that ``mode`` compares with: a list for `one_of`, else a single one."""
    texts = value if mode == "one_of" else [value]
    if not _are_texts(texts):
        raise SpecError(path, value, "a list of texts" if mode == "one_of" else "a text")
    if mode not in ("one_of", "equals") and not normal(value):
        raise SpecError(
            path, value, "a text that is not empty: an empty one would match everything"
        )
    return texts


def _typed() -> Any:
    from detectors.matchers import typed  # typed forms are made of texts too: lists, alternatives

    return typed


@dataclass(frozen=True, slots=True)
class TextMatch:
    """One text matcher; `parse` makes it of a task's JSON, ``matches`` tells of a text."""

    mode: Mode
    texts: tuple[str, ...] = ()
    number: float = 0.0
    tolerance: float = 0.0
    ignore_case: bool = False
    typed: Form | None = None
    """A typed form (matchers/typed.py)."""
    linear: bool = False
    """Whether that one reads `MAX_LINEAR_CHARACTERS` characters."""
    exact: bool = False
    """Whether the texts are addresses."""

    OF_ADDRESS: ClassVar[bool] = False
    """Whether every text is one of an address, with ``://`` or without."""

    WANTED: ClassVar[str] = (
        f"a text, or one of {{{', '.join(MODES)}}} with ignore_case or tolerance beside it, "
        "or a typed form (docs/tasks.md)"
    )

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of a text, its relaxations and the typed forms."""
        modes = [object_schema(properties, (mode,)) for mode, properties in _MODES.items()]
        typed = [form.schema(name) for name, form in _typed().TYPES.items()]
        return {"anyOf": [{"type": ["string", "number"]}, *modes, *typed]}

    @classmethod
    def parse(cls, spec: object, path: Path, origin: str | None = None) -> TextMatch:
        """Make a matcher of its JSON form. Raises `SpecError`."""
        if isinstance(spec, str):
            return cls._of_texts("equals", {"equals": spec}, path, ignore_case=False)
        if is_number(spec):
            return cls._of_number({"number": spec}, path)
        if not isinstance(spec, dict):
            raise SpecError(path, spec, cls.WANTED)
        forms = _typed()
        typed = [name for name in spec if name in forms.TYPES]
        if len(typed) == 1:
            form = forms.parse_typed(typed[0], spec, path)
            return cls("typed", typed=form, linear=typed[0] in forms.LINEAR)
        modes = [mode for mode in MODES if mode in spec]
        if len(modes) != 1 or set(spec) - {*modes, "ignore_case", "tolerance"}:
            raise SpecError(path, spec, cls.WANTED)
        flags = read_options({"ignore_case": FLAG_OFF}, spec, path)
        if modes[0] == "number":
            return cls._of_number(spec, path)
        return cls._of_texts(modes[0], spec, path, ignore_case=flags["ignore_case"])

    @classmethod
    def _of_number(cls, spec: dict[str, Any], path: Path) -> TextMatch:
        read = read_options(_OF_NUMBER, spec, path)
        return cls("number", (), read["number"], read["tolerance"])

    @classmethod
    def _of_texts(
        cls, mode: Mode, spec: dict[str, Any], path: Path, *, ignore_case: bool
    ) -> TextMatch:
        if "tolerance" in spec:
            expected = "no tolerance: it goes with number only"
            raise SpecError((*path, "tolerance"), spec["tolerance"], expected)
        texts = _parse_texts(mode, spec[mode], (*path, mode))
        exact = cls.OF_ADDRESS or any("://" in text for text in texts)
        folded = [literal(text) if exact else normal(text) for text in texts]
        if ignore_case:
            folded = [text.casefold() for text in folded]
        return cls(mode, tuple(folded), ignore_case=ignore_case, exact=exact)

    @answers(False)
    def matches(self, text: str) -> bool:
        """Whether ``text``, which is data and nothing else, is what the author asked for."""
        if self.typed is not None:
            return self._is_readable(text) and self.typed.matches(text)
        if self.mode == "number":
            return self._is_number(number(text))
        folded = literal(text) if self.exact else normal(text)
        if self.ignore_case:
            folded = folded.casefold()
        if self.mode == "one_of":
            return folded in self.texts
        return _COMPARISONS[self.mode](folded, self.texts[0])

    @answers(None)
    def matches_beginning(self, text: str) -> bool | None:
        """Whether a text is what the author asked for of which ``text`` is the beginning, or all;
        None where that hangs on the rest, which may be white space alone."""
        if self.typed is not None or self.mode in ("number", "ends_with"):
            return None
        folded = literal(text) if self.exact else normal(text)
        if self.ignore_case:
            folded = folded.casefold()
        if self.mode in ("equals", "one_of"):
            can_be = any(len(t) >= len(folded) and t.startswith(folded[:-1]) for t in self.texts)
            return None if can_be else False
        return self._relaxed_beginning(folded, self.texts[0])

    def _relaxed_beginning(self, folded: str, wanted: str) -> bool | None:
        """The same of the relaxations that a beginning may decide."""
        if self.mode == "glob":
            fixed = wanted[: min((wanted + mark).index(mark) for mark in "*?")]
            can_be = folded.startswith(fixed) or fixed.startswith(folded[:-1])
            is_so = wanted.endswith("*") and glob(wanted, folded)
        else:
            is_so = _COMPARISONS[self.mode](folded, wanted)
            can_be = self.mode == "contains" or wanted.startswith(folded[:-1])
        return True if is_so else None if can_be else False

    @answers(None)
    def judge_rows(
        self, beginning: Sequence[list[object] | None], count: int | None
    ) -> bool | None:
        """Whether a table is as wanted that begins with these rows (None: one that is not known)
        and has ``count`` of them, if that is known; None where that hangs on the rest."""
        is_excluded = self.typed is not None and self.typed.excludes_rows(beginning, count)
        return False if is_excluded else None

    def _is_readable(self, text: str) -> bool:
        """Whether the text is short enough for the typed form."""
        if len(text) > MAX_LINEAR_CHARACTERS:
            return False
        if self.linear or len(text) <= MAX_TYPED_CHARACTERS:
            return True
        return len(normal(text)) <= MAX_TYPED_CHARACTERS

    @answers(False)
    def matches_json(self, value: object) -> bool:
        """Whether a JSON value is what the author asked for. A text is as `matches` has it, null is
        nothing; any other value is read by ``number`` and the typed forms alone: to the others a
        number is no text."""
        if isinstance(value, str):
            return self.matches(value)
        if self.mode == "number":
            return self._is_number(number_of(value))
        if self.typed is None or value is None:
            return False
        return self.typed.matches_json(value)

    def _is_number(self, found: float | None) -> bool:
        return found is not None and abs(found - self.number) <= self.tolerance

    @property
    def by_beginning(self) -> bool:
        """Whether the beginning of a text can be enough, whatever comes after it."""
        return self.mode in ("contains", "starts_with")

    def keys(self) -> tuple[str, ...] | None:
        """Index keys of the only texts that can match, or None if that can't be said beforehand."""
        if self.mode in ("equals", "one_of"):
            return tuple(sorted({text_key(t) for t in self.texts}))
        return None

    def text_keys(self) -> tuple[str, ...] | None:
        """Keys of which every text that can match has one among its `plain.text_keys`, or None if
        that can't be said beforehand."""
        if self.mode == "number":
            return keys_near_number(self.number, self.tolerance)
        if self.typed is not None:
            return self.typed.text_keys()
        return self.keys()

    def parts(self) -> tuple[str, ...] | None:
        """Texts that the `text_key` of every text has that can match, or None if that can't be said
        beforehand."""
        # Of an address other letters count than its key has.
        if self.exact or self.mode not in ("contains", "starts_with", "ends_with", "glob"):
            return None
        (text,) = self.texts
        folded = text if self.ignore_case else text.casefold()
        return fixed_parts(folded) if self.mode == "glob" else (folded,)


TEXT_TYPE = parsed_type(TextMatch.parse, TextMatch.WANTED, TEXT_FORM)
