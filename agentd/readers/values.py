"""JSON, YAML and TOML: any value."""

from __future__ import annotations

import tomllib
from typing import Any, BinaryIO

import orjson

from agentd.readers.bounds import DamagedError
from agentd.readers.texts import whole


def read_json(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{value}``."""
    try:
        return {"value": orjson.loads(whole(file).removeprefix(b"\xef\xbb\xbf"))}
    except orjson.JSONDecodeError as error:
        raise DamagedError(f"no JSON: {error}") from None


def read_yaml(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{value}``; no object is ever made of a tag."""
    import yaml

    try:
        return {"value": yaml.load(whole(file), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date that is none
        raise DamagedError(f"no YAML: {error}") from None


def read_toml(file: BinaryIO, asked: dict[str, Any]) -> dict[str, Any]:
    """``{value}``."""
    try:
        return {"value": tomllib.loads(whole(file).decode())}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise DamagedError(f"no TOML: {error}") from None
