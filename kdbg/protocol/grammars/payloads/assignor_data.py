"""User data of the sticky assignors: a member's last assignment, in its subscription.

The sticky assignor writes all of it (KIP-54), v1 with the generation it was made in (KIP-341); no number in front says
which. The cooperative one (KIP-429) leaves the partitions to the subscription and writes the generation alone, but
librdkafka's writes what the sticky one does. aiokafka and sarama write as Java does; kafka-python 3 puts the version
in front.
"""

from ...wire.language.payload import Payload
from ..meanings import *

previous_assignment = "previous_assignment" / Array(
    "topic" / TopicName,
    "partitions" / Partitions,
) * "partitions the member had before this rebalance, by topic"

sticky_0: Final = Payload("StickyAssignorUserDataV0", Struct(previous_assignment), frame=())
sticky_1: Final = Payload("StickyAssignorUserDataV1", Struct(
    previous_assignment,
    "generation" / Int32
        * "generation in which the member had them; the newest claim to a partition wins; -1 means unknown",
), frame=())
kafka_python: Final = Payload("StickyAssignorUserData", Struct(
    previous_assignment,
    "generation" / Since(1, Default(Int32, -1))
        * "generation in which the member had them; the newest claim to a partition wins; -1 means unknown",
), versions=range(2))
cooperative_sticky: Final = Payload("CooperativeStickyAssignorUserDataV0", Struct(
    "generation" / Int32
        * "generation in which the member had them; the newest claim to a partition wins; -1 means unknown",
), frame=())
