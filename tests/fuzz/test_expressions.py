"""YAML, CEL and JSON Path that chance makes, in a process with little memory and time: read,
refused or over budget, and the process goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
CASES = 400
MEMORY = 1 << 30
CPU_S = 60
PARTS = {
    "yaml": (
        r"""[ ] { } -~ ?~ :~ a &a~ *a !!int~ !!bool~ !!float~ 0x 999999999999999999999 \n ~~ " ' | % # << .inf \t 1:2"""
    ),
    "cel": (
        "data kind url .l .t .size() .map(a,~ .exists(b,~ .filter(a,~ a b ) ( [ ] { } ~+~ ~==~ ~&&~"
        " ~in~ 1 , ~?~ ~:~ ! - .contains("
    ),
    "path": (
        "$ .. * .a .l [*] [0] [?@.a] [?@..a] [?$..*] [1:9] ['a','a'] [?count(@..*)>1] [ ] ? @"
        " && ( )"
    ),
}
"""What is put together, with ~ for a space."""

CHILD = """
import random, resource, sys
sys.path.insert(0, {root!r})
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
resource.setrlimit(resource.RLIMIT_CPU, ({cpu}, {cpu}))
from common.yaml_text import BadYamlError, read_yaml
from detectors.matchers import third_party
from detectors.model.budget import metered
from detectors.model.errors import BudgetError
from detectors.rules.cel import CelArgs, _check, _value
from detectors.model.types import Event

L = [{{"n": n, "name": "x" * 40, "t": ["a", ["b"]]}} for n in range(300)]
DATA = {{"l": L, "t": "x" * 50_000, "a": {{"a": {{"a": {{"a": L}}}}}}}}
parts, kind, count = {parts!r}, {kind!r}, 0
draw = random.Random({seed})
for _ in range({cases}):
    text = "".join(draw.choice(parts) for _ in range(draw.choice((1, 2, 3, 8, 30, 200))))
    if kind == "cel":
        text = draw.choice(("data.l", "data.t", "")) + text
    if kind == "path":
        text = "$" + text
    try:
        if kind == "yaml":
            read_yaml(text)
        elif kind == "cel":
            _check(text)
            with metered():
                _value(text, {{"data": DATA, "kind": "k", "url": "u"}})
        else:
            with metered():
                third_party.json_path(text)(DATA)
        count += 1
    except (BadYamlError, BudgetError, ValueError):
        pass
print(count)
"""


@pytest.mark.slow_where("-1")
@pytest.mark.slow_where("-2")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", PARTS)
def test_what_chance_makes_is_bounded(kind: str, seed: int) -> None:
    parts = [
        part.replace("~", " ").replace("\\n", "\n").replace("\\t", "\t")
        for part in PARTS[kind].split(" ")
    ]
    code = CHILD.format(
        root=str(ROOT), memory=MEMORY, cpu=CPU_S, parts=parts, kind=kind, seed=seed, cases=CASES
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    assert int(done.stdout) > 0
