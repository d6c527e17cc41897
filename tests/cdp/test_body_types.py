"""Pages of the agent's own making that send the right fields as something that the site does not
read."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Page

from detectors.engine.engine import Engine
from detectors.model.kinds import KINDS
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset
from tests.cdp.site import Site
from tests.cdp.watching import watching
from tests.support.chromium import Chromium, needs_chromium
from tests.support.logs import ruleset

pytestmark = [pytest.mark.browser, needs_chromium]

TEXT = "'name=Ada&qty=2'"
NAMES = "'content-type': 'text/plain; x=multipart/form-data'"
FORM = "'content-type': 'application/x-www-form-urlencoded'"
# What a page's script sends, and whether a site that goes by content type has an order of Ada's.
SENT: list[tuple[str, str, bool]] = [
    ("a form's body", f"{{body: {TEXT}, headers: {{{FORM}}}}}", True),
    ("URLSearchParams", f"{{body: new URLSearchParams({TEXT})}}", True),
    (
        "FormData",
        "{body: (() => { const f = new FormData(); f.append('name', 'Ada'); return f })()}",
        True,
    ),
    (
        "JSON",
        "{body: JSON.stringify({name: 'Ada'}), headers: {'content-type': 'application/json'}}",
        True,
    ),
    ("a text", f"{{body: {TEXT}}}", False),
    ("a text of JSON", "{body: JSON.stringify({name: 'Ada'})}", False),
    ("a blob without a type", f"{{body: new Blob([{TEXT}])}}", False),
    (
        "a blob of a form's type",
        f"{{body: new Blob([{TEXT}], {{type: 'application/x-www-form-urlencoded'}})}}",
        True,
    ),
    (
        "a text that names a form",
        f"{{body: {TEXT}, headers: {{{NAMES}}}}}",
        False,
    ),
    ("another name last", f"{{body: 'name=Ada&name=Eve', headers: {{{FORM}}}}}", False),
    ("his name last", f"{{body: 'name=Eve&name=Ada', headers: {{{FORM}}}}}", True),
]


def rules_at(origin: str) -> Ruleset:
    order = {"method": "POST", "url": "/up", "body": {"name": "Ada"}}
    when = {"request_accepted": order}
    return ruleset(
        {"id": "m", "when": when, "component": "form"}, weights={"form": 1}, origin=origin
    )


@pytest.mark.parametrize(
    ("options", "is_so"), [case[1:] for case in SENT], ids=[case[0] for case in SENT]
)
async def test_an_order_is_one_as_the_site_reads_it(
    browser: Chromium, page: Page, site: Site, options: str, is_so: bool
) -> None:
    """From Chromium to the reward."""
    site.page("/up", "ok")
    url, rules = site.page("/", "<title>shop</title>"), rules_at(site.url)
    async with watching(browser, rules.plan("ep_1")) as watch:
        await page.goto(url)
        await page.evaluate(f"fetch('/up', {{method: 'POST', ...{options}}}).then((r) => r.text())")
        finished = await watch.one("request.finished", url=f"{site.url}/up")
    said: list[tuple[str, dict[str, Any]]] = [
        ("step.began", {"step": 0}), ("request.finished", finished), ("step.sealed", {"step": 0, "reason": "quiet"}),
    ]  # fmt: skip
    log = [
        Event("ep_1", n, KINDS[kind].source, kind, n, data)
        for n, (kind, data) in enumerate(said, 1)
    ]
    [reward] = Engine(rules, "ep_1").feed(log).rewards
    assert reward.reward == float(is_so)
