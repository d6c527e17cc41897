"""The normaliser alone, on recordings: the same raw messages give the same observations, byte for
byte."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from agentd.sources.cdp.folds.normaliser import Normaliser
from agentd.sources.cdp.state.capture_plan import CapturePlan
from detectors.model.kinds import KINDS
from tests.cdp.record_golden import GOLDEN, SCENES, replay
from tests.support.cases import parametrized_cases
from tests.support.golden import has_the_fields_of_its_kind, lines


@pytest.mark.parametrize("name", SCENES)
def test_a_recording_gives_its_golden_observations(name: str) -> None:
    assert replay(lines(GOLDEN / f"{name}.raw.jsonl")) == lines(GOLDEN / f"{name}.seen.jsonl")


@pytest.mark.parametrize("name", SCENES)
def test_only_named_fields_are_kept(name: str) -> None:
    for kind, data in lines(GOLDEN / f"{name}.seen.jsonl"):
        has_the_fields_of_its_kind(kind, data)


def test_the_recorded_password_is_in_no_golden_file() -> None:
    for path in GOLDEN.glob("*.seen.jsonl"):
        assert b"1234geheim" not in path.read_bytes()


def fold(messages: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """A foreign log of one page, its sessions unnamed, through the folds."""
    normaliser = Normaliser("", "", CapturePlan())
    normaliser.browser.settled = True
    seen: list[tuple[str, dict[str, Any]]] = []
    for message in messages:
        seen.extend(normaliser.feed("", message["method"], message["params"]))
        normaliser.network.take_missing()
    return seen


def messages_of(path: Path) -> list[dict[str, Any]]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    messages = orjson.loads(text)
    if messages and isinstance(messages[0].get("message"), str):
        messages = [orjson.loads(one["message"])["message"] for one in messages]
    return [one for one in messages if "method" in one and "params" in one]


@parametrized_cases("cdp-lighthouse", "*.json.gz")
def test_foreign_logs_give_the_navigations_and_requests_they_are_known_for(path: Path) -> None:
    known = orjson.loads((path.parent / "manifest.json").read_bytes())[
        path.name.removesuffix(".gz")
    ]
    seen = fold(messages_of(path))
    navigated = [data for kind, data in seen if kind == "page.navigated" and data["main"]]
    assert [data["url"] for data in navigated if not data["same_document"]] == known[
        "main_frame_navs"
    ]
    assert not [data for data in navigated if data["same_document"]], (
        "its own address again is no progress"
    )
    counts = {kind: sum(1 for one, _ in seen if one == kind) for kind in KINDS}
    sent = [
        one["params"] for one in messages_of(path) if one["method"] == "Network.requestWillBeSent"
    ]
    outer = [one for one in sent if not one["request"]["url"].startswith(("data:", "blob:"))]
    assert counts["request.sent"] == len(outer)
    assert counts["request.redirected"] == known["redirects"]
    assert counts["request.failed"] <= known["failed"]
    assert counts["request.finished"] <= known["responses"]


@parametrized_cases("cdp-chrome-har", "perflogs/*")
def test_foreign_logs_of_many_sites_pass_through_the_folds(path: Path) -> None:
    known = orjson.loads((path.parents[1] / "expected.json").read_bytes())[
        path.name.removesuffix(".gz")
    ]
    seen = fold(messages_of(path))
    main = [data["url"] for kind, data in seen if kind == "page.navigated" and data["main"]]
    answered = [
        data["status"]
        for kind, data in seen
        if kind in ("request.finished", "request.redirected") or "status" in data
    ]
    assert answered or not known["entries"]
    for page in known["pages"]:
        sent = [data["url"] for kind, data in seen if kind == "request.sent"]
        assert page in main or page in sent or not sent
