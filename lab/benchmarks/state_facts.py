"""What is different in a solved state, as facts that a rule can look for: by the rows' own ids, not
by their places.

An application may add a row at another end, write another time of day, count otherwise or draw
other codes than the benchmark's own solution (`lab.benchmarks.state_values`): these are left out,
or asked as another value than at the start. What holds at the start is no fact: a new row that is
like an old one is asked as one that is not the old one. Where only counters, orders, or times that
any change sets are different, no fact is left (`NothingToTellError`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from detectors.matchers import StateMatch, third_party
from detectors.model.codec import canonical
from lab.benchmarks.dates import day_of, minute_of
from lab.benchmarks.state_values import MASK, Context, is_system_time, json_text

Fact = dict[str, Any]
Weight = Literal["asked", "order", "time", "count"]
_IDS = ("id", "iid", "email", "code", "key", "name")
_GIVEN = ("id", "iid", "uuid", "guid")
"""Keys of what a row is given by the application."""
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_OTHERS = 64
"""Ids of old rows that a reference to a new row must not be; of more, only that there is a reference."""
_AT = "\0"
"""Stands for a place's own value in a test; JSON has no such letter."""


class NothingToTellError(ValueError):
    """No fact tells the solved state from what an unrelated change would make; the message names
    what is different."""


class Found(NamedTuple):
    """One fact; ``about`` is the thing that it is about, ``path`` where. ``weight``: ``order``,
    ``time`` and ``count`` are asked, or not, only where nothing else is different."""

    about: str
    path: str
    fact: Fact
    weight: Weight = "asked"


class Place(NamedTuple):
    """Where a value stands: below the row of ``base`` for which ``test`` holds, or, without a test,
    below the root."""

    base: str
    test: str
    inner: str

    @property
    def path(self) -> str:
        """As a JSON Path."""
        return f"{self.base}[?{self.test}]{self.inner}" if self.test else f"${self.inner}"

    def step(self, key: str) -> Place:
        """The value under ``key``."""
        return self._replace(inner=self.inner + _step(key))

    def row(self, test: str) -> Place:
        """The row of this list for which ``test`` holds."""
        return Place(self.path, test, "")

    def path_with(self, tests: Sequence[str]) -> str:
        """A JSON Path that finds something where all ``tests`` hold, in each of which `_AT` is this
        place's value."""
        if self.test:
            told = [test.replace(_AT, f"@{self.inner}") for test in tests]
            return f"{self.base}[?{' && '.join((self.test, *told))}]"
        return f"$[?{' && '.join(test.replace(_AT, '$' + self.inner) for test in tests)}]"


def changes(seed: Any, solved: Any, context: Context) -> dict[str, list[Fact]]:
    """Facts that hold in ``solved`` and not in ``seed``, by the thing that they are about, in the
    state's order.

    Empty where the two are the same. Raises `NothingToTellError`, `ValueError` for a fact that no
    rule can look for.
    """
    every = list(_Walk(context, seed).differing(Place("$", "", ""), "", seed, solved))
    if not every:
        return {}
    found = [one for one in every if _tells(one.fact, seed, solved)]
    told: list[Found] = []
    for weight in ("asked", "order", "time"):
        told = told or [one for one in found if one.weight == weight]
    if not told:
        paths = ", ".join(dict.fromkeys(one.path for one in every))
        raise NothingToTellError(
            f"only {paths:.300} would tell; any other change may set it as well"
        )
    groups: dict[str, list[Fact]] = {}
    for one in told:
        facts = groups.setdefault(_NAME.sub("-", one.about).strip("-.") or "state", [])
        if one.fact not in facts:
            facts.append(one.fact)
    return groups


def new_ids(seed: Any, solved: Any) -> dict[str, list[Any]]:
    """The ids that rows in ``solved`` were given, as JSON, each with the ids of the rows of its
    list in ``seed``."""
    found: dict[str, list[Any]] = {}
    if isinstance(seed, dict) and isinstance(solved, dict):
        for key, value in solved.items():
            found |= new_ids(seed.get(key), value)
    elif isinstance(seed, list) and isinstance(solved, list):
        name = _identity(seed, solved)
        if name in _GIVEN:
            had = [row[name] for row in seed]
            found |= {json_text(row[name]): had for row in solved if row[name] not in had}
            before = {json_text(row[name]): row for row in seed}
            for row in solved:
                found |= new_ids(before.get(json_text(row[name])), row)
    return found


def _tells(fact: Fact, seed: Any, solved: Any) -> bool:
    """Whether the fact holds when solved and not before, both as the rule reads it."""
    matcher = StateMatch.parse([fact], ("facts",))
    before, after = (matcher.facts[0].holds(document) for document in (seed, solved))
    return after and not before


@dataclass(frozen=True, slots=True)
class _Walk:
    context: Context
    seed: Any

    def differing(self, place: Place, about: str, old: Any, new: Any) -> Iterator[Found]:
        """What differs at ``place``."""
        if isinstance(old, dict) and isinstance(new, dict):
            yield from self._objects(place, about, old, new)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._lists(place, about, old, new)
        elif not _same(old, new):
            yield self._value(place, about, old, new)

    def _objects(
        self, place: Place, about: str, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> Iterator[Found]:
        for key in sorted({*old, *new}):
            below, thing = place.step(key), _part(about, key)
            if key not in new:
                weight: Weight = (
                    "count" if self.context.kind(below.path, key, None) == "count" else "asked"
                )
                yield Found(thing, below.path, {"path": place.path, "without": [key]}, weight)
            elif key not in old:
                yield self._value(below, thing, None, new[key])
            else:
                yield from self.differing(below, thing, old[key], new[key])

    def _value(self, place: Place, about: str, old: Any, new: Any) -> Found:
        """A value that came, or that is another one."""
        if isinstance(new, dict | list):
            tests = list(self._tests(_AT, place.path, "", new))
            if all(test.exact for test in tests):
                return Found(about, place.path, {"path": place.path, "value": new})
            return Found(
                about,
                place.path,
                {"path": place.path_with([test.text for test in tests if test.text] or [_AT])},
            )
        key = _last(place)
        kind = self.context.kind(place.path, key, new)
        another = {
            "path": place.path_with(
                [_AT, *(f"{_AT}!={json_text(one)}" for one in (None, "", MASK, old))]
            )
        }
        if kind == "when":
            return Found(about, place.path, another, "count" if is_system_time(key) else "time")
        if kind in ("count", "masked"):
            return Found(about, place.path, {"path": place.path, "value": new}, "count")
        if kind == "drawn":
            self.context.note("asked as another value than at the start", place.path, new)
            return Found(about, place.path, another)
        test = self._test(_AT, kind, new)
        fact = (
            {"path": place.path, "value": new}
            if test.exact
            else {"path": place.path_with([test.text])}
        )
        return Found(about, place.path, fact)

    def _lists(
        self, place: Place, about: str, old: Sequence[Any], new: Sequence[Any]
    ) -> Iterator[Found]:
        name = _identity(old, new)
        if _plain(old) and _plain(new):
            yield from self._texts(place, about, old, new)
        elif name is not None:
            yield from self._rows(place, about, name, old, new)
        elif not _same(old, new):
            yield from self._nameless(place, about, old, new)

    def _rows(
        self, place: Place, about: str, name: str, old: Sequence[Any], new: Sequence[Any]
    ) -> Iterator[Found]:
        path = place.path
        before, after = ({json_text(row[name]): row for row in rows} for rows in (old, new))
        gone = [row[name] for key, row in before.items() if key not in after]
        kept = [row[name] for key, row in before.items() if key in after]
        if gone and not after:
            yield Found(about, path, {"path": path, "value": []})
        elif gone:
            yield Found(about, path, {"path": f"{path}[*]{_step(name)}", "all": kept, "none": gone})
        for key, row in after.items():
            if key in before:
                below = place.row(f"@{_step(name)}=={key}")
                yield from self.differing(below, _part(about, str(row[name])), before[key], row)
        added = [row for key, row in after.items() if key not in before]
        yield from self._added(place, _part(about, "new"), name, added, list(before.values()))
        if not gone and not added and list(after) != list(before):
            for index, row in enumerate(new):
                where = f"{path}[{index}]{_step(name)}"
                yield Found(about, where, {"path": where, "value": row[name]}, "order")

    def _added(
        self, place: Place, about: str, name: str | None, added: Sequence[Any], old: Sequence[Any]
    ) -> Iterator[Found]:
        """New rows by what is in them; as often as they came, and not the old ones that are like
        them."""
        tests = [self._content(place, row, name) for row in added]
        for test, times in Counter(tests).items():
            path = f"{place.path}[?{test}]" if test else f"{place.path}[*]"
            like = third_party.json_values(path, self.seed)
            others = old if len(old) <= MAX_OTHERS else like
            if like and name is not None and times == 1 and len(others) <= MAX_OTHERS:
                tests_of_ids = [f"@{_step(name)}!={json_text(row[name])}" for row in others]
                path = f"{place.path}[?{' && '.join(filter(None, (test, *tests_of_ids)))}]"
            elif like or times > 1:
                path = f"$[?count({path})>={len(like) + times}]"
            yield Found(about, place.path, {"path": path})

    def _content(self, place: Place, row: Mapping[str, Any], name: str | None) -> str:
        """A filter for a row by what is in it; the id that it was given is not its content."""
        told = {key: part for key, part in row.items() if key != name or name not in _GIVEN}
        return " && ".join(
            test.text for test in self._tests("@", f"{place.path}[new]", "", told) if test.text
        )

    def _nameless(
        self, place: Place, about: str, old: Sequence[Any], new: Sequence[Any]
    ) -> Iterator[Found]:
        """Rows without an id of their own."""
        path = place.path
        had, has = Counter(map(json_text, old)), Counter(map(json_text, new))
        added = [row for row in new if not had[json_text(row)]]
        gone = [row for row in old if not has[json_text(row)]]
        drawn = any(
            not test.exact for row in added for test in self._tests("@", f"{path}[new]", "", row)
        )
        if (not added and not gone) or not all(isinstance(row, Mapping) for row in new):
            yield Found(
                about, path, {"path": path, "value": list(new)}, "order" if had == has else "asked"
            )
        elif not drawn and (not new or gone or max(had.values(), default=1) > 1):
            yield Found(about, path, {"path": path, "value": list(new)})
        else:
            if gone:
                kept = [row for row in new if had[json_text(row)]]
                yield Found(about, path, {"path": f"{path}[*]", "all": kept, "none": gone})
            yield from self._added(place, _part(about, "new"), None, added, old)

    def _texts(
        self, place: Place, about: str, old: Sequence[Any], new: Sequence[Any]
    ) -> Iterator[Found]:
        """Plain values: which came and which went; their order counts only where nothing else is
        different."""
        path, key = place.path, _last(place)
        had, has = list(map(json_text, old)), list(map(json_text, new))
        if had == has:
            return
        came = {text: value for text, value in zip(has, new, strict=True) if text not in had}
        kinds = {
            text: self.context.kind(f"{path}[new]", key, value) for text, value in came.items()
        }
        open_ = [value for text, value in came.items() if kinds[text] != "asked"]
        same = sorted(had) == sorted(has)
        if not open_ and (same or not new or len({*has}) < len(has)):
            yield Found(
                about, path, {"path": path, "value": list(new)}, "order" if same else "asked"
            )
            return
        gone = [value for value in old if json_text(value) not in has]
        kept = [value for value in new if value not in open_]
        if not open_:
            yield Found(about, path, {"path": f"{path}[*]", "all": kept, "none": gone})
            return
        # Among the parts of the row that holds the list, which is found first: a filter over all
        # rows would cost more.
        tests = [f"@[?@=={json_text(one)}]" for one in kept] + [
            f"!@[?@=={json_text(one)}]" for one in gone
        ]
        for value in open_:
            test = self._test("@", kinds[json_text(value)], value).text
            others = [f"@!={json_text(one)}" for one in (None, *old)]
            tests.append(f"@[?{' && '.join([*filter(None, (test,)), *others])}]")
        parent = path.removesuffix(_step(key))
        yield Found(about, path, {"path": f"{parent}[?{' && '.join(tests)}]"})

    def _tests(self, at: str, path: str, key: str, value: Any) -> Iterator[_Test]:
        """Tests of all plain values in ``value``, which stands at ``at`` of a filter; none for what
        is left out."""
        if isinstance(value, Mapping):
            for name, part in value.items():
                if (
                    name in _GIVEN
                    and isinstance(part, str | int)
                    and f"{path}.{name}".count("[new]")
                ):
                    yield _Test("", False)  # a part of a new row has an id that it was given, too
                else:
                    yield from self._tests(at + _step(name), f"{path}.{name}", name, part)
        elif isinstance(value, list):
            for place, part in enumerate(value):
                yield from self._tests(f"{at}[{place}]", path, key, part)
        else:
            yield self._test(at, self.context.kind(path, key, value), value)

    def _test(self, at: str, kind: str, value: Any) -> _Test:
        if kind in ("when", "count", "drawn", "masked"):
            return _Test("", False)
        if kind == "reference":
            old = self.context.references[json_text(value)]
            others = [f"{at}!={json_text(one)}" for one in old] if len(old) <= MAX_OTHERS else []
            return _Test(" && ".join((at, f"{at}!=null", f'{at}!=""', *others)), False)
        if kind == "day":
            start = str(day_of(value))
            if self.context.minute(value):
                start = f"{value[:11]}{minute_of(value)}"
            return _Test(f"{at}>={json_text(start)} && {at}<{json_text(start + '~')}", False)
        return _Test(f"{at}=={json_text(value)}", True)


class _Test(NamedTuple):
    """A test of a filter; empty for what is not asked. ``exact``: that the value is this one and no
    other."""

    text: str
    exact: bool


def _identity(old: Sequence[Any], new: Sequence[Any]) -> str | None:
    """The key that tells one row from another, in both lists."""
    rows = [*old, *new]
    if not rows or not all(isinstance(row, dict) for row in rows):
        return None
    for name in _IDS:
        if all(isinstance(row.get(name), str | int) for row in rows):
            named = [[json_text(row[name]) for row in part] for part in (old, new)]
            if all(len({*part}) == len(part) for part in named):
                return name
    return None


def _plain(values: Sequence[Any]) -> bool:
    return not any(isinstance(value, list | dict) for value in values)


def _last(place: Place) -> str:
    """The last key of a place; of a list's row the list's."""
    found = re.findall(
        r"\.([A-Za-z_][A-Za-z0-9_]*)|\[\"((?:[^\"\\]|\\.)*)\"\]", place.inner or place.base
    )
    return "".join(found[-1]) if found else ""


def _part(about: str, name: str) -> str:
    """Two names are enough to tell what a milestone is about."""
    return (
        about
        if "." in about
        else f"{about}.{name.replace('.', '-')}"
        if about
        else name.replace(".", "-")
    )


def _step(key: str) -> str:
    return f".{key}" if _SIMPLE.fullmatch(key) else f"[{json_text(key)}]"


def _same(one: Any, other: Any) -> bool:
    return canonical(one) == canonical(other)
