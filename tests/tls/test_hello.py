"""What hellos and certificates say, byte for byte, and handshake messages that records cut in pieces."""

from __future__ import annotations

from pathlib import Path

from kdbg.streams.tls.hello import HandshakeReassembly, Hello, certificate_names, encrypted_extensions, hello

from . import records
from .records import OTHER, RANDOM, extensions, message, named, numbers, protocols, vector

VERSIONS = {43: vector(1, numbers(0x0304, 0x0303))}


def test_a_client_says_who_it_wants_and_what_it_can() -> None:
    more = {**named(b"kafka.example"), **protocols(b"kafka", b"h2"), 22: b"", **VERSIONS, 99: b"else"}
    body = records.client_hello((0x1301, 0xC02F), more)
    said = Hello(RANDOM, b"session", (0x0304, 0x0303), (0x1301, 0xC02F), "kafka.example", ("kafka", "h2"), True)
    assert hello(1, body) == said
    assert hello(1, records.client_hello((0x2F,), version=0x0301)) == Hello(
        RANDOM, b"session", (0x0301,), (0x2F,), "", (), False
    )
    for size in range(len(body)):
        if size != len(records.client_hello((0x1301, 0xC02F))):
            assert hello(1, body[:size]) is None, "it is damaged"


def test_a_server_says_what_it_chose() -> None:
    body = records.server_hello(0xC02F, {22: b"", **protocols(b"kafka")})
    said = Hello(OTHER, b"session", (0x0303,), (0xC02F,), "", ("kafka",), True)
    assert hello(2, body) == said
    newer = records.server_hello(0x1301, {43: numbers(0x0304)})
    assert hello(2, newer) == Hello(OTHER, b"session", (0x0304,), (0x1301,), "", (), False)
    for size in range(len(body)):
        if size != len(records.server_hello(0xC02F)):
            assert hello(2, body[:size]) is None, "it is damaged"


def test_no_other_message_is_a_hello() -> None:
    assert hello(11, records.client_hello()) is None


def test_names_that_are_too_many_or_too_long_are_cut() -> None:
    many = encrypted_extensions(extensions(protocols(*(b"%d" % number for number in range(9)))))
    assert many == ("0", "1", "2", "3", "4", "5", "6", "7")
    said = hello(1, records.client_hello(more=named(b"n" * 256)))
    assert said is not None
    assert said.server_name == "n" * 255
    odd = hello(1, records.client_hello(more=named(b"\xff")))
    assert odd is not None
    assert odd.server_name == "\\xff"
    empty = hello(1, records.client_hello(more={0: b""}))
    assert empty is not None
    assert empty.server_name == ""


def test_extensions_that_are_encrypted_name_the_protocol() -> None:
    body = extensions({99: b"else", **protocols(b"kafka")})
    assert encrypted_extensions(body) == ("kafka",)
    assert encrypted_extensions(b"") == ()
    assert encrypted_extensions(body[:-1]) == ()
    assert encrypted_extensions(extensions({99: b"else"})) == ()


def test_a_certificate_is_for_its_names(pems: dict[str, Path]) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives.serialization import Encoding

    pem = pems["ec"].read_bytes()
    der = x509.load_pem_x509_certificate(pem[pem.index(b"-----BEGIN CERT") :]).public_bytes(Encoding.DER)
    old = vector(3, vector(3, der) + vector(3, b"another"))
    assert certificate_names(old, tls_1_3=False) == ("broker-1", "kafka.example")
    new = vector(1, b"context") + vector(3, vector(3, der) + b"\0\0")
    assert certificate_names(new, tls_1_3=True) == ("broker-1", "kafka.example")
    for damaged in (b"", old[:-9], vector(3, vector(3, der[:-1]))):
        assert certificate_names(damaged, tls_1_3=False) == ()


def test_messages_are_put_together_from_pieces() -> None:
    stream = message(1, b"one") + message(2, b"") + message(3, b"x" * 300)
    for size in (1, 2, 5, 9, 400):
        made = HandshakeReassembly()
        found = [one for place in range(0, len(stream), size) for one in made.take(stream[place : place + size])]
        assert found == [(1, b"one"), (2, b""), (3, b"x" * 300)]


def test_behind_a_message_that_is_lost_none_is_read_until_one_begins() -> None:
    made = HandshakeReassembly()
    assert list(made.take(message(1, b"one")[:5])) == []
    made.lost()
    assert list(made.take(message(2, b"two"))) == []
    made.again()
    assert list(made.take(message(3, b"three"))) == [(3, b"three")]
    assert list(made.take(message(4, b"four")[:5])) == []
    made.again()
    assert list(made.take(message(5, b"five"))) == [(5, b"five")]
    assert list(made.take(message(14, b""))) == [(14, b"")]
    assert list(made.take(message(1, bytes(262_144)))) == [(1, bytes(262_144))]
    assert list(made.take(b"\1" + (262_145).to_bytes(3))) == []
    assert list(made.take(message(6, b"six"))) == [], "it is no message that is so long"
