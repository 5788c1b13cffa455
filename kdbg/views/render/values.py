"""Values as a person reads them: escaped, named, dated, sized. Every captured string passes through here.

Captured text is hostile: control characters, escape sequences and direction marks are shown as escapes, so that they
never reach a terminal. A value that a person cannot read stands beside its meaning. The clock of a view writes the date
once, then times of day.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any, Final, TypeVar
from unicodedata import east_asian_width

from ...protocol.findings.amounts import count, rounded
from ...protocol.grammars import name_of
from ...protocol.grammars.errors import describe
from ...protocol.wire.nodes import Fixed, Node
from ...protocol.wire.readings.secrets import Hidden
from ...protocol.wire.records.sets import APPEND_TIME, CODEC_MASK, CONTROL, TRANSACTIONAL

CODEC_NAMES = ("", "gzip", "snappy", "lz4", "zstd")
DELETE_HORIZON = 0x40
CHECKSUM = "0x%08x"
"""How a checksum is written, for `%`."""
ADDRESSES = 4, 16
"""Bytes of an IP address."""
MOST_KEPT, LONGEST_KEPT = 20_000, 1000
"""Texts that are remembered, and characters of one of them."""


Made = TypeVar("Made", str, bytes)


class Memo(dict[Any, Made]):
    """Texts that were made once and are likely to be wanted again: no long ones, and not too many."""

    def __init__(self, make: Callable[[Any], Made], *, longest: int = LONGEST_KEPT, most: int = MOST_KEPT) -> None:
        super().__init__()
        self.make: Callable[[Any], Made] = make
        self.longest, self.most = longest, most

    def __missing__(self, key: Any) -> Made:
        text: Made = self.make(key)
        if len(text) <= self.longest:
            if len(self) >= self.most:
                self.clear()
            self[key] = text
        return text


FIRST_WIDE: Final = "\u0300"
"""Letters below are narrow."""


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes at most: East Asian wide letters take two."""
    if text.isascii():
        return len(text)
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text if letter >= FIRST_WIDE)


def cut(text: str, room: int) -> str:
    """Return the text, cut to `room` columns with an ellipsis if it is wider."""
    if cells(text) <= room:
        return text
    text = text[: max(room - 1, 0)]
    while cells(text) >= room > 1:
        text = text[:-1]
    return f"{text}…" if room > 0 else ""


def escape(text: str) -> str:
    """Return the text with backslashes doubled and every character that is not printable as an escape."""
    if text.isprintable() and "\\" not in text:
        return text
    return text.translate(ESCAPED)


def _escaped(code: int) -> str:
    letter = chr(code)
    if letter.isprintable() and letter != "\\":
        return letter
    if 0xDC80 <= code <= 0xDCFF:
        code -= 0xDC00  # a byte that is not UTF-8, kept as a surrogate
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}.get(letter)
    return named or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


ESCAPED: Final = Memo(_escaped)
"""How letters are shown, by their code points, for `translate`."""


def quote(text: str | None, most: int = 1 << 62) -> str:
    """Return a string in quotes, escaped; past `most` characters only how many more there are. Null has no quotes."""
    if text is None:
        return "null"
    if len(text) > most:
        return f'"{escape(text[:most])}"… {len(text) - most:,} more characters'
    return f'"{text}"' if text.isprintable() and "\\" not in text else f'"{escape(text)}"'


def octets(data: bytes | None, most: int = 1 << 62) -> str:
    """Return the number of bytes and the bytes in hex, shortened to about `most` columns; hidden bytes stay hidden."""
    if data is None:
        return "null"
    if isinstance(data, Hidden):
        return f"<{count(len(data), 'byte')} redacted>"
    shown = data[: min(most // 3 + 1, 1 << 20)]
    more = f"… {len(data) - len(shown):,} more" if len(shown) < len(data) else ""
    return f"{len(data)} byte{'s' * (len(data) != 1)}" + (f"  {shown.hex(' ')}{more}" if data else "")


def address(data: bytes | None, most: int = 1 << 62) -> str:
    """Return the bytes of an IP address in hex with the address beside; other bytes, and null, as `octets` does."""
    if data is None or isinstance(data, Hidden) or len(data) not in ADDRESSES:
        return octets(data, most)
    return f"{octets(data)}  {ip_address(bytes(data))}"


def content(data: bytes | None, most: int = 1 << 62) -> str:
    """Return a record's key or value in quotes if it is valid UTF-8, else as `octets` does."""
    if data is None:
        return "null"
    if isinstance(data, Hidden):
        return octets(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return octets(data, most)
    return quote(text, most)


SECONDS = Memo(lambda second: f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}")
"""Seconds since 1970 -> date and time of day, in UTC."""


def timestamp(value: int) -> str:
    """Return milliseconds since 1970 with date and time in UTC; alone if negative or beyond the year 9999."""
    if not 0 <= value < 253_402_300_800_000:
        return f"{value}"
    return f"{value}  {SECONDS[value // 1000]}.{value % 1000:03d} UTC"


def duration(value: int) -> str:
    """Return milliseconds, with a larger unit beside where one helps."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if value >= size and value != (1 << 31) - 1 and value != (1 << 63) - 1:
            return f"{value} ms  {value / size:.4g} {unit}"
    return f"{value} ms"


def bits(value: int, names: Mapping[int, str]) -> str:
    """Return a bit set with the names of its bits."""
    if value == -(1 << 31):
        return f"{value}  not requested"
    found = [names.get(bit, f"bit {bit}") for bit in range(64) if value >> bit & 1] if value >= 0 else []
    return f"{value}  {', '.join(found) or 'none'}"


def attributes(value: int, magic: int) -> str:
    """Return the attributes of a message of magic 0 or 1, or of a batch, with what their bits mean."""
    codec = value & CODEC_MASK
    words = [CODEC_NAMES[codec] if codec < len(CODEC_NAMES) else f"codec {codec}"] if codec else ["uncompressed"]
    if magic == 2 or (magic == 1 and value & APPEND_TIME):
        words.append("append time" if value & APPEND_TIME else "create time")
    if magic == 2:
        flags = ((TRANSACTIONAL, "transactional"), (CONTROL, "control"), (DELETE_HORIZON, "delete horizon"))
        words += [word for bit, word in flags if value & bit]
    return f"{value}  {', '.join(words)}"


def error(code: int) -> str:
    """Return an error code with its name and whether to try again."""
    return f"{code}  {describe(code)}"


def api_key(key: int) -> str:
    return f"{key}  {name_of(key) or 'unknown'}"


def number(node: Node) -> Callable[[Any], str] | None:
    """Return the function that writes values of a numeric field with their meaning; None if they have none."""
    simple: dict[str, Callable[[Any], str]] = {
        "error": error,
        "api": api_key,
        "duration": duration,
        "crc": lambda value: CHECKSUM % (value & 0xFFFFFFFF),
        "batch_attributes": lambda value: attributes(value, 2),
        "message_attributes": lambda value: attributes(value, 1),
        "message_attributes_0": lambda value: attributes(value, 0),
    }
    if node.kind in simple:
        return simple[node.kind]
    names = node.names or {}
    if node.kind == "timestamp" and not names:
        return timestamp
    if node.kind == "timestamp":
        return lambda value: f"{value}  {names[value]}" if value in names else timestamp(value)
    if node.kind == "bits":
        return lambda value: bits(value, names)
    if isinstance(node, Fixed) and node.boolean:
        return lambda value: ("true" if value else "false") + (f"  {names[value]}" if value in names else "")
    if node.kind == "enum":
        return lambda value: f"{value}  {names[value]}" if value in names else str(value)
    return None


def topic_id(value: uuid.UUID, name: str | None) -> str:
    """Return a topic id with the topic's name, where that is known."""
    return f"{value}  {quote(name)}" if name is not None else str(value)


SECOND = 1_000_000_000
"""Nanoseconds of a second."""
clocks = Memo(lambda millisecond: f"{SECONDS[millisecond // 1000][11:]}.{millisecond % 1000:03d}")
"""Milliseconds since 1970 -> the time of day, in UTC."""


iso_seconds = Memo(lambda second: SECONDS[second].replace(" ", "T"))


def iso(time: int) -> str:
    """Return a time in nanoseconds since 1970 in ISO 8601, in UTC, to the nanosecond."""
    return f"{iso_seconds[time // SECOND]}.{time % SECOND:09d}Z"


def has_date(time: int) -> bool:
    """Return whether a time in nanoseconds since 1970 has a date: not before that, nor beyond the year 9999."""
    return 0 <= time < 253_402_300_800 * SECOND


def moment(time: int) -> str:
    """Return a time in nanoseconds since 1970 as date and time of day in UTC, to the microsecond."""
    return f"{SECONDS[time // SECOND]}.{time // 1000 % 1_000_000:06d}"


def latency(nanoseconds: int | None) -> str:
    """Return a duration in nanoseconds as text in s, ms or µs; a dash for None."""
    if nanoseconds is None:
        return "–"
    size = abs(nanoseconds)
    unit, scale = ("s", 1e9) if size >= 999_500_000 else ("ms", 1e6) if size >= 999_500 else ("µs", 1e3)
    return f"{rounded(nanoseconds / scale)} {unit}"


class Clock:
    """Writes times of a day; the day is that of the first time that is asked for."""

    times: Memo[str]

    def __init__(self, *, local: bool = False) -> None:
        self.local = local
        self._day = ""
        self._seconds: Memo[str] = Memo(self._second)
        self.times = Memo(lambda millisecond: f"{self._seconds[millisecond // 1000]}.{millisecond % 1000:03d}")
        """Milliseconds since 1970 -> the time of day; after month and day where these are others than the first."""

    def at(self, second: int) -> datetime:
        """Return seconds since 1970 as date and time."""
        moment = datetime.fromtimestamp(second, UTC)
        return moment.astimezone() if self.local else moment

    def zone(self, second: int | None) -> str:
        """Return the name of the zone, at this time."""
        return self.at(second or 0).strftime("%Z")

    def day(self, second: int) -> str:
        """Return the date."""
        return f"{self.at(second):%Y-%m-%d}"

    def begin(self, second: int) -> None:
        """Take the day of this time for the first."""
        self._day = self._day or self.day(second)

    def of_day(self, time: int) -> str:
        """Return a time in nanoseconds since 1970 as the time of the day."""
        return self.times[time // 1_000_000] if time > 0 else "unknown time"

    def seen(self, since: int, until: int, number: int) -> str:
        """Return when something was seen, and how often: "12:00:00.000 to 12:00:01.500 · 3 times"."""
        first, last = self.of_day(since), self.of_day(until)
        when = first if first == last else f"{first} to {last}"
        return f"{when} · {count(number, 'time')}"

    def _second(self, second: int) -> str:
        self.begin(second)
        moment, day = self.at(second), self.day(second)
        return f"{moment:%H:%M:%S}" if day == self._day else f"{moment:%m-%d %H:%M:%S}"
