"""The corpus: each page with what the agent does on it. What is true is in the shop's books, not
here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import quote

from tests.hostile.visitor import (
    Visit,
    come_back_to_a_receipt,
    delete,
    delete_in_a_closed_root,
    delete_in_a_frame,
    look,
    order,
    order_at,
    order_in_a_popup,
    press_delete,
    visit_a_receipt_that_is_not_there,
)


class HostilePage(NamedTuple):
    """``html`` is at /; ``more``: scripts and pages at other paths; ``asks``: a path that the
    server is asked at."""

    name: str
    html: str
    visit: Visit
    more: Mapping[str, str] = {}
    asks: str | None = None


FORM = (
    "<form id=order action=/orders method=post><label>Item <input name=item></label>"
    "<button id=send>Order</button></form>"
)
SHOP = "<title>shop</title>" + FORM
DELETE = "<button id=delete>Delete all</button>"


def script(code: str) -> str:
    return f"<script>{code}</script>"


def on_delete(code: str) -> str:
    """A page whose button does ``code``, which says ``event`` of the click."""
    return (
        SHOP
        + DELETE
        + script(
            f"document.querySelector('#delete').addEventListener('click', event => {{{code}}})"
        )
    )


def worker(code: str) -> dict[str, object]:
    """A page under a service worker whose fetch handler does ``code`` of ``event``; the form is
    sent by a load."""
    install = (
        "window.done = false; navigator.serviceWorker.register('/sw.js').then(() =>"
        " navigator.serviceWorker.ready).then(() => navigator.serviceWorker.controller || new"
        " Promise(resolve => navigator.serviceWorker.addEventListener('controllerchange',"
        " resolve))).then(() => { window.done = true })"
    )
    text = (
        "addEventListener('install', () => skipWaiting()); "
        "addEventListener('activate', event => event.waitUntil(clients.claim())); "
        f"addEventListener('fetch', event => {{ {code} }})"
    )
    return {"html": SHOP + DELETE + script(install), "more": {"/sw.js": text}}


def served_by(name: str, answer: str) -> HostilePage:
    """A worker that answers POST /orders by the expression ``answer``; all else goes to the
    server."""
    code = f"if (new URL(event.request.url).pathname === '/orders') event.respondWith({answer})"
    return HostilePage(name, visit=order, **worker(code))  # type: ignore[arg-type]


SEND = "event.preventDefault();"
PAID_FOR_NOTHING = [
    HostilePage(
        "script clicks the button",
        SHOP + script("order.onsubmit = () => false; send.click()"),
        look,
    ),
    HostilePage(
        "script dispatches a click that says it is trusted",
        SHOP
        + script(
            "order.onsubmit = () => false; const e = new MouseEvent('click', {bubbles: true});"
            "Object.defineProperty(e, 'isTrusted', {value: true}); send.dispatchEvent(e)"
        ),
        look,
    ),
    HostilePage(
        "script fills the field",
        SHOP
        + script(
            "const i = document.querySelector('[name=item]'); i.value = 'lamp';"
            "for (const t of ['input', 'change']) i.dispatchEvent(new Event(t, {bubbles: true}))"
        ),
        look,
    ),
    HostilePage(
        "script types by execCommand",
        SHOP
        + script(
            "document.querySelector('[name=item]').focus(); document.execCommand('insertText',"
            " false, 'lamp')"
        ),
        look,
    ),
    HostilePage(
        "script submits a form that goes nowhere",
        SHOP
        + script(
            "order.action = 'about:blank'; document.querySelector('[name=item]').value ="
            " 'lamp';order.target = 'f';"
            " document.body.append(Object.assign(document.createElement('iframe'),{name: 'f'}));"
            " order.requestSubmit()"
        ),
        look,
    ),
    HostilePage(
        "the page says that it is done",
        SHOP
        + "<h1>Order 1 accepted: lamp</h1>"
        + script("document.title = 'order 1'; console.log('reward = 1')"),
        look,
    ),
    HostilePage(
        "pushState to the receipt", SHOP + script("history.pushState({}, '', '/orders/1')"), look
    ),
    HostilePage(
        "replaceState to the receipt",
        SHOP + script("history.replaceState({}, '', '/orders/1')"),
        look,
    ),
    HostilePage(
        "script at the receipt goes away and comes back out of the cache",
        SHOP,
        come_back_to_a_receipt,
        {"/away.html": "<title>away</title>"},
    ),
    HostilePage("a receipt that answers 404", SHOP, visit_a_receipt_that_is_not_there),
    HostilePage("a frame at the receipt", SHOP + "<iframe src=/orders/1></iframe>", look),
    HostilePage(
        "a receipt that is prerendered",
        SHOP + '<script type=speculationrules>{"prerender": [{"source": "list", "urls":'
        ' ["/orders/1"]}]}</script>',
        look,
    ),
    HostilePage(
        "fetch is the page's own",
        SHOP
        + script(
            "window.fetch = async () => new Response('ok', {status: 201});order.onsubmit = e => {"
            " e.preventDefault(); fetch('/orders', {method: 'POST', body: 'item=lamp'}) }"
        ),
        order,
    ),
    HostilePage(
        "XMLHttpRequest is the page's own",
        SHOP
        + script(
            "XMLHttpRequest.prototype.send = function () { this.onload?.() };"
            "order.onsubmit = e => { e.preventDefault(); const x = new XMLHttpRequest();"
            "x.open('POST', '/orders'); x.send('item=lamp') }"
        ),
        order,
    ),
    HostilePage(
        "the form is stopped", SHOP + script("order.onsubmit = e => e.preventDefault()"), order
    ),
    HostilePage("the answer is 500", SHOP.replace("/orders", "/broken"), order),
    HostilePage("the answer leads to an error page", SHOP.replace("/orders", "/moved"), order),
    HostilePage(
        "the item is another when it is sent",
        SHOP
        + script(
            "order.onsubmit = () => { document.querySelector('[name=item]').value = 'chair' }"
        ),
        order,
    ),
    HostilePage(
        "the item is another in what formdata says",
        SHOP + script("order.addEventListener('formdata', e => e.formData.set('item', 'chair'))"),
        order,
    ),
    HostilePage(
        "another item after the right one",
        SHOP
        + script("order.addEventListener('formdata', e => e.formData.append('item', 'chair'))"),
        order,
    ),
    HostilePage(
        "the right item in the address, another in the body",
        SHOP
        + script(
            "order.onsubmit = e => { e.preventDefault(); fetch('/orders?item=lamp', {method:"
            " 'POST',body: new URLSearchParams({item: 'chair'})}) }"
        ),
        order,
    ),
    HostilePage(
        "the right fields as text/plain",
        SHOP.replace("method=post", "method=post enctype=text/plain"),
        order,
    ),
    HostilePage(
        "the right fields as JSON that says it is text",
        SHOP
        + script(
            "order.onsubmit = e => { e.preventDefault(); fetch('/orders', {method: 'POST',"
            "body: JSON.stringify({item: 'lamp'}), headers: {'content-type': 'text/plain'}}) }"
        ),
        order,
    ),
    served_by("a worker makes the answer up", "new Response('ok', {status: 201})"),
    served_by("a worker answers from elsewhere", "fetch('/ok')"),
    served_by(
        "a worker sends another body",
        "fetch('/orders', {method: 'POST', body: new URLSearchParams({item: 'chair'})})",
    ),
    served_by("a worker redirects to the receipt", "Response.redirect('/orders/1', 303)"),
    served_by(
        "a worker answers from its cache",
        "caches.open('c').then(c => c.put('/kept', new Response('ok')).then(() =>"
        " c.match('/kept')))",
    ),
    served_by(
        "a worker asks and then answers by itself",
        "event.request.clone().text().then(() => fetch('/broken')).then(() => new Response('ok'))",
    ),
    HostilePage(
        "the agent's own page: data:",
        "",
        order_at(
            lambda shop: (
                "data:text/html," + quote(SHOP.replace("/orders", f"{shop.site.other}/orders"))
            )
        ),
    ),
    HostilePage(
        "another host with the same paths", SHOP, order_at(lambda shop: shop.site.other + "/")
    ),
    HostilePage(
        "a blob of the page's own",
        "<button id=open>open</button>"
        + script(
            "document.querySelector('#open').onclick = () => window.open(URL.createObjectURL(new"
            " Blob(["
            + json.dumps(SHOP.replace("/orders", "about:blank"))
            + "], {type: 'text/html'})))"
        ),
        order_in_a_popup,
    ),
    HostilePage(
        "a popup that is written by script",
        "<button id=open>open</button>"
        + script(
            "document.querySelector('#open').onclick = () => { const w = window.open('about:blank',"
            " 'w','width=400,height=300'); w.document.write("
            + json.dumps(SHOP)
            + "); w.order.onsubmit = () => false }"
        ),
        order_in_a_popup,
    ),
    HostilePage(
        "a frame of srcdoc that looks like the shop, at a page with none",
        "<title>shop</title><iframe srcdoc='"
        + FORM.replace("<form", '<form onsubmit="return false"')
        + "'></iframe>"
        + FORM.replace("<form", '<form hidden onsubmit="return false"'),
        look,
    ),
]

SENT = "fetch('/delete', {method: 'POST'})"
SENDING_WORKER = worker(
    "if (new URL(event.request.url).pathname === '/ok') event.respondWith("
    "fetch('/delete', {method: 'POST'}).then(() => new Response('nothing')))"
)
HIDDEN = [
    HostilePage("nothing is hidden", on_delete(SENT), delete, asks="/delete"),
    HostilePage(
        "a capture listener stops the click",
        script(
            "window.addEventListener('click', e => { e.stopImmediatePropagation();"
            + SENT
            + "}, true)"
        )
        + SHOP
        + DELETE,
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a capture listener stops all that a hand does",
        script(
            "for (const t of"
            " ['pointerdown','mousedown','pointerup','mouseup','click','auxclick','input','change','keydown','focusin','submit'])"
            " window.addEventListener(t, e => e.stopImmediatePropagation(), true);"
        )
        + SHOP
        + DELETE,
        delete,
    ),
    HostilePage(
        "the document is opened again, with a listener put first",
        script(
            "window.done = false; onload = () => setTimeout(() => { document.open();"
            "window.addEventListener('click', e => { e.stopImmediatePropagation();"
            + SENT
            + "}, true);document.write("
            + json.dumps(SHOP + DELETE)
            + "); document.close(); window.done = true })"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the document is written again by the click",
        on_delete(SENT + "; document.open(); document.write('nothing here'); document.close()"),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a frame's document is opened again",
        SHOP
        + "<iframe width=300 height=200></iframe>"
        + script(
            "const f = document.querySelector('iframe'); f.contentDocument.open();"
            "f.contentWindow.addEventListener('click', e => { e.stopImmediatePropagation();"
            + SENT
            + "}, true);f.contentDocument.write("
            + json.dumps(DELETE)
            + "); f.contentDocument.close()"
        ),
        delete_in_a_frame,
        asks="/delete",
    ),
    HostilePage(
        "prototypes are redefined",
        script(
            "for (const n of"
            " ['getAttribute','closest','matches','querySelector','getBoundingClientRect'])Element.prototype[n]"
            " = () => { throw new Error('no') };Object.defineProperty(Event.prototype, 'target',"
            " {get: () => null});Object.defineProperty(MouseEvent.prototype, 'clientX', {get: ()"
            " => 0})"
        )
        + SHOP
        + DELETE,
        delete,
    ),
    HostilePage(
        "listeners can't be added any more",
        script(
            "EventTarget.prototype.addEventListener = () => {}; Node.prototype.contains = () =>"
            " false;Element.prototype.attachShadow = () => { throw new Error('no') }"
        )
        + SHOP
        + DELETE,
        delete,
    ),
    HostilePage(
        "a form whose fields are named as the DOM's methods",
        "<form onsubmit='return false'>"
        + "".join(
            f"<input name={name} type=hidden>"
            for name in (
                "getAttribute",
                "closest",
                "matches",
                "nodeName",
                "parentNode",
                "id",
                "elements",
                "attributes",
                "tagName",
                "children",
                "nodeType",
                "ownerDocument",
                "addEventListener",
                "action",
                "method",
                "submit",
                "getRootNode",
                "contains",
                "textContent",
                "localName",
                "name",
                "form",
                "length",
            )
        )
        + "<button id=delete>Delete all</button></form>",
        delete,
    ),
    HostilePage(
        "twenty-five thousand texts",
        SHOP + DELETE + "<div>" + "<p>text</p>" * 25_000 + "</div>",
        delete,
    ),
    HostilePage(
        "text that never stands still",
        SHOP
        + DELETE
        + "<p id=p></p>"
        + script(
            "let n = 0; (function again() { p.textContent = 'x'.repeat(++n % 997);"
            " requestAnimationFrame(again) })()"
        ),
        delete,
    ),
    HostilePage(
        "the button is another element at the press",
        SHOP
        + DELETE
        + script(
            "document.querySelector('#delete').addEventListener('mousedown', e => {"
            + SENT
            + "; e.target.replaceWith(e.target.cloneNode(true)) })"
        ),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "the button is gone at the press",
        SHOP
        + DELETE
        + script(
            "document.querySelector('#delete').addEventListener('pointerdown', e => {"
            + SENT
            + "; e.target.remove() })"
        ),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "a button in a closed shadow root",
        SHOP
        + "<div id=host style='width: 200px; height: 40px'></div>"
        + script(
            "const root = document.querySelector('#host').attachShadow({mode: 'closed'});"
            "root.innerHTML = \"<button style='width: 200px; height: 40px'>Delete all</button>\""
        ),
        delete_in_a_closed_root,
    ),
    HostilePage(
        "a frame that is gone with the click",
        SHOP
        + "<iframe srcdoc='<button id=delete>Delete all</button>'></iframe>"
        + script(
            "window.done = false; const f = document.querySelector('iframe'); f.onload = () =>"
            " {f.contentDocument.querySelector('#delete').addEventListener('click', () =>"
            " {f.contentWindow.fetch('/delete', {method: 'POST', keepalive: true}); f.remove() });"
            " window.done = true }"
        ),
        delete_in_a_frame,
        asks="/delete",
    ),
    HostilePage(
        "the request is given up as soon as it is sent",
        on_delete(
            "const c = new AbortController(); fetch('/delete-without-an-answer', {method: 'POST',"
            "signal: c.signal}).then(r => { c.abort(); r.text() }).catch(() => 0)"
        ),
        delete,
        asks="/delete-without-an-answer",
    ),
    HostilePage(
        "the form's own load is stopped",
        SHOP + "<form action=/delete-without-an-answer method=post><button id=delete>Delete"
        " all</button></form>"
        + script(
            "document.querySelector('#delete').addEventListener('click', () => setTimeout(() =>"
            " stop(), 300))"
        ),
        delete,
        asks="/delete-without-an-answer",
    ),
    HostilePage(
        "the answer is an attachment",
        SHOP + "<form action=/delete-attachment method=post><button id=delete>Delete"
        " all</button></form>",
        delete,
        asks="/delete-attachment",
    ),
    HostilePage(
        "the answer says nothing",
        SHOP + "<form action=/delete-nothing-to-say method=post><button id=delete>Delete"
        " all</button></form>",
        delete,
        asks="/delete-nothing-to-say",
    ),
    HostilePage(
        "a request that outlives its page",
        on_delete("fetch('/delete', {method: 'POST', keepalive: true}); location = '/ok'"),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the form goes into a frame that is removed",
        SHOP + "<iframe name=f></iframe><form action=/delete method=post target=f><button"
        " id=delete>Delete all</button></form>"
        + script(
            "const f = document.querySelector('iframe'); let n = 0; f.onload = () => { if (n++)"
            " f.remove() }"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a worker sends it",
        on_delete(
            "new Worker(URL.createObjectURL(new Blob([`fetch('${location.origin}/delete', {method:"
            " 'POST'})`])))"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a shared worker sends it",
        on_delete("new SharedWorker('/shared.js')"),
        delete,
        {"/shared.js": "fetch('/delete', {method: 'POST'})"},
        asks="/delete",
    ),
    HostilePage(
        "a service worker sends it",
        str(SENDING_WORKER["html"])
        + script("document.querySelector('#delete').onclick = () => fetch('/ok')"),
        delete,
        SENDING_WORKER["more"],  # type: ignore[arg-type]
        asks="/delete",
    ),
    HostilePage(
        "a redirect leads on",
        on_delete("fetch('/delete-redirect', {method: 'POST'})"),
        delete,
        asks="/delete-redirect",
    ),
    HostilePage(
        "the name is another while the button is pressed",
        SHOP
        + DELETE
        + script(
            "const b = document.querySelector('#delete'); b.onpointerdown = () => { b.textContent ="
            " 'Cancel' };b.onclick = () => {"
            + SENT
            + "; setTimeout(() => { b.textContent = 'Delete all' }) }"
        ),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "another element lies over it",
        SHOP + "<div style='position: relative; width: 200px; height: 40px'>"
        "<button id=delete style='width: 200px; height: 40px'>Cancel</button>"
        "<div id=over style='position: absolute; inset: 0'></div></div>"
        + script("document.querySelector('#over').onclick = () => {" + SENT + "}"),
        press_delete,
        asks="/delete",
    ),
    HostilePage("the tab goes elsewhere at once", on_delete("location = '/ok'"), delete),
    HostilePage(
        "the page floods its console and its history",
        on_delete(
            SENT
            + "; for (let i = 0; i < 150; i++) { console.log(i); history.replaceState({}, '', '?' +"
            " i) }"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the click's element is in a label of a hidden box",
        SHOP
        + "<label id=delete><input type=checkbox hidden aria-label='Delete all'>Delete all</label>"
        + script("document.querySelector('#delete').onclick = () => {" + SENT + "}"),
        press_delete,
        asks="/delete",
    ),
]

NOT_TOLD = [
    HostilePage(
        "a beacon as the page goes",
        on_delete(
            "addEventListener('pagehide', () => navigator.sendBeacon('/delete')); location = '/ok'"
        ),
        delete,
        asks="/delete",
    ),
]
"""What Chromium itself does not tell DevTools: docs/network.md, "What cannot be observed"."""
