"""A camera for the browser's tab in front, over a connection of its own.

Only a tab that is shown is taken: Chromium shows a hidden one to itself to take it, which its page can see. Nothing is
brought to front, no viewport is changed, no domain is enabled. A page that stands in a dialog gives no picture.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import secrets
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from PIL import Image

from agentd.sources.base import SourceLostError
from agentd.sources.cdp.address import websocket_address
from agentd.sources.cdp.connection import CdpError, Connection, Params
from agentd.sources.cdp.tabs import is_tab
from agentd.sources.screen.picture import FORMAT, QUALITY, NoShotError, Shot

LOOK_S = 1.0
"""How long a tab may take to say whether it is shown, in seconds."""
TAKE_S = 2.0
"""How long it may take to give a picture, in seconds."""
_SHOWN = "document.visibilityState === 'visible'"


class CdpCamera:
    """``endpoint`` and ``profile`` as for `CdpSource`."""

    of = "cdp"

    def __init__(self, endpoint: str | None, profile: Path | None) -> None:
        self._endpoint = endpoint
        self._profile = profile
        self._world = secrets.token_hex(8)
        self._connection: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
        self._sessions: dict[str, str] = {}
        self._http = httpx.AsyncClient(trust_env=False, timeout=LOOK_S)

    async def run(self) -> None:
        """See `Camera`."""
        address = await websocket_address(self._endpoint, self._profile)
        self._http.base_url = httpx.URL(f"http://{urlsplit(address).netloc}")
        connection = await Connection.open(address)
        self._connection.set_result(connection)
        try:
            await connection.run(self._heard)
        finally:
            await connection.close()
            await self._http.aclose()

    def _heard(self, _session: str, method: str, params: Params) -> None:
        if method == "Target.detachedFromTarget":
            self._sessions = {tab: one for tab, one in self._sessions.items() if one != params["sessionId"]}

    async def take(self) -> Shot:
        """See `Camera`."""
        connection = await self._connection
        try:
            for tab in await self._tabs():
                session = await self._session(connection, tab)
                async with asyncio.timeout(LOOK_S):
                    shown = await self._is_shown(connection, session, tab)
                if shown:
                    async with asyncio.timeout(TAKE_S):
                        return await self._shoot(connection, session, tab)
        except TimeoutError:
            raise NoShotError("the tab in front does not answer: it hangs, or a dialog is open") from None
        except (CdpError, SourceLostError) as error:
            raise NoShotError(f"the tab in front gives no picture: {error}") from None
        raise NoShotError("no tab is shown")

    async def _tabs(self) -> list[str]:
        """The tabs, the one that was active last before all others; the browser's list has this order."""
        try:
            listed = (await self._http.get("/json/list")).json()
        except (httpx.HTTPError, ValueError) as error:
            raise NoShotError(f"the browser does not list its tabs: {error!r}") from None
        return [str(one["id"]) for one in listed if is_tab(one)]

    async def _session(self, connection: Connection, tab: str) -> str:
        # Kept: a session has its isolated world once a document, however many pictures are taken.
        if tab not in self._sessions:
            reply = await connection.send("Target.attachToTarget", {"targetId": tab, "flatten": True})
            self._sessions[tab] = reply["sessionId"]
        return self._sessions[tab]

    async def _is_shown(self, connection: Connection, session: str, tab: str) -> bool:
        # The main frame has the tab's own id; in a world of ours the page can't answer for the browser.
        world = await connection.send("Page.createIsolatedWorld", {"frameId": tab, "worldName": self._world}, session)
        asked = {"contextId": world["executionContextId"], "expression": _SHOWN, "returnByValue": True}
        reply = await connection.send("Runtime.evaluate", asked, session)
        return reply["result"].get("value") is True

    async def _shoot(self, connection: Connection, session: str, tab: str) -> Shot:
        reply = await connection.send("Page.captureScreenshot", {"format": FORMAT, "quality": QUALITY}, session)
        try:
            data = base64.b64decode(reply["data"])
            return Shot(Image.open(io.BytesIO(data)), data, tab)
        except (binascii.Error, OSError) as error:
            raise NoShotError(f"the browser's picture can't be read: {error}") from None
