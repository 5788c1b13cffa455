"""Mistakes that a message alone does not show: they are in the order of a connection's requests."""

from __future__ import annotations

from ...protocol.findings.quirks import Sure
from ...protocol.wire import Api
from ..messages.message import read
from .mistake import Mistake, Subject, sized

SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36
MOST_IN_FLIGHT = 1 << 14
"""Correlation ids that are kept; the oldest are forgotten."""


class RequestOrder:
    """What a connection's requests are compared with: its SASL handshake, and the requests in flight."""

    def __init__(self) -> None:
        self._handshake: int | None = None
        """The version of the SaslHandshake request before, until tokens follow."""
        self._in_flight: dict[int, None] = {}

    def see_request(self, frame: bytes, api: Api, version: int, *, answered: bool = True) -> Mistake | None:
        """Take the next request, from its header on; return its mistake. `answered`: it gets a response."""
        found = self.see_sasl(frame, api, version)
        number = int.from_bytes(frame[4:8], "big", signed=True)
        if found is None and number in self._in_flight:
            known = Subject(frame, api, version, "request").mistake("reused-correlation-id")
            found = known._replace(path="correlation_id", start=4, length=4, actual=str(number), sure=Sure.CERTAIN)
        if answered:
            self._in_flight[number] = None
            if len(self._in_flight) > MOST_IN_FLIGHT:
                del self._in_flight[next(iter(self._in_flight))]
        return found

    def see_response(self, correlation_id: int) -> None:
        """Take the next response: its request is no longer in flight."""
        self._in_flight.pop(correlation_id, None)

    def see_sasl(self, frame: bytes, api: Api, version: int) -> Mistake | None:
        """Take the next request as `see_request` does, but for its SASL tokens alone."""
        before, self._handshake = self._handshake, version if api.key == SASL_HANDSHAKE else None
        if before != 0 or api.key != SASL_AUTHENTICATE:
            return None
        token = read(api, version, "request", frame).body.get("auth_bytes")
        return Subject(frame, api, version, "request").mistake("sasl-authenticate-after-v0")._replace(
            path="api_key", start=0, length=2, sure=Sure.CERTAIN, corrected=sized(token) if token else b"",
        )  # fmt: skip

    def see_token(self, token: bytes, authenticate: Api) -> Mistake | None:
        """Take bytes after a size that are no request; return the mistake if they are a SASL token out of place.

        `authenticate` is the API of SaslAuthenticate.
        """
        before, self._handshake = self._handshake, None
        if before is None or before == 0 or not is_token(token):
            return None
        return (
            Subject(token, authenticate, 0, "request")
            .mistake("raw-sasl-token")
            ._replace(path="", start=0, length=len(token), sure=Sure.CERTAIN)
        )


def is_token(data: bytes) -> bool:
    """Return whether bytes are a first SASL token: PLAIN, SCRAM, OAUTHBEARER, or GSSAPI's."""
    plain = data.count(0) == 2 and not data.endswith(b"\0")
    return plain or data.startswith((b"n,,", b"y,,", b"p=", b"n,a=", b"\x60"))
