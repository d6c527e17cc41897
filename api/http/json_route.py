"""The route class for JSON bodies: FastAPI's declared model, read within the limits of the wire.

FastAPI reads a body whole before it asks any dependency who calls, and parses it with the standard
library's JSON. Here the caller is known first, the size is bounded while it is read, nesting is
bounded, and pydantic reads the JSON itself: NaN, numbers beyond 64 bits and unknown members are
refused. Any content type is taken for JSON, and no body at all for an empty object.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from api.http.authorization import Authorization
from api.http.support import parse_body, parts_of, read_body


class ValidatedRequest(Request):
    """A request whose body was read and validated already."""

    def __init__(self, request: Request, message: BaseModel) -> None:
        super().__init__(request.scope, request.receive)
        self._message = message

    async def body(self) -> Any:
        """Return the model: FastAPI passes on what it gets, and a model validates as itself."""
        return self._message

    async def json(self) -> Any:
        """Return the model, too: which of the two FastAPI asks depends on the content type."""
        return self._message


class JsonRoute(APIRoute):
    """A route that declares its caller (`requires`) and, where it takes a body, one model of it.

    The bytes of the body are kept as ``request.state.content`` (see api/http/once.py).
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return FastAPI's handler, behind the reading of the body if there is one."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle
        model: Any = self.body_field.field_info.annotation
        assert issubclass(model, BaseModel)
        authorization = self._authorization()

        async def handle_validated(request: Request) -> Response:
            await authorization(request)
            content = await read_body(request, parts_of(request).settings.limits.body_bytes)
            request.state.content = content
            return await handle(ValidatedRequest(request, parse_body(model, content)))

        return handle_validated

    def _authorization(self) -> Authorization:
        """Return who may call, as the route declares it: a body of nobody's is not read."""
        for dependency in self.dependant.dependencies:
            if isinstance(dependency.call, Authorization):
                return dependency.call
        raise TypeError(f"route {self.path}: expected a dependency `requires(...)` beside its body")
