"""JSON that follows a JSON Schema, proved by the package `jsonschema`; nothing is fetched for a `$ref`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import orjson

from .framing import Schema
from .simple import json
from .value import Unread, Value

LONGEST = 160


def json_schema(data: bytes, schema: Schema) -> Value:
    """Read JSON; where it does not follow the schema, what is wrong with it is told beside."""
    name, validator = _validator(schema)
    value = json(data)
    try:
        from jsonschema.exceptions import best_match

        wrong = best_match(validator.iter_errors(value.data))
    except Exception as error:  # a reference that leads nowhere, a pattern that is none
        return value._replace(about=name, problem=f"the schema cannot be applied: {str(error)[:LONGEST]}")
    if wrong is None:
        return value._replace(about=name)
    said = wrong.message if len(wrong.message) <= LONGEST else f"{wrong.message[:LONGEST]}…"
    return value._replace(about=name, problem=f"does not match the schema: {wrong.json_path}: {said}")


@lru_cache(maxsize=256)
def _validator(schema: Schema) -> tuple[str, Any]:
    from jsonschema.validators import Draft7Validator, validator_for
    from referencing import Registry, Resource
    from referencing.jsonschema import DRAFT7

    try:
        said = orjson.loads(schema.text)
        kind = validator_for(said, default=Draft7Validator)
        kind.check_schema(said)
        used: Registry[Any] = Registry()
        for name, contents in _used(schema):
            used = used.with_resource(name, Resource.from_contents(contents, default_specification=DRAFT7))
        made = kind(said, registry=used)
    except Exception as error:
        raise Unread(f"invalid JSON Schema: {str(error).splitlines()[0][:LONGEST]}") from None
    title = said.get("title") if isinstance(said, dict) else None
    return f"json-schema {title}" if isinstance(title, str) else "json-schema", made


def _used(schema: Schema) -> list[tuple[str, Any]]:
    found = []
    for reference in schema.references:
        found += [(reference.name, orjson.loads(reference.schema.text)), *_used(reference.schema)]
    return found
