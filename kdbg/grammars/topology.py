"""A Kafka Streams topology as clients describe it to the group coordinator (KIP-1331): shared by keys 89 and 93."""

from ..wire import Array, Default, Enum, Int8, Nullable, String, Struct, TopicName
from .meanings import SubtopologyId

NodeType = Enum(Int8, {1: "SOURCE", 2: "PROCESSOR", 3: "SINK"})
node = Struct(
    "name" / String,
    "node_type" / NodeType,
    "source_topics" / Array(TopicName),
    "sink_topic" / Default(Nullable(TopicName), None),
    "stores" / Array(String),
    "successors" / Array(String),
)
topology = Struct(
    "subtopologies" / Array("subtopology_id" / SubtopologyId, "nodes" / Array(node)),
    "global_stores" / Array("source" / node, "processor" / node),
)
