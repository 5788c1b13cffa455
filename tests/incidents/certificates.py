"""Certificates of an authority of our own, right and wrong: expired, for another host, of another authority.

Each is one PEM file with its key, as Kafka's brokers and clients and librdkafka read it.
"""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from .foreign import HOME

FOLDER = HOME / "certificates"
HOST, OTHER_HOST = "127.0.0.61", "kafka-7.warehouse.example"
AUTHORITY, STRANGER = "authority", "stranger"
BROKER, BROKER_EXPIRED, BROKER_ELSEWHERE = "broker", "broker-expired", "broker-elsewhere"
CLIENT, CLIENT_EXPIRED, CLIENT_STRANGER = "client", "client-expired", "client-stranger"
DAY = timedelta(days=1)


def pem(name: str) -> Path:
    """The file of a certificate and its key."""
    return FOLDER / f"{name}.pem"


def install() -> None:
    """Make all certificates, valid from yesterday on, unless they are there."""
    if pem(CLIENT_STRANGER).exists():  # the last to be made
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    signers = {name: _issued(name, None, now - DAY, now + 3650 * DAY) for name in (AUTHORITY, STRANGER)}
    for name in (BROKER, BROKER_ELSEWHERE, CLIENT):
        _issued(name, signers[AUTHORITY], now - DAY, now + 3650 * DAY)
    for name in (BROKER_EXPIRED, CLIENT_EXPIRED):
        _issued(name, signers[AUTHORITY], now - 30 * DAY, now - DAY)
    _issued(CLIENT_STRANGER, signers[STRANGER], now - DAY, now + 3650 * DAY)


Signer = tuple[x509.Name, ec.EllipticCurvePrivateKey]


def _issued(name: str, signer: Signer | None, begins: datetime, ends: datetime) -> Signer:
    """Write a certificate that this authority signs, or that signs itself; return what it signs others with."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    issuer, issuer_key = signer or (subject, key)
    host: x509.GeneralName = x509.IPAddress(ipaddress.ip_address(HOST))
    if name == BROKER_ELSEWHERE:
        host = x509.DNSName(OTHER_HOST)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(ends)
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([host]), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pem(name).write_bytes(private + certificate.public_bytes(Encoding.PEM))
    (FOLDER / f"{name}.crt").write_bytes(certificate.public_bytes(Encoding.PEM))
    return subject, key
