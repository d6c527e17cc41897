"""One session, four harnesses, three transports: the same recording, but for what the tables here
list."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from detectors.model.types import Event
from tests.cdp.site import Site
from tests.conformance.comparing import Allowed, differing, events_of, normal
from tests.conformance.site import scene_site
from tests.conformance.support import run_harness
from tests.support.chromium import needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

OTHERS = ("playwright_sync", "playwright_async", "pyppeteer_async", "pyppeteer_raw")
"""Harnesses beside the reference; the last is the websocket again, of the websockets that pyppeteer holds back."""


def _first_of_a_target(kind: str, data: Mapping[str, Any]) -> bool:
    return kind.startswith("request.") and str(data.get("url", "")).endswith(("/inner", "/popup"))


def _empty_beginning(kind: str, data: Mapping[str, Any]) -> bool:
    return kind == "page.navigated" and data["url"] == "about:blank" and not data.get("baseline")


def _in_front(kind: str, data: Mapping[str, Any]) -> bool:
    return kind == "tab.activated"


LEFT_OUT = {
    "loader": "an id: it names a document and is not compared",
    "backfilled": (
        "whether a popup or a frame of another process was attached to before its first document"
        " was there is a matter of milliseconds with every transport, the websocket too"
    ),
}
"""Fields that don't count."""

DIFFERENCES = (
    Allowed(
        _first_of_a_target,
        "the request for the first document of a popup or of a frame of another process may be over"
        " before anything can be attached; Playwright holds new targets back until it has set them"
        " up, pyppeteer and people do not",
    ),
    Allowed(
        _in_front,
        "Playwright tells every page that it is in front, pyppeteer leaves that to the browser",
    ),
    Allowed(
        _empty_beginning, "the empty document that a popup begins with is there for milliseconds"
    ),
)
"""Events that one transport may have and another may lack. docs/attach.md tells users the same."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with scene_site() as one:
        yield one


@pytest.fixture(scope="module")
def recorded(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[Event]]:
    made: dict[str, list[Event]] = {}

    def record(name: str) -> list[Event]:
        if name not in made:
            folder = tmp_path_factory.mktemp(name)
            run_harness(name, "scene", site.url, str(folder))
            made[name] = events_of(folder / "session.mrec")
        return made[name]

    return record


def test_the_reference_tells_the_whole_scene(recorded: Callable[[str], list[Event]]) -> None:
    kinds = {event.kind for event in recorded("raw")}
    assert kinds >= {
        "tab.opened", "tab.closed", "tab.crashed", "page.navigated", "page.loaded", "page.title_changed", "frame.detached",
        "dialog.opened", "dialog.closed", "download.began", "element.clicked", "field.filled", "form.submitted",
        "request.sent", "request.redirected", "request.finished",
    }  # fmt: skip
    assert [event.kind for event in recorded("raw")].count("step.sealed") == 9


@pytest.mark.slow_where("pyppeteer_raw")
@pytest.mark.parametrize("name", OTHERS)
def test_every_transport_gives_the_same_recording(
    name: str, recorded: Callable[[str], list[Event]]
) -> None:
    there, here = (normal(recorded(one), LEFT_OUT, DIFFERENCES) for one in ("raw", name))
    assert differing(there, here) == []


@pytest.mark.slow_where("pyppeteer_raw")
@pytest.mark.parametrize("name", OTHERS)
def test_nothing_was_missed_and_no_step_waited_in_vain(
    name: str, recorded: Callable[[str], list[Event]]
) -> None:
    """From the first step to the close the browser was watched without a gap, but for what a tab
    or a socket sent as it was closed or left: nobody counts that there."""
    events = recorded(name)
    began = [event.kind for event in events].index("step.began")
    gaps = [event.data for event in events[began:] if event.kind.startswith(("gap.", "alarm."))]
    assert {data.get("part") for data in gaps} <= {"request", "message"}
    reasons = [str(data["reason"]) for data in gaps if "reason" in data]
    assert all("what its documents may have sent" in why or "connection" in why for why in reasons)


def test_the_listed_differences_are_about_few_events(
    recorded: Callable[[str], list[Event]],
) -> None:
    """The table must not grow until everything is equal."""
    whole = normal(recorded("raw"), LEFT_OUT, ())
    compared = normal(recorded("raw"), LEFT_OUT, DIFFERENCES)
    assert sum(map(len, whole.values())) - sum(map(len, compared.values())) <= 12
