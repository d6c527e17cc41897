"""The pictures of docs/screenshots: a real demo's episode in the service's pages. ``make
screenshots``."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import Page, sync_playwright

from api.replay.recordings import read_frames
from lab.demo.needs import find_chromium
from tests.api.processes import Process
from tests.api.service import frames

OUT = Path("docs/screenshots")
WIDE, TALL, PHONE = (
    {"width": 1280, "height": 860},
    {"width": 1280, "height": 1120},
    {"width": 390, "height": 844},
)


def main() -> None:
    """Run the demo, look at its pages, keep what is seen."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="milestoned-screenshots-") as folder:
        demo = [sys.executable, "-m", "api.cli.main", "demo", "--keep", "--out", folder]
        seen = {**os.environ, "AGENTD_VISUAL": "yes", "AGENTD_SCREEN": "cdp"}
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL, env=seen)
        service = Process(Path(folder) / "work" / "service")
        service.start()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=find_chromium(), args=["--no-sandbox"]
                )
                _take(browser.new_page(base_url=service.url, viewport=WIDE), service)
                browser.close()
        finally:
            service.stop_if_running()


def _take(page: Page, service: Process) -> None:
    page.goto("/")
    page.get_by_label("Token").fill(service.admin)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/episodes")
    _keep(page, "episodes")
    page.locator("tbody a").first.click()
    _episode(page)
    _many(page, service)


def _episode(page: Page) -> None:
    """One milestone, lit in all lanes, and the replay at its step; on a phone, too, in the dark."""
    page.set_viewport_size(TALL)
    page.locator(".milestones").get_by_role("link", name="order").click()
    page.get_by_role("heading", name="order").wait_for()
    page.frame_locator(".looks iframe").frame_locator("iframe").first.get_by_text(
        "Thank you"
    ).wait_for()
    page.locator(".line.lit").first.wait_for()
    _keep(page, "episode")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)
    page.locator("#place").wait_for()
    _keep(page, "episode-phone")


MANY = (
    ("fleet", "/fleet"),
    ("task", "/tasks/shop/buy-lamp"),
    ("training", "/training"),
    ("audit", "/audit?verify=newest"),
    ("label", "/label"),
    ("list", "/episodes?label=policy%3D4"),
)


def _many(page: Page, service: Process) -> None:
    """The pages of many episodes: the demo's own log again and again, of an agent that gives up
    ever later."""
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(WIDE)
    with httpx.Client(
        base_url=service.url, headers={"authorization": f"Bearer {service.admin}"}, timeout=60
    ) as http:
        _fill(http, page.url.split("/episodes/")[1].partition("?")[0].partition("#")[0])
        page.wait_for_timeout(3_000)  # the audit signs what is closed once a second
    for name, path in MANY:
        page.goto(
            path, wait_until="load" if name == "fleet" else "networkidle"
        )  # the fleet's stream never ends
        _keep(page, name)
    page.goto("/episodes")
    for place in (0, 20):
        page.locator("tbody input").nth(place).check()
    page.get_by_role("button", name="Compare").click()
    page.locator("tr.differs").first.wait_for()
    _keep(page, "compare")
    page.goto("/editor?task=shop/buy-lamp")
    field = page.get_by_role("textbox", name="The task, in YAML")
    page.locator(".cm-content").wait_for()
    field.click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nshap")
    page.get_by_role("option", name="shaping").wait_for()
    _keep(page, "editor")


def _fill(http: httpx.Client, demo: str) -> None:
    """Episodes of four policy versions, each the demo's up to some step; the later the version, the
    further."""
    told = http.get(f"/v1/episodes/{demo}").json()
    packed = http.get(f"/v1/episodes/{demo}/recording").content
    events = [event for segment in read_frames(packed, demo) for event in segment.events]
    began = [place for place, event in enumerate(events) if event.kind == "step.began"]
    chance = random.Random(4)
    for policy in range(1, 5):
        for _ in range(24):
            stop = min(len(began), chance.randint(policy * 3, policy * 3 + 8))
            kept = events if stop == len(began) else [*events[: began[stop]], events[-1]]
            body = {"task": told["task"], "version": told["version"], "labels": {"policy": policy}}
            opened = http.post("/v1/episodes", json=body).raise_for_status().json()
            log = [
                event._replace(episode=opened["episode"], seq=seq)
                for seq, event in enumerate(kept, 1)
            ]
            path, headers = (
                f"/v1/episodes/{opened['episode']}/events",
                {"authorization": f"Bearer {opened['token']}"},
            )
            for frame in frames(log, [500] * (len(log) // 500)):
                http.post(path, content=frame, headers=headers).raise_for_status()
    for name, labels in (
        ("sandbox-1", {"os": "debian"}),
        ("sandbox-2", {"os": "debian", "gpu": "none"}),
    ):
        body = {"name": name, "instance": name * 4, "labels": labels, "agentd": "0.1.0", "wire": 1}
        http.post("/v1/sandboxes", json=body).raise_for_status()


def _keep(page: Page, name: str) -> None:
    path = OUT / f"{name}.png"
    page.screenshot(path=path, animations="disabled")
    print(path)


if __name__ == "__main__":
    main()
