"""Parameters of a query that a route does not have are refused, as members of a body are.

One that is misspelt would leave its default: a trainer would get another number than it asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.routing import BaseRoute

from api.core.errors import InvalidError

CHECKED = ("/v1/", "/adapters/", "/get_reward")
"""Where paths begin whose queries are written for this service. Those of other programs' own wires
may carry more than is known here."""

QueryNames = Mapping[Callable[..., Any], frozenset[str]]
"""The parameters of each checked route, by what answers it."""


def read_query_names(routes: Iterable[BaseRoute]) -> QueryNames:
    """Return which parameters each checked route declares."""
    return {
        route.endpoint: frozenset((*_resolved(route.dependant), *_documented(route)))
        for route in routes
        if isinstance(route, APIRoute) and route.path.startswith(CHECKED)
    }


def check_query(request: Request) -> None:
    """Refuse a parameter that the route does not have. Raises `InvalidError`."""
    if not request.scope["query_string"]:
        return
    names: QueryNames = request.app.state.query_names
    known = names.get(request.scope["endpoint"])
    if known is None:
        return
    for name in request.query_params:
        if name not in known:
            wanted = f"one of {', '.join(sorted(known))}" if known else "no parameters"
            raise InvalidError(f"query: got {name[:40]!r}, wanted {wanted}")


def _resolved(dependant: Dependant) -> Iterable[str]:
    """Yield the names of all query parameters that a route and its dependencies declare."""
    for parameter in dependant.query_params:
        yield parameter.alias
    for inner in dependant.dependencies:
        yield from _resolved(inner)


def _documented(route: APIRoute) -> Iterable[str]:
    """What a hot route reads by itself stands in its document alone."""
    declared = (route.openapi_extra or {}).get("parameters", ())
    yield from (parameter["name"] for parameter in declared if parameter["in"] == "query")
