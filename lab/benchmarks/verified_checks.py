"""One network check of WebArena-Verified's as a condition on a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from lab.benchmarks.patterns import is_pattern, rewritten
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

    when: dict[str, Any]
    there: dict[str, Any] | None
    state: bool


def check(config: Mapping[str, Any], kind: str, sites: Sites, alone: bool) -> Check:
    """The check of a task of this kind: retrieve, navigate or mutate; ``alone``: no other asks the
    same of a request.

    Theirs looks at the last such request unless it is told otherwise, so two that ask alike can't
    both be fulfilled; here both are looked for among all.
    """
    expected = config["expected"]
    method = expected.get("http_method") or "GET"
    addresses = _addresses(config, sites)
    which = _request_choice(config, kind, method, alone)
    contents = _contents(config, sites)
    args: dict[str, Any] = {"url": addresses, "method": method, **which}
    args["status"] = expected.get("response_status") or 200
    if method != "GET":
        args["not_to"] = list(REFUSED)
    args |= contents
    there: dict[str, Any] | None = None
    if contents or any("query" in address for address in addresses["any"]):
        url = {"any": _without_query(addresses["any"]), "ignore": ANYTHING}
        url |= {key: addresses[key] for key in ("encoded", "scope") if key in addresses}
        there = {"url": url, "method": method}
        if which.get("which") == "opened":
            there["which"] = "opened"
    return Check(
        {"request_answered": args},
        None if there is None else {"request_answered": there},
        state=bool(which),
    )


def _request_choice(
    config: Mapping[str, Any], kind: str, method: str, alone: bool
) -> dict[str, Any]:
    """Which of several such requests is looked at; empty where any of them will do.

    Theirs pays a page that stood open before the agent did anything; here it must be opened in the
    episode.
    """
    if kind == "navigate" and method == "GET":
        return {"which": "opened"}
    if alone and config.get("last_event_only", True):
        return {"which": "last"}
    return {}


def _contents(config: Mapping[str, Any], sites: Sites) -> dict[str, Any]:
    """What a request and its answer must have in them: bodies, the referer, cookies."""
    expected = config["expected"]
    headers = expected.get("headers") or {}
    contents: dict[str, Any] = {}
    for name, part in (("post_data", "body"), ("response_content", "answer")):
        if expected.get(name):
            schema = config.get("post_data_schema") or {}
            contents[part] = _facts(expected[name], schema, sites)
    if "referer" in headers:
        contents["referer"] = {"any": _alternatives(headers["referer"], None, sites)}
    if expected.get("response_cookies"):
        contents["cookies"] = _facts(expected["response_cookies"], {}, sites)
    if "Cookie" in headers:
        contents["sent_cookies"] = [_carried(headers["Cookie"])]
    return contents


def _without_query(alternatives: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same addresses, whatever their parameters are."""
    return [
        {key: part for key, part in alternative.items() if key != "query"}
        for alternative in alternatives
    ]


def _carried(pattern: str) -> dict[str, Any]:
    """The cookie that a pattern for the whole header names, and what its value must, or must not,
    be."""
    found = _COOKIE.search(pattern)
    if found is None or not is_pattern(pattern):
        raise UnjudgedError(f"Cookie: got {pattern}, wanted a pattern with one name=value in it")
    name, value_pattern = found[1], found[2]
    must_not = pattern.startswith("^(?!")
    condition = {"all": [".*"], "none": [value_pattern]} if must_not else value_pattern
    return {"name": name, "is": {"string": [], "pattern": [condition]}}


def unwanted(config: Mapping[str, Any], sites: Sites) -> dict[str, Any]:
    """The request that must not be made, whatever is in it and whatever the server says."""
    addresses = _addresses(config, sites)
    addresses |= {"any": _without_query(addresses["any"]), "ignore": ANYTHING}
    return {
        "request_answered": {
            "url": addresses,
            "method": config["expected"].get("http_method") or "GET",
            "status": ["1xx", "2xx", "3xx", "4xx", "5xx"],
        }
    }


def _addresses(config: Mapping[str, Any], sites: Sites) -> dict[str, Any]:
    """The addresses that a check takes, and which parameters do not count."""
    expected = config["expected"]
    schema = (config.get("query_params_schema") or {}).get("properties") or {}
    addresses: dict[str, Any] = {
        "any": _alternatives(expected["url"], expected.get("query_params"), sites, schema)
    }
    ignored = config.get("ignored_query_params") or ()
    ignore = [rewritten(f"^{re.escape(name)}$") for name in ignored]
    for pattern in config.get("ignored_query_params_patterns") or ():
        ignore.append(rewritten(pattern) if is_pattern(pattern) else _searched(pattern))
    if ignore:
        addresses["ignore"] = ignore
    if config.get("decode_base64_query"):
        addresses["encoded"] = True
    if any("pattern" in address for address in addresses["any"]):
        addresses["scope"] = sites.scope()
    return addresses


def _searched(pattern: str) -> str:
    """A pattern that is looked for anywhere, as one of the whole."""
    body = pattern.removeprefix("^")
    return body + ".*" if body != pattern else f".*{body}.*"


def _alternatives(
    urls: object,
    query: Mapping[str, Any] | None,
    sites: Sites,
    schema: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Each of ``urls`` (a list, or one) as an address or a pattern of addresses, with its
    parameters: ``query``, or, where that is None, those that stand in the address."""
    alternatives = []
    for url in urls if isinstance(urls, list) else [urls]:
        rendered = sites.rendered(url)
        parameters = query
        if is_pattern(url):
            alternative: dict[str, Any] = {"pattern": rewritten(rendered)}
        else:
            address, _, own_query = rendered.partition("?")
            alternative = {"address": address}
            if query is None:
                parameters = parse_qs(own_query, keep_blank_values=True)
        if parameters:
            alternative["query"] = {
                name: _expected_value(values, (schema or {}).get(name), sites)
                for name, values in parameters.items()
            }
        alternatives.append(alternative)
    return alternatives


def _expected_value(
    values: object, schema: Mapping[str, Any] | None, sites: Sites
) -> dict[str, Any] | None:
    """A parameter's value: of several the first in their order, as the benchmark compares it."""
    first = sorted(map(str, values))[0] if isinstance(values, list) else values
    return leaf(first, kind_of((schema or {}).get("items")), sites)


def _facts(
    expected: Mapping[str, Any], schema: Mapping[str, Any], sites: Sites
) -> list[dict[str, Any]]:
    """What is expected of a body or of cookies, as facts that name where each value stands."""
    properties = schema.get("properties") or {}
    facts = []
    for name, part in expected.items():
        known = properties.get(name)
        if known is None and isinstance(part, list) and len(part) == 1:
            known = {"type": "array"}
        facts.append({**_fact_place(name.strip()), "is": value(part, known, sites)})
    return facts


def _fact_place(key: str) -> dict[str, Any]:
    """Where a fact stands: a JSON Path, a pattern of one, or the name of a field."""
    if key.startswith("$.^"):
        return {"pattern": rewritten(key[2:])}
    return {"json" if key.startswith("$") else "name": key}
