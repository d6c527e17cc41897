"""What holds for every format: its own name found, the same bytes twice, a sound recording, gaps,
no secrets."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from api.replay.recording_check import findings
from api.replay.recordings import replay
from api.tasks.task_files import check_task
from detectors.model.kinds import KINDS, SOURCES
from detectors.model.rewards import encode_reward
from detectors.task.ruleset import compile_task
from lab.convert import Conversion, convert
from lab.convert.formats import FORMATS, recognise
from lab.convert.source import SourceFile
from tests.convert.hand_made import (
    SECRET,
    asked,
    cdp,
    entry,
    har,
    one_of_each,
    trace_rows,
    trace_zip,
    write,
)
from tests.convert.making import converted, gaps, of

every_format = pytest.mark.parametrize("format", FORMATS)

TASK = {
    "id": "any",
    "version": "1",
    "instruction": "Anything.",
    "origin": "http://shop.example",
    "milestones": [
        {"id": "there", "when": {"url_reached": {"url": "/"}}},
        {"id": "clicked", "when": {"element_clicked": {"role": "button"}}},
        {"id": "named", "when": {"field_filled": {"field": "Name", "value": "Ada"}}},
        {
            "id": "ordered",
            "when": {
                "request_accepted": {"method": "POST", "url": "/order", "redirect_to": "/thanks"}
            },
        },
        {"id": "saved", "when": {"file_matches": {"name": "note.txt"}}},
    ],
}


@every_format
def test_it_is_recognised_by_its_content(format: str, tmp_path: Path) -> None:
    assert recognise(SourceFile(one_of_each(tmp_path)[format])).name == format


@every_format
def test_converted_twice_it_is_the_same_bytes(format: str, tmp_path: Path) -> None:
    path = one_of_each(tmp_path)[format]
    other = path.rename(path.with_name("renamed" + path.suffix))
    made = []
    for name in ("one.mrec", "two.mrec"):
        convert(Conversion(input=other, out=tmp_path / name))
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]


@every_format
def test_replayed_twice_it_gives_the_same_rewards_byte_for_byte(
    format: str, tmp_path: Path
) -> None:
    converted(one_of_each(tmp_path)[format], tmp_path)
    ruleset = compile_task(check_task(TASK))
    once, again = (
        b"\n".join(map(encode_reward, replay(tmp_path / "made.mrec", ruleset)[1])) for _ in range(2)
    )
    assert once
    assert once == again


@every_format
def test_its_recording_is_sound_and_closed(format: str, tmp_path: Path) -> None:
    events = converted(one_of_each(tmp_path)[format], tmp_path)
    assert list(findings(events)) == []
    assert events[-1].kind == "episode.closed"
    assert of(events, "step.began")


@every_format
def test_it_says_of_which_file_it_was_made(format: str, tmp_path: Path) -> None:
    path = one_of_each(tmp_path)[format]
    made = of(converted(path, tmp_path), "episode.opened")[0]["converted"]
    assert made["format"] == format
    assert made["bytes"] == path.stat().st_size
    assert len(made["sha256"]) == 64


@every_format
def test_what_it_does_not_tell_is_a_gap(format: str, tmp_path: Path) -> None:
    """No event of a kind that the gaps name, but for what a format tells in part; sources it lacks
    are gaps whole."""
    events = converted(one_of_each(tmp_path)[format], tmp_path)
    hidden = gaps(events)
    told = {event.source for event in events}
    assert set(SOURCES) - told - hidden - {"journal", "steps"} == set()
    partly = {
        "tab.opened",
        "page.navigated",
        "page.title_changed",
        "page.loaded",
        "page.parsed",
        "frame.detached",
    }
    for event in events:
        if event.source in ("cdp", "ax", "files") and event.kind not in partly:
            assert not {event.kind, event.kind.partition(".")[0], event.source} & hidden, event.kind


@every_format
def test_no_secret_gets_into_it(format: str, tmp_path: Path) -> None:
    text = b"".join(
        orjson.dumps(event.data) for event in converted(one_of_each(tmp_path)[format], tmp_path)
    )
    assert SECRET.encode() not in text


def test_a_name_given_with_mask_is_a_secret_too(tmp_path: Path) -> None:
    path = one_of_each(tmp_path)["har"]
    [hop] = of(converted(path, tmp_path, mask=("name",)), "request.redirected")
    assert hop["body"]["text"] == "name=***&password=***"


def test_rules_that_need_what_a_format_lacks_give_null_and_others_numbers(tmp_path: Path) -> None:
    """A HAR shows requests: a milestone of clicks is null in it, one of an accepted request is
    paid."""
    converted(one_of_each(tmp_path)["har"], tmp_path)

    def rewards(*names: str) -> list[float | None]:
        milestones = [one for one in TASK["milestones"] if one["id"] in names]  # type: ignore[index]
        ruleset = compile_task(check_task(TASK | {"milestones": milestones}))
        return [reward.reward for reward in replay(tmp_path / "made.mrec", ruleset)[1]]

    assert rewards("clicked") == [None]
    assert rewards("saved") == [None]
    assert rewards("ordered") == [0.2]
    assert rewards("ordered", "clicked") == [None]


def test_who_vouches_for_a_part_gets_numbers_for_it(tmp_path: Path) -> None:
    """A HAR tells documents; that there was no pushState only its owner can know."""
    path = one_of_each(tmp_path)["har"]
    assert "page" in gaps(converted(path, tmp_path))
    events = converted(path, tmp_path, vouch=("page",))
    assert not {part for part in gaps(events) if part.startswith("page")}
    assert of(events, "episode.opened")[0]["converted"]["declared_complete"] == ["page"]
    ruleset = compile_task(check_task(TASK | {"milestones": TASK["milestones"][:1]}))  # type: ignore[index]
    assert [reward.reward for reward in replay(tmp_path / "made.mrec", ruleset)[1]] == [0.1]


def test_every_kind_that_formats_claim_to_show_is_one(tmp_path: Path) -> None:
    for name, path in one_of_each(tmp_path).items():
        assert FORMATS[name].importer().read(SourceFile(path)).shows <= set(KINDS)  # type: ignore[operator]


@pytest.mark.parametrize("format", ["har", "trace", "cdp"])
def test_a_cookie_is_told_where_the_operator_says_that_it_is_no_secret(
    format: str, tmp_path: Path
) -> None:
    cookies = "theme=dark; basket=b1"
    url = "http://shop.example/"
    exchange = entry(url, 0, headers=[{"name": "Cookie", "value": cookies}])
    of_page = {**exchange, "_monotonicTime": 145.0, "_frameref": "frame@1"}
    network = [{"type": "resource-snapshot", "snapshot": of_page}]
    paths = {
        "har": write(tmp_path / "a.har", har(exchange)),
        "trace": trace_zip(tmp_path / "trace.zip", trace_rows(8), network),
        "cdp": write(
            tmp_path / "log.json",
            [
                asked("1", url, 1.0, request={"headers": {"Cookie": cookies}}),
                cdp("Network.responseReceived", 1.2, requestId="1", response={"status": 200}),
                cdp("Network.loadingFinished", 1.3, requestId="1"),
            ],
        ),
    }

    def sent(*shown: str) -> str:
        events = converted(paths[format], tmp_path, cookies=shown)
        [told, *_] = (event.data["headers"] for event in events if "headers" in event.data)
        return str(told["cookie"])

    assert sent() == "theme=***; basket=***"
    assert sent("theme") == "theme=dark; basket=***"
