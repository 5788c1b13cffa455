"""Numbers that a program read from the wire, in words: what their bytes are, and what to do about it."""

from __future__ import annotations

import textwrap

from ...exchanges.engine.search import MAX_FRAME, REFUSED
from ...exchanges.guess.numbers import (
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
    is_text,
    sense,
)
from ...protocol.findings.amounts import count
from .hex.grid import printable
from .style import Look

OTHER_LAYOUT = (
    "The reader expects another layout than the writer uses, or an earlier length was wrong. Compare the version in "
    "the request header with the layout that the sender writes."
)
NO_SIZE = (
    "The sender probably uses another protocol, or the bytes are inside a TLS stream or compressed data. Give the "
    "connection's first bytes to `kdbg explain`."
)
FILLED = (
    "The sending program did not write this memory, or overwrote or freed it during the send: the fault is in that "
    "program, not in the network."
)
ORDER = (
    "Check the byte order of the program that wrote the number: Kafka's integers are big-endian. Otherwise the reader "
    "is before the number: it expects another layout, or an earlier length was wrong."
)


def number_facts(value: int, read_as: str = "a number", limit: int | None = None) -> tuple[str, str, bool]:
    """Return (what a number is, what to do, whether it could be explained); `limit` is what a size must not exceed."""
    found, head = sense(value), f"{value} = 0x{bytes_of(value).hex()}"
    if isinstance(found, Foreign):
        less = f"; older readers (librdkafka) subtract {found.less} from a size" if found.less else ""
        at = f", {found.less} less than the bytes" if found.less else ", the bytes"
        return f"{head}{at}{_bytes(value + found.less)}: {found.found.what}{less}", found.found.advice, True
    words = _words(found, value, read_as, limit)
    if words is not None:
        return f"{head}, the bytes{_bytes(value)}: {words[0]}", words[1], True
    if isinstance(found, InsideTls):
        what = "not a Kafka size; it contains a TLS version"
        return f"{head}, the bytes{_bytes(value)}: {what}", "The bytes are probably from inside a TLS stream.", True
    if isinstance(found, Negative):
        return f"{head}, the bytes{_bytes(value)}: not a size, because it is negative", NO_SIZE, False
    return _size(value, head, limit)


def number_text(value: int, look: Look) -> tuple[str, bool]:
    """Return the text about a number from an error log, and whether it could be explained."""
    head, advice, known = number_facts(value)
    lines = textwrap.wrap(advice, max(look.width, 40), break_long_words=False, break_on_hyphens=False)
    return "\n".join([look.paint("heading", head), *lines]) + "\n", known


def reading(value: int, read_as: str, width: int = 4) -> tuple[str, str] | None:
    """Return (what the bytes of a number are, what to do) if they are something else; `width` is that of the field."""
    if width == 2 and 0 <= value < 1 << 16:
        data = value.to_bytes(2, "big")
        if not all(map(is_text, data)):
            return None
        what = f'{value} = 0x{data.hex()}, the bytes {data.hex(" ")}: text, "{data.decode()}", read as {read_as}'
        return what, OTHER_LAYOUT
    what, advice, known = number_facts(value, read_as)
    return (what, advice) if known and not isinstance(sense(value), Size) else None


def _bytes(value: int) -> str:
    """Return the four bytes of a number, and their text where they have some."""
    data = bytes_of(value)
    return f" {data.hex(' ')}" + (f' "{printable(data)}"' if printable(data).count(".") <= data.count(b".") else "")


def _words(found: Sense, value: int, read_as: str, limit: int | None) -> tuple[str, str] | None:
    """Return (what a number is, what to do) where its bytes are no number's."""
    if isinstance(found, Fill):
        return f"a fill pattern; {found.by}", FILLED
    if isinstance(found, Letters):
        return f'text, "{found.text}", read as {read_as}', f"The reader is inside a string. {OTHER_LAYOUT}"
    if isinstance(found, StringAhead):
        begins = f'a STRING of {count(found.length, "byte")} that begins with "{found.text}", read as {read_as}'
        advice = f"The reader is at the start of a string, at least two bytes off. {OTHER_LAYOUT}"
        return begins, advice
    if isinstance(found, NullAhead):
        what = f"the INT16s {found.first} and -1 (null), read as {read_as}"
        return what, f"The reader is at other fields: an INT16, then a null. {OTHER_LAYOUT}"
    if isinstance(found, Shifted) and (read_as not in ("a length", "a number") or _is_odd(found, limit)):
        return (
            f"{found.number} read {count(found.early, 'byte')} early as {read_as}, or with its bytes reversed",
            ORDER,
        )
    if isinstance(found, TextEnds):
        return f'the end of a string, "{found.text}", and what follows it, read as {read_as}', OTHER_LAYOUT
    return None


def _is_odd(found: Shifted, limit: int | None) -> bool:
    """Return whether a size that was rejected is not round."""
    return bool(limit) and found.early == 3 and found.number.bit_count() > 1


def _size(value: int, head: str, limit: int | None) -> tuple[str, str, bool]:
    """Return what a number is whose bytes are nothing but a size."""
    if limit is not None and limit < value <= MAX_FRAME:
        return (
            f"{head}: a size of {count(value, 'byte')} ({_parts(value)}), above the limit of {limit:,}",
            _real(value),
            True,
        )
    if value <= REFUSED:
        advice = _real(value) if _is_fetch(value) else ""
        parts = f" ({_parts(value)})" if value >= 1 << 10 else ""
        return f"{head}: as a size, a message of {count(value, 'byte')}{parts}", advice, True
    most = f"more than brokers accept (socket.request.max.bytes, default {REFUSED:,})"
    likely = f"If it is a size, this is {most}. {NO_SIZE}" if value <= MAX_FRAME else f"That is {most}. {NO_SIZE}"
    return f"{head}, the bytes{_bytes(value)}: as a size {count(value, 'byte')} ({_unit(value)})", likely, False


def _is_fetch(value: int) -> bool:
    """Return whether a size is some MiB and few bytes, as a Fetch response of full partitions has."""
    return value >= 1 << 20 and 0 < value % (1 << 20) < 4096


def _real(value: int) -> str:
    """Return what to do about a size that a message can have and a reader rejects."""
    if value >= 1 << 20 and value % (1 << 20) < 4096:
        mebibytes, beside = divmod(value, 1 << 20)
        return (
            f"A possible size: {mebibytes:,} MiB of records and {count(beside, 'byte')} around them is the response to "
            f"a Fetch of up to {count(mebibytes, 'partition')} at 1 MiB each (max.partition.fetch.bytes). "
            "Raise the reader's limit above fetch.max.bytes, or fetch less at once."
        )
    return (
        "A possible size: the reader accepts less. Raise the limit of the reader, or make the messages "
        "smaller (max.partition.fetch.bytes, fetch.max.bytes, max.request.size)."
    )


def _parts(value: int) -> str:
    """Return a size in MiB, and the bytes beside these where they are few."""
    return f"{value >> 20} MiB + {value & 0xFFFFF}" if _is_fetch(value) else _unit(value)


def _unit(size: int) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.3g} {unit}" if unit != "bytes" else count(size, "byte")
        size = size / 1024  # type: ignore[assignment]
    return f"{size:.3g} GiB"
