"""The corpus, its sixth part: workers that preload, stream, race or answer late; documents that
other frames open, sheets transform and roots hold within roots; frames of the site's address that
are not the site's."""

from __future__ import annotations

from tests.hostile.pages import DELETE, FORM, SENT, SHOP, HostilePage, on_delete, script, worker
from tests.hostile.visitor import (
    Visitor,
    delete,
    delete_in_a_closed_root,
    delete_in_a_frame,
    delete_in_an_inner_frame,
    look,
    order,
    press_delete,
    visit_a_receipt_that_is_not_there,
)

SIZE = "width=300 height=200"
BOX = "style='display: block; width: 200px; height: 40px'"
WIDE = f"<button {BOX}>Delete all</button>"
BUTTON = "document.querySelector('#delete')"
CLICKED = f"{BUTTON}.onclick = () => {{ {SENT} }};"
REGISTER = (
    "window.done = false; navigator.serviceWorker.register('/sw.js').then(() =>"
    " navigator.serviceWorker.ready).then(() => navigator.serviceWorker.controller || new"
    " Promise(resolve => navigator.serviceWorker.addEventListener('controllerchange',"
    " resolve))).then(() => { window.done = true })"
)


def receipt_by(name: str, code: str, begins: str = "") -> HostilePage:
    """A worker that does ``code`` of ``event`` at the receipt's address, and ``begins`` as it is
    activated."""
    text = (
        "addEventListener('install', () => skipWaiting()); addEventListener('activate', event =>"
        f" event.waitUntil((async () => {{ {begins}; await clients.claim() }})()));"
        " addEventListener('fetch', event => {"
        f" if (new URL(event.request.url).pathname === '/orders/1') {{ {code} }} }})"
    )
    html = SHOP + script(REGISTER)
    return HostilePage(name, html, visit_a_receipt_that_is_not_there, {"/sw.js": text})


def ordered_by(name: str, answer: str, html: str = SHOP) -> HostilePage:
    """A worker that answers POST /orders by the expression ``answer``."""
    code = (
        "const request = event.request; if (new URL(request.url).pathname === '/orders')"
        f" event.respondWith({answer})"
    )
    made = worker(code)
    page = str(made["html"]).replace(SHOP, html, 1)
    return HostilePage(name, page, order, made["more"])  # type: ignore[arg-type]


def send_by(code: str) -> str:
    """A shop whose form is sent by ``code``, which says ``body``."""
    return SHOP + script(
        "order.onsubmit = e => { e.preventDefault(); const body = new URLSearchParams({item:"
        f" document.querySelector('[name=item]').value}}); {code} }}"
    )


async def order_in_a_frame(visitor: Visitor) -> None:
    await visitor.open()
    await visitor.look()
    await visitor.page.frame_locator("iframe").locator("[name=item]").click()
    await visitor.page.keyboard.type("lamp")
    await visitor.page.frame_locator("iframe").locator("#send").click()


async def delete_by_touch(visitor: Visitor) -> None:
    """Touch the button, as a device without a mouse does."""
    await visitor.open()
    await visitor.look()
    box = await visitor.page.locator("#delete").bounding_box()
    assert box is not None
    session = await visitor.page.context.new_cdp_session(visitor.page)
    point = {"x": box["x"] + 5, "y": box["y"] + 5}
    await session.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [point]})
    await session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    visitor.pressed_delete = True


async def delete_by_key(visitor: Visitor) -> None:
    """Go to the button by keys and press it by the space bar."""
    await visitor.open()
    await visitor.look()
    await visitor.page.focus("#delete")
    await visitor.page.keyboard.press(" ")
    visitor.pressed_delete = True


async def delete_by_a_chosen_option(visitor: Visitor) -> None:
    """Open the list and click the option of the name."""
    await visitor.open()
    await visitor.look()
    await visitor.page.click("select")
    await visitor.page.click("#delete")
    visitor.pressed_delete = True


OK = "new Response('ok', {status: 201})"
OTHER = "new URLSearchParams({item: 'chair'})"
PAID_FOR_NOTHING = [
    receipt_by(
        "a worker makes a receipt of what the browser had loaded before it was asked",
        "event.respondWith((async () => { const r = await event.preloadResponse; return new"
        " Response(await r.text(), {headers: {'content-type': 'text/html'}}) })())",
        "await registration.navigationPreload.enable()",
    ),
    receipt_by(
        "a worker makes the receipt up long after it was asked",
        "event.respondWith(new Promise(resolve => setTimeout(() => resolve(new"
        " Response('<title>order 1</title>', {headers: {'content-type': 'text/html'}})), 2500)))",
    ),
    receipt_by(
        "a worker streams a receipt of its own behind the server's answer",
        "event.respondWith((async () => { const asked = await fetch(event.request); const stream ="
        " new ReadableStream({async start(c) { c.enqueue(new TextEncoder().encode('<title>order"
        " 1</title>')); for await (const part of asked.body) c.enqueue(part); c.close() }});"
        " return new Response(stream, {headers: {'content-type': 'text/html'}}) })())",
    ),
    receipt_by(
        "a worker finds a receipt in its cache whose query it leaves aside",
        "event.respondWith((async () => { const c = await caches.open('c'); await"
        " c.put('/orders/1?kept', new Response('<title>order 1</title>', {headers:"
        " {'content-type': 'text/html'}})); return c.match('/orders/1', {ignoreSearch: true})"
        " })())",
    ),
    receipt_by(
        "a worker clones the answer of another address for the receipt",
        "event.respondWith(fetch('/ok').then(r => r.clone()))",
    ),
    receipt_by(
        "a worker races the network for the receipt",
        "event.respondWith(new Response('<title>order 1</title>', {headers: {'content-type':"
        " 'text/html'}}))",
    )._replace(
        more={
            "/sw.js": (
                "addEventListener('install', e => { skipWaiting(); e.waitUntil(e.addRoutes({condition:"
                " {urlPattern: new URLPattern({pathname: '/orders/1'})}, source:"
                " 'race-network-and-fetch-handler'})) }); addEventListener('activate', e =>"
                " e.waitUntil(clients.claim())); addEventListener('fetch', e => { if (new"
                " URL(e.request.url).pathname === '/orders/1') e.respondWith(new"
                " Response('<title>order 1</title>', {headers: {'content-type': 'text/html'}})) })"
            )
        }
    ),
    HostilePage(
        "a worker leads its page to a receipt",
        SHOP
        + script(
            REGISTER.replace(
                "{ window.done = true }",
                "{ navigator.serviceWorker.controller.postMessage('go'); setTimeout(() => {"
                " window.done = true }, 800) }",
            )
        ),
        look,
        {
            "/sw.js": (
                "addEventListener('install', () => skipWaiting()); addEventListener('activate', e =>"
                " e.waitUntil(clients.claim())); addEventListener('message', async e => { const c ="
                " await e.source.navigate('/orders/1#order') }); addEventListener('fetch', e => {"
                " if (new URL(e.request.url).pathname === '/orders/1') e.respondWith(new"
                " Response('<title>order 1</title>', {headers: {'content-type': 'text/html'}})) })"
            )
        },
    ),
    ordered_by(
        "a worker streams its own answer to the order",
        "new Response(new ReadableStream({start(c) { c.enqueue(new TextEncoder().encode('ok'));"
        " c.close() }}), {status: 201})",
    ),
    ordered_by(
        "a worker answers the order long after it came",
        f"new Promise(resolve => setTimeout(() => resolve({OK}), 2500))",
    ),
    ordered_by(
        "a worker gives the order up and answers it by itself",
        "(async () => { const c = new AbortController(); const f = fetch(request, {signal:"
        f" c.signal}}).catch(() => 0); c.abort(); await f; return {OK} }})()",
    ),
    ordered_by(
        "a worker sends the order as text and answers it by itself",
        "request.clone().text().then(body => fetch('/orders', {method: 'POST', body, headers:"
        f" {{'content-type': 'text/plain'}}}})).then(() => {OK})",
    ),
    ordered_by(
        "a worker sends the order as GET",
        "fetch(new Request('/orders', {method: 'GET'}))",
    ),
    ordered_by(
        "a worker sends the order to another host of the server",
        "request.clone().text().then(body => fetch(location.origin.replace('127.0.0.1',"
        " 'localhost') + '/orders', {method: 'POST', body: new URLSearchParams(body), mode:"
        " 'no-cors'}))",
        send_by("fetch('/orders', {method: 'POST', body, mode: 'no-cors'})"),
    ),
    ordered_by(
        "a worker clones an answer and gives the second half of it",
        "fetch('/ok').then(r => { const c = r.clone(); r.text(); return new Response(c.body,"
        " {status: 201, headers: c.headers}) })",
    ),
    ordered_by(
        "a worker hands on a redirect that it did not follow",
        f"fetch('/orders', {{method: 'POST', body: {OTHER}, redirect: 'manual'}})",
    ),
    ordered_by(
        "a dedicated worker of the page orders, and a service worker answers it",
        OK,
        send_by(
            "new Worker(URL.createObjectURL(new Blob([`fetch('${location.origin}/orders', {method:"
            " 'POST', body: new URLSearchParams('${body}')})`])))"
        ),
    ),
    ordered_by(
        "a synchronous request that a service worker answers",
        OK,
        send_by("const x = new XMLHttpRequest(); x.open('POST', '/orders', false); x.send(body)"),
    ),
    ordered_by(
        "a beacon that a service worker answers",
        OK,
        send_by("navigator.sendBeacon('/orders', body)"),
    ),
    ordered_by(
        "a request that outlives its page and that a service worker answers",
        f"new Promise(resolve => setTimeout(() => resolve({OK}), 700))",
        send_by("fetch('/orders', {method: 'POST', body, keepalive: true}); location = '/ok'"),
    ),
    HostilePage(
        "a worker of an inner folder answers the frame's order",
        "<title>shop</title>"
        + script(
            "window.done = false; navigator.serviceWorker.register('/sub/sw.js').then(r => new"
            " Promise(resolve => { const w = r.installing ?? r.active; if (w.state === 'activated')"
            " resolve(); w.onstatechange = () => w.state === 'activated' && resolve() })).then(() =>"
            " { document.body.innerHTML = '<iframe src=/sub/in.html width=400"
            " height=200></iframe>'; document.querySelector('iframe').onload = () => { window.done ="
            " true } })"
        )
        + "<p>shop</p>",
        order_in_a_frame,
        {
            "/sub/sw.js": (
                "addEventListener('fetch', e => { if (new URL(e.request.url).pathname ==="
                f" '/orders') e.respondWith({OK}) }})"
            ),
            "/sub/in.html": send_by("fetch('/orders', {method: 'POST', body})"),
        },
    ),
    HostilePage(
        "a worker that imports another part at its update answers",
        SHOP
        + script(
            "window.done = false; navigator.serviceWorker.register('/one.js').then(() =>"
            " navigator.serviceWorker.ready).then(() => navigator.serviceWorker.register('/two.js',"
            " {scope: '/'})).then(() => new Promise(resolve =>"
            " navigator.serviceWorker.addEventListener('controllerchange', resolve))).then(() => {"
            " window.done = true })"
        ),
        order,
        {
            "/one.js": "addEventListener('install', () => skipWaiting())",
            "/two.js": "importScripts('/part.js')",
            "/part.js": (
                "addEventListener('install', () => skipWaiting()); addEventListener('activate', e"
                " => e.waitUntil(clients.claim())); addEventListener('fetch', e => { if (new"
                f" URL(e.request.url).pathname === '/orders') e.respondWith({OK}) }})"
            ),
        },
    ),
    HostilePage(
        "a frame without an origin at the shop's own address orders nothing",
        "<title>shop</title><iframe sandbox='allow-scripts allow-forms' src=/in.html"
        f" {SIZE}></iframe>",
        order_in_a_frame,
        {"/in.html": FORM + script("order.onsubmit = e => e.preventDefault()")},
    ),
]

SHEET = (
    "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:template"
    " match='/'><button id='delete'>Delete all</button></xsl:template></xsl:stylesheet>"
)
KEEP = (
    "for (const t of ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click'])"
    " W.addEventListener(t, e => { e.stopImmediatePropagation(); if (t === 'click') " + SENT + " },"
    " true);"
)
WRITE = f"document.open(); {KEEP.replace('W.', 'window.')} document.write(`{SHOP + DELETE}`); "
HIDDEN = [
    HostilePage(
        "the document is opened, written and never closed",
        script(
            f"window.done = false; onload = () => setTimeout(() => {{ {WRITE} window.done = true }})"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the document is empty as it is opened",
        script(
            "window.done = false; onload = () => setTimeout(() => {"
            " document.documentElement.remove(); setTimeout(() => { document.open(); "
            + KEEP.replace("W.", "window.")
            + f" setTimeout(() => {{ document.write(`{SHOP + DELETE}`); document.close();"
            " window.done = true }, 100) }, 100) })"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the document is opened between press and release",
        SHOP
        + DELETE
        + script(
            f"{BUTTON}.onpointerdown = () => {{ {SENT}; document.open(); document.write(`<button"
            " id=delete style='position: fixed; inset: 0'>Delete all</button>`); document.close()"
            " }"
        ),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "a script's address writes another document",
        SHOP
        + script(
            "window.done = false; onload = () => setTimeout(() => { location.href = `javascript:'"
            + "<script>"
            + KEEP.replace("W.", "window.").replace("'", "\\\\'").replace("</", "<\\/")
            + "<\\/script><button id=delete>Delete all</button>'` }, 100)"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "all that the document has is put in anew behind a listener",
        SHOP
        + DELETE
        + script(
            KEEP.replace("W.", "document.documentElement.")
            + "const h = document.documentElement; document.replaceChildren(); setTimeout(() => {"
            " document.replaceChildren(h); }, 50)"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a button of a document without a window is adopted",
        SHOP
        + script(
            "const d = document.implementation.createHTMLDocument(''); d.body.innerHTML = '"
            + DELETE
            + "'; const b = d.querySelector('button'); b.addEventListener('click', e => {"
            " e.stopImmediatePropagation(); " + SENT + " }, true);"
            " document.body.append(document.adoptNode(b))"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the body of a document without a window takes the place of the page's",
        SHOP
        + script(
            "const d = new DOMParser().parseFromString('<body>" + DELETE + "', 'text/html');"
            " document.documentElement.replaceChild(d.body, document.body);" + CLICKED
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a sheet transforms the page into the button",
        SHOP
        + script(
            "const x = new DOMParser().parseFromString(`" + SHEET + "`, 'text/xml');"
            " if (window.XSLTProcessor) { const p = new XSLTProcessor(); p.importStylesheet(x);"
            " document.body.append(p.transformToFragment(x, document)) } else"
            f" document.body.insertAdjacentHTML('beforeend', '{DELETE}'); {CLICKED}"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a closed root within a closed root",
        SHOP
        + f"<div id=host {BOX}></div>"
        + script(
            "const a = document.querySelector('#host').attachShadow({mode: 'closed'}); a.innerHTML"
            f" = `<div {BOX}></div>`; a.firstChild.attachShadow({{mode: 'closed'}}).innerHTML ="
            f" `{WIDE}`"
        ),
        delete_in_a_closed_root,
    ),
    HostilePage(
        "a closed root within an open one within a closed one",
        SHOP
        + f"<div id=host {BOX}></div>"
        + script(
            "const a = document.querySelector('#host').attachShadow({mode: 'closed'}); a.innerHTML"
            f" = `<div {BOX}></div>`; const b = a.firstChild.attachShadow({{mode: 'open'}});"
            f" b.innerHTML = `<div {BOX}></div>`; b.firstChild.attachShadow({{mode:"
            f" 'closed'}}).innerHTML = `{WIDE}`"
        ),
        delete_in_a_closed_root,
    ),
    HostilePage(
        "an element makes its closed root as the mouse comes down",
        SHOP
        + f"<x-h id=host {BOX}></x-h>"
        + script(
            "const h = document.querySelector('#host'); h.onpointerdown = () =>"
            " customElements.define('x-h', class extends HTMLElement { constructor() { super();"
            f" this.attachShadow({{mode: 'closed'}}).innerHTML = `{WIDE}` }} }})"
        ),
        delete_in_a_closed_root,
    ),
    HostilePage(
        "an element's own internals hold its closed root of markup",
        SHOP
        + f"<x-h id=host {BOX}><template shadowrootmode=closed>{WIDE}</template></x-h>"
        + script(
            "customElements.define('x-h', class extends HTMLElement { constructor() { super();"
            " const r = this.attachInternals().shadowRoot; r.addEventListener('click', e => {"
            " e.stopImmediatePropagation(); " + SENT + " }, true) } })"
        ),
        delete_in_a_closed_root,
        asks="/delete",
    ),
    HostilePage(
        "a closed root in a frame of a text",
        SHOP + f'<iframe {SIZE} srcdoc="<div id=delete {BOX}><template shadowrootmode=closed>{WIDE}'
        '</template></div>"></iframe>',
        delete_in_an_inner_frame,
    ),
    HostilePage(
        "a page parsed with its closed roots is adopted",
        SHOP
        + script(
            "const d = (Document.parseHTMLUnsafe ?? (t => new DOMParser().parseFromString(t,"
            f" 'text/html')))(`<div id=host {BOX}><template shadowrootmode=closed>{WIDE}"
            "</template></div>`); document.body.append(document.adoptNode(d.body.firstChild))"
        ),
        delete_in_a_closed_root,
    ),
    HostilePage(
        "a copy of a root that can be copied",
        SHOP + "<template id=t><div id=host style='display: block; width: 200px; height:"
        f" 40px'><template shadowrootmode=closed shadowrootclonable>{WIDE}</template></div>"
        "</template>"
        + script(
            "document.body.append(document.importNode(document.querySelector('#t').content, true))"
        ),
        delete_in_a_closed_root,
    ),
    HostilePage(
        "a frame's text is another as the mouse comes down",
        SHOP
        + f"<iframe {SIZE} srcdoc='{DELETE}'></iframe>"
        + script(
            "window.done = false; const f = document.querySelector('iframe'); f.onload = () => {"
            " f.onload = null; f.contentDocument.querySelector('#delete').onpointerdown = () => {"
            + SENT
            + "; f.srcdoc = 'gone' }; window.done = true }"
        ),
        delete_in_a_frame,
        asks="/delete",
    ),
    HostilePage(
        "a click that is taken from a target of its own making",
        SHOP
        + DELETE
        + script(
            "Event.prototype.composedPath = () => []; Object.defineProperty(Event.prototype,"
            " 'isTrusted', {get: () => false}); Object.defineProperty(Event.prototype,"
            " 'eventPhase', {get: () => 0}); window.Event = window.MouseEvent = null; " + CLICKED
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the page touches the button's name while it is touched",
        SHOP + DELETE + script(CLICKED),
        delete_by_touch,
        asks="/delete",
    ),
    HostilePage(
        "touches are kept back by the page",
        SHOP
        + DELETE
        + script(
            "for (const t of ['touchstart', 'pointerdown', 'click']) addEventListener(t, e =>"
            " e.stopImmediatePropagation(), true)"
        ),
        delete_by_touch,
    ),
    HostilePage(
        "keys that press the button are kept back by the page",
        SHOP
        + DELETE
        + script(
            "for (const t of ['keydown', 'keypress', 'keyup', 'click']) addEventListener(t, e => {"
            " e.stopImmediatePropagation(); if (t === 'click') " + SENT + " }, true)"
        ),
        delete_by_key,
        asks="/delete",
    ),
    HostilePage(
        "an option of a drawn list bears the name",
        SHOP
        + "<style>select, ::picker(select) { appearance: base-select }</style><select><option>None"
        "<option id=delete>Delete all</select>"
        + script("document.querySelector('select').onchange = () => " + SENT),
        delete_by_a_chosen_option,
        asks="/delete",
    ),
    HostilePage(
        "a place in a picture bears the name",
        SHOP
        + "<img id=delete src=data:, width=200 height=40 usemap=#m><map name=m><area shape=rect"
        " coords=0,0,200,40 href=#x alt='Delete all'></map>"
        + script(f"document.querySelector('area').onclick = () => {SENT}"),
        delete,
    ),
    HostilePage(
        "a drawing's own link bears the name",
        SHOP + "<svg width=200 height=40><a id=delete href=#x role=button><rect width=200"
        " height=40 /><text y=20>Delete all</text></a></svg>"
        + script(f"document.querySelector('#delete').addEventListener('click', () => {SENT})"),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a picture that sends bears the name",
        SHOP
        + "<form action=/delete method=post><input type=image id=delete alt='Delete all' width=200"
        " height=40></form>",
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a summary of details bears the name",
        SHOP
        + "<details><summary id=delete>Delete all</summary>gone</details>"
        + script(f"document.querySelector('details').ontoggle = () => {SENT}"),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a click in a worker's time: the page is kept busy from the press on",
        SHOP
        + DELETE
        + script(
            f"{BUTTON}.onpointerdown = () => {{ {SENT}; const t = Date.now() + 3000; while"
            " (Date.now() < t); }"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "ten thousand fields come with the click",
        on_delete(
            SENT
            + "; document.body.insertAdjacentHTML('beforeend', '<input value=x>'.repeat(10000))"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a thousand frames come with the click",
        on_delete(
            SENT + "; for (let i = 0; i < 300; i++) document.body.append("
            "document.createElement('iframe'))"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a thousand requests come with the click",
        on_delete(SENT + "; for (let i = 0; i < 1000; i++) fetch('/ok?' + i).catch(() => 0)"),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the button's name is of a hundred thousand letters",
        SHOP
        + "<button id=delete style='width: 200px; height: 40px; overflow: hidden'>Delete all</button>"
        + script(
            f"{BUTTON}.onpointerdown = () => {{ {BUTTON}.append('x'.repeat(1e5)) }};"
            f" {BUTTON}.onclick = () => {SENT}"
        ),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "a prompt stands while the button is pressed",
        on_delete(SENT + "; setTimeout(() => { prompt('?') }); setTimeout(() => alert(1), 50)"),
        delete,
        asks="/delete",
    ),
]
