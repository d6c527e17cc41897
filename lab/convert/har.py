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
from detectors.model.json_value import (
    JsonObject,
    JsonValue,
    object_or_empty,
    read_list,
    read_text,
    require_text,
)
from detectors.model.kinds import KINDS
from lab.convert.errors import format_value
from lab.convert.exchange import MAX_MS, MS, Exchange, join, parse_exchange, secret_fields, tellings
from lab.convert.page_state import MAIN, PageFrames, Telling
from lab.convert.source import SourceFile, Zip
from lab.convert.tape import Tape
from lab.convert.times import iso_to_ns

_PAGE_TIMES = {"onContentLoad": "page.parsed", "onLoad": "page.loaded"}


def fits(source: SourceFile) -> bool:
    """Whether there is a ``log`` with ``entries``."""
    if source.zip is not None:
        return any(name.endswith(".har") for name in source.zip.names)
    log = object_or_empty(source.value).get("log")
    return isinstance(log, dict)


def read(source: SourceFile) -> HarReading:
    """Check the HAR's log and give its reading. Raises `ConvertError`."""
    return HarReading(source, _log(source))


def _log(source: SourceFile) -> JsonObject:
    """The HAR's ``log``, its version and lists checked."""
    where = ""
    value = source.value
    if source.zip is not None:
        where, value = _zipped(source, source.zip)
    log = object_or_empty(value).get("log")
    if not isinstance(log, dict):
        raise source.wrong(where, format_value(value), "wanted a HAR: an object with log")
    version = log.get("version")
    is_known = isinstance(version, str) and version.startswith("1.")
    if not is_known:
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
    names = [name for name in pack.names if name.endswith(".har")]
    if not names:
        what = f"a zip with {format_value(pack.names[:5])}"
        raise source.wrong("", what, "wanted one with a .har in it")
    name = names[0]
    content = pack.read(name) or b""
    try:
        return name, orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise source.wrong(name, f"no JSON: {error}", "wanted a HAR") from None


class HarReading:
    """A HAR that was read: see `lab.convert.formats.FormatReading`."""

    def __init__(self, source: SourceFile, log: JsonObject) -> None:
        self._source = source
        self.version = str(log["version"])
        creator = object_or_empty(log.get("creator"))
        self._tabs = creator.get("name") == "Playwright"
        pages = read_list(log, "pages")
        entries = read_list(log, "entries")
        self._pages = [_page(source, number, page) for number, page in enumerate(pages)]
        self._entries = [_entry(source, number, entry) for number, entry in enumerate(entries)]
        times = [at for at, _ in (*self._pages, *self._entries)]
        self._origin = min(times, default=0)
        nouns = ["request."]
        if any("_webSocketMessages" in entry for _, entry in self._entries):
            nouns.append("message.")
        self.shows = frozenset(kind for kind in KINDS if kind.startswith(tuple(nouns)))

    def tell(self, tape: Tape, mask: Sequence[str]) -> None:
        """Every page's step, every entry's chain, in the order of their times."""
        exchanges, pages = list(self._exchanges()), PageFrames()
        names = secret_fields(exchanges)
        secrets = tape.secrets = Secrets(names=names, more=mask, shown=tape.shown)
        timed = [*self._page_tellings(secrets), *self._chains(exchanges, secrets)]
        for telling in sorted(timed, key=lambda telling: telling.at):
            tape.play(_played(pages, telling))

    def _tab(self, page: JsonValue) -> str:
        """Playwright's pages are tabs, other programs' are navigations in one tab."""
        return str(page) if self._tabs and page else MAIN

    def _page_tellings(self, secrets: Secrets) -> Iterator[Telling]:
        """Tell each page of the HAR as a step; a HAR without pages is one step."""
        if not self._pages:
            yield Telling(0, "step.began", {})
        pages = sorted(self._pages, key=itemgetter(0))
        for number, (start, page) in enumerate(pages):
            at = start - self._origin
            begins = at if number else 0
            title = read_text(page, "title")
            mask = secrets.mask_url if "://" in title else secrets.mask_text
            clear = mask(title)
            yield Telling(begins, "step.ended", {})
            yield Telling(begins, "step.began", {"page": clear or str(page.get("id"))})
            tab = self._tab(page.get("id"))
            about: dict[str, JsonValue] = {"tab": tab, "title": clear}
            for kind, after in _page_times(page):
                yield Telling(at + after, kind, about)

    def _exchanges(self) -> Iterator[Exchange]:
        for number, (at, entry) in enumerate(self._entries):
            tab = self._tab(entry.get("pageref"))
            with self._source.part(f"log.entries[{number}]"):
                yield parse_exchange(entry, f"har-{number}", at - self._origin, tab, self._attached)

    def _chains(self, exchanges: list[Exchange], secrets: Secrets) -> Iterator[Telling]:
        """Tell each chain of redirects, and the document that its answer brought, or that none
        came."""
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
        is_plain_name = PurePosixPath(name).name == name and name not in ("", ".", "..")
        if not is_plain_name:
            return None
        beside = Path(self._source.path).parent / name
        if beside.is_symlink() or not beside.is_file():
            return None
        return read_regular(beside)


def _page_times(page: JsonObject) -> Iterator[tuple[str, int]]:
    """When a page was parsed and loaded, in nanoseconds after it began."""
    timings = object_or_empty(page.get("pageTimings"))
    for name, kind in _PAGE_TIMES.items():
        after = timings.get(name)
        if isinstance(after, int | float) and 0 <= after < MAX_MS:
            yield kind, int(after * MS)


def _frame(first: Exchange, mains: dict[str, str], tabs: bool) -> str:
    """The frame that a chain belongs to; the main one is named like the tab.

    The request itself says so where it has the header; else the first document's frame is the main
    one, and where frames have no names (a page is a navigation then) so is only that document.
    """
    tab = first.tab
    destination = first.headers.get("sec-fetch-dest")
    is_document = first.type == "Document"
    is_inner_document = is_document and destination in ("iframe", "frame")
    if is_inner_document:
        return first.frame or f"{tab}:{first.number}"
    is_first_document = not tabs or tab not in mains
    if is_document and (is_first_document or destination == "document"):
        mains[tab] = first.frame
    main = mains.get(tab, first.frame)
    if first.frame in ("", main):
        return tab
    return first.frame


def _played(pages: PageFrames, telling: Telling) -> Iterator[Telling]:
    """What a telling comes to, where that depends on what stands in the page by then."""
    at, kind, data = telling
    tab = str(data.get("tab"))
    match kind:
        case "commit":
            yield from pages.navigated(at, tab, str(data["frame"]), str(data["url"]))
        case "page.parsed":
            yield from pages.loaded(at, kind, tab)
        case "page.loaded":
            yield from pages.loaded(at, kind, tab)
            yield from _title(at, tab, pages.url(tab), str(data["title"]))
        case _:
            yield telling


def _title(at: int, tab: str, url: str, title: str) -> Iterator[Telling]:
    """Tell a page's title; nothing where there is none, or where it is only an address."""
    is_named = title != "" and "://" not in title
    if url and is_named:
        about: dict[str, JsonValue] = {"tab": tab, "title": title, "url": url}
        yield Telling(at, "page.title_changed", about)


def _page(source: SourceFile, number: int, value: JsonValue) -> tuple[int, JsonObject]:
    where = f"log.pages[{number}]"
    page = _require_object(source, where, value)
    return _time(source, f"{where}.startedDateTime", page.get("startedDateTime")), page


def _entry(source: SourceFile, number: int, value: JsonValue) -> tuple[int, JsonObject]:
    """Check one entry, and return it with its time in nanoseconds. Raises `ConvertError` that names
    the place."""
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
