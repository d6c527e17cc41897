"""Runs in .venv-mlflow: what MLflow's own client finds of the traces, as JSON, and an assessment
that it is given by the ids that docs/telemetry.md names."""

from __future__ import annotations

import hashlib
import json
import sys

import mlflow
from mlflow.entities import AssessmentSource


def main(url: str, episode: str) -> None:
    """Print the episode's trace as MLflow has it."""
    mlflow.set_tracking_uri(url)
    trace_id = "tr-" + hashlib.sha256(episode.encode()).hexdigest()[:32]
    step_id = hashlib.sha256(f"{episode}\nstep 0".encode()).hexdigest()[:16]
    mlflow.log_feedback(
        trace_id=trace_id,
        span_id=step_id,
        name="step_reward",
        value=0.1,
        source=AssessmentSource(source_type="CODE", source_id="milestoned"),
    )
    trace = mlflow.get_trace(trace_id)
    unknown = mlflow.search_traces(
        locations=["0"], filter_string="tag.`milestoned.reward` = 'unknown'", return_type="list"
    )
    spans = [
        {
            "name": span.name,
            "type": span.span_type,
            "reward": span.attributes.get("milestoned.reward"),
            "events": [
                [
                    e.attributes.get("gen_ai.evaluation.name"),
                    e.attributes.get("gen_ai.evaluation.score.value"),
                ]
                for e in span.events
            ],
        }
        for span in trace.data.spans
    ]
    found = {
        "state": str(trace.info.state.value),
        "session": trace.info.trace_metadata.get("mlflow.trace.session"),
        "tags": {k: v for k, v in trace.info.tags.items() if k.startswith("milestoned.")},
        "spans": spans,
        "assessments": [
            [a.name, a.feedback.value, a.span_id == step_id] for a in trace.info.assessments
        ],
        "found_by_tag": [one.info.trace_id == trace_id for one in unknown],
    }
    print(json.dumps(found))


main(*sys.argv[1:])
