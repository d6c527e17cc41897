"""What an event meets, from the specific to the general, and what is said of it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from api.cli.main import main
from api.suggestions.asking import task_that_asks
from api.suggestions.telling import condition_lines, marks_of
from api.suggestions.trial import EventConditions, TaskSite, as_yaml, find_site, suggest
from api.tasks.task_files import load_task_file
from detectors.engine.engine import Engine
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json, task_to_json
from lab.demo.show import DemoScreen
from lab.demo.suggesting import ConditionPrinter
from tests.api.service import Service, Store, running
from tests.detectors.tables_grades import pointed
from tests.detectors.tables_states import element, shown
from tests.pages.test_wire import look
from tests.support.logs import (
    ORIGIN,
    Said,
    answered,
    clicked,
    created,
    episode,
    filled,
    finished,
    log,
    titled,
    went,
)

ROOT = Path(__file__).parents[2]
SHOP = ROOT / "benchmarks" / "fleet" / "shop.mrec"
SITE = TaskSite(ORIGIN)
BODY = {"text": "item=lamp&amount=2", "mime": "application/x-www-form-urlencoded"}
WIDGET = {"role": "check box", "name": "Wi-Fi", "app": "settings", "path": [0, 1]}
ANY = {"regex": "(?s).+"}


def found(*said: Said, site: TaskSite = SITE) -> list[EventConditions]:
    return suggest(log(*episode(said)), site)


def met(*said: Said, site: TaskSite = SITE) -> list[Any]:
    """The conditions of the last event that meets any."""
    return [yaml.safe_load(one.text) for one in found(*said, site=site)[-1].conditions]


MEETS: list[tuple[Said, list[Any]]] = [
    (
        went("/items/7?tab=all"),
        [
            {"url_reached": {"url": "/items/7?tab=all"}},
            {"url_reached": {"url": "/items/7"}},
            {"url_reached": {"url": "/items/*"}},
        ],
    ),
    (
        went("/items/7", same_document=True),
        [
            {"url_reached": {"url": "/items/7", "loaded": False}},
            {"url_reached": {"url": "/items/*", "loaded": False}},
        ],
    ),
    (
        titled("Cart"),
        [{"title_matches": {"title": "Cart", "url": "/"}}, {"title_matches": {"title": "Cart"}}],
    ),
    (
        clicked("Buy", id="buy", around="Lamp 39"),
        [
            {"element_clicked": {"role": "button", "name": "Buy", "around": "Lamp 39"}},
            {"element_clicked": {"role": "button", "name": "Buy"}},
            {"element_clicked": {"name": "Buy"}},
            {"element_clicked": {"id": "buy"}},
        ],
    ),
    (
        clicked("", role="generic", path="div:2>svg:1"),
        [
            {"element_clicked": {"path": "div:2>svg:1"}},
            {
                "observed": {
                    "kind": "element.clicked",
                    "where": {
                        "element.role": "generic",
                        "element.tag": "button",
                        "element.path": "div:2>svg:1",
                    },
                }
            },
            {"observed": {"kind": "element.clicked", "where": {"element.path": "div:2>svg:1"}}},
            {"observed": {"kind": "element.clicked"}},
        ],
    ),
    (
        pointed(5, 5),
        [
            {"pointed_at": {"box": [0, 0, 400, 300]}},
            {
                "observed": {
                    "kind": "element.clicked",
                    "where": {"element.role": "img", "element.tag": "button"},
                }
            },
            {"observed": {"kind": "element.clicked"}},
        ],
    ),
    (
        filled("Amount", "2"),
        [
            {"field_filled": {"field": "Amount", "value": "2"}},
            {"field_filled": {"field": "amount", "value": "2"}},
            {"field_filled": {"field": "Amount", "value": ANY}},
        ],
    ),
    (
        filled("Amount", "2", trusted=False),
        [
            {"field_filled": {"field": "Amount", "value": "2", "trusted": False}},
            {"field_filled": {"field": "amount", "value": "2", "trusted": False}},
            {"field_filled": {"field": "Amount", "value": ANY, "trusted": False}},
        ],
    ),
    (
        filled(
            "",
            checked=True,
            element={"role": "checkbox", "name": "", "path": "#list>li:2>input:1"},
        ),
        [{"field_filled": {"path": "#list>li:2>input:1", "checked": True}}],
    ),
    (
        filled(
            "",
            checked=True,
            element={"role": "checkbox", "name": "", "path": "#list>li:2>input:1"},
            around="Buy tea",
        ),
        [
            {"field_filled": {"around": "Buy tea", "checked": True}},
            {"field_filled": {"path": "#list>li:2>input:1", "checked": True}},
        ],
    ),
    (
        finished(
            "POST",
            "/up",
            200,
            body={
                "text": "",
                "mime": "multipart/form-data; boundary=x",
                "files": [{"name": "cv", "filename": "cv.pdf", "size": 4711}],
            },
        ),
        [
            {
                "request_accepted": {
                    "method": "POST",
                    "url": "/up",
                    "file": "cv.pdf",
                    "file_size": 4711,
                }
            },
            {"request_accepted": {"method": "POST", "url": "/up"}},
        ],
    ),
    (
        element(checked=True, selectors=["#wrap"]),
        [
            {"element_state": {**named, state: True}}
            for named in (
                {"role": "checkbox", "name": "Wrap"},
                {"id": "wrap"},
                {"selector": "#wrap"},
            )
            for state in ("checked", "visible", "in_view")
        ],
    ),
    (
        element(checked=True, visible=False),
        [
            {
                "element_state": {
                    "role": "checkbox",
                    "name": "Wrap",
                    "checked": True,
                    "hidden": True,
                }
            },
            {"element_state": {"role": "checkbox", "name": "Wrap", "visible": False}},
            {"element_state": {"id": "wrap", "checked": True, "hidden": True}},
            {"element_state": {"id": "wrap", "visible": False}},
        ],
    ),
    (
        shown("Saved at ten"),
        [{"text_visible": {"text": {"contains": "Saved at ten"}, "now": True}}],
    ),
    (
        filled("Terms", checked=True),
        [
            {"field_filled": {"field": "Terms", "checked": True}},
            {"field_filled": {"field": "terms", "checked": True}},
        ],
    ),
    (
        finished("POST", "/orders", 201, body=BODY),
        [
            {
                "request_accepted": {
                    "method": "POST",
                    "url": "/orders",
                    "body": {"item": "lamp", "amount": "2"},
                }
            },
            {"request_accepted": {"method": "POST", "url": "/orders", "body": {"item": "lamp"}}},
            {"request_accepted": {"method": "POST", "url": "/orders", "body": {"amount": "2"}}},
            {"request_accepted": {"method": "POST", "url": "/orders"}},
        ],
    ),
    (
        ("dialog.closed", {"tab": "T", "type": "confirm", "accepted": True, "message": "Sure?"}),
        [
            {"dialog_answered": {"type": "confirm", "accepted": True, "message": "Sure?"}},
            {"dialog_answered": {"type": "confirm", "accepted": True}},
        ],
    ),
    (
        created("bill-7.csv"),
        [
            {"file_matches": {"name": "bill-7.csv", "sha256": "ab" * 32}},
            {"file_matches": {"name": "bill-7.csv"}},
            {"file_matches": {"name": {"glob": "bill-*.csv"}}},
            {"file_matches": {"name": {"glob": "*.csv"}}},
            {"file_created": {"name": "bill-7.csv"}},
            {"file_created": {"name": {"glob": "bill-*.csv"}}},
            {"file_created": {"name": {"glob": "*.csv"}}},
        ],
    ),
    (
        (
            "widget.state_changed",
            {"app": "settings", "widget": WIDGET, "state": "checked", "on": True},
        ),
        [
            {
                "widget_state": {
                    "name": "Wi-Fi",
                    "role": "check box",
                    "app": "settings",
                    "state": "checked",
                    "on": True,
                }
            },
            {"widget_state": {"name": "Wi-Fi", "state": "checked", "on": True}},
        ],
    ),
    (
        ("text.appeared", {"tab": "T", "frame": "T", "text": "Thank you\nOrder 7"}),
        [
            {"text_visible": {"text": {"contains": "Thank you"}}},
            {"text_visible": {"text": {"contains": "Order 7"}}},
        ],
    ),
    (
        answered("42"),
        [{"answer_matches": {"text": "42"}}, {"answer_matches": {"text": {"contains": "42"}}}],
    ),
    (
        ("widget.activated", {"app": "gedit", "widget": {"role": "button", "name": "Save"}}),
        [
            {
                "observed": {
                    "kind": "widget.activated",
                    "where": {
                        "app": "gedit",
                        "widget.role": "button",
                        "widget.name": "Save",
                    },
                }
            },
            {"observed": {"kind": "widget.activated", "where": {"widget.name": "Save"}}},
            {"observed": {"kind": "widget.activated"}},
        ],
    ),
]


@pytest.mark.parametrize(("said", "conditions"), MEETS, ids=lambda one: str(one)[:30])
def test_an_event_meets_these_from_the_specific_to_the_general(
    said: Said, conditions: list[Any]
) -> None:
    assert met(went("/"), said) == conditions


NOTHING: list[tuple[str, list[Said]]] = [
    ("a request that was refused", [went("/"), finished("POST", "/orders", 400, body=BODY)]),
    ("a picture of the page", [went("/"), finished("GET", "/a.png", 200, type="Image")]),
    ("what was so already", [went("/", baseline=True)]),
    ("a page that does not exist", [went("/none", status=404)]),
    ("a field that is masked", [went("/"), filled("Pin", None, has_value=True)]),
]


@pytest.mark.parametrize(("what", "said"), NOTHING, ids=[what for what, _ in NOTHING])
def test_what_the_engine_does_not_take_is_not_shown(what: str, said: list[Said]) -> None:
    shown = [one.event.kind for one in found(*said)]
    assert shown == (["page.navigated"] if said[0] == went("/") else [])


def test_before_the_first_step_nothing_is_anybody_s_doing() -> None:
    events = log(*episode([], before=[went("/"), clicked("Buy")]))
    assert suggest(events, SITE) == []


def test_a_click_of_page_script_is_named_as_one() -> None:
    conditions = met(went("/"), clicked("Buy", trusted=False))
    assert {"observed": {"kind": "element.clicked", "where": {"trusted": False}}} in conditions
    assert all("element_clicked" not in one for one in conditions)


def test_on_another_site_than_the_task_s_conditions_are_about_any_site() -> None:
    conditions = met(went("http://other.test/"), clicked("Buy"))
    assert {"element_clicked": {"name": "Buy", "anywhere": True}} in conditions
    assert met(went("http://other.test/a"))[-1] == {"url_reached": {"url": "http://other.test/a"}}


def test_what_can_become_untrue_again_is_marked() -> None:
    marked = {
        condition.rule: condition.can_end
        for one in found(went("/"), filled("A", "1"), clicked("Buy"), created("a.txt"))
        for condition in one.conditions
    }
    assert marked == {
        "url_reached": True,
        "field_filled": True,
        "element_clicked": False,
        "file_matches": True,
        "file_created": True,
    }


def test_what_other_events_meet_too_is_marked() -> None:
    click, other, again = found(went("/"), clicked("Buy"), clicked("Sell"), clicked("Buy"))[1:]
    assert [condition.others for condition in click.conditions] == [(again.event.seq,)] * 2
    assert [condition.others for condition in other.conditions] == [()] * 2
    assert marks_of(click.conditions[0]) == [f"met by event {again.event.seq} too"]
    assert marks_of(other.conditions[0]) == []


def test_a_state_that_is_only_confirmed_is_met_once() -> None:
    """A field is reported as it is typed into and once more as it is left."""
    once = found(went("/"), filled("A", "1"), filled("A", "1", commit=True))
    assert [one.event.seq for one in once] == [3, 4]
    anew = found(went("/"), filled("A", "1"), filled("A", "2"), filled("A", "1"))
    assert [condition.others for condition in anew[1].conditions] == [(6,), (6,), ()]


def test_only_what_came_since_is_looked_at_and_all_before_counts() -> None:
    events = log(*episode([went("/"), clicked("Buy"), clicked("Buy")]))
    (late,) = suggest(events, SITE, first=5)
    assert (late.event.seq, late.conditions[0].others) == (5, (4,))


HOSTILE = 'x"}}, {evil: [\n\x1b[2J\u202e # &a *b'


def test_what_a_page_wrote_stays_a_value_when_it_is_pasted() -> None:
    for one in found(
        went("/"), clicked(HOSTILE), ("text.appeared", {"tab": "T", "frame": "T", "text": HOSTILE})
    ):
        for text, is_milestone in condition_lines(one.conditions):
            assert text.isprintable(), text
            if is_milestone:
                (milestone,) = yaml.safe_load(text)
                assert set(milestone) == {"id", "when"}
                assert len(milestone["when"]) == 1
    assert yaml.safe_load(as_yaml({"name": HOSTILE})) == {"name": HOSTILE}


def test_pasted_together_they_are_a_task_that_pays_for_the_same_events() -> None:
    events = log(*episode([went("/cart"), filled("A", "1"), clicked("Buy"), created("a.txt")]))
    shown = suggest(events, SITE)
    milestones = [
        {**yaml.safe_load(one.conditions[0].milestone)[0], "id": f"m{one.event.seq}"}
        for one in shown
    ]
    weights = {"nav": 0.25, "ui": 0.25, "form": 0.25, "file": 0.25, "goal": 0}
    task = {
        "id": "pasted",
        "version": "1",
        "instruction": "Do it.",
        "origin": ORIGIN,
        "weights": weights,
        "milestones": milestones,
    }
    engine = Engine(compile_task(task_from_json(task)), "ep_1")
    reached = engine.feed(events).milestones
    assert [one.id for one in reached] == [f"m{seq}" for one in reached for seq in one.evidence]
    assert len(reached) == len(shown) == 4


def test_the_site_is_where_most_pages_were_opened() -> None:
    events = log(*episode([went("http://other.test/"), went("/a"), went("/b")]))
    assert find_site(events) == TaskSite(ORIGIN)
    assert find_site([]) == TaskSite(None)


def test_a_watched_task_asks_for_texts_surroundings_bodies_and_states() -> None:
    for spec in (None, task_to_json(load_task_file(ROOT / "examples/shop/task.yaml"))):
        rules = compile_task(task_from_json(task_that_asks(spec, ORIGIN)))
        plan = rules.plan("ep_1")
        assert plan["text"] is True
        assert all(plan[name] for name in ("around", "request_bodies", "attributes"))
        assert "fields" in plan["around"]
    given = compile_task(load_task_file(ROOT / "examples/shop/task.yaml"))
    assert rules.attainable == given.attainable, "what is asked for is worth nothing"


def test_a_recording_shows_its_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["recording", "show", str(SHOP), "--conditions", "--kinds", "element"]) == 0
    shown = capsys.readouterr().out
    line = (
        "        - {id: element-clicked-add-to-cart, when: {element_clicked: {role: button,"
        " name: Add to cart}}}"
    )
    assert line in shown.splitlines()
    assert shown.startswith("origin: http://127.0.0.1:")
    assert "url_reached" not in shown


def test_what_came_last_before_watching_ended_is_shown_too() -> None:
    """The stream of events ends with the episode, and may be behind then."""
    events = log(*episode([clicked("One"), clicked("Two")]))
    out = StringIO()
    printer = ConditionPrinter(DemoScreen(out), TaskSite(ORIGIN))
    for event in events[:3]:
        printer.take(event)
    printer.show()
    shown = out.getvalue()
    assert "name: One" in shown
    assert "name: Two" not in shown
    printer.complete(events)
    assert "name: Two" in out.getvalue().removeprefix(shown)
    assert "name: One" not in out.getvalue().removeprefix(shown)


def test_watching_needs_a_task_or_asks_for_events(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["watch", "--cdp", "http://127.0.0.1:9"]) == 2
    assert "or --events" in capsys.readouterr().err
    assert main(["watch", "--events"]) == 2
    assert "--cdp URL, --desktop and --files DIR" in capsys.readouterr().err
    bad = ["watch", "--events", "--files", str(tmp_path), "--origin", "shop"]
    assert main(bad) == 2
    assert "--origin shop" in capsys.readouterr().err


async def test_a_page_shows_them_and_escapes_what_pages_wrote(tmp_path: Path) -> None:
    async with running(Store(tmp_path)) as service:
        id, token = await service.open()
        evil = "<script>alert(1)</script>"
        await service.tell(id, token, *episode([went("/cart"), clicked(evil)], close=False))
        text = await shown_page(service, f"/episodes/{id}/conditions")
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
        assert "origin: http://shop.test" in text
        assert text.index("element.clicked") < text.index("page.navigated"), "the newest first"
        assert "can become untrue again" in text
        listed = await shown_page(service, f"/episodes/{id}/conditions/now?before=4")
        assert "element.clicked" not in listed
        assert "<html" not in listed


async def shown_page(service: Service, path: str) -> str:
    status, text = await look(service, path)
    assert status == 200, text
    return text
