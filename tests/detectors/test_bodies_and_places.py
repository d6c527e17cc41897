"""What a body is, which value of a repeated field counts, and what is one place or one text written
in two ways."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.matchers import (
    AddressesMatch,
    BodyMatch,
    ContentMatch,
    StructureMatch,
    TextMatch,
    UrlMatch,
)
from tests.support.logs import ORIGIN, Said, answered, episode, finished, ruleset, run, went, worth

FORM, JSON = "name=Ada&qty=2", '{"name": "Ada", "qty": 2}'
PARTS = '--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nAda\r\n--x--\r\n'
# (text, content type, whether it is Ada's)
BODIES: list[tuple[str, str | None, bool]] = [
    (FORM, "application/x-www-form-urlencoded", True),
    (FORM, "Application/X-WWW-Form-Urlencoded; charset=UTF-8", True),
    (PARTS, "multipart/form-data; boundary=x", True),
    (JSON, "application/json", True),
    (JSON, "application/json; charset=utf-8", True),
    (JSON, "application/vnd.shop+json", True),
    (JSON, "text/json", True),
    (FORM, "text/plain", False),
    (FORM, "text/plain;charset=UTF-8", False),
    (JSON, "text/plain", False),
    (PARTS, "text/plain; x=multipart/form-data", False),
    (FORM, "", False),
    (FORM, None, False),
    (JSON, None, False),
    (JSON, "application/x-www-form-urlencoded", False),
    (FORM, "application/json", False),
    (JSON, "application/octet-stream; json", False),
]


def sent(
    text: str, mime: str | None = "application/x-www-form-urlencoded", method: str = "POST"
) -> Said:
    return finished(
        method, "/api", 200, body={"text": text} | ({} if mime is None else {"mime": mime})
    )


def accepted(**more: Any) -> dict[str, Any]:
    return {"request_accepted": {"method": "POST", "url": "/api", "body": {"name": "Ada"}, **more}}


def answers(**more: Any) -> dict[str, Any]:
    body = [{"name": "name", "is": {"string": ["Ada"]}}]
    return {
        "request_answered": {"url": {"any": [{"address": f"{ORIGIN}/api"}]}, "body": body, **more}
    }


def paid(when: dict[str, Any], *said: Said) -> bool:
    rules = ruleset({"id": "m", "when": when, "component": "form"}, weights={"form": 1})
    return worth(run(rules, *episode(list(said)))) == [1.0]


@pytest.mark.parametrize("when", [accepted, answers])
@pytest.mark.parametrize(("text", "mime", "is_so"), BODIES)
def test_a_body_is_what_its_content_type_says(
    when: Any, text: str, mime: str | None, is_so: bool
) -> None:
    """Right fields in a body that the server reads as something else are no order."""
    assert paid(when(), sent(text, mime)) is is_so


@pytest.mark.parametrize("when", [accepted, answers])
def test_a_task_can_say_what_the_site_takes_the_body_for(when: Any) -> None:
    """Pages that send JSON without a word of its type are many."""
    assert paid(when(body_as="json"), sent(JSON, "text/plain;charset=UTF-8"))
    assert paid(when(body_as="json"), sent(JSON, None))
    assert paid(when(body_as="form"), sent(FORM, "text/plain"))
    assert paid(when(body_as="form"), sent(PARTS, "multipart/form-data; boundary=x"))
    assert not paid(when(body_as="json"), sent(FORM, "application/x-www-form-urlencoded"))
    assert not paid(when(body_as="form"), sent(JSON, "application/json"))


@pytest.mark.parametrize("mime", ["application/json", "text/plain", "text/html"])
def test_an_answer_is_the_server_s_own_word(mime: str) -> None:
    said = finished("POST", "/api", 200, response={"body": {"text": JSON, "mime": mime}})
    assert paid(
        {"request_accepted": {"method": "POST", "url": "/api", "answer": {"name": "Ada"}}}, said
    )


REPEATED: list[tuple[str, dict[str, Any], bool]] = [
    ("name=Ada&name=Eve", {}, False),
    ("name=Eve&name=Ada", {}, True),
    ("name=Ada&name=Eve", {"repeated": "last"}, False),
    ("name=Ada&name=Eve", {"repeated": "first"}, True),
    ("name=Eve&name=Ada", {"repeated": "first"}, False),
    ("name=Eve&name=Ada&name=Bob", {"repeated": "any"}, True),
    ("name=Eve&name=Bob", {"repeated": "any"}, False),
    ("name=Ada", {"repeated": "first"}, True),
    ("name=Ada&name=", {}, False),
]


@pytest.mark.parametrize("when", [accepted, answers])
@pytest.mark.parametrize(("text", "more", "is_so"), REPEATED)
def test_of_a_repeated_field_one_value_counts(
    when: Any, text: str, more: dict[str, Any], is_so: bool
) -> None:
    """The last unless the task says otherwise: the first right one would pay for an order of
    something else."""
    assert paid(when(**more), sent(text)) is is_so


@pytest.mark.parametrize("text", ["tag%5B%5D=a&tag%5B%5D=b", "tag[]=b&tag[]=a"])
def test_a_name_that_ends_in_brackets_is_a_list(text: str) -> None:
    body = {"text": text, "mime": "application/x-www-form-urlencoded"}
    assert BodyMatch.parse({"tag[]": "a"}, ("body",)).matches(body)
    assert ContentMatch.parse([{"name": "tag[]", "is": {"string": ["a"]}}], ("body",)).matches(body)
    assert not BodyMatch.parse({"tag[]": "c"}, ("body",)).matches(body)


def test_a_repeated_parameter_is_no_choice_either() -> None:
    """Of an address: each value of a named parameter, and the last where the whole query is
    said."""
    url = UrlMatch.parse({"path": "/s", "query": {"q": "lamp", "c[]": "red"}}, ("url",), ORIGIN)
    assert url.matches(f"{ORIGIN}/s?q=lamp&c[]=blue&c[]=red")
    assert not url.matches(f"{ORIGIN}/s?q=lamp&q=desk&c[]=red")
    assert not url.matches(f"{ORIGIN}/s?q=desk&q=lamp&c[]=red")
    at = AddressesMatch.parse(
        {"any": [{"address": f"{ORIGIN}/s", "query": {"q": {"string": ["lamp"]}}}]}, ("url",)
    )
    assert at.matches(f"{ORIGIN}/s?q=desk&q=lamp")
    assert not at.matches(f"{ORIGIN}/s?q=lamp&q=shelf")


PLACES: list[tuple[str, str, bool]] = [
    (r"^http://shop\.test/cart$", "/cart", True),
    (r"^http://shop\.test/cart$", "/cart/", True),
    (r"^http://shop\.test/cart$", "/c%61rt", True),
    (r"^http://shop\.test/cart$", "/cart/?x=1#y", True),
    (r"^http://shop\.test/café$", "/caf%C3%A9", True),
    (r"^http://shop\.test/cafe$", "/caf%C3%A9", False),
    (r"^http://shop\.test/cart$", "/cart/7", False),
    (r"^http://shop\.test/cart$", "/carts", False),
    (r"^http://shop\.test/cart/$", "/cart", False),
    (r"^http://shop\.test/item/\d+$", "/item/7/", True),
    (r"^http://shop\.test/item/\d+$", "/item/%37", True),
    (r"^http://shop\.test/item/\d+$", "/item/x", False),
]


@pytest.mark.parametrize(("pattern", "path", "is_so"), PLACES)
@pytest.mark.parametrize("rule", ["request_answered", "address_says"])
def test_a_pattern_knows_a_place_in_each_of_its_writings(
    rule: str, pattern: str, path: str, is_so: bool
) -> None:
    if rule == "request_answered":
        url = {"any": [{"pattern": pattern}], "ignore": [".*"]}
        assert AddressesMatch.parse(url, ("url",)).matches(f"{ORIGIN}{path}") is is_so
    elif "?" not in path:
        said = {"address_says": {"text": {"regex": pattern}}}
        assert paid(said, went(path)) is is_so


def test_what_a_pattern_must_not_be_counts_in_each_writing() -> None:
    """An address is not past it by writing a letter as its number."""
    pattern = {"all": [".*"], "none": [".*/admin"]}
    at = AddressesMatch.parse({"any": [{"pattern": pattern}]}, ("url",))
    assert at.matches(f"{ORIGIN}/a")
    for path in ("/admin", "/%61dmin", "/admin/"):
        assert not at.matches(f"{ORIGIN}{path}"), path


ORDINARY: list[tuple[Any, str, bool]] = [
    ("2019-2020", "2019\u20132020", True),
    ("2019\u20132020", "2019-2020", True),
    ("Ada's lamp", "Ada\u2019s lamp", True),
    ('"Lamp"', "\u201cLamp\u201d", True),
    ("e-mail", "e\u2011mail", True),
    ("lamp", "la\u00admp", True),
    ({"number": -3}, "\u22123", True),
    ({"contains": "Ada's"}, "it is Ada\u2019s", True),
    ({"one_of": ["a-b", "c"]}, "a\u2014b", True),
    ({"regex": "a-b"}, "a\u2013b", True),
    ({"regex": "a\u2013b"}, "a\u2013b", True),
    ({"date": "2024-05-06"}, "2024\u201105\u201106", True),
    ("cafe", "caf\u00e9", False),
    ("lamp", "l\u0430mp", False),
    ("2019-2020", "2019 2020", False),
    ("7", "\uff17", True),
]
ADDRESSES: list[tuple[Any, str, bool]] = [
    ("https://shop.test/a-1", "https://shop.test/a-1", True),
    ("https://shop.test/a-1", " https://shop.test/a-1\n", True),
    ("https://shop.test/a-1", "https://shop.test/a\u20131", False),
    ("https://shop.test/a-1", "https://shop.test/a-\uff11", False),
    ("https://shop.test/a-1", "\uff48ttps://shop.test/a-1", False),
    ("https://shop.test/caf\u00e9", "https://shop.test/cafe", False),
    ({"contains": "https://shop.test/a-1"}, "see https://shop.test/a-\uff11", False),
    ({"one_of": ["https://shop.test/a-1", "none"]}, "https://shop.test/a\u20131", False),
    ({"regex": "https://shop\\.test/a-[0-9]"}, "https://shop.test/a-\uff11", False),
    ({"regex": "https:\\/\\/shop\\.test/a-[0-9]"}, "https://shop.test/a\u20131", False),
    ({"url": "https://shop.test/a-1"}, "https://shop.test/a-\uff11", False),
]


@pytest.mark.parametrize(("spec", "text", "is_so"), [*ORDINARY, *ADDRESSES])
def test_typographic_marks_are_folded_in_texts_and_nothing_in_addresses(
    spec: Any, text: str, is_so: bool
) -> None:
    """In an ordinary text a program writes – for -; in an address it is another place."""
    assert TextMatch.parse(spec, ("text",)).matches(text) is is_so
    rules = ruleset(
        {"id": "m", "when": {"answer_matches": {"text": spec}}, "component": "answer"},
        weights={"answer": 1},
    )
    assert worth(run(rules, *episode([answered(text)]))) == [float(is_so)], (
        "by the index of the rule, too"
    )


LENIENT: list[tuple[str, bool]] = [
    ("https://shop.test/caf\u00e9?q=Lamp&p=1", True),
    ("https://SHOP.test:443/caf%C3%A9/?p=1&q=lamp", True),
    ("https://shop.test/cafe?q=lamp&p=1", False),
    ("https://shop.test/caf\u00e9?q=lamp&p=\uff11", False),
    ("\uff48ttps://shop.test/caf\u00e9?q=lamp&p=1", False),
    ("https://shop.test/caf\u00e9?q=lamp", False),
    ("https://shop.test.evil/caf\u00e9?q=lamp&p=1", False),
    ("the page https://shop.test/caf\u00e9?q=lamp&p=1", False),
]


@pytest.mark.parametrize(("text", "is_so"), LENIENT)
def test_a_lenient_address_is_one_place(text: str, is_so: bool) -> None:
    """Case, order of parameters and a slash at the end do not count; accents and full-width digits
    do."""
    wanted = StructureMatch.parse({"url": ["https://shop.test/caf\u00e9?q=lamp&p=1"]}, ("value",))
    assert wanted.matches(text) is is_so
    assert StructureMatch.parse({"string": ["cafe 1"]}, ("value",)).matches("Caf\u00e9 \uff11"), (
        "as of a text"
    )
