"""`--raw`: bytes sent as they are, and what came back, read as the answer to whatever request they begin with."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from ....analysis.pasted.hex_text import read_bytes
from ....errors import InputError
from ....exchanges.engine.requests import RequestHeader, begins
from ....exchanges.guess.pieces import pieces
from ....exchanges.messages.exchange import CapturedMessage, Exchange
from ....exchanges.messages.peers import Peers, endpoint
from ....protocol.findings.amounts import count
from ....views.render import explanation
from ....views.render.times import latency
from ..encode import text
from .screen import Screen

if TYPE_CHECKING:
    from ....live.client import Cluster, Connection

SILENT, GONE = "sent no response", "closed the connection without a response"
UNANSWERED = 1


def given(option: str) -> bytes:
    """Return the bytes of --raw: any form that `kdbg explain` takes, or a file of such text or of the bytes.

    Raise `InputError` where there are none.
    """
    data = read_bytes(text(option)).data
    if not data:
        raise InputError("--raw: no bytes to send")
    return data


class Raw:
    """Sends bytes and waits for one answer."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def __call__(self, cluster: Cluster, screen: Screen) -> None:
        connection = await cluster.connect(await cluster.any())
        begun = time.time_ns()
        sending = connection.write(self.data)
        answer = await connection.read_raw(cluster.settings.timeout)
        sent = (sending.first_time, sending.last_time) if sending is not None else (begun, begun)
        took = (connection.came[0] if answer else time.time_ns()) - sent[1]
        header = begins(self.data)
        if header is not None and answers(answer, header):
            screen.show(exchange(connection, self.data, answer, header, sent))
        else:
            screen.writer.write(explain("sent", self.data, screen))
            screen.writer.write(explain("received", answer, screen) if answer else "")
        self.close(connection, answer, screen, took)

    def close(self, connection: Connection, answer: bytes, screen: Screen, took: int) -> None:
        """Print the closing line, and set the exit status; `took` is in nanoseconds."""
        broker = endpoint(connection.broker)
        if answer:
            short = len(answer) < 4 or len(answer) - 4 < int.from_bytes(answer[:4], "big", signed=True)
            whole = " (fewer than the size field declares)" if short else ""
            screen.say(f"broker {broker} responded with {count(len(answer), 'byte')}{whole} after {latency(took)}")
        else:
            screen.say(f"broker {broker} {GONE if connection.ended else SILENT} ({latency(took)})")
        screen.status = 0 if answer else UNANSWERED


def answers(data: bytes, header: RequestHeader) -> bool:
    """Return whether these bytes answer a request: one whole frame with its correlation id, or nothing at all."""
    if not data:
        return True
    size, number = (int.from_bytes(data[start : start + 4], "big", signed=True) for start in (0, 4))
    return len(data) >= 8 and len(data) == size + 4 and number == header.correlation_id


def exchange(
    connection: Connection, data: bytes, answer: bytes, header: RequestHeader, sent: tuple[int, int]
) -> Exchange:
    """Return request and answer as an exchange; `sent` is when the request's first and last byte left."""
    peers = Peers(1, connection.client, connection.broker)
    found = Exchange(peers, header.api, header.version, header.correlation_id, header.client_id)
    found.number = 1
    found.request = CapturedMessage(data[4:], sent, (0, 0), "request")
    if answer:
        found.response = CapturedMessage(answer[4:], connection.came, (0, 0), "response")
    for half in (found.request, found.response):
        if half is not None:
            half.api, half.version = header.api, header.version
    return found


def explain(what: str, data: bytes, screen: Screen) -> str:
    """Return an explanation of bytes that are no request, or that answer none, below the heading `what`."""
    texts = [explanation.hex_text(data, piece, screen.look)[0] for piece in pieces(data)]
    return "\n".join([screen.look.paint("heading", f"{what} · {count(len(data), 'byte')}"), *texts, ""])
