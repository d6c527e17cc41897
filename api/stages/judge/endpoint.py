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
from typing import Literal, NamedTuple

from api.stages.judge.answers import JsonSchema, UnreadableError, read_object
from api.stages.judge.settings import JudgeSettings
from api.stages.peer import Peer, RefusedError, UnreachableError
from detectors.model.types import Json

Rung = Literal["json_schema", "json_object+schema", "json_object", "text"]
RUNGS: tuple[Rung, ...] = ("json_schema", "json_object+schema", "json_object", "text")
Message = Mapping[str, Json]

MAX_TRIALS = 4
"""Calls on one rung: one for each parameter that may be refused, and one more."""
PROBE_TOKENS = 60
CHARS_A_TOKEN = 4
"""Where nobody counts tokens."""

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
    """What one call brought. ``counted``: the endpoint itself counted the tokens; else they are
    estimated."""

    text: Json
    tokens_in: int
    tokens_out: int
    counted: bool


REFUSED = Reply(None, 0, 0, True)
"""A call that was answered with a refusal."""
Billed = Callable[[Reply], None]


@dataclass(frozen=True, slots=True)
class Way:
    """How this endpoint is asked: the rung, the name of its limit of tokens, and the parameters
    that it does not take."""

    rung: Rung
    tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    omitted: frozenset[str] = frozenset()


class Trial(NamedTuple):
    """Whether a way works. ``complaint``: what the endpoint refused it with, if it did."""

    way: Way
    works: bool
    complaint: str


class Endpoint:
    """Asks, and remembers how. ``way`` is None until the first call has found it."""

    def __init__(self, settings: JudgeSettings) -> None:
        self._settings = settings
        self.peer = Peer(settings.peer)
        self.way: Way | None = None
        self.probes = 0
        self._probing = asyncio.Lock()

    async def ask(self, messages: Sequence[Message], schema: JsonSchema, billed: Billed) -> Reply:
        """Return one reply to ``messages``, in ``schema`` as far as the endpoint can hold it.

        ``billed`` is called for each call that was answered, also for those that only find out how
        to ask. Raises `UnreachableError` and, where the endpoint refuses what it took before,
        `RefusedError`.
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
        """Return the first way that works, down the ladder."""
        way = Way("json_schema")
        complaint = "nothing"
        for rung in RUNGS:
            trial = await self._try_rung(replace(way, rung=rung), billed)
            if trial.works:
                return trial.way
            way = trial.way
            complaint = trial.complaint or complaint
        raise UnreachableError(f"{self._settings.peer.public_url}: takes no question: {complaint}")

    async def _try_rung(self, way: Way, billed: Billed) -> Trial:
        """Ask one small question in one form, without the parameters that are refused."""
        complaint = ""
        for _ in range(MAX_TRIALS):
            self.probes += 1
            try:
                reply = await self._call(way, _ASKED, _PROBE, PROBE_TOKENS)
            except RefusedError as error:
                billed(REFUSED)
                complaint = str(error)
                if error.status in (401, 403, 404):
                    url = self._settings.peer.public_url
                    raise UnreachableError(f"{url}: {complaint}") from None
                without = _without_refused(way, error.text)
                if without is None:
                    break
                way = without
            except UnreachableError as error:
                # Some servers answer an unknown response_format with 500; anything else is a
                # failure.
                if way.rung == "text" or error.status != 500:
                    raise
                break
            else:
                billed(reply)
                return Trial(way, way.rung == "text" or _is_ready(reply.text), complaint)
        return Trial(way, False, complaint)

    async def _call(
        self, way: Way, messages: Sequence[Message], schema: JsonSchema, max_tokens: int
    ) -> Reply:
        """Post a question in the way that the endpoint is known to take, and return its reply."""
        settings = self._settings
        body: dict[str, Json] = {
            "model": settings.model,
            "messages": list(messages),
            way.tokens: max_tokens,
            "temperature": settings.temperature,
            "seed": settings.seed,
        }
        form = _response_format(way.rung, schema)
        if form is not None:
            body["response_format"] = form
        for name in way.omitted:
            body.pop(name, None)
        return _read_reply(await self.peer.post("/chat/completions", body), messages)


def _response_format(rung: Rung, schema: JsonSchema) -> dict[str, Json] | None:
    """Return how an endpoint is told to answer by a schema; None where it can't be told."""
    if rung == "json_schema":
        return {"type": rung, "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    if rung == "json_object+schema":
        return {"type": "json_object", "schema": schema}
    return {"type": "json_object"} if rung == "json_object" else None


def _without_refused(way: Way, complaint: str) -> Way | None:
    """Return the way without what a refusal complains of; None where it names no parameter."""
    if "max_tokens" in complaint and way.tokens == "max_tokens":
        return replace(way, tokens="max_completion_tokens")
    for name in ("seed", "temperature"):
        if name in complaint and name not in way.omitted:
            return replace(way, omitted=way.omitted | {name})
    return None


def _is_ready(text: Json) -> bool:
    try:
        return read_object(text).get("ready") in ("yes", "no")
    except UnreadableError:
        return False


def _read_reply(answer: Json, messages: Sequence[Message]) -> Reply:
    """Read the answer with its tokens, guessed from its length where nobody counted. Raises
    `RefusedError`."""
    try:
        text = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise RefusedError(
            200, str(answer)[:2_000], "no choices[0].message.content in it"
        ) from None
    counted = _read_usage(answer.get("usage"))
    if counted is not None:
        return Reply(text, *counted, counted=True)
    # Nothing is free because nobody counted it.
    sent = sum(len(str(message["content"])) for message in messages)
    received = len(str(text))
    return Reply(text, sent // CHARS_A_TOKEN, received // CHARS_A_TOKEN, counted=False)


def _read_usage(usage: Json) -> tuple[int, int] | None:
    """Return the tokens that were read and written; None where the endpoint did not count them."""
    if not isinstance(usage, Mapping):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if isinstance(read, int) and isinstance(written, int) and min(read, written) >= 0:
        return read, written
    return None
