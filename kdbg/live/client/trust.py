"""Which hosts get kdbg's own credentials: brokers name hosts of every kind, and not each of them is a broker."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address

from . import failures
from .settings import Address, Settings

LEAST = 2
"""Labels that a domain has at least for its hosts to belong together: `example.com`, not `com`."""


def check_trust(address: Address, named: Collection[Address], settings: Settings) -> None:
    """Raise `CannotConnect` for a broker that may not get the credentials that the settings have.

    `named` are the brokers that the user named.
    """
    guarded = settings.has_credentials and not settings.trust_advertised
    if guarded and not is_trusted(address[0], [host for host, _ in named]):
        raise failures.not_trusted(address)


def is_trusted(host: str, named: Collection[str]) -> bool:
    """Return whether a host is one that the user named, or is in the domain of such a one; ports do not matter.

    `b-2.shop.example.com` and `shop.example.com` are in the domain of `b-1.shop.example.com`. An IP address, and a host
    whose domain is a public one (`com`, `co.uk`), belong to no domain. All names of this machine's loopback are one.
    """
    host = host.lower().rstrip(".")
    return any(_belongs(host, other.lower().rstrip(".")) for other in named)


def _belongs(host: str, named: str) -> bool:
    if host == named or (_is_loopback(host) and _is_loopback(named)):
        return True
    if _is_ip(host) or _is_ip(named):
        return False
    domains = [domain for domain in (named, named.partition(".")[2]) if not _is_public(domain)]
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _is_public(domain: str) -> bool:
    """Return whether anybody may have hosts in a domain: `com`, `co.uk`, `com.au`."""
    labels = domain.split(".")
    return len(labels) < LEAST or (len(labels) == LEAST and len(labels[1]) == 2 and len(labels[0]) <= 3)


def _is_ip(host: str) -> bool:
    with suppress(ValueError):
        ip_address(host)
        return True
    return False


def _is_loopback(host: str) -> bool:
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"
