"""The principal of a forwarded request: who had sent the request that an Envelope holds (KIP-590).

Kafka's own principal builder writes it so; a broker with another builder may write anything.
"""

from ...wire import Boolean, String, Struct
from ...wire.language.payload import Payload

principal = Payload("DefaultPrincipalData", Struct(
    "type" / String,
    "name" / String,
    "token_authenticated" / Boolean,
), flexible=0)
