"""The shop's routes: a search, a cart, orders that the server confirms, invoices, an account."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from . import catalog, checking, invoice, pages, small_pages
from .access_log import AccessLog
from .state import Order, Session, Shop

PASSWORD = "correct horse battery staple"
MAX_INVOICE_S = 20.0

Page = Callable[[Shop, Session, Request], Awaitable[Response]]


def create_shop(
    access_log: Path | None = None, invoice_after: int = 0, other_host: str = ""
) -> AccessLog:
    """The shop as an ASGI app. ``invoice_after``: page views until a CSV download ends;
    ``other_host``: another name of this machine, where it is not called by loopback's."""
    shop = Shop(invoice_after, other_host)
    routes = [
        _route(shop, "/", _home),
        _route(shop, "/search", _search),
        _route(shop, "/products/{slug}", _product),
        _route(shop, "/cart", _cart),
        _route(shop, "/cart", _add, "POST"),
        _route(shop, "/cart/remove", _remove, "POST"),
        _route(shop, "/orders", _place, "POST"),
        _route(shop, "/orders/{number:int}", _order),
        _route(shop, "/orders/{number:int}/cancel", _cancel, "POST"),
        _route(shop, "/orders/{number:int}/invoice.{kind}", _invoice),
        _route(shop, "/login", _login_page),
        _route(shop, "/login", _login, "POST"),
        _route(shop, "/account", _account),
        _route(shop, "/account/history", _account),
        Route("/sorry", _fixed(small_pages.SORRY)),
        Route("/terms", _fixed(small_pages.TERMS)),
        Route("/delivery", _fixed(small_pages.DELIVERY)),
        Route("/pickup", _fixed(small_pages.PICKUP)),
        Route("/dialogs", _fixed(small_pages.DIALOGS)),
        Route("/scripted", _fixed(small_pages.SCRIPTED)),
        Route("/api/ping", lambda _request: JSONResponse({"ok": True})),
    ]
    return AccessLog(Starlette(routes=routes), access_log)


def _route(shop: Shop, path: str, handler: Page, method: str = "GET") -> Route:
    async def answer(request: Request) -> Response:
        session = shop.session(request.cookies.get("shop_session"))
        response = await handler(shop, session, request)
        if isinstance(response, HTMLResponse):
            await session.saw_page()
        response.set_cookie("shop_session", session.id, httponly=True, samesite="lax")
        return response

    return Route(path, answer, methods=[method])


def _fixed(html: str) -> Callable[[Request], Response]:
    return lambda _request: HTMLResponse(html)


async def _fields(request: Request) -> dict[str, str]:
    return dict(parse_qsl((await request.body()).decode(), keep_blank_values=True))


def _missing(what: str) -> HTMLResponse:
    return HTMLResponse(pages.page("Not found", f"<p>There is no such {what}.</p>"), 404)


async def _home(_shop: Shop, _session: Session, _request: Request) -> Response:
    return HTMLResponse(pages.home(None, []))


async def _search(_shop: Shop, _session: Session, request: Request) -> Response:
    query = request.query_params.get("q", "")
    return HTMLResponse(pages.home(query, catalog.search(query)))


async def _product(_shop: Shop, _session: Session, request: Request) -> Response:
    product = catalog.PRODUCTS.get(request.path_params["slug"])
    return HTMLResponse(pages.product(product)) if product else _missing("article")


async def _add(_shop: Shop, session: Session, request: Request) -> Response:
    slug = (await _fields(request)).get("product", "")
    if slug not in catalog.PRODUCTS:
        return _missing("article")
    session.cart.append(slug)
    return RedirectResponse("/cart", 303)


async def _remove(_shop: Shop, session: Session, request: Request) -> Response:
    slug = (await _fields(request)).get("product", "")
    if slug in session.cart:
        session.cart.remove(slug)
    return RedirectResponse("/cart", 303)


def _other_host(shop: Shop, request: Request) -> str:
    """The same shop under its other name: another site to the browser, so another process."""
    loopback = "127.0.0.1" if request.url.hostname == "localhost" else "localhost"
    other = shop.other_host or loopback
    return f"{other}:{request.url.port}"


async def _cart(shop: Shop, session: Session, request: Request) -> Response:
    return HTMLResponse(pages.cart(session, {"quantity": "1"}, {}, _other_host(shop, request)))


async def _place(shop: Shop, session: Session, request: Request) -> Response:
    fields = await _fields(request)
    wrong = checking.problems(fields)
    if wrong or not session.cart:
        return HTMLResponse(pages.cart(session, fields, wrong, _other_host(shop, request)), 422)
    trouble = {catalog.PRODUCTS[slug].trouble for slug in session.cart}
    if "fault" in trouble:
        return HTMLResponse(pages.page("Error", "<p>Our order desk fell over.</p>"), 500)
    if "sold out" in trouble:
        return RedirectResponse("/sorry", 302)
    return RedirectResponse(f"/orders/{shop.place(session, fields).number}", 303)


async def _order(shop: Shop, _session: Session, request: Request) -> Response:
    order = shop.orders.get(request.path_params["number"])
    return HTMLResponse(pages.order(order)) if order else _missing("order")


async def _cancel(shop: Shop, _session: Session, request: Request) -> Response:
    order = shop.orders.get(request.path_params["number"])
    if order is None:
        return _missing("order")
    order.cancelled = True
    return RedirectResponse("/account/history", 303)


async def _invoice(shop: Shop, session: Session, request: Request) -> Response:
    order = shop.orders.get(request.path_params["number"])
    kind = request.path_params["kind"]
    if order is None or kind not in ("csv", "pdf"):
        return _missing("invoice")
    content = invoice.as_csv(order) if kind == "csv" else invoice.as_pdf(order)
    headers = {
        "content-disposition": f'attachment; filename="invoice-{order.number}.{kind}"',
        "content-length": str(len(content)),
    }
    media = "text/csv" if kind == "csv" else "application/pdf"
    if kind == "pdf":
        return Response(content, headers=headers, media_type=media)
    after = int(request.query_params.get("after", shop.invoice_after))
    delay_s = int(request.query_params.get("delay_ms", 0)) / 1000
    return StreamingResponse(
        _slowly(content, session, after, delay_s), headers=headers, media_type=media
    )


async def _slowly(
    content: bytes, session: Session, after: int, delay_s: float
) -> AsyncIterator[bytes]:
    """Half at once, half when the visitor has seen ``after`` more pages and ``delay_s`` seconds are
    over."""
    wanted = session.views + after
    half = len(content) // 2
    yield content[:half]
    await asyncio.sleep(delay_s)
    await session.views_reach(wanted, MAX_INVOICE_S)
    yield content[half:]


async def _login_page(_shop: Shop, _session: Session, _request: Request) -> Response:
    return HTMLResponse(pages.login(""))


async def _login(_shop: Shop, session: Session, request: Request) -> Response:
    fields = await _fields(request)
    if fields.get("password") != PASSWORD:
        return HTMLResponse(pages.login("This e-mail and password do not go together."), 422)
    session.email = fields.get("email", "")
    return RedirectResponse("/account", 303)


async def _account(shop: Shop, session: Session, request: Request) -> Response:
    orders: list[Order] = [one for one in shop.orders.values() if one.session == session.id]
    tab = "history" if request.url.path.endswith("history") else "overview"
    return HTMLResponse(pages.account(session, orders, tab))
