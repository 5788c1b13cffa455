"""Protobuf, read by the package `protobuf` with the descriptors of a file."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...protocol.findings.amounts import count
from .value import Unread, Value, plain


def protobuf(data: bytes, descriptors: bytes, message: str = "", indexes: tuple[int, ...] = (0,)) -> Value:
    """Read one message, of this name, or else at these indexes of the file.

    Bytes of which the message knows no field are of something else; single fields that it does not know are told of.
    """
    from google.protobuf.json_format import MessageToDict
    from google.protobuf.unknown_fields import UnknownFieldSet

    made = _class(descriptors, message, indexes)()
    name = made.DESCRIPTOR.full_name
    try:
        made.ParseFromString(data)
        unknown = len(UnknownFieldSet(made))
        found = MessageToDict(made, preserving_proto_field_name=True)
    except Exception as error:
        raise Unread(f"{name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}") from None
    if unknown and not made.ListFields():
        raise Unread(f"none of the fields of {name} is set")
    told = f", {count(unknown, 'unknown field')}" if unknown else ""
    return Value("data", plain(found), f"protobuf {name}{told}")


@lru_cache(maxsize=256)
def _class(descriptors: bytes, message: str, indexes: tuple[int, ...]) -> Any:
    """Return the class of a message; raise `Unread` where the file has no such message."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message_factory import GetMessageClass

    pool = DescriptorPool()
    try:
        files = FileDescriptorSet.FromString(descriptors).file
        for file in files:
            pool.Add(file)
        own = pool.FindFileByName(files[-1].name)
    except Exception as error:
        raise Unread(f"invalid descriptors: {str(error).splitlines()[0]}") from None
    if message:
        return GetMessageClass(_by_name(pool, own, message))
    try:
        found = list(own.message_types_by_name.values())[indexes[0]]
        for index in indexes[1:]:
            found = list(found.nested_types)[index]
    except IndexError:
        raise Unread(f"the schema has no message at {list(indexes)}") from None
    return GetMessageClass(found)


def _by_name(pool: Any, own: Any, message: str) -> Any:
    for name in (message, f"{own.package}.{message}"):
        try:
            return pool.FindMessageTypeByName(name)
        except KeyError:
            continue
    known = ", ".join(each.full_name for each in own.message_types_by_name.values())
    raise Unread(f"the schema has no message {message!r}; use {known}")
