"""The tokens of SASL mechanisms: what SaslAuthenticate and the bare frames behind SaslHandshake v0 carry.

PLAIN (RFC 4616); SCRAM (RFC 5802, RFC 7677), with delegation tokens as users (KIP-48); OAUTHBEARER (RFC 7628), with
extensions (KIP-342); GSSAPI (RFC 4752): Kerberos (RFC 4121), perhaps by SPNEGO (RFC 4178), until a context stands, then
wrapped messages, with which the ends agree on a security layer. Kafka never uses one.

Which mechanism it is, SaslHandshake said; where that was not seen, the tokens are told by how they begin.

Hidden are passwords, tokens, what proves that somebody knows a password, and the salt: without it, nobody who has a
proof from elsewhere can try passwords against it. Nonces are shown: they serve once, and tell two logins apart.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import BadValue
from ...wire import Bits, Enum, Int8, Int64, SecretRemainder, Struct, UInt16
from ...wire.language.payload import Around, Payload, Readable, Reading
from ...wire.nodes.der import DerLength, ObjectId
from ...wire.nodes.leaves import Fixed
from ...wire.nodes.marked import Each, Marked

UInt8 = Fixed("UINT8", "B")


def _token(name: str, *fields: Any) -> Payload:
    """A token has no version."""
    return Payload(name, Struct(*fields), frame=())


CHANNEL_BINDING = "channel_binding" / Marked("", ",")
AUTHORIZATION_ID = "authorization_id" / Marked(",a=", ",", absent=",")

plain = _token("PlainMessage",
    "authorization_id" / Marked("", "\0"),
    "user" / Marked("\0", "\0"),
    "password" / Marked("\0", kind="secret"),
)

scram_client_first = _token("ScramClientFirstMessage",
    CHANNEL_BINDING,
    AUTHORIZATION_ID,
    "user" / Marked(",n=", ","),
    "nonce" / Marked(",r=", ","),
    "tokenauth" / Marked(",tokenauth=", ",", absent=""),
    "extensions" / Marked(",", absent="", kind="secret"),
)
scram_server_first = _token("ScramServerFirstMessage",
    "nonce" / Marked("r=", ","),
    "salt" / Marked(",s=", ",", kind="secret"),
    "iterations" / Marked(",i=", ","),
    "extensions" / Marked(",", absent="", kind="secret"),
)
scram_client_final = _token("ScramClientFinalMessage",
    "channel_binding" / Marked("c=", ","),
    "nonce" / Marked(",r=", ","),
    "proof" / Marked(",p=", kind="secret"),
)
scram_server_final = _token("ScramServerFinalMessage", "signature" / Marked("v=", kind="secret"))
scram_server_error = _token("ScramServerError", "error" / Marked("e="))

oauth_initial = _token("OAuthBearerClientInitialResponse",
    CHANNEL_BINDING,
    AUTHORIZATION_ID,
    "auth" / Marked(",\1auth=", "\1", kind="secret"),
    "extensions" / Each("\1", "name" / Marked("\1", "="), "value" / Marked("=", "\1", kind="secret", when="name")),
    "end" / Marked("\1\1"),
)
oauth_error = _token("OAuthBearerServerError", "json" / Marked(""))
oauth_acknowledgement = _token("OAuthBearerErrorAcknowledgement", "end" / Marked("\1"))

KerberosToken = Enum(UInt16, {
    0x0100: "AP_REQ", 0x0200: "AP_REP", 0x0300: "ERROR", 0x0101: "MIC", 0x0201: "WRAP", 0x0404: "MIC_V2",
    0x0504: "WRAP_V2",
})
kerberos = _token("KerberosToken",
    "tag" / UInt8,
    "length" / DerLength(),
    "mechanism" / ObjectId(),
    "token_id" / KerberosToken,
    "token" / SecretRemainder,
)
spnego_first = _token("SpnegoInitialToken",
    "tag" / UInt8,
    "length" / DerLength(),
    "mechanism" / ObjectId(),
    "token" / SecretRemainder,
)
spnego_next = _token("SpnegoNegotiationToken",
    "tag" / UInt8,
    "length" / DerLength(),
    "token" / SecretRemainder,
)
WRAPPED = (
    "token_id" / KerberosToken,
    "flags" / Bits(Int8, {0: "SENT_BY_ACCEPTOR", 1: "SEALED", 2: "ACCEPTOR_SUBKEY"}),
    "filler" / UInt8,
    "extra_count" / UInt16,
    "right_rotation_count" / UInt16,
    "sequence_number" / Int64,
)
kerberos_wrap = _token("KerberosWrapToken", *WRAPPED, "data" / SecretRemainder)
security_layer = _token("KerberosSecurityLayer",
    *WRAPPED,
    "security_layers" / Bits(Int8, {0: "NONE", 1: "INTEGRITY", 2: "CONFIDENTIALITY"}),
    "data" / SecretRemainder,
)
"""RFC 4752: what the server offers, what the client takes; behind it a size and an authorization id, and a checksum."""


@dataclass(frozen=True)
class Messages:
    """What one end sends in a mechanism: what the whole of a token must look like, and which one it then is."""

    mechanism: str
    kinds: Mapping[bytes, Payload]

    def choose(self, data: bytes) -> Reading:
        for pattern, payload in self.kinds.items():
            if re.fullmatch(pattern, data, re.DOTALL):
                return payload.choose(data)
        raise BadValue("", 0, f"no token of {self.mechanism} looks like this")


GS2 = rb"(?:n|y|p=[^,]+),(?:a=[^,]+)?"
"""How messages begin by RFC 5801: binding to a TLS channel, authorization id."""
GSSAPI = Messages("GSSAPI", {
    rb"\x60.{1,5}?\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02.*": kerberos,
    rb"\x60.{1,5}?\x06\x06\x2b\x06\x01\x05\x05\x02.*": spnego_first,
    rb"\xa1(?:[\x00-\x7f]|\x81.|\x82..|\x83...)\x30.*": spnego_next,
    rb"\x05\x04[\x00\x01\x04\x05]\xff..\x00\x00.{9,}": security_layer,
    rb"\x05\x04[\x00-\x07]\xff.{12,}": kerberos_wrap,
})
CLIENT = (
    Messages("PLAIN", {rb"[^\x00-\x1f\x7f]*\x00[^\x00-\x1f\x7f]+\x00[^\x00]+": plain}),
    Messages("SCRAM", {
        GS2 + rb",n=[^,]+,r=[\x21-\x7e]+": scram_client_first,
        rb"c=[A-Za-z0-9+/=]+,r=[\x21-\x2b\x2d-\x7e]+,p=[A-Za-z0-9+/=]+": scram_client_final,
    }),
    Messages("OAUTHBEARER", {
        GS2 + rb",\x01auth=[^\x01]+(?:\x01[A-Za-z]+=[\x20-\x7e\t\r\n]*)*\x01\x01": oauth_initial,
        rb"\x01": oauth_acknowledgement,
    }),
    GSSAPI,
)
SERVER = (
    Messages("SCRAM", {
        rb"r=[\x21-\x2b\x2d-\x7e]+,s=[A-Za-z0-9+/=]+,i=[0-9]+(?:,.*)?": scram_server_first,
        rb"v=[A-Za-z0-9+/=]+": scram_server_final,
        rb"e=[a-z]+(?:-[a-z]+)+": scram_server_error,
    }),
    Messages("OAUTHBEARER", {rb"\{\s*\"status\".*": oauth_error}),
    GSSAPI,
)


TOKENS = {payload.name: payload for one in (*CLIENT, *SERVER) for payload in one.kinds.values()}


def named(name: str) -> Reading | None:
    """The token of a name; None where there is none."""
    known = TOKENS.get(name)
    return None if known is None else known.reading(known.versions[0])


def client_token(data: bytes, around: Around) -> Iterable[Readable]:
    """A token that the client sent, by the mechanism that stands around it, or by its looks."""
    return _of(CLIENT, around)


def server_token(data: bytes, around: Around) -> Iterable[Readable]:
    """A token that the broker sent."""
    return _of(SERVER, around)


def _of(messages: tuple[Messages, ...], around: Around) -> Iterable[Readable]:
    mechanism = around.get("mechanism")
    if mechanism is None:
        return messages
    family = str(mechanism).partition("-SHA-")[0]
    return [known for known in messages if known.mechanism == family]
