"""The consumer protocol: what members of a classic consumer group exchange through the broker.

Each member joins with a subscription, the leader answers with an assignment for each. Kafka 0.9; subscription v1 the
partitions a member still owns, for cooperative rebalancing (KIP-429), v2 the generation it got them in (KIP-792),
v3 its rack (KIP-881); the versions of the assignment only keep step. User data belongs to the assignor.
"""

from ...wire.language.payload import Mistaken, Payload
from ..meanings import *
from . import assignment_data, subscription_data

topic_partitions: Final = Array("topic" / TopicName, "partitions" / Partitions)

subscription: Final = Payload("ConsumerProtocolSubscription", Struct(
    "topics" / Array(TopicName) * "topics the member subscribes to",
    "user_data" / Default(Nullable(Holds(Bytes, subscription_data)), None)
        * "data of the member's assignor for the leader's; null means none",
    "owned_partitions" / Since(1, Ignorable(topic_partitions))
        * "partitions the member still has, for cooperative rebalancing, by topic",
    "generation_id" / Since(2, Ignorable(Default(GenerationId, -1)))
        * "generation in which the member got them; -1 means none",
    "rack_id" / Since(3, Ignorable(Default(Nullable(ClientRack), None))),
), versions=range(4), mistaken=(Mistaken(range(1, 2), 0, "subscription-v1-as-v0"),))
assignment: Final = Payload("ConsumerProtocolAssignment", Struct(
    "assigned_partitions" / topic_partitions * "partitions the member is to read, by topic",
    "user_data" / Default(Nullable(Holds(Bytes, assignment_data)), None)
        * "data of the leader's assignor for the member's; null means none",
), versions=range(4))
