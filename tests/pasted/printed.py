"""Bytes as tcpdump and Wireshark print them."""

from __future__ import annotations

SAMPLE = bytes.fromhex("0000001d00030001000000020004") + b"kdbg face 00 11 beef"
"""Text columns of this one hold words that could be bytes."""


def tcpdump(data: bytes, *, text: bool = True) -> str:
    """As tcpdump -X, with the summary line it prints first."""
    lines = ["00:13:11.721027 IP 10.0.0.1.51514 > 10.0.0.2.9092: Flags [P.], seq 1:35, ack 1, win 8192, length 34"]
    for start in range(0, len(data), 16):
        line = data[start : start + 16]
        shown = "".join(chr(byte) if 32 < byte < 127 else "." for byte in line)
        lines.append(f"\t0x{start:04x}:  {line.hex(' ', 2):39}" + f"  {shown}" * text)
    return "\n".join(lines)


def wireshark_dump(data: bytes) -> str:
    """ "...as Hex + ASCII Dump", or tshark -x."""
    lines = []
    for start in range(0, len(data), 16):
        line = data[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)
        lines.append(f"{start:04x}  {line.hex(' '):47}   {shown}")
    return "\n".join(lines)


def wireshark_escaped(data: bytes) -> str:
    """ "...as Escaped String"."""
    lines = [data[start : start + 16] for start in range(0, len(data), 16)]
    return " \\\n".join('"' + "".join(f"\\x{byte:02x}" for byte in line) + '"' for line in lines)


def wireshark_array(data: bytes) -> str:
    """ "...as C Array", whose comments hold whatever the bytes show, even the end of a comment."""
    lines = [f"/* Frame ({len(data)} bytes) */", f"static const unsigned char pkt1[{len(data)}] = {{"]
    for start in range(0, len(data), 8):
        line = data[start : start + 8]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in line)
        lines.append(", ".join(f"0x{byte:02x}" for byte in line) + f", /* {shown} */")
    return "\n".join([*lines, "};"])
