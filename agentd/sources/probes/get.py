"""A GET of the application's own API. The site sees it, under a name of its own in the access
log."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from urllib.parse import urljoin, urlsplit

import httpx

from agentd.sources.probes.answer import ProbeAnswer, ProbeFailedError, text_of
from common.plain_answers import ASYNC_HOOKS, HEADERS
from detectors.model.kinds.limits import MAX_PROBE_BYTES

NAME = "milestoned-probe/1"
"""The User-Agent, by which a site's access log tells the daemon's requests from the agent's."""
REDIRECTS = 5
_PORTS = {"http": 80, "https": 443}


class GetProbe:
    """``{"status": …, "body": …}``: JSON where the site says that it is, else text. An error of the
    server (5xx) is no answer."""

    def __init__(self, plan: Mapping[str, object], origin: str | None) -> None:
        url = str(plan["url"])
        self._url = urljoin((origin or "").rstrip("/") + "/", url) if url.startswith("/") else url
        self._trust: ssl.SSLContext | None = None

    async def ask(self, budget_s: float) -> ProbeAnswer:
        """Send the request; raises `ProbeFailedError` with why that failed."""
        headers = {
            "user-agent": NAME,
            "accept": "application/json, text/*;q=0.9",
            **HEADERS,
        }
        try:
            verify = await self._verify()
            async with httpx.AsyncClient(
                trust_env=False,
                timeout=budget_s,
                headers=headers,
                event_hooks=ASYNC_HOOKS,
                verify=verify,
            ) as client:
                return await self._follow(client)
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            # ValueError: a Location that is no address.
            raise ProbeFailedError(f"{type(error).__name__}: {error}") from None

    async def _verify(self) -> ssl.SSLContext | bool:
        """The certificates to trust, read once and not on the loop: that takes longer than most
        answers. A site without TLS is never left for one with it."""
        if not self._url.startswith("https:"):
            return False
        if self._trust is None:
            self._trust = await asyncio.to_thread(httpx.create_ssl_context)
        return self._trust

    async def _follow(self, client: httpx.AsyncClient) -> ProbeAnswer:
        """Get the address, through redirects of the same site. Raises `ProbeFailedError` for
        others, and for too many."""
        url = self._url
        for _ in range(REDIRECTS + 1):
            async with client.stream("GET", url) as response:
                if not response.has_redirect_location:
                    return await _read(response)
                onward = urljoin(url, response.headers["location"])
            if _site(onward) != _site(url):
                raise ProbeFailedError(f"redirected to another site, {_site(onward)}")
            url = onward
        raise ProbeFailedError(f"redirected more than {REDIRECTS} times")


async def _read(response: httpx.Response) -> ProbeAnswer:
    """Return an answer's status and body, as JSON where it says that it is. Raises
    `ProbeFailedError` for 500 and above."""
    if response.status_code >= 500:
        raise ProbeFailedError(f"the server answered {response.status_code}")
    body = b""
    async for chunk in response.aiter_raw():
        body += chunk
        if len(body) > MAX_PROBE_BYTES:
            return ProbeAnswer(None, cut=True)
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = kind == "application/json" or kind.endswith("+json")
    text = text_of(body, "json" if is_json else "text", "the body")
    return ProbeAnswer({"status": response.status_code, "body": text})


def _site(url: str) -> str:
    """Return scheme, host and port of an address, a usual port left out."""
    parts = urlsplit(url)
    port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else f":{parts.port}"
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"
