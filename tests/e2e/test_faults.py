"""Immunity 7: what is killed in mid-episode costs the policy nothing, and no event that was
acknowledged is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from milestoned_client import Event, Reward

from tests.support.shopping import Session
from tests.support.stack import gist

pytestmark = pytest.mark.browser

MILESTONES = (
    {"id": "product", "when": {"url_reached": {"url": "/products/lamp"}}},
    {"id": "add", "when": {"element_clicked": {"role": "button", "name": "Add to cart"}}},
    {
        "id": "details",
        "when": {
            "form_filled": {"fields": {"Name": "Ada", "E-mail": "ada@example.org", "Quantity": "2"}}
        },
    },
    {
        "id": "order",
        "component": "goal",
        "when": {
            "request_accepted": {"method": "POST", "url": "/orders", "redirect_to": "/orders/*"}
        },
    },
    {"id": "pdf", "when": {"file_created": {"name": {"glob": "invoice-*.pdf"}}}},
    {"id": "bought", "when": {"goal": {"requires": ["order", "pdf"]}}},
)


@pytest.fixture
def service() -> None:
    """None: each session's own, which is killed."""


def _deeds(session: Session) -> list[Callable[[], object]]:
    def add() -> None:
        session.click("button", "Add to cart")()
        session.page.wait_for_url("**/cart")

    def order() -> None:
        session.click("button", "Place order")()
        session.page.wait_for_url("**/orders/100*")

    def pdf() -> None:
        number = session.page.url.rsplit("/", 1)[1]
        session.click("link", "Download invoice (PDF)")()
        while not (session.downloads / f"invoice-{number}.pdf").exists():
            session.page.wait_for_timeout(20)

    return [
        session.goto("products/lamp"),
        add,
        session.fill_order,
        order,
        pdf,
        session.goto("account"),
    ]


def _run(session: Session, between: Callable[[int], None]) -> list[Reward]:
    """The whole script; ``between`` is told each step's number before it begins. Gives all final
    rewards."""
    session.page.goto("about:blank")
    for left in session.downloads.iterdir():
        left.unlink()
    session.open(*MILESTONES, version="1")
    for step, deed in enumerate(_deeds(session)):
        between(step)
        session.act(deed)
    closing = session.episode.close(wait_s=60)
    assert closing.status == "closed"
    assert closing.success is True
    return list(closing.rewards)


def _gaps(session: Session, kind: str) -> list[Event]:
    return [event for event in session.events(kind) if event.data["source"] == "cdp"]


@pytest.mark.slow
def test_killing_daemon_and_service_twice_each_changes_no_reward(shopping: Session) -> None:
    stack = shopping.stack
    calm = gist(_run(shopping, lambda step: None))

    def trouble(step: int) -> None:
        if step in (1, 3):
            stack.kill_service()
            stack.start_service()
        if step in (2, 4):
            stack.kill_daemon()
            stack.start_daemon()

    seen: dict[int, tuple[str, object]] = {}

    def trouble_and_note(step: int) -> None:
        for event in stack.episode.events(limit=5000):
            assert seen.setdefault(event.seq, (event.kind, event.data)) == (event.kind, event.data)
        trouble(step)

    shaken = gist(_run(shopping, trouble_and_note))
    assert shaken == calm
    events = stack.episode.events(limit=5000)
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), (
        "none lost, none twice"
    )
    assert all(seen[event.seq] == (event.kind, event.data) for event in events if event.seq in seen)
    assert [event.data["step"] for event in events if event.kind == "step.began"] == list(range(6))


@pytest.mark.slow
def test_the_service_killed_within_a_step_delays_its_reward_and_changes_nothing(
    shopping: Session,
) -> None:
    shopping.open(*MILESTONES, version="1")
    stack = shopping.stack
    shopping.act(shopping.goto("products/lamp"))
    step = shopping.begin(shopping.click("button", "Add to cart"))
    stack.kill_service()
    shopping.episode.end_step(step)
    stack.start_service()
    reward = shopping.episode.reward(step, wait_s=60)
    assert [m.id for m in reward.milestones] == ["add"]
    assert reward.reward == pytest.approx(0.2)


def test_a_browser_killed_in_mid_step_leaves_a_gap_and_a_masked_step_not_a_zero(
    shopping: Session,
) -> None:
    shopping.open(*MILESTONES, version="1")
    assert shopping.act(shopping.goto("products/lamp")).reward == pytest.approx(0.1)

    def die_and_return() -> None:
        shopping.browser.kill()
        shopping.start_browser()
        while len(_gaps(shopping, "gap.ended")) < 2:
            shopping.page.wait_for_timeout(50)

    lost = shopping.act(die_and_return)
    assert (lost.reward, lost.mask, lost.status) == (None, True, "unobserved")
    assert lost.reason is not None
    assert "cdp" in lost.reason
    assert shopping.act(shopping.put_in_cart).reward == pytest.approx(0.2), "it sees again"
    began, ended = _gaps(shopping, "gap.began"), _gaps(shopping, "gap.ended")
    assert len(began) == len(ended) == 2, "one gap at the start, one where the browser was gone"
    assert began[1].seq < ended[1].seq


def test_a_reward_asked_early_is_settling_then_sealed_and_never_changes(shopping: Session) -> None:
    """Immunity 5(d)."""
    visits = {"products/lamp": 0, "cart": 50, "account": 500}
    milestones = [{"id": path, "when": {"url_reached": {"url": f"/{path}"}}} for path in visits]
    shopping.open(*milestones, weights={"nav": 0.3}, settings={"quiet_ms": 800, "settle_ms": 5000})
    sealed = []
    for path, after_ms in visits.items():
        step = shopping.begin(shopping.goto(path))
        shopping.episode.end_step(step)
        shopping.page.wait_for_timeout(after_ms)
        early = shopping.episode.reward(step, wait_s=0)
        assert (early.status, early.reward, early.mask) == ("settling", None, True)
        sealed.append(shopping.episode.reward(step, wait_s=30))
        assert (sealed[-1].status, sealed[-1].reward) == ("sealed", pytest.approx(0.1))
    shopping.act(shopping.put_in_cart)
    assert [shopping.episode.reward(step, wait_s=0).body for step in range(3)] == [
        one.body for one in sealed
    ]
    shopping.episode.close()
    assert [shopping.episode.reward(step, wait_s=0).body for step in range(3)] == [
        one.body for one in sealed
    ]
