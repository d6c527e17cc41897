"""JSON, YAML and TOML: any value."""

from __future__ import annotations

import tomllib
from typing import BinaryIO

import orjson

from agentd.readers.bounds import MAX_DEPTH, DamagedError, HeavyError
from agentd.readers.request import Facts, ReadRequest
from agentd.readers.texts import whole
from detectors.model.safe_json import check_memory

MAX_YAML_DEPTH = 8 * MAX_DEPTH
"""Beyond it making values of YAML would end the process; facts are reported to a smaller depth."""


def read_json(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{value}``; a byte order mark before it is skipped."""
    try:
        return {"value": orjson.loads(whole(file).removeprefix(b"\xef\xbb\xbf"))}
    except orjson.JSONDecodeError as error:
        check_memory(error)
        raise DamagedError(f"no JSON: {error}") from None


def read_yaml(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{value}`` of the one document; no object is ever made of a tag."""
    import yaml

    content = whole(file)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for event in yaml.parse(content, Loader=loader):  # iterative, as making values of it is not
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > MAX_YAML_DEPTH:
                raise HeavyError(f"values nested deeper than {MAX_YAML_DEPTH}")
        return {"value": yaml.load(content, Loader=loader)}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date that is none
        raise DamagedError(f"no YAML: {error}") from None


def read_toml(file: BinaryIO, request: ReadRequest) -> Facts:
    """Return ``{value}``, the document's one table."""
    try:
        return {"value": tomllib.loads(whole(file).decode())}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedError(f"no TOML: {error}") from None
