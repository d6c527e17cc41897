"""What WebArena-Verified's checks ask and no other run can repeat: what a site draws for each
request, when something was done, the number of what was made, and what the daemon masks.

Of such a field any value is taken, and that is said at import. What only looks drawn may as well
have been there before, so it stays as it is (`lab.benchmarks.base.Imported.from_spec` says it).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from urllib.parse import parse_qsl, urlencode

from api.suggestions.drawn_texts import UUID, is_moment, looks_drawn
from api.suggestions.event_values import is_of_the_page
from detectors.model.json_value import JsonObject, JsonValue, read_object, read_text
from lab.benchmarks.dates import day_of, is_named
from lab.benchmarks.patterns import is_pattern
from lab.benchmarks.state_values import ID_WORDS, is_done_time, is_masked, words_of

ANY = "^.*$"
"""The benchmark's own way to say that any value will do."""
_OF_REQUESTS, _OF_ANSWERS = ("query_params", "post_data"), ("response_content", "response_cookies")
_KEYS = frozenset(("key", "token", "session", "sid"))
"""Parts of an address after which a site writes what it drew for the session."""
_OWN_ID = frozenset(("id", "uuid", "guid", "ulid"))
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_NAME_SIGNS = re.compile(r"[^\w-]+")
_DRAWN = "the site draws it for each request"
_MASKED = "the daemon masks it"


@dataclass(slots=True)
class OpenedCheck:
    """A check whose drawn fields take any value. ``opened``: where → why; ``asked``: how many other
    fields it asks."""

    config: JsonObject
    opened: dict[str, str] = field(default_factory=dict)
    asked: int = 0

    @property
    def is_of_any(self) -> bool:
        """Whether nothing but the address is left of a request that changes something."""
        expected = read_object(self.config, "expected")
        writes = read_text(expected, "http_method", "GET") != "GET"
        return writes and bool(self.opened) and not self.asked

    def remarks(self, number: int) -> list[str]:
        """What is to be said at import of the check of that number."""
        found = [f"{where} ({why})" for where, why in self.opened.items()]
        return [f"check {number}: any value is taken of {', '.join(found)}"] if found else []


def open_drawn(config: JsonObject, instruction: str) -> OpenedCheck:
    """Let a check take any value of what a site draws and of what is masked; what the instruction
    names is asked as it is."""
    reading = _CheckReading(read_object(config, "expected"), instruction)
    expected = reading.expected()
    return OpenedCheck({**config, "expected": expected}, reading.opened, reading.asked)


class _CheckReading:
    """What is expected of one request, read field by field."""

    def __init__(self, expected: JsonObject, instruction: str) -> None:
        self._expected = expected
        self._instruction = instruction
        self.opened: dict[str, str] = {}
        self.asked = 0

    def expected(self) -> JsonObject:
        """What is expected, its drawn values opened."""
        opened: dict[str, JsonValue] = {**self._expected}
        url = opened.get("url")
        if isinstance(url, list):
            opened["url"] = [self._address(one) for one in url]
        elif url is not None:
            opened["url"] = self._address(url)
        for part in (*_OF_REQUESTS, *_OF_ANSWERS):
            if isinstance(opened.get(part), Mapping):
                opened[part] = self._members(part, "", read_object(opened, part))
        return opened

    def _members(self, part: str, above: str, members: JsonObject) -> JsonObject:
        return {name: self._value(part, above + name, value) for name, value in members.items()}

    def _value(self, part: str, name: str, value: JsonValue) -> JsonValue:
        """One field's value; of a list of one the value in it."""
        if isinstance(value, Mapping):
            return self._members(part, f"{name}.", value)
        if isinstance(value, list):
            return [self._value(part, name, one) for one in value]
        why = None if value is None else self._reason(part, name, value)
        if why is None:
            self.asked += 1
            return value
        self.opened[name] = why
        return ANY

    def _reason(self, part: str, name: str, value: JsonValue) -> str | None:
        """Why the value of a field is not asked; None where it is."""
        last = _last_word(name)
        whole_name = last if name.startswith("$") else name
        if is_masked(whole_name, value):
            return _MASKED
        text = str(value)
        is_fixed = isinstance(value, bool) or is_pattern(value)
        if is_fixed or self._is_told(text):
            return None
        if _is_drawn(part, last, text) or self._is_drawn_id(part, last, text):
            return _DRAWN
        if self._is_time_of_doing(last, value):
            return "when it was done"
        if self._is_new_id(part, last, text):
            return "the site numbers it"
        return None

    def _is_time_of_doing(self, name: str, value: JsonValue) -> bool:
        """Whether a point in time is that of doing: by its name, and unnamed by the instruction."""
        moment = value
        if isinstance(value, str) and value.isdecimal():
            moment = int(value)
        day = day_of(moment)
        if day is None or is_named(day, self._instruction):
            return False
        return is_done_time(name)

    def _is_new_id(self, part: str, name: str, value: str) -> bool:
        """Whether an answer names what its request made."""
        is_made = part == "response_content" and self._expected.get("http_method") == "POST"
        is_id = not ID_WORDS.isdisjoint(words_of(name)[-1:])
        return is_made and is_id and value not in str(self._expected.get("url"))

    def _is_drawn_id(self, part: str, name: str, value: str) -> bool:
        """Whether a request gives what it makes an id that its page drew: a UUID or a ULID under
        the id's own name. One under another name, such as `productId`, is of what was there
        before."""
        is_made = part == "post_data" and self._expected.get("http_method") == "POST"
        is_own = name.lower() in _OWN_ID
        return is_made and is_own and (_ULID.fullmatch(value) or UUID.fullmatch(value)) is not None

    def _is_told(self, text: str) -> bool:
        """Whether the instruction has the text."""
        return len(text) > 1 and text.lower() in self._instruction.lower()

    def _address(self, url: JsonValue) -> JsonValue:
        """An address whose drawn parameters, or parts after the name of a key, take any value."""
        if not isinstance(url, str) or is_pattern(url):
            return url
        place, mark, query = url.partition("?")
        if not mark:
            return self._path(place)
        pairs = parse_qsl(query, keep_blank_values=True)
        opened = [(name, self._value("query_params", name, value)) for name, value in pairs]
        is_changed = ANY in [value for _, value in opened]
        return f"{place}?{urlencode(opened)}" if is_changed else url

    def _path(self, place: str) -> str:
        """An address without a query, the first drawn part of it made a pattern of any part."""
        steps = place.split("/")
        for before, step in pairwise(steps):
            if self._is_session_key(before, step):
                self.opened[f"{before}/{step}"] = _DRAWN
                pattern = re.escape(place).replace(re.escape(step), "[^/?]+")
                return f"^{pattern}$"
        return place

    def _is_session_key(self, before: str, step: str) -> bool:
        """Whether a part of an address is a key that was drawn, as the part before it says."""
        names_key = before.lower() in _KEYS or is_of_the_page(before)
        if not names_key or self._is_told(step):
            return False
        return looks_drawn(step)


def _last_word(name: str) -> str:
    """The last word of a field's name, which may be a path (`$.item.createdAt`); empty if none."""
    words = [word for word in _NAME_SIGNS.split(name) if word]
    return words[-1] if words else ""


def _is_drawn(part: str, name: str, text: str) -> bool:
    """Whether the site draws a value for each request: its name says so, it is a cookie that looks
    random, or a point in time under a name without letters, as `_`."""
    if is_of_the_page(name):
        return True
    if part == "response_cookies" and looks_drawn(text):
        return True
    return is_moment(text) and not any(map(str.isalpha, name))
