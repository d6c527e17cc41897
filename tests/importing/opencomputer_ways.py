"""A right way through a whole task of OpenComputer's, as readers and probes would tell it: what each of
its checks asks is in the files' facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from detectors.matchers.facts import value_at
from detectors.model.types import Event
from detectors.task.ruleset import Ruleset
from tests.support.logs import Said, clicked, episode, filled, log, went

Spec = dict[str, Any]
Facts = dict[str, Any]
_OPTIONAL = re.compile(r"\(\?:[^()]*\)[?*]")
_GROUP = re.compile(r"\(\?:([^()|]*)[^()]*\)")
_REPEATED = re.compile(r"\(\?:\\S\+\\s\+\)\{(\d+)\}")
_ANY = re.compile(r"\[\^.\]\*|\.\*|\\s\*")
NAMED = frozenset(("cells", "ids", "bold", "formulas", "style", "tags", "layers", "bookmarks"))
"""Facts whose parts have names, also where these are digits."""
MANY = 64


def right_way(rules: Ruleset, spec: Mapping[str, Any]) -> list[Event]:
    """The log of one step in which all that the task asks for comes to be so."""
    conditions = [*_conditions(spec)]
    files = {path: facts_of(path, conditions) for path in paths_of(conditions)}
    start = [
        (
            "probe.answered",
            {"probe": one["id"], "when": "start", "value": None, "ms": 1, "baseline": True},
        )
        for one in spec.get("probes", [])
    ]
    step = [*_deeds(conditions), *map(_created, files), *_reads(rules, files)]
    return log(*episode([clicked("x")], step, before=start))


def _conditions(spec: Mapping[str, Any]) -> Iterator[tuple[str, Spec]]:
    """Each rule that is asked for, with its arguments: of alternatives a list of these."""
    for milestone in spec["milestones"][:-1]:
        yield from parts_of(milestone["when"])


def parts_of(when: Spec) -> Iterator[tuple[str, Spec]]:
    [(rule, about)] = when.items()
    if rule == "all_of":
        for one in about["of"]:
            yield from parts_of(one)
    elif rule != "none_of":
        yield rule, about


def paths_of(conditions: Iterable[tuple[str, Spec]]) -> list[str]:
    """The files that conditions ask for, in their order."""
    found: dict[str, None] = {}
    for rule, about in conditions:
        if rule == "any_of":
            found |= dict.fromkeys(paths_of([next(iter(one.items())) for one in about["of"]]))
        elif rule == "observed":
            found[about["where"]["path"]] = None
        elif isinstance(about.get("path"), str) and "probe" not in about:
            found[about["path"]] = None
        elif rule == "file_created":
            found[about["path"]["starts_with"] + about["name"]["contains"]] = None
    return [*found]


def facts_of(path: str, conditions: Iterable[tuple[str, Spec]]) -> Facts:
    """What a reader tells of a file that meets all that is asked of it, alternatives last."""
    asked = [(rule, about) for rule, about in conditions if rule != "any_of"]
    chosen = [about["of"] for rule, about in conditions if rule == "any_of"]
    facts: Facts = {}
    for rule, about in sorted(asked, key=lambda one: "number" not in one[1]):
        if about.get("path") == path and "query" not in about:
            _MAKERS.get(rule, _ignore)(facts, about)
    for options in chosen:
        _take_one(facts, path, options)
    lines: list[str] = facts.pop("_lines", [])
    if lines:
        facts["text"] = "\n".join(lines)
    return facts


def _take_one(facts: Facts, path: str, options: Iterable[Spec]) -> None:
    """Make the first alternative so that nothing contradicts."""
    for one in options:
        [(rule, about)] = one.items()
        if about.get("path") != path:
            continue
        if rule != "file_is" or all(_fits(facts, *of) for of in about.get("facts", {}).items()):
            _MAKERS.get(rule, _ignore)(facts, about)
            return


def _fits(facts: Facts, where: str, wanted: Any) -> bool:
    known = value_at(facts, tuple(where.split(".")))
    return known in (None, "") or _merged(known, wanted) == known


def _ignore(facts: Facts, about: Spec) -> None:
    pass


def _is_so(facts: Facts, about: Spec) -> None:
    for where, wanted in about.get("facts", {}).items():
        if wanted is not None:
            _put(facts, where.split("."), wanted)


def _has_value(facts: Facts, about: Spec) -> None:
    place = facts.setdefault("value", {})
    for name in about["at"][:-1]:
        place = place.setdefault(name, {})
    place[about["at"][-1]] = _example(about["value"])


def _says(facts: Facts, about: Spec) -> None:
    unit, number = about.get("unit", "whole"), about.get("number")
    wanted = about["text"]
    if unit == "slide":
        shapes = _reach(facts, ["slides", str(number - 1)], {}).setdefault("texts", [])
        shapes.append(_example(wanted))
        return
    lines = facts.setdefault("_lines", [])
    if number is None:
        # A pattern of the whole says how it begins.
        lines.insert(0 if unit == "whole" and "regex" in wanted else len(lines), _example(wanted))
        return
    lines += [""] * (number - len(lines))
    lines[number - 1] = _example(wanted)


def _has_part(facts: Facts, about: Spec) -> None:
    parts = facts.setdefault("paragraphs", [])
    number = int(about.get("number", len(parts) + 1))
    parts += [{} for _ in range(number - len(parts))]
    parts[number - 1] |= {key: _example(wanted) for key, wanted in about["has"].items()}


def _has_cells(facts: Facts, about: Spec) -> None:
    sheet = _sheet(facts, about.get("sheet"))
    for cell, wanted in about.get("cells", {}).items():
        column, row = _place(cell)
        _put(sheet, ["rows", str(row), str(column)], wanted)
    for cell, wanted in about.get("formulas", {}).items():
        _put(sheet, ["formulas", cell], wanted)
    sheet.setdefault("size", [MANY, MANY])


def _sheet(facts: Facts, name: Any) -> Facts:
    sheets: list[Facts] = facts.setdefault("sheets", [])
    wanted = None if name is None else _example(name)
    for sheet in sheets:
        if wanted is None or sheet["name"] == wanted:
            return sheet
    sheets.append({"name": wanted or "Sheet1", "rows": []})
    return sheets[-1]


def _place(cell: str) -> tuple[int, int]:
    """Column and row of a cell such as B2, from 0."""
    letters = cell.rstrip("0123456789")
    column = 0
    for letter in letters:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1, int(cell.removeprefix(letters)) - 1


_MAKERS = {
    "file_is": _is_so,
    "file_value": _has_value,
    "file_text": _says,
    "document_part": _has_part,
    "table_cells": _has_cells,
}


def _put(facts: Facts, steps: list[str], wanted: Any) -> None:
    """Make the value at a place meet what is wanted beside what stands there."""
    last = steps[-1]
    parent = _reach(facts, steps[:-1], [] if _is_list(steps) else {})
    if isinstance(parent, list):
        at = int(last)
        parent += [""] * (at + 1 - len(parent))
        parent[at] = _merged(parent[at] or None, wanted)
    else:
        parent[last] = _merged(parent.get(last), wanted)


def _is_list(steps: list[str]) -> bool:
    return steps[-1].isdigit() and steps[-2] not in NAMED


def _reach(facts: Any, steps: list[str], end: Any) -> Any:
    """The container at a place; what lacks on the way is made, ``end`` at its end."""
    for number, step in enumerate(steps):
        made = end if number == len(steps) - 1 else [] if _is_list(steps[: number + 2]) else {}
        if isinstance(facts, list):
            at = int(step)
            facts += [{} if isinstance(made, dict) else [] for _ in range(at + 1 - len(facts))]
            facts = facts[at]
        else:
            facts = facts.setdefault(step, made)
    return facts


def _merged(known: Any, wanted: Any) -> Any:
    """What meets a matcher beside what is known already."""
    example = _example(wanted)
    if known is None or not isinstance(known, str) or not isinstance(wanted, Mapping):
        return example
    if "regex" in wanted:
        return known
    if "starts_with" in wanted:
        return known if known.startswith(example) else f"{example}{known}"
    return known if example in known else f"{known} {example}"


def _example(wanted: Any) -> Any:
    """A value that meets a matcher."""
    if not isinstance(wanted, Mapping):
        return wanted
    for key, make in _EXAMPLES.items():
        if key in wanted:
            return make(wanted[key])
    raise AssertionError(f"no example of {wanted!r}")


def _written(pattern: str) -> str:
    """A text that a pattern of the importer's matches."""
    if repeated := _REPEATED.search(pattern):
        return "word " * (int(repeated[1]) + 1)
    if pattern == ".+" or r"\S" in pattern:
        return "x"
    text = re.sub(r"^\(\?\w+\)", "", pattern).replace("https?:", "https:")
    text = _ANY.sub("", _GROUP.sub(r"\1", _OPTIONAL.sub("", text)))
    text = re.sub(r"\\(.)", r"\1", text)
    assert re.fullmatch(pattern, text), (pattern, text)
    return text


_EXAMPLES: dict[str, Any] = {
    "contains": lambda value: value,
    "one_of": lambda value: value[0],
    "number": lambda value: value,
    "starts_with": lambda value: value,
    "min": lambda value: value,
    "max": lambda value: value,
    "any_of": lambda value: _example(value[0]),
    "all_of": lambda value: " ".join(map(_example, value)),
    "regex": _written,
}


def _on_disk(path: str) -> str:
    return path.replace("*", "p")


def _created(path: str) -> Said:
    where = _on_disk(path)
    data = {"root": "home", "path": where, "name": where.rpartition("/")[2], "size": 100}
    return "file.created", {**data, "sha256": "ab" * 32}


def _reads(rules: Ruleset, files: Mapping[str, Facts]) -> Iterator[Said]:
    """What the daemon reads, as it is planned; a query finds what it asks for."""
    for asked in rules.plan("E")["file_reads"]:
        where = _on_disk(asked["path"])
        found = {"name": "query", "rows": [["found"], [1]], "size": [2, 1]}
        facts = {"sheets": [found]} if asked["query"] else files[asked["path"]]
        query = {} if asked["query"] is None else {"query": asked["query"]}
        data = {
            "root": "home", "path": where, "name": where.rpartition("/")[2], "ms": 1, "step": 1,
            "as": asked["format"] or "auto", "format": asked["format"] or "auto", "when": "step",
        }  # fmt: skip
        yield "file.read", {**data, **query, "status": "read", "facts": facts}


def _deeds(conditions: Iterable[tuple[str, Spec]]) -> Iterator[Said]:
    """What is told of other things than files."""
    for number, (rule, about) in enumerate(conditions):
        if rule == "address_says":
            text = about["text"].get("contains")
            url = f"https://site.test/{text}" if text else _written(about["text"]["regex"])
            yield went(url, tab=f"T{number}")
        elif rule == "text_visible":
            yield "text.appeared", {"tab": "T", "frame": "T", "text": about["text"]["contains"]}
        elif rule == "field_filled":
            selectors = [about["selector"]]
            yield filled("Source", _example(about["value"]), selectors=selectors)
        elif rule == "download_finished":
            yield (
                "download.finished",
                {"name": "a.png", "url": "https://site.test/a.png", "size": 9},
            )
        elif rule == "widget_text":
            widget = {"role": "entry", "name": ""}
            data = {"app": "galculator", "window": "w", "widget": widget, "text": about["text"]}
            yield "widget.text_changed", data
        elif rule == "probe_answers":
            value = {about["path"]: about["value"]}
            yield (
                "probe.answered",
                {"probe": about["probe"], "when": "step", "value": value, "ms": 1},
            )
