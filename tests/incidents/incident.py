"""What an incident is: its cause, who is concerned, how it is staged, what undoes it, what its capture must show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from .codes import HEALTHY

if TYPE_CHECKING:
    from .stage import Stage

Staging = Callable[["Stage"], None]
"""Makes the failure on a stage, and records it: what it does within `stage.recording()` is in the capture."""
PARTIES = ("client_id", "broker", "topic", "partition", "group", "user", "transactional_id", "host")
"""What `who` may name; a list where several are concerned."""


@dataclass(frozen=True)
class Shown:
    """At least so many exchanges of an API: with an error, a version, a client id, with no response, slower than (ms).

    `where` is an expression of kdbg's own (`kdbg guide where`), for what only a field of the message tells.
    """

    api: str
    error: str = ""
    version: int | None = None
    client_id: str = ""
    unanswered: bool = False
    slower_than: float = 0.0
    where: str = ""
    at_least: int = 1


@dataclass(frozen=True)
class Packets:
    """At least so many packets with these flags (letters of SFRPA), from or to a port, from or to an address."""

    flags: str = ""
    port: int | None = None
    address: str = ""
    empty_window: bool = False
    at_least: int = 1


@dataclass(frozen=True)
class Bytes:
    """Bytes that stand in some packet as they are."""

    data: bytes


Evidence = Shown | Packets | Bytes


@dataclass(frozen=True)
class Incident:
    """One run of brokers and clients. A failing one has a cause; a healthy one says what it could be taken for."""

    name: str
    cause: str
    cluster: str
    stage: Staging
    who: Mapping[str, object] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    advice: str = ""
    cured: Staging | None = None
    """Stages the same with the advice applied: another port, a setting changed; None where nobody can apply it here."""
    looks_like: str = ""
    stored: bool = True
    """Whether the capture is small enough to be kept in the repository; else it is made anew when wanted."""

    @property
    def healthy(self) -> bool:
        return self.cause == HEALTHY


def healthy(name: str, cluster: str, stage: Staging, looks_like: str, *evidence: Evidence) -> Incident:
    """An entry for what is well, and what it could be taken for."""
    return Incident(name, HEALTHY, cluster, stage, evidence=evidence, looks_like=looks_like)
