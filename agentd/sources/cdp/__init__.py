"""The browser as a source: raw flattened DevTools sessions that observe and never touch.

connection  websocket, message numbers, replies in stream order
address     where the browser listens, from an http address or a profile folder
attach      targets and sessions: what is enabled where, and when a wave of attachments is done
normaliser  one raw message -> observations; hands it to the folds below, which do no I/O
  navigation, tabs, network, dialogs, downloads, page_events, with masking for secrets
page/       the observer script, bundled into page/observer.bundle.js at build time
"""

from agentd.sources.cdp.source import CdpSource

__all__ = ["CdpSource"]
