"""What `tools/check_words.py` refuses in a tree made up for it, and that its exceptions stay few."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_words import (
    EXCEPTIONS,
    FOLDERS,
    MAX_SHORT_DOCSTRINGS,
    PACKAGES,
    ROOT,
    Module,
    Permitted,
    check_ceilings,
    check_names,
    find_files,
    parse_folders,
)

MAX_EXCEPTIONS = 15


Folders = dict[str, list[Module]]


def parse_tree(root: Path, files: dict[str, str]) -> Folders:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return parse_folders(root)


@pytest.fixture(scope="module")
def product() -> Folders:
    return parse_folders(ROOT)


@pytest.mark.slow
def test_the_tree_keeps_to_the_words(product: Folders) -> None:
    assert check_names(product) + check_ceilings(product) == []


def test_every_folder_is_looked_at() -> None:
    files = find_files(ROOT)
    assert set(MAX_SHORT_DOCSTRINGS) == set(PACKAGES) <= set(files) == set(FOLDERS)
    assert all(len(paths) >= 3 for paths in files.values())


def test_every_file_of_a_folder_is_parsed(tmp_path: Path) -> None:
    tree = parse_tree(tmp_path, {f"{folder}/a/b.py": "" for folder in FOLDERS})
    assert {folder: [file for file, _ in modules] for folder, modules in tree.items()} == {
        folder: [f"{folder}/a/b.py"] for folder in FOLDERS
    }


def test_a_bare_name_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    text = "def read_all():\n    def of(): ...\n\nclass Queue:\n    async def _told(self): ...\n"
    tree = parse_tree(tmp_path, {"api/queue.py": text})
    assert check_names(tree, exceptions=()) == [
        "api/queue.py:2: expected a function named by verb and object, got 'of'",
        "api/queue.py:5: expected a function named by verb and object, got '_told'",
    ]


def test_a_public_function_is_not_named_by_a_single_participle(tmp_path: Path) -> None:
    text = (
        "def decoded(): ...\n"
        "def _masked(): ...\n"
        "def feed(): ...\n"
        "def decode_frame(): ...\n"
        "@rule\ndef graded(): ...\n"
        "class Task:\n    def closed(self): ...\n"
    )
    tree = parse_tree(tmp_path, {"api/frames.py": text})
    assert check_names(tree, exceptions=()) == [
        "api/frames.py:1: expected a function named by verb and object, got 'decoded'"
    ]


def test_a_limit_is_called_max_or_min(tmp_path: Path) -> None:
    text = "MAX_EVENTS = 1\n_MOST_EVENTS = 2\nDEEPEST: int = 3\nMOSTLY = 4\n"
    tree = parse_tree(tmp_path, {"agentd/limits.py": text})
    assert check_names(tree, exceptions=()) == [
        "agentd/limits.py:2: expected a limit named MAX_… or MIN_…, got '_MOST_EVENTS'",
        "agentd/limits.py:3: expected a limit named MAX_… or MIN_…, got 'DEEPEST'",
    ]


def test_a_class_name_belongs_to_one_module(tmp_path: Path) -> None:
    files = {f"lab/{name}.py": "class Found: ...\n" for name in ("first", "second")}
    tree = parse_tree(tmp_path, files)
    assert check_names(tree, exceptions=()) == [
        "lab/second.py:1: expected a class name of one module, got 'Found' of lab/first.py too"
    ]


def test_an_exception_permits_its_own_file_alone(tmp_path: Path) -> None:
    files = {f"api/{name}.py": "def seen(): ...\n" for name in ("first", "second")}
    tree = parse_tree(tmp_path, files)
    (message,) = check_names(tree, [Permitted("api/first.py", ("seen",), "a reason")])
    assert message.startswith("api/second.py:1: ")


def test_an_exception_that_nothing_needs_is_refused(tmp_path: Path) -> None:
    tree = parse_tree(tmp_path, {"api/first.py": "def read_all(): ...\n"})
    assert check_names(tree, [Permitted("api/first.py", ("seen",), "a reason")]) == [
        "api/first.py:1: expected 'seen', which has an exception, got no such name"
    ]


def test_short_docstrings_stay_below_their_ceiling(tmp_path: Path) -> None:
    text = 'def f():\n    """Five words and no more."""\n\ndef g():\n    """Six words and not one more."""\n'
    tree = parse_tree(tmp_path, {"client/one.py": text})
    assert check_ceilings(tree, {"client": 1}, 0) == []
    (message,) = check_ceilings(tree, {"client": 0}, 0)
    assert message.splitlines() == [
        "client/__init__.py:1: expected at most 0 docstrings of 5 words or fewer in client/, got 1:",
        "  client/one.py:1: expected a docstring of six words or more, or none,"
        " got 'Five words and no more.'",
    ]


def test_class_names_of_two_packages_stay_below_their_ceiling(tmp_path: Path) -> None:
    files = {f"{package}/one.py": "class Event: ...\n" for package in ("agentd", "lab")}
    tree = parse_tree(tmp_path, files)
    assert check_ceilings(tree, {}, 1) == []
    (message,) = check_ceilings(tree, {}, 0)
    assert message.startswith(
        "lab/one.py:1: expected at most 0 classes with a name of another package, got 1"
    )


def test_exceptions_are_few_and_have_a_reason() -> None:
    assert len(EXCEPTIONS) <= MAX_EXCEPTIONS
    assert len({entry.file for entry in EXCEPTIONS}) == len(EXCEPTIONS)
    assert all(entry.names and entry.reason.strip() for entry in EXCEPTIONS)
