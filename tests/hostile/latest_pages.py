"""The corpus, its third part: frames of other elements, documents that a service worker makes, what
moves or is made as the mouse comes down."""

from __future__ import annotations

from tests.hostile.pages import DELETE, SENT, SHOP, HostilePage, on_delete, script, worker
from tests.hostile.visitor import (
    delete,
    delete_in_a_closed_root,
    delete_in_an_inner_frame,
    look,
    order,
    press_delete,
    visit_a_receipt_that_is_not_there,
)

IN = {"/in.html": DELETE + script("document.querySelector('#delete').onclick = () => " + SENT)}
SIZE = "width=300 height=200"


def receipt_by(name: str, answer: str) -> HostilePage:
    """A worker that answers the receipt's address by the expression ``answer``."""
    code = f"if (new URL(event.request.url).pathname === '/orders/1') event.respondWith({answer})"
    visit = visit_a_receipt_that_is_not_there
    return HostilePage(name, visit=visit, **worker(code))  # type: ignore[arg-type]


PAID_FOR_NOTHING = [
    receipt_by(
        "a worker makes the receipt up",
        "new Response('<title>order 1</title>', {headers: {'content-type': 'text/html'}})",
    ),
    receipt_by("a worker shows another page at the receipt", "fetch('/ok')"),
    receipt_by(
        "a worker keeps a receipt of its own",
        "caches.open('c').then(c => c.put('/orders/1', new Response('<title>order 1</title>',"
        " {headers: {'content-type': 'text/html'}})).then(() => c.match('/orders/1')))",
    ),
    HostilePage(
        "the page loads anew at the receipt that script wrote",
        SHOP
        + script(
            "if (!sessionStorage.done) { sessionStorage.done = 1; window.done = false;"
            " history.pushState({}, '', '/orders/1'); location.reload() }"
        ),
        look,
    ),
    HostilePage(
        "a base leads a link to the receipt",
        "<base href=/orders/>" + SHOP + "<a id=a href=1>1</a>" + script("a.click()"),
        look,
    ),
    HostilePage(
        "a frame shows the receipt's address by script",
        SHOP
        + "<iframe src=/ok></iframe>"
        + script(
            "document.querySelector('iframe').onload = e =>"
            " e.target.contentWindow.history.pushState({}, '', '/orders/1')"
        ),
        look,
    ),
    HostilePage(
        "script hands the form's button another form",
        SHOP
        + "<form id=other action=/broken method=post></form>"
        + script("send.setAttribute('form', 'other')"),
        order,
    ),
]

HIDDEN = [
    HostilePage(
        "the button in an object's document",
        SHOP + f"<object data=/in.html type=text/html {SIZE}></object>",
        delete_in_an_inner_frame,
        IN,
        asks="/delete",
    ),
    HostilePage(
        "the button in an embedded document",
        SHOP + f"<embed src=/in.html type=text/html {SIZE}>",
        delete_in_an_inner_frame,
        IN,
        asks="/delete",
    ),
    HostilePage(
        "the button in a frame of a text in a frame of a text",
        SHOP
        + f"<iframe {SIZE} srcdoc=\"<iframe {SIZE} srcdoc='<form action=/delete method=post><button"
        " id=delete>Delete all</button></form>'></iframe>\"></iframe>",
        delete_in_an_inner_frame,
        asks="/delete",
    ),
    HostilePage(
        "the button in a frame without the page's credentials",
        SHOP + f"<iframe credentialless src=/in.html {SIZE}></iframe>",
        delete_in_an_inner_frame,
        IN,
        asks="/delete",
    ),
    HostilePage(
        "the button is moved to another place as the mouse comes down",
        SHOP
        + DELETE
        + "<div id=there></div>"
        + script(
            "const b = document.querySelector('#delete'), t = document.querySelector('#there');"
            " b.onpointerdown = () => t.moveBefore ? t.moveBefore(b, null) : t.append(b);"
            " b.onpointerup = () => " + SENT
        ),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "the button is made inert as the mouse comes down",
        SHOP
        + DELETE
        + script(
            "const b = document.querySelector('#delete');"
            " b.onpointerdown = () => { b.inert = true; " + SENT + " }"
        ),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "a closed root out of markup that script sets",
        SHOP
        + "<div id=c></div>"
        + script(
            "document.querySelector('#c').setHTMLUnsafe(\"<div id=host style='display: block; width:"
            " 200px; height: 40px'><template shadowrootmode=closed><button style='width: 200px;"
            " height: 40px'>Delete all</button></template></div>\")"
        ),
        delete_in_a_closed_root,
    ),
    HostilePage(
        "a worker that is installed at the click writes",
        on_delete("navigator.serviceWorker.register('/late.js')"),
        delete,
        {
            "/late.js": (
                "addEventListener('install', e => e.waitUntil(fetch('/delete', {method: 'POST'})))"
            )
        },
        asks="/delete",
    ),
    HostilePage(
        "a worker that is updated at the click writes",
        SHOP
        + DELETE
        + script(
            "window.done = false; navigator.serviceWorker.register('/up.js').then(() =>"
            " navigator.serviceWorker.ready).then(() => { window.done = true });"
            " document.querySelector('#delete').onclick = () =>"
            " navigator.serviceWorker.register('/up2.js', {scope: '/'})"
        ),
        delete,
        {
            "/up.js": "addEventListener('install', () => skipWaiting())",
            "/up2.js": (
                "addEventListener('install', () => skipWaiting()); addEventListener('activate', e"
                " => e.waitUntil(fetch('/delete', {method: 'POST'})))"
            ),
        },
        asks="/delete",
    ),
    HostilePage(
        "a frame's address of script writes",
        on_delete(
            "const f = document.createElement('iframe');"
            " f.src = \"javascript:fetch('/delete', {method: 'POST'}); ''\"; document.body.append(f)"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a form of a frame that goes as it sends",
        SHOP + DELETE + "<iframe name=t></iframe><form id=f action=/delete method=post"
        " target=t></form>"
        + script(
            "document.querySelector('#delete').onclick = () => { f.submit(); setTimeout(() =>"
            " document.querySelector('iframe').remove(), 30) }"
        ),
        delete,
    ),
    HostilePage(
        "a download that the page makes, and a write behind it",
        on_delete(
            "const a = document.createElement('a'); a.download = 'a.txt';"
            " a.href = URL.createObjectURL(new Blob(['x'])); a.click(); " + SENT
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a write as the page goes back through its history",
        SHOP
        + DELETE
        + script(
            "history.pushState({}, '', '/#a'); onpopstate = () => { " + SENT + "; location = '/ok'"
            " }; document.querySelector('#delete').onclick = () => history.back()"
        ),
        delete,
    ),
    HostilePage(
        "a shadow of a slot bears the button's name",
        SHOP
        + "<x-h id=host><button id=delete>Delete all</button></x-h>"
        + script(
            "const h = document.querySelector('#host'); h.attachShadow({mode: 'closed'}).innerHTML"
            " = '<slot></slot>'; h.addEventListener('click', e => { e.stopImmediatePropagation(); "
            + SENT
            + " }, true)"
        ),
        delete,
        asks="/delete",
    ),
]
