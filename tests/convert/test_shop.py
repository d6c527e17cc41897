"""A session at the shop, watched live and recorded by Playwright: the same milestones from its
trace and its HAR."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Dialog

from api.replay.recordings import replay
from api.tasks.task_files import check_task
from detectors.engine.engine import Engine
from detectors.model.types import Reward
from detectors.task.ruleset import compile_task
from tests.convert.making import converted, of
from tests.e2e.conftest import playwright, service, shopping  # noqa: F401
from tests.support.shopping import Session

pytestmark = pytest.mark.browser

MILESTONES: list[dict[str, Any]] = [
    {"id": "product-page", "when": {"url_reached": {"url": "/products/lamp"}}},
    {"id": "add", "when": {"element_clicked": {"role": "button", "name": "Add to cart"}}},
    {"id": "name", "when": {"field_filled": {"field": "Name", "value": "Ada"}}},
    {"id": "terms", "when": {"field_filled": {"field": "I accept the terms", "checked": True}}},
    {"id": "order", "component": "goal", "when": {"request_accepted": {
        "method": "POST", "url": "/orders", "redirect_to": "/orders/*", "body": {"name": "Ada"}}}},
    {"id": "history", "when": {"url_reached": {"url": "/account/history", "loaded": False}}},
    {"id": "kept", "when": {"dialog_answered": {
        "type": "confirm", "message": {"contains": "ancel"}, "accepted": False}}},
]  # fmt: skip
NEVER = {"id": "never", "when": {"url_reached": {"url": "/nowhere"}}}


class Shopped:
    """One session: ``live`` are its rewards, ``trace`` and ``har`` what Playwright recorded of
    it."""

    def __init__(self, session: Session, folder: Path) -> None:
        self.origin = session.shop.rstrip("/")
        self.trace, self.har = folder / "trace.zip", folder / "shop.har"
        browser = session.context.browser
        assert browser is not None
        session.context = browser.new_context(record_har_path=self.har)
        session.context.tracing.start(snapshots=True)
        session.page = session.context.new_page()
        session.page.on("dialog", self._dismiss)
        session.open(*MILESTONES, NEVER)
        deeds = (
            session.goto("products/lamp"),
            self._come_to("**/cart", session.click("button", "Add to cart")),
            session.fill_order,
            self._come_to("**/orders/1001", session.click("button", "Place order")),
            session.goto("account"),
            session.click("tab", "History"),
            session.click("button", "Cancel order 1001"),
        )
        self._page = session.page
        self.live = [session.act(deed) for deed in deeds]
        session.context.tracing.stop(path=self.trace)
        session.context.close()

    def _come_to(self, url: str, deed: Callable[[], object]) -> Callable[[], object]:
        """The deed and the page that it leads to: the next one would break off what is under way,
        where a busy machine takes longer for it than a step's quiet is."""

        def come() -> None:
            deed()
            self._page.wait_for_url(url)

        return come

    def _dismiss(self, dialog: Dialog) -> None:
        dialog.dismiss()

    def scored(
        self, path: Path, folder: Path, *milestones: dict[str, Any], **how: Any
    ) -> tuple[Engine, list[Reward]]:
        """A recording of ``path``, scored by these milestones."""
        converted(path, folder, **how)
        task = {"id": "test/shop", "version": "1", "instruction": "Shop.", "origin": self.origin}
        ruleset = compile_task(check_task(task | {"milestones": list(milestones)}))
        return replay(folder / "made.mrec", ruleset)


def earned(rewards: list[Any]) -> list[str]:
    return [milestone.id for reward in rewards for milestone in reward.milestones]


def requests(path: Path, folder: Path) -> list[tuple[str, str, int]]:
    events = converted(path, folder)
    told = [*of(events, "request.redirected"), *of(events, "request.finished")]
    return sorted((data["method"], data["url"], data["status"]) for data in told)


def test_a_trace_and_a_har_earn_what_they_can_show(shopping: Session, tmp_path: Path) -> None:  # noqa: F811
    """All of it from the trace, in the same order; from the HAR its documents and requests."""
    shopped = Shopped(shopping, tmp_path)
    live = earned(shopped.live)
    assert live == [one["id"] for one in MILESTONES]
    engine, rewards = shopped.scored(shopped.trace, tmp_path, *MILESTONES, NEVER)
    assert earned(rewards) == live
    assert engine.total == pytest.approx(sum(reward.reward or 0 for reward in shopped.live))

    engine, rewards = shopped.scored(shopped.har, tmp_path, *MILESTONES, NEVER)
    assert earned(rewards) == ["product-page", "order"]
    assert engine.total is None, (
        "clicks, fields, dialogs and routes are in no HAR: what they were worth is not known"
    )
    order = [one for one in MILESTONES if one["id"] == "order"]
    engine, rewards = shopped.scored(shopped.har, tmp_path, *order)
    assert engine.total == pytest.approx(engine.ruleset.attainable)
    assert requests(shopped.har, tmp_path) == requests(shopped.trace, tmp_path)
