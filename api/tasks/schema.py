"""The JSON Schema of task files, made of what the rules declare, so that editors complete and check
them."""

from __future__ import annotations

from api.tasks import lenient_schema
from api.tasks.schema_values import (
    IDS,
    TEXT,
    Schema,
    facts_schema,
    object_,
    rubric_schema,
    text_schema,
    type_schema,
    url_schema,
    window_schema,
)
from detectors.sdk.arguments import declared
from detectors.sdk.registry import Composite, Rule, rules
from detectors.task.escalation import DECISIVE, REASONS, SCOPES, TIERS
from detectors.task.probes import MAX_BUDGET_MS, MAX_CHARACTERS, MAX_PROBES, WHEN
from detectors.task.task_json import COMPONENTS, DEFAULT_WEIGHTS, MAX_ID, MAX_VERSION, TOP
from detectors.task.tools_preset import DEFAULT, RANGES


def task_schema() -> Schema:
    """The schema of a task file (JSON Schema 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "milestoned task",
        "description": "What is asked of the agent, and what counts. See docs/tasks.md.",
        **object_(_task_properties(), ("id", "version", "instruction", "milestones")),
        "$defs": {
            "id": {
                "type": "string",
                "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.\-/]*$",
                "maxLength": MAX_ID,
            },
            "text": text_schema(),
            "structure": lenient_schema.structure(),
            "url": url_schema(),
            "milestone": object_(_milestone_properties(), ("id", "when")),
            "condition": _condition_schema(nested=True),
            "top": _condition_schema(nested=False),
        },
    }


def _task_properties() -> Schema:
    weight = {"type": "number", "minimum": 0}
    credit = {"enum": ["progress", "level"]}
    millis = {"type": "integer", "minimum": 0, "maximum": 60000}
    return {
        "$schema": TEXT,
        "id": {"$ref": "#/$defs/id"},
        "version": {**TEXT, "maxLength": MAX_VERSION},
        "instruction": {**TEXT, "description": "What the agent is told."},
        "origin": {
            **TEXT,
            "description": "What the task's paths resolve against, such as https://shop.example.",
        },
        "hosts": {
            "type": "array",
            "items": TEXT,
            "description": "Further origins of the site: rules about pages hold there as well.",
        },
        "weights": {
            **object_(dict.fromkeys(COMPONENTS, weight)),
            "description": f"The worth of each component; by default {dict(DEFAULT_WEIGHTS)}.",
        },
        "credit": {"anyOf": [credit, object_(dict.fromkeys(COMPONENTS, credit))]},
        "penalty_floor": {"type": "number", "maximum": 0, "default": -1.0},
        "settings": object_(
            {"quiet_ms": {**millis, "default": 50}, "settle_ms": {**millis, "default": 1000}}
        ),
        "milestones": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/milestone"}},
        "probes": {
            "type": "array",
            "maxItems": MAX_PROBES,
            "items": _probe_schema(),
            "description": "Facts that no event shows, read by the daemon. See docs/probes.md.",
        },
        **_ending_properties(),
        "escalation": _escalation_schema(),
        "tools": _tools_schema(),
        "tests": _tests_schema(),
    }


def _ending_properties() -> Schema:
    """What is said of the whole episode (detectors/task/episode_terms.py)."""
    number: Schema = {"type": "number"}
    part: Schema = {"type": "number", "minimum": 0, "maximum": 1}
    step: Schema = {"type": "integer", "minimum": 1}
    components = {"type": "array", "minItems": 1, "items": {"enum": list(COMPONENTS)}}
    return {
        "limits": {
            **window_schema(),
            "description": "What comes later than so many steps or seconds pays nothing.",
        },
        "outcome": {
            **object_(
                {
                    "alpha": part,
                    "success": {**number, "minimum": 0, "default": 1.0},
                    "failure": {**number, "default": 0.0},
                }
            ),
            "description": (
                "What the end is worth: r = alpha * process + (1 - alpha) * [t = T] * outcome."
            ),
        },
        "efficiency": {
            **object_(
                {"weight": {**number, "exclusiveMinimum": 0}, "best": step, "worst": step},
                ("weight", "best", "worst"),
            ),
            "description": (
                "A bonus for success: whole up to `best` steps, nothing from `worst` on."
            ),
        },
        "shaping": {
            **object_({"potential": components, "gamma": {**part, "default": 1.0}}),
            "description": (
                "Components that pay gamma * Phi(s') - Phi(s), which leaves the optimal policy as"
                " it is."
            ),
        },
    }


def _escalation_schema() -> Schema:
    """What is said of the tiers beyond the rules (detectors/task/escalation.py)."""
    part: Schema = {"type": "number", "minimum": 0, "maximum": 1}
    above: Schema = {"type": "number", "exclusiveMinimum": 0}
    reasons: Schema = {"type": "array", "items": {"enum": list(REASONS)}}
    limits = {
        **object_(
            {"calls": {"type": "integer", "minimum": 0}, "cost": {"type": "number", "minimum": 0}}
        ),
        "minProperties": 1,
    }
    properties: Schema = {
        "route": {"enum": ["cascade", "blend"], "default": "cascade"},
        "escalate": {"anyOf": [{"enum": [*REASONS, "never"]}, reasons], "default": ["unscored"]},
        "audit": {
            **part,
            "default": 0.01,
            "description": "The share of other steps that are judged without effect.",
        },
        "confident": {
            **part,
            "default": 0.7,
            "description": "From which confidence on a word decides.",
        },
        "tiers": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"enum": list(TIERS)},
        },
        "weights": {
            **object_(dict.fromkeys(("rule", *TIERS), part)),
            "description": (
                "Of a blend; they sum to 1. Of a tier that abstained the weight goes to the others."
            ),
        },
        "decisive": {"enum": list(DECISIVE), "default": "positive"},
        "share": {
            **part,
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 1,
            "default": 0.2,
            "description": (
                "The part of the goal's worth that tiers may add to all steps of an episode"
                " together."
            ),
        },
        "patience_s": {
            **above,
            "default": 900,
            "description": "How long a stage may be out of reach.",
        },
        "rubric": object_({"goal": rubric_schema(), "step": rubric_schema()}),
        "budget": object_(dict.fromkeys(SCOPES, limits)),
    }
    return {
        **object_(properties),
        "description": "Which steps go on to a model or a judge. See docs/cascade.md.",
    }


def _tests_schema() -> Schema:
    inline = [object_({"frames": TEXT}, ("frames",)), object_({"lines": TEXT}, ("lines",))]
    recording: Schema = {"anyOf": [TEXT, *inline]}
    number = {"type": "number"}
    kinds = [
        object_({"oracle": recording, "total": number}, ("oracle",)),
        object_({"adversarial": recording, "at_most": number}, ("adversarial",)),
    ]
    return {
        "type": "array",
        "items": {"anyOf": kinds},
        "description": "Recordings that show what the task pays: `milestoned task test`.",
    }


def _tools_schema() -> Schema:
    call = object_({"tool": TEXT, "arguments": facts_schema()}, ("tool",))
    pay = {
        facet: object_(
            {side: {"type": "number", "default": DEFAULT[facet][side]} for side in sides}
        )
        for facet, sides in RANGES.items()
    }
    properties: Schema = {
        "expected": {"type": "array", "maxItems": 64, "items": call},
        "schemas": {"type": "object", "additionalProperties": {"type": ["object", "boolean"]}},
        "pay": object_(pay),
        "free": {
            "type": "boolean",
            "default": False,
            "description": "Pay beyond the ranges of the literature.",
        },
    }
    return {
        **object_(properties, ("expected",)),
        "description": "Asymmetric pay for tool calls. See docs/tasks.md.",
    }


def _milestone_properties() -> Schema:
    return {
        "id": {"$ref": "#/$defs/id"},
        "when": {"$ref": "#/$defs/top"},
        "component": {"enum": list(COMPONENTS)},
        "weight": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Relative within the component.",
        },
        "penalty": {
            "type": "number",
            "exclusiveMinimum": 0,
            "description": "Paid negative, each time up to repeat.",
        },
        "after": {**IDS, "description": "Pays only once these have been reached."},
        "before": {**IDS, "description": "Pays only while none of these has been reached."},
        "repeat": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 1},
        "baseline": {
            "enum": ["never", "transition"],
            "default": "never",
            "description": (
                "transition: what was true at the start may pay once it became untrue and true"
                " again."
            ),
        },
        "must_hold_at_end": {"type": "boolean", "default": False},
        "revoke_on": {"$ref": "#/$defs/condition"},
        "only_if": {
            "$ref": "#/$defs/condition",
            "description": "A gate: pays only while this holds, as soon as both are so.",
        },
        "within": {**window_schema(), "description": "From the first step on, or from `since` on."},
        "since": {"$ref": "#/$defs/id"},
        "credit_to": {"enum": ["occurrence", "cause"], "default": "occurrence"},
        "decisive": {
            "enum": list(DECISIVE),
            "description": "In which direction its rule's word is proof.",
        },
    }


def _condition_schema(nested: bool) -> Schema:
    names = [name for name in rules() if not (nested and name in TOP)]
    body = {name: _rule_schema(rules()[name]) for name in names}
    return {**object_(body), "minProperties": 1, "maxProperties": 1}


def _rule_schema(found: Rule | Composite) -> Schema:
    properties = {
        a.name: {**type_schema(a.type), "description": a.doc} for a in declared(found.args)
    }
    required = tuple(a.name for a in declared(found.args) if a.required)
    doc = " ".join(found.doc.split("\n\n")[0].split())
    if isinstance(found, Rule):
        return {**object_(properties, required), "description": doc}
    if found.name == "goal":
        return {
            **object_({**properties, "when": {"$ref": "#/$defs/condition"}}),
            "description": doc,
        }
    parts = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/condition"}}
    return {"anyOf": [parts, object_({"of": parts, **properties}, ("of",))], "description": doc}


def _probe_schema() -> Schema:
    as_: Schema = {"enum": ["text", "json"], "default": "text"}
    text = {**TEXT, "minLength": 1, "maxLength": MAX_CHARACTERS}
    moments = {"type": "array", "minItems": 1, "items": {"enum": list(WHEN)}, "default": list(WHEN)}
    common = {
        "id": {"type": "string", "pattern": r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$"},
        "when": {
            **moments,
            "description": "At the start always; at the end of every step; at the close.",
        },
        "budget_ms": {"type": "integer", "minimum": 1, "maximum": MAX_BUDGET_MS, "default": 500},
    }
    argv = {"type": "array", "minItems": 1, "items": TEXT}
    kinds: dict[str, Schema] = {
        "script": object_(
            {"url": {"$ref": "#/$defs/url"}, "expression": text}, ("url", "expression")
        ),
        "get": {"anyOf": [TEXT, object_({"url": text}, ("url",))]},
        "file": object_({"root": text, "path": text, "as": as_}, ("root", "path")),
        "command": object_({"argv": argv, "as": as_}, ("argv",)),
    }
    return {
        "anyOf": [object_({**common, kind: body}, ("id", kind)) for kind, body in kinds.items()]
    }
