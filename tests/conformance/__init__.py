"""One scripted session over every transport: the recordings must tell the same.

- scene: what the agent does, through one DevTools session, whichever library holds it
- site: what it does it to
- harness/: a harness each: raw port, Playwright plain and on asyncio, pyppeteer (in an environment
  of its own)
- comparing: a recording in its normal form, and what two of them do not share
"""
