"""The principal of a forwarded request: who had sent the request that an Envelope holds (KIP-590).

Kafka's own principal builder writes it so; a broker with another builder may write anything.
"""

from ...wire import *
from ...wire.language.payload import Payload

principal: Final = Payload("DefaultPrincipalData", Struct(
    "type" / String * "kind of principal, usually User",
    "name" / String * "name of the principal",
    "token_authenticated" / Boolean * "true if it logged in with a delegation token",
), flexible=0)
