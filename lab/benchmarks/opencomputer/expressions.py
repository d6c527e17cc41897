"""Their Python expressions over what a command gives, as far as they are of a known form: compared
by shape, never run."""

from __future__ import annotations

import ast
from collections.abc import Callable

from detectors.model.json_value import JsonObject, JsonValue
from detectors.model.optional_values import without_none
from lab.benchmarks.opencomputer.base import UntoldCheckError, all_of, any_of

Leaf = Callable[[ast.expr], JsonObject | None]
"""A condition for a part of an expression that has no and, or; None where that is always true."""


def parse_expression(text: str) -> ast.expr:
    """The tree of an expression as Python parses it. Raises `UntoldCheckError`."""
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise UntoldCheckError("an expression that is no Python") from None


def condition(tree: ast.expr, leaf: Leaf) -> JsonObject | None:
    """The condition of an expression of and, or and what ``leaf`` knows."""
    if not isinstance(tree, ast.BoolOp):
        return leaf(tree)
    parts = [condition(part, leaf) for part in tree.values]
    found = without_none(parts)
    is_whole = len(found) == len(parts)
    if isinstance(tree.op, ast.Or):
        return any_of(*found) if is_whole else None
    match found:
        case []:
            return None
        case [only]:
            return only
    return all_of(*found)


def unknown(tree: ast.expr) -> UntoldCheckError:
    """An expression of no known form."""
    return UntoldCheckError(f"an expression of its own: {ast.unparse(tree)[:80]}")


def constant(tree: ast.expr) -> JsonValue:
    """A literal. Raises `UntoldCheckError` for anything else."""
    try:
        value = ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise unknown(tree) from None
    if not isinstance(value, bool | int | float | str | list | tuple):
        raise unknown(tree)
    return list(value) if isinstance(value, tuple) else value


def result_name(tree: ast.expr) -> str | None:
    """The name that is asked of a result: of ``result.get('x', …)``, ``result['x']``, either with
    ``or``, ``str()``, ``.strip()``, ``.upper()`` about it."""
    match tree:
        case ast.Call(
            func=ast.Attribute(value=inner, attr="strip" | "upper" | "replace" | "lstrip")
        ):
            return result_name(inner)
        case ast.Call(func=ast.Name(id="str" | "int" | "float"), args=[inner]):
            return result_name(inner)
        case ast.BoolOp(op=ast.Or(), values=[inner, ast.Constant()]):
            return result_name(inner)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="result"), attr="get"),
            args=[ast.Constant(value=str() as name), *_],
        ):
            return name
        case ast.Subscript(value=ast.Name(id="result"), slice=ast.Constant(value=str() as name)):
            return name
    return None


def limits(operator: ast.cmpop, value: JsonValue) -> JsonObject:
    """A comparison with a whole number as {min} or {max}. Raises `UntoldCheckError`."""
    if type(value) is not int:
        raise UntoldCheckError("a comparison of its own")
    meanings: dict[type[ast.cmpop], JsonObject] = {
        ast.GtE: {"min": value},
        ast.Gt: {"min": value + 1},
        ast.LtE: {"max": value},
        ast.Lt: {"max": value - 1},
        ast.Eq: {"min": value, "max": value},
    }
    meaning = meanings.get(type(operator))
    if meaning is None:
        raise UntoldCheckError("a comparison of its own")
    return meaning
