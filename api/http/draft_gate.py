"""What lets a draft through: how often a tenant may have one, and what it may cost."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from api.auth.rates import Rates
from api.cascade.draft_bills import DraftBills
from api.http.support import parts_of
from api.stages.judge.ballot import Bill
from api.stages.judge.settings import JudgeSettings


@dataclass(frozen=True, slots=True)
class DraftGate:
    """The bounds of drafts of tasks and rubrics: a rate and a budget."""

    rates: Rates
    bills: DraftBills

    def admit(self, tenant: str, settings: JudgeSettings) -> AbstractAsyncContextManager[Bill]:
        """Count a draft, and give the bill that its calls are added to. Raises `TooManyError` and,
        on entering, what `DraftBills.billed` does."""
        self.rates.draft(tenant)
        return self.bills.billed(tenant, settings)


async def _draft_gate(request: Request) -> DraftGate:
    parts = parts_of(request)
    return DraftGate(parts.rates, parts.draft_bills)


DraftGatePart = Annotated[DraftGate, Depends(_draft_gate)]
