"""Tasks for pages that a team works on together: shifts, invitations, messages, permissions, photos
and notices."""

from __future__ import annotations

import random

from benchmarks.desktop.editors import misspelt
from benchmarks.desktop.scene import PEOPLE
from benchmarks.scenes.page_scene import (
    GUESTS,
    SAYINGS,
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

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
SHIFTS = ("", "early", "late", "off")
FAMILIES = ("Finch", "Fowler", "Marsh", "Novak", "Quist", "Torres", "Vane")
RIGHTS = ("comment", "share", "download", "rename pages")


def rota(draw: random.Random) -> PageScene:
    """Two shifts are given by clicks that turn the cells of a table."""
    who, other, third, fourth = draw.sample(PEOPLE, 4)
    day, later, beside = draw.sample(DAYS, 3)
    data = {name: [draw.choice(SHIFTS) for _ in DAYS] for name in (third, who, fourth, other)}  # fmt: skip
    for name, at in ((who, day), (other, later), (who, beside), (third, day)):
        data[name][DAYS.index(at)] = ""
    publish = click("Publish rota")
    rows = list(data)

    def turn(name: str, day: str, times: int = 1) -> Way:
        cell = f"tbody tr >> nth={rows.index(name)} >> td >> nth={DAYS.index(day)}"
        return (tap(cell),) * times

    late, early = turn(who, day, 2), turn(other, later)
    right = (*late, *early, publish)
    ways = {
        "right": right,
        "right-order": (*early, *late, publish),
        "right-around": (*early, *turn(who, day, 6), publish),
        "right-twice": (*late, publish, *turn(third, day, 4), *early, publish),
        "near-early": (*turn(who, day), *early, publish),
        "near-over": (*turn(who, day, 7), *early, publish),
        "near-person": (*turn(who, day, 4), *turn(third, day, 2), *early, publish),
        "near-day": (*turn(who, beside, 2), *early, publish),
        "near-unpublished": (*early, *late),
        "near-extra": (*right, *turn(third, day, 2), publish, *turn(who, beside, 3), publish),
        "near-turned": (*right, *turn(other, later, 5), publish),
        "wrong-nothing": (publish,),
        "wrong-others": (*turn(third, day, 2), *turn(fourth, beside), *turn(who, beside), publish),
    }
    said = draw.choice(
        (
            f"Give {who} the late shift on {day} and {other} the early one on {later}, then publish the rota.",
            f"{day}: {who} comes late. {later}: {other} comes early. Enter this and publish it; "
            "nobody else's week changes.",
            f"The rota lacks two shifts: late for {who} ({day}) and early for {other} ({later}). Fill them in and publish.",
        )
    )
    wanted: State = {
        f"{name}, {day}": shift
        for name, shifts in data.items()
        for day, shift in zip(DAYS, shifts, strict=True)
    }
    wanted |= {f"{who}, {day}": "late", f"{other}, {later}": "early"}
    steps = {
        "late": state_has(f"{who}, {day}", "late"),
        "early": state_has(f"{other}, {later}", "early"),
    }
    return PageScene("rota", said, data, wanted, ways, steps)


def invite(draw: random.Random) -> PageScene:
    """Two people are found by what is typed, and invited in a role."""
    first, second, third = draw.sample(GUESTS, 3)
    twin = f"{first.split()[0]} {draw.choice(FAMILIES)}"
    people = [twin, first, second, third]
    draw.shuffle(people)
    role, other = draw.sample(("reader", "editor", "owner"), 2)
    send = click("Send invitations")

    def add(name: str) -> Way:
        return write("#who", name[: draw.randint(2, 4)]), click(name, "option")

    def drop(name: str) -> Way:
        return (tap(f'#chips span:has-text("{name}") >> i'),)

    def by_keys(name: str) -> Way:
        listed = "#who[aria-expanded=true]"
        return write("#who", name), *(press(listed, key) for key in ("ArrowDown", "Enter"))

    give = choose("Role", role)
    right = (*add(first), *add(second), give, send)
    ways = {
        "right": right,
        "right-dropped": (*add(twin), *add(second), *drop(twin), *add(first), give, send),
        "right-refused": (send, give, *add(first), *add(second), send),
        "right-keys": (*by_keys(second), *add(first), give, send),
        "near-twin": (*add(first), *add(second), *drop(first), *add(twin), give, send),
        "near-role": (*add(first), *add(second), choose("Role", other), send),
        "near-unsent": (*add(first), *add(second), give),
        "near-extra": (*add(first), *add(third), *add(second), give, send),
        "near-dropped": (*right, *drop(second), send),
        "near-changed": (*right, choose("Role", other), send),
        "near-typed": (
            give,
            write("#who", first),
            send,
            write("#who", second),
            send,
            write("#who", first),
            send,
        ),
        "wrong-others": (*add(twin), *add(third), choose("Role", other), send, *drop(third), send),
        "wrong-role": (give, send),
    }
    said = draw.choice(
        (
            f"Invite {first} and {second}, both as {role}.",
            f'Send invitations with the role "{role}" to {second} and to {first}, and to nobody else.',
            f"{first} and {second} shall join us. Their role is {role}. Mind that there is another {first.split()[0]}.",
        )
    )
    wanted = {"people": ", ".join(sorted((first, second))), "role": role}
    steps = {
        "chosen": {"element_clicked": {"role": "option", "name": first}},
        "people": state_has("people", wanted["people"]),
    }
    return PageScene("invite", said, people, wanted, ways, steps)


def channel(draw: random.Random) -> PageScene:
    """An own message of a channel is corrected in its place."""
    by, third = draw.sample(GUESTS, 2)
    texts = draw.sample(SAYINGS, 5)
    senders = ("You", by, "You", third)
    data = [{"by": who, "text": text} for who, text in zip(senders, texts, strict=False)]
    old = texts[2]
    new = f"{old}, {draw.choice(('as far as I know', 'on the north side', 'sorry', 'I was told'))}"

    def menu(at: int, item: str) -> Way:
        return tap(f"#m{at} .more"), click(item, "menuitem")

    def edit(at: int, text: str, key: str = "Enter") -> Way:
        return *menu(at, "Edit"), write(f"#m{at} p", text), press(f"#m{at} p", key)

    post = (write("#say", new), press("#say", "Enter"))
    ways = {
        "right": edit(3, new),
        "right-escaped": (*edit(3, texts[4], "Escape"), *edit(3, new)),
        "right-twice": (*edit(3, misspelt(new, draw)), *edit(3, new)),
        "right-looked": (tap("#m2 .more"), press("#say", "Escape"), *edit(3, new)),
        "near-posted": post,
        "near-both": (*edit(3, new), *post),
        "near-escaped": (*edit(3, texts[4], "Escape"), *edit(3, new, "Escape")),
        "near-message": (*edit(3, new, "Escape"), *edit(1, new)),
        "near-deleted": (*edit(3, new), *menu(3, "Delete")),
        "near-pinned": (
            tap("#m2 .more"),
            press("#say", "Escape"),
            *edit(3, new),
            *menu(3, "Pin"),
        ),
        "near-restored": (*edit(3, new), *edit(3, old)),
        "wrong-opened": menu(3, "Edit"),
        "wrong-others": (*edit(1, texts[4]), *menu(2, "Pin"), *menu(4, "Pin")),
    }
    said = draw.choice(
        (
            f'Change your message "{old}" to "{new}".',
            f"You wrote: {old}. It should read: {new}. Correct the message where it stands; write no new one.",
            f'You wrote "{old}" in the channel, which lacks something. Edit it until it says: {new}',
        )
    )
    wanted: State = {f"m{at}": one["text"] for at, one in enumerate(data, 1)}
    wanted |= {"m3": new, "count": 4, "pinned": ""}
    steps = {"edit": {"element_clicked": {"role": "menuitem", "text": "Edit"}}, "text": state_has("m3", new)}  # fmt: skip
    return PageScene("channel", said, data, wanted, ways, steps)


def roles(draw: random.Random) -> PageScene:
    """Rights are given and taken on two tabs, each with its own button."""
    names = ["Editors", "Readers", "Guests"]
    data = {name: {right: draw.random() < 0.5 for right in RIGHTS} for name in names}
    group, other = draw.sample(names, 2)
    aside = next(name for name in names if name not in (group, other))
    give, take, beside = draw.sample(RIGHTS, 3)
    for name in (group, aside):
        data[name][give] = False
    data[other][take] = True
    apply = click("Apply")

    def tab(name: str) -> Way:
        return (click(name, "tab"),)

    def flip(*rights: str) -> Way:
        return tuple(tap(f".line >> nth={RIGHTS.index(right)} >> .knob") for right in rights)

    one, two = (*tab(group), *flip(give), apply), (*tab(other), *flip(take), apply)
    ways = {
        "right": (*one, *two),
        "right-order": (*two, *one),
        "right-looked": (*tab(aside), *one, *tab(aside), *two),
        "right-thrice": (*tab(group), *flip(give, beside, beside), apply, *two),
        "near-one": one,
        "near-unapplied": (*one, *two[:-1]),
        "near-lost": (*one[:-1], *two, *tab(group), apply),
        "near-group": (*one[:-1], *tab(aside), *flip(give), apply, *two),
        "near-more": (*tab(group), *flip(give, beside), apply, *two),
        "near-undone": (*one, *two, *one),
        "near-extra": (*two, *one, *tab(aside), *flip(beside), apply),
        "wrong-others": (*tab(aside), *flip(give, take, beside), apply, *tab(other), *flip(beside), apply),
        "wrong-tabs": (*tab(other), *tab(aside), *tab(group)),
    }  # fmt: skip
    said = draw.choice(
        (
            f"From now on {group.lower()} may {give}, and {other.lower()} may no longer {take}. Apply both.",
            f"Let {group.lower()} {give} and stop letting {other.lower()} {take}; keep all other permissions.",
            f"Two changes of permissions, please. {group}: allow them to {give}. {other}: forbid them to {take}.",
        )
    )
    wanted: State = {f"{name} {right}": on for name in names for right, on in data[name].items()}
    wanted |= {f"{group} {give}": True, f"{other} {take}": False}
    steps = {
        "given": state_has(f"{group} {give}", True),
        "taken": state_has(f"{other} {take}", False),
    }
    return PageScene("roles", said, data, wanted, ways, steps)


def photos(draw: random.Random) -> PageScene:
    """Photos are sorted by keys."""
    names = [f"{draw.choice(THINGS)} {number}" for number in draw.sample(range(100, 999), 8)]
    good, bad = draw.randint(1, 3), draw.randint(4, 6)
    best, worst = names[good], names[bad]

    def keys(text: str) -> Way:
        moves = {"r": "ArrowRight", "l": "ArrowLeft", "d": "ArrowDown"}
        return tuple(press("#grid", moves.get(key, key)) for key in text)

    def point(number: int) -> Way:
        return (tap(f".photo >> nth={number}"),)

    to, on = "r" * good, "r" * (bad - good)
    right = keys(f"{to}f{on}x")
    ways = {
        "right": right,
        "right-clicked": (*point(bad), *keys("x"), *point(good), *keys("f")),
        "right-undone": keys(f"{to}f{on}lxurx"),
        "right-past": keys(f"{to}rlf{on}x"),
        "near-one": keys(f"{to}f"),
        "near-beside": keys(f"{to}rf{on[1:]}x"),
        "near-swapped": keys(f"{to}x{on}f"),
        "near-undone": keys(f"{to}f{on}lxurxu"),
        "near-extra": (*right, *keys("rx")),
        "near-overwritten": keys(f"{to}rlf{on}xf"),
        "near-clicked": (*point(good), *keys("f"), *point(bad + 1), *keys("x")),
        "wrong-moved": keys(f"{to}{on}"),
        "wrong-others": keys("fdxrxuxrfrx"),
    }
    said = draw.choice(
        (
            f"Mark the photo {best} as a favourite and reject {worst}.",
            f'With the keys of the page, make "{best}" a favourite and throw out "{worst}". Leave the rest unmarked.',
            f"{best} is the best one and {worst} is blurred: favourite and reject, in this order or the other.",
        )
    )
    wanted: State = dict.fromkeys(names, "") | {best: "favourite", worst: "rejected"}
    steps = {"best": state_has(best, "favourite"), "worst": state_has(worst, "rejected")}
    return PageScene("photos", said, names, wanted, ways, steps)


def notices(draw: random.Random) -> PageScene:
    """All notices are marked as read, by one click or by many."""
    people = draw.sample(GUESTS, 4)
    deeds = ("shared", "commented on", "finished", "asked about")
    texts = [
        f"{who} {draw.choice(deeds)} the {topic}"
        for who, topic in zip(people, draw.sample(TOPICS, 4), strict=True)
    ]
    every, gear = click("Mark all as read"), click("Options")
    mute, clear = tap("#mute"), click("Clear the list", "menuitem")

    def mark(*numbers: int) -> Way:
        return tuple(tap(f"li >> nth={number} >> button") for number in numbers)

    chosen = draw.sample(range(4), 4)
    ways = {
        "right": (every,),
        "right-each": mark(*chosen),
        "right-some": (*mark(*chosen[:2]), every),
        "right-again": (every, *mark(chosen[0], chosen[0])),
        "near-three": mark(*chosen[:3]),
        "near-one": mark(chosen[0]),
        "near-new": (every, *mark(chosen[1])),
        "near-muted": (*mark(*chosen), gear, mute),
        "near-cleared": (gear, clear),
        "near-cleared-too": (every, gear, clear),
        "near-twice": (*mark(*chosen), *mark(*chosen[2:])),
        "wrong-muted": (gear, mute, *mark(chosen[0])),
        "wrong-opened": (gear,),
    }
    said = draw.choice(
        (
            "Mark all notices as read.",
            f"I know of everything by now, also what {people[0]} did. Set every notice to read and keep them in the list.",
            f"None of the {len(texts)} notices shall be new any more, but don't remove or mute them.",
            f"Please mark everything as read, from {texts[0]} to the last one.",
        )
    )
    wanted: State = dict.fromkeys(texts, "read") | {"muted": False}
    return PageScene("notices", said, texts, wanted, ways, {"read": state_has(texts[0], "read")})


KINDS = (rota, invite, channel, roles, photos, notices)
