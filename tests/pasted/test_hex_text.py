"""Bytes that people paste in every form that programs print them in, and what is refused."""

from __future__ import annotations

import base64
import shutil
import subprocess
import textwrap
from contextlib import suppress

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from kdbg.analysis.pasted.hex_text import Pasted, read_bytes
from kdbg.errors import InputError

from ..cases import for_each
from .printed import SAMPLE, tcpdump, wireshark_array, wireshark_dump, wireshark_escaped


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


@for_each(
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
        ("data[4] = [0, 3, 0, 1]", "00030001"),
        ("[0 3] [0 1]", "00030001"),
        ("x[3] = [5]", "05"),
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
    with pytest.raises(InputError, match="no bytes found in the input; accepted: hex, base64"):
        read_bytes(text)


@for_each(
    ("text", "problem"),
    [
        ("00 01 zz", "cannot parse 'z' at character 7; accepted input: hex, base64, hexdumps"),
        ("00 01\n02 0g", "cannot parse 'g' at line 2, character 5"),
        ("AAAA*B==", r"cannot parse '\*' at character 5"),
        ("metadata", "cannot parse 'm' at character 1"),
        ("list-offsets", "cannot parse 'l' at character 1"),
        ("ApiVersions", "cannot parse 'p' at character 2"),
        ("PRODUCE", "cannot parse 'P' at character 1"),
        ("rubbish!", "cannot parse '!' at character 8"),
        ("{0x00, 'k'}", "cannot parse '{' at character 1"),
        ('b"\\x00', "cannot parse"),
        ("---", "cannot parse '-' at character 1"),
        ("[]", r"cannot parse '\[' at character 1"),
        ("abc", "'abc' at character 1 has an odd number of hex digits"),
        ("00 01\n0 0", "'0' at line 2, character 1 has an odd number of hex digits"),
        ("[0, 256]", "256 in the list of numbers is not a byte"),
        ("[-129, 0]", "-129 in the list of numbers is not a byte"),
        ("0, 3, ...", "cannot parse '.' at character 7"),
        ("<Buffer 00 00 ... 103 more bytes>", "the Buffer is truncated"),
    ],
)
def test_rubbish_is_refused_in_one_line_that_names_the_place(text, problem):
    with pytest.raises(InputError, match="^" + problem if problem != "cannot parse" else problem) as caught:
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


@pytest.mark.parametrize(
    "text",
    [
        r'"\000\000\000\018\099"',
        r'"\NUL\NUL\NUL\DC2c"',
        r'"\x{00}\x{00}\x{00}\x{12}c"',
        "00000000 00000000 00000000 00010010 01100011",
        "0\n0\n0\n18\n99".replace("\n", "\n\n"),
    ],
)
def test_escapes_of_few_languages_and_binary_digits(text: str) -> None:
    if "\n" in text:
        assert read_bytes("7\n" * 7 + text).data == b"\7" * 7 + b"\0\0\0\x12c"
        return
    assert read_bytes(text).data == b"\0\0\0\x12c"


def test_octal_escapes_stay_octal() -> None:
    assert read_bytes(r'"\000\022\143"').data == b"\0\x12c"
    assert read_bytes(r'b"\x00\x12\08"').data == b"\0\x12\0" + b"8"
