"""How to reach and to address brokers: client id, limits, TLS, SASL, and which hosts get the credentials."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ...errors import CannotConnect, InputError

DEFAULT_PORT = 9092
Address = tuple[str, int]


@dataclass(frozen=True)
class Tls:
    """TLS: whom to trust (`ca`, a PEM file; the system's if ""), a client certificate, and the name to expect.

    `verify` off trusts anybody, `check_name` off any name that a trusted authority vouches for. `keys_out` is the file
    that the secrets of the session are appended to, for who decrypts a capture of it.
    """

    ca: str = ""
    certificate: str = ""
    key: str = ""
    password: str | None = field(default=None, repr=False)
    verify: bool = True
    check_name: bool = True
    server_name: str = ""
    keys_out: str = ""


@dataclass(frozen=True)
class Sasl:
    """SASL: `token` is for OAUTHBEARER; `raw` sends tokens without Kafka headers, as after SaslHandshake v0."""

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    raw: bool = False


@dataclass(frozen=True)
class Settings:
    """`timeout` is seconds for connecting and for each answer, `max_response` bytes.

    `only_named` refuses to speak with hosts that brokers name and the user did not. `trust_advertised` lets such hosts
    have the credentials, wherever they are; see `check_trust`.
    """

    client_id: str | None = "kdbg"
    timeout: float = 10.0
    max_response: int = 100 << 20
    tls: Tls | None = None
    sasl: Sasl | None = None
    only_named: bool = False
    trust_advertised: bool = False

    @property
    def has_credentials(self) -> bool:
        """Whether a broker gets a password, a token or a client certificate."""
        return self.sasl is not None or (self.tls is not None and bool(self.tls.certificate))


_PLACE = re.compile(
    r"""
    \[ (?P<bracketed> [^][/\s]+ ) ]                 (?: : (?P<port_of_it> [^/\s]* ) )?
    | (?P<ipv6> [^][/\s:]* : [^][/\s]* : [^][/\s]* )
    | (?P<host> [^][/\s:]+ )                       (?: : (?P<port> [^/\s]* ) )?
    """,
    re.VERBOSE,
)


def addresses(text: str, *, lowest_port: int = 1) -> list[Address]:
    """Parse `a:9092,[::1]:9093,::1,c` into (host, port) pairs; `InputError` for what is no address."""
    found: list[Address] = []
    for part in filter(None, map(str.strip, text.split(","))):
        place = _PLACE.fullmatch(part)
        if place is None:
            raise InputError(f"invalid broker address {part!r}; use host:port")
        port = place["port"] or place["port_of_it"] or ""
        if port and not (port.isdecimal() and lowest_port <= int(port) < 65536):
            raise InputError(f"invalid broker address {part!r}; the port must be {lowest_port} to 65535")
        host = place["bracketed"] or place["ipv6"] or place["host"]
        found.append((host, int(port) if port else DEFAULT_PORT))
    if not found:
        raise InputError("no broker given; use host:port, or several separated by commas")
    return found


def show(address: Address) -> str:
    """Write an address as host:port, IPv6 in brackets."""
    return f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"


def is_local(host: str) -> bool:
    """Return whether only this machine can connect to a host."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


LEAST = 2
"""Labels that a domain has at least for its hosts to belong together: `example.com`, not `com`."""


def check_trust(address: Address, named: Collection[Address], settings: Settings) -> None:
    """Raise `CannotConnect` for a broker that may not get the credentials that the settings have.

    `named` are the brokers that the user named.
    """
    guarded = settings.has_credentials and not settings.trust_advertised
    if guarded and not is_trusted(address[0], [host for host, _ in named]):
        problem = "advertised by a broker, but not named by --broker, so kdbg sends it no credentials"
        raise CannotConnect(show(address), problem, "add it to --broker, or use --trust-advertised")


def is_trusted(host: str, named: Collection[str]) -> bool:
    """Return whether a host is one that the user named, or is in the domain of such a one; ports do not matter.

    `b-2.shop.example.com` and `shop.example.com` are in the domain of `b-1.shop.example.com`. An IP address, and a host
    whose domain is a public one (`com`, `co.uk`), belong to no domain. All names of this machine's loopback are one.
    """
    host = host.lower().rstrip(".")
    for other in (one.lower().rstrip(".") for one in named):
        if host == other or (is_local(host) and is_local(other)):
            return True
        if _is_ip(host) or _is_ip(other):
            continue
        for domain in (other, other.partition(".")[2]):
            labels = domain.split(".")
            public = len(labels) < LEAST or (len(labels) == LEAST and len(labels[1]) == 2 and len(labels[0]) <= 3)
            if not public and (host == domain or host.endswith(f".{domain}")):
                return True
    return False


def _is_ip(host: str) -> bool:
    with suppress(ValueError):
        ip_address(host)
        return True
    return False


PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
OTHER_NAMES = {
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.certificate.location": "ssl.keystore.location",
    "socket.timeout.ms": "request.timeout.ms",
}
"""librdkafka's names for what the Java client calls otherwise."""
INLINE = ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key")
"""PEM in the file itself (KIP-651)."""
PEM = b"-----BEGIN "
EXPORT_CA = "keytool -exportcert -rfc -alias ALIAS -keystore {} -file ca.pem, then ssl.truststore.type=PEM (or --ca)"
EXPORT_KEY = (
    "keytool -importkeystore -srckeystore {0} -destkeystore key.p12 -deststoretype PKCS12, openssl pkcs12 -in key.p12 "
    "-out key.pem -nodes, then ssl.keystore.type=PEM (or --cert)"
)
JAAS = re.compile(r"""([\w.]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")
ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read(path: str) -> dict[str, str]:
    """Read a properties file; return its values under the Java client's names. `InputError` for an unreadable file."""
    return {OTHER_NAMES.get(name, name): value for name, value in parse(read_text(path))}


def read_text(path: str) -> str:
    """Return the text of a file that an option names; raise `InputError` for one that cannot be read."""
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}") from None


def parse(text: str) -> Iterator[tuple[str, str]]:
    """Yield names and values as java.util.Properties reads them.

    A line that ends in an odd number of backslashes goes on in the next.
    """
    parts: list[str] = []
    for line in [*re.split(r"\r\n|\r|\n", text), ""]:
        line = line.lstrip()
        if not parts and (not line or line[0] in "#!"):
            continue
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        parts.append(line[:-1] if goes_on else line)
        if goes_on:
            continue
        whole = "".join(parts)
        parts.clear()
        found = re.match(r"((?:[^\\\s=:]|\\.)*)\s*[=:]?\s*", whole, re.DOTALL)
        assert found is not None  # it matches the empty string
        yield _unescaped(found[1]), _unescaped(whole[found.end() :])


def _unescaped(text: str) -> str:
    def letter(found: re.Match[str]) -> str:
        word = found[1]
        return chr(int(word[1:], 16)) if len(word) == 5 else ESCAPES.get(word, word)

    return ESCAPE.sub(letter, text)


def settings(given: Mapping[str, str]) -> Settings:
    """Return the settings that say how to reach brokers; `InputError` for those that kdbg cannot follow."""
    protocol = given.get("security.protocol", "PLAINTEXT").strip().upper()
    if protocol not in PROTOCOLS:
        raise InputError(f"security.protocol={protocol}: unknown; use one of {', '.join(PROTOCOLS)}")
    found: dict[str, Any] = {}
    if given.get("client.id"):
        found["client_id"] = given["client.id"]
    if "request.timeout.ms" in given:
        milliseconds = given["request.timeout.ms"].strip()
        if not milliseconds.isdecimal() or not int(milliseconds):
            raise InputError(f"request.timeout.ms={milliseconds}: not a number; use milliseconds")
        found["timeout"] = int(milliseconds) / 1000
    if protocol.endswith("SSL"):
        found["tls"] = _tls(given)
    if protocol.startswith("SASL"):
        options = jaas(given.get("sasl.jaas.config", ""))
        found["sasl"] = Sasl(
            given.get("sasl.mechanism", "GSSAPI").strip().upper(),
            given.get("sasl.username") or options.get("username", ""),
            given.get("sasl.password") or options.get("password", ""),
        )
    return Settings(**found)


def _tls(given: Mapping[str, str]) -> Tls:
    for name in INLINE:
        if given.get(name):
            place = "ssl.truststore.location" if "truststore" in name else "ssl.keystore.location"
            raise InputError(f"{name}: inline PEM is not supported; write it to a file, and set {place}")
    checked = given.get("ssl.endpoint.identification.algorithm", "https").strip().lower()
    return Tls(
        ca=_store(given, "ssl.truststore", EXPORT_CA),
        certificate=_store(given, "ssl.keystore", EXPORT_KEY),
        key=given.get("ssl.key.location", ""),
        password=given.get("ssl.key.password") or None,
        verify=given.get("enable.ssl.certificate.verification", "true").strip().lower() != "false",
        check_name=checked not in ("", "none"),
    )


def _store(given: Mapping[str, str], name: str, export: str) -> str:
    """Return the path of a store's PEM file, "" for none; `InputError` for Java's own kinds says how to export them."""
    path = given.get(f"{name}.location", "")
    if not path:
        return ""
    try:
        with Path(path).open("rb") as file:
            pem = PEM in file.read(1 << 16)
    except OSError as error:
        raise InputError(f"{name}.location={path}: {error.strerror}") from None
    if not pem:
        kind = given.get(f"{name}.type", "JKS").strip().upper()
        what = "not PEM" if kind == "PEM" else f"a {kind} store, not PEM"
        raise InputError(f"{name}.location={path}: {what}; export it with {export.format(path)}")
    return path


def jaas(text: str) -> dict[str, str]:
    """Return the options of a login module: `…PlainLoginModule required username="me" password="…";`."""
    return {
        name: re.sub(r"\\(.)", r"\1", double or single) or bare for name, double, single, bare in JAAS.findall(text)
    }
