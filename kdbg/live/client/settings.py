"""How to reach and to address brokers: client id, limits, TLS, SASL."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...errors import InputError

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
    have the credentials, wherever they are; see `trust`.
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


def addresses(text: str) -> list[Address]:
    """Parse `a:9092,[::1]:9093,c` into (host, port) pairs; `InputError` for what is no address."""
    found = [_address(part.strip()) for part in text.split(",") if part.strip()]
    if not found:
        raise InputError("no broker given; use host:port, or several separated by commas")
    return found


_PLACE = re.compile(
    r"""
    \[ (?P<bracketed> [^][/\s]+ ) ]                 (?: : (?P<port_of_it> [^/\s]* ) )?
    | (?P<ipv6> [^][/\s:]* : [^][/\s]* : [^][/\s]* )
    | (?P<host> [^][/\s:]+ )                       (?: : (?P<port> [^/\s]* ) )?
    """,
    re.VERBOSE,
)


def _address(text: str) -> Address:
    """Parse `[::1]:9093`, `::1` or `host:9093`; without a port it is DEFAULT_PORT."""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise InputError(f"invalid broker address {text!r}; use host:port")
    port = found["port"] or found["port_of_it"] or ""
    if port and not (port.isdecimal() and 0 < int(port) < 65536):
        raise InputError(f"invalid broker address {text!r}; the port must be 1 to 65535")
    return found["bracketed"] or found["ipv6"] or found["host"], int(port) if port else DEFAULT_PORT


def show(address: Address) -> str:
    """Write an address as host:port, IPv6 in brackets."""
    return f"[{address[0]}]:{address[1]}" if ":" in address[0] else f"{address[0]}:{address[1]}"
