"""Does a message end where its length says? That tells a message from bytes that only look like one.

Answered by the compiled grammars, so that wrong places cost little; the slow reading of an odd message is paid for only
where what stands around it speaks for it.

A request that begins as an earlier one of its connection did is not decoded again: what a header's bytes say holds for
each request with the same bytes there, whatever its correlation id. It is the same API, version and client id, and for
a Produce request, whose prefix goes on to its `acks`, whether it wants a response.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, NamedTuple, TypeAlias, cast

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import MessageMistake
from ...protocol.findings.quirks import Sure
from ...protocol.grammars import apis, find, headers, kept
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import WireStruct
from ...protocol.wire.readings.compiled import UNREADABLE, Reader, reader
from ..messages.exchange import Exchange
from ..messages.message import Message, forms, header_grammar, opaque_api, read_slowly, readings
from .search import HEADER, MAX_FRAME, WEAK_FRAME, Buffer, size_at

CLOSE_LOOK = 1 << 18
"""Messages up to so many bytes are read slowly for a proof."""
MOST_LEFT = 16
"""Bytes that peers are known to leave over; where a search found a message with more, it is none."""


def extent(api: Api, version: int, direction: Direction, data: bytes) -> int | None:
    """Return how many bytes the message takes by its grammar; None where it does not end within `data`."""
    found = None
    for form, _, body, end in readings(forms(api, version, direction, True, True), data):
        if form.admits(body) and end == len(data):
            return end
        if form.admits(body) and end < len(data) and found is None:
            found = end
    return found


def fits(api: Api, version: int, direction: Direction, data: bytes) -> bool:
    """Return whether these bytes, no more and no fewer, are such a message without anything odd."""
    return api.reads(direction, version) and extent(api, version, direction, data) == len(data)


def may_fit(api: Api, version: int, direction: Direction, data: bytes) -> bool:
    """Return whether they may be such a message, if odd (a tag, few bytes left over), or its version is unknown."""
    if not api.reads(direction, version):
        return True
    if len(data) > CLOSE_LOOK:
        return False
    found = read_slowly(api, version, direction, data).findings
    left = sum(finding.length for finding in found if finding.kind is Kind.TRAILING_BYTES)
    return left <= MOST_LEFT and not any(finding.kind.breaks for finding in found)


def excess_of(message: Message) -> int:
    """Return how many bytes are left over at the end of a message that was read; 0 where reading broke off before."""
    findings = message.findings
    if not findings or any(finding.kind.breaks for finding in findings):
        return 0
    return sum(finding.length for finding in findings if finding.kind is Kind.TRAILING_BYTES)


LONGEST_HEADER = 1 << 10
"""A header that is not complete after so many bytes is none: client ids are short."""
SHORTEST = 8
_key_and_version = struct.Struct(">hh").unpack_from
_BufferReader: TypeAlias = Callable[[Buffer, int], tuple[Any, int]]
_read_header = cast(_BufferReader, reader(headers.REQUEST[1]))
_read_bare = cast(_BufferReader, reader(headers.REQUEST[0]))


class RequestHeader(NamedTuple):
    """What the header of a request says.

    `known`: there is a grammar for this API at this version. `cut`: it ends inside the client id, which is not known.
    """

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    known: bool
    cut: bool = False


@kept
def _shape(key: int, version: int) -> tuple[Api, bool, bool]:
    """Return what a request of this key and version is: its API, whether it can be read, whether it has a client id."""
    api = find(key) or opaque_api(key)
    return api, api.reads("request", version), api.header_version("request", version) > 0


def read_header(data: Buffer, start: int, size: int) -> tuple[bool | None, RequestHeader | None]:
    """Read the header of a request of `size` bytes at `start`.

    Return (True, header) for a believable one, (None, None) where more bytes are needed to say, else (False, None).
    """
    left = len(data) - start
    if left < 4:
        return None, None
    key, version = _key_and_version(data, start)
    if key < 0 or version < 0 or size < SHORTEST:
        return False, None
    api, known, has_client_id = _shape(key, version)
    more = None if left < min(size, LONGEST_HEADER) else False
    try:
        head, end = (_read_header if has_client_id else _read_bare)(data, start)
    except UnicodeDecodeError:
        return False, None
    except UNREADABLE:
        return more, None
    if end > start + size:
        return False, None
    if end > len(data):
        return more, None
    client_id = head.get("client_id")
    if not known:  # its version is small and its client id text, where it is believable
        text = client_id is None or (0 < len(client_id) < 256 and client_id.isprintable())
        if version >= 256 or not text:
            return False, None
    return True, RequestHeader(api, version, head["correlation_id"], client_id, known)


def read_cut_header(data: Buffer, start: int, size: int) -> tuple[RequestHeader, bytes] | None:
    """Read the header of a known request of `size` bytes at `start` whose end was not captured.

    Return what there is of it, and of its client id; None where there is less than the correlation id, or no such one.
    """
    left = len(data) - start
    if not SHORTEST <= left < size <= MAX_FRAME:
        return None
    key, version = _key_and_version(data, start)
    if find(key) is None or version < 0:
        return None
    api, known, has_client_id = _shape(key, version)
    correlation_id = int.from_bytes(data[start + 4 : start + 8], "big", signed=True)
    length = int.from_bytes(data[start + 8 : start + 10], "big", signed=True) if left >= SHORTEST + 2 else 0
    part = bytes(data[start + 10 : start + 10 + max(length, 0)])
    fits_in = -1 <= length <= min(size - SHORTEST - 2, LONGEST_HEADER)
    if not (known and has_client_id and fits_in and part.decode(errors="replace").isprintable()):
        return None
    return RequestHeader(api, version, correlation_id, None, True, True), part


@kept
def _candidate() -> re.Pattern[bytes]:
    """Return the pattern of a known request's first 14 bytes, its length included.

    A length of 8 bytes to 128 MiB, the key and version of a known API, a client id of less than 512 bytes.
    """
    keys = b"|".join(re.escape(api.key.to_bytes(2)) for api in apis())
    newest = max(api.versions[-1] for api in apis())
    return re.compile(
        rb"(?:\x00(?:\x00(?:\x00[\x08-\xff]|[\x01-\xff].)|[\x01-\xff]..)|[\x01-\x07]...)"
        rb"(?:%b)\x00[\x00-%b]....(?:\xff\xff|[\x00\x01].)" % (keys, re.escape(bytes([min(newest, 255)]))),
        re.DOTALL,
    )


def search(data: Buffer, start: int) -> int | None:
    """Return the first place at or after `start` where the length of a known request may stand, None for none."""
    found = _candidate().search(data, start)
    return found.start() if found else None


def prove(
    data: Buffer, start: int, end: int, final: bool = False, client_id: str | None = None, *, stray: bool = False
) -> bool | None:
    """Return whether these bytes are a known request whose body ends where its length says, its client id a text.

    One with something odd in it needs another one of its client after it, or nothing more if `final`; None: that is
    not to be seen yet. `stray`: nothing but the bytes speaks for a request. Then one that does not name the client
    (`client_id`, or any if that is not known) needs another after it as well: without that, 20 MB of small numbers hold
    a dozen requests.
    """
    _, header = read_header(data, start, end - start)
    if header is None or not header.known or not (header.client_id is None or header.client_id.isprintable()):
        return False
    own = header.client_id
    if stray and (not own or (client_id and own != client_id)):
        followed = _followed(data, end, own or client_id or own, final)
        if not followed:
            return followed
    frame = bytes(data[start:end])
    if fits(header.api, header.version, "request", frame):
        return True
    followed = _followed(data, end, own, final)
    return may_fit(header.api, header.version, "request", frame) if followed else followed


def _followed(data: Buffer, end: int, client_id: str | None, final: bool) -> bool | None:
    """Return whether another request of this client begins here, or, if `final`, nothing; None: more bytes are needed.

    One that does not name its client must be whole and clean.
    """
    if len(data) < end + 4:
        return True if final and len(data) == end else None
    start, size = end + 4, size_at(data, end)[0]
    accepted, header = read_header(data, start, size) if size <= MAX_FRAME else (False, None)
    if header is None or (header.client_id or "") != (client_id or ""):  # null is as good as "" to Kafka
        return None if accepted is None else False
    if client_id or size >= WEAK_FRAME:
        return bool(client_id)
    if start + size > len(data):
        return None
    return header.known and fits(header.api, header.version, "request", bytes(data[start : start + size]))


def begins(data: Buffer) -> RequestHeader | None:
    """Return the header of the request at the beginning of these bytes, None if none is believable there."""
    size = size_at(data)[0] if len(data) >= 4 else 0
    return read_header(data, 4, size)[1] if size <= MAX_FRAME else None


class AnyRequest:
    """search.Seeker of requests, whoever sends them."""

    __slots__ = ()
    keep = HEADER

    def judge(self, data: Buffer, start: int, size: int) -> tuple[bool | None, RequestHeader | None]:
        return read_header(data, start, size) if size < WEAK_FRAME else (False, None)

    def search(self, data: Buffer, start: int) -> int | None:
        return search(data, start)

    def prove(self, data: Buffer, start: int, end: int, final: bool = False) -> bool | None:
        return prove(data, start, end, final, stray=True)


PRODUCE = 0
MOST, LONGEST = 64, 512
"""Prefixes that are remembered of a connection, and bytes of one; a client has few, and short ones."""


class Prefix(NamedTuple):
    """What the first `end` bytes of a request say; `same` are those after the correlation id.

    `wants_answer` is False for acks=0.
    """

    end: int
    same: bytes
    api: Api
    version: int
    client_id: str | None
    wants_answer: bool


class Prefixes(dict[bytes, Prefix]):
    """The newest prefix for each API and version, by the four bytes that tell these; all are of one client id."""

    __slots__ = ()

    def remember(self, prefix: Prefix, message: bytes) -> None:
        """Remember the prefix of this message, unless it is longer than any client's."""
        if prefix.end > LONGEST:
            return
        if len(self) >= MOST:
            self.clear()
        self[message[:4]] = prefix


def read_prefix(header: RequestHeader, message: bytes) -> Prefix | None:
    """Return the prefix of a request with this header; None where its grammar is unknown, or cannot read so far."""
    api, version, _, client_id, known, cut = header
    if not known or cut:
        return None
    read_head, read_acks = _readers(api, version)
    try:
        _, end = read_head(message, 0)
        fields, end = read_acks(message, end) if read_acks is not None else (None, end)
    except UNREADABLE:
        return None
    if end > len(message):
        return None
    wants_answer = fields is None or fields["acks"] != 0
    return _prefix(end, message[8:end], api, version, client_id, wants_answer)


_prefix = lru_cache(maxsize=4096)(Prefix)
"""Makes prefixes; those of many connections that are alike are one."""


@cache
def _readers(api: Api, version: int) -> tuple[Reader, Reader | None]:
    """Return the readers of a request's header, and of a Produce request's fields up to `acks`, not beyond."""
    read_head = reader(header_grammar(api, version, "request"))
    fields = api.at("request", version).fields
    names = [field.name for field in fields]
    if api.key != PRODUCE or "acks" not in names:
        return read_head, None
    return read_head, reader(WireStruct(fields[: names.index("acks") + 1], None))


LONGEST = 1 << 12
"""Longer messages are not examined."""


def of_sequence(kind: str, api: str, version: int, start: int, length: int, actual: str = "") -> Finding:
    """Return the finding for a request that is out of place."""
    facts = MessageMistake(kind, api, version, actual, "", Sure.CERTAIN.value)
    return Finding(Kind.ENCODING_MISTAKE, "request", "", start, length, facts)


class Misframed(NamedTuple):
    """A request without a believable size or header: the header that is meant, its bytes, the mistake as a finding.

    `header` is None for a raw SASL token, `finding` where reading the message finds the mistake as well.
    """

    header: RequestHeader | None
    frame: bytes
    finding: Finding | None


def misframed_request(data: Buffer, *, token: bool = False) -> Misframed | None:
    """Return the request that is meant by these bytes, which are all that came; None where none is.

    `token`: a SaslAuthenticate request is due; they are a raw SASL token in place of one.
    """
    from ..mistakes.connection import find_frame_mistake  # which correct frames do without
    from ..mistakes.finder import examine
    from ..mistakes.search import Mistake, sized

    if token and 4 < len(data) <= LONGEST and size_at(data)[0] == len(data) - 4:
        return Misframed(None, bytes(data[4:]), of_sequence("raw-sasl-token", SASL_TOKEN.name, 0, 0, len(data) - 4))
    if token or not HEADER <= len(data) <= LONGEST:
        return None
    data = bytes(data)
    framing, bare = find_frame_mistake(data), read_header(data, 0, len(data))[1]
    if framing is None and bare is not None and bare.known and fits(bare.api, bare.version, "request", data):
        framing = Mistake(
            "size-missing", bare.api.name, bare.version, "request", "size", -4, 0, "", "", Sure.LIKELY, sized(data)
        )
    found, api, version = framing, find(int.from_bytes(data[4:6])), int.from_bytes(data[6:8])
    sound = size_at(data)[0] == len(data) - 4 and api is not None and api.reads("request", version)
    if found is None and sound and api is not None:  # its size, API and version are believable
        found = examine(data[4:], api=api, version=version, direction="request", size=len(data) - 4).mistake
        found = found if found is not None and found.corrected else None
    header = read_header(found.corrected, 4, len(found.corrected) - 4)[1] if found is not None else None
    if found is None or header is None:
        return None
    frame = data[0 if found.kind == "size-missing" else 4 :]
    return Misframed(header, frame, found.finding if framing is not None else None)


def misframed_response(data: Buffer, exchange: Exchange) -> Misframed | None:
    """Return the response to this request whose size has the wrong byte order; None where these bytes are none."""
    from ..mistakes.search import Mistake

    size, api = int.from_bytes(data[:4], "little"), exchange.api
    number = exchange.correlation_id.to_bytes(4, "big", signed=True)
    if api is None or not 8 <= len(data) <= LONGEST or size != len(data) - 4 or data[4:8] != number:
        return None
    actual = str(size_at(data)[0])
    found = Mistake(
        "little-endian-size", api.name, exchange.version, "response", "size", -4, 4, actual, str(size), Sure.CERTAIN
    )
    return Misframed(None, bytes(data[4:]), found.finding)
