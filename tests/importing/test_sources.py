"""Sources that are not what an importer reads: refused with the place, and nothing is written
outside the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from api.cli.main import main

SOLVED = [{"op": "replace", "path": "/x", "value": 2}]
LINK = {"page": "click-link", "utterance": 'Click on the link "a".'}
RUN = {"way": "right", "raw": 1.0, "credit": 1.0, "success": True}


def app(*tasks: Any, seed: Any = None, name: str = "app") -> dict[str, Any]:
    return {"app": name, "seed": {"x": 1} if seed is None else seed, "tasks": list(tasks)}


def one(id: str = "t", patch: Any = SOLVED) -> dict[str, Any]:
    return {"id": id, "instruction": "Do.", "patch": patch}


def checked(said: Any, **more: Any) -> list[dict[str, Any]]:
    return [{"task_id": 1, "sites": ["reddit"], "intent": "Do.", "eval": [said], **more}]


ANSWER = {"expected": {"task_type": "navigate", "status": "SUCCESS"}}
IMPORTS: dict[str, tuple[str, Any, str]] = {
    "out of the folder": ("webarena-infinity", app(one("../../../evil")), "app/../../../evil"),
    "out by an application": ("webarena-infinity", app(one(), name=".."), "'../t'"),
    "an absolute path": ("webarena-infinity", app(one(), name="/tmp"), "'/tmp/t'"),
    "out by backslashes": ("webarena-infinity", app(one("..\\..\\evil")), "a file below"),
    "out by a seed": ("miniwob", {**LINK, "seed": "../../evil"}, "click-link-../../evil"),
    "a task that is a number": ("webarena-infinity", app(5), "tasks[0]: got 5"),
    "a task without a patch": ("webarena-infinity", app({"id": "t", "instruction": "Do."}), "tasks[0]: got {'id': 't'"),
    "a patch of numbers": ("webarena-infinity", app(one(patch=[5])), "a list of operations"),
    "a path that is a number": ("webarena-infinity", app(one(patch=[{"op": "add", "path": 5}])), "app/t: patch: "),
    "a state that is none": ("webarena-infinity", app(one(patch=[{"op": "replace", "path": "", "value": 1}])), "state"),
    "a seed that is a list": ("webarena-infinity", app(one(), seed=[]), "the seed an object"),
    "no kind of task": ("webarena-verified", checked({"expected": {}}), "task 1: KeyError 'task_type'"),
    "an unknown site": ("webarena-verified", checked(ANSWER, sites=["nosuch"]), "task 1: sites: got 'nosuch', wanted"),
    "no sites": ("webarena-verified", checked(ANSWER, sites=[]), "task 1: IndexError"),
    "an eval that is a text": ("webarena-verified", [{"task_id": 1, "eval": "x"}], "a list of tasks, each with eval"),
    "bytes that are no text": ("miniwob", b"\xff\n", "line 1: no JSON"),
    "a line nested too deep": ("miniwob", b"[" * 5_000, "line 1: no JSON"),
    "a number of too many digits": ("miniwob", b"9" * 5_000, "line 1: no JSON"),
    "an utterance of another page": ("miniwob", {**LINK, "utterance": "Click"}, "line 1: utterance: got 'Click'"),
    "a document of another": ("miniwob", {"page": "drag-items-grid", "utterance": "Drag X up by one."}, "line 1: "),
}  # fmt: skip


def ran(tmp_path: Path, content: Any, *command: str) -> int:
    (tmp_path / "source.json").write_bytes(
        content if isinstance(content, bytes) else json.dumps(content).encode()
    )
    return main([*command, str(tmp_path / "source.json")])


@pytest.mark.parametrize("name", IMPORTS)
def test_what_can_not_be_imported_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By exit status and place; whatever a benchmark's data say, no file is made elsewhere."""
    kind, content, says = IMPORTS[name]
    (tmp_path / "here").mkdir()
    out = tmp_path / "here" / "out"
    assert ran(tmp_path, content, "task", "import", "--out", str(out), kind) == 1
    assert says in capsys.readouterr().err
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"source.json"}


COVERAGES: dict[str, tuple[str, Any, str]] = {
    "a line that is a number": ("miniwob", 5, "line 1: got 5, wanted an object with page"),
    "a run without credit": (
        "miniwob",
        {**LINK, "runs": [{"raw": 1}]},
        "line 1: runs[0]: got {'raw': 1}, wanted",
    ),
    "credit in words": (
        "miniwob",
        {**LINK, "runs": [{**RUN, "credit": "all"}]},
        "credit 'all', wanted numbers",
    ),
    "runs that are an object": ("miniwob", {**LINK, "runs": RUN}, "wanted lists"),
    "an answer without a kind": (
        "webarena-verified",
        checked({"expected": {}}),
        "task 1: KeyError",
    ),
    "a task that is a number": ("webarena-infinity", app(5), "tasks[0]: got 5"),
}


@pytest.mark.parametrize("name", COVERAGES)
def test_what_can_not_be_counted_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the import does."""
    kind, content, says = COVERAGES[name]
    assert ran(tmp_path, content, "coverage", kind) == 1
    assert says in capsys.readouterr().err


def test_lines_end_where_json_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A text may hold other ends of lines; an empty line is no instance, a task without a schema is
    counted."""
    lines = json.dumps({**LINK, "seed": "1", "runs": [RUN], "html": "a\u2028b"}, ensure_ascii=False)
    assert ran(tmp_path, f"\n{lines}\n\n".encode(), "coverage", "miniwob") == 0
    assert "1 agree on every run" in capsys.readouterr().out
    assert ran(tmp_path, checked(ANSWER), "coverage", "webarena-verified") == 0


def test_a_task_whose_patch_is_empty_is_counted_and_has_no_facts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its solved state is its start: there is nothing to see; the one beside it counts."""
    assert ran(tmp_path, app(one("a", []), one("b")), "coverage", "webarena-infinity") == 0
    assert "| **all** | 2 | 0 | 1 | 1 |" in capsys.readouterr().out
    assert (
        ran(
            tmp_path,
            app(one("a", []), one("b")),
            "task",
            "import",
            "--out",
            str(tmp_path),
            "webarena-infinity",
        )
        == 0
    )
    assert "app/a: the patch changes nothing" in capsys.readouterr().err
