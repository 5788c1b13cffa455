"""kdbg: what really went over the wire between Kafka clients and brokers, decoded and explained.

kdbg.decode(data, api="metadata", version=12, direction="response") -> Message
kdbg.encode(body, api="metadata", version=12, direction="request")  -> bytes
kdbg.read("capture.pcap")                                           -> Iterator[Exchange]
with kdbg.using_definitions("FooRequest.json", "more/"): ...        # APIs of your own, by Kafka's JSON definitions
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import BuildError, CaptureError, DefinitionError, GrammarError, KdbgError, WireError

if TYPE_CHECKING:
    from .library import decode, encode, read, using_definitions
    from .messages.exchange import Exchange
    from .messages.message import Message

__version__ = "0.1.0"
__all__ = [
    "BuildError", "CaptureError", "DefinitionError", "Exchange", "GrammarError", "KdbgError", "Message", "WireError",
    "decode", "encode", "read", "using_definitions",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """The library's functions, imported when first used: `kdbg --help` needs none of them."""
    if name in ("decode", "encode", "read", "using_definitions"):
        from . import library

        return getattr(library, name)
    if name == "Exchange":
        from .messages.exchange import Exchange

        return Exchange
    if name == "Message":
        from .messages.message import Message

        return Message
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
