"""Who gets what: no handler of a route or page has the whole service, and few the bare request."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
MODULES = sorted(
    str(path.relative_to(ROOT))
    for room in ("api/http", "api/pages")
    for path in (ROOT / room).rglob("*.py")
)
HOT = {"append", "_appender", "reward", "rewards"}
"""The hot routes resolve nothing by FastAPI: segments, one reward, many rewards."""
SHARED = {
    "api/http/dependencies.py",
    "api/http/support.py",  # what the hot routes call themselves
    "api/http/json_route.py",  # the limit of a body
    "api/pages/viewer.py",  # `viewer`, which the declared dependency calls
}
BARE = {
    ("api/http/rewards.py", "reward"): "hot",
    ("api/http/rewards.py", "rewards"): "hot",
    ("api/http/segments.py", "append"): "hot; the body is streamed",
    ("api/http/sandboxes.py", "beat"): "whether the daemon hung up",
    ("api/http/adapters/ors.py", "redirect"): "method, path and query of what is sent on",
    ("api/pages/viewer.py", "log_in"): "the scheme, for a secure cookie",
    ("api/pages/replay.py", "replay"): "its own address, for the policy of the frame",
}


def functions(tree: ast.Module) -> Iterator[ast.AsyncFunctionDef | ast.FunctionDef]:
    return (
        node for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)
    )


def called(node: ast.AST) -> set[str]:
    return {
        call.func.id
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    }


def is_handler(function: ast.AsyncFunctionDef | ast.FunctionDef) -> bool:
    return any(
        "router." in ast.unparse(one) or "dialect." in ast.unparse(one)
        for one in function.decorator_list
    )


def dependencies(tree: ast.Module) -> set[str]:
    """The functions that a `Depends` of the module names."""
    return {
        call.args[0].id
        for call in ast.walk(tree)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "Depends"
        and call.args
        and isinstance(call.args[0], ast.Name)
    }


def takers(source: str) -> set[str]:
    """The functions, no dependencies and not hot, that take the whole service."""
    tree = ast.parse(source)
    known = dependencies(tree) | HOT
    return {
        one.name for one in functions(tree) if "parts_of" in called(one) and one.name not in known
    }


@pytest.mark.parametrize("module", MODULES)
def test_no_handler_gets_the_whole_service(module: str) -> None:
    source = (ROOT / module).read_text()
    if module not in SHARED:
        assert not takers(source)
        assert "app.state.parts" not in source
    for function in functions(ast.parse(source)):
        assert not {"Parts"} & {
            ast.unparse(one.annotation) for one in function.args.args if one.annotation
        }


def test_a_handler_that_takes_it_would_be_found() -> None:
    assert takers("async def look(request):\n    return parts_of(request).tasks") == {"look"}
    assert not takers("async def _pick(r):\n    return parts_of(r)\nx = Depends(_pick)")


def test_only_these_handlers_get_the_bare_request() -> None:
    found = {
        (module, function.name)
        for module in MODULES
        for function in functions(ast.parse((ROOT / module).read_text()))
        if is_handler(function)
        for argument in function.args.args
        if argument.annotation is not None and ast.unparse(argument.annotation) == "Request"
    }
    assert found == BARE.keys()
