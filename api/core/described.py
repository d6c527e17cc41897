"""Models whose fields are described by the texts below them.

Pydantic's own `use_attribute_docstrings` looks for a class's source when the class is made: for a
hundred classes half a second of each start, for a document that few processes are asked for.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


class Described(BaseModel):
    """A model whose JSON Schema has, as the description of a field, the text below the field."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add each field's docstring to the schema as its description."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, description in _descriptions(cls).items():
            key = cls.model_fields[name].alias or name
            properties[key].setdefault("description", description)
        return schema


def _descriptions(model: type[BaseModel]) -> Mapping[str, str]:
    """The texts below the fields of a model and of those that it is derived from, by field."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, Described):
            found |= _texts_below_fields(base.__module__).get(base.__qualname__, {})
    return found


@cache
def _texts_below_fields(module: str) -> Mapping[str, Mapping[str, str]]:
    """The texts below the fields of each class of a module, by the class's name."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {
        node.name: {
            field.target.id: inspect.cleandoc(text.value.value)
            for field, text in pairwise(node.body)
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        }
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
