"""YAML from strangers: bounded in depth, values, bytes, memory and time before anything walks it,
and read in a process whose end is a refusal. The service answers others meanwhile and goes on."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from typing import Any

import pytest

from api.core.yaml_apart import ApartReader
from common import yaml_text
from common.yaml_text import BadYamlError, read_yaml
from tests.api.service import ADMIN, TASK, Service

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{c}: &{c} [{','.join([f'*{b}'] * 10)}]\n" for b, c in zip("abcdefgh", "bcdefghi", strict=True)
)
NAMES = "a: &a {k: x, l: x}\n" + "".join(
    f"{c}: &{c} {{k: *{b}, l: *{b}, m: *{b}, n: *{b}}}\n"
    for b, c in zip("abcdefghijk", "bcdefghijkl", strict=True)
)
REFUSED = {
    "lists": ("[" * 50_000, "nested 65 deep"),
    "objects": ("{a: " * 50_000, "nested 65 deep"),
    "dashes": ("- " * 50_000, "nested 65 deep"),
    "keys that are objects": ("? " * 50_000, "nested 65 deep"),
    "indented": ("\n".join(" " * n + "a:" for n in range(300)), "nested 65 deep"),
    "aliases of lists": (LAUGHS, "more than 100000 values"),
    "aliases of objects": (NAMES, "more than 100000 values"),
    "itself": ("&x [*x]", "nesting that ends"),
    "values": ("[" + "1," * 150_000 + "]", "more than 100000 values"),
    "bytes": ("x" * (yaml_text.MAX_BYTES + 1), "characters"),
    "hexadecimal": ("a: 0x" + "f" * 100_000, "a finite number"),
    "digits": ("a: " + "9" * 100_000, "a finite number"),
    "no number": ("a: .nan", "a finite number"),
    "no end": ("a: -.inf", "a finite number"),
    "too large": ("a: 1.0e+999", "a finite number"),
    "bytes as a value": ("a: !!binary aGk=", "could not determine a constructor"),
    "a set": ("a: !!set {x}", "could not determine a constructor"),
    "an object of Python's": (
        "a: !!python/object/apply:os.system [id]",
        "could not determine a constructor",
    ),
    "no digits": ('a: !!int ""', "values that YAML knows"),
    "no truth": ("a: !!bool x", "values that YAML knows"),
    "NUL": ("a: \0", "control characters"),
    "half a pair": ('a: "\\ud800"', "escape code"),
    "two documents": ("--- a\n--- b\n", "another document"),
}
READ = {
    "as deep as may be": ("[" * 64 + "]" * 64, None),
    "base 60 is text": ("1:30:00", "1:30:00"),
    "base 60 with a fraction": ("1:30.5", "1:30.5"),
    "a date is text": ("2024-01-31", "2024-01-31"),
    "a date that is none": ("2024-13-41", "2024-13-41"),
    "hexadecimal": ("0x1F", 31),
    "the largest": (str(2**63 - 1), 2**63 - 1),
    "a fraction": ("0.5", 0.5),
    "an alias": ("[&a [x], *a]", [["x"], ["x"]]),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_beyond_the_bounds_is_refused_in_bounded_time(text: str, said: str) -> None:
    began = time.process_time()
    with pytest.raises(BadYamlError) as refused:
        read_yaml(text)
    assert said in str(refused.value)
    assert len(str(refused.value)) < 500
    assert time.process_time() - began < 2


@pytest.mark.parametrize(("text", "value"), READ.values(), ids=READ)
def test_what_is_within_them_is_read_as_json_would_have_it(text: str, value: Any) -> None:
    assert value is None or read_yaml(text)[0] == value
    assert read_yaml(text)[1][()] == 1


def test_lines_of_nested_lists_are_noted_once_each() -> None:
    """Not once for every way to write a composite, which are two to the depth."""
    assert len(read_yaml("[" * 60 + "]" * 60)[1]) == 60


def test_task_check_refuses_what_would_end_its_process(tmp_path: Any) -> None:
    file = tmp_path / "task.yaml"
    file.write_text("[" * 50_000)
    command = [sys.executable, "-m", "api.cli.main", "task", "check", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        f"{file}: line 1: (YAML): got values nested 65 deep, wanted at most 64\n",
    )


async def test_a_reader_that_dies_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one does for which the bounds were too wide."""
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BadYamlError, match="wanted YAML that is read within"):
        await ApartReader().read(b"a: 1")


async def test_the_service_refuses_it_and_answers_others_meanwhile(service: Service) -> None:
    headers = {"content-type": "application/yaml"}

    async def sent(text: str) -> int:
        answer = await service.call(
            "POST", "/v1/tasks", ADMIN, content=text.encode(), headers=headers
        )
        return answer.status_code

    hostile = [sent(text[:200_000]) for text, _ in REFUSED.values()]
    slowest = 0.0
    waiting = asyncio.gather(*hostile)
    while not waiting.done():
        began = time.perf_counter()
        assert (await service.get("/v1/tasks")).status_code == 200
        slowest = max(slowest, time.perf_counter() - began)
        await asyncio.sleep(0)
    assert set(await waiting) == {422}
    assert slowest < 2
    assert (await service.post("/v1/tasks", TASK)).status_code == 201


@pytest.mark.parametrize(
    "body", [b"[" * 1_000 + b"]" * 1_000, b'{"id": ' * 500 + b"1" + b"}" * 500]
)
async def test_json_that_is_nested_too_deep_is_refused(service: Service, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = await service.call("POST", "/v1/tasks", ADMIN, content=body, headers=headers)
    assert answer.status_code == 422
    assert "values nested 65 deep" in answer.text
