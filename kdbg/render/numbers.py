"""Numbers out of error logs, in words: what each is, and what to do about it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from ..engine.search import MAX_FRAME, REFUSED
from ..grammars import name_of
from ..grammars.errors import ERRORS
from ..guess.numbers import (
    Fill,
    Foreign,
    InsideTls,
    Letters,
    Negative,
    NullAhead,
    Sense,
    Shifted,
    Size,
    StringAhead,
    TextEnds,
    bytes_of,
    sense,
)
from ..pasted.numbers import Logged, Role
from .grid import printable
from .look import Look

LOST = "The peer speaks another protocol, or the reader lost its place in the stream."
OTHER_VERSION = (
    "It reads by the layout of another version than the message has (or of another API): see which version was asked "
    "for, and which one the peer writes."
)
PLACE_LOST = (
    "It lost its place: it reads by another version's layout, or an earlier length was wrong, or bytes of the stream "
    "were lost or read twice."
)
WIDEST = 16
"""Bytes of the widest field whose length is fixed."""
TOO_SHORT = (
    "The message ends before its layout does: the peer wrote another version than was asked for (or another form of "
    "it), or the message was cut."
)
ADVICE = {
    "broker.version.fallback": "librdkafka does not know the broker's version: leave api.version.request=true (its "
    "default), or set broker.version.fallback to what the broker really is.",
    "receive.message.max.bytes": "receive.message.max.bytes is librdkafka's limit for a response. Raise it only for "
    "a size that can be real.",
    "socket.request.max.bytes": "socket.request.max.bytes is the broker's limit for a request.",
    ":8081": "8081 is the usual port of a Schema Registry, which speaks HTTP.",
    ":8082": "8082 is the usual port of a REST proxy, which speaks HTTP.",
    ":8083": "8083 is the usual port of Kafka Connect, which speaks HTTP.",
    ":2181": "2181 is ZooKeeper's usual port.",
    "max.message.bytes": "max.message.bytes limits a record batch, not a request.",
    "fetch.message.max.bytes": "fetch.message.max.bytes is how much of a partition is fetched at once.",
}
"""Words of a log line, and what they mean."""
CHANGED = (
    "The bytes of the batch or message are not those that its checksum was made of: they were changed on disk or on "
    "the way, or the reader does not stand where they begin."
)
EARLIER = (
    "Responses come in the order of the requests: another id than the one awaited is the answer to an earlier request, "
    "one that timed out, or was sent by another thread."
)
LATER = (
    "Responses in between were not read, or another reader had them: two threads that read one connection, or one that "
    "was passed over. A Produce request with acks=0 has none."
)
NOBODYS = "If no request of the connection had it, the reader does not stand where a response begins."
UNSAID = Logged(0, Role.NUMBER)


def number_facts(value: int, told: Logged = UNSAID, text: str = "") -> tuple[str, str, bool]:
    """Return (what the number is, what to do, whether it could be explained); `text` is the log that it stands in."""
    more = " ".join(advice for word, advice in ADVICE.items() if word in text)
    what, advice, known = _of_role(value, told) or _of_bytes(value, told)
    return what, " ".join(filter(None, [advice, more])), known


def number_text(value: int, look: Look, told: Logged = UNSAID, text: str = "") -> tuple[str, bool]:
    """Return the text about a number from an error log, and whether it could be explained."""
    head, advice, known = number_facts(value, told, text)
    return "\n".join([look.paint("heading", head), *_wrapped(advice, look)]) + "\n", known


def _of_role(value: int, told: Logged) -> tuple[str, str, bool] | None:
    """Return what the words around say of a number that is no length."""
    if told.role is Role.ERROR and value in ERRORS:
        error = ERRORS[value]
        return f"error code {value} = {error.name}", f"`kdbg errors {value}` says more.", True
    if told.role is Role.CRC:
        return f"{value} = 0x{value & 0xFFFFFFFF:08x}, a checksum", CHANGED, True
    if told.role is Role.API_KEY and (name := name_of(value)):
        return f"api key {value} = {name}", "", True
    if told.role is Role.CORRELATION_ID:
        return _correlation_id(value, told.awaited)
    return None


def _correlation_id(value: int, awaited: int | None) -> tuple[str, str, bool] | None:
    """Return what is said of an id that came, or came for another; None where its bytes say that it is none."""
    apart = value - awaited if awaited is not None else 0
    if apart and abs(apart) < 1 << 16:
        when = f"{abs(apart)} {'later' if apart > 0 else 'earlier'}"
        said = f"correlation id {value} where {awaited} was awaited: the response to a request sent {when}"
        return said, LATER if apart > 0 else EARLIER, True
    if not isinstance(sense(value), (Size, Negative)):
        return None
    return f"correlation id {value}", EARLIER if 0 <= value < 1 << 20 else f"{EARLIER} {NOBODYS}", True


def _of_bytes(value: int, told: Logged) -> tuple[str, str, bool]:
    """Return what the bytes of a number say."""
    found, data = sense(value), bytes_of(value)
    head = f"{value} = 0x{data.hex()}"
    shown = f", the bytes {data.hex(' ')}"
    shown += f' "{printable(data)}"' if printable(data).count(".") <= data.count(b".") else ""
    if isinstance(found, Foreign):
        less = f" less {found.less}, which older readers (librdkafka) subtract from a size" if found.less else ""
        if found.less:
            shown = f", {found.less} less than the bytes {bytes_of(value + found.less).hex(' ')}"
        return f"{head}{shown}: {found.found.what}{less}", found.found.advice, True
    words = _words(found, told)
    if words is not None:
        return f"{head}{shown}: {words[0]}", words[1], True
    if isinstance(found, (InsideTls, Negative)):
        return _negative(found, head + shown)
    return _size(value, head, shown, told)


def _words(found: Sense, told: Logged) -> tuple[str, str] | None:
    """Return (what a number is, what to do) where its bytes say so."""
    read = {Role.COUNT: "an array's count", Role.CORRELATION_ID: "a correlation id", Role.API_KEY: "an API key",
            Role.NUMBER: "a number"}.get(told.role, "a length")  # fmt: skip
    if isinstance(found, Fill):
        return f"a fill pattern; {found.by}", (
            "That memory was never written, or was overwritten or freed while it was being sent: a fault of the "
            "program that wrote it, and not of the network."
        )
    if isinstance(found, Letters):
        return f'text, "{found.text}", read as {read}', f"The reader stands inside a string. {PLACE_LOST}"
    if isinstance(found, StringAhead):
        begins = f'a STRING of {found.length} bytes that begins with "{found.text}", read as {read}'
        return (
            f'{found.length >> 8:02x} {found.length & 255:02x} "{found.text}": {begins}',
            f"The reader stands where a string begins, two bytes off at the least. {OTHER_VERSION}",
        )
    if isinstance(found, NullAhead):
        return f"the INT16s {found.first} and -1 (null), read as {read}", (
            f"The reader stands at another field than it believes: one of two bytes, then a null. {OTHER_VERSION}"
        )
    if isinstance(found, Shifted) and _is_no_size(found, told):
        return f"{found.number} read {found.early} bytes early as {read}, or with its bytes the other way round", (
            "Kafka's numbers are big-endian: whoever wrote this may not know. Or the reader stands in front of the "
            "number: it reads by another version's layout, or an earlier length was wrong."
        )
    if isinstance(found, TextEnds):
        return f'the end of a string, "{found.text}", and what follows it, read as {read}', PLACE_LOST
    return None


def _is_no_size(found: Shifted, told: Logged) -> bool:
    """Return whether a number is not what the words around say: no id, no count; a refused size that is not round."""
    if told.role in (Role.CORRELATION_ID, Role.API_KEY, Role.API_VERSION, Role.COUNT):
        return True
    return bool(told.limit or told.left) and found.early == 3 and found.number.bit_count() > 1


def _negative(found: Sense, head: str) -> tuple[str, str, bool]:
    if isinstance(found, InsideTls):
        return f"{head}: no size of Kafka's; a TLS version stands in it", (
            "The bytes are from inside a TLS stream whose beginning was passed over, or the reader lost its place."
        ), True  # fmt: skip
    return f"{head}: no size, it is negative", (
        f"{LOST} Bytes from inside a TLS stream, or of compressed data, look so."
    ), False  # fmt: skip


def _size(value: int, head: str, shown: str, told: Logged) -> tuple[str, str, bool]:
    """Return what a number is whose bytes say nothing but a size."""
    if told.left is not None and told.left < value <= WIDEST and told.role is Role.LENGTH:
        return f"a field of {value} bytes, where {told.left:,} bytes are left", TOO_SHORT, True
    if told.left is not None and value > told.left:
        what = "an array of so many items" if told.role is Role.COUNT else "a field of so many bytes"
        return f"{head}{shown}: {what}, where {told.left:,} bytes are left", (
            f"It is no length. {PLACE_LOST}"
        ), True  # fmt: skip
    if told.limit is not None and told.limit < value <= MAX_FRAME:
        return (
            f"{head}: a size of {value:,} bytes ({_parts(value)}), above the limit of {told.limit:,}",
            _real(value),
            True,
        )
    if told.role is Role.SIZE and 1024 < value <= MAX_FRAME:
        return f"{head}: as a size, a message of {value:,} bytes ({_parts(value)})", _real(value), True
    if value <= REFUSED and told.role in (Role.NUMBER, Role.SIZE):
        return f"{head}: as a size, a message of {value:,} bytes ({_unit(value)})", "", True
    if value <= REFUSED:
        halves = f"{value >> 16} and {value & 0xFFFF}"
        return f"{head}{shown}: as two INT16s {halves}; as a length {value:,} bytes ({_unit(value)})", PLACE_LOST, True
    most = f"more than brokers accept (socket.request.max.bytes, {REFUSED:,} if not configured)"
    likely = f"If it is a size, this is {most}. {LOST}" if value <= MAX_FRAME else f"That is {most}. {LOST}"
    return f"{head}{shown}: as a size {value:,} bytes ({_unit(value)})", likely, False


def _real(value: int) -> str:
    """Return what to do about a size that a message can have and a reader refuses."""
    size = sense(value)
    if isinstance(size, Size) and size.mebibytes >= 1 and size.beside < 4096:
        return (
            f"A real one: {size.mebibytes} MiB of records and {size.beside} bytes around them is what a Fetch of up to "
            f"{size.mebibytes} partitions gives at 1 MiB each (max.partition.fetch.bytes), or one of larger ones. "
            "Raise the reader's limit above fetch.max.bytes, or fetch less at once."
        )
    return (
        "A size that messages have: what reads it accepts less. Raise the limit of the reader, or make the messages "
        "smaller (max.partition.fetch.bytes, fetch.max.bytes, max.request.size)."
    )


def _parts(value: int) -> str:
    """Return a size in MiB, and the bytes beside these where they are few."""
    size = sense(value)
    if isinstance(size, Size) and size.mebibytes and 0 < size.beside < 4096:
        return f"{size.mebibytes} MiB + {size.beside}"
    return _unit(value)


def _unit(size: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}"
        size = size / 1024  # type: ignore[assignment]
    return f"{size:.3g} GiB"


def _wrapped(text: str, look: Look) -> Sequence[str]:
    return textwrap.wrap(text, max(look.width, 40), break_long_words=False, break_on_hyphens=False)
