"""A daemon of an older wire version at this service: its bytes are kept, what it says is read by the newer
names, and it earns what a newer one does."""

from __future__ import annotations

import orjson
import zstandard

from detectors.model.codec import GENESIS, encode_event, join_segment, sha256
from tests.api.audit.audited import DIGEST, differences, sign
from tests.api.service import TASK, Service
from tests.support.logs import Said, clicked, episode, sealed, titled, went

OLD: list[Said] = [
    ("episode.opened", {"task": TASK["id"], "digest": DIGEST}),
    ("gap.began", {"source": "cdp", "of": "page.titled", "reason": "x"}),
    ("gap.ended", {"source": "cdp", "of": "page.titled"}),
    ("step.began", {"step": 0}),
    went("/cart", how="back"),
    ("page.titled", {"tab": "T", "title": "Cart", "url": "http://shop.test/"}),
    ("step.sealed", {"step": 0, "why": "quiet"}),
    ("edge.computed", {"step": 0, "reward": 0.5, "digest": DIGEST}),
    ("step.began", {"step": 1}),
    clicked("Buy"),
    ("episode.closed", {"reason": "done"}),
]
SOURCES = {"gap": "journal", "episode": "journal", "edge": "journal", "step": "steps"}


def old_frames(id: str) -> list[bytes]:
    """What a daemon of version 1 sends: two segments."""
    lines = [
        encode_event(n, SOURCES.get(kind.partition(".")[0], "cdp"), kind, n * 1_000_000, data)
        for n, (kind, data) in enumerate(OLD, 1)
    ]
    first = join_segment(id, 1, lines[:6], GENESIS, wire=1)
    rest = join_segment(id, 7, lines[6:], sha256(first), wire=1)
    return [zstandard.compress(text) for text in (first, rest)]


async def test_an_older_daemon_earns_what_a_newer_one_does(service: Service) -> None:
    id, token = await service.open()
    sent = old_frames(id)
    for frame in sent:
        assert (await service.append(id, frame, token)).status_code == 200
    page = (await service.get(f"/v1/episodes/{id}/events")).json()["events"]
    told = [(event["kind"], event["data"]) for event in page]
    assert ("gap.began", {"source": "cdp", "part": "page.title_changed", "reason": "x"}) in told
    assert told[5][0] == "page.title_changed"
    assert told[4][1]["navigation_type"] == "back"
    assert told[6] == ("step.sealed", {"step": 0, "reason": "quiet"})

    newer, key = await service.open()
    await service.tell(
        newer, key, *episode([went("/cart"), titled("Cart"), sealed(0)], [clicked("Buy")])
    )
    for step in (0, 1):
        old, new = [(await service.reward(one, step)).json() for one in (id, newer)]
        assert (old["reward"], old["status"]) == (new["reward"], new["status"])
        assert old["reward"] > 0

    recording = (await service.get(f"/v1/episodes/{id}/recording")).content
    texts = [zstandard.decompress(frame) for frame in sent]
    assert recording.startswith(sent[0])
    assert [orjson.loads(text.split(b"\n")[0])["wire"] for text in texts] == [1, 1]


async def test_its_log_is_verified_over_the_bytes_that_it_sent(service: Service) -> None:
    """Nothing is converted before the chain and the signatures are checked."""
    id, token = await service.open()
    for frame in old_frames(id):
        await service.append(id, frame, token)
    await sign(service)
    assert await differences(service) == []
