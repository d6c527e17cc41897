"""No plain dict of the product only grows: each that is added to and never taken from is listed here, with what ends
it; and those of the service that are bounded by count keep within it."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentd.sources.clipboard import display
from agentd.sources.clipboard.display import ClipboardDisplay
from api.auth import rates, store
from api.auth.rates import Buckets
from api.episodes import store as episodes
from api.ingest import appender
from tests.api.service import Service
from tests.support.display import Display

ROOT = Path(__file__).parents[2]
ROOMS = ("agentd", "api", "client/milestoned_client", "common", "detectors", "lab")
EMPTY = {"Counter", "OrderedDict", "WeakValueDictionary", "defaultdict", "deque", "dict"}
REMOVE = {"clear", "discard", "pop", "popitem", "popleft", "remove"}
ADD = {"setdefault", "update"}

COMMAND = "lives as long as one command of the command line, or one answer"
EPISODE = "lives as long as its episode is looked at; one for each of its steps, calls or pages"
OURS = "its keys are our own: a handful of words"
WEAK = "holds nobody that nobody else holds"
GROWS = {
    "agentd/session/step_state.py _calls": EPISODE,
    "agentd/sources/ax/display.py _atoms": OURS,
    "agentd/readers/documents.py _bold": "one for each style of a document, while it is read",
    "agentd/sources/cdp/network/outliving.py _reported": "one for each type of the browser's histogram",
    "agentd/sources/cdp/state/gaps.py _reasons": OURS,
    "agentd/sources/clipboard/display.py _atoms": OURS,
    "agentd/sources/clipboard/source.py _selections": OURS,
    "agentd/sources/files/watched.py _trees": "one for each folder that the options name",
    "agentd/sources/files/attachment.py _mounted": "one for each folder that the options name",
    "agentd/sources/screen/text_reader.py _known": "one for each region that is read, at most 16",
    "api/audit/facts.py _edge": COMMAND,
    "api/audit/replaying.py _steps": COMMAND,
    "api/audit/reporting.py _masks": COMMAND,
    "api/audit/reporting.py _outcomes": COMMAND,
    "api/audit/reporting.py _status": COMMAND,
    "api/audit/reporting.py _tasks": COMMAND,
    "api/audit/reporting.py _versions": COMMAND,
    "api/audit/verifying.py roots": COMMAND,
    "api/auth/store.py _used": "written down and begun anew each minute; one for each token",
    "api/cli/recording.py kinds": COMMAND,
    "api/cli/recording.py sources": COMMAND,
    "api/core/notify.py _heard": OURS,
    "api/ingest/engines.py _locks": WEAK,
    "api/log/upserts.py _at_once": OURS,
    "api/ors/calls.py _locks": "weak: a lock lives as long as a call that holds or awaits it",
    "api/proposal/apart.py _locks": WEAK,
    "api/rescoring/kept.py _at": COMMAND,
    "api/rescoring/report.py statuses": COMMAND,
    "api/stages/model/writes.py _entered": "at most 100 values, while an episode is read",
    "api/rewards/near_miss.py nearest": COMMAND,
    "api/rewards/observed_state.py _clipboard": "one for each selection: clipboard and primary",
    "api/stages/judge/facts.py _tabs": EPISODE,
    "api/stages/model/clicks.py _best": EPISODE,
    "api/stages/model/clicks.py found_slots": EPISODE,
    "api/stages/model/goal_comparison.py _agreements": EPISODE,
    "api/stages/model/desk_features.py _calls": "lives as long as its episode is read; at most 500",
    "api/timeline/outlines.py _locks": WEAK,
    "detectors/engine/conditions.py _alarms": "taken, and begun anew, with each batch; at most 64",
    "detectors/engine/conditions.py _risen": "taken, and begun anew, with each event",
    "detectors/matchers/schema_cost.py _counted": "lives as long as one count, which its budget ends",
    "detectors/sdk/registry.py _found": "one for each rule",
    "lab/benchmarks/verified_drawn.py opened": COMMAND,
    "lab/benchmarks/webcanvas.py _tasks": COMMAND,
    "lab/benchmarks/webcanvas.py _worth": "one for each component of a task",
    "lab/benchmarks/miniwob/registry.py GENERATORS": "one for each page of the benchmark",
    "lab/benchmarks/miniwob/registry.py UNOBSERVABLE": "one for each page of the benchmark",
    "lab/convert/page_state.py _urls": COMMAND,
    "lab/convert/trace_pages.py _mains": COMMAND,
    "lab/convert/trace_pages.py _tabs": COMMAND,
    "lab/convert/trace_pages.py _targets": COMMAND,
    "lab/convert/trace_pages.py _titles": COMMAND,
    "lab/demo/session.py _actions": COMMAND,
    "lab/demo/session.py events": COMMAND,
    "detectors/task/part_index.py _waiting": "made once; one for each condition of the task, whose rules it goes with",
    "lab/convert/cdp_log.py _documents": COMMAND,
    "lab/convert/cdp_log.py _hops": COMMAND,
}
"""What ends each dict that is added to and never taken from."""


def name_of(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_empty(value: ast.AST) -> bool:
    """Whether it makes an empty table."""
    if isinstance(value, ast.Dict):
        return not value.keys
    if not isinstance(value, ast.Call):
        return False
    called = value.func.value if isinstance(value.func, ast.Subscript) else value.func
    return name_of(called) in EMPTY


def assigned(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """The attributes, and names of the module, that are assigned, each with the value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            target, value = node.target, node.value
        else:
            continue
        if isinstance(target, ast.Attribute) or node in tree.body:
            yield name_of(target), value


def growing(source: str) -> set[str]:
    """The tables of a module that are made empty, once, are added to, and never taken from."""
    tree = ast.parse(source)
    values: dict[str, list[ast.AST]] = {}
    for name, value in assigned(tree):
        values.setdefault(name, []).append(value)
    added, removed = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            of = name_of(node.func.value)
            removed |= {of} if node.func.attr in REMOVE else set()
            added |= {of} if node.func.attr in ADD else set()
        elif isinstance(node, ast.Delete):
            removed |= {
                name_of(one.value) for one in node.targets if isinstance(one, ast.Subscript)
            }
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            added.add(name_of(node.value))
    made = {name for name, given in values.items() if len(given) == 1 and is_empty(given[0])}
    return made & added - removed


def test_every_dict_that_only_grows_is_known_with_what_ends_it() -> None:
    found = {
        f"{path.relative_to(ROOT)} {name}"
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        for name in growing(path.read_text())
    }
    assert found == GROWS.keys()


@pytest.mark.parametrize(
    ("source", "grows"),
    [
        ("class A:\n def __init__(self): self.x = {}\n def f(self, k): self.x[k] = 1", True),
        ("class A:\n def __init__(self): self.x: dict[str, int] = {}\n def f(self, k): self.x.setdefault(k, 1)", True),
        ("X = {}\ndef f(k): X[k] = 1", True),
        ("class A:\n def __init__(self): self.x = {}\n def f(self, k): self.x[k] = 1; self.x.pop(k)", False),
        ("class A:\n def __init__(self): self.x = {}\n def f(self, k): self.x[k] = 1\n def g(self): self.x = {}", False),
        ("def f(k):\n x = {}\n x[k] = 1", False),
    ],
)  # fmt: skip
def test_what_only_grows_is_found(source: str, grows: bool) -> None:
    assert bool(growing(source)) is grows


MAX = 5


async def test_tokens_that_are_known_are_as_many_as_may_be(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_CACHED", MAX)
    known = service.app.state.parts.tokens._known
    for _ in range(3 * MAX):
        id, token = await service.open()
        assert (await service.get(f"/v1/episodes/{id}/plan", token)).status_code == 200
        assert 0 < len(known) <= MAX


async def test_owners_that_are_known_are_as_many_as_may_be(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episodes, "_OWNERS", MAX)
    known = service.app.state.parts.episodes._owners
    for _ in range(3 * MAX):
        id, _ = await service.open()
        assert (await service.get(f"/v1/episodes/{id}")).status_code == 200
        assert 0 < len(known) <= MAX


def test_rates_are_of_those_who_called_just_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates, "_SWEPT", MAX)
    clock = [0.0]
    buckets = Buckets(1.0, lambda: clock[0])
    for n in range(100):
        buckets.take(f"token {n}", 1.0, 1.0)
        clock[0] += 1.0
        assert len(buckets._full_at) <= MAX


async def test_segments_that_were_refused_are_as_many_as_may_be(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appender, "_COSTLY_KEPT", MAX)
    log = service.app.state.parts.log
    for n in range(3 * MAX):
        log._remember_costly("ep_1", b"%d" % n, "two processes died")
    assert list(log._costly.values()) == ["two processes died"] * MAX


@pytest.mark.skipif(shutil.which("Xvfb") is None, reason="missing: Xvfb")
def test_names_of_forms_of_a_copy_are_as_many_as_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may name a new form with each copy."""
    monkeypatch.setattr(display, "MAX_NAMES", MAX)
    with Display() as server:
        clipboard = ClipboardDisplay(server.name)
        for n in range(3 * MAX):
            assert clipboard.atom_name(clipboard.atom(f"FORM {n}")) == f"FORM {n}"
            assert 0 < len(clipboard._names) <= MAX
