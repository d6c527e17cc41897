"""One OpenAI-compatible endpoint: which structured output it takes is found out by asking it once,
then kept.

Endpoints differ: some take ``json_schema``, some answer it with a 500 and take a schema inside
``json_object``, some take neither, some refuse ``seed`` or want ``max_completion_tokens``. The
first call goes down the ladder until one small question is answered in the asked form.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from api.stages.judge.answers import UnreadableError, read_object
from api.stages.judge.settings import JudgeSettings
from api.stages.peer import Peer, RefusedError, UnreachableError

Rung = Literal["json_schema", "json_object+schema", "json_object", "text"]
RUNGS: tuple[Rung, ...] = ("json_schema", "json_object+schema", "json_object", "text")
Message = Mapping[str, Any]

_PROBE = {
    "type": "object",
    "properties": {"ready": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["ready"],
    "additionalProperties": False,
}
_ASKED: tuple[Message, ...] = (
    {"role": "system", "content": "You answer with one JSON object and nothing else."},
    {"role": "user", "content": 'Answer exactly {"ready":"yes"} in JSON.'},
)


@dataclass(frozen=True, slots=True)
class Reply:
    """What one call brought. ``counted``: the endpoint itself told the tokens; else they are
    estimated."""

    text: Any
    tokens_in: int
    tokens_out: int
    counted: bool


REFUSED = Reply(None, 0, 0, True)
"""A call that was answered with a refusal."""
Billed = Callable[[Reply], None]


@dataclass(frozen=True, slots=True)
class Way:
    """How this endpoint is asked: the rung, the names of parameters that it takes, and whether it
    knows them all."""

    rung: Rung
    tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    omitted: frozenset[str] = frozenset()


class Endpoint:
    """Asks, and remembers how. ``way`` is None until the first call has found it."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings
        self.peer = Peer(settings.peer)
        self.way: Way | None = None
        self.probes = 0
        self._probing = asyncio.Lock()

    async def ask(
        self, messages: Sequence[Message], schema: Mapping[str, Any], billed: Billed
    ) -> Reply:
        """One reply to ``messages``, in ``schema`` as far as the endpoint can hold it. Raises
        `UnreachableError` and, where the endpoint refuses what it took before, `RefusedError`.
        ``billed`` hears of each call that was answered, of those too that only find out how to ask.
        """
        way = self.way or await self._choose_way(billed)
        try:
            reply = await self._call(way, messages, schema, self._settings.max_tokens)
            billed(reply)
            return reply
        except RefusedError:
            billed(REFUSED)
            # It may have been restarted as another server: the next call finds out anew.
            self.way = None
            raise

    async def _choose_way(self, billed: Billed) -> Way:
        async with self._probing:
            if self.way is None:
                self.way = await self._probe(billed)
            return self.way

    async def _probe(self, billed: Billed) -> Way:
        last = "nothing"
        way = Way("json_schema")
        for rung in RUNGS:
            way = replace(way, rung=rung)
            for _ in range(4):  # the parameters that it may refuse, and once more
                self.probes += 1
                try:
                    reply = await self._call(way, _ASKED, _PROBE, 60)
                except RefusedError as error:
                    last = str(error)
                    billed(REFUSED)
                    if error.status in (401, 403, 404):
                        raise UnreachableError(
                            f"{self._settings.peer.public_url}: {last}"
                        ) from None
                    if (without := _without(way, error.text)) is None:
                        break
                    way = without
                    continue
                except UnreachableError as error:
                    # Some servers answer an unknown response_format with 500; anything else is a
                    # failure.
                    if rung == "text" or error.status != 500:
                        raise
                    break
                billed(reply)
                if rung == "text" or _ready(reply.text):
                    return way
                break
        raise UnreachableError(f"{self._settings.peer.public_url}: takes no question: {last}")

    async def _call(
        self, way: Way, messages: Sequence[Message], schema: Mapping[str, Any], most: int
    ) -> Reply:
        settings = self._settings
        body: dict[str, Any] = {
            "model": settings.model,
            "messages": list(messages),
            way.tokens: most,
        }
        body |= {"temperature": settings.temperature, "seed": settings.seed}
        if form := _response_format(way.rung, schema):
            body["response_format"] = form
        for name in way.omitted:
            body.pop(name, None)
        return _reply(await self.peer.post("/chat/completions", body), messages)


def _response_format(rung: Rung, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    if rung == "json_schema":
        return {"type": rung, "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    if rung == "json_object+schema":
        return {"type": "json_object", "schema": schema}
    return {"type": "json_object"} if rung == "json_object" else None


def _without(way: Way, complaint: str) -> Way | None:
    if "max_tokens" in complaint and way.tokens == "max_tokens":
        return replace(way, tokens="max_completion_tokens")
    for name in ("seed", "temperature"):
        if name in complaint and name not in way.omitted:
            return replace(way, omitted=way.omitted | {name})
    return None


def _ready(text: Any) -> bool:
    try:
        return read_object(text).get("ready") in ("yes", "no")
    except UnreadableError:
        return False


def _reply(answer: Any, messages: Sequence[Message]) -> Reply:
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise RefusedError(
            200, str(answer)[:2_000], "no choices[0].message.content in it"
        ) from None
    usage = answer.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if isinstance(read, int) and isinstance(written, int) and min(read, written) >= 0:
        return Reply(text, read, written, True)
    # Four characters a token: nothing is free because nobody counted it.
    sent = sum(len(str(message["content"])) for message in messages)
    return Reply(text, sent // 4, len(str(text)) // 4, False)
