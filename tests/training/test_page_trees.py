"""Trees of pages give the features that a log of text and elements gives."""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import pytest

from api.stages.model import schema
from api.stages.model.features import FeatureReader, extract
from api.stages.model.page_trees import MAX_TREES, TreeChanges
from detectors.model.memory import size_of
from detectors.model.types import Event
from tests.support.logs import Said, clicked, episode, log, went

GOAL = 'Open the message of "Ada Field" and archive it.'
INBOX = [("link", "Ada Field"), ("link", "Bo Lind"), ("button", "Archive")]
DONE = [("link", "Bo Lind"), ("status", "Ada Field: archived")]


def tree(items: list[tuple[str, str]], frame: str = "T", **more: Any) -> Said:
    """A document's tree with these roles and names."""
    nodes = [{"depth": 0, "role": role, "name": name} for role, name in items]
    digest = hashlib.sha256(orjson.dumps(nodes)).hexdigest()
    told = {"tab": "T", "frame": frame, "main": True, "sha256": digest, "tree": nodes}
    return "visual.tree_recorded", told | more


def told(items: list[tuple[str, str]], came: str, **more: Any) -> list[Said]:
    """The same items as a log tells them that reports elements and text."""
    where: dict[str, Any] = {"tab": "T", "frame": "T", **more}
    said: list[Said] = []
    for role, name in items:
        element = {"role": role, "name": name, "tag": ""}
        said.append((f"element.{came}", {**where, "element": element}))
        said.append((f"text.{came}", {**where, "text": name}))
    return said


def opened(asked: list[str]) -> Said:
    return "episode.opened", {"task": "t", "digest": "d", "asked": asked}


CLICKS = [clicked("Ada Field", "link", tag="a"), clicked("Archive")]


def rows_of_trees(*asked: str) -> list[dict[str, float]]:
    steps = ([CLICKS[0], tree(INBOX)], [CLICKS[1], tree(DONE)])
    said = episode(*steps, before=[went("/"), tree(INBOX)])
    return named([opened(list(asked)), *said])


def named(said: list[Said]) -> list[dict[str, float]]:
    return [dict(zip(schema.NAMES, row, strict=True)) for row in extract(GOAL, log(*said))]


def test_trees_give_the_features_of_a_log_that_reports_text_and_elements() -> None:
    gone = told([INBOX[0], INBOX[2]], "disappeared")
    steps = ([CLICKS[0]], [CLICKS[1], *told([DONE[1]], "appeared"), *gone])
    reported = named(episode(*steps, before=[went("/"), *told(INBOX, "appeared", baseline=True)]))
    assert repr(rows_of_trees()) == repr(reported)
    assert reported[1]["goal_added"] > 0
    assert reported[1]["text_reported"] == 1


def test_trees_add_nothing_to_a_log_that_reports_text_by_itself() -> None:
    assert rows_of_trees("text.appeared")[1]["text_reported"] == 0


def differences(*said: Said, in_step: bool = True) -> list[list[tuple[str, str]]]:
    """Of each tree of a log what came and went."""
    trees = TreeChanges()
    found = []
    for event in log(*said):
        events = trees.translate(event, in_step=in_step)
        if event.kind == "visual.tree_recorded":
            found.append([(one.kind, text_of(one)) for one in events])
    return found


def text_of(event: Event) -> str:
    element = event.data.get("element")
    return str(element["name"] if isinstance(element, dict) else event.data["text"])


ONE, TWO = [("link", "A")], [("link", "A"), ("link", "A")]
CAME = [("element.appeared", "A"), ("text.appeared", "A")]
WENT = [("element.disappeared", "A"), ("text.disappeared", "A")]
TREES: dict[str, tuple[list[Said], list[list[tuple[str, str]]]]] = {
    "the first one": ([tree(ONE)], [CAME]),
    "the same again": ([tree(ONE), tree(ONE)], [CAME, []]),
    "the same again, by its digest": ([tree(ONE), tree(ONE, tree=None)], [CAME, []]),
    "another, and the first by its digest": (
        [tree(ONE), tree([]), tree(ONE, tree=None)],
        [CAME, WENT, CAME],
    ),
    "a digest that nobody told": ([tree(ONE, tree=None)], [[]]),
    "no tree, with a reason": ([tree(ONE), tree([], tree=None, sha256=None)], [CAME, []]),
    "one more of the same": ([tree(ONE), tree(TWO)], [CAME, CAME]),
    "two documents": ([tree(ONE), tree(ONE, frame="G")], [CAME, CAME]),
    "another document in the frame": ([tree(ONE), went("/b"), tree(ONE)], [CAME, CAME]),
    "the same document at another address": (
        [tree(ONE), went("/b", same_document=True), tree(ONE)],
        [CAME, []],
    ),
    "one that was cut": ([tree(ONE), tree([], cut=True), tree(ONE)], [CAME, [], []]),
    "one without a digest": ([tree(ONE, sha256=None)], [[]]),
    "no nodes": ([tree([], tree=[None, {"depth": 0}, 7])], [[("element.appeared", "")]]),
}


@pytest.mark.parametrize("name", TREES)
def test_a_tree_is_told_as_what_it_has_more_and_less(name: str) -> None:
    said, wanted = TREES[name]
    assert differences(*said) == wanted


def test_what_a_frame_showed_goes_as_it_navigates() -> None:
    trees = TreeChanges()
    said = [
        tree(ONE, frame="G"),
        ("page.navigated", {**went("/b")[1], "frame": "G", "main": False}),
    ]
    told = [trees.translate(event, in_step=True) for event in log(*said)]
    kinds = [event.kind for event in told[1]]
    assert kinds == ["element.disappeared", "text.disappeared", "page.navigated"]


def test_a_log_that_tells_texts_without_saying_that_it_does_needs_no_trees() -> None:
    text = ("text.appeared", {"tab": "T", "frame": "T", "text": "A"})
    assert differences(text, tree(ONE)) == [[]]


def test_what_is_remembered_is_bounded() -> None:
    reader = FeatureReader(GOAL)
    many = [tree([("link", f"{at}-{n}") for n in range(400)], frame=f"F{at}") for at in range(200)]
    reader.feed(log(*many))
    assert len(reader._trees._by_digest) == MAX_TREES
    assert len(reader._trees._shown) == MAX_TREES
    assert size_of([reader._trees]) < 16 << 20
