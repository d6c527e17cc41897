"""The corpus, its second part: rarer elements and interfaces of the browser, and places that go
away with the write."""

from __future__ import annotations

from tests.hostile.pages import DELETE, FORM, SENT, SHOP, HostilePage, on_delete, script
from tests.hostile.visitor import (
    delete,
    delete_at_another_host,
    delete_in_a_closed_root,
    delete_in_a_frame,
    delete_in_a_popup,
    look,
    order,
    order_in_an_unseen_field,
    order_in_another_field,
    press_delete,
    write_in_a_frame,
)

KEPT = "{method: 'POST', keepalive: true, mode: 'no-cors'}"
REMOVES = (
    SHOP
    + "<iframe></iframe>"
    + script(
        "window.done = false; const f = document.querySelector('iframe'); onmessage = () =>"
        " f.remove();f.onload = () => { window.done = true }; f.src = FROM + '/in.html'"
    )
)
"""A page that removes its frame, which is of another host, as soon as that says so."""


def framed(path: str, code: str, to: str = "'/delete'") -> dict[str, str]:
    """A page for a frame or popup, whose button sends the write and then does ``code``; ``to``: an
    expression."""
    kept = f"fetch({to}, {KEPT}); {code}"
    return {
        path: DELETE + script(f"document.querySelector('#delete').onclick = () => {{ {kept} }}")
    }


PAID_FOR_NOTHING = [
    HostilePage(
        "pushState through the Navigation API",
        SHOP
        + script(
            "navigation.addEventListener('navigate', e => e.canIntercept && e.intercept({handler:"
            " async () => { document.title = 'order 1' }})); navigation.navigate('/orders/1')"
        ),
        look,
    ),
    HostilePage(
        "a view transition shows the receipt",
        SHOP
        + script(
            "document.startViewTransition?.(() => { document.body.innerHTML = '<h1>Order 1</h1>';"
            "history.pushState({}, '', '/orders/1') })"
        ),
        look,
    ),
    HostilePage(
        "a custom element gives the form its fields",
        SHOP.replace("<input name=item>", "<input id=typed name=other>")
        + "<script>customElements.define('x-item', class extends HTMLElement { static"
        " formAssociated = true;constructor() { super();"
        " this.attachInternals().setFormValue('chair') } });const x ="
        " document.createElement('x-item'); x.setAttribute('name', 'item');"
        " order.append(x)</script>",
        order_in_another_field,
    ),
    HostilePage(
        "a second item field that nobody can see",
        SHOP.replace(
            "<button", "<input aria-label=Item style='position: absolute; left: -9999px'><button"
        ),
        order_in_an_unseen_field,
    ),
    HostilePage(
        "an import map puts another item in",
        '<script type=importmap>{"imports": {"shop": "/evil.js"}}</script><title>shop</title>'
        + FORM
        + "<script type=module>import 'shop'</script>",
        order,
        {"/evil.js": "order.addEventListener('formdata', e => e.formData.set('item', 'chair'))"},
    ),
    HostilePage(
        "a form outside of the dialog has the button",
        SHOP + "<dialog id=d open><form method=dialog><label>Item <input id=inner></label>"
        "<button id=fake>Order</button></form></dialog>"
        + script("order.onsubmit = e => e.preventDefault()"),
        order,
    ),
    HostilePage(
        "a beacon says that the order is there",
        SHOP
        + script(
            "navigator.sendBeacon('/orders/1', new URLSearchParams({item: 'lamp'})); order.onsubmit"
            " = () => false"
        ),
        look,
    ),
    HostilePage(
        "a ping orders",
        SHOP
        + script(
            "const a = Object.assign(document.createElement('a'), {href: '/ok', ping: '/orders'});"
            "document.body.append(a); a.click()"
        ),
        look,
    ),
    HostilePage(
        "script fills a form in a shadow root that gives its focus on",
        SHOP
        + "<div id=host></div>"
        + script(
            "const root = document.querySelector('#host').attachShadow({mode: 'open',"
            " delegatesFocus: true});root.innerHTML = '<label>Item <input></label>'; const i ="
            " root.querySelector('input');document.querySelector('#host').focus(); i.value ="
            " 'lamp';i.dispatchEvent(new Event('input', {bubbles: true, composed: true})); i.blur()"
        ),
        look,
    ),
    HostilePage(
        "script pastes the item",
        SHOP
        + script(
            "const i = document.querySelector('[name=item]'); i.focus();i.dispatchEvent(new"
            " ClipboardEvent('paste', {clipboardData: new DataTransfer(), bubbles:"
            " true}));i.setRangeText('lamp'); i.dispatchEvent(new InputEvent('input', {data:"
            " 'lamp',inputType: 'insertFromPaste', bubbles: true}))"
        ),
        look,
    ),
    HostilePage(
        "a sandboxed frame without an origin orders",
        SHOP
        + '<iframe sandbox=allow-scripts srcdoc="'
        + "<script>parent.postMessage('order 1', '*')</script>"
        + FORM.replace('"', "'")
        + '"></iframe>'
        + script("order.onsubmit = () => false"),
        look,
    ),
]

HIDDEN = [
    HostilePage(
        "the shop in a frame of another host's page, which removes it",
        REMOVES.replace("FROM", "location.origin.replace('localhost', '127.0.0.1')"),
        delete_at_another_host,
        framed("/in.html", "parent.postMessage('now', '*')"),
        asks="/delete",
    ),
    HostilePage(
        "a frame of another host that writes to the shop and is removed",
        REMOVES.replace("FROM", "location.origin.replace('127.0.0.1', 'localhost')"),
        write_in_a_frame,
        framed(
            "/in.html",
            "parent.postMessage('now', '*')",
            "location.origin.replace('localhost', '127.0.0.1') + '/delete'",
        ),
        asks="/delete",
    ),
    HostilePage(
        "a popup that closes itself",
        "<button id=open>open</button>"
        + script(
            "document.querySelector('#open').onclick = () => window.open('/in.html', 'w',"
            " 'width=400,height=300')"
        ),
        delete_in_a_popup,
        framed("/in.html", "window.close()"),
        asks="/delete",
    ),
    HostilePage(
        "a popup without an opener that closes itself",
        "<button id=open>open</button>"
        + script(
            "document.querySelector('#open').onclick = () => window.open('/in.html', '',"
            " 'noopener')"
        ),
        delete_in_a_popup,
        framed("/in.html", "window.close()"),
        asks="/delete",
    ),
    HostilePage(
        "a frame that is made and removed for the write",
        on_delete(
            "const f = document.createElement('iframe'); document.body.append(f);"
            f"f.contentWindow.fetch('/delete', {KEPT}); f.remove()"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a beacon of a frame that is made and removed",
        on_delete(
            "const f = document.createElement('iframe'); document.body.append(f);"
            "f.contentWindow.navigator.sendBeacon('/delete'); f.remove()"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage("a beacon", on_delete("navigator.sendBeacon('/delete')"), delete, asks="/delete"),
    HostilePage(
        "a worker that is ended with its write",
        on_delete(
            "const w = new Worker(URL.createObjectURL(new"
            f" Blob([`fetch('${{location.origin}}/delete', {KEPT});postMessage(1)`]))); w.onmessage"
            " = () => w.terminate()"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a worker of a worker sends it",
        on_delete(
            "const inner = `fetch('${location.origin}/delete', {method: 'POST'})`;"
            "const outer = `new Worker(URL.createObjectURL(new Blob([${JSON.stringify(inner)}])))`;"
            "new Worker(URL.createObjectURL(new Blob([outer])))"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "the ping of a link",
        SHOP + "<a id=delete href='#there' ping=/delete>Delete all</a>",
        delete,
        asks="/delete",
    ),
    HostilePage(
        "fetchLater",
        on_delete(
            "window.fetchLater ? fetchLater('/delete', {method: 'POST', activateAfter: 0}) : "
            + SENT
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "fetchLater of a frame that is removed",
        on_delete(
            "if (!window.fetchLater) { " + SENT + "; return }"
            "const f = document.createElement('iframe'); document.body.append(f);"
            "f.contentWindow.fetchLater('/delete', {method: 'POST'}); f.remove()"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a lock is held until the write",
        on_delete("navigator.locks.request('l', () => " + SENT + ")"),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a policy of trusted types",
        "<meta http-equiv=content-security-policy content=\"require-trusted-types-for 'script';"
        ' trusted-types none">' + on_delete(SENT),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a policy that allows no inline script, in a frame of srcdoc",
        SHOP + "<iframe srcdoc='<form action=/delete method=post><button id=delete>Delete"
        " all</button></form>' csp=\"script-src 'none'\" width=300 height=200></iframe>",
        delete_in_a_frame,
        asks="/delete",
    ),
    HostilePage(
        "a sandboxed frame that may run no script",
        SHOP + "<iframe sandbox='allow-forms' srcdoc='<form action=/delete method=post><button"
        " id=delete>Delete all</button></form>' width=300 height=200></iframe>",
        delete_in_a_frame,
        asks="/delete",
    ),
    HostilePage(
        "a button in a popover",
        SHOP
        + "<button id=show popovertarget=p>More</button><div id=p popover><button id=delete>Delete"
        " all</button></div>"
        + script(
            "document.querySelector('#p').showPopover(); document.querySelector('#delete').onclick"
            " = () => " + SENT
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a button that invokes a command",
        SHOP
        + "<dialog id=d></dialog><button id=delete command=--go commandfor=d>Delete all</button>"
        + script("document.querySelector('#d').addEventListener('command', () => {" + SENT + "})"),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a button of a modal dialog that closes with it",
        SHOP
        + "<dialog id=d><form method=dialog><button id=delete>Delete all</button></form></dialog>"
        + script(
            "const d = document.querySelector('#d'); d.showModal(); d.onclose = () => { d.remove();"
            + SENT
            + "}"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a button that is a form-associated element",
        SHOP
        + "<x-b id=delete role=button tabindex=0>Delete all</x-b>"
        + script(
            "customElements.define('x-b', class extends HTMLElement { static formAssociated ="
            " true;constructor() { super(); this.attachShadow({mode: 'closed'}).innerHTML ="
            " '<slot></slot>' } });document.querySelector('x-b').onclick = () => {" + SENT + "}"
        ),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "a shadow root in the page's own markup, closed",
        SHOP + "<div id=host style='display: block; width: 200px; height: 40px'><template"
        " shadowrootmode=closed><button style='width: 200px; height: 40px'>Delete"
        " all</button></template></div>",
        delete_in_a_closed_root,
    ),
    HostilePage(
        "the Navigation API stops the form and sends it by itself",
        SHOP
        + "<form action=/delete method=post><button id=delete>Delete all</button></form>"
        + script(
            "navigation.addEventListener('navigate', e => e.formData && e.canIntercept &&"
            " e.intercept({handler: () => " + SENT + "}))"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a view transition runs at the click",
        on_delete(
            "document.startViewTransition(() => { document.body.innerHTML = 'gone';" + SENT + " })"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a child's document is written with the button",
        SHOP
        + "<iframe width=300 height=200></iframe>"
        + script(
            "const d = document.querySelector('iframe').contentDocument; d.write(\"<button"
            " id=delete onclick=\\\"fetch('/delete', {method: 'POST'})\\\">Delete all</button>\");"
            " d.close()"
        ),
        delete_in_a_frame,
        asks="/delete",
    ),
    HostilePage(
        "a stylesheet shows another name",
        SHOP + "<style>#delete { font-size: 0 } #delete::after { content: 'Cancel'; font-size: 16px"
        " }</style>" + on_delete(SENT).removeprefix(SHOP),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "a name that is hidden from those who read by name",
        SHOP
        + "<button id=delete><span aria-hidden=true>Delete all</span></button>"
        + script("document.querySelector('#delete').onclick = () => {" + SENT + "}"),
        press_delete,
        asks="/delete",
    ),
    HostilePage(
        "a service worker writes after its page has gone",
        SHOP
        + DELETE
        + script(
            "window.done = false; navigator.serviceWorker.register('/sw.js').then(() =>"
            " navigator.serviceWorker.ready).then(r => { window.done = true;"
            " document.querySelector('#delete').onclick = () => {r.active.postMessage('go');"
            " location = '/ok' } })"
        ),
        delete,
        {
            "/sw.js": (
                "addEventListener('message', e => e.waitUntil(fetch('/delete', {method: 'POST'})))"
            )
        },
        asks="/delete",
    ),
    HostilePage(
        "a shared worker of another page writes",
        on_delete(
            "const w = new SharedWorker('/shared.js'); w.port.postMessage('go');"
            "setTimeout(() => { location = '/ok' }, 200)"
        ),
        delete,
        {
            "/shared.js": (
                "onconnect = e => { e.ports[0].onmessage = () => fetch('/delete', {method:"
                " 'POST'}) }"
            )
        },
        asks="/delete",
    ),
    HostilePage(
        "a violation of the page's policy is reported",
        "<meta name=referrer content=origin>"
        + on_delete(
            "const i = new Image(); i.src = '/csp-report'; navigator.sendBeacon('/delete', new"
            " Blob(['{}'],{type: 'application/json'}))"
        ),
        delete,
        asks="/delete",
    ),
    HostilePage(
        "a message channel of a frame sends it",
        SHOP
        + DELETE
        + "<iframe src=/in.html></iframe>"
        + script(
            "const c = new MessageChannel(); window.done = false;"
            " document.querySelector('iframe').onload = e =>"
            " {e.target.contentWindow.postMessage('', '*', [c.port2]); window.done = true"
            " };document.querySelector('#delete').onclick = () => {"
            " c.port1.postMessage('go');setTimeout(() => document.querySelector('iframe').remove(),"
            " 5) }"
        ),
        delete,
        {
            "/in.html": script(
                f"onmessage = e => {{ e.ports[0].onmessage = () => fetch('/delete', {KEPT}) }}"
            )
        },
        asks="/delete",
    ),
]
