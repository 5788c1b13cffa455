"""One connection, both directions: frames in, exchanges out.

A request is registered from its header alone, before its body is looked at. Responses come in the order of the
requests (the guide's "Network"); the correlation id confirms it, and tells which request was never answered where one
is passed over. Either half may be missing from the capture, or come first where the capture is shuffled, so both wait
for each other. After SaslHandshake v0 the frames are raw tokens until a request proves itself again; clients of 0.9
send GSSAPI tokens without any handshake ("SASL Authentication Sequence" in the 0.10.1 guide).
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable
from typing import Any

from ..findings import Finding
from ..grammars import by_key
from ..grammars.sasl import api as SASL_TOKEN
from ..wire.compiled import UNREADABLE, Reader, reader
from ..wire.nodes import WireStruct
from . import requests
from .exchange import Exchange, Half, Peers
from .message import read
from .requests import RequestHeader

PRODUCE, SASL_HANDSHAKE = 0, 17
GSSAPI_FIRST_BYTE = 0x60
MAX_TOKEN = 1 << 20
MAX_WAITING = 10_000
"""Halves that wait for the other one; beyond it the oldest are given up (memory, not protocol)."""
NEXT = 100
"""How far ahead of the newest request a response may be numbered."""
_correlation_id = struct.Struct(">i").unpack_from


class Conversation:
    """Pairs the halves of one connection's exchanges and hands them to `deliver`.

    `whole` says that the capture holds the connection's beginning.
    """

    def __init__(self, peers: Peers, deliver: Callable[[Exchange], None], *, whole: bool) -> None:
        self.peers, self.deliver, self.whole = peers, deliver, whole
        self.waiting: deque[Exchange] = deque()
        self.early: deque[Half] = deque()
        self.findings: list[Finding] = []
        self.latest = 0
        """The correlation id of the newest request."""
        self.tokens = False
        self.mechanism: str | None = None
        self.open = 2
        self.closed: Callable[[Conversation], None] = lambda conversation: None
        """Called once both directions have ended."""

    def emit(self, exchange: Exchange) -> None:
        """Hand over an exchange, with what was odd on the connection since the last one."""
        if self.findings:
            exchange.findings[:0] = self.findings
            self.findings.clear()
        self.deliver(exchange)

    def request(self, header: RequestHeader | None, half: Half) -> None:
        """A request came; None as header: a raw SASL token."""
        if header is None:
            exchange = Exchange(self.peers, SASL_TOKEN, 0, 0, None)
            half.api = SASL_TOKEN
        else:
            self.tokens = False
            self.latest = header.correlation_id
            exchange = Exchange(self.peers, header.api, header.version, header.correlation_id, header.client_id)
            half.api, half.version = header.api, header.version
            exchange.answered = not (header.api.key == PRODUCE and header.known and wants_no_answer(half))
        exchange.request = half
        if half.missing:
            text = f"{half.missing} bytes of the request are not in the capture"
            exchange.findings.append(Finding("truncated", text, "", len(half.data), half.missing))
        if not exchange.answered:
            self.emit(exchange)
        elif not (self.early and self.meet(exchange)):
            self.waiting.append(exchange)
            if len(self.waiting) > MAX_WAITING:
                self.give_up(self.waiting.popleft())

    def meet(self, exchange: Exchange) -> bool:
        """Give a request the response that came before it; responses before that one belong to nothing."""
        for i, half in enumerate(self.early):
            if _correlation_id(half.data)[0] == exchange.correlation_id:
                for _ in range(i):
                    self.orphan(self.early.popleft())
                later, self.early = self.early, deque()
                self.complete(exchange, later.popleft())
                self.early = later
                return True
        return False

    def response(self, half: Half) -> None:
        """A response came."""
        waiting = self.waiting
        if waiting and waiting[0].api is SASL_TOKEN:
            self.complete(waiting.popleft(), half)
            return
        correlation_id = _correlation_id(half.data)[0]
        if waiting and waiting[0].correlation_id == correlation_id:
            self.complete(waiting.popleft(), half)
        elif self.expects(correlation_id):
            while waiting[0].correlation_id != correlation_id:
                self.give_up(waiting.popleft())
            self.complete(waiting.popleft(), half)
        else:
            self.early.append(half)
            if len(self.early) > MAX_WAITING:
                self.orphan(self.early.popleft())

    def expects(self, correlation_id: int) -> bool:
        return any(exchange.correlation_id == correlation_id for exchange in self.waiting)

    def complete(self, exchange: Exchange, half: Half) -> None:
        """Both halves are there."""
        while self.early:  # the responses before this one: had their requests been seen, they would have met
            self.orphan(self.early.popleft())
        exchange.response = half
        half.api, half.version = exchange.api, exchange.version
        if half.missing:
            text = f"{half.missing} bytes of the response are not in the capture"
            exchange.findings.append(Finding("truncated", text, "", len(half.data), half.missing))
        if exchange.api is not None and exchange.api.key == SASL_HANDSHAKE:
            self.handshake(exchange, half)
        self.emit(exchange)

    def handshake(self, exchange: Exchange, half: Half) -> None:
        """After a handshake that went well the next frames are tokens, raw ones for version 0 (KIP-152)."""
        assert exchange.request is not None
        request, answer = exchange.request.message(), half.message()
        self.mechanism = request.body.get("mechanism") if request else None
        if answer is not None and answer.body.get("error_code") == 0 and exchange.version == 0:
            self.tokens = True

    def give_up(self, exchange: Exchange) -> None:
        """A request that no response will come for."""
        exchange.findings.append(Finding("unanswered", "no response was seen"))
        self.emit(exchange)

    def orphan(self, half: Half) -> None:
        """A response that no request was seen for: only its correlation id can be told."""
        exchange = Exchange(self.peers, None, 0, _correlation_id(half.data)[0], None)
        exchange.response = half
        size = len(half.data) - 4
        text = f"its request was not seen; {size} bytes of body cannot be read without it"
        exchange.findings.append(Finding("unasked", text, "body", 4, size))
        self.emit(exchange)

    def end(self) -> None:
        """One direction has ended; once both have, nothing can be waited for."""
        self.open -= 1
        if not self.open:
            self.close()
            self.closed(self)

    def close(self) -> None:
        """No more bytes will come: what waits is handed over as it is."""
        while self.waiting:
            self.give_up(self.waiting.popleft())
        while self.early:
            self.orphan(self.early.popleft())


class RequestSide:
    """framing.Owner of the bytes that the client sent. The token of a frame is its header, None for a SASL token."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    def judge(self, data: bytes, start: int, size: int) -> tuple[bool | None, Any]:
        if self.conversation.tokens:
            return self._judge_token(data, start, size)
        accepted, header = requests.read_header(data, start, size)
        if accepted is False and self.conversation.whole and _gssapi(data, start, size):
            self.conversation.tokens, self.conversation.mechanism = True, "GSSAPI"
            return True, None
        return accepted, header

    def _judge_token(self, data: bytes, start: int, size: int) -> tuple[bool | None, Any]:
        _, header = requests.read_header(data, start, size)
        end = start + size
        if header is not None and header.known and end <= len(data) and requests.leftover(data[start:end], header) >= 0:
            return True, header
        if len(data) < start + size <= start + MAX_TOKEN:
            return None, None
        return 0 <= size <= MAX_TOKEN, None

    def search(self, data: bytes, start: int) -> int | None:
        return requests.search(data, start)

    def prove(self, data: bytes, start: int, end: int) -> bool:
        return requests.prove(data, start, end)

    def leftover(self, frame: bytes, token: Any) -> int:
        return max(requests.leftover(frame, token), 0) if token is not None and token.known else 0

    def frame(self, data: bytes, times: tuple[int, int], packets: tuple[int, int], missing: int, token: Any) -> None:
        self.conversation.request(token, Half(data, times, packets, "request", missing))

    def skipped(self, length: int, time: int, number: int) -> None:
        self.conversation.findings.append(_skipped(length, "client"))

    def lost(self, length: int, time: int, number: int) -> None:
        self.conversation.whole = False
        self.conversation.findings.append(_lost(length, "client", number))

    def end(self) -> None:
        self.conversation.end()


class ResponseSide:
    """framing.Owner of the bytes that the broker sent. Its frames are proved by the requests that wait for them."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation

    def judge(self, data: bytes, start: int, size: int) -> tuple[bool | None, Any]:
        conversation = self.conversation
        waiting = conversation.waiting
        if waiting and waiting[0].api is SASL_TOKEN:
            return 0 <= size <= MAX_TOKEN, None
        if size < 4:
            return False, None
        if len(data) - start < 4:
            return None, None
        correlation_id = _correlation_id(data, start)[0]
        if waiting and waiting[0].correlation_id == correlation_id:
            return True, None
        return conversation.expects(correlation_id) or self._unasked(data, start + size, correlation_id), None

    def _unasked(self, data: bytes, end: int, correlation_id: int) -> bool:
        """Whether a response that nobody waits for may be one all the same.

        It may have been captured before its request: then it is one of the next that clients number (they count up).
        Or its request is not in the capture: then it should end where the bytes at hand do.
        """
        return 0 < correlation_id - self.conversation.latest <= NEXT or end == len(data)

    def search(self, data: bytes, start: int) -> int | None:
        """Where the correlation id of a waiting request stands behind a length that can be."""
        best = None
        for exchange in list(self.conversation.waiting)[:64]:
            if exchange.api is SASL_TOKEN:
                return None
            wanted = struct.pack(">i", exchange.correlation_id)
            place = data.find(wanted, start + 4)
            if place >= 0 and place + 4 <= len(data) and (best is None or place - 4 < best):
                best = place - 4
        return best

    def prove(self, data: bytes, start: int, end: int) -> bool:
        if end - start < 4:
            return False
        correlation_id = _correlation_id(data, start)[0]
        for exchange in self.conversation.waiting:
            if exchange.correlation_id == correlation_id and exchange.api is not None:
                if exchange is self.conversation.waiting[0] and end == len(data):
                    return True
                message = read(exchange.api, exchange.version, "response", data[start:end], shallow=True)
                return not {finding.kind for finding in message.findings} & {"truncated", "bad-length", "bad-value"}
        return False

    def leftover(self, frame: bytes, token: Any) -> int:
        return 0

    def frame(self, data: bytes, times: tuple[int, int], packets: tuple[int, int], missing: int, token: Any) -> None:
        self.conversation.response(Half(data, times, packets, "response", missing))

    def skipped(self, length: int, time: int, number: int) -> None:
        self.conversation.findings.append(_skipped(length, "broker"))

    def lost(self, length: int, time: int, number: int) -> None:
        self.conversation.findings.append(_lost(length, "broker", number))

    def end(self) -> None:
        self.conversation.end()


def _skipped(length: int, sender: str) -> Finding:
    text = f"{length} bytes from the {sender} belong to no frame that could be proved"
    return Finding("skipped", text, "", None, length)


def _lost(length: int, sender: str, number: int) -> Finding:
    text = f"{length} bytes from the {sender} are missing from the capture before packet {number}"
    return Finding("gap", text, "", None, length)


def _gssapi(data: bytes, start: int, size: int) -> bool:
    return len(data) > start and data[start] == GSSAPI_FIRST_BYTE and 0 < size <= MAX_TOKEN


_acks: dict[int, Reader] = {}


def wants_no_answer(half: Half) -> bool:
    """Whether a Produce request says acks=0: read from the fields up to that one, not from the records behind."""
    read_acks = _acks.get(half.version)
    if read_acks is None:
        grammar = by_key(PRODUCE).at("request", half.version)
        names = [field.name for field in grammar.fields]
        read_acks = reader(WireStruct(grammar.fields[: names.index("acks") + 1], None))
        _acks[half.version] = read_acks
    from .message import header_grammar

    try:
        _, start = reader(header_grammar(by_key(PRODUCE), half.version, "request"))(half.data, 0)
        return bool(read_acks(half.data, start)[0]["acks"] == 0)
    except UNREADABLE:
        return False
