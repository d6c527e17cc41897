"""The journal's invariants, each as the words above its code have them."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentd.core.clock import GRAIN_NS, EpisodeClock, boot_id
from agentd.core.errors import JournalError
from agentd.journal.journal import RESERVE_BYTES, SEGMENT_BYTES, SEGMENT_EVENTS, Cut, Journal
from agentd.journal.store import JournalRow, JournalStore
from detectors.model.codec import GENESIS, decode_segment, encode_event, join_segment, sha256
from detectors.model.types import Event
from detectors.model.wire_versions import WIRE
from tests.support.examples import examples


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite3"


def texts(journal: Journal) -> list[bytes]:
    """Every segment's text from the first one on."""
    found: list[bytes] = []
    through = 0
    while (cut := journal.next_cut(through)) is not None:
        found.append(journal.text(cut))
        through = cut.last
    return found


def events(journal: Journal) -> list[Event]:
    """Every cut event; asserts numbers and chain on the way."""
    head, found = GENESIS, list[Event]()
    for text in texts(journal):
        segment = decode_segment(text)
        assert segment.prev == head
        head = segment.digest
        found.extend(segment.events)
    assert [event.seq for event in found] == list(range(1, len(found) + 1))
    return found


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 700)),
        st.sampled_from([("flush", 0), ("cut", 0), ("ack", 0), ("kill", 0), ("stop", 0)]),
    ),
    max_size=25,
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(OPERATIONS)
def test_any_life_keeps_numbers_chain_and_flushed_events(
    tmp_path_factory: pytest.TempPathFactory, operations: list[tuple[str, int]]
) -> None:
    """However appends, commits, cuts, acknowledgements, kills and restarts follow: 1, 2, 3 …,
    nothing flushed lost."""
    path = tmp_path_factory.mktemp("life") / "journal.sqlite3"
    journal = Journal(path, "E")
    model: list[int] = []
    flushed, number = 0, 0
    shipped: list[bytes] = []
    for what, count in [*operations, ("cut", 0)]:
        if what == "append":
            for _ in range(count):
                number += 1
                assert journal.append("cdp", "page.loaded", {"n": number}, number) == len(model) + 1
                model.append(number)
        elif what in ("flush", "stop"):
            assert journal.flush()
            flushed = len(model)
        elif what == "cut":
            assert journal.cut()
            flushed = len(model)
        elif what == "ack" and (cut := journal.next_cut(journal.acknowledged)) is not None:
            journal.acknowledge(cut.last)
        if what in ("kill", "stop"):
            journal.close()
            model = model[:flushed]
            journal = Journal(path, "E")
            assert journal.last == flushed
        now = texts(journal)
        assert now[: len(shipped)] == shipped, "a segment once cut is the same bytes for ever"
        shipped = now
    assert [event.data["n"] for event in events(journal)] == model
    journal.close()


def test_segments_are_bounded(path: Path) -> None:
    """At most 500 events and 1 MiB; a line longer than that stands alone."""
    journal = Journal(path, "E")
    for _ in range(1200):
        journal.append("cdp", "page.loaded", {}, 1)
    for size in (10, 700_000, 700_000, 3 << 20, 10):
        journal.append("cdp", "page.title_changed", {"title": "x" * size}, 2)
    journal.cut()
    counts = [decode_segment(text).count for text in texts(journal)]
    assert counts == [500, 500, 202, 1, 1, 1]
    assert max(len(text) for text in texts(journal)[:3]) <= SEGMENT_BYTES + 1000
    journal.close()


def test_a_flush_cuts_whole_segments_only(path: Path) -> None:
    """With nobody to ship to, memory stays bounded and segments are whole."""
    journal = Journal(path, "E")
    for _ in range(SEGMENT_EVENTS * 2 + 3):
        journal.append("cdp", "page.loaded", {}, 1)
    journal.flush()
    assert (journal.through, journal.uncut, journal.last) == (1000, 3, 1003)
    journal.close()


def test_another_episodes_journal_is_refused(path: Path) -> None:
    """The error names both."""
    Journal(path, "E").close()
    with pytest.raises(JournalError, match="episode 'E', wanted 'F'"):
        Journal(path, "F")


def test_a_file_that_is_no_journal(path: Path) -> None:
    """Is named, and left as it is."""
    path.write_text("something else, and long enough to be read as a database's first page" * 20)
    with pytest.raises(JournalError, match="not a database"):
        Journal(path, "E")


def test_rows_changed_on_disk_are_found(path: Path) -> None:
    """An edited row does not give its segment's digest any more, and is not shipped."""
    journal = Journal(path, "E")
    journal.append("files", "file.created", {"path": "a"}, 1)
    journal.cut()
    journal.store._db.execute(
        "UPDATE events SET line = CAST(replace(line, '\"a\"', '\"b\"') AS BLOB)"
    )
    journal.close()
    journal = Journal(path, "E")
    cut = journal.next_cut(0)
    assert cut is not None
    with pytest.raises(JournalError, match="segment 1–1"):
        journal.text(cut)
    journal.close()


def test_a_journal_that_lost_its_tail_goes_on_after_the_service(path: Path) -> None:
    """Numbers and chain continue from what the service has, also after one more restart."""
    journal = Journal(path, "E")
    journal.append("cdp", "page.loaded", {}, 1)
    journal.cut()
    head = "ab" * 32
    assert not journal.stands_at(9, head)
    assert journal.adopt(9, head) == 8
    assert journal.append("cdp", "page.loaded", {}, 2) == 10
    journal.cut()
    for _ in range(2):
        cut = journal.next_cut(9)
        assert cut is not None
        assert (cut.first, cut.prev, journal.acknowledged) == (10, head, 9)
        assert journal.stands_at(9, head)
        assert journal.stands_at(10, cut.digest)
        journal.close()
        journal = Journal(path, "E")
    assert journal.append("cdp", "page.loaded", {}, 3) == 11
    journal.close()


# -- room


def dropped(journal: Journal) -> list[dict[str, Any]]:
    journal.cut()
    return [data for _, kind, data in journal.rows("journal") if kind == "events.dropped"]


def test_the_cap_drops_observations_and_says_so(path: Path) -> None:
    """What does not fit is counted a source, journalled before the next boundary; steps go on."""
    journal = Journal(path, "E", max_bytes=2000)
    kept = [journal.append("cdp", "page.title_changed", {"title": "x" * 200}, 1) for _ in range(20)]
    assert journal.append("files", "file.deleted", {"path": "y" * 300}, 1) is None
    lost = kept.count(None)
    assert 0 < lost < 20
    assert journal.append("steps", "step.ended", {"step": 0}, 2) is not None
    assert [(data["source"], data["count"]) for data in dropped(journal)] == [
        ("cdp", lost),
        ("files", 1),
    ]
    assert "cap of 2000 bytes" in dropped(journal)[0]["reason"]
    assert [event.kind for event in events(journal)][-1] == "step.ended"
    journal.close()


def test_what_was_seen_leaves_room_to_what_happened(path: Path) -> None:
    """Recordings of what pages look like are large: they get half of the cap, and are missed by
    nobody's reward."""
    journal = Journal(path, "E", max_bytes=4000)
    seen = [
        journal.append("visual", "visual.dom_recorded", {"text": "x" * 200}, 1) for _ in range(20)
    ]
    assert seen.count(None) > 10
    assert None not in [
        journal.append("cdp", "page.title_changed", {"title": "x" * 100}, 1) for _ in range(8)
    ]
    journal.append("steps", "step.ended", {"step": 0}, 2)
    assert [data["source"] for data in dropped(journal)] == ["visual"]
    journal.close()


def test_under_the_cap_acknowledged_rows_make_room(path: Path) -> None:
    """What the service has may go, but what tells the state of steps and gaps stays."""
    journal = Journal(path, "E", max_bytes=2000)
    journal.append("steps", "step.began", {"step": 0}, 1)
    while journal.append("cdp", "page.title_changed", {"title": "x" * 200}, 1) is not None:
        pass
    journal.cut()
    journal.acknowledge(journal.through)
    assert journal.append("cdp", "page.title_changed", {"title": "y" * 200}, 2) is not None
    assert [data["count"] for data in dropped(journal)] == []
    journal.flush(3)
    assert [data["count"] for data in dropped(journal)] == [1]
    assert [data for _, _, data in journal.rows("steps")] == [{"step": 0}]
    journal.close()


def test_the_reserve_is_bounded_too(path: Path) -> None:
    """Steps may exceed the cap by the reserve, and not by more."""
    journal = Journal(path, "E", max_bytes=100)
    big = {"text": "x" * (RESERVE_BYTES * 2 // 5)}
    assert [journal.append("steps", "agent.answered", big, 1) for _ in range(3)] == [1, 2, None]
    assert journal.append("steps", "step.ended", {"step": 0}, 1) is not None
    journal.close()


def full_database(journal: Journal) -> Iterator[None]:
    """SQLite's own "database or disk is full"."""
    journal.store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    journal.store.limit_pages(journal.store.pages())
    yield
    journal.store.limit_pages(0)


def full_disk(journal: Journal) -> Iterator[None]:
    """A write that the kernel refuses: no file may grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("trouble", [full_database, full_disk])
def test_a_full_disk_is_recorded_and_passes(path: Path, trouble: Any) -> None:
    """What was numbered is kept in memory, what comes is counted; when there is room, all is
    told."""
    journal = Journal(path, "E")
    journal.append("cdp", "page.title_changed", {"title": "before"}, 1)
    assert journal.flush(1)
    disk = trouble(journal)
    next(disk)
    try:
        for _ in range(40):
            journal.append("cdp", "page.title_changed", {"title": "x" * 5000}, 2)
        assert not journal.flush(2)
        assert journal.full is not None
        assert journal.append("cdp", "page.title_changed", {"title": "lost"}, 3) is None
        assert journal.append("steps", "step.ended", {"step": 0}, 3) is None
        assert not journal.flush(3)
    finally:
        next(disk, None)
    assert journal.flush(4)
    assert journal.append("cdp", "page.title_changed", {"title": "after"}, 5) is not None
    assert [(d["source"], d["count"]) for d in dropped(journal)] == [("cdp", 1), ("steps", 1)]
    assert "disk" in dropped(journal)[0]["reason"]
    titles = [event.data.get("title", "")[:6] for event in events(journal)]
    assert titles == ["before", *["xxxxxx"] * 40, "", "", "after"]
    journal.close()


@pytest.mark.parametrize(
    ("told", "owed"),
    [
        ("began", "began"),
        ("ended", "ended"),
        ("began ended", "began ended"),
        ("began ended began", "began"),
        ("ended began", ""),
        ("ended began ended", "ended"),
        ("ended began ended began", ""),
    ],
)
def test_where_gaps_begin_and_end_a_full_disk_defers_it(path: Path, told: str, owed: str) -> None:
    """A source that went blind meanwhile must not count as seeing, nor one that came back as
    blind."""
    journal = Journal(path, "E")
    journal.append("journal", "episode.opened", {}, 1)
    assert journal.flush(1)
    disk = full_disk(journal)
    next(disk)
    try:
        for _ in range(40):
            journal.append("cdp", "page.title_changed", {"title": "x" * 5000}, 2)
        assert not journal.flush(2)
        for how in told.split():
            data = {"source": "cdp"} | ({"reason": "gone"} if how == "began" else {})
            assert journal.append("journal", f"gap.{how}", data, 3) is None
    finally:
        next(disk, None)
    assert journal.flush(4)
    assert journal.append("steps", "step.ended", {"step": 0}, 5) is not None
    gaps = [event.kind for event in _cut_events(journal) if event.kind.startswith("gap.")]
    assert gaps == [f"gap.{how}" for how in owed.split()]
    assert dropped(journal) == []
    journal.close()


def _cut_events(journal: Journal) -> list[Event]:
    journal.cut()
    return events(journal)


# -- the clock


def test_the_clock_goes_on_through_a_restart_and_a_boot(path: Path) -> None:
    """The same boot: by the origin; another: from the last time journalled. Never backwards."""
    journal = Journal(path, "E")
    clock = EpisodeClock.resume(*journal.clock_marks())
    journal.set_clock(clock.origin)
    assert 0 <= clock.now() < 10**9
    assert clock.now() % GRAIN_NS == 0
    later = 10**15
    journal.append("cdp", "page.loaded", {}, later)
    journal.flush()
    assert journal.clock_marks() == (clock.origin, boot_id(), later)
    again = EpisodeClock.resume(*journal.clock_marks())
    assert again.origin == clock.origin
    assert again.now() == later, "the last time holds until the clock has caught up"
    other = EpisodeClock.resume(clock.origin, "another boot", later)
    assert later <= other.now() < later + 10**9
    assert other.now() <= other.now()
    journal.close()


def test_lines_are_the_codecs(path: Path) -> None:
    """One line an event: [seq, at, source, kind, data]."""
    journal = Journal(path, "E")
    journal.append("cdp", "page.loaded", {"b": 1, "a": None}, 7)
    journal.cut()
    assert orjson.loads(texts(journal)[0].split(b"\n")[1]) == [
        1,
        7,
        "cdp",
        "page.loaded",
        {"a": None, "b": 1},
    ]
    journal.close()


OLD_LINES = [
    encode_event(n, source, kind, n, data)
    for n, (source, kind, data) in enumerate(
        [
            ("journal", "gap.began", {"source": "cdp", "of": "page.titled", "reason": "x"}),
            ("cdp", "page.titled", {"title": "a"}),
            ("steps", "step.sealed", {"step": 0, "why": "quiet"}),
            ("cdp", "page.titled", {"title": "b"}),
            ("journal", "gap.ended", {"source": "cdp", "of": "page.titled"}),
        ],
        1,
    )
]
"""As a build of wire version 1 wrote them; it had cut the first three."""


def old_journal(path: Path, wire: int | None = None) -> bytes:
    """Make a journal as that build left it, or one of version ``wire``; returns its segment."""
    text = join_segment("E", 1, OLD_LINES[:3], GENESIS, wire=1)
    store = JournalStore(path)
    store.put({"episode": b"E"} | ({} if wire is None else {"wire": orjson.dumps([[0, wire]])}))
    rows = [
        JournalRow(line[0], line[2], line[3], text)
        for text in OLD_LINES
        for line in [orjson.loads(text)]
    ]
    store.write(rows, [(1, 3, GENESIS, sha256(text))], 0)
    store.close()
    return text


def test_a_journal_of_an_older_wire_version_goes_on_in_this_one(path: Path) -> None:
    """What that build cut is sent as it was cut, be it much later; the rest has the newer names,
    and so has what is read back."""
    text = old_journal(path)
    for _ in range(2):  # also by a daemon that starts once more
        journal = Journal(path, "E")
        assert journal.text(Cut(*(journal.store.cut_from(1) or ()))) == text
        gaps = [("gap.began", "page.title_changed"), ("gap.ended", "page.title_changed")]
        assert [(kind, data["part"]) for _, kind, data in journal.rows("journal")] == gaps
        assert [data["reason"] for _, _, data in journal.rows("steps")] == ["quiet"]
        assert [event.seq for event in journal.events(2)] == [3, 4, 5]
        journal.close()
    journal = Journal(path, "E")
    journal.append("cdp", "page.title_changed", {"title": "c"}, 6)
    assert journal.cut()
    assert [orjson.loads(part.split(b"\n")[0])["wire"] for part in texts(journal)] == [1, WIRE]
    titles = [
        event.data["title"] for event in events(journal) if event.kind == "page.title_changed"
    ]
    assert titles == ["a", "b", "c"]
    journal.close()


def test_a_journal_of_a_newer_wire_version_is_refused(path: Path) -> None:
    """Nothing in it is read as something else."""
    old_journal(path, WIRE + 1)
    with pytest.raises(
        JournalError, match=f"its wire version is {WIRE + 1}, this build reads up to"
    ):
        Journal(path, "E")
