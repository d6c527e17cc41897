"""Airlines' search forms: what is in the form as it is sent, field by field."""

from __future__ import annotations

from lab.benchmarks.base import BadSourceError
from lab.benchmarks.miniwob.conditions import (
    Condition,
    any_of,
    click_condition,
    fill_condition,
)
from lab.benchmarks.miniwob.instance import Instance
from lab.benchmarks.miniwob.plan import PagePlan
from lab.benchmarks.miniwob.registry import page

CITIES = (
    "segments[0].origin",
    "segments[0].destination",
    "SearchFields.DepartureCity",
    "SearchFields.ArrivalCity",
)
DATES = (
    "segments[0].travelDate", "segments[1].travelDate", "SearchFields.DepartureDate",
    "SearchFields.ReturnDate",
)  # fmt: skip


@page("flight.AA", "flight.Alaska", "flight.Alaska-auto", "flight.Alaska-auto-medium")
def search(instance: Instance) -> PagePlan:
    """The page pays for each field of its request that is right, if none of those that it needs is
    empty. The request is the environment's (`fields`): the utterance names cities, the form wants
    their airports' codes."""
    request = {str(name): str(value) for name, value in instance.fields.items()}
    if not request:
        raise BadSourceError(
            "fields: a flight's page needs the environment's request, field by field"
        )
    sent: Condition = {"form_submitted": {"form": {"glob": "*"}}}
    needed = {name: {"glob": "?*"} for name in (*CITIES, *DATES) if name in request}
    whole: Condition = {"form_submitted": {"fields": needed}}
    tiers: list[tuple[float, Condition]] = []
    # The n-th tier is paid by the n-th field, whichever they are: what counts is their number.
    rows: list[Condition] = [
        {"form_submitted": {"fields": {name: value}}} for name, value in request.items()
    ]
    for many, row in enumerate(rows, 1):
        tiers.append((many / len(rows), {"all_of": {"of": [whole, row], "holding": True}}))
    steps = [
        (f"field-{n}", _field_holds(name, request[name]))
        for n, name in enumerate((*CITIES, *DATES), 1)
        if name in request
    ]
    return PagePlan(tiers, steps, sent)


def _field_holds(name: str, value: str) -> Condition:
    """The field was filled in by hand, or by the page in the step in which something was clicked:
    a suggestion, a day of the calendar."""
    filled: Condition = {"field_filled": {"field": name, "value": value, "trusted": False}}
    clicked = click_condition(role={"glob": "*"})
    chosen: Condition = {"all_of": {"within": {"steps": 0}, "of": [clicked, filled]}}
    return any_of([fill_condition(name, value), chosen])
