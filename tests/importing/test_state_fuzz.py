"""Imported tasks of applications that are made up: rows, ids, dates, counters and codes, as many
kinds of task as an application has of changes.

Of each: no unrelated change earns the goal, the solved state does, so does what the application
makes of the same deed on another day, in another order and with other ids, and another date than
the one that was asked does not.
"""

from __future__ import annotations

import copy
import random
import string
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import infinity
from lab.benchmarks.base import Imported
from tests.importing.heard import Browser
from tests.support.examples import examples
from tests.support.logs import episode, log

WORDS = "amber basil cedar delta ember fjord grove hazel iris jade kelp lotus maple nectar onyx pearl".split()
MONTHS = (
    "January February March April May June July August September October November December".split()
)
State = dict[str, Any]


class World:
    """An application: it writes the day ``day`` and draws ids and codes as it likes."""

    def __init__(self, seed: int, day: str) -> None:
        self.chance, self.day = random.Random(seed), day

    def now(self) -> str:
        """A point in time on its day."""
        hour, minute, second = (self.chance.randrange(n) for n in (24, 60, 60))
        return f"{self.day}T{hour:02}:{minute:02}:{second:02}Z"

    def code(self) -> str:
        """Drawn."""
        letters = string.ascii_lowercase + string.digits
        return "".join(self.chance.choice(letters) for _ in range(3)) + "".join(
            self.chance.choice(letters) + str(self.chance.randrange(10)) for _ in range(9)
        )

    def id(self, rows: list[State], state: State) -> str | int:
        """A new row's id, of the kind that the others have, and the counter behind it."""
        state["_nextId"] += self.chance.randint(1, 5)
        number = state["_nextId"] + 100
        return number if isinstance(rows[0]["id"], int) else f"r_{number}"

    def added(self, state: State, **row: Any) -> State:
        """A new row, at either end."""
        rows = state["rows"]
        made = {
            "id": self.id(rows, state),
            "title": "",
            "due": None,
            "status": "open",
            "labels": [],
            **row,
        }
        made |= {"createdAt": self.now(), "shareToken": self.code(), "code": self.code()}
        rows.insert(self.chance.choice((0, len(rows))), made)
        return made


class Asked(NamedTuple):
    """A task: its words, how the application's state comes to it, and the places of the date that
    is asked."""

    instruction: str
    deed: Callable[[State, World], None]
    date: Callable[[State], tuple[State, str]] | None = None


def start(chance: random.Random) -> State:
    """A state of an application, with rows that have ids, notes that have none, a profile and
    counters."""
    words = chance.sample(WORDS, 6)
    whole = chance.random() < 0.5
    rows = [
        {
            "id": n if whole else f"r_{n}", "title": words[n], "due": chance.choice((None, f"2026-02-{n + 10}")),
            "status": chance.choice(("open", "done")), "labels": chance.sample(("red", "blue"), chance.randrange(3)),
            "createdAt": f"2026-01-{n + 10}T08:00:00Z", "shareToken": f"tok{n}x9y8z7w6v5{n}",
            "code": f"q{n}w3e4r5t6y7u{n}",
        }
        for n in range(1, chance.randint(3, 5))
    ]  # fmt: skip
    return {
        "rows": rows,
        "notes": [{"text": words[5], "at": "2026-01-02T10:00:00Z"}],
        "profile": {"language": "en", "updatedAt": "2026-01-01T00:00:00Z", "visits": 3},
        "_nextId": 9,
    }


def asked(kind: str, seed: State, chance: random.Random, due: str) -> Asked:
    """A task of this kind on the state ``seed``; ``due``: a day that it names, where it names
    one."""
    title = chance.choice(
        [word for word in WORDS if all(word != row["title"] for row in seed["rows"])]
    )
    place = chance.randrange(len(seed["rows"]))
    one = seed["rows"][place]["title"]
    year, month, day = due.split("-")
    named = chance.choice((due, f"{MONTHS[int(month) - 1]} {int(day)}, {year}"))

    def row(state: State, name: str) -> State:
        return next(row for row in state["rows"] if row["title"] == name)

    def doubled(state: State, world: World) -> None:
        old = {
            key: value
            for key, value in row(state, one).items()
            if key in ("due", "status", "labels")
        }
        world.added(state, title=one, **copy.deepcopy(old))

    tasks = {
        "a new row": Asked(f"Create {title}.", lambda state, world: void(world.added(state, title=title))),
        "a new row with a date": Asked(
            f"Create {title}, due {named}.",
            lambda state, world: void(world.added(state, title=title, due=due)),
            lambda state: (row(state, title), "due"),
        ),
        "a row's date": Asked(
            f"Set the due date of {one} to {named}.",
            lambda state, world: row(state, one).update(due=due, updatedAt=world.now()),
            lambda state: (row(state, one), "due"),
        ),
        "a row's status": Asked(
            f"Archive {one}.", lambda state, world: row(state, one).update(status="archived", archivedAt=world.now())
        ),
        "a row's label": Asked(f"Label {one} green.", lambda state, _: row(state, one)["labels"].append("green")),
        "a row that is gone": Asked(
            f"Delete {one}.", lambda state, _: state["rows"].remove(row(state, one))
        ),
        "a row again": Asked(f"Duplicate {one}.", doubled),
        "a note": Asked(
            f"Note {title}.", lambda state, world: state["notes"].append({"text": title, "at": world.now()})
        ),
        "a setting": Asked(
            "Switch to French.", lambda state, world: state["profile"].update(language="fr", updatedAt=world.now())
        ),
    }  # fmt: skip
    return tasks[kind]


KINDS = (
    "a new row", "a new row with a date", "a row's date", "a row's status", "a row's label", "a row that is gone",
    "a row again", "a note", "a setting",
)  # fmt: skip


def void(_: Any) -> None:
    """Nothing."""


def unrelated(state: State, world: World) -> State:
    """What the application comes to by deeds that the task did not ask for."""
    state = copy.deepcopy(state)
    deeds: list[Callable[[], Any]] = [
        lambda: world.added(state, title="zebra", due="2026-11-11"),
        lambda: world.added(state, title="zebra"),
        lambda: state["notes"].append({"text": "zebra", "at": world.now()}),
        lambda: state["profile"].update(updatedAt=world.now(), visits=world.chance.randrange(99)),
        lambda: state.update(_nextId=state["_nextId"] + world.chance.randint(1, 9)),
        lambda: state["rows"].reverse(),
        lambda: [
            row.update(updatedAt=world.now(), shareToken=world.code()) for row in state["rows"]
        ],
    ]
    for deed in world.chance.sample(deeds, world.chance.randint(1, 4)):
        deed()
    return state


def imported(seed: State, instruction: str, patch: list[State]) -> Imported:
    """The one task of an application."""
    task = {
        "id": "t",
        "instruction": instruction,
        "patch": patch,
        "expect_seed": False,
        "expect_solved": True,
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "app.json").write_bytes(
            orjson.dumps({"app": "app", "seed": seed, "tasks": [task]})
        )
        return next(infinity.tasks(Path(folder), {"app": "http://shop.test"}))


def pays(rules: Ruleset, *states: State) -> bool:
    """Whether these states, one after the other, reach the goal."""
    browser, url = Browser(rules), f"{rules.task.origin}/api/state"
    engine = Engine(rules, "ep_1")
    engine.feed(
        log(*episode(*(browser.told("PUT", url, orjson.dumps(state), 200) for state in states)))
    )
    return bool(engine.success)


def patch_of(seed: State, solved: State) -> list[State]:
    """The difference as a benchmark has it: part by part of the top."""
    return [
        {"op": "replace", "path": f"/{key}", "value": solved[key]}
        for key in solved
        if solved[key] != seed[key]
    ]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(number=st.integers(0, 2**32), month=st.integers(7, 10), day=st.integers(1, 28))
def test_a_task_is_paid_for_what_it_asks_and_for_nothing_else(
    kind: str, number: int, month: int, day: int
) -> None:
    chance = random.Random(number)
    seed, due = start(chance), f"2026-{month:02}-{day:02}"
    task = asked(kind, seed, chance, due)
    solved = copy.deepcopy(seed)
    task.deed(solved, World(number + 1, "2026-03-06"))
    one = imported(seed, task.instruction, patch_of(seed, solved))
    assume(one.spec is not None)
    rules = compile_task(task_from_json(one.spec))
    assert pays(rules, seed, solved), "the benchmark's own solution"
    assert not pays(rules, seed), "nothing was done"
    for salt, doing in enumerate(("2026-03-06", "2026-05-17", "2027-01-31")):
        again = copy.deepcopy(seed)
        task.deed(again, World(number + 2 + salt, doing))
        assert pays(rules, seed, again), (f"the same deed on {doing}", again, one.spec)
    for salt in range(4):
        other = unrelated(
            seed, World(number + 9 + salt, chance.choice(("2026-03-06", "2026-06-01")))
        )
        assert not pays(rules, seed, other), ("an unrelated change", other, one.spec)
    if task.date is not None:
        for wrong in ("2026-12-24", "2026-03-06", None):
            state = copy.deepcopy(solved)
            holder, key = task.date(state)
            holder[key] = wrong
            assert not pays(rules, seed, state), (f"due {wrong}", one.spec)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_task_is_imported(kind: str) -> None:
    """So that the property above is about something."""
    for number in range(5):
        chance = random.Random(number)
        seed = start(chance)
        task = asked(kind, seed, chance, "2026-08-09")
        solved = copy.deepcopy(seed)
        task.deed(solved, World(number, "2026-03-06"))
        one = imported(seed, task.instruction, patch_of(seed, solved))
        assert one.spec is not None, one.remarks


@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(number=st.integers(0, 2**32))
def test_a_difference_that_any_change_makes_is_no_task_and_is_named(number: int) -> None:
    """Counters, times that any change sets, and what the daemon masks: whichever of them, and
    however many."""
    chance = random.Random(number)
    seed, world = start(chance), World(number, "2026-03-06")
    solved = copy.deepcopy(seed)
    deeds: dict[str, Callable[[], Any]] = {
        "_nextId": lambda: solved.update(_nextId=solved["_nextId"] + 1),
        "updatedAt": lambda: solved["profile"].update(updatedAt=world.now()),
        "shareToken": lambda: chance.choice(solved["rows"]).update(shareToken=world.code()),
        "modifiedAt": lambda: chance.choice(solved["rows"]).update(modifiedAt=world.now()),
    }
    done = chance.sample(sorted(deeds), chance.randint(1, 4))
    for name in done:
        deeds[name]()
    one = imported(seed, "Do it.", patch_of(seed, solved))
    assert (one.spec, one.kind) == (None, "nothing to tell apart"), (done, one.spec)
    assert all(name in one.remarks[0] for name in done)
