"""Addresses that are longer than is looked at: nobody leaves a site, or a page that is guarded, by a
long query."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.matchers.url import MAX_URL, UrlMatch, parse_url, url_key
from detectors.sdk.site import origin_of
from tests.support.logs import clicked, episode, ruleset, run, went

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
    assert wanted.matches(f"http://a.test/x?a=1&b={LONG}#a") is is_so
