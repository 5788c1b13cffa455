"""A Kafka Streams topology as clients describe it to the group coordinator (KIP-1331): shared by keys 89 and 93."""

from .meanings import *

NodeType: Final = Enum(Int8, {1: "SOURCE", 2: "PROCESSOR", 3: "SINK"})
node: Final = Struct(
    "name" / String * "name of the node, such as KSTREAM-SOURCE-0000000000",
    "node_type" / NodeType * "whether the node reads topics, processes records or writes to a topic",
    "source_topics" / Array(TopicName) * "topics a source reads; empty for other nodes",
    "sink_topic" / Default(Nullable(TopicName), None)
        * "topic a sink writes to; null for other nodes, and if each record chooses its own",
    "stores" / Array(String) * "names of the state stores a processor uses",
    "successors" / Array(String) * "names of the nodes it forwards records to",
)
topology: Final = Struct(
    "subtopologies" / Array(
        "subtopology_id" / SubtopologyId,
        "nodes" / Array(node) * "sources, processors and sinks of the subtopology",
    ) * "parts of the topology that run independently",
    "global_stores" / Array(
        "source" / node * "node that reads the store's topic",
        "processor" / node * "node that fills the store",
    ) * "state stores that every process fills with all partitions of a topic",
)
