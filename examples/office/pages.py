"""The office's pages as HTML: plain markup with labels, so that a screen reader could work here too."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

_STYLE = Path(__file__).with_name("office.css").read_text(encoding="utf-8")
_FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title} · Harbour Office</title>
<link rel="icon" href="data:,"><style>
{style}</style></head><body>
<nav aria-label="Office"><a href="/">Harbour Office</a><a href="/plans">Plans</a><a href="/leave">Leave</a>
<a href="/reports">Reports</a><a href="/mail">Mail</a><a href="/settings">Settings</a><a href="/library">Library</a></nav>
<main><h1>{title}</h1>
{body}
</main></body></html>
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan that one can subscribe to, with its prices in euros."""

    name: str
    says: str
    month: str
    year: str


PLANS = {
    "solo": Plan("Solo plan", "For one person and one boat.", "9.00", "90.00"),
    "team": Plan("Team plan", "For a crew of up to twelve.", "24.00", "240.00"),
    "fleet": Plan("Fleet plan", "For a company with a pier of its own.", "79.00", "790.00"),
}

MONTHS = {
    "may": "day,boats,tons\n2026-05-01,14,220\n2026-05-02,11,180\n",
    "june": "day,boats,tons\n2026-06-01,17,310\n2026-06-02,19,345\n",
}
"""The reports, as CSV: each is saved as report.csv, whatever its month."""

DOCUMENTS = {
    "tide-tables-2026": ("Tide tables 2026", "High and low water, day by day."),
    "tide-tables-2025": ("Tide tables 2025", "High and low water of last year."),
    "bus-timetable": ("Bus timetable", "From the harbour to the station."),
    "house-rules": ("House rules", "Who locks the door."),
}


def page(title: str, body: str) -> str:
    """A whole page around ``body``, which is HTML."""
    return _FRAME.format(title=escape(title), body=body, style=_STYLE)


def _cards(items: list[tuple[str, str, str]]) -> str:
    cards = "".join(
        f'<li><a href="{address}">{name}</a><br><span class="quiet">{says}</span></li>'
        for address, name, says in items
    )
    return f'<ul class="cards">{cards}</ul>'


HOME = page(
    "Good morning",
    _cards(
        [
            ("/plans", "Plans", "What a subscription costs."),
            ("/leave", "Leave", "Ask for days off."),
            ("/reports", "Reports", "Download a month's figures."),
            ("/mail", "Mail", "Write to somebody."),
            ("/settings", "Settings", "How the office looks."),
            ("/library", "Library", "Find a document."),
        ]
    ),
)

PLAN_LIST = page(
    "Plans", _cards([(f"/plans/{slug}", one.name, one.says) for slug, one in PLANS.items()])
)


def plan(one: Plan) -> str:
    """One plan with its two prices, which are easily mixed up."""
    return page(
        one.name,
        f"<p>{one.says}</p><table><tr><th>Paid</th><th>Price</th></tr>"
        f"<tr><td>monthly</td><td>€{one.month} a month</td></tr>"
        f"<tr><td>yearly</td><td>€{one.year} a year</td></tr></table>",
    )


LEAVE = page(
    "Request leave",
    '<form class="sheet" method="post" action="/leave" aria-label="Leave"'
    " onsubmit=\"return confirm('Send this request?')\">"
    '<label>Name <input name="name" autocomplete="off"></label>'
    '<label>First day <input name="from" placeholder="2026-07-01" autocomplete="off"></label>'
    '<label>Days <input name="days" inputmode="numeric" autocomplete="off"></label>'
    "<button>Send request</button></form>",
)

LEAVE_SENT = page(
    "Leave",
    '<p role="status">Your request was sent.</p><p>You are told when it is decided.</p>',
)

REPORTS = page(
    "Reports",
    "<table><tr><th>Month</th><th>File</th></tr>"
    + "".join(
        f'<tr><td>{month.title()}</td><td><a href="/reports/{month}.csv">{month.title()} as CSV</a></td></tr>'
        for month in MONTHS
    )
    + "</table>",
)


def mail_list(status: str = "") -> str:
    """The mailbox; ``status``: what became of the last letter."""
    return page(
        "Mail",
        f'<p role="status">{escape(status)}</p><a class="button" href="/mail/new">Write</a>'
        "<article><strong>Mara Lind</strong><p>Could you send me the minutes of yesterday's"
        " meeting?</p></article>",
    )


MAIL_EDITOR = page(
    "New message",
    '<form class="sheet" method="post" action="/mail" enctype="multipart/form-data" aria-label="Message">'
    '<label>To <input name="to" type="text" autocomplete="off"></label>'
    '<label>Subject <input name="subject" autocomplete="off"></label>'
    '<label>Text <textarea name="text" rows="4"></textarea></label>'
    '<label>Attachment <input name="attachment" type="file"></label>'
    "<button>Send</button></form>",
)

SETTINGS = page(
    "Settings",
    _cards(
        [
            ("/settings/display", "Display", "Colours and sizes."),
            ("/settings/language", "Language", "How the office talks."),
        ]
    ),
)

DISPLAY = page(
    "Display",
    """<p role="status" id="status"></p><form class="sheet" aria-label="Display">
<label>Dark mode <button type="button" role="switch" aria-checked="false" aria-label="Dark mode" id="dark">Off</button></label>
<button>Save</button></form>
<script>
const dark = document.getElementById('dark');
dark.addEventListener('click', () => {
  const on = dark.getAttribute('aria-checked') !== 'true';
  dark.setAttribute('aria-checked', on);
  dark.textContent = on ? 'On' : 'Off';
});
document.querySelector('form').addEventListener('submit', async event => {
  event.preventDefault();
  const body = JSON.stringify({dark: dark.getAttribute('aria-checked') === 'true'});
  const answer = await fetch('/settings/display', {method: 'POST', body, headers: {'content-type': 'application/json'}});
  document.getElementById('status').textContent = answer.ok ? 'Changes saved' : 'Not saved';
});
</script>""",
)

LANGUAGE = page("Language", "<p>The office speaks English.</p>")


def library(query: str, found: dict[str, tuple[str, str]]) -> str:
    """The search page, with what was found where something was asked for."""
    form = (
        '<form action="/library" role="search"><label>Search for <input type="search" name="q" '
        f'value="{escape(query)}"></label><button>Search</button></form>'
    )
    if not query:
        return page("Library", form)
    results = _cards([(f"/library/{slug}", name, says) for slug, (name, says) in found.items()])
    return page("Library", f"{form}<p>{len(found)} found for “{escape(query)}”.</p>{results}")


def document(name: str, says: str) -> str:
    """One document of the library."""
    return page(name, f"<article><p>{says}</p></article>")
