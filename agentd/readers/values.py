"""JSON, YAML and TOML: any value."""

from __future__ import annotations

import tomllib
from typing import Any, BinaryIO

import orjson

from agentd.readers.bounds import MAX_DEPTH, DamagedError, HeavyError
from agentd.readers.texts import whole

MAX_YAML_DEPTH = 8 * MAX_DEPTH
"""Beyond it making values of YAML would end the process; facts are told to a smaller depth."""


def read_json(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{value}``."""
    try:
        return {"value": orjson.loads(whole(file).removeprefix(b"\xef\xbb\xbf"))}
    except orjson.JSONDecodeError as error:
        raise DamagedError(f"no JSON: {error}") from None


def read_yaml(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{value}``; no object is ever made of a tag."""
    import yaml

    content, loader = whole(file), getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        depth = 0
        for event in yaml.parse(content, Loader=loader):  # iterative, as making values of it is not
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
                event, yaml.CollectionEndEvent
            )
            if depth > MAX_YAML_DEPTH:
                raise HeavyError(f"values nested deeper than {MAX_YAML_DEPTH}")
        return {"value": yaml.load(content, Loader=loader)}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date that is none
        raise DamagedError(f"no YAML: {error}") from None


def read_toml(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{value}``."""
    try:
        return {"value": tomllib.loads(whole(file).decode())}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedError(f"no TOML: {error}") from None
