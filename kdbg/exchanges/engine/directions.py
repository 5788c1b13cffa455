"""The two ends of a conversation: what a request and a response look like where they are expected.

A request names its API, and its client names itself the same in all of them. A response is told by the request that
waits for it; one that nobody waits for is believed when what follows it is a response too.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import Any, Final

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ...protocol.wire.language import Direction
from ..messages.exchange import CapturedMessage, Exchange
from . import requests
from .direction import FramedDirection
from .foreign import looks_like
from .identify import AHEAD, FAR, FEW, beyond, find, fits_any, pattern, steps
from .pairing import Pairing, too_large
from .requests import RequestHeader, extent, fits, may_fit
from .search import MAX_FRAME, WEAK_FRAME, Buffer, size_at

MAX_TOKEN = 1 << 20
_correlation_id = struct.Struct(">i").unpack_from
_size_and_id = struct.Struct(">i4xi").unpack_from
_size_and_correlation_id = struct.Struct(">ii").unpack_from
NO_CLIENT: Final = object()
"""The client id before the first request."""
SMALL_FRAME: Final = re.compile(rb"\x00[\x00-\x0f]..[\x00-\x7f]", re.DOTALL)
"""What a response may begin with of which nothing is known: a size of up to 1 MB, a correlation id."""


class RequestSide(requests.AnyRequest, FramedDirection):
    """Owner of the bytes that the client sent. The token of a frame is its header, None for a SASL token.

    `retry` is called after a request that the other side waits to see, before it can decide. `client_id` is that of
    the last request, "" for null, which are the same to Kafka.
    """

    __slots__ = ("_retry", "client_id")
    direction: Direction = "request"
    last: CapturedMessage

    def __init__(self, pairing: Pairing, retry: Callable[[], None], *, midstream: bool = False) -> None:
        super().__init__(pairing, midstream=midstream)
        self.client_id: Any = NO_CLIENT
        self._retry = retry

    def judge(self, data: Buffer, start: int, size: int) -> tuple[bool | None, RequestHeader | None]:
        if self.pairing.tokens:
            return self._judge_token(data, start, size)
        accepted, header = requests.read_header(data, start, size)
        if header is not None:
            if (header.client_id or "") == self.client_id:
                return True, header
            if self.client_id is NO_CLIENT:
                return self.pairing.whole or size < WEAK_FRAME, header
            end = start + size  # with another client id than those before it, as some clients send: its body must fit
            if not header.known or (end > len(data) and size >= WEAK_FRAME):
                return False, header
            if end > len(data):
                return None, header
            whole = fits(header.api, header.version, "request", bytes(data[start:end]))
            return whole or self.prove(data, start, end), header
        if accepted is False and self.client_id is NO_CLIENT and self.pairing.whole:
            gssapi = len(data) > start and data[start] == 0x60  # of a client of 0.9: an ASN.1 tag (RFC 2743)
            return gssapi and 0 < size <= MAX_TOKEN, None
        return accepted, None

    def judge_cut(self, data: Buffer, start: int, size: int) -> tuple[bool | None, RequestHeader | None]:
        """Judge a request whose header breaks off: it is the next of its client, as far as it says."""
        found = requests.read_cut_header(data, start, size) if not self.pairing.tokens else None
        if found is None:
            return False, None
        header, part = found
        latest = self.pairing.latest
        if latest is not None and not 0 < steps(latest, header.correlation_id) <= AHEAD:
            return False, None
        known = str(self.client_id) if self.client_id is not NO_CLIENT else ""
        if not known.encode().startswith(part):
            return not known, header
        return True, header._replace(client_id=known) if known else header

    def _judge_token(self, data: Buffer, start: int, size: int) -> tuple[bool | None, RequestHeader | None]:
        """Judge a frame where tokens are due: a request only if its grammar can read its body, else a token."""
        end = start + size
        if not 0 <= size <= MAX_TOKEN:
            return False, None
        if end > len(data):
            return None, None
        _, header = requests.read_header(data, start, size)
        if header is None or not header.known:
            return True, None
        readable = extent(header.api, header.version, "request", bytes(data[start:end])) is not None
        return True, header if readable else None

    def prove(self, data: Buffer, start: int, end: int, final: bool = False) -> bool | None:
        client_id = None if self.client_id is NO_CLIENT else self.client_id
        return requests.prove(data, start, end, final, client_id, stray=True)

    def resumes(self, payload: bytes, count: int) -> bool:
        size = size_at(payload)[0] if len(payload) > requests.SHORTEST + 4 else 0
        if not requests.SHORTEST <= size <= MAX_FRAME or self.pairing.tokens:
            return False
        header = requests.read_header(payload, 4, size)[1]
        if header is None or not header.client_id or self.client_id not in (header.client_id, NO_CLIENT):
            return False
        if size > len(payload) - 4:
            latest = self.pairing.latest
            return header.known and latest is not None and 0 < steps(latest, header.correlation_id) <= AHEAD
        return bool(self.prove(payload, 4, 4 + size, 4 + size == len(payload)))

    def frame(self, data: bytes, times: tuple[int, int], packets: tuple[int, int], missing: int, token: Any) -> None:
        self.last = half = self._half(data, times, packets, "request", missing)
        pairing = self.pairing
        if token is not None and not token.cut and (token.client_id or "") != self.client_id:
            self.client_id = token.client_id or ""
            pairing.prefixes.clear()
        self._exchange = pairing.request(token, half)
        if pairing.undecided:  # the other side looks again at what it could not decide without this request
            pairing.undecided = False
            self._retry()

    def take(self, payload: bytes, time: int, number: int) -> bool:
        pairing = self.pairing
        prefix = pairing.prefixes.get(payload[4:8])
        if prefix is None or payload[12 : prefix.end + 4] != prefix.same or pairing.tokens:
            return False
        size, correlation_id = _size_and_id(payload)
        if size != len(payload) - 4:
            return False
        self.last = half = CapturedMessage(payload[4:], (time, time), (number, number), "request")
        self._exchange = pairing.repeated(prefix, correlation_id, half)
        if pairing.undecided:
            pairing.undecided = False
            self._retry()
        return True

    def skipped(self, length: int, beginning: bytes) -> None:
        super().skipped(length, beginning)
        large = too_large(beginning[4:], size_at(beginning)[0]) if len(beginning) >= 8 else None
        if large is not None:
            self.pairing.findings.append(large._replace(start=None))

    def lost(self, length: int, number: int) -> None:
        self.pairing.whole = False
        super().lost(length, number)


class ResponseSide(FramedDirection):
    """Owner of the bytes that the broker sent. The token of a frame is the exchange that waits for it, if one does."""

    __slots__ = ("_newest", "_pattern", "_wanted")
    direction: Direction = "response"
    keep = 1 << 14
    """Bytes of responses held where none is due: their requests may be on their way."""
    last: CapturedMessage

    def __init__(self, pairing: Pairing, *, midstream: bool = False) -> None:
        super().__init__(pairing, midstream=midstream)
        self._wanted: tuple[Any, ...] = ()
        self._newest: int | None = None
        """The correlation id of the newest response whose request was not seen."""
        self._pattern: re.Pattern[bytes] | None = None

    def judge(self, data: Buffer, start: int, size: int) -> tuple[bool | None, Exchange | None]:
        in_flight = self.pairing.in_flight
        if in_flight:
            first = in_flight[0]
            if first.api is SASL_TOKEN:
                first = in_flight.behind_tokens(data, start, size) or first
                return first.api is not SASL_TOKEN or 0 <= size <= MAX_TOKEN, first
            if size >= 4 and len(data) - start >= 4 and _correlation_id(data, start)[0] == first.correlation_id:
                return True, first
        if size < 4:
            return False, None
        if len(data) - start < 4:
            return None, None
        exchange = self.pairing.expected(_correlation_id(data, start)[0])
        if exchange is None:
            return self._judge_unasked(data, start, start + size), None
        return start + size > len(data) or self.prove(data, start, start + size), exchange

    def _judge_unasked(self, data: Buffer, start: int, end: int) -> bool | None:
        """Judge a response that nobody waits for: its request may be missing, or come later in the capture.

        What comes after it must be a response to one of the next requests: clients number them. Its own number cannot
        be far from those of the requests that were seen.
        """
        correlation_id = _correlation_id(data, start)[0]
        latest = self.pairing.latest if self.pairing.latest is not None else self._newest
        if (latest is not None and abs(steps(latest, correlation_id)) > FAR) or end - start >= WEAK_FRAME:
            return False
        if self.pairing.latest is None and latest is not None and correlation_id == beyond(latest, 1):
            return True
        if end + 8 > len(data):
            self.pairing.undecided = True
            return None
        size, following = _size_and_correlation_id(data, end)
        ahead = steps(correlation_id, following)
        if not 4 <= size <= MAX_FRAME or abs(ahead) > AHEAD:
            return False
        return ahead > 0 or (self.pairing.latest is None and fits_any(bytes(data[start:end])))

    def take(self, payload: bytes, time: int, number: int) -> bool:
        pairing = self.pairing
        if len(payload) < 8 or not pairing.in_flight or not pairing.whole:
            return False
        size, correlation_id = _size_and_correlation_id(payload)
        first = pairing.in_flight[0]
        if correlation_id != first.correlation_id or size != len(payload) - 4 or first.api is SASL_TOKEN:
            return False
        self.last = half = CapturedMessage(payload[4:], (time, time), (number, number), "response")
        self._exchange = pairing.due(half)
        return True

    def search(self, data: Buffer, start: int) -> int | None:
        """Return where a request in flight has its correlation id after a possible length, None for nowhere."""
        in_flight = self.pairing.in_flight
        self.pairing.undecided = True
        self.pairing.give_up_tokens()
        if not in_flight and self._newest is not None:  # one to a request that nobody saw has the next id, or any
            place = find((beyond(self._newest, ahead) for ahead in range(1, FEW)), data, start)
            return place if place is not None and place >= 0 else None
        if not in_flight:
            found = SMALL_FRAME.search(data, start)
            return found.start() if found else None
        if len(in_flight) <= FEW:
            place = find((exchange.correlation_id for exchange in in_flight), data, start)
            if place is not None:
                return place if place >= 0 else None
        wanted = len(in_flight), in_flight[0], in_flight[-1]
        if self._pattern is None or wanted != self._wanted:
            ids = dict.fromkeys(exchange.correlation_id for exchange in in_flight)
            self._wanted, self._pattern = wanted, pattern(ids)
        found = self._pattern.search(data, start)
        return found.start() if found else None

    def prove(self, data: Buffer, start: int, end: int, final: bool = False) -> bool | None:
        """Return whether this is a response to a waiting request, whose body ends where its length says.

        An odd one needs another response after it, or nothing more if `final`; None: that is not to be seen yet.
        """
        if end - start < 4:
            return False
        exchange = self.pairing.expected(_correlation_id(data, start)[0])
        if exchange is None:  # some response, sound, in front of the next one; or the next one itself
            number = _correlation_id(data, start)[0]
            due = self._newest is not None and number == beyond(self._newest, 1)
            alone = final and end == len(data) and start == 4 and self._midstream and not self._heard
            if not (due or alone) and end + 8 > len(data):
                return None
            if not (due or alone):
                size, following = _size_and_correlation_id(data, end)
                if not (4 <= size <= MAX_FRAME and 0 < steps(number, following) <= AHEAD):
                    return False
            return end - start <= MAX_TOKEN and fits_any(bytes(data[start:end]))
        if exchange.api is None:
            return False
        if not exchange.correlation_id and not exchange.api.reads("response", exchange.version):
            return False  # nothing speaks for it but zeros, which are everywhere
        frame = bytes(data[start:end])
        if fits(exchange.api, exchange.version, "response", frame):
            return True
        followed = self._followed(data, end, final)
        return may_fit(exchange.api, exchange.version, "response", frame) if followed else followed

    def _followed(self, data: Buffer, end: int, final: bool) -> bool | None:
        """Return whether an expected response begins here, or, if `final`, nothing; None: more bytes are needed."""
        if end + 8 > len(data):
            return True if final and end == len(data) else None
        size, correlation_id = _size_and_correlation_id(data, end)
        return 4 <= size <= MAX_FRAME and self.pairing.expected(correlation_id) is not None

    def resumes(self, payload: bytes, count: int) -> bool:
        in_flight = self.pairing.in_flight
        if len(payload) < 8 or len(in_flight) < 2:
            return False
        size, correlation_id = _size_and_correlation_id(payload)
        if not 4 <= size <= MAX_FRAME:
            return False
        if size > len(payload) - 4:
            return any(one.correlation_id == correlation_id for one in in_flight[count + 1 : count + 1 + FEW])
        return bool(self.prove(payload, 4, 4 + size, 4 + size == len(payload)))

    def frame(self, data: bytes, times: tuple[int, int], packets: tuple[int, int], missing: int, token: Any) -> None:
        self.last = half = self._half(data, times, packets, "response", missing)
        if token is None and len(data) >= 4:
            self._newest = _correlation_id(data)[0]
        self._exchange = self.pairing.response(half)

    def skipped(self, length: int, beginning: bytes) -> None:
        self.pairing.responses_lost()
        if not self.pairing.answered and (what := looks_like(beginning)):
            finding = Finding(Kind.NOT_KAFKA, self.direction, length=length, facts=FactKind.FOREIGN_ANSWER.of(what))
            self.pairing.findings.append(finding)
        else:
            super().skipped(length, beginning)

    def lost(self, length: int, number: int) -> None:
        self.pairing.responses_lost()
        super().lost(length, number)
