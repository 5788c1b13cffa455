"""Keys, cipher suites and what opens records: by the RFCs' own vectors, and each part of a record."""

from __future__ import annotations

import hashlib
import hmac
import re

import pytest

from kdbg.streams.tls.hello import NAMES, Suite, suite, suite_name, version_name
from kdbg.streams.tls.openers import Chained12, Sealed12, Sealed13, expand_label, openers_12, prf

from .records import DATA, seal

SECRET = bytes(range(32))


def test_keys_are_those_of_the_rfcs() -> None:
    secret = bytes.fromhex("b3eddb126e067f35a780b3abf45e2d8f3b1a950738f52e9600746a0e27a55a21")  # RFC 8448, 3
    assert expand_label(secret, b"key", 16, "sha256").hex() == "dbfaa693d1762c5b666af5d950258d01"
    assert expand_label(secret, b"iv", 12, "sha256").hex() == "5bd3c71b836e0b76bb73265f"
    master, seed = (
        bytes.fromhex(text) for text in ("9bbe436ba940f017b17652849a71db35", "a0ba9f936cda311827a6f796ffd5198c")
    )
    found = prf(master, b"test label", seed, 100, "sha256")
    assert found[:16].hex() == "e3f229ba727be17b8d122620557cd453", "of the IETF's TLS working group"
    for size in (1, 32, 33, 64, 65):
        assert found[:size] == prf(master, b"test label", seed, size, "sha256")
    info = (32).to_bytes(2) + b"\x12tls13 c hs traffic\x05hello"
    derived = hmac.digest(secret, info + b"\1", "sha256")
    assert expand_label(secret, b"c hs traffic", 32, "sha256", b"hello") == derived, "RFC 8446, 7.1"


def test_what_the_names_of_suites_say() -> None:
    for code, told in {
        0x1301: ("TLS_AES_128_GCM_SHA256", "GCM", 16, "sha256", "sha256"),
        0x1302: ("TLS_AES_256_GCM_SHA384", "GCM", 32, "sha384", "sha384"),
        0x1303: ("TLS_CHACHA20_POLY1305_SHA256", "CHACHA20_POLY1305", 32, "sha256", "sha256"),
        0x1304: ("TLS_AES_128_CCM_SHA256", "CCM", 16, "sha256", "sha256"),
        0x1305: ("TLS_AES_128_CCM_8_SHA256", "CCM_8", 16, "sha256", "sha256"),
        0x002F: ("TLS_RSA_WITH_AES_128_CBC_SHA", "CBC", 16, "sha256", "sha1"),
        0xC028: ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "CBC", 32, "sha384", "sha384"),
        0xC0AD: ("TLS_ECDHE_ECDSA_WITH_AES_256_CCM", "CCM", 32, "sha256", "sha256"),
    }.items():
        found = suite(code)
        assert found == Suite(*told)
        assert found.modern is (code < 0x1400 and code > 0x1300)
    assert suite(0x0005) is None
    assert (suite_name(0x1301), suite_name(0x0005)) == ("TLS_AES_128_GCM_SHA256", "cipher suite 0x0005")
    versions = ["SSL 3.0", "TLS 1.0", "TLS 1.1", "TLS 1.2", "TLS 1.3", "TLS version 0x0305"]
    assert [version_name(code) for code in range(0x0300, 0x0306)] == versions


def test_the_codes_of_suites_are_those_of_openssl() -> None:
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")
    theirs = {one["id"] & 0xFFFF: one["name"] for one in context.get_ciphers()}
    both = {code: name for code, name in NAMES.items() if code in theirs}
    assert NAMES.keys() - theirs.keys() <= {0x1304, 0x1305}, "OpenSSL offers CCM in TLS 1.3 only if asked to"
    for code, name in both.items():
        found, words = suite(code), re.split("[-_]", theirs[code].replace("AES", "AES-").replace("CCM8", "CCM"))
        assert found is not None
        assert found.mode.partition("_")[0] == next((m for m in words if m[:3] in ("GCM", "CCM", "CHA")), "CBC")[:8]
        assert (str(found.key * 8) in words) is (found.mode != "CHACHA20_POLY1305")
        assert ("DHE" in words, "ECDHE" in words) == ("_DHE_" in name, "_ECDHE_" in name)
        assert ("ECDSA" in words) is ("_ECDSA_" in name)
        assert (found.prf == "sha384") is ("SHA384" in words)


def found_suite(code: int) -> Suite:
    found = suite(code)
    assert found is not None
    return found


def body(record: bytes) -> bytes:
    return record[5:]


def test_records_of_1_3_open_under_their_number_alone() -> None:
    opener = Sealed13(found_suite(0x1301), SECRET)
    assert (opener.skip, opener.overhead) == (0, 17)
    for number in (0, 1, 1 << 40):
        for zeros in (0, 1, 9):
            assert opener.open(number, DATA, b"\3\3", body(seal(SECRET, number, b"what", 22, zeros))) == (22, b"what")
    sealed = body(seal(SECRET, 7, b"what"))
    assert opener.open(8, DATA, b"\3\3", sealed) is None
    assert opener.open(7, 22, b"\3\3", sealed) is None
    assert opener.open(7, DATA, b"\3\1", sealed) is None
    assert opener.open(7, DATA, b"\3\3", sealed[:15]) is None
    assert opener.open(7, DATA, b"\3\3", body(seal(SECRET, 7, b"", 0))) == (0, b"")
    following = expand_label(SECRET, b"traffic upd", 32, "sha256")
    assert opener.following().open(0, DATA, b"\3\3", body(seal(following, 0, b"next"))) == (DATA, b"next")
    assert Sealed13(found_suite(0x1305), SECRET).overhead == 9


@pytest.mark.parametrize("code", [0xC02F, 0xC0A0, 0xC09C, 0xCCA8])
def test_records_of_1_2_open_under_their_number_alone(code: int) -> None:
    from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305

    key, front = bytes(range(16)), b"salt"
    found = found_suite(code)
    if found.mode == "CHACHA20_POLY1305":
        key, front = SECRET, bytes(range(12))
    tag = 8 if found.mode == "CCM_8" else 16
    cipher = {"GCM": AESGCM, "CHACHA20_POLY1305": ChaCha20Poly1305}.get(found.mode, lambda key: AESCCM(key, tag))(key)
    opener = Sealed12(found, key, front)
    skip = 12 - len(front)
    assert (opener.skip, opener.overhead, opener.following()) == (skip, skip + tag, None)
    explicit = b"explicit"[:skip]
    for number in (0, 3):
        nonce = front + explicit if skip else (int.from_bytes(front) ^ number).to_bytes(12)
        for data in (b"", b"what was said"):
            about = number.to_bytes(8) + b"\x17\3\3" + len(data).to_bytes(2)
            sealed = explicit + cipher.encrypt(nonce, data, about)
            assert opener.open(number, DATA, b"\3\3", sealed) == (DATA, data)
            assert opener.open(number + 1, DATA, b"\3\3", sealed) is None
            assert opener.open(number, DATA, b"\3\3", sealed[:-1]) is None
    assert opener.open(0, DATA, b"\3\3", bytes(opener.overhead - 1)) is None


def chained(key: bytes, number: int, data: bytes, *, outside: bool, padding: int = -1, spoil: int = 0) -> bytes:
    """The body of a record under AES-CBC with SHA-1; `spoil` changes the last byte of the padding's first one."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    def mac(of: bytes) -> bytes:
        about = number.to_bytes(8) + b"\x17\3\3" + len(of).to_bytes(2)
        return hmac.digest(b"mac", about + of, "sha1")

    plain = data if outside else data + mac(data)
    size = 15 - len(plain) % 16 if padding < 0 else padding
    filled = bytearray(plain + bytes([size]) * (size + 1))
    filled[len(plain)] ^= spoil
    encryptor = Cipher(algorithms.AES(key), modes.CBC(b"initialisation v")).encryptor()
    sealed = b"initialisation v" + encryptor.update(bytes(filled)) + encryptor.finalize()
    return sealed + mac(sealed) if outside else sealed


def test_records_in_chains_open_under_their_number_alone() -> None:
    key = bytes(range(16))
    for outside in (False, True):
        opener = Chained12(found_suite(0x2F), key, b"mac", encrypt_then_mac=outside)
        assert (opener.skip, opener.overhead, opener.following()) == (16, 37, None)
        for data in (b"", b"what", b"what was said in a row of blocks"):
            sealed = chained(key, 3, data, outside=outside)
            assert opener.open(3, DATA, b"\3\3", sealed) == (DATA, data)
            for wrong in (sealed[:-1], sealed[:-16], sealed[:16], sealed[1:], b""):
                assert opener.open(3, DATA, b"\3\3", wrong) is None
            assert opener.open(4, DATA, b"\3\3", sealed) is None
        more = chained(key, 3, b"what", outside=outside, padding=(27 if outside else 23))
        assert opener.open(3, DATA, b"\3\3", more) == (DATA, b"what")
        spoilt = chained(key, 3, b"what", outside=outside, padding=(27 if outside else 23), spoil=1)
        assert opener.open(3, DATA, b"\3\3", spoilt) is None
    short = chained(key, 3, b"", outside=True, padding=15)[:-20]
    assert Chained12(found_suite(0x2F), key, b"mac", encrypt_then_mac=False).open(3, DATA, b"\3\3", short) is None


def test_keys_of_1_2_are_cut_from_one_block() -> None:
    block = prf(SECRET, b"key expansion", b"serverclient", 200, "sha256")
    client, server = openers_12(found_suite(0x2F), SECRET, b"client", b"server", encrypt_then_mac=False)
    for side, opener in enumerate((client, server)):
        assert isinstance(opener, Chained12)
        mac, key = block[20 * side : 20 * side + 20], block[40 + 16 * side : 56 + 16 * side]
        data = b"what"
        plain = data + hmac.digest(mac, bytes(8) + b"\x17\3\3\0\4" + data, hashlib.sha1)
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        encryptor = Cipher(algorithms.AES(key), modes.CBC(bytes(16))).encryptor()
        sealed = bytes(16) + encryptor.update(plain + b"\x07" * 8) + encryptor.finalize()
        assert opener.open(0, DATA, b"\3\3", sealed) == (DATA, data)
