"""`python -m api.core.yaml_child` reads YAML from standard input and writes {spec, lines} or
{problem} as JSON: what strangers send is read there (api/core/yaml_apart.py), under limits of its
own, where a crash of the parser is a refusal and nothing else."""

from __future__ import annotations

import sys

import orjson

from api.core.process_limits import limit_process
from common.yaml_text import MAX_BYTES, BadYamlError, read_yaml

MEMORY = 512 << 20
CPU_S = 10


def main() -> None:
    """Read standard input, answer on standard output."""
    limit_process(CPU_S, MEMORY)
    try:
        spec, lines = read_yaml(sys.stdin.buffer.read(MAX_BYTES + 1).decode())
        answer: dict[str, object] = {"spec": spec, "lines": list(lines.items())}
    except UnicodeDecodeError as error:
        answer = {"problem": [None, f"byte {error.start}", "UTF-8 text"]}
    except BadYamlError as error:
        answer = {"problem": [error.line, error.found, error.wanted]}
    sys.stdout.buffer.write(orjson.dumps(answer))


if __name__ == "__main__":
    main()
