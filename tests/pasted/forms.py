"""Bytes written in every form that people paste, and log lines that stand around them."""

from __future__ import annotations

import json
import random
import textwrap
from collections.abc import Callable
from typing import Final

Write = Callable[[bytes], str]


def _signed(data: bytes) -> str:
    return ", ".join(str(byte - 256 if byte > 127 else byte) for byte in data)


def _xxd(data: bytes) -> str:
    rows = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"{at:08x}: {row.hex(' ', 2):<39}  {text}")
    return "\n".join(rows)


def _hexdump(data: bytes) -> str:
    rows = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        columns = f"{row[:8].hex(' ')}  {row[8:].hex(' ')}"
        rows.append(f"{at:08x}  {columns:<48}  |{text}|")
    return "\n".join([*rows, f"{len(data):08x}"])


def _netty(data: bytes) -> str:
    line = "+--------+-------------------------------------------------+----------------+"
    rows = ["         +-------------------------------------------------+",
            "         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |", line]  # fmt: skip
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        rows.append(f"|{at:08x}| {row.hex(' '):<47} |{text:<16}|")
    return "\n".join([*rows, line])


def _go_quoted(data: bytes) -> str:
    letters = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 92: "\\\\"}
    return '"' + "".join(letters.get(b) or (chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in data) + '"'


def _rust(data: bytes) -> str:
    letters = {0: "\\0", 10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 92: "\\\\"}
    return 'b"' + "".join(letters.get(b) or (chr(b) if 32 <= b < 127 else f"\\x{b:02x}") for b in data) + '"'


def _c(data: bytes) -> str:
    return '"' + "".join(f"\\x{byte:02x}" for byte in data) + '"'


def _commented(data: bytes) -> str:
    rows = [data[at : at + 4] for at in range(0, len(data), 4)]
    return "\n".join(f"{row.hex(' ')}  // field {number}" for number, row in enumerate(rows))


def _pieces(data: bytes) -> str:
    rows = [data[at : at + 8] for at in range(0, len(data), 8)]
    return "bytes.fromhex(\n" + "\n".join(f'    "{row.hex()}"  # part {n}' for n, row in enumerate(rows)) + "\n)"


def _escapes(data: bytes) -> str:
    """As JavaScript prints a binary string."""
    return "'" + "".join(chr(b) if 32 <= b < 127 and b not in (39, 92) else f"\\u{b:04x}" for b in data) + "'"


CONTROLS: Final = (
    "NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "a", "b", "t", "n", "v", "f", "r", "SO", "SI", "DLE", "DC1", "DC2",
    "DC3", "DC4", "NAK", "SYN", "ETB", "CAN", "EM", "SUB", "ESC", "FS", "GS", "RS", "US",
)  # fmt: skip


def _haskell(data: bytes) -> str:
    """As `show` prints a ByteString: what follows a number or SO stands behind \\& where it could belong to it."""
    written = ""
    for byte, after in zip(data, [*data[1:], 0], strict=True):
        if 32 <= byte < 127:
            written += f"\\{chr(byte)}" if byte in b'"\\' else chr(byte)
            continue
        name = CONTROLS[byte] if byte < 32 else "DEL" if byte == 127 else str(byte)
        parted = (name.isdecimal() and chr(after).isdecimal()) or (name == "SO" and after == ord("H"))
        written += f"\\{name}" + "\\&" * parted
    return f'"{written}"'


def _ocaml(data: bytes) -> str:
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:03d}" for b in data) + '"'


def _perl(data: bytes) -> str:
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\x{{{b:02x}}}" for b in data) + '"'


FORMS: Final[dict[str, Write]] = {
    "Python": repr,
    "Python bytearray": lambda data: repr(bytearray(data)),
    "hex in a call": lambda data: f'testHex("{data.hex()}")',
    "hex alone": lambda data: data.hex(),
    "hex by lines": lambda data: "\n".join(textwrap.wrap(data.hex(" "), 47)),
    "hex with comments": _commented,
    "hex in pieces": _pieces,
    "Java": lambda data: f"payload = [{_signed(data)}]",
    "Java array": lambda data: f"new byte[] {{{_signed(data)}}}",
    "C": lambda data: "unsigned char b[] = {" + ", ".join(f"0x{byte:02x}" for byte in data) + "};",
    "C string": _c,
    "Go %v": lambda data: "[" + " ".join(map(str, data)) + "]",
    "Go %q": _go_quoted,
    "Go source": lambda data: "[]byte{" + ", ".join(f"0x{byte:x}" for byte in data) + "}",
    "Rust": _rust,
    "Rust debug": lambda data: "Bytes { raw: [" + ", ".join(map(str, data)) + "] }",
    "Erlang": lambda data: "<<" + ",".join(map(str, data)) + ">>",
    "Elixir": lambda data: "<<" + ", ".join(map(str, data)) + ">>",
    "PHP": _c,
    "Ruby": _go_quoted,
    "Node": lambda data: f"<Buffer {data.hex(' ')}>",
    "Node's JSON": lambda data: json.dumps({"type": "Buffer", "data": list(data)}),
    "JavaScript string": _escapes,
    "JavaScript typed array as JSON": lambda data: json.dumps({str(at): byte for at, byte in enumerate(data)}),
    "C#, with dashes": lambda data: data.hex("-").upper(),
    "Scala": lambda data: "Array[Byte](" + ", ".join(f"0x{byte:02x}.toByte" for byte in data) + ")",
    "Haskell": _haskell,
    "Perl": _perl,
    "a number a line": lambda data: "\n".join(map(str, data)),
    "logfmt": lambda data: f"bytes={data.hex()} level=debug",
    "xxd": _xxd,
    "hexdump -C": _hexdump,
    "netty": _netty,
}
"""Programs and what they write."""
LINES: Final = (
    "2024-03-11 09:14:02,118 DEBUG [Consumer clientId=orders-1, groupId=g] Sending FETCH request to node 3",
    "INFO  o.a.k.clients.Metadata - Cluster ID: 5L6g3nShT-eMCtK--X86sw (org.apache.kafka.clients.Metadata:279)",
    "kafka-1  | [2023-11-02 10:00:00,001] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state Stable",
    "panic: runtime error: slice bounds out of range [:1667] with capacity 53",
    "    at io.netty.channel.AbstractChannelHandlerContext.fireChannelRead(AbstractChannelHandlerContext.java:444)",
    "Traceback (most recent call last): File \"consumer.py\", line 125, in poll",
    "%7|1502951184.748|RECV|rdkafka#consumer-1| [thrd:127.0.0.1:9092/1]: Received MetadataResponse (v2, CorrId 2)",
    "I can't decode what the broker sends, what's wrong here? It isn't TLS.",
    "=> replicas=[1, 2, 3] isr=[1, 2, 3] epoch=0x12 leader=2 uuid=4bf92f35-77b3-4da6-a3ce-929d0e0e4736",
)  # fmt: skip


def log(chance: random.Random, text: str) -> str:
    """Put a text between random log lines; half of the time something stands in front of it on its line."""
    before = "\n".join(chance.choices(LINES, k=chance.randint(1, 3)))
    behind = "\n".join(chance.choices(LINES, k=chance.randint(1, 3)))
    single = "\n" not in text and not text[0].isalnum()
    front = chance.choice(("Couldn't parse: ", "data = ", "")) if single else ""
    return f"{before}\n{front}{text}\n{behind}\n"
