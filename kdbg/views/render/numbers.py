"""Numbers that a program read from the wire, in words: what their bytes are, and what to do about it."""

from __future__ import annotations

from ...exchanges.engine.foreign import is_tls, recognise
from ...exchanges.engine.foreign import number as foreign_number
from ...exchanges.engine.search import MAX_FRAME, REFUSED
from ...protocol.findings.amounts import count
from .columns import paragraph
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


FILLS = {
    0xAA: "debugging allocators, and others, fill memory with it",
    0xCC: "MSVC fills the stack with it",
    0xCD: "MSVC fills new memory with it",
    0xDD: "MSVC fills freed memory with it",
    0xA5: "jemalloc fills new memory with it",
    0x5A: "jemalloc fills freed memory with it",
    0xAB: "Windows marks the end of heap blocks with it",
    0xFD: "MSVC fences heap blocks with it",
    0x55: "test patterns are made of it",
}
WORDS = {
    0xDEADBEEF: "a mark for freed or unset memory", 0xBAADF00D: "Windows' mark for new memory",
    0xFEEEFEEE: "Windows' mark for freed memory", 0xCAFEBABE: "the beginning of a Java class file",
    0xDEADC0DE: "a mark for freed memory", 0xFEEDFACE: "the beginning of a macOS program",
}  # fmt: skip
LONGEST = 1 << 12
"""Strings that stand where a count is read are names: they are short."""


def bytes_of(value: int) -> bytes:
    """Return the four bytes of a number."""
    return (value & 0xFFFFFFFF).to_bytes(4, "big")


def is_text(byte: int) -> bool:
    """Return whether a byte is a printable ASCII letter, digit or mark."""
    return 32 < byte < 127


def number_facts(value: int, read_as: str = "a number", limit: int | None = None) -> tuple[str, str, bool]:
    """Return (what a number is, what to do, whether it could be explained); `limit` is what a size must not exceed."""
    head = f"{value} = 0x{bytes_of(value).hex()}"
    return _other(value, head, read_as, limit) or _size(value, head, limit)


def _other(value: int, head: str, read_as: str, limit: int | None) -> tuple[str, str, bool] | None:
    """Return what a number is whose bytes are no size: of another protocol, text, a pattern; None for a size."""
    data = bytes_of(value)
    if (found := foreign_number(value)) is not None:
        return f"{head}, the bytes{_bytes(value)}: {found.what}", found.advice, True
    if value + 4 < 1 << 31 and (found := recognise(bytes_of(value + 4))) is not None:
        what = f"{found.what}; older readers (librdkafka) subtract 4 from a size"
        return f"{head}, 4 less than the bytes{_bytes(value + 4)}: {what}", found.advice, True
    if (words := _words(data, read_as, limit)) is not None:
        return f"{head}, the bytes{_bytes(value)}: {words[0]}", words[1], True
    if data[0] >= 0x80 and is_tls(b"\x17" + data[1:]):
        what = "not a Kafka size; it contains a TLS version"
        return f"{head}, the bytes{_bytes(value)}: {what}", "The bytes are probably from inside a TLS stream.", True
    if value < 0:
        return f"{head}, the bytes{_bytes(value)}: not a size, because it is negative", NO_SIZE, False
    return None


def number_text(value: int, look: Look) -> tuple[str, bool]:
    """Return the text about a number from an error log, and whether it could be explained."""
    head, advice, known = number_facts(value)
    return "\n".join([look.paint("heading", head), *paragraph(advice, look.width)]) + "\n", known


def reading(value: int, read_as: str, width: int = 4) -> tuple[str, str] | None:
    """Return (what the bytes of a number are, what to do) if they are something else; `width` is that of the field."""
    if width == 2 and 0 <= value < 1 << 16:
        data = value.to_bytes(2, "big")
        if not all(map(is_text, data)):
            return None
        what = f'{value} = 0x{data.hex()}, the bytes {data.hex(" ")}: text, "{data.decode()}", read as {read_as}'
        return what, OTHER_LAYOUT
    what, advice, known = number_facts(value, read_as)
    return (what, advice) if known and _other(value, "", "", None) is not None else None


def _bytes(value: int) -> str:
    """Return the four bytes of a number, and their text where they have some."""
    data = bytes_of(value)
    return f" {data.hex(' ')}" + (f' "{printable(data)}"' if printable(data).count(".") <= data.count(b".") else "")


def _words(data: bytes, read_as: str, limit: int | None) -> tuple[str, str] | None:
    """Return (what four bytes are, what to do) where they are no number's: a pattern, text, or two INT16s."""
    first, second = int.from_bytes(data[:2]), int.from_bytes(data[2:])
    letters = [is_text(byte) for byte in data]
    fill = WORDS.get(first << 16 | second) or (FILLS.get(data[0]) if len(set(data)) == 1 else None)
    if fill is not None:
        return f"a fill pattern; {fill}", FILLED
    if all(letters):
        return f'text, "{data.decode()}", read as {read_as}', f"The reader is inside a string. {OTHER_LAYOUT}"
    if 2 <= first < LONGEST and all(letters[2:]):
        text = data[2:].decode()
        begins = f'a STRING of {count(first, "byte")} that begins with "{text}", read as {read_as}'
        advice = f"The reader is at the start of a string, at least two bytes off. {OTHER_LAYOUT}"
        return begins, advice
    if second == 0xFFFF and first < 128:
        what = f"the INT16s {first} and -1 (null), read as {read_as}"
        return what, f"The reader is at other fields: an INT16, then a null. {OTHER_LAYOUT}"
    if all(letters[:2]) and (data[2] in (0, 0xFF) or (letters[2] and not data[3])):
        text = data[: 2 + letters[2]].decode()
        return f'the end of a string, "{text}", and what follows it, read as {read_as}', OTHER_LAYOUT
    early = 2 if 0 < first < 128 else 3
    number = first if early == 2 else data[0]
    if second or not 0 < number < 128 or (early == 3 and data[1]):
        return None
    odd = bool(limit) and early == 3 and number.bit_count() > 1  # a size that was rejected and is not round
    if read_as in ("a length", "a number") and not odd:
        return None
    return f"{number} read {count(early, 'byte')} early as {read_as}, or with its bytes reversed", ORDER


def _size(value: int, head: str, limit: int | None) -> tuple[str, str, bool]:
    """Return what a number is whose bytes are nothing but a size."""
    if limit is not None and limit < value <= MAX_FRAME:
        meaning = f"{head}: a size of {count(value, 'byte')} ({_parts(value)}), above the limit of {limit:,}"
        return meaning, _real(value), True
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
