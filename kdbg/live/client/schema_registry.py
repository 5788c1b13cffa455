"""A Schema Registry that is asked over the network, by the client of `confluent-kafka`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

from ...errors import InputError
from ...extras import install
from ...payloads.values.value import Reference, Schema, SchemaId, Unread

SECONDS = 10
NEEDED = ("confluent_kafka", "authlib", "cachetools", "attrs")
"""What the client imports; the last three come with confluent-kafka's extra `schemaregistry`."""
DEEPEST = 32


class SchemaRegistry:
    """Asks a registry for schemas. `settings` are those of the client: `basic.auth.user.info`, `ssl.ca.location`, …

    A task of Spark gets it as URL and settings; all tasks of a process share one client. Raises `InputError` for
    settings that the client refuses, or where it is not installed.
    """

    def __init__(self, url: str, settings: Mapping[str, str] | None = None) -> None:
        if any(find_spec(name) is None for name in NEEDED):
            raise InputError(f"--registry needs the package confluent-kafka; {install('schemas')}")
        self._made_of = url, tuple((settings or {}).items())
        self._broken = ""
        try:
            client_of(os.getpid(), *self._made_of)
        except (ValueError, TypeError, OSError) as error:
            raise InputError(f"the Schema Registry client rejects the settings: {error}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return of_worker, self._made_of

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema with this id or GUID; one that cannot be reached is not asked again."""
        if self._broken:
            raise Unread(self._broken)
        from confluent_kafka.schema_registry import SchemaRegistryError

        client = client_of(os.getpid(), *self._made_of)
        try:
            asked = client.get_schema(schema_id) if isinstance(schema_id, int) \
                else client.get_schema_by_guid(str(schema_id))  # fmt: skip
            return self._made(client, asked, DEEPEST)
        except SchemaRegistryError as error:
            raise Unread(f"the Schema Registry returned an error: {error.error_message}") from None
        except Unread:
            raise
        except Exception as error:  # whatever the client's HTTP library raises
            reason = (str(error) or repr(error)).splitlines()[0]
            self._broken = f"the Schema Registry is not available: {reason}"
            raise Unread(self._broken) from None

    def _made(self, client: Any, schema: Any, depth: int) -> Schema:
        if not depth:
            raise Unread("the references between the schemas form a cycle")
        used = [
            Reference(each.name, self._made(client, client.get_version(each.subject, each.version).schema, depth - 1))
            for each in schema.references or ()
        ]
        return Schema(schema.schema_type or "AVRO", schema.schema_str, tuple(used))


@cache
def client_of(process: int, url: str, settings: tuple[tuple[str, str], ...]) -> Any:
    """Return the client of one process: a copy of it would get responses that are for the other."""
    from confluent_kafka.schema_registry import SchemaRegistryClient

    return SchemaRegistryClient({"timeout": SECONDS, "max.retries": 1, **dict(settings), "url": url})


@cache
def of_worker(url: str, settings: tuple[tuple[str, str], ...]) -> SchemaRegistry:
    """Return the registry that all tasks of this process ask."""
    return SchemaRegistry(url, dict(settings))
