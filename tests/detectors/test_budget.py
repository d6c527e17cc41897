"""What an expression of a task's author costs over an event is counted, never timed: beyond its
budget the step that it could have paid in is null, on every machine the same, and what came before
and after it is paid."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from detectors.engine.engine import Engine
from detectors.matchers.third_party import cel, check_schema, conforms, json_path, json_values
from detectors.model.budget import MAX_EVENT, Meter, metered, weight
from detectors.model.errors import BudgetError
from detectors.model.types import Reward
from detectors.sdk.cel_cost import SCALAR, Value, cost_of
from detectors.sdk.cel_plan import FAILURES, plan_of
from detectors.task.task_json import TaskError
from tests.support.logs import Said, episode, filled, finished, log, resumed, ruleset, run

ROWS = [[f"name{n}", f"{n}"] for n in range(500)]
DEEP: dict[str, Any] = {}
_at = DEEP
for _ in range(89):
    _at["a"] = {"b": 1}
    _at = _at["a"]

MANY = "1" + "+1" * 300
FIVE = "$[?@..a && @..b && @..c && @..d && @..e]"
FOUND = (
    "$..n",
    "$.l[?@.n==7].t",
    "$.l[?@.m.n==1 && count(@.t)>2].n",
    "$.l[-1]",
    "$.l[1:9:2]..n",
    "$.l[?@.t==$.l[0].t]",
)
CHEAP = "data.form.method == 'post'"
COSTLY = {
    "a loop that makes a list in a loop": "data.fields.map(a, data.fields.map(b, a)).size() > 0",
    "a loop over a loop": "data.fields.all(a, data.fields.all(b, a[0] != b[1]))",
    "a concatenation in a loop": (
        "data.fields.map(a, data.form.name + data.form.name + data.form.name).size() > 0"
    ),
    "a concatenation that grows": " + ".join(["data.form.name"] * 55) + " == ''",
    "a list that grows": f"({' + '.join(['data.fields'] * 60)}).size() == 0",
    "a loop over a concatenation": f"({' + '.join(['data.fields'] * 20)}).map(a, a).size() > 0",
    "a list of lists": "data.fields.map(a, [data, data, data]).size() > 0",
}
PATHS = {
    "descents": "$..*..*..*..*",
    "names that multiply": "$" + "['a','a','a']" * 12,
    "a filter that looks at the whole": "$..[?$..*]..[?$..*]",
}


def sent(rows: Any = ROWS, text: str = "x" * 60_000) -> Said:
    form = {"name": text, "action": "http://shop.test/a", "method": "post"}
    return (
        "form.submitted",
        {"tab": "T", "frame": "T", "form": form, "fields": rows, "trusted": True},
    )


def milestone(id: str, expression: str) -> dict[str, Any]:
    return {"id": id, "when": {"cel": {"kind": "form.submitted", "expression": expression}}}


def rewards(when: dict[str, Any] | str, *steps: Said) -> list[Reward]:
    when = milestone("x", when)["when"] if isinstance(when, str) else when
    return run(ruleset({"id": "x", "when": when}), *episode(*([said] for said in steps)))


@pytest.mark.parametrize("expression", COSTLY.values(), ids=COSTLY)
def test_a_costly_expression_makes_its_step_null_in_bounded_time(expression: str) -> None:
    began = time.process_time()
    got = rewards(expression, sent(), sent([], ""))
    assert time.process_time() - began < 2
    assert got[0].reward is None
    assert got[0].mask
    assert "cel: CEL is over its budget" in str(got[0].reason)


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_a_costly_path_stops_where_its_budget_does(path: str) -> None:
    began = time.process_time()
    with metered() as meter, pytest.raises(BudgetError):
        json_values(path, DEEP)
    assert meter.left == 0
    assert time.process_time() - began < 5


FILES = [
    {
        "name": f"report-{n}.pdf",
        "path": f"/home/agent/{n}",
        "size": n,
        "mime": "application/pdf",
        "read": n % 2 == 0,
    }
    for n in range(5_000)
]
HONEST = {
    "data.files.filter(f, f.size > 10).size() > 4000": True,
    "data.files.filter(f, f.size > 10).size() == 4989": True,
    "data.files.filter(f, f.size > 4998)[0].name == 'report-4999.pdf'": True,
    "data.files.map(f, f.size).size() == 5000": True,
    "data.files.map(f, f.read, f.size)[1] == 2": True,
    "data.files.filter(f, f.read).exists(f, f.size == 4998)": True,
    "data.files.filter(f, f.name.endsWith('9.pdf') && f.size > 100).size() == 490": True,
    "data.files.exists(f, f.size == 4999)": True,
    "data.files.all(f, f.size < 4999)": False,
    "data.files.exists_one(f, f.size == 7)": True,
    "size(data.files) == 5000": True,
    "data.total == data.files.size()": True,
}
UNFAIR = (
    "data.files.map(a, data.files.map(b, a)).size() > 0",
    "data.files.map(a, data.files).size() > 0",
    "data.files.filter(f, data.files.exists(g, g.size == f.size + 1)).size() > 0",
    # it looks at more than its element, which copies that
    "data.files.filter(f, f.size > data.limit).size() > 0",
    "data.files.exists(f, f.size == data.limit)",
)


PROBES = [{"id": "p", "get": "/api/p"}]


def listed(files: Any = FILES) -> Said:
    return (
        "probe.answered",
        {"probe": "p", "value": {"files": files, "limit": 4_999, "total": 5_000}},
    )


def reads(expression: str, *said: Said) -> Reward:
    when = {
        "cel": {"kind": "probe.answered", "expression": expression.replace("data.", "data.value.")}
    }
    return run(ruleset({"id": "x", "when": when}, probes=PROBES), *episode([*said]))[0]


@pytest.mark.parametrize(("expression", "holds"), HONEST.items(), ids=list(HONEST))
def test_what_is_honestly_asked_of_5000_files_is_answered(expression: str, holds: bool) -> None:
    began = time.process_time()
    got = reads(expression, listed())
    assert time.process_time() - began < 3
    assert got.reward is not None, got.reason
    assert (got.reward > 0) is holds


@pytest.mark.parametrize("expression", UNFAIR)
def test_what_would_take_the_square_of_5000_files_is_null(expression: str) -> None:
    began = time.process_time()
    got = reads(expression, listed())
    assert time.process_time() - began < 3
    assert (got.reward, got.mask) == (None, True)
    assert "CEL is over its budget" in str(got.reason)
    assert reads(expression, listed(FILES[:9])).reward is not None


SAME = (
    "data.l.filter(x, x.n > 1)",
    "data.l.map(x, x.n * 2)",
    "data.l.map(x, x.n > 1, x.t)",
    "data.l.filter(x, x.n > 1).map(y, y.t).size()",
    "data.l.filter(x, x.missing)",
    "true || data.l.filter(x, x.missing).size() > 0",
    "data.l.filter(x, x.missing).size() > 0",
    "data.l.filter(x, x.n)",
    "data.l.map(data, data.n)",
    "data.l.exists(data, data.m.filter(x, x > 1).size() > 0)",
    "data.l.exists(y, data.l.filter(x, x.n == 1).size() == y.n)",
    "data.l.map(x, 1u)[0] + 1u",
    "data.l.map(x, type(x.n))[0] == int",
    "data.l.map(x, x.m.map(y, y + 1))",
    "data.empty.map(x, x.missing)",
    "data.none.map(x, x)",
    "data.n.map(x, x)",
    "data.l.filter(x, x.t.contains('b') || x.missing == 1)",
    "loop_0 == 1 || data.l.map(x, x.n).size() == 3",
    "[1, 2, 3].map(x, x + 1)",
    "(data.l.map(x, x.n) + data.l.map(y, y.n)).size()",
    "{'a': data.l.map(x, x.n)}.a[2]",
    "data.l.map(x, x.n)[data.n]",
    "data['l'].filter(x, x['n'] > 1)",
)


@pytest.mark.parametrize("expression", SAME)
def test_a_loop_that_is_taken_out_gives_what_the_library_gives(expression: str) -> None:
    items = [{"n": n, "t": "ab"[n % 2], "m": [n, n + 1]} for n in range(3)]
    known = {"data": {"l": items, "n": 1, "empty": [], "m": {"a": 1}}, "kind": "k", "url": "u"}

    def asked(value: Callable[[], Any]) -> Any:
        try:
            return value()
        except FAILURES:
            return "it fails"

    assert asked(lambda: plan_of(expression).value(known, Meter())) == asked(
        lambda: cel(expression).execute(known)
    )


def test_a_loop_over_a_map_and_a_value_that_is_one_have_an_order() -> None:
    """The library's is by chance, and another one in each evaluation."""
    known = {"data": {"m": {letter: n for n, letter in enumerate("hgfedcba")}}}
    assert plan_of("data.m.map(k, k)").value(known, Meter()) == sorted("abcdefgh")
    when = {
        "cel": {"kind": "probe.answered", "expression": "true", "distinct": "{'m': data.value}.m"}
    }
    rules = ruleset({"id": "x", "when": when, "repeat": 9}, probes=PROBES)
    said = ("probe.answered", {"probe": "p", "value": known["data"]["m"]})
    assert len(run(rules, *episode([said] * 20))[0].milestones) == 1


def test_it_is_told_as_an_alarm() -> None:
    rules = ruleset(milestone("x", COSTLY["a loop over a loop"]))
    outcome = Engine(rules, "ep_1").feed(log(*episode([sent()])))
    assert [(alarm.rule, alarm.matcher, alarm.error) for alarm in outcome.alarms] == [
        ("cel", "CEL", "BudgetError")
    ]


PATTERNS: dict[str, tuple[Any, str]] = {
    "many on a long text": (
        {"any_of": [{"regex": f".*x{n}.{{20}}y"} for n in range(300)]},
        "é, " * 87_000,
    ),
    "one of many states": ({"regex": "[^x]*.{0,400}y.{0,400}z"}, "ab" * 130_000),
    "many of a few states": (
        {"any_of": [{"regex": f".*a.{{100}}b{n}"} for n in range(50)]},
        "abbabaab" * 32_000,
    ),
}


@pytest.mark.parametrize("name", PATTERNS)
def test_costly_patterns_make_their_step_null_in_bounded_time(name: str) -> None:
    """A pattern takes up to a nanosecond for each of its instructions and each character; what came
    after is paid."""
    wanted, text = PATTERNS[name]
    value = {"any_of": [wanted, {"regex": "ok+"}]}
    when = {"field_filled": {"field": "Name", "value": value}}
    began = time.process_time()
    outcome = Engine(ruleset({"id": "x", "when": when}), "ep_1").feed(
        log(*episode([filled("Name", text)], [filled("Name", "ok")]))
    )
    assert time.process_time() - began < 5
    assert [reward.reward for reward in outcome.rewards] == [None, pytest.approx(0.2)]
    assert "a regular expression is over its budget" in str(outcome.rewards[0].reason)
    assert [alarm.matcher for alarm in outcome.alarms] == ["a regular expression"]


@pytest.mark.parametrize(
    ("pattern", "text", "worth"),
    [
        (".*Order #[0-9]{6}.*", "é, " * 87_000 + "Order #123456", 0.2),
        (r".*(?:https?://)?shop\.test/.{1,100}", "word " * 50_000 + "shop.test/a", 0.2),
        ("[^x]*.{0,400}y.{0,400}z", "ab" * 4_000 + "yz", 0.2),
    ],
)
def test_what_patterns_usually_cost_is_within_the_budget(
    pattern: str, text: str, worth: float
) -> None:
    """Twenty of them ask for the same long text."""
    wanted = [{"regex": f"{pattern}{'!' if n else ''}"} for n in range(20)]
    when = {"field_filled": {"field": "Name", "value": {"any_of": wanted}}}
    got = run(ruleset({"id": "x", "when": when}), *episode([filled("Name", text)]))
    assert [reward.reward for reward in got] == [worth]


def test_a_costly_path_makes_its_step_null() -> None:
    body = {"text": orjson.dumps(DEEP).decode(), "mime": "application/json"}
    when = {
        "state_accepted": {
            "method": "POST",
            "url": "http://shop.test/a",
            "facts": [{"path": PATHS["descents"]}],
        }
    }
    got = rewards(
        when,
        finished("POST", "/a", 200, body=body),
        finished("POST", "/a", 200, body={**body, "text": "1"}),
    )
    assert (got[0].reward, got[0].mask) == (None, True)
    assert "JSON Path is over its budget" in str(got[0].reason)


def test_what_is_cheap_is_paid_beside_what_is_not() -> None:
    rules = ruleset(
        milestone("cheap", CHEAP), milestone("costly", COSTLY["a loop that makes a list in a loop"])
    )
    got = run(rules, *episode([sent([], "")], [sent()]))
    assert got[0].reward is not None
    assert got[0].reward > 0
    assert got[1].reward is None


def test_the_budget_is_the_event_s_and_the_next_has_its_own() -> None:
    got = rewards("data.fields.exists(a, a[1] == '3')", *[sent()] * 3)
    assert got[0].reward is not None
    assert got[0].reward > 0


def test_it_is_the_same_however_the_log_is_cut() -> None:
    rules = ruleset(milestone("costly", COSTLY["a loop over a loop"]), milestone("cheap", CHEAP))
    events = episode([sent()], [sent([], "")], [sent()])
    assert resumed(rules, *events) == run(rules, *events)


def test_an_episode_has_a_budget_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detectors.engine.conditions.MAX_EPISODE", 60_000)
    rules, events = (
        ruleset(milestone("x", "data.fields.exists(a, a[1] == '900')")),
        episode(*[[sent()]] * 12),
    )
    got = run(rules, *events)
    assert got[0].reward == 0
    assert got[11].reward is None
    assert resumed(rules, *events) == got


MANY_ROWS = [["password", None], *([f"name{n}", f"{n}"] for n in range(990))]
HALF = "data.fields.exists(a, " + " || ".join(f"a[1] == 'no{n}'" for n in range(24)) + ")"
"""Over `MANY_ROWS`: more than half of what one event may cost."""


def test_a_counterfactual_state_reads_its_first_event_by_a_budget_of_its_own() -> None:
    """What the episode itself spent on the event at which the state begins is not missing there:
    the password may be right, and nothing is paid either way."""
    unseen = {"form_submitted": {"fields": {"password": "s3cret"}}}
    never = {"element_clicked": {"name": "Never"}}
    rules = ruleset(
        milestone("costly", HALF), {"id": "both", "when": {"all_of": {"of": [unseen, never]}}}
    )
    events = episode([sent(MANY_ROWS, "")], [sent([], "")])
    with metered() as meter:
        fields = {"data": events[2][1], "kind": "form.submitted", "url": ""}
        assert plan_of(HALF).value(fields, meter) is False
        assert 0 < meter.left < MAX_EVENT / 2
    engine = Engine(rules, "ep_1")
    assert [reward.reward for reward in engine.feed(log(*events)).rewards] == [0.0, 0.0]
    (other,) = engine.state.supposed
    assert other.spent == engine.state.spent > MAX_EVENT / 2


@pytest.mark.parametrize(
    ("expression", "units"),
    [
        ("true", 1),
        ("data.a", 2),
        ("data.a == 1", 7),
        ("data.a.exists(x, x == 1)", 170),
        ("data.a.map(x, x)", 1_600),
        ("data.a.map(x, data.a.map(y, y))", 30_000),
    ],
)
def test_the_bound_grows_with_the_event(expression: str, units: int) -> None:
    """Of an event of weight 100 with lists of 10."""
    found = cost_of(expression)({"data": Value(100, 10), "kind": SCALAR, "url": SCALAR})
    assert units / 3 <= found.units <= units * 30


@pytest.mark.parametrize(
    "text",
    [
        "a ? b ? c : d : e",
        "Foo{a: 1}",
        "a.?b",
        "now()",
        "x.matches('a')",
        "a.b(",
        "`a`",
        "1" + "+1" * 300,
    ],
)
def test_what_has_no_bound_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"expression|not here"):
        cost_of(text)


@pytest.mark.parametrize(
    "path",
    [
        "$..a..b..c..d..e",
        "$" + "[?(" * 20,
        "$" + ".a" * 4000,
        "$[?@..a && @..b && @..c && @..d && @..e]",
    ],
)
def test_a_path_that_is_too_long_or_too_deep_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="a JSON Path"):
        json_path(path)


def test_a_path_finds_what_the_library_finds_within_its_budget() -> None:
    import jsonpath_rfc9535

    value = {"l": [{"n": n, "t": ["x"] * 3, "m": {"n": n % 3}} for n in range(50)]}
    for path in FOUND:
        assert json_values(path, value) == list(jsonpath_rfc9535.find(path, value).values()), path


def test_a_weight_stops_at_the_most() -> None:
    assert weight(list(range(10)), MAX_EVENT) == (11, 10)
    assert weight("x" * 25_600, MAX_EVENT) == (101, 0)
    assert weight([[0] * 1_000] * 1_000, 5_000)[0] < 8_000


def nested(depth: int, leaf: Any = 1) -> Any:
    for _ in range(depth):
        leaf = {"a": leaf}
    return leaf


def tree(depth: int, wide: int) -> dict[str, Any]:
    return {"name": "x", "children": [tree(depth - 1, wide) for _ in range(wide)] if depth else []}


def doubling(word: str, last: Any, many: int = 60) -> dict[str, Any]:
    """Each definition names the one before it twice; it was 2^60 evaluations."""
    defs = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n - 1}"}] * 2} for n in range(1, many + 1)}
    return {"$defs": {**defs, "d0": last}, "$ref": f"#/$defs/d{many}"}


def chained(many: int) -> dict[str, Any]:
    """Each definition is the one before it, and the first goes down."""
    defs = {f"d{n}": {"$ref": f"#/$defs/d{n - 1}"} for n in range(1, many + 1)}
    return {
        "$defs": {**defs, "d0": {"properties": {"a": {"$ref": "#"}}}},
        "$ref": f"#/$defs/d{many}",
    }


NODE = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "maxLength": 40, "pattern": "^[a-z]+$"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
    },
    "additionalProperties": False,
}
TREE = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"node": NODE},
    "$ref": "#/$defs/node",
}
TERM = {
    "oneOf": [
        {"type": "number"},
        *[
            {
                "type": "object",
                "required": [word],
                "properties": {word: {"type": "array", "items": {"$ref": "#/$defs/term"}}},
                "additionalProperties": False,
            }
            for word in ("and", "or", "not")
        ],
    ]
}
KINDS = ("text", "image", "quote")


def post(kind: str, replies: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["kind", "replies"],
        "properties": {"replies": {"type": "array", "items": replies}, "kind": {"const": kind}},
    }


ONE_OF_THREE: dict[str, Any] = {"oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in KINDS]}
POSTS = {**ONE_OF_THREE, "$defs": {kind: post(kind, ONE_OF_THREE) for kind in KINDS}}
"""Three kinds of comments, each answered by any of the three."""
POSTS_BY_NAME = {
    "$ref": "#/$defs/post",
    "$defs": {
        "post": ONE_OF_THREE,
        **{kind: post(kind, {"$ref": "#/$defs/post"}) for kind in KINDS},
    },
}
"""The same with a name for any of the three."""


def comments(depth: int, wide: int = 1, last: str = "text") -> dict[str, Any]:
    replies = [comments(depth - 1, wide, last) for _ in range(wide)] if depth else []
    return {"kind": KINDS[depth % 3] if depth else last, "replies": replies}


TERMS = {"$defs": {"term": TERM}, "$ref": "#/$defs/term"}
AGAIN = {"properties": {"a": {"$ref": "#"}}}
ROOTED = {"properties": {"a": {"$ref": "#"}}, "additionalProperties": False}
CONFORMING: dict[str, tuple[Any, Any, bool]] = {
    "a tree of 800 nodes": (TREE, tree(3, 9), True),
    "a tree 80 deep": (TREE, tree(80, 1), True),
    "a tree with a wrong leaf": (TREE, {"name": "x", "children": [tree(3, 3), {"name": 7}]}, False),
    "terms of terms": (
        TERMS,
        {"and": [{"or": [1, {"not": [2]}]}, {"and": [{"and": [{"or": [3]}]}]}]},
        True,
    ),
    "terms of what is none": (TERMS, {"and": [{"or": [1, {"nor": [2]}]}]}, False),
    "itself, from the root": (ROOTED, nested(80, {}), True),
    "itself, with what it does not know": (ROOTED, nested(80, {"b": 1}), False),
    "comments 30 deep": (POSTS, comments(30), True),
    "comments 80 deep, of which the last is none": (POSTS, comments(80, last="poll"), False),
    "300 comments of any kind": (POSTS, comments(7, 2), True),
    "comments by name, 30 deep": (POSTS_BY_NAME, comments(30), True),
    "a thousand comments by name, one of them none": (
        POSTS_BY_NAME,
        {"kind": "text", "replies": [comments(2, 10) for _ in range(9)] + [comments(0, 1, "poll")]},
        False,
    ),
    "any of two that go down": ({"anyOf": [AGAIN, AGAIN]}, nested(80), True),
    "all of two that go down": ({"allOf": [AGAIN, AGAIN]}, nested(80), True),
    "members that two patterns name": (
        {"patternProperties": {"a": {"$ref": "#"}, "^a": {"$ref": "#"}}},
        nested(80),
        True,
    ),
    "if and then go down": ({"if": AGAIN, "then": AGAIN}, nested(80), True),
    "a definition that doubles at each depth": (
        doubling("anyOf", {"items": {"$ref": "#"}}, 12),
        [[[[1]]]],
        True,
    ),
    "an anchor": (
        {"$defs": {"n": {"$anchor": "n", "items": {"$ref": "#n"}}}, "$ref": "#n"},
        [[[]], []],
        True,
    ),
    "properties that are called as words are": (
        {"properties": {"$ref": {"type": "string"}}},
        {"$ref": "x"},
        True,
    ),
    "a list of 5,000": ({"items": {"type": "integer"}}, list(range(5_000)), True),
    "unique items": ({"uniqueItems": True}, [*range(1_000), 1], False),
    "a long text": ({"pattern": "^[a-z]+$"}, "x" * 60_000, True),
    "what nobody evaluated": (
        {"properties": {"a": True}, "unevaluatedProperties": False},
        {"a": 1, "b": 2},
        False,
    ),
    "names": ({"propertyNames": {"maxLength": 3}}, {"long name": 1}, False),
}


@pytest.mark.parametrize(("schema", "value", "holds"), CONFORMING.values(), ids=CONFORMING)
def test_an_honest_schema_is_answered(schema: Any, value: Any, holds: bool) -> None:
    began = time.process_time()
    text = orjson.dumps(schema)
    check_schema(text)
    with metered() as meter:
        assert conforms(text, value) is holds
    assert meter.left > 0
    assert time.process_time() - began < 3


UNEVALUATED = {"allOf": [AGAIN], "unevaluatedProperties": {"$ref": "#"}}
COSTLY_SCHEMAS: dict[str, tuple[Any, Any]] = {
    "any of two, sixty times": (doubling("anyOf", {"type": "string"}), 1),
    "all of two, sixty times": (doubling("allOf", True), {}),
    "one of two, sixty times": (doubling("oneOf", {"type": "string"}), 1),
    "one of two, sixty times at each depth": (
        doubling("oneOf", {"items": {"$ref": "#"}}),
        [[1]],
    ),
    "what is not evaluated, at each depth": (UNEVALUATED, nested(80)),
    "200 places for each of 5,000 items": (
        {"items": {"allOf": [{"minimum": n} for n in range(200)]}},
        list(range(5_000)),
    ),
    "two large patterns over a long text": (
        {"allOf": [{"pattern": "(.*[01]){800}$"}, {"pattern": "(.*[10]){800}$"}]},
        "01" * 30_000,
    ),
    "evaluations 5,000 deep": (chained(60), nested(90)),
}


@pytest.mark.parametrize(("schema", "value"), COSTLY_SCHEMAS.values(), ids=COSTLY_SCHEMAS)
def test_a_costly_schema_stops_where_its_budget_does(schema: Any, value: Any) -> None:
    began = time.process_time()
    text = orjson.dumps(schema)
    check_schema(text)
    with metered() as meter, pytest.raises(BudgetError, match="JSON Schema"):
        conforms(text, value)
    assert meter.left == 0
    assert time.process_time() - began < 5


UNBOUNDED: dict[str, tuple[Any, str]] = {
    "itself": ({"$ref": "#"}, "do not come back"),
    "itself, in any of": ({"anyOf": [{"type": "string"}, {"$ref": "#"}]}, "do not come back"),
    "each other": (
        {
            "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"if": {"$ref": "#/$defs/a"}}},
            "$ref": "#/$defs/a",
        },
        "do not come back",
    ),
    "itself, under a condition on a name": (
        {"dependentSchemas": {"a": {"$ref": "#"}}},
        "do not come back",
    ),
    "elsewhere": ({"$ref": "https://x.test/s"}, "begins with #"),
    "a file": ({"$ref": "s.json#/a"}, "begins with #"),
    "the schema of schemas": (
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        "begins with #",
    ),
    "a place that is chosen when it is evaluated": ({"$dynamicRef": "#n"}, "dynamicRef"),
    "a base of its own within": (
        {"properties": {"a": {"$id": "https://x.test/s", "$ref": "#"}}},
        "an \\$id",
    ),
    "another draft": ({"$schema": "http://json-schema.org/draft-07/schema#"}, "draft 2020-12"),
    "a place that is not there": ({"$ref": "#/$defs/a"}, "are there"),
    "a pattern that looks ahead": ({"pattern": "(?=a)"}, "patterns"),
    "a pattern of more than 1 MiB": ({"pattern": r"(\p{L}|\p{N}){1000}"}, "patterns"),
}


@pytest.mark.parametrize(("schema", "why"), UNBOUNDED.values(), ids=UNBOUNDED)
def test_a_schema_without_a_bound_is_refused(schema: Any, why: str) -> None:
    with pytest.raises(TaskError, match=why):
        ruleset({"id": "x", "when": {"tool_called": {"schema": schema}}}, weights={"tool": 1})


@pytest.mark.parametrize("wrong", [False, True])
def test_a_costly_schema_makes_its_step_null_whichever_is_wanted_and_is_told(wrong: bool) -> None:
    when = {"tool_called": {"schema": UNEVALUATED, "wrong": wrong}}
    values: list[Any] = [nested(80), {"a": {}}]
    said = [
        ("agent.tool_called", {"call": "c", "tool": "t", "arguments": value}) for value in values
    ]
    rules, events = (
        ruleset({"id": "x", "when": when, "repeat": 2}, weights={"tool": 1}),
        episode(*([one] for one in said)),
    )
    outcome = Engine(rules, "ep_1").feed(log(*events))
    first, second = outcome.rewards[:2]
    assert (first.reward, first.mask) == (None, True)
    assert "tool_called: JSON Schema is over its budget" in str(first.reason)
    assert second.reward is not None
    assert (second.reward > 0) is not wrong
    assert [(alarm.rule, alarm.matcher, alarm.error) for alarm in outcome.alarms] == [
        ("tool_called", "JSON Schema", "BudgetError")
    ]
    assert rules.metered
    assert resumed(rules, *events) == run(rules, *events)
