"""The site of the scene: two hosts, a WebSocket, a file."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from websockets.sync.server import ServerConnection, serve

from tests.cdp.site import Answer, Site

FILE = (("content-type", "text/csv"), ("content-disposition", "attachment; filename=list.csv"))
HEAD = "<!doctype html><link rel=icon href='data:,'>"


@contextmanager
def scene_site() -> Iterator[Site]:
    """The pages that tests/conformance/scene.py walks through."""
    with serve(_echo, "127.0.0.1", 0) as echo, Site() as site:
        port = echo.socket.getsockname()[1]
        thread = threading.Thread(target=echo.serve_forever)
        thread.start()
        site.page(
            "/",
            f"{HEAD}<title>Shop</title><form method=post action=/order>"
            "<input name=who aria-label=Name><input type=checkbox name=express aria-label=Express>"
            f"<button>Order</button></form><iframe src='{site.other}/inner'></iframe>",
        )
        site.page("/order", Answer(status=303, headers=(("location", "/done"),)))
        site.page("/done", DONE.replace("OTHER", site.other).replace("PORT", str(port)))
        site.page("/inner", f"""{HEAD}<style>button {{ position: absolute; inset: 0 }}</style>
            <button onclick="parent.postMessage('rated', '*')">Rate us</button>
            <script>onload = () => parent.postMessage('framed', '*')</script>""")  # fmt: skip
        site.page(
            "/popup",
            f"{HEAD}<title>Popup</title><script>onload = () =>"
            " opener.postMessage('popped')</script>",
        )
        site.page("/dialogs", DIALOGS)
        site.page("/left", f"{HEAD}<title>left</title>")
        site.page("/file", Answer("a,b\n", headers=FILE))
        try:
            yield site
        finally:
            echo.shutdown()
            thread.join()


def _echo(socket: ServerConnection) -> None:
    for message in socket:
        socket.send(message)


DONE = f"""{HEAD}<title>Thanks</title>
<script>
  onmessage = (event) => window[event.data] = true;
  function talk() {{
    const socket = new WebSocket('ws://127.0.0.1:PORT/');
    socket.onopen = () => socket.send('hello');
    socket.onmessage = (event) => window.echo = event.data;
  }}
</script>
<button id=ask onclick="document.title = confirm('Sure?')">Ask</button>
<button id=open onclick="window.popup = window.open('/popup')">Open</button>
<button id=shut onclick="popup.close()">Shut</button>
<button id=route onclick="history.pushState(0, '', '/route')">Route</button>
<button id=talk onclick="talk()">Talk</button>
<a id=save href=/file>Save</a>
<p><iframe src='OTHER/inner'></iframe>"""

DIALOGS = f"""{HEAD}<title>dialogs</title>
<script>
  window.said = [];
  onbeforeunload = (event) => {{ if (window.leaving) {{ window.asked = true; event.preventDefault() }} }};
  function leave() {{
    window.leaving = true;
    location = '/left';
    setTimeout(() => window.leaving = false, 200);
  }}
</script>
<button id=alert onclick="said.push(String(alert('hello')))">Alert</button>
<button id=confirm onclick="said.push(String(confirm('Sure?')))">Confirm</button>
<button id=prompt onclick="said.push(String(prompt('Name?', 'x')))">Prompt</button>
<a id=save href=/file>Save</a> <input id=name> <button id=leave onclick="leave()">Leave</button>"""
