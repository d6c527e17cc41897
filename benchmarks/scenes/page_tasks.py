"""Tasks for pages of forms, lists, tables and dialogs, each with right ways, near misses and wrong
ones."""

from __future__ import annotations

import random

from benchmarks.desktop.editors import misspelt
from benchmarks.scenes.page_scene import (
    GOODS,
    GUESTS,
    PLACES,
    SAYINGS,
    SETTINGS,
    SONGS,
    THINGS,
    TOPICS,
    PageAct,
    PageScene,
    State,
    Way,
    choose,
    click,
    clicked,
    fill,
    filled,
)  # fmt: skip


def booking(draw: random.Random) -> PageScene:
    """A room is booked on two pages."""
    guest, other = draw.sample(GUESTS, 2)
    room, beside = draw.sample(("Attic", "Garden", "Lake view"), 2)
    nights, day = draw.randint(2, 6), f"2027-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"
    mail = f"{guest.split()[0].lower()}@example.org"

    def stay(nights: int, room: str, day: str = day) -> Way:
        return fill("Arrival", day), fill("Nights", str(nights)), choose("Room", room)

    on, book = click("Continue"), click("Book now")
    meal = PageAct("click", "input[name=breakfast]")

    def whoever(name: str) -> Way:
        return fill("Full name", name), fill("E-mail", mail)

    right = stay(nights, room)
    ways = {
        "right": (*right, meal, on, *whoever(guest), book),
        "right-order": (meal, *reversed(right), on, *reversed(whoever(guest)), book),
        "right-corrected": (*stay(nights + 1, beside), *right, meal, on, *whoever(guest), book),
        "near-unsent": (*right, meal, on, *whoever(guest)),
        "near-nights": (*stay(nights + 1, room), meal, on, *whoever(guest), book),
        "near-room": (*stay(nights, beside), meal, on, *whoever(guest), book),
        "near-meal": (*right, on, *whoever(guest), book),
        "near-misspelt": (*right, meal, on, *whoever(misspelt(guest, draw)), book),
        "wrong-half": (*right, meal, on),
        "wrong-guest": (*stay(nights + 2, beside), on, *whoever(other), book),
    }
    said = (
        f"Book the {room} room for {nights} nights from {day} with breakfast, for {guest}, {mail}."
    )
    wanted = {
        "arrival": day, "nights": str(nights), "room": room, "breakfast": True, "guest": guest, "mail": mail,
    }  # fmt: skip
    steps = {
        "arrival": filled("Arrival", day),
        "nights": filled("Nights", str(nights)),
        "room": filled("Room", room),
        "breakfast": {"field_filled": {"field": "breakfast", "checked": True}},
        "name": filled("Full name", guest),
        "mail": filled("E-mail", mail),
    }
    return PageScene("booking", said, None, wanted, ways, steps)


def board(draw: random.Random) -> PageScene:
    """A card is moved over a board."""
    card, other, *rest = (f"Mend the {topic}" for topic in draw.sample(TOPICS, 4))
    places = {card: 0, other: 0, rest[0]: 1, rest[1]: 0}
    data = [{"name": name, "at": at} for name, at in sorted(places.items())]

    def move(name: str, *ways: str) -> Way:
        return tuple(PageAct("click", f'.card:has-text("{name}") >> .{way}') for way in ways)

    ways = {
        "right": move(card, "r", "r"),
        "right-detour": move(card, "r", "l", "r", "r"),
        "right-put-back": (*move(other, "r"), *move(other, "l"), *move(card, "r", "r")),
        "near-half": move(card, "r"),
        "near-card": move(other, "r", "r"),
        "near-undone": move(card, "r", "r", "l"),
        "near-both": (*move(card, "r", "r"), *move(other, "r")),
        "wrong-card": move(rest[1], "r"),
        "wrong-back": move(rest[0], "l"),
    }
    columns = ("To do", "Doing", "Done")
    wanted = {name: columns[at] for name, at in places.items()} | {card: "Done"}
    facts = [{"path": f"$['{card}']", "value": "Doing"}]
    doing = {"state_accepted": {"url": "/state", "method": "POST", "facts": facts}}
    said = f'Move the card "{card}" to Done and leave the others where they are.'
    return PageScene("board", said, data, wanted, ways, {"doing": doing})


def switches(draw: random.Random) -> PageScene:
    """Two switches are turned, and saved by a button without a name."""
    on, off, *rest = draw.sample(SETTINGS, 4)
    data = {on: False, off: True, rest[0]: False, rest[1]: True}
    flip = {name: click(name, "switch") for name in data}
    save = PageAct("click", ".icon >> nth=0")
    ways = {
        "right": (flip[on], flip[off], save),
        "right-order": (flip[off], flip[on], save),
        "right-thrice": (flip[on], flip[on], flip[off], flip[on], save),
        "near-unsaved": (flip[on], flip[off]),
        "near-one": (flip[on], save),
        "near-more": (flip[on], flip[off], flip[rest[0]], save),
        "near-discarded": (flip[on], flip[off], click("Discard")),
        "near-undone": (flip[on], flip[off], save, flip[on], save),
        "wrong-other": (flip[rest[0]], flip[rest[1]], save),
        "wrong-nothing": (save,),
    }
    state = {"role": "switch", "name": on, "checked": True}
    said = f"Turn {on} on and {off} off, and save the preferences."
    steps = {
        "on": {"element_state": state},
        "off": {"element_state": state | {"name": off, "checked": False}},
    }
    return PageScene("switches", said, data, data | {on: True, off: False}, ways, steps)


def contacts(draw: random.Random) -> PageScene:
    """A phone number is changed."""
    names, cities = draw.sample(GUESTS, 3), draw.sample(PLACES, 3)
    data = [
        {"name": name, "phone": f"555-{draw.randint(1000, 4999)}", "city": city}
        for name, city in zip(names, cities, strict=True)
    ]
    phone, other = f"555-{draw.randint(5000, 6999)}", f"555-{draw.randint(7000, 9999)}"
    who, beside = click(names[1], "link"), click(names[2], "link")
    put, save = fill("Phone", phone), click("Save")
    ways = {
        "right": (who, put, save),
        "right-again": (who, fill("Phone", other), put, save),
        "right-closed": (beside, click("Cancel"), who, put, save),
        "near-unsaved": (who, put),
        "near-cancelled": (who, put, click("Cancel")),
        "near-person": (beside, put, save),
        "near-digit": (who, fill("Phone", phone[:-1]), save),
        "near-city": (who, fill("City", phone), save),
        "wrong-number": (who, fill("Phone", other), save),
        "wrong-nothing": (who, save),
    }
    wanted = {one["name"]: f"{one['phone']}, {one['city']}" for one in data}
    wanted[names[1]] = f"{phone}, {cities[1]}"
    said = f"Change the phone number of {names[1]} to {phone} and save it."
    steps = {"opened": clicked(names[1], "link"), "phone": filled("Phone", phone)}
    return PageScene("contacts", said, data, wanted, ways, steps)


def cart(draw: random.Random) -> PageScene:
    """Amounts of two goods are ordered."""
    goods = draw.sample(GOODS, 4)
    first, second = draw.randint(2, 3), draw.randint(1, 2)
    one, two, other = goods[:3]

    def more(name: str, times: int) -> Way:
        return (click(f"More {name}"),) * times

    order, less = click("Place order"), click(f"Less {one}")
    both = (*more(one, first), *more(two, second))
    ways = {
        "right": (*both, order),
        "right-less": (*more(one, first + 1), less, *more(two, second), order),
        "right-order": (*more(two, second), *more(one, first), order),
        "near-unsent": both,
        "near-later": (*both, click("Save for later")),
        "near-more": (*more(one, first + 1), *more(two, second), order),
        "near-one": (*more(one, first), order),
        "near-other": (*more(one, first), *more(other, second), order),
        "near-swapped": (*more(one, second), *more(two, first + 1), order),
        "wrong-other": (*more(other, first), order),
        "wrong-nothing": (order,),
    }
    said = f"Order {first} {one} and {second} {two}, and nothing else."
    wanted = dict.fromkeys(goods, 0) | {one: first, two: second}
    steps = {"first": clicked(f"More {one}"), "second": clicked(f"More {two}")}
    return PageScene("cart", said, sorted(goods), wanted, ways, steps)


def poll(draw: random.Random) -> PageScene:
    """Questions are answered, and sent."""
    travels = ("On foot", "By bicycle", "By train", "By car")
    way, other = draw.sample(travels, 2)
    comment, beside = draw.sample(SAYINGS, 2)
    again, send = PageAct("click", "input[name=again]"), click("Send answers")
    by, wrong = click(way, "radio"), click(other, "radio")
    put = fill("Comment", comment)
    ways = {
        "right": (by, again, put, send),
        "right-corrected": (wrong, by, again, put, send),
        "right-order": (put, again, by, send),
        "near-unsent": (by, again, put),
        "near-way": (wrong, again, put, send),
        "near-again": (by, put, send),
        "near-misspelt": (by, again, fill("Comment", misspelt(comment, draw)), send),
        "near-undone": (by, again, again, put, send),
        "wrong-comment": (by, fill("Comment", beside), send),
        "wrong-empty": (send,),
    }
    said = f'Say in the survey that you came "{way}" and would come again, comment "{comment}", and send it.'
    wanted = {"way": way, "again": True, "comment": comment}
    steps = {
        "way": {"field_filled": {"field": way, "checked": True}},
        "again": {"field_filled": {"field": "again", "checked": True}},
        "comment": filled("Comment", comment),
    }
    return PageScene("poll", said, list(travels), wanted, ways, steps)


def tickets(draw: random.Random) -> PageScene:
    """A ticket gets an owner and a status."""
    topics = draw.sample(TOPICS, 3)
    data = [
        {"id": f"T-{draw.randint(100, 999)}{at}", "about": f"Broken {topic}", "owner": "nobody", "status": "open"}
        for at, topic in enumerate(topics)
    ]  # fmt: skip
    owner, other = draw.sample(("Ivo", "Mara", "Teo"), 2)
    status, beside = draw.sample(("waiting", "closed"), 2)
    it, next_one = click(data[1]["about"], "link"), click(data[2]["about"], "link")
    give, put, update = choose("Owner", owner), choose("Status", status), click("Update ticket")
    ways = {
        "right": (it, give, put, update),
        "right-twice": (it, give, update, it, put, update),
        "right-corrected": (next_one, it, choose("Owner", other), give, put, update),
        "near-unsent": (it, give, put),
        "near-ticket": (next_one, give, put, update),
        "near-owner": (it, choose("Owner", other), put, update),
        "near-status": (it, give, choose("Status", beside), update),
        "near-half": (it, give, update),
        "wrong-both": (it, choose("Owner", other), choose("Status", beside), update),
        "wrong-opened": (it,),
    }
    wanted = {one["id"]: "nobody, open" for one in data} | {data[1]["id"]: f"{owner}, {status}"}
    said = f'Assign the ticket "{data[1]["about"]}" to {owner} and set its status to {status}.'
    steps = {
        "opened": clicked(data[1]["about"], "link"),
        "owner": filled("Owner", owner),
        "status": filled("Status", status),
    }
    return PageScene("tickets", said, data, wanted, ways, steps)


def calendar(draw: random.Random) -> PageScene:
    """An event is entered in a dialog."""
    title, other = (f"Visit to {place}" for place in draw.sample(PLACES, 2))
    day, beside = draw.sample(("Tuesday", "Wednesday", "Thursday", "Friday"), 2)
    time, late = f"1{draw.randint(0, 3)}:30", f"1{draw.randint(4, 9)}:00"
    data = {"Stand-up": "Monday 09:15", "Review": "Friday 15:00"}
    fresh, save, close = click("New event"), click("Save event"), click("Close")

    def put(title: str, day: str, time: str) -> Way:
        return fill("Title", title), choose("Day", day), fill("Time", time)

    right = put(title, day, time)
    ways = {
        "right": (fresh, *right, save),
        "right-order": (fresh, *reversed(right), save),
        "right-again": (fresh, *put(title, beside, time), close, fresh, *right, save),
        "near-unsaved": (fresh, *right),
        "near-closed": (fresh, *right, close),
        "near-day": (fresh, *put(title, beside, time), save),
        "near-time": (fresh, *put(title, day, late), save),
        "near-misspelt": (fresh, *put(misspelt(title, draw), day, time), save),
        "wrong-other": (fresh, *put(other, beside, late), save),
        "wrong-opened": (fresh, close),
    }
    said = f'Enter an event "{title}" on {day} at {time} into the calendar.'
    steps = {
        "opened": clicked("New event"),
        "title": filled("Title", title),
        "day": filled("Day", day),
        "time": filled("Time", time),
    }
    return PageScene("calendar", said, data, data | {title: f"{day} {time}"}, ways, steps)


def shelf(draw: random.Random) -> PageScene:
    """Two documents are deleted, after a question."""
    names = [f"{name}.pdf" for name in draw.sample(THINGS, 5)]
    one, two, other = names[:3]
    pick = {name: PageAct("click", f'input[value="{name}"]') for name in names}
    delete, yes, keep = click("Delete selected"), click("Yes, delete"), click("Keep")
    ways = {
        "right": (pick[one], pick[two], delete, yes),
        "right-each": (pick[one], delete, yes, pick[two], delete, yes),
        "right-kept": (pick[one], pick[two], delete, keep, delete, yes),
        "near-asked": (pick[one], pick[two], delete),
        "near-kept": (pick[one], pick[two], delete, keep),
        "near-one": (pick[one], delete, yes),
        "near-other": (pick[one], pick[other], delete, yes),
        "near-more": (pick[one], pick[two], pick[other], delete, yes),
        "wrong-other": (pick[other], delete, yes),
        "wrong-picked": (pick[one], pick[two]),
    }
    said = f"Delete the documents {one} and {two}."
    wanted = dict.fromkeys(names, True) | {one: False, two: False}
    steps = {
        "one": {"field_filled": {"field": one, "checked": True}},
        "two": {"field_filled": {"field": two, "checked": True}},
        "asked": clicked("Delete selected"),
        "answered": clicked("Yes, delete"),
    }
    return PageScene("shelf", said, sorted(names), wanted, ways, steps)


def transfer(draw: random.Random) -> PageScene:
    """Money is sent, after a review."""
    names = draw.sample(GUESTS, 4)
    to, other = names[1], names[2]
    amount, beside = f"{draw.randint(20, 90)}.50", f"{draw.randint(100, 190)}.50"
    note = f"Invoice {draw.randint(1000, 9999)}"

    def put(to: str, amount: str, note: str = note) -> Way:
        return (
            choose("Account of", to),
            fill("Amount", amount),
            fill("Reference", note),
            click("Review"),
        )

    confirm, back = click("Confirm transfer"), click("Change")
    ways = {
        "right": (*put(to, amount), confirm),
        "right-changed": (*put(to, beside), back, fill("Amount", amount), click("Review"), confirm),
        "right-again": (*put(other, amount), back, *put(to, amount), confirm),
        "near-reviewed": put(to, amount),
        "near-back": (*put(to, amount), back),
        "near-person": (*put(other, amount), confirm),
        "near-amount": (*put(to, amount.replace(".", "")), confirm),
        "near-note": (*put(to, amount, misspelt(note, draw)), confirm),
        "wrong-all": (*put(other, beside, "Gift"), confirm),
        "wrong-filled": put(other, amount)[:2],
    }
    said = f'Send {amount} to {to} with the reference "{note}".'
    wanted = {"to": to, "amount": amount, "reference": note}
    steps = {
        "to": filled("Account of", to),
        "amount": filled("Amount", amount),
        "note": filled("Reference", note),
        "reviewed": clicked("Review"),
    }
    return PageScene("transfer", said, sorted(names), wanted, ways, steps)


def thread(draw: random.Random) -> PageScene:
    """A post is answered."""
    people, texts = draw.sample(GUESTS, 3), draw.sample(SAYINGS, 5)
    data = [{"by": by, "text": text} for by, text in zip(people, texts, strict=False)]
    reply, beside = texts[3], texts[4]

    def answer(at: int, text: str, verbs: str = "rts") -> Way:
        post = f"article >> nth={at}"
        acts = {
            "r": PageAct("click", f'{post} >> role=button[name="Reply"]'),
            "t": PageAct("fill", f"{post} >> textarea", text),
            "s": PageAct("click", f'{post} >> role=button[name="Post reply"]'),
            "l": PageAct("click", f"{post} >> button >> nth=0"),
        }
        return tuple(acts[verb] for verb in verbs)

    ways = {
        "right": answer(1, reply),
        "right-liked": answer(1, reply, "lrts"),
        "right-corrected": (*answer(1, beside, "rt"), *answer(1, reply, "ts")),
        "near-unsent": answer(1, reply, "rt"),
        "near-closed": answer(1, reply, "rtr"),
        "near-post": answer(2, reply),
        "near-misspelt": answer(1, misspelt(reply, draw)),
        "near-liked": answer(1, reply, "l"),
        "wrong-text": answer(0, beside),
        "wrong-empty": answer(1, "", "rs"),
    }
    said = f'Reply "{reply}" to the post of {people[1]}.'
    written = {"field_filled": {"field": f"Your reply to {people[1]}", "value": reply}}
    steps = {"opened": clicked("Reply"), "written": written}
    return PageScene("thread", said, data, {"to": people[1], "text": reply}, ways, steps)


def ranking(draw: random.Random) -> PageScene:
    """A song is moved to the top of a list."""
    songs = draw.sample(SONGS, 4)
    song, other = songs[2], songs[3]
    up, down = click(f"{song} up"), click(f"{song} down")
    save, beside = click("Save order"), click(f"{other} up")
    ways = {
        "right": (up, up, save),
        "right-detour": (up, down, up, up, save),
        "right-twice": (up, save, up, save),
        "near-half": (up, save),
        "near-unsaved": (up, up),
        "near-song": (beside, beside, beside, save),
        "near-undone": (up, up, down, save),
        "near-after": (up, save, up),
        "wrong-down": (down, save),
        "wrong-nothing": (save,),
    }
    order = [song, *(one for one in songs if one != song)]
    said = f'Move "{song}" to the top of the playlist and save the order.'
    wanted: State = {one: at for at, one in enumerate(order, 1)}
    steps = {"moved": clicked(f"{song} up")}
    return PageScene("ranking", said, songs, wanted, ways, steps)


def labels(draw: random.Random) -> PageScene:
    """A label is added, another one removed."""
    first, old, new, other = draw.sample(THINGS, 4)
    field = "label >> input"
    drop, save = click(f"Remove {old}"), click("Apply")

    def add(name: str) -> Way:
        return PageAct("fill", field, name), PageAct("press", field, "Enter")

    ways = {
        "right": (*add(new), drop, save),
        "right-order": (drop, *add(new), save),
        "right-again": (*add(other), click(f"Remove {other}"), *add(new), drop, save),
        "near-unsaved": (*add(new), drop),
        "near-typed": (add(new)[0], drop, save),
        "near-added": (*add(new), save),
        "near-first": (*add(new), click(f"Remove {first}"), save),
        "near-misspelt": (*add(misspelt(new, draw)), drop, save),
        "wrong-other": (*add(other), save),
        "wrong-nothing": (save,),
    }
    said = f'Add the label "{new}" to the photo, remove "{old}", and apply it.'
    wanted = {"labels": ", ".join(sorted((first, new)))}
    steps = {"dropped": clicked(f"Remove {old}"), "written": filled("Add a label", new)}
    return PageScene("labels", said, [first, old], wanted, ways, steps)


def article(draw: random.Random) -> PageScene:
    """A line is added to a text, with a summary."""
    first, second, line, other = draw.sample(SAYINGS, 4)
    summary = f"Added by {draw.choice(GUESTS)}"
    before, after = f"{first}\n{second}", f"{first}\n{second}\n{line}"
    edit, publish = click("Edit page"), click("Publish")
    put, note = fill("Text", after), fill("Summary", summary)
    ways = {
        "right": (edit, put, note, publish),
        "right-previewed": (edit, put, click("Preview"), note, publish),
        "right-again": (edit, fill("Text", other), put, note, publish),
        "near-unsent": (edit, put, note, click("Preview")),
        "near-dropped": (edit, put, note, click("Discard changes")),
        "near-summary": (edit, put, publish),
        "near-lost": (edit, fill("Text", line), note, publish),
        "near-misspelt": (edit, fill("Text", f"{before}\n{misspelt(line, draw)}"), note, publish),
        "wrong-line": (edit, fill("Text", f"{before}\n{other}"), publish),
        "wrong-nothing": (edit, publish),
    }
    said = f'Add the line "{line}" to the end of the page, with the summary "{summary}", and publish it.'
    steps = {
        "opened": clicked("Edit page"),
        "text": {"field_filled": {"field": "text", "value": after}},
        "summary": filled("Summary of the change", summary),
    }
    wanted = {"text": after, "summary": summary}
    return PageScene("article", said, before, wanted, ways, steps)


KINDS = (
    booking, board, switches, contacts, cart, poll, tickets, calendar, shelf, transfer, thread,
    ranking, labels, article,
)  # fmt: skip
