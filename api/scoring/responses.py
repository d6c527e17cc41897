"""What a model said, in an object of OpenAI's Responses, which NeMo Gym and verifiers pass on."""

from __future__ import annotations

from collections.abc import Mapping

from detectors.model.json_value import JsonValue, objects_in, read_text


def response_text(response: JsonValue) -> str:
    """All text of the messages in an object of OpenAI's Responses."""
    output = response.get("output") if isinstance(response, Mapping) else None
    messages = [item for item in objects_in(output) if item.get("type") == "message"]
    return "".join(_content_text(message.get("content")) for message in messages)


def _content_text(content: JsonValue) -> str:
    """Return the text of a message's content, plain or in parts."""
    if isinstance(content, str):
        return content
    parts = [part for part in objects_in(content) if part.get("type") == "output_text"]
    return "".join(read_text(part, "text") for part in parts)


def calls_tools(response: object) -> bool:
    """Whether the model called a tool, so that more is to come."""
    items = (response.get("output") if isinstance(response, dict) else None) or []
    return any(isinstance(item, dict) and item.get("type") == "function_call" for item in items)
