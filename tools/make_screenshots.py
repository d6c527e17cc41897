"""The pictures of docs/screenshots: a real demo's episode in the service's pages. ``make screenshots``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from api.demo.needs import find_chromium
from tests.api.processes import Process

OUT = Path("docs/screenshots")
WIDE = {"width": 1280, "height": 860}


def main() -> None:
    """Run the demo, look at its pages, keep what is seen."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="milestoned-screenshots-") as folder:
        demo = [sys.executable, "-m", "api.cli", "demo", "--keep", "--out", folder]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
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
    page.get_by_role("link", name="at step 13").first.click()
    page.get_by_role("heading", name="Step 13").wait_for()
    page.evaluate("scrollTo(0, 0)")
    _keep(page, "episode")


def _keep(page: Page, name: str) -> None:
    path = OUT / f"{name}.png"
    page.screenshot(path=path, animations="disabled")
    print(path)


if __name__ == "__main__":
    main()
