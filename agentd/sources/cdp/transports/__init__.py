"""What carries DevTools messages: the browser's own websocket, or a session that a harness's library holds.

wire       what a transport is
websocket  the browser's debugging port
tunnel     a browser-level session of somebody else's connection, sessions inside it in nested messages
filters    which targets a target filter lets through
"""
