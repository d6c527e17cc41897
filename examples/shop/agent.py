"""A scripted agent in a process of its own: it buys a lamp with Playwright and reports its steps.

It knows nothing of rewards. Where it is given no ``--control`` it works the same way unobserved,
which is how our tests show that observing changes nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from playwright.sync_api import BrowserContext, Dialog, Download, Page, sync_playwright

try:
    from .app import PASSWORD
except ImportError:  # run as a plain file
    from app import PASSWORD  # type: ignore[import-not-found, no-redef]

FLAGS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--no-first-run",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--password-store=basic",
    "--remote-debugging-port=0",
)


Script = Sequence[tuple[str, Callable[[], None]]]
"""What an agent does, in order: words for people, and the deed."""


class Hands(Protocol):
    """What is run: a script on a page, and how it left the browser."""

    def script(self) -> Script:
        """What it does, in order."""
        ...

    def state(self) -> dict[str, Any]:
        """How it left the browser."""
        ...


class Agent:
    """The agent's hands: one page, and the downloads and dialogs that it met on the way."""

    def __init__(self, page: Page, shop: str, downloads: Path) -> None:
        self.page = page
        self.shop = shop
        self.downloads = downloads
        self.dialogs: list[dict[str, Any]] = []
        self._accept = False
        self._download: Download | None = None
        page.on("dialog", self._answer)

    def _answer(self, dialog: Dialog) -> None:
        self.dialogs.append(
            {"type": dialog.type, "message": dialog.message, "accepted": self._accept}
        )
        dialog.accept() if self._accept else dialog.dismiss()

    def open_shop(self) -> None:
        self.page.goto(self.shop)

    def search(self) -> None:
        self.page.get_by_label("Search for").fill("lamp")
        self.page.get_by_role("button", name="Search").click()
        self.page.wait_for_url("**/search?q=lamp")

    def open_product(self) -> None:
        self.page.get_by_role("link", name="Desk lamp").click()
        self.page.wait_for_url("**/products/lamp")

    def add_to_cart(self) -> None:
        self.page.get_by_role("button", name="Add to cart").click()
        self.page.wait_for_url("**/cart")

    def fill_first_half(self) -> None:
        self.page.get_by_label("Name").fill("Ada Lovelace")
        self.page.get_by_label("E-mail").fill("ada@example.org")

    def fill_second_half(self) -> None:
        self.page.get_by_label("Quantity").fill("2")
        self.page.get_by_label("I accept the terms").check()

    def choose_delivery(self) -> None:
        frame = self.page.frame_locator("iframe[title='Delivery options']")
        frame.get_by_label("Express").check()
        frame.get_by_role("button", name="Choose delivery").click()

    def choose_pickup(self) -> None:
        frame = self.page.frame_locator("iframe[title='Pick-up points']")
        frame.get_by_label("Town").fill("London")
        frame.get_by_role("button", name="Pick up here").click()
        frame.get_by_text("Held for you.").wait_for()

    def read_terms(self) -> None:
        with self.page.expect_popup() as popup:
            self.page.get_by_role("link", name="Read the terms").click()
        popup.value.get_by_text("We send lamps.").wait_for()
        popup.value.close()

    def order_too_early(self) -> None:
        self.page.get_by_role("button", name="Place order").click()
        self.page.get_by_text("Please give the address to deliver to.").wait_for()

    def order(self) -> None:
        self.page.get_by_label("Address").fill("12 St James's Square, London")
        self.page.get_by_role("button", name="Place order").click()
        self.page.wait_for_url("**/orders/1001")
        self.page.get_by_text("Your order is confirmed.").wait_for()

    def start_download(self) -> None:
        with self.page.expect_download() as download:
            self.page.get_by_role("link", name="Download invoice (CSV)").click()
        self._download = download.value

    def open_account(self) -> None:
        self.page.get_by_role("link", name="Account").click()
        self.page.wait_for_url("**/account")

    def return_to_order(self) -> None:
        self.page.goto(f"{self.shop}orders/1001")
        self._save(self._download)

    def download_pdf(self) -> None:
        with self.page.expect_download() as download:
            self.page.get_by_role("link", name="Download invoice (PDF)").click()
        self._save(download.value)

    def _save(self, download: Download | None) -> None:
        assert download is not None, "nothing was downloaded"
        download.save_as(self.downloads / download.suggested_filename)

    def show_history(self) -> None:
        self.open_account()
        self.page.get_by_role("tab", name="History").click()
        self.page.get_by_text("Order 1001").wait_for()

    def almost_cancel(self) -> None:
        self._accept = False
        self.page.get_by_role("button", name="Cancel order 1001").click()
        self.page.get_by_role("tab", name="Overview").wait_for()

    def log_in(self) -> None:
        self.page.get_by_role("link", name="Log in").click()
        self.page.get_by_label("E-mail").fill("ada@example.org")
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.get_by_text("ada@example.org").wait_for()

    def script(self) -> Script:
        """What it does, in order: words for people, and the deed."""
        return [
            ("open the shop", self.open_shop),
            ("search for a lamp", self.search),
            ("open the desk lamp", self.open_product),
            ("click “Add to cart”", self.add_to_cart),
            ("fill in name and e-mail", self.fill_first_half),
            ("fill in quantity, accept the terms", self.fill_second_half),
            ("choose express in the delivery frame", self.choose_delivery),
            ("pick a town in the other host's frame", self.choose_pickup),
            ("read the terms in a popup", self.read_terms),
            ("place the order, address forgotten", self.order_too_early),
            ("give the address, place the order", self.order),
            ("start the CSV download", self.start_download),
            ("look at the account meanwhile", self.open_account),
            ("back to the order; the CSV comes in", self.return_to_order),
            ("download the PDF too", self.download_pdf),
            ("open the history tab", self.show_history),
            ("cancel the order? answer no", self.almost_cancel),
            ("log in", self.log_in),
        ]

    def state(self) -> dict[str, Any]:
        """How it left the browser: what a run with and one without the daemon must agree on."""
        files = sorted(self.downloads.iterdir())
        return {
            "dialogs": self.dialogs,
            "downloads": {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in files},
            "history": self.page.evaluate("history.length"),
            "url": self.page.url.removeprefix(self.shop),
            "focus": self.page.evaluate("document.activeElement.outerHTML.slice(0, 80)"),
            "attributes": self.page.evaluate(
                "[...document.querySelectorAll('*')].flatMap(e => e.getAttributeNames()).sort()"
            ),
            "pages": len(self.page.context.pages),
        }


def work(script: Script, given: argparse.Namespace, answer: str) -> None:
    """Go through the script, reporting each step where there is somebody to report to; ``answer``:
    what it says at the end, if anything."""
    if given.control is None:
        for _, deed in script:
            deed()
        return
    from milestoned_client import ControlDir, RewardClient

    # The token is the daemon's own: beside it, an agent's harness needs none of the service's.
    with RewardClient("http://service.invalid", "", control=ControlDir(given.control)) as client:
        episode = client.episode(given.episode)
        for number, (says, deed) in enumerate(script):
            episode.step({"says": says}, step=number)
            deed()
            if answer and number == len(script) - 1:
                episode.answer(answer)
            episode.end_step(number)


def launch(playwright: Any, given: argparse.Namespace) -> BrowserContext:
    """Start Chromium with a profile of its own, listening where the daemon can find it."""
    context: BrowserContext = playwright.chromium.launch_persistent_context(
        given.profile,
        executable_path=given.chromium,
        headless=not given.headed,
        args=list(FLAGS),
        accept_downloads=True,
    )
    return context


def parser(name: str, about: str | None) -> argparse.ArgumentParser:
    """The options that every scripted agent takes."""
    options = argparse.ArgumentParser(prog=name, description=about)
    options.add_argument("--shop", required=True, help="the site's address")
    options.add_argument("--profile", type=Path, required=True, help="the browser's profile folder")
    options.add_argument("--downloads", type=Path, required=True, help="where downloads are saved")
    options.add_argument(
        "--control", type=Path, help="the daemon's state folder; none: work unobserved"
    )
    options.add_argument("--episode", default="", help="the episode's id")
    options.add_argument(
        "--wait", action="store_true", help="wait for a line of input before the first step"
    )
    options.add_argument("--report", type=Path, help="where to write how the browser was left")
    options.add_argument("--chromium", default=shutil.which("chromium"), help="the browser to use")
    options.add_argument("--headed", action="store_true", help="show the browser")
    return options


def run(
    given: argparse.Namespace, begin: Callable[[Page, str, Path], Hands], answer: str = ""
) -> int:
    """Launch the browser, work through the script of what ``begin`` makes of its page, and end."""
    given.downloads.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        context = launch(playwright, given)
        if given.wait:
            print("ready", flush=True)
            sys.stdin.readline()
        agent = begin(context.pages[0], given.shop.rstrip("/") + "/", given.downloads)
        work(agent.script(), given, answer)
        if given.wait:
            # The browser stays until the episode is closed: its end would be a gap in what the
            # daemon sees.
            print("done", flush=True)
            sys.stdin.readline()
        if given.report is not None:
            given.report.write_text(json.dumps(agent.state(), indent=1))
        context.close()
    return 0


def main() -> int:
    """Work through the shop once; exit 0 when all of it went as scripted."""
    answer = "I bought the desk lamp and have its invoice."
    return run(parser("agent", __doc__).parse_args(), Agent, answer)


if __name__ == "__main__":
    sys.exit(main())
