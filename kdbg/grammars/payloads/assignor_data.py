"""User data of the sticky assignors: what a member remembers of its last assignment, inside its subscription.

The sticky assignor writes all of it (KIP-54), v1 with the generation it was made in (KIP-341); no number in front says
which. The cooperative one (KIP-429) leaves the partitions to the subscription and writes the generation alone, but
librdkafka's writes what the sticky one does. kafka-python and sarama write as Java does.
"""

from ...wire import Array, Int32, Partition, Struct, TopicName
from ...wire.payload import Payload

previous_assignment = "previous_assignment" / Array("topic" / TopicName, "partitions" / Array(Partition))

sticky_0 = Payload("StickyAssignorUserDataV0", Struct(previous_assignment), frame=())
sticky_1 = Payload("StickyAssignorUserDataV1", Struct(previous_assignment, "generation" / Int32), frame=())
cooperative_sticky = Payload("CooperativeStickyAssignorUserDataV0", Struct("generation" / Int32), frame=())
