"""The scenes of which recordings train the package's model: their tasks, and the truth of their
ways."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from api.tasks.task_files import check_task
from benchmarks.scenes import commands, programs
from benchmarks.scenes.page_scene import PageScene
from benchmarks.scenes.record import PAGES
from benchmarks.scenes.record import main as record
from detectors.task.ruleset import compile_task
from tests.benchmarks.scene_checks import must_be_as_named, must_have_each_kind
from tests.support.chromium import needs_chromium
from tests.support.desktop import needs


@pytest.mark.parametrize("page", PAGES)
def test_a_page_s_task_compiles_and_has_ways_of_each_kind(page: str) -> None:
    scene: PageScene = PAGES[page](random.Random(1))
    compile_task(check_task(scene.task(page, "http://127.0.0.1:8000", 1)))
    must_have_each_kind(scene.ways)
    assert {PAGES[page](random.Random(seed)).instruction for seed in (2, 3)} != {scene.instruction}


@pytest.mark.parametrize("name", commands.KINDS)
def test_a_command_s_task_compiles_and_has_ways_of_each_kind(name: str) -> None:
    scene = commands.KINDS[name](1, random.Random(1))
    compile_task(check_task(dict(scene.task)))
    must_have_each_kind(scene.ways)
    assert scene.program == name


@pytest.mark.parametrize("name", programs.EDITORS)
def test_an_editor_s_scene_is_one_of_this_editor(name: str) -> None:
    scene = programs.editing(name, 1, random.Random(1))
    assert (scene.program, scene.command[0]) == (name, name)
    assert str(scene.task["id"]).startswith(f"desktop/{name}-")


@pytest.mark.slow
@pytest.mark.browser
@needs_chromium
@pytest.mark.timeout(580)
def test_pages_are_recorded_and_only_right_ways_succeed(tmp_path: Path) -> None:
    assert record([str(tmp_path), "scenes/board", "scenes/poll"]) == 0
    must_be_as_named(tmp_path, 25)


@pytest.mark.slow
@needs("sort", "uniq")
@pytest.mark.timeout(580)
def test_commands_are_recorded_and_only_right_ways_succeed(tmp_path: Path) -> None:
    assert record([str(tmp_path), "sort", "uniq"]) == 0
    must_be_as_named(tmp_path, 26)
