"""The wires below the browser source, message by message: filters, attaching by name, nesting."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

import orjson
import pytest

from agentd.sources.cdp.transport.carrier import Inbox
from agentd.sources.cdp.transport.explicit_attach import OWN, ByHand
from agentd.sources.cdp.transport.filters import Filter, passes
from agentd.sources.cdp.transport.tunnel import Tunnel

FILTERS: list[tuple[Filter | None, str, bool]] = [
    ([{"type": "page"}], "page", True),
    ([{"type": "page"}], "iframe", False),
    ([], "page", False),
    ([{}], "worker", True),
    ([{"type": "page", "exclude": True}, {}], "page", False),
    ([{"type": "page", "exclude": True}, {}], "tab", True),
    ([{}, {"type": "page", "exclude": True}], "page", True),
    (None, "page", True),
    (None, "tab", False),
    (None, "browser", False),
]


@pytest.mark.parametrize(("wanted", "kind", "through"), FILTERS)
def test_the_first_entry_for_a_type_decides(
    wanted: Filter | None, kind: str, through: bool
) -> None:
    assert passes(wanted, kind) is through


class Browser:
    """What a browser said, in order; a wire that keeps what is sent."""

    def __init__(self, *said: dict[str, Any]) -> None:
        self._said = said
        self.sent: list[tuple[str, Mapping[str, Any]]] = []
        self.sessions: list[str] = []

    def send(self, message: dict[str, Any]) -> None:
        self.sent.append((message["method"], message["params"]))
        self.sessions.append(message.get("sessionId", ""))

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        for message in self._said:
            yield message

    async def close(self) -> None:
        """Nothing is open."""


def _created(target: str, kind: str, context: str = "A", **more: str) -> dict[str, Any]:
    info = {"targetId": target, "type": kind, "browserContextId": context, **more}
    return {"method": "Target.targetCreated", "params": {"targetInfo": info}}


def _said_attached(
    session: str, target: str, kind: str, parent: str = "", below: str = ""
) -> dict[str, Any]:
    info = {"targetId": target, "type": kind} | ({"parentId": below} if below else {})
    params = {"sessionId": session, "targetInfo": info}
    return {"method": "Target.attachedToTarget", "params": params, "sessionId": parent}


def _auto(*kinds: str) -> dict[str, Any]:
    return {"autoAttach": True, "filter": [{"type": kind} for kind in kinds]}


async def _through(wire: ByHand) -> list[str]:
    return [
        one["params"].get("targetInfo", one["params"])["targetId"] async for one in wire.messages()
    ]


@pytest.mark.parametrize(
    ("scope", "told", "attached"),
    [(None, ["p1", "p2", "p1"], ["t1", "t2", "s1"]), ("A", ["p1", "p1"], ["t1", "s1"])],
    ids=["a whole browser", "one context"],
)
async def test_targets_are_attached_to_by_name(
    scope: str | None, told: list[str], attached: list[str]
) -> None:
    """Tabs and service workers as the filter wants; frames and dedicated workers belong to their
    page."""
    browser = Browser(
        _created("t1", "tab"), _created("p1", "page"), _created("f1", "iframe"), _created("w1", "worker"),
        _created("t2", "tab", "B"), _created("p2", "page", "B"), _created("s1", "service_worker"),
        _created("t1", "tab"), {"method": "Target.targetDestroyed", "params": {"targetId": "p1"}},
        {"method": "Target.targetDestroyed", "params": {"targetId": "t1"}},
    )  # fmt: skip
    wire = ByHand(browser, scope)
    wire.send(
        {"id": 1, "method": "Target.setDiscoverTargets", "params": {"filter": [{"type": "page"}]}}
    )
    wire.send(
        {
            "id": 2,
            "method": "Target.setAutoAttach",
            "params": _auto("tab", "iframe", "worker", "service_worker"),
        }
    )
    assert await _through(wire) == told
    assert [
        params["targetId"] for method, params in browser.sent if method == "Target.attachToTarget"
    ] == attached
    assert "Target.setAutoAttach" not in [method for method, _ in browser.sent]


@pytest.mark.parametrize(
    ("scope", "more", "asked"),
    [
        (None, [_created("p2", "page", "B")], True),
        ("A", [_created("s1", "service_worker", "B")], True),
        ("A", [_created("p2", "page", "B")], False),
        (
            "A",
            [
                _created("p2", "page", "B"),
                {"method": "Target.targetDestroyed", "params": {"targetId": "p2"}},
            ],
            True,
        ),
    ],
    ids=["a whole browser", "no other page", "another context's page", "which is gone"],
)
async def test_what_counts_for_the_whole_browser_is_not_asked_beside_others(
    scope: str | None, more: list[dict[str, Any]], asked: bool
) -> None:
    browser = Browser(_created("p1", "page"), *more)
    wire = ByHand(browser, scope)
    wire.send({"id": 1, "method": "Target.setDiscoverTargets", "params": {}})
    await _through(wire)
    wire.send({"id": 2, "method": "Browser.getHistograms", "params": {}})
    method = "Browser.getHistograms" if asked else "Browser.getVersion"
    assert browser.sent[-1][0] == method


async def test_a_session_of_a_tab_or_a_worker_sets_up_attachment_as_it_is_told() -> None:
    browser = Browser(
        _said_attached("T", "t1", "tab"), _said_attached("W", "w1", "worker", parent="T")
    )
    wire = ByHand(browser)
    assert await _through(wire) == ["t1", "w1"]
    for session in ("T", "W"):
        wire.send(
            {
                "id": 1,
                "sessionId": session,
                "method": "Target.setAutoAttach",
                "params": _auto("page"),
            }
        )
    assert list(zip(browser.sent, browser.sessions, strict=True)) == [
        (("Target.setAutoAttach", _auto("page")), session) for session in ("T", "W")
    ]


async def test_what_stands_below_a_page_or_a_frame_is_attached_to_by_name_and_told_from_there() -> (
    None
):
    browser = Browser(
        _said_attached("P", "p1", "page", parent="T"), _created("f1", "iframe", parentId="p1"),
        _created("f2", "iframe", parentId="f1"), _created("w1", "worker", parentId="p1"),
        _said_attached("F", "f1", "iframe", below="p1"), _said_attached("G", "f2", "iframe", below="f1"),
        {"method": "Target.detachedFromTarget", "params": {"sessionId": "F"}, "sessionId": ""},
        _created("f3", "iframe", parentId="f1"), _created("f4", "iframe", parentId="p1"),
        _said_attached("H", "f5", "iframe", below="f1"),  # on its way when what it stood in went
        _created("f6", "iframe", parentFrameId="p1"), _created("f7", "iframe"),
    )  # fmt: skip
    wire = ByHand(browser)
    told = []
    async for message in wire.messages():
        told.append((message["method"].partition(".")[2], message["sessionId"]))
        session = message["params"]["sessionId"]
        if message["method"] == "Target.attachedToTarget":
            wire.send(
                {
                    "id": 1,
                    "sessionId": session,
                    "method": "Target.setAutoAttach",
                    "params": _auto("iframe"),
                }
            )
    assert told == [
        ("attachedToTarget", "T"), ("attachedToTarget", "P"), ("attachedToTarget", "F"), ("detachedFromTarget", ""),
    ]  # fmt: skip
    assert [params["targetId"] for method, params in browser.sent if method == "Target.attachToTarget"] == [
        "f1", "f2", "f4", "f6",
    ]  # fmt: skip
    assert "Target.setAutoAttach" not in [method for method, _ in browser.sent]


async def test_a_browser_that_does_not_tell_parents_attaches_by_itself() -> None:
    """Before Chromium told them: what was said already is sent then, what is said later at once."""
    browser = Browser(
        _said_attached("P", "p1", "page", parent="T"), _created("f1", "iframe"),
        _said_attached("F", "f1", "iframe", parent="P"), {"id": OWN + 1, "sessionId": "P", "result": {}},
    )  # fmt: skip
    wire = ByHand(browser)
    told = []
    async for message in wire.messages():
        told.append(message["sessionId"])
        session = message["params"]["sessionId"]
        wire.send(
            {
                "id": 1,
                "sessionId": session,
                "method": "Target.setAutoAttach",
                "params": _auto("iframe"),
            }
        )
    assert told == ["T", "P"]
    assert list(zip(browser.sent, browser.sessions, strict=True)) == [
        (("Browser.getVersion", {}), ""),
        (("Target.setAutoAttach", _auto("iframe")), "P"),
        (("Target.setAutoAttach", _auto("iframe")), "F"),
    ]


class Carried:
    """A carrier that keeps what it is given."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, str, dict[str, Any]]] = []

    def send(self, number: int, method: str, params: dict[str, Any]) -> None:
        self.sent.append((number, method, params))

    def close(self) -> None:
        """Nothing is open."""


def _attached(session: str) -> dict[str, Any]:
    return {"method": "Target.attachedToTarget", "params": {"sessionId": session, "targetInfo": {}}}


def _inside(session: str, message: dict[str, Any]) -> dict[str, Any]:
    params = {"sessionId": session, "message": orjson.dumps(message).decode()}
    return {"method": "Target.receivedMessageFromTarget", "params": params}


async def _tunnel(*came: dict[str, Any]) -> tuple[Tunnel, Carried, Inbox, list[dict[str, Any]]]:
    carrier, inbox = Carried(), Inbox()
    tunnel = Tunnel(carrier, inbox)
    for message in (*came, None):
        inbox.put(message)
    return tunnel, carrier, inbox, [one async for one in tunnel.messages()]


async def test_what_comes_from_a_frame_is_unpacked_level_by_level() -> None:
    said = {"method": "Page.frameNavigated", "params": {}}
    *_, told = await _tunnel(
        _attached("tab"), _inside("tab", _attached("page")), _inside("tab", _inside("page", said)),
        _inside("stranger", said),
    )  # fmt: skip
    assert [(one["sessionId"], one["method"]) for one in told] == [
        ("", "Target.attachedToTarget"),
        ("tab", "Target.attachedToTarget"),
        ("page", "Page.frameNavigated"),
    ]


async def test_a_command_to_a_frame_is_packed_level_by_level_and_its_answer_comes_back() -> None:
    tunnel, carrier, inbox, _ = await _tunnel(_attached("tab"), _inside("tab", _attached("page")))
    tunnel.send(
        {
            "id": 7,
            "sessionId": "page",
            "method": "Target.setAutoAttach",
            "params": {"flatten": True},
        }
    )
    number, method, params = carrier.sent[-1]
    assert (method, params["sessionId"]) == ("Target.sendMessageToTarget", "tab")
    outer = orjson.loads(params["message"])
    inner = orjson.loads(outer["params"]["message"])
    assert (outer["method"], outer["params"]["sessionId"]) == ("Target.sendMessageToTarget", "page")
    assert inner == {"id": 7, "method": "Target.setAutoAttach", "params": {"flatten": False}}
    for message in (
        {"id": number, "result": {}},
        _inside("tab", _inside("page", {"id": 7, "result": {}})),
        None,
    ):
        inbox.put(message)
    assert [one async for one in tunnel.messages()] == [
        {"id": 7, "result": {}, "sessionId": "page"}
    ]


@pytest.mark.parametrize("session", ["tab", "gone"])
async def test_a_command_to_a_session_that_has_gone_fails(session: str) -> None:
    """Refused on the way, or not even sent."""
    tunnel, carrier, inbox, _ = await _tunnel(_attached("tab"))
    tunnel.send({"id": 7, "sessionId": session, "method": "Page.enable", "params": {}})
    if carrier.sent:
        inbox.put({"id": carrier.sent[-1][0], "error": {"message": "No session"}})
    inbox.put(None)
    (answer,) = [one async for one in tunnel.messages()]
    assert (answer["id"], answer["sessionId"], "error" in answer) == (7, session, True)
