"""The docs site (`make site`): builds without a warning, holds every page, fetches nothing from
elsewhere and can be searched from the disk."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.async_api import Playwright, expect

from tests.support.chromium import LEAN, needs_chromium

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
VENV = ROOT / ".venv-site"
needs_generator = pytest.mark.skipif(
    not (VENV / "ready").exists(), reason=f"{VENV.name} is missing; `make {VENV.name}/ready`"
)


def build(folder: Path, pages: Path = DOCS) -> subprocess.CompletedProcess[str]:
    """Build ``pages`` into ``folder``/.build/site, as `make site` does."""
    shutil.copytree(pages, folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    command = [ROOT / "tools" / "build-site", VENV, folder]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(folder)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder / ".build" / "site"


def navigation(entry: object) -> Iterator[str]:
    """Yield the pages of ``nav`` in zensical.toml, in order."""
    if isinstance(entry, str):
        yield entry
        return
    assert isinstance(entry, list | dict), f"nav: expected a list or a table, got {entry!r}"
    for part in entry.values() if isinstance(entry, dict) else entry:
        yield from navigation(part)


def test_every_page_stands_in_the_navigation_once() -> None:
    settings = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    pages = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    assert Counter(navigation(settings["nav"])) == Counter(pages)


@pytest.mark.slow_where("dead anchor")
@needs_generator
@pytest.mark.parametrize(
    "text",
    ["[gone](no-such-page.md)", "[gone](rules.md#no-such-heading)"],
    ids=["dead link", "dead anchor"],
)
def test_a_dead_link_fails_the_build(tmp_path: Path, text: str) -> None:
    pages = tmp_path / "pages"
    shutil.copytree(DOCS, pages)
    with (pages / "index.md").open("a") as index:
        index.write(f"\n{text}\n")
    built = build(tmp_path, pages)
    assert built.returncode != 0
    assert "does not exist" in built.stdout + built.stderr


class ResourceParser(HTMLParser):
    """Collects what a browser fetches when it opens a page: all addresses but those of links."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            return
        for name, value in attrs:
            if name in ("src", "srcset", "href", "data", "poster"):
                self.addresses.append(value or "")


@needs_generator
def test_no_page_names_a_resource_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) >= len(list(DOCS.rglob("*.md")))
    for page in pages:
        parser = ResourceParser()
        parser.feed(page.read_text())
        assert any(address.endswith(".css") for address in parser.addresses)
        for address in parser.addresses:
            assert not re.match(r"(?:[a-z]+:)?//", address), f"{page.name}: {address}"
            path = (page.parent / address.partition("#")[0].partition("?")[0]).resolve()
            # The page for an unknown address is made to be served at the root of a host.
            assert path.exists() or page.name == "404.html", f"{page.name}: {address}"
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", sheet.read_text()), sheet


@needs_generator
@needs_chromium
@pytest.mark.browser
async def test_pages_are_read_and_searched_from_the_disk(
    site: Path, one_playwright: Playwright
) -> None:
    browser = await one_playwright.chromium.launch(executable_path=LEAN, args=["--no-sandbox"])
    async with browser:
        page = await browser.new_page()
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        for path in ("architecture.html", "decisions/index.html", "rules.html", "index.html"):
            await page.goto((site / path).as_uri())
        await page.get_by_role("button", name="Search").click()
        await page.keyboard.type("settling")
        result = page.get_by_role("option", name="When it is final")
        await expect(result).to_be_visible()
        await result.click()
        await expect(page).to_have_url(re.compile(r"rewards\.html"))
        assert [url for url in requests if not url.startswith("file:")] == []
