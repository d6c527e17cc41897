"""What a goal asks for, and how well a word of the page or of the agent agrees with it. Pure;
compiles nothing given.

A *slot* is a part of the instruction that a page would hold literally: what stands in quotation
marks, numbers, dates, times, addresses, names. A *phrase* is a run of whole words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from sys import getsizeof
from typing import NamedTuple

from detectors.model.caches import cache_by_size
from detectors.model.memory import size_of

MAX_CHARACTERS = 2_000
"""Characters of any one text that are looked at."""
SHORT = 256
"""Characters of a text whose normalised form is kept by number, not by bytes."""
STOP = frozenset(
    "a an and are as at be by click do field fields find for from given have in into it its of on"
    " or press that the their them then this to use using which with your you enter select submit"
    " button link text".split()
)
ERRORS = frozenset(
    "error errors failed failure invalid denied wrong incorrect forbidden unavailable exception"
    " expired unable required missing rejected sorry oops".split()
)
WHOLE = 4
"""Letters of a slot from which on a value may have it among other words,"""
MORE = 3
"""and how many others, at most."""
SUCCESS = frozenset(
    "success successful successfully completed complete confirmed thank thanks saved done".split()
)
SUBMITS = frozenset(
    "submit ok send search login log save confirm done next book buy add apply yes continue go"
    " accept finish".split()
)
REFUSALS = frozenset(
    "cancel close no back reset clear delete remove dismiss undo exit quit".split()
)
ORDERS = frozenset(
    "1st 2nd 3rd first second third last next previous largest smallest biggest greatest least most"
    " cheapest longest shortest oldest newest latest highest lowest middle odd even ascending"
    " descending".split()
)
_TO_TEN = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
PLACES = {word: place for place, word in enumerate(_TO_TEN, 1)}
DEEDS = {
    "drags": frozenset("drag drop resize sort move".split()),
    "pasted": frozenset("paste copy".split()),
}
"""Deeds that a goal asks for by name."""
KINDS = frozenset(
    "textbox text input field radio checkbox link button tab option slider list item image".split()
)
"""Words for kinds of things that a goal counts."""
WORKED = frozenset(
    "many sum solve count total calculate compute even odd greater less than between side sides"
    " shape size sized color colored shade shades angle center middle midpoint degrees".split()
)
"""What is asked for must be worked out: no name on the page says it."""
ENDS = frozenset("submit search send login book buy save ok".split())
EDGES = (" start", " begin", " end ", " ends ")
"""How a goal speaks of the beginning or the end of a text."""
MAX_NUMBER_TEXT = 40
"""Characters of a date or a time, at most."""

_WORD = re.compile(r"(?:(?<![^\s(\"'])-(?=\d))?[^\W_]+(?:[.:/@'-][^\W_]+)*", re.UNICODE)
_LABEL = re.compile(r"\"[^\"]{1,200}\"\s*:")
"""The key of an instruction that is written as JSON: no value."""
_QUOTED = re.compile(r"\"([^\"]{1,200})\"|“([^”]{1,200})”|'([^']{2,200})'(?!\w)")
_LITERAL = re.compile(
    r"(?:(?<!\S)-)?\b\d+(?:[/:.-]\d+)*\b(?:\s?[AaPp][Mm]\b)?|[#@]\w+|\b[^\s@]{1,64}@[^\s@]{1,64}\b"
)
_NAME = re.compile(r"(?:(?<=[a-z,:] )|(?<=\w>))[A-Z][\w-]*(?: [A-Z][\w-]*)*")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_NUMBER = re.compile(r"\d+")


class Goal(NamedTuple):
    """An instruction, read once: its words as one text with spaces around, its rare words, its
    slots in order."""

    text: str
    words: frozenset[str]
    slots: tuple[str, ...]
    numbers: frozenset[frozenset[int]]
    raw: str
    case: str
    """"upper" or "lower" where the goal asks for one, else nothing."""
    ends: frozenset[str]
    orders: int
    places: tuple[tuple[int, frozenset[str]], ...]
    """Its ordinals, from 1 (-1: the last), each with the two words behind it."""
    worked: int
    """Words of what must be worked out."""


def plain(text: str) -> str:
    """Return a text in lower case and NFKC, words alone, one space between them."""
    text = text[:MAX_CHARACTERS]
    return _plain_short(text) if len(text) <= SHORT else _plain_long(text)


@lru_cache(maxsize=4096)
def _plain_short(text: str) -> str:
    return _normalise(text)


@cache_by_size(8 << 20, lambda words, _: getsizeof(words))
def _plain_long(text: str) -> str:
    return _normalise(text)


def _normalise(text: str) -> str:
    """No word goes over a space, and most are letters alone: only the others need the pattern."""
    words: list[str] = []
    tokens = unicodedata.normalize("NFKC", text).lower().split()
    if "".join(tokens).isalnum():
        return " ".join(tokens)
    for token in tokens:
        if token.isalnum():
            words.append(token)
        else:
            words += _WORD.findall(token)
    return " ".join(words)


@cache_by_size(8 << 20, lambda goal, _: size_of([goal]))
def read_goal(instruction: str) -> Goal:
    """Read which words, values and names an instruction asks for."""
    text = plain(instruction)
    in_order = text.split()
    all_words = frozenset(in_order)
    instruction = instruction[:MAX_CHARACTERS]
    literals = _find_literals(instruction)
    slots = dict.fromkeys(slot for slot in map(plain, literals) if slot and slot not in STOP)
    return Goal(
        text=f" {text} ",
        words=all_words - STOP,
        slots=tuple(sorted(slots, key=text.find)),
        numbers=frozenset(filter(None, map(numbers, literals))),
        raw=instruction,
        case=_asked_case(all_words),
        ends=all_words & ENDS,
        orders=_count_orders(all_words),
        places=_read_ordinals(in_order),
        worked=len(all_words & WORKED),
    )


def _find_literals(instruction: str) -> list[str]:
    """Return the parts of an instruction that a page would hold as they are written."""
    values = _LABEL.sub(" ", instruction)
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(values)]
    rest = _QUOTED.sub(" ", values)
    return quoted + _LITERAL.findall(rest) + _NAME.findall(rest)


def _asked_case(all_words: frozenset[str]) -> str:
    for case in ("upper", "lower"):
        if case in all_words or case + "case" in all_words:
            return case
    return ""


def _count_orders(all_words: frozenset[str]) -> int:
    """How many words are ordinals or superlatives."""
    ordinals = [word for word in all_words - ORDERS if _ORDINAL.fullmatch(word)]
    return len(all_words & ORDERS) + len(ordinals)


def _read_ordinals(in_order: list[str]) -> tuple[tuple[int, frozenset[str]], ...]:
    """Return each ordinal with the two words behind it."""
    places = ((_ordinal_of(word), at) for at, word in enumerate(in_order))
    return tuple((place, frozenset(in_order[at + 1 : at + 3])) for place, at in places if place)


def _ordinal_of(word: str) -> int:
    """The place that an ordinal says, from 1; -1 is the last, 0 is none."""
    if word == "last":
        return -1
    if word in PLACES:
        return PLACES[word]
    return int(word[:-2]) if _ORDINAL.fullmatch(word) and len(word) < 6 else 0


def wanted_places(goal: Goal, kinds: frozenset[str]) -> frozenset[int]:
    """Return the ordinals that are said of things of these kinds; where there is none, those that
    are said of nothing known."""
    own = frozenset(place for place, words in goal.places if words & kinds)
    return own or frozenset(place for place, words in goal.places if not words & KINDS)


def numbers(text: str) -> frozenset[int]:
    """Return the numbers of a date or a time, in whatever order and notation it is written; none
    where there are fewer than two."""
    values = [int(digits) for digits in _NUMBER.findall(text[:MAX_NUMBER_TEXT])]
    if len(values) < 2:
        return frozenset()
    is_afternoon = len(values) == 2 and "p" in text.lower()
    if is_afternoon and values[0] < 12:
        values[0] += 12
    return frozenset(values)


def in_goal(name: str, goal: Goal) -> float:
    """Return 1 if the goal has the whole phrase, else the share of its rare words that the goal
    has, at most 0.9; 0 for nothing."""
    text = plain(name)
    if not text:
        return 0.0
    if f" {text} " in goal.text and not (len(text) == 1 and text.isalpha()):
        return 1.0
    if text == "close" and "x" in goal.slots:
        return 1.0  # what a person sees
    rare = [word for word in text.split() if word not in STOP]
    if not rare:
        return 0.0
    return 0.9 * sum(word in goal.words for word in rare) / len(rare)


def value_agrees(value: str, goal: Goal) -> float:
    """How well what a field holds agrees with a slot: 1 for a whole one, less for the start of
    one."""
    text = plain(value)
    if not text:
        return 0.0
    if text in goal.slots:
        return 1.0
    date = numbers(value)
    if date and date in goal.numbers:
        return 1.0
    best = 0.9 if f" {text} " in goal.text else 0.0
    for slot in goal.slots:
        if holds(text, slot):
            best = max(best, 0.9)
        if slot.startswith(text) or text.startswith(slot):
            best = max(best, 0.8 * min(len(slot), len(text)) / max(len(slot), len(text)))
    return best


def holds(value: str, slot: str) -> bool:
    """Whether a value is the slot and little more, as "San Diego, CA".

    A text into which the whole goal was copied holds every slot and answers for none.
    """
    return (
        len(slot) >= WHOLE
        and f" {slot} " in f" {value} "
        and len(value.split()) <= len(slot.split()) + MORE
    )


def fulfils(value: str, slot: str, goal: Goal) -> bool:
    """Whether a value is the slot; or begins or ends with it, where the goal speaks of beginnings
    and ends."""
    if value == slot or holds(value, slot):
        return True
    speaks_of_edges = any(word in goal.text for word in EDGES)
    return speaks_of_edges and (value.startswith(slot) or value.endswith(slot))


def case_off(value: str, goal: Goal) -> bool:
    """Whether only upper and lower case are not as the goal has them, or asks for them."""
    if not value or f" {plain(value)} " not in goal.text:
        return False
    if goal.case == "upper":
        return value != value.upper()
    if goal.case == "lower":
        return value != value.lower()
    return value not in goal.raw


def share(some: Iterable[str], whole: frozenset[str]) -> float:
    """Return the share of ``whole`` that is in ``some``; 0 where there is nothing to share."""
    return ratio(len(whole.intersection(some)), len(whole), 0.0)


def ratio(part: float, whole: float, empty: float) -> float:
    """Return ``part / whole``, or ``empty`` where the whole is 0."""
    return part / whole if whole else empty
