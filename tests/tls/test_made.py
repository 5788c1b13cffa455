"""A certificate made for one run: clients that trust its authority take it for its hosts, and for no other."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509

from kdbg.streams.tls.certificate import made


def shakes_hands(certificate: Path, authority: bytes, host: str) -> str:
    """Have a client that trusts an authority meet a server at a host; return what the client finds wrong, or ""."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    server.load_cert_chain(certificate)
    client.load_verify_locations(cadata=authority.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    ends = [ssl.MemoryBIO() for _ in range(2)]
    both = client.wrap_bio(*ends, server_hostname=host), server.wrap_bio(*ends[::-1], server_side=True)
    for turn in range(6):
        try:
            both[turn % 2].do_handshake()
        except ssl.SSLWantReadError:
            continue
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
    return ""


def test_clients_take_it_for_its_hosts_alone(tmp_path: Path) -> None:
    found, other = made(["broker.example", "127.0.0.1"]), made(["broker.example"])
    path = tmp_path / "made.pem"
    path.write_bytes(found.certificate)
    for host in ("broker.example", "127.0.0.1"):
        assert shakes_hands(path, found.authority, host) == ""
    assert "mismatch" in shakes_hands(path, found.authority, "other.example")
    assert shakes_hands(path, other.authority, "broker.example") != ""


def test_what_it_says() -> None:
    now = datetime.now(UTC)
    found = made(["broker.example", "127.0.0.1"])
    authority = x509.load_pem_x509_certificate(found.authority)
    own = x509.load_pem_x509_certificate(found.certificate[found.certificate.index(b"-----BEGIN CERT") :])
    assert authority.subject.rfc4514_string() == authority.issuer.rfc4514_string() == own.issuer.rfc4514_string()
    assert (own.issuer.rfc4514_string(), own.subject.rfc4514_string()) == ("CN=kdbg proxy", "CN=broker.example")
    for one in (authority, own):
        assert abs(one.not_valid_before_utc - now + timedelta(days=1)) < timedelta(minutes=5)
        assert abs(one.not_valid_after_utc - now - timedelta(days=30)) < timedelta(minutes=5)
    names = own.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert list(names.value) == [x509.DNSName("broker.example"), x509.IPAddress(ip_address("127.0.0.1"))]
    by = own.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    is_of = authority.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    assert by.value.key_identifier == is_of.value.digest
    uses = authority.extensions.get_extension_for_class(x509.KeyUsage)
    assert uses.value == x509.KeyUsage(False, False, False, False, False, True, False, False, False)
    assert uses.critical
    assert (names.critical, by.critical, is_of.critical) == (False, False, False)
    for one, told in ((authority, x509.BasicConstraints(True, 0)), (own, x509.BasicConstraints(False, None))):
        limits = one.extensions.get_extension_for_class(x509.BasicConstraints)
        assert (limits.value, limits.critical) == (told, True)
    assert made(["127.0.0.1"]).certificate != found.certificate
    with pytest.raises(IndexError):
        made([])
