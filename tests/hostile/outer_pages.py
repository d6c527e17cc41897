"""The corpus, its fourth part: documents that have no address of their own, writes that leave with
a tab, what is taken out of one document and put into another."""

from __future__ import annotations

from tests.hostile.pages import DELETE, SENT, SHOP, HostilePage, on_delete, script
from tests.hostile.visitor import (
    delete,
    delete_in_a_popup,
    delete_in_an_inner_frame,
    look,
)

BUTTON = "<button id=delete>Delete all</button>"
OPEN = SHOP + "<button id=open>Open</button>"
FORM = "<form action=/delete method=post><button id=delete>Delete all</button></form>"


def on_open(code: str) -> str:
    """A page whose button "Open" does ``code``."""
    return OPEN + script(f"document.querySelector('#open').onclick = () => {{ {code} }}")


def under_worker(at_click: str, worker: str) -> HostilePage:
    """A page whose button does ``at_click`` with ``reg``, the registration of ``worker``."""
    html = (
        SHOP
        + DELETE
        + script(
            "window.done = false; navigator.serviceWorker.register('/sw.js').then(() =>"
            " navigator.serviceWorker.ready).then(r => { window.reg = r; window.done = true });"
            f" document.querySelector('#delete').onclick = () => {at_click}"
        )
    )
    return HostilePage("", html, delete, {"/sw.js": worker}, asks="/delete")


PAID_FOR_NOTHING = [
    HostilePage(
        "the page leads to the receipt by itself",
        SHOP + "<meta http-equiv=refresh content='0; url=/orders/1'>",
        look,
    ),
    HostilePage("an object shows the receipt", SHOP + "<object data=/orders/1></object>", look),
]

HIDDEN = [
    HostilePage(
        "the button in a page of a blob that the shop made",
        on_open(
            "window.open(URL.createObjectURL(new Blob([`<button id=delete onclick=\"fetch('${"
            "location.origin}/delete', {method: 'POST'})\">Delete all</button>`], {type:"
            " 'text/html'})))"
        ),
        delete_in_a_popup,
        asks="/delete",
    ),
    HostilePage(
        "the button in an empty popup that its opener fills",
        on_open(
            "const w = window.open('about:blank'); w.document.body.innerHTML = '" + BUTTON + "';"
            " w.document.querySelector('#delete').onclick = () => " + SENT
        ),
        delete_in_a_popup,
        asks="/delete",
    ),
    HostilePage(
        "the button in a frame of data",
        SHOP + f'<iframe src="data:text/html,{BUTTON}" width=300 height=200></iframe>',
        delete_in_an_inner_frame,
    ),
    HostilePage(
        "the form goes into a new tab",
        SHOP + FORM.replace("<button", "<button formtarget=_blank"),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a form of a popup that goes as it sends",
        SHOP
        + DELETE
        + "<form id=f action=/delete method=post target=t></form>"
        + script(
            "document.querySelector('#delete').onclick = () => { const w = open('about:blank', 't');"
            " f.submit(); setTimeout(() => w.close(), 20) }"
        ),
        delete,
    ),
    HostilePage(
        "a synchronous request of a popup that closes",
        on_delete(
            "const w = open('about:blank'), x = new w.XMLHttpRequest(); x.open('POST',"
            " location.origin + '/delete', false); x.send(); w.close()"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a synchronous request as the page is left",
        SHOP
        + DELETE
        + script(
            "onpagehide = () => { const x = new XMLHttpRequest(); x.open('POST', '/delete', false);"
            " try { x.send() } catch (e) { navigator.sendBeacon('/delete') } };"
            " document.querySelector('#delete').onclick = () => { location = '/ok' }"
        ),
        delete,
        asks="/delete",
    ),
    under_worker(
        "reg.sync.register('x')",
        "addEventListener('sync', e => e.waitUntil(fetch('/delete', {method: 'POST'})))",
    )._replace(name="a worker's background sync writes"),
    HostilePage(
        "a picture-in-picture window's own fetch writes",
        SHOP
        + DELETE
        + script(
            "document.querySelector('#delete').onclick = async () => (await"
            " documentPictureInPicture.requestWindow()).fetch(location.origin + '/delete', {method:"
            " 'POST'})"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the root element is replaced by its copy",
        SHOP
        + DELETE
        + script("document.documentElement.replaceWith(document.documentElement.cloneNode(true))"),
        delete,
    ),
    HostilePage(
        "a form that was taken out of a frame, which is gone",
        SHOP
        + f"<iframe srcdoc='{FORM}'></iframe>"
        + script(
            "window.done = false; document.querySelector('iframe').onload = e => {"
            " document.body.append(e.target.contentDocument.forms[0]); e.target.remove(); window.done"
            " = true }"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "an empty frame with a listener before anybody's",
        SHOP
        + "<div id=d></div>"
        + script(
            "const f = document.createElement('iframe'); d.append(f); for (const t of ['click',"
            " 'pointerdown', 'pointerup']) f.contentWindow.addEventListener(t, e =>"
            " e.stopImmediatePropagation(), true); f.contentDocument.body.innerHTML = '"
            + BUTTON
            + "'"
        ),
        delete_in_an_inner_frame,
    ),
    HostilePage(
        "a worker of a data: address sends it",
        on_delete(
            "new Worker('data:text/javascript,' + encodeURIComponent(`fetch('${location.origin}"
            "/delete', {method: 'POST', mode: 'no-cors'})`))"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a worker within a sandboxed frame sends it",
        SHOP
        + DELETE
        + "<iframe sandbox=allow-scripts srcdoc=\"<script>onmessage = e => new Worker('data:text"
        "/javascript,' + encodeURIComponent(`fetch('${e.data}', {method: 'POST', mode:"
        " 'no-cors'})`), {type: 'module'})</script>\"></iframe>"
        + script(
            "document.querySelector('#delete').onclick = () => frames[0].postMessage("
            "location.origin + '/delete', '*')"
        ),
        delete,
        asks="/delete",
    ),
]
