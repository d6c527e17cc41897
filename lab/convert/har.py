"""HAR 1.2, as browsers, Playwright and proxies write it; also zipped with its bodies beside it
(``har.har``).

One step for each page of the HAR. Documents are told as navigations. That is not all of them: what
a script does to the address is in no HAR, so pages stay a gap unless the operator vouches for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path, PurePosixPath

import orjson

from agentd.sources.cdp.state.masking import Secrets
from common.regular_file import read_regular
from detectors.model.json_value import JsonObject, JsonValue, read_list, read_text, require_text
from detectors.model.kinds import KINDS
from lab.convert.errors import format_value
from lab.convert.exchange import MS, Exchange, join, parse_exchange, secret_fields, tellings
from lab.convert.page_state import MAIN, PageFrames, Telling
from lab.convert.source import SourceFile, Zip
from lab.convert.tape import Tape
from lab.convert.times import iso_to_ns


def fits(source: SourceFile) -> bool:
    """Whether there is a ``log`` with ``entries``."""
    if source.zip is not None:
        return any(name.endswith(".har") for name in source.zip.names)
    return isinstance(source.value, dict) and isinstance(source.value.get("log"), dict)


def read(source: SourceFile) -> HarReading:
    """Check the HAR's log and give its reading. Raises `ConvertError`."""
    return HarReading(source, _log(source))


def _log(source: SourceFile) -> JsonObject:
    """The HAR's ``log``, its version and lists checked."""
    where, value = ("", source.value) if source.zip is None else _zipped(source, source.zip)
    log = value.get("log") if isinstance(value, dict) else None
    if not isinstance(log, dict):
        raise source.wrong(where, format_value(value), "wanted a HAR: an object with log")
    version = log.get("version")
    if not isinstance(version, str) or not version.startswith("1."):
        raise source.wrong("log.version", format_value(version), "wanted 1.1 or 1.2")
    _list_in(source, log, "entries")
    if "pages" in log:
        _list_in(source, log, "pages")
    return log


def _list_in(source: SourceFile, log: JsonObject, name: str) -> Sequence[JsonValue]:
    value = log.get(name)
    if not isinstance(value, list):
        raise source.wrong(f"log.{name}", format_value(value), "wanted a list")
    return value


def _zipped(source: SourceFile, pack: Zip) -> tuple[str, JsonValue]:
    """The name and the JSON of the HAR in a zip."""
    name = next((name for name in pack.names if name.endswith(".har")), "")
    if not name:
        what = f"a zip with {format_value(pack.names[:5])}"
        raise source.wrong("", what, "wanted one with a .har in it")
    try:
        return name, orjson.loads(pack.read(name) or b"")
    except orjson.JSONDecodeError as error:
        raise source.wrong(name, f"no JSON: {error}", "wanted a HAR") from None


class HarReading:
    """A HAR that was read: see `lab.convert.formats.FormatReading`."""

    def __init__(self, source: SourceFile, log: JsonObject) -> None:
        self._source = source
        self.version = str(log["version"])
        creator = log.get("creator")
        self._tabs = isinstance(creator, dict) and creator.get("name") == "Playwright"
        pages, entries = read_list(log, "pages"), read_list(log, "entries")
        self._pages = [_page(source, number, page) for number, page in enumerate(pages)]
        self._entries = [_entry(source, number, entry) for number, entry in enumerate(entries)]
        self._origin = min([at for at, _ in (*self._pages, *self._entries)], default=0)
        has_sockets = any("_webSocketMessages" in entry for _, entry in self._entries)
        nouns = ("request.", "message.") if has_sockets else ("request.",)
        self.shows = frozenset(kind for kind in KINDS if kind.startswith(nouns))

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Every page's step, every entry's chain, in the order of their times."""
        exchanges, pages = list(self._exchanges()), PageFrames()
        secrets = tape.secrets = Secrets(names=secret_fields(exchanges), more=mask)
        secrets.shown = tape.shown
        timed = [*self._page_tellings(secrets), *self._chains(exchanges, secrets)]
        for telling in sorted(timed, key=lambda telling: telling.at):
            tape.play(_played(pages, telling))

    def _tab(self, page: JsonValue) -> str:
        """Playwright's pages are tabs, other programs' are navigations in one tab."""
        return str(page) if self._tabs and page else MAIN

    def _page_tellings(self, secrets: Secrets) -> Iterator[Telling]:
        if not self._pages:
            yield Telling(0, "step.began", {})
        for number, (start, page) in enumerate(sorted(self._pages, key=itemgetter(0))):
            at = start - self._origin
            begins = at if number else 0
            title = read_text(page, "title")
            clear = secrets.mask_url(title) if "://" in title else secrets.mask_text(title)
            yield Telling(begins, "step.ended", {})
            yield Telling(begins, "step.began", {"page": clear or str(page.get("id"))})
            about: dict[str, JsonValue] = {"tab": self._tab(page.get("id")), "title": clear}
            for kind, after in _page_times(page):
                yield Telling(at + after, kind, about)

    def _exchanges(self) -> Iterator[Exchange]:
        for number, (at, entry) in enumerate(self._entries):
            tab = self._tab(entry.get("pageref"))
            with self._source.part(f"log.entries[{number}]"):
                yield parse_exchange(entry, f"har-{number}", at - self._origin, tab, self._attached)

    def _chains(self, exchanges: list[Exchange], secrets: Secrets) -> Iterator[Telling]:
        mains: dict[str, str] = {}
        for first in join(exchanges):
            frame = _frame(first, mains, self._tabs)
            yield from tellings(first, frame, secrets)
            last = first.last()
            where: dict[str, JsonValue] = {
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


def _page_times(page: JsonObject) -> Iterator[tuple[str, int]]:
    """When a page was parsed and loaded, in nanoseconds after it began."""
    timings = page.get("pageTimings")
    if not isinstance(timings, dict):
        return
    for name, kind in (("onContentLoad", "page.parsed"), ("onLoad", "page.loaded")):
        after = timings.get(name)
        if isinstance(after, int | float) and 0 <= after < 1e12:
            yield kind, int(after * MS)


def _frame(first: Exchange, mains: dict[str, str], tabs: bool) -> str:
    """The frame that a chain belongs to; the main one is named like the tab.

    The request itself says so where it has the header; else the first document's frame is the main
    one, and where frames have no names (a page is a navigation then) so is only that document.
    """
    destination = first.headers.get("sec-fetch-dest")
    if first.type == "Document":
        if destination in ("iframe", "frame"):
            return first.frame or f"{first.tab}:{first.number}"
        if destination == "document" or not tabs or first.tab not in mains:
            mains[first.tab] = first.frame
    is_main = not first.frame or mains.get(first.tab, first.frame) == first.frame
    return first.tab if is_main else first.frame


def _played(pages: PageFrames, telling: Telling) -> Iterator[Telling]:
    """What a telling comes to, where that depends on what stands in the page by then."""
    at, kind, data = telling
    tab = str(data.get("tab"))
    if kind == "commit":
        yield from pages.navigated(at, tab, str(data["frame"]), str(data["url"]))
    elif kind in ("page.parsed", "page.loaded"):
        yield from pages.loaded(at, kind, tab)
        url, title = pages.url(tab), str(data["title"])
        if kind == "page.loaded" and url and title and "://" not in title:
            about: dict[str, JsonValue] = {"tab": tab, "title": title, "url": url}
            yield Telling(at, "page.title_changed", about)
    else:
        yield telling


def _page(source: SourceFile, number: int, value: JsonValue) -> tuple[int, JsonObject]:
    where = f"log.pages[{number}]"
    page = _require_object(source, where, value)
    return _time(source, f"{where}.startedDateTime", page.get("startedDateTime")), page


def _entry(source: SourceFile, number: int, value: JsonValue) -> tuple[int, JsonObject]:
    where = f"log.entries[{number}]"
    entry = _require_object(source, where, value)
    request = _require_object(source, f"{where}.request", entry.get("request"))
    for name in ("method", "url"):
        part = request.get(name)
        if not isinstance(part, str):
            raise source.wrong(f"{where}.request.{name}", format_value(part), "wanted a text")
    if entry.get("response") is not None:
        _require_object(source, f"{where}.response", entry["response"])
    return _time(source, f"{where}.startedDateTime", entry.get("startedDateTime")), entry


def _require_object(source: SourceFile, where: str, value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise source.wrong(where, format_value(value), "wanted an object")
    return value


def _time(source: SourceFile, where: str, value: JsonValue) -> int:
    """An ISO 8601 time as nanoseconds since 1970."""
    try:
        return iso_to_ns(require_text(value, where))
    except (TypeError, ValueError):
        raise source.wrong(
            where, format_value(value), "wanted a time, as in 2026-01-02T03:04:05.678Z"
        ) from None
