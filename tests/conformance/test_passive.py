"""Law 1 over every in-process transport: one short session, watched and alone, leaves the same
behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.comparing import events_of
from tests.conformance.site import scene_site
from tests.conformance.support import run_harness
from tests.support.chromium import needs_chromium

pytestmark = [pytest.mark.browser, needs_chromium]

ANSWERS = {"": ["undefined", "true", "Ada"], "-silent": ["undefined", "false", "null"]}
"""What the page is told by alert, confirm and prompt: by a harness that says yes, and by Playwright's own dismissal
where the harness listens to no dialog."""


def _session(name: str, mode: str, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    with scene_site() as site:
        printed: dict[str, Any] = json.loads(
            run_harness(name, mode, site.url, str(folder)).splitlines()[-1]
        )
        # The site has another port each time.
        return {**printed, "asked": [(one.method, one.path, one.body) for one in site.asked]}


@pytest.mark.slow_where("silent")
@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("playwright_sync", ""),
        ("playwright_sync", "-silent"),
        pytest.param("playwright_async", "", marks=pytest.mark.slow),
        ("pyppeteer_async", ""),  # of which nothing dismisses a dialog
    ],
)
def test_the_session_ends_as_it_would_alone(name: str, how: str, tmp_path: Path) -> None:
    alone = _session(name, f"alone{how}", tmp_path / "alone")
    watched = _session(name, f"watched{how}", tmp_path / "watched")
    assert watched == alone
    assert alone["downloads"] == [["list.csv", "a,b\n"]]
    assert alone["said"] == ANSWERS[how]
    assert alone["left"]["path"] == "/left"  # Playwright lets its pages leave, too
    said = [
        event.data
        for event in events_of(tmp_path / "watched" / "session.mrec")
        if event.kind == "dialog.closed"
    ]
    assert [(one["type"], one["accepted"], one["input"]) for one in said] == [
        ("alert", not how, ""),
        ("confirm", not how, ""),
        ("prompt", not how, "" if how else "Ada"),
        ("beforeunload", True, ""),
    ]
