"""Tasks for pages that people have at home: an alarm, albums, a seating plan, a translation, a quiz,
a theme."""

from __future__ import annotations

import random

from benchmarks.desktop.editors import misspelt
from benchmarks.scenes.page_scene import PageAct, PageScene, State, Way, click
from benchmarks.unseen.page_parts import (
    ALARMS,
    ALBUMS,
    DUTCH,
    FONTS,
    PEOPLE,
    PHOTOS,
    PRESETS,
    SEGMENTS,
    Steps,
    pick,
    put,
)  # fmt: skip


def alarm(draw: random.Random) -> PageScene:
    """An alarm is made by wheels for the hour and the minute, for two days of the week."""
    name, first, second = draw.sample(ALARMS, 3)
    days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    one, two, beside = draw.sample(days, 3)
    (hour, turned), (minute, quarters) = (
        draw.choice(((6, "down"), (8, "up"))),
        draw.choice(((15, 1), (45, 3))),
    )
    time = f"{hour:02}:{minute:02}"
    new, done, cancel, call = (
        click("New alarm"), click("Done"), click("Cancel"), put("Alarm name", name),
    )  # fmt: skip
    wheel = (click(f"Hour {turned}"), *(click("Minute up"),) * quarters)
    back = (*(click("Minute down"),) * (4 - quarters), click(f"Hour {turned}"))
    on = (click(one), click(two))
    right = (new, *wheel, *on, call)
    ways = {
        "right": (*right, done),
        "right-order": (new, call, *reversed(on), *back, done),
        "right-unset": (
            new,
            click(beside),
            *min(wheel, back, key=len),
            *on,
            call,
            click(beside),
            done,
        ),
        "near-unsaved": right,
        "near-cancelled": (*right, cancel),
        "near-day": (new, *wheel, click(one), click(beside), call, done),
        "near-hour": (new, *wheel[1:], *on, call, done),
        "near-off": (*right, done, click(f"{time} {name}", "switch")),
        "near-existing": (PageAct("click", f'.open:has-text("{first}")'), *wheel, call, done),
        "near-also": (click(f"07:00 {first}", "switch"), *right, done),
        "wrong-bare": (new, done),
        "wrong-turned": (click(f"09:30 {second}", "switch"), new, cancel),
    }
    chosen = sorted((one, two), key=days.index)
    said = draw.choice((
        f'Set a new alarm for {time} on {" and ".join(chosen)}, named "{name}".',
        f'I need waking at {time} every {chosen[0]} and {chosen[1]}. Add an alarm called "{name}" for it'
        " and don't touch my other alarms.",
    ))  # fmt: skip
    data = [
        {"hour": 7, "minute": 0, "name": first, "days": list(days[:5]), "on": True},
        {"hour": 9, "minute": 30, "name": second, "days": ["Sun"], "on": False},
    ]
    kept = (f"07:00 {first} ({' '.join(days[:5])}) on", f"09:30 {second} (Sun) off")
    wanted = {"alarms": sorted((*kept, f"{time} {name} ({' '.join(chosen)}) on"))}
    steps: Steps = {
        "name": {"field_filled": {"field": "Alarm name", "value": name}},
        "day": {"element_state": {"role": "button", "name": one, "pressed": True}},
    }
    return PageScene("alarm", said, data, wanted, ways, steps)


def album(draw: random.Random) -> PageScene:
    """Two photos are moved into an album, and one becomes its cover."""
    photos = draw.sample(PHOTOS, 5)
    one, two, other = photos[3], photos[1], photos[2]
    into, beside = draw.sample(ALBUMS, 2)
    menu, cover = PageAct("click", ".move"), click("Make cover")
    tab = {name: click(name, "tab") for name in (into, beside, "Unsorted")}

    def choose(*names: str) -> Way:
        return tuple(click(name, "option") for name in names)

    def move(album: str, *names: str) -> Way:
        return (*choose(*names), menu, click(album, "menuitem"))

    right = (*move(into, one, two), tab[into], *choose(two), cover)
    ways = {
        "right": right,
        "right-each": (*move(into, two), *move(into, one), tab[into], *choose(two), cover),
        "right-recovered": (*right[:5], *choose(one), cover, *choose(two), cover),
        "near-one": (*move(into, two), tab[into], *choose(two), cover),
        "near-cover": (*right[:5], *choose(one), cover),
        "near-uncovered": (*move(into, one, two), tab[into]),
        "near-more": (*move(into, one, other, two), tab[into], *choose(two), cover),
        "near-album": (*move(beside, one, two), tab[beside], *choose(two), cover),
        "near-back": (*right, *move("Unsorted", one)),
        "near-early": (*choose(two), cover, *move(into, one, two), tab[into]),
        "wrong-deleted": (*choose(one, two), click("Delete photos")),
        "wrong-other": move(beside, other),
    }
    said = draw.choice((
        f'Move the unsorted photos "{one}" and "{two}" to the album {into}, and make "{two}" its cover.',
        f'The album {into} should get "{one}" and "{two}" from my unsorted photos, with "{two}" on the'
        " cover.",
    ))  # fmt: skip
    albums = ["Unsorted", *sorted((into, beside))]
    wanted: State = {
        "where": {**dict.fromkeys(photos, "Unsorted"), one: into, two: into},
        "covers": {**dict.fromkeys(albums), into: two},
    }
    facts = [{"path": f"$['where']['{name}']", "value": into} for name in (one, two)]
    steps: Steps = {
        "moved": {"state_accepted": {"url": "/state", "method": "POST", "facts": facts}},
        "cover": {"element_clicked": {"role": "button", "name": "Make cover"}},
    }
    return PageScene("album", said, {"albums": albums, "photos": photos}, wanted, ways, steps)


def seating(draw: random.Random) -> PageScene:
    """Two guests get seats in a drawn plan, and it is published."""
    one, two, other, *sitting = draw.sample(PEOPLE, 5)
    seats = dict.fromkeys(("A1", "A2", "A3", "B1", "B2", "B3"), "")
    full, table_b = draw.choice(("A1", "A2")), draw.sample(("B1", "B2", "B3"), 3)
    first, free = (seat for seat in ("A1", "A2", "A3") if seat != full)
    second, beside, taken = table_b
    seats[full], seats[taken] = sitting

    def sit(name: str, seat: str) -> Way:
        return click(name), click(f"Seat {seat}")

    publish, clear = click("Publish plan"), click("Clear table B")
    both = (*sit(one, first), *sit(two, second))
    ways = {
        "right": (*both, publish),
        "right-order": (*sit(two, second), publish, *sit(one, first), publish),
        "right-moved": (
            *sit(one, free), *sit(two, second), click(f"Seat {free}"), click(f"Seat {first}"), publish,
        ),
        "near-unpublished": both,
        "near-swapped": (*sit(one, second), *sit(two, first), publish),
        "near-seat": (*sit(one, first), *sit(two, beside), publish),
        "near-guest": (*sit(one, first), *sit(other, second), publish),
        "near-early": (*sit(one, first), publish, *sit(two, second)),
        "near-cleared": (*sit(one, first), clear, *sit(two, second), publish),
        "near-moved": (*both, publish, click(f"Seat {second}"), click(f"Seat {beside}"), publish),
        "wrong-bumped": (*sit(other, full), publish),
        "wrong-cleared": (click("Clear table A"), clear, publish),
    }  # fmt: skip
    said = draw.choice((
        f"Seat {one} on {first} and {two} on {second}, then publish the seating plan.",
        f"{one} and {two} still have no seat at the supper: give them {first} and {second}, in this"
        " order, and publish the plan. Nobody else moves.",
    ))  # fmt: skip
    wanted: State = {**seats, first: one, second: two}
    data = {"seats": seats, "waiting": sorted((one, two, other))}
    steps: Steps = {
        "seat": {"element_clicked": {"role": "button", "name": f"Seat {first}"}},
        "guest": {"element_clicked": {"role": "button", "name": two}},
    }
    return PageScene("seating", said, data, wanted, ways, steps)


def segments(draw: random.Random) -> PageScene:
    """A segment of a translation is corrected and confirmed."""
    chosen = draw.sample(SEGMENTS, 4)
    at, beside = draw.sample((1, 2, 3, 4), 2)
    source, text, _ = chosen[at - 1]
    data = [
        {"source": english, "target": hint, "suggestion": hint, "status": "new"}
        for english, _, hint in chosen
    ]
    data[at - 1]["target"] = f"{source.split()[0]}..."
    data[beside - 1] |= {"target": chosen[beside - 1][1], "status": "confirmed"}

    def write(text: str, number: int = at) -> PageAct:
        return put(f"Target of segment {number}", text)

    def do(what: str, number: int = at) -> PageAct:
        return click(f"{what} {number}")

    sign = do("Confirm segment")
    enter = PageAct("press", f'role=textbox[name="Target of segment {at}"]', "Control+Enter")
    ways = {
        "right": (write(text), enter),
        "right-suggested": (do("Insert suggestion"), write(text), sign),
        "right-reopened": (do("Insert suggestion"), sign, do("Reopen segment"), write(text), enter),
        "near-unsaved": (write(text),),
        "near-segment": (write(text, beside), do("Confirm segment", beside)),
        "near-misspelt": (write(misspelt(text, draw)), enter),
        "near-suggestion": (do("Insert suggestion"), sign),
        "near-reopened": (write(text), sign, do("Reopen segment")),
        "near-replaced": (do("Insert suggestion"), write(text), enter, do("Insert suggestion"), sign),
        "near-also": (do("Insert suggestion"), write(text), sign, do("Reopen segment", beside), do("Copy source", beside), click("Save all")),
        "wrong-source": (do("Copy source"), sign),
        "wrong-cleared": (
            do("Reopen segment", beside), write("", beside), do("Confirm segment", beside),
        ),
    }  # fmt: skip
    said = draw.choice((
        f'Segment {at} of the translation job must read "{text}". Correct it and confirm it.',
        f'Translate "{source}" as "{text}" in the open job and confirm that segment; leave the others.',
    ))  # fmt: skip
    wanted: State = {
        str(number): f"{one['status']}: {one['target']}" for number, one in enumerate(data, 1)
    }
    wanted[str(at)] = f"confirmed: {text}"
    facts = [{"path": f"$['{at}']", "value": wanted[str(at)]}]
    steps = {"confirmed": {"state_accepted": {"url": "/state", "method": "POST", "facts": facts}}}
    return PageScene("segments", said, data, wanted, ways, steps)


def quiz(draw: random.Random) -> PageScene:
    """Three questions on words are answered, and the quiz is handed in."""
    words = draw.sample(sorted(DUTCH), 5)
    first, second, third = (DUTCH[word] for word in words[:3])
    lure, bait = (DUTCH[word] for word in words[3:])
    a, c, wrong, worse = (click(word, "radio") for word in (first, third, lure, bait))
    b, on, end = put("Your answer", second), click("Next"), click("Hand in")
    go = {number: click(f"Question {number}") for number in (1, 3)}
    ways = {
        "right": (a, on, b, on, c, end),
        "right-back": (wrong, on, b, click("Back"), a, go[3], c, end),
        "right-jumped": (go[3], c, go[1], a, on, b, end),
        "near-unsent": (a, on, b, on, c),
        "near-choice": (wrong, on, b, on, c, end),
        "near-skipped": (a, on, on, c, end),
        "near-misspelt": (a, on, put("Your answer", misspelt(second, draw)), on, c, end),
        "near-early": (a, on, b, end, on, c),
        "near-changed": (a, on, b, on, c, go[1], wrong, end),
        "near-restarted": (wrong, on, b, click("Back"), a, go[3], c, end, click("Start over")),
        "wrong-all": (wrong, on, put("Your answer", bait), on, worse, end),
        "wrong-empty": (end,),
    }
    said = draw.choice((
        f"Answer the Dutch quiz ({words[0]}: {first}, {words[1]}: {second}, {words[2]}: {third}) and"
        " hand it in.",
        f'Take the word quiz. "{words[0]}" is "{first}", "{words[1]}" is "{second}" and'
        f' "{words[2]}" is "{third}". Hand in your answers when all three are given.',
    ))  # fmt: skip
    options = [draw.sample((word, lure, bait), 3) for word in (first, third)]
    data = [
        {"word": words[0], "options": options[0]},
        {"word": words[1]},
        {"word": words[2], "options": options[1]},
    ]
    wanted: State = dict(zip(words[:3], (first, second, third), strict=True))
    wanted["handed in"] = True
    steps: Steps = {
        "typed": {"field_filled": {"field": "Your answer", "value": second}},
        "sent": {"element_clicked": {"role": "button", "name": "Hand in"}},
    }
    return PageScene("quiz", said, data, wanted, ways, steps)


def palette(draw: random.Random) -> PageScene:
    """A theme is made of a preset and two changes, and applied."""
    plain, name, other = PRESETS[0], *draw.sample(PRESETS[1:], 2)
    fonts = dict(zip((plain, name, "wanted", other), draw.sample(FONTS, 4), strict=True))
    accents = [f"#{draw.randrange(0x300000, 0xEFFFFF):06x}" for _ in range(4)]
    begun = draw.choice((2, 4, 6, 8, 10, 12))
    radius, font = begun + 4, fonts["wanted"]
    data = [
        {"name": plain, "accent": accents[0], "radius": 0, "font": fonts[plain]},
        {"name": name, "accent": accents[1], "radius": begun, "font": fonts[name]},
        {"name": other, "accent": accents[2], "radius": 20, "font": fonts[other]},
    ]

    def slide(to: int) -> PageAct:
        return put("Corner radius", str(to), "slider")

    more = PageAct("press", 'role=slider[name="Corner radius"]', "ArrowRight")
    it, beside = click(name, "radio"), click(other, "radio")
    head, apply = pick("Heading font", font), click("Apply to site")
    ways = {
        "right": (it, slide(radius), head, apply),
        "right-pressed": (it, more, head, more, apply),
        "right-again": (beside, head, slide(radius), it, slide(radius), head, apply),
        "near-unapplied": (it, slide(radius), head),
        "near-order": (slide(radius), head, it, apply),
        "near-radius": (it, more, head, apply),
        "near-font": (it, slide(radius), apply),
        "near-accent": (it, PageAct("fill", "#accent", accents[3]), slide(radius), head, apply),
        "near-restored": (it, slide(radius), head, apply, click("Restore default")),
        "near-tried": (it, slide(radius), head, apply, beside, head, slide(radius), apply),
        "wrong-untouched": (apply,),
        "wrong-preset": (beside, apply),
    }
    said = draw.choice((
        f"Switch the site to the theme {name}, but with {font} headings and a corner radius of {radius} px.",
        f"Start from the preset {name}, set the corner radius to {radius} and the heading font to {font},"
        " and apply that to the site.",
    ))  # fmt: skip
    wanted: State = {"preset": name, "accent": accents[1], "radius": radius, "font": font}
    steps: Steps = {
        "font": {"field_filled": {"field": "Heading font", "value": font, "trusted": False}},
        "applied": {"element_clicked": {"role": "button", "name": "Apply to site"}},
    }
    return PageScene("palette", said, data, wanted, ways, steps)
