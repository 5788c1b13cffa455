"""What a connection begins with: a client's software (ApiVersions v3 and later, KIP-511), and raw SASL tokens.

Raw SASL tokens are frames that hold nothing but one, from SaslHandshake v0 on until a request proves itself again.
Clients of 0.9 send GSSAPI tokens without any handshake ("SASL Authentication Sequence" in the 0.10.1 guide). A token of
the client is answered by one of the broker, unless the mechanism has nothing left to say: then Kafka's broker sends no
frame (SaslServerAuthenticator, handleSaslToken: a null response), and its client sends its first request right after
its last token (SaslClientAuthenticator: COMPLETE, where there are no SaslAuthenticate headers).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .exchange import CapturedMessage
from .message import read

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")
"""What brokers take for name and version of a client's software (KIP-511), as far as they are not endless."""


def body_of(half: CapturedMessage) -> dict[str, Any]:
    """Read the message without keeping it, as its frame is not proved yet; return its body."""
    if half.api is None:
        return {}
    return read(half.api, half.version, half.direction, half.data, shallow=True).body


def software_of(request: CapturedMessage) -> tuple[str | None, str | None] | None:
    """Return name and version from a request of ApiVersions; None where it has none."""
    message = request.message()
    if message is None or "client_software_name" not in message.body:
        return None
    return message.body["client_software_name"], message.body.get("client_software_version")


def software_in(request: CapturedMessage) -> str:
    """Return "name version" from a request of ApiVersions, as far as brokers take them; keep nothing that is read."""
    body = body_of(request)
    said = (body.get("client_software_name"), body.get("client_software_version"))
    name, version = (one if isinstance(one, str) and NAME.fullmatch(one) else "" for one in said)
    return name and f"{name} {version}".rstrip()


SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
ROUNDS = 16
"""The most raw tokens a client sends to authenticate once: no mechanism needs more than a few."""
CLIENT_SPEAKS_LAST: Mapping[str, bool] = {
    "GSSAPI": True,  # RFC 4752, 3.1: the client answers the broker's offer of a security layer, and that is all
    "PLAIN": False,  # an empty token
    "SCRAM-SHA-256": False,  # the server's signature
    "SCRAM-SHA-512": False,
    "OAUTHBEARER": False,  # an empty token, or what is wrong with the client's
}
"""Whether the last token of a login is the client's. Any other mechanism is taken to end with the broker's."""
