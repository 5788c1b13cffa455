"""A certificate that is made for one run, and the authority that vouches for it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import NamedTuple

OF = "kdbg proxy"
"""Who signs."""
DAYS = 30
"""How long certificates hold: longer than any run."""
USES = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip
"""What a key may be used for (RFC 5280, 4.2.1.3); strict clients want an authority's to sign certificates."""


class Made(NamedTuple):
    """PEM: of the authority, which clients are to trust, and of a certificate after its key."""

    authority: bytes
    certificate: bytes


def made(hosts: Sequence[str]) -> Made:
    """Make an authority and, signed by it, a certificate for these hosts; the authority's key is kept nowhere."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def name(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    def builder(subject: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        begun = x509.CertificateBuilder().issuer_name(name(OF)).subject_name(name(subject))
        begun = begun.public_key(key.public_key()).serial_number(x509.random_serial_number())
        return begun.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=DAYS))

    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    identifier = x509.SubjectKeyIdentifier.from_public_key(authority.public_key())
    signs = dict.fromkeys(USES, False) | {"key_cert_sign": True}
    trusted = (
        builder(OF, authority)
        .add_extension(x509.KeyUsage(**signs), critical=True)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(identifier, critical=False)
        .sign(authority, hashes.SHA256())
    )
    names = list[x509.GeneralName]()
    for host in hosts:
        try:
            names.append(x509.IPAddress(ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
    signed = (
        builder(hosts[0], own)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(authority, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    key = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Made(trusted.public_bytes(pem), key + signed.public_bytes(pem))
