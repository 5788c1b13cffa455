"""MessagePack, read by the package `msgpack`."""

from __future__ import annotations

from typing import Any

from ...protocol.findings.amounts import count
from .value import Unread, Value, key_text, plain


def msgpack(data: bytes) -> Value:
    """Read one value, to the last byte."""
    import msgpack as library

    try:
        found = library.unpackb(data, timestamp=3, strict_map_key=False, unicode_errors="surrogateescape")
    except library.ExtraData as extra:
        raise Unread(count(len(extra.extra), "trailing byte")) from None
    except Exception as error:
        raise Unread(str(error) or type(error).__name__) from None
    return Value("data", _plain(found, library.ExtType))


def _plain(value: Any, extension: type) -> Any:
    if isinstance(value, extension):
        return {"extension": value.code, **plain(value.data)}  # type: ignore[attr-defined]
    if isinstance(value, dict):
        return {key_text(key): _plain(each, extension) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each, extension) for each in value]
    return plain(value)
