"""A scripted agent that works in Thunderbird: it writes a profile, starts the program and uses its keyboard, by xdotool.

It knows nothing of rewards. DISPLAY and DBUS_SESSION_BUS_ADDRESS name the desktop.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from ..shop.agent import Script, work
from .agent import MINUTES

TO, SUBJECT = "mara@harbour.example", "Minutes of Monday"
PATIENCE_S = 60.0
"""How long the program may take for anything."""
ACCOUNT: dict[str, str | int | bool] = {
    "mail.accountmanager.accounts": "account1,account2",
    "mail.accountmanager.defaultaccount": "account1",
    "mail.account.account1.identities": "id1",
    "mail.account.account1.server": "server1",
    "mail.account.account2.server": "server2",
    "mail.identity.id1.fullName": "Ada Lovelace",
    "mail.identity.id1.useremail": "ada@harbour.example",
    "mail.identity.id1.compose_html": False,
    "mail.identity.id1.smtpServer": "smtp1",
    "mail.identity.id1.valid": True,
    "mail.server.server1.type": "pop3",
    "mail.server.server1.hostname": "127.0.0.1",
    "mail.server.server1.userName": "ada",
    "mail.server.server1.name": "ada@harbour.example",
    "mail.server.server1.login_at_startup": False,
    "mail.server.server1.check_new_mail": False,
    "mail.server.server2.type": "none",
    "mail.server.server2.hostname": "Local Folders",
    "mail.server.server2.userName": "nobody",
    "mail.smtpservers": "smtp1",
    "mail.smtp.defaultserver": "smtp1",
    "mail.smtpserver.smtp1.hostname": "127.0.0.1",
    "mail.smtpserver.smtp1.authMethod": 1,
    "mail.smtpserver.smtp1.try_ssl": 0,
}
"""One account: nothing is fetched for it, and what is sent goes to the server of the demo."""
QUIET: dict[str, str | int | bool] = {
    "app.donation.eoy.version.viewed": 1000,
    "app.update.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "mail.compose.attachment_reminder": False,
    "mail.enable_autocomplete": False,
    "mail.compose.big_attachments.notify": False,
    "mail.inappnotifications.enabled": False,
    "mail.provider.suppress_dialog_on_startup": True,
    "mail.rights.version": 1,
    "mail.shell.checkDefaultClient": False,
    "mail.spotlight.firstRunDone": True,
    "mail.warn_on_send_accel_key": False,
    "mailnews.database.global.indexer.enabled": False,
    "mailnews.start_page.enabled": False,
    "network.dns.disabled": True,
    "widget.use-xdg-desktop-portal.file-picker": 0,
}
"""No questions at the start, and no name is looked up: the program asks nobody outside."""


class MailAgent:
    """The agent's hands: the keyboard of a desktop, and what stands in the titles of its windows."""

    def __init__(self, home: Path, server_port: int, kept: Path, kind: str) -> None:
        self._home, self._kept, self._is_right = home, kept, kind == "right"
        self._minutes = home / "minutes.txt"
        self._minutes.write_text(MINUTES, encoding="utf-8")
        profile = home / "profile"
        write_profile(profile, server_port)
        self.program = subprocess.Popen(["thunderbird", "--no-remote", "--profile", str(profile)])

    def script(self) -> Script:
        """What it does, in order."""
        attach = [("attach minutes.txt", self._attach)] if self._is_right else []
        return [
            ("write a message", self._write),
            ("fill in recipient and subject", self._address),
            *attach,
            ("send it" if self._is_right else "send it, the file forgotten", self._send),
        ]

    def await_start(self) -> None:
        """Wait until the program's first window shows the account."""
        self._activate("^ada@harbour.example - ")

    def _write(self) -> None:
        self._keys("ctrl+n")
        self._activate("^Write: .* - Thunderbird$")

    def _address(self) -> None:
        """The editor begins with the receiver; its title has the subject once all was typed."""
        self._type(TO)
        self._keys("Tab", "alt+s")
        self._type(SUBJECT)
        self._await(lambda: SUBJECT in self._titles(), "the subject stands in the title")

    def _attach(self) -> None:
        self._keys("ctrl+shift+a")
        self._activate("^Attach")
        self._keys("ctrl+l", "ctrl+a")
        self._type(str(self._minutes))
        self._await(self._has_opened, "the file dialog is gone")
        self._activate("^Write:")

    def _has_opened(self) -> bool:
        """Press Return in the file dialog until it is gone: it takes the first ones for its list of names,
        while that comes up."""
        if "Attach" not in self._titles():
            return True
        if _xdotool("getactivewindow", "getwindowname").startswith("Attach"):
            self._keys("Return")
        time.sleep(1.0)
        return False

    def _send(self) -> None:
        self._keys("ctrl+Return")
        self._await(lambda: any(self._kept.glob("*.eml")), "the server has the message")
        self._await(lambda: "Write:" not in self._titles(), "the editor is gone")

    def _await(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {PATIENCE_S:g} s")
            time.sleep(0.1)

    def _activate(self, title: str) -> None:
        """Wait for a window and give it the keyboard."""

        def is_active() -> bool:
            found = _xdotool("search", "--onlyvisible", "--name", title).split()
            if not found:
                return False
            _xdotool("windowactivate", "--sync", found[-1])
            return _xdotool("getactivewindow").strip() == found[-1]

        self._await(is_active, f"a window {title!r} has the keyboard")

    def _titles(self) -> str:
        found = _xdotool("search", "--onlyvisible", "--name", ".").split()
        return "\n".join(_xdotool("getwindowname", window) for window in found)

    def _keys(self, *keys: str) -> None:
        _xdotool("key", "--delay", "60", *keys)

    def _type(self, text: str) -> None:
        _xdotool("type", "--delay", "30", text)


def write_profile(folder: Path, server_port: int) -> None:
    """Write the preferences of a profile with one account, which sends to a server on loopback."""
    folder.mkdir(parents=True, exist_ok=True)
    values = {**ACCOUNT, **QUIET, "mail.smtpserver.smtp1.port": server_port}
    lines = [
        f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in values.items()
    ]
    (folder / "user.js").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _xdotool(*command: str) -> str:
    """Run one command; what it says, nothing where it fails, as a search without a result does."""
    done = subprocess.run(
        ["xdotool", *command], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    return done.stdout


def main() -> int:
    """Work through one run; exit 0 when all of it went as scripted."""
    options = argparse.ArgumentParser(prog="mail-agent", description=__doc__)
    options.add_argument("--home", type=Path, required=True, help="for the profile and the file")
    options.add_argument("--server-port", type=int, required=True, help="the mail server's")
    options.add_argument("--kept", type=Path, required=True, help="where the server keeps messages")
    options.add_argument("--run", required=True, choices=("right", "wrong"), help="which run")
    options.add_argument("--control", type=Path, help="the daemon's state folder")
    options.add_argument("--episode", default="", help="the episode's id")
    given = options.parse_args()
    given.home.mkdir(parents=True, exist_ok=True)
    agent = MailAgent(given.home, given.server_port, given.kept, given.run)
    try:
        agent.await_start()
        print("ready", flush=True)
        sys.stdin.readline()
        work(agent.script(), given, "")
        print("done", flush=True)
        sys.stdin.readline()
    finally:
        agent.program.terminate()
        agent.program.wait(PATIENCE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
