"""NeMo Gym: a resources server that its command line can launch, and that forwards to the service.

Its `app.py`: `from milestoned_client.adapters.nemo_gym import RewardResourcesServer` and, under
`__main__`, `RewardResourcesServer.run_webserver()`. The session is the service's own cookie, which
agents carry; none is kept here.
"""

# No `from __future__ import annotations`: FastAPI reads the parameters' classes through NeMo Gym's
# own wrappers.
import json
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, ClassVar

import httpx
from fastapi import FastAPI, Request, Response
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    ReverifyMode,
    SimpleResourcesServer,
)
from pydantic import PrivateAttr

from milestoned_client.adapters.settings import AdapterSettings, settings
from milestoned_client.plain_answers import ASYNC_HOOKS, HEADERS

LIMITS = httpx.Limits(max_connections=128, max_keepalive_connections=128)
TIMEOUT = httpx.Timeout(60.0, pool=None)


class RewardResourcesServerConfig(BaseResourcesServerConfig):  # type: ignore[misc]  # NeMo Gym is not installed here
    """The settings of `adapters.settings` may stand in the YAML below ``milestoned``, or in the
    environment."""

    REVERIFY_MODE: ClassVar[ReverifyMode] = ReverifyMode.STATELESS
    milestoned: dict[str, Any] = {}  # noqa: RUF012  # pydantic copies it


class RewardResourcesServer(SimpleResourcesServer):  # type: ignore[misc]
    """Both dialects: `/seed_session`, `/verify`, `/close_session`, and `/reset`, `/step`,
    `/close`."""

    ray_enabled: ClassVar[bool] = False
    config: RewardResourcesServerConfig
    _http: httpx.AsyncClient | None = PrivateAttr(default=None)
    _settings: AdapterSettings | None = PrivateAttr(default=None)

    def setup_webserver(self) -> FastAPI:
        """NeMo Gym's own routes and the step dialect's. Raises `ValueError` for settings that are
        missing or wrong."""
        self._settings = settings(**self.config.milestoned)
        app: FastAPI = super().setup_webserver()
        for path in ("/reset", "/step", "/close"):
            app.post(path)(self.forward)
        return app

    async def seed_session(self, request: Request) -> Response:
        """Bind the rollout to what its row names."""
        return await self.forward(request)

    async def close_resources_session(self, request: Request) -> Response:
        """Pass on to the service that a rollout has ended."""
        return await self.forward(request)

    async def verify(self, request: Request) -> Response:
        """The reward; while the service can't be reached the sample is masked, and no rollout is
        lost."""
        answer = await self.forward(request)
        if answer.status_code < 500:
            return answer
        failed = {"mask_sample": True, "failure_kind": "transport_unreachable"}
        row = json.loads(await request.body())
        reason = bytes(answer.body).decode("utf-8", "replace")[:500]
        # A number, because its wire wants one: the mask says that it is none.
        reward = self._loaded_settings.fallback or 0.0
        # NeMo-RL reads the mask here, and not at the top.
        config = row.get("instance_config")
        nested = {**(config if isinstance(config, dict) else {}), "mask_sample": True}
        masked = {
            **row,
            "reward": reward,
            **failed,
            "failure_reason": reason,
            "reward_components": {},
            "instance_config": nested,
        }
        return Response(json.dumps(masked), media_type="application/json")

    @property
    def _loaded_settings(self) -> AdapterSettings:
        assert self._settings is not None, "setup_webserver() makes the settings"
        return self._settings

    async def forward(self, request: Request) -> Response:
        """The service's answer, with the cookie that it sets; 503 while it can't be reached."""
        asked = self._loaded_settings
        if self._http is None:
            transport = httpx.AsyncHTTPTransport(retries=3, limits=LIMITS)
            self._http = httpx.AsyncClient(
                transport=transport,
                timeout=TIMEOUT,
                cookies=_no_jar(),
                headers=HEADERS,
                event_hooks=ASYNC_HOOKS,
            )
        query: dict[str, str | float] = {
            "fold": asked.fold,
            "gamma": asked.gamma,
            "min_known": asked.min_known,
            "wait_ms": round(min(asked.wait_s, 50.0) * 1000),
        }
        headers = {"authorization": f"Bearer {asked.token}", "content-type": "application/json"}
        try:
            found = await self._http.post(
                f"{asked.url}/nemo{request.url.path}",
                params=query if asked.fallback is None else {**query, "fallback": asked.fallback},
                headers=headers
                | {name: request.headers[name] for name in ("cookie",) if name in request.headers},
                content=await request.body(),
            )
        except httpx.TransportError as error:
            return Response(
                f"{asked.url}: {type(error).__name__}: {error}", 503, {"retry-after": "1"}
            )
        kept = [("set-cookie", one) for one in found.headers.get_list("set-cookie")]
        answer = Response(
            found.content, found.status_code, media_type=found.headers.get("content-type")
        )
        answer.raw_headers += [(name.encode(), value.encode("latin-1")) for name, value in kept]
        return answer


def _no_jar() -> CookieJar:
    """Cookies travel with their rollout and never stay: one client serves them all."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))
