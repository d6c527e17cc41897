"""A browser on the accessibility bus, with its accessibility switch and without."""

from __future__ import annotations

import pytest

from tests.desktop.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.desktop import Desktop

pytestmark = [needs_chromium, pytest.mark.browser]

PAGE = """<title>A form</title><form>
<label>Name <input></label><label>Secret <input type=password></label>
<label><input type=checkbox> Agree</label>
<button type=button onclick="document.title = 'Sent'">Send</button></form>"""


async def test_without_its_switch_it_is_unobservable_and_that_is_said(desktop: Desktop) -> None:
    """Its window is there and nothing is in it: a partial gap and an alarm, both over when it is
    gone."""
    async with watching(desktop) as watch:
        with Chromium(headless=False, environ=desktop.environ, url=f"data:text/html,{PAGE}"):
            gap = await watch.one("gap.began", source="ax", part="Chromium")
            assert "--force-renderer-accessibility" in gap["reason"]
            await watch.one("alarm.raised", source="ax", part="Chromium")
            assert watch.all("window.opened", app="Chromium")
        await watch.one("gap.ended", source="ax", part="Chromium")
        await watch.one("alarm.ended", source="ax", part="Chromium")
        kinds = [kind for kind, data in watch.seen if data.get("part") == "Chromium"]
        assert kinds == ["gap.began", "alarm.raised", "gap.ended", "alarm.ended"]


async def test_with_its_switch_a_form_is_told_and_its_password_is_not(desktop: Desktop) -> None:
    """Typed, toggled; the password's field was changed, and that is all that is said of it."""
    async with watching(desktop, {"hears": None, "also": ["widget.text_inserted"]}) as watch:
        with Chromium(
            "--force-renderer-accessibility",
            headless=False,
            environ=desktop.environ,
            url=f"data:text/html,{PAGE}",
        ):
            await watch.until(lambda: watch.all("widget.focused", role="document web"))
            await watch.window("A form")
            await watch.keys("Tab")
            await watch.one("widget.focused", name="Name")
            await watch.type("hey")
            await watch.until(lambda: "hey" in watch.texts(name="Name"))
            await watch.keys("Tab")
            await watch.one("widget.focused", name="Secret", role="password text")
            await watch.type("geheim")
            await watch.until(lambda: watch.texts(name="Secret"))
            await watch.keys("Tab", "space")
            await watch.one("widget.state_changed", name="Agree", state="checked", on=True)
            await watch.keys("Tab", "Return")
            await watch.until(
                lambda: [
                    one
                    for one in watch.all("window.title_changed")
                    if one["title"].startswith("Sent")
                ]
            )
        assert not watch.all("gap.began", part="Chromium")
        assert set(watch.texts(name="Secret")) == {"***"}
        assert "geheim" not in str(watch.seen)
        assert {one["text"] for one in watch.all("widget.text_inserted", name="Secret")} == {"***"}
