"""The airlines' search forms, in a frame of their own: cities by their suggestions, days by their
calendars."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.miniwob.script import Act, Script, Table, click, entry, quoted

PAGES: Table = {}
FORM = "#wrap >> internal:control=enter-frame >> "


@entry(PAGES, "flight.AA")
def american(page: Page) -> Script:
    """Airports by their codes; the day after the one that is asked for misses."""
    wanted = _request(page)
    acts = list[Act]()
    for name in ("segments[0].origin", "segments[0].destination"):
        field, code = f"{FORM}[name={quoted(name)}]", wanted[name]
        acts += [Act("press", field, "Control+a"), Act("type", field, code)]
        acts.append(click(f"{FORM}.ui-menu-item:visible:has-text({quoted(code)})"))
    days = [int(wanted[f"segments[{n}].travelDate"].split("/")[1]) for n in (0, 1)]
    return Script(
        *(
            [*acts, *_calendars(*both), _search("button[type=submit].btn")]
            for both in _two_ways(*days)
        )
    )


@entry(PAGES, "flight.Alaska")
@entry(PAGES, "flight.Alaska-auto")
@entry(PAGES, "flight.Alaska-auto-medium")
def alaska(page: Page) -> Script:
    """Cities as they are suggested, then days, travellers and the cabin; another day misses."""
    wanted = {name.partition(".")[2]: value for name, value in _request(page).items()}
    acts = [click(f"{FORM}label[for=srh-isow]")] if wanted["SearchType"] == "OneWay" else []
    for field, name in (("geo-from", "DepartureCity"), ("geo-to", "ArrivalCity")):
        acts.append(Act("type", f"{FORM}#{field}", wanted[name].partition(",")[0]))
        acts.append(click(f"{FORM}#input-selections-{field} li:text-is({quoted(wanted[name])})"))
    more = [click(f"{FORM}.tnum-button >> nth=1")] * (int(wanted["NumberOfTravelers"]) - 1)
    if wanted.get("CabinType") == "First":
        more += [click(f"{FORM}#moreoptionsdiv h2"), click(f"{FORM}label[for=cabin-first]")]
    out, back = (
        int(wanted[name].split("/")[1]) if name in wanted else 0
        for name in ("DepartureDate", "ReturnDate")
    )

    def dated(out: int, back: int) -> list[Act]:
        days = (("departure", out), ("return", back)) if back else (("departure", out),)
        return [act for which, day in days for act in (
            click(f"{FORM}#{which}-date"), click(f"{FORM}a.cal-day:text-is('{day}')"), click(f"{FORM}#btnDone")
        )]  # fmt: skip

    return Script(
        *(
            [*acts, *dated(*both), *more, _search("input[type=submit]")]
            for both in _two_ways(out, back)
        )
    )


def _request(page: Page) -> dict[str, str]:
    """What a person makes of the instruction: the fields that the page itself compares."""
    found: dict[str, str] = page.evaluate("() => core.currentQuestion.request")
    return found


def _two_ways(out: int, back: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The days that are asked for, and another to leave on."""
    return (out, back), (out - 1 or 2, back)


def _calendars(*days: int) -> list[Act]:
    month = ".ui-datepicker-group:has-text('March')"
    return [act for n, day in enumerate(days) for act in (
        click(f"{FORM}button.ui-datepicker-trigger >> nth={n}"), click(f"{FORM}{month} a:text-is('{day}')")
    )]  # fmt: skip


def _search(button: str) -> Act:
    return click(f"{FORM}{button}")
