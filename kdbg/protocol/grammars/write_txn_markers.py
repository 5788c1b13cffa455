"""WriteTxnMarkers (key 27): the transaction coordinator has commit or abort markers written to the partitions.

KIP-98; between brokers only. v2 adds the transaction version (KIP-1228).
"""

from .meanings import *

request: Final = Struct(
    "markers" / Array(
        "producer_id" / ProducerId,
        "producer_epoch" / ProducerEpoch,
        "transaction_result" / TransactionResult * "whether the records count, or read_committed consumers skip them",
        "topics" / Array("name" / TopicName, "partition_indexes" / Partitions)
            * "partitions to write the marker to, by topic",
        "coordinator_epoch" / Int32 * "goes up when the coordinator moves; partitions refuse markers with an older one",
        "transaction_version" / Since(2, Ignorable(TransactionVersion))
            * "transaction protocol in use; with 2 a marker must have a higher producer epoch than the records",
    ) * "markers to write, one per transaction that ends",
)
response: Final = Struct(
    "markers" / Array(
        "producer_id" / ProducerId,
        "topics" / Array(
            "name" / TopicName,
            "partitions" / Array("partition_index" / Partition, "error_code" / ErrorCode)
                * "results, one per partition",
        ) * "results, by topic",
    ) * "results, by producer",
)
api: Final = Api(27, "WriteTxnMarkers", request, response, versions=range(3), flexible=1)
