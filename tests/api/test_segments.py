"""What the daemon may append, what is refused, and that a refusal writes nothing."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest
import zstandard
from sqlalchemy import select

from api.log.tables import steps
from common.frames import live_packer, unpack
from detectors.model.codec import GENESIS, encode_segment, sha256
from detectors.model.wire_versions import WIRE
from tests.api.service import Service, events, frames, texts
from tests.support.dictionaries import other_build
from tests.support.logs import began, clicked, episode, went

WHOLE = episode([went("/cart")], [clicked("Buy")])
TABLES = ("segments", "milestones", "rewards", "steps", "engine_states")


async def written(service: Service, id: str) -> tuple[Any, ...]:
    """Everything that an append could have written."""
    row = (await service.get(f"/v1/episodes/{id}")).json()
    return (*[await service.rows(table) for table in TABLES], row)


async def test_a_log_in_one_segment_is_scored(service: Service) -> None:
    id, token = await service.open()
    answer = await service.append(id, frames(events(id, *WHOLE))[0], token)
    assert answer.status_code == 200
    assert answer.json() == {
        "through": len(WHOLE),
        "head": sha256(texts(events(id, *WHOLE))[0]),
        "followed": False,
    }
    first, last = [(await service.reward(id, step)).json() for step in (0, 1)]
    assert [m["id"] for m in first["milestones"]] == ["cart"]
    assert [m["id"] for m in last["milestones"]] == ["buy", "done"]
    assert last["done"] is True
    assert last["success"] is True
    shown = (await service.get(f"/v1/episodes/{id}")).json()
    assert (shown["status"], shown["step"], shown["success"]) == ("closed", 1, True)
    assert shown["total"] == pytest.approx(first["reward"] + last["reward"])


MARKED = [
    *episode([went("/cart")], close=False),
    ("step.ended", {"step": 0}),
    ("step.ended", {"step": 1}),  # before it began
    began(1),
    ("step.ended", {"step": 1}),
    ("step.ended", {"step": 0}),
    began(2),
]
MARKS = [(0, 2, 4), (1, 6, 7), (2, 9, None)]


@pytest.mark.parametrize("sizes", [[], [1] * len(MARKED), [2, 3, 1, 1], [5, 3], [7]], ids=str)
async def test_however_the_log_is_cut_a_steps_row_says_where_it_began_and_first_ended(
    service: Service, sizes: list[int]
) -> None:
    id, token = await service.open()
    await service.tell(id, token, *MARKED, sizes=sizes)
    rows = await service.app.state.parts.database.all(select(steps).order_by(steps.c.step))
    assert [(row.step, row.began, row.ended) for row in rows] == MARKS


async def test_the_same_segment_again_is_acknowledged_again_and_stored_once(
    service: Service,
) -> None:
    id, token = await service.open()
    made = await service.tell(id, token, *WHOLE, sizes=[2, 2])
    before = await written(service, id)
    for frame in made:
        answer = await service.append(id, frame, token)
        assert answer.status_code == 200
        assert answer.json()["through"] == len(WHOLE)
    assert await written(service, id) == before


async def test_the_same_segment_eight_times_at_once_is_stored_once(service: Service) -> None:
    id, token = await service.open()
    frame = frames(events(id, *WHOLE))[0]
    answers = await asyncio.gather(*(service.append(id, frame, token) for _ in range(8)))
    assert [a.status_code for a in answers] == [200] * 8
    assert len({a.content for a in answers}) == 1
    assert await service.rows("segments") == 1
    assert await service.rows("rewards") == 2


async def test_sixteen_episodes_at_once_share_nothing(service: Service) -> None:
    opened = [await service.open() for _ in range(16)]

    async def play(n: int, id: str, token: str) -> list[float]:
        said = (
            episode([went("/cart")], [clicked("Buy")])
            if n % 2
            else episode([went("/nowhere")], [clicked("Sell")])
        )
        await service.tell(id, token, *said, sizes=[1] * len(said))
        return [(await service.reward(id, step)).json()["reward"] for step in (0, 1)]

    paid = await asyncio.gather(*(play(n, *one) for n, one in enumerate(opened)))
    assert all(rewards == [0.0, 0.0] for rewards in paid[::2])
    assert all(min(rewards) > 0 for rewards in paid[1::2])


def _first(id: str) -> bytes:
    return texts(events(id, *WHOLE), [2])[0]


def _tail(id: str, first: int = 3, prev: str | None = None) -> list[Any]:
    return [
        events(id, began(0), went("/cart"), first=first),
        sha256(_first(id)) if prev is None else prev,
    ]


def _text(id: str, first: int = 3, prev: str | None = None) -> bytes:
    return encode_segment(*_tail(id, first, prev))


def _header(text: bytes, **changed: Any) -> bytes:
    head, _, rest = text.partition(b"\n")
    return orjson.dumps({**orjson.loads(head), **changed}) + b"\n" + rest


def _line(text: bytes, number: int, line: bytes) -> bytes:
    lines = text.split(b"\n")
    lines[number] = line
    return b"\n".join(lines)


_press = zstandard.compress
_NO_SIZE = zstandard.ZstdCompressor(write_content_size=False)

REFUSED: dict[str, tuple[int, str, Callable[[str], bytes]]] = {
    "a gap": (409, "gap", lambda id: _press(_text(id, first=4))),
    "another past": (409, "fork", lambda id: _press(_text(id, prev="a" * 64))),
    "another segment for old events": (409, "fork", lambda id: _press(_text(id, first=2))),
    "the first one changed": (
        409,
        "fork",
        lambda id: _press(_first(id).replace(b'"task":"t"', b'"task":"u"')),
    ),
    "another episode's": (409, "other-episode", lambda id: _press(_text("ep_other"))),
    "a newer wire": (
        422,
        "malformed-segment",
        lambda id: _press(_header(_text(id), wire=WIRE + 1)),
    ),
    "a wrong count": (422, "malformed-segment", lambda id: _press(_header(_text(id), count=3))),
    "no events": (
        422,
        "malformed-segment",
        lambda id: _press(_text(id).partition(b"\n")[0] + b"\n"),
    ),
    "a jump inside": (
        422,
        "malformed-segment",
        lambda id: _press(_line(_text(id), 2, b'[9,1,"cdp","x",{}]')),
    ),
    "not an event": (422, "malformed-segment", lambda id: _press(_line(_text(id), 2, b"{}"))),
    "not JSON": (422, "malformed-segment", lambda id: _press(_line(_text(id), 2, b"nonsense"))),
    "nested too deep": (
        422,
        "malformed-segment",
        lambda id: _press(
            _line(_text(id), 2, b'[4,1,"cdp","x",{"n":' + b"[" * 199 + b"]" * 199 + b"}]")
        ),
    ),
    "nested beyond all parsers": (
        422,
        "malformed-segment",
        lambda id: _press(_line(_text(id), 2, b"[" * 100_000 + b"]" * 100_000)),
    ),
    "not zstd": (422, "malformed-segment", lambda id: _text(id)),
    "an empty body": (422, "malformed-segment", lambda id: b""),
    "a frame cut short": (422, "malformed-segment", lambda id: _press(_text(id))[:-5]),
    "two frames": (422, "malformed-segment", lambda id: _press(_text(id)) * 2),
    "no stated size": (422, "malformed-segment", lambda id: _NO_SIZE.compress(_text(id))),
    "another build's dictionary": (422, "unknown-dictionary", lambda id: other_build(_text(id))),
    "a bomb of the dictionary": (
        413,
        "too-large",
        lambda id: live_packer().pack(b" " * (31 * 1024 * 1024)),
    ),
    "a step that is no number": (
        422,
        "malformed-segment",
        lambda id: _press(_text(id).replace(b'"step":0', b'"step":[]')),
    ),
    "a step beyond numbers": (
        422,
        "malformed-segment",
        lambda id: _press(_text(id).replace(b'"step":0', b'"step":9223372036854775808')),
    ),
    "an end before the end": (
        422,
        "malformed-segment",
        lambda id: _press(_text(id).replace(b'"step.began"', b'"episode.closed"')),
    ),
    "a bomb": (413, "too-large", lambda id: _press(b" " * (31 * 1024 * 1024))),
    "too large unpacked": (413, "too-large", lambda id: _press(b" " * (33 * 1024 * 1024))),
    "too large packed": (413, "too-large", lambda id: bytes(5 * 1024 * 1024)),
    "too many events": (413, "too-large", lambda id: _press(b"\n" * 20_002)),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_refused_and_nothing_is_written(service: Service, case: str) -> None:
    status, slug, make = REFUSED[case]
    id, token = await service.open()
    await service.append(id, _press(_first(id)), token)
    before = await written(service, id)
    answer = await service.append(id, make(id), token)
    problem = answer.json()
    assert (answer.status_code, problem["type"].rpartition(":")[2]) == (status, slug), problem
    assert answer.headers["content-type"] == "application/problem+json"
    if slug in ("gap", "fork"):
        assert (problem["wanted"], problem["through"], problem["head"]) == (
            3,
            2,
            sha256(_first(id)),
        )
    assert await written(service, id) == before
    assert (await service.append(id, _press(_text(id)), token)).status_code == 200


async def test_nothing_follows_the_end(service: Service) -> None:
    id, token = await service.open()
    made = await service.tell(id, token, *WHOLE)
    late = events(id, went("/cart"), first=len(WHOLE) + 1)
    answer = await service.append(id, frames(late, prev=sha256(unpack(made[-1])))[0], token)
    assert answer.status_code == 409
    assert answer.json()["type"] == "urn:milestoned:problem:closed"
    assert (await service.append(id, made[-1], token)).status_code == 200


async def test_a_segment_for_an_empty_log_begins_at_one(service: Service) -> None:
    id, token = await service.open()
    answer = await service.append(id, _press(_text(id)), token)
    assert answer.status_code == 409
    assert (answer.json()["wanted"], answer.json()["head"]) == (1, GENESIS)


async def test_brackets_in_texts_nest_nothing(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *episode([went("/" + '[{\\"' * 300)]))
    assert (await service.get(f"/v1/episodes/{id}")).json()["status"] == "closed"


@pytest.mark.parametrize("end", [b"", b'"'], ids=["without end", "that ends"])
async def test_a_text_of_escaped_quotes_is_passed_once(service: Service, end: bytes) -> None:
    """A megabyte of them behind many brackets took hours to be looked at, in bodies and in
    segments."""
    hostile = b'{"a":[' + b"[]," * 201 + b'"' + b'\\"' * 500_000 + end + b"]}"
    id, token = await service.open()
    text = _line(_text(id), 2, b'[3,1,"cdp","x",' + hostile + b"]")
    began = time.process_time()
    answers = [await service.append(id, _press(text), token)]
    answers.append(await service.call("POST", "/v1/episodes", content=hostile))
    assert time.process_time() - began < 2
    assert [400 <= answer.status_code < 500 for answer in answers] == [True, True]


async def test_the_deepest_that_is_taken_is_shown(service: Service) -> None:
    id, token = await service.open()
    line = b'[4,1,"cdp","x",{"n":' + b"[" * 198 + b"]" * 198 + b"}]"
    assert (await service.append(id, _press(_first(id)), token)).status_code == 200
    assert (await service.append(id, _press(_line(_text(id), 2, line)), token)).status_code == 200
    assert len((await service.get(f"/v1/episodes/{id}/events")).json()["events"]) == 4


@pytest.mark.parametrize(("depth", "status"), [(98, 202), (99, 422)])
async def test_an_action_is_nested_no_deeper_than_its_event_may_be(
    service: Service, depth: int, status: int
) -> None:
    id, _ = await service.open()
    action: Any = 1
    for _ in range(depth + 1):
        action = [action]
    answer = await service.post(f"/v1/episodes/{id}/steps", {"action": action, "wait_ms": 0})
    assert answer.status_code == status, answer.text


async def test_a_large_segment_is_scored_like_a_small_one(service: Service) -> None:
    id, token = await service.open()
    chance = random.Random(3)
    noise = [went(f"/{chance.randbytes(300).hex()}") for _ in range(3_000)]
    made = await service.tell(id, token, *episode([went("/cart"), *noise], [clicked("Buy")]))
    assert len(made[0]) > 500_000
    assert [m["id"] for m in (await service.reward(id, 0)).json()["milestones"]] == ["cart"]
    assert (await service.append(id, made[0], token)).json()["through"] == len(noise) + 6
