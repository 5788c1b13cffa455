"""What is passed on in both directions of one connection: requests and responses, whole where they are changed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Set
from typing import TYPE_CHECKING

from ..capture.write import Buffer
from ..exchanges.engine.requests import RequestHeader, read_header, read_prefix
from ..exchanges.messages.message import header_grammar
from ..protocol.wire import Api
from ..protocol.wire.readings.compiled import UNREADABLE
from ..protocol.wire.readings.endpoints import Change, EndpointsReader, endpoints_reader, with_endpoints
from .frames import FRONT, SIZE, Decision, FramePiece, Frames, Hold, HoldServer, Out, PendingRequest, Send
from .listeners import Address

if TYPE_CHECKING:
    from .faults import Meddling


MOST_ASKED = 10_000
"""Requests that may wait for their answers; whoever sends more gets no addresses rewritten any more."""
CORRELATION_ID = CORRELATION_AT = 4
"""Bytes of a response that say which request it answers; and where the same bytes stand in a request."""
OWN = 0x4B000000
"""By these bits the correlation ids of kdbg's own requests differ from those that they repeat."""
NONE = b""
"""The answer to a request that was dropped: none, and none to what follows it on its connection."""


class Relay:
    """One connection. `change` gives the addresses that clients are told; None leaves them as they are.

    `own` gets the frame of each request of kdbg's own, `listed` the addresses in each response that lists all brokers.
    `holder` may be set as long as no bytes came.
    """

    unread: int
    """Responses whose addresses could not be rewritten."""
    singly: bool
    """Whether messages go into the queues one by one, for they may be changed or wait there."""

    def __init__(
        self, change: Change | None = None, faults: Meddling | None = None, *, singly: bool = False,
        own: Callable[[bytes], None] = lambda frame: None,
        listed: Callable[[Set[Address]], None] = lambda brokers: None,
    ) -> None:  # fmt: skip
        self.to_client: Out = deque()
        self.to_broker: Out = deque()
        self.unread = 0
        self._change, self._faults = change, faults
        self._own, self._listed = own, listed
        self._repeats: deque[bytes] = deque()
        self.singly = singly = singly or faults is not None
        self._requests = Frames(self._judge_request, singly=singly)
        self._responses = Frames(self._judge_response, singly=singly)
        self._asked: deque[PendingRequest] = deque()
        self._next: PendingRequest | None = None
        self._silent = False
        self.holder: HoldServer | None = None

    def from_client(self, data: Buffer) -> None:
        """Take bytes that the client sent. Of a view of them, views go into the queues; only what is held is copied."""
        self._pass_requests(self._requests.feed(data))
        self._repeat()

    def from_broker(self, data: Buffer) -> None:
        """Take bytes that the broker sent; the same holds of a view of them."""
        self._pass_responses(self._responses.feed(data))

    def ended(self, *, from_client: bool) -> None:
        """Take note that the client, or the broker, sends no more; what was held of it is passed on."""
        if from_client:
            self._pass_requests(self._requests.end())
        else:
            self._pass_responses(self._responses.end())

    @property
    def expects(self) -> bool:
        """Whether the broker may still send a response that would be passed on."""
        return not self._silent and any(asked.answer is None for asked in self._asked)

    @property
    def kept(self) -> int:
        """The bytes of messages that are kept whole, for faults, holds or addresses; `let_go` frees them."""
        waiting = self._requests.waiting + self._responses.waiting
        return waiting + (sum(len(asked.data) for asked in self._asked if asked.data is not None) if self.singly else 0)

    def let_go(self) -> int:
        """Keep no message whole: what has come of them is passed on. Return how many lose faults and holds by it."""
        lost = sum(frames.holds for frames in (self._requests, self._responses)) if self.singly else 0
        self.unread += self._responses.holds and not self.singly
        self._pass_requests(self._requests.let_go())
        self._pass_responses(self._responses.let_go())
        for asked in self._asked:
            lost += asked.data is not None
            asked.data = None
        return lost

    # Requests

    def _judge_request(self, size: int, front: bytes) -> Decision:
        """Take note of a request by its front: it is passed on as it comes, unless a fault may concern it."""
        believed, header = read_header(front, 0, size)
        if believed is None and len(front) < min(size, FRONT):
            return Decision.MORE
        if header is None and size > FRONT and not self._asked:
            return Decision.NO_FRAME
        prefix = read_prefix(header, front) if header is not None else None
        if header is not None and prefix is None and len(front) < min(size, FRONT):
            return Decision.MORE
        answered = prefix is None or prefix.wants_answer
        self._next = PendingRequest(header, answered, self._endpoints(header))
        if answered:
            self._asked.append(self._next)
        if len(self._asked) > MOST_ASKED:
            self._asked.clear()
            return Decision.NO_FRAME
        return Decision.HOLD if self._concerned(self._next.api) else Decision.PASS

    def _concerned(self, api: Api | None) -> bool:
        """Return whether messages of an API are wanted whole."""
        if self.holder is not None and self.holder.wants:
            return True
        return self._faults is not None and self._faults.concerns(api)

    def _endpoints(self, header: RequestHeader | None) -> EndpointsReader | None:
        """Return what finds the addresses in the answer to a request, where these are rewritten and it has any."""
        if header is None or self._change is None or not header.api.reads("response", header.version):
            return None
        api, version = header.api, header.version
        return endpoints_reader(header_grammar(api, version, "response"), api.at("response", version))

    def _pass_requests(self, pieces: Iterator[FramePiece]) -> None:
        passed = list[Buffer]()
        for piece in pieces:
            if not piece.whole:
                passed.append(piece.data)
                continue
            self._flush(self.to_broker, passed)
            assert self._next is not None
            asked, frame = self._next, bytes(piece.data)
            asked.data = frame[4:]
            if self._faults is None:
                self.to_broker.append(Send(frame, frame))
            elif not self._faults.request(asked, self.to_broker):
                self._silent = True
            last = self.to_broker[-1] if self.to_broker and asked.answer is None else None
            if self.holder is not None and isinstance(last, Send):  # what holds it stands in its place
                hold = self.holder.hold(asked, "request", bytes(last.data[4:]))
                if hold is not None:
                    self.to_broker[-1] = hold
            self._answer()
        self._flush(self.to_broker, passed)

    def release(self, hold: Hold, data: bytes | None) -> None:
        """Put what becomes of a held message into its place: these bytes, None for nothing."""
        asked = hold.asked
        frame = SIZE.pack(len(data)) + data if data is not None else b""
        if hold.direction == "response":
            hold.then = [Send(self._rewritten(asked, frame), frame)] if data is not None else []
            if data is None:
                self._silent = True
                while self.to_client and self.to_client[-1] is not hold:  # what follows it vanishes as well
                    self.to_client.pop()
        elif data is None:
            hold.then, asked.answer = [], NONE
            self._answer()
        else:
            hold.then, asked.data = [Send(frame, frame)], data
            header = read_header(data, 0, len(data))[1] if data != hold.data else None
            if header is not None:
                asked.api, asked.version, asked.correlation_id = header.api, header.version, header.correlation_id
                asked.endpoints = self._endpoints(header)

    def repeat(self, data: bytes) -> None:
        """Send a request of kdbg's own, without its size, as soon as no message of the client's is half way."""
        self._repeats.append(data)
        self._repeat()

    def _repeat(self) -> None:
        while self._repeats and not self._requests.inside and not self._requests.waiting:
            data = self._repeats.popleft()
            number = SIZE.unpack_from(data, CORRELATION_AT)[0] ^ OWN
            data = data[:CORRELATION_AT] + SIZE.pack(number) + data[CORRELATION_AT + CORRELATION_ID :]
            header = read_header(data, 0, len(data))[1]
            if header is None:
                continue
            prefix = read_prefix(header, data)
            asked = PendingRequest(header, prefix is None or prefix.wants_answer, None)
            asked.data, asked.own = data, True
            if asked.answered:
                self._asked.append(asked)
            frame = SIZE.pack(len(data)) + data
            self.to_broker.append(Send(frame, frame))
            self._own(frame)
            if self.holder is not None:
                self.holder.repeated(asked)

    # Responses

    def _judge_response(self, size: int, front: bytes) -> Decision:
        """Find the request that is answered: its API says whether the response may hold addresses."""
        if len(front) < min(size, CORRELATION_ID):
            return Decision.MORE
        asked = self._answered = self._find(front)
        if asked is None:
            return Decision.PASS
        whole = asked.endpoints is not None or asked.own or self._silent or self._concerned(asked.api)
        return Decision.HOLD if whole else Decision.PASS

    def _find(self, front: bytes) -> PendingRequest | None:
        """Return the request that a response answers, and forget those before it; None for one that nobody asked for.

        What is no request, such as a raw SASL token, is answered by what answers none.
        """
        number = SIZE.unpack_from(front)[0] if len(front) >= CORRELATION_ID else None
        for place, asked in enumerate(self._asked):
            if asked.answer is None and asked.correlation_id == number:
                for _ in range(place):
                    self._asked.popleft()
                return self._asked.popleft()
        if self._asked and self._asked[0].api is None:
            self._asked.popleft()
        return None

    def _pass_responses(self, pieces: Iterator[FramePiece]) -> None:
        passed = list[Buffer]()
        for piece in pieces:
            if self._silent:
                continue
            if not piece.whole:
                passed.append(piece.data)
            else:
                self._flush(self.to_client, passed)
                self._pass_response(self._answered, bytes(piece.data))
            if self.singly:
                self._flush(self.to_client, passed)
                self._answer()
        self._flush(self.to_client, passed)

    def _pass_response(self, asked: PendingRequest | None, frame: bytes) -> None:
        """Pass on a response that came whole."""
        if asked is not None and asked.own:
            self.to_client.append(Send(b"", frame))
            return
        if self._faults is not None and self._faults.concerns(asked.api if asked is not None else None):
            changed = self._faults.response(asked, frame, self.to_client)
            if changed is None:
                self._silent = True
                return
            frame = changed
        hold = self.holder.hold(asked, "response", frame[4:]) if self.holder is not None and asked is not None else None
        self.to_client.append(hold or Send(self._rewritten(asked, frame), frame))

    def _rewritten(self, asked: PendingRequest | None, frame: bytes) -> bytes:
        """Return a response with the addresses that the client is told, as a frame."""
        change = self._change
        if asked is None or asked.endpoints is None or change is None:
            return frame
        assert asked.api is not None
        assert asked.version is not None
        data, api, version = frame[4:], asked.api, asked.version
        try:
            if not any(asked.endpoints(data)):
                return frame
            head, body = header_grammar(api, version, "response"), api.at("response", version)
            brokers: set[Address] = set()

            def noting(host: str, port: int) -> Address:
                brokers.add((host, port))
                return change(host, port)

            changed = with_endpoints(head, body, data, noting)
        except UNREADABLE:
            self.unread += 1
            return frame
        if api.name == "Metadata":  # which lists every broker of a cluster
            self._listed(brokers)
        return SIZE.pack(len(changed)) + changed

    def _answer(self) -> None:
        """Give the client the answers that are kdbg's own and due: responses come in the order of the requests."""
        while self._asked and (answer := self._asked[0].answer) is not None and not self._responses.inside:
            self._asked.popleft()
            if not answer:
                self._silent = True
            elif not self._silent:
                self.to_client.append(Send(answer, answer))

    @staticmethod
    def _flush(out: Out, passed: list[Buffer]) -> None:
        """Put bytes that are passed on as they are into a queue, in one."""
        if passed:
            data = b"".join(passed) if len(passed) > 1 else passed[0]
            out.append(Send(data, data))
            passed.clear()
