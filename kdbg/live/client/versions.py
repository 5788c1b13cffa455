"""Which versions of which APIs a broker understands (KIP-35), and which one to speak to it."""

from __future__ import annotations

from collections.abc import Mapping

from ... import __version__
from ...protocol import grammars
from ...protocol.wire import Api
from .connection import Connection

Versions = Mapping[int, tuple[int, int]]
"""API key -> (lowest, highest); empty where the broker does not tell."""
API_VERSIONS = 18
METADATA, VOTE, BROKER_REGISTRATION = 3, 52, 62
ASKED_IN = (3, 0)
"""Every broker since 0.10 answers one of these, at least with error 35 in version 0 (KIP-511)."""


async def ask_versions(connection: Connection) -> Versions:
    """Return the versions that the broker says it understands; `Closed` for brokers before 0.10, which hang up."""
    api = grammars.by_key(API_VERSIONS)
    software = {"client_software_name": "kdbg", "client_software_version": __version__}
    for version in ASKED_IN:
        body = await connection.ask(api, version, software if version else {})
        if not body.get("error_code"):
            return {entry["api_key"]: (entry["min_version"], entry["max_version"]) for entry in body["api_keys"] or ()}
    return {}


def choose(api: Api, known: Versions, within: range | None = None) -> int:
    """Return the highest version of `within` that both sides know; the lowest if the broker told none.

    Where there is none, the nearest to what the broker knows: its refusal says it best.
    """
    wanted = within or api.versions
    if not known:
        return wanted[0]
    lowest, highest = known.get(api.key, (wanted[0], wanted[-1]))
    return min(max(min(highest, wanted[-1]), lowest, wanted[0]), wanted[-1])


def serves(told: Versions | None, api: Api) -> bool:
    """Return whether a listener that told these versions offers an API; one that told none may offer any."""
    return not told or api.key in told


def spoken(told: Versions | None, api: Api, version: int) -> bool:
    """Return whether a listener that told these versions speaks this one of an API; True if it told none."""
    lowest, highest = (told or {}).get(api.key, (version, version))
    return serves(told, api) and lowest <= version <= highest


def is_controller(told: Versions) -> bool:
    """Return whether these are the APIs of a KRaft controller's listener: votes or registration, no Metadata."""
    return METADATA not in told and (VOTE in told or BROKER_REGISTRATION in told)
