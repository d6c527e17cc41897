"""HAR entries as a browser would have written them where a task of WebArena-Verified's is done
right, and wrongly."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

from lab.benchmarks.patterns import is_pattern
from lab.benchmarks.verified import SITES
from lab.benchmarks.verified_sites import Sites
from tests.importing.webarena.samples import sample

Json = dict[str, Any]
PLACES = Sites(SITES)
MARK = "zzz-wrong"


class Case(NamedTuple):
    """What an agent left behind, and what is special about it."""

    task: int
    name: str
    answer: Any
    entries: list[Json]

    def line(self) -> str:
        """As the oracle reads it."""
        return (
            json.dumps({"task_id": self.task, "answer": self.answer, "entries": self.entries})
            + "\n"
        )


def entry(method: str, url: str, status: int, **more: Any) -> Json:
    """One HAR entry; times are given when all are there."""
    headers = [{"name": "Accept", "value": "text/html,application/xhtml+xml"}]
    headers += [{"name": name, "value": said} for name, said in more.get("headers", {}).items()]
    request: Json = {"method": method, "url": url, "headers": headers}
    if "posted" in more:
        request["postData"] = more["posted"]
    response = {"status": status, "headers": [], "cookies": [], "redirectURL": more.get("to", "")}
    response["content"] = more.get("content", {"mimeType": "text/html", "text": "<p>ok</p>"})
    for name, said in more.get("cookies", {}).items():
        response["cookies"].append({"name": name, "value": said})
        response["headers"].append({"name": "Set-Cookie", "value": f"{name}={said}"})
    return {"request": request, "response": response, "time": 1, "timings": {}}


def done(config: Json, home: str) -> list[Json]:
    """The entries of one check that is fulfilled."""
    expected = config["expected"]
    method = expected.get("http_method") or "GET"
    status = expected.get("response_status") or 200
    more: Json = {"headers": {}}
    for name, said in (expected.get("headers") or {}).items():
        more["headers"][name] = _cookie(said) if name == "Cookie" else _text(said)
    if expected.get("post_data"):
        more["posted"] = posted(expected["post_data"])
    if expected.get("response_content"):
        more["content"] = {
            "mimeType": "application/json",
            "text": json.dumps(nested(expected["response_content"])),
        }
    if expected.get("response_cookies"):
        more["cookies"] = {name: _text(said) for name, said in expected["response_cookies"].items()}
    url = address(expected)
    if status != 302:
        return [entry(method, url, status, **more)]
    after = f"{home}done"
    return [entry(method, url, status, to=after, **more), entry("GET", after, 200)]


def address(expected: Json) -> str:
    """The address of a check, with its query."""
    first = expected["url"][0] if isinstance(expected["url"], list) else expected["url"]
    where = PLACES.rendered(first)
    if is_pattern(first):
        # A pattern for any site: the map's.
        anywhere = where.startswith("^.*/")
        where = (PLACES.urls["map"] + sample(f"^{where[3:]}")) if anywhere else sample(where)
    query = {
        name: [_text(one) for one in values]
        for name, values in (expected.get("query_params") or {}).items()
    }
    return f"{where.partition('?')[0]}?{urlencode(query, doseq=True)}" if query else str(where)


def posted(wanted: Json) -> Json:
    """Form fields, or JSON where paths into it are wanted."""
    if any(key.startswith("$.") and not key.startswith("$.^") for key in wanted):
        return {"mimeType": "application/json", "text": json.dumps(nested(wanted))}
    fields: Json = {}
    for key, said in wanted.items():
        if key.startswith("$.^"):
            fields[sample(key[2:])] = _text(said)
        elif key.startswith("$["):
            rows = [{"newProduct": 1, "attributes": one} for one in said]
            fields["configurable-matrix-serialized"] = json.dumps(rows)
        elif said is not None:
            fields[key] = _text(said)
    return {"mimeType": "application/x-www-form-urlencoded", "text": urlencode(fields) or "other=1"}


def nested(wanted: Json) -> Json:
    """An object in which the paths are."""
    root: Json = {}
    for key, said in wanted.items():
        if said is None:
            continue
        at: Any = root
        steps = (
            key.removeprefix("$.").replace("[", ".[").split(".") if key.startswith("$") else [key]
        )
        for step, following in zip(steps, [*steps[1:], None], strict=True):
            fresh: Any = [] if following is not None and following.startswith("[") else {}
            value = (
                fresh
                if following is not None
                else (said if not isinstance(said, str) else _text(said))
            )
            if step.startswith("["):
                at.extend([{} for _ in range(int(step[1:-1]) + 1 - len(at))])
                if following is None:
                    at[int(step[1:-1])] = value
                at = at[int(step[1:-1])]
            else:
                at = at.setdefault(step, value)
    return root


def _cookie(pattern: str) -> str:
    """A header that the pattern takes: of one that rules engines out, another engine."""
    engine = "_osm_directions_engine=car" if "(?!" in pattern else pattern.strip("^$").strip(".*")
    return f"a=1; {engine}"


def _text(said: Any) -> str:
    first = said[0] if isinstance(said, list) else said
    rendered = PLACES.rendered(first)
    return sample(rendered) if is_pattern(first) else str(rendered)


def answered(said: Json) -> Json:
    """The answer that is wanted, of alternatives the first."""
    expected = said["expected"]
    out = {"task_type": expected["task_type"].upper(), "status": expected["status"]}
    out["retrieved_data"] = _first(expected.get("retrieved_data"), said.get("results_schema"))
    return out


def _first(value: Any, schema: Any) -> Any:
    if isinstance(value, list) and (schema or {}).get("type") == "array":
        return [_first(one, schema.get("items")) for one in value]
    if isinstance(value, dict):
        properties = (schema or {}).get("properties") or {}
        return {name: _first(one, properties.get(name)) for name, one in value.items()}
    chosen = value[0] if isinstance(value, list) else value
    rendered = PLACES.rendered(chosen)
    return sample(rendered) if is_pattern(chosen) else rendered


def cases(task: Json) -> Iterator[Case]:
    """Right, and wrong in one thing at a time."""
    said, *network = task["eval"]
    checks = [config for config in network if not config.get("should_not_exist")]
    right, number, home = (
        answered(said),
        task["task_id"],
        PLACES.rendered(f"__{task['sites'][0].upper()}__/"),
    )
    parts = [done(config, home) for config in checks]

    def made(name: str, changed: list[list[Json]], answer: Any = right) -> Case:
        return Case(
            number,
            name,
            answer,
            timed([entry("GET", home, 200), *(one for part in changed for one in part)]),
        )

    yield made("right", parts)
    yield made("right, then other pages asked for in the background", [*parts, [_background(home)]])
    yield made("says nothing", parts, None)
    yield made("another status", parts, {**right, "status": "UNKNOWN_ERROR"})
    yield made("another kind of task", parts, {**right, "task_type": "dance"})
    for place, config in enumerate(checks):
        for name, wrong in spoiled(config, parts[place]):
            yield made(f"check {place + 1}: {name}", [*parts[:place], wrong, *parts[place + 1 :]])
            if name.startswith(("another", "refused")):
                yield made(f"check {place + 1}: then {name}", [*parts, wrong])
    for config in network:
        if config.get("should_not_exist"):
            yield made(
                "does what it must not", [*parts, [entry("POST", address(config["expected"]), 200)]]
            )


def spoiled(config: Json, part: list[Json]) -> Iterator[tuple[str, list[Json]]]:
    """The check's entries, wrong in one thing."""
    expected = config["expected"]
    yield "not made", []
    for name, key, said in (("another method", "method", "PATCH"), ("another place", "url", None)):
        wrong = copy.deepcopy(part)
        request = wrong[0]["request"]
        base, mark, query = request["url"].partition("?")
        request[key] = said or f"http://elsewhere.example/{base.rpartition('/')[2]}x{mark}{query}"
        yield name, wrong
    if expected.get("query_params"):
        wrong = copy.deepcopy(part)
        wrong[0]["request"]["url"] = part[0]["request"]["url"].partition("?")[0]
        yield "no query", wrong
    wrong = copy.deepcopy(part)[:1]
    wrong[0]["response"] |= {"status": 422, "redirectURL": ""}
    yield "refused", wrong
    for name in expected.get("response_cookies") or ():
        wrong = copy.deepcopy(part)
        wrong[0]["response"]["cookies"] = [{"name": name, "value": MARK}]
        wrong[0]["response"]["headers"] = [{"name": "Set-Cookie", "value": f"{name}={MARK}"}]
        yield "another cookie", wrong
    if "Cookie" in (expected.get("headers") or {}):
        wrong = copy.deepcopy(part)
        engine = "bicycle" if "(?!" in expected["headers"]["Cookie"] else "car"
        for header in wrong[0]["request"]["headers"]:
            if header["name"] == "Cookie":
                header["value"] = f"_osm_directions_engine=fossgis_osrm_{engine}"
        yield "by another engine", wrong
    for name, value in (expected.get("post_data") or {}).items():
        if isinstance(value, str) and not is_pattern(value) and not name.startswith("$["):
            wrong = copy.deepcopy(part)
            wrong[0]["request"]["postData"] = posted({**expected["post_data"], name: MARK})
            yield f"another {name}", wrong


def timed(entries: list[Json]) -> list[Json]:
    """Copies, each a second after the one before."""
    return [
        {**one, "startedDateTime": f"2026-01-02T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.000Z"}
        for n, one in enumerate(entries)
    ]


def _background(home: str) -> Json:
    one = entry("GET", f"{home}poll.json", 200)
    one["request"]["headers"] = [{"name": "Accept", "value": "application/json"}]
    return one
