"""``python -m tests.miniwob [PAGE...]``: run every script without the daemon and print what the pages pay.

The plain run by which a script is written; the test holds the same scripts to their milestones.
"""

from __future__ import annotations

import sys

from playwright.sync_api import Browser, Error, sync_playwright

from tests.miniwob.script import Act, Entry
from tests.miniwob.site import begin, reward, serve
from tests.miniwob.table import ENTRIES
from tests.support.chromium import EXECUTABLE, FLAGS

WAIT_MS = 5_000


def run(browser: Browser, origin: str, entry: Entry, acts: list[Act]) -> float:
    """Do the acts on a fresh instance; gives the page's raw reward."""
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        begin(page, origin, entry.page, entry.seed)
        for act in acts:
            act.perform(page)
        return reward(page)


def show(browser: Browser, origin: str, entry: Entry) -> bool:
    """Read one page, run its right and its wrong acts, print a line; whether the page agrees with both."""
    with browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(WAIT_MS)
        begin(page, origin, entry.page, entry.seed)
        script = entry.read(page)
    right, wrong = (run(browser, origin, entry, acts) for acts in (script.right, script.wrong))
    print(f"{entry.page:32} {right:6.2f} {wrong:6.2f}  {script.goal}")
    return right > 0 >= wrong


def main(names: list[str]) -> int:
    """Run the named pages, or all; 1 if a page disagrees with its script."""
    flags = [flag for flag in FLAGS if not flag.startswith("--remote-debugging")]
    failed: list[str] = []
    with serve() as origin, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE, args=flags)
        for entry in ENTRIES.values():
            if names and entry.page not in names:
                continue
            try:
                agrees = show(browser, origin, entry)
            except (Error, IndexError, KeyError, StopIteration, ValueError) as error:
                print(f"{entry.page:32} {type(error).__name__}: {str(error)[:400]}")
                agrees = False
            if not agrees:
                failed.append(entry.page)
        browser.close()
    print(f"{len(failed)} disagree: {', '.join(failed)}" if failed else "all agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
