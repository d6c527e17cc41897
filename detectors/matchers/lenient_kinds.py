"""How values are read that people write in many ways, and when two are the same; see lenient.py."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from detectors.matchers import third_party
from detectors.matchers.location import location_key
from detectors.matchers.markdown import plain_markdown
from detectors.matchers.moments import whole_day
from detectors.matchers.places import degrees
from detectors.matchers.typed_base import json_text
from detectors.matchers.url import MAX_URL
from detectors.matchers.words import number_in_words
from detectors.model.safe_json import read_json

MAX_CHARACTERS = 262_144
SHORT = 256
"""Characters that a number, an amount, a date and the like may have."""
_BLANKS = str.maketrans("\t\n\r", "   ")
_MARKS = {0x2122: None, 0x00AE: None, 0x2120: None, 0x00A9: None}
_HYPHEN = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u00ad"
_HYPHENS = re.compile(f"(?<=[a-zA-Z])[{_HYPHEN}]|[{_HYPHEN}](?=[a-zA-Z])")
_QUOTES = "'\"`.,;:!?"
_PRICE = re.compile(r"\d[\d.,]*")
_UNITS = {
    **dict.fromkeys("w wk wks week weeks".split(), 604_800),
    **dict.fromkeys("d dy dys day days".split(), 86_400),
    **dict.fromkeys("h hr hrs hour hours".split(), 3600),
    **dict.fromkeys("m min mins minute minutes".split(), 60),
    **dict.fromkeys("s sec secs second seconds".split(), 1),
}
_SPAN = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]+)")
_CLOCK = re.compile(r"(?:(\d+):)?(\d{1,3}):(\d{2}(?:\.\d+)?)")
_METRES = {
    **dict.fromkeys("m meter meters metre metres".split(), 1.0),
    **dict.fromkeys("mi mile miles".split(), 1609.344),
    **dict.fromkeys("k km kilometer kilometers kilometre kilometres".split(), 1000.0),
    **dict.fromkeys("ft foot feet".split(), 0.3048),
    **dict.fromkeys("yd yard yards".split(), 0.9144),
    **dict.fromkeys("cm centimeter centimeters centimetre centimetres".split(), 0.01),
    **dict.fromkeys("in inch inches".split(), 0.0254),
}
_LENGTH = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?) ?([a-z]+)")
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_TRUE, _FALSE = {"true", "yes", "y", "1", "t", "on"}, {"false", "no", "n", "0", "f", "off"}


def text_key(raw: object) -> str:
    """A text without case, marks, accents, control characters and hyphens between letters; white
    space folded."""
    text = str(raw)[:MAX_CHARACTERS].translate(_MARKS)
    text = _HYPHENS.sub(" ", unicodedata.normalize("NFKC", text))
    text = text.translate(_BLANKS)
    printed = "".join(c for c in text if unicodedata.category(c)[0] != "C")
    bare = unicodedata.normalize("NFKD", printed)
    letters = "".join(c for c in bare if not unicodedata.combining(c))
    return " ".join(letters.casefold().split())


def _string(raw: object) -> str:
    if isinstance(raw, list | dict):
        raise ValueError("a text")
    if isinstance(raw, bool | int | float):
        return text_key(json_text(raw))
    return "" if not raw else text_key(raw)


def _url(raw: object) -> str:
    """An address in one writing. Its letters are not folded: an accent, a dash, a full-width digit
    is another place."""
    text = raw.strip() if isinstance(raw, str) and len(raw) <= MAX_URL else ""
    found = location_key(text) or text_key(text)
    if not text or (found != location_key(text) and "://" in found):
        raise ValueError("an address")
    return found


def _same_string(one: str, other: str) -> bool:
    # As many as anybody puts around a text; stripping more costs time.
    near = len(other) <= len(one) + SHORT
    return one == other or (near and one.strip(_QUOTES) == other.strip(_QUOTES))


def _short(raw: object) -> str:
    """A text of the length that a single value may have: patterns are looked for in it."""
    text = _string(raw)
    if len(text) > SHORT:
        raise ValueError("one value")
    return text


def _number(raw: object) -> float:
    if isinstance(raw, bool | int | float):
        return float(raw)
    text = _short(raw).replace(",", "").replace(" ", "")
    if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", text):
        return float(text)
    return float(number_in_words(_short(raw)))


def _currency(raw: object) -> float:
    """One amount, whatever stands around it; of point and comma the last is the decimal one, but
    1,234 is 1234."""
    if isinstance(raw, int | float):
        return float(raw)
    text = _short(raw)
    found = _PRICE.findall(text)
    if len(found) != 1:
        raise ValueError("one amount")
    digits = found[0].rstrip(".,")
    point = max(digits.rfind("."), digits.rfind(","))
    part = digits[point + 1 :]
    if point <= 0 or (digits[point] == "," and len(part) == 3):
        amount = float(re.sub(r"[.,]", "", digits))
    else:
        amount = float(re.sub(r"[.,]", "", digits[:point]) + "." + part)
    return -amount if text.startswith("-") or "$-" in text else amount


def _near_price(one: float, other: float) -> bool:
    return abs(one - other) <= 0.1 + 1e-9


def _boolean(raw: object) -> bool:
    if isinstance(raw, bool | int | float):
        return bool(raw)
    word = _short(raw)
    if word not in _TRUE | _FALSE:
        raise ValueError("yes or no")
    return word in _TRUE


def _duration(raw: object) -> float:
    """Seconds; a number alone has no unit, and is none."""
    text = re.sub(r"(\d+):(\d+) ?hours?", r"\1h\2m", _short(raw)).replace(" and ", " ")
    clock = _CLOCK.fullmatch(text)
    if clock:
        return int(clock[1] or 0) * 3600 + int(clock[2]) * 60 + float(clock[3])
    spans = _SPAN.findall(text)
    if not spans or _SPAN.sub("", text).strip(" ,") or any(unit not in _UNITS for _, unit in spans):
        raise ValueError("a duration with its unit")
    return float(sum(float(many) * _UNITS[unit] for many, unit in spans))


def _near_time(one: float, other: float) -> bool:
    return abs(one - other) <= max(180.0, 0.1 * max(one, other))


def _distance(raw: object) -> float:
    """Metres; a number alone has no unit, and is none."""
    found = _LENGTH.fullmatch(_short(raw))
    if found is None or found[2] not in _METRES:
        raise ValueError("a distance with its unit")
    return float(found[1]) * _METRES[found[2]]


def _near_place(one: float, other: float) -> bool:
    return abs(one - other) <= max(10.0, 0.02 * max(one, other))


def _date(raw: object) -> tuple[int, int, int]:
    text = re.sub(r",(?! )", ", ", _short(raw))
    day = whole_day(text, False) if text else None
    if day is None:
        raise ValueError("a date")
    return day


def _month(raw: object) -> int:
    text = _short(raw)
    if text.isdecimal() and len(text) <= 2 and 1 <= int(text) <= 12:
        return int(text)
    word = re.fullmatch(r"([a-z]{3,9})\.?(?: \d{4})?", text)
    for number, name in enumerate(_MONTHS, 1):
        if word and word[1] in (name, name[:3], "sept" if number == 9 else name):
            return number
    raise ValueError("a month")


def _coordinates(raw: object) -> tuple[float, float]:
    pair = _pair(raw)
    if len(pair) != 2:
        raise ValueError("latitude and longitude")
    latitude, longitude = map(_number, pair)
    if not -90 <= latitude <= 90:
        raise ValueError("a latitude")
    return latitude, (longitude + 180) % 360 - 180


def _pair(raw: object) -> Sequence[object]:
    """Latitude and longitude, as an object names them, a list has them or a text says them."""
    if isinstance(raw, list):
        return raw
    if not isinstance(raw, dict):
        return degrees(str(raw)[:SHORT]) or ()
    if len(raw) > SHORT:
        raise ValueError("one value")
    return [_named(raw, word) for word in ("latitude", "longitude")]


def _named(members: Mapping[object, object], word: str) -> object:
    for key, value in members.items():
        if _names(str(key).lower(), word):
            return value
    return None


def _names(key: str, word: str) -> bool:
    return len(key) >= 2 and (word.startswith(key) or (word == "longitude" and key == "lng"))


def _near_point(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return all(abs(a - b) <= 1e-5 for a, b in zip(one, other, strict=True))


def _like_name(one: str, other: str) -> bool:
    if not one or not other:
        return one == other
    return third_party.likeness_of_words(one, other) >= 0.8


def _json(raw: object) -> str:
    if not isinstance(raw, str):
        raise ValueError("a text that is JSON")
    try:
        found = json_text(read_json(text_key(raw)))
    except orjson.JSONDecodeError:
        found = ""
    if not found:
        raise ValueError("a text that is JSON")
    return found


def _string_list(raw: object) -> tuple[str, ...]:
    found = tuple(sorted(part.strip() for part in _string(raw).split(",") if part.strip()))
    if not found:
        raise ValueError("texts between commas")
    return found


def _markdown(raw: object) -> str:
    if not isinstance(raw, str) or not raw:
        raise ValueError("a text")
    return plain_markdown(raw[:MAX_CHARACTERS])


class LenientType(NamedTuple):
    """How a value of a type is read (raises `ValueError` for what is none), and when two are the
    same."""

    read: Callable[[Any], Any]
    same: Callable[[Any, Any], bool]


def _equal(one: object, other: object) -> bool:
    return bool(one == other)


KINDS: dict[str, LenientType] = {
    "string": LenientType(_string, _same_string),
    "number": LenientType(_number, _equal),
    "integer": LenientType(_number, _equal),
    "currency": LenientType(_currency, _near_price),
    "boolean": LenientType(_boolean, _equal),
    "duration": LenientType(_duration, _near_time),
    "distance": LenientType(_distance, _near_place),
    "date": LenientType(_date, _equal),
    "month": LenientType(_month, _equal),
    "coordinates": LenientType(_coordinates, _near_point),
    "location-name": LenientType(_string, _like_name),
    "json": LenientType(_json, _equal),
    "markdown": LenientType(_markdown, _equal),
    "url": LenientType(_url, _equal),
    "string_list": LenientType(_string_list, _equal),
}
