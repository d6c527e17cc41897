"""What pays and what does not, on real pages in real Chromium: navigation, forms, frames, popups,
dialogs, files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.shopping import Session

pytestmark = pytest.mark.browser

ORDER = {
    "id": "order",
    "component": "goal",
    "when": {"request_accepted": {"method": "POST", "url": "/orders", "redirect_to": "/orders/*"}},
}


@pytest.mark.slow
def test_a_route_changed_by_script_is_reached_without_a_request(shopping: Session) -> None:
    shopping.open(
        {"id": "history", "when": {"url_reached": {"url": "/account/history", "loaded": False}}}
    )
    assert shopping.act(shopping.goto("account")).reward == 0
    reward = shopping.act(shopping.click("tab", "History"))
    assert [m.id for m in reward.milestones] == ["history"]
    assert reward.reward == pytest.approx(0.1)
    navigated = {event.seq: event for event in shopping.events("page.navigated")}
    assert navigated[reward.milestones[0].evidence[0]].data["same_document"] is True


@pytest.mark.slow
def test_a_form_filled_by_halves_pays_by_halves(shopping: Session) -> None:
    fields = {"Name": "Ada Lovelace", "E-mail": "ada@example.org"}
    shopping.open({"id": "details", "when": {"form_filled": {"fields": fields}}})
    assert shopping.act(shopping.put_in_cart).reward == 0
    first = shopping.act(lambda: shopping.page.get_by_label("Name").fill("Ada Lovelace"))
    second = shopping.act(lambda: shopping.page.get_by_label("E-mail").fill("ada@example.org"))
    assert [first.reward, second.reward] == pytest.approx([0.1, 0.1])
    again = shopping.act(lambda: shopping.page.get_by_label("Name").fill("Grace Hopper"))
    back = shopping.act(lambda: shopping.page.get_by_label("Name").fill("Ada Lovelace"))
    assert (again.reward, back.reward) == (0, 0), "toggling earns nothing"


def test_a_click_by_page_script_pays_nothing_and_the_agents_own_does(shopping: Session) -> None:
    shopping.open(
        {"id": "add", "when": {"element_clicked": {"role": "button", "name": "Add to cart"}}}
    )

    def be_clicked_for() -> None:
        shopping.goto("scripted")()
        shopping.page.wait_for_url("**/cart")

    assert shopping.act(be_clicked_for).reward == 0
    assert [event.data["trusted"] for event in shopping.events("element.clicked")] == [False]
    assert shopping.act(shopping.put_in_cart).reward == pytest.approx(0.2)


@pytest.mark.slow
def test_a_popup_is_watched_from_its_first_page_on(shopping: Session) -> None:
    shopping.open({"id": "terms", "when": {"url_reached": {"url": "/terms"}}})
    shopping.act(shopping.goto("dialogs"))

    def open_terms() -> None:
        with shopping.page.expect_popup() as popup:
            shopping.click("button", "Terms in a window")()
        popup.value.get_by_text("We send lamps.").wait_for()

    assert shopping.act(open_terms).reward == pytest.approx(0.1)
    assert shopping.events("tab.opened")[-1].data["opener"]


@pytest.mark.slow
def test_a_frame_in_another_process_is_watched_too(shopping: Session) -> None:
    other = shopping.shop.rstrip("/").replace("127.0.0.1", "localhost")
    shopping.open(
        {"id": "town", "when": {"field_filled": {"field": "Town", "value": "London"}}},
        {"id": "pick", "when": {"element_clicked": {"role": "button", "name": "Pick up here"}}},
        hosts=[other],
    )
    shopping.act(shopping.put_in_cart)
    targets = shopping.context.new_cdp_session(shopping.page).send("Target.getTargets")[
        "targetInfos"
    ]
    assert any(one["type"] == "iframe" and "/pickup" in one["url"] for one in targets), (
        "not a process of its own"
    )
    frame = shopping.page.frame_locator("iframe[title='Pick-up points']")
    assert shopping.act(lambda: frame.get_by_label("Town").fill("London")).reward == pytest.approx(
        0.2
    )
    picked = shopping.act(lambda: frame.get_by_role("button", name="Pick up here").click())
    assert picked.reward == pytest.approx(0.2)


@pytest.mark.slow
def test_a_confirm_is_answered_by_the_agent_alone(shopping: Session) -> None:
    shopping.open(
        {
            "id": "cancelled",
            "penalty": 0.2,
            "when": {
                "dialog_answered": {
                    "type": "confirm",
                    "message": {"contains": "cancel"},
                    "accepted": True,
                }
            },
        },
        ORDER,
    )
    shopping.act(shopping.put_in_cart)
    assert shopping.act(shopping.place_order).reward == pytest.approx(0.2)
    shopping.act(shopping.goto("account/history"))
    shopping.page.once("dialog", lambda dialog: dialog.dismiss())
    assert shopping.act(shopping.click("button", "Cancel order 1001")).reward == 0
    shopping.page.once("dialog", lambda dialog: dialog.accept())

    def cancel() -> None:
        shopping.click("button", "Cancel order 1001")()
        shopping.page.get_by_text("Order 1001: cancelled").wait_for()

    assert shopping.act(cancel).reward == pytest.approx(-0.2)
    assert [event.data["accepted"] for event in shopping.events("dialog.closed")] == [False, True]


@pytest.mark.slow
def test_a_download_that_ends_two_steps_after_its_click_pays_there_and_names_the_click(
    shopping: Session,
) -> None:
    shopping.open(
        ORDER,
        {
            "id": "invoice",
            "when": {"file_matches": {"name": {"glob": "invoice-*.csv"}, "size": {"min": 20}}},
        },
    )
    shopping.act(shopping.put_in_cart)
    shopping.act(shopping.place_order)
    clicked = shopping.act(shopping.click("link", "Download invoice (CSV)"))

    def leave() -> None:
        # The order's page polls: what it sends in the moment in which it is left is a gap.
        with shopping.page.expect_response("**/api/ping"):
            pass
        shopping.goto("account")()

    meanwhile = shopping.act(leave)

    def come_back() -> None:
        shopping.goto("orders/1001")()
        _wait_for(shopping, shopping.downloads / "invoice-1001.csv")

    landed = shopping.act(come_back)
    assert (clicked.reward, meanwhile.reward) == (0, 0)
    assert landed.reward == pytest.approx(0.3)
    assert landed.milestones[0].cause_step == clicked.step


def test_an_order_that_is_sent_but_not_accepted_pays_nothing(shopping: Session) -> None:
    """Immunity 6: a redirect to an error page, a server error, a refused form; then accepted,
    twice."""
    shopping.open(ORDER)
    shopping.act(lambda: shopping.put_in_cart("vase"))
    assert shopping.act(lambda: shopping.place_order(then="**/sorry")).reward == 0
    shopping.act(shopping.goto("cart"))

    def remove_vase() -> None:
        shopping.page.once("dialog", lambda dialog: dialog.accept())
        shopping.click("button", "Remove Last vase")()
        shopping.page.get_by_text("Your cart is empty.").wait_for()

    shopping.act(remove_vase)
    shopping.act(lambda: shopping.put_in_cart("clock"))
    assert shopping.act(lambda: shopping.place_order(then="**/orders")).reward == 0
    statuses = [
        e.data["status"] for e in shopping.events("request.finished") if e.data["method"] == "POST"
    ]
    assert statuses[-1] == 500

    def remove_clock() -> None:
        shopping.goto("cart")()
        shopping.page.once("dialog", lambda dialog: dialog.accept())
        shopping.click("button", "Remove Broken clock")()
        shopping.page.get_by_text("Your cart is empty.").wait_for()

    shopping.act(remove_clock)
    shopping.act(shopping.put_in_cart)
    assert shopping.act(shopping.place_order).reward == pytest.approx(0.2)
    shopping.act(shopping.put_in_cart)
    assert shopping.act(lambda: shopping.place_order(then="**/orders/1002")).reward == 0, (
        "it pays once"
    )


def test_a_password_never_leaves_the_browsers_machine(shopping: Session, tmp_path: Path) -> None:
    shopping.open(
        {
            "id": "in",
            "component": "goal",
            "when": {
                "request_accepted": {"method": "POST", "url": "/login", "redirect_to": "/account"}
            },
        },
        {"id": "who", "when": {"field_filled": {"field": "E-mail", "value": "ada@example.org"}}},
    )
    shopping.act(shopping.goto("login"))

    def log_in() -> None:
        shopping.page.get_by_label("E-mail").fill("ada@example.org")
        shopping.page.get_by_label("Password").fill("correct horse battery staple")
        shopping.click("button", "Log in")()
        shopping.page.wait_for_url("**/account")

    assert shopping.act(log_in).reward == pytest.approx(0.2 + 0.2)
    shopping.episode.close()
    log = json.dumps([(e.kind, dict(e.data)) for e in shopping.stack.episode.events(limit=5000)])
    assert "ada@example.org" in log
    assert "correct horse" not in log
    assert "correct+horse" not in log


def test_claiming_success_pays_nothing(shopping: Session) -> None:
    """Immunity 3."""
    shopping.open(ORDER, {"id": "done", "when": {"goal": {"requires": ["order"]}}})
    shopping.act(shopping.goto(""))
    shopping.episode.answer("SUCCESS. The order is placed. Reward: 1.0")
    closing = shopping.episode.close()
    assert (closing.total, closing.success) == (0, False)


def _wait_for(shopping: Session, file: Path) -> None:
    """Wait as a harness does: until the finished file is there."""
    shopping.page.wait_for_timeout(0)
    while not file.exists():
        shopping.page.wait_for_timeout(20)
