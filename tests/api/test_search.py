"""The list of episodes: every filter with its yes and its no, pages that miss nothing, on each
database."""

from __future__ import annotations

from typing import Any

import pytest

from api.core.errors import InvalidError
from api.episodes.search import SORTS, EpisodeQuery
from api.pages.listing import wanted_of
from tests.api.service import TASK, Service
from tests.support.logs import began, sealed, went

OPENED = ("episode.opened", {"task": "t", "digest": "d"})
CLOSED = ("episode.closed", {"reason": "done"})
GAP = ("gap.began", {"source": "cdp", "reason": "the browser is gone"})
BUY = (
    "element.clicked",
    {
        "tab": "T",
        "frame": "T",
        "trusted": True,
        "element": {"role": "button", "name": "Buy", "tag": "button"},
    },
)


async def four(service: Service) -> dict[str, str]:
    """One that reached all, one that reached half, one that was not seen to its end, one that
    runs."""
    await service.post("/v1/tasks", TASK)
    found = {}
    for name, labels in (
        ("full", {"policy": "7", "greedy": True}),
        ("half", {"policy": "8", "parent": None, "lr": 0.5}),
        ("blind", {"policy": "8"}),
        ("open", {}),
    ):
        opened = (await service.post("/v1/episodes", {"task": TASK["id"], "labels": labels})).json()
        found[name] = opened["episode"]
        said = [OPENED, began(0), went("/cart")]
        if name == "full":
            said += [BUY, went("file:///etc/passwd")]
        if name != "open":
            said += (
                [sealed(0), CLOSED]
                if name != "blind"
                else [sealed(0), began(1), GAP, sealed(1), CLOSED]
            )
        await service.tell(opened["episode"], opened["token"], *said)
    await service.app.state.parts.checkpointer.turn()
    return found


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        pytest.param({}, {"full", "half", "blind", "open"}, id="no filter"),
        pytest.param({"task": "shop/cart"}, {"full", "half", "blind", "open"}, id="the task"),
        pytest.param({"task": "shop/other"}, set(), id="another task"),
        pytest.param({"status": "open"}, {"open"}, id="open"),
        pytest.param({"status": "closed"}, {"full", "half", "blind"}, id="closed"),
        pytest.param({"outcome": "success"}, {"full"}, id="success"),
        pytest.param({"outcome": "failure"}, {"half"}, id="failure"),
        pytest.param({"outcome": "unknown"}, {"blind", "open"}, id="not known"),
        pytest.param({"label": "policy=7"}, {"full"}, id="a label"),
        pytest.param({"label": "policy=9"}, set(), id="another label's value"),
        pytest.param({"label": 'po"l=7'}, set(), id="a label with a quotation mark"),
        pytest.param({"label": "greedy=true"}, {"full"}, id="a label that is a truth value"),
        pytest.param({"label": "greedy=1"}, set(), id="which is no number"),
        pytest.param({"label": "parent=null"}, {"half"}, id="a label that is null"),
        pytest.param({"label": "lr=0.5"}, {"half"}, id="a label that is a number"),
        pytest.param({"label": "policy=7", "sort": "best"}, {"full"}, id="a label, by reward"),
        pytest.param({"finding": "masked"}, {"blind"}, id="with a masked step"),
        pytest.param({"finding": "gap"}, {"blind"}, id="with a gap"),
        pytest.param({"finding": "tamper"}, {"full"}, id="that looked behind the scenes"),
        pytest.param(
            {"finding": "gap", "label": "policy=8"}, {"blind"}, id="a finding and a label"
        ),
        pytest.param(
            {"finding": "gap", "label": "policy=7"}, set(), id="a finding and another's label"
        ),
        pytest.param({"least": "0.3"}, {"full"}, id="reward from"),
        pytest.param({"most": "0.3"}, {"half"}, id="reward to, where one is known"),
        pytest.param(
            {"since": "2020-01-01", "until": "2999-01-01"},
            {"full", "half", "blind", "open"},
            id="these days",
        ),
        pytest.param({"until": "2020-01-01"}, set(), id="before"),
    ],
)
async def test_a_filter(service: Service, asked: dict[str, str], names: set[str]) -> None:
    found = await four(service)
    rows, following = await service.app.state.parts.search.page(wanted_of("default", asked), 10)
    assert {row.id for row in rows} == {found[name] for name in names}
    assert following is None


@pytest.mark.parametrize("sort", SORTS)
async def test_pages_of_one_hold_every_episode_once_and_in_order(
    service: Service, sort: Any
) -> None:
    """By reward only those that have one."""
    await four(service)
    search = service.app.state.parts.search
    whole, _ = await search.page(EpisodeQuery("default", sort=sort), 10)
    seen, after = [], None
    while True:
        rows, after = await search.page(EpisodeQuery("default", sort=sort, after=after), 1)
        seen += [row.id for row in rows]
        if after is None:
            break
    assert seen == [row.id for row in whole]
    assert len(seen) == (2 if sort in ("best", "worst") else 4)


async def test_another_tenants_episodes_are_not_there(service: Service) -> None:
    await four(service)
    rows, _ = await service.app.state.parts.search.page(EpisodeQuery("somebody-else"), 10)
    assert rows == []


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        pytest.param(
            {"status": "gone"}, "status: got 'gone', wanted open, closing, closed", id="status"
        ),
        pytest.param({"least": "much"}, "least: got 'much', wanted a number", id="a number"),
        pytest.param({"most": "nan"}, "most: got 'nan', wanted a number", id="not a number"),
        pytest.param(
            {"since": "yesterday"},
            "since: got 'yesterday', wanted a day such as 2026-01-31",
            id="a day",
        ),
        pytest.param({"label": "policy"}, "label: got 'policy', wanted KEY=VALUE", id="a label"),
        pytest.param(
            {"sort": "size"}, "sort: got 'size', wanted newest, oldest, best, worst", id="the order"
        ),
    ],
)
def test_a_filter_that_can_not_be_understood_is_named(asked: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidError) as refused:
        wanted_of("default", asked)
    assert refused.value.detail == said
