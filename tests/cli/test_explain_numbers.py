"""`kdbg explain` of what is no message: numbers out of error logs, and bytes that only look like something else."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.ui.cli.explain import as_number

from ..cases import for_each

HTTP = """\
1213486160 = 0x48545450, the bytes 48 54 54 50 "HTTP": an HTTP response
An HTTP server responds instead of a broker: a proxy, a load balancer, Kafka
Connect, the Schema Registry or an exporter. Check bootstrap.servers and
advertised.listeners.
"""


def test_numbers_of_error_logs_are_explained(explain: Any) -> None:
    assert explain("1213486160") == (0, HTTP)
    status, text = explain("369295616")
    assert (status, text.splitlines()[0]) == (
        0, "369295616 = 0x16030100, the bytes 16 03 01 00: TLS (handshake, TLS 1.0 to 1.3)",
    )  # fmt: skip
    assert "security.protocol" in text
    assert "Invalid" not in text
    status, text = explain("Invalid receive (size = 1195725856 larger than 104857600)")
    assert (status, "an HTTP GET request" in text) == (0, True)


@pytest.mark.parametrize(
    ("word", "status", "says"),
    [
        ("-1", 1, "not a size, because it is negative"),
        ("-720899", 0, "a Telnet command"),
        ("1048576", 0, "as a size, a message of 1,048,576 bytes (1 MiB)"),
        ("900000000", 1, "more than brokers accept"),
        ("352518400", 0, "TLS (alert"),
        ("50331667", 0, "a remote desktop connection"),
    ],
)
def test_other_numbers_are_sizes(explain: Any, word: str, status: int, says: str) -> None:
    found, text = explain(word)
    assert found == status
    assert says in " ".join(text.split())
    assert explain(word, "-f", "json")[0] == status


@for_each(
    ("text", "number"),
    [
        ("369295616", 369295616),
        (" 23\n", 23),
        ("0", 0),
        ("-5", -5),
        ("+7", 7),
        ("00000017", None),
        ("2147483648", None),
        ("12345678901234567890", None),
        ("16030100", None),
        ("16030101", None),
        ("0x17", None),
        ("ff", None),
        ("", None),
    ],
)
def test_digits_are_a_number_by_the_rule_of_the_help(text: str, number: int | None) -> None:
    assert as_number(text) == number


def test_digits_are_hex_when_something_is_said_about_them(explain: Any) -> None:
    assert "response v0" in explain("1213486160", "--api", "heartbeat", "--no-header", "--version", "0")[1]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (bytes.fromhex("160301020001000000"), "9 bytes that look like TLS (handshake, TLS 1.0 to 1.3)"),
        (b"HTTP/1.1 400 Bad Request\r\n", "26 bytes that look like an HTTP response"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "8 bytes that look like gzip"),
        (bytes.fromhex("deadbeefdeadbeef00"), "9 bytes that do not match a known layout"),
    ],
)
def test_what_is_no_message_is_shown_with_what_can_be_said(explain: Any, data: bytes, what: str) -> None:
    status, text = explain(data.hex())
    assert (status, text.splitlines()[0]) == (1, what)
    assert f"0000  {data[:9].hex(' ')}" in text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "IllegalStateException: Correlation id for response (4702) does not match request (4697)",
            "a request sent 5 requests later",
        ),
        ("CorrelationIdError: Correlation IDs do not match: sent 7, recv 6", "a request sent 1 request earlier"),
        ("correlation ID didn't match, wanted 5, got 4", "correlation id 4, expected 5"),
        ("Got correlation id 7 but expected 9", "correlation id 7, expected 9"),
        ("expected correlation id 5 but received 3", "correlation id 3, expected 5"),
        ('Header {"correlation_id":614764}', 'a STRING of 9 bytes that begins with "al", read as a correlation id'),
        ('Header {"correlation_id":16777216}', "1 read 3 bytes early as a correlation id"),
        ("array size 65536, only 12 bytes left", "1 read 2 bytes early as an array's count"),
        ("Invalid receive (size = 1677721600 larger than 104857600)", "100 read 3 bytes early as a length"),
        ("message size 1048576 larger than 1000012", "a size of 1,048,576 bytes"),
    ],
)
def test_what_the_words_around_a_number_say(explain: Any, text: str, says: str) -> None:
    status, found = explain(text)
    assert status == 0
    assert says in " ".join(found.split())


def test_random_correlation_ids_are_no_fault(explain: Any) -> None:
    assert "read as" not in explain("correlation id 48288897")[1]


def test_a_field_that_is_wider_than_what_is_left(explain: Any) -> None:
    status, text = explain(
        "Protocol read buffer underflow for MetadataResponse v2 at 36/40: expected 8 bytes > 4 remaining bytes"
    )
    assert status == 0
    assert " ".join(text.split()).startswith(
        "Metadata response v2: at byte 36 of 40, a field of 8 bytes, only 4 bytes left"
    )


def test_bounds_of_a_slice(explain: Any) -> None:
    assert "an SSH banner" in explain("slice bounds out of range [:1397966893] with capacity 4096")[1]
