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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agentd.masking import MASK
from api.suggestions.drawn_texts import looks_drawn
from detectors.matchers import StateMatch, third_party
from detectors.model.codec import canonical
from detectors.model.json_value import JsonObject, JsonValue, objects_in
from detectors.model.optional_values import drop_keys
from lab.benchmarks.dates import day_of
from lab.benchmarks.state_filters import GIVEN, MAX_OTHERS, test_of, tests_of
from lab.benchmarks.state_place import AT, StatePlace, json_text, key_step
from lab.benchmarks.state_values import ID_WORDS, Context, is_system_time, words_of

Fact = dict[str, JsonValue]
Row = JsonObject
Weight = Literal["asked", "order", "time", "count"]
_IDS = ("id", "iid", "_id", "email", "code", "key", "name")
_SERIES = re.compile(r"(.*?)\d+")
"""Ids that an application numbers: those of one list begin alike."""
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


class NothingToTellError(ValueError):
    """No fact tells the solved state from what an unrelated change would make; the message names
    what is different."""


class StateChange(NamedTuple):
    """One fact; ``about`` is the thing that it is about, ``path`` where. ``weight``: ``order``,
    ``time`` and ``count`` are asked, or not, only where nothing else is different."""

    about: str
    path: str
    fact: Fact
    weight: Weight = "asked"


def changes(seed: JsonValue, solved: JsonValue, context: Context) -> dict[str, list[Fact]]:
    """Facts that hold in ``solved`` and not in ``seed``, by the thing that they are about, in the
    state's order.

    Empty where the two are the same. Raises `NothingToTellError`, `ValueError` for a fact that no
    rule can look for.
    """
    root = StatePlace("$", "", "")
    different = list(_Comparison(context, seed).differing(root, "", seed, solved))
    if not different:
        return {}
    telling = [change for change in different if _tells(change.fact, seed, solved)]
    chosen = _of_first_weight(telling)
    if not chosen:
        paths = ", ".join(dict.fromkeys(change.path for change in different))
        raise NothingToTellError(
            f"only {paths:.300} would tell; any other change may set it as well"
        )
    groups: dict[str, list[Fact]] = {}
    for change in chosen:
        name = _NAME.sub("-", change.about).strip("-.") or "state"
        facts = groups.setdefault(name, [])
        if change.fact not in facts:
            facts.append(change.fact)
    return groups


def _of_first_weight(found: Sequence[StateChange]) -> list[StateChange]:
    """Those that are asked; where there are none, orders, or else times of day."""
    for weight in ("asked", "order", "time"):
        chosen = [change for change in found if change.weight == weight]
        if chosen:
            return chosen
    return []


def new_ids(
    seed: JsonValue, solved: JsonValue, instruction: str, name: str = ""
) -> dict[str, list[JsonValue]]:
    """The ids that rows in ``solved`` were given, as JSON, each with the ids of the rows of its
    list in ``seed``. Rows stand in a list, or in an object under their ids; a key that the
    instruction names was not given. ``name``: the key under which ``solved`` stands."""
    if isinstance(seed, dict) and isinstance(solved, dict):
        return _new_ids_of_members(name, seed, solved, instruction)
    if isinstance(seed, list) and isinstance(solved, list):
        identity = _identity(name, seed, solved)
        if identity is not None and is_given(identity):
            before, after = objects_in(seed), objects_in(solved)
            return _new_ids_of_rows(identity, before, after, instruction)
    return {}


def _new_ids_of_members(
    name: str, seed: Row, solved: Row, instruction: str
) -> dict[str, list[JsonValue]]:
    """`new_ids` of two objects, which stand under ``name``."""
    had: list[JsonValue] = [*seed]
    ids: dict[str, list[JsonValue]] = {}
    for key, value in solved.items():
        is_named = len(key) > 2 and key.lower() in instruction.lower()
        is_old = key in seed
        if not (is_old or is_named) and _is_given_key(name, key, value, seed):
            ids[json_text(key)] = had
        ids |= new_ids(seed.get(key), value, instruction, key)
    return ids


def _is_given_key(name: str, key: str, value: JsonValue, old: Row) -> bool:
    """Whether ``value`` is a new row of the object ``old``, which stands under ``name``, and
    ``key`` the id that it was given."""
    rows = objects_in([value, *old.values()])
    are_all_rows = len(rows) == len(old) + 1
    if not are_all_rows:
        return False
    if name == "entities" or words_of(name)[-2:] == ["by", "id"]:
        return True
    own_ids = [str(part) for member, part in rows[0].items() if is_given(member)]
    if key in own_ids:
        return True
    return looks_drawn(key) or _is_of_series(key, [*old])


def _is_of_series(key: str, others: Sequence[str]) -> bool:
    """Whether keys begin alike and end in numbers, as ``ord_1``, ``ord_2`` do and days do not."""
    is_day = day_of(key) is not None
    if is_day or len(others) < 2:
        return False
    matches = [_SERIES.fullmatch(one) for one in (key, *others)]
    beginnings = [match[1] for match in matches if match is not None]
    are_all_numbered = len(beginnings) == len(matches)
    return are_all_numbered and len(set(beginnings)) == 1


def _new_ids_of_rows(
    name: str, seed: Sequence[Row], solved: Sequence[Row], instruction: str
) -> dict[str, list[JsonValue]]:
    """`new_ids` of two lists whose rows have their id under ``name``."""
    before = {json_text(row[name]): row for row in seed}
    had = [row[name] for row in seed]
    after = {json_text(row[name]): row for row in solved}
    ids = {text: had for text in after if text not in before}
    for text, row in after.items():
        ids |= new_ids(before.get(text), row, instruction)
    return ids


def _tells(fact: Fact, seed: JsonValue, solved: JsonValue) -> bool:
    """Whether the fact holds when solved and not before, both as the rule reads it."""
    matcher = StateMatch.parse([fact], ("facts",))
    before, after = (matcher.facts[0].holds(document) for document in (seed, solved))
    return after and not before


@dataclass(frozen=True, slots=True)
class _Comparison:
    context: Context
    seed: JsonValue

    def differing(
        self, place: StatePlace, about: str, old: JsonValue, new: JsonValue
    ) -> Iterator[StateChange]:
        """Compare two values that stand at ``place``, and give each difference."""
        if isinstance(old, dict) and isinstance(new, dict):
            yield from self._objects(place, about, old, new)
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._lists(place, about, old, new)
        elif not _same(old, new):
            yield self._value(place, about, old, new)

    def _objects(self, place: StatePlace, about: str, old: Row, new: Row) -> Iterator[StateChange]:
        """Compare two objects member by member, in the order of their keys."""
        came = [key for key in new if key not in old]
        given = {key: new[key] for key in came if self.context.is_given_key(key)}
        yield from self._given_members(place, about, old, given)
        for key in sorted({*old, *new}.difference(given)):
            below = place.step(key)
            thing = _part(about, key)
            if key not in new:
                yield self._gone_member(place, thing, below.path, key)
            elif key not in old:
                yield self._value(below, thing, None, new[key])
            else:
                yield from self.differing(below, thing, old[key], new[key])

    def _given_members(
        self, place: StatePlace, about: str, old: Row, added: Row
    ) -> Iterator[StateChange]:
        """New members of an object whose keys the application gave: by what is in them."""
        for key in added:
            self.context.note("asked under any key: the application draws it", place.path, key)
        yield from self._added(place, _part(about, "new"), None, [*added.values()], [*old.values()])

    def _value(self, place: StatePlace, about: str, old: JsonValue, new: JsonValue) -> StateChange:
        """A value that came, or that is another one."""
        path = place.path
        if isinstance(new, dict | list):
            return StateChange(about, path, self._container(place, new))
        key = place.last_key
        exactly: Fact = {"path": path, "value": new}
        others = [f"{AT}!={json_text(other)}" for other in (None, "", MASK, old)]
        kind = self.context.kind(path, key, new)
        test = test_of(self.context, AT, kind, new)
        begun = [test.text] if kind == "begun" else []
        another: Fact = {"path": place.path_with([AT, *others, *begun])}
        match kind:
            case "when":
                return StateChange(about, path, another, "count" if is_system_time(key) else "time")
            case "count" | "masked":
                return StateChange(about, path, exactly, "count")
            case "drawn" | "begun":
                self.context.note("asked as another value than at the start", path, new)
                return StateChange(about, path, another)
        asked: Fact = {"path": place.path_with([test.text])}
        return StateChange(about, path, exactly if test.exact else asked)

    def _container(self, place: StatePlace, new: JsonValue) -> Fact:
        """An object or a list that came: itself, or what is in it but for what is not asked."""
        tests = list(tests_of(self.context, AT, place.path, "", new))
        if all(test.exact for test in tests):
            return {"path": place.path, "value": new}
        return {"path": place.path_with([test.text for test in tests if test.text] or [AT])}

    def _lists(
        self, place: StatePlace, about: str, old: Sequence[JsonValue], new: Sequence[JsonValue]
    ) -> Iterator[StateChange]:
        """Compare two lists: as plain values, as rows that have an identity, or as rows without
        one."""
        name = _identity(place.last_key, old, new)
        if _plain(old) and _plain(new):
            yield from self._texts(place, about, old, new)
        elif name is not None:
            yield from self._rows(place, about, name, objects_in(old), objects_in(new))
        elif not _same(old, new):
            yield from self._nameless(place, about, old, new)

    def _gone_member(self, place: StatePlace, about: str, path: str, key: str) -> StateChange:
        """A member that the object at ``place`` lost; ``path``: where it was."""
        kind = self.context.kind(path, key, None)
        fact: Fact = {"path": place.path, "without": [key]}
        return StateChange(about, path, fact, "count" if kind == "count" else "asked")

    def _rows(
        self, place: StatePlace, about: str, name: str, old: Sequence[Row], new: Sequence[Row]
    ) -> Iterator[StateChange]:
        """Rows that are known by what they have under ``name``."""
        before = {json_text(row[name]): row for row in old}
        after = {json_text(row[name]): row for row in new}
        if not before.keys() <= after.keys():
            yield self._removed(place, about, name, before, after)
        kept = [key for key in after if key in before]
        for key in kept:
            row = after[key]
            below = place.row(f"@{key_step(name)}=={key}")
            part = _part(about, str(row[name]))
            yield from self.differing(below, part, before[key], row)
        added = [row for key, row in after.items() if key not in before]
        yield from self._added(place, _part(about, "new"), name, added, list(before.values()))
        is_reordered = list(after) != list(before)
        if is_reordered and before.keys() == after.keys():
            yield from self._reordered(place, about, name, new)

    def _removed(
        self,
        place: StatePlace,
        about: str,
        name: str,
        before: Mapping[str, Row],
        after: Mapping[str, Row],
    ) -> StateChange:
        """The ids that are gone, and those that stayed."""
        path = place.path
        if not after:
            return StateChange(about, path, {"path": path, "value": []})
        gone = [row[name] for key, row in before.items() if key not in after]
        kept = [row[name] for key, row in before.items() if key in after]
        fact: Fact = {"path": f"{path}[*]{key_step(name)}", "all": kept, "none": gone}
        return StateChange(about, path, fact)

    def _reordered(
        self, place: StatePlace, about: str, name: str, rows: Sequence[Row]
    ) -> Iterator[StateChange]:
        """The same rows in another order, each by its place."""
        for index, row in enumerate(rows):
            where = f"{place.path}[{index}]{key_step(name)}"
            fact: Fact = {"path": where, "value": row[name]}
            yield StateChange(about, where, fact, "order")

    def _added(
        self,
        place: StatePlace,
        about: str,
        name: str | None,
        added: Sequence[JsonValue],
        old: Sequence[JsonValue],
    ) -> Iterator[StateChange]:
        """New rows by what is in them; as often as they came, and not the old ones that are like
        them. ``name``: the key under which each of them has its id, None for no such key."""
        contents = Counter(self._content(place, row, name) for row in added)
        for test, times in contents.items():
            path = self._path_of_new(place, test, times, name, old)
            yield StateChange(about, place.path, {"path": path})

    def _content(self, place: StatePlace, row: JsonValue, name: str | None) -> str:
        """A filter for a row by what is in it; the id that it was given is not its content."""
        content = row
        if isinstance(row, Mapping) and name is not None and is_given(name):
            content = drop_keys(row, (name,))
        tests = tests_of(self.context, "@", f"{place.path}[new]", "", content)
        return " && ".join(test.text for test in tests if test.text)

    def _path_of_new(
        self, place: StatePlace, test: str, times: int, name: str | None, old: Sequence[JsonValue]
    ) -> str:
        """A path that finds something once ``times`` new rows are there for which the filter's
        ``test`` holds."""
        path = f"{place.path}[?{test}]" if test else f"{place.path}[*]"
        like = third_party.json_values(path, self.seed)
        is_one = times == 1
        if is_one and not like:
            return path  # nothing in the start is like it
        others = old if len(old) <= MAX_OTHERS else like
        can_exclude_others = is_one and len(others) <= MAX_OTHERS
        if name is None or not can_exclude_others:
            return f"$[?count({path})>={len(like) + times}]"
        is_new = _is_none_of(test, name, objects_in(others))
        return f"{place.path}[?{is_new}]"

    def _nameless(
        self, place: StatePlace, about: str, old: Sequence[JsonValue], new: Sequence[JsonValue]
    ) -> Iterator[StateChange]:
        """Rows without an id of their own."""
        path = place.path
        whole: Fact = {"path": path, "value": list(new)}
        had = Counter(map(json_text, old))
        has = Counter(map(json_text, new))
        added = _without(new, had)
        gone = _without(old, has)
        if not added and not gone:
            weight: Weight = "order" if had == has else "asked"
            yield StateChange(about, path, whole, weight)
            return
        has_twins = len(had) < len(old)
        only_grew = not (gone or has_twins)
        is_exact = all(self._is_exact(place, row) for row in added)
        is_exact_change = is_exact and not only_grew
        if is_exact_change or not _are_objects(new):
            yield StateChange(about, path, whole)
            return
        if gone:
            kept = [row for row in new if json_text(row) in had]
            yield StateChange(about, path, {"path": f"{path}[*]", "all": kept, "none": gone})
        yield from self._added(place, _part(about, "new"), None, objects_in(added), objects_in(old))

    def _is_exact(self, place: StatePlace, row: JsonValue) -> bool:
        """Whether all that is in a new row is asked as it is."""
        tests = tests_of(self.context, "@", f"{place.path}[new]", "", row)
        return all(test.exact for test in tests)

    def _texts(
        self, place: StatePlace, about: str, old: Sequence[JsonValue], new: Sequence[JsonValue]
    ) -> Iterator[StateChange]:
        """Plain values: which came and which went; their order counts only where nothing else is
        different."""
        had, has = list(map(json_text, old)), list(map(json_text, new))
        if had == has:
            return
        path = place.path
        not_exact = self._not_exact(place, new, had)
        gone = [value for value in old if json_text(value) not in has]
        kept = [value for value in new if json_text(value) not in not_exact]
        is_same = sorted(had) == sorted(has)
        if not_exact:
            # Among the parts of the row that holds the list, which is found first: a filter over
            # all rows would cost more.
            parent = path.removesuffix(key_step(place.last_key))
            test = _list_test(old, kept, gone, not_exact.values())
            yield StateChange(about, path, {"path": f"{parent}[?{test}]"})
        elif is_same or not new or len({*has}) < len(has):
            whole: Fact = {"path": path, "value": list(new)}
            yield StateChange(about, path, whole, "order" if is_same else "asked")
        else:
            yield StateChange(about, path, {"path": f"{path}[*]", "all": kept, "none": gone})

    def _not_exact(
        self, place: StatePlace, new: Sequence[JsonValue], had: Sequence[str]
    ) -> dict[str, str]:
        """Of the values that came, by their JSON, those that are not asked as they are: each with
        its test of a filter, "" for none."""
        tests: dict[str, str] = {}
        for value in new:
            text = json_text(value)
            if text not in had:
                kind = self.context.kind(f"{place.path}[new]", place.last_key, value)
                test = test_of(self.context, "@", kind, value)
                if not test.exact:
                    tests[text] = test.text
        return tests


def _list_test(
    old: Sequence[JsonValue],
    kept: Sequence[JsonValue],
    gone: Sequence[JsonValue],
    tests: Iterable[str],
) -> str:
    """A filter for a list that has ``kept``, nothing of ``gone``, and for each of ``tests`` a value
    for which it holds, none of ``old``."""
    others = [f"@!={json_text(value)}" for value in (None, *old)]
    parts = [f"@[?@=={json_text(value)}]" for value in kept]
    parts += [f"!@[?@=={json_text(value)}]" for value in gone]
    parts += [f"@[?{_joined(test, others)}]" for test in tests]
    return " && ".join(parts)


def is_given(name: str) -> bool:
    """Whether a key names what a row is given by the application."""
    return name in GIVEN or not ID_WORDS.isdisjoint(words_of(name)[-1:])


def _identity(list_name: str, old: Sequence[JsonValue], new: Sequence[JsonValue]) -> str | None:
    """The key that tells one row from another, in both lists, which stand under ``list_name``."""
    if not _are_objects([*old, *new]):
        return None
    lists = [objects_in(old), objects_in(new)]
    first = objects_in([*new, *old])[0]
    own = [name for name in first if _is_own_id(name, list_name)]
    for name in (*_IDS[:3], *own, *_IDS[3:]):
        if all(_is_identity(name, rows) for rows in lists):
            return name
    return None


def _is_own_id(name: str, list_name: str) -> bool:
    """Whether a key names the id of a row itself, as ``orderId`` does in ``orders``, and not that
    of another thing."""
    *stem, last = words_of(name) or [""]
    singular = "".join(stem).removesuffix("y")  # categoryId in categories
    return last in ID_WORDS and bool(singular) and "".join(words_of(list_name)).startswith(singular)


def _is_identity(name: str, rows: Sequence[Row]) -> bool:
    """Whether each of ``rows`` has a value of its own under ``name``."""
    values = [row.get(name) for row in rows]
    if not all(isinstance(value, str | int) for value in values):
        return False
    return len({*map(json_text, values)}) == len(values)


def _is_none_of(test: str, name: str, rows: Sequence[Row]) -> str:
    """``test`` (which may be empty) and that it is none of these rows, by their ids."""
    ids = [f"@{key_step(name)}!={json_text(row[name])}" for row in rows]
    return _joined(test, ids)


def _joined(test: str, more: Sequence[str]) -> str:
    """A filter in which ``test``, unless it is empty, and all of ``more`` hold."""
    return " && ".join([test, *more] if test else more)


def _without(values: Sequence[JsonValue], counts: Mapping[str, int]) -> list[JsonValue]:
    """Those of ``values`` that are not counted in ``counts``, by their JSON."""
    return [value for value in values if json_text(value) not in counts]


def _are_objects(values: Sequence[JsonValue]) -> bool:
    """Whether there are values, all of them objects."""
    return bool(values) and all(isinstance(value, Mapping) for value in values)


def _plain(values: Sequence[JsonValue]) -> bool:
    return not any(isinstance(value, list | dict) for value in values)


def _part(about: str, name: str) -> str:
    """Two names are enough to tell what a milestone is about."""
    if "." in about:
        return about
    part = name.replace(".", "-")
    return f"{about}.{part}" if about else part


def _same(value: object, other: object) -> bool:
    return canonical(value) == canonical(other)
