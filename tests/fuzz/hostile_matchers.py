"""Every kind of matcher, and texts that were made to stop one; run as a program it holds them to
time and memory.

`python -m tests.fuzz.hostile_matchers` asks each matcher about each text in a process of its own,
whose memory is limited by the system: at most `MAX_SECONDS` of processor time for one answer,
`MAX_GROWTH` bytes for them all. A number N after it: about every Nth text, others with the next
matcher, so that N matchers of a kind meet them all.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from detectors.matchers import (
    AddressesMatch,
    BodyMatch,
    ContentMatch,
    FactsMatch,
    IntRange,
    StateMatch,
    StatusMatch,
    StructureMatch,
    TextMatch,
    UrlMatch,
    ValueMatch,
)
from detectors.matchers.faults import Fault, collected
from detectors.sdk.arguments import SchemaMatch

MAX_SECONDS = 2.0
MAX_GROWTH = 256 << 20
LIMIT = 262_144
"""Characters of a text that any source tells of."""

TEXTS: dict[str, Any] = {
    "equals": "Ada",
    "contains": {"contains": "Ada"},
    "starts_with": {"starts_with": "Ada", "ignore_case": True},
    "ends_with": {"ends_with": "Ada"},
    "glob": {"glob": "A*d?a*"},
    "one_of": {"one_of": ["Ada", "Bob"]},
    "number": {"number": 42, "tolerance": 1},
    "integer": {"integer": 42, "tolerance": 1},
    "percentage": {"percentage": 12.5},
    "money": {"money": 3},
    "money of a currency": {"money": 3, "currency": "USD"},
    "money of a locale": {"money": 3, "locale": "de"},
    "duration": {"duration": "1 h 30 min"},
    "distance": {"distance": "5 km"},
    "date": {"date": "2024-05-06"},
    "day first": {"date": "2024-05-06", "day_first": True},
    "time": {"time": "14:30"},
    "coordinates": {"coordinates": [48.5, 2.5]},
    "address": {"address": "5000 Forbes Avenue"},
    "boolean": {"boolean": True},
    "url": {"url": "https://shop.test/a?b=1"},
    "path": {"path": "a/**/b*/*.csv"},
    "regex": {"regex": "(a+)+[0-9]{3,}x"},
    "fuzzy": {"fuzzy": "Quest Lumaflex Band", "threshold": 0.8},
    "any_of": {"any_of": [{"date": "2024-05-06"}, {"money": 3}, "x"]},
    "all_of": {"all_of": [{"regex": ".*a.*"}, {"contains": "b"}]},
    "list": {"list": ["a", {"date": "2024-05-06"}, {"money": 3}]},
    "table": {"table": [["a", {"money": 3}], ["b", {"date": "2024-05-06"}]]},
    "json": {"json": "$.a[*].b", "value": {"money": 3}},
}
"""A spec of every mode and every typed form of a text."""

KINDS: dict[str, Any] = {
    "string": "Ada",
    "number": 42,
    "integer": 42,
    "currency": 3,
    "boolean": True,
    "duration": "2h",
    "distance": "5 km",
    "date": "2024-05-06",
    "month": "May",
    "coordinates": [40.5, -74.25],
    "location-name": "Carnegie Mellon University",
    "json": '{"a": 1}',
    "markdown": "# a\n- b",
    "string_list": "a,b",
    "url": "https://shop.test/a?b=1",
}
"""A value of every lenient kind."""

SHOP = "http://shop.test"
BODY = {"a": {"money": 3}, "b.0.c": "x", "l": {"list": ["a"]}}
CONTENT = [
    {"name": "a", "is": {"currency": [3]}},
    {"json": "$.b[*]", "is": {"items": [{"date": ["2024-05-06"]}]}},
]
TYPES = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/plain",
    "",
)

Asked = Callable[[str], Any]


def matchers() -> Iterator[tuple[str, Asked]]:
    """Every kind of matcher as a function of a text that an agent or a page says."""
    for name, spec in TEXTS.items():
        text, facts = TextMatch.parse(spec, ("text",)), FactsMatch.parse({"a.b": spec}, ("where",))
        value = ValueMatch.parse(spec, ("value",))
        yield f"text {name}", text.matches
        yield f"value {name}", lambda said, value=value: value.matches(said)
        yield f"list of {name}", lambda said, value=value: value.matches([said, {"a": said}])
        yield f"fact {name}", lambda said, facts=facts: facts.matches({"a": {"b": said}})
    for kind, wanted in KINDS.items():
        lenient = StructureMatch.parse({kind: [wanted], "pattern": [".*x"]}, ("value",))
        yield f"lenient {kind}", lenient.matches
    items = {"items": [{"string": ["a"]}, {"object": {"b": {"date": ["2024-05-06"]}}}]}
    yield (
        "lenient items",
        StructureMatch.parse({"object": {"a": items}, "more": True}, ("value",)).matches,
    )
    url = UrlMatch.parse(
        {"path": "/a*b?q=1", "query": {"r": {"money": 3}}, "fragment": {"contains": "x"}},
        ("u",),
        SHOP,
    )
    place = {"address": f"{SHOP}/a", "query": {"q": {"date": ["2024-05-06"]}}}
    at = AddressesMatch.parse(
        {"any": [place, {"pattern": ".*/a/\\d+$"}], "ignore": ["u.*"], "encoded": True}, ("u",)
    )
    for before in ("", f"{SHOP}/a?q=", f"{SHOP}/", "http://"):
        yield f"address after {before!r}", lambda said, before=before: url.matches(before + said)
        yield f"addresses after {before!r}", lambda said, before=before: at.matches(before + said)
    body, content = BodyMatch.parse(BODY, ("body",)), ContentMatch.parse(CONTENT, ("body",))
    for mime in TYPES:
        yield f"body {mime}", lambda said, mime=mime: body.matches({"text": said, "mime": mime})
        yield (
            f"content {mime}",
            lambda said, mime=mime: content.matches({"text": said, "mime": mime}),
        )
    state = StateMatch.parse(
        [{"path": "$.a", "value": 1}, {"path": "$", "none": ["x"]}], ("facts",)
    )
    yield "state", lambda said: state.share({"text": said}) < 1
    schema = SchemaMatch.parse(
        {"type": "object", "properties": {"a": {"pattern": "(a+)+x", "maxLength": 9}}}, ("s",)
    )
    yield "schema", lambda said: schema.matches({"a": said})
    yield "whole number", lambda said: IntRange(1, 3).matches(said)
    yield "status", lambda said: StatusMatch(((200, 299),)).matches(said)


def _nested(opening: str, inner: str, closing: str, depth: int) -> str:
    return opening * depth + inner + closing * depth


HOSTILE: dict[str, str] = {
    "an amount of 61 digits": "1" + ",111" * 20,
    "an amount without end": "1" + ",111" * 60_000,
    "a negative amount": "-$1" + ",111" * 20 + ".5 USD",
    "digits": "9" * 100_000,
    "noughts": "0" * 100_000 + "1",
    "digits of 5,000": "1" * 5_000,
    "digits and a point": "1" * 400 + ".5",
    "1e999": "1e999",
    "-1e999": "-1e999",
    "1e-999": "1e-999",
    "1e400 s": "1e400 s",
    "nan": "NaN",
    "inf": "Infinity",
    "-inf": "-inf",
    "Arabic digits": "\u0661\u0662\u0663" * 20,
    "superscript": "\u00b2\u00b3",
    "Roman": "\u2167",
    "fractions": "\u00bd" * 50,
    "full width": "\uff11\uff0c\uff12\uff13\uff14" * 9,
    "half a character": "\ud800",
    "half in a text": "a\ud800b" * 1_000,
    "other half": '{"a": "\udfff"}',
    "combining": "e" + "\u0301" * 100_000,
    "combining each": "e\u0301" * 50_000,
    "expanding": "\ufdfa" * 14_000,
    "right to left": "\u202e3$\u202c" * 100,
    "joiners": "3\u200d" * 1_000,
    "nulls": "\0" * 100_000,
    "white space": "\u3000" * 100_000 + "3",
    "newlines": "\n" * 100_000,
    "tabs": "\t" * 100_000,
    "commas": "," * 100_000,
    "semicolons": ";" * 100_000,
    "brackets": "[" * 100_000,
    "braces": "{" * 100_000,
    "quotes": '"' * 100_000,
    "a quote open": '"' + "a," * 50_000,
    "points": "." * 100_000,
    "dashes": "-" * 100_000,
    "en dashes": "\u2013" * 100_000,
    "slashes": "/" * 100_000,
    "backslashes": "\\" * 100_000,
    "ampersands": "&" * 100_000,
    "pairs": "a=3&" * 60_000,
    "per cent": "%" * 100_000,
    "encoded": "%61" * 80_000,
    "half encoded": "%f" * 50_000,
    "boundaries": "--x\r\n" * 40_000,
    "parts": '--x\r\nname="a"\r\n\r\n3\r\n' * 8_000,
    "letters": "a" * 100_000,
    "letters for a pattern": "a" * 200_000 + "!",
    "words": "word " * 50_000,
    "fences": "```" * 30_000,
    "lists": "a," * 127 + "a",
    "lists of dates": ",".join(f"2024-05-{n % 28 + 1:02}x{n}" for n in range(256)),
    "numbers in a list": ",".join(["1" + "111" * 30] * 200),
    "rows": "a,3\n" * 256,
    "rows without end": "a,3\n" * 50_000,
    "deep lists": _nested("[", "", "]", 500),
    "deeper lists": _nested("[", "", "]", 1_020),
    "deepest lists": _nested("[", "", "]", 100_000),
    "deep objects": _nested('{"a":', "1", "}", 500),
    "deep in a": '{"a":' + _nested("[", "", "]", 900) + "}",
    "deep b": '{"b":[' + _nested("[", "", "]", 900) + "]}",
    "many objects": "[" + '{"a":3},' * 30_000 + "{}]",
    "many keys": "{" + ",".join(f'"k{n}":{n}' for n in range(20_000)) + "}",
    "same keys": "{" + '"a":3,' * 30_000 + '"a":4}',
    "a huge number": '{"a":' + "9" * 5_000 + "}",
    "JSON 1e999": '{"a":1e999}',
    "JSON 1e400": "[1e400]",
    "JSON NaN": '{"a":NaN}',
    "JSON half": '{"a":"\\ud800"}',
    "JSON -0": '{"a":-0.0}',
    "JSON null": "null",
    "JSON true": "true",
    "JSON text": '"' + "a" * 100_000 + '"',
    "year 0": "0000-01-01",
    "year 99999": "99999-01-01",
    "year 10^30": "1" + "0" * 30 + "-01-01",
    "month 13": "2024-13-45",
    "0 0 0": "0 0 0",
    "day 0": "May 0, 2024",
    "colons": ":" * 60,
    "a colon": "1:",
    "dates": "2024-05-06 " * 5,
    "points of a date": "5.6.7.8.9",
    "AM": "99 AM 2024",
    "zone": "2024-05-06 10:00 +99:99",
    "UTC+": "2024-05-06T10:00:00+999999999999",
    "fraction": "2024-05-06T10:00:00." + "9" * 40,
    "exponent": "2024-05-06 1e9",
    "jumps": "2024 2024 2024 2024",
    "a week": "2024-W99-9",
    "T": "T" * 64,
    "decimal date": "1" * 20 + "." + "1" * 40,
    "inf date": "inf May 2024",
    "nan date": "nan/nan/nan",
    "hours": "9" * 300 + " h 30 min",
    "hours and hours": "1 h " * 20_000,
    "ISO": "P" + "9" * 400 + "DT1H",
    "ISO without end": "PT" + "9" * 100_000 + "S",
    "clock": "9999:59:59",
    "clocks": "1:" * 50_000,
    "metres": "1e308 km",
    "units": "1a" * 50_000,
    "degrees": "9" * 100_000 + "\u00b0N",
    "degrees each": "1\u00b0 " * 30_000,
    "coordinates": "999.9" * 3_000 + ", 1",
    "place": "\u00b0'\"NSEW" * 9_000,
    "host": "http://[" + ":" * 1_000 + "]",
    "port": "http://a:" + "9" * 5_000 + "/",
    "user": "http://" + "@" * 5_000,
    "Punycode": "http://xn--" + "a" * 3_000,
    "IDN": "http://\u2100.test/",
    "host dots": "http://" + "." * 5_000,
    "base64": "e30" * 2_000,
    "base64 of =": "YT0z" * 1_900,
    "a pattern": "^.*$",
    "another": "(a+)+$",
    "a backtracking one": "(x+x+)+y",
    "format": "%s%n{0.__class__}{}",
    "emoji": "\U0001f468\u200d\U0001f469" * 9_000,
    "longest": "x" * LIMIT,
    "longer": "1," * LIMIT,
    "empty": "",
    "blank": " ",
}
"""Texts by what is wrong with them."""


def asked(one: Asked, text: str) -> tuple[Any, list[Fault]]:
    """What a matcher says to a text, and what it threw."""
    with collected() as faults:
        return one(text), faults


def main(every: int) -> int:
    """Ask each about every ``every``th text; say what failed, and how long and how much the worst
    took."""
    for _, one in matchers():  # what libraries load once is not the text's doing
        for text in ("3", "2024-05-06", "{}", "a,b"):
            asked(one, text)
    before = _resident()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_mapped() + 2 * MAX_GROWTH, hard))
    worst, wrong = (0.0, ""), 0
    for number, (name, one) in enumerate(matchers()):
        for what, text in list(HOSTILE.items())[number % every :: every]:
            began = time.process_time()
            answer, faults = asked(one, text)
            took = time.process_time() - began
            worst = max(worst, (took, f"{name}: {what}"))
            if faults or not isinstance(answer, bool) or took > MAX_SECONDS:
                wrong += 1
                print(f"{name}: {what}: {answer!r} in {took:.2f} s, {faults}")
    growth = _resident() - before
    print(f"slowest {worst[0]:.3f} s ({worst[1]}); {growth >> 20} MiB more")
    return int(bool(wrong) or growth > MAX_GROWTH)


def _resident() -> int:
    """Bytes of memory that the process has had at the most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _mapped() -> int:
    """Bytes of address space that the process has."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1))
