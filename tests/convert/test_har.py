"""HARs in detail: chains, frames, failures, bodies, sockets, steps."""

from __future__ import annotations

import base64
import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentd.sources.cdp.state.capture_plan import MAX_BODY_LENGTH
from api.replay.recordings import replay
from api.tasks.task_files import check_task
from detectors.task.ruleset import compile_task
from tests.convert.hand_made import entry, har, write
from tests.convert.making import converted, gaps, of

SHOP = "http://shop.example"


def told(folder: Path, *entries: Any, **about: Any) -> list[Any]:
    return converted(write(folder / "a.har", har(*entries, **about)), folder)


def test_hops_become_a_chain_under_one_number(tmp_path: Path) -> None:
    """As live: each hop told, the last answer with the hops before it, a POST's body at its own
    hop."""
    events = told(
        tmp_path,
        entry(
            f"{SHOP}/a", 0, 302, "POST", to="/b", posted={"mimeType": "text/plain", "text": "x=1"}
        ),
        entry(f"{SHOP}/other", 3),
        entry(f"{SHOP}/b", 6, 301, to=f"{SHOP}/c"),
        entry(f"{SHOP}/c", 12),
    )
    chain = [event for event in events if event.data.get("request") == "har-0"]
    assert [event.kind.removeprefix("request.") for event in chain] == [
        "sent", "redirected", "sent", "redirected", "sent", "finished",
    ]  # fmt: skip
    hops = chain[-1].data["hops"]
    assert [(hop["method"], hop["status"], hop["location"]) for hop in hops] == [
        ("POST", 302, "/b"), ("GET", 301, f"{SHOP}/c"),
    ]  # fmt: skip
    assert hops[0]["body"] == {"text": "x=1", "mime": "text/plain"}
    assert "body" not in chain[-1].data


def test_a_chain_that_fails_has_the_redirects_before_it(tmp_path: Path) -> None:
    """As live: `request.failed` says which request was sent on."""
    failed = entry(f"{SHOP}/b", 6, 0) | {"_error": "net::ERR_CONNECTION_RESET"}
    events = told(tmp_path, entry(f"{SHOP}/a", 0, 302, "POST", to="/b"), failed)
    (end,) = of(events, "request.failed")
    assert [(hop["method"], hop["status"], hop["location"]) for hop in end["hops"]] == [
        ("POST", 302, "/b")
    ]


def test_a_redirect_whose_answer_is_not_in_the_file_ends_there(tmp_path: Path) -> None:
    events = told(tmp_path, entry(f"{SHOP}/a", 0, 302, to="/elsewhere"), entry(f"{SHOP}/b", 9))
    assert [data["url"] for data in of(events, "request.finished")] == [f"{SHOP}/b"]
    assert [data["location"] for data in of(events, "request.redirected")] == ["/elsewhere"]


LANDING = {
    "id": "order",
    "version": "1",
    "instruction": "Order.",
    "origin": SHOP,
    "milestones": [
        {"id": "ordered", "component": "goal", "when": {"request_accepted": {
            "method": "POST", "url": "/order", "redirect_to": "/thanks"}}},
        {"id": "asked", "component": "nav", "when": {"request_accepted": {"method": "GET", "url": "/cart"}}},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("landing", "total", "known"),
    [
        pytest.param([entry(f"{SHOP}/thanks", 9)], 0.2, True, id="it came"),
        pytest.param([entry(f"{SHOP}/thanks", 9, 500)], 0.0, True, id="it failed"),
        pytest.param([], None, False, id="it is not in the file"),
        pytest.param([entry(f"{SHOP}/other", 9)], None, False, id="another page is"),
    ],
)
def test_where_a_redirect_led_to_is_unknown_and_not_zero_if_it_is_not_in_the_file(
    landing: list[Any], total: float | None, known: bool, tmp_path: Path
) -> None:
    """The rule that needs the landing page gives null with a reason, and so does no page of the
    redirect itself."""
    goal = {**LANDING, "milestones": LANDING["milestones"][:1]}
    events = told(
        tmp_path, entry(f"{SHOP}/order", 0, 302, "POST", to="/thanks", type="document"), *landing
    )
    rewards = replay(tmp_path / "made.mrec", compile_task(check_task(goal)))[1]
    assert [reward.reward for reward in rewards] == [total]
    assert [reward.mask for reward in rewards] == [not known]
    assert f"{SHOP}/order" not in [data["url"] for data in of(events, "page.navigated")]
    reasons = [data["reason"] for data in of(events, "gap.began") if data.get("part") == "request"]
    assert reasons == ([] if known else ["where a redirect led to is not in the file"])


@pytest.mark.parametrize(
    ("location", "landed"),
    [
        ("/caf\u00e9", "/caf%C3%A9"),
        ("/a b", "/a%20b"),
        ("/x/../thanks", "/thanks"),
        ("thanks?q=caf\u00e9#top", "/thanks?q=caf%C3%A9"),
        (f"{SHOP}:80/thanks", "/thanks"),
        (SHOP.replace("shop.", "SHOP.") + "/thanks", "/thanks"),
        (SHOP, "/"),
    ],
)
def test_a_redirect_is_followed_as_a_browser_writes_its_address(
    location: str, landed: str, tmp_path: Path
) -> None:
    """The header has it as the server wrote it, the request that followed as it was made."""
    events = told(
        tmp_path,
        entry(f"{SHOP}/order", 0, 302, "POST", to=location, type="document"),
        entry(SHOP + landed, 1, type="document"),
    )
    [finished] = of(events, "request.finished")
    assert [hop["url"] for hop in finished["hops"]] == [f"{SHOP}/order"]
    assert "where a redirect led to is not in the file" not in [
        data.get("reason") for data in of(events, "gap.began")
    ]


@pytest.mark.parametrize(
    ("error", "method", "sent"),
    [
        ("net::ERR_ABORTED", "POST", True),
        ("net::ERR_CONNECTION_RESET", "PUT", True),
        ("net::ERR_EMPTY_RESPONSE", "DELETE", True),
        ("net::ERR_TIMED_OUT", "POST", True),
        ("NS_ERROR_NET_RESET", "POST", True),
        ("net::ERR_CONNECTION_TIMED_OUT", "POST", False),
        ("net::ERR_NAME_NOT_RESOLVED", "POST", False),
        ("net::ERR_BLOCKED_BY_CLIENT", "POST", False),
        ("net::ERR_ABORTED", "GET", False),
    ],
)
def test_what_a_write_that_broke_off_did_is_unknown(
    error: str, method: str, sent: bool, tmp_path: Path
) -> None:
    goal = {**LANDING, "milestones": [{"id": "ordered", "when": {"request_accepted": {
        "method": method, "url": "/order"}}}]}  # fmt: skip
    events = told(tmp_path, entry(f"{SHOP}/order", 0, 0, method, _error=error))
    [failed] = of(events, "request.failed")
    assert failed.get("sent", False) is sent
    rewards = replay(tmp_path / "made.mrec", compile_task(check_task(goal)))[1]
    assert [reward.reward for reward in rewards] == [None if sent else 0.0]


@pytest.mark.parametrize(
    ("answer", "known"),
    [({"status": -1}, False), ({"status": 0}, False), ({"status": 0, "_error": "net::ERR_CONNECTION_REFUSED"}, True),
     ({"status": 500}, True)],
)  # fmt: skip
def test_a_request_without_an_answer_or_a_failure_in_the_file_is_unknown_and_not_zero(
    answer: dict[str, Any], known: bool, tmp_path: Path
) -> None:
    """The file was written while it was under way: neither that it failed nor that the server
    refused it is known."""
    goal = {**LANDING, "milestones": [{"id": "ordered", "when": {"request_accepted": {
        "method": "POST", "url": "/order"}}}]}  # fmt: skip
    made = entry(f"{SHOP}/order", 0, answer["status"], "POST", type="document")
    made |= {name: value for name, value in answer.items() if name.startswith("_")}
    events = told(tmp_path, made)
    rewards = replay(tmp_path / "made.mrec", compile_task(check_task(goal)))[1]
    assert [reward.reward for reward in rewards] == [0.0 if known else None]
    assert bool(of(events, "request.failed")) is (known and answer["status"] == 0)
    lost = {
        data["part"]
        for data in of(events, "gap.began")
        if data["reason"].startswith("the answer to")
    }
    assert lost >= (set() if known else {"request"})


def test_the_gap_of_a_lost_landing_page_ends_with_its_step(tmp_path: Path) -> None:
    """Before it and after it what is in the file counts, and pages that are vouched for are a gap
    there as well."""
    pages = [
        {"id": f"p{n}", "title": "Shop", "startedDateTime": f"2026-01-02T03:04:0{n}.000Z"}
        for n in range(3)
    ]
    path = write(tmp_path / "a.har", har(
        entry(f"{SHOP}/cart", 0), entry(f"{SHOP}/order", 1500, 302, "POST", to="/thanks", type="document"),
        entry(f"{SHOP}/cart", 2500), pages=pages,
    ))  # fmt: skip
    events = converted(path, tmp_path, vouch=("page",))
    rewards = replay(tmp_path / "made.mrec", compile_task(check_task(LANDING)))[1]
    assert [reward.mask for reward in rewards] == [False, True, False]
    lost = [
        data for data in of(events, "gap.began") if data["reason"].startswith("where a redirect")
    ]
    assert {data["part"] for data in lost} >= {"request", "page"}


@pytest.mark.parametrize(
    ("more", "kind", "fields"),
    [
        ({"status": -1, "content": {}, "_failureText": "net::ERR_FAILED"}, "request.failed",
         {"error": "net::ERR_FAILED"}),
        ({"status": 0, "_error": "net::ERR_NAME_NOT_RESOLVED"}, "request.failed",
         {"error": "net::ERR_NAME_NOT_RESOLVED"}),
        ({"status": 404}, "request.finished", {"status": 404}),
        ({"status": 200, "_fromCache": "memory"}, "request.finished", {"status": 200, "cached": True}),
        ({"status": 200, "_wasAborted": True}, "request.failed", {"error": "net::ERR_ABORTED", "canceled": True}),
        ({"status": 200, "_resourceType": "xhr"}, "request.finished", {"type": "XHR"}),
        ({"status": 200, "mime": "text/css", "headers": [{"name": "Accept", "value": "*/*"}]}, "request.finished",
         {"mime": "text/css"}),
    ],
    ids=["no answer", "DevTools' error", "404", "cached", "aborted", "type", "style"],
)  # fmt: skip
def test_how_a_request_ended(
    more: dict[str, Any], kind: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    ended = of(told(tmp_path, entry(f"{SHOP}/x", 0, **more)), kind)
    assert len(ended) == 1
    assert fields.items() <= ended[0].items()


def test_a_document_that_could_not_load_is_a_failed_page(tmp_path: Path) -> None:
    [failed] = of(
        told(tmp_path, entry(f"{SHOP}/", 0, 0, _error="net::ERR_NAME_NOT_RESOLVED")), "page.failed"
    )
    assert (failed["error"], failed["main"]) == ("net::ERR_NAME_NOT_RESOLVED", True)


@pytest.mark.parametrize(
    "more",
    [
        {"status": 204},
        {
            "answer_headers": [
                {"name": "Content-Disposition", "value": "attachment; filename=a.csv"}
            ]
        },
        {"_failureText": "net::ERR_ABORTED"},
        {"_resourceType": "fetch"},
    ],
    ids=["204", "download", "aborted", "no document"],
)
def test_what_commits_no_document_is_no_navigation(more: dict[str, Any], tmp_path: Path) -> None:
    assert of(told(tmp_path, entry(f"{SHOP}/x", 0, **more)), "page.navigated") == []


def to(destination: str) -> list[dict[str, str]]:
    return [{"name": "Sec-Fetch-Dest", "value": destination}]


def test_frames_by_what_the_request_says(tmp_path: Path) -> None:
    """A child frame's document is no main one, and goes with the page that it was in."""
    events = told(
        tmp_path,
        entry(f"{SHOP}/", 0, headers=to("document")),
        entry(f"{SHOP}/inner", 10, headers=to("iframe")),
        entry(f"{SHOP}/two", 20, headers=to("document")),
        creator="WebInspector",
    )
    assert [(data["url"], data["main"]) for data in of(events, "page.navigated")] == [
        (f"{SHOP}/", True), (f"{SHOP}/inner", False), (f"{SHOP}/two", True),
    ]  # fmt: skip
    assert len(of(events, "frame.detached")) == 1


def test_playwrights_pages_are_tabs_and_frames_have_names(tmp_path: Path) -> None:
    """Old HARs say no destination: the first document's frame is the main one."""
    events = told(
        tmp_path,
        entry(f"{SHOP}/", 0, _frameref="f1"),
        entry(f"{SHOP}/inner", 10, _frameref="f2"),
        entry(f"{SHOP}/two", 20, _frameref="f1"),
    )
    assert [data["main"] for data in of(events, "page.navigated")] == [True, False, True]
    assert {data["tab"] for data in of(events, "page.navigated")} == {"p"}


def test_a_step_for_each_page(tmp_path: Path) -> None:
    pages = [
        {
            "id": "1",
            "startedDateTime": "2026-01-02T03:04:00.000Z",
            "title": f"{SHOP}/",
            "pageTimings": {"onLoad": 50},
        },
        {
            "id": "2",
            "startedDateTime": "2026-01-02T03:04:01.000Z",
            "title": f"{SHOP}/two",
            "pageTimings": {},
        },
    ]
    first, second = entry(f"{SHOP}/", 0, pageref="1"), entry(f"{SHOP}/two", 1000, pageref="2")
    events = told(tmp_path, first, second, pages=pages, creator="WebInspector")
    began = [event for event in events if event.kind == "step.began"]
    assert [(event.at, event.data["action"]) for event in began] == [
        (0, {"page": f"{SHOP}/"}), (1_000_000_000, {"page": f"{SHOP}/two"}),
    ]  # fmt: skip
    [loaded] = [event for event in events if event.kind == "page.loaded"]
    assert (loaded.at, loaded.data["url"]) == (50_000_000, f"{SHOP}/")
    assert of(events, "page.title_changed") == [], (
        "DevTools writes the address where a title should be"
    )


def test_a_har_without_pages_is_one_step(tmp_path: Path) -> None:
    assert len(of(told(tmp_path, entry(f"{SHOP}/", 0), pages=[]), "step.began")) == 1


PICTURE = base64.b64encode(b"\x89PNG....").decode()
ENCODED = base64.b64encode(b'{"a": 1}').decode()


@pytest.mark.parametrize(
    ("content", "mime", "kept"),
    [
        ({"text": "hello"}, "text/plain", {"text": "hello", "mime": "text/plain"}),
        (
            {"text": ENCODED, "encoding": "base64"},
            "application/json",
            {"text": '{"a": 1}', "mime": "application/json"},
        ),
        (
            {"text": "x" * 300_000},
            "text/plain",
            {"text": "x" * MAX_BODY_LENGTH, "mime": "text/plain", "cut": True},
        ),
        ({"text": PICTURE, "encoding": "base64"}, "image/png", None),
        (
            {"text": PICTURE, "encoding": "base64"},
            "text/plain",
            {"base64": PICTURE, "mime": "text/plain"},
        ),
        ({"text": "!", "encoding": "base64"}, "text/plain", None),
        ({"_file": "body.txt"}, "text/plain", {"text": "beside", "mime": "text/plain"}),
        ({"_file": "missing.txt"}, "text/plain", None),
        ({"_file": "../secret.txt"}, "text/plain", None),
        ({"_file": "linked.txt"}, "text/plain", None),
        ({}, "text/plain", None),
    ],
    ids=[
        "text",
        "base64",
        "long",
        "picture",
        "no text",
        "no base64",
        "beside",
        "missing",
        "outside",
        "link",
        "none",
    ],
)
def test_bodies_of_answers(content: dict[str, Any], mime: str, kept: Any, tmp_path: Path) -> None:
    """Texts are kept, bounded; a file that the HAR names is read from the HAR's own folder and from
    nowhere else."""
    folder = tmp_path / "har"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("outside")
    (folder / "body.txt").write_text("beside")
    (folder / "linked.txt").symlink_to(tmp_path / "secret.txt")
    [finished] = of(
        told(folder, entry(f"{SHOP}/x", 0, mime=mime, content=content)), "request.finished"
    )
    assert finished.get("response", {}).get("body") == kept


def test_a_zipped_har_has_its_bodies_with_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "har.zip", "w") as pack:
        pack.writestr(
            "har.har", orjson.dumps(har(entry(f"{SHOP}/x", 0, content={"_file": "abc.html"})))
        )
        pack.writestr("abc.html", "<p>Hello</p>")
    [finished] = of(converted(tmp_path / "har.zip", tmp_path), "request.finished")
    assert finished["response"]["body"]["text"] == "<p>Hello</p>"


@pytest.mark.parametrize("mime", ["multipart/form-data", "application/x-www-form-urlencoded"])
def test_parameters_stand_for_a_body_that_has_no_text(mime: str, tmp_path: Path) -> None:
    """As a form's fields, masked by their names; what was in a file is left out."""
    fields = {"q": "a b", "pin": "1", "password": "hunter22"}
    params: list[dict[str, str]] = [
        {"name": name, "value": value} for name, value in fields.items()
    ]
    params.append({"name": "scan", "fileName": "a.png", "value": "(binary)"})
    posted = {"mimeType": mime, "params": params}
    [finished] = of(
        told(tmp_path, entry(f"{SHOP}/x", 0, 200, "POST", posted=posted)), "request.finished"
    )
    assert finished["body"]["text"] == "q=a+b&pin=1&password=***"
    assert finished["body"]["mime"] == "application/x-www-form-urlencoded"


def test_a_body_that_is_written_in_base64_is_read(tmp_path: Path) -> None:
    mime = "application/x-www-form-urlencoded"
    posted = {"mimeType": mime, "encoding": "base64", "text": "cT1hK2I="}
    [finished] = of(
        told(tmp_path, entry(f"{SHOP}/x", 0, 200, "POST", posted=posted)), "request.finished"
    )
    assert finished["body"]["text"] == "q=a+b"


def test_sockets_messages_are_told_where_the_har_has_them(tmp_path: Path) -> None:
    frames = [
        {"type": "send", "opcode": 1, "data": "hi"},
        {"type": "receive", "opcode": 1, "data": "yo"},
    ]
    events = told(
        tmp_path,
        entry("ws://shop.example/s", 0, 101, _resourceType="websocket", _webSocketMessages=frames),
    )
    assert [data["text"] for data in of(events, "message.sent")] == ["hi"]
    assert [data["text"] for data in of(events, "message.received")] == ["yo"]
    assert "message" not in gaps(events)


def test_times_are_the_hars_own_and_never_go_back(tmp_path: Path) -> None:
    events = told(tmp_path, entry(f"{SHOP}/late", 500), entry(f"{SHOP}/early", 100))
    sent = [
        (event.at // 1_000_000, event.data["url"])
        for event in events
        if event.kind == "request.sent"
    ]
    assert sent == [(100, f"{SHOP}/early"), (500, f"{SHOP}/late")]
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_a_password_field_of_a_document_is_known_by_its_name(tmp_path: Path) -> None:
    """Whatever it is called: the page that came in says what it is."""
    page = (
        "<form><input name=q><input type='password' name='z1' id=z2><input"
        " autocomplete=one-time-code name=z3></form>"
    )
    posted = {"mimeType": "application/x-www-form-urlencoded", "text": "q=a&z1=b&z2=c&z3=d&z4=e"}
    events = told(
        tmp_path,
        entry(f"{SHOP}/", 0, content={"text": page}),
        entry(f"{SHOP}/login?z1=b", 9, 200, "POST", posted=posted),
    )
    _, finished = of(events, "request.finished")
    assert finished["body"]["text"] == "q=a&z1=***&z2=***&z3=***&z4=e"
    assert finished["url"] == f"{SHOP}/login?z1=***"
