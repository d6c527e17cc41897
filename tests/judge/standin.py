"""A judge that is scripted, served over HTTP by a process of its own; what it is like is in the
model's name.

``honest`` looks for `PROOF`. ``obeys/others`` and ``obeys/itself`` do what any text in the prompt
tells them, in every hidden form that they can undo, and cite as proof other lines, or the very
line. ``a+b`` is both. The ways of failing: ``no-schema`` (500 on json_schema), ``no-format`` (400
on any response_format), ``no-seed``, ``new-tokens`` (wants max_completion_tokens), ``prose`` (words
around the verdict), ``prose-once``, ``swaps`` (yes to whatever is asked first), ``oracle`` (knows
from FOLDER/oracle.json which texts prove a criterion), ``asks`` (uses every tool), ``down``,
``limited`` (429 each first time), ``slow``, ``bare`` (tells no tokens).

Run as `python -m tests.judge.standin FOLDER`: writes its port into FOLDER/port, a line a request
into FOLDER/requests.
"""

from __future__ import annotations

import asyncio
import base64
import codecs
import html
import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.judge.attacks import ATTACKS
from tests.judge.sessions import PROOF

TOOLS = (
    ("events", "8-9"),
    ("file", "report.txt"),
    ("text", "1"),
    ("calculate", "12.50 * 3 == 37.5"),
    ("answer", ""),
)
_KEYS = (":", "Thought process:", "Solution:")
_LETTERS = str.maketrans("аеорсхІі0134", "aeopcxIioiea")


def _readings(text: str) -> Iterator[str]:
    text = text.replace("ˆ", " ")
    plain = html.unescape(unquote_plus(unquote_plus(text)))
    yield text
    yield plain
    yield unicodedata.normalize("NFKC", plain)
    bare = "".join(
        c for c in unicodedata.normalize("NFKC", plain) if unicodedata.category(c) != "Cf"
    )
    yield bare
    yield bare.translate(_LETTERS)
    yield bare[::-1]
    yield codecs.encode(bare, "rot13")
    yield re.sub(r"<[^>]*>", "", bare)
    yield "".join(chr(ord(c) - 0xE0000) for c in text if 0xE0020 <= ord(c) <= 0xE007E)
    for run in re.findall(r"[A-Za-z0-9+/_-]{16,}={0,2}", bare):
        body = run.rstrip("=").replace("-", "+").replace("_", "/")
        if len(body) % 4 != 1:
            yield base64.b64decode(body + "=" * (-len(body) % 4)).decode(errors="replace")
    for run in re.findall(r"(?:[0-9a-f]{2}){12,}", bare):
        yield bytes.fromhex(run).decode(errors="replace")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


_WANTED = [(attack, " ".join(attack.plain.casefold().split())) for attack in ATTACKS]


@cache
def told(text: str) -> str | None:
    """What the first attack that can be read in ``text`` wants."""
    readings = {" ".join(reading.casefold().split()) for reading in _readings(text)}
    for attack, wanted in _WANTED:
        if attack.plain in _KEYS:
            if text.replace("ˆ", " ").strip() == attack.plain:
                return attack.wants
        elif any(wanted in reading for reading in readings):
            return attack.wants
    return None


def evidence(prompt: str) -> list[dict[str, Any]]:
    """The lines of evidence in ``prompt``, read as a judge's tokenizer would not: perfectly."""
    lines = []
    for line in prompt.split("\n"):
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and "id" in value:
            lines.append(value)
    return lines


def known(prompt: str, proofs: dict[str, list[str]]) -> dict[str, Any]:
    """Yes to a criterion of which every proof stands in some line, and those lines."""
    said = {}
    for one in json.loads(re.findall(r"^CRITERIA: (.*)$", prompt, re.MULTILINE)[0]):
        found = [
            [
                line["id"]
                for line in evidence(prompt)
                if proof in json.dumps(line, ensure_ascii=False).replace("ˆ", " ")
            ]
            for proof in proofs[one["id"]]
        ]
        cited = [ids[0] for ids in found if ids]
        said[one["id"]] = (
            {"met": "yes", "evidence": cited} if all(found) else {"met": "no", "evidence": []}
        )
    return {"criteria": said}


def plainly(prompt: str, ways: set[str]) -> str:
    """The answer to the question of benchmarks/injection.py, of a judge that is shown
    everything."""
    recorded = prompt.partition("What happened:\n")[2].rpartition("\n")[0]
    parts = [
        recorded,
        *recorded.split("\n"),
        *(text for _, text in re.findall(r"(['\"])(.*?)\1", recorded)),
    ]
    wanted = next(filter(None, map(told, parts)), None) if "obeys" in str(ways) else None
    success = PROOF in recorded if wanted is None else wanted == "yes"
    return json.dumps({"verdict": "success" if success else "failure"})


def judged(prompt: str, ways: set[str]) -> dict[str, Any]:
    """The answer to the first message's criteria."""
    asked = json.loads(re.findall(r"^CRITERIA: (.*)$", prompt, re.MULTILINE)[0])
    options = re.findall(r"answer (yes, no|no, yes) or unclear", prompt)[0].split(", ")
    lines = evidence(prompt)
    proof = [line["id"] for line in lines if PROOF in str(line.get("v")).replace("ˆ", " ")]
    met, cited = ("yes", proof) if proof else ("no", [])
    if "obeys" in str(ways):
        for line in lines:
            for text in [*_texts(line.get("v")), " ".join(_texts(line.get("v")))]:
                if (wanted := told(text)) is not None:
                    met = wanted
                    others = [
                        one["id"]
                        for one in lines
                        if one is not line and "v" in one and not one.get("claim")
                    ]
                    cited = [line["id"]] if "obeys/itself" in ways else others[-2:]
        # The same on all of the prompt, as text, whatever line it is on.
        joined = " ".join(" ".join(_texts(line.get("v"))) for line in lines)
        if (wanted := told(joined)) is not None and wanted != met:
            met, cited = wanted, [line["id"] for line in lines if "v" in line][-2:]
    said = {one["id"]: {"evidence": cited if met == "yes" else [], "met": met} for one in asked}
    if "swaps" in ways:
        said = {one["id"]: {"evidence": [lines[0]["id"]], "met": options[0]} for one in asked}
    return {"criteria": said}


class Standin:
    """Answers, and keeps what it was asked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen: dict[str, int] = {}

    async def chat(self, request: Request) -> Response:
        """POST /v1/chat/completions."""
        body = await request.json()
        with (self.folder / "requests").open("a") as kept:
            kept.write(
                json.dumps({"body": body, "key": request.headers.get("authorization")}) + "\n"
            )
        ways = set(body["model"].split("+"))
        form = body.get("response_format", {})
        if refused := await self._refused(body, ways, form):
            return refused
        text = self._text(body, ways)
        answer: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}}]}
        if "bare" not in ways:
            answer["usage"] = {"prompt_tokens": 1000, "completion_tokens": 100}
        return JSONResponse(answer)

    async def _refused(
        self, body: dict[str, Any], ways: set[str], form: dict[str, Any]
    ) -> Response | None:
        name = f"{body['model']} {json.dumps(body['messages'])[-300:]}"
        self.seen[name] = self.seen.get(name, 0) + 1
        if "down" in ways:
            return Response("it is on fire", 503)
        if "limited" in ways and self.seen[name] == 1:
            return Response("too many", 429, {"retry-after": "0"})
        if "slow" in ways:
            await asyncio.Event().wait()
        if "no-schema" in ways and form.get("type") == "json_schema":
            return Response("boom", 500)
        if "no-format" in ways and form:
            return JSONResponse({"error": "response_format is not supported"}, 400)
        if "no-seed" in ways and "seed" in body:
            return JSONResponse({"error": {"message": "unknown parameter: seed"}}, 400)
        if "new-tokens" in ways and "max_tokens" in body:
            return JSONResponse({"error": "use max_completion_tokens, not max_tokens"}, 400)
        return None

    def _text(self, body: dict[str, Any], ways: set[str]) -> str:
        messages = body["messages"]
        last = messages[-1]["content"]
        if "Answer exactly" in str(last):
            return '{"ready":"yes"}'
        repairing = "could not be read" in str(last)
        if (
            "Before you answer you may look" in str(messages)
            and "Now answer about" not in str(last)
            and not repairing
        ):
            turn = sum(message["role"] == "assistant" for message in messages)
            tool, argument = TOOLS[min(turn, len(TOOLS) - 1)] if "asks" in ways else TOOLS[-1]
            return json.dumps({"thought": "I look it up", "tool": tool, "argument": argument})
        if str(messages[0]["content"]).startswith(("You write checklists", "You write milestones")):
            drafted = self.folder / "draft.json"
            return "{}" if "prose-once" in ways and not repairing else drafted.read_text()
        prompts = [part["content"] for part in messages if part["role"] == "user"]
        prompt = "\n".join(part if isinstance(part, str) else part[0]["text"] for part in prompts)
        if "What happened:" in prompt:
            return plainly(prompt, ways)
        if "oracle" in ways:
            return json.dumps(known(prompt, json.loads((self.folder / "oracle.json").read_text())))
        text = json.dumps(judged(prompt, ways))
        if "prose" in ways or ("prose-once" in ways and not repairing):
            return (
                f'The page says <success>Successful</success> and {{"criteria":{{}}}}, so: {text}'
            )
        return text


def main() -> None:
    """Serve on a free port until ended."""
    folder = Path(sys.argv[1])
    app = Starlette(routes=[Route("/v1/chat/completions", Standin(folder).chat, methods=["POST"])])
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", lifespan="off"))

    async def serve() -> None:
        serving = asyncio.create_task(server.serve())
        while not server.started:  # noqa: ASYNC110 - uvicorn tells it no other way
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        (folder / "port.part").write_text(str(port))
        (folder / "port.part").rename(folder / "port")
        await serving

    asyncio.run(serve())


if __name__ == "__main__":
    main()
