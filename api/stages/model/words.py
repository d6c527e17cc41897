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
from typing import NamedTuple

MAX_CHARACTERS = 2_000
"""Characters of any one text that are looked at."""
STOP = frozenset(
    "a an and are as at be by click do field fields find for from given have in into it its of on"
    " or press that the their them then this to use using which with your you enter select submit"
    " button link text".split()
)
ERRORS = frozenset(
    "error errors failed failure invalid denied wrong incorrect forbidden unavailable exception"
    " expired unable required missing rejected sorry oops".split()
)
WHOLE, MORE = 4, 3
"""Letters of a slot that a value may have among other words, and how many others."""
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
    """Lower case, NFKC, words only, one space between them."""
    return _plain(text[:MAX_CHARACTERS])


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(plain(text).split())


@lru_cache(maxsize=1024)
def read_goal(instruction: str) -> Goal:
    """What is asked."""
    text = plain(instruction)
    instruction = instruction[:MAX_CHARACTERS]
    values = _LABEL.sub(" ", instruction)
    found = [next(filter(None, groups)) for groups in _QUOTED.findall(values)]
    rest = _QUOTED.sub(" ", values)
    found += _LITERAL.findall(rest) + _NAME.findall(rest)
    slots = dict.fromkeys(filter(None, map(plain, found)))
    order = sorted((one for one in slots if one not in STOP), key=lambda slot: text.find(slot))
    rare = frozenset(text.split()) - STOP
    said = frozenset(text.split())
    case = next((one for one in ("upper", "lower") if one in said or one + "case" in said), "")
    orders = len(said & ORDERS) + sum(bool(_ORDINAL.fullmatch(word)) for word in said - ORDERS)
    dates = frozenset(filter(None, map(numbers, found)))
    worked = len(said & WORKED)
    return Goal(
        f" {text} ",
        rare,
        tuple(order),
        dates,
        instruction,
        case,
        said & ENDS,
        orders,
        _places(text.split()),
        worked,
    )


def _places(said: list[str]) -> tuple[tuple[int, frozenset[str]], ...]:
    found = []
    for at, word in enumerate(said):
        place = PLACES.get(word) or (-1 if word == "last" else 0)
        if not place and _ORDINAL.fullmatch(word) and len(word) < 6:
            place = int(word[:-2])
        if place:
            found.append((place, frozenset(said[at + 1 : at + 3])))
    return tuple(found)


def wanted_places(goal: Goal, kinds: frozenset[str]) -> frozenset[int]:
    """The ordinals that are said of such things; all that are said of nothing known where none
    is."""
    own = frozenset(place for place, words in goal.places if words & kinds)
    return own or frozenset(place for place, words in goal.places if not words & KINDS)


def numbers(text: str) -> frozenset[int]:
    """The numbers of a date or a time, in whatever order and notation it is written; few, else
    none."""
    found = [int(one) for one in _NUMBER.findall(text[:40])]
    if len(found) < 2:
        return frozenset()
    if len(found) == 2 and "p" in text.lower() and found[0] < 12:
        found[0] += 12
    return frozenset(found)


def in_goal(name: str, goal: Goal) -> float:
    """1 if the goal has the whole phrase, else the share of its rare words that the goal has; 0 for
    nothing."""
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
    """How well what a field holds agrees with a slot: 1 the whole of one, less where it is only the
    start of one."""
    text = plain(value)
    if not text:
        return 0.0
    if text in goal.slots:
        return 1.0
    if (found := numbers(value)) and found in goal.numbers:
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
        and len(value.split()) <= len(slot.split()) + MORE
        and f" {slot} " in f" {value} "
    )


def fulfils(value: str, slot: str, goal: Goal) -> bool:
    """Whether a value is the slot; or begins or ends with it, where the goal speaks of beginnings
    and ends."""
    if value == slot or holds(value, slot):
        return True
    if (
        " start" in goal.text
        or " begin" in goal.text
        or " end " in goal.text
        or " ends " in goal.text
    ):
        return value.startswith(slot) or value.endswith(slot)
    return False


def case_off(value: str, goal: Goal) -> bool:
    """Whether only upper and lower case are not as the goal has them, or asks for them."""
    if not value or f" {plain(value)} " not in goal.text:
        return False
    if goal.case:
        return value != (value.upper() if goal.case == "upper" else value.lower())
    return value not in goal.raw


def share(some: Iterable[str], of: frozenset[str]) -> float:
    """The share of ``of`` that is in ``some``; 0 where there is nothing to share."""
    return len(of.intersection(some)) / len(of) if of else 0.0
