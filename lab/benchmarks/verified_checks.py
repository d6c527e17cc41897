"""One network check of WebArena-Verified's as a condition on a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from lab.benchmarks.base import BadSourceError
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
    document = kind == "navigate" and method == "GET"
    which = (
        "document"
        if document
        else "last"
        if alone and config.get("last_event_only", True)
        else "any"
    )
    args: dict[str, Any] = {"url": _addresses(config, sites), "method": method}
    if which != "any":
        args["which"] = which
    args["status"] = expected.get("response_status") or 200
    if method != "GET":
        args["not_to"] = list(REFUSED)
    for name, part in (("post_data", "body"), ("response_content", "answer")):
        if expected.get(name):
            args[part] = _facts(expected[name], config.get("post_data_schema") or {}, sites)
    headers = expected.get("headers") or {}
    if "referer" in headers:
        args["referer"] = {"any": _alternatives(headers["referer"], None, sites)}
    if expected.get("response_cookies"):
        args["cookies"] = _facts(expected["response_cookies"], {}, sites)
    if "Cookie" in headers:
        args["sent_cookies"] = [_carried(headers["Cookie"])]
    anywhere = {
        "any": [
            {key: part for key, part in one.items() if key != "query"} for one in args["url"]["any"]
        ],
        "ignore": ANYTHING,
        **{key: part for key, part in args["url"].items() if key in ("encoded", "scope")},
    }
    there = {"url": anywhere, "method": method, **({"which": "document"} if document else {})}
    more = set(args) - {"url", "method", "which", "not_to", "status"} or any(
        "query" in one for one in args["url"]["any"]
    )
    return Check(
        {"request_answered": args}, {"request_answered": there} if more else None, which != "any"
    )


def _carried(pattern: str) -> dict[str, Any]:
    """The cookie that a pattern for the whole header names, and what its value must, or must not,
    be."""
    found = _COOKIE.search(pattern)
    if found is None or not is_pattern(pattern):
        raise BadSourceError(f"Cookie: got {pattern}, wanted a pattern with one name=value in it")
    name, wanted = found[1], found[2]
    said = {"all": [".*"], "none": [wanted]} if pattern.startswith("^(?!") else wanted
    return {"name": name, "is": {"string": [], "pattern": [said]}}


def unwanted(config: Mapping[str, Any], sites: Sites) -> dict[str, Any]:
    """The request that must not be made, whatever is in it and whatever the server says."""
    url = {**_addresses(config, sites), "ignore": ANYTHING}
    url["any"] = [{key: part for key, part in one.items() if key != "query"} for one in url["any"]]
    status = ["1xx", "2xx", "3xx", "4xx", "5xx"]
    return {
        "request_answered": {
            "url": url,
            "method": config["expected"].get("http_method") or "GET",
            "status": status,
        }
    }


def _addresses(config: Mapping[str, Any], sites: Sites) -> dict[str, Any]:
    expected = config["expected"]
    found: dict[str, Any] = {
        "any": _alternatives(expected["url"], expected.get("query_params"), sites, config)
    }
    ignore = [
        rewritten(f"^{re.escape(name)}$") for name in config.get("ignored_query_params") or ()
    ]
    for pattern in config.get("ignored_query_params_patterns") or ():
        ignore.append(rewritten(pattern) if is_pattern(pattern) else _searched(pattern))
    if ignore:
        found["ignore"] = ignore
    if config.get("decode_base64_query"):
        found["encoded"] = True
    if any("pattern" in one for one in found["any"]):
        found["scope"] = sites.scope()
    return found


def _searched(pattern: str) -> str:
    """A pattern that is looked for anywhere, as one of the whole."""
    body = pattern.removeprefix("^")
    return body + ".*" if body != pattern else f".*{body}.*"


def _alternatives(
    urls: Any,
    query: Mapping[str, Any] | None,
    sites: Sites,
    config: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    schema = ((config or {}).get("query_params_schema") or {}).get("properties") or {}
    found = []
    for url in urls if isinstance(urls, list) else [urls]:
        where = sites.rendered(url)
        if is_pattern(url):
            one: dict[str, Any] = {"pattern": rewritten(where)}
            asked = query or {}
        else:
            one = {"address": where.partition("?")[0]}
            asked = (
                query
                if query is not None
                else parse_qs(where.partition("?")[2], keep_blank_values=True)
            )
        parts = {
            name: _expected_value(values, schema.get(name), sites) for name, values in asked.items()
        }
        found.append({**one, "query": parts} if parts else one)
    return found


def _expected_value(values: Any, schema: Mapping[str, Any] | None, sites: Sites) -> Any:
    """A parameter's value: of several the first in their order, as the benchmark compares it."""
    first = sorted(map(str, values))[0] if isinstance(values, list) else values
    return leaf(first, kind_of((schema or {}).get("items")), sites)


def _facts(
    wanted: Mapping[str, Any], schema: Mapping[str, Any], sites: Sites
) -> list[dict[str, Any]]:
    properties = schema.get("properties") or {}
    facts = []
    for name, one in wanted.items():
        key = name.strip()
        where = (
            {"pattern": rewritten(key[2:])}
            if key.startswith("$.^")
            else {"json" if key.startswith("$") else "name": key}
        )
        known = properties.get(name)
        listed = isinstance(one, list) and len(one) == 1 and known is None
        facts.append({**where, "is": value(one, {"type": "array"} if listed else known, sites)})
    return facts
