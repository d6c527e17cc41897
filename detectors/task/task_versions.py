"""Tasks that an older build registered: kinds and fields in them get the names of this build.

Only the rules `observed` and `cel` name kinds and fields. What can't be followed in an expression
stays as it is, and is then refused as in a new task: no old name is ever read as something else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from detectors.matchers.facts import split_path
from detectors.model.wire_versions import current_kind, current_path
from detectors.sdk.cel_reads import Token, split_tokens


def convert_task(spec: object) -> Any:
    """Rename kinds and fields in all conditions of a task's JSON."""
    if isinstance(spec, list):
        return [convert_task(part) for part in spec]
    if not isinstance(spec, dict):
        return spec
    converters = {"observed": _convert_observed, "cel": _convert_cel}
    return {
        name: converters[name](value) if name in converters and _names_kind(value) else value
        for name, value in ((name, convert_task(value)) for name, value in spec.items())
    }


def _names_kind(args: object) -> bool:
    return isinstance(args, dict) and isinstance(args.get("kind"), str)


def _convert_observed(args: Mapping[str, Any]) -> dict[str, Any]:
    kind = current_kind(args["kind"])
    converted = {**args, "kind": kind}
    if isinstance(args.get("where"), dict):
        converted["where"] = {
            _convert_path(kind, path): value for path, value in args["where"].items()
        }
    if isinstance(args.get("distinct"), str):
        converted["distinct"] = _convert_path(kind, args["distinct"])
    return converted


def _convert_path(kind: str, path: str) -> str:
    return ".".join(current_path(kind, split_path(path)))


def _convert_cel(args: Mapping[str, Any]) -> dict[str, Any]:
    kind = current_kind(args["kind"])
    converted = {**args, "kind": kind}
    for name in ("expression", "distinct"):
        if isinstance(args.get(name), str):
            converted[name] = "".join(_convert_tokens(kind, args[name]))
    return converted


def _convert_tokens(kind: str, expression: str) -> Iterator[str]:
    """Yield the parts of an expression: kinds, and members of `data` and of a hop, renamed."""
    before = ["", "", ""]
    for token, characters in split_tokens(expression):
        if token.sort == "space":
            yield characters
            continue
        yield _convert_token(kind, before, token, characters)
        before = [*before[1:], "" if token.sort == "text" else token.word]


def _convert_token(kind: str, before: list[str], token: Token, characters: str) -> str:
    further, holder, mark = before
    if token.sort == "text":
        is_member = (holder, mark) == ("data", "[")
        new = current_path(kind, (token.word,))[0] if is_member else current_kind(token.word)
        return characters.replace(token.word, new) if token.word else characters
    if token.sort != "name" or mark != "." or further == ".":
        return characters
    path = (token.word,) if holder == "data" else ("hops", "0", token.word)
    return current_path(kind, path)[-1]
