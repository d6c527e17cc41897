"""The pictures of docs/screenshots: a real demo's episode in the service's pages. ``make screenshots``."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from api.demo.needs import find_chromium
from tests.api.processes import Process

OUT = Path("docs/screenshots")
WIDE, TALL, PHONE = {"width": 1280, "height": 860}, {"width": 1280, "height": 1120}, {"width": 390, "height": 844}


def main() -> None:
    """Run the demo, look at its pages, keep what is seen."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="milestoned-screenshots-") as folder:
        demo = [sys.executable, "-m", "api.cli", "demo", "--keep", "--out", folder]
        seen = {**os.environ, "AGENTD_VISUAL": "yes", "AGENTD_SCREEN": "cdp"}
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL, env=seen)
        service = Process(Path(folder) / "work" / "service")
        service.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
                _take(browser.new_page(base_url=service.url, viewport=WIDE), service.admin)
                browser.close()
        finally:
            service.stop_if_running()


def _take(page: Page, token: str) -> None:
    page.goto("/")
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/episodes")
    _keep(page, "episodes")
    page.locator("tbody a").first.click()
    _episode(page)


def _episode(page: Page) -> None:
    """One milestone, lit in all lanes, and the replay at its step; on a phone, too, in the dark."""
    page.set_viewport_size(TALL)
    page.locator(".milestones").get_by_role("link", name="order").click()
    page.get_by_role("heading", name="order").wait_for()
    page.frame_locator(".looks iframe").frame_locator("iframe").first.get_by_text("Thank you").wait_for()
    page.locator(".line.lit").first.wait_for()
    _keep(page, "episode")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    page.locator("#place").wait_for()
    _keep(page, "episode-phone")


def _keep(page: Page, name: str) -> None:
    path = OUT / f"{name}.png"
    page.screenshot(path=path, animations="disabled")
    print(path)


if __name__ == "__main__":
    main()
