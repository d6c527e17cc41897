"""WebArena-Infinity: solved states pay fully, the start pays nothing, and sent is not accepted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.cli.main import main
from detectors.engine.engine import Engine
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import infinity
from lab.benchmarks.base import Imported
from lab.benchmarks.json_patch import PatchError, apply_patch
from tests.importing.heard import Browser
from tests.importing.state_site import StateSite, state_site
from tests.support.cases import CASES
from tests.support.logs import Said, answered, episode, log

INFINITY = CASES / "webarena-infinity"
needs_cases = pytest.mark.shared_cases("webarena-infinity")
SEED: dict[str, Any] = {
    "preferences": {"theme": "Light", "spell": True},
    "keys": [{"id": "k1", "label": "CI"}, {"id": "k2", "label": "Bot"}],
    "people": [{"id": 7, "tags": ["a", "b"], "seenAt": "2026-01-01T00:00:00Z"}],
    "_nextId": 3,
}


@pytest.fixture(scope="module")
def site() -> Iterator[StateSite]:
    with state_site() as running:
        yield running


def given(tmp_path: Path, patch: list[dict[str, Any]], **more: Any) -> Imported:
    """The one task of an application of our own."""
    task = {"id": "t1", "instruction": "Do it.", "patch": patch, "expect_seed": False, **more}
    (tmp_path / "app.json").write_bytes(orjson.dumps({"app": "app", "seed": SEED, "tasks": [task]}))
    return next(infinity.tasks(tmp_path, {"app": "http://shop.test"}))


def rules_of(one: Imported) -> Ruleset:
    assert one.spec is not None
    return compile_task(task_from_json(one.spec))


def scored(rules: Ruleset, *steps: list[Said]) -> Engine:
    """The engine after an episode of these steps, closed."""
    engine = Engine(rules, "ep_1")
    engine.feed(log(*episode(*steps)))
    return engine


def sent(rules: Ruleset, *states: Any, status: int | None = 200) -> Engine:
    """An episode in which the page first sends its seed, accepted, and then each of ``states``, a
    step each."""
    browser, url = Browser(rules), f"{rules.task.origin}/api/state"
    first = browser.told("PUT", url, orjson.dumps(SEED), 200)
    return scored(
        rules, first, *(browser.told("PUT", url, orjson.dumps(state), status) for state in states)
    )


PATCHES: dict[str, list[dict[str, Any]]] = {
    "a value": [{"op": "replace", "path": "/preferences/theme", "value": "Dark"}],
    "a key comes": [{"op": "add", "path": "/preferences/lang", "value": {"a/b": [1, None]}}],
    "a key goes": [{"op": "remove", "path": "/preferences/spell"}],
    "a row comes": [
        {
            "op": "add",
            "path": "/keys/2",
            "value": {"id": "k3", "label": 'It\'s "new"', "on": [True]},
        }
    ],
    "a row goes": [{"op": "remove", "path": "/keys/0"}],
    "all rows go": [{"op": "remove", "path": "/keys/0"}, {"op": "remove", "path": "/keys/0"}],
    "a tag comes, another goes": [{"op": "replace", "path": "/people/0/tags/0", "value": "c"}],
    "the order": [{"op": "move", "from": "/keys/1", "path": "/keys/0"}],
    "only a time": [{"op": "replace", "path": "/people/0/seenAt", "value": "2026-02-02T00:00:00Z"}],
}


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_the_solved_state_pays_fully_and_the_start_nothing(
    tmp_path: Path, patch: list[dict[str, Any]]
) -> None:
    rules = rules_of(given(tmp_path, patch))
    solved = apply_patch(SEED, patch)
    engine = sent(rules, solved)
    assert (engine.total, engine.success) == (rules.attainable, True) == (1.0, True)
    assert (sent(rules, SEED).total, sent(rules).total) == (0.0, 0.0)
    weaker: list[Any] = [{}, [], None, "solved", dict.fromkeys(SEED), {key: [] for key in SEED}]
    for weak in weaker:
        if patch != PATCHES["all rows go"]:
            assert sent(rules, weak).total == 0.0, weak


def test_ids_times_and_counters_are_not_asked_for(tmp_path: Path) -> None:
    """An application gives other ids and times than the benchmark's own solution."""
    patch: list[dict[str, Any]] = [
        {
            "op": "add",
            "path": "/keys/2",
            "value": {"id": "k3", "label": "New", "at": "2026-02-02T10:00:00Z"},
        },
        {"op": "replace", "path": "/_nextId", "value": 4},
    ]
    rules = rules_of(given(tmp_path, patch))
    state = apply_patch(SEED, patch)
    state["keys"] = [{"id": "k9", "label": "New", "at": "2027-03-03T11:11:11Z"}, *SEED["keys"]]
    state["_nextId"] = 10
    assert sent(rules, state).total == rules.attainable
    state["keys"][0]["label"] = "Old"
    assert sent(rules, state).total == 0.0


def test_parts_pay_in_parts_and_what_is_undone_is_no_goal(tmp_path: Path) -> None:
    patch = [*PATCHES["a value"], *PATCHES["a tag comes, another goes"]]
    rules = rules_of(given(tmp_path, patch))
    half, whole = apply_patch(SEED, patch[:1]), apply_patch(SEED, patch)
    assert sent(rules, half).total == 0.25
    assert sent(rules, half, whole).total == 1.0
    for last in (SEED, half):
        assert (sent(rules, whole, last).total, sent(rules, whole, last).success) == (0.5, False)
    assert sent(rules, whole, SEED, whole, SEED, whole).total == 1.0


@pytest.mark.parametrize("status", [302, 400, 404, 500])
def test_6_sent_is_not_accepted(tmp_path: Path, status: int) -> None:
    rules = rules_of(given(tmp_path, PATCHES["a value"]))
    assert sent(rules, apply_patch(SEED, PATCHES["a value"]), status=status).total == 0.0


def test_of_a_write_that_broke_off_nobody_knows_whether_it_was_accepted(tmp_path: Path) -> None:
    """The server may have taken it, so it is null, never 0."""
    rules = rules_of(given(tmp_path, PATCHES["a value"]))
    engine = sent(rules, apply_patch(SEED, PATCHES["a value"]), status=None)
    assert (engine.total, engine.success) == (None, None)


def test_what_is_true_at_the_start_pays_nothing(tmp_path: Path) -> None:
    """2: also where the benchmark's own patch does something that its verifier does not need."""
    patch = PATCHES["a value"]
    rules = rules_of(given(tmp_path, patch, expect_seed=True))
    assert (rules.attainable, sent(rules, apply_patch(SEED, patch)).total) == (0.0, 0.0)


def test_3_a_claim_alone_pays_nothing(tmp_path: Path) -> None:
    rules = rules_of(given(tmp_path, PATCHES["a value"]))
    assert (
        scored(rules, [answered("SUCCESS")], [answered('{"preferences":{"theme":"Dark"}}')]).total
        == 0.0
    )


def test_10_other_places_say_nothing(tmp_path: Path) -> None:
    """The right body at another address, host or by another method, or made up by the browser
    itself; of one that is cut nobody knows."""
    rules = rules_of(given(tmp_path, PATCHES["a value"]))
    body = orjson.dumps(apply_patch(SEED, PATCHES["a value"]))
    browser = Browser(rules)
    for method, url in (
        ("POST", "http://shop.test/api/state"),
        ("PUT", "http://shop.test/api/state/2"),
        ("PUT", "http://shop.test.evil/api/state"),
        ("PUT", "https://shop.test/api/state"),
    ):
        assert scored(rules, browser.told(method, url, body, 200)).total == 0.0, url
    right = browser.told("PUT", "http://shop.test/api/state", body, 200)
    more: dict[str, Any]
    for more, total in (
        ({"served_from": "worker"}, 0.0),
        ({"cached": True}, 0.0),
        ({"body": {"text": body.decode(), "cut": True}}, None),
    ):
        changed = [(kind, {**data, **more}) for kind, data in right]
        assert scored(rules, changed).total == total, more
    assert scored(rules, right).total == 1.0


SILENT: dict[str, list[dict[str, Any]]] = {
    "empty": [],
    "the same value": [{"op": "replace", "path": "/preferences/theme", "value": "Light"}],
    "there and back": [
        {"op": "add", "path": "/a", "value": 1},
        {"op": "remove", "path": "/a"},
    ],
}


@pytest.mark.parametrize("patch", SILENT.values(), ids=SILENT)
def test_a_patch_that_changes_nothing_is_no_task_and_is_counted(
    tmp_path: Path, patch: list[dict[str, Any]]
) -> None:
    one = given(tmp_path, patch)
    why = "the patch changes nothing that a state could show"
    assert (one.spec, one.kind, one.remarks) == (None, "nothing to see", (why,))
    *_, whole = infinity.coverage(tmp_path).rows
    assert whole[1:3] == [1, 0]
    assert main(["coverage", "webarena-infinity", str(tmp_path)]) == 0


def test_patches_that_can_t_be_done_are_named(tmp_path: Path) -> None:
    for kind, path in (("remove", "/no"), ("add", "/keys/9"), ("otherwise", "/preferences")):
        with pytest.raises(PatchError, match=kind):
            apply_patch(SEED, [{"op": kind, "path": path, "value": 1}])


def replayed(site: StateSite, every: int) -> tuple[int, list[str]]:
    """Every so-manieth task, sent to the server as the applications do: how many, and the names
    that went wrong."""
    found, wrong = 0, []
    trees = {app.name: app for app in infinity.read_applications(INFINITY)}
    for number, one in enumerate(infinity.tasks(INFINITY, dict.fromkeys(trees, site.url))):
        if number % every:
            continue
        found += 1
        app, _, name = one.name.partition("/")
        seed = trees[app].seed
        about = next(task for task in trees[app].tasks if task.id == name)
        rules, url = rules_of(one), f"{site.url}/api/state"
        browser = Browser(rules)
        first = browser.asks("PUT", url, orjson.dumps(seed))
        solved = scored(
            rules, first, browser.asks("PUT", url, orjson.dumps(apply_patch(seed, about.patch)))
        )
        again = scored(rules, first, browser.asks("PUT", url, orjson.dumps(seed)))
        full = 0.0 if about.expect_seed else 1.0
        if (solved.total, rules.attainable, solved.success, again.total) != (full, full, True, 0.0):
            wrong.append(one.name)
    return found, wrong


@needs_cases
@pytest.mark.slow
def test_every_99th_task_over_the_loopback_server(site: StateSite) -> None:
    assert replayed(site, 99) == (13, [])


@needs_cases
@pytest.mark.slow
def test_all_tasks_over_the_loopback_server(site: StateSite) -> None:
    """expect_solved pays fully, expect_seed nothing, on all 1,189; what is already true pays 0."""
    assert replayed(site, 1) == (1189, [])


@needs_cases
@pytest.mark.slow
def test_the_table_of_coverage() -> None:
    assert infinity.coverage(INFINITY).rows[-1][1:3] == [1189, 1]
