"""Tasks for pages that people work with: expenses, loans, a roster, a count, rules for mail, votes."""

from __future__ import annotations

import random

from benchmarks.desktop.editors import misspelt
from benchmarks.scenes.page_scene import PageAct, PageScene, State, Way, click
from benchmarks.unseen.page_parts import (
    ARTICLES,
    BOOKS,
    MOTIONS,
    PEOPLE,
    SENDERS,
    SUBJECTS,
    TOWNS,
    WEEKDAYS,
    pick,
    put,
    row_button,
)  # fmt: skip


def expenses(draw: random.Random) -> PageScene:
    """Two lines are added to an expense report, and it is submitted."""
    trip = draw.choice(TOWNS)
    kept, first, second, other = draw.sample(
        ("Lodging", "Taxi", "Train", "Parking", "Stationery"), 4
    )
    old, one, two, beside = (f"{draw.randint(low, low + 19)}.40" for low in (120, 10, 35, 60))
    amount, submit, keep = "Amount in euros", click("Submit for approval"), click("Save draft")

    def line(category: str, euros: str) -> Way:
        return pick("Category", category), put(amount, euros), click("Add line")

    both = (*line(first, one), *line(second, two))
    ways = {
        "right": (*both, submit),
        "right-order": (*line(second, two), keep, *line(first, one), submit),
        "right-removed": (
            put(amount, one),
            click("Add line"),
            click("Remove line 2"),
            *both,
            submit,
        ),
        "near-draft": (*both, keep),
        "near-one": (*line(first, one), submit),
        "near-amount": (*line(first, one), *line(second, two.replace(".40", ".04")), submit),
        "near-twice": (*line(first, one), click("Add line"), *line(second, two), submit),
        "near-category": (*line(first, one), *line(other, two), submit),
        "near-spoilt": (*both, submit, click("Recall report"), click("Remove line 1"), submit),
        "near-default": (put(amount, one), click("Add line"), *line(second, two), submit),
        "wrong-other": (*line(other, beside), submit),
        "wrong-removed": (click("Remove line 1"), submit),
    }
    said = draw.choice((
        f"My expense report for {trip} still lacks {first.lower()} for {one} euros and"
        f" {second.lower()} for {two} euros. Add both lines and submit it for approval.",
        f"Add two lines to the report of the trip to {trip} ({first}: {one} EUR, {second}: {two} EUR),"
        " then hand it in for approval.",
    ))  # fmt: skip
    data = {"trip": trip, "lines": [{"category": kept, "amount": old}]}
    lines = sorted((f"{kept} {old}", f"{first} {one}", f"{second} {two}"))
    wanted = {"trip": trip, "status": "Submitted", "lines": lines}
    steps = {
        "amount": {"field_filled": {"field": amount, "value": one}},
        "sent": {"element_clicked": {"role": "button", "name": "Submit for approval"}},
    }
    return PageScene("expenses", said, data, wanted, ways, steps)


def lending(draw: random.Random) -> PageScene:
    """At a loan desk one book is taken back and another is lent."""
    reader, beside, third = draw.sample(PEOPLE, 3)
    back, kept, theirs, new, other = draw.sample(BOOKS, 5)
    numbers = draw.sample(range(110, 990), 8)
    marks = {title: f"FIC {number}" for title, number in zip(BOOKS, numbers, strict=True)}
    loans = {beside: [(theirs, "2 May")], reader: [(kept, "9 May"), (back, "16 May")], third: []}
    who, them = click(reader, "link"), click(beside, "link")

    def lend(title: str) -> Way:
        return put("Shelf mark", marks[title]), PageAct("press", "#mark", "Enter")

    def loan(title: str, button: str = "Return") -> PageAct:
        return row_button("li", title, button)

    ways = {
        "right": (who, loan(back), *lend(new)),
        "right-order": (who, *lend(new), loan(back)),
        "right-looked": (them, click(third, "link"), who, loan(back), *lend(new)),
        "near-returned": (who, loan(back)),
        "near-typed": (who, loan(back), lend(new)[0]),
        "near-reader": (them, *lend(new), who, loan(back)),
        "near-renewed": (who, loan(back, "Renew"), *lend(new)),
        "near-title": (who, loan(back), *lend(other)),
        "near-both": (them, click(third, "link"), who, loan(back), loan(kept), *lend(new)),
        "near-lent-again": (who, loan(back), *lend(new), *lend(back)),
        "wrong-loan": (them, loan(theirs)),
        "wrong-looked": (who, them, click(third, "link"), who),
    }
    said = draw.choice((
        f'{reader} is at the desk: take "{back}" back and lend them "{new}".',
        f'Check in "{back}" for {reader}, and check out "{new}" to the same reader.',
    ))  # fmt: skip
    data = {
        "readers": [
            {
                "number": str(at),
                "name": name,
                "loans": [{"title": title, "due": due} for title, due in loans[name]],
            }
            for at, name in enumerate(loans, 301)
        ],
        "catalogue": {marks[title]: title for title in sorted(marks)},
    }
    wanted: State = {name: [f"{one}, due {due}" for one, due in loans[name]] for name in loans}
    wanted[reader] = [f"{kept}, due 9 May", f"{new}, due 30 May"]
    steps = {
        "returned": {"element_clicked": {"role": "button", "name": "Return"}},
        "mark": {"field_filled": {"field": "Shelf mark", "value": marks[new]}},
    }
    return PageScene("lending", said, data, wanted, ways, steps)


def roster(draw: random.Random) -> PageScene:
    """Two shifts of a week are changed, and the week is published."""
    names = draw.sample(PEOPLE, 4)
    (late, early), rest = (names[1], names[2]), (names[0], names[3])
    day, free, beside = draw.sample(range(5), 3)
    shifts = ("off", "early", "late", "night")
    week = {name: draw.choices(shifts, k=5) for name in names}
    week[late][day], week[early][free] = "off", "late"
    before = {name: list(reversed(row)) for name, row in week.items()}
    before[late][day] = "night"

    def turn(name: str, day: int, times: int) -> Way:
        return (PageAct("click", f'tr:has-text("{name}") >> button >> nth={day}'),) * times

    on, off = turn(late, day, 2), turn(early, free, 2)
    publish, revert = click("Publish week"), click("Revert")
    ways = {
        "right": (*on, *off, publish),
        "right-order": (*off, *on, publish),
        "right-around": (*turn(late, day, 6), *off, publish),
        "near-early": (*turn(late, day, 1), *off, publish),
        "near-night": (*turn(late, day, 7), *off, publish),
        "near-day": (*turn(late, beside, 2), *off, publish),
        "near-name": (*turn(rest[0], day, 1), *off, publish),
        "near-half": (*on, publish),
        "near-reverted": (*on, *off, revert, publish),
        "near-spoilt": (*on, *off, publish, *turn(rest[1], day, 3), publish),
        "wrong-copied": (click("Copy last week"), publish),
        "wrong-unpublished": (*on, *off, revert),
    }
    said = draw.choice((
        f"Put {late} on the late shift on {WEEKDAYS[day]}, give {early} {WEEKDAYS[free]} off, and"
        " publish the week.",
        f"Ward 3: {WEEKDAYS[day]} late goes to {late}; {early} is off on {WEEKDAYS[free]}. Everybody"
        " else stays as planned. Publish the roster.",
    ))  # fmt: skip
    planned = {name: list(row) for name, row in week.items()}
    planned[late][day], planned[early][free] = "late", "off"
    wanted: State = {name: " ".join(row) for name, row in planned.items()}
    steps = {"published": {"element_clicked": {"role": "button", "name": "Publish week"}}}
    return PageScene("roster", said, {"week": week, "before": before}, wanted, ways, steps)


def stocktake(draw: random.Random) -> PageScene:
    """Counts of two bins on two pages of a list are posted."""
    aisle = draw.randint(2, 9)
    bins = [f"{aisle}-{number:02}" for number in sorted(draw.sample(range(1, 40), 6))]
    here, there = draw.randrange(3), draw.randrange(3, 6)
    one, two = bins[here], bins[there]
    many, few = draw.randint(21, 48), draw.randint(3, 9)
    on, before, post, park, reopen = (
        click(name)
        for name in ("Next bins", "Previous bins", "Post count", "Park count", "Reopen count")
    )

    def count(name: str, pieces: int) -> PageAct:
        return put(f"Counted in {name}", str(pieces), "spinbutton")

    first, second = count(one, many), count(two, few)
    neighbour = bins[(here + 1) % 3]
    ways = {
        "right": (first, on, second, post),
        "right-order": (on, second, before, first, post),
        "right-corrected": (count(one, few), on, second, before, first, on, post),
        "near-parked": (first, on, second, park),
        "near-swapped": (count(one, few), on, count(two, many), post),
        "near-bin": (count(neighbour, many), on, second, post),
        "near-page": (first, second, post),
        "near-more": (first, count(neighbour, 0), on, second, post),
        "near-reopened": (count(one, few), on, second, before, first, post, reopen),
        "near-spoilt": (
            on, second, before, first, post, reopen, count(neighbour, few), post,
        ),
        "wrong-blank": (post,),
        "wrong-other": (count(neighbour, few), on, post),
    }  # fmt: skip
    said = draw.choice((
        f"Stocktake in aisle {aisle}: bin {one} holds {many} pieces and bin {two} holds {few}. Enter"
        " both counts and post them; leave the other bins blank.",
        f"Record what we counted ({one}: {many}, {two}: {few}) and post the count of aisle {aisle}.",
    ))  # fmt: skip
    articles = draw.sample(ARTICLES, 6)
    listed = [{"bin": one, "article": what} for one, what in zip(bins, articles, strict=True)]
    wanted: State = {**dict.fromkeys(bins), one: many, two: few, "posted": True}
    steps = {
        "first": {"field_filled": {"field": f"Counted in {one}", "value": str(many)}},
        "second": {"field_filled": {"field": f"Counted in {two}", "value": str(few)}},
    }
    return PageScene("stocktake", said, {"aisle": aisle, "bins": listed}, wanted, ways, steps)


def mail_rules(draw: random.Random) -> PageScene:
    """A rule for mail is made on a page of its own, and another one is switched off."""
    sender, beside = draw.sample(SENDERS, 2)
    folder, other = draw.sample(("Bills", "Travel", "Family", "Club"), 2)
    stale, kept = draw.sample(SUBJECTS, 2)
    data = [
        {"on": True, "part": "Subject", "text": stale, "folder": "Later"},
        {"on": True, "part": "Subject", "text": kept, "folder": other},
    ]
    new, save, cancel = click("New rule", "link"), click("Save rule"), click("Cancel", "link")
    off = click("Use rule 1", "checkbox")

    def rule(sender: str, folder: str, part: str = "Sender") -> Way:
        return pick("If the", part), put("contains", sender), pick("move to", folder)

    def edit(number: int) -> PageAct:
        return PageAct("click", f'role=link[name="Edit"] >> nth={number - 1}')

    right = rule(sender, folder)
    ways = {
        "right": (new, *right, save, off),
        "right-order": (off, new, *reversed(right), save),
        "right-edited": (new, *rule(sender, other), save, edit(3), right[2], save, off),
        "near-half": (new, *right, save),
        "near-part": (new, *right[1:], save, off),
        "near-cancelled": (new, *right, cancel, off),
        "near-misspelt": (
            new,
            *rule(sender, other),
            save,
            edit(3),
            put("contains", misspelt(sender, draw)),
            right[2],
            save,
            off,
        ),
        "near-deleted": (new, *right, save, row_button("tr", stale, "Delete")),
        "near-turned": (new, *right, save, off, click("Use rule 2", "checkbox"), off),
        "near-overwritten": (edit(2), *right, save, off),
        "wrong-other": (new, *rule(beside, other, "Subject"), save),
        "wrong-empty": (new, save),
    }
    said = draw.choice((
        f"Make a mail rule: whatever comes from a sender with {sender} in it goes to {folder}. Switch"
        f' the rule about "{stale}" off, but keep it.',
        f'In the webmail settings, disable the rule for "{stale}" and add one that files messages'
        f" whose sender contains {sender} in the folder {folder}.",
    ))  # fmt: skip
    wanted = {
        "rules": [
            f"off: Subject contains {stale} > Later",
            f"on: Subject contains {kept} > {other}",
            f"on: Sender contains {sender} > {folder}",
        ]
    }
    steps = {
        "opened": {"url_reached": {"url": "/mail-rule"}},
        "sender": {"field_filled": {"field": "contains", "value": sender}},
    }
    return PageScene("mail-rules", said, data, wanted, ways, steps)


def motions(draw: random.Random) -> PageScene:
    """One vote is cast in a meeting."""
    titles = draw.sample(MOTIONS, 4)
    title, beside, other = titles[draw.randrange(1, 3)], titles[0], titles[3]
    vote, opposite = draw.choice((("For", "Against"), ("Against", "For")))

    def cast(title: str, vote: str) -> PageAct:
        return row_button("section", title, vote)

    def read(title: str) -> PageAct:
        return PageAct("click", f'summary:has-text("{title}")')

    it, follow = cast(title, vote), click("Follow the board on all motions")
    ways = {
        "right": (it,),
        "right-changed": (read(title), cast(title, opposite), it),
        "right-withdrawn": (cast(other, vote), cast(other, vote), it),
        "near-motion": (cast(beside, vote),),
        "near-abstained": (cast(title, "Abstain"),),
        "near-twice": (it, it),
        "near-also": (it, cast(beside, vote)),
        "near-opposite": (read(title), cast(title, opposite)),
        "near-all": (read(title), read(beside), follow, it),
        "near-cleared": (read(title), read(beside), it, click("Withdraw my votes")),
        "wrong-all": (follow,),
        "wrong-read": (read(title), read(other)),
    }
    side = {"For": "for", "Against": "against"}[vote]
    said = draw.choice((
        f'Vote {side} the motion "{title}" and cast no other vote.',
        f"In the members' meeting I want to be counted {side} \"{title}\". Don't vote on the rest.",
    ))  # fmt: skip
    movers = draw.sample(PEOPLE, 4)
    data = [
        {"title": one, "text": f"The meeting is asked to decide: {one.lower()}.", "by": by}
        for one, by in zip(titles, movers, strict=True)
    ]
    wanted: State = {**dict.fromkeys(titles, "not voted"), title: vote}
    facts = [{"path": f"$['{title}']", "value": vote}]
    steps = {"cast": {"state_accepted": {"url": "/state", "method": "POST", "facts": facts}}}
    return PageScene("motions", said, data, wanted, ways, steps)
