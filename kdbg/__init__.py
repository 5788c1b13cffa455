"""kdbg: what really went over the wire between Kafka clients and brokers, decoded and explained.

kdbg.read("capture.pcap", api="fetch", slower_than=100)             -> Reading, which gives exchanges
kdbg.explain("00000017 0003 0001 …")                                -> what the bytes are, piece by piece
kdbg.decode(data, api="metadata", version=12, direction="response") -> Message
kdbg.encode(body, api="metadata", version=12, direction="request")  -> bytes
kdbg.render(exchange, "hex")                                        -> str
kdbg.apis()                                                         -> every API, with its versions
with kdbg.proxy("localhost:9092", faults=["Fetch: delay 1s"]) as p: # clients go to p.address; p.exchanges() tells
with kdbg.mock("session.pcap") as m:                                # clients of m.address are answered from a capture
with kdbg.using_definitions("FooRequest.json", "more/"): ...        # APIs of your own, by Kafka's JSON definitions
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import BuildError, CaptureError, DefinitionError, GrammarError, InputError, KdbgError, WireError
    from .exchanges.messages.message import Message
    from .library import apis, decode, encode, read, read_capture, read_log, using_definitions
    from .live.embedded import mock, proxy
    from .protocol.findings import Finding
    from .views.reading.exchange import Exchange
    from .views.reading.explain import Explanation, explain
    from .views.reading.log import LogEntry
    from .views.reading.reading import Reading
    from .views.render.text import render

__version__ = "0.1.0"
__all__ = [
    "BuildError", "CaptureError", "DefinitionError", "Exchange", "Explanation", "Finding", "GrammarError", "InputError",
    "KdbgError", "LogEntry", "Message", "Reading", "WireError", "apis", "decode", "encode", "explain", "mock", "proxy",
    "read", "read_capture", "read_log", "render", "using_definitions",
]  # fmt: skip
_ERRORS = ("BuildError", "CaptureError", "DefinitionError", "GrammarError", "InputError", "KdbgError", "WireError")
_PLACES = {
    **dict.fromkeys(_ERRORS, "errors"),
    **dict.fromkeys(("mock", "proxy"), "live.embedded"),
    **dict.fromkeys(("apis", "decode", "encode", "read", "read_capture", "read_log", "using_definitions"), "library"),
    "Finding": "protocol.findings",
    "Message": "exchanges.messages.message",
    "Exchange": "views.reading.exchange",
    "Explanation": "views.reading.explain",
    "explain": "views.reading.explain",
    "LogEntry": "views.reading.log",
    "Reading": "views.reading.reading",
    "render": "views.render.text",
}
"""Where the names are that are imported when first used: `kdbg --help` needs none of them."""


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PLACES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
