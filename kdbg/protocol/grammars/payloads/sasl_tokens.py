"""The tokens of SASL mechanisms: what SaslAuthenticate and the bare frames after SaslHandshake v0 carry.

PLAIN (RFC 4616); SCRAM (RFC 5802, RFC 7677), with delegation tokens as users (KIP-48); OAUTHBEARER (RFC 7628), with
extensions (KIP-342); GSSAPI (RFC 4752): Kerberos (RFC 4121), perhaps by SPNEGO (RFC 4178), until a context stands, then
wrapped messages, with which the ends agree on a security layer. Kafka never uses one.

Which mechanism it is, SaslHandshake said; where that was not seen, the tokens are told by how they begin.

Hidden are passwords, tokens, what proves knowledge of a password, and the salt: without it, nobody who has a
proof from elsewhere can try passwords against it. Nonces are shown: they serve once, and tell two logins apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ....errors import BadValue
from ...findings.faults import FaultKind
from ...wire import Bits, Enum, Int8, Int64, SecretRemainder, Struct, UInt16
from ...wire.language.payload import Payload, PayloadForm
from ...wire.nodes.leaves import Fixed
from ...wire.nodes.sasl_tokens import DerLength, Each, Marked, ObjectId

UInt8: Final = Fixed("UINT8", "B")


def _token(name: str, *fields: Any) -> Payload:
    """Declare a token: a payload with neither version nor frame."""
    return Payload(name, Struct(*fields), frame=())


CHANNEL_BINDING = "channel_binding" / Marked("", ",") * "whether the login is bound to a TLS channel: n means no"
AUTHORIZATION_ID = "authorization_id" / Marked(",a=", ",", absent=",") * "user to act as; absent: the one who logs in"

plain: Final = _token("PlainMessage",
    "authorization_id" / Marked("", "\0") * "user to act as; empty means the one who logs in",
    "user" / Marked("\0", "\0") * "user who logs in",
    "password" / Marked("\0", kind="secret") * "password, in plaintext",
)

scram_client_first: Final = _token("ScramClientFirstMessage",
    CHANNEL_BINDING,
    AUTHORIZATION_ID,
    "user" / Marked(",n=", ",") * "user who logs in; with tokenauth the id of a delegation token",
    "nonce" / Marked(",r=", ",") * "random text of the client, for this login only",
    "tokenauth" / Marked(",tokenauth=", ",", absent="") * "true if a delegation token logs in; absent otherwise",
    "extensions" / Marked(",", absent="", kind="secret") * "further attributes; absent as a rule",
)
scram_server_first: Final = _token("ScramServerFirstMessage",
    "nonce" / Marked("r=", ",") * "the client's random text, continued by the broker",
    "salt" / Marked(",s=", ",", kind="secret") * "random bytes hashed together with the password, in base64",
    "iterations" / Marked(",i=", ",") * "rounds of hashing",
    "extensions" / Marked(",", absent="", kind="secret") * "further attributes; absent as a rule",
)
scram_client_final: Final = _token("ScramClientFinalMessage",
    "channel_binding" / Marked("c=", ",") * "channel binding of the first message, in base64; biws means none",
    "nonce" / Marked(",r=", ",") * "random text of both, as the broker sent it",
    "proof" / Marked(",p=", kind="secret") * "proof that the client knows the password, in base64",
)
scram_server_final: Final = _token("ScramServerFinalMessage",
    "signature" / Marked("v=", kind="secret") * "proof that the broker knows the user's key, in base64",
)
scram_server_error: Final = _token("ScramServerError",
    "error" / Marked("e=") * "why the login failed, such as invalid-proof",
)

oauth_initial: Final = _token("OAuthBearerClientInitialResponse",
    CHANNEL_BINDING,
    AUTHORIZATION_ID,
    "auth" / Marked(",\1auth=", "\1", kind="secret") * "scheme and token: Bearer and a JWT, as a rule",
    "extensions" / Each("\1",
        "name" / Marked("\1", "=") * "name of the extension",
        "value" / Marked("=", "\1", kind="secret", when="name") * "value of the extension",
    ) * "names and values the client adds to its token (KIP-342)",
    "end" / Marked("\1\1") * "end of the message",
)
oauth_error: Final = _token("OAuthBearerServerError",
    "json" / Marked("") * "why the token was refused, as JSON",
)
oauth_acknowledgement: Final = _token("OAuthBearerErrorAcknowledgement",
    "end" / Marked("\1") * "a single byte 01: the client has seen the error",
)

KerberosToken: Final = Enum(UInt16, {
    0x0100: "AP_REQ", 0x0200: "AP_REP", 0x0300: "ERROR", 0x0101: "MIC", 0x0201: "WRAP", 0x0404: "MIC_V2",
    0x0504: "WRAP_V2",
})
DER = (
    "tag" / UInt8 * "ASN.1 tag that begins the token",
    "length" / DerLength() * "length of the rest, in bytes",
)
MECHANISM = "mechanism" / ObjectId() * "object identifier of the mechanism: Kerberos, or SPNEGO, which negotiates one"
kerberos: Final = _token("KerberosToken",
    *DER,
    MECHANISM,
    "token_id" / KerberosToken * "kind of Kerberos message",
    "token" / SecretRemainder * "the rest of the token, which only the mechanism can read",
)
spnego_first: Final = _token("SpnegoInitialToken",
    *DER,
    MECHANISM,
    "token" / SecretRemainder * "the rest of the token, which only the mechanism can read",
)
spnego_next: Final = _token("SpnegoNegotiationToken",
    *DER,
    "token" / SecretRemainder * "the rest of the token, which only the mechanism can read",
)
WRAPPED = (
    "token_id" / KerberosToken * "kind of Kerberos message",
    "flags" / Bits(Int8, {0: "SENT_BY_ACCEPTOR", 1: "SEALED", 2: "ACCEPTOR_SUBKEY"})
        * "who sent the message, and how it is protected",
    "filler" / UInt8 * "always 255",
    "extra_count" / UInt16 * "bytes of padding or checksum at the end",
    "right_rotation_count" / UInt16 * "how far the data is rotated to the right, in bytes",
    "sequence_number" / Int64 * "goes up with each message of the sender",
)
kerberos_wrap: Final = _token("KerberosWrapToken",
    *WRAPPED,
    "data" / SecretRemainder * "the protected message",
)
security_layer: Final = _token("KerberosSecurityLayer",
    *WRAPPED,
    "security_layers" / Bits(Int8, {0: "NONE", 1: "INTEGRITY", 2: "CONFIDENTIALITY"})
        * "layers the broker offers or the client chooses; Kafka uses none",
    "data" / SecretRemainder * "largest message, authorization id and checksum",
)
"""RFC 4752: what the server offers, what the client takes; after it a size and an authorization id, and a checksum."""


@dataclass(frozen=True)
class MechanismMessages:
    """What one end sends in a mechanism: what the whole of a token must look like, and which one it then is."""

    mechanism: str
    kinds: Mapping[bytes, Payload]

    def choose(self, data: bytes) -> PayloadForm:
        for pattern, payload in self.kinds.items():
            if re.fullmatch(pattern, data, re.DOTALL):
                return payload.choose(data)
        raise BadValue("", 0, FaultKind.NO_TOKEN.of(self.mechanism))


GS2 = rb"(?:n|y|p=[^,]+),(?:a=[^,]+)?"
"""How messages begin by RFC 5801: binding to a TLS channel, authorization id."""
GSSAPI = MechanismMessages("GSSAPI", {
    rb"\x60.{1,5}?\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02.*": kerberos,
    rb"\x60.{1,5}?\x06\x06\x2b\x06\x01\x05\x05\x02.*": spnego_first,
    rb"\xa1(?:[\x00-\x7f]|\x81.|\x82..|\x83...)\x30.*": spnego_next,
    rb"\x05\x04[\x00\x01\x04\x05]\xff..\x00\x00.{9,}": security_layer,
    rb"\x05\x04[\x00-\x07]\xff.{12,}": kerberos_wrap,
})
CLIENT = (
    MechanismMessages("PLAIN", {rb"[^\x00-\x1f\x7f]*\x00[^\x00-\x1f\x7f]+\x00[^\x00]+": plain}),
    MechanismMessages("SCRAM", {
        GS2 + rb",n=[^,]+,r=[\x21-\x7e]+": scram_client_first,
        rb"c=[A-Za-z0-9+/=]+,r=[\x21-\x2b\x2d-\x7e]+,p=[A-Za-z0-9+/=]+": scram_client_final,
    }),
    MechanismMessages("OAUTHBEARER", {
        GS2 + rb",\x01auth=[^\x01]+(?:\x01[A-Za-z]+=[\x20-\x7e\t\r\n]*)*\x01\x01": oauth_initial,
        rb"\x01": oauth_acknowledgement,
    }),
    GSSAPI,
)
SERVER = (
    MechanismMessages("SCRAM", {
        rb"r=[\x21-\x2b\x2d-\x7e]+,s=[A-Za-z0-9+/=]+,i=[0-9]+(?:,.*)?": scram_server_first,
        rb"v=[A-Za-z0-9+/=]+": scram_server_final,
        rb"e=[a-z]+(?:-[a-z]+)+": scram_server_error,
    }),
    MechanismMessages("OAUTHBEARER", {rb"\{\s*\"status\".*": oauth_error}),
    GSSAPI,
)


TOKENS = {payload.name: payload for one in (*CLIENT, *SERVER) for payload in one.kinds.values()}


def named(name: str) -> PayloadForm | None:
    """Return the reading of the token of this name; None where there is none."""
    known = TOKENS.get(name)
    return None if known is None else known.reading(known.versions[0])
