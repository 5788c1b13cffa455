"""Protobuf schemas that a registry holds as descriptors in base64, as some of Confluent's serializers register them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from ..values.schema import Schema
from ..values.value import Unread


def file_in(schema: Schema) -> Any:
    """Return the descriptor of a file that a schema's text is; None for text that a compiler must read."""
    try:
        data = base64.b64decode(schema.text, validate=True)
    except (binascii.Error, ValueError):
        return None
    if find_spec("google.protobuf") is None:
        return None
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        found = FileDescriptorProto.FromString(data)
    except DecodeError:
        return None
    return found if found.message_type or found.enum_type else None


def linked(schema: Schema, compiled: Callable[[Schema], bytes]) -> bytes:
    """Return a schema that `file_in` reads, and those that it uses, as a serialized FileDescriptorSet, itself last."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    files: dict[str, Any] = {}
    _add(file_in(schema), schema, files, compiled)
    return bytes(FileDescriptorSet(file=files.values()).SerializeToString())


def _add(own: Any, schema: Schema, files: dict[str, Any], compiled: Callable[[Schema], bytes]) -> None:
    """Add a file behind those that it uses."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    for name, used in schema.references:
        found = file_in(used)
        if found is None:
            *others, found = FileDescriptorSet.FromString(compiled(used)).file
            files |= {other.name: other for other in others}
        found.name = name
        _add(found, used, files, compiled)
    for name in own.dependency:
        if name not in files:
            files[name] = _known(name)
    files[own.name] = own


def _known(name: str) -> Any:
    """Return one of the files that come with Protobuf; raise `Unread` for any other."""
    from google.protobuf import descriptor_pool
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    module = name.removesuffix(".proto").replace("/", ".") + "_pb2"
    if name.startswith("google/protobuf/") and find_spec(module) is not None:
        from importlib import import_module

        import_module(module)
        found = FileDescriptorProto()
        descriptor_pool.Default().FindFileByName(name).CopyToProto(found)
        return found
    raise Unread(f"the schema uses {name} without a reference to it")
