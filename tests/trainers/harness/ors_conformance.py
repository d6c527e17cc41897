"""Every operation of the Open Reward Standard, asked of our server and of a package's own: what the
two answer, in shape."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import aiohttp

from tests.support.ports import free_port
from tests.trainers.harness.ors_reference import make_server, serve
from tests.trainers.harness.say import TOKEN, URL, say

Operation = tuple[str, str, str, Any, str | None]
"""Its name, method, path, body and session."""
TRAIN = {"split": "train"}
UNSAID = {
    "version": "any",
    "build_sha": "any",
    "message_block_types": "list",
    "metadata": "any",
    "reward": "number or null",
    "description": "str",
    "detail": "any",
}
"""Members whose values are each server's own, or null."""


def operations(spec: dict[str, Any]) -> Iterator[Operation]:
    """What is asked, in this order; ``spec``: of a session's task."""
    create = {"env_name": "shop", "task_spec": spec}
    yield "health", "GET", "/health", None, None
    yield "version", "GET", "/version", None, None
    yield "environments", "GET", "/list_environments", None, None
    yield "tools", "GET", "/shop/tools", None, None
    yield "tools of the first", "GET", "/tools", None, None
    yield "tools of another case", "GET", "/SHOP/tools", None, None
    yield "tools of nowhere", "GET", "/nowhere/tools", None, None
    yield "splits", "GET", "/shop/splits", None, None
    yield "no such path", "GET", "/nonsense", None, None
    for name, more in (
        ("tasks", {}),
        ("num_tasks", {}),
        ("task", {"index": 0}),
        ("task_range", {}),
    ):
        yield name, "POST", f"/shop/{name}", {**TRAIN, **more}, None
        yield f"{name}, no split", "POST", f"/shop/{name}", more, None
        yield f"{name}, unknown split", "POST", f"/shop/{name}", {**more, "split": "x"}, None
        yield f"{name}, more", "POST", f"/shop/{name}", {**TRAIN, **more, "x": 1}, None
    yield "task, index too high", "POST", "/shop/task", {**TRAIN, "index": 9}, None
    yield "task, index of a wrong type", "POST", "/shop/task", {**TRAIN, "index": "x"}, None
    yield "part of the tasks", "POST", "/shop/task_range", {**TRAIN, "start": 0, "stop": 1}, None
    yield "an id", "POST", "/create_session", {}, None
    yield "create, no id", "POST", "/create", create, None
    yield "create, no source", "POST", "/create", {"env_name": "shop"}, "s"
    yield "create, two sources", "POST", "/create", {**create, **TRAIN, "index": 0}, "s"
    yield "create, half a source", "POST", "/create", TRAIN, "s"
    yield "create, nowhere", "POST", "/create", {**create, "env_name": "nowhere"}, "s"
    yield "create, index too high", "POST", "/create", {**TRAIN, "index": 9}, "s"
    yield "create by its place", "POST", "/create", {"env_name": "shop", **TRAIN, "index": 0}, "i"
    yield "ping by its place", "POST", "/ping", None, "i"
    yield "delete by its place", "POST", "/delete", None, "i"
    yield "create", "POST", "/create", create, "s"
    yield "create again", "POST", "/create", create, "s"
    yield "ping", "POST", "/ping", None, "s"
    yield "ping, no id", "POST", "/ping", None, None
    yield "ping, unknown", "POST", "/ping", None, "unknown"
    yield "session's tools", "GET", "/shop/task_tools", None, "s"
    yield "prompt", "GET", "/shop/prompt", None, "s"
    yield "prompt, no id", "GET", "/shop/prompt", None, None
    yield "prompt, unknown", "GET", "/shop/prompt", None, "unknown"
    yield "messages", "GET", "/shop/messages", None, "s"
    yield from calls()
    said = {"role": "assistant", "blocks": [{"type": "text", "text": "Bought."}]}
    candidate = {"messages": [said], "metadata": None}
    for name, body in (
        ("group", {"candidates": [candidate, candidate]}),
        ("group of none", {"candidates": []}),
        ("no group", {}),
        ("group of no messages", {"candidates": [{}]}),
        ("group with more", {"candidates": [{**candidate, "x": 1}]}),
    ):
        yield name, "POST", "/shop/score_group", body, "s"
    yield "group, no id", "POST", "/shop/score_group", {"candidates": []}, None
    yield "group, unknown", "POST", "/shop/score_group", {"candidates": []}, "unknown"
    yield "delete", "POST", "/delete", None, "s"
    yield "delete again", "POST", "/delete", None, "s"
    yield "ping, deleted", "POST", "/ping", None, "s"
    yield "call, deleted", "POST", "/shop/call", {"name": "step", "input": {}}, "s"
    yield "give an id back", "POST", "/delete_session", None, "s"


def calls() -> Iterator[Operation]:
    """Tool calls."""
    for name, tool, arguments in (
        ("step", "step", {"action": "go"}),
        ("step of a wrong argument", "step", {"act": 1}),
        ("unknown tool", "fly", {}),
        ("end of the step", "end_step", {}),
        ("answer of a wrong type", "answer", {"text": 7}),
        ("answer", "answer", {"text": "Bought."}),
        ("step after the end", "step", {}),
    ):
        yield name, "POST", "/shop/call", {"name": tool, "input": arguments}, "s"
    yield "call, no input", "POST", "/shop/call", {"name": "step"}, "s"
    yield "call, no id", "POST", "/shop/call", {"name": "step", "input": {}}, None
    lost = {"name": "step", "input": {}, "task_id": "lost"}
    yield "stream of no call", "POST", "/shop/call", lost, "s"


class Server(NamedTuple):
    """A server, and the answer of its last call."""

    base: str

    async def ask(self, http: aiohttp.ClientSession, operation: Operation) -> dict[str, Any]:
        """What it answers, in shape."""
        _, method, path, body, sid = operation
        headers = {"X-API-Key": TOKEN} | ({} if sid is None else {"X-Session-ID": sid})
        async with http.request(method, self.base + path, json=body, headers=headers) as answer:
            text = await answer.text()
            found = {"status": answer.status, "hops": [hop.status for hop in answer.history]}
            if answer.content_type == "text/event-stream":
                return {**found, **_stream(text)}
            return {**found, "shape": _shape(json.loads(text), answer.status < 400)}


def _stream(text: str) -> dict[str, Any]:
    events = [
        dict(line.split(": ", 1) for line in part.splitlines() if ": " in line)
        for part in text.replace("\r\n", "\n").split("\n\n")
        if part.strip() and not part.startswith(":")
    ]
    names = [event["event"] for event in events]
    joined = "".join(e.get("data", "") for e in events if e["event"] in ("chunk", "end"))
    return {"events": names, "shape": _shape(json.loads(joined)) if joined else None}


def _shape(value: Any, is_good: bool = True) -> Any:
    """The types of a value, all the way down; of an error that it has a `detail`."""
    if not is_good:
        return ["detail"] if "detail" in value else sorted(value)
    if isinstance(value, dict):
        return {
            k: UNSAID.get(k) or _shape(v) for k, v in sorted(value.items()) if k != "input_schema"
        }
    if isinstance(value, list):
        return [_shape(one) for one in value]
    return type(value).__name__ if not isinstance(value, bool) else value


async def main(package: str) -> None:
    async with aiohttp.ClientSession() as http:
        bearer = {"authorization": f"Bearer {TOKEN}"}
        async with http.post(f"{URL}/v1/episodes", json={"task": "shop/cart"}, headers=bearer) as a:
            opened = await a.json()
        say(episode=opened["episode"], token=opened["token"])
        port = free_port()
        serve(make_server(package), port)
        theirs = Server(f"http://127.0.0.1:{port}")
        ours = Server(os.environ["ORS_URL"])
        found = []
        specs = ({"episode": opened["episode"]}, {"task": "shop/cart"})
        for mine, reference in zip(*map(operations, specs), strict=True):
            pair = [await ours.ask(http, mine), await theirs.ask(http, reference)]
            found.append([mine[0], *pair])
    say(result=found)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
