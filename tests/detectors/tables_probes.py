"""Tables of yes and of no for the rule on a probe's answers."""

from __future__ import annotations

from typing import Any

from tests.support.logs import Said

PROBES = [{"id": "cart", "get": "/api/cart"}, {"id": "other", "get": "/api/other"}]
CART = {
    "status": 200,
    "body": {"items": [{"id": 7, "name": "Desk lamp"}], "open": True, "total": 12.5, "note": None},
}


def probed(value: Any, probe: str = "cart", **more: Any) -> Said:
    return (
        "probe.answered",
        {"probe": probe, "when": "step", "step": 0, "value": value, "ms": 3, **more},
    )


def failed(probe: str = "cart") -> Said:
    return (
        "probe.failed",
        {"probe": probe, "when": "step", "step": 0, "reason": "ReadTimeout: ", "ms": 500},
    )


def wants(value: Any, path: str | None = None) -> dict[str, Any]:
    return {"probe": "cart", "value": value} | ({} if path is None else {"path": path})


YES: dict[str, list[tuple[Any, list[Said], float]]] = {
    "probe_answers": [
        (wants("lamp"), [probed("lamp")], 1),
        (wants({"contains": "lamp"}, "body.items.0.name"), [probed(CART)], 1),
        (wants(7, "body.items.0.id"), [probed(CART)], 1),
        (wants({"min": 10, "max": 13}, "body.total"), [probed(CART)], 1),
        (wants(True, "body.open"), [probed(CART)], 1),
        (wants(None, "body.note"), [probed(CART)], 1),
        (wants(None, "body.items.1"), [probed(CART)], 1),
        (wants(200, "status"), [failed(), probed(CART)], 1),
        (wants("lamp"), [probed("none"), probed("lamp")], 1),
    ]
}

NO: dict[str, list[tuple[Any, list[Said]]]] = {
    "probe_answers": [
        (wants("lamp"), [probed("lamp", "other")]),
        (wants("lamp"), [probed("desk lamp")]),
        (wants("lamp"), [probed("lamp", baseline=True)]),
        (wants("lamp"), [failed()]),
        (wants("7", "body.items.0.id"), [probed(CART)]),
        (wants(1, "body.open"), [probed(CART)]),
        (wants(True), [probed(1)]),
        (wants(8, "body.items.0.id"), [probed(CART)]),
        (wants({"min": 13}, "body.total"), [probed(CART)]),
        (wants("Desk lamp", "body.items.name"), [probed(CART)]),
        (wants(False, "body.missing"), [probed(CART)]),
        (wants("^.*$"), [probed("lamp")]),
        (wants("lamp"), [probed("^.*$")]),
    ]
}
