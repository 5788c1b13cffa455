"""The state of a reading before the end of a capture, as an index keeps it: a reading of more goes on there.

It contains no bytes of messages, but their places in the capture. Nothing is made of it but objects of the classes that
are listed here, which open nothing.
"""

from __future__ import annotations

import io
import os
import pickle
import re
import zlib
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from ...capture.keylog import KeyLog
from ...exchanges.engine.classifier import HeldSide
from ...exchanges.engine.direction import NO_FRAME
from ...exchanges.engine.directions import NO_CLIENT
from ...exchanges.engine.framing import Framer
from ...exchanges.engine.requests import Prefix
from ...exchanges.messages.exchange import CapturedMessage
from ...exchanges.messages.serialization import api_of
from ...protocol.wire import Api
from ...streams.tcp.connection import Connection
from ...streams.tcp.stream import EarlyBytes
from .layout import Unfit

UNIQUE = NO_FRAME, NO_CLIENT
"""Objects that others are compared with by identity."""
MODULES = re.compile(
    r"kdbg\.(budget|exchanges\.(engine|messages)\.(?!serialization)\w+|protocol\.findings(\.\w+)?|streams\.tcp\.\w+)"
)
"""All their classes may be made. serialization.py reads pickles."""
OTHERS = {
    ("collections", "OrderedDict"), ("collections", "deque"), ("functools", "partial"), ("uuid", "UUID"),
    ("kdbg.capture.pcapng", "Interface"), ("kdbg.protocol.wire.readings.outline", "NamesThen"),
    ("kdbg.exchanges.messages.serialization", "api_of"), ("kdbg.exchanges.engine.engine", "watch_nothing"),
    ("kdbg.exchanges.engine.pairing", "_ignore"), (__name__, "method"),
}  # fmt: skip
METHODS = {"_accept", "_add_finding", "_kafka_found", "_reject", "_tls_found", "add", "retry"}
"""Methods that receivers, classifiers and conversations call."""
SHORT = 36
"""Bytes of the ends of a connection over IPv6; digests and keys have fewer."""
MOST_CONNECTIONS = 4096
"""Connections whose state is kept, at most."""


State = dict[str, Any]
"""The `engine`, how many of its findings were `taken`, the `position` of the capture, how many bytes were `read`, and
`before` and `starts` of `Places`."""
Find = Callable[[Any, int, int], list[tuple[int, int]]]
"""Returns the places of bytes of which the first and the last packet are known, or raises `Unfit`."""


def dump(state: State, find: Find) -> bytes:
    """Return a state as bytes; raise `Unfit` where that is not possible without bytes of messages."""
    if state["engine"].table.size > MOST_CONNECTIONS:
        raise Unfit("too many connections")
    kept = io.BytesIO()
    try:
        _Pickler(kept, find).dump(state)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Unfit(str(error)) from error
    return zlib.compress(kept.getvalue(), 1)


def load(data: bytes, capture: int, keys: KeyLog) -> State:
    """Return the state, given the descriptor of the capture and the secrets of TLS; raise `Unfit` for other bytes."""
    try:
        state: State = _Unpickler(zlib.decompress(data), capture, keys).load()
        return {name: state[name] for name in ("engine", "taken", "position", "read", "before", "starts")}
    except (pickle.UnpicklingError, zlib.error, AttributeError, EOFError, ImportError, LookupError, MemoryError,
            OSError, OverflowError, RecursionError, TypeError, ValueError) as error:  # fmt: skip
        raise Unfit("the state in the index cannot be used") from error


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, find: Find) -> None:
        super().__init__(file, 5)
        self._find, self._places = find, dict[int, list[tuple[int, int]] | None]()

    def persistent_id(self, obj: Any) -> tuple[str, Any] | None:
        kind = obj.__class__
        if kind in (bytes, bytearray):
            places = self._places.get(id(obj), ())
            if places:
                return kind.__name__, places
            if places is not None and len(obj) > SHORT:
                raise Unfit("bytes of unknown origin")
        elif kind is KeyLog and not obj:
            return "keys", None
        return next((("unique", place) for place, one in enumerate(UNIQUE) if one is obj), None)

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, MethodType):
            return method, (obj.__self__, obj.__name__)
        if isinstance(obj, type | FunctionType) and not _may_be_made(obj.__module__, obj.__qualname__):
            raise Unfit(f"a {obj.__qualname__}")
        if isinstance(obj, Api):
            return api_of, (obj.key,)
        if isinstance(obj, CapturedMessage | Framer | HeldSide):
            made: Any = obj.__reduce_ex__(5)
            slots = made[2][1]
            return *made[:2], (None, slots | self._of_messages(obj, slots))
        if isinstance(obj, EarlyBytes):
            self._note(obj.payload, obj.number, obj.number)
        elif isinstance(obj, Connection):
            for number, *_, payload, _ in (*obj.early, *([obj.again] if obj.again is not None else [])):
                self._note(payload, number, number)
        elif isinstance(obj, Prefix):
            self._places[id(obj.same)] = None
        return NotImplemented

    def _of_messages(self, obj: CapturedMessage | Framer | HeldSide, slots: dict[str, Any]) -> dict[str, Any]:
        """Note the places of the bytes of messages in an object with these slots; return slots with other values."""
        if isinstance(obj, CapturedMessage):
            self._note(obj.data, obj.first_packet, obj.last_packet)
            return {"_message": None}
        if isinstance(obj, HeldSide):
            events = slots["_events"]
            for data, _, number in events:
                if isinstance(data, bytes):
                    self._note(data, number, number)
            for data in (obj.run, obj.first):
                self._note(data, *((events[0][2], events[-1][2]) if events else (0, 0)))
            return {}
        if data := slots["_data"]:
            self._note(data, *slots["_lazy_times"].of(0, len(data))[1])
        return {} if obj.passed else {"_beginning": b""}

    def _note(self, data: Any, first: int, last: int) -> None:
        if data:
            self._places[id(data)] = self._find(data, first, last)


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, capture: int, keys: KeyLog) -> None:
        super().__init__(io.BytesIO(data))
        self._capture, self._keys = capture, keys

    def persistent_load(self, pid: Any) -> Any:
        kind, value = pid
        if kind in ("unique", "keys"):
            return UNIQUE[value] if kind == "unique" else self._keys
        data = b"".join([os.pread(self._capture, size, place) for place, size in value])
        if len(data) != sum(size for _, size in value):
            raise EOFError
        return bytearray(data) if kind == "bytearray" else data

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if _may_be_made(module, name) else None
        if not isinstance(found, type | FunctionType) or found.__module__ != module:
            raise pickle.UnpicklingError(name)
        return found


def _may_be_made(module: str, name: str) -> bool:
    """Return whether a class or a function is one of those that a state is made of."""
    return (module, name) in OTHERS or bool(MODULES.fullmatch(module) and re.fullmatch("_?[A-Z]\\w*", name))


def method(obj: Any, name: str) -> Any:
    """Return a method of an object that is listed in `METHODS`."""
    if name not in METHODS or not MODULES.fullmatch(type(obj).__module__):
        raise pickle.UnpicklingError(name)
    return getattr(obj, name)
