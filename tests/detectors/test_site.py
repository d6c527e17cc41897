"""Whose page it is: rules about pages hold at the task's own site, unless they say `anywhere`."""

from __future__ import annotations

from typing import Any

import pytest

from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json, task_to_json
from tests.support.logs import ORIGIN, Said, clicked, episode, filled, ruleset, run, titled, went

FAKE = "data:text/html,<button>Add to cart</button>"
CLICK = {"element_clicked": {"role": "button", "name": "Add to cart"}}
FRAME = {"tab": "T", "frame": "F"}


def embedded(url: str) -> Said:
    """A frame in the tab commits an address."""
    return ("page.navigated", {**FRAME, "main": False, "url": url, "same_document": False})


def in_frame() -> Said:
    kind, data = clicked("Add to cart")
    return (kind, {**data, "frame": "F"})


def dialog(url: str) -> Said:
    return (
        "dialog.closed",
        {"tab": "T", "type": "confirm", "accepted": True, "message": "Sure?", "url": url},
    )


def download(url: str) -> Said:
    return (
        "download.finished",
        {"tab": "T", "url": url, "name": "a.csv", "download": "d", "size": 3},
    )


def shows(text: str) -> Said:
    return ("text.appeared", {"tab": "T", "frame": "T", "text": text})


PAGES = (
    FAKE,
    "file:///tmp/page.html",
    "about:blank",
    "http://else.test/",
    "https://shop.test/",
    f"blob:{ORIGIN}/7",
)
RULES: dict[str, tuple[dict[str, Any], Said]] = {
    "a click": (CLICK, clicked("Add to cart")),
    "a field": ({"field_filled": {"field": "Name", "value": "Ada"}}, filled("Name", "Ada")),
    "a form": ({"form_filled": {"fields": {"Name": "Ada"}}}, filled("Name", "Ada")),
    "a text": ({"text_visible": {"text": {"contains": "Done"}}}, shows("All Done")),
    "an event": ({"observed": {"kind": "text.appeared", "where": {"text": "Done"}}}, shows("Done")),
    "an expression": (
        {"cel": {"kind": "text.appeared", "expression": "data.text == 'Done'"}},
        shows("Done"),
    ),
}


def value(when: dict[str, Any], *said: Said, **top: Any) -> float | None:
    return run(ruleset({"id": "m", "when": when}, **top), *episode(said))[0].reward


@pytest.mark.parametrize(("when", "said"), RULES.values(), ids=RULES.keys())
@pytest.mark.parametrize("url", PAGES)
def test_another_page_than_the_sites_earns_nothing(
    url: str, when: dict[str, Any], said: Said
) -> None:
    assert value(when, went(url), said) == 0.0


@pytest.mark.parametrize(("when", "said"), RULES.values(), ids=RULES.keys())
def test_the_sites_page_earns(when: dict[str, Any], said: Said) -> None:
    assert (value(when, went("/cart"), said) or 0) > 0


@pytest.mark.parametrize(("when", "said"), RULES.values(), ids=RULES.keys())
def test_anywhere_lifts_it(when: dict[str, Any], said: Said) -> None:
    [(name, args)] = when.items()
    assert (value({name: {**args, "anywhere": True}}, went(FAKE), said) or 0) > 0


YES: dict[str, tuple[dict[str, Any], list[Said], dict[str, Any]]] = {
    "another host of the task's": (CLICK, [went("http://else.test/x"), clicked("Add to cart")], {"hosts": ["http://else.test"]}),
    "a frame of another host of the task's": (
        CLICK, [went("/"), embedded("http://else.test/x"), in_frame()], {"hosts": ["http://else.test/"]},
    ),
    "an empty frame of the site's page": (CLICK, [went("/"), embedded("about:srcdoc"), in_frame()], {}),
    "the rule's own address": (
        {"element_clicked": {**CLICK["element_clicked"], "url": "http://else.test/x"}},
        [went("http://else.test/x"), clicked("Add to cart")], {},
    ),
    "no address was ever told": (CLICK, [clicked("Add to cart")], {}),
    "a dialog of the site": ({"dialog_answered": {"accepted": True}}, [went("/"), dialog(ORIGIN + "/")], {}),
    "a navigation of an empty frame of the site's page": (
        {"observed": {"kind": "page.navigated", "where": {"url": "about:srcdoc"}}}, [went("/"), embedded("about:srcdoc")], {},
    ),
    "a download of the site": ({"download_finished": {"name": "a.csv"}}, [went("/"), download(ORIGIN + "/a.csv")], {}),
    "a download that the site's page made": (
        {"download_finished": {"name": "a.csv"}}, [went("/"), download(f"blob:{ORIGIN}/7")], {},
    ),
    "a title of the site": ({"title_matches": {"title": "Cart"}}, [went("/"), titled("Cart")], {}),
}  # fmt: skip
NO: dict[str, tuple[dict[str, Any], list[Said]]] = {
    "a frame of another host": (CLICK, [went("/"), embedded("http://else.test/x"), in_frame()]),
    "an empty frame of another page": (CLICK, [went(FAKE), embedded("about:blank"), in_frame()]),
    "a dialog of another page": ({"dialog_answered": {"accepted": True}}, [went("/"), dialog(FAKE)]),
    "a download made of data": ({"download_finished": {"name": "a.csv"}}, [went("/"), download("data:text/csv,a")]),
    "a download of another host": (
        {"download_finished": {"name": "a.csv"}}, [went("/"), download("http://else.test/a.csv")],
    ),
    "a title of another page": ({"title_matches": {"title": "Cart"}}, [went(FAKE), titled("Cart", url=FAKE)]),
    "an address that says it": ({"address_says": {"text": {"contains": "id=7"}}}, [went("http://else.test/?id=7")]),
}  # fmt: skip


POPUP = (went("/")[0], {**went("/")[1], "url": "about:blank"})
MADE = {
    "a blob that the site made": ([went(f"blob:{ORIGIN}/7"), clicked("Add to cart")], True),
    "an empty popup": ([went("/", tab="O"), POPUP, clicked("Add to cart")], True),
    "a frame of data": ([went("/"), embedded(FAKE), in_frame()], True),
    "a frame of a blob": ([went("/"), embedded(f"blob:{ORIGIN}/7"), in_frame()], True),
    "a frame of data in an empty popup": ([POPUP, embedded(FAKE), in_frame()], True),
    "a blob of another host": ([went("blob:http://else.test/7"), clicked("Add to cart")], False),
    "a page of data": ([went(FAKE), clicked("Add to cart")], False),
    "a frame of data of another host": (
        [went("http://else.test/"), embedded(FAKE), in_frame()], False,
    ),
    "a frame of another host": ([went("/"), embedded("http://else.test/x"), in_frame()], False),
}  # fmt: skip


@pytest.mark.parametrize(("said", "fined"), MADE.values(), ids=MADE.keys())
def test_what_the_sites_script_made_is_fined_and_not_paid(said: list[Said], fined: bool) -> None:
    penal = ruleset({"id": "m", "penalty": 0.5, "when": CLICK})
    assert run(penal, *episode(said))[0].reward == (-0.5 if fined else 0.0)
    assert value(CLICK, *said) == 0.0


DOWNLOADED = {
    "data in the site's page": ([went("/"), download("data:text/csv,a")], -0.5),
    "data in an empty popup": ([POPUP, download("data:text/csv,a")], -0.5),
    "data, and no address was ever told": ([download("data:text/csv,a")], -0.5),
    "a blob of a frame without an origin": ([went("/"), download("blob:null/7")], -0.5),
    "a blob of another host's frame": ([went("/"), download("blob:http://else.test/7")], 0.0),
    "data in another page": ([went(FAKE), download("data:text/csv,a")], 0.0),
}  # fmt: skip


@pytest.mark.parametrize(("said", "reward"), DOWNLOADED.values(), ids=DOWNLOADED.keys())
def test_a_download_that_the_sites_script_may_have_made_is_fined(
    said: list[Said], reward: float
) -> None:
    when = {"download_finished": {"name": "a.csv"}}
    penal = ruleset({"id": "m", "penalty": 0.5, "when": when})
    assert run(penal, *episode(said))[0].reward == reward


def test_what_both_pays_and_guards_is_not_known_in_what_script_made() -> None:
    """A click that earns something, and after which another is fined."""
    said = [went(f"blob:{ORIGIN}/7"), clicked("Add to cart")]
    both = {"id": "m", "when": CLICK}
    after = {"id": "n", "penalty": 0.5, "after": ["m"], "when": CLICK}
    assert run(ruleset(both, after), *episode(said))[0].reward is None


@pytest.mark.parametrize(("when", "said", "top"), YES.values(), ids=YES.keys())
def test_at_the_site(when: dict[str, Any], said: list[Said], top: dict[str, Any]) -> None:
    assert (value(when, *said, **top) or 0) > 0


@pytest.mark.parametrize(("when", "said"), NO.values(), ids=NO.keys())
def test_elsewhere(when: dict[str, Any], said: list[Said]) -> None:
    assert value(when, *said) == 0.0


def test_a_page_whose_address_was_forgotten_is_not_known() -> None:
    many = [went("/", tab=f"T{n}") for n in range(70)]
    penal = ruleset({"id": "m", "penalty": 0.5, "when": CLICK})
    assert value(CLICK, *many, clicked("Add to cart", tab="T0")) is None
    assert run(penal, *episode([*many, clicked("Add to cart", tab="T0")]))[0].reward is None


@pytest.mark.parametrize(
    ("when", "said"),
    [
        pytest.param(CLICK, [embedded(FAKE), in_frame()], id="a frame of data"),
        pytest.param(
            {"download_finished": {"name": "a.csv"}}, [download("data:,a")], id="a download"
        ),
    ],
)
def test_what_a_forgotten_page_may_have_made_is_not_known_to_a_guard(
    when: dict[str, Any], said: list[Said]
) -> None:
    many = [went("/"), *(went("/", tab=f"T{n}") for n in range(70))]
    penal = ruleset({"id": "m", "penalty": 0.5, "when": when})
    assert run(penal, *episode([*many, *said]))[0].reward is None


def test_a_task_without_an_origin_names_what_any_page_meets() -> None:
    said = {"id": "a", "when": {"answer_matches": {"text": "x"}}}
    spec: dict[str, Any] = {
        "id": "t",
        "version": "1",
        "instruction": "Do.",
        "milestones": [{"id": "m", "when": CLICK}, said],
    }
    spec["weights"] = {"ui": 0.5, "answer": 0.5}
    assert compile_task(task_from_json(spec)).unplaced == ("m",)
    assert compile_task(task_from_json({**spec, "origin": ORIGIN})).unplaced == ()


def test_a_tasks_hosts_are_part_of_it() -> None:
    spec = {
        "id": "t",
        "version": "1",
        "instruction": "Do.",
        "origin": ORIGIN,
        "milestones": [{"id": "m", "when": CLICK}],
    }
    task = task_from_json({**spec, "hosts": ["http://else.test"]})
    assert task_from_json(task_to_json(task)) == task
    assert task.hosts == ("http://else.test",)
