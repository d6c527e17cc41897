"""One key node of WebCanvas as a condition of ours: an address, a click on an element, a value.

What a node means is taken from its own functions. Where it can never be true as they are, or is
true of what nobody meant, it is read as it was meant, and `NodeReading.remark` says so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qs, urlsplit

from detectors.model.json_value import JsonObject, JsonValue, read_object, read_text
from lab.benchmarks.base import SECRET, asks_secret

Way = Literal["as theirs", "by words", "read as meant", "left out"]
"""How a node is told: as its function does; by the words of what is searched for, where theirs asks
a language model; as it was meant, where theirs can't be true; not at all."""
WAYS: tuple[Way, ...] = ("as theirs", "by words", "read as meant", "left out")
_ANY: JsonObject = {"regex": "(?s).+"}
_TRACKING = frozenset(
    "ref ref_ crid sprefix qid pf kls_sbp sid trk gclid fbclid msclkid utm_source utm_medium"
    " utm_campaign utm_term utm_content sessionid session_id jsessionid phpsessid nonce csrf ts"
    " timestamp".split()
)
"""Parameters, in small letters, that a site draws, or that say how or when a page was come to."""
_SEARCHES = re.compile(
    r"decide whether (?:(?:is|are) (?:sear\w+ for|describing)|the (?:place is|content means))"
    r" (?P<wanted>.+)",
    re.IGNORECASE,
)
_EMPTY_WORDS = frozenset(("a", "an", "the", "of", "for", "in", "and"))
NO_FUNCTION = "no event tells what the agent keeps for itself"
NEVER = "never true: its function is not written"
ASKS_NOTHING = "asks for nothing: any click on an element without text"
PASTED = "never true of what was asked: an address was pasted into its reference"
OUTSIDE = "never true: it has a scheme or a query, both are cut off"
TRACKED = "asks how the page was come to, by a parameter that the site draws"
PADDED = "never true: it begins or ends with a space, values are trimmed"


class UnknownNodeError(ValueError):
    """A key node that nothing here can tell: of a function that WebCanvas does not have, without
    what its function reads, or with a sentence that names no words."""


@dataclass(frozen=True, slots=True)
class NodeReading:
    """A node as we tell it. ``when``: its condition, None where it is left out."""

    way: Way
    component: str
    when: JsonObject | None
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class SitePages:
    """The pages of a task's sites: ``served``, where each origin is, the task's own first."""

    served: Mapping[str, str]

    def url(self, holds: Callable[[str], bool] | None = None, **more: JsonValue) -> JsonObject:
        """An address matcher of all their pages, or of those whose origin ``holds`` accepts."""
        found = [at for one, at in self.served.items() if holds is None or holds(one)]
        first, *others = dict.fromkeys(found or self.served.values())
        return {"origin": first, "path": "/*", "hosts": others, **more}

    def named(self, label: str) -> JsonObject:
        """The pages of those whose host goes by ``label``, as an element's node names it."""
        return self.url(lambda origin: site_label(origin) == label)


def site_label(url: str) -> str:
    """The word by which WebCanvas calls a site: the host's first label, or the second after www."""
    labels = (urlsplit(url).hostname or "").split(".")
    place = int(labels[0].startswith("www"))
    return labels[place] if len(labels) > place + 1 else ""


def read_node(node: JsonObject, pages: SitePages) -> NodeReading:
    """Read one node of a task whose pages are ``pages``. Raises `UnknownNodeError`."""
    function = read_text(node, "match_function_name", "")
    content = read_object(node, "content")
    if not isinstance(content.get("reference_answer"), str):
        raise UnknownNodeError(f"{function}: wanted reference_answer, a text")
    found = _SPECIAL.get(function)
    if found is not None:
        return found
    what, _, how = function.removesuffix("_match").rpartition("_")
    reader = _READERS.get(what)
    if reader is None or how not in ("exactly", "included", "semantic"):
        raise UnknownNodeError(f"got the function {function!r:.60}")
    reading = reader(how, content, pages)
    if asks_secret(reading.when):
        return NodeReading("left out", reading.component, None, remark=f"asks for {SECRET}")
    return reading


def _read_address(how: str, content: JsonObject, pages: SitePages) -> NodeReading:
    """Read a node that asks for a page's address, or for a parameter of it."""
    if read_text(content, "key", ""):
        return _read_parameter(how, content, pages)
    wanted = str(content["reference_answer"])
    match how:
        case "semantic":
            return _read_sentence("nav", wanted, lambda text: _says(text, pages), [])
        case "exactly":
            kept = _without_drawn(wanted)
            if kept is None:
                return NodeReading("as theirs", "nav", _says(wanted, pages))
            return NodeReading("read as meant", "nav", _says(kept, pages), remark=TRACKED)
    if _is_host(wanted, pages):
        url = pages.url(lambda one: wanted in one)
        return NodeReading("as theirs", "nav", {"url_reached": {"url": url}})
    has_more_than_path = "?" in wanted or "://" in wanted
    if has_more_than_path:
        when = _says({"contains": wanted}, pages)
        return NodeReading("read as meant", "nav", when, remark=OUTSIDE)
    pattern = _outside_query(wanted)
    return NodeReading("as theirs", "nav", _says({"regex": pattern}, pages))


def _is_host(wanted: str, pages: SitePages) -> bool:
    """Whether a node asks for a site and nothing of it."""
    return not set(wanted) & set("/?#:") and any(wanted in one for one in pages.served)


def _says(text: JsonValue, pages: SitePages) -> JsonObject:
    return _comes_about("address_says", {"text": text}, pages)


def _comes_about(rule: str, args: JsonObject, pages: SitePages) -> JsonObject:
    """A page was loaded from the address, or a script put it there in a step in which somebody
    clicked, filled in or sent a form: theirs reads the address bar, whoever wrote into it."""
    acts: list[JsonValue] = [
        {"element_clicked": {"selector": "*"}},
        {"field_filled": {"selector": "*", "value": _ANY}},
        {"form_submitted": {"action": pages.url()}},
    ]
    routed: JsonObject = {
        "within": {"steps": 0},
        "of": [{"any_of": {"of": acts}}, {rule: {**args, "loaded": False}}],
    }
    return {"any_of": {"of": [{rule: args}, {"sequence": routed}]}}


def _without_drawn(address: str) -> JsonObject | None:
    """An address with any values of the parameters in it that its site draws, or without these;
    None where it has none."""
    place, _, query = address.partition("?")
    parameters = [part for part in query.split("&") if part]
    kept = [part for part in parameters if not _is_tracking(part.partition("=")[0])]
    if kept == parameters:
        return None
    names = "|".join(sorted(map(re.escape, _TRACKING)))
    drawn = rf"(?:(?i:{names})=[^&#]*&?)*"
    middle = "".join(re.escape(part) + "(?:&|$)" + drawn for part in kept)
    return {"regex": rf"{re.escape(place)}\??{drawn}{middle}"}


def _is_tracking(name: str) -> bool:
    return name.lower() in _TRACKING


def _outside_query(wanted: str) -> str:
    """A pattern of addresses that have a text in host, path and fragment taken together, without
    the query between these."""
    place, mark, fragment = (re.escape(part) for part in wanted.partition("#"))
    if mark:
        return rf"https?://[^?#]*{place}(\?[^#]*)?#{fragment}.*"
    return rf"https?://([^?#]*{place}.*|[^#]*#.*{place}.*)"


def _read_parameter(how: str, content: JsonObject, pages: SitePages) -> NodeReading:
    """Read a node that asks for a parameter of a page's address; one that trackers set is left
    out."""
    key, wanted = str(content["key"]), str(content["reference_answer"])
    if _is_tracking(key) and how != "semantic":
        return NodeReading("left out", "nav", None, remark=TRACKED)
    way: Way = "as theirs"
    remark = None
    if how != "semantic" and "http" in wanted and "://" in wanted:
        wanted, way, remark = wanted.partition("http")[0], "read as meant", PASTED

    def parameter(text: JsonValue) -> JsonObject:
        return _comes_about("url_reached", {"url": pages.url(query={key: text})}, pages)

    if how == "semantic":
        known = parse_qs(urlsplit(read_text(content, "url", "")).query).get(key, [])
        return _read_sentence("nav", wanted, parameter, known[:1])
    return NodeReading(way, "nav", parameter(_decoded_twice(how, wanted)), remark=remark)


def _read_element(how: str, content: JsonObject, pages: SitePages) -> NodeReading:
    selector = str(content["reference_answer"]).strip()
    url = pages.named(read_text(content, "netloc", ""))
    return NodeReading("as theirs", "ui", _acted_on({"selector": selector, "url": url}, None))


def _read_value(how: str, content: JsonObject, pages: SitePages) -> NodeReading:
    """Read a node that asks for what an element holds; by its selector on the node's own site."""
    wanted = str(content["reference_answer"])
    if not wanted:
        return NodeReading("left out", "form", None, remark=ASKS_NOTHING)
    selector = read_text(content, "path", "").strip() or "*"
    about: JsonObject = {"selector": selector, "url": pages.named(read_text(content, "netloc", ""))}
    if how == "semantic":
        return _read_sentence("form", wanted, lambda text: _acted_on(about, text), [])
    trimmed = wanted.strip()
    when = _acted_on(about, _text(how, trimmed))
    if trimmed != wanted and how == "exactly":
        return NodeReading("read as meant", "form", when, remark=PADDED)
    return NodeReading("as theirs", "form", when)


def _read_answer(how: str, content: JsonObject, pages: SitePages) -> NodeReading:
    """Read a node that asks for the agent's answer: a part of it, or the whole, in any case of
    letters."""
    wanted = str(content["reference_answer"])

    def answer(text: JsonValue) -> JsonObject:
        return {"answer_matches": {"text": text}}

    if how == "semantic":
        return _read_sentence("answer", wanted, answer, [])
    mode = "contains" if how == "included" else "one_of"
    text: JsonObject = {mode: wanted if how == "included" else [wanted], "ignore_case": True}
    return NodeReading("as theirs", "answer", answer(text))


def _acted_on(about: JsonObject, value: JsonValue) -> JsonObject:
    """The element was clicked, or filled in, and its own text, or what it holds, is ``value``;
    None: whatever that is."""
    clicks: list[JsonObject] = [about]
    held: JsonValue = _ANY
    if value is not None:
        clicks = [{**about, "text": value}, {**about, "name": value}]
        held = value
    conditions: list[JsonValue] = [{"element_clicked": one} for one in clicks]
    conditions.append({"field_filled": {**about, "value": held}})
    return {"any_of": {"of": conditions}}


def _read_sentence(
    component: str,
    sentence: str,
    condition: Callable[[JsonValue], JsonObject],
    known: list[str],
) -> NodeReading:
    """By the words of what is searched for; ``known``: texts that are right, as annotators left
    them."""
    found = _SEARCHES.fullmatch(sentence.strip())
    if found is None:
        raise UnknownNodeError(f"a language model is asked: {sentence!r:.100}")
    meant: list[JsonValue] = [_words(one) for one in found["wanted"].split(" or ")]
    meant += [{"one_of": [one], "ignore_case": True} for one in known]
    return NodeReading("by words", component, condition({"any_of": meant}))


def _words(wanted: str) -> JsonObject:
    """All words of a text, in any order and case."""
    words = [word for word in re.findall(r"\w+", wanted) if word.lower() not in _EMPTY_WORDS]
    return {"all_of": [{"contains": word, "ignore_case": True} for word in words]}


def _decoded_twice(how: str, wanted: str) -> JsonValue:
    """A text of a parameter, whose value is percent-decoded once more than the query was."""
    if wanted.isalnum():
        return _text(how, wanted)
    pattern = "".join(one if one.isalnum() else _encoded(one) for one in wanted)
    loose = "" if how == "exactly" else ".*"
    return {"any_of": [_text(how, wanted), {"regex": f"(?s){loose}{pattern}{loose}"}]}


def _encoded(letter: str) -> str:
    """A pattern of a letter as it is, or percent-encoded."""
    code = "".join(f"%{byte:02X}" for byte in letter.encode())
    return f"(?:{re.escape(letter)}|(?i:{code}))"


def _text(how: str, wanted: str) -> JsonValue:
    return wanted if how == "exactly" else {"contains": wanted}


_READERS: Mapping[str, Callable[[str, JsonObject, SitePages], NodeReading]] = {
    "url": _read_address,
    "element_path": _read_element,
    "element_value": _read_value,
    "final_answer": _read_answer,
}
_SPECIAL: Mapping[str, NodeReading] = {
    "element_path_included_match": NodeReading("left out", "ui", None, remark=NEVER),
    **{
        f"cache_data_{how}_match": NodeReading("left out", "answer", None, remark=NO_FUNCTION)
        for how in ("exactly", "included", "semantic")
    },
}
