"""Notifications, heard on the session bus as a monitor does."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

from agentd.sources.ax.child import PYTHON
from tests.desktop.watching import watching
from tests.support.desktop import Desktop

NOTIFIER = Path(__file__).with_name("notifier.py")


def notify(desktop: Desktop, title: str, body: str) -> bool:
    """Send a notification as a program does; whether a service took it."""
    run = subprocess.run(
        ["gdbus", "call", "--session", "-d", "org.freedesktop.Notifications", "-o", "/org/freedesktop/Notifications",
         "-m", "org.freedesktop.Notifications.Notify", "mailer", "0", "", title, body, "[]", "{}", "1000"],
        env=desktop.environ, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    return run.returncode == 0


async def test_a_notification_is_told_once_a_service_took_it(own_desktop: Desktop) -> None:
    """One that nobody took was not shown; a card's number in one is masked."""
    async with watching(own_desktop) as watch:
        assert not await asyncio.to_thread(notify, own_desktop, "Lost", "nobody shows it")
        own_desktop.start(PYTHON, NOTIFIER)
        for _ in range(600):
            if await asyncio.to_thread(notify, own_desktop, "Paid", "with 4111 1111 1111 1111"):
                break
        told = await watch.one("notification.shown", app="mailer")
        said = {"app": "mailer", "title": "Paid", "body": "with ***", "masked": ["body"]}
        assert told == said
        assert len(watch.all("notification.shown")) == 1
