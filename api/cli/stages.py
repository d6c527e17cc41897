"""What `milestoned serve` and `milestoned rescore --ask-again` are told of the tiers beyond the
rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from api.cascade.spending import budget_of, together
from api.cli.common import read_seconds, whole_number
from api.core.settings import StageSettings
from common.command_line import option
from detectors.task.language import Budget

MAX_CALLS = 1_024
_DEFAULT = StageSettings()


def _read_risk(text: str) -> float:
    """Read a share of answers that may be wrong."""
    if not text.replace(".", "", 1).isdecimal() or not 0 < float(text) < 0.5:
        raise ValueError("expected a number above 0 and below 0.5, such as 0.05")
    return float(text)


@Parameter(name="*", group="Tiers beyond the rules")
@dataclass(frozen=True, kw_only=True)
class StageOptions:
    """The reward model, the judges, and what may be spent on them."""

    model: Annotated[
        str, option("the reward model: its folder, or a scorer's address", "DIR|URL")
    ] = ""
    model_risk: Annotated[
        float,
        option(
            "of the answers of a model in a folder, how many may be wrong (default:"
            f" {_DEFAULT.model_risk:g})",
            "RISK",
            _read_risk,
        ),
    ] = _DEFAULT.model_risk
    judge: Annotated[
        tuple[str, ...],
        option(
            "OpenAI-compatible endpoints that judge (docs/judge.md)", "URL", consume_multiple=True
        ),
    ] = ()
    stage_calls: Annotated[
        int,
        option(
            f"calls of one endpoint that may run at once (default: {_DEFAULT.at_once})",
            "N",
            whole_number(1, MAX_CALLS),
        ),
    ] = _DEFAULT.at_once
    stage_lease_s: Annotated[
        float,
        option(
            "after which what a dead replica was asked is taken up by another (default:"
            f" {_DEFAULT.lease_s:g})",
            "S",
            read_seconds,
        ),
    ] = _DEFAULT.lease_s
    budget: Annotated[
        tuple[tuple[str, Budget], ...],
        option(
            "the most to ask for, such as tenant:calls=1000 or day:cost=5; scopes: episode, task,"
            " tenant, day",
            "SCOPE:LIMIT",
            budget_of,
            many=True,
        ),
    ] = ()

    def settings(self) -> StageSettings:
        """Return them as the service has them."""
        return StageSettings(
            self.model,
            self.judge,
            self.stage_calls,
            self.stage_lease_s,
            together(self.budget),
            self.model_risk,
        )


NO_STAGES = StageOptions()
