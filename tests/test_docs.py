"""The docs say what the code says: generated pages are current, links lead somewhere, commands
exist."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from agentd.inprocess.source import HELD_UP
from agentd.masking import Masker
from agentd.session.supervisor import UNREPORTED
from api.tasks.task_files import load_task_yaml
from detectors.model.kinds import KINDS
from detectors.sdk.registry import rules
from detectors.task.ruleset import compile_task
from tests.hostile.corpus import PAGES as HOSTILE_PAGES
from tests.support.command_lines import command_lines, options_of, variables_of_options
from tools.events_page import examples

ROOT = Path(__file__).parent.parent
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "client" / "README.md"]


TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"]


def test_generated_pages_are_current() -> None:
    """`make docs` would change nothing."""
    run = [sys.executable, "tools/make_docs.py", "--check"]
    done = subprocess.run(run, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stdout


def test_no_room_of_the_picture_covers_another() -> None:
    """Nor the name of a package."""
    drawn = (ROOT / "docs" / "architecture.svg").read_text()
    boxes = re.findall(r'<rect class="b" x="(\d+)" y="(\d+)" width="\d+" height="(\d+)"', drawn)
    packages = re.findall(r'<text class="n" x="(\d+)" y="(\d+)">\w+/<', drawn)
    spans = [(int(x), int(y), int(y) + int(height)) for x, y, height in boxes]
    spans += [(int(x), int(y) - 13, int(y)) for x, y in packages]
    for (x, _, end), (next_x, begin, _) in pairwise(sorted(spans)):
        assert x != next_x or end <= begin, (x, begin)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link and picture of every page."""
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_links_of_the_docs_stay_in_the_docs() -> None:
    """A page of the site can't show a file that lies outside docs/."""
    for page in (ROOT / "docs").rglob("*.md"):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in target:
                path = (page.parent / target).resolve()
                assert path.is_relative_to(ROOT / "docs"), f"{page.name} links to {target}"


def test_decisions_are_numbered_dated_and_listed() -> None:
    """Numbers from 1 without a hole; each page has a status and a date, and the index says the
    same."""
    folder = ROOT / "docs" / "decisions"
    rows = []
    for number, page in enumerate(sorted(folder.glob("[0-9]*.md")), 1):
        assert page.name.startswith(f"{number:04}-"), f"{page.name}: expected number {number}"
        title, _, status, *_ = page.read_text().splitlines()
        heading = re.fullmatch(rf"# {number}\. (.+)", title)
        assert heading, f"{page.name}: expected `# {number}. Title`, got {title!r}"
        state = re.fullmatch(r"\*(Accepted|Replaced by \d+), (\d{4}-\d\d-\d\d)\.\*", status)
        assert state, f"{page.name}: expected `*Accepted, DATE.*` under the title, got {status!r}"
        rows.append(f"| {number} | [{heading[1]}]({page.name}) | {state[1].lower()} | {state[2]} |")
    index = (folder / "index.md").read_text().splitlines()
    assert [line for line in index if re.match(r"\| \d", line)] == rows


def test_make_verbs_that_the_docs_name_exist() -> None:
    """No page names a verb that the Makefile lacks."""
    verbs = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    named = {verb for page in PAGES for verb in re.findall(r"`make ([a-z-]+)", page.read_text())}
    assert named <= verbs


def test_dependencies_are_all_explained() -> None:
    """docs/dependencies.md has a reason for every dependency of both distributions."""
    text = (ROOT / "docs" / "dependencies.md").read_text()
    for project in ("pyproject.toml", "client/pyproject.toml"):
        for name in re.findall(r'^  "([a-z0-9-]+)[>=<\[]', (ROOT / project).read_text(), re.M):
            assert f"`{name}`" in text, name


CODE = ("agentd", "api", "common", "detectors", "lab", "client", "tests", "tools", "migrations", "benchmarks",
        "examples", "deploy", "docs", "requirements")  # fmt: skip
NOT_CALLED = {"tombstone"}
"""What stands behind `milestoned` in a text that is signed, and is no command."""


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_the_docs_name_exist(page: Path) -> None:
    """`api/ingest/appender.py`, `tests/faults`, `agentd/sources/*`: from the root, with or without
    backticks."""
    for path in re.findall(rf"(?<![\w/.-])((?:{'|'.join(CODE)})/[\w./*-]*)", page.read_text()):
        assert list(ROOT.glob(path.rstrip(".").rstrip("/"))), f"{page.name} names {path}"


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_and_their_names_in_the_docs_exist(page: Path) -> None:
    """`agentd.attach`, `detectors.model.errors.UnseenError`: a module, and what it has."""
    packages = "agentd|api|detectors|lab|milestoned_client|benchmarks|tools"
    for name in re.findall(rf"`((?:{packages})(?:\.[A-Za-z_]\w*)+)", page.read_text()):
        if name.endswith(".json"):
            continue
        module, _, attribute = name.rpartition(".")
        assert names_code(name) or names_code(module, attribute), f"{page.name} names {name}"


def names_code(module: str, attribute: str = "") -> bool:
    """Whether there is such a module, and ``attribute`` is defined or exported in it. It is read,
    not imported: adapters import their trainers."""
    path = (ROOT / "client" if module.startswith("milestoned_client") else ROOT) / module.replace(
        ".", "/"
    )
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not source.exists():
        return False
    return re.search(rf"\b{attribute}\b", source.read_text()) is not None


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_and_options_that_the_docs_show_exist(page: Path) -> None:
    """`milestoned task check FILE`, `agentd run --files DIR`, in blocks and in sentences."""
    for program, *words in command_lines(page.read_text()):
        if words[0] in NOT_CALLED:
            continue
        commands = options_of(program)
        called = [name for name in commands if name and tuple(words[: len(name)]) == name]
        assert called, f"{page.name}: {program} has no command {words[0]}"
        command = max(called, key=len)
        for word in words[len(command) :]:
            option = re.match(r"\[?(--[a-z][a-z-]*)", word)
            if option:
                line = f"{page.name}: {program} {' '.join(command)} has no {option[1]}"
                assert option[1] in commands[command], line


def test_environment_variables_that_the_docs_name_are_read() -> None:
    """By their whole name, by its end behind a prefix (`f"{prefix}_KEY"`), or as an option's."""
    packages = ("agentd", "api", "lab", "client")
    source = "\n".join(
        path.read_text() for name in packages for path in (ROOT / name).rglob("*.py")
    )
    named = {
        name
        for page in TEXTS
        for name in re.findall(r"\b(?:MILESTONED|AGENTD)(?:_[A-Z]+)+", page.read_text())
    }
    assert len(named) >= 20
    for name in named - variables_of_options():
        end = re.escape(name.removeprefix("MILESTONED_JUDGE"))
        assert re.search(rf"\b{name}\b|}}{end}\b", source), name


@pytest.mark.parametrize("page", TEXTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_whole_tasks_that_the_docs_show_are_right(page: Path) -> None:
    """Each YAML with an id and milestones compiles, from a block or from a shell's here-document."""
    for block in re.findall(r"^```[^\n]*\n(.*?)^```$", page.read_text(), re.S | re.M):
        for text in re.findall(r"<<'TASK'\n(.*?)^TASK$", block, re.S | re.M) or [block]:
            if re.search(r"^id: ", text, re.M) and re.search(r"^milestones:", text, re.M):
                compile_task(load_task_yaml(text))


@pytest.mark.parametrize(("way", "least"), [("a click", 12), ("a null", 7)])
def test_the_way_of_an_event_names_functions_that_exist(way: str, least: int) -> None:
    """docs/architecture.md, hop by hop: each file, and the function or method in it."""
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.partition(f"\n## The way of {way}\n")[2].partition("\n## ")[0]
    row = r"^\|(?: \d+)? \|(?: [\w ]+)? \| `([\w/.]+)` \| `([\w.]+)` \| (.*) \|$"
    hops = re.findall(row, table, re.M)
    assert len(hops) >= least
    for file, function, sentence in hops:
        also = re.findall(rf"`({function.partition('.')[0]}\.\w+)`", sentence)
        for name in (function, *also):
            assert defines(ROOT / file, name), f"{file} has no {name}"


def defines(file: Path, name: str) -> bool:
    """Whether ``file`` defines the function, or the method as `Class.method`."""
    if file.suffix == ".js":
        return f"function {name}(" in file.read_text()
    scope, _, function = name.rpartition(".")
    body = ast.parse(file.read_text()).body
    if scope:
        body = [
            node
            for each in body
            if isinstance(each, ast.ClassDef) and each.name == scope
            for node in each.body
        ]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return any(isinstance(node, functions) and node.name == function for node in body)


def test_the_code_that_add_a_source_shows_has_no_undefined_name() -> None:
    """A block that begins with a docstring is a module; the function is one of supervisor.py."""
    page = (ROOT / "docs" / "how-to" / "add-a-source.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M)
    modules = [block for block in blocks if block.startswith('"""')]
    supervisor = (ROOT / "agentd" / "session" / "supervisor.py").read_text()
    functions = [supervisor + block for block in blocks if block.startswith("def ")]
    assert (len(modules), len(functions)) == (9, 1)
    for code in (*modules, *functions):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F", "-"],
            input=code,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_the_fold_that_add_a_source_shows_says_what_it_kept_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was masked, and that a text goes on: else a rule of one's own would pay 0, not null."""
    page = (ROOT / "docs" / "how-to" / "add-a-source.md").read_text()
    kinds, fold = (ModuleType(name) for name in ("detectors.model.kinds.labels", "fold"))
    for module, begins in ((kinds, "Kinds of a label printer"), (fold, "A label printer's lines")):
        block = re.search(rf'^```python\n("""{begins}.*?)^```$', page, re.S | re.M)
        assert block is not None
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(block[1], vars(module))  # noqa: S102 - the page's own code
    labels = fold.LabelFold(Masker(()).mask_text)
    seen = labels.feed(
        b"PRINTED 1 2 Paid with 4111 1111 1111 1111\nFAILED 3 " + b"x" * 1001 + b"\n"
    )
    told = {"job": "1", "copies": 2, "text": "Paid with ***", "masked": ["text"]}
    assert seen[0] == ("label.printed", told)
    assert seen[1] == ("label.failed", {"job": "3", "reason": "x" * 1000, "cut": True})
    assert [kind for kind, _ in labels.feed(b"FAILED " + b"x" * 101 + b" y\n")] == [
        "events.dropped"
    ]


def test_rules_have_the_versions_that_the_docs_show() -> None:
    """`by element_clicked v2` in an output that a page shows is what would be printed now, and what
    the sentence below it says."""
    texts = [page.read_text() for page in PAGES]
    shown = {pair for text in texts for pair in re.findall(r"by (\w+) v(?:ersion )?(\d+)\b", text)}
    said = {
        pair for text in texts for pair in re.findall(r"version (\d+) of the rule `(\w+)`", text)
    }
    assert len(shown) >= 5
    assert len(said) >= 1
    shown |= {(name, number) for number, name in said}
    written = [pair for text in texts for pair in _versions_in_json(text)]
    assert written
    shown.update(written)
    assert {(name, str(rules()[name].version)) for name, _ in shown} == shown


def _versions_in_json(text: str) -> Iterator[tuple[str, str]]:
    """The rule and its version of each milestone that a page shows as JSON."""
    for milestone in re.findall(r"\{[^{}]*\}", text):
        name = re.search(r'"rule": ?"(\w+)"', milestone)
        number = re.search(r'"version": ?(\d+)', milestone)
        if name and number:
            yield name[1], number[1]


def test_every_recorded_observation_has_the_fields_of_its_kind() -> None:
    """All golden recordings of all sources: no field beside the named ones, and none of those
    missing."""
    for path in sorted((ROOT / "tests").rglob("golden/*.seen.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            name, data = json.loads(line)
            where = f"{path.relative_to(ROOT)}:{number}: {name}"
            fields = KINDS[name].fields
            assert set(data) <= {field.removesuffix("?") for field in fields}, where
            assert {field for field in fields if not field.endswith("?")} <= set(data), where


def test_every_kind_of_event_has_an_example_from_a_recording() -> None:
    """docs/events.md shows what each looks like when a real program makes it."""
    lacking = set(KINDS) - set(examples())
    assert not lacking, f"no example in any tests/*/golden/*.seen.jsonl of {sorted(lacking)}"


def _whole_gap_reasons() -> set[str]:
    """The reasons of gaps of a whole source that the daemon's code states word by word."""
    found = {UNREPORTED, HELD_UP}
    for path in (ROOT / "agentd").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = ast.unparse(node.func)
            last = node.args[-1]
            says = called == "SourceLostError" or called.endswith(".began")
            if says and isinstance(last, ast.Constant) and isinstance(last.value, str):
                found.add(last.value)
    return found


def test_every_reason_of_a_gap_has_a_row_in_the_page_on_null_rewards() -> None:
    page = (ROOT / "docs" / "how-to" / "null-rewards.md").read_text()
    rows = [line.split(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    begun = [part.split("…")[0].rstrip() for row in rows for part in re.findall(r"`([^`]+)`", row)]
    reasons = _whole_gap_reasons()
    assert {"starting", "daemon restarted", "the browser closed the connection"} <= reasons
    silent = {one for one in reasons if not any(one.startswith(part) for part in begun if part)}
    assert not silent, "expected a row of docs/how-to/null-rewards.md for each"


COMPONENTS = ["daemon", "service on SQLite", "service on Postgres"]


def test_every_fault_has_a_test_for_each_component() -> None:
    """The table of docs/faults.md: tests that exist in every cell."""
    rows = [
        line.strip("| ").split(" | ")
        for line in (ROOT / "docs" / "faults.md").read_text().splitlines()
        if line[:1] == "|"
    ]
    assert rows[0] == ["fault", *COMPONENTS]
    faults = {fault: cells for fault, *cells in rows[2:]}
    for wanted in ("disk is full", "clock", "-9 of Postgres", "-9 of the service", "-9 of the daemon", "Two on one",
                   "signing key", "older backup", "another user"):  # fmt: skip
        assert any(wanted in fault for fault in faults), wanted
    for fault, cells in faults.items():
        assert len(cells) == len(COMPONENTS), fault
        for cell in cells:
            tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", cell)
            assert tests, f"{fault}: {cell}"
            for file, name in tests:
                assert f"def {name}(" in (ROOT / file).read_text(), f"{fault}: {file} has no {name}"


def attack_rows() -> list[tuple[str, list[tuple[str, str]]]]:
    """Each row of docs/security.md's tables of attack classes: its attack and its tests, (file,
    name)."""
    tables = (ROOT / "docs" / "security.md").read_text().partition("## Attack classes")[2]
    found = []
    for line in tables.splitlines():
        if line.startswith("| ") and not line.startswith(("| attack |", "| --- |")):
            attack = line.strip("| ").split(" | ")[0]
            found.append((attack, re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", line)))
    return found


def test_every_attack_class_has_a_test_that_exists() -> None:
    rows = attack_rows()
    assert len(rows) >= 150
    for attack, tests in rows:
        assert tests, attack
        for file, name in tests:
            assert f"def {name}(" in (ROOT / file).read_text(), f"{attack}: {file} has no {name}"


def test_every_hostile_page_is_in_the_table_of_attack_classes() -> None:
    named = {attack.casefold() for attack, _ in attack_rows()}
    assert {page.name.casefold() for page in HOSTILE_PAGES} <= named
