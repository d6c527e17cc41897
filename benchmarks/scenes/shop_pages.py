"""Tasks for pages of a shop: what is chosen, judged, reserved, ordered and wished for."""

from __future__ import annotations

import random

from benchmarks.desktop.editors import misspelt
from benchmarks.scenes.page_scene import (
    GUESTS,
    PLACES,
    PageScene,
    State,
    Steps,
    Way,
    choose,
    click,
    fill,
    press,
    state_has,
    tap,
    write,
)

COLOURS = ("Red", "Green", "Navy", "Orange", "Teal", "Purple")
PRODUCTS = ("Tea kettle", "Desk lamp", "Bread knife", "Rain jacket", "Bicycle bell")
JUDGEMENTS = (
    "It does what it should, and quietly",
    "The handle came loose after a week",
    "A little heavy, but made to last",
    "Smaller than it looks in the picture",
    "I bought a second one for my brother",
)
STREETS = ("Mill Lane", "Station Road", "Harbour Street", "Linden Way", "Castle Hill")
SLOTS = ("8 to 10", "12 to 14", "17 to 19")
PLANS = ("Basic", "Studio", "Team", "Premium")
TOOLS = (
    "Spade",
    "Rake",
    "Watering can",
    "Hedge shears",
    "Wheelbarrow",
    "Gloves",
    "Bucket",
    "Hoe",
    "Trowel",
    "Garden hose",
)


def sneakers(draw: random.Random) -> PageScene:
    """Some pairs of a shoe, of a colour and a size, are put into the bag."""
    colours = draw.sample(COLOURS, 4)
    sizes = [str(size) for size in range(draw.randint(35, 37), 41)]
    colour, beside = draw.sample(colours, 2)
    size, other = draw.sample(sizes, 2)
    count = draw.randint(2, 3)
    more, add, drop = click("+"), click("Add to bag"), click("Remove")

    def pair(colour: str, size: str) -> Way:
        return tap(f".sw.{colour.lower()}"), click(size)

    them = (more,) * (count - 1)
    right = (*pair(colour, size), *them, add)
    ways = {
        "right": right,
        "right-order": (*them, click(size), tap(f".sw.{colour.lower()}"), add),
        "right-singly": (*pair(colour, size), *(add,) * count),
        "right-removed": (*pair(beside, size), add, drop, *right),
        "near-colour": (*pair(colour, size), *pair(beside, size), *them, add),
        "near-size": (*pair(colour, other), *them, add),
        "near-one-more": (*pair(colour, size), *them, more, add),
        "near-again": (*right, add),
        "near-removed": (*right, drop),
        "near-another": (*right, *pair(beside, size), add),
        "near-refused": (tap(f".sw.{colour.lower()}"), *them, add),
        "wrong-other": (*pair(beside, other), add, *pair(beside, size), add),
        "wrong-refused": (add, tap(f".sw.{beside.lower()}"), add, more, add),
    }
    said = draw.choice(
        (
            f"Put {count} pairs of the shoe into the bag, {colour.lower()}, size {size}, and nothing else.",
            f"I'd like {count} pairs in {colour.lower()}, size {size}. Just add them to my bag.",
            f"Shoes for the choir: {colour.lower()}, {size}, quantity {count}. The bag must hold exactly these.",
        )
    )
    data = {"colours": colours, "sizes": sizes}
    wanted = {"bag": f"{count} {colour} {size}"}
    steps: Steps = {
        "colour": {"text_visible": {"text": {"contains": f"Colour: {colour}"}}},
        "size": {"element_clicked": {"role": "button", "name": size}},
    }
    return PageScene("sneakers", said, data, wanted, ways, steps)


def review(draw: random.Random) -> PageScene:
    """A product is judged with stars and words."""
    product, by = draw.choice(PRODUCTS), draw.choice(GUESTS)
    text, beside = draw.sample(JUDGEMENTS, 2)
    count, other = draw.sample((2, 3, 4, 5), 2)
    send, edit, again = click("Submit review"), click("Edit review"), tap("input[name=again]")

    def stars(count: int) -> Way:
        return (tap(f".star >> nth={count - 1}"),)

    put, name = write("textarea", text), fill("Shown as", by)
    rest = (put, name, again)
    right = (*stars(count), *rest, send)
    ways = {
        "right": right,
        "right-order": (again, name, put, *stars(count), send),
        "right-refused": (*rest, send, *stars(count), send),
        "right-edited": (*stars(other), *rest, send, edit, *stars(count), send),
        "near-stars": (*stars(count), *rest, *stars(other), send),
        "near-short": (
            *stars(count),
            write("textarea", text[:12]),
            name,
            again,
            send,
            *stars(count),
            send,
        ),
        "near-again": (*stars(count), again, *rest, send),
        "near-edited": (*right, edit, *stars(other), send),
        "near-rewritten": (*right, edit, write("textarea", beside), send),
        "near-nameless": (*stars(count), put, again, send),
        "near-unsent": right[:-1],
        "wrong-empty": (send, name, send),
        "wrong-other": (*stars(other), again, write("textarea", beside), send, edit, again, send),
    }
    said = draw.choice(
        (
            f'Write a review as {by}: {count} stars, "{text}", and that you would not buy it again.',
            f"Give the {product.lower()} {count} of 5 stars in the name of {by} with the words: {text}. "
            "I would not buy it again, so take that tick away.",
        )
    )
    wanted: State = {"stars": count, "text": text, "by": by, "again": False}
    steps = {
        "text": {"field_filled": {"field": "text", "value": text}},
        "stars": state_has("stars", count),
    }
    return PageScene("review", said, product, wanted, ways, steps)


def seats(draw: random.Random) -> PageScene:
    """Two seats of a hall are reserved at a fare."""
    row, behind, aside = draw.sample("ABCD", 3)
    first = draw.randint(1, 4)
    one, two, third = (f"{row}{first + more}" for more in range(3))
    rear, rear_two, gone, lost = f"{behind}1", f"{behind}4", f"{aside}2", f"{aside}3"
    fare, other = draw.sample(("full", "reduced", "student"), 2)
    on, reserve = click("Continue"), click("Reserve")

    def pick(*names: str) -> Way:
        return tuple(tap(f'[aria-label="Row {name[0]} seat {name[1]}"]') for name in names)

    def take(fare: str) -> Way:
        return on, choose("Fare", fare), reserve

    change = tap("button:visible:has-text('Change seats')")
    ways = {
        "right": (*pick(one, two), *take(fare)),
        "right-order": (*pick(two, one), *take(fare)),
        "right-moved": (*pick(rear, one), *pick(rear, two), *take(fare)),
        "right-back": (*pick(one, rear_two), on, change, *pick(rear_two, two), *take(fare)),
        "near-seat": (*pick(one, third), *take(fare)),
        "near-three": (*pick(one, two, third), *take(fare)),
        "near-fare": (*pick(gone, one, two), *take(other)),
        "near-unreserved": (*pick(one, two), on, choose("Fare", fare)),
        "near-cancelled": (*pick(one, two), *take(fare), click("Cancel reservation")),
        "near-moved": (*pick(one, two), *take(fare), change, *pick(two, third), *take(fare)),
        "near-row": (*pick(one, two, two, one), *pick(rear, f"{behind}2"), *take(fare)),
        "wrong-taken": (*pick(gone, lost, gone), on),
        "wrong-others": (*pick(rear, rear_two, gone, third, lost), *take(other)),
    }
    said = draw.choice(
        (
            f"Reserve the seats {one} and {two} at the {fare} fare.",
            f"Two {fare} tickets, please: row {row}, seats {one[1]} and {two[1]}.",
            f"We sit side by side in {one} and {two}; both of us pay the {fare} price. Reserve that.",
        )
    )
    wanted = {"seats": f"{one}, {two}", "fare": fare}
    steps: Steps = {
        "seat": {"element_clicked": {"name": f"Row {row} seat {one[1]}"}},
        "both": {"text_visible": {"text": {"contains": "2 seats:"}}},
        "reserved": state_has("seats", f"{one}, {two}"),
    }
    return PageScene("seats", said, sorted((gone, lost)), wanted, ways, steps)


def delivery(draw: random.Random) -> PageScene:
    """A box is ordered in four steps, with a day of a calendar."""
    street, elsewhere = (f"{draw.randint(2, 80)} {name}" for name in draw.sample(STREETS, 2))
    town, other = draw.sample(PLACES, 2)
    slot, late = draw.sample(SLOTS, 2)
    month, day, beside = draw.randint(1, 7), *draw.sample((*range(11, 21), *range(24, 28)), 2)
    on, back, order, turn = (
        click("Next"),
        click("Back"),
        click("Order the box"),
        click("Later month"),
    )
    leave, change = tap("#neighbour"), click("Change the order")

    def live(street: str, town: str) -> Way:
        return fill("Street", street), fill("Town", town)

    def pick(day: int, slot: str) -> Way:
        return turn, click(str(day)), on, click(slot, "radio"), on

    home = live(street, town)
    right = (*home, on, *pick(day, slot), leave, order)
    ways = {
        "right": right,
        "right-back": (*home, on, *pick(day, late), back, click(slot, "radio"), on, leave, order),
        "right-refused": (home[0], on, home[1], on, on, *pick(day, slot), leave, order),
        "right-turned": (
            *reversed(home), on, turn, turn, click("Earlier month"), click(str(beside)),
            click(str(day)), on, click(slot, "radio"), on, leave, order,
        ),
        "near-day": (
            *home, on, *pick(day, slot), back, back, click(str(beside)), on, on, leave, order,
        ),
        "near-month": (*home, on, turn, *pick(day, slot), leave, order),
        "near-slot": (*home, on, *pick(day, slot), back, click(late, "radio"), on, leave, order),
        "near-neighbour": (*right, change, on, on, on, leave, order),
        "near-unsent": right[:-1],
        "near-changed": (*right, change, fill("Street", elsewhere), on, on, on, order),
        "near-town": (*live(street, misspelt(town, draw)), on, *pick(day, slot), leave, order),
        "wrong-half": (*home, on, turn, click(str(day))),
        "wrong-other": (*live(elsewhere, other), on, *pick(beside, late), order, change, on, on, on, order),
    }  # fmt: skip
    names = "January February March April May June July August September".split()
    said = draw.choice(
        (
            f"Order a vegetable box to {street}, {town}, for {day} {names[month]} 2027 between {slot}, "
            "to be left with a neighbour.",
            f"I want the box on the {day}th of {names[month]}, from {slot} o'clock. My address is {street} "
            f"in {town}. I won't be in, so a neighbour takes it.",
        )
    )
    wanted: State = {
        "street": street, "town": town, "day": f"2027-{month + 1:02}-{day}", "slot": slot, "neighbour": True,
    }  # fmt: skip
    steps = {
        "street": {"field_filled": {"field": "Street", "value": street}},
        "day": state_has("day", wanted["day"]),
    }
    return PageScene("delivery", said, month - 1, wanted, ways, steps)


def plan(draw: random.Random) -> PageScene:
    """A plan is chosen with its billing and seats, after a question."""
    names = draw.sample(PLANS, 3)
    name, other = draw.sample(names, 2)
    more = draw.randint(1, 3)
    up, down = press("#knob", "ArrowRight"), press("#knob", "ArrowLeft")
    yearly, monthly = tap(".bill >> text=Yearly"), tap(".bill >> text=Monthly")
    yes, no, it = click("Yes, change"), click("Not now"), click(f"Choose {name}")
    ups = (up,) * more
    right = (yearly, *ups, it, yes)
    ways = {
        "right": right,
        "right-order": (*ups, yearly, it, yes),
        "right-past": (yearly, *ups, up, down, it, yes),
        "right-asked": (click(f"Choose {other}"), no, yearly, *ups, it, yes),
        "near-monthly": (yearly, *ups, monthly, it, yes),
        "near-seats": (yearly, *ups, up, it, yes),
        "near-plan": (yearly, *ups, click(f"Choose {other}"), yes),
        "near-dismissed": (yearly, *ups, it, no, it, no),
        "near-again": (*right, click(f"Choose {other}"), yes),
        "near-fewer": (*right, down, it, yes),
        "near-billing": (*ups, it, yes),
        "wrong-plan": (press("#knob", "PageUp"), up, click(f"Choose {other}"), yes, monthly, down),
        "wrong-turned": (*ups, yearly, click(f"Choose {other}"), no, monthly, down),
    }
    said = draw.choice(
        (
            f"Change to the {name} plan with yearly billing and {5 + more} seats.",
            f"We are {5 + more} people now and want {name}. Set the plan to that, paid by the year.",
            f"Plan: {name}. Billing: yearly. Seats: {5 + more}. Confirm the change when the page asks.",
        )
    )
    wanted: State = {"plan": name, "billing": "Yearly", "seats": 5 + more}
    steps = {
        "asked": {"element_clicked": {"role": "button", "name": f"Choose {name}"}},
        "seats": state_has("seats", 5 + more),
        "billing": state_has("billing", "Yearly"),
    }
    return PageScene("plan", said, sorted(names), wanted, ways, steps)


def wishlist(draw: random.Random) -> PageScene:
    """One tool gets a heart, and another one loses it; the list shows three more at a time."""
    names = draw.sample(TOOLS, 9)
    new, old, other, third = names[draw.randint(6, 8)], names[1], names[4], names[2]
    data = {name: name in (old, other) for name in names}
    more = click("Show more")

    def heart(*names: str) -> Way:
        return tuple(tap(f'[aria-label="Wish for {name}"]') for name in names)

    ways = {
        "right": (*heart(old), more, more, *heart(new)),
        "right-order": (more, more, *heart(new, old)),
        "right-detour": (*heart(third), more, *heart(third, old), more, *heart(new)),
        "near-added": (more, more, *heart(new)),
        "near-removed": (more, *heart(old)),
        "near-extra": (*heart(old), more, *heart(other), more, *heart(new)),
        "near-undone": (*heart(old), more, more, *heart(new, new)),
        "near-restored": (more, more, *heart(new, old, old)),
        "near-other": (*heart(old, old), more, *heart(other), more, *heart(new)),
        "near-everything": (
            *heart(names[0], old, third),
            more,
            *heart(names[3]),
            more,
            *heart(new),
        ),
        "wrong-looked": (more, more),
        "wrong-others": (*heart(third, names[0]), more, *heart(other, names[5])),
    }
    said = draw.choice(
        (
            f"Add the {new.lower()} to the wish list and take the {old.lower()} off it.",
            f"My wish list needs a change: {new} in, {old} out. Everything else is fine.",
            f"Put a heart on {new} and remove the one on {old}. You may have to show more of the tools.",
        )
    )
    wanted: State = data | {new: True, old: False}
    steps = {"added": state_has(new, True), "removed": state_has(old, False)}
    return PageScene("wishlist", said, data, wanted, ways, steps)


KINDS = (sneakers, review, seats, delivery, plan, wishlist)
