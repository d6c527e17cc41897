"""Checks of programs by their profiles and by what is seen of them: Thunderbird, Firefox, Chrome,
galculator."""

from __future__ import annotations

import re
from dataclasses import replace

from detectors.model.json_value import JsonObject, JsonValue
from lab.benchmarks.opencomputer.base import (
    Readers,
    TaskOf,
    Told,
    UntoldCheckError,
    UpstreamCheck,
    all_of,
    any_of,
    contains,
    has_text,
    in_file,
    like,
    literal,
    query,
    require_true,
)

THUNDERBIRD = ".thunderbird/*/"
FIREFOX = ".mozilla/firefox/*/"
_HOST = re.compile(
    r"(?:\d{1,3}(?:\.\d{1,3}){3}|[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?P<end>[a-z]{2,}|xn--[a-z0-9-]+))"
    r"(?=/|$)",
    re.IGNORECASE,
)
"""An IPv4 address, or a name whose end is no number: ``v1.2`` is none."""
_FILE_ENDS = frozenset(
    (
        *("asp", "aspx", "cgi", "htm", "html", "jsp", "php", "shtml", "xhtml"),
        *("csv", "doc", "docx", "json", "log", "md", "odp", "ods", "odt", "pdf", "ppt", "pptx"),
        *("rst", "rtf", "tsv", "txt", "xls", "xlsx", "xml", "yaml", "yml"),
        *("bmp", "gif", "ico", "jpeg", "jpg", "mp3", "mp4", "ogg", "png", "svg", "wav", "webm"),
        *("webp", "css", "gz", "ipynb", "js", "py", "sh", "tar", "ts", "zip"),
    )
)
"""What looks like the end of a host's name, and is one of a file's."""
_CARDS = f"{THUNDERBIRD}abook.sqlite"
_CALENDAR = f"{THUNDERBIRD}calendar-data/local.sqlite"
_SEARCHED = ("DisplayName", "FirstName", "LastName", "PrimaryEmail", "SecondEmail")
_FIELDS = {
    "display_name": "DisplayName",
    "first_name": "FirstName",
    "last_name": "LastName",
    "primary_email": "PrimaryEmail",
    "second_email": "SecondEmail",
    "work_phone": "WorkPhone",
    "home_phone": "HomePhone",
    "company": "Company",
    "job_title": "JobTitle",
    "notes": "Notes",
    "nickname": "NickName",
}
_FOUND = "SELECT EXISTS({}) AS found"


def _contact(who: str) -> str:
    names = ", ".join(map(literal, _SEARCHED))
    joined = (
        f"SELECT group_concat(value, ' ') FROM properties WHERE card = c.card AND name IN ({names})"
    )
    return (
        f"SELECT 1 FROM (SELECT DISTINCT card FROM properties) c WHERE ({joined}) LIKE {like(who)}"
    )


def contact(check: UpstreamCheck, task: TaskOf) -> Told:
    """Somebody is in the address book; of a name of two words theirs looks for the first."""
    require_true(check)
    when = query(_CARDS, _FOUND.format(_contact(check.words_from(1))))
    return Told(when, "as meant" if len(check.words) > 2 else "told")


def contact_field(check: UpstreamCheck, task: TaskOf) -> Told:
    """Somebody's entry has a field of this value; a name of two words theirs can't take."""
    require_true(check)
    place = next((n for n, word in enumerate(check.words) if n > 1 and word in _FIELDS), None)
    if place is None:
        raise UntoldCheckError(f"a contact's field: {check.words_from(2)}")
    who, field = " ".join(check.words[1:place]), _FIELDS[check.words[place]]
    value = check.words_from(place + 1)
    also = (
        "SELECT 1 FROM properties WHERE card = c.card AND name = "
        f"{literal(field)} AND value = {literal(value)} COLLATE NOCASE"
    )
    when = query(_CARDS, _FOUND.format(f"{_contact(who)} AND EXISTS({also})"))
    return Told(when, "as meant" if place > 2 else "told")


def contact_count(check: UpstreamCheck, task: TaskOf) -> Told:
    """The address book has at least so many entries, by an expression."""
    found = re.fullmatch(r"result\.get\('count', 0\) >= (\d+)", check.expression or "")
    if found is None:
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    sql = f"SELECT count(DISTINCT card) >= {found[1]} AS found FROM properties"
    return Told(query(_CARDS, sql))


def mailing_list(check: UpstreamCheck, task: TaskOf) -> Told:
    """The address book has a list of that name."""
    require_true(check)
    sql = _FOUND.format(f"SELECT 1 FROM lists WHERE name LIKE {like(check.words_from(1))}")
    return Told(query(_CARDS, sql), "as meant" if len(check.words) > 2 else "told")


def _dated(table: str, check: UpstreamCheck) -> Told:
    require_true(check)
    sql = _FOUND.format(f"SELECT 1 FROM {table} WHERE title LIKE {like(check.words_from(1))}")
    return Told(query(_CALENDAR, sql))


def event(check: UpstreamCheck, task: TaskOf) -> Told:
    """The calendar has an event of that title."""
    return _dated("cal_events", check)


def todo(check: UpstreamCheck, task: TaskOf) -> Told:
    """The calendar has a task of that title."""
    return _dated("cal_todos", check)


def thunderbird_preference(check: UpstreamCheck, task: TaskOf) -> Told:
    """A preference has this value; one of two words theirs can't take."""
    require_true(check)
    told = _preference(THUNDERBIRD, check.word(1), check.words_from(2))
    return Told(told, "as meant" if len(check.words) > 3 else "told")


def _preference(profile: str, name: str, text: str) -> JsonObject:
    """Return that a profile has a preference of this value; a whole number may stand there as a
    text, too."""
    value: JsonValue = {"one_of": [text], "ignore_case": True}
    if text.lower() in ("true", "false"):
        value = text.lower() == "true"
    elif re.fullmatch(r"-?\d+", text):
        value = int(text)
    path = f"{profile}prefs.js"
    when = in_file("file_value", path, format="prefs", at=[name], value=value)
    if isinstance(value, bool) or not isinstance(value, int):
        return when
    return any_of(when, in_file("file_value", path, format="prefs", at=[name], value=text))


def _line(path: str, pattern: str) -> JsonObject:
    return has_text(path, {"regex": f"(?i).*{pattern}.*"}, unit="line")


def _header(path: str, name: str, text: str) -> JsonObject:
    return has_text(path, {"regex": f"(?i){name}:.*{re.escape(text)}.*"}, unit="line")


def _mail(folder: str) -> str:
    return f"{THUNDERBIRD}Mail/Local Folders/{folder}"


def draft(check: UpstreamCheck, task: TaskOf) -> Told:
    """A draft has this in its subject; of several words theirs looks for the first."""
    require_true(check)
    when = _header(_mail("Drafts"), "Subject", check.words_from(1))
    return Told(when, "as meant" if len(check.words) > 2 else "told")


def draft_content(check: UpstreamCheck, task: TaskOf) -> Told:
    """A draft of that subject, and a text in the drafts; theirs asks both of one message."""
    require_true(check)
    if len(check.words) != 3:
        raise UntoldCheckError("a subject and a text that nothing tells apart")
    path, text = _mail("Drafts"), check.word(2)
    body = has_text(path, contains(text))
    if text.lower() in check.word(1).lower():
        body = _line_beside("Subject", path, text)
    return Told(all_of(_header(path, "Subject", check.word(1)), body))


def _line_beside(header: str, path: str, text: str) -> JsonObject:
    """A line with a text in it that does not begin as this header does."""
    says, name = re.escape(text), header.lower()
    others = [f"{name[:n]}[^{name[n]}].*{says}.*" for n in range(len(name))]
    pattern = f"(?i)(?:{'|'.join([f'{says}.*', *others])})"
    return has_text(path, {"regex": pattern}, unit="line")


def message_to(check: UpstreamCheck, task: TaskOf) -> Told:
    """A folder has a message of that subject, and one to that address; of a subject of several
    words theirs takes the second for the address."""
    require_true(check)
    address = check.words[-1]
    if "@" not in address or len(check.words) < 4:
        raise UntoldCheckError("a message's receiver that the check does not name")
    path = _mail(check.word(1))
    subject = " ".join(check.words[2:-1])
    when = all_of(_header(path, "Subject", subject), _header(path, "To", address))
    return Told(when, "as meant" if len(check.words) > 4 else "told")


_RULES = f"{THUNDERBIRD}Mail/*msgFilterRules.dat"
_FOLDERS = f"{THUNDERBIRD}virtualFolders.dat"


def _filter_named(text: str) -> JsonObject:
    return _line(_RULES, f'name="[^"]*{re.escape(text)}')


def filter_exists(check: UpstreamCheck, task: TaskOf) -> Told:
    """A filter has this in its name."""
    require_true(check)
    return Told(_filter_named(check.words_from(1)))


def filter_condition(check: UpstreamCheck, task: TaskOf) -> Told:
    """There is the filter, and a condition with the text."""
    require_true(check)
    condition = _line(_RULES, f"condition=.*{re.escape(check.words_from(2))}")
    return Told(all_of(_filter_named(check.word(1)), condition))


def filter_action(check: UpstreamCheck, task: TaskOf) -> Told:
    """There is the filter, and an action, with a value where one is named."""
    require_true(check)
    name = _filter_named(check.word(1))
    action = _line(_RULES, f'action="{re.escape(check.word(2))}"')
    if len(check.words) <= 3:
        return Told(all_of(name, action))
    value = _line(_RULES, f'actionValue="[^"]*{re.escape(check.words_from(3))}')
    return Told(all_of(name, action, value))


def virtual_folder(check: UpstreamCheck, task: TaskOf) -> Told:
    """A saved search has this in its address."""
    require_true(check)
    return Told(_line(_FOLDERS, f"uri=.*{re.escape(check.words_from(1))}"))


def virtual_folder_terms(check: UpstreamCheck, task: TaskOf) -> Told:
    """There is the saved search, and one looks for the text."""
    require_true(check)
    uri = _line(_FOLDERS, f"uri=.*{re.escape(check.word(1))}")
    terms = _line(_FOLDERS, f"searchStr=.*{re.escape(check.words_from(2))}")
    return Told(all_of(uri, terms))


def feed(check: UpstreamCheck, task: TaskOf) -> Told:
    """A feed is subscribed whose address has this in it."""
    require_true(check)
    return Told(has_text(f"{THUNDERBIRD}Mail/*feeds.json", contains(check.word(1))))


def subscribed_folder(check: UpstreamCheck, task: TaskOf) -> Told:
    """A folder of an IMAP account is subscribed, of whichever account."""
    require_true(check)
    return Told(
        has_text(f"{THUNDERBIRD}ImapMail/*Subscriptions.dat", check.words_from(2), unit="line")
    )


def openpgp(check: UpstreamCheck, task: TaskOf) -> Told:
    """An identity has a key for its mail."""
    require_true(check)
    identity = check.words[1] if len(check.words) > 1 else "id1"
    at: list[JsonValue] = [f"mail.identity.{identity}.openpgp_key_id"]
    path = f"{THUNDERBIRD}prefs.js"
    return Told(in_file("file_value", path, format="prefs", at=at, value={"regex": ".+"}))


_PLACES = f"{FIREFOX}places.sqlite"


def firefox_visited(check: UpstreamCheck, task: TaskOf) -> Told:
    """A page with this in its address or title is in the history."""
    require_true(check)
    text = like(check.word(1))
    where = f"url LIKE {text} OR title LIKE {text}"
    return Told(query(_PLACES, _FOUND.format(f"SELECT 1 FROM moz_places WHERE {where}")))


def firefox_bookmark(check: UpstreamCheck, task: TaskOf) -> Told:
    """A bookmark has this in its title or address."""
    require_true(check)
    text = like(check.word(1))
    joined = "moz_bookmarks b JOIN moz_places p ON p.id = b.fk"
    where = f"b.type = 1 AND (b.title LIKE {text} OR p.url LIKE {text})"
    return Told(query(_PLACES, _FOUND.format(f"SELECT 1 FROM {joined} WHERE {where}")))


def firefox_preference(check: UpstreamCheck, task: TaskOf) -> Told:
    """A preference has this value in the profile; built-in defaults are in no file."""
    require_true(check)
    return Told(_preference(FIREFOX, check.word(1), check.words_from(2)))


def downloaded_file(check: UpstreamCheck, task: TaskOf) -> Told:
    """A file with this in its name came into the downloads."""
    require_true(check)
    name: JsonObject = contains(check.word(1))
    place: JsonObject = {"starts_with": "Downloads/"}
    return Told({"file_created": {"root": "home", "name": name, "path": place}})


def inside_firefox(check: UpstreamCheck, task: TaskOf) -> Told:
    """What a page of Firefox shows now: only Chromium is watched."""
    raise UntoldCheckError("what stands in Firefox now: only Chromium is watched")


def address(check: UpstreamCheck, task: TaskOf) -> Told:
    """A tab stands at an address with this in it; theirs looks at titles too. A host is one, loaded
    from there: theirs takes it wherever it stands, in the query of another site's page too."""
    require_true(check)
    word = check.word(1)
    host = _HOST.match(word)
    if host is None or (host["end"] or "").lower() in _FILE_ENDS:
        text: JsonObject = contains(word)
        return Told({"address_says": {"text": text, "anywhere": True, "loaded": False}})
    rest = ".*" if host.end() < len(word) else "(?:[:/?#].*)?"
    pattern = rf"(?i)https?://(?:[^/?#@]*\.)?{re.escape(word)}{rest}"
    return Told({"address_says": {"text": {"regex": pattern}, "anywhere": True}})


def read_visit(check: UpstreamCheck, task: TaskOf) -> Told:
    """A tab came to such an address, and may have left it: theirs looks into the history."""
    return replace(address(check, task), is_past=True)


def page_says(check: UpstreamCheck, task: TaskOf) -> Told:
    """A page shows this; what stands there at the start pays nothing."""
    require_true(check)
    return Told({"text_visible": {"text": contains(check.word(1)), "anywhere": True}})


def chrome_bookmark(check: UpstreamCheck, task: TaskOf) -> Told:
    """A bookmark has this in its name or address."""
    require_true(check)
    text = re.escape(check.word(1))
    path = ".config/*/Default/Bookmarks"
    pattern = f'(?i).*"(?:name|url)": "[^"]*{text}.*'
    return Told(has_text(path, {"regex": pattern}, unit="line"))


def chrome_download(check: UpstreamCheck, task: TaskOf) -> Told:
    """A download is complete whose file has this in its name."""
    require_true(check)
    return Told({"download_finished": {"name": contains(check.word(1)), "anywhere": True}})


def chrome_field(check: UpstreamCheck, task: TaskOf) -> Told:
    """A field holds these words, by an expression."""
    found = re.findall(r"'([^']+)' in \(result\.get\('value'\) or ''\)", check.expression or "")
    if not found:
        raise UntoldCheckError(f"an expression of its own: {check.expression}")
    texts: list[JsonValue] = [contains(text, any_case=False) for text in found]
    value: JsonObject = {"all_of": texts}
    return Told({"field_filled": {"selector": check.word(1), "value": value, "anywhere": True}})


def page_script(check: UpstreamCheck, task: TaskOf) -> Told:
    """What a script makes of a page: a probe of one's own could ask it."""
    raise UntoldCheckError("what a script of theirs makes of a page: it wants a probe of its own")


def running(check: UpstreamCheck, task: TaskOf) -> Told:
    """Every task's program runs at the start."""
    return Told(None, "true at the start")


def display(check: UpstreamCheck, task: TaskOf) -> Told:
    """The calculator's display shows exactly this text."""
    require_true(check)
    return Told({"widget_text": {"text": check.words_from(1), "app": {"contains": "galculator"}}})


THUNDERBIRD_CHECKS: Readers = {
    "check-contact-field": contact_field,
    "check-contact-exists": contact,
    "check-pref-value": thunderbird_preference,
    "check-draft-content": draft_content,
    "check-message-to": message_to,
    "check-draft-exists": draft,
    "check-event-exists": event,
    "check-todo-exists": todo,
    "check-filter-condition": filter_condition,
    "contact-count": contact_count,
    "check-mailing-list": mailing_list,
    "check-feed-subscription": feed,
    "check-subscribed-folder": subscribed_folder,
    "check-filter-exists": filter_exists,
    "check-filter-action": filter_action,
    "check-virtual-folder-terms": virtual_folder_terms,
    "check-virtual-folder-exists": virtual_folder,
    "check-openpgp-configured": openpgp,
}
FIREFOX_CHECKS: Readers = {
    "check-url-visited": firefox_visited,
    "check-pref": firefox_preference,
    "check-tab-open": inside_firefox,
    "check-bookmark": firefox_bookmark,
    "input": inside_firefox,
    "eval": inside_firefox,
    "check-download": downloaded_file,
    "tabs": inside_firefox,
    "check-page-contains": inside_firefox,
}
CHROME: Readers = {
    "check-page-contains": page_says,
    "check-tab-open": address,
    "eval": page_script,
    "check-url-visited": read_visit,
    "check-bookmark": chrome_bookmark,
    "input": chrome_field,
    "check-download": chrome_download,
}
GALCULATOR: Readers = {"check-running": running, "check-display-value": display}
