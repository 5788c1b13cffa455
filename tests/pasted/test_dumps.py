"""Dumps that people paste, made by the real tools where they are installed and by fixed samples everywhere."""

from __future__ import annotations

import shutil
import subprocess
import textwrap

import pytest

from kdbg.analysis.pasted.hex_text import Pasted, read_bytes
from kdbg.errors import InputError

from ..cases import for_each
from .printed import SAMPLE

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


@for_each(
    ("command", "name"),
    [(tool, name) for tool in TOOLS for name in TRICKY if name != "repeated lines" or tool not in AMBIGUOUS],
    by=lambda command: command.split()[0],
)
def test_what_the_tools_print_is_read(command, name):
    data = TRICKY[name]
    words = command.split()
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    printed = subprocess.run(words, input=data, capture_output=True, check=True).stdout
    assert read_bytes(printed).data == data
    assert read_bytes(textwrap.indent(printed.decode(), "    ").replace("\n", "\r\n")).data == data


@pytest.mark.parametrize("first", ["0000000 0000 0000", "0000000 00000000"])
def test_offsets_that_fit_hexdump_and_od_alike_are_refused(first):
    with pytest.raises(InputError, match="ambiguous offsets"):
        read_bytes(f"{first}\n*\n0000140 6e65 0064\n0000143\n")


@pytest.mark.parametrize("command", ["xxd -b", "od", "od -b", "od -c", "hexdump -b", "hexdump -c", "od -d"])
def test_dumps_in_other_bases_are_refused_not_misread(command):
    words = command.split()
    if not shutil.which(words[0]):
        pytest.skip(f"{words[0]} is not installed")
    printed = subprocess.run(words, input=SAMPLE, capture_output=True, check=True).stdout
    with pytest.raises(InputError):
        read_bytes(printed)


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


@for_each("dump", DUMPS.values(), ids=DUMPS.keys())
def test_fixed_samples_of_dumps_are_read(dump):
    assert read_bytes(textwrap.dedent(dump)).data == SAMPLE


@for_each(
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
        ("000000 66 61 63 65  >face<", b"face"),
        ("00000010  00 00 00 1d 00 03 00 01  66 61 63 65  ........ face", bytes([0, 0, 0, 29, 0, 3, 0, 1]) + b"face"),
    ],
)
def test_one_line_is_a_dump_only_if_it_shows_it(line, expected):
    assert read_bytes(line).data == expected


@pytest.mark.parametrize(
    ("dump", "form"),
    [("xxd", "xxd"), ("hexdump -C", "hexdump -C"), ("hexdump", "hexdump"), ("od", "od"), ("Wireshark, hex", "hexdump")],
)
def test_the_form_of_a_dump_is_told(dump, form):
    assert read_bytes(textwrap.dedent(DUMPS[dump])).form == form


@pytest.mark.parametrize("dump", ["xxd", "hexdump -C", "od"])
def test_words_below_a_dump_that_look_like_an_offset_are_no_part_of_it(dump):
    text = textwrap.dedent(DUMPS[dump]) + "feed it to kdbg\n"
    assert read_bytes(text).data == SAMPLE


def test_repeated_lines_are_expanded():
    dump = "00000000  61 62  |ab|\n*\n00000006  63  |c|\n00000007\n"
    assert read_bytes(dump) == Pasted(b"abababc", "hexdump -C")


@pytest.mark.parametrize(
    ("dump", "text"),
    [
        ("00000000: 0000 001d  ....\n00000008: 0000", "line 1: expected 8 bytes before the next offset, found 4"),
        ("00000000: 0000 001d  ....\n*", "line 2: no offset shows how often `*` repeats the line above"),
        ("00000000: 00\n*\nffffffffffff: 00", "line 2: no offset shows how often"),
    ],
)
def test_a_broken_dump_is_told_by_its_line(dump, text):
    with pytest.raises(InputError, match="^" + text.replace("*", r"\*")):
        read_bytes(dump)
