"""What a model said, in an object of OpenAI's Responses, which NeMo Gym and verifiers pass on."""

from __future__ import annotations


def response_text(response: object) -> str:
    """All text of the messages in an object of OpenAI's Responses."""
    texts: list[str] = []
    for item in (response.get("output") if isinstance(response, dict) else None) or []:
        if not isinstance(item, dict) or item.get("type") != "message":
            continue
        content = item.get("content")
        if isinstance(content, str):
            texts.append(content)
        elif isinstance(content, list):
            texts += [
                str(c.get("text") or "")
                for c in content
                if isinstance(c, dict) and c.get("type") == "output_text"
            ]
    return "".join(texts)


def calls_tools(response: object) -> bool:
    """Whether the model called a tool, so that more is to come."""
    items = (response.get("output") if isinstance(response, dict) else None) or []
    return any(isinstance(item, dict) and item.get("type") == "function_call" for item in items)
