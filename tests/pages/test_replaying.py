"""A recording made safe to be shown: nothing that acts or loads is left in it, and what a person
looks at is."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from api.pages.replay import _render
from api.pages.replaying import sanitize
from tests.support.logs import log


def element(tag: str, *children: Any, **attributes: Any) -> dict[str, Any]:
    return {
        "type": 2,
        "id": 9,
        "tagName": tag,
        "attributes": attributes,
        "childNodes": list(children),
    }


def text(content: str, **more: Any) -> dict[str, Any]:
    return {"type": 3, "id": 8, "textContent": content, **more}


def clean(node: Any) -> dict[str, Any]:
    """The node as it is sent to the player."""
    told = [
        {
            "type": 2,
            "timestamp": 1_000,
            "data": {"node": node, "initialOffset": {"left": 0, "top": 0}},
        }
    ]
    data = {
        "tab": "T",
        "stream": "s",
        "sequence": 0,
        "sent_ms": 1_000,
        "text": orjson.dumps(told).decode(),
    }
    [message] = sanitize(log(("visual.dom_recorded", data)))
    found: dict[str, Any] = message.events[0]["data"]["node"]
    return found


ACTS = {
    "a script": element("script", text("owned()")),
    "a script in SVG": element("svg", element("script", text("owned()")), isSVG=True),
    "a handler": element("img", src="x", onerror="owned()"),
    "a handler in capitals": element("img", OnLoad="owned()"),
    "an address that is script": element("a", href="javascript:owned()"),
    "script in any attribute": element("x-y", to="  JaVaScRiPt:owned()"),
    "a document in a frame": element("iframe", srcdoc="<script>owned()</script>"),
    "a frame of elsewhere": element("iframe", src="http://owned.test/"),
    "a plug-in": element("object", data="http://owned.test/x.swf"),
    "an embedded one": element("embed", src="http://owned.test/"),
    "a base": element("base", href="http://owned.test/"),
    "a redirect": element("meta", **{"http-equiv": "refresh"}, content="0;url=http://owned.test/"),
    "a form": element("form", action="http://owned.test/"),
    "a button of a form": element("button", formaction="http://owned.test/"),
    "a picture of elsewhere": element("img", src="http://owned.test/pixel.png"),
    "pictures of elsewhere": element("img", srcset="http://owned.test/pixel.png 2x"),
    "SVG as a picture": element("img", src="data:image/svg+xml,<svg onload=owned()>"),
    "a used symbol": element("use", **{"xlink:href": "http://owned.test/#x"}),
    "an animated address": element("animate", attributeName="href", to="javascript:owned()"),
    "a style's address": element("p", style="background: url(http://owned.test/)"),
    "a style's address without an end": element("p", style="background: url('http://owned.test/"),
    "an imported sheet": element(
        "style", text("@import 'http://owned.test/'; p { color: red }", isStyle=True)
    ),
    "a sheet as an attribute": element(
        "link", rel="stylesheet", _cssText="p { content: image-set('http://owned.test/') }"
    ),
    "a link": element("link", rel="preload", href="http://owned.test/"),
    "a name that is none": element("img src=x onerror=owned()"),
}


@pytest.mark.parametrize("node", ACTS.values(), ids=ACTS)
def test_what_acts_or_loads_is_taken_out(node: dict[str, Any]) -> None:
    assert "owned" not in orjson.dumps(clean(node)).decode()


@pytest.mark.parametrize(
    "hidden", ["u\\72l(x)", "u\\72 l(x)", "\\75rl(x)", "u\\rl(x)", "@\\69mport 'x'"]
)
def test_a_sheet_hides_no_word_by_escapes(hidden: str) -> None:
    left = clean(element("style", text(f"p {{ background: {hidden} }}", isStyle=True)))[
        "childNodes"
    ][0]["textContent"]
    assert "\\" not in left
    assert "url" not in left


SHOWN = {
    "an element": element("p", text("Hello"), **{"class": "big"}),
    "a style": element("p", style="color: red; width: 20px"),
    "a picture in the recording": element("img", src="data:image/png;base64,iVBORw0KGgo="),
    "a sheet": element(
        "style",
        text(".a\\:b { color: red; background: url(data:image/png;base64,AA) }", isStyle=True),
    ),
    "a field": element("input", type="text", value="Ada", placeholder="Name"),
    "words about addresses": text("see javascript: and url of it"),
}


@pytest.mark.parametrize("node", SHOWN.values(), ids=SHOWN)
def test_what_is_to_be_seen_stays(node: dict[str, Any]) -> None:
    assert clean(node) == node


def test_a_sheet_that_a_link_had_is_one() -> None:
    made = clean(element("link", rel="stylesheet", href="/a.css", _cssText="p { color: red }"))
    assert made["tagName"] == "style"
    assert made["attributes"] == {"rel": "stylesheet", "_cssText": "p { color: red }"}


def test_later_changes_are_cleaned_too() -> None:
    changes = [
        {"source": 0, "adds": [{"parentId": 1, "nextId": None, "node": element("script", text("owned"))}],
         "attributes": [{"id": 1, "attributes": {"onclick": "owned()", "style": {"background": "url(http://owned)"}}}],
         "texts": [{"id": 2, "value": "@import url(http://owned)"}], "removes": []},
        {"source": 8, "id": 1, "adds": [{"rule": "p { background: url(http://owned) }"}]},
        {"source": 15, "id": 1, "styles": [{"styleId": 1, "rules": [{"rule": "@import 'http://owned'"}]}]},
        {"source": 9, "id": 1, "commands": [{"property": "owned"}]},
    ]  # fmt: skip
    told = [{"type": 3, "timestamp": 5, "data": data} for data in changes] + [
        {"type": 6, "data": {"plugin": "owned"}}
    ]
    data = {
        "tab": "T",
        "stream": "s",
        "sequence": 0,
        "sent_ms": 5,
        "text": orjson.dumps(told).decode(),
    }
    [message] = sanitize(log(("visual.dom_recorded", data)))
    assert len(message.events) == 3
    assert "owned" not in orjson.dumps(message.events).decode()


def test_a_message_in_parts_is_put_together_and_one_that_lacks_a_part_is_left_out() -> None:
    body = orjson.dumps(
        [{"type": 4, "timestamp": 90, "data": {"width": 10, "height": 20, "href": "http://x"}}]
    ).decode()
    halves = [body[:20], body[20:]]
    parts = [
        (
            "visual.dom_recorded",
            {
                "tab": "T",
                "stream": "s",
                "sequence": n,
                "sent_ms": 100,
                "part": part,
                "parts": 2,
                "text": halves[part],
            },
        )
        for n, part in ((0, 0), (0, 1), (1, 1), (2, 0), (3, 0), (3, 1))
    ]
    found = list(sanitize(log(*parts)))
    assert [message.n for message in found] == [0, 3]
    assert found[0].events == [
        {"type": 4, "data": {"href": "about:blank", "width": 10, "height": 20}, "timestamp": 2 - 10}
    ]


def test_what_can_not_be_written_costs_no_other_event() -> None:
    """A document as deep as pages are and deeper; shapes that no recorder of ours writes."""
    deep: dict[str, Any] = text("bottom")
    for _ in range(400):
        deep = element("div", deep)
    nested: Any = 1
    for _ in range(400):
        nested = [nested]
    odd = [
        {"type": 3, "data": {"source": {}}},
        {"type": 3, "data": {"source": 2, "x": nested}},
        {"type": 2, "data": {"node": element("a") | {"attributes": 5}}},
        {"type": 3, "data": {"source": 0, "adds": 7, "texts": {"a": 1}}},
        {"type": 2, "data": {"node": deep}},
        {"type": 4, "data": {"width": 10, "height": 20}},
    ]
    said = json.dumps([{**one, "timestamp": 1} for one in odd])
    data = {"tab": "T", "stream": "s", "sequence": 0, "sent_ms": 1, "text": said}
    [message] = orjson.loads(_render(list(log(("visual.dom_recorded", data))), None))["told"]
    assert [one["type"] for one in message["events"]] == [2, 3, 2, 4]
    assert '"tagName":"div"' in orjson.dumps(message["events"][2]).decode()


@pytest.mark.parametrize(
    "said", ["", "{}", "[1, null, {}]", '[{"type": 3}]', "[" * 2000, '[{"type":2,"data":{}}]']
)
def test_what_is_no_recording_breaks_nothing(said: str) -> None:
    data = {"tab": "T", "stream": "s", "sequence": 0, "sent_ms": "x", "text": said}
    assert all(
        event["type"] == 2
        for message in sanitize(log(("visual.dom_recorded", data)))
        for event in message.events
    )
