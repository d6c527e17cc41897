"""The daemon inside a harness's process, for harnesses whose browser has no port: `agentd.attach`.

- attaching: the public function: which library, which browser, which service or recording
- watch: what the harness holds: steps, answer, close; one for plain code, one for asyncio
- thread: the daemon's own loop in a thread of its own, with the same session as `agentd run`
- source: the browser source over what the harness holds, honest when the harness gives it no time
- harness: what is asked of a library, and the three that are known: playwright_sync,
  playwright_async, pyppeteer_async
"""

from agentd.inprocess.attaching import attach
from agentd.inprocess.watch import AsyncWatch, Watch

__all__ = ["AsyncWatch", "Watch", "attach"]
