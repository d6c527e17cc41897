"""Each dependency of a route is what its annotation says."""

from __future__ import annotations

from typing import Annotated, get_args, get_origin

from fastapi import Request

from api.http import dependencies
from tests.api.service import Service

PARTS = {
    name: get_args(alias)
    for name, alias in vars(dependencies).items()
    if get_origin(alias) is Annotated
}


async def test_every_dependency_is_of_its_declared_type(service: Service) -> None:
    request = Request({"type": "http", "app": service.app})
    assert "TasksPart" in PARTS
    for name, (declared, depends) in PARTS.items():
        part = await depends.dependency(request)
        assert type(part) in (get_args(declared) or (declared,)), name  # or one of a union
