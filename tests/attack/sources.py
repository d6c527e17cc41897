"""The tasks that stand in this repository, and those of its importers, each with a log that solves
it: a recording beside the task, or one that the importers' own tests make."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson

from api.replay.task_tests import read_events
from api.tasks.task_files import check_task, read_task_file
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from examples.learning.mine import PATH
from examples.learning.tasks import KINDS, PLACES
from examples.learning.tasks import task as learning_task
from lab.benchmarks import infinity, opencomputer, webcanvas
from lab.benchmarks.json_patch import apply_patch
from lab.benchmarks.miniwob import task_of
from tests.importing.heard import Browser
from tests.importing.opencomputer_ways import right_way as solved_states
from tests.importing.osworld_tasks import RIGHT_AND_WRONG, imported
from tests.importing.test_miniwob import RIGHT
from tests.importing.webarena import scoring
from tests.importing.webarena.hars import cases
from tests.importing.webcanvas_ways import right_way
from tests.miniwob.oracles import record_ways
from tests.miniwob.table import SEEDS
from tests.support.cases import CASES
from tests.support.chromium import EXECUTABLE
from tests.support.logs import ORIGIN, clicked, episode, log, went

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SHOP = EXAMPLES / "desktop" / "recordings" / "shop.jsonl"
INFINITY = CASES / "webarena-infinity"
OPENCOMPUTER = CASES / "opencomputer"
WEBARENA = scoring.HOME
WEBCANVAS = CASES / "webcanvas"


_JUDGED = "a judge decides its goal: no recording solves it by rules"


class Solved(NamedTuple):
    """A task and a log that solves it; ``why_not``: why there is none, instead; ``others``: logs of
    episodes that do not solve it."""

    name: str
    rules: Ruleset | None = None
    events: list[Event] | None = None
    why_not: str = ""
    others: Sequence[list[Event]] = ()


def examples() -> Iterator[Solved]:
    """The tasks below examples/, by the oracles of their own tests."""
    for path in sorted(EXAMPLES.rglob("*.yaml")):
        name = str(path.relative_to(EXAMPLES).with_suffix(""))
        is_shop = path.parent.name == "shop"
        origin = {"origin": "http://127.0.0.1:42801"} if is_shop else {}
        spec, lines = read_task_file(path, origin)
        tests = [{"oracle": SHOP}] if is_shop else spec.get("tests", [])
        oracles = [path.parent / test["oracle"] for test in tests if "oracle" in test]
        if not oracles:
            is_judged = path.parent.name == "judge"
            yield Solved(name, why_not=_JUDGED if is_judged else "no recording stands beside it")
        for oracle in oracles:
            yield Solved(name, compile_task(check_task(spec, lines)), read_events(oracle))
    for kind in KINDS:
        pressed = zip(PATH, PLACES[1:], strict=True)
        steps = [[clicked(button), went(f"/{place}")] for button, place in pressed]
        events = log(*episode(*steps, before=[went(f"/{PLACES[0]}")]))
        yield Solved(
            f"learning/{kind}", compile_task(check_task(learning_task(kind, ORIGIN))), events
        )


def miniwob(
    folder: Path | None = None, wanted: Sequence[str] = SEEDS[:1], pages: Sequence[str] = ()
) -> Iterator[Solved]:
    """The instances of each page by their right way, recorded live into the folder: one that is
    thrown away, since a recording holds what the page says. The wrong way is another's episode,
    where the page pays nothing for it: some pay a part for a part."""
    with tempfile.TemporaryDirectory() as name:
        for one in record_ways(folder or Path(name), wanted, pages):
            if one.why_not:
                yield Solved(one.name, why_not=one.why_not)
                continue
            others = [read_events(one.wrong)] if one.wrong_pay <= 0 else []
            rules = compile_task(task_from_json(one.task))
            yield Solved(one.name, rules, read_events(one.right), others=others)


def miniwob_by_hand() -> Iterator[Solved]:
    """The instances of which the importer's tests have a right way, without a browser."""
    for instance, steps in RIGHT:
        spec = task_of(instance)
        start = {"probe": "page", "when": "start", "value": {"state": {}, "ended": None}, "ms": 3}
        before = [("probe.answered", {**start, "baseline": True})] if "probes" in spec else []
        yield Solved(
            instance.page,
            compile_task(task_from_json(spec)),
            log(*episode(*steps, before=[went("/"), *before])),
        )


def osworld() -> Iterator[Solved]:
    """Each of OSWorld's functions that is covered, by its right outcome."""
    for function, (spec, right, _) in RIGHT_AND_WRONG.items():
        with tempfile.TemporaryDirectory() as folder:
            one = imported(Path(folder) / "osworld", spec)
        asked = [
            ("probe.answered", {"probe": probe["id"], "when": "start", "value": None, "ms": 1, "baseline": True})
            for probe in one.spec.get("probes", [])
        ]  # fmt: skip
        rules = compile_task(task_from_json(one.spec))
        yield Solved(function, rules, log(*episode([*right, clicked("x")], before=asked)))


def webarena_infinity() -> Iterator[Solved]:
    """Every task, by its solved state, which the application sends."""
    trees = {app.name: app for app in infinity.read_applications(INFINITY)}
    for one in infinity.tasks(INFINITY, dict.fromkeys(trees, ORIGIN)):
        app, _, name = one.name.partition("/")
        about = next(task for task in trees[app].tasks if task.id == name)
        if one.spec is None or about.expect_seed:
            yield Solved(one.name, why_not="true at the start: it pays nobody")
            continue
        rules, url = compile_task(task_from_json(one.spec)), f"{ORIGIN}/api/state"
        browser = Browser(rules)
        seed = trees[app].seed
        states = [orjson.dumps(state) for state in (seed, apply_patch(seed, about.patch))]
        first, last = (browser.told("PUT", url, state, 200) for state in states)
        yield Solved(one.name, rules, log(*episode([went("/"), *first], last)))


def webarena_verified() -> Iterator[Solved]:
    """Every task, by a HAR that is made of its own template and pays with its own evaluators."""
    rulesets = scoring.rulesets()
    with tempfile.TemporaryDirectory() as folder:
        for task in scoring.dataset():
            right = next(cases(task))
            yield Solved(str(right.task), rulesets[right.task], scoring.events(right, Path(folder)))


def webcanvas_tasks() -> Iterator[Solved]:
    """Every task, by a step that meets each of its nodes."""
    source = orjson.loads((WEBCANVAS / "tasks.json").read_bytes())
    for about, one in zip(source, webcanvas.tasks(WEBCANVAS, {}), strict=True):
        rules = None if one.spec is None else compile_task(check_task(one.spec))
        events = log(*episode([went("about:blank")], *right_way(about)))
        yield Solved(one.name, rules, events, why_not="refused by its importer")


def opencomputer_tasks() -> Iterator[Solved]:
    """Every task, whole, by what readers tell of end states that meet each of its checks."""
    for one in opencomputer.tasks(OPENCOMPUTER, {}):
        if one.spec is None:
            yield Solved(one.name, why_not="refused by its importer")
            continue
        rules = compile_task(check_task(one.spec))
        yield Solved(one.name, rules, solved_states(rules, one.spec))


GROUPS: dict[str, tuple[Callable[[], Iterator[Solved]], Path]] = {
    "examples": (examples, EXAMPLES),
    "MiniWoB++": (miniwob, Path(EXECUTABLE)),
    "OSWorld": (osworld, EXAMPLES),
    "WebArena-Infinity": (webarena_infinity, INFINITY),
    "WebArena-Verified": (webarena_verified, WEBARENA),
    "WebCanvas": (webcanvas_tasks, WEBCANVAS),
    "OpenComputer": (opencomputer_tasks, OPENCOMPUTER),
}
"""Group → what gives its tasks, and the folder that must be there for it."""
