"""A broker that authenticates: PLAIN, SCRAM (the server's half is scramp's) and OAUTHBEARER, in both ways of Kafka.

`newest` are the versions of SaslHandshake and SaslAuthenticate that it knows: None for the latter is a broker before
1.0, which takes the tokens alone and hangs up where it does not believe them.
"""

from __future__ import annotations

from typing import Any

from scramp import ScramException, ScramMechanism

from kdbg.live.client.settings import Sasl

from .servers import Peer, Request, api_versions, metadata

USER, PASSWORD, TOKEN = "alice", "correct-horse-battery", "a-token-of-trust"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
UNSUPPORTED_MECHANISM, FAILED = 33, 58
SECRETS = (PASSWORD, TOKEN)


def good(mechanism: str, **changes: Any) -> Sasl:
    """Settings that this broker believes, but for the changes."""
    oauth = mechanism.upper() == "OAUTHBEARER"
    fields = {"token": TOKEN} if oauth else {"username": USER, "password": PASSWORD}
    return Sasl(mechanism, **(fields | changes))


class Refused(Exception):
    """The client is not who it says it is; the text is what the broker says about it."""


class Authority:
    """The server's half of a mechanism: answers tokens; `done` once it believes the client."""

    def __init__(self, mechanism: str) -> None:
        self.mechanism, self.done = mechanism, False
        self.scram: Any = None
        self.complained = False

    def answer(self, token: bytes) -> bytes:
        if self.mechanism == "PLAIN":
            return self.plain(token)
        return self.bearer(token) if self.mechanism == "OAUTHBEARER" else self.challenge(token.decode())

    def plain(self, token: bytes) -> bytes:
        self.done = token.split(b"\0") == [b"", USER.encode(), PASSWORD.encode()]
        if not self.done:
            raise Refused("Authentication failed: Invalid username or password")
        return b""

    def bearer(self, token: bytes) -> bytes:
        if self.complained:
            assert token == b"\x01"
            raise Refused('{"status":"invalid_token"}')
        self.done = token == f"n,,\x01auth=Bearer {TOKEN}\x01\x01".encode()
        self.complained = not self.done
        return b"" if self.done else b'{"status":"invalid_token"}'

    def challenge(self, message: str) -> bytes:
        try:
            if self.scram is None:
                mechanism = ScramMechanism(self.mechanism)
                known = {USER: mechanism.make_auth_info(PASSWORD)}
                self.scram = mechanism.make_server(lambda user: known[user])
                self.scram.set_client_first(message)
                return bytes(self.scram.get_server_first().encode())
            self.scram.set_client_final(message)
        except (ScramException, KeyError):
            reason = f"Authentication failed during authentication due to invalid credentials with {self.mechanism}"
            raise Refused(reason) from None
        self.done = True
        return bytes(self.scram.get_server_final().encode())


class SaslBroker:
    """Serves one connection after the other; `said` is what the clients asked for, in turn."""

    def __init__(self, *, handshake: int = 1, authenticate: int | None = 2, mechanisms: tuple[str, ...] = MECHANISMS):
        self.versions = {"ApiVersions": (0, 3), "Metadata": (0, 12), "SaslHandshake": (0, handshake)}
        if authenticate is not None:
            self.versions["SaslAuthenticate"] = (0, authenticate)
        self.mechanisms = mechanisms
        self.knows_versions = True
        self.said: list[tuple[str, int]] = []

    async def __call__(self, peer: Peer) -> None:
        authority: Authority | None = None
        while True:
            request = await peer.request()
            self.said.append((request.api.name, request.version))
            lowest, highest = self.versions.get(request.api.name, (0, -1))
            if not lowest <= request.version <= highest:
                return
            if request.api.name == "ApiVersions":
                if not self.knows_versions:
                    return
                peer.tell(api_versions(request, self.versions))
            elif request.api.name == "SaslHandshake":
                authority = await self.handshake(peer, request)
                if authority is None or (request.version == 0 and not authority.done):
                    return
            elif request.api.name == "SaslAuthenticate" and authority is not None:
                if not self.authenticate(peer, request, authority):
                    return
            elif authority is None or not authority.done:
                return  # as brokers do with what comes before its time
            else:
                peer.tell(metadata(request))

    async def handshake(self, peer: Peer, request: Request) -> Authority | None:
        name = request.body["mechanism"]
        if name not in self.mechanisms:
            peer.tell(request.response({"error_code": UNSUPPORTED_MECHANISM, "mechanisms": list(self.mechanisms)}))
            return None
        peer.tell(request.response({"mechanisms": list(self.mechanisms)}))
        authority = Authority(name)
        while request.version == 0 and not authority.done:
            token = await peer.frame()
            self.said.append(("token", 0))
            try:
                peer.tell(authority.answer(token))
            except Refused:
                return None
        return authority

    def authenticate(self, peer: Peer, request: Request, authority: Authority) -> bool:
        try:
            peer.tell(request.response({"auth_bytes": authority.answer(request.body["auth_bytes"])}))
        except Refused as refused:
            peer.tell(request.response({"error_code": FAILED, "error_message": str(refused)}))
            return False
        return True
