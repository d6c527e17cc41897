"""What the pages of many draw and count: graphs, charts, agreement, who is asked what next. All
pure."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
import pytest

from api.labelling.agreement import alpha
from api.labelling.queue import QueueItem, open_to, queue
from api.pages.graph import graph
from api.pages.plot import line, stacked_bar, together
from api.pages.task import hits_of
from tests.support.logs import ruleset


def test_a_milestone_stands_right_of_all_that_it_comes_after_or_needs() -> None:
    went = {"url_reached": {"url": "/a"}}
    rules = ruleset(
        {"id": "a", "when": went},
        {"id": "b", "when": went, "after": ["a"]},
        {"id": "c", "when": went, "before": ["b"]},
        {"id": "done", "when": {"goal": {"requires": ["b", "c"]}}},
    )
    drawn = graph(rules)
    place = {box.id: box.x for box in drawn.boxes}
    assert place["a"] == place["c"] < place["b"] < place["done"]
    arrows = {(arrow.start, arrow.end, arrow.kind) for arrow in drawn.arrows}
    assert arrows == {
        ("a", "b", "after"),
        ("c", "b", "before"),
        ("b", "done", "requires"),
        ("c", "done", "requires"),
    }
    assert all(0 <= box.x <= drawn.width and 0 <= box.y <= drawn.height for box in drawn.boxes)


def test_what_is_not_known_breaks_the_line_and_is_no_point() -> None:
    drawn = line("Success", ["1", "2", "3", "4"], [0.5, None, 0.25, None], 1.0, share=True)
    assert drawn is not None
    [series] = orjson.loads(drawn.to_json())["series"]
    assert series == {"name": "Success", "values": [0.5, None, 0.25, None]}
    assert drawn.newest() == "not known"
    assert drawn.descriptions()[1:3] == ["2: Success not known", "3: Success 25.0%"]
    assert line("Success", ["1"], [None]) is None


def test_the_axis_reaches_to_the_top_at_least() -> None:
    drawn = line("Success", ["1"], [0.5], 1.0)
    assert drawn is not None
    assert orjson.loads(drawn.to_json())["top"] == 1.0


def test_components_stack_and_a_loss_hangs() -> None:
    drawn = stacked_bar(
        ["1", "2"], [{"nav": 0.2, "ui": 0.2, "penalty": -0.1, "tool": 0.0}, {"nav": 0.1}]
    )
    assert drawn is not None
    assert drawn.kind == "bar"
    assert [(one.name, one.values) for one in drawn.series] == [
        ("nav", [0.2, 0.1]), ("penalty", [-0.1, 0.0]), ("ui", [0.2, 0.0])
    ]  # fmt: skip
    assert drawn.descriptions()[0] == "1: nav 0.2, penalty −0.1, ui 0.2"
    assert stacked_bar(["1"], [{"nav": 0.0}]) is None


def test_what_a_version_was_paid_is_not_known_where_no_episode_has_a_total() -> None:
    drawn = stacked_bar(["1", "2"], [{"nav": 0.2}, None])
    assert drawn is not None
    assert drawn.descriptions() == ["1: nav 0.2", "2: nav not known"]
    assert stacked_bar(["1"], [None]) is None


def test_two_runs_begin_together_and_end_where_they_end() -> None:
    drawn = together(["0", "1", "2"], {"A": [0.1, 0.2, 0.3], "B": [0.5], "C": []})
    assert [one.values for one in drawn.series] == [[0.1, 0.2, 0.3], [0.5], []]
    assert (drawn.newest(), drawn.top) == ("A 0.3, B 0.5, C not known", 1.0)


def test_a_long_name_is_clipped_on_the_axis_and_whole_beside_it() -> None:
    drawn = line("Success", ["\u202epolicy-of-the-third-week", "twelve chars"], [0.5, 1.0])
    assert drawn is not None
    assert drawn.labels == ["policy-of-th…", "twelve chars"]
    assert drawn.names == ["policy-of-the-third-week", "twelve chars"]


def test_first_steps_and_what_was_so_already() -> None:
    hits = hits_of([(-1, 3), (0, 1), (4, 2), (9, 1)], 10)
    assert (hits.reached, hits.baseline, hits.rate, hits.middle) == (4, 3, 0.4, 4)
    assert hits.shape == [0.5, 0, 0, 0, 1.0, 0, 0, 0, 0, 0.5]


@pytest.mark.parametrize(
    ("items", "wanted"),
    [
        # Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: his own data
        # and his own answer.
        pytest.param(
            "aaa,bbcb,cccc,cccc,bbbb,abcd,dddd,aaba,bbbb,eee,aa,c".split(","),
            0.743,
            id="the source's own example",
        ),
        pytest.param(["aa", "bb"], 1.0, id="always"),
        pytest.param(["ab", "ab"], -0.5, id="never"),
        pytest.param(["aa", "aa"], None, id="no two values"),
        pytest.param(["a", "b"], None, id="nobody twice"),
    ],
)
def test_agreement_beyond_chance(items: list[str], wanted: float | None) -> None:
    found = alpha(items)
    assert found == (None if wanted is None else pytest.approx(wanted, abs=5e-4))


class Row(NamedTuple):
    """An episode's or a word's."""

    id: str = ""
    task: str = "t"
    first: str = ""
    second: str = ""
    step: int = -1
    item: str = ""
    choice: str = ""
    annotator: str = "me"
    episode: str = ""


def test_what_waits_comes_first_then_what_people_disagree_on_then_what_nobody_saw() -> None:
    words: list[Any] = [
        Row(first="a", second="b", choice="first", annotator="she"),
        Row(first="c", second="d", choice="first", annotator="she"),
        Row(first="c", second="d", choice="second", annotator="he"),
    ]
    waiting: list[Any] = [Row(episode="w", step=3, item="step")]
    found = queue(
        waiting, [("u", 2, "goal", "t", "nobody was sure")], words, [Row(id="x"), Row(id="y")]
    )
    assert [item.key[:2] for item in found] == [
        ("w", ""),
        ("u", ""),
        ("c", "d"),
        ("a", "b"),
        ("x", "y"),
    ]
    assert [item.waits for item in found] == [True, False, False, False, False]


def test_nobody_is_asked_the_same_twice_and_tasks_are_not_mixed() -> None:
    closed: list[Any] = [Row(id="a"), Row(id="b"), Row(id="c", task="other")]
    items = queue([], [], [], closed)
    assert [item.key for item in items] == [("a", "b", -1, "")]
    said: list[Any] = [Row(first="a", second="b", choice="tie")]
    assert open_to(items, said, "me") == []
    assert open_to(items, said, "she") == [QueueItem("t", "a", "b", -1, "", "nobody has said yet")]
