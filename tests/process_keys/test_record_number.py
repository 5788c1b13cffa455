"""Numbers of records in the middle of a connection, found by records that were sealed here."""

from __future__ import annotations

import os

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM, ChaCha20Poly1305
from hypothesis import given, settings
from hypothesis import strategies as some

from kdbg.streams.tls.hello import Suite, suite_named
from kdbg.streams.tls.openers import expand_label
from kdbg.streams.tls.record import SealedRecord
from kdbg.streams.tls.recovery.proofs import FoundSecrets, proved
from kdbg.streams.tls.recovery.record_number import nonce_12, number_13, opener_at
from kdbg.streams.tls.session import TlsSample

VERSION = b"\3\3"
NUMBERS = some.integers(0, 1 << 16)


def suite(name: str) -> Suite:
    found = suite_named(name)
    assert found is not None
    return found


def sealed_13(of: Suite, secret: bytes, number: int, plain: bytes, padding: int = 0) -> SealedRecord:
    """A record of TLS 1.3, with zeros behind it as Java sends them."""
    aead = (AESGCM if of.mode == "GCM" else ChaCha20Poly1305)(expand_label(secret, b"key", of.key, of.prf))
    iv = int.from_bytes(expand_label(secret, b"iv", 12, of.prf), "big")
    content = plain + b"\x17" + bytes(padding)
    head = b"\x17" + VERSION + (len(content) + 16).to_bytes(2, "big")
    return SealedRecord(23, VERSION, aead.encrypt((iv ^ number).to_bytes(12, "big"), content, head))


def sealed_12(key: bytes, salt: bytes, number: int, explicit: int, plain: bytes) -> SealedRecord:
    about = number.to_bytes(8, "big") + b"\x17" + VERSION + len(plain).to_bytes(2, "big")
    front = (explicit % (1 << 64)).to_bytes(8, "big")
    return SealedRecord(23, VERSION, front + AESGCM(key).encrypt(salt + front, plain, about))


@pytest.mark.parametrize("padding", [0, 15])
@pytest.mark.parametrize("name", ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"])
@settings(max_examples=10, deadline=None)
@given(number=NUMBERS, sizes=some.lists(some.integers(0, 60), min_size=1, max_size=4))
def test_a_traffic_secret_shows_the_number_of_a_record(name: str, padding: int, number: int, sizes: list[int]) -> None:
    of, number = suite(name), number % 4000
    secret, other = (os.urandom(48 if of.prf == "sha384" else 32) for _ in range(2))
    records = [sealed_13(of, secret, number + at, os.urandom(size), padding) for at, size in enumerate(sizes)]
    assert number_13(of, secret, records, 0, 4096) == number
    assert number_13(of, secret, records, number + 1, number + 500) is None
    assert number_13(of, other, records, 0, 4096) is None


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("counted", [True, False], ids=["as Java counts", "as OpenSSL counts"])
@settings(max_examples=15, deadline=None)
@given(number=NUMBERS, sizes=some.lists(some.integers(0, 60), min_size=1, max_size=4))
def test_the_tag_shows_the_number_and_the_salt(size: int, counted: bool, number: int, sizes: list[int]) -> None:
    key, salt = os.urandom(size), os.urandom(4)
    start = number if counted else int.from_bytes(os.urandom(8), "big")
    records = [sealed_12(key, salt, number + at, start + at, os.urandom(some)) for at, some in enumerate(sizes)]
    found = nonce_12(key, records, 0, 1 << 17)
    assert found is not None
    assert tuple(found) == (number, salt)
    assert nonce_12(os.urandom(size), records, 0, 1 << 12) is None


def test_a_key_that_was_kept_opens_a_record_further_on() -> None:
    of = suite("TLS_AES_128_GCM_SHA256")
    secret = os.urandom(32)
    record = sealed_13(of, secret, 70_000, b"further on")
    found = opener_at((of.name, 12, secret), record)
    assert found is not None
    opener, number = found
    assert (number, opener.open(number, *record)) == (70_000, (23, b"further on"))


def test_a_key_of_another_connection_does_not_fit() -> None:
    key, salt = os.urandom(16), os.urandom(4)
    record = sealed_12(key, salt, 5, 5, b"mine")
    assert opener_at(("AES_128_GCM", 5, key + salt), record) is not None
    assert opener_at(("AES_128_GCM", 5, os.urandom(16) + salt), record) is None
    assert opener_at(("AES_512_XYZ", 5, key + salt), record) is None


def test_a_record_alone_is_looked_for_nearby_until_others_follow() -> None:
    """It may be of any cipher, so that each key would be tried with each number."""
    key, salt = os.urandom(16), os.urandom(4)
    records = [sealed_12(key, salt, 70_000 + at, 5 + at, b"plain") for at in (0, 1)]
    secrets = FoundSecrets({key}, {32: [], 48: []}, lambda keys: (), tuple)

    def found(count: int, *, thorough: bool) -> list[int]:
        sample = TlsSample((("127.0.0.1", 1), ("127.0.0.1", 2)), (tuple(records[:count]), ()))
        return [one.bound[1] for one in proved([sample], secrets, thorough=thorough, whole=False) if one.bound]

    assert found(1, thorough=False) == []
    assert found(2, thorough=False) == found(1, thorough=True) == [70_000]


@pytest.mark.parametrize("message", [b"\0\0\1\0", b"\0\x50\1\2"], ids=["messages begin", "a long message goes on"])
@pytest.mark.parametrize("name", ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"])
def test_keys_of_many_connections_are_found_each_with_its_number(name: str, message: bytes) -> None:
    of = suite(name)
    size = 48 if of.prf == "sha384" else 32
    wanted = {(at, side): (os.urandom(size), 900 * at + 70 * side) for at in range(4) for side in (0, 1)}
    samples = [
        TlsSample((("127.0.0.1", at), ("127.0.0.1", 9092)), tuple(
            tuple(sealed_13(of, secret, number + later, message + bytes(20)) for later in range(2))
            for secret, number in (wanted[at, 0], wanted[at, 1])
        )) for at in range(4)
    ]  # fmt: skip
    windows = dict.fromkeys(os.urandom(size) for _ in range(3)) | dict.fromkeys(secret for secret, _ in wanted.values())
    in_use = {expand_label(secret, b"key", of.key, of.prf) for secret in windows}
    secrets = FoundSecrets(in_use, {size: windows, 80 - size: {}}, lambda keys: in_use & {*keys}, tuple)
    found = {(samples.index(one.sample), one.side): (one.secret, one.bound[1])
             for one in proved(samples, secrets, thorough=False, whole=False) if one.bound}  # fmt: skip
    assert found == wanted
