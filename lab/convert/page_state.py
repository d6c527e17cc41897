"""What importers that know pages only by their addresses keep of them: which frames stand where,
told once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from detectors.model.json_value import JsonObject

MAIN = "tab"
"""The one tab, and its main frame, of what knows no tabs."""


UNSEEN = "unseen"
"""The kind of a telling that is no event: a part of the browser that may have changed unobserved
(`Tape.interrupt`)."""


class Telling(NamedTuple):
    """An event to be, with its time in nanoseconds since the beginning."""

    at: int
    kind: str
    data: JsonObject


class PageFrames:
    """The frames of every tab. A main frame is named like its tab."""

    def __init__(self) -> None:
        self._urls: dict[str, dict[str, str]] = {}

    def url(self, tab: str, frame: str | None = None) -> str:
        """Where a frame (None: the main one) stands; "" if nobody saw."""
        return self._urls.get(tab, {}).get(frame or tab, "")

    def navigated(
        self, at: int, tab: str, frame: str, url: str, *, same_document: bool = False
    ) -> Iterator[Telling]:
        """A frame committed ``url``; a main frame's new document takes the frames below with it."""
        frames = self._urls.setdefault(tab, {})
        main = frame == tab
        if main and not same_document:
            for child in [name for name in frames if name != tab]:
                del frames[child]
                yield Telling(at, "frame.detached", {"tab": tab, "frame": child})
        frames[frame] = url
        data: JsonObject = {
            "tab": tab,
            "frame": frame,
            "main": main,
            "url": url,
            "same_document": same_document,
        }
        yield Telling(at, "page.navigated", data)

    def loaded(self, at: int, kind: str, tab: str) -> Iterator[Telling]:
        """The main frame's document was parsed or loaded."""
        if url := self.url(tab):
            yield Telling(at, kind, {"tab": tab, "frame": tab, "main": True, "url": url})
