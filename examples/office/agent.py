"""The office's scripted agent: for each family of desktop work a right run and a wrong one, with Playwright.

It knows nothing of rewards, as the shop's own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Dialog, Page

from ..shop.agent import Script, parser, run

MINUTES = "Minutes of Monday\n- The pier is painted in June.\n- Ada orders the paint.\n"


class OfficeAgent:
    """The agent's hands in the office: one page, and whether it says yes to a dialog."""

    def __init__(self, page: Page, office: str, downloads: Path, family: str, kind: str) -> None:
        self.page, self.office, self.downloads = page, office, downloads
        self._family, self._is_right = family, kind == "right"
        page.on("dialog", self._answer)

    def script(self) -> Script:
        """What it does in its family, in order."""
        scripts: dict[str, Callable[[], Script]] = {
            "web": self.read_a_price,
            "form": self.request_leave,
            "files": self.download_a_report,
            "mail": self.send_the_minutes,
            "settings": self.go_dark,
            "search": self.find_a_document,
        }
        return scripts[self._family]()

    def state(self) -> dict[str, Any]:
        """Where it left the browser."""
        return {"url": self.page.url.removeprefix(self.office)}

    def read_a_price(self) -> Script:
        said = "answer the monthly price" if self._is_right else "answer the yearly price"
        return [
            ("open the plans", self._go("plans")),
            ("open the Team plan", self._click("link", "Team plan")),
            (said, self._read),
        ]

    def request_leave(self) -> Script:
        said = "send it: answer yes" if self._is_right else "send it: answer no"
        return [
            ("open the leave form", self._go("leave")),
            ("fill in the name", lambda: self._fill("Name", "Ada Lovelace")),
            ("fill in first day and days", self._fill_days),
            (said, self._send_request),
        ]

    def download_a_report(self) -> Script:
        month = "June" if self._is_right else "May"
        return [
            ("open the reports", self._go("reports")),
            (f"download {month}'s report", lambda: self._download(f"{month} as CSV")),
        ]

    def send_the_minutes(self) -> Script:
        attach = [("attach minutes.txt", self._attach)] if self._is_right else []
        return [
            ("open the mailbox", self._go("mail")),
            ("write a message", self._click("link", "Write")),
            ("fill in recipient and subject", self._address),
            *attach,
            ("send it" if self._is_right else "send it, the file forgotten", self._send),
        ]

    def go_dark(self) -> Script:
        last = ("save", self._save) if self._is_right else ("leave without saving", self._go(""))
        return [
            ("open the settings", self._go("settings")),
            ("open the panel Display", self._click("link", "Display")),
            ("turn dark mode on", self._click("switch", "Dark mode")),
            last,
        ]

    def find_a_document(self) -> Script:
        year = "2026" if self._is_right else "2025"
        return [
            ("open the library", self._go("library")),
            ("search for tide tables", self._search),
            (f"open the tables of {year}", self._click("link", f"Tide tables {year}")),
        ]

    def _answer(self, dialog: Dialog) -> None:
        dialog.accept() if self._is_right else dialog.dismiss()

    def _go(self, path: str) -> Callable[[], None]:
        return lambda: self._open(path)

    def _open(self, path: str) -> None:
        self.page.goto(self.office + path)

    def _click(self, role: Any, name: str) -> Callable[[], None]:
        return lambda: self.page.get_by_role(role, name=name).click()

    def _fill(self, label: str, text: str) -> None:
        """Click the field and type, as a person would: `fill` of Playwright focuses by script."""
        field = self.page.get_by_label(label, exact=True)
        field.click()
        field.press_sequentially(text)

    def _read(self) -> None:
        self.page.get_by_text("a month").wait_for()

    def _fill_days(self) -> None:
        self._fill("First day", "2026-07-01")
        self._fill("Days", "3")

    def _send_request(self) -> None:
        self.page.get_by_role("button", name="Send request").click()
        if self._is_right:
            self.page.get_by_text("Your request was sent.").wait_for()

    def _download(self, link: str) -> None:
        with self.page.expect_download() as download:
            self.page.get_by_role("link", name=link).click()
        download.value.save_as(self.downloads / download.value.suggested_filename)

    def _address(self) -> None:
        self._fill("To", "mara@harbour.example")
        self._fill("Subject", "Minutes of Monday")

    def _attach(self) -> None:
        minutes = self.downloads.parent / "minutes.txt"
        minutes.write_text(MINUTES, encoding="utf-8")
        self.page.get_by_label("Attachment").set_input_files(minutes)

    def _send(self) -> None:
        self.page.get_by_role("button", name="Send").click()
        self.page.get_by_text("Your message was sent.").wait_for()

    def _save(self) -> None:
        self.page.get_by_role("button", name="Save").click()
        self.page.get_by_text("Changes saved").wait_for()

    def _search(self) -> None:
        self._fill("Search for", "tide tables")
        self.page.get_by_role("button", name="Search").click()
        self.page.get_by_text("2 found").wait_for()


ANSWERS = {("web", "right"): "€24.00", ("web", "wrong"): "€240.00"}
"""What the agent answers at the end of a run, where it is asked something."""


def main() -> int:
    """Work through one run; exit 0 when all of it went as scripted."""
    options = parser("office-agent", __doc__)
    options.add_argument("--family", required=True, help="web, form, files, mail, settings, search")
    options.add_argument("--run", required=True, choices=("right", "wrong"), help="which run")
    given = options.parse_args()

    def begin(page: Page, office: str, downloads: Path) -> OfficeAgent:
        return OfficeAgent(page, office, downloads, given.family, given.run)

    return run(given, begin, ANSWERS.get((given.family, given.run), ""))


if __name__ == "__main__":
    sys.exit(main())
