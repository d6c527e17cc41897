"""A camera for the browser's tab in front, over a connection of its own.

Only a tab that is shown is taken: Chromium shows a hidden one to itself to take it, which its page
can see. Nothing is brought to front, no viewport is changed, no domain is enabled. A page that
stands in a dialog gives no picture.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from PIL import Image

from agentd.core.patience import DEFAULT_PATIENCE, Patience
from agentd.core.source import SourceLostError
from agentd.core.tls import default_tls
from agentd.readers.picture_measures import FORMAT, QUALITY, NoShotError, Shot
from agentd.sources.cdp.attach.isolated_world import Isolated
from agentd.sources.cdp.folds.tabs import is_tab
from agentd.sources.cdp.transport.address import websocket_address
from agentd.sources.cdp.transport.connection import CdpError, Connection
from common.plain_answers import ASYNC_HOOKS, HEADERS

LOOK_S = 1.0
"""How long a tab may take to say whether it is shown, in seconds."""
TAKE_S = 2.0
"""How long it may take to give a picture, in seconds."""
_SHOWN = "document.visibilityState === 'visible'"


class CdpCamera:
    """``endpoint`` and ``profile`` as for `CdpSource`; ``patience`` multiplies how long a tab may
    take."""

    of = "cdp"

    def __init__(
        self,
        endpoint: str | None,
        profile: Path | None,
        patience: Patience = DEFAULT_PATIENCE,
    ) -> None:
        self._patience = patience
        self._endpoint = endpoint
        self._profile = profile
        self._tab = Isolated()
        self._connection: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._http = httpx.AsyncClient(
            verify=default_tls(),
            trust_env=False,
            timeout=patience.extend(LOOK_S),
            headers=HEADERS,
            event_hooks=ASYNC_HOOKS,
        )

    async def run(self) -> None:
        """Do as `Camera` says of it."""
        address = await websocket_address(self._endpoint, self._profile)
        self._http.base_url = httpx.URL(f"http://{urlsplit(address).netloc}")
        connection = await Connection.open(address)
        self._connection.set_result(connection)
        try:
            await connection.run(self._tab.handle)
        finally:
            await connection.close()
            await self._http.aclose()

    async def take(self) -> Shot:
        """Do as `Camera` says of it."""
        connection = await self._connection
        try:
            for tab in await self._tabs():
                async with asyncio.timeout(self._patience.extend(LOOK_S)):
                    shown = await self._tab.evaluate(connection, tab, _SHOWN)
                if shown["result"].get("value") is True:
                    async with asyncio.timeout(self._patience.extend(TAKE_S)):
                        return await self._shoot(connection, tab)
        except TimeoutError:
            raise NoShotError(
                "the tab in front does not answer: it hangs, or a dialog is open"
            ) from None
        except (CdpError, SourceLostError) as error:
            raise NoShotError(f"the tab in front gives no picture: {error}") from None
        raise NoShotError("no tab is shown")

    async def _tabs(self) -> list[str]:
        """The tabs, the one that was active last before all others; the browser's list has this
        order."""
        try:
            listed = (await self._http.get("/json/list")).json()
        except (httpx.HTTPError, ValueError) as error:
            raise NoShotError(f"the browser does not list its tabs: {error!r}") from None
        return [str(one["id"]) for one in listed if is_tab(one)]

    async def _shoot(self, connection: Connection, tab: str) -> Shot:
        """Let the browser picture a tab. Raises `NoShotError` for a picture that can't be read."""
        session = await self._tab.session(connection, tab)
        reply = await connection.send(
            "Page.captureScreenshot", {"format": FORMAT, "quality": QUALITY}, session
        )
        try:
            data = base64.b64decode(reply["data"])
            return Shot(Image.open(io.BytesIO(data)), data, tab)
        except (binascii.Error, OSError) as error:
            raise NoShotError(f"the browser's picture can't be read: {error}") from None
