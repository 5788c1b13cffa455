"""Structures of Kafka Streams groups: internal topics, tasks, and topologies as clients describe them (KIP-1331)."""

from .meanings import *

settings: Final = Array("key" / ConfigName, "value" / String * "value of the setting")
client_tags: Final = Array("key" / String * "name of the label", "value" / String * "value of the label")
internal_topics: Final = Array(
    "name" / TopicName,
    "partitions" / Int32 * "number of partitions the topic must have; 0 leaves it to the group",
    "replication_factor" / Int16 * "replicas of each partition; 0 means the broker's default",
    "topic_configs" / settings * "settings the topic is created with",
)
tasks: Final = Array(
    "subtopology_id" / SubtopologyId,
    "partitions" / Partitions * "partitions of the input topics; each makes one task",
)
task_offsets: Final = Array(
    "subtopology_id" / SubtopologyId,
    "partition" / Partition * "partition of the task: the part of a task id after the underscore",
    "offset" / Int64 * "sum over the task's changelog partitions",
)
subtopologies: Final = Array(
    "subtopology_id" / SubtopologyId,
    "source_topics" / Array(TopicName) * "topics it reads",
    "source_topic_regex" / Array(String) * "regular expressions for further topics it reads",
    "state_changelog_topics" / internal_topics * "topics its state stores are restored from",
    "repartition_sink_topics" / Array(TopicName) * "repartition topics it produces to",
    "repartition_source_topics" / internal_topics * "repartition topics it reads",
    "copartition_groups" / Array(
        "source_topics" / Array(Int16) * "positions in source_topics, from 0",
        "source_topic_regex" / Array(Int16) * "positions in source_topic_regex, from 0",
        "repartition_source_topics" / Array(Int16) * "positions in repartition_source_topics, from 0",
    ) * "sets of topics that need the same number of partitions because they are joined",
)
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
