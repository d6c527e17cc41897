"""The tasks of examples/desktop on a real page: the right way has all of it, as the recordings
beside them say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from api.tasks.task_files import read_task_file
from tests.support.shopping import Session

pytestmark = pytest.mark.browser
FOLDER = Path(__file__).parent.parent.parent / "examples" / "desktop"


def opened(shopping: Session, name: str) -> Session:
    """The example's task at this shop, its episode watched."""
    spec, _ = read_task_file(FOLDER / f"{name}.yaml", {"origin": shopping.shop.rstrip("/")})
    del spec["tests"], spec["version"]
    shopping.open(*spec.pop("milestones"), **spec)
    return shopping


def closed(shopping: Session) -> tuple[float, bool | None]:
    """What the episode came to."""
    closing: Any = shopping.episode.close()
    return pytest.approx(closing.total), closing.success


@pytest.mark.slow
def test_navigation_and_extraction(shopping: Session) -> None:
    opened(shopping, "navigation").act(shopping.goto(""))
    shopping.act(shopping.goto("products/lamp"))
    shopping.begin(lambda: shopping.episode.answer("€39.00"))
    assert closed(shopping) == (1.0, True)


@pytest.mark.slow
def test_a_wrong_answer_has_the_way_there_alone(shopping: Session) -> None:
    opened(shopping, "navigation").act(shopping.goto("products/lamp"))
    shopping.begin(lambda: shopping.episode.answer("€39.00 or €89.00"))
    assert closed(shopping) == (0.5, False)


@pytest.mark.slow
def test_form(shopping: Session) -> None:
    opened(shopping, "form").act(shopping.put_in_cart)
    assert shopping.act(lambda: shopping.fill_order(Name="Ada Lovelace")).reward == pytest.approx(
        0.3
    )
    shopping.act(shopping.click("button", "Place order"))
    assert closed(shopping) == (1.0, True)


@pytest.mark.slow
def test_search(shopping: Session) -> None:
    opened(shopping, "search").act(shopping.goto(""))

    def ask() -> None:
        shopping.page.get_by_role("searchbox").fill("lamp")
        shopping.page.get_by_role("searchbox").press("Enter")
        shopping.page.wait_for_url("**/search*")

    shopping.act(ask)
    shopping.act(shopping.click("link", "Desk lamp"))
    assert closed(shopping) == (1.0, True)


def test_download(shopping: Session) -> None:
    shopping.put_in_cart()
    shopping.place_order()
    opened(shopping, "download").act(shopping.click("link", "Download invoice (CSV)"))
    shopping.act(shopping.goto("account"))

    def come_back() -> None:
        shopping.goto("orders/1001")()
        while not (shopping.downloads / "invoice-1001.csv").exists():
            shopping.page.wait_for_timeout(20)

    shopping.act(come_back)
    assert closed(shopping) == (1.0, True)
