"""A run over stored episodes goes on where it was interrupted, though the service went on
meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import orjson
import pytest

from api.rescoring import stored
from api.rescoring.corpus import CorpusSelection
from api.rescoring.crews import Batch
from api.rescoring.kept import Results, ResultsError
from api.rescoring.running import run
from api.rescoring.work import EpisodeOutcome, Material, work
from tests.api.audit.audited import told
from tests.api.service import Store, running


def crew(batches: Iterable[Batch]) -> Iterator[list[EpisodeOutcome]]:
    """An episode at a time, so that a run can be left after any."""
    for batch in batches:
        for one in batch:
            yield work([one])


def tell(store: Store, many: int) -> None:
    async def telling() -> None:
        async with running(store) as service:
            for _ in range(many):
                await told(service)

    asyncio.run(telling())


def materials(store: Store) -> Iterator[Material]:
    url = f"sqlite+aiosqlite:///{store.folder / 'milestoned.db'}"
    return (stored.material(one, None, True) for one in stored.episodes(url, CorpusSelection()))


def test_episodes_that_closed_meanwhile_stop_no_run(tmp_path: Path) -> None:
    """Those before the place where it stood are left out, as they are by a run that is not
    interrupted."""
    store, out = Store(tmp_path), tmp_path / "out.jsonl"
    tell(store, 6)
    with Results(out, "plan") as results:
        done = [
            answer.line for answer in islice(run(materials(store), crew, results, grows=True), 5)
        ]
    before = {one.name for one in materials(store)}
    while all(one.name in before or one.name > _name(done[-1]) for one in materials(store)):
        tell(store, 3)  # ids are random: one sorts in between sooner or later
    later = [one.name for one in materials(store) if one.name > _name(done[-1])]
    with Results(out, "plan") as results:
        again = [answer.line for answer in run(materials(store), crew, results, grows=True)]
    assert again[:5] == done
    assert [_name(line) for line in again[5:]] == later
    assert out.read_bytes().split(b"\n")[1:-1] == again


@pytest.mark.parametrize("grows", [False, True])
def test_an_episode_that_is_gone_still_stops_it(tmp_path: Path, *, grows: bool) -> None:
    store, out = Store(tmp_path), tmp_path / "out.jsonl"
    tell(store, 3)
    with Results(out, "plan") as results:
        done = list(islice(run(materials(store), crew, results, grows=grows), 2))
    rest = (one for one in materials(store) if one.name != _name(done[1].line))
    with (
        Results(out, "plan") as results,
        pytest.raises(ResultsError, match=f"{_name(done[1].line)}: has changed"),
    ):
        list(run(rest, crew, results, grows=grows))


def test_who_stops_in_the_midst_leaves_no_connection_open(tmp_path: Path) -> None:
    """What is given up may be let go of while a loop runs, in which nothing can be closed."""
    store = Store(tmp_path)
    tell(store, 2)
    before = set(threading.enumerate())
    given_up = [materials(store)]
    assert next(given_up[0]).name
    assert set(threading.enumerate()) == before

    async def let_go() -> None:
        given_up.clear()

    asyncio.run(let_go())


def _name(line: bytes) -> str:
    return str(orjson.loads(line)["name"])
