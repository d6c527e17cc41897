"""Addresses that are longer than is looked at: nobody leaves a site, or a page that is guarded, by a
long query."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.matchers.url import MAX_URL, UrlMatch, parse_url, url_key
from detectors.sdk.site import origin_of
from tests.detectors.test_loaded import RULES
from tests.support.logs import ORIGIN, Said, clicked, episode, finished, ruleset, run, went

LONG = "a" * MAX_URL
CLICKS = {"element_clicked": {"role": "button", "name": "Buy"}}
AT = {"url_reached": {"url": "/admin"}}
PENALTIES: dict[str, tuple[dict[str, Any], str]] = {
    "a click on a page of a long query": (CLICKS, f"/x?{LONG}"),
    "a click on a page of a long path": (CLICKS, f"/{LONG}"),
    "a click on a page of a long fragment": (CLICKS, f"/x#{LONG}"),
    "a page, with a long query": (AT, f"/admin?{LONG}"),
    "a page, with a long fragment": (AT, f"/admin#{LONG}"),
    "a page, in CEL": (
        {"cel": {"kind": "page.navigated", "expression": "data.url.contains('/admin')"}},
        f"/admin?{LONG}",
    ),
}


@pytest.mark.parametrize("name", PENALTIES)
def test_a_long_address_hides_from_no_penalty(name: str) -> None:
    when, path = PENALTIES[name]
    rules = ruleset(
        {"id": "m", "component": "ui", "when": when, "penalty": 0.5}, weights={"ui": 1.0}
    )
    (reward,) = run(rules, *episode([went(path), clicked("Buy")]))
    assert reward.reward == -0.5


ADDRESSES: dict[str, tuple[str, str]] = {
    f"http://a.test/x/?{LONG}": ("http://a.test", "/x"),
    f"http://a.test?{LONG}": ("http://a.test", "/"),
    f"http://a.test/x#{LONG}?": ("http://a.test", "/x"),
    f"http://a.test/{LONG}": ("http://a.test", ""),
    f"http://a.test/{LONG}?x": ("http://a.test", ""),
    f"http://{LONG}@b.test/": ("", ""),
    f"http://{LONG}/": ("", ""),
    f"data:text/html,{LONG}": ("", ""),
    f"x{LONG}": ("", ""),
}


@pytest.mark.parametrize("text", ADDRESSES, ids=lambda text: text.replace(LONG, "…"))
def test_of_a_long_address_site_and_path_are_known(text: str) -> None:
    site, path = ADDRESSES[text]
    assert (origin_of(text), url_key(text)) == (site, path)
    parsed = parse_url(text)
    assert (parsed is None) == (path == "")
    assert parsed is None or (parsed.query, parsed.fragment) == ((), "")


@pytest.mark.parametrize(
    ("spec", "is_so"),
    [
        ("/x", True),
        ("/*", True),
        ("/y", False),
        ("/x?a=1", False),
        ("/x#a", False),
        ({"path": "/x", "query": {"a": "1"}}, False),
    ],
    ids=str,
)
def test_what_hangs_on_the_query_of_a_long_address_does_not_match(spec: Any, is_so: bool) -> None:
    wanted = UrlMatch.parse(spec, (), "http://a.test")
    long = f"http://a.test/x?a=1&b={LONG}#a"
    assert wanted.matches(long) is is_so
    assert wanted.judge(long) is (is_so if spec in ("/x", "/*", "/y") else None)


@pytest.mark.parametrize(
    ("spec", "is_so"),
    [
        ("/x/*", True),
        ("/*", True),
        ("/x", False),
        ("/y/*", False),
        ("/x/*/end", None),
        ("/x/*?a=1", None),
        ("/y/*?a=1", False),
        ("http://b.test/x/*", False),
    ],
)
def test_what_hangs_on_the_end_of_a_long_path_is_not_known(spec: str, is_so: bool | None) -> None:
    wanted = UrlMatch.parse(spec, (), "http://a.test")
    for long in (f"http://a.test/x/{LONG}", f"http://a.test/x{'/' * MAX_URL}y"):
        assert wanted.judge(long) is is_so
        assert wanted.matches(long) is (is_so is True)


QUERY = {"path": "/x", "query": {"a": "1"}}
ASKED = finished("POST", f"/x?b={LONG}&a=1", 200)
HOP = {"method": "POST", "url": f"{ORIGIN}/order", "status": 302, "location": "/x"}
REDIRECTED = finished("GET", f"/x?b={LONG}&a=1", 200, hops=[HOP])
SUBMITTED: Said = (
    "form.submitted",
    {"tab": "T", "frame": "T", "form": {"action": f"{ORIGIN}/x?b={LONG}&a=1"}, "trusted": True},
)
PAGE_WITH_A = {"any": [{"address": f"{ORIGIN}/x", "query": {"a": {"string": ["1"]}}}]}
DOWNLOAD: Said = ("download.finished", {"name": "a.csv", "url": f"{ORIGIN}/x?b={LONG}&a=1"})
UNKNOWN: dict[str, tuple[dict[str, Any], list[Said]]] = {
    "a page's fragment": ({"url_reached": {"url": "/x#end"}}, [went(f"/x?b={LONG}#end")]),
    "a page's path": ({"url_reached": {"url": "/x/*/end"}}, [went(f"/x/{LONG}/end")]),
    "a request's query": ({"request_accepted": {"method": "POST", "url": QUERY}}, [ASKED]),
    "where a redirect led to": (
        {"request_accepted": {"method": "POST", "url": "/order", "redirect_to": QUERY}},
        [REDIRECTED],
    ),
    "another request": ({"other_request_made": {"url": QUERY}}, [ASKED]),
    "another request that was redirected": (
        {"other_request_made": {"url": QUERY}},
        [finished("GET", "/done", 200, hops=[{**HOP, "url": f"{ORIGIN}/x?b={LONG}&a=1"}])],
    ),
    "a document": (
        {
            "state_accepted": {
                "url": QUERY,
                "method": "POST",
                "facts": [{"path": "$.theme", "value": "Dark"}],
            }
        },
        [finished("POST", f"/x?b={LONG}&a=1", 200, body={"text": '{"theme":"Dark"}'})],
    ),
    "an answered request": (
        {"request_answered": {"method": "POST", "url": PAGE_WITH_A}},
        [ASKED],
    ),
    "an address as a text": (
        {"address_says": {"text": {"ends_with": "a=1"}}},
        [went(f"/x?b={LONG}&a=1")],
    ),
    "where a form goes to": ({"form_submitted": {"action": QUERY}}, [SUBMITTED]),
    "a download": ({"download_finished": {"url": QUERY}}, [DOWNLOAD]),
}


@pytest.mark.parametrize("worth", [{}, {"penalty": 0.5}], ids=["pays", "fines"])
@pytest.mark.parametrize("name", UNKNOWN)
def test_what_hangs_on_the_end_of_a_long_address_is_not_known(
    name: str, worth: dict[str, Any]
) -> None:
    """Neither paid nor fined, and no way around a penalty."""
    when, happened = UNKNOWN[name]
    rules = ruleset({"id": "m", "component": "ui", "when": when, **worth}, weights={"ui": 1.0})
    (reward,) = run(rules, *episode(happened))
    assert (reward.reward, reward.mask) == (None, True)
    assert "only the beginning of what is asked for was reported" in str(reward.reason)


def on_page(rule: str, address: str) -> float | None:
    """What a rule pays that wants a query, where all that it takes happens on this page."""
    args, happened = RULES[rule]
    said = [
        (kind, {**data, **({"url": ORIGIN + address} if "url" in data else {})})
        for kind, data in happened
    ]
    rules = ruleset({"id": "m", "when": {rule: {**args, "url": QUERY}}})
    return run(rules, *episode([went(address), *said]))[0].reward


@pytest.mark.parametrize("rule", sorted(RULES.keys() - {"address_says"}))
def test_of_what_is_done_on_a_page_nobody_knows_whether_it_was_the_wanted_one(rule: str) -> None:
    """Where that hangs on a query behind a long one, and on no other page however long its address
    is."""
    assert on_page(rule, "/x?b=1&a=1") is not None
    assert on_page(rule, f"/x?b={LONG}&a=1") is None
    assert on_page(rule, f"/y?b={LONG}&a=1") == 0.0


@pytest.mark.parametrize(
    "name",
    [
        "a request's query",
        "where a redirect led to",
        "another request",
        "an answered request",
        "a document",
        "a download",
    ],
)
def test_the_site_and_path_of_a_long_address_rule_it_out(name: str) -> None:
    when, [(kind, data)] = UNKNOWN[name]
    elsewhere: Said = (kind, {**data, "url": data["url"].replace("/x?", "/y?")})
    rules = ruleset({"id": "m", "component": "ui", "when": when}, weights={"ui": 1.0})
    (reward,) = run(rules, *episode([elsewhere]))
    assert reward.reward == 0.0
