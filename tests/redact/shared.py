"""Messages as they are shared: those of a capture, each with the bytes that `redact` puts in their place."""

from __future__ import annotations

import io
from collections.abc import Iterator

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import CapturedMessage
from kdbg.views.redact.fill import Effort
from kdbg.views.redact.message import redact
from kdbg.views.redact.substitutes import Substitutes


def halves(capture: bytes) -> Iterator[CapturedMessage]:
    """Yield the messages of a capture."""
    engine = Engine()
    with open_capture(io.BytesIO(capture)) as opened:
        for exchange in engine.run(opened.blocks()):
            engine.names_then.at(exchange.names)
            yield from (half for half in (exchange.request, exchange.response) if half is not None)


def messages(capture: bytes) -> list[bytes]:
    """Return the bytes of each message, without its size."""
    return [half.data for half in halves(capture)]


def shared(capture: bytes, made: Substitutes | None = None) -> list[bytes]:
    """Return the bytes that are written in place of each message; by default all names are blank."""
    made, effort = made or Substitutes("a seed"), Effort()
    return [redact(half, made, effort).data for half in halves(capture)]
