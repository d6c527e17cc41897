"""Pages with a form that only the document shows whole: passwords, fields without a name, values
that script sets."""

from __future__ import annotations

import re

from lab.benchmarks.miniwob.conditions import any_of, click_condition
from lab.benchmarks.miniwob.instance import Instance
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page
from lab.benchmarks.miniwob.state import state_plan

_VALUES = """
const right = Object.keys(given.values).map((css) => one(css) && one(css).value === given.values[css]);
const some = right.filter((ok) => ok).length > 0, every = right.every((ok) => ok);
return { score: every ? 1 : -1, some, every };
"""


def values(wanted: dict[str, str]) -> PagePlan:
    """Each field holds what it should as the button is pressed. The comparing is done in the page:
    what a password field holds never leaves it."""
    return state_plan(_VALUES, {"values": wanted}, ["some", "every"])


@page("enter-password")
def password_twice(instance: Instance) -> PagePlan:
    """Both fields hold the password that the utterance quotes."""
    wanted = instance.quoted[0]
    return values({"#password": wanted, "#verify": wanted})


@page("login-user-popup")
def login(instance: Instance) -> PagePlan:
    """User, password, and a popup that asks to leave: who agrees never comes to press the
    button."""
    user, password = instance.quoted
    return values({"#username": user, "#password": password})


@page("copy-paste-2")
def copied(instance: Instance) -> PagePlan:
    """One of three texts is copied into a field."""
    (nth,) = instance.find(r"(\d)(?:st|nd|rd)")
    body = """
const source = one("#text-" + given.nth).value, value = one("#answer-input").value;
const right = value === source;
return { score: right ? 1 : -1, begun: value !== "" && source.startsWith(value.slice(0, 1)), right };
"""
    return state_plan(body, {"nth": nth}, ["begun", "right"])


@page("choose-date", "choose-date-easy", "choose-date-nodelay")
def day(instance: Instance) -> PagePlan:
    """A day in a calendar that script draws; months have to be turned on some of these pages."""
    wanted = "/".join(instance.find(r"(\d+)/(\d+)/(\d+)"))
    body = """
const calendar = one("#ui-datepicker-div"), title = text(one(".ui-datepicker-title", calendar));
const open = !!title && getComputedStyle(calendar).display !== "none";
const month = open && title === given.title, right = one("#datepicker").value === given.date;
return { score: right ? 1 : -1, open, month, right };
"""
    month, _, year = wanted.split("/")
    return state_plan(
        body,
        {"date": wanted, "title": f"{MONTHS[int(month) - 1]} {year}"},
        ["open", "month", "right"],
    )


MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


@page("multi-layouts")
def movie(instance: Instance) -> PagePlan:
    """Three fields whose labels stand before, above, beside or below them; the button has several
    names."""
    genre, director, year = instance.find(
        r"Search for (.+) movies directed by (.+) from year (\d+)\."
    )
    body = """
const low = (field) => (field ? field.value.toLowerCase().trim() : "");
const label = (field) => {
  for (let node = field.parentElement; node && node.id !== "area"; node = node.parentElement) {
    const said = text(node).toLowerCase();
    if (said) return said;
  }
  return "";
};
const fields = all("#area input");
const of = (words) => fields.find((field) => words.some((word) => label(field).includes(word)));
const genre = low(of(["genre"])) === given.genre, director = low(of(["director"])) === given.director;
const yearly = of(["year", "date"]), year = !!yearly && yearly.value === given.year;
return { score: genre && director && year ? 1 : -1, genre, director, year };
"""
    given = {"genre": genre.lower(), "director": director.lower(), "year": year}
    names = {"one_of": ["Submit", "Search", "Go!"]}
    press = any_of(
        [click_condition(role="button", name=names), click_condition(tag="div", text=names)]
    )
    return state_plan(body, given, ["genre", "director", "year"], press)


@page("form-sequence")
def slider_and_box(instance: Instance) -> PagePlan:
    """A slider at a number and one of three boxes."""
    number, nth = instance.find(r"Select (-?\d+) with the slider, click the (\d)")
    body = """
const slid = text(one("#val")) === given.number, boxes = all("#area input");
const boxed = boxes.filter((box) => box.checked).length === 1 && one("#checkbox-" + given.nth).checked;
return { score: slid && boxed ? 1 : -1, slid, boxed };
"""
    return state_plan(body, {"number": number, "nth": nth}, ["slid", "boxed"])


@page("use-slider")
def slider(instance: Instance) -> PagePlan:
    """A slider at a number; half of the way there is a step."""
    (number,) = instance.find(r"Select (-?\d+) with the slider")
    start = instance.first("#val").text().strip()
    body = """
const now = Number(text(one("#val"))), far = Math.abs(given.start - given.number);
const near = now !== given.start && Math.abs(now - given.number) <= far / 2, right = now === given.number;
return { score: right ? 1 : -1, near, right };
"""
    return state_plan(body, {"number": int(number), "start": int(start)}, ["near", "right"])


@page("use-slider-2")
def sliders(instance: Instance) -> PagePlan:
    """Three sliders stand at the numbers that the utterance lists."""
    numbers = re.findall(r"\d+", instance.find(r"combination \[(.+)\]")[0])
    body = """
const [first, second, third] = given.map((number, n) => text(one("#val-" + (n + 1))) === number);
return { score: first && second && third ? 1 : -1, first, second, third };
""".replace("given.map", "given.numbers.map")
    return state_plan(body, {"numbers": numbers}, ["first", "second", "third"])


@page("use-spinner")
def spinner(instance: Instance) -> PagePlan:
    """A number that goes up and down by two arrows."""
    (number,) = instance.find(r"Select (-?\d+) with the spinner")
    body = """
const now = parseInt(one("#spinner").value), right = now === given.number;
const near = now !== 0 && Math.abs(now - given.number) <= Math.abs(given.number) / 2;
return { score: right ? 1 : -1, near, right };
"""
    return state_plan(body, {"number": int(number)}, ["near", "right"])
