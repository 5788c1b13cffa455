"""Readers of keys and values as options name them: by which reader, with the schemas of files or of a registry."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...payloads.schemas import ForTopic, Ids, SchemaDump, TopicSchemas, schema_in
from ...payloads.values.chosen import Choice, ReadBytes, ReaderChoice
from ...payloads.values.readers import BY_TYPE, READERS
from ...payloads.values.value import Part


def readers_of(given: Mapping[str, Any]) -> ReadBytes:
    """Return what `value`, `key_as`, `schema`, `registry` and `registry_config` ask for; raise `InputError`."""
    choices = [choice("value", text) for text in given["value"]] + [choice("key", text) for text in given["key_as"]]
    schemas = [schema for text in given["schema"] for schema in for_topics(text)]
    found = TopicSchemas(schemas, registry(given["registry"], given["registry_config"]))
    for one in choices:
        if READERS[one.reader].schema and not found.topics and not found.has_ids:
            raise InputError(f"{one.reader} needs a schema; use --schema TOPIC=FILE, or --registry URL|DIR")
    return ReaderChoice(choices, found)


def choice(part: Part, text: str) -> Choice:
    """Return what `[TOPIC=]READER[:MESSAGE]` asks for."""
    topics, _, named = text.rpartition("=")
    name, _, message = named.partition(":")
    if name not in READERS or (message and name != "protobuf"):
        near = difflib.get_close_matches(name, READERS, n=1)
        hint = f"did you mean {near[0]}?" if near and name not in READERS else f"use one of {', '.join(READERS)}"
        raise InputError(f"unknown format {named!r}; {hint}")
    if READERS[name].missing:
        raise InputError(f"{name} {READERS[name].missing}")
    return Choice(part, name, topics or "*", message)


def for_topics(text: str) -> Iterator[ForTopic]:
    """Yield whose schema `[TOPIC=]FILE[:MESSAGE]` is; a topic that ends in -key or -value is named as a subject is."""
    topic, file = ("", text) if Path(text).exists() else text.split("=", 1) if "=" in text else ("", text)
    message = ""
    if not Path(file).exists() and ":" in file:
        file, _, message = file.rpartition(":")
    schema = schema_in(Path(file), message)
    name = BY_TYPE[schema.type]
    if READERS[name].missing:
        raise InputError(f"{name} {READERS[name].missing}")
    part: Part = "key" if topic.endswith("-key") else "value"
    yield ForTopic(topic.removesuffix(f"-{part}") or "*", part, schema)
    if topic.endswith(f"-{part}"):
        yield ForTopic(topic, "value", schema)  # it may be the topic's own name


def registry(place: str | None, config: str | None) -> Ids | None:
    """Return the registry at a URL, or in files; None where none was named."""
    if place is None:
        if config is not None:
            raise InputError("--registry-config requires --registry URL")
        return None
    if "://" in place:
        from .schema_registry import SchemaRegistry
        from .settings import parse, read_text

        return SchemaRegistry(place, dict(parse(read_text(config))) if config is not None else {})
    if not Path(place).exists():
        raise InputError(f"{place}: not a file, folder or URL")
    return SchemaDump(Path(place))
