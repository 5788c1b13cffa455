"""Mistakes in sizes and headers, and in the order of a connection's requests: what a message alone does not show."""

from __future__ import annotations

from itertools import product
from typing import Final, Literal, TypeAlias, get_args

from ...protocol.findings.quirks import Sure
from ...protocol.grammars import find
from ...protocol.wire import Api
from ..messages.message import read
from ..messages.weigh import Impossible
from .search import Budget, Mistake, MistakeReader, Subject, beginning, sized

Order: TypeAlias = Literal["big", "little"]
ORDERS: Final[tuple[Order, ...]] = get_args(Order)
SHORTEST: Final = 16
"""Bytes of a size and a request's header that are looked at."""
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
MOST_IN_FLIGHT = 1 << 14
"""Correlation ids that are kept; the oldest are forgotten."""


def find_frame_mistake(data: bytes) -> Mistake | None:
    """Return the mistake in the size or header of the request that bytes begin with; None where there is none.

    `data` begins at the size, and holds nothing but the request.
    """
    little = int.from_bytes(data[:4], "little", signed=True)
    if len(data) < SHORTEST or little not in (len(data), len(data) - 4) or data[:4] == data[3::-1]:
        return None
    kind, corrected, known = "little-endian-size", data[4:], _named(data[4:8], "big")
    if known is None or int.from_bytes(data[12:14], "big", signed=True) >= len(data):
        kind, known = "little-endian-header", _named(data[4:8], "little")
        length = data[12:14][::-1] if int.from_bytes(data[12:14], "little") < len(data) else data[12:14]
        corrected = data[5:3:-1] + data[7:5:-1] + data[11:7:-1] + length + data[14:]
    if known is None:
        return None
    api, version = known
    size = int.from_bytes(data[:4], "big", signed=True)
    return Mistake(
        kind, api.name, version, "request", "size", -4, 4, str(size), str(len(corrected)), Sure.CERTAIN,
        sized(corrected),
    )  # fmt: skip


def find_missing_size(data: bytes) -> Mistake | None:
    """Return the mistake of a request without its size; None for any other bytes.

    `data` begins where a connection's next size is expected, and ends with the request or goes on with another one.
    """
    known = _named(data[:4], "big")
    end = _end(data, *known) if known is not None else 0
    if known is None or not end or (end < len(data) and not _begins(data, end)):
        return None
    api, version = known
    frame = data[:end]
    return Subject(frame, api, version, "request").mistake(
        "size-missing", path="size", start=0, length=0, expected=str(end), sure=Sure.LIKELY, corrected=sized(frame)
    )


def find_misframed(data: bytes, *, after: bool) -> tuple[int, Mistake | None] | None:
    """Return where the message ends that bytes begin with, if its size is missing or wrong and more messages show that.

    With it is the mistake, None where the message alone shows that. `after`: they come after another message. None
    where nothing comes before or after them, or the size is right.
    """
    missing = find_missing_size(data)
    if missing is not None:
        end = len(missing.corrected) - 4
        return (end, missing) if after or end < len(data) else None
    big, little = int.from_bytes(data[:4], "big"), int.from_bytes(data[:4], "little")
    for end in (little + 4, little):
        frame = data[:end]
        if SHORTEST <= end < len(data) and _begins(data, end) and find_frame_mistake(frame) is not None:
            return end, None
    known = _named(data[4:8], "big")
    itself = known is not None and SHORTEST <= big < len(data) and _end(data[4:], *known) == big - 4
    return (big, None) if itself and _begins(data, big) else None


def _begins(data: bytes, at: int) -> bool:
    """Return whether a request with a client id begins there, with its size or without."""
    for place, order in product((at, at + 4), ORDERS):
        length = int.from_bytes(data[place + 8 : place + 10], order)
        name = data[place + 10 : place + 10 + length]
        text = 0 < len(name) == length and name.isascii() and name.decode().isprintable()
        if text and _named(data[place : place + 4], order) is not None:
            return True
    return False


def _end(data: bytes, api: Api, version: int) -> int:
    """Return where the request that begins there ends; 0 where it is not valid or names no client."""
    reader = MistakeReader(data, Budget())
    reader.todo = beginning(Subject(data, api, version, "request").nodes)
    length = int.from_bytes(data[8:10], "big")
    try:
        reader.run()
    except (Impossible, RecursionError):
        return 0
    return reader.at if length > 1 and not reader.faults and data[10 : 10 + length].isascii() else 0


def _named(data: bytes, order: Order) -> tuple[Api, int] | None:
    """Return the API and version that the first four bytes of a header name; None for an unknown one."""
    key, version = (int.from_bytes(data[at : at + 2], order) for at in (0, 2))
    api = find(key)
    return (api, version) if api is not None and api.reads("request", version) else None


class RequestOrder:
    """What a connection's requests are compared with: its SASL handshake, and the requests in flight."""

    def __init__(self) -> None:
        self._handshake: int | None = None
        """The version of the SaslHandshake request before, until tokens follow."""
        self._in_flight: dict[int, None] = {}

    def see_request(self, frame: bytes, api: Api, version: int, *, answered: bool = True) -> Mistake | None:
        """Take the next request, from its header on; return its mistake. `answered`: it gets a response."""
        before, self._handshake = self._handshake, version if api.key == SASL_HANDSHAKE else None
        found = None
        if before == 0 and api.key == SASL_AUTHENTICATE:
            token = read(api, version, "request", frame).body.get("auth_bytes")
            found = Subject(frame, api, version, "request").mistake(
                "sasl-authenticate-after-v0", path="api_key", start=0, length=2, sure=Sure.CERTAIN,
                corrected=sized(token) if token else b"",
            )  # fmt: skip
        number = int.from_bytes(frame[4:8], "big", signed=True)
        if found is None and number in self._in_flight:
            known = Subject(frame, api, version, "request").mistake("reused-correlation-id")
            found = known._replace(path="correlation_id", start=4, length=4, actual=str(number), sure=Sure.CERTAIN)
        if answered:
            self._in_flight[number] = None
            if len(self._in_flight) > MOST_IN_FLIGHT:
                del self._in_flight[next(iter(self._in_flight))]
        return found

    def see_response(self, correlation_id: int) -> None:
        """Take the next response: its request is no longer in flight."""
        self._in_flight.pop(correlation_id, None)

    def see_token(self, token: bytes, authenticate: Api) -> Mistake | None:
        """Take bytes after a size that are no request; return the mistake if they are a SASL token out of place.

        `authenticate` is the API of SaslAuthenticate.
        """
        before, self._handshake = self._handshake, None
        plain = token.count(0) == 2 and not token.endswith(b"\0")
        first = plain or token.startswith((b"n,,", b"y,,", b"p=", b"n,a=", b"\x60"))  # SCRAM, OAUTHBEARER, GSSAPI
        if before is None or before == 0 or not first:
            return None
        return Subject(token, authenticate, 0, "request").mistake(
            "raw-sasl-token", path="", start=0, length=len(token), sure=Sure.CERTAIN
        )
