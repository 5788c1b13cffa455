"""A TLS handshake ends at the broker's certificate: the client does not trust it, or its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....exchanges.messages.peers import endpoint
from ....protocol.findings import Kind
from ....protocol.findings.facts import Encrypted
from ....protocol.findings.kinds import Severity
from ..case import Case, Rule, Who
from ..queries import by_ends, on_paths, span
from ..text import named

if TYPE_CHECKING:
    from ....streams.tcp.paths import Path
    from ...ledgers import Ledgers

HANDSHAKE, ALERT, CHANGE, DATA = 0x16, 0x15, 0x14, 0x17
OF_CERTIFICATES = ("certificate", "unknown_ca", "unknown ca")
"""What stands in the names of alerts about certificates."""
ENCRYPTED_ALERT = 52
"""Bytes of an encrypted alert of TLS 1.3 at most, padded, behind a change of the cipher; a Finished takes more."""
PLAIN_ALERT = 7


def refuses(path: Path) -> bool:
    """Return whether a client ends a handshake with an alert, after the server's hello."""
    sent, answered = path.ways
    if sent.head[:1] != bytes((HANDSHAKE,)) or answered.head[:1] != bytes((HANDSHAKE,)):
        return False
    hello = int.from_bytes(sent.head[3:5], "big") + 5
    rest = sent.bytes - hello
    plain = sent.tail[:1] == bytes((ALERT,)) and sent.tail_length == PLAIN_ALERT
    return plain or (0 < rest <= ENCRYPTED_ALERT and sent.tail[:1] in (bytes((DATA,)), bytes((CHANGE,))))


def find(book: Ledgers) -> Iterator[Case]:
    """Look for alerts about certificates, and for encrypted alerts in the middle of a handshake."""
    told: dict[int, tuple[str, Encrypted]] = {}
    for peers, finding in book.left:
        if finding.kind is Kind.NOT_DECRYPTED and isinstance(finding.facts, Encrypted):
            alert = next(
                (name for name in finding.facts.client_alerts if any(one in name.lower() for one in OF_CERTIFICATES)),
                "",
            )
            told[peers.first_packet] = alert, finding.facts
    wrong = [path for path in book.paths.all() if refuses(path) or told.get(path.first_packet, ("",))[0]]
    for (host, broker), paths in by_ends(wrong):
        alerts = [told[path.first_packet] for path in paths if path.first_packet in told]
        alert = next((name for name, _ in alerts if name), "")
        names = next((named("name", facts.names) for _, facts in alerts if facts.names), "")
        yield rule.case(
            Who(None, host, endpoint(broker)), *span(paths), len(paths), on_paths(paths),
            facts={"alert": f"TLS alert {alert}" if alert else "an encrypted TLS alert", "names": names or "encrypted"},
            certainty="certain" if alert else "likely", weight=3.0,
        )  # fmt: skip


rule: Rule = Rule(
    "tls-untrusted-certificate",
    Severity.ERROR,
    "client rejects the broker's certificate",
    (
        "a client on host {host} {probably}rejects the certificate of broker {broker} ({names}): the "
        "client aborts the TLS handshake with {alert}"
    ),
    (
        "Add the CA of the broker's certificate to ssl.truststore.location (librdkafka: ssl.ca.location) "
        "on the client, or issue a certificate for the host name that the client connects to."
    ),
    "RFC 8446, section 6.2",
    find,
    (
        "the certificate has expired",
        "the certificate is for another host name",
        "client and broker share no cipher suite",
    ),
    frozenset({"connection-churn"}),
)
