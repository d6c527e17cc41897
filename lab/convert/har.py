"""HAR 1.2, as browsers, Playwright and proxies write it; also zipped with its bodies beside it
(``har.har``).

One step for each page of the HAR. Documents are told as navigations. That is not all of them: what
a script does to the address is in no HAR, so pages stay a gap unless the operator vouches for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

import orjson

from agentd.core.regular_file import read_regular
from agentd.sources.cdp.state.masking import Secrets
from detectors.model.kinds import KINDS
from lab.convert.errors import format_value
from lab.convert.exchange import MS, UNSEEN, Exchange, exchange, join, secret_fields, tellings
from lab.convert.page_state import MAIN, Pages, Telling
from lab.convert.source import Source
from lab.convert.tape import Tape

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fits(source: Source) -> bool:
    """Whether there is a ``log`` with ``entries``."""
    if source.zip is not None:
        return any(name.endswith(".har") for name in source.zip.names)
    return isinstance(source.value, dict) and isinstance(source.value.get("log"), dict)


def read(source: Source) -> HarReading:
    """The HAR, checked. Raises `ConvertError`."""
    return HarReading(source, _log(source))


def _log(source: Source) -> dict[str, Any]:
    value, where = source.value, ""
    if source.zip is not None:
        where = next((name for name in source.zip.names if name.endswith(".har")), "")
        if not where:
            raise source.wrong(
                "",
                f"a zip with {format_value(source.zip.names[:5])}",
                "wanted one with a .har in it",
            )
        try:
            value = orjson.loads(source.zip.read(where) or b"")
        except orjson.JSONDecodeError as error:
            raise source.wrong(where, f"no JSON: {error}", "wanted a HAR") from None
    log = value.get("log") if isinstance(value, dict) else None
    if not isinstance(log, dict):
        raise source.wrong(where, format_value(value), "wanted a HAR: an object with log")
    version = log.get("version")
    if not isinstance(version, str) or not version.startswith("1."):
        raise source.wrong("log.version", format_value(version), "wanted 1.1 or 1.2")
    for name in ("entries", "pages"):
        if not isinstance(log.get(name, []), list) or (name == "entries" and name not in log):
            raise source.wrong(f"log.{name}", format_value(log.get(name)), "wanted a list")
    return log


class HarReading:
    """A HAR that was read: see `lab.convert.formats.Reading`."""

    def __init__(self, source: Source, log: dict[str, Any]) -> None:
        self._source = source
        self.version: str = log["version"]
        creator = log.get("creator")
        self._tabs = isinstance(creator, dict) and creator.get("name") == "Playwright"
        self._pages = [
            _page(source, number, page) for number, page in enumerate(log.get("pages") or ())
        ]
        self._entries = [
            _entry(source, number, entry) for number, entry in enumerate(log["entries"])
        ]
        self._origin = min([at for at, _ in (*self._pages, *self._entries)], default=0)
        sockets = any("_webSocketMessages" in entry for _, entry in self._entries)
        nouns = ("request.", "message.") if sockets else ("request.",)
        self.shows = frozenset(kind for kind in KINDS if kind.startswith(nouns))

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Every page's step, every entry's chain, in the order of their times."""
        exchanges, pages = list(self._exchanges()), Pages()
        secrets = tape.secrets = Secrets(names=secret_fields(exchanges), more=mask)
        secrets.shown = tape.shown
        told = [*self._page_tellings(secrets), *self._chains(exchanges, secrets)]
        for telling in sorted(told, key=lambda one: one.at):
            for one in _played(pages, telling):
                if one.kind == "step":
                    tape.end(one.at)
                    tape.begin(one.at, one.data)
                elif one.kind == UNSEEN:
                    tape.interrupt(one.at, **one.data)
                else:
                    tape.tell(one.at, one.kind, one.data)

    def _tab(self, page: Any) -> str:
        """Playwright's pages are tabs, other programs' are navigations in one tab."""
        return str(page) if self._tabs and page else MAIN

    def _page_tellings(self, secrets: Secrets) -> Iterator[Telling]:
        begun = 0
        for number, (start, page) in enumerate(sorted(self._pages, key=lambda one: one[0])):
            title, at, tab = (
                str(page.get("title") or ""),
                start - self._origin,
                self._tab(page.get("id")),
            )
            clear = secrets.mask_url(title) if "://" in title else secrets.mask_text(title)
            begun = at if number else 0
            yield Telling(begun, "step", {"page": clear or str(page.get("id"))})
            timings = page.get("pageTimings")
            for name, kind in (("onContentLoad", "page.parsed"), ("onLoad", "page.loaded")):
                after = timings.get(name) if isinstance(timings, dict) else None
                if isinstance(after, int | float) and 0 <= after < 1e12:
                    yield Telling(at + int(after * MS), kind, {"tab": tab, "title": clear})
        if not self._pages:
            yield Telling(0, "step", {})

    def _exchanges(self) -> Iterator[Exchange]:
        for number, (at, entry) in enumerate(self._entries):
            tab = self._tab(entry.get("pageref"))
            with self._source.part(f"log.entries[{number}]"):
                yield exchange(entry, f"har-{number}", at - self._origin, tab, self._attached)

    def _chains(self, exchanges: list[Exchange], secrets: Secrets) -> Iterator[Telling]:
        mains: dict[str, str] = {}
        for first in join(exchanges):
            frame = _frame(first, mains, self._tabs)
            yield from tellings(first, frame, secrets)
            last = first
            while last.onward is not None:
                last = last.onward
            where = {
                "tab": first.tab,
                "frame": frame,
                "main": frame == first.tab,
                "url": secrets.mask_url(last.url),
            }
            if last.commits:
                yield Telling(last.head, "commit", where)
            elif last.type == "Document" and last.status is None and last.failure is not None:
                yield Telling(last.end, "page.failed", where | {"error": last.failure})

    def _attached(self, name: str) -> bytes | None:
        """A body that lies beside the entries, in the zip or in the HAR's own folder, and nowhere
        else."""
        if self._source.zip is not None:
            return self._source.zip.read(name)
        if PurePosixPath(name).name != name or name in ("", ".", ".."):
            return None
        beside = Path(self._source.path).parent / name
        return read_regular(beside) if beside.is_file() and not beside.is_symlink() else None


def _frame(first: Exchange, mains: dict[str, str], tabs: bool) -> str:
    """The frame that a chain belongs to; the main one is named like the tab.

    The request itself says so where it has the header; else the first document's frame is the main
    one, and where frames have no names (a page is a navigation then) so is only that document.
    """
    destination = first.headers.get("sec-fetch-dest")
    if first.type == "Document" and destination in ("iframe", "frame"):
        return first.frame or f"{first.tab}:{first.number}"
    if first.type == "Document" and (
        destination == "document" or not tabs or first.tab not in mains
    ):
        mains[first.tab] = first.frame
    is_main = not first.frame or mains.get(first.tab, first.frame) == first.frame
    return first.tab if is_main else first.frame


def _played(pages: Pages, telling: Telling) -> Iterator[Telling]:
    """What a telling comes to, where that depends on what stands in the page by then."""
    at, kind, data = telling
    if kind == "commit":
        yield from pages.navigated(at, data["tab"], data["frame"], data["url"])
    elif kind in ("page.parsed", "page.loaded"):
        yield from pages.loaded(at, kind, data["tab"])
        url, title = pages.url(data["tab"]), data["title"]
        if kind == "page.loaded" and url and title and "://" not in title:
            yield Telling(at, "page.titled", {"tab": data["tab"], "title": title, "url": url})
    else:
        yield telling


def _page(source: Source, number: int, page: Any) -> tuple[int, dict[str, Any]]:
    where = f"log.pages[{number}]"
    if not isinstance(page, dict):
        raise source.wrong(where, format_value(page), "wanted an object")
    return _time(source, f"{where}.startedDateTime", page.get("startedDateTime")), page


def _entry(source: Source, number: int, entry: Any) -> tuple[int, dict[str, Any]]:
    where = f"log.entries[{number}]"
    if not isinstance(entry, dict):
        raise source.wrong(where, format_value(entry), "wanted an object")
    request = entry.get("request")
    if not isinstance(request, dict):
        raise source.wrong(f"{where}.request", format_value(request), "wanted an object")
    for name in ("method", "url"):
        if not isinstance(request.get(name), str):
            raise source.wrong(
                f"{where}.request.{name}", format_value(request.get(name)), "wanted a text"
            )
    if not isinstance(entry.get("response", {}), dict | None):
        raise source.wrong(f"{where}.response", format_value(entry["response"]), "wanted an object")
    return _time(source, f"{where}.startedDateTime", entry.get("startedDateTime")), entry


def _time(source: Source, where: str, value: Any) -> int:
    """An ISO 8601 time as nanoseconds since 1970."""
    try:
        at = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise source.wrong(
            where, format_value(value), "wanted a time, as in 2026-01-02T03:04:05.678Z"
        ) from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return (at - _EPOCH) // timedelta(microseconds=1) * 1000
