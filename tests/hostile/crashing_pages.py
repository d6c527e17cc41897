"""The corpus, its fifth part: renderers that crash with a write under way, floods, tabs that speak
to each other, answers out of a worker's static routes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from playwright.async_api import Error

from tests.hostile.outer_pages import OPEN
from tests.hostile.pages import DELETE, SHOP, HostilePage, on_delete, script
from tests.hostile.visitor import Visitor, delete

SLOW = "fetch('/delete-slowly', {method: 'POST'})"
SENT = "fetch('/delete', {method: 'POST'})"


def crash(*, frame: bool) -> Callable[[Visitor], Awaitable[None]]:
    """Click the button and, when the server has the request, crash the page, or its frame."""

    async def visit(visitor: Visitor) -> None:
        await visitor.open()
        await visitor.look()
        page = visitor.page
        session = await page.context.new_cdp_session(page.frames[-1] if frame else page)
        await visitor.delete()
        async with asyncio.timeout(30):
            while not visitor.shop.deletions:  # noqa: ASYNC110 - its thread knows no loop
                await asyncio.sleep(0.01)
        with suppress(Error, TimeoutError):  # who is crashed answers nothing
            await asyncio.wait_for(session.send("Page.crash"), 1)

    return visit


async def come_back(visitor: Visitor) -> None:
    """Click the button, which leads away, and come back to the page as it stood."""
    await visitor.open()
    await visitor.look()
    await visitor.delete()
    await visitor.page.wait_for_url("**/ok")
    await visitor.page.go_back(wait_until="commit")
    await visitor.page.wait_for_function("document.title === 'back'")


async def delete_beside_another_tab(visitor: Visitor) -> None:
    """Open the other tab by the page's own button, come back, and click the other button."""
    await visitor.open()
    await visitor.look()
    async with visitor.page.context.expect_page() as opening:
        await visitor.page.click("#open")
    await (await opening.value).wait_for_load_state()
    await visitor.page.bring_to_front()
    await visitor.delete()


async def go_to_the_receipt(visitor: Visitor) -> None:
    await visitor.open()
    await visitor.look()
    await visitor.open("/orders/1")


def in_another_tab(name: str, at_click: str, listens: str) -> HostilePage:
    """Another tab writes when the page's button does ``at_click``, which ``listens`` there."""
    html = (
        OPEN
        + DELETE
        + script(
            "document.querySelector('#open').onclick = () => open('/other.html');"
            f" document.querySelector('#delete').onclick = () => {at_click}"
        )
    )
    other = {"/other.html": "<title>other</title>" + script(f"{listens} = () => {SENT}")}
    return HostilePage(name, html, delete_beside_another_tab, other, asks="/delete")


def routed(name: str, source: str) -> HostilePage:
    """A worker whose static route answers the receipt's address from ``source``."""
    worker = (
        "addEventListener('install', e => { skipWaiting(); e.waitUntil((async () => { await (await"
        " caches.open('x')).put('/orders/1', new Response('<title>order 1</title>', {headers:"
        " {'content-type': 'text/html'}})); await e.addRoutes({condition: {urlPattern: new"
        f" URLPattern({{pathname: '/orders/1'}})}}, source: {source}}}) }})()) }});"
        " addEventListener('activate', e => e.waitUntil(clients.claim()))"
    )
    html = SHOP + script(
        "window.done = false; navigator.serviceWorker.register('/sw.js').then(() =>"
        " navigator.serviceWorker.ready).then(() => { window.done = true })"
    )
    return HostilePage(name, html, go_to_the_receipt, {"/sw.js": worker})


PAID_FOR_NOTHING = [
    routed("a static route of a worker answers with the receipt out of any cache", "'cache'"),
    routed("a static route of a worker answers with the receipt out of its cache", "{cacheName: 'x'}"),
]  # fmt: skip

HIDDEN = [
    HostilePage("the page crashes with its write under way", on_delete(SLOW), crash(frame=False)),
    HostilePage(
        "a frame of another host crashes with its write under way",
        SHOP
        + DELETE
        + "<iframe></iframe>"
        + script(
            "document.querySelector('iframe').src = location.origin.replace('127.0.0.1', 'localhost')"
            " + '/in.html'; document.querySelector('#delete').onclick = () =>"
            " frames[0].postMessage(location.origin, '*')"
        ),
        crash(frame=True),
        {
            "/in.html": script(
                "onmessage = e => fetch(e.data + '/delete-slowly', {method: 'POST', mode: 'no-cors'})"
            )
        },
    ),
    HostilePage(
        "a page that comes back out of the cache writes",
        SHOP
        + "<button id=delete onclick=\"location = '/ok'\">Delete all</button>"
        + script(f"onpageshow = e => {{ if (e.persisted) {{ document.title = 'back'; {SENT} }} }}"),
        come_back,
    ),
    in_another_tab(
        "another tab writes at a broadcast",
        "new BroadcastChannel('x').postMessage(1)",
        "new BroadcastChannel('x').onmessage",
    ),
    in_another_tab(
        "another tab writes as the storage changes",
        "localStorage.setItem('x', Math.random())",
        "onstorage",
    ),
    HostilePage(
        "the write goes out as the page is printed",
        SHOP
        + DELETE
        + script(
            f"onbeforeprint = () => {SENT}; document.querySelector('#delete').onclick = () => print()"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a shared worker that outlives its page writes",
        SHOP
        + DELETE
        + script(
            "document.querySelector('#delete').onclick = () => { new SharedWorker('/w.js',"
            " {extendedLifetime: true}); setTimeout(() => { location = 'about:blank' }, 300) }"
        ),
        delete,
        {"/w.js": f"setTimeout(() => {{ {SENT} }}, 800)"},
        asks="/delete",
    ),
    HostilePage(
        "a worker of a blob sends it",
        on_delete(
            "new Worker(URL.createObjectURL(new Blob([`fetch('${location.origin}/delete', {method:"
            " 'POST'})`])))"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "two hundred downloads at once, and a write",
        on_delete(
            "for (let i = 0; i < 200; i++) { const a = document.createElement('a'); a.href ="
            " URL.createObjectURL(new Blob(['x'])); a.download = 'f' + i; a.click() } " + SENT
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a flood of events that the server sends, and a write",
        on_delete(
            f"new EventSource('/flood').onmessage = () => {{}}; setTimeout(() => {SENT}, 300)"
        ),
        delete,
        asks="/delete",
    ),
]
