"""What the daemon masks in an address is not known: a condition that hangs on it is null, one that the
rest of the address decides is not."""

from __future__ import annotations

from typing import Any

import pytest

from agentd.masking import Masker
from detectors.matchers import AddressesMatch, AddressTextMatch, UrlMatch
from detectors.matchers.url import MAX_URL
from detectors.model.types import Reward
from detectors.sdk.kept_back import MASKED
from tests.support.logs import ORIGIN, Said, episode, finished, loaded, ruleset, run, went

CARD = "4111111111111111"
MASKER = Masker()


def told(path: str) -> str:
    """The address as the daemon reports it."""
    return MASKER.mask_url(ORIGIN + path)


ADDRESSES: list[tuple[Any, str, bool | None]] = [
    ("/x", "/x?token=abc", True),
    ("/y", "/x?token=abc", False),
    ("/x?token=abc", "/x?token=abc", None),
    ("/x?token=", "/x?token=abc", False),
    ("/x?token=abc&a=1", "/x?a=1&token=abc", None),
    ("/x?token=abc&a=1", "/x?a=2&token=abc", False),
    ("/x?token=abc", "/x?token=abc&a=1", False),
    ("/x?a=1&b=2", "/x?a=1&token=abc", False),
    (f"/x?q=card+{CARD}", f"/x?q=card+{CARD}", None),
    ("/x?q=cat", f"/x?q=card+{CARD}", False),
    ({"path": "/x", "query": {"token": "abc"}}, "/x?token=abc", None),
    ({"path": "/x", "query": {"token": {"glob": "*"}}}, "/x?token=abc", True),
    ({"path": "/x", "query": {"a": "2", "token": "abc"}}, "/x?a=1&token=abc", False),
    ({"path": "/x", "query": {"a": "1"}}, "/x?a=1&token=abc", True),
    ({"path": "/x", "query": {"token[]": "abc"}}, "/x?token[]=abc&token[]=", None),
    ({"path": "/x", "fragment": "token=abc"}, "/x#token=abc", None),
    ({"path": "/x", "fragment": "top"}, "/x#token=abc", False),
    ({"path": "/*", "query": {"token": "abc"}}, "/y?token=abc", None),
    (f"/card/{CARD}", f"/card/{CARD}", None),
    (f"/card/{CARD}/paid", f"/card/{CARD}/paid", None),
    (f"/card/{CARD}/paid", f"/card/{CARD}/open", False),
    (f"/bill/{CARD}", f"/card/{CARD}", False),
    ("/card/*/paid", f"/card/{CARD}/paid", True),
    ("/card/41*/paid", f"/card/{CARD}/paid", None),
    ("/card/*/open", f"/card/{CARD}/paid", False),
    ("/card/*", f"/card/{CARD}", True),
    ("/card/***", f"/card/{CARD}", True),
    (f"/card/*{CARD}*", f"/card/*{CARD}*", None),
    (f"/card/*/*{CARD}*/a", f"/card/b/*{CARD}*/a", None),
    (f"/card/{CARD}?a=1", f"/card/{CARD}?a=2", False),
    (f"/card/{CARD}", f"/card/{CARD}?{'a' * MAX_URL}", None),
]


@pytest.mark.parametrize(("spec", "path", "is_so"), ADDRESSES)
def test_what_hangs_on_a_masked_part_of_an_address_is_not_known(
    spec: Any, path: str, is_so: bool | None
) -> None:
    wanted = UrlMatch.parse(spec, (), ORIGIN)
    assert wanted.judge(told(path)) is is_so
    assert wanted.matches(told(path)) is (is_so is True)


TEXTS: list[tuple[Any, bool | None]] = [
    ({"contains": "token=abc"}, None),
    ({"contains": "a=1"}, True),
    ({"regex": ".*token=[^&]+&a=1"}, True),
    ({"starts_with": "https://other.test/"}, False),
    ({"ends_with": "a=1"}, True),
    ({"ends_with": "a=2"}, False),
]


@pytest.mark.parametrize(("spec", "is_so"), TEXTS)
def test_the_text_of_an_address_is_known_but_for_what_was_masked(
    spec: Any, is_so: bool | None
) -> None:
    wanted = AddressTextMatch.parse(spec, ())
    assert isinstance(wanted, AddressTextMatch)
    assert wanted.judge_address(told("/x?token=abc&a=1")) is is_so


def lenient(**query: str) -> dict[str, Any]:
    wanted = {name: {"string": [text]} for name, text in query.items()}
    return {"any": [{"address": f"{ORIGIN}/x", "query": wanted}]}


LENIENT: list[tuple[Any, str, bool | None]] = [
    (lenient(token="abc"), "/x?token=abc", None),
    (lenient(token="abc", a="1"), "/x?token=abc&a=2", False),
    (lenient(token="abc"), "/x?token=abc&b=1", False),
    (lenient(token="abc"), "/y?token=abc", False),
    (lenient(), "/x?token=abc", False),
    (lenient() | {"ignore": ["token"]}, "/x?token=abc", True),
    ({"any": [{"address": f"{ORIGIN}/card/{CARD}"}]}, f"/card/{CARD}", None),
    ({"any": [{"address": f"{ORIGIN}/card/{CARD}/paid"}]}, f"/card/{CARD}/open", False),
    ({"any": [{"address": f"{ORIGIN}/card/***"}]}, f"/card/{CARD}", True),
    ({"any": [{"pattern": ".*/card/[0-9]+"}]}, f"/card/{CARD}", None),
    ({"any": [{"pattern": ".*/card/[^0-9]+"}]}, f"/card/{CARD}", None),
    ({"any": [{"pattern": ".*/card/.+"}]}, f"/card/{CARD}", True),
    ({"any": [{"pattern": {"all": [".*/card/.+"], "none": [".*9"]}}]}, f"/card/{CARD}", None),
    ({"any": [{"address": f"{ORIGIN}/card/{CARD}"}]}, f"/card/{CARD}?a=1", False),
]


@pytest.mark.parametrize(("spec", "path", "is_so"), LENIENT)
def test_of_a_lenient_address_too(spec: Any, path: str, is_so: bool | None) -> None:
    assert AddressesMatch.parse(spec, ()).judge(told(path)) is is_so


SECRET = {"path": "/x", "query": {"token": "abc"}}


def asked(path: str, **more: Any) -> Said:
    kind, data = finished("POST", "/x", 200, **more)
    return kind, {**data, "url": told(path)}


def opened(path: str) -> Said:
    return went(told(path).removeprefix(ORIGIN))


def at(path: str) -> Said:
    return loaded(told(path).removeprefix(ORIGIN))


def card_address() -> dict[str, Any]:
    return {"any": [{"address": f"{ORIGIN}/card/{CARD}"}]}


def other_than(*allowed: Any) -> dict[str, Any]:
    return {"other_request_made": {"url": "/*", "allowed": list(allowed)}}


def referred(path: str) -> Said:
    return asked("/x", headers={"referer": told(path)})


RULES: dict[str, tuple[dict[str, Any], Said, float | None]] = {
    "a page": ({"url_reached": {"url": SECRET}}, opened("/x?token=abc"), None),
    "another page": ({"url_reached": {"url": SECRET}}, opened("/y?token=abc"), 0.0),
    "a text": ({"address_says": {"text": {"contains": "token=abc"}}}, opened("/x?token=abc"), None),
    "accepted": (
        {"request_accepted": {"method": "POST", "url": SECRET}},
        asked("/x?token=abc"),
        None,
    ),
    "answered": (
        {"request_answered": {"method": "POST", "url": lenient(token="abc")}},
        asked("/x?token=abc"),
        None,
    ),
    "answered, from a page": (
        {"request_answered": {"url": lenient(), "referer": lenient(token="abc")}},
        referred("/x?token=abc"),
        None,
    ),
    "answered, from another page": (
        {"request_answered": {"url": lenient(), "referer": lenient(token="abc")}},
        referred("/y?token=abc"),
        0.0,
    ),
    "a page whose path is masked": (
        {"url_reached": {"url": f"/card/{CARD}"}},
        opened(f"/card/{CARD}"),
        None,
    ),
    "a page whose path is masked, elsewhere": (
        {"url_reached": {"url": f"/card/{CARD}/paid"}},
        opened(f"/card/{CARD}/open"),
        0.0,
    ),
    "a load at a masked path": (
        {"page_loaded": {"url": f"/card/{CARD}"}},
        at(f"/card/{CARD}"),
        None,
    ),
    "accepted at a masked path": (
        {"request_accepted": {"method": "POST", "url": f"/card/{CARD}"}},
        asked(f"/card/{CARD}"),
        None,
    ),
    "answered at a masked path": (
        {"request_answered": {"method": "POST", "url": card_address()}},
        asked(f"/card/{CARD}"),
        None,
    ),
    "another request at a masked path": (other_than(f"/card/{CARD}"), asked(f"/card/{CARD}"), None),
    "another request": (other_than(SECRET), asked("/x?token=abc"), None),
    "another request elsewhere": (other_than(SECRET), asked("/y?token=abc"), 1.0),
    "a request that is allowed": (other_than("/x"), asked("/x?token=abc"), 0.0),
}


@pytest.mark.parametrize(("when", "said", "worth"), RULES.values(), ids=RULES)
def test_a_step_that_hangs_on_it_is_null(
    when: dict[str, Any], said: Said, worth: float | None
) -> None:
    rules = ruleset({"id": "m", "component": "form", "when": when}, weights={"form": 1})
    reward: Reward
    (reward,) = run(rules, *episode([said]))
    assert reward.reward == worth
    assert (worth is None) is (reward.status == "unobserved")
    assert worth is not None or MASKED in str(reward.reason)


@pytest.mark.parametrize(("pattern", "is_so"), [(".{2,}", None), (".+", True)])
def test_a_pattern_of_many_letters_is_not_known_of_a_short_secret(
    pattern: str, is_so: bool | None
) -> None:
    wanted = AddressesMatch.parse({"any": [{"pattern": f"{ORIGIN}/card/{pattern}"}]}, ())
    assert wanted.judge(told(f"/card/{CARD}")) is is_so
