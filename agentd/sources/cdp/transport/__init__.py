"""What carries DevTools messages: the browser's own websocket, or a session of a harness's library.

- wire: what a transport is
- websocket: the browser's debugging port; address finds it, connection numbers the messages
- explicit_attach: over either: attaches to new targets by name, so that nothing is held up
- tunnel: a browser-level session of somebody else's connection, sessions inside it in nested
  messages
- carrier: what a tunnel is dug through, and the inbox that crosses threads
- filters: which targets a target filter lets through
"""
