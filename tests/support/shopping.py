"""An agent's hand on the example shop: a real Chromium, driven by Playwright, watched by service
and daemon."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from milestoned_client import Episode, Event, Reward
from playwright.sync_api import BrowserContext, Page, Playwright

from tests.support.chromium import Chromium
from tests.support.stack import PATIENT, SEAL_S, Stack, chromium_preferences


class Session:
    """One episode at the shop. ``act`` is one step: begin, do, end, and the sealed reward."""

    def __init__(
        self, stack: Stack, playwright: Playwright, folder: Path, invoice_after: int = 0
    ) -> None:
        self.stack = stack
        self.playwright = playwright
        self.profile = folder / "profile"
        self.downloads = folder / "downloads"
        chromium_preferences(self.profile, self.downloads)
        self.shop = stack.start_shop(invoice_after)
        self.browser = self.start_browser()
        self.episode: Episode
        self.next_step = 0

    def start_browser(self) -> Chromium:
        """Start Chromium in this session's profile and take its first page in hand, as a harness
        would."""
        self.browser = Chromium(profile=self.profile).start()
        # no_defaults: downloads stay the browser's own affair, with .crdownload and all, as for a
        # human user.
        connected = self.playwright.chromium.connect_over_cdp(
            self.browser.endpoint, no_defaults=True
        )
        self.context: BrowserContext = connected.contexts[0]
        self.page: Page = self.context.pages[0]
        self.page.set_default_timeout(20_000)
        return self.browser

    def open(self, *milestones: Mapping[str, Any], **task: Any) -> Episode:
        """Open an episode of a task with these milestones and watch it; the daemon sees when this
        returns."""
        self.stack.open(self.task(*milestones, **task))
        self.episode = self.stack.watch(("--profile", str(self.profile)), [self.downloads])
        self.next_step = 0
        return self.episode

    def task(self, *milestones: Mapping[str, Any], **task: Any) -> dict[str, Any]:
        """The task of these milestones at this shop, in a version of its own: others may use the
        same service."""
        return {
            "id": "test/shop", "version": uuid4().hex, "instruction": "Shop.", "origin": self.shop.rstrip("/"),
            "milestones": list(milestones), "settings": PATIENT, **task,
        }  # fmt: skip

    def begin(self, deed: Callable[[], object]) -> int:
        """One step without its end: the next one's beginning, or the close, ends it."""
        step, self.next_step = self.next_step, self.next_step + 1
        self.episode.step({"says": getattr(deed, "__name__", "deed")}, step=step)
        deed()
        return step

    def act(self, deed: Callable[[], object]) -> Reward:
        """One whole step; gives its final reward."""
        step = self.begin(deed)
        self.episode.end_step(step)
        return self.episode.reward(step, wait_s=SEAL_S)

    def goto(self, path: str) -> Callable[[], object]:
        """The deed of going to a path of the shop."""
        return lambda: self.page.goto(self.shop + path.lstrip("/"))

    def click(self, role: Any, name: str) -> Callable[[], object]:
        """The deed of clicking what has this role and name."""
        return lambda: self.page.get_by_role(role, name=name, exact=True).click()

    def put_in_cart(self, slug: str = "lamp") -> None:
        """Go to an article and put it into the cart."""
        self.goto(f"products/{slug}")()
        self.click("button", "Add to cart")()
        self.page.wait_for_url("**/cart")

    def fill_order(self, **changed: str) -> None:
        """Fill in the whole order form."""
        fields = {
            "Name": "Ada",
            "E-mail": "ada@example.org",
            "Address": "12 Square",
            "Quantity": "2",
            **changed,
        }
        for label, value in fields.items():
            self.page.get_by_label(label, exact=True).fill(value)
        self.page.get_by_label("I accept the terms").check()

    def place_order(self, *, then: str = "**/orders/1001") -> None:
        """Fill in the order and send it."""
        self.fill_order()
        self.click("button", "Place order")()
        self.page.wait_for_url(then)

    def events(self, kind: str) -> list[Event]:
        """The events of one kind that are in the log."""
        return self.stack.episode.events(kind=kind, limit=1000)
