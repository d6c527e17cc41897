"""Trainers of the fleet, as programs: ``work`` through the shop's task, or ``collect`` what was paid.

Each writes one JSON line an episode. They know the service's address and the sandboxes', as any
trainer does; only to reset a sandbox they ask the container engine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from milestoned_client import ClientError, Episode, Reward, RewardClient
from playwright.sync_api import Browser, Page, Playwright, sync_playwright
from playwright.sync_api import Error as PlaywrightError

TASK = Path(__file__).parents[3] / "examples" / "shop" / "task.yaml"
DOWNLOADS = "/home/agent/Downloads"
WAIT_S = 120.0
# What a page may take while its container is paused.
PAGE_MS = 45_000
# In the second that is the default a page on a busy machine may not have told all: its step would be null.
SETTLE_MS = 60_000
TROUBLE = (ClientError, PlaywrightError, subprocess.SubprocessError, RuntimeError, OSError)


class Shopper:
    """What the agent does in the shop, in the browser of a sandbox."""

    def __init__(self, browser: Browser, shop: str) -> None:
        self._shop = shop
        self._page: Page = browser.contexts[0].pages[0]
        self._page.set_default_timeout(PAGE_MS)
        # Downloads go where the sandbox's daemon looks, and not where Playwright would keep them.
        self._session = browser.new_browser_cdp_session()
        wanted = {"behavior": "allow", "downloadPath": DOWNLOADS, "eventsEnabled": True}
        self._session.send("Browser.setDownloadBehavior", wanted)
        self._session.on("Browser.downloadProgress", self._heard)
        self._downloaded = False

    def _heard(self, progress: dict[str, Any]) -> None:
        self._downloaded = self._downloaded or progress["state"] == "completed"

    def deeds(self) -> Iterator[tuple[str, Callable[[], None]]]:
        """In order: words for people, and the deed."""
        yield "open the shop", self._open
        yield "search for a lamp", self._search
        yield "open the desk lamp", self._product
        yield "add it to the cart", self._add
        yield "fill in the details", self._fill
        yield "place the order", self._order
        yield "download the invoice", self._download
        yield "look at the history", self._history

    def _open(self) -> None:
        self._page.goto(self._shop)

    def _search(self) -> None:
        self._page.get_by_label("Search for").fill("lamp")
        self._page.get_by_role("button", name="Search").click()
        self._page.wait_for_url("**/search?q=lamp")

    def _product(self) -> None:
        self._page.get_by_role("link", name="Desk lamp").click()
        self._page.wait_for_url("**/products/lamp")

    def _add(self) -> None:
        self._page.get_by_role("button", name="Add to cart").click()
        self._page.wait_for_url("**/cart")

    def _fill(self) -> None:
        self._page.get_by_label("Name").fill("Ada Lovelace")
        self._page.get_by_label("E-mail").fill("ada@example.org")
        self._page.get_by_label("Quantity").fill("2")
        self._page.get_by_label("I accept the terms").check()
        self._page.get_by_label("Address").fill("12 St James's Square, London")

    def _order(self) -> None:
        self._page.get_by_role("button", name="Place order").click()
        self._page.get_by_text("Your order is confirmed.").wait_for()

    def _download(self) -> None:
        self._page.get_by_role("link", name="Download invoice (CSV)").click()
        until = time.monotonic() + PAGE_MS / 1_000
        while not self._downloaded:
            if time.monotonic() > until:
                raise TimeoutError("the invoice did not come")
            self._page.wait_for_timeout(50)

    def _history(self) -> None:
        self._page.get_by_role("link", name="Account").click()
        self._page.get_by_role("tab", name="History").click()
        self._page.get_by_text("Order 1").first.wait_for()


def reset(sandbox: str) -> None:
    """Forget what the last episode left in the container. Raises where it does not come back."""
    words = ["docker", "exec", sandbox, "sandbox-reset"]
    subprocess.run(words, check=True, capture_output=True, timeout=WAIT_S)


def begin_step(episode: Episode, number: int, says: str) -> None:
    """Begin a step, and wait until it has begun: what the agent does before counts in the step
    before. Raises `RuntimeError` where it does not begin."""
    until = time.monotonic() + WAIT_S
    while episode.step({"says": says}, step=number, wait_s=WAIT_S).queued:
        if time.monotonic() > until:
            raise RuntimeError(f"step {number} did not begin within {WAIT_S:g} s")


def shop_episode(episode: Episode, playwright: Playwright, shop: str, note: dict[str, Any]) -> None:
    """The task from its first step to its last; ``note`` gets what happened, also where it ends
    early."""
    began = time.monotonic()
    lease = episode.sandbox(wait_s=WAIT_S, until="held")
    if lease.sandbox is None:
        raise RuntimeError(f"no sandbox: {lease.state}, {lease.why}")
    note["sandbox"] = str(lease.sandbox["name"])
    before = time.monotonic()
    reset(note["sandbox"])
    note["reset_s"] = time.monotonic() - before
    episode.wait_ready(WAIT_S)
    note["ready_s"] = time.monotonic() - began
    lease = episode.sandbox()
    assert lease.sandbox is not None
    browser = playwright.chromium.connect_over_cdp(str(lease.sandbox["address"]), timeout=PAGE_MS)
    try:
        for number, (says, deed) in enumerate(Shopper(browser, shop).deeds()):
            note["step"] = number
            begin_step(episode, number, says)
            deed()
            episode.end_step(number)
            reward = episode.reward(number, wait_s=WAIT_S)
            note["read"].append([number, reward.status, reward.reward])
    finally:
        browser.close()
    # Of what stood before the first step: where resets leave nothing behind, each episode's is the same.
    note["start"] = episode.start_state().facts


def work(client: RewardClient, given: argparse.Namespace) -> None:
    """Episode after episode: ``--episodes`` of them, or until the file ``--until`` is there."""
    task = yaml.safe_load(TASK.read_text())
    settings = {**task["settings"], "settle_ms": SETTLE_MS}
    registered = client.register_task({**task, "origin": given.shop, "settings": settings})
    count = 0
    with sync_playwright() as playwright:
        while not given.until.exists() if given.until else count < given.episodes:
            count += 1
            note: dict[str, Any] = {"episode": None, "step": None, "read": [], "problem": None}
            try:
                episode = client.open(registered, sandbox="any")
                note["episode"] = episode.id
                shop_episode(episode, playwright, given.shop, note)
                note["status"] = episode.close(wait_s=WAIT_S).status
            except TROUBLE as error:  # whatever a fault brings, the next episode is tried
                note["problem"] = f"{type(error).__name__}: {error}"[:300]
            print(json.dumps(note), flush=True)


def final_step(reward: Reward) -> dict[str, Any]:
    """A step's reward as a line has it, with what each milestone pays in it, all its levels."""
    milestones: defaultdict[str, float] = defaultdict(float)
    for one in reward.milestones:
        milestones[one.id] += one.worth
    return {
        "step": reward.step,
        "status": reward.status,
        "reward": reward.reward,
        "reason": reward.reason,
        "milestones": milestones,
    }


def collect(client: RewardClient, given: argparse.Namespace) -> None:
    """Close each episode that is still open; what each of its steps was worth in the end."""
    for name in given.episodes_file.read_text().split():
        closing = client.episode(name).close(wait_s=WAIT_S)
        final = [final_step(one) for one in closing.rewards]
        said = {"episode": name, "status": closing.status, "total": closing.total, "final": final}
        print(json.dumps(said), flush=True)


def main() -> int:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="trainers", description=__doc__)
    parser.add_argument("what", choices=["work", "collect"])
    parser.add_argument("--service", required=True)
    parser.add_argument("--token-file", type=Path, required=True)
    parser.add_argument("--shop", required=True)
    parser.add_argument("--episodes", type=int, default=1)
    parser.add_argument("--until", type=Path)
    parser.add_argument("--episodes-file", type=Path)
    given = parser.parse_args()
    token = given.token_file.read_text().strip()
    with RewardClient(given.service, token, timeout_s=20.0, deadline_s=WAIT_S) as client:
        {"work": work, "collect": collect}[given.what](client, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
