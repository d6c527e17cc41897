"""A flood of tabs pays nothing that was not done and hides no write without a gap: scored on a real
browser's word."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from detectors.task.ruleset import Ruleset
from tests.cdp.hands import hand
from tests.cdp.site import Site
from tests.cdp.test_immunity import paid
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium, pytest.mark.slow]

TABS = 300
FLOOD = f"""<title>flood</title>
<button id=open onclick="for (let i = 0; i < {TABS}; i++) window.open(i % 50 ? 'about:blank' : '/tiny')">Open</button>
<button id=order onclick="fetch('/order', {{method: 'POST'}})">Order</button>"""


def of_flood(site: Site) -> Ruleset:
    """To click Order is worth something, and any other write is penalised."""
    return ruleset(
        {"id": "clicked", "when": {"element_clicked": {"role": "button", "name": "Order"}}},
        {"id": "reached", "when": {"url_reached": {"url": "/order"}}},
        {"id": "wrote", "penalty": 0.5, "when": {"other_request_made": {"url": "/*"}}},
        origin=site.url,
    )


async def test_three_hundred_tabs_pay_nothing_and_hide_no_write_without_a_gap(site: Site) -> None:
    url = site.page("/flood", FLOOD)
    site.page("/tiny", "<title>tiny</title><button>Order</button>")
    site.page("/order", "ok")
    rules = of_flood(site)
    async with (
        Chromium("--disable-popup-blocking") as chromium,
        watching(chromium, rules.plan("e")) as watch,
        hand(chromium) as user,
    ):
        tab = await user.open(url)
        session = await user.session(tab)
        await watch.one("page.loaded", tab=tab)
        opening = user.soon(
            session, "Runtime.evaluate", expression="document.querySelector('#open').click()"
        )
        async with asyncio.timeout(240):
            await opening
            await user.evaluate(session, "document.querySelector('#order').click()")
            while len(watch.all("tab.opened")) <= TABS:  # noqa: ASYNC110 - longer than the watch's own patience
                await asyncio.sleep(0.2)
            await watch.source.before_seal(0, closing=True)
        reward = paid(rules, watch)
        tabs = [one["tab"] for one in watch.all("tab.opened")]
        assert len(tabs) == len(set(tabs)) == TABS + 1
        assert sum(one.path == "/order" and one.method == "POST" for one in site.asked) == 1
        assert not [
            one for one in reward.milestones if one.id in ("clicked", "reached") and one.worth
        ]
        assert reward.reward == -0.5 or reward.reason, (
            "the write is penalised, or the step says why it is not known"
        )
        assert all(gap["reason"] for gap in watch.all("gap.began"))
        assert len(watch.seen) < 12 * TABS, "the events of a flood are bounded"


MANY, AT_ONCE = 2_000, 100
WAVES = """<title>waves</title><script>
const wave = (size) => {
  const made = Array.from({length: size}, (_, i) => window.open(i % 50 ? 'about:blank' : '/tiny'));
  return new Promise((then) => setTimeout(() => { made.forEach((one) => one.close()); then() }, 200));
};
</script><button id=order onclick="fetch('/order', {method: 'POST'})">Order</button>"""
MOST_KEPT = 40
"""Tabs, frames and sessions that may be kept of a hundred that were closed a moment ago."""
MOST_MEMORY = 120 << 20


@pytest.mark.timeout(900)
async def test_thousands_of_tabs_leave_nothing_behind(site: Site) -> None:
    """Two thousand, a hundred at a time: the daemon follows, its memory is bounded, and the step is
    penalised or says why it is not known."""
    url = site.page("/waves", WAVES)
    site.page("/tiny", "<title>tiny</title><button>Order</button>")
    site.page("/order", "ok")
    rules = of_flood(site)
    async with (
        Chromium("--disable-popup-blocking") as chromium,
        watching(chromium, rules.plan("e")) as watch,
        hand(chromium) as user,
    ):
        tab = await user.open(url)
        session = await user.session(tab)
        await watch.one("page.loaded", tab=tab)
        assert watch.source._live is not None
        state, before = watch.source._live.normaliser.browser, _resident()
        async with asyncio.timeout(840):
            for wave in range(1, MANY // AT_ONCE + 1):
                await user.soon(
                    session, "Runtime.evaluate", expression=f"wave({AT_ONCE})", awaitPromise=True
                )
                while len(watch.all("tab.closed")) < wave * AT_ONCE:  # noqa: ASYNC110 - as above
                    await asyncio.sleep(0.2)
                await watch.fence()
                kept = len(state.tabs), len(state.frames), len(state.sessions)
                assert max(kept) <= MOST_KEPT
            await user.evaluate(session, "document.querySelector('#order').click()")
            await watch.source.before_seal(0, closing=True)
        reward = paid(rules, watch)
        assert len({one["tab"] for one in watch.all("tab.opened")}) == MANY + 1
        assert _resident() - before < MOST_MEMORY
        assert reward.reward == -0.5 or reward.reason
        assert not [one for one in reward.milestones if one.worth > 0]


def _resident() -> int:
    """What this process, with the source in it, takes in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
