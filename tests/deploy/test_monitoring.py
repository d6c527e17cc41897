"""What deploy/monitoring watches is there to be watched: every metric that an alert or a panel names
is one of the service's, and every alert's step is in the runbook."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from api.core.metrics import Metrics

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "deploy" / "monitoring"
RULES = [
    rule
    for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
PANELS = [
    one
    for one in json.loads((MONITORING / "dashboard.json").read_text())["panels"]
    if one["type"] != "row"
]
RECORDED = {
    rule["record"]: rule["expr"]
    for group in yaml.safe_load((MONITORING / "autoscaling.yaml").read_text())["groups"]
    for rule in group["rules"]
}
EXPRESSIONS = [
    *((rule["alert"], rule["expr"]) for rule in RULES),
    *RECORDED.items(),
    *((panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]),
]
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is missing (Debian's prometheus)"
)


def series() -> set[str]:
    """The names under which the service's metrics are stored."""
    endings = {
        "counter": ("_total",),
        "gauge": ("",),
        "histogram": ("_bucket", "_sum", "_count"),
    }
    return {
        one.name + ending
        for one in Metrics(lambda: 0).registry.collect()
        for ending in endings[one.type]
    }


@pytest.mark.parametrize(("where", "expression"), EXPRESSIONS)
def test_every_metric_that_is_watched_is_the_service_s(where: str, expression: str) -> None:
    named = set(re.findall(r"\bmilestoned_\w+", expression))
    assert named <= series(), where
    assert named or 'up{job="milestoned"}' in expression


def test_states_and_statuses_that_are_watched_are_ones() -> None:
    """A label's value that nobody sets would be silence, and no alarm."""
    metrics = Metrics(lambda: 0)
    metrics.fleet({}, 0)
    states = re.findall(r'state="(\w+)"', " ".join(text for _, text in EXPRESSIONS))
    assert states
    for state in states:
        assert f'milestoned_sandboxes{{state="{state}"}}' in metrics.text().decode()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_every_alert_has_its_step_in_the_runbook(rule: dict[str, dict[str, str]]) -> None:
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    titles = re.findall(r"^## (.+)$", (ROOT / page).read_text(), re.M)
    assert anchor in {re.sub(r"[^\w-]", "", one.lower().replace(" ", "-")) for one in titles}


@needs_promtool
@pytest.mark.parametrize(
    "what",
    [
        (verb, "rules", f"{name}{ending}.yaml")
        for name in ("alerts", "autoscaling")
        for verb, ending in (("check", ""), ("test", "_test"))
    ],
)
def test_promtool_takes_the_rules(what: tuple[str, ...]) -> None:
    done = subprocess.run(
        ["promtool", *what], cwd=MONITORING, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@needs_promtool
def test_promtool_takes_the_configuration(tmp_path: Path) -> None:
    shutil.copytree(MONITORING, tmp_path, dirs_exist_ok=True)
    (tmp_path / "prometheus.token").touch()
    done = subprocess.run(
        ["promtool", "check", "config", "prometheus.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
