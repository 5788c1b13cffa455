"""The options that say how keys and values of records are read: by which reader, with which schemas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ...errors import InputError
from .completion import value_readers
from .options import all_of, read_text

if TYPE_CHECKING:
    from ...payloads.schemas.sources import ForTopic, Ids
    from ...payloads.values.chosen import Choice, ReadBytes
    from ...payloads.values.value import Part

READ_IN = ("tree", "hex")
"""The views that show keys and values as readers read them."""
NAMES = ("value", "key_as", "schema", "registry", "registry_config")


reader_options: Final = all_of(
    click.option("--value", "--value-as", "value", multiple=True, metavar="[TOPIC=]READER",
                 shell_complete=value_readers, help="Deserialize values: string, json, hex, base64, msgpack, "
                                                    "avro, protobuf[:MESSAGE], json-schema, int64 and more."),
    click.option("--key-as", multiple=True, metavar="[TOPIC=]READER", shell_complete=value_readers,
                 help="Deserialize keys; the formats are those of --value."),
    click.option("--schema", multiple=True, metavar="[TOPIC=]FILE[:MESSAGE]",
                 help="Use this schema for a topic's values, with TOPIC-key for its keys: .avsc, .proto, .desc "
                      "or .json."),
    click.option("--registry", metavar="URL|DIR", help="Read schemas from a Schema Registry, or from a folder "
                                                       "with saved registry responses."),
    click.option("--registry-config", metavar="FILE", help="Read Schema Registry client properties, such as "
                                                           "basic.auth.user.info, from this file."),
)  # fmt: skip


def take_readers(options: dict[str, Any]) -> ReadBytes | None:
    """Take the readers out of what a command was given; None where none was.

    Raises `InputError` for what is no reader, for a schema that cannot be read, and where a package is missing.
    """
    given = {name: options.pop(name) for name in NAMES}
    if not any(given.values()):
        return None
    from ...payloads.schemas.sources import TopicSchemas
    from ...payloads.values.chosen import ReaderChoice

    choices = [choice("value", text) for text in given["value"]] + [choice("key", text) for text in given["key_as"]]
    schemas = [schema for text in given["schema"] for schema in for_topics(text)]
    found = TopicSchemas(schemas, registry(given["registry"], given["registry_config"]))
    check(choices, found)
    return ReaderChoice(choices, found)


def take_view_readers(options: dict[str, Any], format: str, others: str = "") -> ReadBytes | None:
    """Take them for a view; raise `UsageError`, which names `others` too, where it does not show keys and values."""
    read = take_readers(options)
    if read is not None and format not in READ_IN:
        raise click.UsageError(
            f"values cannot be deserialized with --format {format}; use {others}--format tree or hex"
        )
    return read


def choice(part: Part, text: str) -> Choice:
    """Return what `[TOPIC=]READER[:MESSAGE]` asks for."""
    from ...payloads.values.chosen import Choice
    from ...payloads.values.table import READERS

    topics, _, named = text.rpartition("=")
    name, _, message = named.partition(":")
    if name not in READERS or (message and name != "protobuf"):
        import difflib

        near = difflib.get_close_matches(name, READERS, n=1)
        hint = f"did you mean {near[0]}?" if near and name not in READERS else f"use one of {', '.join(READERS)}"
        raise InputError(f"unknown format {named!r}; {hint}")
    if READERS[name].missing:
        raise InputError(f"{name} {READERS[name].missing}")
    return Choice(part, name, topics or "*", message)


def for_topics(text: str) -> Iterator[ForTopic]:
    """Yield whose schema `[TOPIC=]FILE[:MESSAGE]` is; a topic that ends in -key or -value is named as a subject is."""
    from ...payloads.schemas.sources import ForTopic, schema_in
    from ...payloads.values.table import BY_TYPE, READERS

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
        from ...live.client.schema_registry import SchemaRegistry
        from ...live.client.settings import parse

        return SchemaRegistry(place, dict(parse(read_text(config))) if config is not None else {})
    from ...payloads.schemas.sources import SchemaDump

    if not Path(place).exists():
        raise InputError(f"{place}: not a file, folder or URL")
    return SchemaDump(Path(place))


def check(choices: list[Choice], schemas: Any) -> None:
    """Raise `InputError` for a reader that needs a schema where neither a schema nor a registry was named."""
    from ...payloads.values.table import READERS

    for one in choices:
        if READERS[one.reader].schema and not schemas.topics and not schemas.has_ids:
            raise InputError(f"{one.reader} needs a schema; use --schema TOPIC=FILE, or --registry URL|DIR")
