"""What a connection begins with: what a client says that it is, and raw SASL tokens.

Name and version of a client's software are in ApiVersions since version 3 (KIP-511).

Raw SASL tokens are frames that hold nothing but one, from SaslHandshake v0 on until a request proves itself again.
Clients of 0.9 send GSSAPI tokens without any handshake ("SASL Authentication Sequence" in the 0.10.1 guide). A token of
the client is answered by one of the broker, unless the mechanism has nothing left to say: then Kafka's broker sends no
frame (SaslServerAuthenticator, handleSaslToken: a null response), and its client sends its first request right behind
its last token (SaslClientAuthenticator: COMPLETE, where there are no SaslAuthenticate headers).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...protocol.wire import Api
from .exchange import CapturedMessage
from .message import read

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")
"""What brokers take for the name of a client's software (KIP-511), as far as it is not endless."""


def software_of(request: CapturedMessage) -> tuple[str | None, str | None] | None:
    """Return name and version from a request of ApiVersions; None where it has none."""
    message = request.message()
    if message is None or "client_software_name" not in message.body:
        return None
    return message.body["client_software_name"], message.body.get("client_software_version")


def software_in(request: CapturedMessage) -> str:
    """Return the name of the software in a request of ApiVersions, "" for none; keep nothing of what is read."""
    if request.api is None:
        return ""
    name = read(request.api, request.version, "request", request.data, shallow=True).body.get("client_software_name")
    return name if isinstance(name, str) and NAME.fullmatch(name) else ""


SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
ROUNDS = 16
"""The most raw tokens a client sends to authenticate once: no mechanism needs more than a few."""
DEFAULT_MECHANISM = "GSSAPI"
"""What brokers take tokens for that no handshake came before."""
CLIENT_SPEAKS_LAST: Mapping[str, bool] = {
    "GSSAPI": True,  # RFC 4752, 3.1: the client answers the broker's offer of a security layer, and that is all
    "PLAIN": False,  # an empty token
    "SCRAM-SHA-256": False,  # the server's signature
    "SCRAM-SHA-512": False,
    "OAUTHBEARER": False,  # an empty token, or what is wrong with the client's
}
"""Whether the last token of a login is the client's. Any other mechanism is taken to end with the broker's."""


def expected_after(api: Api, version: int) -> int:
    """Return how many raw tokens may follow this request."""
    return ROUNDS if api.key == SASL_HANDSHAKE and version == 0 else 0


def client_speaks_last(facts: Mapping[str, Any]) -> bool:
    """Return whether the client has the last word in the connection's SASL mechanism; False if it is unknown."""
    return CLIENT_SPEAKS_LAST.get(facts.get("mechanism") or "", False)


def mechanism_of(half: CapturedMessage) -> Any:
    """Return the mechanism that a SaslHandshake request names, None where it cannot be read."""
    return _body(half).get("mechanism")


def refused(api: Api | None, response: CapturedMessage) -> bool:
    """Return whether this is a SaslHandshake response with an error code, so that no tokens follow."""
    return api is not None and api.key == SASL_HANDSHAKE and bool(_body(response).get("error_code"))


def _body(half: CapturedMessage) -> dict[str, Any]:
    """Read the message without keeping it, as its frame is not proved yet; return its body."""
    assert half.api is not None
    return read(half.api, half.version, half.direction, half.data, shallow=True).body
