"""MiniWoB++ tasks, without a browser: what a generator makes of an instance, and what no generator
may pay for.

The pages here are our own, of the shape of theirs; tests/miniwob holds the generators to the pages
themselves.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from api.tasks.task_files import check_task
from detectors.engine.engine import Engine
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import IMPORTERS
from lab.benchmarks.base import BadSourceError
from lab.benchmarks.miniwob import coverage, task_of, tasks
from lab.benchmarks.miniwob.instance import Instance
from lab.benchmarks.miniwob.plan import UnobservableError
from lab.benchmarks.miniwob.registry import GENERATORS, UNOBSERVABLE
from lab.benchmarks.miniwob.table import agrees
from tests.support.cases import CASES
from tests.support.logs import Said, answered, clicked, episode, filled, log

FORBIDDEN = ("WOB_", "core.", "reward", "window.", "eval", "Function", "episode-id", "timer")
SLIDER = '<div id="area"><div id="slider"></div><div id="val">2</div></div>'


def instance(page: str, utterance: str, html: str = "", **fields: str) -> Instance:
    return Instance(page, utterance, html, fields, "http://shop.test")


TEXT = instance("enter-text", 'Enter "Ada" into the text field and press Submit.')
SECRET = instance(
    "enter-password", 'Enter the password "x1y" into both text fields and press submit.'
)
SLIDE = instance("use-slider", "Select 5 with the slider and hit Submit.", SLIDER)
PAIR = instance("click-button-sequence", "Click button ONE, then click button TWO.")
ONE = instance("click-test-2", "Click button ONE.")
EVERY = (TEXT, SECRET, SLIDE, PAIR, ONE)


def press(**more: Any) -> Said:
    return clicked("Submit", id="subbtn", **more)


def stands(ended: float | None, **state: bool) -> Said:
    """The probe's answer at the end of a step."""
    value = {"state": {"score": 0, **state}, "ended": ended}
    return ("probe.answered", {"probe": "page", "when": "step", "step": 0, "value": value, "ms": 3})


def goal(one: Instance, *steps: Sequence[Said]) -> tuple[bool | None, float]:
    """Whether the goal was reached, and the total."""
    engine = Engine(compile_task(task_from_json(task_of(one))), "ep_1")
    begun: Said = ("probe.answered", {"probe": "page", "when": "start", "value": {"state": {}, "ended": None},
                                      "baseline": True, "ms": 3})  # fmt: skip
    before = [begun] if "probes" in task_of(one) else []
    rewards = engine.feed(log(*episode(*steps, before=before))).rewards
    return rewards[-1].success, round(sum(reward.reward or 0.0 for reward in rewards), 6)


RIGHT: list[tuple[Instance, list[list[Said]]]] = [
    (TEXT, [[filled("tt", "Ada")], [press()]]),
    (SECRET, [[stands(None, some=True, every=True)], [press(), stands(1, some=True, every=True)]]),
    (SLIDE, [[stands(None, near=True, right=True)], [press(), stands(1, near=True, right=True)]]),
    (PAIR, [[clicked("ONE")], [clicked("TWO")]]),
    (ONE, [[clicked("ONE")]]),
]


@pytest.mark.parametrize(("one", "steps"), RIGHT, ids=lambda value: getattr(value, "page", ""))
def test_the_right_way_pays_all(one: Instance, steps: list[list[Said]]) -> None:
    assert goal(one, *steps) == (True, 1.0)


WRONG: list[tuple[str, Instance, list[list[Said]]]] = [
    ("another text", TEXT, [[filled("tt", "Adam")], [press()]]),
    ("right, but after a press", TEXT, [[press()], [filled("tt", "Ada")], [press()]]),
    ("right, then undone", TEXT, [[filled("tt", "Ada")], [filled("tt", "Ad")], [press()]]),
    ("never pressed", TEXT, [[filled("tt", "Ada")]]),
    ("pressed by script", TEXT, [[filled("tt", "Ada")], [press(trusted=False)]]),
    ("filled by script", TEXT, [[filled("tt", "Ada", trusted=False)], [press()]]),
    ("right only after the round", SLIDE, [[press(), stands(-1)], [stands(1, right=True)]]),
    (
        "made right as it is pressed again",
        SLIDE,
        [[press(), stands(-1)], [press(), stands(1, right=True)]],
    ),
    ("spoilt in the step of the press", SLIDE, [[stands(None, right=True)], [press(), stands(-1)]]),
    ("set up and pressed by script", SLIDE, [[press(trusted=False), stands(1, right=True)]]),
    ("in the other order", PAIR, [[clicked("TWO")], [clicked("ONE")], [clicked("TWO")]]),
    ("another button first", ONE, [[clicked("TWO")], [clicked("ONE")]]),
]


@pytest.mark.parametrize(
    ("one", "steps"), [(one, steps) for _, one, steps in WRONG], ids=[name for name, *_ in WRONG]
)
def test_the_goal_is_missed(one: Instance, steps: list[list[Said]]) -> None:
    success, total = goal(one, *steps)
    assert success is False
    assert total <= 0.4


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.page)
def test_immunity_1_2_3(one: Instance) -> None:
    """Who does nothing, or only says that it is done, or answers with a pattern, earns nothing."""
    idle: list[list[list[Said]]] = [[[]], [[], []]]
    for steps in (*idle, [[answered("SUCCESS")]], [[answered("^.*$")], [answered("(a+)+$")]]):
        assert goal(one, *steps) == (False, 0.0)


def test_immunity_2_what_stands_right_at_the_start() -> None:
    """A slider that is right from the start still has to be submitted."""
    started = instance("use-slider", "Select 2 with the slider and hit Submit.", SLIDER)
    assert goal(started, [stands(None, right=True)])[0] is False
    assert goal(started, [press(), stands(1, right=True)])[0] is True


def test_immunity_6_the_first_press_counts() -> None:
    """A second right press pays nothing more."""
    way: list[list[Said]] = [[filled("tt", "Ada")], [press()]]
    assert goal(TEXT, *way, [press()], [press()]) == goal(TEXT, *way)


@pytest.mark.parametrize(
    "text", ["", "Ad", "Adaa", "adA", "Аda", "Ada Ada", "a d A", "^Ada$", "A*"]
)
def test_immunity_10_weak_matchers(text: str) -> None:
    """Empty, cut, longer, in another case, of other letters, repeated, reordered, a pattern."""
    assert goal(TEXT, [filled("tt", text)], [press()])[0] is False


def test_immunity_10_no_page_globals() -> None:
    """No expression goes near the page's variables, or near the display in which it shows what it
    paid."""
    sources = (Path(__file__).parents[2] / "lab" / "benchmarks" / "miniwob").rglob("*.py")
    bodies = [
        part for source in sources for part in source.read_text().split('"""') if "return {" in part
    ]
    assert len(bodies) > 25
    for body in bodies:
        assert not [word for word in FORBIDDEN if word in body]


def test_texts_of_an_instance_stay_data() -> None:
    """What an utterance says is a value in the expression, never part of its code."""
    nasty = instance(
        "enter-password",
        'Enter the password "`);throw 1;//" into both text fields and press submit.',
    )
    (probe,) = task_of(nasty)["probes"]
    assert json.dumps("`);throw 1;//") in probe["script"]["expression"]


@pytest.mark.parametrize("one", EVERY, ids=lambda one: one.page)
def test_tasks_are_tasks(one: Instance) -> None:
    """A task that the service takes, worth 1 in all; the same instance is the same version, another
    is another."""
    task = task_of(one)
    check_task(task)
    assert task_of(one) == task
    other = instance(one.page, one.utterance, one.html + "<p>", more="x")
    assert (task_of(other)["version"] == task["version"]) is (
        one.html == "" or "<p>" not in task["instruction"]
    )


TREE = """<div id="area"><ul id="tree"><li><span class="folder">Ada</span><ul><li><span class="folder">Bob</span>
<ul><li><span class="file">Eve</span></li></ul></li></ul></li><li><span class="file">Top</span></li></ul></div>"""
POSTS = """<div id="area"><div class="media"><span class="username">@a</span><span class="like"></span>
<ul class="hide"><li>Mute @a</li></ul></div></div>"""
MAILS = """<div id="main"><div class="email-thread"><span class="email-sender">Ada</span>
<span class="email-actions"><span></span><span></span></span></div></div>"""
FIND = 'Navigate through the file tree. Find and click on the folder or file named "{}".'
GRID = "<ul id=sortable>" + "".join(f"<li>{name}</li>" for name in "abcdefghi")
CUBE = 'Move the cube around so that "{}" is the active side facing the user.'
ACTIVE = '<div id="area"><div class="active">2</div></div>'
STAR = "Find the email by Ada and click the star icon to mark it."
REPLY = 'Find the email by Ada and reply to them with the text "Hi".'
ACTS: list[tuple[Instance, list[str]]] = [
    (instance("navigate-tree", FIND.format("Eve"), TREE), ["folder-1", "folder-2", "item"]),
    (instance("navigate-tree", FIND.format("Bob"), TREE), ["folder-1", "item"]),
    (instance("navigate-tree", FIND.format("Top"), TREE), []),
    (
        instance("social-media", 'For the user @a, click on the "Mute" button.', POSTS),
        ["open", "chosen"],
    ),
    (instance("social-media", 'For the user @a, click on the "Like" button.', POSTS), []),
    (instance("email-inbox-star-reply", REPLY, MAILS), ["open", "replying", "written"]),
    (instance("email-inbox-star-reply", STAR, MAILS), []),
    (instance("drag-items-grid", "Drag a down by one.", GRID), []),
    (instance("drag-cube", CUBE.format(6), ACTIVE), ["turned", "facing"]),
    (instance("drag-cube", CUBE.format(2), ACTIVE), []),
]


@pytest.mark.parametrize(("one", "steps"), ACTS, ids=lambda value: getattr(value, "page", ""))
def test_two_steps_wherever_more_than_one_act_is_needed(one: Instance, steps: list[str]) -> None:
    """A page of several kinds of instances has steps in those that one click or one drag does not
    decide: what is on no way that has to be gone is no step."""
    task = task_of(one)
    assert [m["id"] for m in task["milestones"] if m.get("component") == "ui"] == steps
    check_task(task)


def test_a_source(tmp_path: Path) -> None:
    """Instances as JSON lines; what nobody can judge is said, what is wrong is named with its
    line."""
    assert IMPORTERS["miniwob"][0] == "lab.benchmarks.miniwob"
    lines = [
        {"page": "click-test-2", "utterance": "Click button ONE.", "seed": "7"},
        {"page": "count-sides", "utterance": "?"},
    ]
    source = tmp_path / "instances.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)))
    first, second = tasks(source, {"miniwob": "http://127.0.0.1:8000"})
    assert first.name == "click-test-2-7"
    assert first.spec is not None
    assert first.spec["origin"] == "http://127.0.0.1:8000"
    assert second.spec is None
    assert "canvas" in second.remarks[0]
    source.write_text('{"page": "click-test-2"}')
    with pytest.raises(BadSourceError, match="line 1: an instance needs page and utterance"):
        list(tasks(source, {}))


@pytest.mark.shared_cases("miniwob")
def test_every_page_of_the_cases_has_its_generator_or_its_reason() -> None:
    pages = set(json.loads((CASES / "miniwob" / "pages.json").read_text()))
    assert GENERATORS.keys() | UNOBSERVABLE.keys() == pages


def test_a_page_has_a_generator_or_a_reason_and_not_both() -> None:
    assert not GENERATORS.keys() & UNOBSERVABLE.keys()
    with pytest.raises(UnobservableError, match="pixels"):
        task_of(instance("count-sides", "?"))


def test_an_instance_that_nobody_can_judge_says_so() -> None:
    """Two mails by the one whose mail is asked for: the page knows which it wants, and does not say
    it."""
    mail = '<div class="email-thread"><span class="email-sender">{}</span></div>'
    asked = "Find the email by Ada and forward that email to Bob."
    one, two = (
        f'<div id="main">{"".join(map(mail.format, by))}</div>'
        for by in (["Ada", "Eve"], ["Ada", "Ada"])
    )
    assert task_of(instance("email-inbox-noscroll", asked, one))
    with pytest.raises(
        UnobservableError, match="2 mails are by Ada: which of them is to be forwarded is not said"
    ):
        task_of(instance("email-inbox-noscroll", asked, two))


def test_the_table(tmp_path: Path) -> None:
    """Agreement is of credit with what the page paid, parts too, and of success with the whole."""
    runs = [
        {"way": "right", "raw": 1.0, "credit": 1.0, "success": True},
        {"way": "wrong", "raw": -1.0, "credit": 0.0, "success": False},
    ]
    assert agrees(1.0, 1.0, True)
    assert agrees(-1.0, 0.0, False)
    assert agrees(0.61, 0.6, False)
    assert not agrees(0.5, 1.0, True)
    assert not agrees(0.0, None, None)
    source = tmp_path / "runs.jsonl"
    source.write_text(
        json.dumps(
            {"page": "click-test-2", "utterance": "x", "seed": "1", "steps": [], "runs": runs}
        )
    )
    assert "1 agree on every run" in coverage(source).markdown()
