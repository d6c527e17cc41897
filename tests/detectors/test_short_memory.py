"""Memory that does not suffice is no fault of the text: orjson says of it that the text is no JSON,
so a body would be one without what is asked, and a recording none."""

from __future__ import annotations

import subprocess
import sys

import orjson

SCRIPT = """
import orjson, resource
from detectors.model.codec import read_header
from detectors.model.safe_json import read_json

line = b"[" + b'"abcdefgh",' * 2_000_000 + b"1]"


def name_error(call):
    try:
        return str(call())
    except Exception as error:
        return type(error).__name__


calls = [
    lambda: read_json(line),
    lambda: read_header(line),
    lambda: read_json("["),
    lambda: read_json("[1]"),
]
mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (mapped + (40 << 20),) * 2)
print(orjson.dumps([name_error(call) for call in calls]).decode())
"""


def test_it_is_told_from_json_that_is_wrong() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, check=True)
    short = ["MemoryError"] * 2
    assert orjson.loads(done.stdout) == [*short, "JSONDecodeError", "[1]"]
