"""Every form that people paste, made by the real tools where they are installed and by fixed samples everywhere."""

from __future__ import annotations

import base64
import shutil
import struct
import subprocess
import textwrap
from contextlib import suppress

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kdbg.capture.pasted import Pasted, read_bytes
from kdbg.errors import InputError

SAMPLE = bytes.fromhex("0000001d00030001000000020004") + b"kdbg face 00 11 beef"
"""Text columns of this one hold words that could be bytes."""

TRICKY = {
    "text columns of hex": SAMPLE,
    "nothing but hex words": b"face 00 beef 11 cafe 22 babe 33 dead 44",
    "a short last line of hex": b"0123456789abcdefface",
    "quotes and delimiters": b"|x| >y< 'a' \"b\" \\x00 * \\ |" * 3,
    "repeated lines": bytes(100) + b"end",
    "repeated to the end": b"abc" + bytes(61),
    "one byte": b"\x17",
    "eight bytes": b"00 00 11",
    "spaces": b" " * 21,
    "a space before and behind": b" 12 34 56 78 90 ",
    "all bytes": bytes(range(256)),
}

TOOLS = [
    "xxd",
    "xxd -a",
    "xxd -u",
    "xxd -d",
    "xxd -e",
    "xxd -o 100",
    "xxd -c 8",
    "xxd -c 24 -g 3",
    "xxd -c 256",
    "xxd -g 0",
    "xxd -g 1",
    "xxd -g 4",
    "xxd -p",
    "xxd -p -u",
    "xxd -i",
    "hexdump -C",
    "hexdump -v -C",
    "hexdump",
    "hexdump -x",
    "od -A x -t x1z",
    "od -A x -t x1z -w8",
    "od -A d -t x1z",
    "od -t x1",
    "od -x",
    "od -t x4",
    "od -A n -v -t x1",
    "base64",
    "base64 -w 20",
]

AMBIGUOUS = {"hexdump", "hexdump -x", "od -x", "od -t x4"}
"""Where `*` stands below the first line, nothing tells hexdump's offsets, in hex, from od's, in octal."""


@pytest.mark.parametrize("data", TRICKY.values(), ids=TRICKY.keys())
@pytest.mark.parametrize("command", TOOLS)
def test_what_the_tools_print_is_read(command, data):
    if data == TRICKY["repeated lines"] and command in AMBIGUOUS:
        pytest.skip("see the test below")
    words = command.split()
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    printed = subprocess.run(words, input=data, capture_output=True, check=True).stdout
    assert read_bytes(printed).data == data
    assert read_bytes(textwrap.indent(printed.decode(), "    ").replace("\n", "\r\n")).data == data


@pytest.mark.parametrize("first", ["0000000 0000 0000", "0000000 00000000"])
def test_offsets_that_fit_hexdump_and_od_alike_are_refused(first):
    with pytest.raises(InputError, match="the offsets can be hexdump's or od's"):
        read_bytes(f"{first}\n*\n0000140 6e65 0064\n0000143\n")


@pytest.mark.parametrize("command", ["xxd -b", "od", "od -b", "od -c", "hexdump -b", "hexdump -c", "od -d"])
def test_dumps_in_other_bases_are_refused_not_misread(command):
    words = command.split()
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    printed = subprocess.run(words, input=SAMPLE, capture_output=True, check=True).stdout
    with pytest.raises(InputError):
        read_bytes(printed)


def test_what_node_prints_is_read():
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    script = (
        f"b = Buffer.from('{SAMPLE.hex()}', 'hex'); for (x of [b, new Uint8Array(b), JSON.stringify(b)]) console.log(x)"
    )
    printed = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True).stdout
    buffer, _, rest = printed.partition("\n")
    array, _, json = rest.rstrip().rpartition("\n")
    assert {read_bytes(text).data for text in (buffer, array, json)} == {SAMPLE}


DUMPS = {
    "xxd": """
        00000000: 0000 001d 0003 0001 0000 0002 0004 6b64  ..............kd
        00000010: 6267 2066 6163 6520 3030 2031 3120 6265  bg face 00 11 be
        00000020: 6566                                     ef
        """,
    "xxd -e": """
        00000000: 1d000000 01000300 02000000 646b0400  ..............kd
        00000010: 66206762 20656361 31203030 65622031  bg face 00 11 be
        00000020:     6665                               ef
        """,
    "hexdump -C": """
        00000000  00 00 00 1d 00 03 00 01  00 00 00 02 00 04 6b 64  |..............kd|
        00000010  62 67 20 66 61 63 65 20  30 30 20 31 31 20 62 65  |bg face 00 11 be|
        00000020  65 66                                             |ef|
        00000022
        """,
    "hexdump": """
        0000000 0000 1d00 0300 0100 0000 0200 0400 646b
        0000010 6762 6620 6361 2065 3030 3120 2031 6562
        0000020 6665
        0000022
        """,
    "od": """
        000000 00 00 00 1d 00 03 00 01 00 00 00 02 00 04 6b 64  >..............kd<
        000010 62 67 20 66 61 63 65 20 30 30 20 31 31 20 62 65  >bg face 00 11 be<
        000020 65 66                                            >ef<
        000022
        """,
    "od, octal offsets": """
        0000000 00 00 00 1d 00 03 00 01 00 00 00 02 00 04 6b 64
        0000020 62 67 20 66 61 63 65 20 30 30 20 31 31 20 62 65
        0000040 65 66
        0000042
        """,
    "Wireshark, hex and text": """
        0000   00 00 00 1d 00 03 00 01 00 00 00 02 00 04 6b 64   ..............kd
        0010   62 67 20 66 61 63 65 20 30 30 20 31 31 20 62 65   bg face 00 11 be
        0020   65 66                                             ef
        """,
    "Wireshark, hex": """
        0000   00 00 00 1d 00 03 00 01 00 00 00 02 00 04 6b 64
        0010   62 67 20 66 61 63 65 20 30 30 20 31 31 20 62 65
        0020   65 66
        """,
    "Wireshark, followed stream": """
        00000000  00 00 00 1d 00 03 00 01  00 00 00 02 00 04 6b 64  ........ ......kd
        00000010  62 67 20 66 61 63 65 20  30 30 20 31 31 20 62 65  bg face  00 11 be
        00000020  65 66                                             ef
        """,
    "Python's hexdump": """
        00000000: 00 00 00 1D 00 03 00 01  00 00 00 02 00 04 6B 64  ..............kd
        00000010: 62 67 20 66 61 63 65 20  30 30 20 31 31 20 62 65  bg face 00 11 be
        00000020: 65 66                                             ef
        """,
    "scapy's hexdump": """
        0000  00 00 00 1D 00 03 00 01 00 00 00 02 00 04 6B 64  ..............kd
        0010  62 67 20 66 61 63 65 20 30 30 20 31 31 20 62 65  bg face 00 11 be
        0020  65 66                                            ef
        """,
    "kdbg explain": """
        0000  00 00 00 1d             size            29
        0004  00 03                   api_key         3 = Metadata
        0006  00 01                   api_version     1
        0008  00 00 00 02             correlation_id  2
        000c  00 04 6b 64 62 67       client_id       "kdbg"
        0012  20 66 61 63 65          face            "face"
        0017  20 30 30 20 31 31 20 62 65 65 66  it is over
        """,
    "prompts between": """
        $ tail -c +1 capture.bin | xxd
        00000000: 0000 001d 0003 0001 0000 0002 0004 6b64  ..............kd
        00000010: 6267 2066 6163 6520 3030 2031 3120 6265  bg face 00 11 be
        00000020: 6566                                     ef
        $
        """,
}


@pytest.mark.parametrize("dump", DUMPS.values(), ids=DUMPS.keys())
def test_fixed_samples_of_dumps_are_read(dump):
    assert read_bytes(textwrap.dedent(dump)).data == SAMPLE


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("0000  66 61 63 65    face", b"face"),
        ("00000000: 6661 6365                                face", b"face"),
        ("00000000: 3030 2030 30                             00 00", b"00 00"),
        ("00000000  00 00 00 1d                                       |....|", bytes([0, 0, 0, 29])),
        ("0000   00 00 00 1d", bytes([0, 0, 0, 29])),
        ("00000000: 0000 001d", bytes([0, 0, 0, 29])),
        ("00000000 00000004", bytes([0, 0, 0, 0, 0, 0, 0, 4])),
        ("00000017 0003 0001", bytes([0, 0, 0, 23, 0, 3, 0, 1])),
        ("0000 00 03", bytes([0, 0, 0, 3])),
    ],
)
def test_one_line_is_a_dump_only_if_it_shows_it(line, expected):
    assert read_bytes(line).data == expected


def test_repeated_lines_are_expanded():
    dump = "00000000  61 62  |ab|\n*\n00000006  63  |c|\n00000007\n"
    assert read_bytes(dump) == Pasted(b"abababc", "hexdump -C")


@pytest.mark.parametrize(
    ("dump", "text"),
    [
        ("00000000: 0000 001d  ....\n00000008: 0000", "line 1: by the next offset 8 bytes stand here, 4 do"),
        ("00000000: 0000 001d  ....\n*", "line 2: no offset says how often `*` repeats the line above"),
        ("00000000: 00\n*\nffffffffffff: 00", "line 2: no offset says how often"),
    ],
)
def test_a_broken_dump_is_told_by_its_line(dump, text):
    with pytest.raises(InputError, match="^" + text.replace("*", r"\*")):
        read_bytes(dump)


def ip(payload: bytes, *, version: int = 4, port: int = 51514) -> bytes:
    tcp = struct.pack(">HHIIBBHHH", port, 9092, 1, 1, 0x50, 0x18, 8192, 0, 0) + payload
    if version == 6:
        return struct.pack(">IHBB", 6 << 28, len(tcp), 6, 64) + bytes(15) + b"\1" + bytes(15) + b"\2" + tcp
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, b"\n\0\0\1", b"\n\0\0\2") + tcp


def ethernet(payload: bytes, *, version: int = 4, padding: int = 0) -> bytes:
    kind = b"\x08\x00" if version == 4 else b"\x86\xdd"
    return bytes(12) + kind + ip(payload, version=version) + bytes(padding)


def tcpdump(data: bytes, *, text: bool = True) -> str:
    """As tcpdump -X, with the summary line it prints first."""
    lines = ["00:13:11.721027 IP 10.0.0.1.51514 > 10.0.0.2.9092: Flags [P.], seq 1:35, ack 1, win 8192, length 34"]
    for start in range(0, len(data), 16):
        line = data[start : start + 16]
        shown = "".join(chr(byte) if 32 < byte < 127 else "." for byte in line)
        lines.append(f"\t0x{start:04x}:  {line.hex(' ', 2):39}" + f"  {shown}" * text)
    return "\n".join(lines)


PACKETS = {
    "IPv4": ip(SAMPLE),
    "IPv6": ip(SAMPLE, version=6),
    "Ethernet": ethernet(SAMPLE),
    "Ethernet, IPv6": ethernet(SAMPLE, version=6),
    "Ethernet, padded": ethernet(SAMPLE, padding=6),
}


@pytest.mark.parametrize("packet", PACKETS.values(), ids=PACKETS.keys())
class TestPackets:
    def test_tcpdumps_dumps_lose_their_headers(self, packet):
        assert read_bytes(tcpdump(packet)) == Pasted(SAMPLE, "tcpdump -X, TCP payload")
        assert read_bytes(tcpdump(packet, text=False)).data == SAMPLE
        assert read_bytes(tcpdump(packet).partition("\n")[2].strip()).data == SAMPLE

    def test_wiresharks_copies_lose_their_headers(self, packet):
        assert read_bytes(wireshark_dump(packet)) == Pasted(SAMPLE, "hexdump, TCP payload")
        assert read_bytes(packet.hex()) == Pasted(SAMPLE, "hex, TCP payload")
        assert read_bytes(wireshark_escaped(packet)) == Pasted(SAMPLE, "quoted string, TCP payload")
        assert read_bytes(wireshark_array(packet)) == Pasted(SAMPLE, "list of numbers, TCP payload")

    def test_cut_packets_are_taken_from_tcpdump_alone(self, packet):
        cut = packet.rstrip(b"\x00")[:-4]
        assert read_bytes(tcpdump(cut)) == Pasted(SAMPLE[:-4], "tcpdump -X, TCP payload")
        assert read_bytes(cut.hex()) == Pasted(cut, "hex")


def test_the_real_tcpdump_is_read():
    printed = """
    \t0x0000:  6000 0000 0036 0640 0000 0000 0000 0000  `....6.@........
    \t0x0010:  0000 0000 0000 0001 0000 0000 0000 0000  ................
    \t0x0020:  0000 0000 0000 0002 c93a 2384 0000 0001  .........:#.....
    \t0x0030:  0000 0001 5018 2000 a4bd 0000 0000 001d  ....P...........
    \t0x0040:  0003 0001 0000 0002 0004 6b64 6267 2066  ..........kdbg.f
    \t0x0050:  6163 6520 3030 2031 3120 6265 6566       ace.00.11.beef
    """
    assert read_bytes(printed) == Pasted(SAMPLE, "tcpdump -X, TCP payload")


def test_packets_of_one_side_are_joined_and_of_two_sides_refused():
    both = tcpdump(ip(b"\x00\x01")) + "\n" + tcpdump(ip(b"")) + "\n" + tcpdump(ip(b"\x02\x03"))
    assert read_bytes(both).data == b"\x00\x01\x02\x03"
    with pytest.raises(InputError, match="several connections or directions"):
        read_bytes(tcpdump(ip(b"\x00\x01")) + "\n" + tcpdump(ip(b"\x02\x03", port=9)))


def test_a_packet_without_payload_is_refused():
    with pytest.raises(InputError, match="without payload"):
        read_bytes(tcpdump(ip(b"")))


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


def signed(data: bytes) -> str:
    return ", ".join(str(byte - 256 if byte > 127 else byte) for byte in data)


def c_array(data: bytes) -> str:
    return (
        "unsigned char x[] = {\n  "
        + ",\n  ".join(f"0x{byte:02x}" for byte in data)
        + f"\n}};\nunsigned int x_len = {len(data)};"
    )


PRINTED = {
    "hex": lambda data: data.hex(),
    "hex, upper case": lambda data: data.hex().upper(),
    "hex, spaces": lambda data: data.hex(" "),
    "hex, colons": lambda data: data.hex(":"),
    "hex, dashes": lambda data: data.hex("-"),
    "hex, commas": lambda data: data.hex(","),
    "hex, lines": lambda data: "\n".join(textwrap.wrap(data.hex(), 61)),
    "hex, 0x": lambda data: "0x" + data.hex(),
    "hex, 0x each": lambda data: " ".join(f"0x{byte:x}" for byte in data),
    "escapes": lambda data: "".join(f"\\x{byte:02x}" for byte in data),
    "bytea": lambda data: "\\x" + data.hex(),
    "repr": repr,
    "repr of a bytearray": lambda data: repr(bytearray(data)),
    "fromhex": lambda data: f"bytes.fromhex('{data.hex()}')",
    "hex string": lambda data: f'"{data.hex()}"',
    "Wireshark's escapes": wireshark_escaped,
    "Wireshark's array": wireshark_array,
    "Wireshark's dump": wireshark_dump,
    "tcpdump": tcpdump,
    "list": lambda data: str(list(data)),
    "bytes of a list": lambda data: f"bytes({list(data)})",
    "Arrays.toString": lambda data: f"[{signed(data)}]",
    "Java": lambda data: f"new byte[] {{{signed(data)}}}",
    "Java with casts": lambda data: "new byte[]{" + ", ".join(f"(byte)0x{byte:02x}" for byte in data) + "}",
    "Kotlin": lambda data: "byteArrayOf(" + ", ".join(f"0x{byte:02X}.toByte()" for byte in data) + ")",
    "Go": lambda data: "[]byte{" + ", ".join(f"0x{byte:x}" for byte in data) + "}",
    "Go, printed": lambda data: "[" + " ".join(map(str, data)) + "]",
    "Rust": lambda data: "&[" + ", ".join(f"{byte}u8" for byte in data) + "]",
    "Erlang": lambda data: "<<" + ",".join(map(str, data)) + ">>",
    "C": c_array,
    "Node": lambda data: f"<Buffer {data.hex(' ')}>",
    "Node's JSON": lambda data: f'{{"type":"Buffer","data":{list(data)}}}',
    "base64 in Python": lambda data: f"base64.b64decode({base64.b64encode(data).decode()!r})",
}


@pytest.mark.parametrize("form", PRINTED.values(), ids=PRINTED.keys())
@given(data=st.binary(min_size=1, max_size=90))
@example(data=SAMPLE)
@example(data=b"' \" */ // }])>,{[(<")
@example(data=b"0000")
@example(data=b"\\x00")
def test_bytes_printed_in_any_form_come_back(form, data):
    assert read_bytes(form(data)).data == data
    assert read_bytes(f"\n  {form(data)}  \n".encode()).data == data


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes])
@pytest.mark.parametrize("padding", ["=", ""])
@given(data=st.binary(min_size=1, max_size=90))
def test_base64_comes_back_in_either_alphabet_with_or_without_padding(encode, padding, data):
    text = encode(bytes(4) + data).decode().replace("=", padding)
    assume(set(text) - set("0123456789abcdefABCDEF-\n"))
    assert read_bytes(text) == Pasted(bytes(4) + data, "base64")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000017 0003 0001 00000002 0004 6b646267", "00000017000300010000000200046b646267"),
        ("AAAAHQ==", "0000001d"),
        ("AAAAHQ", "0000001d"),
        ("AAA/+w==", "00003ffb"),
        ("AAA_-w", "00003ffb"),
        ("ABCD", "abcd"),  # hex before base64
        ("10,20,30", "102030"),  # hex before decimal, where there is no bracket
        ("[10, 20, 30]", "0a141e"),
        ("0, 0, 0, 29", "0000001d"),
        ("0x00, 23", "0017"),
        ("[00 00 00 17]", "00000017"),  # zeros in front: nobody writes decimals so
        ("{0x00, 0x17}", "0017"),
        ("new byte[] {0, 0, 0, 23, -1, (byte)0xff}", "00000017ffff"),
        ("Uint8Array(4) [\n  0, 0,\n  0, 29\n]", "0000001d"),
        ('char x[3] = "\\x00\\3";', "0003"),
        ('"\\x00\\x03" + "kd"', "00036b64"),
        (r"\x00\x04face\x01", "00046661636501"),
        ("bytearray(b'\\x00\\t')", "0009"),
        ("b'0000001d00030001'", "0000001d00030001"),  # from binascii.hexlify
        ("b'AAAAHQADAAEAAAAC'", "0000001d0003000100000002"),  # from base64.b64encode
        ("Buffer.from('AAAAHQ==', 'base64')", "0000001d"),
        ("\ufeff0000001d", "0000001d"),
        ("00\u00a001", "0001"),
    ],
)
def test_single_forms_are_read(text, expected):
    assert read_bytes(text).data == bytes.fromhex(expected)


@pytest.mark.parametrize(
    "data", [b"\x00\x00\x00\x17\x00\x03", b"\xff\xfe", "é".encode("latin-1"), b"text\x00", b"\x1b[0m"]
)
def test_bytes_that_are_no_text_are_taken_as_they_are(data):
    assert read_bytes(data) == Pasted(data, "raw")


@pytest.mark.parametrize("text", ["", "  \n\t", b"", b"\n", "\ufeff"])
def test_nothing_is_refused(text):
    with pytest.raises(InputError, match="there are no bytes to read: give hex, base64"):
        read_bytes(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("00 01 zz", "'z' at character 7 fits none of the forms read: hex, base64, hexdumps"),
        ("00 01\n02 0g", "'g' at line 2, character 5 fits none"),
        ("AAAA*B==", r"'\*' at character 5 fits none"),
        ("metadata", "'m' at character 1 fits none"),
        ("list-offsets", "'l' at character 1 fits none"),
        ("ApiVersions", "'p' at character 2 fits none"),
        ("PRODUCE", "'P' at character 1 fits none"),
        ("rubbish!", "'!' at character 8 fits none"),
        ("{0x00, 'k'}", "'{' at character 1 fits none"),
        ('b"\\x00', "fits none"),
        ("---", "'-' at character 1 fits none"),
        ("[]", r"'\[' at character 1 fits none"),
        ("abc", "'abc' at character 1 has an odd number of hex digits"),
        ("00 01\n0 0", "'0' at line 2, character 1 has an odd number of hex digits"),
        ("[0, 256]", "256 in the list of numbers is no byte"),
        ("[-129, 0]", "-129 in the list of numbers is no byte"),
        ("<Buffer 00 00 ... 103 more bytes>", "the Buffer is cut short"),
    ],
)
def test_rubbish_is_refused_in_one_line_that_names_the_place(text, problem):
    with pytest.raises(InputError, match="^" + problem if problem != "fits none" else problem) as caught:
        read_bytes(text)
    assert "\n" not in str(caught.value)


@given(st.text(max_size=60) | st.text("0123456789abcdef x:,-[](){}<>'\"\\*.\nbB=", max_size=80))
def test_any_text_gives_bytes_or_inputerror(text):
    with suppress(InputError):
        read_bytes(text)


@given(st.binary(max_size=80))
def test_any_bytes_give_bytes_or_inputerror(data):
    with suppress(InputError):
        read_bytes(data)
