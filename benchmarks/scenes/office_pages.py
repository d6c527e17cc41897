"""Tasks for pages of an office: mail, expenses, files, minutes, leave and invoices."""

from __future__ import annotations

import random

from benchmarks.desktop.editors import misspelt
from benchmarks.scenes.page_scene import (
    GUESTS,
    THINGS,
    TOPICS,
    PageScene,
    State,
    Way,
    choose,
    click,
    press,
    state_has,
    tap,
    write,
)

COSTS = ("Taxi", "Hotel", "Train", "Lunch", "Museum", "Parking", "Ferry", "Printing")
FOLDERS = ("Plans", "Letters", "Contracts", "Photos", "Drafts", "Board")
MONTHS = ("March", "April", "May", "June", "August", "October")
REASONS = ("A wedding in the family.", "Moving house.", "Holiday by the sea.", "A course in Ghent.")
DECISIONS = (
    "The roof is mended before winter",
    "The choir sings on the second Sunday",
    "Two new benches are bought",
    "The library opens on Mondays too",
    "The old boat is sold",
)


def inbox(draw: random.Random) -> PageScene:
    """The mails of one sender are archived together."""
    sender, other, third = draw.sample(GUESTS, 3)
    about = [f"{draw.choice(('About', 'Question on', 'News of'))} the {one}" for one in TOPICS]
    draw.shuffle(about)
    senders = [sender, other, sender, third, other, sender, third]
    data = [
        {"by": by, "about": text, "read": draw.random() < 0.4}
        for by, text in zip(senders, about, strict=True)
    ]
    mine = [one["about"] for one in data if one["by"] == sender]
    theirs = [one["about"] for one in data if one["by"] == other]
    archive, undo, read = click("Archive"), click("Undo"), click("Mark as read")

    def pick(*names: object) -> Way:
        return tuple(tap(f'input[aria-label="Select {name}"]') for name in names)

    def put_away(*names: object) -> Way:
        return (*pick(*names), archive)

    one, two, three = mine
    ways = {
        "right": put_away(*mine),
        "right-order": put_away(three, one, two),
        "right-each": (*put_away(two), *put_away(one), *put_away(three)),
        "right-undone": (*put_away(*mine, theirs[0]), undo, *put_away(*mine)),
        "near-two": put_away(one, three),
        "near-more": (*put_away(*mine, theirs[0]), undo, *put_away(one, two, theirs[0])),
        "near-undone": (*put_away(*mine), undo),
        "near-deleted": (*put_away(one), *pick(two, three), click("Delete")),
        "near-everything": (tap("#whole"), archive),
        "near-then-another": (
            *put_away(two),
            *put_away(one),
            *put_away(three),
            *put_away(theirs[1]),
        ),
        "near-last-back": (*put_away(one), *put_away(two), *put_away(three), undo),
        "wrong-sender": (*put_away(theirs[0]), undo, *put_away(*theirs)),
        "wrong-read": (*pick(one), read, *pick(two), read, *pick(three), read),
    }
    said = draw.choice(
        (
            f"Archive all mails from {sender}; every other one stays in the inbox.",
            f"I have dealt with what {sender} wrote. Please put those mails in the archive.",
            f"Three mails of {sender} lie in the inbox and belong in the archive. Don't delete them.",
        )
    )
    wanted: State = {
        str(mail["about"]): ("archive" if mail["by"] == sender else "inbox")
        + (", read" if mail["read"] else "")
        for mail in data
    }
    steps = {
        "picked": {"field_filled": {"field": f"Select {one}", "checked": True}},
        "archived": state_has(str(two), wanted[str(two)]),
    }
    return PageScene("inbox", said, data, wanted, ways, steps)


def expenses(draw: random.Random) -> PageScene:
    """Two amounts are corrected in a table."""
    whats = draw.sample(COSTS, 6)
    data = [
        {"day": f"2027-05-{at + draw.randint(10, 12)}", "what": what, "amount": f"{draw.randint(11, 49)}.{draw.randint(10, 49)}"}
        for at, what in enumerate(whats)
    ]  # fmt: skip
    one, two, other = whats[1], whats[4], whats[2]
    first, second, beside = (
        f"{draw.randint(51, 99)}.{cents}0" for cents in draw.sample("56789", 3)
    )
    old = str(data[1]["amount"])

    def edit(what: str, amount: str, key: str = "Enter") -> Way:
        row = f'tr:has-text("{what}")'
        box = f"{row} >> input"
        typed = (tap(f"{row} >> td.amount"), write(box, amount))
        return (*typed, press(box, key)) if key else typed

    box = f'tr:has-text("{one}") >> input'
    refused = (*edit(one, first.replace(".", ",")), write(box, first), press(box, "Enter"))
    ways = {
        "right": (*edit(one, first), *edit(two, second)),
        "right-sorted": (tap("#bysum"), *edit(two, second), *edit(one, first)),
        "right-escaped": (*edit(other, first, "Escape"), *edit(one, first), *edit(two, second)),
        "right-refused": (*refused, *edit(two, second)),
        "near-one": (tap("#bysum"), *edit(other, first, "Escape"), *edit(one, first)),
        "near-escaped": (*refused, *edit(two, second, "Escape")),
        "near-typed": (*edit(one, first), *edit(two, second, "")),
        "near-swapped": (*edit(one, second), *edit(two, first)),
        "near-more": (tap("#bysum"), *edit(one, first), *edit(other, beside), *edit(two, second)),
        "near-overwritten": (*edit(one, first), *edit(two, second), *edit(one, old)),
        "near-refused": (tap("#byday"), *edit(two, second), *edit(one, first.replace(".", ","))),
        "wrong-rows": (*edit(other, first), *edit(whats[0], second), *edit(whats[3], beside)),
        "wrong-clicked": (tap("#bysum"), *edit(one, first, "")),
    }
    said = (
        f"Two amounts of the report are wrong. {one} was {first} and {two} was {second}; "
        "leave the others as they are."
    )
    wanted: State = {str(row["what"]): row["amount"] for row in data} | {one: first, two: second}
    steps = {"first": state_has(one, first), "second": state_has(two, second)}
    return PageScene("expenses", said, data, wanted, ways, steps)


def drive(draw: random.Random) -> PageScene:
    """A file of a tree of folders is moved by its menu."""
    names = draw.sample(FOLDERS, 4)
    here, there, aside, _ = names
    things = draw.sample(THINGS, 6)
    files = [f"{thing}.{draw.choice(('odt', 'pdf', 'txt'))}" for thing in things]
    at = (here, here, there, aside, here, aside)
    data = {"names": names, "files": dict(zip(files, at, strict=True))}
    file, beside = files[1], files[4]

    def unfold(folder: str) -> Way:
        return (tap(f'.twig:has-text("{folder}")'),)

    def menu(name: str, item: str) -> Way:
        return tap(f'li li:has-text("{name}") >> .dots'), click(item, "menuitem")

    def move(name: str, folder: str) -> Way:
        return *menu(name, "Move to…"), click(f"Into {folder}", "menuitem")

    escape = press("body", "Escape")
    ways = {
        "right": (*unfold(here), *move(file, there)),
        "right-looked": (*unfold(aside), *unfold(there), *unfold(here), *move(file, there)),
        "right-twice": (
            *unfold(here), *move(file, aside), *unfold(aside), *move(file, there),
        ),
        "right-escaped": (*unfold(here), *menu(beside, "Move to…"), escape, *move(file, there)),
        "near-folder": (*unfold(here), *move(file, aside)),
        "near-file": (
            *unfold(there), *unfold(aside), *unfold(here), *menu(file, "Move to…"), escape,
            *move(beside, there),
        ),
        "near-deleted": (*unfold(here), *menu(file, "Delete")),
        "near-both": (*unfold(here), *move(file, there), *move(beside, there)),
        "near-back": (*unfold(here), *move(file, there), *unfold(there), *move(file, here)),
        "near-renamed": (
            *unfold(here), *menu(file, "Rename"), write("li >> input", f"{there} {file}"),
            press("li >> input", "Enter"),
        ),
        "near-escaped": (
            *unfold(aside), *unfold(here), *menu(file, "Move to…"), escape, *menu(file, "Move to…"), escape,
        ),
        "wrong-unfolded": (*unfold(here), *unfold(there), *unfold(aside), *unfold(here)),
        "wrong-others": (*unfold(here), *move(beside, aside), *move(files[0], aside)),
    }  # fmt: skip
    said = draw.choice(
        (
            f"Move {file} from the folder {here} to the folder {there}.",
            f'The file "{file}" lies in {here} but belongs in {there}. Put it there, only this one.',
            f"I can't find {file} in {there}, because somebody left it in {here}: move it over.",
        )
    )
    wanted: State = dict(zip(files, at, strict=True)) | {file: there}
    steps = {
        "menu": {"element_clicked": {"role": "menuitem", "name": "Move to…"}},
        "moved": state_has(file, there),
    }
    return PageScene("drive", said, data, wanted, ways, steps)


def minutes(draw: random.Random) -> PageScene:
    """Who was there, a decision and a date are written down, and saved by a key."""
    people = draw.sample(GUESTS, 5)
    one, two, other = people[1], people[3], people[2]
    decision, beside = draw.sample(DECISIONS, 2)
    day, late = (
        f"2027-0{draw.randint(1, 5)}-1{draw.randint(0, 9)}",
        f"2027-0{draw.randint(6, 9)}-22",
    )
    save = press("#decision", "Control+s")

    def put(text: str, day: str) -> Way:
        return write("#decision", text), write("#next", day)

    def chips(*names: str) -> Way:
        return tuple(click(name) for name in names)

    right = (*chips(one, two), *put(decision, day))
    ways = {
        "right": (*right, save),
        "right-order": (*reversed(right), save),
        "right-saves": (*chips(one, two), save, *put(decision, day), save),
        "right-toggled": (*chips(other, one, two, other), *put(beside, day), *right[2:3], save),
        "near-unsaved": right,
        "near-absent": (*chips(one, two, two), *put(decision, day), save),
        "near-more": (*right, *chips(other), save),
        "near-left": (*right, save, *chips(two), save),
        "near-day": (
            *chips(other, one, other, two),
            *put(decision, day),
            save,
            write("#next", late),
            save,
        ),
        "near-overwritten": (*right, save, write("#decision", beside), save),
        "near-misspelt": (*chips(one, two), *put(misspelt(decision, draw), day), save),
        "wrong-empty": (*chips(other), save),
        "wrong-others": (
            *chips(other, people[0]),
            *put(beside, late),
            save,
            *chips(people[4]),
            save,
        ),
    }
    said = draw.choice(
        (
            f'Present were {one} and {two}. Note the decision "{decision}" and the next meeting on {day}, '
            "and save with Ctrl+S.",
            f"Write the minutes: {one} and {two} were there, it was decided: {decision}. "
            f"We meet again on {day}. Don't forget to save (Ctrl+S).",
        )
    )
    wanted = {"present": f"{one}, {two}", "decision": decision, "next": day}
    steps = {
        "next": state_has("next", day),
        "present": state_has("present", f"{one}, {two}"),
    }
    return PageScene("minutes", said, people, wanted, ways, steps)


def approvals(draw: random.Random) -> PageScene:
    """One of several requests for leave is approved, by one click on a sign without a name."""
    who, other, third = draw.sample(GUESTS, 3)
    days = []
    for month in draw.sample(MONTHS, 4):
        first = draw.randint(2, 20)
        days.append(f"{first} to {first + draw.randint(1, 8)} {month}")
    reasons = draw.sample(REASONS, 4)
    data = [
        {"who": name, "days": span, "why": why}
        for name, span, why in zip((who, other, who, third), days, reasons, strict=True)
    ]
    same, beside, it, last = keys = [f"{one['who']}, {one['days']}" for one in data]

    def tap_in(key: str, part: str) -> Way:
        return (tap(f'.one:has-text("{key}") >> {part}'),)

    def yes(key: str) -> Way:
        return tap_in(key, ".yes")

    again, no, read = tap_in(it, "a"), tap_in(it, ".no"), tap_in(it, "summary")
    ways = {
        "right": yes(it),
        "right-read": (*read, *yes(it)),
        "right-looked": (*tap_in(same, "summary"), *read, *tap_in(last, "summary"), *yes(it)),
        "right-reconsidered": (*no, *again, *yes(it)),
        "near-declined": no,
        "near-dates": (*read, *yes(same)),
        "near-both": (*yes(it), *yes(same)),
        "near-undone": (*yes(it), *again),
        "near-changed": (*read, *yes(it), *again, *no),
        "near-everybody": tuple(act for key in keys for act in yes(key)),
        "near-person": yes(beside),
        "wrong-read": tuple(act for key in keys for act in tap_in(key, "summary")),
        "wrong-others": (*tap_in(last, ".no"), *tap_in(beside, ".no")),
    }
    said = draw.choice(
        (
            f"{who} asks for leave from {data[2]['days']}. Approve this request and decide on no other.",
            f"Please approve the leave of {who} ({data[2]['days']}).",
            f"{who} sent two requests. The one for {data[2]['days']} is fine, approve it; I still have to think about the rest.",
        )
    )
    wanted: State = dict.fromkeys(keys, "waiting") | {it: "approved"}
    return PageScene("approvals", said, data, wanted, ways, {"approved": state_has(it, "approved")})


def invoices(draw: random.Random) -> PageScene:
    """An invoice is found over several pages, and its payment recorded."""
    first = draw.randint(100, 190)
    customers = [f"{name.split()[1]} & {draw.choice(('Sons', 'Partners'))}" for name in GUESTS]
    data = [
        {
            "no": f"R-{first + 3 * at}",
            "customer": draw.choice(customers),
            "amount": f"{draw.randint(90, 900)}.00",
            "state": "paid by transfer" if at in (1, 6) else "open",
        }
        for at in range(8)
    ]
    no, beside = data[4]["no"], data[5]["no"]
    method, other = draw.sample(("transfer", "card", "cash", "cheque"), 2)
    shown, two, back = click("Open", "link"), click("2", "link"), click("Back to invoices", "link")
    reopen = click("Reopen invoice")

    def record(method: str) -> Way:
        return choose("Paid by", method), click("Record payment")

    def pay(no: str, method: str = method) -> Way:
        return click(no, "link"), *record(method)

    ways = {
        "right": (shown, two, *pay(no)),
        "right-all": (two, *pay(no)),
        "right-beside": (two, click(beside, "link"), back, two, *pay(no)),
        "right-reopened": (two, *pay(no, other), reopen, *record(method)),
        "near-method": (two, *pay(no, other)),
        "near-invoice": (shown, two, *pay(beside)),
        "near-unrecorded": (shown, two, *pay(no)[:2]),
        "near-reopened": (shown, two, *pay(no), reopen),
        "near-both": (two, *pay(no), back, two, *pay(beside)),
        "near-again": (shown, two, *pay(no), reopen, *record(other)),
        "near-looked": (two, click(no, "link")),
        "wrong-looked": (shown, two, click(beside, "link"), back, two, click(no, "link"), back),
        "wrong-others": (two, *pay(beside, other), back, *pay(data[0]["no"])),
    }
    said = draw.choice(
        (
            f"Invoice {no} was paid by {method}. Record that.",
            f"{data[4]['customer']} paid invoice {no} by {method}: enter it, and touch no other invoice.",
            f"{data[4]['amount']} came in by {method} for {no}. Which page of the list it is on I don't know, but it is open.",
        )
    )
    wanted: State = {one["no"]: one["state"] for one in data} | {no: f"paid by {method}"}
    steps = {
        "opened": {"address_says": {"text": {"contains": f"no={no}"}}},
        "paid": state_has(no, f"paid by {method}"),
    }
    return PageScene("invoices", said, data, wanted, ways, steps)


KINDS = (inbox, expenses, drive, minutes, approvals, invoices)
