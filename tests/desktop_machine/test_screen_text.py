"""What regions of the screen show, read from a real page's pixels, up to the reward."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast

import pytest
from PIL import Image, ImageDraw, ImageFont
from playwright.async_api import Page, async_playwright

from agentd.core.plan import EpisodePlan
from agentd.masking import MASK, Masker
from agentd.sources.screen import ScreenSource, text_regions
from agentd.sources.screen.cdp import CdpCamera
from tests.desktop_machine.test_screen import MUCH, after
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import episode, ruleset, run
from tests.support.watching import Watch, running

pytest.importorskip("rapidocr", reason="the extra milestoned[ocr] is not installed")
NOTICE, TOTAL = [0, 0, 320, 60], [0, 60, 320, 80]
SHOWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
RULES = ruleset(
    {
        "id": "saved",
        "component": "ui",
        "when": {"screen_text": {"region": NOTICE, "text": "Changes saved"}},
    },
    {
        "id": "total",
        "component": "ui",
        "when": {"screen_text": {"region": TOTAL, "text": {"contains": "Total: 1,234.50 USD"}}},
    },
    weights={"ui": 1},
)


async def show(page: Page, notice: str) -> None:
    """Draw on a canvas: the page's document has no text. Returns once a frame shows it."""
    await page.set_content(
        "<body style='margin: 0'><canvas width=320 height=140></canvas><script>{"
        "const pen = document.querySelector('canvas').getContext('2d'); pen.font = '15px sans-serif';"
        f"pen.fillText({notice!r}, 10, 35); pen.fillText('Lamp', 10, 85);"
        "pen.fillText('Total: 1,234.50 USD', 10, 115); }</script>"
    )
    await page.evaluate(SHOWN)


def source_of(browser: Chromium, folder: Path) -> ScreenSource:
    plan = cast("EpisodePlan", RULES.plan("E"))
    return ScreenSource(
        lambda: CdpCamera(browser.endpoint, None),
        folder,
        MUCH,
        regions=plan["regions"],
        texts=text_regions(plan),
    )


def texts(told: dict[str, Any]) -> list[str | None]:
    return [region.get("text") for region in told["regions"]]


@pytest.mark.browser
@needs_chromium
async def test_drawn_text_is_read_and_paid(tmp_path: Path) -> None:
    async with Chromium() as browser, async_playwright() as playwright:
        agent = await playwright.chromium.connect_over_cdp(browser.endpoint)
        page = agent.contexts[0].pages[0]
        await show(page, "Saving")
        async with running(Watch(source_of(browser, tmp_path))) as watch:
            first = await after(watch, 0)
            await show(page, "Changes saved")
            second = await after(watch, 1)
        await agent.close()
    assert texts(first) == ["Saving", "Lamp\nTotal: 1,234.50 USD"]
    assert texts(second) == ["Changes saved", "Lamp\nTotal: 1,234.50 USD"]
    steps = [[("screen.captured", told)] for told in (first, second)]
    assert [reward.reward for reward in run(RULES, *episode(*steps))] == [0.5, 0.5]


@pytest.mark.browser
@needs_chromium
async def test_without_the_extra_nothing_is_read_and_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The region is measured, and what it shows is null."""
    monkeypatch.setitem(sys.modules, "rapidocr", None)
    async with (
        Chromium() as browser,
        running(Watch(source_of(browser, tmp_path))) as watch,
    ):
        told = await after(watch, 0)
        (alarm,) = watch.all("alarm.raised", part="text")
    assert "milestoned[ocr]" in alarm["reason"]
    assert texts(told) == [None, None]
    reward = run(RULES, *episode([("screen.captured", told)]))[0]
    assert (reward.reward, reward.mask) == (None, True)


def written(text: str, size: tuple[int, int] = (420, 40)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((8, 8), text, fill="black", font=ImageFont.load_default(16))
    return image


def test_secrets_are_masked_and_what_is_the_same_is_not_read_again() -> None:
    from agentd.sources.screen.text_reader import TextReader

    reader = TextReader(Masker())
    card = written("4111 1111 1111 1111")
    assert reader.read((0, 0, 420, 40), card) == MASK
    text = reader.read((0, 0, 420, 40), written("Order 7 placed"))
    assert text == "Order 7 placed"
    assert reader.read((0, 0, 420, 40), written("Order 7 placed")) is text
    assert reader.read((9, 9, 420, 40), written("")) == ""
