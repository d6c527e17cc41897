"""What a caller says of a task, by which it is refused before any recording is read."""

from __future__ import annotations

import pytest

from api.cli.main import main
from api.proposal.tested_task import check_head
from api.proposal.writing import TaskHead
from api.tasks.task_files import BadTaskError

ORIGINS = {
    "https://shop.example": True,
    "http://127.0.0.1:8123": True,
    "http://[::1]:8123": True,
    "http://xn--bcher-kva.example": True,
    "shop": False,
    "shop.example": False,
    "https://": False,
    "": False,
    "ftp://shop.example": False,
    "file://": False,
    "javascript:1": False,
    "https://shop.example/": False,
    "https://shop.example/cart": False,
    "https://shop.example?a": False,
    "https://Shop.example": False,
    "https://shop.example:443": False,
    "https://shop.example:99999": False,
    "https://user:word@shop.example": False,
}


@pytest.mark.parametrize(("origin", "is_taken"), ORIGINS.items(), ids=list(ORIGINS))
def test_an_origin_is_as_recorded_addresses_begin(origin: str, *, is_taken: bool) -> None:
    head = TaskHead("a", "Go.", origin)
    if is_taken:
        check_head(head)
        return
    with pytest.raises(BadTaskError) as refused:
        check_head(head)
    (problem,) = refused.value.problems
    assert problem.path == "origin"
    assert problem.wanted.endswith("such as https://shop.example")


def test_all_that_is_wrong_with_a_head_is_said_at_once() -> None:
    check_head(TaskHead("a", "Order {amount}.", None))
    with pytest.raises(BadTaskError) as refused:
        check_head(TaskHead("a b", "Go.", "shop"))
    assert [one.path for one in refused.value.problems] == ["id", "origin"]


def test_the_command_names_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    """Not the recordings, which are not read for it."""
    given = ["task", "propose", "--from", "none.mrec", "--origin", "shop"]
    assert main(given) == 2
    said = capsys.readouterr().err
    assert said.startswith("--origin: got 'shop', wanted an origin as addresses of pages begin")
    assert main(["task", "propose", "--instruction", "Go.", "--origin", "shop"]) == 2
    assert capsys.readouterr().err == said
