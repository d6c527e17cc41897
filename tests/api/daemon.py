"""The wire as a daemon speaks it: commands taken, segments sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.api.service import Service, events, frames
from tests.support.logs import Said

OPENED: Said = ("episode.opened", {"task": "t", "digest": "d"})


class Daemon:
    """A daemon in a few lines: it takes commands and journals each as an event. With ``effects``
    (step → what is seen in it) it also seals each step that ends."""

    def __init__(
        self,
        service: Service,
        episode: str,
        token: str,
        effects: Mapping[int, Sequence[Said]] | None = None,
    ) -> None:
        self.service, self.episode, self.token = service, episode, token
        self._effects = effects
        self.said: list[Said] = [OPENED]
        self.done = 0

    async def commands(self, wait_ms: int = 0) -> list[dict[str, Any]]:
        query = {"after": self.done, "wait_ms": wait_ms}
        answer = await self.service.get(
            f"/v1/episodes/{self.episode}/commands", self.token, params=query
        )
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["commands"]
        return found

    async def obey(self, wait_ms: int = 0) -> None:
        for command in await self.commands(wait_ms):
            self.done = command["command"]
            if command["kind"] == "episode.close":
                self.said.append(("episode.closed", {**command["data"], "command": self.done}))
            else:
                self._journal(command["kind"], command["data"])
        for frame in frames(events(self.episode, *self.said), [1] * len(self.said)):
            assert (await self.service.append(self.episode, frame, self.token)).status_code == 200

    def _journal(self, kind: str, data: dict[str, Any]) -> None:
        if data.pop("settle", False):  # as agentd/session/step_controller.py does
            ended = data["step"] - 1
            self.said.append(("step.ended", {"step": ended}))
            self.said.append(("step.sealed", {"step": ended, "reason": "quiet"}))
        ends = kind == "step.ended" and self._effects is not None
        if ends and self._effects is not None:
            self.said.extend(self._effects.get(data["step"], ()))
        self.said.append((kind, {**data, "command": self.done}))
        if ends:
            self.said.append(("step.sealed", {"step": data["step"], "reason": "quiet"}))

    async def run(self) -> None:
        await self.obey()  # like a real one it tells at once that it is there
        while self.said[-1][0] != "episode.closed":
            await self.obey(wait_ms=5_000)
