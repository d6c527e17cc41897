"""Whose budgets a question is on, and their limits: the task's and the operator's, the smaller of
each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from api.verdicts.escalations import PendingItem
from api.verdicts.opinions import Key
from detectors.model.optional_values import without_none
from detectors.task.language import Budget
from detectors.task.value_types import SCOPES


def budgets_of(
    asked: PendingItem, task: Mapping[str, Budget], operator: Mapping[str, Budget], day: str
) -> dict[Key, Budget]:
    """Every budget that is charged, by scope and whose it is; ``day`` is in UTC, such as
    2026-11-21."""
    whose = {
        "episode": asked.episode,
        "task": f"{asked.tenant}/{asked.task}"[:640],
        "tenant": asked.tenant,
        "day": f"{asked.tenant}/{day}",
    }
    return {
        (scope, whose[scope]): _smaller(task.get(scope), operator.get(scope)) for scope in SCOPES
    }


def _smaller(one: Budget | None, other: Budget | None) -> Budget:
    """Return the smaller of two budgets, of calls and of cost each for itself; None stands for no
    bound."""
    given = without_none((one, other))
    return Budget(
        min((b.calls for b in given if b.calls is not None), default=None),
        min((b.cost for b in given if b.cost is not None), default=None),
    )


def budget_of(text: str) -> tuple[str, Budget]:
    """What ``SCOPE:calls=N`` or ``SCOPE:cost=AMOUNT`` says. Raises ValueError."""
    scope, _, limit = text.partition(":")
    name, _, amount = limit.partition("=")
    if scope in SCOPES and name == "calls" and amount.isdecimal():
        return scope, Budget(calls=int(amount))
    if scope in SCOPES and name == "cost" and amount.replace(".", "", 1).isdecimal():
        return scope, Budget(cost=float(amount))
    raise ValueError(f"expected {'|'.join(SCOPES)}:calls=N or :cost=AMOUNT")


def together(given: Iterable[tuple[str, Budget]]) -> dict[str, Budget]:
    """Budgets of the command line by scope: calls and money of one scope are one budget."""
    found: dict[str, Budget] = {}
    for scope, budget in given:
        found[scope] = _smaller(found.get(scope), budget)
    return found
