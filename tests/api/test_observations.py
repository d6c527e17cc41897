"""What an agent could have observed, from the log: each part known, or null with the reason."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from api.rewards.observation import ObservationJson, outline, state_as_text
from api.rewards.observed_state import MAX_FIELDS, MAX_PART_BYTES, MAX_TEXT, ObservedState
from tests.api.service import Service, events
from tests.support.logs import Said, clicked, created, episode, filled, ruleset, titled, went

SAID = episode([went("/cart"), titled("Cart")], [clicked("Buy")], before=[went("/")])
TREE = [
    {"depth": 0, "role": "heading", "name": "Lamps"},
    {"depth": 0, "role": "list"},
    {"depth": 1, "role": "textbox", "name": "Name", "value": "Ada", "focused": True},
]


PIXEL = b"RIFF-a-picture"


def tree(frame: str = "F", **more: Any) -> Said:
    where = {"tab": "T", "frame": frame, "main": True}
    return ("visual.tree_recorded", {**where, "sha256": "s", "tree": TREE, **more})


def window(kind: str, number: str = "w1", title: str = "Mail") -> Said:
    return (f"window.{kind}", {"app": "mail", "window": number, "role": "frame", "title": title})


def captured(sha256: str = "p1") -> Said:
    picture = {
        "format": "webp",
        "width": 8,
        "height": 6,
        "phash": "0",
        "backend": "x11",
        "bytes": 1,
    }
    return ("screen.captured", {"sha256": sha256, "step": 2, **picture})


COPIED: Said = (
    "clipboard.changed",
    {"selection": "clipboard", "length": 2, "text": "hi", "app": "mail"},
)
STORED: Said = (
    "visual.screenshot_taken",
    {"sha256": "p1", "format": "webp", "base64": base64.b64encode(PIXEL).decode()},
)
SECRET: Said = (
    "field.filled",
    {"tab": "T", "frame": "F", "field": "/pw", "value": None, "has_value": True,
     "element": {"role": "textbox", "name": "Password", "tag": "input"}},
)  # fmt: skip


def observed(*said: Said) -> ObservationJson:
    state = ObservedState()
    for event in events("ep_1", *said):
        state.apply(event)
    return state.summary()


@pytest.mark.parametrize(
    ("said", "part", "expected"),
    [
        ([filled("Name", "Ada")], "fields", [("Name", "Ada")]),
        ([filled("Name", "Ada"), went("/next")], "fields", []),
        ([filled("Name", "x" * 2_000)], "fields", [("Name", "x" * MAX_TEXT)]),
        ([SECRET], "fields", [("Password", None)]),
        ([created("a.csv")], "file_list", ["a.csv"]),
        ([window("opened"), window("opened", "w2", "New")], "windows", [("Mail", False), ("New", False)]),
        ([window("opened"), window("activated", "w2", "New"), window("activated")], "windows",
         [("Mail", True), ("New", False)]),
        ([window("opened"), window("closed")], "windows", []),
        ([COPIED], "clipboard", {"clipboard": {"length": 2, "text": "hi", "app": "mail"}}),
        ([captured()], "screenshot", ("p1", 2, None)),
        ([captured(), STORED], "screenshot", ("p1", 2, "/v1/episodes/ep_1/screenshots/p1")),
        ([tree()], "pages", [(TREE, None)]),
        ([tree(), tree("G", reason="a dialog is open", tree=None, sha256=None)], "pages",
         [(TREE, None), (None, "a dialog is open")]),
        ([tree(), went("/next")], "pages", []),
        ([tree()], "focused", {"role": "textbox", "name": "Name", "tab": "T"}),
    ],
)  # fmt: skip
def test_each_part_is_what_the_log_shows(said: list[Said], part: str, expected: object) -> None:
    found: Any = observed(*said)[part]  # type: ignore[literal-required]
    shape: dict[str, Callable[[], object]] = {
        "fields": lambda: [(one["name"], one.get("value")) for one in found],
        "file_list": lambda: [one["path"] for one in found],
        "windows": lambda: [(one["title"], one["active"]) for one in found],
        "screenshot": lambda: (found["sha256"], found["step"], found["path"]),
        "pages": lambda: [(one["tree"], one["reason"]) for one in found],
    }
    assert (shape[part]() if part in shape else found) == expected


def test_a_tree_that_was_recorded_before_goes_by_its_digest() -> None:
    again = ("visual.tree_recorded", {"tab": "T", "frame": "G", "main": False, "sha256": "s"})
    pages = observed(tree(), again)["pages"]
    assert [page["tree"] for page in pages or ()] == [TREE, TREE]
    pages = observed(again)["pages"]
    assert pages is not None
    (alone,) = pages
    assert alone["tree"] is None
    assert alone["reason"] == "the event with its tree is not in the log"


@pytest.mark.parametrize(
    "part", ["fields", "file_list", "windows", "clipboard", "screenshot", "pages"]
)
def test_a_part_that_nobody_watched_is_null_with_the_reason(part: str) -> None:
    found = observed(("episode.opened", {}))
    assert found[part] is None  # type: ignore[literal-required]
    assert found["missing"][part]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ([("gap.began", {"source": "files", "reason": "starting"})], "files: starting"),
        (
            [
                ("gap.began", {"source": "files", "reason": "lost"}),
                ("gap.ended", {"source": "files"}),
            ],
            None,
        ),
        ([created("a.csv")], None),
        ([created("a.csv"), ("gap.began", {"source": "files", "reason": "lost"})], "files: lost"),
        (
            [created("a.csv"), ("gap.began", {"source": "files", "part": "x", "reason": "lost"})],
            None,
        ),
    ],
)
def test_what_a_source_missed_is_named(said: list[Said], reason: str | None) -> None:
    assert observed(*said)["missing"].get("file_list") == reason


def test_lists_are_bounded_in_items_and_in_bytes() -> None:
    many = observed(*[filled(f"f{n}", "v") for n in range(MAX_FIELDS + 5)])
    assert (len(many["fields"] or ()), many["cut"]) == (MAX_FIELDS, ["fields"])
    assert (many["fields"] or [])[-1]["name"] == f"f{MAX_FIELDS + 4}"
    large = observed(*[filled(f"f{n}", "v" * MAX_TEXT) for n in range(100)])
    assert len(orjson.dumps(large["fields"])) <= MAX_PART_BYTES + MAX_FIELDS
    assert large["cut"] == ["fields"]


def test_the_text_for_a_model_has_no_ids_and_shows_the_page_as_lines() -> None:
    text = state_as_text(observed(went("/"), filled("Name", "Ada"), tree(), captured()))
    state, outlined = text.split("\n\n")
    assert orjson.loads(state) == {
        "tabs": [{"url": "http://shop.test/", "title": None}],
        "fields": [{"role": "textbox", "name": "Name", "value": "Ada"}],
        "focused": {"role": "textbox", "name": "Name"},
    }
    assert (
        outlined
        == outline(TREE)
        == ('heading "Lamps"\nlist\n  textbox "Name" focused=true value="Ada"')
    )


async def test_the_service_gives_the_picture_that_an_observation_names(service: Service) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID[:3], captured(), STORED, *SAID[3:])
    *_, last = (await service.get(f"/v1/episodes/{id}/trajectory")).json()["steps"]
    picture = await service.get(last["observation"]["screenshot"]["path"])
    assert (picture.status_code, picture.content) == (200, PIXEL)
    assert picture.headers["content-type"] == "image/webp"


@pytest.mark.parametrize("sha256", ["p2", "p1p1", "%00"])
async def test_a_picture_that_is_not_there_is_named(service: Service, sha256: str) -> None:
    id, token = await service.open()
    await service.tell(id, token, *SAID[:3], captured(), STORED)
    answer = await service.get(f"/v1/episodes/{id}/screenshots/{sha256}")
    assert answer.status_code == 404


@pytest.mark.parametrize(
    ("asked", "tree_bytes"),
    [({}, 0), ({"observations": {}}, 32_768), ({"observations": {"page_bytes": 2_048}}, 2_048)],
    ids=["not asked for", "by default", "as the task has it"],
)
def test_the_daemon_is_told_whether_pages_are_recorded(
    asked: dict[str, Any], tree_bytes: int
) -> None:
    rules = ruleset({"id": "cart", "when": {"url_reached": {"url": "/cart"}}}, **asked)
    assert rules.plan("ep_1")["tree_bytes"] == tree_bytes


async def test_a_page_that_was_recorded_changes_no_reward(service: Service) -> None:
    rewards = []
    for recorded in ([], [tree()]):
        id, token = await service.open()
        await service.tell(id, token, *SAID[:3], *recorded, *SAID[3:])
        steps = (await service.get(f"/v1/episodes/{id}/trajectory")).json()["steps"]
        rewards.append([(one["reward"]["reward"], one["reward"]["status"]) for one in steps])
    assert rewards[0] == rewards[1]
