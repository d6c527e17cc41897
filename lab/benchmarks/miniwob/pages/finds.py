"""Pages on which something has to be looked up before it can be clicked: contacts, flights."""

from __future__ import annotations

from lab.benchmarks.miniwob.conditions import click_condition
from lab.benchmarks.miniwob.instance import Instance
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page
from lab.benchmarks.miniwob.state import PROBE, expression, reads, score_condition, state_plan

KINDS = {"phone": r"\d+-\d+-\d+", "email": r"\S+@\S+", "address": r"\d+ .+"}
"""How a contact's links read: nothing else tells them apart as they are clicked."""


@page("phone-book")
def phone_book(instance: Instance) -> PagePlan:
    """The phone, mail or address of a contact who stands on some page; the page pays 0.4 for the
    right contact."""
    name, kind = instance.find(r"^Find (.+) in the contact book and click on their (\w+)")
    body = """
const found = text(one("#contact .name")) === given.name;
return { score: found ? 1 : -1, found };
"""
    any_link = click_condition(tag="a", text={"regex": "|".join(KINDS.values())})
    link = click_condition(tag="a", text={"regex": KINDS[kind]})
    steps = [("found", reads("state.found")), ("link", score_condition(link, 1.0))]
    goal = [(0.4, score_condition(any_link, 1.0)), (1.0, score_condition(link, 1.0))]
    return PagePlan(goal, steps, any_link, {PROBE: expression(body, {"name": name})})


_FLIGHTS = """
const results = one("#results"), listed = !has(results, "hide"), codes = text(one(".flight-codes")).split(" to ");
const from = one("#flight-from").value, to = one("#flight-to").value, date = one("#datepicker").value;
const filled = from.includes(given.from) && to.includes(given.to) && date === given.date;
const flights = listed ? all("#results .flight") : [];
const worth = (flight) => given.by === "cheapest"
  ? Number(one(".flight-price", flight).getAttribute("data-price"))
  : Number(one(".time-duration", flight).getAttribute("data-duration"));
const least = Math.min(...flights.map(worth));
const best = flights.filter((flight) => worth(flight) === least).map((flight) => one(".flight-price", flight));
"""


@page("book-flight", "book-flight-nodelay")
def flight(instance: Instance) -> PagePlan:
    """A search for flights, of which the cheapest or the shortest is booked."""
    by, origin, to, date = instance.find(
        r"^Book the (\w+) one-way flight from: (.+) to: (.+) on (\d+/\d+/\d+)\.$"
    )
    given = {"by": by, "from": origin, "to": to, "date": date}
    body = (
        _FLIGHTS
        + """
const chosen = document.activeElement, booked = filled && listed && best.some((button) => button === chosen);
const places = from.includes(given.from) && to.includes(given.to);
return { score: booked ? 1 : -1, places, filled, listed: filled && listed };
"""
    )
    press = click_condition(role="button", name={"starts_with": "Book flight for"})
    return state_plan(body, given, ["places", "filled", "listed"], press)
