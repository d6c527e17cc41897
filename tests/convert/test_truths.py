"""What others recorded, against the truth that came with it: AT-SPI captures, traces, HARs, rrweb
streams, flows."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from detectors.model.types import Event
from tests.convert.making import converted, of
from tests.support.cases import CASES, parametrized_cases

# -- AT-SPI: files and texts as they were at the end


def files_at_the_end(events: list[Event]) -> dict[str, str]:
    """Each path with the sha256 of its content, or DIR."""
    found: dict[str, str] = {}
    for event in events:
        if event.kind in ("file.present", "file.created", "file.modified"):
            found[event.data["path"]] = event.data["sha256"]
        elif event.kind == "folder.created":
            found[event.data["path"]] = "DIR"
        elif event.kind in ("file.deleted", "folder.deleted"):
            found.pop(event.data["path"], None)
    return found


def texts_at_the_end(events: list[Event]) -> dict[tuple[str, str], str]:
    """What the widgets of windows that still stand hold, as last told: (role, id) → text."""
    closed = {data["window"] for data in of(events, "window.closed")}
    return {
        (data["widget"]["role"], data["widget"]["id"]): data["text"]
        for data in of(events, "widget.text_changed")
        if data["window"] not in closed
    }


@parametrized_cases("atspi", "*.jsonl")
def test_an_at_spi_capture_ends_as_its_last_line_says(path: Path, tmp_path: Path) -> None:
    truth = orjson.loads(path.read_bytes().splitlines()[-1])
    events = converted(path, tmp_path)
    wanted = {
        name: "DIR" if content == "DIR" else hashlib.sha256(content.encode()).hexdigest()
        for name, content in truth["files"].items()
    }
    assert files_at_the_end(events) == wanted
    known = [(role, text) for role, _, text in truth["texts"]]
    told = texts_at_the_end(events)
    for (role, _), text in told.items():
        # A status bar is a label to the capture's last look, under another role to its events.
        assert (role, text) in known or role == "status bar", text
    if path.name in SAID:
        assert SAID[path.name] in told.values()


SAID = {
    "gcalc-right.jsonl": "42",
    "gedit-save.jsonl": "hellomilestone",
    "mousepad-save.jsonl": "hello\nmilestone",
    "pcmanfm-newdir.jsonl": "1 item",
}
"""What was brought about by the capture's inputs; the texts of others stood there before it began."""


@parametrized_cases("atspi", "*-save.jsonl")
def test_a_save_is_a_change_of_a_file_that_was_there(path: Path, tmp_path: Path) -> None:
    """By temp-and-rename, with its temporary name told nowhere; it pays in the step of the keys
    that saved."""
    events = converted(path, tmp_path)
    [saved] = [event for event in events if event.source == "files"]
    assert saved.kind == "file.modified"
    began = [event for event in events if event.kind == "step.began" and event.seq < saved.seq]
    assert began[-1].data["action"] == {"input": ["key", "ctrl+s"]}


# -- Playwright traces: a call a step, and its results


@parametrized_cases("playwright-traces", "*.zip")
def test_every_api_call_of_a_trace_is_a_step(path: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(path) as pack:
        rows = [orjson.loads(line) for name in pack.namelist() if name.endswith("trace.trace")
                for line in pack.read(name).splitlines()]  # fmt: skip
        network = b"".join(pack.read(name) for name in pack.namelist() if name.endswith(".network"))
    calls = [row.get("apiName") for row in rows if row["type"] == "before"]
    events = converted(path, tmp_path)
    assert [data["action"]["call"] for data in of(events, "step.began")] == calls
    assert len(of(events, "request.finished")) == len(network.splitlines())
    assert of(events, "episode.opened")[0]["converted"]["version"] == rows[0]["version"]


@pytest.mark.shared_cases("playwright-traces")
def test_a_traces_click_names_what_its_snapshot_marks(tmp_path: Path) -> None:
    """Version 4: `page.setContent('<button>Submit</button>')`, then a click by role."""
    events = converted(CASES / "playwright-traces" / "trace-1.31.zip", tmp_path)
    [clicked] = of(events, "element.clicked")
    assert clicked["trusted"] is True
    assert clicked["element"] == {
        "role": "button",
        "name": "Submit",
        "tag": "button",
        "type": "submit",
        "text": "Submit",
    }


# -- HARs


@pytest.mark.shared_cases("playwright-traces")
@pytest.mark.parametrize(
    ("name", "statuses", "document"),
    [
        ("har-fulfill", [200, 200, 200, 200], "http://no.playwright/"),
        ("har-redirect", [200], "https://www.theverge.com/"),
        ("har-sha1", [200], "http://no.playwright/"),
    ],
)
def test_a_har_gives_its_entries_in_chains(
    name: str, statuses: list[int], document: str, tmp_path: Path
) -> None:
    path = CASES / "playwright-traces" / f"{name}.har"
    entries = orjson.loads(path.read_bytes())["log"]["entries"]
    events = converted(path, tmp_path)
    assert [data["status"] for data in of(events, "request.finished")] == statuses
    assert len(of(events, "request.redirected")) == len(entries) - len(statuses)
    [navigated] = of(events, "page.navigated")
    assert (navigated["url"], navigated["main"]) == (document, True)


@pytest.mark.shared_cases("playwright-traces")
def test_a_har_of_redirects_is_one_chain(tmp_path: Path) -> None:
    path = CASES / "playwright-traces" / "har-redirect.har"
    [finished] = of(converted(path, tmp_path), "request.finished")
    assert [(hop["status"], hop["location"]) for hop in finished["hops"]] == [
        (301, "http://www.theverge.com/"),
        (301, "https://www.theverge.com/"),
    ]
    assert finished["headers"]["cookie"] == "vmidv1=***; _chorus_geoip_continent=***"


# -- rrweb: the file's name says what was done

Check = Callable[[list[Event]], Any]


def values(kind: str, name: str) -> Check:
    return lambda events: [data.get(name) for data in of(events, kind)]


def contains(kind: str, text: str) -> Check:
    return lambda events: any(text in data["text"] for data in of(events, kind))


DONE: list[tuple[str, Check, Any]] = [
    ("input", values("field.filled", "value"), ["valueA", "valueC", "test input"]),
    ("scroll", values("page.scrolled", "y"), [2500, 250]),
    ("scroll-with-parent-styles", lambda events: len(of(events, "page.scrolled")), 1),
    ("hover", values("element.clicked", "trusted"), [True]),
    ("dialog-playback", values("element.toggled", "open"), [True, False, True]),
    ("selection", values("text.selected", "text"),
     ["the text of the start node.some text between the start node and the end nodeThis the text o",
      "xt of the start node.some text between the start node and the end nodeThis t"]),
    ("ordering", lambda events: values("text.appeared", "text")(events)[-1], "Final - correct"),
    ("shadow-dom", values("text.appeared", "text"), ["shadow dom one", "shadow dom two"]),
    ("iframe", contains("text.appeared", "iframe 1"), True),
    ("iframe", lambda events: {data["main"] for data in of(events, "page.navigated")}, {True, False}),
    ("document-replacement", values("page.navigated", "url"), ["http://localhost"]),
    ("rrweb-player-demo", lambda events: len(of(events, "element.clicked")), 3),
    ("video-playback", lambda events: of(events, "element.focused")[0]["element"]["tag"], "video"),
]  # fmt: skip


@pytest.mark.shared_cases("rrweb")
@pytest.mark.parametrize(("name", "check", "wanted"), DONE, ids=[name for name, _, _ in DONE])
def test_an_rrweb_stream_shows_what_its_name_says(
    name: str, check: Check, wanted: Any, tmp_path: Path
) -> None:
    path = CASES / "rrweb" / "events" / f"{name}.json"
    assert check(converted(path, tmp_path)) == wanted


@parametrized_cases("rrweb/events", "*.json")
def test_every_rrweb_stream_is_taken(path: Path, tmp_path: Path) -> None:
    [closed] = of(converted(path, tmp_path), "episode.closed")
    assert closed["reason"] == "an rrweb stream ends here"


# -- Recorder flows: what each step asserted


@parametrized_cases("recorder-flows", "*.json")
def test_a_flows_steps_and_what_they_asserted(path: Path, tmp_path: Path) -> None:
    steps = orjson.loads(path.read_bytes())["steps"]
    events = converted(path, tmp_path)
    assert [data["action"]["do"] for data in of(events, "step.began")] == [
        step["type"] for step in steps
    ]
    asserted = [event["url"] for step in steps for event in step.get("assertedEvents", ())]
    assert [data["url"] for data in of(events, "page.navigated")] == (asserted or [steps[0]["url"]])
    names = [
        step["selectors"][0][0].removeprefix("aria/") for step in steps if step["type"] == "click"
    ]
    assert [data["element"]["name"] for data in of(events, "element.clicked")] == names
