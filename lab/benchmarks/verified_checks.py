"""One network check of WebArena-Verified's as a condition on a request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import parse_qs

from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    as_items,
    read_list,
    read_object,
    read_text,
    require_object,
    require_text,
)
from detectors.model.optional_values import drop_empty, drop_keys, pick_keys
from lab.benchmarks.patterns import is_pattern, rewrite_pattern
from lab.benchmarks.verified_sites import Sites
from lab.benchmarks.verified_values import kind_of, leaf, value

REFUSED = (
    "/login",
    "/users/sign_in",
    "/customer/account/login",
    "/admin/auth/login",
    "/noroute",
    "/404",
    "/errors",
)
"""Where the benchmark's sites redirect to when they refuse."""
ANYTHING = [".*"]


_COOKIE = re.compile(r"\.\*([A-Za-z_]+)=([a-z_]+(?:\(\?:[^()]*\))?)")


class UnjudgedError(Exception):
    """Nothing here can judge what a task asks for; carries why."""


class Check(NamedTuple):
    """``when``: the whole check; ``there``: only its address and method, None where that is all of
    it; ``state``: whether it is to be so at the end."""

    when: JsonObject
    there: JsonObject | None
    state: bool


def check(config: JsonObject, kind: str, sites: Sites, alone: bool) -> Check:
    """The check of a task of this kind: retrieve, navigate or mutate; ``alone``: no other asks the
    same of a request.

    Theirs looks at the last such request unless it is told otherwise, so two that ask alike can't
    both be fulfilled; here both are looked for among all.
    """
    expected = expected_of(config)
    method = read_text(expected, "http_method", "GET")
    alternatives, addresses = _addresses(config, sites)
    which = _request_choice(config, kind, method, alone)
    contents = _contents(config, sites)
    args: dict[str, JsonValue] = {"url": addresses, "method": method, **which}
    args["status"] = expected.get("response_status") or 200
    if method != "GET":
        args["not_to"] = list(REFUSED)
    args |= contents
    there: JsonObject | None = None
    if contents or _has(alternatives, "query"):
        url: dict[str, JsonValue] = {"any": _without_query(alternatives), "ignore": ANYTHING}
        url |= pick_keys(addresses, ("encoded", "scope"))
        opened = which if which.get("which") == "opened" else {}
        there = {"request_answered": {"url": url, "method": method, **opened}}
    return Check({"request_answered": args}, there, state=bool(which))


def expected_of(config: JsonObject) -> JsonObject:
    """What a check expects. Raises KeyError, `JsonTypeError`."""
    return require_object(config["expected"], "expected")


def _has(alternatives: Sequence[JsonObject], name: str) -> bool:
    return any(name in alternative for alternative in alternatives)


def _without_query(alternatives: Sequence[JsonObject]) -> list[JsonObject]:
    """The same addresses, whatever their parameters are."""
    return [drop_keys(alternative, ("query",)) for alternative in alternatives]


def _request_choice(
    config: JsonObject, kind: str, method: str, alone: bool
) -> dict[str, JsonValue]:
    """Which of several such requests is looked at; empty where any of them will do.

    Theirs pays a page that stood open before the agent did anything; here it must be opened in the
    episode.
    """
    if kind == "navigate" and method == "GET":
        return {"which": "opened"}
    if alone and config.get("last_event_only", True):
        return {"which": "last"}
    return {}


def _contents(config: JsonObject, sites: Sites) -> dict[str, JsonValue]:
    """What a request and its answer must have in them: bodies, the referer, cookies."""
    expected = expected_of(config)
    headers = read_object(expected, "headers")
    schema = read_object(config, "post_data_schema")
    contents: dict[str, JsonValue] = {}
    for name, part in (("post_data", "body"), ("response_content", "answer")):
        if expected.get(name):
            contents[part] = _facts(read_object(expected, name), schema, sites)
    if "referer" in headers:
        contents["referer"] = {"any": _alternatives(headers["referer"], None, sites, {})}
    if expected.get("response_cookies"):
        contents["cookies"] = _facts(read_object(expected, "response_cookies"), {}, sites)
    if "Cookie" in headers:
        contents["sent_cookies"] = [_carried(require_text(headers["Cookie"], "Cookie"))]
    return contents


def _carried(pattern: str) -> JsonObject:
    """The cookie that a pattern for the whole header names, and what its value must, or must not,
    be."""
    found = _COOKIE.search(pattern)
    if found is None or not is_pattern(pattern):
        raise UnjudgedError(f"Cookie: got {pattern}, wanted a pattern with one name=value in it")
    name, value_pattern = found[1], found[2]
    condition: JsonValue = value_pattern
    if pattern.startswith("^(?!"):
        condition = {"all": [".*"], "none": [value_pattern]}
    return {"name": name, "is": {"string": [], "pattern": [condition]}}


def unwanted_request(config: JsonObject, sites: Sites) -> JsonObject:
    """The request that must not be made, whatever is in it and whatever the server says."""
    alternatives, addresses = _addresses(config, sites)
    addresses |= {"any": _without_query(alternatives), "ignore": ANYTHING}
    return {
        "request_answered": {
            "url": addresses,
            "method": read_text(expected_of(config), "http_method", "GET"),
            "status": ["1xx", "2xx", "3xx", "4xx", "5xx"],
        }
    }


def _addresses(config: JsonObject, sites: Sites) -> tuple[list[JsonObject], dict[str, JsonValue]]:
    """The addresses that a check takes, and with them which parameters do not count."""
    expected = expected_of(config)
    schema = read_object(read_object(config, "query_params_schema"), "properties")
    query = expected.get("query_params")
    parameters = None if query is None else require_object(query, "query_params")
    alternatives = _alternatives(expected["url"], parameters, sites, schema)
    addresses: dict[str, JsonValue] = {"any": alternatives}
    addresses |= drop_empty(
        {"ignore": _ignored(config), "encoded": bool(config.get("decode_base64_query"))}
    )
    if _has(alternatives, "pattern"):
        addresses["scope"] = sites.scope()
    return alternatives, addresses


def _ignored(config: JsonObject) -> list[JsonValue]:
    """Patterns of the parameters that do not count."""
    names = read_list(config, "ignored_query_params")
    patterns = read_list(config, "ignored_query_params_patterns")
    ignored: list[JsonValue] = [rewrite_pattern(f"^{re.escape(str(name))}$") for name in names]
    return ignored + [_whole(require_text(pattern, "a pattern")) for pattern in patterns]


def _whole(pattern: str) -> JsonValue:
    """A pattern of the whole text."""
    return rewrite_pattern(pattern) if is_pattern(pattern) else _searched(pattern)


def _searched(pattern: str) -> str:
    """A pattern that is looked for anywhere, as one of the whole."""
    body = pattern.removeprefix("^")
    return body + ".*" if body != pattern else f".*{body}.*"


def _alternatives(
    urls: JsonValue, query: JsonObject | None, sites: Sites, schema: JsonObject
) -> list[JsonObject]:
    """Each of ``urls`` (a list, or one) as an address or a pattern of addresses, with its
    parameters: ``query``, or, where that is None, those that stand in the address."""
    return [_alternative(url, query, sites, schema) for url in as_items(urls)]


def _alternative(
    url: JsonValue, query: JsonObject | None, sites: Sites, schema: JsonObject
) -> JsonObject:
    """Return one address that a request may go to, as a pattern or as itself, with its parameters;
    ``query`` None: those of the address."""
    rendered = require_text(sites.rendered(url), "url")
    parameters: JsonObject = query or {}
    if is_pattern(url):
        alternative: dict[str, JsonValue] = {"pattern": rewrite_pattern(rendered)}
    else:
        address, _, own_query = rendered.partition("?")
        alternative = {"address": address}
        if query is None:
            parameters = parse_qs(own_query, keep_blank_values=True)
    if parameters:
        alternative["query"] = {
            name: _expected_value(values, read_object(schema, name), sites)
            for name, values in parameters.items()
        }
    return alternative


def _expected_value(values: JsonValue, schema: JsonObject, sites: Sites) -> JsonObject | None:
    """A parameter's value: of several the first in their order, as the benchmark compares it."""
    first = sorted(map(str, values))[0] if isinstance(values, list) else values
    return leaf(first, kind_of(read_object(schema, "items")), sites)


def _facts(expected: JsonObject, schema: JsonObject, sites: Sites) -> list[JsonObject]:
    """What is expected of a body or of cookies, as facts that name where each value stands."""
    properties = read_object(schema, "properties")
    facts: list[JsonObject] = []
    for name, part in expected.items():
        known = read_object(properties, name)
        if name not in properties and isinstance(part, list) and len(part) == 1:
            known = {"type": "array"}
        facts.append({**_fact_place(name.strip()), "is": value(part, known, sites)})
    return facts


def _fact_place(key: str) -> JsonObject:
    """Where a fact stands: a JSON Path, a pattern of one, or the name of a field."""
    if key.startswith("$.^"):
        return {"pattern": rewrite_pattern(key[2:])}
    return {"json" if key.startswith("$") else "name": key}
