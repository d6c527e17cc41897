"""What drafts of tasks and rubrics cost, on the budgets of the operator.

A draft is the tenant's and the day's: no episode asks for it. It is billed before the endpoint is
called, as a judge's question is, and charged with what it took afterwards.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from api.core.errors import ConflictError, TooManyError
from api.core.metrics import Metrics
from api.db.database import now
from api.stages.judge.ballot import Bill
from api.stages.judge.settings import JudgeSettings
from api.verdicts.opinions import Asking, Opinions
from detectors.task.language import Budget

STAGE = "draft"
CALLS = 3
"""What a draft is billed at first: how the endpoint is asked, an answer, and another where that is
none."""
LEASE_S = 900.0
BUSY_S = 5
_NO_LIMIT = Budget(None, None)


class DraftBills:
    """The drafts that a service's endpoint writes, billed by tenant and day."""

    def __init__(self, opinions: Opinions, metrics: Metrics, budgets: Mapping[str, Budget]) -> None:
        self._opinions, self._metrics, self._budgets = opinions, metrics, budgets

    @asynccontextmanager
    async def billed(self, tenant: str, settings: JudgeSettings) -> AsyncIterator[Bill]:
        """Give the bill that the calls of one draft are added to, and charge it at the end, also
        of a draft that failed. Raises `ConflictError` where a budget is spent, and `TooManyError`
        while others may spend what is left of it."""
        whose = {"tenant": tenant, "day": f"{tenant}/{now()[:10]}"}
        budgets = {
            (scope, key): self._budgets.get(scope, _NO_LIMIT) for scope, key in whose.items()
        }
        asking = Asking(STAGE, uuid.uuid4().hex, "", CALLS, budgets)
        begun = await self._opinions.begin_once(asking, LEASE_S)
        if begun.state == "spent":
            raise ConflictError(f"draft: {begun.why}; the operator's --budget says how much")
        if begun.state == "busy":
            raise TooManyError("draft: others may spend what is left of the budget", BUSY_S)
        bill = Bill()
        try:
            yield bill
        finally:
            cost = settings.cost(bill.tokens_in, bill.tokens_out)
            await self._opinions.end_once(asking, bill.calls, cost)
            self._metrics.stage_cost.labels(STAGE).inc(cost)
