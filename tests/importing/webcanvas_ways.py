"""WebCanvas' key nodes: what its own functions make of an address, written from their description,
and a right way through a task, as a daemon tells it."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from detectors.model.json_value import JsonObject
from lab.benchmarks.webcanvas_nodes import SitePages, read_node
from tests.support.logs import Said, answered, clicked, filled, went

Node = dict[str, Any]


def url_node(wanted: str, how: str = "included", key: str = "", url: str = "") -> Node:
    """A node of an address."""
    content = {"key": key, "reference_answer": wanted, "url": url or "https://www.shop.test/"}
    return {"match_function_name": f"url_{how}_match", "content": content}


def element_node(
    what: str, wanted: str, how: str = "exactly", netloc: str = "shop", **more: str
) -> Node:
    """A node of an element: its path or its value."""
    content = {
        "reference_answer": wanted, "netloc": netloc, "url": "https://www.shop.test/a", **more,
    }  # fmt: skip
    return {"match_function_name": f"element_{what}_{how}_match", "content": content}


def taken(key: str, url: str) -> str | None:
    """What their functions look at in an address: a parameter's first value, or host, path and
    fragment; None where there is nothing."""
    parts = urlsplit(url)
    if key:
        values = parse_qs(parts.query).get(key)
        return unquote(values[0]) if values else None
    return unquote(parts.netloc + parts.path + (f"#{parts.fragment}" if parts.fragment else ""))


def theirs(node: Node, url: str) -> bool:
    """Whether their function, included or exactly, is met by an address."""
    content, function = node["content"], node["match_function_name"]
    key, wanted = content["key"], content["reference_answer"]
    if function == "url_included_match":
        found = taken(key, url)
        return found is not None and wanted in found
    found = taken(key, url) if key else unquote(url)
    return bool(found == wanted)


def address_for(node: Node) -> str:
    """An address that meets a node: its annotator's, or one made for it on that site."""
    content = node["content"]
    url, key, wanted = content["url"], content.get("key", ""), content["reference_answer"]
    parts = urlsplit(url)
    if key:
        is_sentence = node["match_function_name"].startswith("url_semantic")
        if not is_sentence and "://" not in wanted and theirs(node, url):
            return str(url)
        held = wanted.rpartition(" for ")[2] if is_sentence else wanted.partition("http")[0]
        return f"{parts.scheme}://{parts.netloc}{parts.path}?{quote(key)}={quote(held)}"
    if theirs(node, url):
        return str(url)
    if "://" in wanted:
        return str(wanted)
    rest = wanted if wanted[:1] in "/#?" else f"/{wanted}"
    return f"{parts.scheme}://{parts.netloc}{rest}"


def deed_for(node: Node) -> list[Said]:
    """What meets a node of an element: a click on it, or a field that is filled in."""
    content, function = node["content"], node["match_function_name"]
    at = went(content["url"])
    if function.startswith("final_answer"):
        return [answered(content["reference_answer"])]
    if function.startswith("element_path"):
        kind, data = clicked("", "img")
        return [at, (kind, {**data, "selectors": [content["reference_answer"].strip()]})]
    wanted = content["reference_answer"].strip()
    held = wanted.rpartition(" for ")[2] if "semantic" in function else wanted
    selectors = [content.get("path", "").strip() or "*"]
    if "path" in content:
        return [at, filled("field", held.removeprefix("Decide whether "), selectors=selectors)]
    kind, data = clicked(held)
    return [at, (kind, {**data, "selectors": selectors})]


def right_way(task: JsonObject) -> list[list[Said]]:
    """A step for each node that is told, in their order."""
    nodes: list[Node] = task["evaluation"]  # type: ignore[assignment]
    pages = SitePages({"https://www.shop.test": "https://www.shop.test"})
    told = [node for node in nodes if read_node(node, pages).when is not None]
    return [
        [went(address_for(node))]
        if node["match_function_name"].startswith("url")
        else deed_for(node)
        for node in told
    ]
