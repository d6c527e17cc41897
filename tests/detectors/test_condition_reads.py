"""What a condition reads of an event is what the daemon is asked for: derived from it, for every
rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from detectors.engine.engine import Engine
from detectors.model.errors import SpecError
from detectors.model.kinds import KINDS, UNHEARD
from detectors.model.kinds.shapes import ON_REQUEST, shape_at
from detectors.model.types import Event, Reading
from detectors.sdk.arguments import parse_args
from detectors.sdk.registry import add_foreign, rule, rules
from detectors.sdk.world import World
from detectors.task.task_json import TaskError
from tests.detectors.test_rules import YES
from tests.detectors.test_total import made
from tests.support.logs import ORIGIN, clicked, episode, log, ruleset, run, worth

ANY = {"url": None, "refused": True}
FINISHED, CLICKED = "request.finished", "element.clicked"
GOLDEN = Path(__file__).parents[1] / "cdp" / "golden"


def plan(rule: str, **args: Any) -> dict[str, Any]:
    """What the plan of a task of one condition asks for beyond kinds."""
    found = ruleset({"id": "m", "when": {rule: args}}).plan("E")
    asked = (
        "request_bodies",
        "response_bodies",
        "request_headers",
        "response_headers",
        "attributes",
        "around",
    )
    return {name: found[name] for name in (*asked, "file_reads") if found[name]}


def cel(kind: str, expression: str, **more: Any) -> dict[str, Any]:
    return plan("cel", kind=kind, expression=expression, **more)


@pytest.mark.parametrize(
    ("kind", "where", "asked"),
    [
        (CLICKED, {"around": {"contains": "Bob"}}, {"around": [True]}),
        (CLICKED, {"class": "trash"}, {"around": [True]}),
        ("element.double_clicked", {"color": "#ff0000"}, {"around": [True]}),
        (CLICKED, {"element.name": "Go"}, {}),
        ("field.filled", {"around": {"contains": "Bob"}}, {"around": ["fields"]}),
        ("field.filled", {"value": "Bob"}, {}),
        (FINISHED, {"body.files.0.filename": "a.csv"}, {"request_bodies": [ANY]}),
        (
            FINISHED,
            {"body.text": "a", "method": "POST"},
            {"request_bodies": [ANY | {"methods": ["post"]}]},
        ),
        (FINISHED, {"response.body.text": {"contains": "ok"}}, {"response_bodies": [ANY]}),
        (FINISHED, {"hops.0.body.text": "a"}, {"request_bodies": [ANY]}),
        (FINISHED, {"hops.0.status": 303}, {}),
        (FINISHED, {"hops": None}, {}),
        (FINISHED, {"headers.Referer": {"contains": "/a"}}, {"request_headers": ["referer"]}),
        (FINISHED, {"response.headers.etag": "7"}, {"response_headers": ["etag"]}),
        ("request.redirected", {"body.text": "a"}, {"request_bodies": [ANY]}),
        (
            "attribute.changed",
            {"attribute": {"one_of": ["open", "hidden"]}},
            {"attributes": ["open", "hidden"]},
        ),
        (
            "file.read",
            {"path": "out/*.json", "as": "json", "facts.data.n": 1},
            {"file_reads": [{"path": "out/*.json", "root": None, "format": "json", "query": None}]},
        ),
    ],
)
def test_named_facts_ask_for_what_they_name(
    kind: str, where: dict[str, Any], asked: dict[str, Any]
) -> None:
    wanted = {"path": {"glob": where["path"]}} if "path" in where else {}
    assert plan("observed", kind=kind, where=where | wanted) == asked


@pytest.mark.parametrize(
    ("kind", "expression", "asked"),
    [
        (CLICKED, "data.around.contains('Bob')", {"around": [True]}),
        (CLICKED, 'has(data.around) && data["class"] == "trash"', {"around": [True]}),
        (CLICKED, "data.element.name == 'data.around' // data.around", {}),
        ("field.filled", "data.around == 'Bob' && data.value == 'x'", {"around": ["fields"]}),
        (FINISHED, "data.body.files.exists(f, f.filename.endsWith('.csv'))", {"request_bodies": [ANY]}),
        (FINISHED, "data.hops.exists(h, h.status == 303)", {}),
        (FINISHED, "has(data.hops) && size(data.hops) == 1 && data.hops.size() == 1", {}),
        (FINISHED, "data.hops.exists(h, h.body.text == 'a')", {"request_bodies": [ANY]}),
        (FINISHED, "data.hops.filter(h, h.status == 303)[0].body.text == 'a'", {"request_bodies": [ANY]}),
        (FINISHED, "data.hops[0].response.headers['x-total'] == '7'", {"response_headers": ["x-total"]}),
        (FINISHED, "data.method == 'POST' && has(data.body)", {"request_bodies": [ANY | {"methods": ["post"]}]}),
        (FINISHED, "data.response.body.text.size() > 3", {"response_bodies": [ANY]}),
        ("attribute.changed", "'a' == data.attribute || data.attribute in ['b', 'c']", {"attributes": ["a", "b", "c"]}),
    ],
)  # fmt: skip
def test_expressions_ask_for_what_they_read(
    kind: str, expression: str, asked: dict[str, Any]
) -> None:
    assert cel(kind, expression) == asked
    assert cel(kind, "true", distinct=expression) == asked if kind != "attribute.changed" else True


@pytest.mark.parametrize(
    ("kind", "expression", "said"),
    [
        (FINISHED, "data.nothing == 1", "request.finished has no nothing"),
        (FINISHED, "data.hops.exists(h, h.body.file == 'a')", "hops.*.body has no file"),
        (FINISHED, "data.body.files.filename == 'a'", "as in body.files.0"),
        (
            FINISHED,
            "data.headers['a' + 'b'] == 'c'",
            "say which is read, as in headers.content-type",
        ),
        (FINISHED, "string(data) == ''", "say which is read"),
        ("request.sent", "has(data.body)", "request.sent has no body"),
        ("attribute.changed", "data.value == 'true'", "which attribute it is about"),
        ("file.read", "data.facts.n == 1", "which file is to be read"),
        ("window.opened", "url == 'x'", "not told of a frame"),
        (
            "screen.captured",
            "data.regions.exists(r, r.gray != '')",
            "where screen_like or screen_text names them",
        ),
        (CLICKED, "data.element.label == 'x'", "element has no label"),
    ],
)
def test_an_expression_that_no_event_can_fulfil_is_refused(
    kind: str, expression: str, said: str
) -> None:
    with pytest.raises(SpecError) as caught:
        parse_args(rules()["cel"].args, {"kind": kind, "expression": expression}, (), ORIGIN)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "where", "expected"),
    [
        (FINISHED, {"status": "200"}, "a number or {min, max} or null"),
        (FINISHED, {"status": {"one_of": ["200", "201"]}}, "a number or {min, max} or null"),
        (FINISHED, {"status": True}, "a number or {min, max} or null"),
        (FINISHED, {"hops.0.status": "302"}, "a number or {min, max} or null"),
        (FINISHED, {"headers.x-total": 42}, "a text or null"),
        (FINISHED, {"method": {"min": 1}}, "a text or null"),
        ("message.sent", {"text": {"min": 3}}, "a text or null"),
        ("download.finished", {"size": True}, "a number or {min, max} or null"),
        ("widget.activated", {"widget.name": False}, "a text or null"),
        ("page.navigated", {"main": "true"}, "null or true or false"),
    ],
)
def test_a_fact_of_another_type_than_the_kind_has_is_refused(
    kind: str, where: dict[str, Any], expected: str
) -> None:
    """It could never hold, and the condition would be silently 0."""
    with pytest.raises(SpecError) as caught:
        parse_args(rules()["observed"].args, {"kind": kind, "where": where}, (), ORIGIN)
    assert caught.value.path == ("where",)
    assert f"{next(iter(where))} of {kind} is never that" in str(caught.value)
    assert sorted(str(caught.value).rpartition("expected ")[2].split(" or ")) == sorted(
        expected.split(" or ")
    )


@pytest.mark.parametrize(
    ("rule", "args", "says"),
    [
        ("observed", {"kind": "dialog.opened", "where": {"type": "warning"}}, "alert, confirm"),
        (
            "observed",
            {"kind": "dialog.closed", "where": {"type": {"one_of": ["Alert", "ask"]}}},
            "alert, confirm",
        ),
        ("observed", {"kind": "widget.state_changed", "where": {"state": "visible"}}, "checked"),
        ("observed", {"kind": "page.navigated", "where": {"navigation_type": "typed"}}, "reload"),
        ("widget_state", {"name": "Dark", "state": "visible"}, "checked, selected"),
        ("widget_state", {"name": "Dark", "state": "Checked"}, "checked, selected"),
        ("file_is", {"path": "a", "facts": {"pagez": 3}}, "got pagez"),
        ("file_is", {"path": "a", "format": "csv", "facts": {"pages": 3}}, "facts of csv: sheets"),
        ("file_is", {"path": "a", "made": "docx", "facts": {"count": 3}}, "facts of docx: foot"),
        (
            "file_is",
            {"path": "a", "made": {"one_of": ["pdf", "pptx"]}, "facts": {"width": 3}},
            "facts of pptx or pdf: author",
        ),
        ("file_is", {"path": "a", "facts": {"count": 3, "sheetz.0": "a"}}, "got sheetz"),
        ("image_like", {"path": "a", "phash": "0" * 16, "facts": {"size": 3}}, "facts of image"),
        ("document_part", {"path": "a", "has": {"title": "A"}}, "facts of a paragraph: align"),
        ("document_part", {"path": "a", "has": {"bold": True}, "unit": "slide"}, "facts of a slid"),
    ],
)
def test_what_no_source_can_ever_tell_is_refused(
    rule: str, args: dict[str, Any], says: str
) -> None:
    """A state that is not reported, a fact that no reader tells: else it was silently 0."""
    with pytest.raises(SpecError) as caught:
        parse_args(rules()[rule].args, args, (), ORIGIN)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "args"),
    [
        ("observed", {"kind": "dialog.opened", "where": {"type": "confirm"}}),
        ("observed", {"kind": "dialog.opened", "where": {"type": {"contains": "o"}}}),
        ("observed", {"kind": "page.navigated", "where": {"navigation_type": None}}),
        ("widget_state", {"name": "Dark", "state": "sensitive"}),
        ("file_is", {"path": "a", "facts": {"count": 3, "title": "A", "video.0.width": 3}}),
        ("file_is", {"path": "a", "made": {"contains": "x"}, "facts": {"active": "A"}}),
        ("file_is", {"path": "a", "made": {"one_of": ["docx", "pptx"]}, "facts": {"count": 3}}),
        ("file_is", {"path": "a", "made": "unheard of", "facts": {"count": 3}}),
        ("image_like", {"path": "a", "phash": "0" * 16, "facts": {"mean.0": {"min": 3}}}),
        ("document_part", {"path": "a", "has": {"level": 2, "text": "A"}}),
        ("document_part", {"path": "a", "has": {"shapes.0": "rect"}, "unit": "slide"}),
    ],
)
def test_what_some_source_tells_is_taken(rule: str, args: dict[str, Any]) -> None:
    parse_args(rules()[rule].args, args, (), ORIGIN)


@pytest.mark.parametrize(
    ("by", "of"),
    [
        ("selectors.0", {"element_clicked": {"name": "Buy"}}),
        ("selectors.0", {"observed": {"kind": "field.filled"}}),
        ("regions.0", {"observed": {"kind": "screen.captured"}}),
    ],
)
def test_what_another_rule_alone_can_ask_for_is_shared_by_none(by: str, of: Any) -> None:
    """Without one that names it, it would stand in no event."""
    with pytest.raises(TaskError, match=r"same\.by"):
        ruleset({"id": "m", "when": {"same": {"by": by, "of": [of, of]}}})


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (FINISHED, {"status": 200}),
        (FINISHED, {"status": {"min": 200, "max": 299}}),
        (FINISHED, {"status": {"number": 200}}),
        (FINISHED, {"status": {"any_of": [{"integer": 200}, {"integer": 201}]}}),
        (FINISHED, {"status": None}),
        (FINISHED, {"headers.x-total": "42"}),
        (FINISHED, {"headers.x-total": {"integer": 42}}),
        (FINISHED, {"response.body": {"contains": "a"}}),
        ("page.navigated", {"main": True}),
        ("probe.answered", {"value.n": "a"}),
    ],
)
def test_a_fact_that_may_hold_is_not_refused_for_its_type(kind: str, where: dict[str, Any]) -> None:
    """Nor where the kind does not say what stands there."""
    parse_args(rules()["observed"].args, {"kind": kind, "where": where}, (), ORIGIN)


def test_what_two_conditions_share_is_asked_for_too() -> None:
    """`same` reads each part's event at its path."""
    sent = {"request_accepted": {"url": "/a", "method": "POST"}}
    same = {
        "by": "body.files.0.filename",
        "of_first": "name",
        "of": [{"download_finished": {"name": "a.csv"}}, sent],
    }
    assert plan("same", **same) == {"request_bodies": [ANY]}


def test_script_cannot_do_what_an_expression_only_spells() -> None:
    """A text that says `trusted` reads no `trusted`."""
    task = ruleset(
        {
            "id": "m",
            "when": {"cel": {"kind": CLICKED, "expression": "data.element.name != 'trusted'"}},
        }
    )
    assert worth(run(task, *episode([clicked("Go", trusted=False)]))) == [0.0]
    assert worth(run(task, *episode([clicked("Go")]))) == [0.2]


@pytest.mark.parametrize(
    "condition",
    [
        {"observed": {"kind": "probe.answered", "where": {"value": 3}}},
        {"observed": {"kind": "probe.answered", "where": {"probe": "cart", "value": 3}}},
        {
            "cel": {
                "kind": "probe.answered",
                "expression": "data.probe == 'cart' && data.value == 3",
            }
        },
    ],
)
def test_a_probe_that_the_task_does_not_have_answers_nothing(condition: dict[str, Any]) -> None:
    with pytest.raises(TaskError, match="a probe of the task; there are none"):
        ruleset({"id": "m", "when": condition})
    made(*next(iter(condition.items())))  # a task that has the probe


class _Watched(dict[str, Any]):
    """An event's data that remembers which of its own paths were looked at."""

    def __init__(
        self, data: dict[str, Any], seen: set[tuple[str, ...]], at: tuple[str, ...] = ()
    ) -> None:
        super().__init__({name: _watched(value, seen, (*at, name)) for name, value in data.items()})
        self.seen, self.at = seen, at

    def get(self, name: str, default: Any = None) -> Any:
        self.seen.add((*self.at, name))
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:
        self.seen.add((*self.at, name))
        return super().__getitem__(name)


def _watched(value: Any, seen: set[tuple[str, ...]], at: tuple[str, ...]) -> Any:
    if isinstance(value, dict):
        return _Watched(value, seen, at)
    return [_watched(one, seen, (*at, "*")) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", sorted(YES))
def test_no_rule_looks_at_a_fact_that_it_did_not_ask_for(name: str) -> None:
    """Each rule's own table, its events watched: what is told on request only is in the rule's
    plan."""
    for args, said in (case[:2] for case in YES[name]):
        compiled, seen = made(name, args), set[tuple[str, tuple[str, ...]]]()
        engine = Engine(compiled, "ep_1")
        for event in log(*episode(said)):
            paths: set[tuple[str, ...]] = set()
            engine.feed([event._replace(data=_Watched(dict(event.data), paths))])
            seen |= {(event.kind, path) for path in paths if event.kind in compiled.hears}
        asked = compiled.plan("E")
        for kind, path in seen:
            facts = [
                fact for fact in ON_REQUEST.get(kind, ()) if path[: len(fact.path)] == fact.path
            ]
            needs = [fact for fact in facts if not fact.named or len(path) > len(fact.path)]
            for fact in needs:
                told = asked[fact.ask]
                is_told = fact.item in told if fact.ask in ("around", "points") else bool(told)
                assert is_told, (args, kind, path)


def _paths(value: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield at
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _paths(item, (*at, name))
    for n, item in enumerate(value if isinstance(value, list) else ()):
        yield from _paths(item, (*at, str(n)))


@pytest.mark.parametrize("golden", sorted(GOLDEN.rglob("*.seen.jsonl")), ids=lambda path: path.stem)
def test_everything_that_a_browser_told_has_a_place_in_the_shapes(golden: Path) -> None:
    for line in golden.read_bytes().splitlines():
        kind, data = orjson.loads(line)
        for path in _paths(data) if KINDS[kind].source not in UNHEARD else ():
            shape_at(kind, path)


@dataclass(frozen=True, slots=True)
class Args:
    def asks(self) -> dict[str, list[object]]:
        return {"point": [True]}


@rule(component="ui", hears=("element.clicked",), args=Args)
def sample_asking(event: Event, world: World, args: Args) -> Iterator[Reading]:
    """A click, by a rule that asks for what no plan has."""
    yield Reading(1.0, "click")


def test_what_no_plan_has_is_named_with_what_plans_have() -> None:
    """Whoever writes a rule reads of it in the test of its own table."""
    add_foreign({"sample_asking": (sample_asking, "sample==1")})
    try:
        with pytest.raises(TypeError, match=r"sample_asking: asks: expected .*points.*, got point"):
            plan("sample_asking")
    finally:
        add_foreign({})
