"""Immunity 14 for `milestoned convert`: no file makes it throw, slow, or large; it converts or is
refused."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from lab.convert.formats import FORMATS
from tests.fuzz.hostile_captures import check, mutants_of_json, text_of


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_that_is_broken_anywhere_converts_or_is_refused_by_name(format: str) -> None:
    """In a process of its own, whose memory the system limits: a crash of the parser would end it,
    and not us."""
    command = [sys.executable, "-m", "tests.fuzz.hostile_captures", format]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    count = int(done.stdout.split()[0])
    assert count > 200


def test_every_place_is_broken_and_what_is_wrong_is_found(tmp_path: Path) -> None:
    """The fuzzer itself: it replaces and removes at each place, as JSON has it and as it has
    not."""
    names = [name for name, _ in mutants_of_json({"a": [1]}, random.Random(1))]
    assert {name.partition(" is ")[0] for name in names} == {"[]", "['a']", "['a', 0]"}
    assert text_of({"a": float("nan"), "b": "@deep@"}).startswith(b'{"a": NaN, "b": [[[')
    assert check("no JSON", b"{", ".json", tmp_path, "") is None
