"""Caches are bounded in bytes, whatever a page, an agent or a task's author puts into them."""

from __future__ import annotations

import ast
import gc
import random
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from api.stages.judge.flags import flags
from api.stages.model.looks import looks
from api.stages.model.words import plain, read_goal
from common.secret_names import is_telling
from detectors.engine.engine import Engine
from detectors.engine.footprint import footprint
from detectors.matchers import call, location, state, third_party, url
from detectors.matchers.plain import normal, text_key
from detectors.model import caches
from detectors.model.caches import ENTRY, SharedPart, SizedCache, cache_by_size, release_large
from detectors.model.codec import GENESIS, decode_segment, encode_segment
from detectors.sdk.cel_plan import plan_of
from detectors.task.ruleset import compile_task
from detectors.task.task_json import task_from_json, task_to_json
from tests.support.logs import Said, clicked, episode, filled, log, ruleset, went

ROOT = Path(__file__).parents[2]
MIB = 1 << 20


def traced(make: Callable[[], Any]) -> tuple[int, Any]:
    """Bytes that are still allocated after ``make``, and what it gave."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    made = make()
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return after - before, made


def long(n: int, characters: int = MIB) -> str:
    return f"{n}" + "a" * characters


CALLS: dict[str, Callable[[int], object]] = {
    "base_of": lambda n: location.base_of(f"http://a.test/{long(n)}"),
    "query_of": lambda n: location.query_of(f"http://a.test/{long(n)}?{n}=1"),
    "location_key": lambda n: location.location_key(f"http://a.test/{long(n)}?{long(n)}"),
    "parse_url": lambda n: url.parse_url(f"http://a.test/?{n}" + "&a=" * 2_600),
    "url_matches": lambda n: url.url_matches(
        {"path": f"/{n}", "origin": "http://a.test", "ignore": [long(k, 200) for k in range(900)]},
        "http://a.test/",
        None,
    ),
    "currency": lambda n: third_party.currency(long(n), "en"),
    "read_goal": lambda n: read_goal(f"{n} " + '"word" ' * 30_000),
    "plain": lambda n: plain(long(n)),
    "is_telling": lambda n: is_telling(long(n)),
    "looks": lambda n: looks({"class": long(n), "color": long(n)}),
    "text_key": lambda n: text_key(long(n)),
    "normal": lambda n: normal(long(n)),
    "documents_of": lambda n: call.documents_of(
        orjson.dumps([{"a": n}] * 100_000).decode(), "application/json", "json"
    ),
    "documents_of a form": lambda n: call.documents_of(
        f"a{n}=1" + "".join(f"&{k}=" for k in range(150_000)),
        "application/x-www-form-urlencoded",
        "form",
    ),
    "_document": lambda n: state._document(orjson.dumps([{"a": n}] * 100_000).decode()),
    "json_path": lambda n: third_party.json_path(f"$.a{n}" + "[?@.a == 1]" * 300),
    "plan_of": lambda n: plan_of(" && ".join([f"data.x == '{n:05d}'"] * 45)),
}
MANY = {"json_path": 60, "plan_of": 150, "parse_url": 120, "documents_of a form": 6}
BOUND = 20 * MIB
"""More than any one of them may take; without a bound in bytes each that can grow goes beyond."""


@pytest.mark.slow_where("documents_of")
@pytest.mark.slow_where("_document")
@pytest.mark.slow_where("json_path")
@pytest.mark.slow_where("plan_of")
@pytest.mark.slow_where("looks")
@pytest.mark.slow_where("parse_url")
@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_put_into_a_cache_it_stays_within_its_bytes(name: str) -> None:
    CALLS[name](0)

    def fill() -> None:
        for n in range(1, MANY.get(name, 64)):
            CALLS[name](n)
        release_large()

    took, _ = traced(fill)
    assert took < BOUND


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (flags, lambda n: long(n, 2_000)),
        (
            third_party._schema,
            lambda n: orjson.dumps({"properties": {f"p{k}": {"minimum": n} for k in range(100)}}),
        ),
        (
            third_party._remembering_schema,
            lambda n: orjson.dumps(
                {"properties": {f"p{k}": {"$ref": "#", "minimum": n} for k in range(100)}}
            ),
        ),
    ],
)
def test_what_takes_long_to_make_stays_within_its_bytes(
    function: Any, argument: Callable[[int], str | bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a smaller bound than it has, and without what a first use of it loads."""
    function(argument(30))
    function.cache.clear()
    many = [argument(n) for n in range(30)]
    most = 10 * len(many[0]) + 10 * ENTRY + (0 if function is flags else 600_000)
    monkeypatch.setattr(function.cache, "max_bytes", most)
    took, _ = traced(lambda: [function(one) for one in many] and None)
    assert 0 < len(function.cache) < 20
    assert took < 1.5 * most


def test_a_body_that_is_larger_than_its_cache_is_read_once_an_event() -> None:
    body = orjson.dumps([{"a": n} for n in range(150_000)]).decode()
    assert len(body) * caches.PARSED > caches.BODIES_BYTES
    assert state._document(body) is state._document(body)
    first = state._document(body)
    Engine(ruleset({"id": "a", "when": {"url_reached": {"url": "/a"}}}), "ep_1").feed(
        log(went("/a"))
    )
    assert state._document(body) is not first
    release_large()


@pytest.mark.parametrize(
    "text",
    [
        "[" + "[]," * 200_000 + "0]",
        "[" + "{}," * 200_000 + "0]",
        "[" + '{"a":1},' * 100_000 + "0]",
        "[" + "1.5," * 200_000 + "0]",
        "[" + "'é',".replace("'", '"') * 150_000 + "0]",
        "{" + ",".join(f'"{n}":{{}}' for n in range(60_000)) + "}",
        "[" + "123456," * 100_000 + "0]",
    ],
)
def test_parsed_json_takes_no_more_than_it_is_taken_for(text: str) -> None:
    took, _ = traced(lambda: orjson.loads(text))
    assert took <= caches.PARSED * len(text)


def test_compiled_schemas_have_patterns_of_bounded_size() -> None:
    """A task of 256 KiB with 9,000 of these took 4 GB."""
    spec = {"allOf": [{"pattern": f"^\\pL{{1,9}}{n}$"} for n in range(300)]}
    with pytest.raises(ValueError, match="patterns together"):
        third_party.check_schema(orjson.dumps(spec))
    third_party.check_schema(orjson.dumps({"allOf": [{"pattern": f"^a{n}$"} for n in range(200)]}))


def test_a_sized_cache_never_holds_more_than_it_may() -> None:
    drawn = random.Random(30)
    for _ in range(60):
        most = drawn.randrange(1, 40_000)
        cache: SizedCache[int, int] = SizedCache(most)
        kept: dict[int, tuple[int, SharedPart | None]] = {}
        rules = [SharedPart(k, drawn.randrange(5_000)) for k in range(3)]
        for _ in range(200):
            key = drawn.randrange(30)
            if drawn.random() < 0.2:
                cache.drop(key)
                kept.pop(key, None)
                continue
            size = drawn.randrange(most + 2_000)
            shared = drawn.choice([None, *rules])
            cache.put(key, key, size, shared)
            kept[key] = size, shared
            there = {k: v for k, v in kept.items() if cache.get(k) is not None}
            held = sum(size + ENTRY for size, _ in there.values())
            held += sum({s.key: s.bytes for _, s in there.values() if s}.values())
            assert cache.bytes == held <= most
            assert (key in there) == (size + ENTRY + (shared.bytes if shared else 0) <= most)
            kept = there


def test_the_value_that_was_used_longest_ago_makes_room() -> None:
    cache: SizedCache[str, str] = SizedCache(3 * (ENTRY + 10))
    for key in "abc":
        cache.put(key, key, 10)
    cache.get("a")
    cache.put("d", "d", 10)
    assert [cache.get(key) for key in "abcd"] == ["a", None, "c", "d"]


def test_what_raises_is_not_kept() -> None:
    calls = []

    @cache_by_size(MIB, lambda _, text: len(text))
    def fails(text: str) -> str:
        calls.append(text)
        raise ValueError(text)

    for _ in range(2):
        with pytest.raises(ValueError, match="a"):
            fails("a")
    assert calls == ["a", "a"]


TABS = [went(f"/a{tab}", tab=f"T{tab}") for tab in range(30)]
LOGS: dict[str, list[Said]] = {
    "two events": episode([went("/a"), clicked("Buy")], close=False),
    "fields": episode(
        [*TABS, *(filled(f"F{n}", "x", tab=f"T{t}") for n in range(30) for t in range(30))],
        close=False,
    ),
    "long values": episode(
        [
            *TABS,
            *(filled(f"F{n}", f"字{t}{n}" * 90, tab=f"T{t}") for n in range(9) for t in range(30)),
        ],
        close=False,
    ),
    "steps": episode(*[[clicked(f"B{n}")] for n in range(200)], close=False),
}


@pytest.mark.parametrize("said", LOGS.values(), ids=LOGS)
@pytest.mark.parametrize("milestones", [2, 60])
def test_an_engine_is_measured_as_the_allocator_has_it(said: list[Said], milestones: int) -> None:
    rules = ruleset(
        *(
            {"id": f"m{n}", "when": {"field_filled": {"field": f"F{n}", "value": "x"}}}
            for n in range(milestones)
        )
    )
    many = 40 if len(said) < 10 else 3
    logs = [encode_segment(log(*said, episode=f"ep_{n}"), GENESIS) for n in range(many)]

    def run() -> list[Engine]:
        engines = [Engine(rules, f"ep_{n}") for n in range(many)]
        for engine, text in zip(engines, logs, strict=True):
            engine.feed(decode_segment(text).events)
        return engines

    run()
    took, engines = traced(run)
    assert 0.9 <= sum(map(footprint, engines)) / took <= 1.7


def test_rules_are_measured_as_the_allocator_has_them() -> None:
    text = orjson.dumps(
        task_to_json(
            ruleset(
                *({"id": f"m{n}", "when": {"url_reached": {"url": f"/{n}"}}} for n in range(80))
            ).task
        )
    )

    def make() -> Any:
        return compile_task(task_from_json(orjson.loads(text), stored=True))

    make()
    took, rules = traced(make)
    assert 0.9 <= rules.shared.bytes / took <= 1.5


KEEPERS = {"lru_cache", "cache", "cache_by_size", "cache_short"}
TABLES = {"OrderedDict", "SizedCache"}


def caches_of(path: Path) -> set[str]:
    """The functions of a file that are cached, and the attributes that are tables which forget."""
    found: set[str] = set()
    source = path.read_text()
    if not any(word in source for word in KEEPERS | TABLES):
        return found  # to parse every file of the product takes seconds
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            names = {
                part.id if isinstance(part, ast.Name) else part.attr
                for decorator in node.decorator_list
                for part in [decorator.func if isinstance(decorator, ast.Call) else decorator]
                if isinstance(part, ast.Name | ast.Attribute)
            }
            if names & KEEPERS:
                found.add(node.name)
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Attribute)
            and isinstance(node.annotation, ast.Subscript)
            and isinstance(node.annotation.value, ast.Name)
            and node.annotation.value.id in TABLES
        ):
            found.add(node.target.attr)
    return found


def test_every_cache_is_in_the_table_of_docs_scale() -> None:
    table = (ROOT / "docs/scale.md").read_text()
    missing = [
        f"{path.relative_to(ROOT)} `{name}`"
        for room in ("agentd", "api", "common", "detectors", "client", "lab")
        for path in sorted((ROOT / room).rglob("*.py"))
        if "site-packages" not in str(path) and path.name != "caches.py"
        for name in sorted(caches_of(path))
        if f"`{path.relative_to(ROOT)}` `{name}`" not in table
    ]
    assert missing == []
