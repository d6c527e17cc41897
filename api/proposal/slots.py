"""Slots: what differs between the instructions of recorded runs, and in their events. Pure.

The instructions of runs of one template share their words but for the values. The words that all
share are the template's text, in the order in which they stand; what lies between them is a slot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from api.proposal.candidates import TaskCandidate
from detectors.model.json_value import JsonObject, JsonValue, plain_values
from detectors.model.optional_values import pick_keys
from detectors.task.templates import PARAMETERS, fill_template

Values = Mapping[str, str | int]
"""A run's value of each slot, by the slot's name."""

WITH_SLOTS = -1
"""The rank of a condition with slots in its family: it says more than one that leaves open."""
MAX_WORDS = 400
"""Words of an instruction that are compared; their table has the square of it."""
MAX_VARIANTS = 4
_WORD = re.compile(r"\w+(?:[./:\-]\w+)*|[^\w\s]")
_SLOT = re.compile(r"\{([a-z][a-z0-9_]{0,40})\}")
_NUMBER = re.compile(r"0|[1-9]\d{0,14}")
_NO_SLOT = frozenset(("method", "role", "regex", "glob", "cel", "json"))
"""Keys below which a text is no value of the task: a word of a protocol, or a pattern."""
_FILLERS = frozenset("a an and as at by for from in into is it of on or the then to with".split())
"""Words that name nothing."""


@dataclass(frozen=True, slots=True)
class InstructionTemplate:
    """An instruction with slots ``{name}``; ``values``: those of each run, in the order of the
    runs."""

    text: str
    values: tuple[Values, ...]


class NoTemplateError(ValueError):
    """An instruction that does not fit, or instructions that share no word. ``index``: which one
    does not fit; None where it is all of them."""

    def __init__(self, message: str, index: int | None = None) -> None:
        super().__init__(message)
        self.index = index


def find_template(instructions: Sequence[str]) -> InstructionTemplate:
    """Return the template of instructions: words that all share, and slots between them. Without a
    slot where all are the same. Raises `NoTemplateError` where they share no word."""
    texts = [_WORD.findall(text)[:MAX_WORDS] for text in instructions]
    shared = _find_shared(texts)
    if len(set(instructions)) > 1 and not any(word[0].isalnum() for word in shared):
        raise NoTemplateError(
            f"instructions: expected words that all share, got {instructions[0]!r} and others"
        )
    shared, parts = _absorb_half_empty(shared, texts)
    open_places = [at for at in range(len(shared) + 1) if any(part[at] for part in parts)]
    names = _name_slots(shared, open_places)
    text = _template_text(instructions[0], shared, names, parts[0])
    return read_values(text, instructions)


def read_values(template: str, instructions: Sequence[str]) -> InstructionTemplate:
    """Return a template with the values that each instruction gives its slots. A slot whose values
    are all whole numbers has numbers. Raises `NoTemplateError` for an instruction that does not
    fit."""
    template = template.strip()
    found = [
        _values_of(template, instruction, index) for index, instruction in enumerate(instructions)
    ]
    numbers = {
        name
        for name in dict.fromkeys(_SLOT.findall(template))
        if all(_NUMBER.fullmatch(values[name]) for values in found)
    }
    typed = [
        {name: int(value) if name in numbers else value for name, value in values.items()}
        for values in found
    ]
    return InstructionTemplate(template, tuple(typed))


def with_slots(candidate: TaskCandidate, values: Values) -> Iterator[TaskCandidate]:
    """Yield a condition with slots in the place of a run's values, where it has any: one for each
    way in which slots of the same value could stand there."""
    yielded: list[JsonObject] = []
    names = list(values)
    for turn in range(min(len(names), MAX_VARIANTS)):
        order = [*names[turn:], *names[:turn]]
        when = _replace(candidate.when, values, order)
        if when != candidate.when and when not in yielded and isinstance(when, dict):
            yielded.append(when)
            family = _replace_in(candidate.family, values, order)
            yield candidate._replace(family=str(family), rank=WITH_SLOTS, when=when)


def fill_task(task: JsonObject, values: Values) -> JsonObject:
    """Return a task whose slots are filled with a run's values. Raises `TaskError` for a value that
    may not stand where its slot does."""
    used = pick_keys(values, _names_in(task))
    if not used:
        return task
    filled = fill_template({**task, PARAMETERS: {name: {"example": used[name]} for name in used}})
    assert isinstance(filled, dict), "a task is an object, filled or not"
    return filled


def _names_in(value: JsonValue) -> Iterator[str]:
    """Yield the names of the slots in a value, however deep they stand."""
    for text in plain_values(value):
        if isinstance(text, str):
            yield from _SLOT.findall(text)


def _common(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return a longest common subsequence of words."""
    lengths = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i in range(len(first) - 1, -1, -1):
        for j in range(len(second) - 1, -1, -1):
            is_same = first[i] == second[j]
            lengths[i][j] = (
                lengths[i + 1][j + 1] + 1 if is_same else max(lengths[i + 1][j], lengths[i][j + 1])
            )
    words, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            words.append(first[i])
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return words


def _find_shared(texts: Sequence[Sequence[str]]) -> list[str]:
    """Return the words that all texts have, in one order."""
    shared = list(texts[0])
    for words in texts[1:]:
        shared = _common(shared, words)
    return shared


def _absorb_half_empty(
    shared: Sequence[str], texts: Sequence[Sequence[str]]
) -> tuple[list[str], list[list[list[str]]]]:
    """Return the shared words without those that are rather a part of values, and what each text
    has between them."""
    left = list(shared)
    parts = [_parts_between(words, left) for words in texts]
    while (place := _half_empty_place(parts)) is not None and left:
        del left[_word_to_absorb(left, place)]
        parts = [_parts_between(words, left) for words in texts]
    return left, parts


def _parts_between(words: Sequence[str], shared: Sequence[str]) -> list[list[str]]:
    """Return the words before, between and after the shared ones: one list more than there are."""
    parts: list[list[str]] = [[]]
    for word in words:
        if len(parts) <= len(shared) and word == shared[len(parts) - 1]:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _half_empty_place(parts: Sequence[Sequence[Sequence[str]]]) -> int | None:
    """Return a place at which some runs have words and others none: a value that shares words with
    the others', as in "lamp" and "desk lamp"."""
    columns = enumerate(zip(*parts, strict=True))
    return next((place for place, column in columns if any(column) and not all(column)), None)


def _word_to_absorb(shared: Sequence[str], place: int) -> int:
    """Return the index of the shared word beside a place that is rather a part of the value there:
    no punctuation, no word that names nothing, not the first of all, if there is a choice."""
    beside = [at for at in (place - 1, place) if 0 <= at < len(shared)]
    likely = [
        at
        for at in beside
        if at > 0 and shared[at][0].isalnum() and shared[at].casefold() not in _FILLERS
    ]
    return (likely or beside)[0]


def _name_slots(shared: Sequence[str], places: Sequence[int]) -> dict[int, str]:
    """Return a name for each slot: the last word before it that says something, else `value`."""
    names: dict[int, str] = {}
    for place in places:
        before = [
            word.casefold() for word in shared[:place] if re.fullmatch("[A-Za-z]{3,40}", word)
        ]
        said = [word for word in before if word not in _FILLERS]
        base, number = said[-1] if said else "value", 2
        name = base
        while name in names.values():
            name, number = f"{base}_{number}", number + 1
        names[place] = name
    return names


def _template_text(
    instruction: str, shared: Sequence[str], names: Mapping[int, str], parts: Sequence[list[str]]
) -> str:
    """Return the first instruction with slots in the place of its own values."""
    text, at, index = "", 0, 0
    matches = list(_WORD.finditer(instruction))
    for place in range(len(shared) + 1):
        taken = matches[index : index + len(parts[place])]
        index += len(parts[place])
        if place in names:
            text += f"{instruction[at : taken[0].start()]}{{{names[place]}}}"
            at = taken[-1].end()
        index += place < len(shared)
    return text + instruction[at:]


def _values_of(template: str, instruction: str, index: int) -> dict[str, str]:
    """Return what an instruction gives the slots of a template, white space being any white space.

    Each slot takes as little as it can before the text that follows it, and the last one all that
    is left before the template's end: one pass, whatever the number of slots. Raises
    `NoTemplateError` where the instruction does not fit.
    """
    text = _fold(instruction.strip())
    between = [_fold(part) for part in _SLOT.split(template)[::2]]
    names = _SLOT.findall(template)
    values: dict[str, str] = {}
    at = len(between[0]) if text.startswith(between[0]) else -1
    for number, name in enumerate(names):
        following = between[number + 1]
        is_last = number == len(names) - 1
        # A value has one character at least.
        end = len(text) - len(following) if is_last else text.find(following, at + 1)
        value = text[at:end].strip()
        if at < 0 or end <= at or values.setdefault(name, value) != value:
            at = -1
            break
        at = end + len(following)
    if at != len(text) or not text.endswith(between[-1]):
        raise NoTemplateError(
            f"instruction {instruction!r}: expected one that fits the template {template!r}", index
        )
    return values


def _fold(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def _replace(value: JsonValue, values: Values, order: Sequence[str]) -> JsonValue:
    """Return a condition with slots in the place of values."""
    if isinstance(value, str):
        return _replace_in(value, values, order)
    if isinstance(value, Mapping):
        return {
            key: one if key in _NO_SLOT else _replace(one, values, order)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_replace(one, values, order) for one in value]
    is_number = isinstance(value, int) and not isinstance(value, bool)
    named = [name for name in order if is_number and values[name] == value]
    return f"{{{named[0]}}}" if named else value


def _replace_in(text: str, values: Values, order: Sequence[str]) -> str:
    """Return a text with slots in the place of values that stand in it as whole words."""
    for name in order:
        value = str(values[name])
        if not value or (value in text and _SLOT.search(value)):
            continue
        found = re.search(rf"(?<![\w{{]){re.escape(value)}(?![\w}}])", text)
        if found is not None:
            text = f"{text[: found.start()]}{{{name}}}{text[found.end() :]}"
    return text
