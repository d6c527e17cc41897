"""Imported tasks of WebArena-Verified's kind that are made up: addresses, patterns, parameters, forms, cookies and
answers, as its evaluators ask for them.

Of each: the deed that its checks describe, with the answer, is the goal; nothing, a claim, another deed, and the deed
with one thing wrong are not; and a task that can't be judged is refused, named, and ends nothing.
"""

from __future__ import annotations

import copy
import json
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detectors.engine.engine import Engine
from detectors.task.ruleset import Ruleset, compile_task
from detectors.task.task_json import task_from_json
from lab.benchmarks import verified
from lab.benchmarks.base import Imported
from tests.support.examples import examples
from tests.support.logs import Said, answered, episode, finished, log

SITES = {"reddit": "http://forum.test", "gitlab": "http://lab.test/git"}
WORDS = "amber basil cedar delta ember fjord grove hazel iris jade kelp lotus maple nectar onyx pearl".split()
FORM = "application/x-www-form-urlencoded"
Json = dict[str, Any]


class Request(NamedTuple):
    """A request that the agent makes its browser send."""

    method: str
    path: str
    query: Json
    body: Json | None
    headers: Json
    status: int = 200
    location: str | None = None
    set_cookies: Json = {}  # noqa: RUF012  # never changed

    def told(self) -> list[Said]:
        """The events of it, and of the page that it leads to."""
        url = self.path + (f"?{urlencode(self.query, doseq=True)}" if self.query else "")
        facts: Json = {
            "url": url,
            "method": self.method,
            "status": self.status,
            "headers": self.headers,
        }
        if self.body is not None:
            kind = "application/json" if self.headers.get("json") else FORM
            text = (
                json.dumps(self.body)
                if self.headers.get("json")
                else urlencode(self.body, doseq=True)
            )
            facts |= {"body": {"text": text, "mime": kind}}
        if self.set_cookies:
            lines = "\n".join(f"{name}={value}; path=/" for name, value in self.set_cookies.items())
            facts["response"] = {"headers": {"set-cookie": lines}}
        if self.location is None:
            method, status = facts.pop("method"), facts.pop("status")
            return [finished(method, "", status, **facts)]
        return [
            finished("GET", "", 200, url=self.location, hops=[{**facts, "location": self.location}])
        ]


class Made(NamedTuple):
    """One check, the request that fulfils it, and such that do not, by what is wrong with them."""

    check: Json
    right: Request
    wrong: dict[str, Request]


def other_word(chance: random.Random, *words: object) -> str:
    return chance.choice([word for word in WORDS if word not in words])


def address(chance: random.Random, site: str) -> tuple[str, str]:
    """An address as a check has it, literal or a pattern, and one that it means."""
    origin, word, number = SITES[site], chance.choice(WORDS), chance.randrange(1, 999)
    place = f"__{site.upper()}__"
    forms = [
        (f"{place}/f/{word}", f"{origin}/f/{word}"),
        (f"{place}/{word}/{number}/edit", f"{origin}/{word}/{number}/edit"),
        (rf"^{place}/f/{word}/\d+/-/reply$", f"{origin}/f/{word}/{number}/-/reply"),
        (rf"^{place}/f/(?:{word}|{word}s)/\w+$", f"{origin}/f/{word}/{number}x"),
        (rf"^{place}/-/{word}(?:/new)?$", f"{origin}/-/{word}/new"),
    ]
    return chance.choice(forms)


def value(chance: random.Random) -> tuple[Any, str, str]:
    """What a field is to hold, a text that does, and one that does not."""
    word, more = chance.sample(WORDS, 2)
    number = chance.randrange(10, 99)
    return chance.choice(
        [
            (word, word, more),
            (f"{word} {more}", f"{word} {more}", word),
            (str(number), str(number), str(number + 1)),
            (f"^{word}(?: {more})?!*$", f"{word} {more}!", more),
            (f"^.*{word}.*$", f"a {word} b", f"a {more} b"),
            (f"^(?!{more}$).+$", word, more),
            ([word, more], more, word + more),
        ]
    )  # fmt: skip


def mutation(chance: random.Random, site: str) -> Made:
    """A form that is sent, with fields that must hold something and such that do not count."""
    url, path = address(chance, site)
    fields = {
        name: value(chance)
        for name in chance.sample(("title", "text", "tag", "to[]"), chance.randint(1, 3))
    }
    expected: Json = {
        "url": url,
        "http_method": "POST",
        "post_data": {n: wanted for n, (wanted, *_) in fields.items()},
    }
    check: Json = {"evaluator": "NetworkEventEvaluator", "expected": expected}
    redirects = chance.random() < 0.5
    page = f"{SITES[site]}/done"
    headers: Json = {"json": True} if chance.random() < 0.3 and "to[]" not in fields else {}
    if redirects:
        expected["response_status"] = 302
    right = Request(
        "POST", path, {}, {n: right for n, (_, right, _) in fields.items()} | {"token": "x"}, headers,
        302 if redirects else 200, page if redirects else None,
    )  # fmt: skip
    assert right.body is not None
    wrong = {
        "another address": right._replace(path=f"{path}/{other_word(chance)}"),
        "another host": right._replace(path=path.replace(".test", ".test.evil")),
        "another method": right._replace(method="PUT"),
        "refused": right._replace(status=500, location=None),
        "no body": right._replace(body=None),
    }
    if redirects:
        wrong["redirected to the sign-in page"] = right._replace(location=f"{SITES[site]}/login")
    for name, (_, _, bad) in fields.items():
        wrong[f"{name} is another"] = right._replace(body={**right.body, name: bad})
        wrong[f"{name} is missing"] = right._replace(
            body={n: v for n, v in right.body.items() if n != name}
        )
    if chance.random() < 0.3:
        forbidden = other_word(chance, *fields)
        expected["post_data"][forbidden] = None
        wrong[f"{forbidden} is there"] = right._replace(body={**right.body, forbidden: "1"})
    if chance.random() < 0.3:
        referer = f"{SITES[site]}/from/{chance.choice(WORDS)}"
        expected["headers"] = {"referer": referer.replace(SITES[site], f"__{site.upper()}__")}
        right = right._replace(headers={**headers, "referer": referer})
        wrong = {why: one._replace(headers=right.headers) for why, one in wrong.items()}
        wrong["from another page"] = right._replace(
            headers={**headers, "referer": f"{SITES[site]}/x"}
        )
    if chance.random() < 0.3:
        cookie, wanted = other_word(chance), other_word(chance)
        expected["response_cookies"] = {cookie: wanted}
        right = right._replace(set_cookies={cookie: wanted})
        wrong = {why: one._replace(set_cookies=right.set_cookies) for why, one in wrong.items()}
        wrong["another cookie"] = right._replace(set_cookies={cookie: wanted + "x"})
    return Made(check, right, wrong)


def navigation(chance: random.Random, site: str) -> Made:
    """A page that is open at the end, with parameters that count and such that do not."""
    url, path = address(chance, site)
    expected: Json = {"url": url}
    check: Json = {"evaluator": "NetworkEventEvaluator", "expected": expected}
    query: Json = {}
    wrong_queries: dict[str, Json] = {}
    if chance.random() < 0.6:
        for name in chance.sample(("q", "sort", "page"), chance.randint(1, 2)):
            wanted, right, bad = value(chance)
            while isinstance(
                wanted, list
            ):  # of several values of a parameter the first in their order is compared
                wanted, right, bad = value(chance)
            expected.setdefault("query_params", {})[name] = [wanted]
            query[name] = right
            wrong_queries[f"{name} is another"] = {name: bad}
    more: Json = {}
    if chance.random() < 0.4:
        check["ignored_query_params"] = ["utm"]
        more["utm"] = "x"
    if chance.random() < 0.4:
        check["ignored_query_params_patterns"] = ["^pk_"]
        more["pk_a"] = "x"
    right = Request("GET", path, {**query, **more}, None, {})
    wrong = {
        "another page": right._replace(path=f"{path}/{other_word(chance)}"),
        "another host": right._replace(path=path.replace(".test", ".test.evil")),
        "not found": right._replace(status=404),
        "a further parameter": right._replace(query={**right.query, "draft": "1"}),
    }
    for why, bad_query in wrong_queries.items():
        wrong[why] = right._replace(query={**right.query, **bad_query})
        (name,) = bad_query
        wrong[f"{name} is missing"] = right._replace(
            query={n: v for n, v in right.query.items() if n != name}
        )
    return Made(check, right, wrong)


KINDS: dict[str, Callable[[random.Random, str], Made]] = {
    "mutate": mutation,
    "navigate": navigation,
}
DATA: list[tuple[Json, list[Any], list[Any], list[Any]]] = [
    ({"type": "string"}, ["amber", "basil"], ["Amber", "basil"], ["amber", "cedar"]),
    ({"type": "number"}, [12, 7.5], [12.0, "7.5"], [12, 8]),
    ({"type": "string", "format": "currency"}, [19.99], ["$19.99"], ["$29.99"]),
    ({"type": "string", "format": "date"}, ["2026-03-04"], ["March 4, 2026"], ["March 5, 2026"]),
    ({"type": "boolean"}, [True], ["true"], [False]),
    (
        {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "number"}}},
        [{"name": "amber", "n": 3}], [{"n": "3", "name": "amber"}], [{"name": "amber", "n": 4}],
    ),
]  # fmt: skip
"""Schemas of items, what is to be retrieved, the same said otherwise, and something else."""


def answer_of(kind: str, **more: Any) -> Json:
    expected = {
        "task_type": kind,
        "status": "SUCCESS",
        "retrieved_data": None,
        **more.pop("expected", {}),
    }
    return {
        "evaluator": "AgentResponseEvaluator",
        "results_schema": {"type": "null"},
        "expected": expected,
        **more,
    }


def imported(*tasks: Json) -> list[Imported]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / verified.NAME
        path.write_bytes(orjson.dumps(list(tasks)))
        return list(verified.tasks(path, SITES))


def task_of(*checks: Json, id: int = 1) -> Json:
    return {
        "task_id": id,
        "sites": ["reddit"],
        "intent": "Do it.",
        "revision": 1,
        "eval": list(checks),
    }


def rules_of(*checks: Json) -> Ruleset:
    (one,) = imported(task_of(*checks))
    assert one.spec is not None, one.remarks
    return compile_task(task_from_json(one.spec))


def outcome(
    rules: Ruleset, said: list[Said], before: Sequence[Said] = ()
) -> tuple[float | None, bool | None]:
    """Reward and success of an episode of one step; ``before``: what happened before it."""
    engine = Engine(rules, "ep")
    engine.feed(log(*episode(said, before=before)))
    return engine.total, engine.success


def claim(kind: str, status: str = "SUCCESS", data: Any = None) -> Said:
    return answered(json.dumps({"task_type": kind, "status": status, "retrieved_data": data}))


def unrelated(chance: random.Random) -> list[Said]:
    """What an agent also does: other pages, other forms, of these sites and others."""
    said: list[Said] = []
    for _ in range(chance.randint(1, 4)):
        origin = chance.choice((*SITES.values(), "http://elsewhere.test"))
        path = f"{origin}/zebra/{chance.choice(WORDS)}"
        body = {chance.choice(("title", "text")): chance.choice(WORDS)}
        request = chance.choice(
            (Request("GET", path, {"q": "zebra"}, None, {}), Request("POST", path, {}, body, {}))
        )
        said += request.told()
    return said


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(number=st.integers(0, 2**32))
def test_a_deed_is_paid_for_what_is_asked_of_it_and_for_nothing_else(
    kind: str, number: int
) -> None:
    chance = random.Random(number)
    made = KINDS[kind](chance, chance.choice(sorted(SITES)))
    rules = rules_of(answer_of(kind), made.check)
    done = made.right.told()
    total, success = outcome(rules, [*done, claim(kind)])
    assert success is True, (made.check, done)
    assert total == pytest.approx(rules.attainable)
    assert outcome(rules, []) == (0.0, False), "nothing was done"
    assert outcome(rules, unrelated(chance)) == (0.0, False), "something else was done"
    assert outcome(rules, [*unrelated(chance), claim(kind)]) == (0.0, False), "a claim"
    assert outcome(rules, done)[1] is False, "no answer"
    assert outcome(rules, [claim(kind)], done) == (0.0, False), "it was so at the start"
    assert outcome(rules, [*done, claim(kind)], done) == (total, True), "it was done once more"
    assert outcome(rules, [*done, claim(kind, "NOT_FOUND_ERROR")])[1] is False, "another answer"
    for why, request in made.wrong.items():
        total, success = outcome(rules, [*request.told(), claim(kind)])
        assert success is False, (why, made.check, request)
        assert total is not None and total < 0.5, (why, made.check, request)  # noqa: PT018  # read together
    if kind == "navigate":
        left = Request("GET", f"{SITES['reddit']}/left", {}, None, {}).told()
        assert outcome(rules, [*done, *left, claim(kind)])[1] is False, "the page was left"


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(number=st.integers(0, 2**32))
def test_several_checks_are_one_goal_and_what_must_not_be_sent_is_not(number: int) -> None:
    chance = random.Random(number)
    first, second = (mutation(chance, site) for site in SITES)
    banned = {"url": "__REDDIT__/f/zebra", "http_method": "POST"}
    forbidden = {**second.check, "should_not_exist": True, "expected": banned}
    rules = rules_of(answer_of("mutate"), first.check, second.check, forbidden)
    both = [*first.right.told(), *second.right.told()]
    assert outcome(rules, [*both, claim("mutate")])[1] is True, (first.check, second.check)
    for one in (first, second):
        assert outcome(rules, [*one.right.told(), claim("mutate")])[1] is False
    for path, reached in (("f/zebra", False), ("f/zebras", True)):
        sent = Request("POST", f"{SITES['reddit']}/{path}", {}, {"a": "b"}, {}).told()
        assert outcome(rules, [*both, *sent, claim("mutate")])[1] is reached


@pytest.mark.parametrize("place", range(len(DATA)))
@pytest.mark.parametrize("ordered", [False, True])
def test_what_is_retrieved_is_compared_as_its_schema_says(place: int, ordered: bool) -> None:
    items, wanted, same, other = DATA[place]
    check = answer_of(
        "retrieve", expected={"retrieved_data": wanted},
        results_schema={"type": "array", "items": items}, ordered=ordered,
    )  # fmt: skip
    rules = rules_of(check)

    def is_reached(*said: Said) -> bool | None:
        return outcome(rules, list(said))[1]

    assert is_reached(claim("retrieve", data=wanted)) is True
    assert is_reached(claim("retrieve", data=same)) is True
    assert is_reached(claim("retrieve", data=wanted[::-1])) is (not ordered or len(wanted) == 1)
    for bad in (other, [], None, [*wanted, *wanted], wanted[1:] if len(wanted) > 1 else ["x"]):
        assert is_reached(claim("retrieve", data=bad)) is False, bad
    assert outcome(rules, [claim("navigate", data=wanted)]) == (0.0, False)
    assert outcome(rules, []) == (0.0, False)
    assert outcome(rules, unrelated(random.Random(place))) == (0.0, False)


GOOD = mutation(random.Random(7), "reddit").check


def changed(path: str, value: Any, check: Json = GOOD) -> Json:
    """The check with another value at a dotted path."""
    copied = copy.deepcopy(check)
    at = copied
    *steps, last = path.split(".")
    for step in steps:
        at = at.setdefault(step, {})
    at[last] = value
    return copied


UNJUDGED: dict[str, tuple[Json, str]] = {
    "an evaluator of another kind": (
        task_of(answer_of("mutate"), changed("evaluator", "DatabaseEvaluator")), "DatabaseEvaluator",
    ),
    "an answer's evaluator that is none": (task_of(GOOD, GOOD), "wanted AgentResponseEvaluator"),
    "a deed that nothing looks for": (task_of(answer_of("mutate")), "a check of what a task to mutate does"),
    "a deed of which only something else is forbidden": (
        task_of(answer_of("navigate"), {**GOOD, "should_not_exist": True}), "a check of what a task to navigate does",
    ),
    "a pattern that looks behind": (
        task_of(answer_of("mutate"), changed("expected.url", "^__REDDIT__/(?<=f)x$")), "RE2",
    ),
    "a pattern that is none": (
        task_of(answer_of("mutate"), changed("expected.post_data.text", "^($")), "regular expression",
    ),
    "a cookie without a name": (
        task_of(answer_of("mutate"), changed("expected.headers", {"Cookie": "^x$"})), "Cookie",
    ),
    "a format that is not known": (
        task_of(answer_of("retrieve", expected={"retrieved_data": [1]},
                          results_schema={"type": "array", "items": {"type": "string", "format": "tensor"}})),
        "tensor",
    ),
    "a value that is none of its format": (
        task_of(answer_of("retrieve", expected={"retrieved_data": ["soon"]},
                          results_schema={"type": "array", "items": {"type": "string", "format": "date"}})),
        "soon",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNJUDGED)
def test_a_task_that_cannot_be_judged_is_refused_and_named_and_ends_nothing(name: str) -> None:
    task, why = UNJUDGED[name]
    bad, good = imported({**task, "task_id": 41}, task_of(answer_of("mutate"), GOOD, id=42))
    assert (bad.name, bad.spec, bad.kind) == ("41", None, verified.REFUSED)
    assert why in bad.remarks[0]
    assert (good.name, good.kind) == ("42", "mutate")
    assert good.spec is not None


def test_what_was_refused_is_counted_as_such(tmp_path: Path) -> None:
    path = tmp_path / verified.NAME
    path.write_bytes(
        orjson.dumps([UNJUDGED["a pattern that is none"][0], task_of(answer_of("mutate"), GOOD)])
    )
    assert [list(row)[:2] for row in verified.coverage(path).rows] == [
        ["mutate", 1], ["refused", 1], ["**all**", 2],
    ]  # fmt: skip
