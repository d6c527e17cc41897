"""Addresses: scheme, host, path, query and fragment, each compared on its own after normalisation.

A text is a whole address, or a path that resolves against the task's ``origin``. ``*`` in the path
is a run of any characters. What the text leaves out (query, fragment) is not compared; a query that
it names is compared as a multiset. Host and scheme are always compared: a path alone on any host
would be paid on any host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import orjson

from detectors.matchers.faults import answers
from detectors.matchers.masked_text import (
    MASK,
    can_be_globbed,
    judge_pairs,
    judge_text,
    split_at_masks,
)
from detectors.matchers.plain import ANY_KEY, fixed_parts, glob, literal, normal
from detectors.matchers.text import TEXT, TEXT_FORM, TEXT_TYPE, TextMatch
from detectors.matchers.typed_base import KeyedForm, Option, parsed_type
from detectors.model.caches import cache_by_size, cache_short
from detectors.model.errors import SpecError
from detectors.model.json_types import MapOf, Schema, checked_type, names
from detectors.model.kinds.limits import MAX_ADDRESS
from detectors.model.memory import size_of
from detectors.model.three_valued import all_verdict, any_verdict
from detectors.model.types import Json

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_PLAIN = re.compile(r"(https?://[a-z0-9.-]+(?::[0-9]{1,4})?)(/[^?#%\x00-\x20]*)(?:[?#]|\Z)")
"""An address whose path stands in it as `parse_url` gives it, but for slashes at its end, and its
origin as it may be written."""
MAX_URL = MAX_ADDRESS
"""Characters of an address that is looked at; pages can make longer ones, tasks do not ask for
them. Of a longer one origin and path count."""
_PLACE_ENDS = re.compile("[?#]")


class Url(NamedTuple):
    """A parsed address; ``origin`` is ``scheme://host[:port]``, lower case, default port left
    out."""

    origin: str
    path: str
    query: tuple[tuple[str, str], ...]
    fragment: str


def parse_url(text: str) -> Url | None:
    """Parse and normalise; None for what is no address.

    Of one that is longer than `MAX_URL` origin and path, None where these are: nobody leaves a site
    by a long query.
    """
    if len(text) <= MAX_URL:
        return _parsed(text)
    place = place_of_long(text)
    return None if place is None else _parsed(place)


def place_of_long(text: str) -> str | None:
    """Return an address that is longer than `MAX_URL` without its query and fragment; None where
    these do not begin before that."""
    place = _PLACE_ENDS.split(text[:MAX_URL], maxsplit=1)
    return place[0] if len(place) > 1 else None


@cache_short(256, 512)
@cache_by_size(8 << 20, lambda url, _: size_of([url]))
def _parsed(text: str) -> Url | None:
    # A trailing slash of the path does not count.
    try:
        parts = urlsplit(text)
        port = parts.port
        query = tuple(sorted(parse_qsl(parts.query, keep_blank_values=True)))
    except ValueError:
        return None
    host = (parts.hostname or "").rstrip(".")
    suffix = f":{port}" if port is not None and port != _PORTS.get(parts.scheme) else ""
    path = unquote(parts.path).rstrip("/") or "/"
    return Url(f"{parts.scheme.lower()}://{host}{suffix}", path, query, unquote(parts.fragment))


def is_origin(text: str) -> bool:
    """Whether an address can be what a site's addresses begin with: scheme and host, maybe port and
    path, no query, fragment or ``*``; of files ``file://``, which has no host."""
    if any(character.isspace() or character in "?#*\\" for character in text):
        return False
    url = parse_url(f"{text.rstrip('/')}/")
    if url is None or "://" not in text:
        return False
    scheme, _, host = url.origin.partition("://")
    return bool(scheme) and (bool(host) or scheme == "file")


@dataclass(frozen=True, slots=True)
class UrlMatch:
    """One address matcher; see the module for what it compares."""

    origin: str
    path: str
    globbed: bool
    query: tuple[tuple[str, str], ...] | None = None
    parameters: tuple[tuple[str, TextMatch], ...] = ()
    fragment: TextMatch | None = None
    hosts: frozenset[str] = frozenset()
    """Further origins under which the same site answers."""
    ignored: tuple[str, ...] = ()
    """Parameters that do not count, as globs."""

    WANTED: ClassVar[str] = (
        "an address, a path below the task's origin, or {origin?, path, query?: {name: text},"
        " fragment?, hosts?: [origins], ignore?: [parameters]}"
    )

    @classmethod
    def schema(cls) -> Schema:
        """The JSON Schema of an address, as a text or in its parts."""
        return {"anyOf": [TEXT, _PARTS.schema()]}

    @classmethod
    def parse(
        cls, spec: object, path: tuple[str | int, ...], origin: str | None = None
    ) -> UrlMatch:
        """Make a matcher of its JSON form; ``origin`` is the task's. Raises `SpecError`."""
        if isinstance(spec, str):
            return cls._of_text(spec, path, origin)
        parts = _PARTS.read(spec, path)
        own = parts["origin"]
        base = cls._of_text(parts["path"], (*path, "path"), origin if own is None else own)
        hosts = (cls._of_text(f"{one}/", (*path, "hosts"), None) for one in parts["hosts"])
        return replace(
            base,
            parameters=tuple(sorted(parts["query"].items())),
            fragment=parts["fragment"],
            hosts=frozenset(host.origin for host in hosts),
            ignored=parts["ignore"],
        )

    @classmethod
    def _of_text(cls, text: str, path: tuple[str | int, ...], origin: str | None) -> UrlMatch:
        if text.startswith("/") and not text.startswith("//"):
            if not isinstance(origin, str):
                raise SpecError(
                    path,
                    text,
                    "a whole address, or an `origin` in the task that a path resolves against",
                )
            text = origin.rstrip("/") + text
        url = parse_url(text)
        if url is None or not _is_whole(url, text):
            raise SpecError(
                path,
                text,
                "a whole address such as https://shop.example/cart, or a path such as /cart",
            )
        raw = urlsplit(text)
        fragment = TextMatch("equals", (url.fragment,)) if raw.fragment else None
        return cls(
            url.origin, url.path, "*" in url.path, url.query if raw.query else None, (), fragment
        )

    @answers(False)
    def matches(self, text: str) -> bool:
        """Whether the address ``text`` is the wanted one; False where `judge` does not know."""
        if len(text) > MAX_URL:
            return self._judge_beginning(text) is True
        if self._by_place:
            plain = _PLAIN.match(text)
            if plain is not None and plain[1] == self.origin:
                return (plain[2].rstrip("/") or "/") == self.path
        url = parse_url(text)
        return url is not None and self._is_place(url) and self._is_rest(url)

    def _is_rest(self, url: Url) -> bool:
        """Whether query and fragment are the wanted ones."""
        if not self._is_query(url.query):
            return False
        if self.fragment is not None and not self.fragment.matches(url.fragment):
            return False
        return all(self._judge_parameter(url.query, *one) is True for one in self.parameters)

    def judge(self, text: str) -> bool | None:
        """Whether the address ``text`` is the wanted one; None where that hangs on the query, the
        fragment or the end of the path of one that is longer than `MAX_URL`, or on what the daemon
        masked in path, query or fragment."""
        if len(text) > MAX_URL:
            return self._judge_beginning(text)
        is_so = self.matches(text)
        return self._judge_masked(text) if MASK in text and not is_so else is_so

    @answers(False)
    def _judge_masked(self, text: str) -> bool | None:
        """`judge` for an address in which something was masked."""
        url = parse_url(text)
        if url is None or not self._is_origin(url):
            return False
        wanted = () if self.query is None else self._counted(self.query)
        verdicts = [
            self._judge_path(url.path),
            self.query is None or judge_pairs(wanted, self._counted(url.query)),
        ]
        if self.fragment is not None:
            verdicts.append(judge_text(self.fragment, url.fragment))
        verdicts += [self._judge_parameter(url.query, *one) for one in self.parameters]
        return all_verdict(verdicts)

    def _judge_beginning(self, text: str) -> bool | None:
        """`judge` for an address that is longer than `MAX_URL`."""
        url = parse_url(text)
        if url is None:
            is_place = self._judge_long_path(text)
        else:
            is_place = self._is_origin(url) and self._judge_path(url.path)
        return is_place if is_place is False or self._has_place_alone else None

    def _judge_long_path(self, text: str) -> bool | None:
        """Whether an address whose path goes on beyond `MAX_URL` is at the wanted place; None where
        that hangs on the rest of the path."""
        url = _parsed(text[:MAX_URL])
        if url is None or not self.globbed or not self._is_origin(url):
            return False
        beginning, _, rest = self.path.partition("*")
        if not f"{url.path}/".startswith(beginning):
            return False
        return None if rest else True

    def _is_query(self, query: tuple[tuple[str, str], ...]) -> bool:
        """Whether the query is the wanted one, but for parameters that are ignored."""
        return self.query is None or self._counted(query) == self._counted(self.query)

    def _is_place(self, url: Url) -> bool:
        """Whether the address is on one of the hosts, at the path."""
        if not self._is_origin(url):
            return False
        return glob(self.path, url.path) if self.globbed else url.path == self.path

    def _judge_path(self, path: str) -> bool | None:
        """Whether a path is the wanted one; None where that hangs on what was masked in it."""
        if MASK not in path:
            return glob(self.path, path) if self.globbed else path == self.path
        pieces = split_at_masks(path)
        if self.globbed and glob(self.path, path):
            return True
        return None if can_be_globbed(self.path, pieces) else False

    def _is_origin(self, url: Url) -> bool:
        return url.origin == self.origin or url.origin in self.hosts

    def _judge_parameter(
        self, query: tuple[tuple[str, str], ...], name: str, wanted: TextMatch
    ) -> bool | None:
        """Whether the parameter is as wanted: each value that it has, or one of them where its name
        makes it a list; None where that hangs on what was masked."""
        verdicts = [judge_text(wanted, value) for key, value in query if key == name]
        if not verdicts:
            return False
        return any_verdict(verdicts) if name.endswith("[]") else all_verdict(verdicts)

    @property
    def _by_place(self) -> bool:
        """Whether origin and path alone, as they are written, tell it from all others."""
        return not self.globbed and self._has_place_alone

    @property
    def _has_place_alone(self) -> bool:
        """Whether neither query nor fragment counts."""
        return self.query is None and self.fragment is None and not self.parameters

    def _counted(self, query: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
        if not self.ignored:
            return query
        return tuple(
            pair for pair in query if not any(glob(name, pair[0]) for name in self.ignored)
        )

    @property
    def address(self) -> dict[str, str]:
        """Origin and path alone, as a spec: what a daemon may know, without the values that the
        author wants."""
        return {"origin": self.origin, "path": quote(self.path, safe="/*")}

    def keys(self) -> tuple[str, ...] | None:
        """Index keys: the path, unless it has a ``*``."""
        return None if self.globbed else (self.path,)

    def parts(self) -> tuple[str, ...] | None:
        """Texts that the `url_key` of every address has that can match, but for an empty key; None
        where a whole path is asked for."""
        return fixed_parts(self.path) if self.globbed else None


def _read_fragment(value: Json, path: tuple[str | int, ...]) -> TextMatch | None:
    return None if value is None else TextMatch.parse(value, path)


_TEXT = checked_type(lambda value: isinstance(value, str), "a text", TEXT, str)
_TEXTS = Option(names("a list of texts", TEXT, is_name=bool), ())
_PARTS = KeyedForm(
    UrlMatch.WANTED,
    {
        "origin": Option(_TEXT),
        "path": Option(_TEXT, required=True),
        "query": Option(MapOf(TEXT_TYPE, "an object of parameter names and texts"), {}),
        "fragment": Option(parsed_type(_read_fragment, TextMatch.WANTED, TEXT_FORM)),
        "hosts": _TEXTS,
        "ignore": _TEXTS,
    },
)


def _is_whole(url: Url, text: str) -> bool:
    """Whether the address names a host, unless it is a file's."""
    if "://" not in text:
        return False
    return not url.origin.endswith("://") or text.startswith("file:")


def url_key(text: str) -> str:
    """The index key under which a matcher for the address ``text`` stands: its path, as `parse_url`
    gives it; `ANY_KEY` where something was masked in it."""
    # Every event with an address is asked for it, and most addresses are told from all others by
    # it.
    plain = _PLAIN.match(text)
    if plain is not None and len(text) <= MAX_URL:
        path = plain[2].rstrip("/") or "/"
    else:
        url = parse_url(text)
        path = "" if url is None else url.path
    return ANY_KEY if MASK in path else path


def writings(text: str) -> tuple[str, ...]:
    """An address as it is, and with its path decoded and without a slash at its end: a pattern may
    mean either."""
    place = len(text)
    for mark in "?#":
        place = min(place, text.find(mark) % (len(text) + 1))
    path = unquote(text[:place]).rstrip("/")
    return (text,) if path == text[:place] else (text, path + text[place:])


def _is_folded(character: str) -> bool:
    """Whether a text matcher takes another character for it: a full-width digit, a dash."""
    return normal(character) != literal(character)


def _encode_folded(text: str) -> str:
    """``text`` with each character that would be taken for another one as the numbers of its
    bytes, which no other character has."""
    if text.isascii():
        return text
    return "".join(quote(c) if _is_folded(c) else c for c in text)


@dataclass(frozen=True, slots=True)
class AddressTextMatch(TextMatch):
    """A text matcher for a whole address, of which every character counts: ``/item/7`` with a
    full-width digit is another place."""

    OF_ADDRESS: ClassVar[bool] = True

    def judge_address(self, url: str) -> bool | None:
        """Whether ``url`` matches in one of its `writings`; None where that hangs on the end of one
        that is longer than `MAX_URL`, or on what the daemon masked in it. A typed form folds what
        it reads: for it, characters that it would take for others stay encoded."""
        texts = writings(url)
        if not self.exact:
            texts = tuple(map(_encode_folded, texts))
        if len(url) > MAX_URL:
            return any_verdict(self.matches_beginning(text) for text in texts)
        return any_verdict(judge_text(self, text) for text in texts)


@cache_by_size(8 << 20, lambda _, spec, origin: 32 * len(spec))
def _compiled(spec: bytes, origin: str | None) -> UrlMatch:
    return UrlMatch.parse(orjson.loads(spec), ("url",), origin)


def url_matches(spec: object, url: str, origin: str | None) -> bool:
    """Whether ``url`` matches a plan's url spec (JSON); raises `SpecError` for a spec that is
    none."""
    return _compiled(orjson.dumps(spec, option=orjson.OPT_SORT_KEYS), origin).matches(url)
