"""WebCanvas' tasks (Mind2Web-Live): their key nodes as milestones, all together as the goal.

Its functions keep no order, and a node stays met once it was: so here. All nodes weigh the same, as
in its completion rate, and come to half of the reward; the goal is the other half.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import orjson

from api.tasks.task_files import BadTaskError, check_task
from common.regular_file import read_regular
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    read_list,
    read_object,
    read_text,
    require_object,
    require_text,
)
from detectors.model.optional_values import drop_keys
from lab.benchmarks.base import BadSourceError, CoverageTable, Imported
from lab.benchmarks.webcanvas_nodes import (
    WAYS,
    NodeReading,
    SitePages,
    UnknownNodeError,
    read_node,
    site_label,
)

_HALF = 0.5
ADDRESSES, ELEMENTS, REFUSED = "addresses", "elements", "refused"
"""The kinds of tasks: decided by addresses alone, by what was done on pages too, by nothing."""
REPEATED = "counted as often as it stands there: what meets one of them meets all"
BY_PLACE = "by its place among its siblings, as the page stood in 2024"
WANTED = "index, task and evaluation, a list of nodes with match_function_name and content"


def tasks(source: Path, sites: Mapping[str, str]) -> Iterator[Imported]:
    """One task each, in the file's order. ``sites``: the word by which a site is called
    (``gamestop``) → where it is served instead. Raises `BadSourceError`, `OSError`."""
    for task in _dataset(source):
        name = str(task["index"])
        try:
            made = _imported(name, task, sites)
            if made.spec is not None:
                check_task(made.spec)
        except (UnknownNodeError, BadTaskError) as error:
            yield Imported(name, None, REFUSED, (f"nothing here can judge it: {error}",))
        except (TypeError, ValueError) as error:
            raise BadSourceError(f"task {name}: {error}; wanted {WANTED}") from None
        else:
            yield made


def coverage(source: Path) -> CoverageTable:
    """Nodes by function and by how they are told, and what is wrong with some of them."""
    counted: dict[str, Counter[str]] = {}
    found = _Defects()
    kinds: Counter[str] = Counter()
    for task, made in zip(_dataset(source), tasks(source, {}), strict=True):
        kinds[made.kind] += 1
        for node, reading in _readings(task, {}):
            function = read_text(node, "match_function_name", "")
            counted.setdefault(function, Counter())[reading.way] += 1
            found.note(made.name, node, reading)
        found.note_repeated(made.name, _nodes(task))
    total = sum(counted.values(), Counter[str]())
    rows = [
        [name, sum(ways.values()), *(ways[way] for way in WAYS)]
        for name, ways in [*sorted(counted.items()), ("**all**", total)]
    ]
    said = (
        f"{sum(kinds.values())} tasks: {kinds[ADDRESSES]} by addresses alone, {kinds[ELEMENTS]} by"
        f" what was done on pages too, {kinds[REFUSED]} refused."
    )
    notes = [said, found.text()]
    return CoverageTable("WebCanvas", ("function", "nodes", *WAYS), rows, notes)


class _Defects:
    """What is wrong with nodes, and in which tasks."""

    def __init__(self) -> None:
        self._tasks: dict[str, list[str]] = {}

    def note(self, task: str, node: JsonObject, reading: NodeReading) -> None:
        """What one node has of its own."""
        if reading.remark is not None:
            self._add(reading.remark, task)
        content = read_object(node, "content")
        selectors = read_text(content, "path", "")
        if "path" in read_text(node, "match_function_name", ""):
            selectors += read_text(content, "reference_answer", "")
        if ":nth-child" in selectors:
            self._add(BY_PLACE, task)

    def note_repeated(self, task: str, nodes: Sequence[JsonObject]) -> None:
        """Nodes that stand in a task several times."""
        for many in Counter(map(_print_of, nodes)).values():
            for _ in range(many - 1):
                self._add(REPEATED, task)

    def _add(self, what: str, task: str) -> None:
        self._tasks.setdefault(what, []).append(task)

    def text(self) -> str:
        """One line of a list for each."""
        lines = []
        for what, names in sorted(self._tasks.items()):
            apart = sorted(set(names))
            where = ", ".join(apart) if len(apart) <= 4 else f"{len(apart)} tasks"
            lines.append(f"- {what} ({len(names)} node{'s' * (len(names) > 1)}): {where}")
        return "\n".join(lines)


def _dataset(source: Path) -> list[JsonObject]:
    """Read the tasks of the dataset's file, or of a folder that holds it. Raises
    `BadSourceError`."""
    path = source / "tasks.json" if source.is_dir() else source
    try:
        tree = orjson.loads(read_regular(path))
    except orjson.JSONDecodeError as error:
        raise BadSourceError(f"{path.name}: no JSON: {error}") from None
    if not isinstance(tree, list) or not all(map(_is_task, tree)):
        raise BadSourceError(f"{path.name}: wanted a list of tasks, each with {WANTED}")
    return tree


def _is_task(task: object) -> bool:
    """Whether ``task`` has a number and at least one node that is asked for."""
    return (
        isinstance(task, dict)
        and isinstance(task.get("index"), str | int)
        and isinstance(task.get("evaluation"), list)
        and bool(task["evaluation"])
    )


def _nodes(task: JsonObject) -> list[JsonObject]:
    return [require_object(node, "evaluation") for node in read_list(task, "evaluation")]


def _print_of(node: JsonObject) -> bytes:
    """All that a node asks, without the address at which its annotator stood."""
    content = drop_keys(read_object(node, "content"), ("url",))
    return orjson.dumps({**node, "content": content}, option=orjson.OPT_SORT_KEYS)


def _readings(task: JsonObject, sites: Mapping[str, str]) -> list[tuple[JsonObject, NodeReading]]:
    """A task's nodes with how each is read; those of unknown functions are left out."""
    pages, found = _pages(task, sites), []
    for node in _nodes(task):
        try:
            found.append((node, read_node(node, pages)))
        except UnknownNodeError as error:
            found.append((node, NodeReading("left out", "nav", None, remark=str(error))))
    return found


def _pages(task: JsonObject, sites: Mapping[str, str]) -> SitePages:
    """The sites at which the annotator stood, with and without www."""
    served: dict[str, str] = {}
    for node in _nodes(task):
        url = require_text(read_object(node, "content").get("url"), "url")
        elsewhere = urlsplit(sites.get(site_label(url), ""))
        for origin in _origins(url):
            at = f"{elsewhere.scheme}://{elsewhere.netloc}" if elsewhere.netloc else origin
            served.setdefault(origin, at)
    return SitePages(served)


def _origins(url: str) -> list[str]:
    """Return the origins at which a site may be met, with and without ``www.``; a domain of more
    than two names has no other. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url: got {url!r:.80}, wanted a page's address")
    bare = parts.netloc.removeprefix("www.")
    hosts = [parts.netloc]
    if parts.netloc != bare:
        hosts.append(bare)
    elif bare.count(".") == 1:
        hosts.append(f"www.{bare}")
    return [f"https://{host}" for host in hosts]


def _imported(name: str, task: JsonObject, sites: Mapping[str, str]) -> Imported:
    """Import one task as its nodes, each node that comes several times as one step. Raises
    `UnknownNodeError` where none is left."""
    pages = _pages(task, sites)
    first, *others = dict.fromkeys(pages.served.values())
    many = Counter(map(_print_of, _nodes(task)))
    steps = _NodeSteps()
    remarks = []
    for number, node in enumerate(_nodes(task), 1):
        reading, times = read_node(node, pages), many.pop(_print_of(node), 0)
        if times > 1:
            remarks.append(f"node {number}: {REPEATED}")
        if times:
            steps.add(number, reading, times)
        if reading.remark is not None:
            remarks.append(f"node {number}: {reading.remark}")
    if not steps.required:
        raise UnknownNodeError("no node is left")
    spec: JsonObject = {
        "id": f"webcanvas/{name}",
        "version": "1",
        "instruction": require_text(task.get("task"), "task"),
        "origin": first,
        "hosts": [*others],
        "weights": steps.weights(),
        "milestones": [
            *steps.milestones,
            {"id": "goal", "when": {"goal": {"requires": [*steps.required]}}},
        ],
    }
    return Imported.from_spec(name, spec, steps.kind, remarks)


class _NodeSteps:
    """The milestones of a task's nodes. ``required``: the goal's."""

    def __init__(self) -> None:
        self.milestones: list[JsonValue] = []
        self.required: list[JsonValue] = []
        self._worth: Counter[str] = Counter()

    def add(self, number: int, reading: NodeReading, times: int) -> None:
        """Add a node that stands in the task so many times; nothing where it is left out."""
        if reading.when is None:
            return
        id = f"node-{number}"
        about: JsonObject = {"id": id, "component": reading.component, "weight": times}
        self.milestones.append({**about, "when": reading.when})
        self.required.append(id)
        self._worth[reading.component] += times

    @property
    def kind(self) -> str:
        """What the task is decided by, as its coverage counts it."""
        return ADDRESSES if set(self._worth) == {"nav"} else ELEMENTS

    def weights(self) -> JsonObject:
        """Half of the reward for the nodes, each alike, half for the goal."""
        total = sum(self._worth.values())
        shares = {name: _HALF * worth / total for name, worth in self._worth.items()}
        return {**shares, "goal": _HALF}
