"""The brokers of a captured cluster, as its metadata told them."""

from __future__ import annotations

from collections.abc import Iterable

from ...capture.packet import Endpoint
from ...exchanges.messages.exchange import Exchange


def brokers_in(exchanges: Iterable[Exchange]) -> dict[int, Endpoint]:
    """Return the addresses of all brokers that Metadata named, by node id."""
    found: dict[int, Endpoint] = {}
    for exchange in exchanges:
        if exchange.api is None or exchange.api.name != "Metadata" or exchange.response is None:
            continue
        message = exchange.response.message(shallow=True)
        for broker in (message.body.get("brokers") or ()) if message is not None else ():
            found[broker["node_id"]] = (broker["host"], broker["port"])
    return found
