"""Generates the client's models, client/milestoned_client/models.py, from the OpenAPI document.

`make docs` writes them, and `make check` refuses them where the document says something else
(`python tools/client_models.py --check`). What a model has beside the fields of the wire is
declared in client/milestoned_client/model_bases.py.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from api.app import create_app  # noqa: E402
from api.core.settings import Settings  # noqa: E402

TARGET = "client/milestoned_client/models.py"
HEAD = '''\
"""What the wire carries, as frozen dataclasses; numbers and names are those of the wire. Generated
by `make docs` from the OpenAPI document; edit the descriptions in api/http.

Fields that a newer service adds are ignored, so an older client goes on working.
"""
'''
MODELS: dict[str, tuple[str, ...]] = {
    "Registered": ("TaskShape",),
    "Opened": ("OpenedShape",),
    "Lease": ("LeaseShape",),
    "EpisodeStatus": ("EpisodeShape",),
    "SourceReadiness": ("SightShape",),
    "Readiness": ("ReadyShape",),
    "Noted": ("NotedShape",),
    "Milestone": ("MilestoneShape",),
    "Verdict": ("VerdictShape",),
    "SiblingCredit": ("SiblingCreditShape",),
    "StepShaping": ("ShapingShape",),
    "Reward": ("RewardShape", "CreditedShape"),
    "Advanced": ("AdvancedShape",),
    "Sealed": ("SealedShape",),
    "Closing": ("ClosedShape",),
    "Event": ("EventShape",),
    "Transition": ("TransitionShape",),
    "Sample": ("SampleShape",),
    "Score": ("SampleScore",),
    "ListedEpisode": ("ListedEpisodeShape",),
    "EpisodePage": ("EpisodesShape",),
    "DrawnEpisodes": ("EpisodeSampleShape",),
    "TierScore": ("TierResult",),
    "Tie": ("TieResult",),
    "GroupMember": ("MemberResult",),
    "Group": ("GroupResult",),
    "TaskProgress": ("TaskProgressShape",),
    "CurriculumPage": ("CurriculumShape",),
    "PreferenceLines": ("PreferencesShape",),
    "Hint": ("HintShape",),
    "Hints": ("HintsShape",),
    "StepBlame": ("StepBlameShape",),
    "FirstFailure": ("FirstFailureShape",),
    "Blame": ("BlameShape",),
    "StartFinding": ("StartFindingShape",),
    "StartState": ("StartShape",),
}
"""For each model the schemas that it holds objects of. Of several it has all fields; those that
not all of them require are optional."""
AS_MAPPINGS = ("PlanShape", "Where")
"""Schemas whose objects the client hands on as they came."""
BASES = {
    "Noted": "NotedBase",
    "Advanced": "NotedBase",
    "Reward": "RewardBase",
    "Sample": "SampleBase",
}
"""Models with a base class in milestoned_client/model_bases.py."""
CHOICES = {
    "CreditTo": ("/v1/rewards:query", "credit_to"),
    "Fold": ("/v1/score", "fold"),
    "Pick": ("/v1/episodes:sample", "pick"),
    "Basis": ("/v1/groups:score", "advantages"),
    "Scale": ("/v1/groups:score", "scale"),
    "MaskCause": ("/v1/score", "mask_causes"),
}
"""Names for the values of a member of a POST's body, or of its items, by the route's path and the
member."""
STATUS = ("Reward", "status")
"""The field whose values are named `Status`."""
JSON_TYPES = ("Json", "JsonObject")
"""Types of milestoned_client/json_values.py, for what may be any JSON."""
OPTIONS = [
    *("--input-file-type", "openapi", "--output-model-type", "dataclasses.dataclass"),
    *("--target-python-version", "3.11", "--formatters", "builtin", "--disable-timestamp"),
    *("--dataclass-arguments", json.dumps({"frozen": True, "slots": True})),
    *("--use-schema-description", "--use-field-description", "--use-inline-field-description"),
    *("--use-single-line-docstring", "--use-standard-collections", "--use-generic-container-types"),
    *("--use-union-operator", "--use-type-alias", "--enum-field-as-literal", "all"),
]

Schema = dict[str, Any]
"""A JSON Schema, or a document of them, which has no type of its own."""


def client_models() -> bytes:
    """Return the text of the client's module of models, formatted as ruff formats it."""
    return generate_models(model_schemas(openapi_document()))


def openapi_document() -> Schema:
    """Return the service's OpenAPI document, without starting a service."""
    # The folder is not made: the application opens its database when it starts, which it does not.
    return create_app(Settings(data=Path("no-such-folder"))).openapi()


def model_schemas(document: Schema) -> dict[str, Schema]:
    """Return the schemas of `MODELS` and `CHOICES` by their names in the client.

    Raises `KeyError` where ``document`` has no such schema.
    """
    given = document["components"]["schemas"]
    names = {shape: name for name, shapes in MODELS.items() for shape in shapes}
    names |= dict.fromkeys(AS_MAPPINGS, "JsonObject")
    schemas: dict[str, Schema] = {}
    for name, (path, member) in CHOICES.items():
        schemas[name] = _choice(given, document["paths"][path]["post"], member)
    for name, shapes in MODELS.items():
        schemas[name] = name_references(merge_shapes([given[shape] for shape in shapes]), names)
    status = schemas[STATUS[0]]["properties"][STATUS[1]]
    schemas["Status"] = {"type": "string", "enum": status["enum"]}
    schemas[STATUS[0]]["properties"][STATUS[1]] = {
        "$ref": "#/components/schemas/Status",
        "description": status["description"],
    }
    return schemas


def _choice(given: Mapping[str, Schema], operation: Schema, member: str) -> Schema:
    body = operation["requestBody"]["content"]["application/json"]["schema"]
    if "$ref" in body:
        body = given[body["$ref"].rpartition("/")[2]]
    choice = body["properties"][member]
    return {
        key: value
        for key, value in choice.get("items", choice).items()
        if key in ("type", "enum", "description")
    }


def merge_shapes(shapes: list[Schema]) -> Schema:
    """Merge the schemas of objects: all fields, of which those are required that all require."""
    merged: Schema = {**shapes[0], "properties": {}}
    for shape in shapes:
        merged["properties"] |= shape["properties"]
    merged["required"] = [
        name
        for name in merged["properties"]
        if all(name in shape.get("required", ()) for shape in shapes)
    ]
    return merged


def name_references(node: Any, names: Mapping[str, str]) -> Any:
    """Return a schema with references by ``names``, and references to `Json` for what may be any
    JSON."""
    if isinstance(node, list):
        return [name_references(part, names) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        shape = node["$ref"].rpartition("/")[2]
        return {**node, "$ref": f"#/components/schemas/{names[shape]}"}
    if node.get("additionalProperties") is True and node.get("type") == "object":
        return _described(node, "JsonObject")
    if not node.keys() - {"title", "description", "default"}:
        return _described(node, "Json")
    members = {
        name: name_references(part, names) for name, part in node.get("properties", {}).items()
    }
    rest = {key: name_references(part, names) for key, part in node.items() if key != "properties"}
    return {**rest, "properties": members} if members else rest


def _described(node: Schema, target: str) -> Schema:
    kept = {key: value for key, value in node.items() if key in ("title", "description")}
    return {"$ref": f"#/components/schemas/{target}", **kept}


def generate_models(schemas: Mapping[str, Schema]) -> bytes:
    """Return a module of frozen dataclasses, one for each of ``schemas``."""
    document = {
        "openapi": "3.1.0",
        "info": {"title": "milestoned", "version": "1"},
        "paths": {},
        "components": {"schemas": {**{name: {} for name in JSON_TYPES}, **schemas}},
    }
    package = "milestoned_client"
    overrides = {name: f"{package}.json_values.{name}" for name in JSON_TYPES}
    bases = {name: f"{package}.model_bases.{base}" for name, base in BASES.items()}
    options = ["--type-overrides", json.dumps(overrides), "--base-class-map", json.dumps(bases)]
    text = _run(["datamodel_code_generator", *OPTIONS, *options], json.dumps(document))
    text = HEAD + text[text.index("\nfrom __future__") :]
    text = re.sub(r'"""\n    (.+?)\n    """', r'"""\1"""', text, flags=re.DOTALL)
    text = re.sub(r"\b[Nn]ull\b", "None", text)
    text = re.sub(r"Sequence\[(.+)\] \| None = None", r"tuple[\1, ...] = ()", text)
    text = re.sub(r"Sequence\[(.+)\]", r"tuple[\1, ...]", text)
    for command in (["check", "--fix", "--quiet", "--select", "I,F401"], ["format", "--quiet"]):
        text = _run(["ruff", *command, "--stdin-filename", TARGET, "-"], text)
    return text.encode()


def _run(module: list[str], text: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", *module],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout


def main() -> int:
    """Write the models, or with `--check` exit with 1 where they are out of date."""
    made = client_models()
    target = ROOT / TARGET
    if target.exists() and target.read_bytes() == made:
        return 0
    check = "--check" in sys.argv[1:]
    if not check:
        target.write_bytes(made)
    print(f"{TARGET}: {'out of date; run `make docs`' if check else 'written'}")
    return 1 if check else 0


if __name__ == "__main__":
    sys.exit(main())
