"""Training: one policy version after the other, what it earned, how, and whether the reward still
means what it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Response

from api.audit.reporting import UNNAMED, Reporter
from api.http.dependencies import AuditsPart, PreferencesPart
from api.pages.plot import Plot, line, stacked_bar
from api.pages.render import page
from api.pages.selected import ALL, WINDOWS, Filters, selection_of
from api.pages.viewer import Viewer

DRAWN = 60
"""The newest versions that are drawn; the table has them all."""
_CHARTS = (
    ("Success rate", "goal_rate", 1.0, True, "of the episodes whose success is known"),
    ("Mean reward", "mean_total", None, False, "of an episode, where its total is known"),
    ("Steps per success", "steps_per_success", None, False, "fewer is better"),
    ("Masked steps", "masked_rate", None, True, "steps whose reward is null, of all steps"),
    ("Judge's cost", "judge_cost", None, False, "of all episodes; 0 where no judge was asked"),
)

router = APIRouter(include_in_schema=False)


@router.get("/training")
async def training(
    who: Viewer, asked: Filters, audits: AuditsPart, preferences: PreferencesPart
) -> Response:
    """The page; ``?by=`` names the label that tells versions apart."""
    by = asked.get("by", "policy")
    report = await Reporter(audits, preferences, selection_of(who, asked), by).report()
    health, evaluation = report["health"], report["evaluation"]
    versions = [one for one in health["versions"] if one["episodes"]]
    return page(
        "training.html", asked=asked, by=by, versions=versions, charts=charts(versions[-DRAWN:]),
        flags=flags_of(health["alarms"]), alarms=health["alarms"], unnamed=UNNAMED,
        evaluated={one["version"]: one for one in evaluation["versions"]},
        preferred={one["version"]: one for one in evaluation["preferred"]},
        tries=tries_of(evaluation["versions"]),
        counted=sum(one["episodes"] for one in versions), windows=(*WINDOWS, ALL),
    )  # fmt: skip


def tries_of(evaluated: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the numbers of tries of which any version has a figure, above one."""
    return sorted({row["k"] for one in evaluated for row in one["pass_at"] if row["k"] > 1})


def charts(versions: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, Plot | None]]:
    """Title, explanation and plot of each chart; no plot where nothing is known."""
    names = ["none" if one["version"] == UNNAMED else one["version"] for one in versions]
    told = [
        (title, says, line(title, names, [one[key] for one in versions], top, share))
        for title, key, top, share, says in _CHARTS
    ]
    says = "what milestones paid an episode on average, where its total is known"
    return [
        *told,
        ("Components", says, stacked_bar(names, [one["components"] for one in versions])),
    ]


def flags_of(alarms: Sequence[Mapping[str, str]]) -> dict[str, list[Mapping[str, str]]]:
    """Return the alarms of each version of the task."""
    found: dict[str, list[Mapping[str, str]]] = {}
    for one in alarms:
        found.setdefault(one["version"], []).append(one)
    return found
