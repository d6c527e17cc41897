"""Bodies of requests and answers as they are told: text or base64, masked, cut, files without their
bytes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any

from agentd.masking import MASK
from agentd.masking.bodies import boundary_of, map_parts
from agentd.sources.cdp.state.capture_plan import MAX_BODY_LENGTH
from agentd.sources.cdp.state.masking import Secrets, mask_body
from agentd.sources.cdp.state.protocol import RequestData
from detectors.model.kinds.network import MAX_UPLOADS
from detectors.model.optional_values import drop_keys, without_none

SMALL_FILE = 4096
"""Bytes of a text file in an upload that are reported; of other files only name and size are."""

_FILENAME = re.compile(r'\bfilename="([^"]*)"', re.IGNORECASE)
_TYPE = re.compile(r"^content-type:\s*([^\r\n]+)", re.IGNORECASE | re.MULTILINE)


def bytes_of(about: RequestData) -> bytes | None:
    """The body that came along with a request (`Network.Request`); None where it has to be
    fetched."""
    entries = about.get("postDataEntries")
    if entries:
        parts = [decode_base64(entry.get("bytes", "")) for entry in entries]
        return None if None in parts else b"".join(without_none(parts))
    text = about.get("postData")
    return None if text is None else str(text).encode("utf-8", "replace")


def bytes_of_reply(reply: Mapping[str, object], name: str) -> bytes | None:
    """The body in the reply to a command; None where the browser had none."""
    if name not in reply:
        return None
    text = str(reply[name])
    return decode_base64(text) if reply.get("base64Encoded") else text.encode("utf-8", "replace")


def request_body(
    raw: bytes, mime: str, secrets: Secrets, length: int | None = None
) -> dict[str, Any]:
    """{text | base64, mime?, cut?, files?}; ``length``: what the request's header says of the
    whole, None where that is not known (yet: `size_the_file`). A file of which nothing is there and
    whose size can't be known has no ``size``."""
    boundary = boundary_of(mime) if "multipart/" in mime else None
    if boundary is None:
        return body_fields(raw, mime, secrets)
    text, files = _without_files(raw, boundary)
    body = body_fields(text.encode(), mime, secrets)
    if length is None or length > len(raw):
        # A file that the browser reads from disk is not in what it tells.
        for file in files:
            if file["size"] == 0:
                del file["size"]
    if files:
        body["files"] = files
    if length is not None:
        size_the_file(body, length - len(raw))
    return body


def _without_files(raw: bytes, boundary: str) -> tuple[str, list[dict[str, Any]]]:
    """The text of a multipart body without its files but small ones, and what is known of each
    file: {name, filename, mime?, size}."""
    files: list[dict[str, Any]] = []

    def part(name: str, head: str, content: str) -> str:
        """Return one part of a form without its file, which is described beside; a small text
        stays."""
        filename = _FILENAME.search(head)
        if filename is None:
            return content
        kind = _TYPE.search(head)
        about: dict[str, Any] = {"name": _utf8(name), "filename": _utf8(filename[1])}
        if kind:
            about["mime"] = kind[1].strip()
        about["size"] = len(content)
        if len(files) < MAX_UPLOADS:
            files.append(about)
        return content if _is_small_text(content) else ""

    lean = map_parts(raw.decode("latin-1"), boundary, part)
    return _utf8(lean), files


def size_the_file(body: dict[str, Any], size: int) -> None:
    """Of a body whose one file has no ``size``: it has the bytes that the rest of the body
    lacks; unless there may be files that are not told."""
    files = body.get("files", ())
    sizeless = [one for one in files if "size" not in one]
    if len(sizeless) == 1 and len(files) < MAX_UPLOADS and size >= 0:
        sizeless[0]["size"] = size


def body_fields(raw: bytes, mime: str, secrets: Secrets) -> dict[str, Any]:
    """A body, masked before it is cut; what is no text is base64, unless a secret shows in it."""
    body: dict[str, Any] = {}
    try:
        kept = mask_body(raw.decode(), mime, secrets).encode()
        body["text"] = kept[:MAX_BODY_LENGTH].decode("utf-8", "ignore")
    except UnicodeDecodeError:
        kept = raw
        if is_clean(raw, secrets):
            body["base64"] = base64.b64encode(raw[:MAX_BODY_LENGTH]).decode()
        else:
            body["text"] = MASK
    if mime:
        body["mime"] = mime
    if len(kept) > MAX_BODY_LENGTH:
        body["cut"] = True
    return body


def mask_again(data: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """What is to be told of a request, masked once more: of a secret that it holds the page may
    have told since."""
    masked = {
        key: secrets.mask_url(value) if key in ("url", "location") else value
        for key, value in data.items()
    }
    if "body" in data:
        masked["body"] = _mask_body_again(data["body"], secrets)
    if "response" in data:
        masked["response"] = mask_again(data["response"], secrets)
    if "hops" in data:
        masked["hops"] = [mask_again(hop, secrets) for hop in data["hops"]]
    return masked


def _mask_body_again(body: dict[str, Any], secrets: Secrets) -> dict[str, Any]:
    """Mask a body by secrets that became known after it was kept."""
    if "text" in body:
        return body | {"text": mask_body(body["text"], body.get("mime", ""), secrets)}
    if is_clean(decode_base64(body.get("base64", "")) or b"", secrets):
        return body
    return drop_keys(body, ("base64",)) | {"text": MASK}


def is_clean(raw: bytes, secrets: Secrets) -> bool:
    """Whether no secret shows in ``raw``, which would be told as it is."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
        return secrets.mask_text(text) == text
    return mask_body(text, "", secrets) == text


def _is_small_text(content: str) -> bool:
    """Whether a file of a form is short and a text."""
    if len(content) > SMALL_FILE or "\0" in content:
        return False
    try:
        content.encode("latin-1").decode()
    except UnicodeDecodeError:
        return False
    return True


def _utf8(text: str) -> str:
    return text.encode("latin-1").decode("utf-8", "replace")


def decode_base64(text: str) -> bytes | None:
    """Decode base64, None for what is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
