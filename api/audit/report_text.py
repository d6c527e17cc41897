"""A report for people: as text, and as one HTML file that needs nothing else and no script."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template


def as_html(report: Mapping[str, object]) -> str:
    """One self-contained page. What agents and sites wrote is escaped."""
    return _template().render(report=report, part=part, number=number, estimate=estimate)


@cache
def _template() -> Template:
    loader = PackageLoader("api.audit", ".")
    made = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return made.get_template("report.html")


def part(value: float | None) -> str:
    """Render a rate from 0 to 1 in percent."""
    return "not known" if value is None else f"{value:.1%}"


def number(value: float | None) -> str:
    """Render a number with few digits."""
    return "not known" if value is None else f"{value:.4g}"


def estimate(figure: Mapping[str, float | None]) -> str:
    """Render a share with its interval in percent."""
    if figure["low"] is None or figure["high"] is None:
        return part(figure["value"])
    return f"{part(figure['value'])} ({figure['low']:.1%} to {figure['high']:.1%})"


def as_report_text(report: Mapping[str, object]) -> str:
    """Render a report as plain text."""
    return "\n".join(_lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report as text: episodes, tasks, masks, tampering, the edge, starts, health,
    evaluation."""
    totals = report["totals"]
    states = ", ".join(f"{many} {status}" for status, many in sorted(report["episodes"].items()))
    yield f"episodes: {states or 'none'}"
    yield f"steps: {totals['steps']}, masked: {totals['masked_steps']}"
    yield f"judge: {totals['judged']} steps, cost {number(totals['cost'])}"
    for task in report["tasks"]:
        yield from _task(task)
    yield f"\nmasks ({totals['masked_steps']} steps)" if report["masks"] else "\nno masks"
    for one in report["masks"]:
        many = (
            f"{one['steps']:>6} steps of {one['episodes']} episodes, {one['while_acting']} while"
            " acting"
        )
        yield f"  {many}: {one['cause']}"
    yield f"\ntamper findings: {totals['tamper']}, of these {totals['tamper_secret']} name a secret"
    for one in report["tamper"]:
        mark = "!" if one["names_a_secret"] else " "
        yield f"  {mark} {one['episode']} event {one['event']} step {one['step']}: {one['address']}"
    yield f"\nedge: {totals['edge_differs']} of {totals['edge_said']} steps differ"
    for one in report["edge"]:
        yield f"  {one['episode']} step {one['step']}: edge {one['edge']}, service {one['service']}"
    yield from _starts(report["starts"])
    yield from _health(report["health"])
    yield from _evaluation(report["evaluation"])


def _task(task: Mapping[str, Any]) -> Iterator[str]:
    """Yield a task's lines: its totals, rates, and how often each milestone was hit."""
    yield (
        f"\n{task['task']} version {task['version']}: {task['closed']} closed of {task['episodes']}"
        " episodes"
    )
    left_out = " (means and rates leave out what is not known)" if task["masked_steps"] else ""
    yield f"  mean total {number(task['mean_total'])} of {number(task['attainable'])}{left_out}"
    yield (
        f"  goal rate {part(task['goal_rate'])}, masked {task['masked_steps']} of {task['steps']}"
        " steps"
    )
    for one in task["milestones"]:
        yield f"  {part(one['hit_rate']):>9}  {number(one['worth']):>8} paid  {one['id']}"
    for name in ("never_hit", "always_hit"):
        if task[name]:
            yield f"  {name.replace('_', ' ')}: {', '.join(task[name])}"
    if task["never_loaded"]:
        yield (
            f"  never hit, and asks for a document at an address: {', '.join(task['never_loaded'])}"
            " (where page script puts the address there, `loaded: false` counts it; `milestoned"
            " task explain` and the episode's page say what came nearest)"
        )


def _starts(starts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the episodes whose start is unlike that of the others of their task."""
    if starts:
        yield "\nstarts unlike the others of their task (docs/blame.md)"
    for one in starts:
        yield f"  {one['task']} version {one['version']}: {one['episodes']} as {one['episode']}"
        for finding in one["findings"]:
            yield f"    {finding['text']}"


def _health(health: Mapping[str, Any]) -> Iterator[str]:
    """Yield each version's figures, then the alarms between versions."""
    yield f"\nhealth by {health['label']}: {len(health['alarms'])} alarms (docs/health.md)"
    for one in health["versions"]:
        yield (
            f"  {one['version']}: {one['episodes']} episodes, reward {part(one['reward'])}, goal"
            f" rate {part(one['goal_rate'])}, {number(one['steps_per_success'])} steps a success"
        )
    for one in health["alarms"]:
        yield f"  ALARM {one['name']}: {one['version']} against {one['before']}: {one['says']}"


def _evaluation(evaluation: Mapping[str, Any]) -> Iterator[str]:
    """Yield each version's success and reward with their intervals, and what people preferred."""
    yield f"\nevaluation by {evaluation['label']} (95 % intervals; docs/audit.md)"
    if evaluation["guided_left_out"]:
        yield f"  {evaluation['guided_left_out']} episodes with hints are left out"
    for one in evaluation["versions"]:
        split = "" if one["split"] is None else f", {evaluation['split']} {one['split']}"
        yield (
            f"  {one['version']}{split}: success {estimate(one['success'])} of {one['known']}"
            f" episodes, reward {estimate(one['reward'])}"
        )
        actions = one["actions"]
        yield (
            f"    steps: {part(actions['earned'])} earned, {part(actions['idle'])} idle,"
            f" {part(actions['wrong'])} wrong, of {actions['known_steps']} known;"
            f" {actions['unknown_steps']} not known"
        )
        for row in one["pass_at"]:
            yield (
                f"    any of {row['k']} {estimate(row['any'])}, all of {row['k']}"
                f" {estimate(row['all'])}, by task ({row['tasks']})"
            )
    for one in evaluation["preferred"]:
        yield (
            f"  preferred: {one['version']} {part(one['win_rate'])} of {one['comparisons']}, rating"
            f" {one['rating']:+.0f} ({one['rating_low']:+.0f} to {one['rating_high']:+.0f})"
        )
